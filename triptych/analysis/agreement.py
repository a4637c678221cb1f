"""Agreement between annotators: percent agreement and Krippendorff's alpha, with a bootstrap interval.

A unit is what two annotators can agree on: one candidate (or one item) under one criterion. How much a unit
adds to agreement depends only on which values it received how often, its pattern; three ratings on seven
points make at most 84 patterns. So ratings are first compressed to patterns, and everything below is sums
over patterns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from triptych.analysis.columns import Column, codes, numbers
from triptych.errors import UndefinedStatistic

Level = Literal["nominal", "ordinal", "interval"]

NOT_PAIRED = "No item was rated by two annotators."
NO_VARIATION = "Not defined: no variation (every rating is the same)."
_LARGEST_KEY = 2**62
_CELLS_AT_ONCE = 4_000_000
_FEW_POINTS = 21  # 0-10 in halves; up to here counting is quicker than sorting


@dataclass(frozen=True)
class UnitCounts:
    """How often each unit received each value, equal units merged into patterns.

    counts: (P, V) ratings of value v in a unit of pattern p; weights: (P,) units of that pattern;
    values: (V,) the values that occur, in scale order. Units with fewer than two ratings are left out.
    """

    counts: csr_array
    weights: np.ndarray
    values: np.ndarray

    @classmethod
    def build(cls, units: Column, values: Column, scale: Column | None = None) -> UnitCounts:
        """Count n ratings: units (n,) labels, values (n,) numbers with NaN = missing, scale (V,) in order.

        The patterns stand in an order given by their content, so neither the order of the rows nor the
        names of the units matter. Raises UndefinedStatistic when no unit has two ratings.
        """
        numeric, labels = numbers(values, units)
        unit, _ = codes(labels)
        paired = np.bincount(unit) > 1
        if not paired.any():
            raise UndefinedStatistic(NOT_PAIRED)
        kept = paired[unit]
        unit = (np.cumsum(paired) - 1)[unit[kept]]
        value, domain = _value_codes(numeric[kept], scale)
        key = _row_keys(_content(unit, value, len(domain)))
        _, example, weights = np.unique(key, return_index=True, return_counts=True)
        pattern_of = np.full(len(key), -1)
        pattern_of[example] = np.arange(len(example))
        shown = pattern_of[unit] >= 0
        cells = (np.ones(np.count_nonzero(shown)), (pattern_of[unit[shown]], value[shown]))
        return cls(csr_array(cells, shape=(len(example), len(domain))), weights, domain)

    @cached_property
    def sizes(self) -> np.ndarray:
        """(P,) ratings per unit of each pattern, at least two."""
        return self.counts.sum(axis=1)

    def spread(self, numeric: np.ndarray) -> np.ndarray:
        """(P,) sum of squared deviations from the unit's mean, value v standing for numeric[v]."""
        rows = np.repeat(np.arange(len(self.sizes)), np.diff(self.counts.indptr))
        means = self.counts @ numeric / self.sizes
        squares = (numeric[self.counts.indices] - means[rows]) ** 2
        return np.bincount(rows, self.counts.data * squares, minlength=len(self.sizes))


def percent_agreement(units: Column, values: Column) -> float:
    """Probability that two random ratings of the same random unit are the same value.

    Mean over units with m >= 2 ratings of sum_c n_c (n_c - 1) / (m (m - 1)), the sum being sum_c n_c^2 - m.
    Raises UndefinedStatistic when no unit has two ratings.
    """
    table = UnitCounts.build(units, values)
    same = (table.counts * table.counts).sum(axis=1) - table.sizes
    return float(np.average(same / (table.sizes * (table.sizes - 1)), weights=table.weights))


def krippendorff_alpha(units: Column, values: Column, level: Level, scale: Column | None = None) -> float:
    """Krippendorff's alpha = 1 - observed / expected disagreement; any number of ratings per unit.

    units: (n,) labels; values: (n,) numbers, NaN = missing and dropped; scale: the possible values in order,
    ascending numbers when not given (unused values change nothing). 1 is perfect agreement, 0 is what chance
    alone would give, below 0 annotators disagree systematically. Ordinal uses the ranks among all pairable
    ratings. Raises UndefinedStatistic. Source: Krippendorff 2011, Computing Krippendorff's Alpha-Reliability.
    """
    table = _varied(UnitCounts.build(units, values, scale))
    return float(_alphas(table, table.weights[None, :].astype(float), level)[0])


def alpha_interval(
    units: Column,
    values: Column,
    level: Level,
    resamples: int = 2000,
    seed: int = 0,
    confidence: float = 0.95,
    scale: Column | None = None,
) -> tuple[float, float]:
    """Percentile bootstrap interval (low, high) of alpha; units are drawn with replacement.

    Drawing U units is drawing Multinomial(U, w / U) numbers of patterns: the same law as resampling unit by
    unit, at the price of the patterns (with thousands of values every unit is a pattern of its own, and 2,000
    resamples of 1e5 ratings take seconds). Speaks for these annotators: they are not resampled. Resamples
    without variation are left out; when they are more than 1 - confidence of all, either limit could lie
    among them and UndefinedStatistic is raised, as it is for fewer than two units.
    """
    table = _varied(UnitCounts.build(units, values, scale))
    if table.weights.sum() < 2:
        raise UndefinedStatistic("An interval needs at least two items rated by two annotators.")
    draws = _draws(table, resamples, np.random.default_rng(seed))
    alphas = np.concatenate([_alphas(table, draw, level) for draw in draws])
    defined = alphas[~np.isnan(alphas)]
    if len(alphas) - len(defined) > (1 - confidence) * len(alphas):
        raise UndefinedStatistic("No interval: almost every rating is the same.")
    low, high = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _value_codes(values: np.ndarray, scale: Column | None) -> tuple[np.ndarray, np.ndarray]:
    """Codes 0..V-1 (n,) of the values in the order of the scale, and the V values that occur."""
    code, distinct = codes(values)
    order = np.argsort(distinct if scale is None else _places(distinct, scale))
    rank = np.empty(len(distinct), dtype=np.int64)
    rank[order] = np.arange(len(distinct))
    return rank[code], distinct[order]


