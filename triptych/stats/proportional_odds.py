"""Proportional odds: a secondary analysis of the differences of systems that uses only the order of ratings.

logit P(rating <= point j) = threshold_j - (item + annotator + system effect), fitted by Fisher scoring (McCullagh 1980,
Regression Models for Ordinal Data). Effects of items and annotators have a normal prior, so that the effect of an item
with only top ratings stays finite; systems have no prior. Errors are the two-way sandwich of the scores, as in
intervals.py; a rating counts for the degrees of freedom by its squared influence, so that annotators who rated only one
of two systems add few. Estimates are conditional on the effects: sign and p can be compared with those of the
difference in points, the size cannot.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve, pinvh
from scipy.special import expit, logit

from .columns import Column, Floats, Label, codes, numbers, pair_codes
from .crossed import NOT_LINKED, CrossedEffects
from .intervals import Estimate, clustered, estimate_of, in_one
from .undefined import UndefinedStatistic

MOST_VALUES = 21
PRIOR_SD = 2.0  # logits, of item and annotator effects
NOT_FITTED = "Not defined: proportional odds cannot be fitted. A system may have ratings at one end of the scale only."
_MOST_STEPS = 60
_SETTLED = 1e-8  # logits; converged when the last step changes no effect by more; smaller values are rounding
_FARTHEST = 15.0  # logits; a system with a larger effect has ratings at one end of the scale only

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class LogitDifference:
    """`system` minus `baseline` in logits: positive means higher ratings."""

    system: Label
    baseline: Label
    estimate: Estimate


def proportional_odds(
    values: Column,
    items: Column,
    annotators: Column,
    systems: Column,
    groups: Column | None = None,
    prior_sd: float = PRIOR_SD,
) -> tuple[LogitDifference, ...]:
    """Fit rating ~ item + annotator + system; the differences of all pairs of systems that items and annotators link.

    values: (n,) numbers, of which only the order counts, NaN = missing and dropped; the other columns (n,) labels,
    those of systems sortable. groups: of items whose errors are related, each item its own if None.

    Raises UndefinedStatistic below two items, two systems or two different values, above 21 different values, and where
    a system has ratings at one end of the scale only, or items and annotators link no two systems.
    """
    grouped = items if groups is None else groups
    ratings, item, annotator, named, group = numbers(values, items, annotators, systems, grouped)
    points, category = np.unique(ratings, return_inverse=True)
    names, system = np.unique(named, return_inverse=True)
    item, annotator, group = (codes(column)[0] for column in (item, annotator, group))
    _refuse(len(points), int(item.max(initial=-1)) + 1, len(names))
    pairs = _linked(CrossedEffects.build(ratings, item, annotator, system), len(names))
    fit = _Fit(category, item, annotator, system, prior_sd)
    n = len(ratings)
    cells = pair_codes(group, annotator)[0]
    one_item, one_annotator = (in_one(cluster, system, len(names)) for cluster in (group, annotator))
    differences = []
    for baseline, later in pairs:
        influence = fit.influence(later, baseline)
        errors = clustered([(influence, influence**2)], group, annotator, cells)
        limited = errors.limited(one_item[[baseline, later]], one_annotator[[baseline, later]])
        mean = float(fit.systems[later] - fit.systems[baseline])
        estimate = estimate_of(mean if abs(mean) > _SETTLED else 0.0, n, limited, _SETTLED)
        differences.append(LogitDifference(names[later], names[baseline], estimate))
    return tuple(differences)


def _linked(design: CrossedEffects, systems: int) -> list[tuple[int, int]]:
    """Pairs that can be compared within items and annotators, whose effects would otherwise hold the difference."""
    pairs = [pair for pair in combinations(range(systems), 2) if design.linked(*pair)]
    if not pairs:
        raise UndefinedStatistic(NOT_LINKED)
    return pairs


class _Fit:
    """The maximum of likelihood times prior. Items or annotators, whichever are more, are eliminated (diagonal block).

    Order of the other parameters: thresholds (K-1), the smaller side (annotators or items), systems (the first is 0).
    """

    def __init__(self, category: Codes, item: Codes, annotator: Codes, system: Codes, prior_sd: float) -> None:
        self.category = category
        self.many, few = (item, annotator) if item.max() >= annotator.max() else (annotator, item)
        self.cuts, self.members = int(category.max()), int(few.max()) + 1
        n, later = len(category), system > 0
        rows = np.concatenate([np.arange(n), np.flatnonzero(later)])
        columns = np.concatenate([few, self.members + system[later] - 1])
        self.dummies = sparse.csr_matrix(
            (np.ones(len(rows)), (rows, columns)), shape=(n, self.members + int(system.max()))
        )
        self.by_many = sparse.csr_matrix((np.ones(n), (self.many, np.arange(n))))
        self.penalty = 1 / prior_sd**2
        self.thresholds = logit(np.cumsum(np.bincount(category))[:-1] / n)
        self.of_many, self.rest = np.zeros(int(self.many.max()) + 1), np.zeros(self.dummies.shape[1])
        self._climb()

    @property
    def systems(self) -> Floats:
        """(S,) effects in logits."""
        return np.concatenate([[0.0], self.rest[self.members :]])

    def influence(self, system: int, baseline: int) -> Floats:
        """(n,) contribution of each rating to the error of a difference: its score times the inverse information."""
        direction = np.zeros(self.cuts + len(self.rest))
        for code, sign in ((system, 1.0), (baseline, -1.0)):
            if code:
                direction[self.cuts + self.members + code - 1] = sign
        rest = self.inverse @ direction
        many = -(self.cross @ rest) / self.diagonal
        by_eta = many[self.many] + self.dummies @ rest[self.cuts :]
        influence: Floats = by_eta * self.slope + self.scores @ rest[: self.cuts]
        return influence

    def _climb(self) -> None:
        height = self._height(self.thresholds, self.of_many, self.rest)
        for _ in range(_MOST_STEPS):
            many, rest = self._step()
            share = 1.0
            while share > 1e-6:
                tried = (
                    self.thresholds + share * rest[: self.cuts],
                    self.of_many + share * many,
                    self.rest + share * rest[self.cuts :],
                )
                reached = self._height(*tried)
                if reached >= height - 1e-12 * abs(height):
                    break
                share /= 2
            (self.thresholds, self.of_many, self.rest), height = tried, reached
            if np.abs(self.systems).max() > _FARTHEST:
                break
            if max(np.abs(many).max(), np.abs(rest).max()) < _SETTLED:
                self._step()  # the information at the maximum
                return
        raise UndefinedStatistic(NOT_FITTED)

    def _height(self, thresholds: Floats, of_many: Floats, rest: Floats) -> float:
        """Log likelihood plus log prior; minus infinity where thresholds have crossed."""
        if (np.diff(thresholds) <= 0).any():
            return -np.inf
        ends = np.concatenate([[-np.inf], thresholds, [np.inf]])
        eta = of_many[self.many] + self.dummies @ rest
        above, below = ends[self.category + 1] - eta, ends[self.category] - eta
        likelihood = np.log(-np.expm1(below - above)) - np.logaddexp(0, -above) - np.logaddexp(0, below)
        prior = of_many @ of_many + rest[: self.members] @ rest[: self.members]
        return float(likelihood.sum() - self.penalty * prior / 2)

    def _step(self) -> tuple[Floats, Floats]:
        """Fisher's step for the eliminated side and for the other parameters; stores scores and inverse information."""
        n, cuts = len(self.category), self.cuts
        eta = self.of_many[self.many] + self.dummies @ self.rest
        below = np.hstack([np.zeros((n, 1)), expit(self.thresholds - eta[:, None]), np.ones((n, 1))])
        chance, middle = np.diff(below, axis=1), below[:, :-1] + below[:, 1:] - 1
        density = (below * (1 - below))[:, 1:-1]
        weight = (chance * middle**2).sum(axis=1)
        with_cuts = -density * (chance[:, :-1] + chance[:, 1:])  # (n, K-1) information of threshold and eta
        self.slope, self.scores = middle[np.arange(n), self.category], self._scores(density, chance)
        self.diagonal = self.by_many @ weight + self.penalty
        weighted = self.dummies.multiply(weight[:, None]).tocsr()
        self.cross = sparse.hstack([sparse.csr_matrix(self.by_many @ with_cuts), self.by_many @ weighted]).tocsr()
        across = self.dummies.T @ with_cuts
        corner = np.block([[_of_cuts(density, chance), across.T], [across, (self.dummies.T @ weighted).toarray()]])
        penalised = np.arange(cuts, cuts + self.members)
        corner[penalised, penalised] += self.penalty
        information = corner - (self.cross.T @ sparse.diags(1 / self.diagonal) @ self.cross).toarray()
        try:
            self.inverse = cho_solve(cho_factor(information), np.eye(len(information)))
        except LinAlgError:  # without a prior, item and annotator effects are not identified
            self.inverse = pinvh(information)
        of_many = self.by_many @ self.slope - self.penalty * self.of_many
        of_rest = np.concatenate([self.scores.sum(axis=0), self.dummies.T @ self.slope])
        of_rest[penalised] -= self.penalty * self.rest[: self.members]
        rest = self.inverse @ (of_rest - self.cross.T @ (of_many / self.diagonal))
        return (of_many - self.cross @ rest) / self.diagonal, rest

    def _scores(self, density: Floats, chance: Floats) -> Floats:
        """(n, K-1) derivative of each rating's log likelihood by the thresholds."""
        row = np.arange(len(self.category))
        scores = np.zeros_like(density)
        observed = np.maximum(chance[row, self.category], np.finfo(float).tiny)
        upper, lower = self.category < self.cuts, self.category > 0
        at = row[upper], self.category[upper]
        scores[at] = density[at] / observed[upper]
        at = row[lower], self.category[lower] - 1
        scores[at] = -density[at] / observed[lower]
        return scores


def _of_cuts(density: Floats, chance: Floats) -> Floats:
    """(K-1, K-1) expected information of the thresholds: neighbours share the chance between them."""
    inverse = 1 / np.maximum(chance, np.finfo(float).tiny)
    own = (density**2 * (inverse[:, :-1] + inverse[:, 1:])).sum(axis=0)
    beside = -(density[:, :-1] * density[:, 1:] * inverse[:, 1:-1]).sum(axis=0)
    return np.diag(own) + np.diag(beside, 1) + np.diag(beside, -1)


def _refuse(points: int, items: int, systems: int) -> None:
    """Raise when there is too little to fit, or no scale of points."""
    reason = ""
    if items < 2 or systems < 2:
        reason = "it needs two items and two systems or more"
    elif points < 2:
        reason = "all ratings are equal, so there is no variation"
    elif points > MOST_VALUES:
        reason = f"there are more than {MOST_VALUES} different ratings, too many for a scale of points"
    if reason:
        raise UndefinedStatistic(f"Not defined: {reason}.")
