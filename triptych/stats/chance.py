"""Agreement beyond chance: Gwet's AC1 and AC2, and the kappas of Fleiss and Cohen.

All compare the observed agreement pa with the agreement pe that chance would give: (pa - pe) / (1 - pe). They
differ in what chance is. A weight w_cd says how much of an agreement the values c and d are:

- identity: 1 for the same value, otherwise 0;
- quadratic: 1 - ((c - d) / (greatest - smallest))^2, from the values as numbers;
- ordinal: 1 - l (l + 1) / (q (q - 1)) for values l places apart on a scale of q points. This is Gwet's weight; it
  differs from the ranks of Krippendorff's ordinal alpha, and so do the results.

Source: Gwet 2014, Handbook of Inter-Rater Reliability, chapters 3 to 5 (generalised to missing ratings).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np

from .columns import Floats
from .counts import Draw, UnitCounts
from .undefined import UndefinedStatistic

Weighting = Literal["identity", "quadratic", "ordinal"]
WeightedStatistic: TypeAlias = Callable[[UnitCounts, Draw, np.ndarray], np.ndarray]
MOST_POINTS = 101  # 0-100; beyond it a value is a measurement, not a category
_ROUNDING = 1e-12


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
    """Gwet's AC1 (identity weights) or AC2 (b,) for each table of V > 1 values; weights (V, V).

    pe = sum(w) / (q (q - 1)) * sum_c pi_c (1 - pi_c), pi_c the mean share of value c over units. Units rated once
    count in pi only; points that nobody used count in q. A value that is far more frequent than the others hardly
    changes the coefficient. Source: Gwet 2008.
    """
    shares, points = _shares(table, draw), len(table.values)
    chance = weights.sum() / (points * (points - 1)) * (shares * (1 - shares)).sum(axis=1)
    return _beyond(_agreement(table, draw, weights), chance)


def fleiss(table: UnitCounts, draw: Draw, weights: np.ndarray) -> np.ndarray:
    """Fleiss' kappa (b,) for each table: pe = sum_cd w_cd pi_c pi_d; weights (V, V).

    NaN where all ratings are alike. The classic kappa when every unit has the same number of ratings. Source: Fleiss
    1971; Gwet 2014 for missing ratings.
    """
    shares = _shares(table, draw)
    return _beyond(_agreement(table, draw, weights), ((shares @ weights) * shares).sum(axis=1))


def kappas(pair: np.ndarray, first: np.ndarray, second: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Cohen's kappa (K,) of K pairs of annotators: pe = sum_cd w_cd p_c q_d; NaN where all ratings are alike.

    Each annotator has shares of their own. Source: Cohen 1960, 1968.
    pair: (n,) codes 0..K-1 of the pair that rated a unit; first, second: (n,) codes of their values.
    """
    sizes, points = np.bincount(pair), len(weights)
    shares = [
        np.bincount(pair * points + code, minlength=len(sizes) * points).reshape(-1, points) / sizes[:, None]
        for code in (first, second)
    ]
    chance = ((shares[0] @ weights) * shares[1]).sum(axis=1)
    return _beyond(np.bincount(pair, weights[first, second]) / sizes, chance)


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
    """(pa - pe) / (1 - pe), at most 1 in spite of rounding; NaN where chance agreement is complete."""
    room = 1 - chance
    coefficient: Floats = np.full(len(room), np.nan)
    np.divide(agreement - chance, room, out=coefficient, where=room > _ROUNDING)
    return np.minimum(coefficient, 1.0)
