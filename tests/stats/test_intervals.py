"""Intervals and the test of a mean: pencil examples, level, invariances, undefined cases."""

from __future__ import annotations

import math
from dataclasses import astuple

import numpy as np
import pytest
from helpers.present import attempt, present
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from triptych.stats.columns import codes, pair_codes
from triptych.stats.intervals import clustered, degrees_of_freedom, estimate, mean_interval, one_way, resample_quantiles
from triptych.stats.undefined import Undefined, UndefinedStatistic

NAN = math.nan

rows = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.integers(0, 6),
        st.sampled_from([1, 2, 3.5, 7, NAN]),
    ),
    max_size=50,
)


def crossed(items: int, annotators: int) -> tuple[np.ndarray, np.ndarray]:
    """Every annotator meets every item."""
    return np.repeat(np.arange(items), annotators), np.tile(np.arange(annotators), items)


def columns(ratings: list[tuple]) -> list[np.ndarray]:
    """Items, annotators, values."""
    kinds = (int, int, float)
    return [np.array([row[at] for row in ratings], dtype=kind) for at, kind in enumerate(kinds)]


def variances(residuals: np.ndarray, items: np.ndarray, annotators: np.ndarray) -> tuple[float, float, float]:
    """Variance of a mean by item, by annotator, and by both."""
    n = len(residuals)
    score = residuals / n, np.ones(n)
    errors = clustered([score], items, annotators, pair_codes(items, annotators)[0])
    return errors.these**2, one_way(*score, annotators)[0], errors.alike**2


def mean_of(ratings):
    items, annotators, values = columns(ratings)
    return attempt(mean_interval, values, items, annotators)


def close(left, right) -> bool:
    """The same interval up to the order of summation, or the same words."""
    if isinstance(left, Undefined) or isinstance(right, Undefined):
        return left == right
    return all(
        a == b or (isinstance(a, float) and a == pytest.approx(b, abs=1e-9))
        for a, b in zip(astuple(left), astuple(right), strict=True)
    )


def test_two_way_interval_agrees_with_pencil_and_paper():
    # 2 items x 5 annotators; item 0 gets 3 from all, item 1 gets 5. Mean 4, r = -1 or 1, n = 10.
    # V_item = 2/1 * (5^2 + 5^2) / 100 = 1, V_annotator = 0, V_cell = 10 / 100 = 0.1, V = 0.9.
    # df = 1, t = 12.7062.
    items, annotators = crossed(2, 5)
    computed = mean_interval(np.where(items == 0, 3, 5), items, annotators)
    reach = 12.706204736 * math.sqrt(0.9)
    assert (computed.mean, computed.low, computed.high) == pytest.approx((4, 4 - reach, 4 + reach))
    assert (computed.kind, computed.n, computed.items, computed.annotators) == ("two_way", 10, 2, 5)
    assert computed.sentence == "95 % interval for annotators like these 5."


def test_below_five_annotators_the_interval_is_clustered_by_item():
    # 3 items x 2 annotators, item means 1, 2, 3: sums of r -2, 0, 2.
    # V_item = 3/2 * (4 + 0 + 4) / 36 = 1/3, df = 2, t = 4.30265.
    items, annotators = crossed(3, 2)
    computed = mean_interval(items + 1, items, annotators)
    reach = 4.30265273 * math.sqrt(1 / 3)
    assert (computed.low, computed.high) == pytest.approx((2 - reach, 2 + reach))
    assert computed.kind == "item"
    assert computed.sentence == "95 % interval for these annotators: 2 annotators are too few to generalise."


def test_one_annotator_is_spoken_of_in_the_singular():
    computed = mean_interval([1, 2, 3], [0, 1, 2], [0, 0, 0])
    assert computed.sentence == "95 % interval for these annotators: 1 annotator is too few to generalise."


def test_one_item_has_a_mean_and_no_interval():
    computed = mean_interval([1, 2, 3, 4, 5], [0] * 5, range(5))
    assert (computed.mean, computed.low, computed.high, computed.kind) == (3, None, None, "none")
    assert computed.sentence == "No interval: one item is too few."


def test_equal_ratings_have_a_mean_and_no_interval():
    computed = mean_interval([0.1] * 30, *crossed(5, 6))
    assert (computed.mean, computed.low, computed.high) == (pytest.approx(0.1), None, None)
    assert "no variation" in computed.sentence


@pytest.mark.parametrize(("times", "floor"), [(1, 3 / 4), (9, 3 / 4), (10, 1 / 4)])
def test_a_small_two_way_variance_is_raised(times, floor):
    # 2 x 2, r = 2, -1, -2, 1: item sums 1, -1, V_item = 2/1 * 2/16; annotator sums 0, 0; V_cell = 10/16, V = -3/8.
    # Ten times: 20 items, V_item = 20/19 * 20/1600.
    items, annotators = crossed(2 * times, 2)
    computed = variances(np.tile([2.0, -1, -2, 1], times), items, annotators)
    by_item = 1 / (4 * (2 * times - 1))
    assert computed == pytest.approx((by_item, 0, floor * by_item))


@given(rows)
@settings(max_examples=40, deadline=None)
def test_two_way_errors_are_at_least_half_of_one_way(ratings):
    items, annotators, values = columns([row for row in ratings if not math.isnan(row[2])])
    if len(values):
        *one_ways, two_way = variances(values - values.mean(), codes(items)[0], codes(annotators)[0])
        assert two_way >= max(one_ways) / 4 * (1 - 1e-12)


