"""Correlation of ratings with a number of each candidate (a metric, a length).

At segment level candidates are compared with the others of their item only, so that easy items do not make a metric
look good. The interval resamples items and applies to these systems and annotators. At system level there is one pair
of means per system; the interval resamples systems and items (Deutsch, Dror & Roth 2021, BOOT-BOTH).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import kendalltau, pearsonr

from .columns import CONFIDENCE, Column, centred, codes, numbers, pair_codes
from .intervals import resample_quantiles
from .pairs import together
from .undefined import Undefined, UndefinedStatistic

FEWEST_SYSTEMS = 6
FEWEST_ITEMS = 10
RESAMPLES = 1000
FEW_DIFFER = "No interval: too few candidates differ, so the correlation is undefined in many resamples."
ALL_ALIKE = "No interval: all resamples give the same value, so there is no variation."
_AT_ONCE = 2_000_000  # numbers of resamples that are held at a time
_ROUNDING = 1e-12
_DIGITS = 9


@dataclass(frozen=True)
class Correlation:
    """A coefficient from -1 to 1 with its interval, or why it has no interval."""

    value: float
    interval: tuple[float, float] | Undefined


@dataclass(frozen=True)
class Correlations:
    """Kendall's tau-b and Pearson's r between ratings and another number of each candidate.

    pairs: at segment level, pairs of candidates of one item that differ in both numbers; otherwise pairs of systems.
    items: at segment level, items with two candidates or more; otherwise all items.
    """

    kendall: Correlation
    pearson: Correlation
    pairs: int
    items: int
    systems: int
    sentence: str


def segment_correlation(
    values: Column, items: Column, systems: Column, metric: Column, groups: Column | None = None
) -> Correlations:
    """Correlation within items, pooled over items: sum of products / root of the product of sums of squares.

    Ratings of one candidate are averaged first. values, metric: (n,) numbers, NaN in either = left out; items, systems:
    (n,) labels; groups: (n,) labels of groups of items with related errors, which are then resampled instead of items;
    if omitted, every item is its own group. Kendall multiplies the signs of the differences of each pair of candidates
    of an item, ties as in tau-b; Pearson multiplies deviations from the item's mean. Raises UndefinedStatistic when no
    item has two candidates that differ in rating, or none that differ in the other number.
    """
    rating, other, item, system, group = _with_another(*_candidates(values, items, systems, metric, groups))
    count, n_items = (int(of.max(initial=-1)) + 1 for of in (group, item))
    first, second = together(item)
    signs = np.sign(rating[first] - rating[second]), np.sign(other[first] - other[second])
    kendall = _products(*signs, group[first], count)
    pearson = _products(_centred(rating, item), _centred(other, item), group, count)
    drawn = _drawn(count, n_items)
    tau, r = (_pooled(products, drawn) for products in (kendall, pearson))
    pairs = int((signs[0] * signs[1] != 0).sum())
    interval = _interval_sentence((tau, r), drawn)
    words = f"Candidates compared within {n_items} items. {interval}"
    return Correlations(tau, r, pairs, n_items, len(np.unique(system)), words)


def system_correlation(
    values: Column, items: Column, systems: Column, metric: Column, groups: Column | None = None
) -> Correlations:
    """Correlation of the systems' mean ratings with their mean metric; columns as in segment_correlation.

    Raises UndefinedStatistic below six systems and when the means of either side are all equal.
    """
    rating, other, item, system, group = _candidates(values, items, systems, metric, groups)
    count, n_items, n_groups = (int(of.max(initial=-1)) + 1 for of in (system, item, group))
    if count < FEWEST_SYSTEMS:
        raise UndefinedStatistic(
            f"Not defined: a correlation over {count} systems would have {count} points. With fewer than "
            f"{FEWEST_SYSTEMS} systems any order of them is likely by chance; use the correlation within items instead."
        )
    sizes = np.bincount(system)
    means = [_tied(np.bincount(system, column) / sizes) for column in (rating, other)]
    if any(np.ptp(mean) <= _ROUNDING * np.abs(mean).max() for mean in means):
        raise UndefinedStatistic("Not defined: the means of all systems are equal.")
    of_items = _drawn(n_groups, n_items)
    resampled = _resampled_systems(rating, other, group, system)
    kendall, pearson = float(kendalltau(*means).statistic), float(pearsonr(*means).statistic)
    tau, r = (
        _with_interval(value, draws, n_groups, of_items)
        for value, draws in zip((kendall, pearson), resampled, strict=True)
    )
    interval = _interval_sentence((tau, r), f"systems and {of_items}")
    words = f"Means of {count} systems over {n_items} items. {interval}"
    return Correlations(tau, r, count * (count - 1) // 2, n_items, count, words)


def _candidates(
    values: Column, items: Column, systems: Column, metric: Column, groups: Column | None
) -> tuple[np.ndarray, ...]:
    """Mean rating, mean metric and codes of item, system and group of each candidate that has both numbers."""
    other, ratings, item, system, group = numbers(metric, values, items, systems, items if groups is None else groups)
    ratings, other, item, system, group = numbers(ratings, other, item, system, group)
    item, system, group = codes(item)[0], codes(system)[0], codes(group)[0]
    candidate, first = pair_codes(item, system)
    sizes = np.bincount(candidate)
    rating, beside = (_tied(np.bincount(candidate, column.astype(float)) / sizes) for column in (ratings, other))
    return rating, beside, item[first], system[first], group[first]


def _tied(means: np.ndarray) -> np.ndarray:
    """The means, made equal where they differ by rounding errors alone, so that they tie.

    Means are not rounded: two neighbours on either side of half a digit would be separated.
    """
    order = np.argsort(means, axis=None)
    ascending = means.ravel()[order]
    steps = np.diff(ascending, prepend=ascending[:1]) > _ROUNDING * np.abs(means).max(initial=0)
    alike = np.cumsum(steps)
    tied = np.empty_like(ascending)
    tied[order] = ascending[np.searchsorted(alike, alike)]
    return tied.reshape(means.shape)


def _with_another(
    rating: np.ndarray, other: np.ndarray, item: np.ndarray, system: np.ndarray, group: np.ndarray
) -> tuple[np.ndarray, ...]:
    """The columns without candidates that are alone in their item: they cannot be compared."""
    shared = np.bincount(item)[item] > 1
    return rating[shared], other[shared], codes(item[shared])[0], system[shared], codes(group[shared])[0]


def _centred(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Deviations from the mean of the group; rounding errors become 0."""
    deviations = centred(values, groups)
    return np.where(np.abs(deviations) <= _ROUNDING * np.abs(values).max(initial=0), 0.0, deviations)


