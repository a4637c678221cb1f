"""Differences between systems with item and annotator effects taken out, for every design, complete or not.

The ratings of one criterion are y = item + annotator + system + error, fitted by ordinary least squares; a difference
is that of two system effects. It is a weighted sum of the ratings whose weights add up to 0 inside every item and every
annotator, so that severity and difficulty cancel, also where an annotation holds only some of the systems. Where every
annotation holds all systems, difference, standard error and degrees of freedom are those of the paired test.

Errors are clustered by item (or group of items) and by annotator: Cameron, Gelbach & Miller 2011, Robust Inference with
Multiway Clustering. docs/statistics.md has the formulas, docs/validation.md what the test was tried on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.sparse.csgraph import connected_components

from .columns import Column, Floats, Label, centred, codes, numbers, pair_codes
from .intervals import Clustered, Estimate, clustered, estimate_of, in_one
from .undefined import UndefinedStatistic

NOT_LINKED = "Not defined: no item and annotator link these two systems."
NOTHING_LEFT = "Not defined: no item or annotator has two ratings to compare."
MOST_MOVED = 10  # 1 / (1 - 0.9): the bound for annotators with at most nine tenths of an item's ratings
_ROUNDING = 1e-9
_NULL = 1e-8  # eigenvalues below this share of the largest count as 0: the design cannot estimate these directions

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Difference(Estimate):
    """`system` minus `baseline` in scale points, and the ratings behind it.

    n: ratings of the two systems with a weight in the difference; of: all ratings of the two systems. absorbed: the
    share of the weight that item and annotator effects can absorb, 0 where every annotation holds all systems.
    """

    of: int
    absorbed: float

    @property
    def share_used(self) -> float:
        """The share of the two systems' ratings that have a weight in the difference."""
        return self.n / self.of


@dataclass(frozen=True)
class _Rows:
    """n ratings as they enter the fit: one per item, annotator and system; codes 0..G-1 and values.

    repeats: how many ratings each value is the mean of. groups: the items' codes where no groups are declared.
    people: annotator codes in the whole study; annotators: codes among those in the fit.
    """

    values: Floats
    items: Codes
    annotators: Codes
    systems: Codes
    groups: Codes
    people: Codes
    repeats: Codes

    @cached_property
    def cells(self) -> tuple[Codes, Floats]:
        """Codes (n,) of (item, annotator) pairs and, per pair, 1 / the item's ratings + 1 / the annotator's ratings."""
        codes, first = pair_codes(self.items, self.annotators)
        items, annotators = np.bincount(self.items), np.bincount(self.annotators)
        return codes, 1 / items[self.items[first]] + 1 / annotators[self.annotators[first]]

    @cached_property
    def group_cells(self) -> Codes:
        """Codes (n,) of (group, annotator) pairs."""
        return pair_codes(self.groups, self.annotators)[0]

    def __getitem__(self, rows: NDArray[np.bool_]) -> _Rows:
        columns = (self.items, self.annotators, self.groups)
        items, annotators, groups = (np.unique(column[rows], return_inverse=True)[1] for column in columns)
        return _Rows(
            self.values[rows], items, annotators, self.systems[rows], groups, self.people[rows], self.repeats[rows]
        )


