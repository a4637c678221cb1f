"""Ratings against a metric: worked examples, scipy as a witness, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, pearsonr

from triptych.analysis.correlation import segment_correlation, system_correlation
from triptych.errors import UndefinedStatistic

NAN = math.nan

rows = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 7), st.sampled_from([1, 2, 5, NAN]), st.sampled_from([0, 0.1, 3, NAN])),
    max_size=40,
)


def candidates(random, items=30, systems=3, noise=1.0):
    """Values, items, systems, metric; a metric that is the rating plus noise, plus an easiness of each item."""
    item, system = np.repeat(np.arange(items), systems), np.tile(np.arange(systems), items)
    values = random.integers(1, 8, len(item)).astype(float) + 0.3 * system
    return values, item, system, values + random.normal(0, noise, len(item)) + 10 * item


def test_one_item_is_what_scipy_says():
    values, metric = [1, 2, 2, 5, 4], [0.1, 0.3, 0.2, 0.2, 0.9]
    found = segment_correlation(values, [0] * 5, range(5), metric)
    assert found.kendall.value == pytest.approx(kendalltau(values, metric).statistic)
    assert found.pearson.value == pytest.approx(pearsonr(values, metric).statistic)
    assert (found.pairs, found.items, found.systems) == (8, 1, 5)
    assert found.kendall.low is None
    assert "no interval below 10 items" in found.sentence


def test_candidates_are_compared_within_their_item_only():
    # Within both items the metric runs against the ratings; across items it runs with them.
    found = segment_correlation([1, 2, 6, 7], [0, 0, 1, 1], [0, 1, 0, 1], [2, 1, 12, 11])
    assert (found.kendall.value, found.pearson.value) == pytest.approx((-1, -1))


def test_ratings_of_one_candidate_are_averaged_first():
    found = segment_correlation([1, 5, 4, 4], [0] * 4, [0, 0, 1, 1], [1, 1, 2, 2])
    assert (found.kendall.value, found.pairs) == (1, 1)


def test_the_interval_holds_the_value_and_shrinks_with_more_items():
    random = np.random.default_rng(2)
    few, many = (segment_correlation(*candidates(random, items, noise=3)) for items in (20, 300))
    for one in (few.kendall, few.pearson, many.kendall, many.pearson):
        assert one.low < one.value < one.high
    assert many.pearson.high - many.pearson.low < (few.pearson.high - few.pearson.low) / 2


def test_the_interval_covers_what_many_items_would_give():
    random = np.random.default_rng(3)
    truth = segment_correlation(*candidates(random, 3000, noise=3)).kendall.value
    found = [segment_correlation(*candidates(random, 40, noise=3)).kendall for _ in range(60)]
    assert 0.87 <= np.mean([one.low <= truth <= one.high for one in found]) <= 1


@pytest.mark.parametrize(
    ("values", "metric", "words"),
    [
        ([3, 3, 4, 4], [1, 2, 3, 4], "whose ratings differ"),
        ([3, 4, 4, 5], [1, 1, 2, 2], "whose other numbers differ"),
        ([NAN] * 4, [1, 2, 3, 4], "whose ratings differ"),
        ([1, 2, 3, 4], [NAN, 1, NAN, 2], "whose ratings differ"),
    ],
)
def test_a_correlation_within_items_that_is_not_defined_is_said_in_words(values, metric, words):
    with pytest.raises(UndefinedStatistic, match=words):
        segment_correlation(values, [0, 0, 1, 1], [0, 1, 0, 1], metric)


def test_below_six_systems_the_system_level_is_refused_with_the_reason():
    with pytest.raises(UndefinedStatistic, match="over 3 systems would have 3 points"):
        system_correlation(*candidates(np.random.default_rng(0)))


def test_six_systems_are_what_scipy_says_about_their_means():
    values, item, system, metric = candidates(np.random.default_rng(0), systems=6)
    found = system_correlation(values, item, system, metric)
    means = [[column[system == one].mean() for one in range(6)] for column in (values, metric)]
    assert found.kendall.value == pytest.approx(kendalltau(*means).statistic)
    assert found.pearson.value == pytest.approx(pearsonr(*means).statistic)
    assert found.kendall.low <= found.kendall.value <= found.kendall.high
    assert (found.systems, found.items, found.pairs) == (6, 30, 15)
    assert "interval over systems and items" in found.sentence


def test_equal_means_define_no_correlation_of_systems():
    with pytest.raises(UndefinedStatistic, match="means of all systems are equal"):
        system_correlation([3.0] * 12, np.repeat([0, 1], 6), list(range(6)) * 2, range(12))


@given(rows, st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_row_order_names_and_units_of_the_metric_change_nothing(ratings, random):
    moved = [(-i, f"s{s}", v, 2 * m + 5) for i, s, v, m in random.sample(ratings, len(ratings))]
    for statistic in (segment_correlation, system_correlation):
        found = []
        for table in (ratings, moved):
            item, system, value, metric = (list(column) for column in zip(*table, strict=True)) if table else [[]] * 4
            try:
                found.append(statistic(value, item, system, metric))
            except UndefinedStatistic as undefined:
                found.append(str(undefined))
        one, other = found
        if isinstance(one, str):
            assert one == other
        else:
            assert (one.kendall.value, one.pearson.value) == pytest.approx(
                (other.kendall.value, other.pearson.value), abs=1e-6
            )
            assert -1 <= one.pearson.value <= 1
