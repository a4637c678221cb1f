"""Excluding and reinstating annotators, and withdrawing: places, results and the log follow."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from helpers.analyses import look_at
from helpers.postgres_databases import wait_for_a_lock
from helpers.ratings import append_scores, assigned, resubmit, same, set_aside, submit
from helpers.ratings import exclude as excluded_by_hand
from helpers.studies import full_answers, sure
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select, text, update

from triptych import clock
from triptych.annotate import assignments, exclusions, reservations
from triptych.errors import Conflict, NotAllowed, NotFound, TriptychError
from triptych.exchange import exports
from triptych.formats.writers.model import EVERYTHING
from triptych.operations import verify
from triptych.people import joining, roster
from triptych.privacy import erasure, withdrawal
from triptych.results.frame.counted import mostly_ignored
from triptych.results.frame.model import Counted
from triptych.results.frame.upkeep import build_frame, frame_of
from triptych.results.progress import overview
from triptych.storage import database, events
from triptych.storage.events import EventKind
from triptych.storage.models import (
    Assignment,
    AssignmentState,
    EventDetail,
    Item,
    Membership,
    Purpose,
    Rating,
    Study,
    Workbook,
)
from triptych.study import design, saved_setting
from triptych.study.settings import settings_of

REASON = "answers at random"


def taken(session, study) -> dict[int, int]:
    places = select(Item.id, Item.taken).where(Item.study_id == study.id, Item.purpose == Purpose.main)
    return dict(map(tuple, session.execute(places)))


def filled(session, study) -> dict[int, int]:
    """Places as they must be: live and finished work of people who are neither excluded nor withdrawn."""
    held = (AssignmentState.reserved, AssignmentState.submitted, AssignmentState.ignored)
    counted = (
        select(Assignment.item_id, func.count())
        .join(Membership, (Membership.person_id == Assignment.person_id) & (Membership.study_id == Assignment.study_id))
        .where(Assignment.study_id == study.id, Assignment.purpose == Purpose.main, Assignment.state.in_(held))
        .where(Membership.excluded_at.is_(None), Membership.withdrawn_at.is_(None))
        .group_by(Assignment.item_id)
    )
    return dict.fromkeys(taken(session, study), 0) | dict(map(tuple, session.execute(counted)))


def states(session, study, who) -> list[str]:
    own = (Assignment.study_id == study.id) & (Assignment.person_id == who.person_id)
    return list(session.scalars(select(Assignment.state).where(own).order_by(Assignment.id)))


def consent_says(session, study, what: str) -> None:
    consent = {"text": "Please agree.", "after_withdrawal": what}
    design.amend(session, study, design.Parts(settings={"consent": consent}), "another promise", "P-lead")


def enter(session, study, who) -> None:
    """Consents to the current text and reads the instructions."""
    joining.consent(session, study, who, settings_of(study).consent.version)
    own = (Membership.study_id == study.id) & (Membership.person_id == who.person_id)
    session.execute(update(Membership).where(own).values(instructions_read_at=clock.now()))


def test_excluding_reads_no_draft(sqlite_engine, make_study):
    """Drafts at the limits, of 300 items of one annotator, held everybody's writes for seconds."""
    with database.writing(sqlite_engine) as session:
        study, lead, (anna, _) = make_study(session)
        submit(session, study, anna)
        session.execute(text("UPDATE assignment SET draft = 'no JSON'"))

    with database.writing(sqlite_engine) as session:
        exclusions.exclude(session, study, anna.pseudonym, REASON, lead.pseudonym)

    with database.reading(sqlite_engine) as session:
        assert events.since(session, study.id, 0)[-1].kind == EventKind.annotator_excluded


