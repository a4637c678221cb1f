"""The desk: what each action of the workbench does."""

from __future__ import annotations

import pytest
from helpers.annotations import login_of, submitting
from helpers.present import present
from helpers.studies import add_person, full_answers, join
from sqlalchemy import event, select, update

from triptych.annotate import assignments, desk, drafts
from triptych.annotate.assignments import NoItem
from triptych.annotate.logged import LoggedAnnotation
from triptych.errors import InvalidAnnotation, NotFound, SignedOut
from triptych.formats.model import CandidateDraft, ItemDraft, TurnDraft
from triptych.people import logins
from triptych.rubric.files import shipped_rubrics
from triptych.storage import events
from triptych.storage.database import writing
from triptych.storage.models import Assignment, Event, EventDetail, Study, StudyState
from triptych.study import lifecycle
from triptych.study.settings import changed, stored


@pytest.fixture
def opened(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, (who, _) = make_study(session)
        yield session, study, who, desk.lay(session, study, who)


def test_submitting_brings_the_next_item_and_the_receipt(opened):
    session, study, who, first = opened

    after = desk.act(session, study, who, submitting(first.view, "submission-1"))

    assert after.view.work.receipt == "submission-1"
    assert after.view.work.token != first.view.work.token
    assert after.view.progress.done == 1


def test_an_item_of_another_study_is_not_shown(opened, make_study):
    session, _, who, first = opened
    other, _, _ = make_study(session)
    join(session, other, who)

    with pytest.raises(NotFound):
        desk.lay(session, other, who, showing=first.view.work.token)


def test_a_later_text_is_sent_when_those_before_are_answered(sqlite_engine, make_study):
    whole = full_answers()
    only = {**whole, "ratings": {"A": whole["ratings"]["A"]}}
    unfinished = {**whole, "ratings": {"A": dict(list(whole["ratings"]["A"].items())[1:])}}

    def texts(shown):
        return [candidate.text is not None for candidate in shown.view.item.candidates]

    with writing(sqlite_engine) as session:
        study, _, (who, other) = make_study(session, presentation="succession")
        first = desk.lay(session, study, who)
        open_next = {"kind": "next_response", "assignment": first.view.work.token}
        assert texts(first) == [True, False, False]
        assert texts(desk.act(session, study, who, {**open_next, "answers": unfinished})) == [True, False, False]
        assert texts(desk.act(session, study, who, {**open_next, "answers": only})) == [True, True, False]
        assert texts(desk.lay(session, study, who)) == [True, False, False], "an action stores no answers"
        with pytest.raises(InvalidAnnotation):
            desk.act(session, study, who, {**open_next, "answers": {"ratings": 1}})
        with pytest.raises(NotFound):
            desk.act(session, study, other, {**open_next, "answers": whole})

        desk.act(session, study, who, submitting(first.view, "submission-1"))
        assert texts(desk.lay(session, study, who, showing=first.view.work.token)) == [True, True, True]


def test_a_draft_with_more_highlights_than_now_opens(sqlite_engine, make_study):
    """Version 0.1.0 stored up to a thousand."""
    mark = {"slot": "A", "turn": None, "start": 0, "end": 5, "label": "quote", "comment": ""}
    with writing(sqlite_engine) as session:
        study, _, (who, _) = make_study(session, presentation="succession")
        desk.lay(session, study, who)
        session.execute(update(Assignment).values(draft={"highlights": [mark] * 1000}))

        assert len(present(present(desk.lay(session, study, who).view).draft)["highlights"]) == 1000


def test_the_language_of_the_page_is_stored_with_an_annotation(opened):
    session, study, who, first = opened
    desk.act(session, study, who, {**submitting(first.view, "submission-1"), "language": "ar"})
    second = desk.lay(session, study, who)
    desk.act(session, study, who, {**submitting(second.view, "submission-2"), "language": "tlh"})

    languages = select(Assignment.language).where(Assignment.submitted_at.is_not(None)).order_by(Assignment.id)
    assert session.scalars(languages).all() == ["ar", None], "there is no such language"


def test_how_responses_were_shown_is_stored_and_logged(opened):
    session, study, who, first = opened
    desk.act(session, study, who, {**submitting(first.view, "submission-1"), "arrangement": "one_at_a_time"})

    stored = session.scalars(select(Assignment).where(Assignment.token == first.view.work.token)).one()
    logged = LoggedAnnotation.stored(session, present(stored.id))
    values = select(EventDetail.new).join(Event).where(Event.assignment_id == stored.id, Event.kind == "submitted")
    events.write_pending(session)
    [in_log] = session.scalars(values)
    assert stored.arrangement == logged.arrangement == present(in_log)["arrangement"] == "one_at_a_time"
    with pytest.raises(InvalidAnnotation):
        second = desk.lay(session, study, who)
        desk.act(session, study, who, {**submitting(second.view, "submission-2"), "arrangement": "upside down"})


@pytest.mark.parametrize(
    ("plan", "arrangement", "possible"),
    [
        ({}, "choice", ["side_by_side", "one_at_a_time"]),
        ({}, "side_by_side", ["side_by_side", "one_at_a_time"]),  # which a small screen has no room for
        ({}, "one_at_a_time", [None, "one_at_a_time"]),
        ({"presentation": "succession"}, "choice", [None, None]),
    ],
)
def test_an_arrangement_that_the_study_rules_out_is_not_stored(sqlite_engine, make_study, plan, arrangement, possible):
    with writing(sqlite_engine) as session:
        study, _, (who, _) = make_study(session, **plan)
        study.settings = stored(changed(study, arrangement=arrangement))
        for number, claim in enumerate(["side_by_side", "one_at_a_time"]):
            view = desk.lay(session, study, who).view
            desk.act(session, study, who, {**submitting(view, f"submission-{number}"), "arrangement": claim})

        submitted = select(Assignment.arrangement).where(Assignment.submitted_at.is_not(None)).order_by(Assignment.id)
        assert session.scalars(submitted).all() == possible


def test_the_first_draft_of_an_item_needs_one_statement(engine, make_study):
    with writing(engine) as session:
        study, _, (who, _) = make_study(session)
        login = login_of(session, who)
        first = desk.lay(session, study, who).view
    with writing(engine) as session:
        second = desk.act(session, session.get_one(Study, study.id), who, submitting(first, "submission-1")).view

    draft = {"ratings": {"A": {"fluency": 2}}}
    fields = {"assignment": second.work.token, "version": 1, "pen": "pen-of-tab-one", "seq": 1, "base": 0}
    assert drafts.save_next_draft(engine, login, drafts.DraftMessage(**fields, draft=draft))
    with writing(engine) as session:
        assert desk.lay(session, study, who).view.draft == draft


def test_a_submit_asks_postgresql_little(postgres_engine, make_study):
    """Each statement is a round trip, and with several app processes the processors are what runs out first."""
    with writing(postgres_engine) as session:
        study, _, (who, _) = make_study(session)
        login = login_of(session, who)
        first = desk.lay(session, study, who).view
    sent = []
    event.listen(postgres_engine, "before_cursor_execute", lambda *event_arguments: sent.append(event_arguments[2]))

    with writing(postgres_engine) as session:
        annotator, study_asked = assignments.asked_by(session, login, first.work.token, to_change=True)
        desk.act(session, study_asked, annotator, submitting(first, "submission-1"))

    assert len(sent) <= 12, sent


def test_a_foreign_item_and_an_ended_login_are_distinguished(engine, make_study):
    with writing(engine) as session:
        study, _, (who, other) = make_study(session)
        login = login_of(session, other)
        token = desk.lay(session, study, who).view.work.token
        with pytest.raises(NotFound):
            assignments.asked_by(session, login, token)
        for unknown in (None, "", "no login of ours"):
            with pytest.raises(SignedOut):
                assignments.asked_by(session, unknown, token)
        own_token = desk.lay(session, study, other).view.work.token
        assert assignments.asked_by(session, login, own_token) == (logins.who_is(session, login), study)
        logins.sign_out(session, present(logins.who_is(session, login)))
        with pytest.raises(SignedOut):
            assignments.asked_by(session, login, own_token)


def test_back_shows_the_submitted_answers_and_forward_returns(opened):
    session, study, who, first = opened
    second = desk.act(session, study, who, submitting(first.view, "submission-1"))

    back = desk.act(session, study, who, {"kind": "back", "assignment": second.view.work.token})
    forward = desk.act(session, study, who, {"kind": "forward", "assignment": back.view.work.token})

    assert (back.view.work.token, back.view.work.state, back.view.work.version) == (
        first.view.work.token,
        "submitted",
        2,
    )
    assert back.view.draft == full_answers()
    assert forward.view.work.token == second.view.work.token


def test_submitting_a_change_returns_to_the_item_before_it(opened):
    session, study, who, first = opened
    second = desk.act(session, study, who, submitting(first.view, "submission-1"))
    back = desk.act(session, study, who, {"kind": "back", "assignment": second.view.work.token})

    after = desk.act(session, study, who, submitting(back.view, "submission-2", full_answers(fluency=3)))

    assert after.view.work.token == second.view.work.token
    assert after.showing is None


def test_the_last_submission_leaves_an_empty_desk(opened):
    session, study, who, now = opened
    for n in range(4):
        now = desk.act(session, study, who, submitting(now.view, f"submission-{n}"))

    assert now.nothing is NoItem.finished
    assert now.view is None


@pytest.mark.parametrize("action", [None, [], "submit", {}, {"kind": "drop table"}, {"kind": "submit"}])
def test_an_action_that_does_not_exist_is_refused(opened, action):
    session, study, who, _ = opened

    with pytest.raises(InvalidAnnotation):
        desk.act(session, study, who, action)


def test_a_training_item_comes_first_and_stays_with_its_feedback(sqlite_engine):
    yaml = shipped_rubrics()["esc_dialogue"].read_text()
    item = ItemDraft(
        "x", None, (), (CandidateDraft("unknown", None, (TurnDraft("usr", "a"), TurnDraft("sys", "b"))),), {}, {}, 1
    )
    with writing(sqlite_engine) as session:
        study = lifecycle.create_study(session, lifecycle.StudyPlan(title="Talks"), yaml, [item], "lead")
        lifecycle.set_state(session, study, StudyState.open, "lead")
        who = join(session, study, add_person(session, "ann"))
        first = desk.lay(session, study, who)
        criteria = [criterion["key"] for criterion in first.view.rubric["criteria"]]
        answers = {"ratings": {"A": dict.fromkeys(criteria, 2.5)}}

        with_feedback = desk.act(session, study, who, submitting(first.view, "submission-1", answers))
        after = desk.act(session, study, who, {"kind": "continue", "assignment": with_feedback.view.work.token})

    assert first.view.work.purpose == "training"
    assert (first.view.work.number, with_feedback.view.work.number) == (1, 1)
    assert {row.verdict for row in with_feedback.view.feedback.rows} == {"same", "close", "different"}
    assert {row.reference.split(" ")[0] for row in with_feedback.view.feedback.rows} == {"3", "2.5", "2", "1.5"}
    assert after.view.work.purpose == "main"
    assert after.view.feedback is None
