"""Final values are stored next to the annotations, change none of them and enter no number."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from helpers.postgres_databases import wait_for_a_lock
from helpers.ratings import BEST_RUBRIC, assigned, first_work, resubmit, set_aside, submit
from helpers.studies import SMALL_RUBRIC, full_answers, sure
from sqlalchemy import func, select

from triptych import clock
from triptych.annotate import assignments, entry_test, exclusions
from triptych.errors import Conflict, InvalidAnnotation, NotAllowed, NotFound, StudyNotOpen
from triptych.operations import verify
from triptych.people import accounts, roster
from triptych.results import adjudication
from triptych.results.frame.csv_rows import export_ratings
from triptych.results.frame.model import Counted
from triptych.results.frame.upkeep import frame_of
from triptych.storage import events, rows
from triptych.storage.database import reading, writing
from triptych.storage.models import (
    Assignment,
    Event,
    EventDetail,
    Item,
    Membership,
    Purpose,
    Rating,
    Role,
    Slot,
    Study,
    StudyState,
)
from triptych.study import lifecycle
from triptych.study.persons import Who

WHY = "two of three agree"


@pytest.fixture
def rated(sqlite_engine, make_study):
    """(engine, study, lead, annotators, id of the item that two annotators rated: fluency 3 and 1)."""
    engine = sqlite_engine
    with writing(engine) as session:
        study, lead, people = make_study(session, items=1, annotators=3)
        for who, fluency in zip(people, (3, 1), strict=False):
            submit(session, study, who, full_answers(fluency=fluency))
    return engine, study, lead, people, "item-1"


def stored(session) -> list[str]:
    """Every rating of the annotators."""
    expected = select(Rating.assignment_id, Rating.position, Rating.criterion_id, Rating.number, Rating.option_id)
    theirs = expected.join(Assignment, Assignment.id == Rating.assignment_id).where(Assignment.purpose == Purpose.main)
    return sorted(map(repr, session.execute(theirs)))


def decide(session, study, lead, item, values, reason=WHY):
    """As a lead who sees the final values that are stored."""
    seen = adjudication.final_values(session, study, item).get(item)
    adjudication.record(session, study, item, values, reason, lead, seen)


def take_back(session, study, lead, item, reason):
    """As a lead who sees the final values that are stored."""
    seen = adjudication.final_values(session, study, item)[item]
    adjudication.take_back(session, study, item, reason, lead, seen)


def test_a_final_value_waits_for_a_change_under_way(postgres_engine, make_study):
    """Changes are refused after it, but one that had begun was stored later."""
    with writing(postgres_engine) as session:
        study, lead, (anna, _) = make_study(session, items=1)
        work = submit(session, study, anna, full_answers(fluency=3))

    def decide_too() -> None:
        with writing(postgres_engine) as session:
            decide(session, session.get_one(Study, study.id), lead, "item-1", {(1, "fluency"): 3})

    with ThreadPoolExecutor(1) as pool:
        with writing(postgres_engine) as session:
            resubmit(session, anna, work, full_answers(fluency=1))
            decided = pool.submit(decide_too)
            wait_for_a_lock(session, decided)
        decided.result()
    with reading(postgres_engine) as session:
        kinds = list(session.scalars(select(Event.kind).order_by(Event.number)))
    assert kinds[-1] == "final value recorded"


def test_the_log_holds_although_both_act_at_once(postgres_engine, make_study, monkeypatch):
    """An exclusion had read its annotator's rows, and was logged after a decision that handed one of them over."""
    with writing(postgres_engine) as session:
        study, lead, (_, anna) = make_study(session, items=1)
        adjudication.ask(session, study, "item-1", anna.pseudonym, lead)
    read_rows, decided = rows.read, list[Future[None]]()

    def decide_too() -> None:
        with writing(postgres_engine) as session:
            decide(session, session.get_one(Study, study.id), lead, "item-1", {(1, "fluency"): 3})

    def decide_after_reading(*asked):
        its_rows = read_rows(*asked)
        if not decided:
            decided.append(pool.submit(decide_too))
            with reading(postgres_engine) as session:
                wait_for_a_lock(session, decided[0])
        return its_rows

    monkeypatch.setattr(rows, "read", decide_after_reading)
    with ThreadPoolExecutor(1) as pool, writing(postgres_engine) as session:
        exclusions.exclude(session, session.get_one(Study, study.id), anna.pseudonym, "too fast", lead.pseudonym)
    decided[0].result()

    with reading(postgres_engine) as session:
        assert verify.verify(session, study).differences == ()