def _products(x: np.ndarray, y: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
    """(count, 3) sums of xy, xx and yy per group."""
    return np.stack([np.bincount(groups, p, minlength=count) for p in (x * y, x**2, y**2)], axis=1)


def _drawn(groups: int, items: int) -> str:
    """What a resample draws."""
    return "items" if groups == items else "groups of items"


def _pooled(products: np.ndarray, drawn: str) -> Correlation:
    """sum xy / sqrt(sum xx sum yy), with an interval from its values in resamples of the items or their groups."""
    total = products.sum(axis=0)
    if total[1] <= 0 or total[2] <= 0:
        side = "ratings" if total[1] <= 0 else "other numbers"
        raise UndefinedStatistic(f"Not defined: no item has two candidates whose {side} differ.")
    value = float(np.clip(total[0] / np.sqrt(total[1] * total[2]), -1, 1))
    xy, xx, yy = _resampled(products[_by_content(products)]).T
    return _with_interval(value, _ratio(xy, xx * yy), len(products), drawn)


def _resampled(products: np.ndarray) -> np.ndarray:
    """(RESAMPLES, q) sums of drawn rows (n, q); a few resamples at a time, since all of 100,000 items would take
    gigabytes.
    """
    random, n = np.random.default_rng(1), len(products)
    rows = max(1, _AT_ONCE // n)
    counts = (min(rows, RESAMPLES - start) for start in range(0, RESAMPLES, rows))
    return np.concatenate([random.multinomial(n, np.full(n, 1 / n), count) @ products for count in counts])


def _by_content(rows: np.ndarray) -> np.ndarray:
    """Order of rows (r, q) by their values, so that draws do not depend on the order or the unit of the ratings."""
    largest = np.abs(rows).max(axis=0)
    return np.lexsort(np.round(rows / np.where(largest > 0, largest, 1), _DIGITS).T)


def _resampled_systems(
    rating: np.ndarray, other: np.ndarray, group: np.ndarray, system: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Kendall and Pearson (b,) over means of drawn systems on drawn groups of items; NaN where they are undefined."""
    shape = (int(group.max()) + 1, int(system.max()) + 1)
    random = np.random.default_rng(1)
    weights = random.multinomial(shape[0], np.full(shape[0], 1 / shape[0]), RESAMPLES)
    drawn = random.integers(0, shape[1], size=(RESAMPLES, shape[1]))
    cell, sides = group * shape[1] + system, (rating, other, np.ones(len(rating)))
    cells = np.stack([np.bincount(cell, column, shape[0] * shape[1]).reshape(shape) for column in sides])
    means = np.stack([np.bincount(system, column) / np.bincount(system) for column in (rating, other)], axis=1)
    cells = cells[:, :, _by_content(means[:, ::-1])]
    cells = cells[:, _by_content(cells.swapaxes(0, 1).reshape(shape[0], -1))]
    sums = np.take_along_axis(weights @ cells, drawn[None], axis=2)
    complete = (sums[2] > 0).all(axis=1)
    x, y = (_tied(sums[side, complete] / sums[2, complete]) for side in (0, 1))
    signs = [np.sign(side[:, :, None] - side[:, None, :]) for side in (x, y)]
    deviations = [side - side.mean(axis=1, keepdims=True) for side in (x, y)]
    coefficients = np.full((2, RESAMPLES), np.nan)
    coefficients[:, complete] = _along(*signs), _along(*deviations)
    return coefficients[0], coefficients[1]


def _along(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """sum xy / sqrt(sum xx sum yy) over all but the first axis."""
    axes = tuple(range(1, x.ndim))
    return _ratio((x * y).sum(axis=axes), (x**2).sum(axis=axes) * (y**2).sum(axis=axes))


def _ratio(products: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """products / root of squares (b,), between -1 and 1; NaN where nothing varies."""
    varied = squares > 0
    root = np.sqrt(squares, out=np.ones(len(squares)), where=varied)
    return np.where(varied, np.clip(products / root, -1, 1), np.nan)


def _with_interval(value: float, resampled: np.ndarray, count: int, drawn: str) -> Correlation:
    """The value with the percentiles of its resamples (b,), where they can be trusted; count: of what was drawn."""
    if count < FEWEST_ITEMS:
        return Correlation(value, Undefined(f"No interval below {FEWEST_ITEMS} {drawn}."))
    defined = resampled[~np.isnan(resampled)]
    if len(resampled) - len(defined) > (1 - CONFIDENCE) * len(resampled):  # a limit could be undefined
        return Correlation(value, Undefined(FEW_DIFFER))
    low, high = np.quantile(defined, resample_quantiles(count)).tolist()
    if high - low <= _ROUNDING:
        return Correlation(value, Undefined(ALL_ALIKE))
    return Correlation(value, (min(low, value), max(high, value)))


def _interval_sentence(correlations: Sequence[Correlation], drawn: str) -> str:
    """What the intervals of Kendall and Pearson apply to, or why they are missing."""
    why = [each.interval.reason if isinstance(each.interval, Undefined) else "" for each in correlations]
    if why[0] and why[0] == why[1]:
        return why[0]
    sentence = "" if all(why) else f"95 % interval over {drawn}, for these annotators."
    missing = (f"{name}: {words}" for name, words in zip(("Kendall's tau-b", "Pearson's r"), why, strict=True) if words)
    return " ".join(filter(None, (sentence, *missing)))
