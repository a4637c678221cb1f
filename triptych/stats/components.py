"""Where the scatter of paired differences comes from: items, annotators, or neither; what a power simulation needs.

d = shift + item x system + annotator x system + residual. The three variances follow from how far two differences lie
apart on average: half of (d - d')^2 has mean
  annotator + residual         for two annotators on one item,
  item + residual              for one annotator on two items,
  item + annotator + residual  for two annotators on two items,
whatever the design; three equations, solved and cut at 0 (method of moments).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .columns import Column, codes, numbers
from .undefined import UndefinedStatistic


@dataclass(frozen=True)
class Components:
    """Standard deviations of a paired difference, in scale points.

    item: tastes of items for a system (some items suit it); annotator: tastes of annotators for a system; residual:
    what the same annotator on the same item would give differently.
    """

    item: float
    annotator: float
    residual: float

    def on_scale(self, width: float) -> Components:
        """The same for a scale `width` times as wide: presets are for a scale from 0 to 1."""
        return Components(self.item * width, self.annotator * width, self.residual * width)


# Card et al. 2020, With Little Power Comes Great Responsibility: low and high variance on a scale from 0 to 1, as
# printed in their code. Their slopes of items and annotators are about a difference already; the noise is about a
# single rating, so a difference of two has it twice.
PRESETS = {
    "low": Components(item=0.13, annotator=0.04, residual=0.16 * 2**0.5),
    "high": Components(item=0.14, annotator=0.11, residual=0.26 * 2**0.5),
}


def variance_components(differences: Column, items: Column, annotators: Column) -> Components:
    """Components of the paired differences of a pilot.

    differences: (n,) numbers, one per item and annotator, NaN = missing; items, annotators: (n,) labels. Raises
    UndefinedStatistic unless some item has two annotators, some annotator two items;
    ValueError when an annotator rated an item twice.
    """
    values, item, annotator = numbers(differences, items, annotators)
    item, annotator = codes(item)[0], codes(annotator)[0]
    if len(np.unique(item * (annotator.max(initial=0) + 1) + annotator)) < len(values):
        raise ValueError("There must be one difference per item and annotator.")
    centred = values - values.mean() if len(values) else values
    same_item, item_pairs = _apart(centred, item)
    same_annotator, annotator_pairs = _apart(centred, annotator)
    everything, all_pairs = _apart(centred, np.zeros(len(values), dtype=int))
    if not item_pairs or not annotator_pairs:
        reason = "no annotator rated two items" if item_pairs else "no item was rated by two annotators"
        raise UndefinedStatistic(f"Not defined: {reason}, so the scatter cannot be told apart.")
    within_item, within_annotator = same_item / item_pairs, same_annotator / annotator_pairs
    across = (everything - same_item - same_annotator) / (all_pairs - item_pairs - annotator_pairs)
    squares = (across - within_annotator, across - within_item, within_item + within_annotator - across)
    by_annotator, by_item, residual = (float(np.sqrt(max(square, 0.0))) for square in squares)
    return Components(by_item, by_annotator, residual)


def _apart(values: np.ndarray, groups: np.ndarray) -> tuple[float, int]:
    """Sum of (d - d')^2 / 2 over the pairs inside groups, and how many pairs."""
    sizes, sums = np.bincount(groups), np.bincount(groups, values)
    squares = np.bincount(groups, values**2)
    return float((sizes * squares - sums**2).sum() / 2), int((sizes * (sizes - 1)).sum() // 2)