def test_a_final_value_changes_no_number(rated):
    engine, study, lead, people, item = rated
    with writing(engine) as session:
        before = stored(session), frame_of(session, study).ratings.shape
        decide(session, study, lead, item, {(1, "fluency"): 3, (2, "verdict"): "reject"})

    with reading(engine) as session:
        assert (stored(session), frame_of(session, study).ratings.shape) == before
        assert session.scalars(select(Item.taken)).one() == 2
        final = adjudication.final_values(session, study)[item]
        assert final.values == {(1, "fluency"): 3.0, (2, "verdict"): "reject"}
        assert (final.by, final.reason, final.waiting) == (lead.pseudonym, WHY, False)
        rows = [row for row in export_ratings(session, study) if row[15] == "adjudication"]
        assert sorted((row[6], row[8], row[9], row[10]) for row in rows) == [
            ("System 1", "fluency", 3.0, None),
            ("System 2", "verdict", None, "reject"),
        ]
        assert {row[7] for row in rows} == {None}
        assert verify.verify(session, study).holds
        shares = adjudication.agreement(frame_of(session, study), Counted(), {item: final})
    assert {(each.same, each.of) for each in shares} == {(1, 2), (0, 2)}


def test_final_values_replace_only_those_that_the_lead_saw(rated):
    engine, study, lead, _, item = rated
    with writing(engine) as session:
        decide(session, study, lead, item, {(1, "fluency"): 3})

    changed = f"{lead.pseudonym} changed the final values of item-1 after your page showed them"
    with writing(engine) as session, pytest.raises(Conflict, match=changed):
        adjudication.record(session, study, item, {(1, "fluency"): 1}, "for another reason", lead)

    with reading(engine) as session:
        assert adjudication.final_values(session, study)[item].reason == WHY


def test_a_lead_takes_back_only_final_values_that_they_saw(rated):
    engine, study, lead, _, item = rated
    with writing(engine) as session:
        decide(session, study, lead, item, {(1, "fluency"): 3})
        seen = adjudication.final_values(session, study)[item]
        decide(session, study, lead, item, {(1, "fluency"): 2}, "read again")

    changed = f"{lead.pseudonym} changed the final values of item-1 after your page showed them"
    with writing(engine) as session, pytest.raises(Conflict, match=changed):
        adjudication.take_back(session, study, item, "too early", lead, seen)

    with reading(engine) as session:
        assert adjudication.final_values(session, study)[item].reason == "read again"


def test_a_changed_final_value_stays_in_the_log(rated):
    engine, study, lead, _, item = rated
    with writing(engine) as session:
        decide(session, study, lead, item, {(1, "fluency"): 3})
        decide(session, study, lead, item, {(1, "fluency"): 2}, "read again")
    with writing(engine) as session:
        take_back(session, study, lead, item, "too early")

    with reading(engine) as session:
        news = events.since(session, study.id, 0)[-3:]
        assert [event.kind for event in news] == [
            "final value recorded",
            "final value changed",
            "final value taken back",
        ]
        logged = session.scalars(select(EventDetail.new).join(Event).order_by(Event.number)).all()[-3:]
        assert [(new or {})["version"] for new in logged] == [1, 2, 2]
        assert adjudication.final_values(session, study) == {}
        assert verify.verify(session, study).holds
        assert session.scalar(select(func.count()).where(Assignment.purpose == Purpose.adjudication)) == 1


