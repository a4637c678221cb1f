"""Strengths of systems, from comparisons of two: the model of Bradley and Terry with Davidson's (1970) ties.

For studies where no annotator sees all systems on an item: more than three systems in incomplete designs. With three
systems that always appear together, strengths add nothing to wins and losses (comparison).

System i is higher than j with probability p_i / (p_i + p_j + v sqrt(p_i p_j)) and level with it with probability
v sqrt(p_i p_j) / (the same), where log p_i is the strength of i and v says how common ties are (Davidson 1970, On
Extending the Bradley-Terry Model to Accommodate Ties in Paired Comparison Experiments). Without ties, v is 0 and the
model is that of Bradley & Terry 1952. The first dimension B of all arrays here is the resamples; for the data B = 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from .columns import CONFIDENCE, Floats, Label
from .comparison import SideBySide
from .correlation import ALL_ALIKE
from .intervals import resample_quantiles
from .undefined import Undefined, UndefinedStatistic, or_undefined

_STEPS = 60
_LONGEST_STEP = 2.0
_SETTLED = 1e-10
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Strength:
    """log p of one system, the mean of all being 0, with standard error and interval for these annotators."""

    system: Label
    value: float
    error: float | Undefined
    interval: tuple[float, float] | Undefined


@dataclass(frozen=True)
class Preferences:
    """Strengths in the order of the systems passed; ties is v of the model, 0 without ties.

    n: number of pairs, of which `level` are ties, from `items` items (or groups of items). sentence: which annotators
    the intervals apply to, or why there are none.
    """

    strengths: tuple[Strength, ...]
    ties: float
    n: int
    level: int
    items: int
    sentence: str


@dataclass(frozen=True)
class _Outcomes:
    """Pairs by outcome: wins (B, K, K) of row over column, ties (B, K, K) symmetric."""

    wins: np.ndarray
    ties: np.ndarray

    @property
    def met(self) -> np.ndarray:
        met: Floats = self.wins + self.wins.swapaxes(1, 2) + self.ties
        return met


def preferences(table: SideBySide, systems: Sequence[Label], resamples: int = 1000) -> Preferences:
    """Strengths of K systems, from every pair of them that one annotator rated on the same item.

    Standard errors and intervals (intervals.resample_quantiles) come from drawing items (or the table's groups of
    items) with replacement, because their pairs depend on each other; annotators are not drawn. Resamples without
    finite strengths are left out; when they are more than one in twenty, there is no interval. Raises
    UndefinedStatistic when the data have no finite strengths: systems were never compared, a system won or lost every
    comparison, or all comparisons are ties.
    """
    outcomes = _outcomes_per_group(table, systems)
    total = _square(outcomes.sum(axis=0)[None], len(systems))
    _refuse_unconnected(total)
    strengths, ties = _fit(total)
    met = outcomes[outcomes.any(axis=1)]
    drawn = or_undefined(_resampled, met, len(systems), resamples)
    sentence = drawn.reason if isinstance(drawn, Undefined) else "95 % interval for these annotators."
    return Preferences(
        _strengths(systems, strengths[0], drawn, len(met)),
        float(ties[0]),
        int(total.met.sum()) // 2,
        int(total.ties.sum()) // 2,
        len(met),
        sentence,
    )


def _outcomes_per_group(table: SideBySide, systems: Sequence[Label]) -> np.ndarray:
    """(groups of items, 3 P) how often the first system of each of P pairs was rated higher, lower, equal."""
    ratings = table.of(systems)
    first, second = np.array(list(combinations(range(len(systems)), 2))).T
    left, right = ratings[:, first], ratings[:, second]
    outcomes = np.hstack([left > right, left < right, left == right]).astype(np.int64)
    rows = np.arange(len(ratings))
    belongs = csr_array((np.ones_like(rows), (table.groups, rows)), shape=(table.groups.max(initial=-1) + 1, len(rows)))
    per_group: NDArray[np.int64] = belongs @ outcomes
    return per_group


def _square(outcomes: np.ndarray, count: int) -> _Outcomes:
    """Outcomes (B, 3 P) as matrices of systems against systems."""
    first, second = np.array(list(combinations(range(count), 2))).T
    higher, lower, level = np.split(outcomes.astype(float), 3, axis=1)
    wins, ties = np.zeros((2, len(outcomes), count, count))
    wins[:, first, second], wins[:, second, first] = higher, lower
    ties[:, first, second] = ties[:, second, first] = level
    return _Outcomes(wins, ties)


def _refuse_unconnected(total: _Outcomes) -> None:
    """Raise with the reason when no finite strengths fit best."""
    met = total.met[0]
    if not met.any():
        raise UndefinedStatistic("Not defined: no annotator rated two of these systems on the same item.")
    if connected_components(met, directed=False, return_labels=False) > 1:
        raise UndefinedStatistic("Not defined: some systems were never compared, directly or through others.")
    if not total.wins.any():
        raise UndefinedStatistic("Not defined: every comparison is a tie.")
    if not _finite(total)[0]:
        words = "Not defined: a system, or a group of them, won or tied every comparison with the others."
        raise UndefinedStatistic(words)


def _finite(outcomes: _Outcomes) -> np.ndarray:
    """(B,) whether the likelihood has a largest value at finite strengths.

    It has none if and only if some direction never lowers it: strengths u and ties v with u_i - u_j >= 2 v and
    u_i >= u_j wherever i beat j, and 2 v >= |u_i - u_j| wherever they tied. There is no such direction if and only if
    wins and ties lead from every system to every other and some cycle has more wins than ties, that is a negative
    length when a win counts -1 and a tie 1 (Ford 1957 for the case without ties). Shortest paths: Floyd and Warshall.
    """
    distance = np.where(outcomes.wins > 0, -1.0, np.where(outcomes.ties > 0, 1.0, np.inf))
    for middle in range(distance.shape[1]):
        distance = np.minimum(distance, distance[:, :, middle, None] + distance[:, middle, None, :])
    finite: NDArray[np.bool_] = np.isfinite(distance).all(axis=(1, 2)) & (np.einsum("bii->bi", distance) < 0).any(
        axis=1
    )
    return finite


def _fit(outcomes: _Outcomes) -> tuple[np.ndarray, np.ndarray]:
    """Strengths (B, K) with mean 0 and v (B,) of the largest likelihood, by Newton's method.

    The likelihood is concave in the strengths and log v. NaN where the method does not converge.
    """
    batch, count, _ = outcomes.wins.shape
    strengths, met = np.zeros((batch, count)), outcomes.met
    log_ties = np.full(batch, 0.0 if outcomes.ties.any() else -np.inf)
    pairs = met.sum(axis=(1, 2)) / 2
    settled = np.zeros(batch, dtype=bool)
    for _ in range(_STEPS):
        score, information = _slope(outcomes, met, strengths, log_ties)
        settled = np.abs(score).max(axis=1) <= _SETTLED * pairs
        if settled.all():
            break
        step = np.linalg.solve(information, score[:, :, None])[:, :, 0]
        step *= np.minimum(1, _LONGEST_STEP / np.maximum(np.abs(step).max(axis=1), _SETTLED))[:, None]
        strengths, log_ties = strengths + step[:, :count], log_ties + step[:, count]
    strengths[~settled] = np.nan
    return strengths - strengths.mean(axis=1, keepdims=True), np.exp(log_ties)


def _slope(
    outcomes: _Outcomes, met: np.ndarray, strengths: np.ndarray, log_ties: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """First (B, K + 1) and minus second (B, K + 1, K + 1) derivatives in the strengths and log v.

    A win is worth 1, a tie 1/2: the score of a system is what it got minus what the model expects.
    """
    batch, count = strengths.shape
    ahead = strengths[:, None, :] - strengths[:, :, None]
    higher = 1 / (1 + np.exp(ahead) + np.exp(log_ties[:, None, None] + ahead / 2))
    level = np.clip(1 - higher - higher.swapaxes(1, 2), 0, 1)
    worth = higher + level / 2
    spread = met * (higher + level / 4 - worth**2)
    score, information = np.empty((batch, count + 1)), np.zeros((batch, count + 1, count + 1))
    score[:, :count] = (outcomes.wins + outcomes.ties / 2 - met * worth).sum(axis=2)
    score[:, count] = (outcomes.ties - met * level).sum(axis=(1, 2)) / 2
    # Strengths are defined up to a constant; adding 1 to each entry makes the matrix regular and changes no difference.
    information[:, :count, :count] = 1 - spread
    information[:, range(count), range(count)] += spread.sum(axis=2)
    mixed = (met * level * (0.5 - worth)).sum(axis=2)
    information[:, :count, count] = information[:, count, :count] = mixed
    curvature = (met * level * (1 - level)).sum(axis=(1, 2)) / 2
    information[:, count, count] = np.where(curvature > 0, curvature, 1)
    return score, information


def _resampled(outcomes: np.ndarray, count: int, resamples: int) -> np.ndarray:
    """Strengths (b, K) in resamples of the items' outcomes (I, 3 P). Raises UndefinedStatistic."""
    if len(outcomes) < 2:
        raise UndefinedStatistic("No interval: there is only one item.")
    # Equal items are merged: the distribution is the same, and neither order nor names of the items matter.
    patterns, weights = np.unique(outcomes, axis=0, return_counts=True)
    drawn = np.random.default_rng(0).multinomial(len(outcomes), weights / len(outcomes), size=resamples)
    counts = _square(drawn.astype(float) @ patterns, count)
    finite = _finite(counts)
    fitted, _ = _fit(_Outcomes(counts.wins[finite], counts.ties[finite]))
    strengths: Floats = fitted[~np.isnan(fitted).any(axis=1)]
    if resamples - len(strengths) > (1 - CONFIDENCE) * resamples:
        raise UndefinedStatistic(
            "No interval: too few comparisons, many resamples of the items have a system without a loss or win."
        )
    if np.ptp(strengths, axis=0).max() <= _ROUNDING:
        raise UndefinedStatistic(ALL_ALIKE)
    return strengths


def _strengths(
    systems: Sequence[Label], values: np.ndarray, drawn: np.ndarray | Undefined, clusters: int
) -> tuple[Strength, ...]:
    if isinstance(drawn, Undefined):
        return tuple(Strength(*pair, drawn, drawn) for pair in zip(systems, values.tolist(), strict=True))
    limits = np.quantile(drawn, resample_quantiles(clusters), axis=0).T.tolist()
    error = drawn.std(axis=0, ddof=1).tolist()
    return tuple(map(Strength, systems, values.tolist(), error, map(tuple, limits)))
