"""Diagnostics of individual annotators. Every flag is a prompt for a lead to look; none excludes anyone. The alarm is
the correlation with the mean of the others: it detects random, constant and careless ratings, but not annotators who
are severe but careful. Severity is shown, because means can be adjusted for it, but is never a flag. Speed, equal
ratings, drift and missing answers each detect only one kind of carelessness (Meade & Craig 2012).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.special import bdtr

from .columns import Column, codes, numbers, pair_codes, present
from .counts import TOO_FEW, limits_from
from .intervals import mean_interval
from .numbers import counted, written
from .rates import Rate, rate
from .undefined import Undefined, UndefinedStatistic, or_undefined

LOW_CORRELATION = 0.2
FEWEST_SHARED = 10
FEWEST_UNUSUAL = 5
UNLIKELY = 0.01
FEW_UNUSUAL = "No interval: on too few items is an own rating, or a mean of the others, not the most common one."
ALL_EQUAL = "Not defined: all own ratings are equal."
NOT_LIKE_OTHERS = "By the answers of the others, so many equal ratings are unlikely."
FASTEST_SECONDS = 3.0
WORDS_PER_SECOND = 12.0
FAST_SHARE = 0.1
EQUAL_SHARE = 0.5
MISSING_SHARE = 0.2
GOLD_SHARE = 0.7
FEWEST_GOLD = 8
FEWEST_ANNOTATIONS = 10
PERMUTATIONS = 1000
_AT_ONCE = 2_000_000  # numbers of shuffles that are held at a time
_DRIFT_LEVEL = 0.99
_ROUNDING = 1e-12
_DECIMALS = 9
_NEAR = 1e-9
_Shares = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class AnnotatorAgreement:
    """Correlation of an annotator with the mean of the others over n units, its 95 % interval, the others' median.

    value is None where the correlation is not defined; the sentence says why. alarm: the value is low and the interval
    is below the median of the others; or almost all ratings are equal, which by the others' answers is unlikely.
    """

    annotator: object
    value: float | None
    interval: tuple[float, float] | Undefined
    others: float | None
    n: int
    alarm: bool
    sentence: str


@dataclass(frozen=True)
class Severity:
    """Mean of (own rating - mean of the others) in scale points over n units; negative is strict. Never a flag."""

    annotator: object
    difference: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True)
class Speed:
    """Speed over n annotations; median: median active seconds; unread: annotations too fast to read."""

    annotator: object
    n: int
    median: float
    unread: int
    flagged: bool


@dataclass(frozen=True)
class StraightLining:
    """Equal ratings, over n annotations with two ratings or more; equal, share: how many have all ratings equal."""

    annotator: object
    n: int
    equal: int
    share: float
    flagged: bool


@dataclass(frozen=True)
class Drift:
    """Largest excursion of the cumulated residuals of n annotations, against its 99 % bound under any order.

    turn: number of annotations before the turning point; before, after: mean residual on both sides, in scale points.
    """

    annotator: object
    n: int
    excursion: float
    bound: float
    turn: int
    before: float
    after: float
    flagged: bool


@dataclass(frozen=True)
class FlaggedRate:
    """A rate of one annotator or one criterion, and whether it is flagged."""

    label: object
    rate: Rate
    flagged: bool


def agreement_with_others(
    values: Column, units: Column, items: Column, annotators: Column, criteria: Column | None = None
) -> tuple[AnnotatorAgreement, ...]:
    """Leave-one-out correlation of each annotator, in order of first appearance.

    values: (n,) numbers, NaN = missing; units: (n,) labels of what was rated (item and system, and criterion when
    the values of criteria are standardised first); items: (n,) the item (or group of items) of each unit; annotators,
    criteria: (n,) labels, without criteria there is one. The interval leaves out one item at a time, with all its
    units, as these are related. Raises UndefinedStatistic when no unit has ratings by two annotators.
    """
    criteria = np.zeros(len(values)) if criteria is None else criteria
    own, others, item, criterion, annotator, labels = _beside_others(values, units, annotators, items, criteria)
    table = own, others, item, codes(criterion)[0]
    of_each = [tuple(column[own_rows] for column in table) for own_rows in _rows_of_each(annotator, labels)]
    correlations = [_pearson(*sides[:2]) for sides in of_each]
    ordered = np.sort([value for value, _ in correlations if value is not None])
    differing = cache(partial(_differing, own, table[-1], annotator))  # many people may have the same usual ratings
    rows = []
    for at, (label, (value, why)) in enumerate(zip(labels, correlations, strict=True)):
        median = _median_without(ordered, value)
        limits = Undefined(why) if value is None else or_undefined(_limits, value, *of_each[at])
        constant = str(limits) in (ALL_EQUAL, FEW_UNUSUAL) and _unlikely(differing, of_each[at], at)
        rows.append(_agreement_row(label, value, limits, median, len(of_each[at][0]), constant))
    return tuple(rows)


def severities(values: Column, units: Column, items: Column, annotators: Column) -> tuple[Severity, ...]:
    """Each annotator's mean difference from the mean of the others, its interval clustered by item.

    The columns, and what is undefined, are as in agreement_with_others.
    """
    own, others, item, annotator, labels = _beside_others(values, units, annotators, items)
    apart = own - others
    apart[np.abs(apart) <= _ROUNDING * max(1.0, np.abs(own).max())] = 0
    rows = []
    for label, own_rows in zip(labels, _rows_of_each(annotator, labels), strict=True):
        if len(own_rows):
            found = mean_interval(apart[own_rows], item[own_rows], annotator[own_rows])
            rows.append(Severity(label, found.mean, found.low, found.high, found.n))
    return tuple(rows)


def speeds(seconds: Column, words: Column, annotators: Column) -> tuple[Speed, ...]:
    """How fast each annotator was. seconds: (n,) active seconds per annotation, NaN = not known and left out.

    words: (n,) words to read in each annotation. Too fast to read is less than max(3 s, words / 12 per second), about
    three times as fast as people read. Annotators with ten annotations or more are flagged if more than a tenth of them
    are too fast. Raises UndefinedStatistic when no time is known.
    """
    times, length, annotator = numbers(seconds, words, annotators)
    if not len(times):
        raise UndefinedStatistic("Not defined: no active time is known.")
    unread = times < np.maximum(FASTEST_SECONDS, length.astype(float) / WORDS_PER_SECOND)
    annotator, labels = codes(annotator)
    rows = []
    for label, own_rows in zip(labels.tolist(), _rows_of_each(annotator, labels), strict=True):
        own_times = times[own_rows]
        median, n, fast = float(np.median(own_times)), len(own_times), int(unread[own_rows].sum())
        flagged = n >= FEWEST_ANNOTATIONS and fast > FAST_SHARE * n
        rows.append(Speed(label, n, median, fast, flagged))
    return tuple(rows)


def straight_lining(values: Column, items: Column, annotators: Column) -> tuple[StraightLining, ...]:
    """How often each annotator gave all candidates and criteria of an item the same value.

    values: (n,) numbers of one scale, NaN = missing; items, annotators: (n,) labels. Annotators with ten annotations or
    more are flagged if more than half of them are equal and the share is above twice the median of the others: in an
    easy study everybody gives equal ratings. Raises UndefinedStatistic when no annotation has two ratings.
    """
    ratings, item, annotator = numbers(values, items, annotators)
    (item, _), (annotator, labels) = codes(item), codes(annotator)
    cell, first = pair_codes(item, annotator)
    low, high = np.full(len(first), np.inf), np.full(len(first), -np.inf)
    np.minimum.at(low, cell, ratings)
    np.maximum.at(high, cell, ratings)
    judged = np.bincount(cell) > 1
    if not judged.any():
        raise UndefinedStatistic("Not defined: no annotation has two ratings.")
    equal, who = (low == high)[judged], annotator[first][judged]
    names = zip(labels.tolist(), _rows_of_each(who, labels), strict=True)
    own = [(label, equal[own_rows]) for label, own_rows in names if len(own_rows)]
    ordered = np.sort([same.mean() for _, same in own])
    return tuple(_straight_line(label, same, ordered) for label, same in own)


def drifts(values: Column, units: Column, items: Column, annotators: Column, order: Column) -> tuple[Drift, ...]:
    """Does an annotator move away from the others over time? CUSUM of (own - mean of the others) in time.

    order: (n,) numbers that ascend in time per annotator; the other columns as in severities. Residuals are averaged
    per annotation, centred and cumulated; the excursion max |sum| / (sd sqrt n) is compared with the 99th percentile
    of 1,000 shuffles of the same residuals. Annotations with the same time count as their mean, so that the order of
    rows does not matter. Annotators with fewer than ten annotations, or without variation, are left out. Raises
    UndefinedStatistic when nobody is left or no unit has ratings by two annotators.
    """
    own, others, item, when, annotator, labels = _beside_others(values, units, annotators, items, order)
    rows = []
    for label, own_rows in zip(labels, _rows_of_each(annotator, labels), strict=True):
        at_item, n = codes(item[own_rows])[0], len(np.unique(item[own_rows]))
        sizes = np.bincount(at_item)
        residual, time = np.bincount(at_item, (own - others)[own_rows]) / sizes, np.full(n, np.inf)
        np.minimum.at(time, at_item, when[own_rows].astype(float))
        if n >= FEWEST_ANNOTATIONS and np.ptp(residual) > _ROUNDING * max(1.0, np.abs(own).max()):
            rows.append(_drift(label, residual, time))
    if not rows:
        raise UndefinedStatistic(f"Not defined: nobody has {FEWEST_ANNOTATIONS} annotations that others rated too.")
    return tuple(rows)


def missing_rates(missing: Column, labels: Column) -> tuple[FlaggedRate, ...]:
    """Share of answers like "I don't know" per criterion or per annotator; flagged above a fifth.

    missing: (n,) True where the answer is a missing option; labels: (n,) criteria or annotators. A criterion
    above a fifth points to the rubric, not to the annotators. Raises UndefinedStatistic when there is no answer.
    """
    marks, label = present(missing, labels)
    if not len(marks):
        raise UndefinedStatistic("Not defined: there is no answer yet.")
    code, names = codes(label)
    hits, sizes = np.bincount(code, marks.astype(float)), np.bincount(code)
    rates = [rate(int(hit), int(n)) for hit, n in zip(hits, sizes, strict=True)]
    return tuple(
        FlaggedRate(name, share, share.share > MISSING_SHARE) for name, share in zip(names.tolist(), rates, strict=True)
    )


def gold_accuracy(correct: int, n: int) -> FlaggedRate:
    """Share of gold items answered correctly; flagged when, after eight of them, even the upper limit is below 0.7.

    Raises UndefinedStatistic when n is 0.
    """
    share = rate(correct, n)
    return FlaggedRate("gold", share, n >= FEWEST_GOLD and share.high < GOLD_SHARE)


def _rows_of_each(annotator: np.ndarray, labels: Sequence[object] | np.ndarray) -> list[np.ndarray]:
    """The places of each annotator's rows, by code; found by sorting, as there may be 200,000 annotators."""
    ends = np.cumsum(np.bincount(annotator, minlength=len(labels)))
    return np.split(np.argsort(annotator, kind="stable"), ends[:-1])


