"""Agreement between annotators: percent agreement and Krippendorff's alpha."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from .columns import Column, Floats
from .counts import Draw, UnitCounts

Level = Literal["nominal", "ordinal", "interval"]


def krippendorff_alpha(units: Column, values: Column, level: Level, scale: Column | None = None) -> float:
    """Krippendorff's alpha = 1 - observed / expected disagreement; any number of ratings per unit.

    units: (n,) labels; values: (n,) numbers, NaN = missing and dropped; scale: the possible values in order,
    ascending numbers when not given (unused values change nothing). 1 is perfect agreement, 0 is what chance
    alone would give, below 0 annotators disagree systematically. Ordinal uses the ranks among all pairable
    ratings. Raises UndefinedStatistic. Source: Krippendorff 2011, Computing Krippendorff's Alpha-Reliability.
    """
    table = UnitCounts.build(units, values, scale).varied()
    return float(alphas(table, table.observed(), level)[0])


def percents(table: UnitCounts, draw: Draw) -> np.ndarray:
    """Percent agreement (b,) for each table; the sum over c of n_c (n_c - 1) is sum_c n_c^2 - m."""
    same = (table.counts * table.counts).sum(axis=1) - table.sizes
    shares: Floats = draw.weights @ (same / (table.sizes * (table.sizes - 1))) / draw.weights.sum(axis=1)
    return shares


def alphas(table: UnitCounts, draw: Draw, level: Level) -> np.ndarray:
    """Alpha (b,) for each table; NaN (never shown) where it has no variation."""
    observed, expected = _DISAGREEMENT[level](table, draw.weights)
    defined = expected > 0
    ratio: Floats = np.divide(observed, expected, out=np.full(len(defined), np.nan), where=defined)
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
    sizes, numeric = table.sizes, _unit_range(table.values, table.used)
    spread = table.spread(numeric)
    means, total = table.counts @ numeric / sizes, draws @ sizes
    grand = draws @ (means * sizes) / total
    between = np.einsum("bp,bp->b", draws * sizes, (means - grand[:, None]) ** 2)
    variance = (draws @ spread + between) / total
    rounding = 1e-26  # squared; values are in [-1, 1], so anything smaller is not variation
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


def _unit_range(values: np.ndarray, used: np.ndarray) -> np.ndarray:
    """The values, shifted and scaled so that the used ones span [-1, 1]; unused values, which never count, become 0.

    Alpha does not change, and squares cannot overflow.
    """
    middle = values[used].min() / 2 + values[used].max() / 2
    moved: Floats = np.where(used, values - middle, 0)
    return moved / float(np.abs(moved).max())


_DISAGREEMENT: dict[str, Callable[[UnitCounts, np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "nominal": _nominal,
    "ordinal": _ordinal,
    "interval": _interval,
}