@pytest.mark.long
def test_excluding_reopens_places_and_reinstating_makes_the_extra_ones_surplus(engine, make_study):
    with database.writing(engine) as session:
        study, lead, (anna, ben) = make_study(session, items=2, raters_per_item=1)
        submit(session, study, anna)
        submit(session, study, anna)
        assert isinstance(assignments.current(session, study, ben), assignments.NoItem)

    with database.writing(engine) as session:
        exclusions.exclude(session, study, anna.pseudonym, f"  {REASON} ", lead.pseudonym)
    with database.writing(engine) as session:
        assert set(taken(session, study).values()) == {0}
        submit(session, study, ben)  # and reserves the other
    with database.writing(engine) as session:
        exclusions.reinstate(session, study, anna.pseudonym, "it was a mistake", lead.pseudonym)

    with database.reading(engine) as session:
        assert sorted(states(session, study, anna)) == ["surplus", "surplus"]
        assert taken(session, study) == filled(session, study)
        log = [(e.kind, e.actor, e.subject) for e in events.since(session, study.id, 0) if e.kind.startswith("annot")]
        assert log == [
            ("annotator excluded", lead.pseudonym, anna.pseudonym),
            ("annotator reinstated", lead.pseudonym, anna.pseudonym),
        ]
        assert events.first_broken(session, study.id) is None


