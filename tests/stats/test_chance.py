"""Gwet, Fleiss, Cohen and annotators two by two: reference packages, the paradox, and every way to be undefined."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from helpers.present import attempt
from hypothesis import given, settings
from hypothesis import strategies as st

from triptych.stats.chance import fleiss, gwet, weight_table
from triptych.stats.coefficients import agreement_table
from triptych.stats.counts import UnitCounts
from triptych.stats.pairs import TOO_MANY, annotator_pairs, pair_means
from triptych.stats.undefined import Undefined

ORACLES = Path(__file__).parents[1] / "oracles"
TABLES = json.loads((ORACLES / "irrcac_tables.json").read_text())
COLUMNS = json.loads((ORACLES / "scikit_learn_kappa.json").read_text())
WEIGHTS = ("identity", "quadratic", "ordinal")
NAN = math.nan

rows = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from("abc"), st.sampled_from([1, 2, 3, NAN])),
    max_size=30,
    unique_by=lambda row: row[:2],
)


def flat(table: Sequence[Sequence[float | None]] | np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Units, annotators and values of a table with a row per unit and a column per annotator."""
    cells = np.array([[NAN if value is None else value for value in row] for row in table])
    unit, annotator = np.indices(cells.shape)
    return unit.ravel(), annotator.ravel(), cells.ravel()


def columns(ratings: list[tuple[int, str, float]]) -> tuple[list, ...]:
    return tuple([row[at] for row in ratings] for at in range(3))


def coefficient(statistic, units, values, weights="identity", scale=None) -> float:
    """A coefficient of all ratings, from the counts and weights that a table of agreement uses."""
    table = UnitCounts.build(units, values, scale).varied()
    return float(statistic(table, table.observed(), weight_table(weights, table.values))[0])


gwet_ac = partial(coefficient, gwet)
fleiss_kappa = partial(coefficient, fleiss)


def cohen_kappa(first, second, weights="identity"):
    """The kappa of two annotators who rated the same units."""
    units = [*range(len(first)), *range(len(second))]
    (pair,) = annotator_pairs(units, ["a"] * len(first) + ["b"] * len(second), [*first, *second], weights)
    return pair.kappa


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("example", TABLES, ids=lambda example: example["name"])
def test_gwet_and_fleiss_are_those_of_the_reference_package(example, weights):
    units, _, values = flat(example["ratings"])
    assert gwet_ac(units, values, weights, example["scale"]) == pytest.approx(example["gwet"][weights], abs=1e-9)
    assert fleiss_kappa(units, values, weights, example["scale"]) == pytest.approx(example["fleiss"][weights], abs=1e-9)


@pytest.mark.parametrize("weights", ["identity", "quadratic"])
@pytest.mark.parametrize("example", COLUMNS, ids=lambda example: example["name"])
def test_cohens_kappa_is_that_of_the_reference_package(example, weights):
    assert cohen_kappa(example["first"], example["second"], weights) == pytest.approx(example[weights], abs=1e-9)


def test_gwet_agrees_with_pencil_and_paper():
    # pa = 3/4; shares of value 1: (1 + 1 + 1 + 1/2) / 4 = 7/8; pe = 2 * 7/8 * 1/8 = 7/32; (24 - 7) / (32 - 7).
    assert gwet_ac([0, 0, 1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 1, 1, 1, 2]) == pytest.approx(17 / 25)


def test_one_frequent_value_ruins_kappa_but_not_ac1():
    # Feinstein & Cicchetti's paradox: 96 of 100 units agree, all of them on the same value.
    units = np.repeat(np.arange(100), 2)
    values = np.ones((100, 2))
    values[:2, 0] = values[2:4, 1] = 2
    assert fleiss_kappa(units, values.ravel()) < 0
    assert gwet_ac(units, values.ravel()) > 0.95


