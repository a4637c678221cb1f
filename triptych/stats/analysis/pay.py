"""What the pay for one item comes to per hour of work."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..columns import Column
from ..undefined import UndefinedStatistic

HOUR = 3600
NO_TIME = "Not defined: no active time is known yet."


@dataclass(frozen=True)
class WorkTimes:
    """Names of annotators with a known time, their finished items and mean active seconds; the median of all means."""

    annotators: list[str]
    items: list[int]
    seconds: list[float]
    median: float


@dataclass(frozen=True)
class PayNumbers:
    """What the work pays: annotators with a known time, median active seconds per item, pay per hour."""

    annotators: int
    seconds: float
    lowest: float
    median: float


def work_times(annotators: Column, seconds: Column) -> WorkTimes:
    """annotators, seconds: (n,) who finished each annotation and its active seconds; NaN or 0 = not known, left out.

    Raises UndefinedStatistic when no time is known.
    """
    time = np.asarray(seconds, dtype=float)
    timed = np.flatnonzero(time > 0)
    if not len(timed):
        raise UndefinedStatistic(NO_TIME)
    names, code = np.unique(np.asarray(annotators, dtype=str)[timed], return_inverse=True)
    items = np.bincount(code)
    means = np.bincount(code, time[timed]) / items
    return WorkTimes(names.tolist(), items.tolist(), means.tolist(), float(np.median(time[timed])))


def pay_numbers(per_item: float, times: WorkTimes) -> PayNumbers:
    """Pay per hour over annotators."""
    rates = [per_item * HOUR / seconds for seconds in times.seconds]
    return PayNumbers(len(rates), times.median, min(rates), float(np.median(rates)))