def test_an_exclusion_asks_for_a_reason_and_happens_once(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, lead, (anna, _) = make_study(session)
        for reason in ("", "   ", "x" * 501):
            with pytest.raises(NotAllowed, match="Give a reason"):
                exclusions.exclude(session, study, anna.pseudonym, reason, lead.pseudonym)
        with pytest.raises(Conflict):
            exclusions.reinstate(session, study, anna.pseudonym, REASON, lead.pseudonym)
        with pytest.raises(NotFound):
            exclusions.exclude(session, study, lead.pseudonym, REASON, lead.pseudonym)
        exclusions.exclude(session, study, anna.pseudonym, REASON, lead.pseudonym)
        with pytest.raises(Conflict):
            exclusions.exclude(session, study, anna.pseudonym, REASON, lead.pseudonym)


def test_a_reinstated_annotator_finds_their_draft_again(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, lead, (anna, _) = make_study(session)
        work = assignments.current(session, study, anna)
        session.get_one(Assignment, work.id).draft_seq = 3
        session.flush()
        exclusions.exclude(session, study, anna.pseudonym, REASON, lead.pseudonym)
        assert assignments.current(session, study, anna) == assignments.NoItem.excluded
        exclusions.reinstate(session, study, anna.pseudonym, REASON, lead.pseudonym)
        assert assignments.current(session, study, anna).id == work.id
        assert taken(session, study) == filled(session, study)


STEPS = st.lists(
    st.tuples(st.sampled_from(["submit", "ignore", "skip", "exclude", "reinstate", "withdraw"]), st.integers(0, 2)),
    max_size=12,
)


EVERY_STEP = [("submit", 0), ("submit", 1), ("ignore", 2), ("exclude", 0), ("submit", 2), ("skip", 1)]
EVERY_STEP += [("submit", 1), ("reinstate", 0), ("withdraw", 1), ("submit", 0), ("exclude", 2)]
NO_WORK = {
    assignments.NoItem.excluded,
    assignments.NoItem.withdrawn,
    assignments.NoItem.none_left,
    assignments.NoItem.nothing_free,
    assignments.NoItem.finished,
}


def take(session, study, lead, who, step: str) -> bool:
    """Does one step; returns whether there was one to do. What a person without an item sees is one of NO_WORK."""
    match step:
        case "submit" | "ignore" | "skip":
            work = assignments.current(session, study, who)
            if isinstance(work, assignments.NoItem):
                assert work in NO_WORK
                return False
            if step == "submit":
                submit(session, study, who)
            else:
                set_aside(session, study, who, step, {"ignore": "empty", "skip": "unclear"}[step])
        case "exclude":
            exclusions.exclude(session, study, who.pseudonym, REASON, lead.pseudonym)
        case "reinstate":
            exclusions.reinstate(session, study, who.pseudonym, REASON, lead.pseudonym)
        case "withdraw":
            withdrawal.withdraw(session, study, who.pseudonym, who.pseudonym)
    return True


@pytest.mark.long
@given(steps=STEPS, promised=st.sampled_from(["keep", "delete"]))
@example(steps=EVERY_STEP, promised="keep")
@example(steps=EVERY_STEP, promised="delete")
@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_places_and_results_stay_true_in_any_order_of_steps(sqlite_engine, make_study, steps, promised):
    with database.writing(sqlite_engine) as session:
        study, lead, annotators = make_study(session, items=3, annotators=3, raters_per_item=2)
        consent_says(session, study, promised)
        for who in annotators:
            enter(session, study, who)
        frame_of(session, study)
        taken_steps = 0
        for step, number in steps:
            try:
                taken_steps += take(session, study, lead, annotators[number], step)
            except Conflict:
                assert step not in ("submit", "ignore", "skip")  # it was taken before
            database.commit(session)  # as one transaction: what is forgotten later is in the log by then
            assert taken(session, study) == filled(session, study)
        assert taken_steps == len(steps) or steps != EVERY_STEP
        assert same(frame_of(session, study), build_frame(session, study))
        verification = verify.verify(session, study)
        assert verification.holds, verification.sentence


def test_an_ignored_item_stays_ignored_when_reserved_again(engine, make_study):
    with database.writing(engine) as session:
        study, lead, (anna, ben, cleo) = make_study(session, items=1, annotators=3)
        for who in (anna, ben):
            set_aside(session, study, who, "ignore", "empty")
        submit(session, study, cleo)
    with database.writing(engine) as session:
        withdrawal.withdraw(session, study, anna.pseudonym, anna.pseudonym)

    with database.reading(engine) as session:
        assert states(session, study, anna) == ["surplus"]
        assert mostly_ignored(frame_of(session, study), Counted()) == ["item-1"]
        view = overview(session, study, Counted())
        assert (view.done, view.ignored, view.surplus) == (2, 2, 0)
        (item,) = exports.read_finished(session, study).items(EVERYTHING)
        assert sorted(annotation.state for annotation in item.annotations) == ["ignored", "ignored", "submitted"]
        (line,), look = look_at(session, study)
        assert (line.rated, line.ignored) == (1, 2)
        assert (anna.pseudonym, "It asks nothing") in [(remark.annotator, remark.text) for remark in look.remarks]


# Withdrawing


def test_withdrawn_ratings_are_surplus_or_deleted_as_promised_at_consent(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, _, (anna, ben) = make_study(session)
        for who, promised in ((anna, "delete"), (ben, "keep")):
            consent_says(session, study, promised)
            enter(session, study, who)
            submit(session, study, who)
    with database.writing(sqlite_engine) as session:
        assert withdrawal.withdraw_myself(session, study, anna) == "delete"  # though the text now says to keep
        assert withdrawal.withdraw_myself(session, study, ben) == "keep"

    with database.reading(sqlite_engine) as session:
        assert set(states(session, study, anna)) == {"withdrawn"}
        assert sorted(states(session, study, ben)) == ["surplus", "withdrawn"]
        rated_by = select(Assignment.person_id).join(Rating, Rating.assignment_id == Assignment.id).distinct()
        assert session.scalars(rated_by).all() == [ben.person_id]
        assert set(taken(session, study).values()) == {0}
        frame = frame_of(session, study)
        assert set(frame.ratings["annotator"].astype(str)) == {ben.pseudonym}
        details = session.scalars(select(EventDetail.new)).all()
        assert sum(isinstance((new or {}).get("ratings"), list) for new in details) == 1
        assert events.first_broken(session, study.id) is None


def test_a_withdrawn_annotator_gets_no_item_and_stores_nothing(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, lead, (anna, _) = make_study(session)
        work = assigned(session, study, anna)
        session.add(Workbook(study_id=study.id, person_id=anna.person_id, token="t", made_at=clock.now()))
        session.flush()
        withdrawal.withdraw(session, study, anna.pseudonym, lead.pseudonym)
        with pytest.raises(Conflict):
            withdrawal.withdraw(session, study, anna.pseudonym, lead.pseudonym)
        with pytest.raises(NotAllowed):
            joining.consent(session, study, anna, settings_of(study).consent.version)
        assert isinstance(assignments.current(session, study, anna), assignments.NoItem)
        with pytest.raises(TriptychError):
            resubmit(session, anna, work, full_answers(), 30.0)
        assert session.scalars(select(Workbook)).one().cancelled_at is not None


def test_a_consent_names_the_text_that_was_read(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, lead, (anna, _) = make_study(session)
        consent_says(session, study, "keep")
        old = settings_of(study).consent.version
        joining.consent(session, study, anna, old)
        consent_says(session, study, "delete")
        with pytest.raises(Conflict, match="read it again"):
            joining.consent(session, study, anna, old)
        with pytest.raises(NotFound):
            joining.consent(session, study, lead, old)
        by_name = {member.pseudonym: member for member in roster.members_of(session, study)}

    assert by_name[anna.pseudonym].consent == "outdated"
    assert by_name[anna.pseudonym].consented_at is not None
    assert by_name[lead.pseudonym].consent == "none"


def test_later_terms_bind_only_those_who_consent(sqlite_engine, make_study):
    """Without a consent text, a lead could see the results, choose "delete" and withdraw those who spoil them."""
    with database.writing(sqlite_engine) as session:
        study, lead, (anna, ben) = make_study(session)
        submit(session, study, anna)
        design.amend(
            session,
            study,
            design.Parts(settings={"consent": {"after_withdrawal": "delete"}}),
            "Wording.",
            lead.pseudonym,
        )
    with database.writing(sqlite_engine) as session:
        consent_says(session, study, "delete")
        enter(session, study, ben)
    with database.writing(sqlite_engine) as session:
        assert withdrawal.promised_to(session, study, ben.pseudonym) == "delete"
        assert withdrawal.withdraw(session, study, anna.pseudonym, lead.pseudonym) == "keep"


@pytest.mark.parametrize("leaving", ["withdraws", "is erased"])
def test_a_judge_that_did_badly_is_excluded_not_deleted(sqlite_engine, make_study, leaving):
    """Scores of judges were deleted with a withdrawal: the report showed the best judge as the only one."""
    with database.writing(sqlite_engine) as session:
        study, lead, _ = make_study(session)
        judge = append_scores(session, study, lead, "big-model")

    with database.writing(sqlite_engine) as session, pytest.raises(NotAllowed, match="is a judge model"):
        if leaving == "withdraws":
            withdrawal.withdraw(session, study, judge, lead.pseudonym)
        else:
            erasure.erase(session, study, judge, sure(lead))
    with database.reading(sqlite_engine) as session:
        assert set(build_frame(session, study).work["annotator"]) == {judge}


def test_the_helper_of_other_tests_excludes_in_the_same_words(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, _, (anna, _) = make_study(session)
        excluded_by_hand(session, study, anna)
        assert events.since(session, study.id, 0)[-1].kind == EventKind.annotator_excluded


@pytest.mark.parametrize("leaving", ["exclusion", "withdrawal"])
def test_places_are_freed_in_the_order_of_items(sqlite_engine, make_study, monkeypatch, leaving):
    """Two commands that free the same places in different orders wait for each other on PostgreSQL."""
    freed: list[int] = []
    with database.writing(sqlite_engine) as session:
        study, lead, (who, _) = make_study(session, items=5)
        done = [submit(session, study, who).item_id for _ in range(2)]
        held = assigned(session, study, who).item_id
        assert held > min(done)
        monkeypatch.setattr(reservations, "free_place", lambda _, item_id: freed.append(item_id))
        if leaving == "exclusion":
            exclusions.exclude(session, study, who.pseudonym, REASON, lead.pseudonym)
        else:
            withdrawal.withdraw(session, study, who.pseudonym, lead.pseudonym)

    assert freed == sorted([*done, held])


@pytest.mark.parametrize("amending", ["a setting", "an item"])
def test_an_amendment_waits_for_freed_places_without_holding_the_study(postgres_engine, make_study, amending):
    """The exclusion needs the study at its end, for the log."""
    with database.writing(postgres_engine) as session:
        study, lead, (who, _) = make_study(session)
        submit(session, study, who)
        raters = study.raters_per_item

    def amend() -> None:
        with database.writing(postgres_engine) as session:
            stored = session.get_one(Study, study.id)
            if amending == "a setting":
                saved_setting.write(session, stored, "raters_per_item", raters + 1, raters, lead.pseudonym, "more")
            else:
                ids = tuple(session.scalars(select(Item.external_id)))
                design.amend(session, stored, design.Parts(retire=ids), "odd", lead.pseudonym)

    with ThreadPoolExecutor(1) as pool:
        with database.writing(postgres_engine) as session:
            exclusions.exclude(session, session.get_one(Study, study.id), who.pseudonym, REASON, lead.pseudonym)
            amended = pool.submit(amend)
            wait_for_a_lock(session, amended)
        amended.result()
    with database.reading(postgres_engine) as session:
        assert verify.verify(session, session.get_one(Study, study.id)).holds
