"""Intervals for means and paired differences: pencil examples, level, invariances, undefined cases."""

from __future__ import annotations

import math
from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.analysis.intervals import cluster_variance, difference_interval, mean_interval
from triptych.errors import UndefinedStatistic

NAN = math.nan

rows = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.integers(0, 6),
        st.sampled_from(["base", "new"]),
        st.sampled_from([1, 2, 3.5, 7, NAN]),
    ),
    max_size=50,
)


def crossed(items: int, annotators: int) -> tuple[np.ndarray, np.ndarray]:
    """Every annotator meets every item."""
    return np.repeat(np.arange(items), annotators), np.tile(np.arange(annotators), items)


def columns(ratings: list[tuple]) -> list[np.ndarray]:
    """Items, annotators, systems, values."""
    kinds = (int, int, object, float)
    return [np.array([row[at] for row in ratings], dtype=kind) for at, kind in enumerate(kinds)]


def mean_of(ratings):
    items, annotators, _, values = columns(ratings)
    return attempt(mean_interval, values, items, annotators)


def difference_of(ratings):
    items, annotators, systems, values = columns(ratings)
    return attempt(difference_interval, values, items, annotators, systems, "new", "base")


def attempt(statistic, *arguments):
    """The statistic, or the words that say why there is none."""
    try:
        return statistic(*arguments)
    except UndefinedStatistic as undefined:
        return str(undefined)


def close(one, other) -> bool:
    """The same interval up to the order of summation, or the same words."""
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return all(
        a == b or (isinstance(a, float) and a == pytest.approx(b, abs=1e-9))
        for a, b in zip(astuple(one), astuple(other), strict=True)
    )


def test_two_way_interval_agrees_with_pencil_and_paper():
    # 2 items x 5 annotators; item 0 gets 3 from all, item 1 gets 5. Mean 4, r = -1 or 1, n = 10.
    # V_item = 2/1 * (5^2 + 5^2) / 100 = 1, V_annotator = 0, V_cell = 10 / 100 = 0.1, V = 0.9.
    # df = 1, t = 12.7062.
    items, annotators = crossed(2, 5)
    found = mean_interval(np.where(items == 0, 3, 5), items, annotators)
    reach = 12.706204736 * math.sqrt(0.9)
    assert (found.mean, found.low, found.high) == pytest.approx((4, 4 - reach, 4 + reach))
    assert (found.kind, found.n, found.items, found.annotators) == ("two_way", 10, 2, 5)
    assert found.sentence == "95 % interval for annotators like these 5."


def test_below_five_annotators_the_interval_is_clustered_by_item_and_says_so():
    # 3 items x 2 annotators, item means 1, 2, 3: sums of r -2, 0, 2.
    # V_item = 3/2 * (4 + 0 + 4) / 36 = 1/3, df = 2, t = 4.30265.
    items, annotators = crossed(3, 2)
    found = mean_interval(items + 1, items, annotators)
    reach = 4.30265273 * math.sqrt(1 / 3)
    assert (found.low, found.high) == pytest.approx((2 - reach, 2 + reach))
    assert found.kind == "item"
    assert found.sentence == "95 % interval for these annotators: 2 annotators are too few to speak for others."


def test_one_annotator_is_spoken_of_in_the_singular():
    found = mean_interval([1, 2, 3], [0, 1, 2], [0, 0, 0], confidence=0.9)
    assert found.sentence == "90 % interval for these annotators: 1 annotator is too few to speak for others."


def test_one_item_has_a_mean_and_no_interval():
    found = mean_interval([1, 2, 3, 4, 5], [0] * 5, range(5))
    assert (found.mean, found.low, found.high, found.kind) == (3, None, None, "none")
    assert found.sentence == "No interval: there is only one item."


def test_equal_ratings_have_a_mean_and_no_interval():
    found = mean_interval([0.1] * 30, *crossed(5, 6))
    assert (found.mean, found.low, found.high) == (pytest.approx(0.1), None, None)
    assert "no variation" in found.sentence


def test_where_the_two_way_variance_is_negative_the_larger_one_way_variance_is_taken():
    # 2 x 2, r = 2, -1, -2, 1: item sums 1, -1, V_item = 2/1 * 2/16; annotator sums 0, 0; V_cell = 10/16.
    found = cluster_variance(np.array([2.0, -1, -2, 1]), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
    assert astuple(found) == (0.25, 0, 0.25)


def test_two_ratings_by_one_annotator_of_one_item_count_as_one_cell():
    # r = 1, 1 in one cell, -1, -1 in the other: V_item = V_annotator = 2/1 * 8/16, V_cell = 8/16, V = 1.5.
    found = cluster_variance(np.array([1.0, 1, -1, -1]), np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]))
    assert astuple(found) == (1, 1, 1.5)


