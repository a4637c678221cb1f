"""Checks among the items, entry tests, repeats, panels: what a lead learns about annotators, and what counts."""

from __future__ import annotations

import pytest
from helpers.check_items import add_check, rate
from helpers.frames import likert_rubric, make_frame
from helpers.present import present
from helpers.ratings import submit
from helpers.reports import again, report_of
from helpers.studies import SMALL_RUBRIC, add_person, draft_items, full_answers, join
from sqlalchemy import delete, select

from triptych import clock
from triptych.annotate import assignments, exclusions
from triptych.people import panels
from triptych.results import quality
from triptych.results.annotators import repeated, with_self
from triptych.results.frame.model import Counted
from triptych.results.frame.upkeep import build_frame, frame_of, twice_rated
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.warnings import missing_answers
from triptych.stats.diagnostics import FlaggedRate
from triptych.stats.undefined import Undefined
from triptych.storage import database
from triptych.storage.models import (
    Access,
    Assignment,
    AssignmentState,
    EntryAttempt,
    Item,
    Membership,
    Purpose,
    Rating,
    Role,
    Study,
    StudyState,
)
from triptych.study import design, lifecycle
from triptych.study.persons import Who
from triptych.study.settings import changed, stored
from triptych.study.system_names import system_names

HUMAN = Counted().kinds


def leave(session, study, who, item, purpose, how) -> None:
    """An item that an annotator left unrated, as the command leaves it."""
    work = rate(session, study, who, item, purpose, (1, 1, 1), **how)
    session.execute(delete(Rating).where(Rating.assignment_id == work.id))


def standing_of(session, study, who) -> quality.Standing:
    return next(each for each in quality.standings(session, study, HUMAN) if each.annotator == who.pseudonym)


