"""Means and paired differences of systems, with intervals that know items and annotators are crossed.

The same items and the same annotators come back in many ratings, so ratings are not independent; a plain
t-test or item bootstrap rejects far too often. Both intervals here are clustered by item and by annotator
(Cameron, Gelbach & Miller 2011, Robust Inference with Multiway Clustering) and use a t with
min(items, annotators) - 1 degrees of freedom. Below five annotators they are clustered by item alone, with
items - 1 degrees of freedom, and speak for these annotators only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import stdtrit

from triptych.analysis.columns import Column, codes, numbers
from triptych.errors import UndefinedStatistic

ENOUGH_ANNOTATORS = 5
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Interval:
    """A mean and how far it can be trusted.

    kind says whom the interval speaks for: annotators like these ("two_way"), these annotators only ("item"),
    or nobody ("none": low and high are None). sentence says the same to a reader. n is the number of
    values behind the mean (ratings, or pairs of ratings for a difference).
    """

    mean: float
    low: float | None
    high: float | None
    kind: Literal["two_way", "item", "none"]
    sentence: str
    n: int
    items: int
    annotators: int


@dataclass(frozen=True)
class ClusterVariance:
    """Variance of a mean, clustered by item, by annotator, and by both at once."""

    item: float
    annotator: float
    two_way: float


def mean_interval(values: Column, items: Column, annotators: Column, confidence: float = 0.95) -> Interval:
    """Mean of n ratings with its interval; values: (n,) numbers, NaN = missing and dropped.

    items, annotators: (n,) labels. Raises UndefinedStatistic when there is no rating.
    """
    kept, item, annotator = numbers(values, items, annotators)
    if not len(kept):
        raise UndefinedStatistic("Not defined: there is no rating yet.")
    return _interval(kept, codes(item)[0], codes(annotator)[0], confidence)


def difference_interval(
    values: Column,
    items: Column,
    annotators: Column,
    systems: Column,
    system: object,
    baseline: object,
    confidence: float = 0.95,
) -> Interval:
    """Mean of `system` minus `baseline` over the (item, annotator) pairs that rated both, with its interval.

    Severity of an annotator and difficulty of an item cancel inside a pair. Ratings that one annotator gave
    twice are averaged first. values: (n,) numbers, NaN = missing; the other columns (n,) labels; system and
    baseline are two of the labels in `systems`. Raises UndefinedStatistic when no pair is complete.
    """
    kept, item, annotator, named = numbers(values, items, annotators, systems)
    item, annotator = codes(item)[0], codes(annotator)[0]
    cell = item * (annotator.max(initial=0) + 1) + annotator
    _, first, pair = np.unique(cell, return_index=True, return_inverse=True)
    code, names = codes(named)
    sides = []
    for side in (system, baseline):
        rows = np.array([name == side for name in names.tolist()], dtype=bool)[code]
        sides.append(_means(kept[rows], pair[rows], len(first)))
    difference = sides[0] - sides[1]
    both = first[~np.isnan(difference)]
    if not len(both):
        raise UndefinedStatistic("Not defined: no annotator rated both systems on the same item.")
    difference = difference[~np.isnan(difference)]
    return _interval(difference, codes(item[both])[0], codes(annotator[both])[0], confidence)


def cluster_variance(residuals: np.ndarray, items: np.ndarray, annotators: np.ndarray) -> ClusterVariance:
    """Variance of a mean from its residuals r (n,) and the codes 0..G-1 of items and annotators (n,).

    V_g = G / (G - 1) * sum_g (sum r)^2 / n^2, and two-way V = V_item + V_annotator - V_cell with
    V_cell = sum_cell (sum r)^2 / n^2; where that is not positive, the larger of V_item and V_annotator.
    One cluster alone gives 0.
    """
    cells = codes(items * (int(annotators.max()) + 1) + annotators)[0]
    item, annotator = _corrected(residuals, items), _corrected(residuals, annotators)
    cell = _squares(residuals, cells)
    both = item + annotator - cell
    if both <= _ROUNDING * (item + annotator + cell):
        both = max(item, annotator)
    return ClusterVariance(item, annotator, both)


def _interval(values: np.ndarray, items: np.ndarray, annotators: np.ndarray, confidence: float) -> Interval:
    """The interval that the numbers of items and annotators allow; codes 0..G-1."""
    mean, counted = float(values.mean()), (len(values), int(items.max()) + 1, int(annotators.max()) + 1)
    _, n_items, n_annotators = counted
    if n_items < 2:
        return Interval(mean, None, None, "none", "No interval: there is only one item.", *counted)
    variance = cluster_variance(values - mean, items, annotators)
    generalises = n_annotators >= ENOUGH_ANNOTATORS
    error = np.sqrt(variance.two_way if generalises else variance.item)
    if error <= _ROUNDING * np.abs(values).max():
        words = "No interval: every item gives the same mean, so there is no variation to judge by."
        return Interval(mean, None, None, "none", words, *counted)
    freedom = min(n_items, n_annotators) - 1 if generalises else n_items - 1
    reach = float(stdtrit(freedom, (1 + confidence) / 2) * error)
    kind = "two_way" if generalises else "item"
    words = _sentence(kind, confidence, n_annotators)
    return Interval(mean, mean - reach, mean + reach, kind, words, *counted)


def _sentence(kind: str, confidence: float, annotators: int) -> str:
    """Whom the interval speaks for."""
    percent = f"{100 * confidence:g} % interval"
    if kind == "two_way":
        return f"{percent} for annotators like these {annotators}."
    noun = "annotator is" if annotators == 1 else "annotators are"
    return f"{percent} for these annotators: {annotators} {noun} too few to speak for others."


def _corrected(residuals: np.ndarray, groups: np.ndarray) -> float:
    """Variance of a mean clustered by `groups`, with the small-sample factor G / (G - 1)."""
    count = int(groups.max()) + 1
    return _squares(residuals, groups) * count / (count - 1) if count > 1 else 0.0


def _squares(residuals: np.ndarray, groups: np.ndarray) -> float:
    """sum_g (sum r)^2 / n^2."""
    return float(((np.bincount(groups, residuals) / len(residuals)) ** 2).sum())


def _means(values: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
    """(count,) mean of the values per group, NaN where a group has none."""
    sums, sizes = np.bincount(groups, values, minlength=count), np.bincount(groups, minlength=count)
    return np.divide(sums, sizes, out=np.full(count, np.nan), where=sizes > 0)
