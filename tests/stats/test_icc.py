"""Intraclass correlations: the paper's table, the reference package, simulated truth, and every way to be undefined."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triptych.stats.icc import INCOMPLETE, Intraclass, raters_needed, reliability
from triptych.stats.undefined import Undefined, UndefinedStatistic

EXAMPLES = json.loads((Path(__file__).parents[1] / "oracles" / "pingouin_icc.json").read_text())
FORMS = {"one_way": "1", "absolute": "A", "consistency": "C"}
NAN = math.nan

rows = st.lists(st.tuples(st.integers(0, 4), st.sampled_from("abc"), st.sampled_from([1, 2, 3, NAN])), max_size=25)


def flat(table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Units, annotators and values of a table with a row per unit and a column per annotator."""
    cells = np.asarray(table, dtype=float)
    unit, annotator = np.indices(cells.shape)
    return unit.ravel(), annotator.ravel(), cells.ravel()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["name"])
def test_all_six_are_those_of_the_reference_package(example):
    result = reliability(*flat(example["ratings"]))
    for form, letter in FORMS.items():
        each = getattr(result, form)
        assert each.single == pytest.approx(example["package"][f"ICC({letter},1)"], abs=1e-9)
        assert each.mean == pytest.approx(example["package"][f"ICC({letter},k)"], abs=1e-9)


def test_the_table_of_shrout_and_fleiss_gives_the_printed_values():
    result = reliability(*flat(EXAMPLES[0]["ratings"]))
    for form, (single, mean) in EXAMPLES[0]["published"].items():
        assert (round(getattr(result, form).single, 2), round(getattr(result, form).mean, 2)) == (single, mean)
    assert (result.units, result.annotators, result.k) == (6, 4, 4)


@pytest.mark.parametrize(("single", "needed"), [(0.5, 4), (0.8, 1), (0.9, 1), (1.0, 1), (0.2, 16), (0.29, 10)])
def test_so_many_raters_reach_a_reliability_of_four_fifths(single, needed):
    assert raters_needed(single) == needed
    assert needed * single / (1 + (needed - 1) * single) >= 0.8 - 1e-9


@pytest.mark.parametrize("single", [0.0, -0.2])
def test_no_number_of_raters_helps_where_there_is_no_signal(single):
    with pytest.raises(UndefinedStatistic, match="No number of annotators is enough"):
        raters_needed(single)


def test_severity_counts_against_absolute_agreement_only():
    truth = np.arange(10.0)[:, None]
    result = reliability(*flat(truth + np.array([[0, 3, 6]])))
    assert result.consistency.single == pytest.approx(1)
    assert result.absolute.single < 0.7


def test_incomplete_ratings_have_the_one_way_form_only():
    table = np.array(EXAMPLES[0]["ratings"])
    table[2, 1] = NAN
    result = reliability(*flat(table))
    assert result.absolute == result.consistency == INCOMPLETE
    # Mean squares by hand: N = 23, n = 4 five times and 3 once; k = (23 - 89 / 23) / 5.
    assert result.k == pytest.approx((23 - 89 / 23) / 5)
    means, sizes = np.nanmean(table, axis=1), np.sum(~np.isnan(table), axis=1)
    between = np.sum(sizes * (means - np.nanmean(table)) ** 2) / 5
    within = np.nansum((table - means[:, None]) ** 2) / 17
    assert result.one_way.single == pytest.approx((between - within) / (between + (result.k - 1) * within))


def test_the_one_way_form_recovers_truth_from_half_the_ratings():
    random = np.random.default_rng(4)
    table = random.normal(size=(4000, 1)) + random.normal(size=(4000, 4))
    table[random.random(table.shape) < 0.5] = NAN
    assert reliability(*flat(table)).one_way.single == pytest.approx(0.5, abs=0.04)


def test_rating_a_unit_twice_makes_the_table_incomplete():
    result = reliability([0, 0, 0, 1, 1], ["a", "b", "b", "a", "b"], [1, 2, 1, 3, 4])
    assert result.absolute == INCOMPLETE
    assert isinstance(result.one_way, Intraclass)


def test_units_that_differ_by_severity_alone_have_no_consistency():
    result = reliability(*flat([[1, 2, 3], [1, 2, 3]]))
    assert result.consistency == Undefined("Not defined: the items do not differ more than by chance.")
    assert result.one_way.single < 0


@pytest.mark.parametrize(
    ("units", "annotators", "values", "words"),
    [
        ([], [], [], "No item was rated by two annotators."),
        ([0, 1, 2], ["a", "b", "c"], [1, 2, 3], "No item was rated by two annotators."),
        ([0, 0], ["a", "b"], [NAN, NAN], "No item was rated by two annotators."),
        ([0, 0], ["a", "b"], [1, 2], "Not defined: there is only one item."),
        ([0, 0, 1, 1], list("abab"), [4, 4, 4, 4], "Not defined: no variation (every rating is the same)."),
    ],
)
def test_undefined_reliability_gives_a_reason(units, annotators, values, words):
    with pytest.raises(UndefinedStatistic) as undefined:
        reliability(units, annotators, values)
    assert str(undefined.value) == words


@given(rows, st.randoms(use_true_random=False), st.floats(0.1, 50), st.floats(-100, 100))
@settings(max_examples=100)
def test_order_names_and_units_change_no_icc(ratings, random, stretch, shift):
    moved = [
        (f"i{unit}", {"a": 3, "b": 1, "c": 2}[who], value * stretch + shift)
        for unit, who, value in random.sample(ratings, len(ratings))
    ]
    before, after = (attempt(each) for each in (ratings, moved))
    if isinstance(before, Undefined):
        assert before == after
        return
    for form in FORMS:
        each, other = getattr(before, form), getattr(after, form)
        if isinstance(each, Undefined) or isinstance(other, Undefined):
            assert each == other
            continue
        assert math.isfinite(each.single) and each.single <= 1 + 1e-9
        assert each.single == pytest.approx(other.single, abs=1e-6)


def attempt(ratings):
    try:
        values, unit, annotator = ([row[at] for row in ratings] for at in range(3))
        return reliability(values, unit, annotator)
    except UndefinedStatistic as undefined:
        return Undefined(str(undefined))
