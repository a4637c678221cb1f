"""Comparisons of systems within the ratings of one annotator on one item.

Where an annotator rates several candidates of an item, severity and difficulty cancel in a difference; what remains are
preferences for a system, by annotator and by item, and noise. All comparisons here therefore use such pairs, and all
treat annotator and item as crossed (intervals), except the signed-rank test, which is well known and treats these
annotators as the whole population.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from .columns import Column, codes, numbers, pair_codes
from .intervals import Estimate, estimate
from .undefined import UndefinedStatistic

UNPAIRED = "Not defined: no annotator rated both systems on the same item."
_EXACT_ITEMS = 13  # items up to which scipy's signed-rank test is exact in spite of ties
# digits after the first one of the largest rating; what is beyond them is rounding. Means keep more of them, so that
# equal differences of thirds are equal
_MEAN_DIGITS, _DIFFERENCE_DIGITS = 12, 9


@dataclass(frozen=True)
class Pairs:
    """n pairs of ratings: (n,) differences of the two systems, and (n,) codes 0..G-1.

    groups: of the groups of items, or of the items where no groups are declared.
    """

    differences: np.ndarray
    groups: np.ndarray
    annotators: np.ndarray


@dataclass(frozen=True)
class SideBySide:
    """Ratings of one criterion as a table: one row per annotator and item, one column per system.

    ratings: (C, S) numbers, NaN = not rated; items, groups, annotators: (C,) codes; systems: the S labels, columns in
    their order.
    """

    ratings: np.ndarray
    items: np.ndarray
    groups: np.ndarray
    annotators: np.ndarray
    systems: tuple[Hashable, ...]

    @classmethod
    def build(
        cls, values: Column, items: Column, annotators: Column, systems: Column, groups: Column | None = None
    ) -> SideBySide:
        """From n ratings: values (n,) numbers, NaN = missing; the other columns (n,) labels.

        groups: groups of items with related errors (turns of a dialogue); if omitted, every item is its own group.
        Ratings that one annotator gave one candidate twice are averaged. Undefined cases come up when two systems are
        compared, not here.
        """
        grouped = items if groups is None else groups
        ratings, item, annotator, system, group = numbers(values, items, annotators, systems, grouped)
        item, annotator, group = codes(item)[0], codes(annotator)[0], codes(group)[0]
        system, names = codes(system)
        row, first = pair_codes(item, annotator)
        cell, size = row * len(names) + system, len(first) * len(names)
        sums, counts = np.bincount(cell, ratings, minlength=size), np.bincount(cell, minlength=size)
        means = np.divide(sums, counts, out=np.full(size, np.nan), where=counts > 0)
        means = _rounded(means, ratings, _MEAN_DIGITS).reshape(len(first), len(names))
        return cls(means, item[first], group[first], annotator[first], tuple(names.tolist()))

    def of(self, systems: Sequence[Hashable]) -> np.ndarray:
        """(C, len(systems)) ratings of these systems, in this order; a system nobody rated is NaN throughout."""
        columns = {system: column for column, system in enumerate(self.systems)}
        widened = np.column_stack([self.ratings, np.full(len(self.ratings), np.nan)])
        return widened[:, [columns.get(system, -1) for system in systems]]

    def pairs(self, system: Hashable, baseline: Hashable) -> Pairs:
        """`system` minus `baseline` where one annotator rated both on the same item.

        Raises UndefinedStatistic when no annotator rated both.
        """
        sides = self.of((system, baseline))
        both = ~np.isnan(sides).any(axis=1)
        if not both.any():
            raise UndefinedStatistic(UNPAIRED)
        differences = sides[both, 0] - sides[both, 1]
        return Pairs(differences, codes(self.groups[both])[0], codes(self.annotators[both])[0])

    def item_means(self, systems: Sequence[Hashable]) -> np.ndarray:
        """(items, len(systems)) mean rating over the annotators who rated all these systems on the item.

        Items without such an annotator have no row.
        """
        ratings = self.of(systems)
        complete = ~np.isnan(ratings).any(axis=1)
        item = codes(self.items[complete])[0]
        sums = [np.bincount(item, column) for column in ratings[complete].T]
        return _rounded(np.column_stack(sums) / np.bincount(item)[:, None], self.ratings, _MEAN_DIGITS)


@dataclass(frozen=True)
class Dominance:
    """How many of n pairs the system won, tied, lost, and P(win) - P(loss) with both intervals, -1 to 1."""

    wins: int
    ties: int
    losses: int
    estimate: Estimate


@dataclass(frozen=True)
class SignedRank:
    """Wilcoxon's signed-rank test over items; effect is the matched rank-biserial correlation, -1 to 1.

    items: number of items where the systems differ, which the test uses.
    """

    statistic: float
    p: float
    effect: float
    items: int


def dominance(table: SideBySide, system: Hashable, baseline: Hashable) -> Dominance:
    """Wins, ties, losses of `system` among its pairs with `baseline`, and the mean sign of the difference.

    P(win) - P(loss) uses only which rating was higher: Cliff 1993, Dominance Statistics, d_w. Its intervals are
    clustered like those of a mean. Raises UndefinedStatistic when no pair is complete.
    """
    pairs = table.pairs(system, baseline)
    signs = np.sign(pairs.differences)
    losses, ties, wins = np.bincount(signs.astype(np.int64) + 1, minlength=3).tolist()
    return Dominance(wins, ties, losses, estimate(signs, pairs.groups, pairs.annotators))


def signed_rank(table: SideBySide, system: Hashable, baseline: Hashable) -> SignedRank:
    """Wilcoxon's signed-rank test on the mean difference of each item; items without a difference are left out.

    Applies to these annotators only: when annotators have tastes for systems it rejects far too often, as every test
    over items does (docs/validation.md). effect = (R+ - R-) / (R+ + R-), Kerby 2014, The Simple Difference Formula.
    Raises UndefinedStatistic when no pair is complete or no item differs.
    """
    means = table.item_means((system, baseline))
    if not len(means):
        raise UndefinedStatistic(UNPAIRED)
    changes = _rounded(means[:, 0] - means[:, 1], table.ratings, _DIFFERENCE_DIGITS)
    changed = changes[changes != 0]
    if not len(changed):
        raise UndefinedStatistic("Not defined: the two systems are equal on every item.")
    ranks = stats.rankdata(np.abs(changed))
    above, below = float(ranks[changed > 0].sum()), float(ranks[changed < 0].sum())
    few = len(changed) <= _EXACT_ITEMS
    p = _exact(ranks, min(above, below)) if few else float(stats.wilcoxon(changed).pvalue)
    effect = (above - below) / (above + below)
    return SignedRank(min(above, below), p, effect, len(changed))


def _rounded(values: np.ndarray, ratings: np.ndarray, digits: int) -> np.ndarray:
    largest = np.nanmax(np.abs(ratings), initial=0.0)
    return np.round(values, digits - int(np.floor(np.log10(largest or 1.0))))


def _exact(ranks: np.ndarray, smaller: float) -> float:
    """Exact two-sided p of the smaller rank sum if every sign is random; ties are allowed.

    Counts the possible sums, adding one rank at a time; with ties, scipy would try all 2^n signs, which takes a second.
    """
    doubled = np.rint(2 * ranks).astype(np.int64)
    ways = np.zeros(doubled.sum() + 1)
    ways[0] = 1
    for rank in doubled:
        ways[rank:] += ways[:-rank].copy()
    return min(1.0, 2 * float(ways[: round(2 * smaller) + 1].sum() / ways.sum()))