def test_two_failed_attention_checks_ask_for_a_review(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, _, (careful, careless) = make_study(session)
        for n in range(3):
            item = add_check(session, study, Purpose.attention, n)
            # the agreed answer is about the second candidate of the file, wherever the screen showed it
            rate(session, study, careful, item, Purpose.attention, (1, 3 if n else 1, 1))
            rate(session, study, careless, item, Purpose.attention, (3, 3 if n == 2 else 1, 3))

        assert (
            standing_of(session, study, careful).attention_failed,
            [*standing_of(session, study, careful).flags],
        ) == (1, [])
        result = standing_of(session, study, careless)
        assert [*result.flags] == ["2 of 3 attention checks failed."]


def test_retired_checks_flag_nobody(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, _, (who, _) = make_study(session)
        for n in range(2):
            item = add_check(session, study, Purpose.attention, n)
            rate(session, study, who, item, Purpose.attention, (1, 1, 1))
        assert standing_of(session, study, who).attention_failed == 2

        design.amend(session, study, design.Parts(retire=(item.external_id,)), "A wrong instruction.", "P-lead")

        result = standing_of(session, study, who)
        assert (result.attention, result.attention_failed, [*result.flags]) == (1, 1, [])


def test_two_skipped_checks_ask_for_a_review(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, _, (evasive, once) = make_study(session)
        skipped = {"state": AssignmentState.skipped, "reason": "unclear"}
        ignored = {"state": AssignmentState.ignored, "reason": "empty"}
        for n, (purpose, how) in enumerate([(Purpose.attention, skipped), (Purpose.gold, ignored)]):
            leave(session, study, evasive, add_check(session, study, purpose, n), purpose, how)
        item = add_check(session, study, Purpose.gold, 2)
        rate(session, study, evasive, item, Purpose.gold, (3, 3, 3))
        leave(session, study, once, item, Purpose.gold, skipped)
        result = standing_of(session, study, evasive)

        assert (result.attention, result.attention_failed, result.skipped) == (1, 1, 2)
        assert (result.gold.rate.hits, result.gold.rate.n) == (1, 2)
        assert [*result.flags] == ["2 of 3 checks skipped."]
        assert [*standing_of(session, study, once).flags] == []


@pytest.mark.parametrize(("right", "n", "flagged"), [(2, 8, True), (0, 7, False), (5, 8, False)])
def test_gold_accuracy_below_seven_in_ten_asks_for_a_review(sqlite_engine, make_study, right, n, flagged):
    with database.writing(sqlite_engine) as session:
        study, _, (who, _) = make_study(session)
        for place in range(n):
            item = add_check(session, study, Purpose.gold, place, accepted="2", close=1 if place % 2 else 0)
            answer = (2, 2, 2) if place < right else (2, 99, 2)
            rate(session, study, who, item, Purpose.gold, answer)
        result = standing_of(session, study, who)

        assert isinstance(result.gold, FlaggedRate)
        assert (result.gold.rate.hits, result.gold.rate.n) == (right, n)
        assert any("gold items" in flag for flag in result.flags) is flagged
        assert build_frame(session, study).work.empty


def test_entry_test_attempts_and_time_are_reported(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, _, (who, other) = make_study(session)
        membership = session.scalars(select(Membership.id).where(Membership.person_id == who.person_id)).one()
        now = clock.now()
        for number, right, passed in ((1, 5, False), (2, 9, True)):
            session.add(
                EntryAttempt(
                    membership_id=membership,
                    number=number,
                    started_at=now,
                    finished_at=now,
                    asked=10,
                    right=right,
                    passed=passed,
                )
            )
        rate(
            session,
            study,
            who,
            add_check(session, study, Purpose.gold, 1),
            Purpose.entry_test,
            (1, 1, 1),
            active_seconds=90,
        )
        result = standing_of(session, study, who)

        assert [(each.right, each.asked, each.passed) for each in result.attempts] == [(5, 10, False), (9, 10, True)]
        assert result.before_work == 90
        assert result.gold == Undefined("Not defined: there is nothing to count yet.")
        assert standing_of(session, study, other).is_empty


def test_repeats_are_compared_and_count_in_no_result(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, lead, (who, other) = make_study(session, items=3)
        for fluency in (1, 2, 3):
            submit(session, study, who, full_answers(fluency=fluency, verdict="accept"))
        submit(session, study, other)
        frame = frame_of(session, study)
        first = session.scalars(select(Assignment).where(Assignment.person_id == who.person_id)).all()
        rated = frame.ratings[frame.ratings["criterion"] == "fluency"].set_index("assignment")["value"]
        for work, off in zip(first[:2], (0, 1), strict=True):
            own = rated[work.id].iloc[0]
            item = session.get_one(Item, work.item_id)
            answers = (own, own, own + off if own < 3 else own - off)
            rate(session, study, who, item, Purpose.repeat, answers, repeat_of=work.id)
        twice = twice_rated(session, study, frame)
        result = repeated(twice, Counted())[who.pseudonym]

        assert list(repeated(twice, Counted())) == [who.pseudonym]
        assert (result.same.hits, result.same.n) == (5, 6)
        assert result.apart == pytest.approx(1 / 6 / 2)
        tables = with_self(twice, Counted())
        assert present(tables["fluency"])["percent"].value == pytest.approx(5 / 6)
        assert tables["verdict"] == Undefined("No item was rated twice by the same annotator.")
        assert len(build_frame(session, study).work) == 4


def test_an_excluded_annotator_makes_nobody_look_worse(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, lead, people_ = make_study(session, items=4, annotators=4, raters_per_item=4)
        for n in range(4):
            for place, who in enumerate(people_):
                value = 1 + n % 3 if place else 3 - n % 3
                submit(session, study, who, full_answers(fluency=value))
        exclusions.exclude(session, study, people_[0].pseudonym, "against everybody", lead.pseudonym)
        frame, names = frame_of(session, study), system_names(session, study)
        each, everybody = (StudyAnalysis(frame, Counted(with_excluded=out), names) for out in (False, True))
        result = quality.lines_of(session, study, each, everybody, twice_rated(session, study, frame))

        assert [line.standing.annotator for line in result][-1] == people_[0].pseudonym
        assert result[-1].standing.excluded_reason == "against everybody"
        assert result[-1].look.severity.difference != 0
        assert [line.look.severity.difference for line in result[:-1]] == [0, 0, 0]


def test_a_late_panel_session_shows_the_ending_only(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, _, _ = make_study(session, items=2, annotators=0)
        study.access = Access.panel
        session.flush()
        first = panels.join_from_panel(session, study, "prolific", "5f1", "first")
        who = Who(first.id, first.pseudonym, first.role, None, 0)
        submit(session, study, who)
        submit(session, study, who)
        second = panels.join_from_panel(session, study, "prolific", "5f1", "second")

        assert second.id == first.id
        assert assignments.current(session, study, who) == assignments.NoItem.finished
        own = select(Membership).where(Membership.study_id == study.id, Membership.role == Role.annotator)
        assert len(session.scalars(own).all()) == 1
        assert len(session.scalars(select(Assignment).where(Assignment.person_id == first.id)).all()) == 2


@pytest.mark.long
def test_recruitment_and_pay_are_in_methods_datasheet_and_numbers(sqlite_engine, tmp_path, monkeypatch):
    settings = {
        "recruitment": {"how": "Posted on Prolific", "eligibility": ["Approval rate 98 %", "Lives in the UK"]},
        "pay": {"per_item": "0.25", "currency": "GBP", "floor_per_hour": "12"},
    }
    with database.writing(sqlite_engine) as session:
        lead = add_person(session, "lead", Role.lead)
        plan = lifecycle.StudyPlan(title="Paid", seed="fixed")
        study = lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(2), lead.pseudonym, lead.person_id)
        study.settings = {**study.settings, **stored(changed(study, **settings))}
        lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
        for name, seconds in (("slow", 90.0), ("fast", 30.0)):
            who = join(session, study, add_person(session, name))
            for _ in range(2):
                submit(session, study, who, seconds=seconds)
    report = report_of(sqlite_engine, study)

    methods = report.files["methods.txt"].decode()
    assert "Recruitment: Posted on Prolific. Eligibility, as the panel enforced it: Approval rate 98 %; " in methods
    assert (
        "The pay was GBP 0.25 per item. With a median active time of 60 seconds per item, pauses over 120 seconds "
        "not counted, the median annotator earned GBP 20.00 per hour and the lowest-paid GBP 10.00." in methods
    )
    sheet = report.files["heds.md"].decode()
    assert "With money; `GBP 0.25 per item.`" in sheet
    assert "- 3.2.3 How are they recruited?: `Posted on Prolific`" in sheet
    assert "Lives in the UK" in sheet
    assert again(report, tmp_path, monkeypatch) == []
    assert len([row for row in report.files["results.csv"].decode().splitlines() if ",pay," in row]) == 4

    with database.writing(sqlite_engine) as session:
        study = session.get_one(Study, study.id)
        lifecycle.set_state(session, study, StudyState.closed, lead.pseudonym)
        parts = design.Parts(settings={"pay": {"per_item": "0.90", "currency": "GBP", "floor_per_hour": "12"}})
        design.amend(session, study, parts, "Wording.", lead.pseudonym)
    report = report_of(sqlite_engine, study)
    methods = report.files["methods.txt"].decode()
    assert "The pay was GBP 0.90 per item (GBP 0.25 per item until 20" in methods
    assert "the lowest-paid GBP 36.00, had all work been paid at the last rate." in methods
    assert "`GBP 0.90 per item (GBP 0.25 per item until 20" in report.files["heds.md"].decode()


def test_a_pay_first_set_after_launch_is_reported(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, lead, (annotator, *_) = make_study(session)
        submit(session, study, annotator, seconds=60)
        design.amend(session, study, design.Parts(settings={"pay": {"per_item": "0.25"}}), "Forgotten.", lead.pseudonym)
    methods = report_of(sqlite_engine, study).files["methods.txt"].decode()
    assert "The pay was USD 0.25 per item (not stated until 20" in methods


def test_many_answers_set_apart_are_reported_about_the_rubric():
    options = "options: [{key: yes_, title: Fits, positive: true}, {key: dont, title: I don't know, apart: true}]"
    rubric = likert_rubric()
    head = rubric[: rubric.index("    scale:")]
    rows = [
        {"annotator": "P-1", "item": f"i{n}", "system": 1, "criterion": "c1", "option": "dont" if n < 3 else "yes_"}
        for n in range(10)
    ]
    frame = make_frame(f"{head}    scale: {{kind: choice, {options}}}\n", rows)
    (result,) = missing_answers(StudyAnalysis(frame, Counted(), {1: "System 1"}))

    assert result.sentence == "Criterion 1: 30 % of the answers are “I don't know”; is the question clear?"
    assert result.examples.values == {"I don't know"}
