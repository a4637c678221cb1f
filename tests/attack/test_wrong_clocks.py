"""A computer's clock that was ahead for a while: after it is set right, nobody is locked out, and nothing stays open or
unlogged."""

from __future__ import annotations

from datetime import timedelta

import pytest
from helpers.ratings import resubmit, submit
from helpers.studies import full_answers, join, sure
from sqlalchemy import select

from triptych import clock
from triptych.exchange.exports import read_finished
from triptych.formats.writers.model import Selection
from triptych.people import accounts, logins, passcodes
from triptych.people.places import people_with_a_place
from triptych.results.caveats import caveats
from triptych.results.frame.model import Counted
from triptych.results.frame.upkeep import build_frame
from triptych.results.looking import log_look
from triptych.results.study_analysis import StudyAnalysis
from triptych.storage.database import reading, writing
from triptych.storage.events import EventKind
from triptych.storage.models import Access, Event, Study, StudyState
from triptych.study import lifecycle
from triptych.study.system_names import system_names

AHEAD = timedelta(hours=30)


@pytest.fixture
def ahead(monkeypatch):
    """The clock is thirty hours ahead; returns a function that sets it right."""
    right = clock.of_this_computer
    monkeypatch.setattr(clock, "of_this_computer", lambda: right() + AHEAD)
    return lambda: monkeypatch.setattr(clock, "of_this_computer", right)


def test_one_wrong_passcode_locks_nobody_out(sqlite_engine, ahead):
    with writing(sqlite_engine) as session:
        passcodes.begin_try(session, "Ada")
    ahead()
    with writing(sqlite_engine) as session:
        passcodes.begin_try(session, "Ada")


def test_a_login_needs_its_passcode_for_irreversible_actions(sqlite_engine, ahead):
    with writing(sqlite_engine) as session:
        ada = accounts.create_lead(session, "Ada", "correct horse battery")
        secret = logins.use_ticket(session, logins.issue_sign_in_ticket(session, ada))
    ahead()
    with reading(sqlite_engine) as session:
        who = logins.who_is(session, secret)
        assert who is not None
        assert not logins.passcode_is_fresh(session, who, None)


def test_a_paused_study_takes_no_more_work(sqlite_engine, make_study, ahead):
    with writing(sqlite_engine) as session:
        study, lead, _ = make_study(session)
        lifecycle.set_state(session, study, StudyState.paused, lead.pseudonym)
        assert lifecycle.still_takes_work(study)
    ahead()
    with reading(sqlite_engine) as session:
        assert not lifecycle.still_takes_work(session.get_one(Study, study.id))


def test_places_of_a_panel_are_free_again(sqlite_engine, make_study, ahead):
    with writing(sqlite_engine) as session:
        study, *_ = make_study(session, items=1, annotators=2, access=Access.panel, raters_per_item=1)
        assert people_with_a_place(session, study) == 2
    ahead()
    with reading(sqlite_engine) as session:
        assert people_with_a_place(session, session.get_one(Study, study.id)) == 0


def findings_of(session, study) -> dict[str, str]:
    analysis = StudyAnalysis(build_frame(session, study), Counted(), system_names(session, study))
    return {finding.kind: finding.sentence for finding in caveats(session, study, analysis)}


def test_each_days_look_at_results_is_logged(sqlite_engine, make_study, ahead):
    with writing(sqlite_engine) as session:
        study, lead, _ = make_study(session)
        log_look(session, study, 0, 8, lead.pseudonym)
    ahead()
    with writing(sqlite_engine) as session:
        for _ in range(2):
            log_look(session, session.get_one(Study, study.id), 1, 8, lead.pseudonym)
    with reading(sqlite_engine) as session:
        looks = select(Event.id).where(Event.kind == EventKind.results_opened)
        assert len(session.scalars(looks).all()) == 2


def test_changes_after_a_look_are_reported(sqlite_engine, make_study, ahead):
    with writing(sqlite_engine) as session:
        study, lead, (annotator, _) = make_study(session)
        work = submit(session, study, annotator, full_answers())
        log_look(session, study, 1, 8, lead.pseudonym)
    ahead()
    with writing(sqlite_engine) as session:
        study = session.get_one(Study, study.id)
        resubmit(session, annotator, work, full_answers(fluency=1))
        findings = findings_of(session, study)
    assert findings["edited after a look"].startswith("1 change of submitted annotations after the results")


def test_ratings_of_a_lead_after_unblinding_are_marked(sqlite_engine, make_study, ahead):
    with writing(sqlite_engine) as session:
        study, lead, _ = make_study(session)
        join(session, study, lead)
        submit(session, study, lead, full_answers())
        lifecycle.unblind(session, study, sure(lead))
    ahead()
    with writing(sqlite_engine) as session:
        study = session.get_one(Study, study.id)
        late = submit(session, study, lead, full_answers()).id
        frame = build_frame(session, study)
        exported = [work for item in read_finished(session, study).items(Selection()) for work in item.annotations]
    assert frame.work["assignment"][frame.after_unblinding(frame.work)].tolist() == [late]
    assert [work.number for work in exported if work.after_unblinding] == [late]


def test_annotations_after_unblinding_are_reported(sqlite_engine, make_study, ahead):
    with writing(sqlite_engine) as session:
        study, lead, (first, second) = make_study(session)
        work = submit(session, study, first, full_answers())
        lifecycle.unblind(session, study, sure(lead))
    ahead()
    with writing(sqlite_engine) as session:
        study = session.get_one(Study, study.id)
        submit(session, study, second, full_answers())
        resubmit(session, first, work, full_answers(fluency=1))
        findings = findings_of(session, study)
    assert "1 annotation came in afterwards, and 1 change of earlier ones" in findings["unblinded"]