@dataclass(frozen=True)
class CrossedEffects:
    """The fit of one criterion's ratings, from which `difference` computes that of any two systems.

    weights: (n, S), column j holds the weight of each rating in the effect of system j; residuals: (n,).
    totals: (S,) ratings of each system; unlinked: (S, k) directions that the design cannot estimate.
    """

    systems: tuple[Label, ...]
    annotators: tuple[Label, ...]
    totals: Codes
    unlinked: Floats
    weights: Floats
    residuals: Floats
    rows: _Rows

    @classmethod
    def build(
        cls,
        values: Column,
        items: Column,
        annotators: Column,
        systems: Column,
        groups: Column | None = None,
    ) -> CrossedEffects:
        """From n ratings: values (n,) numbers, NaN = missing; the other columns (n,) labels.

        groups: labels of groups of items with related errors (turns of a dialogue); if omitted, every item is its own
        group. Ratings that one annotator gave one candidate twice are averaged. Items and annotators with a single
        rating are left out repeatedly, until none remains, as they are fitted exactly (Correia 2015, Singletons,
        Cluster-Robust Standard Errors and Fixed Effects). Raises UndefinedStatistic when no rating is left.
        """
        grouped = items if groups is None else groups
        ratings, item, annotator, system, group = numbers(values, items, annotators, systems, grouped)
        (system, names), (annotator, people) = codes(system), codes(annotator)
        rows = _averaged(ratings, codes(item)[0], annotator, system, codes(group)[0])
        totals = np.bincount(system, minlength=len(names))
        return cls._fitted(rows, tuple(names.tolist()), tuple(people.tolist()), totals)

    @classmethod
    def _fitted(
        cls, rows: _Rows, systems: tuple[Label, ...], annotators: tuple[Label, ...], totals: Codes
    ) -> CrossedEffects:
        rows = _without_singles(rows)
        if not len(rows.values):
            raise UndefinedStatistic(NOTHING_LEFT)
        weights, residuals, unlinked = _fit(rows, len(systems))
        return cls(systems, annotators, totals, unlinked, weights, residuals, rows)

    def by_annotator(self, system: Label, baseline: Label) -> dict[Label, float]:
        """Annotator → their own difference, if they rated both: the common difference plus that of mean residuals."""
        common = self.difference(system, baseline).mean
        means = []
        for code in (self.systems.index(system), self.systems.index(baseline)):
            rated = self.rows.systems == code
            people = self.rows.people[rated]
            counts = np.bincount(people, minlength=len(self.annotators))
            sums = np.bincount(people, self.residuals[rated], len(self.annotators))
            means.append(np.divide(sums, counts, out=np.full(len(counts), np.nan), where=counts > 0))
        own = (common + means[0] - means[1]).tolist()
        return {annotator: mean for annotator, mean in zip(self.annotators, own, strict=True) if not math.isnan(mean)}

    def may_turn(self, system: Label, baseline: Label) -> list[Label]:
        """Annotators whose removal could reverse the sign of the difference; only these need another fit.

        Without an annotator, the difference changes by w' (I - H)^+ e over their ratings, where H is these ratings'
        part of the hat matrix. That is at most MOST_MOVED times |w| |e|, unless they have over nine tenths of an item's
        ratings, but not all.
        """
        weights = self.weights[:, self.systems.index(system)] - self.weights[:, self.systems.index(baseline)]
        of_weights, of_residuals = (
            np.bincount(self.rows.people, column**2, len(self.annotators)) for column in (weights, self.residuals)
        )
        could_turn = MOST_MOVED * np.sqrt(of_weights * of_residuals) >= abs(weights @ self.rows.values)
        return [annotator for annotator, turns in zip(self.annotators, could_turn, strict=True) if turns]

    def without(self, annotator: Label) -> CrossedEffects:
        """The fit to the ratings of all others. Raises UndefinedStatistic when nothing is left."""
        others = self.rows[self.rows.people != self.annotators.index(annotator)]
        totals = np.bincount(others.systems, others.repeats, len(self.systems)).astype(np.int64)
        return self._fitted(others, self.systems, self.annotators, totals)

    @property
    def used(self) -> int:
        """The number of ratings in the fit."""
        return int(self.rows.repeats.sum())

    def linked(self, system: Label, baseline: Label) -> bool:
        """Whether a chain of shared items and annotators links the two systems."""
        if system not in self.systems or baseline not in self.systems:
            return False
        gap = self.unlinked[self.systems.index(system)] - self.unlinked[self.systems.index(baseline)]
        return bool(np.abs(gap).max(initial=0) < np.sqrt(_NULL))

    def difference(self, system: Label, baseline: Label) -> Difference:
        """`system` minus `baseline`, with both intervals and both tests.

        Raises UndefinedStatistic where the design does not link the two systems.
        """
        return self._estimated([self._weights_of(system, baseline)], (system, baseline))

    def between(self, pair: tuple[Label, Label], other: tuple[Label, Label]) -> Difference:
        """The difference of one pair of systems minus that of another pair, which other annotators rated.

        The estimate, its variance by item and the factor are those of one weighted sum of ratings. Errors of the two
        sets of annotators are independent, so their variances add up, each with its own small-sample factor. The
        degrees of freedom and the field `annotators` are those of the smaller set. Raises UndefinedStatistic where the
        design does not link both pairs.
        """
        weights = [self._weights_of(*pair), -self._weights_of(*other)]
        return self._estimated(weights, (*pair, *other))

    def _weights_of(self, system: Label, baseline: Label) -> Floats:
        """(n,) weights of `system` minus `baseline`, exactly 0 for ratings without weight."""
        if not self.linked(system, baseline):
            raise UndefinedStatistic(NOT_LINKED)
        weights = self.weights[:, self.systems.index(system)] - self.weights[:, self.systems.index(baseline)]
        weights[np.abs(weights) < _ROUNDING * np.abs(weights).max()] = 0
        return weights

    def _estimated(self, parts: list[Floats], systems: tuple[Label, ...]) -> Difference:
        """The difference whose weights are the sum of `parts`.

        parts: arrays (n,) of weights; those of independent sets of annotators are in different parts.
        """
        rows, weights = self.rows, sum(parts[1:], parts[0])
        compared = [self.systems.index(system) for system in systems]
        counted = (weights != 0) & np.isin(range(len(self.systems)), compared)[rows.systems]
        rounding = _ROUNDING * float(np.abs(rows.values).max())
        mean, absorbed = float(weights @ rows.values), absorbed_by(weights, rows)
        # their variances are multiplied by 1 + absorbed (docs/validation.md)
        scores = [(np.sqrt(1 + absorbed) * part * self.residuals, part**2) for part in parts]
        errors = clustered(scores, rows.groups, rows.annotators, rows.group_cells)
        estimate = estimate_of(
            mean if abs(mean) > rounding else 0.0,
            int(rows.repeats[counted].sum()),
            self._supported(errors, compared),
            rounding,
        )
        return Difference(**vars(estimate), of=int(self.totals[compared].sum()), absorbed=absorbed)

    def _supported(self, errors: Clustered, compared: list[int]) -> Clustered:
        """The errors, of one item (or annotator) if one of the systems has no other, however many have weight.

        The system's effect makes its residuals in this item 0, so the others' scatter says nothing about it.
        """
        one_item, one_annotator = self._in_one
        return errors.limited(one_item[compared], one_annotator[compared])

    @cached_property
    def _in_one(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """(S,) whether all ratings of each system are of one group of items, and of one annotator."""
        rows, count = self.rows, len(self.systems)
        return in_one(rows.groups, rows.systems, count), in_one(rows.annotators, rows.systems, count)


def _averaged(values: Floats, items: Codes, annotators: Codes, systems: Codes, groups: Codes) -> _Rows:
    """One row per item, annotator and system, sorted by item; values are centred, which does not change differences."""
    row, first = pair_codes(pair_codes(items, annotators)[0], systems)
    repeats = np.bincount(row)
    means = np.bincount(row, values - values.mean() if len(values) else values) / repeats
    return _Rows(means, items[first], annotators[first], systems[first], groups[first], annotators[first], repeats)


def _without_singles(rows: _Rows) -> _Rows:
    """The rows without items and annotators that have a single row, which are removed until none remains."""
    while len(rows.values):
        shared = (np.bincount(rows.items)[rows.items] > 1) & (np.bincount(rows.annotators)[rows.annotators] > 1)
        if shared.all():
            break
        rows = rows[shared]
    return rows


def _fit(rows: _Rows, systems: int) -> tuple[Floats, Floats, Floats]:
    """Weights (n, S) of each rating in each system's effect, residuals (n,), and directions not estimable (S, k).

    Items or annotators, whichever are more, are removed by subtracting their means, which is cheap; the other side and
    the systems are solved for in small dense equations. No array is larger than n x S.
    """
    many, few = rows.items, rows.annotators
    if few.max() > many.max():
        many, few = few, many
    members, normal = int(few.max()) + 1, normal_equations(many, few, rows.systems, systems)[1]
    free = _without_references(many, few)
    of_few = normal[systems:, systems:][np.ix_(free, free)]
    solver = cho_factor(of_few) if free.any() else None

    def solve(right: Floats) -> Floats:
        """Solve the equations of the smaller side for its effects, 0 for the references."""
        effects = np.zeros(right.shape)
        if solver is not None:
            effects[free] = cho_solve(solver, right[free])
        return effects

    lifted = solve(normal[systems:, :systems])  # (members, S)
    inverse, unlinked = _pseudo_inverse(normal[:systems, :systems] - normal[:systems, systems:] @ lifted)
    weights = centred(inverse[rows.systems] - (lifted @ inverse)[few], many)
    effects = weights.T @ rows.values
    right = np.bincount(few, centred(rows.values, many), minlength=members) - normal[systems:, :systems] @ effects
    residuals = centred(rows.values - effects[rows.systems] - solve(right)[few], many)
    residuals[np.abs(residuals) < _ROUNDING * np.abs(rows.values).max()] = 0
    return weights, residuals, unlinked


def normal_equations(many: Codes, few: Codes, of_systems: Codes, systems: int) -> tuple[sparse.csr_matrix, Floats]:
    """Dummies (n, S + members) of the systems and the smaller side, and their products once the means of the other side
    are removed.
    """
    size, n = np.bincount(many), len(many)
    both = np.tile(np.arange(n), 2), np.concatenate([of_systems, systems + few])
    dummies = sparse.csr_matrix((np.ones(2 * n), both), shape=(n, systems + int(few.max()) + 1))
    per_item = sparse.csr_matrix((np.ones(n), (many, np.arange(n))), shape=(len(size), n)) @ dummies
    return dummies, (dummies.T @ dummies - per_item.T @ sparse.diags(1 / size) @ per_item).toarray()


def _without_references(many: Codes, few: Codes) -> NDArray[np.bool_]:
    """(members of the smaller side,) False for one member per connected component of the graph, its reference."""
    first, members = int(many.max()) + 1, int(few.max()) + 1
    edges = sparse.coo_matrix((np.ones(len(many)), (many, first + few)), shape=(first + members, first + members))
    piece = connected_components(edges, directed=False)[1][first:]
    free = np.ones(members, dtype=bool)
    free[np.unique(piece, return_index=True)[1]] = False
    return free


def _pseudo_inverse(equations: Floats) -> tuple[Floats, Floats]:
    """Moore and Penrose's inverse of the (S, S) equations of the systems, and their null space (S, k)."""
    size, vectors = eigh((equations + equations.T) / 2)
    null = size <= _NULL * max(size.max(), 1.0)
    range_vectors = vectors[:, ~null]
    return (range_vectors / size[~null]) @ range_vectors.T, vectors[:, null]


def absorbed_by(weights: Floats, rows: _Rows) -> float:
    """The share of the weight that item and annotator effects can absorb, to first order; it corrects the errors."""
    cells, share = rows.cells
    of_cell = np.bincount(cells, weights) ** 2
    return float(of_cell @ share / (weights @ weights))
