"""Variance components of paired differences: groups of items, items, annotators and residual, for planning.

d = shift + group x system + item x system + annotator x system + residual. The variances follow from the mean squared
distance of two differences: half of (d - d')^2 has mean
  annotator + residual                 for two annotators on one item,
  item + residual                      for one annotator on two items of a group,
  group + item + residual              for one annotator on two items of different groups,
  group + item + annotator + residual  for two annotators on two such items,
whatever the design; as many equations, solved and cut at 0 (method of moments).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .columns import Column, Floats, codes, numbers, pair_codes
from .undefined import UndefinedStatistic

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Components:
    """Standard deviations of a paired difference, in scale points.

    item: tastes of items for a system (some items suit it); annotator: tastes of annotators for a system; residual:
    noise, even of the same annotator on the same item; group: tastes of groups of items for a system.
    """

    item: float
    annotator: float
    residual: float
    group: float = 0.0

    def on_scale(self, width: float) -> Components:
        """These components on a scale `width` times as wide: presets are for a scale from 0 to 1."""
        return Components(*(width * of for of in (self.item, self.annotator, self.residual, self.group)))


# Card et al. 2020, With Little Power Comes Great Responsibility: low and high variance on a scale from 0 to 1, as
# printed in their code. Their slopes of items and annotators are about a difference already; the noise is about a
# single rating, so a difference of two has it twice.
PRESETS = {
    "low": Components(item=0.13, annotator=0.04, residual=0.16 * 2**0.5),
    "high": Components(item=0.14, annotator=0.11, residual=0.26 * 2**0.5),
}
# Differences of yes/no answers scatter more: two independent answers at one half by 0.71, and those of annotators who
# agree on everything by 0.30 where the systems are 0.1 apart. These are between the two.
YES_NO_RESIDUALS = {"low": 0.45, "high": 0.65}


@dataclass(frozen=True, eq=False)
class Pilot:
    """Paired differences (n,) of a pilot, and codes of items, annotators and groups of items."""

    values: Floats
    items: Codes
    annotators: Codes
    groups: Codes

    @classmethod
    def build(cls, differences: Column, items: Column, annotators: Column, groups: Column | None = None) -> Pilot:
        """A pilot of these differences.

        differences: (n,) numbers, one per item and annotator, NaN = missing; items, annotators: (n,) labels; groups:
        (n,) labels of groups of related items, None if each is its own.

        Raises ValueError when an annotator rated an item twice.
        """
        grouped = items if groups is None else groups
        values, item, annotator, group = numbers(differences, items, annotators, grouped)
        item, annotator, group = (codes(of)[0] for of in (item, annotator, group))
        if len(pair_codes(item, annotator)[1]) < len(values):
            raise ValueError("There must be one difference per item and annotator.")
        return cls(values - values.mean() if len(values) else values, item, annotator, group)

    def components(self, weights: Floats | None = None) -> Components:
        """weights: (n,) how much each difference counts in its pairs, 1 where None.

        Raises UndefinedStatistic unless some item has two annotators and some annotator two items (of two groups).
        """
        weights = np.ones(len(self.values)) if weights is None else weights
        undivided = np.zeros(len(self.values), dtype=int)
        clusterings = (undivided, self.items, self.annotators, self.groups, pair_codes(self.groups, self.annotators)[0])
        everything, item, annotator, group, cell = (
            _squares_within(self.values, clusters, weights) for clusters in clusterings
        )
        other_groups = annotator - cell
        if not item[1] or not other_groups[1]:
            reason = "no annotator rated two items" if item[1] else "no item was rated by two annotators"
            raise UndefinedStatistic(f"Not defined: {reason}, so the variance cannot be decomposed.")
        within_item, within_annotator = item[0] / item[1], other_groups[0] / other_groups[1]
        # pairs that differ in annotator and group
        apart = everything - group - other_groups
        across = apart[0] / apart[1]
        within_group = cell[0] / cell[1] if cell[1] > 0 else within_annotator
        squares = (
            within_group - (within_item + within_annotator - across),
            across - within_annotator,
            within_item + within_annotator - across,
            within_annotator - within_group,
        )
        return Components(*(float(np.sqrt(max(square, 0.0))) for square in squares))

    def resampled(self, count: int, seed: int = 1) -> Iterator[Components]:
        """`count` resamples of the components: each item (or group) and annotator has a random weight of mean 1.

        A Bayesian bootstrap of both (Rubin 1981; Owen & Eckles 2012), in which no item or annotator drops out. The
        weights have variance 1/2, their products 5/4; with variances of 1 and 3, intervals would be wider than the
        scatter of pilots.
        """
        random = np.random.default_rng(seed)
        for _ in range(count):
            group, annotator = (
                random.gamma(2, 0.5, int(of.max(initial=-1)) + 1)[of] for of in (self.groups, self.annotators)
            )
            yield self.components(group * annotator)


def _squares_within(values: Floats, clusters: Codes, weights: Floats) -> Floats:
    """Sum of (d - d')^2 / 2 over the pairs inside clusters, and how many pairs there are, both weighted."""
    within = np.unique(clusters, return_inverse=True)[1]
    size, sums, squares, squared_weights = (
        np.bincount(within, of) for of in (weights, weights * values, weights * values**2, weights**2)
    )
    pairs = size**2 - squared_weights
    pairs[np.bincount(within) < 2] = 0  # a cluster of one value would leave a rounding error
    return np.array([(size * squares - sums**2).sum() / 2, pairs.sum() / 2])