def test_a_final_value_that_a_lead_gives_is_no_tampering(rated):
    engine, study, lead, (*_, third), item = rated
    with writing(engine) as session:
        adjudication.ask(session, study, item, third.pseudonym, lead)
    with writing(engine) as session:
        decide(session, study, lead, item, {(1, "fluency"): 3})
    for change in (exclusions.exclude, exclusions.reinstate):
        with writing(engine) as session:
            change(session, study, third.pseudonym, "another look", lead.pseudonym)
        with reading(engine) as session:
            assert verify.verify(session, study).holds


def test_a_removed_leads_final_value_can_be_replaced(rated):
    engine, study, lead, _, item = rated
    with writing(engine) as session:
        leads = [accounts.create_lead(session, name, "passcode of a lead") for name in ("Ada", "Grace")]
        for added in leads:
            roster.enrol_lead(session, study, added, lead.pseudonym)
        grace = Who(leads[1].id, leads[1].pseudonym, Role.lead, "Grace", 0)
        decide(session, study, grace, item, {(1, "fluency"): 3})
    with writing(engine) as session:
        roster.remove_lead(session, study, grace.pseudonym, sure(lead))
    with writing(engine) as session:
        decide(session, study, lead, item, {(1, "fluency"): 2})
    with reading(engine) as session:
        assert verify.verify(session, study).holds


