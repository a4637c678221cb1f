"""A mean with intervals for crossed items and annotators, and the corresponding test. The same items and the same
annotators occur in many ratings, so ratings are not independent; a plain t-test or item bootstrap rejects far too
often. Two populations are considered. These annotators: clustered by item alone, t with the effective number of items -
1 degrees of freedom. Annotators like these: clustered by item and by annotator (Cameron, Gelbach & Miller 2011, Robust
Inference with Multiway Clustering), t with the smaller effective number of items or annotators - 1, from five
annotators on. See clustered and degrees_of_freedom; docs/validation.md shows the level and coverage of both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr, stdtrit

from .columns import CONFIDENCE, Column, Floats, codes, numbers, pair_codes
from .undefined import UndefinedStatistic

ENOUGH_ANNOTATORS = 5
FEWEST_CLUSTERS = 1.5  # effective number; with fewer the test rejects far too often (docs/statistics.md)
VARIANCE_FLOOR = 0.25  # of the larger one-way variance
FEW_ITEMS, FLOOR_OF_FEW = 20, 0.75  # the floor with a smaller effective number of items (or groups of them)
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Interval:
    """A mean and its interval. kind is the population of the interval: annotators like these ("two_way"), these
    annotators only ("item"), or none ("none": low and high are None). sentence explains this to readers. n is the
    number of values behind the mean (ratings, or pairs of ratings for a difference).
    """

    mean: float
    low: float | None
    high: float | None
    kind: Literal["two_way", "item", "none"]
    sentence: str
    n: int
    items: int
    annotators: int

    def limits(self, write: Callable[[float], str]) -> str:
        """Both limits behind the mean, as in " (0.20 to 0.61)"; empty where there are none."""
        return "" if self.low is None or self.high is None else f" ({write(self.low)} to {write(self.high)})"


@dataclass(frozen=True)
class TTest:
    """Cluster-robust t against a mean of 0: t = mean / standard error, two-sided p."""

    t: float
    p: float
    freedom: float
    error: float


@dataclass(frozen=True)
class Estimate:
    """A mean, its interval for these annotators and for annotators like these, and the test for the latter.

    these, alike: interval for these annotators and for annotators like these. test is None where `alike` has no limits,
    test_here (for these annotators) where `these` has none; the sentences of the intervals say why.
    """

    mean: float
    n: int
    items: int
    annotators: int
    these: Interval
    alike: Interval
    test: TTest | None
    test_here: TTest | None

    @property
    def headline(self) -> Interval:
        """The interval to print when there is room for one."""
        return self.alike if self.annotators >= ENOUGH_ANNOTATORS else self.these


@dataclass(frozen=True)
class Clustered:
    """Standard errors of a mean and their degrees of freedom, for these annotators and for annotators like these.

    items, annotators: how many of them have weight; 1 if all ratings of one system, or nearly all weight, are of one.
    """

    these: float
    alike: float
    freedom_these: float
    freedom_alike: float
    items: int
    annotators: int

    def limited(self, one_item: np.ndarray, one_annotator: np.ndarray) -> Clustered:
        """The same with one item or one annotator if a system has no other; for each system compared, whether so."""
        items = 1 if one_item.any() else self.items
        annotators = 1 if one_annotator.any() else self.annotators
        return replace(self, items=items, annotators=annotators)


def mean_interval(values: Column, items: Column, annotators: Column) -> Interval:
    """Mean of n ratings with its headline interval; values: (n,) numbers, NaN = missing and dropped.

    items, annotators: (n,) labels. Raises UndefinedStatistic when there is no rating.
    """
    numeric, item, annotator = numbers(values, items, annotators)
    if not len(numeric):
        raise UndefinedStatistic("Not defined: there is no rating yet.")
    return estimate(numeric, codes(item)[0], codes(annotator)[0]).headline


def estimate(values: np.ndarray, items: np.ndarray, annotators: np.ndarray) -> Estimate:
    """Both intervals and the test of a mean; values: (n,) finite numbers, n > 0, with codes 0..G-1 (n,)."""
    n, mean = len(values), float(values.mean())
    errors = clustered([((values - mean) / n, np.ones(n))], items, annotators, pair_codes(items, annotators)[0])
    return estimate_of(mean, n, errors, _ROUNDING * float(np.abs(values).max()))


def estimate_of(mean: float, n: int, errors: Clustered, rounding: float) -> Estimate:
    """Intervals and tests from standard errors; an error up to `rounding` counts as none. n: values behind the mean."""
    counted = (n, errors.items, errors.annotators)
    these = _interval(mean, errors.these, errors.freedom_these, "item", counted, rounding)
    alike = _interval(mean, errors.alike, errors.freedom_alike, "two_way", counted, rounding)
    test = None if alike.low is None else _test(mean, errors.alike, errors.freedom_alike)
    test_here = None if these.low is None else _test(mean, errors.these, errors.freedom_these)
    return Estimate(mean, *counted, these, alike, test, test_here)


def _test(mean: float, error: float, freedom: float) -> TTest:
    t = mean / error
    return TTest(t, float(2 * stdtr(freedom, -abs(t))), freedom, error)


def clustered(
    parts: Sequence[tuple[Floats, Floats]], items: np.ndarray, annotators: np.ndarray, cells: np.ndarray
) -> Clustered:
    """Errors of a weighted sum of ratings; items, annotators, cells: (n,) codes of items, annotators and their pairs.

    parts: for each independent set of annotators, the scores s (n,), weight times residual, and the squared weights
    (n,); those of all sets are added up. The weights of a mean are 1 / n; squares may have any common factor.

    V_g = G / (G - 1) * sum_g (sum s)^2, and two-way V = V_item + V_annotator - V_cell with V_cell = sum_cell (sum s)^2,
    but at least variance_floor times the larger of V_item and V_annotator. One cluster alone gives 0. V_annotator adds
    up over the sets, each with its own G; G and the degrees of freedom are those of the smallest set. Welch's degrees
    of freedom are more, and too many for V (docs/statistics.md).

    The floor: the difference of estimates can be negative, or positive and close to 0, although the true variance is
    never below that of V_item or V_annotator. Taking the largest of the three (MacKinnon, Nielsen & Webb 2024,
    Jackknife Inference with Two-Way Clustering) makes the test reject 0.1 to 2 % at a nominal 5 % with five annotators,
    as the few degrees of freedom already allow for the scatter of V. A quarter, that is half of the larger standard
    error, only affects extreme cases (docs/validation.md). With few items V_item scatters, too; among many contrasts
    some V is then too small by chance, and Holm finds it.
    """
    scores, squares = (sum(columns[1:], columns[0]) for columns in zip(*parts, strict=True))
    item, n_items, item_freedom = one_way(scores, squares, items)
    variances, counts, freedoms = zip(*(one_way(*part, annotators) for part in parts), strict=True)
    annotator, cell = sum(variances), np.bincount(cells, scores)
    both = max(item + annotator - float(cell @ cell), variance_floor(item_freedom + 1) * max(item, annotator))
    these, alike = np.sqrt((item, both)).tolist()
    return Clustered(these, alike, item_freedom, min(item_freedom, *freedoms), n_items, min(counts))


def one_way(scores: Floats, squares: Floats, groups: np.ndarray) -> tuple[float, int, float]:
    """Variance clustered by `groups`, their number as in `clusters`, and the degrees of freedom, at least 1."""
    size = np.bincount(groups, squares)
    count, sums = int((size > 0).sum()), np.bincount(groups, scores)
    factor = count / (count - 1) if count > 1 else 0.0
    return factor * float(sums @ sums), clusters(size), max(1.0, effective_number(size) - 1)


def variance_floor(items: float) -> float:
    """The smallest two-way variance, as a share of the larger one-way variance.

    items: the effective number of items, or of groups; many with little weight are no help to V_item.
    """
    return FLOOR_OF_FEW if round(items, 6) < FEW_ITEMS else VARIANCE_FLOOR


def degrees_of_freedom(*clusterings: np.ndarray) -> float:
    """Degrees of freedom of t with a clustered variance: the smallest effective number of clusters - 1, at least 1.

    clusterings: codes (n,) of items, of annotators, or both. With the number of clusters itself, the test rejects up to
    18 % of the time where a few annotators did most of the work.
    """
    return max(1.0, min(effective_number(np.bincount(codes_of)) for codes_of in clusterings) - 1)


def effective_number(weights: np.ndarray) -> float:
    """Of clusters with these weights n_g (G,): (sum n_g)^2 / sum n_g^2.

    It is G where all are equally large, fewer where some weigh much more than others (Carter, Schnepel & Steigerwald
    2017, Asymptotic Behavior of a t-Test Robust to Cluster Heterogeneity).
    """
    return float(weights.sum() ** 2 / (weights @ weights))


def clusters(weights: np.ndarray) -> int:
    """How many clusters have weight; 1 if one of them has nearly all, since its residuals are then close to 0."""
    return int((weights > 0).sum()) if effective_number(weights) >= FEWEST_CLUSTERS else 1


def in_one(clusters: np.ndarray, systems: np.ndarray, count: int) -> NDArray[np.bool_]:
    """(count,) whether all ratings of each system are of one cluster; both (n,) codes."""
    pairs = np.unique(clusters * count + systems)
    return np.equal(np.bincount(pairs % count, minlength=count), 1)


def resample_quantiles(clusters: int) -> list[float]:
    """Lower and upper quantile of resamples that are the limits of an interval, as wide as t's instead of the normal's.

    Plain percentiles are too narrow with few clusters (items, or groups of them): Hesterberg 2015, What Teachers Should
    Know About the Bootstrap, expanded percentile interval.
    """
    reach = float(stdtrit(clusters - 1, (1 + CONFIDENCE) / 2)) * np.sqrt(clusters / (clusters - 1))
    return [float(ndtr(-reach)), float(ndtr(reach))]


def _interval(
    mean: float,
    error: float,
    freedom: float,
    kind: Literal["two_way", "item"],
    counted: tuple[int, int, int],
    rounding: float,
) -> Interval:
    """mean +- t * error, or the reason why there is no interval; counted: numbers of values, items, annotators."""
    _, items, annotators = counted
    absent = ""
    if items < 2:
        absent = "No interval: one item is too few."
    elif error <= rounding:
        absent = "No interval: every item has the same mean, so there is no variation."
    elif kind == "two_way" and annotators < ENOUGH_ANNOTATORS:
        absent = f"No interval: {_too_few(annotators)}."
    if absent:
        return Interval(mean, None, None, "none", absent, *counted)
    reach = float(stdtrit(freedom, (1 + CONFIDENCE) / 2) * error)
    return Interval(mean, mean - reach, mean + reach, kind, _sentence(kind, annotators), *counted)


def _sentence(kind: str, annotators: int) -> str:
    """Which annotators the interval applies to, as a sentence."""
    if kind == "two_way":
        return f"95 % interval for annotators like these {annotators}."
    if annotators >= ENOUGH_ANNOTATORS:
        return f"95 % interval for these {annotators} annotators."
    return f"95 % interval for these annotators: {_too_few(annotators)}."


def _too_few(annotators: int) -> str:
    noun = "annotator is" if annotators == 1 else "annotators are"
    return f"{annotators} {noun} too few to generalise"
