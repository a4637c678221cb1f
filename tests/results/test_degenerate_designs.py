"""Designs that leave little or nothing to test: no difference is called clear, and sentences say why there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.analyses import analysis
from helpers.frames import likert_rubric, make_frame
from helpers.present import present

from triptych.reports.methods_text import statistics
from triptych.reports.numbers import Book
from triptych.results.criterion import headline
from triptych.results.first_screen.ranking import first_verdict, in_order
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.verdicts import between_groups, sized, verdict
from triptych.results.warnings import findings, not_run
from triptych.stats.numbers import written
from triptych.study.settings import StudySettings

Rule = Callable[[int, int, int], bool]
SOLO = StudySettings(annotator_groups={f"P-{who}": "rest" if who else "solo" for who in range(12)})
NOT_LINKED = "Not defined: no item and annotator link these two systems."


def study(shape: tuple[int, int, int], rated: Rule, value: float = 0.0) -> StudyAnalysis:
    """Random ratings from 1 to 7, or all `value`, of (items, annotators, systems) where `rated` says so."""
    random = np.random.default_rng(3)
    rows: list[dict[str, Any]] = [
        {
            "item": f"item-{item}",
            "annotator": f"P-{who}",
            "system": system + 1,
            "criterion": "c1",
            "value": value or float(random.integers(1, 8)),
        }
        for item, who, system in np.ndindex(shape)
        if rated(item, who, system)
    ]
    return analysis(make_frame(likert_rubric(), rows, settings=SOLO))


DESIGNS = {
    "one annotator rates one system only": ((20, 6, 3), lambda i, a, s: (a == 0) == (s == 2), 0, NOT_LINKED),
    "a system with one rating": ((20, 6, 3), lambda i, a, s: s < 2 or i == a == 0, 0, "No clear difference"),
    "all equal": ((20, 6, 3), lambda i, a, s: True, 4, "every item has the same mean"),
    "missing throughout": ((5, 6, 3), lambda i, a, s: True, np.nan, "Not defined:"),
    "one item": ((1, 6, 3), lambda i, a, s: True, 0, "one item is too few."),
    "a system with one item": ((20, 6, 3), lambda i, a, s: s < 2 or i == 7, 0, "one item is too few."),
    "a system with one annotator": ((20, 6, 2), lambda i, a, s: s < 1 or a == 2, 0, "applies to a single annotator"),
    "two systems, two annotators": ((2, 2, 2), lambda i, a, s: True, 0, "This applies to these 2 annotators"),
    "annotators inside systems": ((20, 9, 3), lambda i, a, s: a % 3 == s, 0, NOT_LINKED),
    "items inside systems": ((20, 6, 2), lambda i, a, s: i % 2 == s, 0, NOT_LINKED),
    "each item by its own annotator": ((12, 12, 2), lambda i, a, s: i == a, 0, "No clear difference"),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("shape", "rated", "value", "words"), DESIGNS.values(), ids=DESIGNS)
def test_a_degenerate_design_has_words_and_nothing_clear(shape, rated, value, words):
    each = study(shape, rated, value)
    assert words in verdict(each, "c1")
    assert not any(contrast.clear or contrast.clear_here for contrast in each.contrasts)
    text = " ".join([first_verdict(each).headline, between_groups(each, "c1"), *statistics(each, Book.of(each))])
    text += " ".join([*(finding.sentence for finding in findings(each)), *(check.why for check in not_run(each))])
    assert "nan" not in text and "inf)" not in text


def test_systems_that_cannot_be_compared_are_not_level():
    shape, rated, value, _ = DESIGNS["one annotator rates one system only"]
    headline = first_verdict(study(shape, rated, value)).headline
    assert headline == "No two systems that can be compared differ clearly on Criterion 1."


@pytest.mark.parametrize("seed", range(10))
def test_a_verdict_rounds_differences_as_tables_do(seed):
    """A difference of 0.025 was "0.02" in one and "+0.03" in the other."""
    random = np.random.default_rng(seed)
    higher = random.permutation(40) < 1 + 2 * seed
    rows: list[dict[str, Any]] = [
        {
            "item": f"item-{at // 5}",
            "annotator": f"P-{at % 5}",
            "system": system,
            "criterion": "c1",
            "value": float(base + (system == 2) * higher[at]),
        }
        for at, base in enumerate(random.integers(1, 7, 40).tolist())
        for system in (1, 2)
    ]
    each = analysis(make_frame(likert_rubric(), rows))
    (contrast,) = each.contrasts
    assert f"by {written(present(contrast.difference).mean, 'number')}" in sized(each, contrast)


@pytest.mark.parametrize("systems", [2, 3, 6])
def test_a_test_over_annotators_alone_is_reported(systems):
    """Each item has the same mean difference, so only the test for annotators like these is defined."""
    rows = [
        {
            "item": f"item-{item}",
            "annotator": f"P-{who}",
            "system": system + 1,
            "criterion": "c1",
            "value": float(1 + system + system % 2 * ((who + item) % 6 < 2)),
        }
        for item, who, system in np.ndindex(3, 6, systems)
    ]
    each = analysis(make_frame(likert_rubric(), rows))
    assert {contrast.p_here for contrast in each.contrasts} == {None}
    clear = [contrast for contrast in each.contrasts if contrast.clear]
    assert clear
    assert sized(each, max(clear, key=lambda contrast: contrast.distance)) in verdict(each, "c1")
    assert "No interval" not in first_verdict(each).headline


@pytest.mark.parametrize("settings", [StudySettings(), SOLO])
def test_no_difference_is_larger_than_the_scale(settings):
    """System 1 is 3 points above System 2 in some items, and that as far above System 3 in others."""
    random = np.random.default_rng(3)
    rows = [
        {
            "item": f"item-{item}",
            "annotator": f"P-{who}",
            "system": system + item % 2,
            "criterion": "c1",
            "value": float(np.clip(8 - 3 * system + random.integers(-1, 2), 1, 5)),
        }
        for item, who, system in np.ndindex(40, 6, 3)
        if system
    ]
    each = analysis(make_frame(likert_rubric(points=5), rows, settings=settings))
    for of in (*each.contrasts, *each.group_differences):
        difference, widest = of.difference, 4 * (2 if getattr(of, "other", "") else 1)
        for interval in (difference.these, difference.alike):
            low, high = (interval.mean if end is None else end for end in (interval.low, interval.high))
            assert -widest <= low <= interval.mean == difference.mean <= high <= widest
    assert "System 1 is higher than System 3 by 4.00 (4.00 to 4.00)" in verdict(each, "c1")


def test_equal_means_are_equal_in_words():
    """0.1 + 0.2 + 0.3 is more than 0.3 + 0.2 + 0.1."""
    rows = [
        {"item": f"item-{at}", "annotator": "P-1", "system": system, "criterion": "c1", "value": value}
        for system, values in ((1, (0.3, 0.2, 0.1)), (2, (0.1, 0.2, 0.3)))
        for at, value in enumerate(values)
    ]
    each = analysis(make_frame(likert_rubric(), rows))
    assert headline(each.criteria[0], each.names) == "All systems have the mean 0.20."
    assert in_order(each, "primary") == [1, 2]