def test_the_difference_is_the_mean_over_complete_pairs():
    # Annotator 0 on items 0 and 1: 5 - 4 and 3 - 1. Annotator 1 rated only one system of item 0.
    values, systems = [5, 4, 3, 1, 7], ["new", "base", "new", "base", "new"]
    found = difference_interval(values, [0, 0, 1, 1, 0], [0, 0, 0, 0, 1], systems, "new", "base")
    assert (found.mean, found.n, found.items, found.annotators) == (1.5, 2, 2, 1)


def test_ratings_given_twice_are_averaged_before_they_are_paired():
    systems = ["new", "new", "base", "new", "base"]
    found = difference_interval([1, 4, 2, 5, 4], [0, 0, 0, 1, 1], [0] * 5, systems, "new", "base")
    assert (found.mean, found.n) == (0.75, 2)


def test_the_difference_is_the_mean_of_the_differences_themselves():
    random = np.random.default_rng(4)
    items, annotators = crossed(12, 6)
    new, base = random.normal(size=72), random.normal(size=72)
    paired = difference_interval(
        np.concatenate([new, base]), np.tile(items, 2), np.tile(annotators, 2), np.repeat([1, 0], 72), 1, 0
    )
    assert close(paired, mean_interval(new - base, items, annotators))


@given(rows)
def test_severity_of_an_annotator_cancels_in_the_difference(ratings):
    severe = [(item, annotator, system, value - annotator) for item, annotator, system, value in ratings]
    assert close(difference_of(ratings), difference_of(severe))


@given(rows)
def test_exchanging_the_systems_mirrors_the_difference(ratings):
    items, annotators, systems, values = columns(ratings)
    mirrored = attempt(difference_interval, values, items, annotators, systems, "base", "new")
    found = difference_of(ratings)
    if isinstance(found, str):
        assert mirrored == found
    else:
        assert mirrored.mean == pytest.approx(-found.mean)
        assert (mirrored.low is None) == (found.low is None)
        assert found.low is None or (mirrored.low, mirrored.high) == pytest.approx((-found.high, -found.low))


@given(rows, st.randoms(use_true_random=False))
def test_neither_row_order_nor_names_change_an_interval(ratings, random):
    item_names, annotator_names = random.sample(range(5), 5), random.sample("ABCDEFG", 7)
    moved = [
        (item_names[item], annotator_names[annotator], system, value)
        for item, annotator, system, value in random.sample(ratings, len(ratings))
    ]
    items, annotators, systems, values = (list(column) for column in zip(*moved, strict=True)) if moved else [[]] * 4
    assert close(mean_of(ratings), attempt(mean_interval, values, items, annotators))
    after = attempt(difference_interval, values, items, annotators, systems, "new", "base")
    assert close(difference_of(ratings), after)


@given(rows)
def test_an_interval_is_finite_or_absent_with_words(ratings):
    for found in (mean_of(ratings), difference_of(ratings)):
        if isinstance(found, str):
            assert found.startswith("Not defined: ")
        elif found.kind == "none":
            assert (found.low, found.high) == (None, None)
            assert found.sentence.startswith("No interval: ")
        else:
            assert math.isfinite(found.low)
            assert math.isfinite(found.high)
            assert found.low < found.mean < found.high


@pytest.mark.parametrize("values", [[], [NAN, NAN]])
def test_no_rating_at_all_is_said_in_words(values):
    labels = [0] * len(values)
    with pytest.raises(UndefinedStatistic, match="there is no rating yet"):
        mean_interval(values, labels, labels)
    with pytest.raises(UndefinedStatistic, match="no annotator rated both systems on the same item"):
        difference_interval(values, labels, labels, labels, 1, 0)


def simulated_difference(random: np.random.Generator, people: int = 8, items: int = 40, raters: int = 3):
    """Paired differences without a true one: item and annotator tastes (SD 0.6) and noise (SD 1)."""
    who = np.argsort(random.random((items, people)), axis=1)[:, :raters].ravel()
    what = np.repeat(np.arange(items), raters)
    taste = random.normal(0, 0.6, items)[what] + random.normal(0, 0.6, people)[who]
    return mean_interval(taste + random.normal(size=len(who)), what, who)


def test_without_a_true_difference_the_interval_misses_zero_about_one_time_in_twenty():
    random = np.random.default_rng(17)
    found = [simulated_difference(random) for _ in range(1000)]
    missed = np.mean([not interval.low <= 0 <= interval.high for interval in found])
    assert 0.02 <= missed <= 0.08


def test_the_simulated_annotators_would_fool_an_interval_clustered_by_item():
    random = np.random.default_rng(17)
    found = [simulated_difference(random, people=4) for _ in range(300)]
    assert {interval.kind for interval in found} == {"item"}
    assert np.mean([not interval.low <= 0 <= interval.high for interval in found]) > 0.2