@pytest.mark.parametrize(("key", "statistic"), [("ac", gwet_ac), ("fleiss", fleiss_kappa)])
def test_the_interval_is_a_jackknife_over_units(key, statistic):
    random = np.random.default_rng(5)
    table = np.clip(np.round(2 + 0.7 * random.normal(size=(50, 1)) + 0.7 * random.normal(size=(50, 3))), 1, 3)
    units, _, values = flat(table)
    interval = agreement_table(units, values, "nominal", [1, 2, 3])[key].interval
    without = [statistic(units[units != at], values[units != at], "identity", [1, 2, 3]) for at in range(50)]
    error = np.sqrt(49 / 50 * ((np.arctanh(without) - np.arctanh(without).mean()) ** 2).sum())
    centre = np.arctanh(statistic(units, values, "identity", [1, 2, 3]))
    assert interval == pytest.approx(tuple(np.tanh([centre - 2.0095752371 * error, centre + 2.0095752371 * error])))


def test_unused_points_count_for_gwet_but_not_fleiss():
    units, values = [0, 0, 1, 1, 2, 2], [1, 2, 2, 2, 1, 1]
    assert gwet_ac(units, values, "identity", [1, 2, 3, 4]) > gwet_ac(units, values)
    assert fleiss_kappa(units, values, "identity", [1, 2, 3, 4]) == fleiss_kappa(units, values)


def test_cohen_uses_each_annotators_own_shares():
    # Joint table [[2, 1], [0, 1]]: po = 3/4, pe = 3/4 * 2/4 + 1/4 * 2/4 = 1/2.
    assert cohen_kappa([1, 1, 1, 2, 2], [1, 1, 2, 2, NAN]) == pytest.approx(0.5)


def test_near_misses_count_with_weights():
    first, second = [1, 2, 3, 4, 5, 1, 5], [2, 3, 4, 5, 4, 1, 5]
    plain, ordinal = (cohen_kappa(first, second, weights) for weights in ("identity", "ordinal"))
    assert plain < 0.5 < ordinal


@pytest.mark.parametrize("statistic", [gwet_ac, fleiss_kappa])
@pytest.mark.parametrize(
    ("units", "values", "words"),
    [
        ([], [], "No item was rated by two annotators."),
        ([0, 1], [1, 2], "No item was rated by two annotators."),
        ([0, 0], [NAN, NAN], "No item was rated by two annotators."),
        ([0, 0, 1, 1], [4, 4, 4, 4], "Not defined: no variation (every rating is the same)."),
        (np.repeat(np.arange(60), 2), np.arange(120), "Not defined for a scale of more than 101 points."),
    ],
)
def test_undefined_coefficients_give_a_reason(statistic, units, values, words):
    assert attempt(statistic, units, values) == Undefined(words)


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ([], [], "No item was rated by two annotators."),
        ([1, NAN], [NAN, 1], "No item was rated by two annotators."),
        ([2, 2], [2, 2], "Not defined: no variation (every rating is the same)."),
    ],
)
def test_undefined_cohen_gives_a_reason(first, second, words):
    assert attempt(cohen_kappa, first, second) == Undefined(words)


@given(rows, st.sampled_from(WEIGHTS))
def test_coefficients_are_finite_or_words(ratings, weights):
    units, _, values = columns(ratings)
    for statistic in (gwet_ac, fleiss_kappa):
        result = attempt(statistic, units, values, weights, [1, 2, 3])
        assert isinstance(result, Undefined) or (math.isfinite(result) and result <= 1)


@given(rows, st.randoms(use_true_random=False))
@settings(max_examples=50)
def test_neither_row_order_nor_names_of_units_change_anything(ratings, random):
    moved = [(f"item {5 - unit}", *rest) for unit, *rest in random.sample(ratings, len(ratings))]
    for statistic in (gwet_ac, fleiss_kappa):
        before, after = (attempt(statistic, columns(each)[0], columns(each)[2], "ordinal") for each in (ratings, moved))
        assert before == after or before == pytest.approx(after, abs=1e-12)
    before, after = (attempt(annotator_pairs, *columns(each)) for each in (ratings, moved))
    assert isinstance(before, Undefined) == isinstance(after, Undefined)
    assert isinstance(before, Undefined) or [pair.kappa for pair in before] == pytest.approx(
        [pair.kappa for pair in after]
    )


