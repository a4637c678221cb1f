"""The first screen of the results: order of systems, verdict, groups, the next step, the date, slices."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.analyses import analysis
from helpers.frames import crossed, likert_rubric, make_frame
from helpers.present import present

from components.results.findings import first_lines
from components.results.first_screen.picture import LONGEST_NAME, picture, row_name, table
from triptych import clock
from triptych.reports.numbers import Book
from triptych.results import progress
from triptych.results.first_screen.next_step import next_step
from triptych.results.first_screen.ranking import first_verdict, groups_apart, in_order, pictured, primary
from triptych.results.first_screen.slices import slices
from triptych.results.frame.model import Counted, Frame
from triptych.results.progress import Overview
from triptych.results.study_analysis import CHOSEN_ANNOTATORS, UNDECLARED_SLICE, StudyAnalysis
from triptych.results.verdicts import EXPLORATORY, summary, verdict
from triptych.results.warnings import Finding
from triptych.rubric.files import parse_rubric
from triptych.stats.analysis.collection import CLEAR
from triptych.storage.models import StudyState
from triptych.study.lifecycle import Design
from triptych.study.settings import Preregistration, StudySettings

NAMES = {code: f"System {code}" for code in range(1, 21)}
NOW = datetime(2026, 3, 10, tzinfo=UTC)

NONE_OTHER_WAY_ROUND = " No other criterion shows a clear difference the other way round."


def declared(frame: Frame, **declaration) -> Frame:
    return replace(frame, settings=StudySettings(preregistration=Preregistration(**declaration)))


def with_topics(frame: Frame) -> Frame:
    items = frame.ratings["item"].cat.categories
    return replace(frame, meta={item: {"topic": "fees" if place % 2 else "rooms"} for place, item in enumerate(items)})


def test_the_declared_primary_criterion_sorts_and_decides():
    frame = crossed(items=12, annotators=6, criteria=3, gap=1.5)
    assert primary(analysis(frame)) == "c1"
    of_second = analysis(declared(frame, primary_criterion="c2"))
    assert primary(of_second) == "c2"
    assert [result.criterion.key for result in pictured(of_second)] == ["c2", "c1", "c3"]
    assert first_verdict(of_second).headline.endswith("on Criterion 2.")
    assert [in_order(of_second, by) for by in ("number", "primary", "mean")] == [[1, 2, 3], [3, 2, 1], [3, 2, 1]]


def one_of_two_differs(systems: int = 3) -> Frame:
    """Two criteria; systems differ on the first alone."""
    frame = crossed(items=30, annotators=8, systems=systems, criteria=2)
    rows, first = frame.ratings, frame.ratings["criterion"].eq("c1")
    return replace(frame, ratings=rows.assign(value=rows["value"] + first * 1.5 * (rows["system"] - 2)))


def test_a_declared_criterion_decides_before_an_exploratory_one():
    frame = one_of_two_differs()
    assert primary(analysis(frame)) == "c1"
    of_declared = analysis(declared(frame, criteria=("c2",)))
    assert [result.criterion.key for result in pictured(of_declared)] == ["c2", "c1"]
    verdict = first_verdict(of_declared)
    assert verdict.headline == "No two systems differ clearly on Criterion 2."
    assert verdict.second.endswith("Other criteria: 1 of 1 show clear differences (1 exploratory).")
    of_both = first_verdict(analysis(declared(frame, criteria=("c1", "c2"))))
    assert of_both.headline == "System 3 is clearly above all others on Criterion 1."
    assert "xploratory" not in of_both.second


def test_an_exploratory_criterion_the_other_way_round_is_called_so():
    frame = crossed(items=30, annotators=8, systems=2, criteria=2, gap=1.5)
    second = frame.ratings["criterion"].eq("c2")
    frame = replace(frame, ratings=frame.ratings.assign(value=frame.ratings["value"].mask(second, lambda of: 8 - of)))
    words = first_verdict(analysis(declared(frame, criteria=("c1",)))).second
    assert "The other way round on Criterion 2 (exploratory): System 1 is above System 2." in words
    assert "The other way round on Criterion 2: System 1" in first_verdict(analysis(frame)).second


def test_other_criteria_are_compared_by_order_not_by_merit():
    frame = crossed(items=30, annotators=8, systems=2, criteria=2, gap=1.5)
    assert first_verdict(analysis(frame)).second.endswith(NONE_OTHER_WAY_ROUND)


def test_an_unclear_opposite_order_is_not_denied():
    frame = crossed(items=12, annotators=6, systems=2, criteria=2, gap=1.5)
    ratings = frame.ratings
    raised = ratings["item"].isin(["item-0", "item-1"]) & ratings["system"].eq(1)
    frame = replace(
        frame, ratings=ratings.assign(value=ratings["value"].mask(ratings["criterion"].eq("c2"), 4.0 + raised))
    )

    (opposite,) = analysis(frame).contrasts_of("c2")
    assert (opposite.higher, opposite.clear) == (1, False)
    assert first_verdict(analysis(frame)).second.endswith(NONE_OTHER_WAY_ROUND)


def test_an_exploratory_criterion_that_decides_is_called_so():
    frame = one_of_two_differs()
    frame = replace(frame, ratings=frame.ratings[frame.ratings["criterion"].eq("c1")])
    verdict = first_verdict(analysis(declared(frame, criteria=("c2",))))
    assert verdict.headline.endswith("on Criterion 1.")
    assert EXPLORATORY in verdict.second


def test_up_to_five_systems_have_their_order_in_the_verdict():
    verdict = first_verdict(analysis(crossed(items=30, annotators=8, systems=3, gap=1.5)))
    assert verdict.headline == "System 3 is clearly above all others on Criterion 1."
    assert verdict.second.startswith("System 3 is higher than System 1 by ")
    assert not verdict.groups


@pytest.mark.parametrize(("gap", "second"), [(0.0, "Other criteria: 1 of 1 show"), (-1.5, "The other way round on")])
def test_a_clear_criterion_that_few_rated_is_about_them_only(gap, second):
    whole = crossed(items=30, annotators=8, systems=2, criteria=2, gap=0).ratings
    rows = whole[whole["criterion"].eq("c1") | whole["annotator"].isin(["P-0", "P-1", "P-2"])].reset_index(drop=True)
    of_second, later = rows["criterion"].eq("c2"), rows["system"].eq(2)
    rows["value"] = rows["value"].clip(3, 5) + np.where(of_second & later, 2.0, gap * (~of_second & later))
    verdict = first_verdict(analysis(make_frame(likert_rubric(2), rows)))
    assert second in verdict.second
    assert verdict.second.endswith(
        "On Criterion 2, this applies to these annotators only: there are too few to generalise."
    )


def test_more_systems_are_grouped():
    frame = crossed(items=30, annotators=8, systems=12, gap=0.4, points=7)
    of_many = StudyAnalysis(frame, Counted(), NAMES)
    verdict = first_verdict(of_many)
    assert "are clearly below no other; the other" in verdict.headline and len(verdict.headline) < 200
    assert sum(group.count("System") for group in verdict.groups) == 12
    clear = {frozenset((c.system, c.baseline)) for c in of_many.contrasts if c.clear}
    groups = groups_apart(of_many.systems, [c for c in of_many.contrasts if c.clear])
    for group in groups:
        assert not any(frozenset((one, other)) in clear for one in group for other in group if one != other)
    for above, group in zip(groups, groups[1:], strict=False):
        assert all(any(frozenset((code, other)) in clear for other in above) for code in group)


@pytest.mark.parametrize(
    ("rare", "headline"),
    [
        (0, "Criterion 1: No two of the 7 systems differ clearly."),
        (7, "Criterion 1: No two of the 6 systems that can be compared differ clearly; System 7 was not compared."),
    ],
)
def test_many_systems_that_do_not_differ_are_one_group(rare, headline):
    rows = crossed(items=30, annotators=8, systems=7, points=7, gap=0).ratings
    rows = rows[rows["system"].ne(rare) | rows["item"].eq("item-0")].reset_index(drop=True)
    verdict = first_verdict(StudyAnalysis(make_frame(likert_rubric(), rows), Counted(), NAMES))
    assert (verdict.headline, verdict.groups) == (headline, ())


def test_without_tests_of_the_primary_criterion_all_are_exploratory():
    """Other declared criteria may compare systems; "no declared criterion" did was said all the same."""
    declaration = {"criteria": ("overall", "c1"), "primary_criterion": "overall"}
    part = analysis(declared(crossed(items=30, annotators=8, criteria=2), **declaration))
    assert part.family == (
        "None of the tests declared before launch compares systems. 6 tests are exploratory and adjusted separately: "
        "3 pairs of systems × 2 criteria (Criterion 1, Criterion 2)."
    )


def test_a_system_without_a_test_is_in_no_group():
    """One that was rated on a single item, and badly there, stood among the best."""
    rows = crossed(items=30, annotators=8, systems=7, points=7, gap=0).ratings
    rows = rows[rows["system"].ne(7) | rows["item"].eq("item-0")].reset_index(drop=True)
    rows["value"] = rows["value"].clip(3, 5) + 2.0 * rows["system"].eq(3) - 2.0 * rows["system"].eq(7)
    of_many = StudyAnalysis(make_frame(likert_rubric(), rows), Counted(), NAMES)
    verdict = first_verdict(of_many)
    assert verdict.headline == (
        "Criterion 1: System 3 is clearly below no other; the other 5 follow; System 7 was not compared."
    )
    assert verdict.groups == ("System 3", "System 1, System 2, System 4, System 5 and System 6")
    assert summary(of_many, of_many.contrasts) == "Clearly below no other: System 3; System 7 was not compared"


def test_a_circle_of_clear_differences_is_one_group():
    circle: list[Any] = [SimpleNamespace(higher=b, lower=a) for a, b in ((1, 2), (2, 3), (3, 1))]
    assert groups_apart([1, 2, 3], circle) == [[1, 2, 3]]


@pytest.mark.parametrize("systems", [2, 3, 5, 12, 20])
def test_the_picture_shows_every_system_on_the_whole_scale(systems):
    of_study = StudyAnalysis(crossed(items=8, annotators=5, systems=systems, criteria=3, points=5), Counted(), NAMES)
    shown, order = pictured(of_study), in_order(of_study, "primary")
    drawn, _is_wide = picture(of_study, shown, order)
    assert drawn.layout.height < 520
    assert len(drawn.data) == 3 and all(len(trace.y) == systems for trace in drawn.data)
    assert drawn.layout.xaxis.range[0] < 1 and drawn.layout.xaxis.range[1] > 5
    assert list(drawn.layout.yaxis.categoryarray) == [NAMES[code] for code in order][::-1]
    assert len(table(of_study, shown, order)) == 3 * systems


def test_a_slice_is_tested_only_if_declared():
    frame = with_topics(crossed(items=40, annotators=6, gap=1.5))
    plain, tested = (slices(analysis(each), "c1", "topic") for each in (frame, declared(frame, slices=("topic",))))
    assert [(part.value, part.items) for part in plain] == [("fees", 20), ("rooms", 20)]
    assert all(system.n == 120 for part in plain for system in part.systems)
    assert not any(part.contrasts for part in plain)
    assert all(len(part.contrasts) == 3 for part in tested)
    adjusted = [(present(contrast.holm), present(contrast.p)) for part in tested for contrast in part.contrasts]
    assert max(holm / p for holm, p in adjusted) == pytest.approx(6)
    assert len(adjusted) == 6


def test_items_filtered_by_an_undeclared_field_are_not_tested():
    frame = with_topics(crossed(items=40, annotators=6, gap=1.5))
    part = analysis(frame, field="topic", value="fees")
    assert not any(contrast.holm for contrast in part.contrasts)
    assert first_verdict(part).headline == part.family == UNDECLARED_SLICE
    known = analysis(declared(frame, slices=("topic",)), field="topic", value="fees")
    assert first_verdict(known).headline.startswith("System 3 is clearly above")


def test_the_values_of_a_declared_field_share_the_bound():
    frame = declared(crossed(items=40, annotators=6, systems=2, gap=0.5, seed=2), slices=("topic",))
    meta = {item: {"topic": f"t{place // 8}"} for place, item in enumerate(frame.ratings["item"].cat.categories)}
    parts = [analysis(replace(frame, meta=meta), field="topic", value=f"t{n}") for n in range(5)]
    part = next(part for part in parts if 0.01 < present(part.contrasts[0].holm) < CLEAR)
    assert part.collection.bound == pytest.approx(CLEAR / 5)
    assert not part.contrasts[0].clear
    assert "clear below 0.01" in verdict(part, "c1")
    assert part.family.endswith(
        "The items are those of one of 5 values of topic, which share the bound: a difference is clear with an "
        "adjusted p below 0.01."
    )
    assert Book.of(part)["study", "", "clear below"].printed == "0.01"
    assert analysis(replace(frame, meta=meta)).collection.bound == CLEAR


def test_all_declared_fields_share_the_bound():
    frame = declared(crossed(items=40, annotators=6, systems=2), slices=("topic", "level", "unused"))
    items = frame.ratings["item"].cat.categories
    meta = {item: {"topic": f"t{place // 8}", "level": f"l{place % 3}"} for place, item in enumerate(items)}
    frame = replace(frame, meta=meta)
    part = analysis(frame, field="topic", value="t1")
    assert part.collection.bound == pytest.approx(CLEAR / 8)
    assert "one of 8 values of level and topic, which share the bound" in part.family
    whole = analysis(frame)
    assert whole.collection.bound == CLEAR
    bounds = {contrast.bound for each in slices(whole, "c1", "topic") for contrast in each.contrasts}
    assert bounds == {CLEAR / 2}


def test_annotators_selected_by_a_filter_are_not_tested():
    frame = declared(with_topics(crossed(items=40, annotators=12, gap=1.5)), slices=("topic",))
    assert first_verdict(analysis(frame)).headline.startswith("System 3 is clearly above")
    some = analysis(frame, annotators=frozenset({f"P-{n}" for n in range(6)}))
    assert not any(contrast.p for contrast in some.contrasts)
    assert first_verdict(some).headline == some.family == CHOSEN_ANNOTATORS
    assert not any(contrast.p for part in slices(some, "c1", "topic") for contrast in part.contrasts)
    assert Book.of(some).reasons("study", "clear below") == (
        "Not tested: nothing is tested before collection is over, or under these filters.",
    )


def test_the_date_follows_the_pace_of_the_last_week(monkeypatch):
    monkeypatch.setattr(clock, "now", lambda: NOW)
    daily = pd.Series(pd.date_range(NOW - timedelta(days=30), NOW - timedelta(hours=1), freq="12h"))
    assert progress._done_at(daily, 28) == pytest.approx(NOW + timedelta(days=14), abs=timedelta(days=2))
    assert progress._done_at(daily[daily < NOW - timedelta(days=8)], 28) is None
    assert progress._done_at(daily, 0) is None
    assert progress._done_at(daily, 10**9) == NOW + progress.FARTHEST


def view(done: int, last_days_ago: int | None = 0, people: int = 1) -> Overview:
    last = None if last_days_ago is None else NOW - timedelta(days=last_days_ago)
    return Overview(done, 10, 5, 0, 0, 0, 0, None, last, None, tuple(np.zeros(people)))


def study_in(state: StudyState, unblinded_at: datetime | None = None) -> Any:
    return SimpleNamespace(state=state, unblinded_at=unblinded_at)


def test_the_next_step_follows_the_study(monkeypatch):
    monkeypatch.setattr(clock, "now", lambda: NOW)
    started = study_in(StudyState.open)
    assert next_step(started, view(0, None, 0)).sentence.startswith("Invite annotators")
    assert next_step(started, view(3)).sentence.startswith("Carry on: 7 annotations to go.")
    assert next_step(started, view(3, 5)) == next_step(started, view(3, 5))
    assert next_step(started, view(3, 5)).sentence == "Remind annotators: nothing has come in since 2026-03-05."
    assert next_step(started, view(10)).sentence.startswith("Close the study: every item has all its annotations")
    assert next_step(study_in(StudyState.closed), view(10)).sentence.startswith("Unblind")
    assert next_step(study_in(StudyState.closed, NOW), view(10)).place == "Report"
    assert next_step(study_in(StudyState.paused), view(3)).place == "Setup"
    assert next_step(study_in(StudyState.paused), view(9)).sentence == "Reopen the study: 1 annotation is missing."


def test_the_verdict_names_long_systems_as_the_picture_does():
    frame = crossed(items=30, annotators=8, systems=3, gap=1.5)
    long = {code: f"Retrieval-augmented instruction-tuned model, variant {code}" for code in (1, 2, 3)}
    analysis = StudyAnalysis(frame, Counted(), long)
    sentence = first_verdict(analysis.renamed({code: row_name(analysis, code) for code in long})).second
    assert sentence.startswith(f"{row_name(analysis, 3)} is higher than {row_name(analysis, 1)} by ")
    assert len(row_name(analysis, 3)) <= LONGEST_NAME + 2


def test_a_criterion_that_is_a_question_is_quoted():
    frame = crossed(items=30, annotators=8, systems=3, gap=1.5)
    text = likert_rubric().replace("Criterion 1", "Is it true?")
    asked = replace(frame, design=Design(parse_rubric(text), {}))
    assert first_verdict(analysis(asked)).headline == "System 3 is clearly above all others on “Is it true?”."


def test_trust_lines_stay_short_enough_for_the_first_screen():
    lines = [Finding(90, "a", "x" * 200), Finding(80, "b", "y" * 200), Finding(75, "c", "z" * 10)]
    assert first_lines(lines) == lines[:1]
    assert first_lines([replace(line, sentence="x") for line in lines * 2]) == [replace(x, sentence="x") for x in lines]
