"""Ratings against a metric: worked examples, scipy as a witness, refusals."""

from __future__ import annotations

import math
import tracemalloc
from random import Random

import numpy as np
import pytest
from helpers.present import present
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, pearsonr

from triptych.stats.correlation import Correlations, segment_correlation, system_correlation
from triptych.stats.intervals import resample_quantiles
from triptych.stats.undefined import Undefined, UndefinedStatistic

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


@pytest.mark.parametrize(("correlation", "systems"), [(segment_correlation, 3), (system_correlation, 8)])
def test_items_repeated_inside_a_group_make_no_interval_narrower(correlation, systems):
    columns = candidates(np.random.default_rng(2), items=20, systems=systems, noise=3)
    values, item, system, metric = (np.tile(column, 4) for column in columns)
    once, often = (
        correlation(*columns),
        correlation(values, np.arange(len(item)) // len(columns[0]) * 20 + item, system, metric, item),
    )
    for each, other in ((once.kendall, often.kendall), (once.pearson, often.pearson)):
        assert present(other.interval) == pytest.approx(present(each.interval))
    assert (once.items, often.items) == (20, 80)
    assert "over items" in once.sentence or "systems and items" in once.sentence
    assert "groups of items" in often.sentence


def test_few_groups_have_no_interval():
    values, item, system, metric = candidates(np.random.default_rng(2), items=36)
    result = segment_correlation(values, item, system, metric, item // 4)
    assert result.kendall.interval == Undefined("No interval below 10 groups of items.")


def test_one_item_is_what_scipy_says():
    values, metric = [1, 2, 2, 5, 4], [0.1, 0.3, 0.2, 0.2, 0.9]
    result = segment_correlation(values, [0] * 5, range(5), metric)
    assert result.kendall.value == pytest.approx(kendalltau(values, metric).statistic)
    assert result.pearson.value == pytest.approx(pearsonr(values, metric).statistic)
    assert (result.pairs, result.items, result.systems) == (8, 1, 5)
    assert result.kendall.interval == Undefined("No interval below 10 items.")
    assert result.sentence == "Candidates compared within 1 items. No interval below 10 items."


def test_candidates_are_compared_within_their_item_only():
    # Within both items the metric runs against the ratings; across items it runs with them.
    result = segment_correlation([1, 2, 6, 7], [0, 0, 1, 1], [0, 1, 0, 1], [2, 1, 12, 11])
    assert (result.kendall.value, result.pearson.value) == pytest.approx((-1, -1))


def test_ratings_of_one_candidate_are_averaged_first():
    result = segment_correlation([1, 5, 4, 4], [0] * 4, [0, 0, 1, 1], [1, 1, 2, 2])
    assert (result.kendall.value, result.pairs) == (1, 1)


def test_the_interval_holds_the_value_and_shrinks_with_more_items():
    random = np.random.default_rng(2)
    few, many = (segment_correlation(*candidates(random, items, noise=3)) for items in (20, 300))
    for each in (few.kendall, few.pearson, many.kendall, many.pearson):
        low, high = present(each.interval)
        assert low < each.value < high
    assert np.ptp(present(many.pearson.interval)) < np.ptp(present(few.pearson.interval)) / 2


@pytest.mark.long
def test_the_interval_covers_what_many_items_would_give():
    random = np.random.default_rng(3)
    truth = segment_correlation(*candidates(random, 3000, noise=3)).kendall.value
    result = [segment_correlation(*candidates(random, 40, noise=3)).kendall.interval for _ in range(60)]
    assert 0.87 <= np.mean([low <= truth <= high for low, high in map(present, result)]) <= 1


def test_items_with_a_single_candidate_do_not_count():
    alone = list(range(11))
    result = segment_correlation([1, 2, *[3] * 11], [99, 99, *alone], [0, 1, *[0] * 11], [1, 2, *[3] * 11])
    assert (result.kendall.value, result.pairs, result.items) == (1, 1, 1)
    assert result.kendall.interval == result.pearson.interval == Undefined("No interval below 10 items.")


def test_one_item_that_separates_candidates_gives_no_interval():
    item, system = np.repeat(np.arange(12), 2), np.tile([0, 1], 12)
    values = np.where(item == 0, system, 3)
    result = segment_correlation(values, item, system, system)
    assert result.items == 12
    for each in (result.kendall, result.pearson):
        assert each.value == pytest.approx(1 / math.sqrt(12))
        assert each.interval.reason.startswith("No interval: too few candidates differ")
    assert result.sentence == f"Candidates compared within 12 items. {result.kendall.interval}"


def test_a_coefficient_without_width_has_no_interval():
    item, system = np.repeat(np.arange(12), 3), np.tile([0.0, 1.0, 2.0], 12)
    result = segment_correlation(system, item, system, system ** (1 + item % 3))
    assert result.kendall.value == pytest.approx(1)
    assert result.kendall.interval == Undefined(
        "No interval: all resamples give the same value, so there is no variation."
    )
    low, high = present(result.pearson.interval)
    assert low < result.pearson.value <= high < 1
    spoken = f"95 % interval over items, for these annotators. Kendall's tau-b: {result.kendall.interval}"
    assert result.sentence == f"Candidates compared within 12 items. {spoken}"


def test_equal_means_of_two_and_three_ratings_tie():
    result = segment_correlation([1, 2, 1, 2, 2, 3], [0] * 6, [0, 0, 1, 1, 1, 2], [0.1] * 5 + [0.3])
    assert result.pairs == 2


def test_many_resamples_without_a_system_give_no_interval():
    item, system = np.arange(12), np.repeat(np.arange(6), 2)
    result = system_correlation(system + item % 2, item, system, system**2.0)
    assert result.items == 12
    assert result.kendall.interval.reason.startswith("No interval: too few candidates differ")


@pytest.mark.parametrize(
    ("values", "metric", "words"),
    [
        ([3, 3, 4, 4], [1, 2, 3, 4], "whose ratings differ"),
        ([3, 4, 4, 5], [1, 1, 2, 2], "whose other numbers differ"),
        ([NAN] * 4, [1, 2, 3, 4], "whose ratings differ"),
        ([1, 2, 3, 4], [NAN, 1, NAN, 2], "whose ratings differ"),
    ],
)
def test_an_undefined_correlation_within_items_gives_a_reason(values, metric, words):
    with pytest.raises(UndefinedStatistic, match=words):
        segment_correlation(values, [0, 0, 1, 1], [0, 1, 0, 1], metric)


def test_below_six_systems_the_system_level_is_refused():
    with pytest.raises(UndefinedStatistic, match="over 3 systems would have 3 points"):
        system_correlation(*candidates(np.random.default_rng(0)))


def test_six_systems_are_what_scipy_says_about_their_means():
    values, item, system, metric = candidates(np.random.default_rng(0), systems=6)
    result = system_correlation(values, item, system, metric)
    means = [[column[system == each].mean() for each in range(6)] for column in (values, metric)]
    assert result.kendall.value == pytest.approx(kendalltau(*means).statistic)
    assert result.pearson.value == pytest.approx(pearsonr(*means).statistic)
    low, high = present(result.kendall.interval)
    assert low <= result.kendall.value <= high
    assert (result.systems, result.items, result.pairs) == (6, 30, 15)
    assert "interval over systems and items" in result.sentence


def test_intervals_of_systems_come_from_drawn_items_and_systems():
    """An incomplete table; each resample computed on its own, with draws of its own."""
    random = np.random.default_rng(5)
    rated = random.random(30 * 8) < 0.7
    values, item, system, metric = (column[rated] for column in candidates(random, systems=8, noise=3))
    resamples: list[tuple[float, float]] = []
    while len(resamples) < 700:
        weight = np.bincount(random.integers(0, 30, 30), minlength=30)[item]
        counts = np.bincount(system, weight)
        drawn = random.integers(0, 8, 8)
        if counts.min() and len(set(drawn)) > 1:
            x, y = (np.bincount(system, weight * column)[drawn] / counts[drawn] for column in (values, metric))
            resamples.append((kendalltau(x, y).statistic, pearsonr(x, y).statistic))
    result = system_correlation(values, item, system, metric)
    for each, own in zip((result.kendall, result.pearson), np.array(resamples).T, strict=True):
        assert present(each.interval) == pytest.approx(np.quantile(own, resample_quantiles(30)), abs=0.06)


def test_equal_means_define_no_correlation_of_systems():
    with pytest.raises(UndefinedStatistic, match="means of all systems are equal"):
        system_correlation([3.0] * 12, np.repeat([0, 1], 6), list(range(6)) * 2, range(12))


TIED = [(0, 0, 1, 0), (0, 0, 1, 3), (0, 1, 1, 0), (0, 2, 1, 3), (0, 3, 2, 0), (0, 4, 1, 0), (0, 5, 1, 0), (1, 2, 1, 0)]


@given(rows, st.randoms(use_true_random=False))
@example(TIED, Random(1))  # two systems of one mean, from one candidate and from two
@settings(max_examples=50, deadline=None)
def test_row_order_names_and_units_of_the_metric_change_nothing(ratings, random):
    moved = [(-i, f"s{s}", v, 2 * m + 5) for i, s, v, m in random.sample(ratings, len(ratings))]
    for statistic in (segment_correlation, system_correlation):
        result: list[Correlations | Undefined] = []
        for table in (ratings, moved):
            item, system, value, metric = (list(column) for column in zip(*table, strict=True)) if table else [[]] * 4
            try:
                result.append(statistic(value, item, system, metric))
            except UndefinedStatistic as undefined:
                result.append(Undefined(str(undefined)))
        each, other = result
        if isinstance(each, Undefined):
            assert each == other
        else:
            assert (each.kendall.value, each.pearson.value) == pytest.approx(
                (other.kendall.value, other.pearson.value), abs=1e-6
            )
            assert -1 <= each.pearson.value <= 1


@pytest.mark.parametrize("unit", [1e-6, 1e7])
def test_resamples_do_not_depend_on_unit_or_order(unit):
    random = np.random.default_rng(7)
    item, system = np.repeat(np.arange(20), 8), np.tile(np.arange(8), 20)
    rating, metric = random.integers(1, 6, (2, 160)) / 3.0
    for correlation in (segment_correlation, system_correlation):
        expected = correlation(rating, item, system, metric)
        for order in (np.arange(160), random.permutation(160)):
            labels = item[order], system[order]
            result = correlation(unit * rating[order], *labels, unit * metric[order])
            for each, of in ((result.kendall, expected.kendall), (result.pearson, expected.pearson)):
                assert present(each.interval) == pytest.approx(present(of.interval))


def test_longer_candidates_rated_higher_correlate_with_length():
    result = segment_correlation([1, 2, 3, 5, 6, 7], [0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [10, 20, 30, 40, 70, 80])
    assert result.kendall.value == 1
    assert 0.9 < result.pearson.value < 1


@pytest.mark.long
def test_resamples_of_many_items_take_little_memory():
    values, item, system, metric = candidates(np.random.default_rng(0), items=10_000)
    tracemalloc.start()
    try:
        segment_correlation(values, item, system, metric)
        assert tracemalloc.get_traced_memory()[1] < 80_000_000  # bytes
    finally:
        tracemalloc.stop()