def _places(values: np.ndarray, scale: Column) -> np.ndarray:
    """Place of each value on the scale, 0 first."""
    place_of = {float(point): place for place, point in enumerate(scale)}
    strange = sorted(set(values.tolist()) - place_of.keys())
    if strange:
        raise UndefinedStatistic(f"Not defined: the value {strange[0]:g} is not a point of the scale.")
    return np.array([place_of[value] for value in values.tolist()])


def _content(unit: np.ndarray, value: np.ndarray, points: int) -> np.ndarray:
    """What each of U units received, a (K, U) table: counts per value or, with many, its values in order."""
    sizes = np.bincount(unit)
    if points <= max(_FEW_POINTS, sizes.max()):
        cells = np.bincount(value * len(sizes) + unit, minlength=points * len(sizes))
        return cells.reshape(points, len(sizes))
    unit, value = np.divmod(np.sort(unit * points + value), points)
    place = np.arange(len(unit)) - (np.cumsum(sizes) - sizes)[unit]
    table = np.zeros((sizes.max(), len(sizes)), dtype=np.int64)
    table[place, unit] = value + 1
    return table


def _row_keys(table: np.ndarray) -> np.ndarray:
    """One number per column of a (K, U) table: equal for equal columns, in lexicographic order."""
    key, span = np.zeros(table.shape[1], dtype=np.int64), 1
    for row in table:
        width = int(row.max()) + 1
        if span * width > _LARGEST_KEY:
            key = np.unique(key, return_inverse=True)[1]
            span = int(key.max()) + 1
        key, span = key * width + row, span * width
    return key


def _varied(table: UnitCounts) -> UnitCounts:
    """The table itself, unless all its ratings are one value."""
    if len(table.values) < 2:
        raise UndefinedStatistic(NO_VARIATION)
    return table


def _draws(table: UnitCounts, resamples: int, random: np.random.Generator) -> Iterator[np.ndarray]:
    """Bootstrap weights (b, P), in pieces that fit the memory: how many units of each pattern were drawn."""
    units = int(table.weights.sum())
    piece = max(1, _CELLS_AT_ONCE // max(table.counts.shape))
    for start in range(0, resamples, piece):
        size = min(piece, resamples - start)
        yield random.multinomial(units, table.weights / units, size=size).astype(float)


def _alphas(table: UnitCounts, draws: np.ndarray, level: Level) -> np.ndarray:
    """Alpha (b,) for each row of pattern weights (b, P); NaN (never shown) where a row has no variation."""
    observed, expected = _DISAGREEMENT[level](table, draws)
    defined = expected > 0
    ratio = np.divide(observed, expected, out=np.full(len(draws), np.nan), where=defined)
    return 1 - ratio


def _nominal(table: UnitCounts, draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Observed sum_u (m^2 - sum_c n_uc^2) / (m - 1) and expected (n^2 - sum_c n_c^2) / (n - 1), each (b,)."""
    sizes, counts = table.sizes, table.counts
    within = (sizes**2 - (counts * counts).sum(axis=1)) / (sizes - 1)
    marginals = draws @ counts
    total = draws @ sizes
    return draws @ within, (total**2 - (marginals**2).sum(axis=1)) / (total - 1)


def _interval(table: UnitCounts, draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sums of squared differences by moments, sum_ij (x_i - x_j)^2 = 2 m sum (x - mean)^2: no V x V table."""
    sizes, numeric = table.sizes, _unit_range(table.values)
    spread = table.spread(numeric)
    means, total = table.counts @ numeric / sizes, draws @ sizes
    grand = draws @ (means * sizes) / total
    between = np.einsum("bp,bp->b", draws * sizes, (means - grand[:, None]) ** 2)
    variance = (draws @ spread + between) / total
    rounding = 1e-26  # squared; values lie in [-1, 1], so anything smaller is not variation
    expected = np.where(variance > rounding, 2 * total**2 * variance / (total - 1), 0)
    return draws @ (2 * sizes * spread / (sizes - 1)), expected


def _ordinal(table: UnitCounts, draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Interval disagreement of mid-ranks, since sum_{g=c..k} n_g - (n_c + n_k) / 2 = midrank(k) - midrank(c).

    The ranks come from each row's own marginals (b, V), centred, as shares of that row's ratings.
    """
    sizes, counts = table.sizes, table.counts
    marginals, total = draws @ counts, draws @ sizes
    ranks = (np.cumsum(marginals, axis=1) - marginals / 2) / total[:, None] - 0.5
    expected = 2 * total * (marginals * ranks**2).sum(axis=1) / (total - 1)
    sums = (counts @ ranks.T).T
    squares = (counts @ (ranks**2).T).T
    within = np.maximum(sizes * squares - sums**2, 0) / (sizes - 1)
    return 2 * np.einsum("bp,bp->b", draws, within), expected


def _unit_range(values: np.ndarray) -> np.ndarray:
    """The values moved and stretched into [-1, 1], which leaves alpha as it is and keeps squares in range."""
    middle = values.min() / 2 + values.max() / 2
    moved = values - middle
    return moved / np.abs(moved).max()


_DISAGREEMENT: dict[str, Callable[[UnitCounts, np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "nominal": _nominal,
    "ordinal": _ordinal,
    "interval": _interval,
}