@given(rows)
@settings(max_examples=50)
def test_each_pair_is_what_its_two_columns_say(ratings):
    result = attempt(annotator_pairs, *columns(ratings))
    if isinstance(result, Undefined):
        return
    given_by = {name: {unit: value for unit, who, value in ratings if who == name} for name in "abc"}
    for pair in result:
        first, second = given_by[pair.first], given_by[pair.second]
        both = [unit for unit in first if unit in second and not math.isnan(first[unit] + second[unit])]
        x, y = (np.array([each[unit] for unit in both]) for each in (first, second))
        assert pair.n == len(both)
        assert pair.percent == pytest.approx(np.mean(x == y))
        assert pair.mae == pytest.approx(np.mean(np.abs(x - y)))
        kappa = attempt(cohen_kappa, x, y)
        assert pair.kappa == kappa or pair.kappa == pytest.approx(kappa)
        if isinstance(pair.pearson, float):
            assert pair.pearson == pytest.approx(np.corrcoef(x, y)[0, 1])
        else:
            assert np.ptp(x) == 0 or np.ptp(y) == 0


def test_pairs_are_in_the_order_of_names():
    pairs = annotator_pairs([0, 0, 0], ["c", "a", "b"], [1, 2, 3])
    assert [(pair.first, pair.second) for pair in pairs] == [("a", "b"), ("a", "c"), ("b", "c")]


@pytest.mark.long
@pytest.mark.parametrize(("units", "annotators"), [(1, 500), (40_000, 40)])
def test_too_many_pairs_of_annotators_are_not_compared(units, annotators):
    """Thousands of annotators of the same items, or dozens of very many, took gigabytes and minutes."""
    columns = np.repeat(np.arange(units), annotators), np.tile(np.arange(annotators), units)
    assert attempt(annotator_pairs, *columns, np.ones(units * annotators)) == Undefined(TOO_MANY)


def test_a_constant_annotator_has_kappa_but_no_correlation():
    (pair,) = annotator_pairs([0, 0, 1, 1], ["a", "b", "a", "b"], [1, 1, 1, 2])
    assert pair.kappa == 0
    assert pair.pearson == Undefined("Not defined: one of the two annotators gave the same rating everywhere.")


def test_a_mean_over_pairs_leaves_out_what_is_not_defined():
    units, annotators = [0, 0, 0, 1, 1, 1], ["a", "b", "c"] * 2
    means = pair_means(annotator_pairs(units, annotators, [1, 1, 1, 2, 2, 1]))
    assert (means.pairs, means.pearson, means.mae) == (3, pytest.approx(1), pytest.approx(1 / 3))


def test_a_slider_has_correlation_but_no_kappa():
    values = np.random.default_rng(0).normal(size=300)
    (pair,) = annotator_pairs(np.repeat(np.arange(150), 2), ["a", "b"] * 150, values)
    assert pair.kappa == Undefined("Not defined for a scale of more than 101 points.")
    assert isinstance(pair.pearson, float)


@pytest.mark.parametrize(
    ("ratings", "words"),
    [
        ([], "No item was rated by two annotators."),
        ([(0, "a", 1), (1, "b", 1)], "No item was rated by two annotators."),
        ([(0, "a", 1), (0, "a", 2)], "Not defined: an annotator rated an item twice; keep one of the two ratings."),
    ],
)
def test_undefined_pairs_give_a_reason(ratings, words):
    assert attempt(annotator_pairs, *columns(ratings)) == Undefined(words)
