"""Descriptive statistics of ratings: means, shares, distributions, positions, majorities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from .columns import Column, centred, codes, numbers, present
from .undefined import Undefined, UndefinedStatistic

NO_RATING = "Not defined: there is no rating yet."
_NEAR = 1e-9


@dataclass(frozen=True)
class Summary:
    """n ratings: mean, median, standard deviation (divisor n - 1; undefined for a single rating)."""

    n: int
    mean: float
    median: float
    sd: float | Undefined


@dataclass(frozen=True)
class OptionShare:
    """How often one option was chosen, and out of how many (`of`). share = count / of, None when of is 0."""

    option: Hashable
    count: int
    of: int
    share: float | None
    missing: bool


@dataclass(frozen=True)
class PositionMean:
    """Mean of (rating - mean of its system) at one position, in scale points, over n ratings."""

    position: int
    mean: float
    n: int


@dataclass(frozen=True)
class MajorityShare:
    """Numbers of items where more than half of the raters chose the positive option, another option, or no one option.

    items = positive + other + undecided; share = positive / items.
    """

    items: int
    positive: int
    other: int
    undecided: int
    share: float


def item_summary(values: Column, items: Column) -> Summary:
    """Summary of the items' mean ratings; values: (n,), NaN = missing, dropped; items: (n,) labels.

    Raises UndefinedStatistic when empty.
    """
    present_values, of_items = numbers(values, items)
    if not len(present_values):
        raise UndefinedStatistic(NO_RATING)
    item = codes(of_items)[0]
    return summary(np.bincount(item, present_values) / np.bincount(item), "item")


def summary(values: Column, noun: str = "rating") -> Summary:
    """Mean, median, spread of (n,) numbers, NaN = missing, dropped; noun: what a number is of.

    Raises UndefinedStatistic when empty.
    """
    (present_values,) = numbers(values)
    if not len(present_values):
        raise UndefinedStatistic(NO_RATING)
    single = Undefined(f"Not defined for a single {noun}.")
    spread = float(present_values.std(ddof=1)) if len(present_values) > 1 else single
    return Summary(len(present_values), float(present_values.mean()), float(np.median(present_values)), spread)


def shares(options: Column, order: Sequence[Hashable], missing: Collection[Hashable] = ()) -> tuple[OptionShare, ...]:
    """Share of each option among n answers; options: (n,) labels, None or NaN = nothing chosen and dropped.

    order: all options in rubric order. missing: the options that the rubric marks `missing`; their share is of all
    answers, while that of every other option is of the answers that are not missing. Raises UndefinedStatistic when
    there is no answer or an answer is not in `order`.
    """
    (present_values,) = present(options)
    counts = Counter(present_values.tolist())
    _refuse_strangers(counts.keys() - set(order), "an option of this criterion")
    total = len(present_values)
    if not total:
        raise UndefinedStatistic(NO_RATING)
    answered = total - sum(counts[option] for option in set(missing))
    rows = []
    for option in order:
        of = total if option in missing else answered
        share = counts[option] / of if of else None
        rows.append(OptionShare(option, counts[option], of, share, option in missing))
    return tuple(rows)


def distribution(values: Column, points: Sequence[float]) -> np.ndarray:
    """(V,) how many of the n numbers are at each of the V scale points; NaN = missing and dropped.

    Raises UndefinedStatistic when a number is not a point (deviations up to 1e-9 are treated as rounding).
    """
    (present_values,) = numbers(values)
    scale = np.asarray(points, dtype=float)
    distinct, place = np.unique(present_values, return_inverse=True)
    gaps = np.abs(distinct[:, None] - scale[None, :])
    _refuse_strangers(distinct[gaps.min(axis=1, initial=np.inf) > _NEAR].tolist(), "a point of the scale")
    return np.bincount(gaps.argmin(axis=1)[place], minlength=len(scale))


def position_means(values: Column, positions: Column, systems: Column) -> tuple[PositionMean, ...]:
    """Mean of (rating - mean of its system) per position, positions ascending: does the position matter?

    values: (n,) numbers, NaN = missing; positions: (n,) 0, 1, 2 ..., NaN or negative = not known, and the rating is
    left out of the system means too; systems: (n,) labels. Raises UndefinedStatistic when no rating is left.
    """
    present_values, place, labels = numbers(values, positions, systems)
    place, present_values, labels = numbers(place, present_values, labels)
    placed = place >= 0
    place, present_values = place[placed].astype(np.int64), present_values[placed].astype(float)
    if not len(present_values):
        raise UndefinedStatistic("Not defined: no rating has a known position.")
    system, _ = codes(labels[placed])
    deviation = centred(present_values, system)
    sums, sizes = np.bincount(place, deviation), np.bincount(place)
    seen = np.flatnonzero(sizes)
    return tuple(PositionMean(int(at), float(sums[at] / sizes[at]), int(sizes[at])) for at in seen)


def majority(items: Column, options: Column, positive: Hashable) -> MajorityShare:
    """How many items have a majority for `positive`, for another option, or for none.

    items, options: (n,) labels; None or NaN among the options = nothing chosen, not a rater of that item.
    Raises UndefinedStatistic when no item has an answer.
    """
    items_voted, by_option = _majorities(items, options)
    decided, for_positive = sum(by_option.values()), by_option.get(positive, 0)
    return MajorityShare(
        items_voted, for_positive, decided - for_positive, items_voted - decided, for_positive / items_voted
    )


def majorities(items: Column, options: Column, order: Sequence[Hashable]) -> tuple[int, ...]:
    """For each option in `order`: the number of items where more than half of the raters chose it; see `majority`."""
    by_option = _majorities(items, options)[1]
    return tuple(by_option.get(option, 0) for option in order)


def _majorities(items: Column, options: Column) -> tuple[int, dict[Hashable, int]]:
    """How many items have an answer; option → items that it won."""
    chosen, rated = present(options, items)
    if not len(chosen):
        raise UndefinedStatistic(NO_RATING)
    item, names = codes(rated)
    option, distinct = codes(chosen)
    votes = np.bincount(item * len(distinct) + option, minlength=len(names) * len(distinct))
    votes = votes.reshape(len(names), len(distinct))
    won = (votes * 2 > votes.sum(axis=1, keepdims=True)).sum(axis=0)
    return len(names), dict(zip(distinct.tolist(), won.tolist(), strict=True))


def _refuse_strangers(strange: Collection[object], what: str) -> None:
    """Raise when a value is not on the scale: dropping it silently would change every share."""
    if strange:
        first = sorted(map(str, strange))[0]
        raise UndefinedStatistic(f"Not defined: the value {first} is not {what}.")