def _median_without(ordered: np.ndarray, value: float | None) -> float | None:
    """The median of ascending numbers, without this one of them; None if no other is left."""
    left = len(ordered) - (value is not None)
    if not left:
        return None
    gone = len(ordered) if value is None else int(np.searchsorted(ordered, value))
    low, high = (float(ordered[place + (place >= gone)]) for place in ((left - 1) // 2, left // 2))
    return (low + high) / 2


def _beside_others(values: Column, units: Column, annotators: Column, *beside: Column) -> tuple[Any, ...]:
    """Each annotator's own rating and the mean of the others, for each unit that several annotators rated.

    Returns (own, others, *beside, annotator codes, annotator labels), one row per (unit, annotator). Repeated ratings
    are averaged first.
    """
    ratings, unit, named, *others_beside = numbers(values, units, annotators, *beside)
    (unit, _), (annotator, labels) = codes(unit), codes(named)
    cell, first = pair_codes(unit, annotator)
    own, unit, annotator = np.bincount(cell, ratings) / np.bincount(cell), unit[first], annotator[first]
    raters = np.bincount(unit)[unit] if len(unit) else np.empty(0)
    shared = raters > 1
    if not shared.any():
        raise UndefinedStatistic("Not defined: no unit was rated by two annotators.")
    others = (np.bincount(unit, own)[unit] - own)[shared] / (raters - 1)[shared]
    return own[shared], others, *(column[first][shared] for column in others_beside), annotator[shared], labels.tolist()


def _pearson(own: np.ndarray, others: np.ndarray) -> tuple[float | None, str]:
    """The correlation, or why there is none."""
    if len(own) < FEWEST_SHARED:
        return None, f"Not defined: {counted(len(own), 'rating')} shared with others, and {FEWEST_SHARED} are needed."
    x, y = own - own.mean(), others - others.mean()
    for column, ratings, whose in ((x, own, "own"), (y, others, "others'")):
        if np.abs(column).max() <= _ROUNDING * max(1.0, np.abs(ratings).max()):
            return None, ALL_EQUAL if whose == "own" else "Not defined: all others' ratings are equal."
    return float(np.clip((x @ y) / np.sqrt((x @ x) * (y @ y)), -1, 1)), ""


def _limits(
    value: float, own: np.ndarray, others: np.ndarray, items: np.ndarray, criteria: np.ndarray
) -> tuple[float, float]:
    """Limits of a correlation from its values without each item; where nothing varies without an item, 0 is its value.

    Raises UndefinedStatistic.
    """
    place = codes(items)[0]
    x, y = own - own.mean(), others - others.mean()
    sums = np.stack([np.bincount(place, column) for column in (np.ones(len(x)), x, y, x * x, y * y, x * y)])
    if sums.shape[1] < 2:
        raise UndefinedStatistic(TOO_FEW)
    fewest = min(FEWEST_UNUSUAL, sums.shape[1])
    if min(_unusual_items(column, items, criteria) for column in (own, others)) < fewest:
        raise UndefinedStatistic(FEW_UNUSUAL)
    n, of_x, of_y, xx, yy, xy = sums.sum(axis=1, keepdims=True) - sums
    squares = np.maximum(xx - of_x**2 / n, 0) * np.maximum(yy - of_y**2 / n, 0)
    varied = squares > _ROUNDING * (x @ x) * (y @ y)
    root = np.sqrt(squares, out=np.ones(len(squares)), where=varied)
    return limits_from(value, np.where(varied, np.clip((xy - of_x * of_y / n) / root, -1, 1), 0.0))


def _unusual_items(values: np.ndarray, items: np.ndarray, criteria: np.ndarray) -> int:
    """On how many items a value is not the most common one of its criterion."""
    return len(np.unique(items[np.round(values, _DECIMALS) != _most_common(values, criteria)[criteria]]))


def _most_common(values: np.ndarray, criteria: np.ndarray) -> np.ndarray:
    """(C,) the most common value of each criterion code, NaN where it has none."""
    distinct, code = np.unique(np.round(values, _DECIMALS), return_inverse=True)
    size = (criteria.max() + 1, len(distinct))
    counts = np.bincount(criteria * len(distinct) + code, minlength=size[0] * size[1]).reshape(size)
    return np.where(counts.any(axis=1), distinct[counts.argmax(axis=1)], np.nan)


def _unlikely(differing: Callable[[tuple[float | None, ...]], _Shares], sides: Sequence[np.ndarray], at: int) -> bool:
    """Whether so many equal ratings are unlikely of somebody with half the others' odds of another answer.

    differing: `_differing` of all ratings; sides: the annotator's ratings first and their criteria last; at: the
    annotator. Half the odds of the median annotator, as one may be strict, and the ratings of an item are related.
    """
    usual = _most_common(sides[0], sides[-1]).tolist()
    differs, total, shares = differing(tuple(None if np.isnan(value) else value for value in usual))
    share = _median_without(shares, differs[at] / total[at])
    return share is not None and bool(bdtr(int(differs[at]), int(total[at]), share / (2 - share)) < UNLIKELY)


def _differing(
    own: np.ndarray, criterion: np.ndarray, annotator: np.ndarray, usual: tuple[float | None, ...]
) -> _Shares:
    """How many ratings of each annotator are not the usual ones of their criteria; of how many; the shares, ascending.

    own, criterion, annotator: (n,) all ratings, codes of their criteria and annotators; usual: None for a criterion
    that does not count. The shares are of those who have ratings that count.
    """
    most = np.full(criterion.max() + 1, np.nan)
    most[: len(usual)] = [np.nan if value is None else value for value in usual]
    rated = ~np.isnan(most[criterion])
    differs, total = (
        np.bincount(annotator, column) for column in (rated & (np.round(own, _DECIMALS) != most[criterion]), rated)
    )
    return differs, total, np.sort(differs[total > 0] / total[total > 0])


def _agreement_row(
    label: object,
    value: float | None,
    interval: tuple[float, float] | Undefined,
    others: float | None,
    n: int,
    constant: bool,
) -> AnnotatorAgreement:
    """One annotator's agreement with its alarm and sentence.

    constant: whether almost all own ratings are equal, unlike those of the others; they cannot correlate with anything.
    """
    if value is None or isinstance(interval, Undefined):
        reason = str(interval)
        if value is not None:
            reason = f"Correlation with the mean of the others {written(value, 'number')} over {n} ratings. {reason}"
        alarm = constant and (value is None or value < LOW_CORRELATION)
        sentence = f"{reason} {NOT_LIKE_OTHERS}" if alarm else reason
        return AnnotatorAgreement(label, value, interval, others, n, alarm, sentence)
    shown, lowest, highest = (written(of, "number") for of in (value, *interval))
    words = f"Correlation with the mean of the others {shown} ({lowest} to {highest}) over {n} ratings"
    if others is None:
        return AnnotatorAgreement(label, value, interval, None, n, False, f"{words}.")
    alarm = value < LOW_CORRELATION and interval[1] < others
    return AnnotatorAgreement(
        label, value, interval, others, n, alarm, f"{words}; half of the others reach {written(others, 'number')}."
    )


def _straight_line(label: object, equal: np.ndarray, shares: np.ndarray) -> StraightLining:
    """shares: (n,) those of all annotators, ascending."""
    share = float(equal.mean())
    n, unusual = len(equal), share > 2 * (_median_without(shares, share) or 0.0)
    flagged = n >= FEWEST_ANNOTATIONS and share > EQUAL_SHARE and unusual
    return StraightLining(label, n, int(equal.sum()), share, flagged)


def _largest_sums(residual: np.ndarray) -> np.ndarray:
    """(PERMUTATIONS,) largest |sum| of residuals (n,) up to any place, in shuffles of them; a few shuffles at a time,
    since all of 100,000 annotations would take gigabytes.
    """
    random, rows = np.random.default_rng(1), max(1, _AT_ONCE // len(residual))
    counts = (min(rows, PERMUTATIONS - start) for start in range(0, PERMUTATIONS, rows))
    shuffles = (random.permuted(np.tile(residual, (count, 1)), axis=1) for count in counts)
    return np.concatenate([np.abs(np.cumsum(shuffled, axis=1)[:, :-1]).max(axis=1) for shuffled in shuffles])


def _drift(label: object, residual: np.ndarray, time: np.ndarray) -> Drift:
    """The drift of one annotator's residuals (n,); time: (n,) when each was given."""
    n, mean = len(residual), residual.mean()
    scale = residual.std(ddof=1) * np.sqrt(n)
    moment = np.unique(time, return_inverse=True)[1]
    means = np.bincount(moment, residual - mean) / np.bincount(moment)
    path = np.round(np.cumsum(means[np.sort(moment)])[:-1], _DECIMALS)
    extremes = _largest_sums(np.sort(residual - mean)) / scale
    turn = int(np.abs(path).argmax()) + 1
    excursion, bound = float(np.abs(path).max() / scale), float(np.quantile(extremes, _DRIFT_LEVEL))
    before, after = float(mean + path[turn - 1] / turn), float(mean - path[turn - 1] / (n - turn))
    flagged = excursion > bound * (1 + _NEAR)  # the bound is often the largest excursion that is possible
    return Drift(label, n, excursion, bound, turn, before, after, flagged)
