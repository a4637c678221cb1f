"""Looking early: what results say before collection is over, and who opened them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from helpers.analyses import NAMES
from helpers.frames import crossed
from helpers.present import present
from helpers.ratings import exclude, submit
from helpers.results_pages import visit, words  # noqa: F401  (fixtures)
from helpers.studies import add_person, full_answers, join
from hypothesis import given
from hypothesis import strategies as st

from triptych import clock
from triptych.annotate import exclusions
from triptych.exchange import judge_scores
from triptych.exchange.judge_scores import JudgeScore
from triptych.participants.watching import watched
from triptych.privacy import withdrawal
from triptych.reports.numbers import Book
from triptych.results.frame.collection import Planned
from triptych.results.frame.model import Counted, Frame
from triptych.results.frame.upkeep import build_frame, frame_of
from triptych.results.looking import log_look
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.verdicts import verdict
from triptych.results.warnings import findings
from triptych.stats.analysis.collection import CLEAR, INTERIM
from triptych.stats.analysis.statistics import NO_TESTS
from triptych.storage import database, events
from triptych.storage.events import EventKind
from triptych.storage.models import Study, StudyState
from triptych.study import design, lifecycle
from triptych.study.design import Parts
from triptych.study.settings import Consent, Preregistration, StudySettings, changed, stored
from triptych.study.system_names import system_names
from triptych.web.session import web_engine

NOBODY: frozenset[tuple[str, str]] = frozenset()
TWO_LOOKS = frozenset({("2026-01-01", "lead"), ("2026-01-02", "lead")})


def analysed(frame: Frame, planned: Planned, **declaration: object) -> StudyAnalysis:
    settings = StudySettings(preregistration=Preregistration.model_validate(declaration))
    return StudyAnalysis(replace(frame, planned=planned, settings=settings), Counted(), NAMES)


def planned(
    places: int, looks: frozenset[tuple[str, str]] = NOBODY, closed: bool = False, imported: bool = False
) -> Planned:
    return Planned(places, frozenset(), looks, closed, imported)


@pytest.mark.parametrize(
    ("plan", "rule", "bound"),
    [
        (planned(240), "", CLEAR),
        (planned(241), "", INTERIM),
        (planned(241, closed=True), "", CLEAR),
        (planned(241, TWO_LOOKS, closed=True), "", INTERIM),
        (planned(240, TWO_LOOKS, closed=True), "", CLEAR),
        (planned(240), "at 240", INTERIM),
        (planned(240, closed=True), "at 240", CLEAR),
        (planned(240, TWO_LOOKS, closed=True, imported=True), "", CLEAR),
        (planned(999, TWO_LOOKS, closed=True, imported=True), "", INTERIM),
    ],
)
def test_the_bound_is_strict_until_collection_is_over(plan, rule, bound):
    numbers = analysed(crossed(30, 8), plan, stop_rule=rule).collection
    assert (numbers.bound, numbers.interim, numbers.filled) == (bound, bound != CLEAR, 240)


def test_a_difference_between_the_bounds_waits_for_the_end():
    frame = next(
        frame
        for gap in (0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
        for seed in range(1, 20)
        if INTERIM
        < present(analysed(frame := crossed(30, 8, systems=2, gap=gap, seed=seed), planned(0)).contrasts[0].holm)
        < CLEAR
    )
    early, late = analysed(frame, planned(900)), analysed(frame, planned(240))
    assert not early.contrasts[0].clear and late.contrasts[0].clear
    assert verdict(early, early.contrasts[0].criterion).startswith("Interim: No clear difference")
    assert "clear below 0.001" in verdict(early, early.contrasts[0].criterion)
    assert "Interim" not in verdict(late, late.contrasts[0].criterion)
    assert [finding.kind for finding in findings(early)][0] == "collection"
    assert early.contrasts[0].p == late.contrasts[0].p


def test_estimates_without_tests_were_chosen_before_launch():
    early = analysed(crossed(30, 8, gap=2.0), planned(900), interim_bound=0)
    assert {(contrast.p, contrast.holm, contrast.clear) for contrast in early.contrasts} == {(None, None, False)}
    assert (
        verdict(early, early.contrasts[0].criterion)
        == "Interim: estimates without tests until collection is over, as decided before launch."
    )
    assert early.family == "Nothing is tested before collection is over."
    assert Book.of(early).reasons("study", "clear below") == (NO_TESTS.reason,)  # was printed as p < 0.001
    over = analysed(crossed(30, 8, gap=2.0), planned(240), interim_bound=0)
    assert over.contrasts[0].clear


@pytest.mark.long
@given(bound=st.floats(0, INTERIM), places=st.integers(0, 500), closed=st.booleans(), looked=st.booleans())
def test_only_what_is_over_or_unseen_has_the_usual_bound(bound, places, closed, looked):
    plan = planned(places, TWO_LOOKS if looked else NOBODY, closed=closed)
    numbers = analysed(crossed(5, 2), plan, interim_bound=bound).collection
    over = places <= 10 or (closed and not looked)
    assert numbers.bound == (CLEAR if over else bound)
    assert numbers.interim is not over
    assert bool(numbers.sentence) == (looked or not over or places > 10)


@pytest.fixture
def half_done(engine, make_study):
    """(session, study, lead, items): one of two annotators per item rated the four items."""
    with database.writing(engine) as session:
        study, lead, people = make_study(session, raters_per_item=2)
        rate_all(session, study, people[0])
        yield session, study, lead, people


def rate_all(session, study, who):
    for _ in range(4):
        submit(session, study, who, full_answers())


def collected(session, study):
    frame = frame_of(session, study)
    assert frame.planned == build_frame(session, study).planned
    return StudyAnalysis(frame, Counted(), NAMES).collection


def test_a_study_that_was_opened_and_closed_early_stays_strict(half_done, monkeypatch):
    session, study, lead, _ = half_done
    assert collected(session, study).interim
    for _ in range(2):
        log_look(session, study, 4, 8, lead.pseudonym)
    looks = [event for event in events.since(session, study.id, 0) if event.kind == EventKind.results_opened]
    assert len(looks) == 1
    later = clock.now() + timedelta(days=1)
    monkeypatch.setattr(clock, "now", lambda: later)
    log_look(session, study, 4, 8, lead.pseudonym)
    lifecycle.set_state(session, study, StudyState.closed, lead.pseudonym)
    numbers = collected(session, study)
    assert (numbers.filled, numbers.planned, numbers.looks, numbers.bound) == (4, 8, 2, INTERIM)
    assert "closed early, after results had been opened" in numbers.sentence
    assert "1 person opened results in the app on 2 days before collection ended." in numbers.sentence


@pytest.mark.long
@pytest.mark.parametrize(
    ("then", "looks"),
    [
        ("", 0),
        ("stop rule", 1),
        ("excluded", 1),
        ("reinstated", 1),
        ("withdrew", 1),
        ("more annotators", 1),
        ("closed", 0),
    ],
)
def test_a_look_when_everything_is_in_is_not_early(half_done, then, looks):
    session, study, lead, people = half_done
    study.settings = stored(changed(study, consent=Consent(after_withdrawal="delete")))
    rate_all(session, study, people[1])
    if then == "reinstated":
        exclusions.exclude(session, study, people[1].pseudonym, "slow", lead.pseudonym)
        rate_all(session, study, join(session, study, add_person(session, "another")))
    if then == "stop rule":
        study.settings = stored(changed(study, preregistration=Preregistration(stop_rule="at 8")))
    log_look(session, study, 8, 8, lead.pseudonym)
    if then == "excluded":
        exclude(session, study, people[1])
    if then == "reinstated":
        exclusions.reinstate(session, study, people[1].pseudonym, "not slow", lead.pseudonym)
    if then == "withdrew":
        withdrawal.withdraw(session, study, people[1].pseudonym, lead.pseudonym)
        rate_all(session, study, join(session, study, add_person(session, "another")))
    if then == "more annotators":
        design.amend(session, study, Parts(raters_per_item=3), "more power", lead.pseudonym)
    if then == "closed":
        lifecycle.set_state(session, study, StudyState.closed, lead.pseudonym)
    numbers = collected(session, study)
    assert numbers.looks == looks
    assert ("opened results in the app" in numbers.sentence) == bool(looks)


@pytest.mark.parametrize("complete", [False, True])
def test_collection_extended_after_complete_results_is_said(half_done, complete):
    session, study, lead, people = half_done
    another = join(session, study, add_person(session, "another"))
    if complete:
        rate_all(session, study, people[1])
    log_look(session, study, 8 if complete else 4, 8, lead.pseudonym)
    design.amend(session, study, Parts(raters_per_item=3), "more power", lead.pseudonym)
    for who in (another,) if complete else (people[1], another):
        rate_all(session, study, who)
    lifecycle.set_state(session, study, StudyState.closed, lead.pseudonym)
    numbers = collected(session, study)
    assert (numbers.filled, numbers.planned, numbers.looks) == (12, 12, 1)
    extended = " Collection was extended after complete results had been opened."
    assert numbers.sentence.endswith(extended) is complete


def test_excluding_a_judge_makes_no_earlier_look_early(half_done):
    session, study, lead, people = half_done
    for _ in range(4):
        submit(session, study, people[1], full_answers())
    systems = system_names(session, study).values()
    scores = [
        JudgeScore(str(item), system, "fluency", 2) for item in frame_of(session, study).meta for system in systems
    ]
    checked = judge_scores.check(session, study, "one-model", scores)
    judge = judge_scores.append(session, study, checked, lead.pseudonym).judge
    log_look(session, study, 8, 8, lead.pseudonym)
    exclusions.exclude(session, study, judge, "a bad model", lead.pseudonym)
    assert collected(session, study).looks == 0


def test_a_study_closed_early_and_opened_afterwards_is_over(half_done):
    session, study, lead, _ = half_done
    lifecycle.set_state(session, study, StudyState.closed, lead.pseudonym)
    log_look(session, study, 4, 8, lead.pseudonym)
    numbers = collected(session, study)
    assert (numbers.bound, numbers.looks) == (CLEAR, 0)
    assert "before anybody had opened results in the app: 4 of 8 planned annotations are in" in numbers.sentence
    assert "reports made by a command do not count" in numbers.sentence


def test_work_excluded_before_the_closing_fills_no_plan(half_done):
    """Three of four annotations are excluded work; closing the study after a look made collection complete."""
    session, study, lead, people = half_done
    for _ in range(4):
        submit(session, study, people[1], full_answers())
    exclude(session, study, people[1])
    log_look(session, study, 4, 8, lead.pseudonym)
    lifecycle.set_state(session, study, StudyState.closed, lead.pseudonym)

    numbers = collected(session, study)
    assert (numbers.filled, numbers.interim) == (4, True)
    seen = watched(session, study).frame
    assert StudyAnalysis(seen, Counted(), NAMES).collection.filled == 4

    exclude(session, study, people[0])
    exclude(session, study, people[1], out=False)
    exclude(session, study, people[1])  # a membership holds only this exclusion, after the closing

    assert (collected(session, study).filled, collected(session, study).interim) == (4, True)


@pytest.mark.parametrize(("looked", "excluded"), [(False, False), (True, False), (True, True)])
def test_ratings_deleted_after_the_closing_end_no_collection(half_done, looked, excluded):
    """A withdrawal made a complete study one that was closed early, with a stricter bound."""
    session, study, lead, people = half_done
    study.settings = stored(changed(study, consent=Consent(after_withdrawal="delete")))
    rate_all(session, study, people[1])
    if looked:
        log_look(session, study, 8, 8, lead.pseudonym)
    lifecycle.set_state(session, study, StudyState.closed, lead.pseudonym)
    log_look(session, study, 8, 8, lead.pseudonym)
    if excluded:
        exclusions.exclude(session, study, people[1].pseudonym, "slow", lead.pseudonym)

    withdrawal.withdraw(session, study, people[1].pseudonym, lead.pseudonym)

    numbers = collected(session, study)
    assert (numbers.filled, numbers.planned, numbers.bound, numbers.sentence) == (8, 8, CLEAR, "")
    lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
    assert collected(session, study).filled == 4


@pytest.mark.parametrize("looked", [False, True])
def test_ratings_of_retired_items_deleted_after_the_closing_count(half_done, looked):
    """An item that stays planned counted as not received when a withdrawal deleted its ratings."""
    session, study, lead, people = half_done
    study.settings = stored(changed(study, consent=Consent(after_withdrawal="delete")))
    rate_all(session, study, people[1])
    if looked:
        log_look(session, study, 8, 8, lead.pseudonym)
    retired = str(next(iter(frame_of(session, study).meta)))
    design.amend(session, study, Parts(retire=(retired,)), "unclear", lead.pseudonym)
    lifecycle.set_state(session, study, StudyState.closed, lead.pseudonym)
    before = collected(session, study)

    withdrawal.withdraw(session, study, people[1].pseudonym, lead.pseudonym)

    numbers = collected(session, study)
    assert (numbers.filled, numbers.planned) == (before.filled, before.planned) == ((8, 8) if looked else (6, 6))
    assert numbers.bound == CLEAR


def test_who_is_reinstated_fills_their_places_of_retired_items(half_done):
    """Their work there became surplus, so that a complete study was interim for ever."""
    session, study, lead, people = half_done
    rate_all(session, study, people[1])
    log_look(session, study, 8, 8, lead.pseudonym)
    retired = str(next(iter(frame_of(session, study).meta)))
    design.amend(session, study, Parts(retire=(retired,)), "unclear", lead.pseudonym)
    lifecycle.set_state(session, study, StudyState.closed, lead.pseudonym)

    exclusions.exclude(session, study, people[1].pseudonym, "slow", lead.pseudonym)
    exclusions.reinstate(session, study, people[1].pseudonym, "not slow", lead.pseudonym)

    numbers = collected(session, study)
    assert (numbers.filled, numbers.planned, numbers.interim) == (8, 8, False)


def test_items_taken_out_of_a_closed_study_stay_planned(half_done):
    session, study, lead, _ = half_done
    lifecycle.set_state(session, study, StudyState.closed, lead.pseudonym)
    log_look(session, study, 4, 8, lead.pseudonym)

    retired = str(next(iter(frame_of(session, study).meta)))
    design.amend(session, study, Parts(retire=(retired,)), "not needed", lead.pseudonym)

    numbers = collected(session, study)
    assert (numbers.filled, numbers.planned) == (4, 8)
    assert "4 of 8 planned annotations are in" in numbers.sentence


def test_imported_ratings_are_no_plan_of_a_reopened_study(half_done):
    session, study, lead, _ = half_done
    events.record(session, study.id, EventKind.ratings_imported, lead.pseudonym, new={})
    lifecycle.set_state(session, study, StudyState.closed, lead.pseudonym)
    assert not collected(session, study).interim
    lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
    log_look(session, study, 4, 8, lead.pseudonym)

    lifecycle.set_state(session, study, StudyState.closed, lead.pseudonym)

    assert collected(session, study).interim


@pytest.mark.parametrize("closed", [False, True])
def test_scores_of_judges_are_no_planned_annotations(half_done, closed):
    session, study, lead, _ = half_done
    log_look(session, study, 4, 8, lead.pseudonym)
    items, systems = frame_of(session, study).meta, system_names(session, study).values()
    for judge in ("one-model", "other-model"):
        scores = [JudgeScore(str(item), system, "fluency", 2) for item in items for system in systems]
        checked = judge_scores.check(session, study, judge, scores)
        judge_scores.append(session, study, checked, lead.pseudonym)
    if closed:
        lifecycle.set_state(session, study, StudyState.closed, lead.pseudonym)
    numbers = collected(session, study)
    assert (numbers.filled, numbers.bound, numbers.interim) == (4, INTERIM, True)


@pytest.mark.parametrize("looked", [False, True])
def test_items_taken_out_count_as_in_only_before_a_look(half_done, looked):
    session, study, lead, people = half_done
    for _ in range(2):
        submit(session, study, people[1], full_answers())
    if looked:
        log_look(session, study, 6, 8, lead.pseudonym)
    items = {str(item) for item in frame_of(session, study).meta}
    done = frame_of(session, study).work["item"].astype(str).value_counts()
    design.amend(
        session, study, Parts(retire=tuple(sorted(items - {*done.index[done == 2]}))), "too hard", lead.pseudonym
    )
    numbers = collected(session, study)
    assert (numbers.filled, numbers.planned) == ((6, 8) if looked else (4, 4))
    assert numbers.interim is looked
    dropped = "before anybody had opened results in the app, leaving out 2 planned annotations. Exports, single"
    assert (dropped in numbers.sentence) is not looked


def test_items_taken_out_before_the_first_annotation_drop_nothing(engine, make_study):
    with database.writing(engine) as session:
        study, lead, people = make_study(session, raters_per_item=1)
        item = str(next(iter(frame_of(session, study).meta)))
        design.amend(session, study, Parts(retire=(item,)), "a mistake", lead.pseudonym)
        for _ in range(3):
            submit(session, study, people[0], full_answers())
        assert (collected(session, study).filled, collected(session, study).sentence) == (3, "")


def test_more_raters_after_a_look_open_collection_again(half_done):
    session, study, lead, people = half_done
    for _ in range(4):
        submit(session, study, people[1], full_answers())
    assert not collected(session, study).interim
    design.amend(session, study, Parts(raters_per_item=3), "more power", lead.pseudonym)
    assert collected(session, study).interim


@pytest.mark.long
def test_opening_the_results_page_logs_a_look(make_study, visit):
    with database.writing(web_engine()) as session:
        study, lead, people = make_study(session, raters_per_item=2)
        for _ in range(4):
            submit(session, study, people[0], full_answers())
    page = visit(lead, "results.py", study=study.slug)
    assert "Results are interim: 4 of 8 planned annotations are in." in words(page)
    page.run()
    with database.reading(web_engine()) as reading:
        kinds = [event.kind for event in events.since(reading, study.id, 0)]
    assert kinds.count(EventKind.results_opened) == 1


def test_results_without_tests_are_logged_as_looks_too(make_study, visit):
    """They show intervals; a study closed at a convenient one would count as unseen, and be tested."""
    with database.writing(web_engine()) as session:
        study, lead, people = make_study(session, raters_per_item=2)
        study.settings = stored(changed(study, preregistration=Preregistration(interim_bound=0)))
        for _ in range(4):
            submit(session, study, people[0], full_answers())
    visit(lead, "results.py", study=study.slug)
    with database.writing(web_engine()) as session:
        study = session.get_one(Study, study.id)
        lifecycle.set_state(session, study, StudyState.closed, lead.pseudonym)
        numbers = collected(session, study)
    assert (numbers.looks, numbers.bound, numbers.interim) == (1, 0, True)


def test_differences_on_the_quality_page_are_a_look(make_study, visit):
    with database.writing(web_engine()) as session:
        study, lead, people = make_study(session, raters_per_item=3)
        for _ in range(4):
            submit(session, study, people[0], full_answers())
        submit(session, study, people[1], full_answers())
    logged = looks_after(visit, lead, study)
    assert logged == 0  # nobody is excluded, so no difference is shown
    with database.writing(web_engine()) as session:
        exclude(session, session.get_one(Study, study.id), people[1])
    assert looks_after(visit, lead, study) == 1


def looks_after(visit, lead, study) -> int:
    """Logged looks after a visit of the quality page."""
    visit(lead, "quality.py", study=study.slug)
    with database.reading(web_engine()) as session:
        return [event.kind for event in events.since(session, study.id, 0)].count(EventKind.results_opened)