def test_any_leads_final_value_in_a_demo_is_proved(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, (first, _) = make_study(session, items=1, demo=True)
        submit(session, study, first)
        grace = accounts.create_lead(session, "Grace", "passcode of a lead")
    with writing(sqlite_engine) as session:
        decide(session, study, Who(grace.id, grace.pseudonym, Role.lead, "Grace", 0), "item-1", {(1, "fluency"): 3})
    with reading(sqlite_engine) as session:
        assert verify.verify(session, study).differences == ()


def test_an_adjudicated_item_is_closed_to_its_annotators_only(rated):
    engine, study, lead, (first, _, third), item = rated
    with writing(engine) as session:
        work = first_work(session, first)
        decide(session, study, lead, item, {(1, "fluency"): 3})
    with pytest.raises(StudyNotOpen, match="final values"), writing(engine) as session:
        resubmit(session, first, work, full_answers(fluency=2))
    with writing(engine) as session:
        submit(session, study, third)
        take_back(session, study, lead, item, "the annotators may mend it")
        resubmit(session, first, work, full_answers(fluency=2))


def test_nobody_is_asked_who_would_never_get_the_item(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, lead, (first, turned, free) = make_study(session, items=1, annotators=3)
        item = "item-1"
        submit(session, study, first)
        membership = session.scalars(select(Membership).where(Membership.person_id == turned.person_id)).one()
        membership.turned_away_at, membership.turned_away_as = clock.now(), entry_test.FAILED
    with writing(sqlite_engine) as session:
        assert adjudication.adjudicators(session, study, item) == [free.pseudonym]
        with pytest.raises(NotFound):
            adjudication.ask(session, study, item, turned.pseudonym, lead)
        lifecycle.set_state(session, study, StudyState.closed, lead.pseudonym)
        with pytest.raises(StudyNotOpen, match="Open it, or decide yourself"):
            adjudication.ask(session, study, item, free.pseudonym, lead)
        lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
        lifecycle.set_state(session, study, StudyState.paused, lead.pseudonym)
        adjudication.ask(session, study, item, free.pseudonym, lead)
        lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
        assert assignments.current(session, study, free).purpose == Purpose.adjudication


@pytest.mark.parametrize("step", ["rated", "holds", ("skip", "unclear"), ("ignore", "empty")])
def test_nobody_is_asked_who_has_met_the_item(sqlite_engine, make_study, step):
    with writing(sqlite_engine) as session:
        rubric = SMALL_RUBRIC + "skip: {title: Skip, reasons: [{key: unclear, title: Unclear}]}\n"
        study, lead, (first, second) = make_study(session, items=1, rubric=rubric)
        if step == "rated":
            submit(session, study, first)
        elif step == "holds":
            assert assignments.current(session, study, first)
        else:
            set_aside(session, study, first, *step)
    with writing(sqlite_engine) as session:
        assert adjudication.adjudicators(session, study, "item-1") == [second.pseudonym]
        with pytest.raises(NotFound, match="asked about this item"):
            adjudication.ask(session, study, "item-1", first.pseudonym, lead)


def test_a_chosen_annotator_decides_after_their_current_item(engine, make_study):
    with writing(engine) as session:
        study, lead, (first, second) = make_study(session, items=3)
        done = submit(session, study, first)
        item = session.get_one(Item, done.item_id).external_id
        held = assignments.current(session, study, second)
        adjudication.ask(session, study, item, second.pseudonym, lead)
        with pytest.raises(Conflict):
            adjudication.ask(session, study, item, first.pseudonym, lead)

    with writing(engine) as session:
        assert assignments.current(session, study, second).token == held.token
        submit(session, study, second)
        asked = assignments.current(session, study, second)
        assert (asked.purpose, asked.version) == (Purpose.adjudication, held.version)  # the page gets the version
        assert adjudication.final_values(session, study)[item].waiting
        submit(session, study, second, full_answers(fluency=1))

    with reading(engine) as session:
        final = adjudication.final_values(session, study)[item]
        assert final.by == second.pseudonym
        assert {value for (_, key), value in final.values.items() if key == "fluency"} == {1.0}
        assert verify.verify(session, study).holds, verify.verify(session, study).sentence


def test_an_asked_annotator_may_skip_and_another_is_asked(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        rubric = SMALL_RUBRIC + "skip: {title: Skip, reasons: [{key: unclear, title: Unclear}]}\n"
        study, lead, (rater, first, second) = make_study(session, items=1, annotators=3, rubric=rubric)
        submit(session, study, rater)
        adjudication.ask(session, study, "item-1", first.pseudonym, lead)
        set_aside(session, study, first, "skip", "unclear")
        assert adjudication.final_values(session, study) == {}
        adjudication.ask(session, study, "item-1", second.pseudonym, lead)
        assert adjudication.final_values(session, study)["item-1"].by == second.pseudonym
    with reading(sqlite_engine) as session:
        assert verify.verify(session, study).holds


def test_a_lead_may_decide_while_an_annotator_is_asked(rated):
    engine, study, lead, people, item = rated
    with writing(engine) as session:
        adjudication.ask(session, study, item, people[2].pseudonym, lead)
        asked = assigned(session, study, people[2])
        decide(session, study, lead, item, {(3, "fluency"): 1})
        with pytest.raises(NotFound):
            assignments.by_token(session, study, people[2], asked.token)
        assert adjudication.final_values(session, study)[item].by == lead.pseudonym
        assert not session.scalars(select(Slot.order_known).where(Slot.assignment_id == asked.id)).first()


@pytest.mark.parametrize(
    "values, reason, error",
    [
        ({(1, "fluency"): 9}, WHY, InvalidAnnotation),
        ({(1, "verdict"): "perhaps"}, WHY, InvalidAnnotation),
        ({(9, "fluency"): 1}, WHY, InvalidAnnotation),
        ({(0, "fluency"): 1}, WHY, InvalidAnnotation),
        ({(1, "beauty"): 1}, WHY, InvalidAnnotation),
        ({}, WHY, InvalidAnnotation),
        ({(1, "fluency"): 1}, "  ", NotAllowed),
    ],
)
def test_what_fits_no_scale_or_has_no_reason_is_refused(sqlite_engine, make_study, values, reason, error):
    with writing(sqlite_engine) as session:
        study, lead, _ = make_study(session, items=1)
        with pytest.raises(error):
            decide(session, study, lead, "item-1", values, reason)
        with pytest.raises(NotFound):
            decide(session, study, lead, "item-99", {(1, "fluency"): 1})


def test_best_and_item_questions_have_final_values(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, lead, _ = make_study(session, items=1, rubric=BEST_RUBRIC)
        values = {(1, "winner"): 1, (2, "winner"): 0, (3, "winner"): 0, (0, "worth"): 0.3}
        decide(session, study, lead, "item-1", values)
        assert adjudication.final_values(session, study)["item-1"].values == values
        assert verify.verify(session, study).holds