def test_an_estimate_holds_both_intervals_and_the_two_way_test():
    # As in the pencil example: V_item = 1 with df = 1, V = 0.9 with df = 1, t = 4 / sqrt(0.9).
    items, annotators = crossed(2, 5)
    computed = estimate(np.where(items == 0, 3.0, 5.0), items, annotators)
    reach = 12.706204736
    assert (computed.these.low, computed.these.high) == pytest.approx((4 - reach, 4 + reach))
    assert computed.these.sentence == "95 % interval for these 5 annotators."
    assert computed.alike == computed.headline
    assert (computed.test.t, computed.test.freedom) == (pytest.approx(4 / math.sqrt(0.9)), 1)
    assert computed.test.p == pytest.approx(2 * stats.t.sf(computed.test.t, 1))


def test_equal_work_has_clusters_minus_one_degrees_of_freedom():
    items, annotators = crossed(9, 6)
    assert degrees_of_freedom(items, annotators) == 5
    assert degrees_of_freedom(items) == 8


def test_unequal_work_has_fewer_degrees_of_freedom():
    # 6 values of annotator 0, 2 of annotator 1, 2 of annotator 2: 10^2 / (36 + 4 + 4) - 1.
    assert degrees_of_freedom(np.arange(10), np.array([0] * 6 + [1] * 2 + [2] * 2)) == pytest.approx(100 / 44 - 1)
    assert degrees_of_freedom(np.array([0] * 99 + [1])) == 1


def test_few_annotators_give_no_test_and_no_interval_for_others():
    items, annotators = crossed(6, 4)
    computed = estimate((items + annotators).astype(float), items, annotators)
    assert (computed.test, computed.alike.low, computed.alike.kind) == (None, None, "none")
    assert computed.alike.sentence == "No interval: 4 annotators are too few to generalise."
    assert computed.headline == computed.these


def test_the_test_rejects_exactly_where_the_interval_leaves_out_zero():
    random = np.random.default_rng(8)
    items, annotators = crossed(8, 6)
    computed = [estimate(random.normal(0.4, 1, 48), items, annotators) for _ in range(200)]
    rejected = [each.test.p < 0.05 for each in computed]
    assert rejected == [not present(each.alike.low) <= 0 <= present(each.alike.high) for each in computed]
    assert 20 < sum(rejected) < 180


def test_two_ratings_of_one_cell_count_once():
    # r = 1, 1 in one cell, -1, -1 in the other: V_item = V_annotator = 2/1 * 8/16, V_cell = 8/16, V = 1.5.
    computed = variances(np.array([1.0, 1, -1, -1]), np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]))
    assert computed == pytest.approx((1, 1, 1.5))


@given(rows, st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_neither_row_order_nor_names_change_an_interval(ratings, random):
    item_names, annotator_names = random.sample(range(5), 5), random.sample("ABCDEFG", 7)
    moved = [
        (item_names[item], annotator_names[annotator], value)
        for item, annotator, value in random.sample(ratings, len(ratings))
    ]
    items, annotators, values = (list(column) for column in zip(*moved, strict=True)) if moved else [[]] * 3
    assert close(mean_of(ratings), attempt(mean_interval, values, items, annotators))


@given(rows)
@settings(max_examples=40, deadline=None)
def test_an_interval_is_finite_or_absent_with_words(ratings):
    computed = mean_of(ratings)
    if isinstance(computed, Undefined):
        assert computed.reason.startswith("Not defined: ")
    elif computed.kind == "none":
        assert (computed.low, computed.high) == (None, None)
        assert computed.sentence.startswith("No interval: ")
    else:
        assert math.isfinite(computed.low)
        assert math.isfinite(computed.high)
        assert computed.low < computed.mean < computed.high


@pytest.mark.parametrize("values", [[], [NAN, NAN]])
def test_no_rating_at_all_gives_a_reason(values):
    labels = [0] * len(values)
    with pytest.raises(UndefinedStatistic, match="there is no rating yet"):
        mean_interval(values, labels, labels)


def simulated_difference(random: np.random.Generator, people: int = 8, items: int = 40, raters: int = 3):
    """Paired differences without a true one: item and annotator tastes (SD 0.6) and noise (SD 1)."""
    who = np.argsort(random.random((items, people)), axis=1)[:, :raters].ravel()
    what = np.repeat(np.arange(items), raters)
    taste = random.normal(0, 0.6, items)[what] + random.normal(0, 0.6, people)[who]
    return mean_interval(taste + random.normal(size=len(who)), what, who)


def test_without_a_difference_five_percent_of_intervals_miss_zero():
    random = np.random.default_rng(17)
    computed = [simulated_difference(random) for _ in range(1000)]
    missed = np.mean([not interval.low <= 0 <= interval.high for interval in computed])
    assert 0.02 <= missed <= 0.08


def test_the_simulated_annotators_would_fool_an_interval_clustered_by_item():
    random = np.random.default_rng(17)
    computed = [simulated_difference(random, people=4) for _ in range(300)]
    assert {interval.kind for interval in computed} == {"item"}
    assert np.mean([not interval.low <= 0 <= interval.high for interval in computed]) > 0.2


@pytest.mark.parametrize(("clusters", "low"), [(10, 0.00855), (30, 0.01875), (1000, 0.02480)])
def test_few_clusters_widen_the_percentiles_of_resamples(clusters, low):
    """Plain percentiles are 0.025 and 0.975; of ten clusters, Hesterberg's (2015) are 0.0086 and 0.9914."""
    assert resample_quantiles(clusters) == pytest.approx([low, 1 - low], abs=5e-6)
