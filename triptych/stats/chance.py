"""Agreement beyond chance: Gwet's AC1 and AC2, and the kappas of Fleiss and Cohen.

All compare the observed agreement pa with the agreement pe that chance would give: (pa - pe) / (1 - pe). They
differ in what chance is. A weight w_cd says how much of an agreement the values c and d are:

- identity: 1 for the same value, otherwise 0;
- quadratic: 1 - ((c - d) / (greatest - smallest))^2, from the values as numbers;
- ordinal: 1 - l (l + 1) / (q (q - 1)) for values l places apart on a scale of q points. This is Gwet's weight and
  another thing than the ranks of Krippendorff's ordinal alpha: the two give different numbers.

Source: Gwet 2014, Handbook of Inter-Rater Reliability, chapters 3 to 5 (generalised to missing ratings).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np

from .columns import Column, Floats, numbers
from .counts import NO_VARIATION, NOT_PAIRED, Draw, UnitCounts, value_codes
from .undefined import UndefinedStatistic

Weighting = Literal["identity", "quadratic", "ordinal"]
WeightedStatistic: TypeAlias = Callable[[UnitCounts, Draw, np.ndarray], np.ndarray]
MOST_POINTS = 101  # 0-100; beyond it a value is a measurement, not a category
_ROUNDING = 1e-12


def gwet_ac(units: Column, values: Column, weights: Weighting = "identity", scale: Column | None = None) -> float:
    """Gwet's AC1 (identity weights) or AC2; hardly moved by one value being far more frequent than the others.

    pe = sum(w) / (q (q - 1)) * sum_c pi_c (1 - pi_c), pi_c the mean share of value c over units.
    units: (n,) labels; values: (n,) numbers, NaN = missing; units rated once count in pi only. scale: all q points,
    because points that nobody used count in q; without it q is the number of values that occur. Raises
    UndefinedStatistic: no unit rated twice, all ratings alike, more than 101 points. Source: Gwet 2008.
    """
    return _coefficient(gwet, units, values, weights, scale)


def fleiss_kappa(units: Column, values: Column, weights: Weighting = "identity", scale: Column | None = None) -> float:
    """Fleiss' kappa, generalised to units with different numbers of ratings: pe = sum_cd w_cd pi_c pi_d.

    The classic kappa when every unit has the same number of ratings. Arguments, missing ratings and errors as in
    gwet_ac. Source: Fleiss 1971; Gwet 2014 for missing ratings.
    """
    return _coefficient(fleiss, units, values, weights, scale)


def cohen_kappa(first: Column, second: Column, weights: Weighting = "identity", scale: Column | None = None) -> float:
    """Cohen's kappa of two annotators: pe = sum_cd w_cd p_c q_d, each with shares of their own.

    first, second: (n,) numbers given to the same n units, NaN = missing; only units with both count. Raises
    UndefinedStatistic when there is none or all ratings are alike. Source: Cohen 1960, 1968.
    """
    left, other = numbers(first, second)
    right, left = numbers(other, left)
    if not len(right):
        raise UndefinedStatistic(NOT_PAIRED)
    code, domain = value_codes(np.concatenate([left, right]).astype(float), scale)
    x, y = np.split(code, 2)
    kappa = kappas(np.zeros(len(x), dtype=np.int64), x, y, weight_table(weights, domain))[0]
    if np.isnan(kappa):
        raise UndefinedStatistic(NO_VARIATION)
    return float(kappa)


def weight_table(weights: Weighting, values: np.ndarray) -> np.ndarray:
    """(V, V) how much of an agreement two values are; values (V,) in scale order. Raises UndefinedStatistic."""
    if len(values) > MOST_POINTS:
        raise UndefinedStatistic(f"Not defined for a scale of more than {MOST_POINTS} points.")
    if weights == "identity" or len(values) < 2:
        return np.eye(len(values))
    if weights == "quadratic":
        distances: Floats = np.subtract.outer(values, values) / np.ptp(values)
        return 1 - distances**2
    place = np.arange(len(values))
    apart: Floats = np.abs(np.subtract.outer(place, place)).astype(float)
    return 1 - apart * (apart + 1) / (len(values) * (len(values) - 1))


def gwet(table: UnitCounts, draw: Draw, weights: np.ndarray) -> np.ndarray:
    """Gwet's coefficient (b,) for each resample; weights (V, V). V = 1 is not defined: NaN."""
    shares, points = _shares(table, draw), len(table.values)
    if points < 2:
        return np.full(len(shares), np.nan)
    chance = weights.sum() / (points * (points - 1)) * (shares * (1 - shares)).sum(axis=1)
    return _beyond(_agreement(table, draw, weights), chance)


def fleiss(table: UnitCounts, draw: Draw, weights: np.ndarray) -> np.ndarray:
    """Fleiss' generalised kappa (b,) for each resample; weights (V, V); NaN where all ratings are alike."""
    shares = _shares(table, draw)
    return _beyond(_agreement(table, draw, weights), ((shares @ weights) * shares).sum(axis=1))


def kappas(pair: np.ndarray, first: np.ndarray, second: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Cohen's kappa (K,) of K pairs of annotators, NaN where all ratings of a pair are alike.

    pair: (n,) codes 0..K-1 of the pair that rated a unit; first, second: (n,) codes of their values.
    """
    sizes, points = np.bincount(pair), len(weights)
    shares = [
        np.bincount(pair * points + code, minlength=len(sizes) * points).reshape(-1, points) / sizes[:, None]
        for code in (first, second)
    ]
    chance = ((shares[0] @ weights) * shares[1]).sum(axis=1)
    return _beyond(np.bincount(pair, weights[first, second]) / sizes, chance)


def _coefficient(
    statistic: WeightedStatistic, units: Column, values: Column, weights: Weighting, scale: Column | None
) -> float:
    table = UnitCounts.build(units, values, scale).varied()
    return float(statistic(table, table.observed(), weight_table(weights, table.values))[0])


def _agreement(table: UnitCounts, draw: Draw, weights: np.ndarray) -> np.ndarray:
    """pa (b,): weighted agreement of two random ratings of a random unit, sum_c n_c (sum_d w_cd n_d - 1)."""
    sizes, counts = table.sizes, table.counts
    alike = (counts * (counts @ weights)).sum(axis=1) - sizes
    agreement: Floats = draw.weights @ (alike / (sizes * (sizes - 1))) / draw.weights.sum(axis=1)
    return agreement


def _shares(table: UnitCounts, draw: Draw) -> np.ndarray:
    """pi (b, V): the share of each value in a unit, averaged over all units, also those rated once."""
    units = draw.weights.sum(axis=1) + draw.alone.sum(axis=1)
    shares: Floats = ((draw.weights / table.sizes) @ table.counts + draw.alone) / units[:, None]
    return shares


def _beyond(agreement: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """(pa - pe) / (1 - pe), at most 1 in spite of rounding; NaN where chance alone agrees always."""
    room = 1 - chance
    coefficient: Floats = np.full(len(room), np.nan)
    np.divide(agreement - chance, room, out=coefficient, where=room > _ROUNDING)
    return np.minimum(coefficient, 1.0)
