"""Fair pay: pay per hour that results from the pay per item, by annotator and over all of them.

Time is the active time of finished annotations as measured by the workbench, without pauses of more than 120 seconds
and without time in a hidden tab. Time for instructions, training, tests and checks among the items is not included.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from sqlmodel import Session

from triptych.results.frame.model import Frame
from triptych.stats.analysis.pay import HOUR, NO_TIME, PayNumbers, pay_numbers, work_times
from triptych.stats.undefined import Undefined, UndefinedStatistic, or_undefined
from triptych.storage.models import FINISHED, Study
from triptych.study import design
from triptych.study.settings import Pay, settings_of, written_amount

QUANTILES = {"Lowest": 0.0, "Lower quarter": 0.25, "Median": 0.5, "Upper quarter": 0.75, "Highest": 1.0}
NO_RATE = "Not defined: the study has no pay per item."


@dataclass(frozen=True)
class AnnotatorPay:
    """One annotator: items finished with a known time, mean active seconds per item, pay per hour of that time."""

    annotator: str
    items: int
    seconds: float
    per_hour: float
    below: bool


@dataclass(frozen=True)
class PayMeter:
    """Pay per hour. annotators: lowest pay first. quantiles: name (see QUANTILES) → pay per hour over annotators.

    numbers: the numbers that a report prints. needed: the pay per item with which everybody would have reached the
    floor, None without a floor.
    """

    pay: Pay
    annotators: tuple[AnnotatorPay, ...]
    numbers: PayNumbers
    quantiles: dict[str, float]
    needed: float | None

    @property
    def below(self) -> tuple[AnnotatorPay, ...]:
        """The annotators whose pay per hour is below the floor set by the lead."""
        return tuple(annotator for annotator in self.annotators if annotator.below)

    @property
    def warning(self) -> str:
        """A warning if someone earns less than the minimum; empty if nobody does."""
        currency, floor = self.pay.currency, self.pay.floor_per_hour
        if not self.below or floor is None or self.needed is None:
            return ""
        low, of = self.below[0], len(self.annotators)
        return (
            f"{len(self.below)} of {of} {'annotator' if of == 1 else 'annotators'} "
            f"{'earns' if len(self.below) == 1 else 'earn'} less than "
            f"{money(floor, currency)} per hour; {low.annotator} earns {money(low.per_hour, currency)}. "
            f"{money(self.needed, currency)} per item would reach it for everyone so far."
        )


def was_changed(session: Session, study: Study) -> bool:
    """Whether the pay for an item was another one earlier in the open study."""
    now, earlier = settings_of(study).pay, design.earlier_pays(session, study)
    return any((pay.per_item, pay.currency) != (now.per_item, now.currency) for _, pay in earlier)


def meter_of(pay: Pay, frame: Frame, kinds: Collection[str]) -> PayMeter | Undefined:
    """The pay of all annotators of these kinds, excluded or not, or why there is none; seconds to a tenth."""
    work = frame.work[frame.work["state"].isin(FINISHED) & frame.work["kind"].isin(kinds)]
    return or_undefined(meter, pay, work["annotator"], [round(seconds, 1) for seconds in work["active_seconds"]])


def meter(pay: Pay, annotators: Sequence[str], seconds: Sequence[float]) -> PayMeter:
    """The pay of finished annotations. annotators, seconds: (n,) who made each and its active seconds; NaN or 0 = not
    known, and left out.

    Raises UndefinedStatistic when the study has no pay per item or no time is known.
    """
    if pay.per_item is None:
        raise UndefinedStatistic(NO_RATE)
    times = work_times(annotators, seconds)
    columns = (times.annotators, times.items, times.seconds)
    rows = [_of_one(pay, *column) for column in zip(*columns, strict=True)]
    rates = [row.per_hour for row in rows]
    slowest = max(row.seconds for row in rows)
    return PayMeter(
        pay,
        tuple(sorted(rows, key=lambda row: (row.per_hour, row.annotator))),
        pay_numbers(float(pay.per_item), times),
        {name: float(np.quantile(rates, at)) for name, at in QUANTILES.items()},
        None if pay.floor_per_hour is None else enough(pay.floor_per_hour, slowest),
    )


def _of_one(pay: Pay, annotator: str, items: int, seconds: float) -> AnnotatorPay:
    rate = hourly(pay, seconds)
    return AnnotatorPay(annotator, items, seconds, rate, below_floor(pay, rate))


def hourly(pay: Pay, seconds: float) -> float:
    """Pay per hour at so many seconds per item. Raises UndefinedStatistic without a pay per item or a time."""
    if pay.per_item is None:
        raise UndefinedStatistic(NO_RATE)
    if not seconds > 0:
        raise UndefinedStatistic(NO_TIME)
    return float(pay.per_item) * HOUR / seconds


def below_floor(pay: Pay, per_hour: float) -> bool:
    """Whether a pay per hour, to the cent, is less than the floor; never where there is no floor."""
    return pay.floor_per_hour is not None and round(per_hour, 2) < float(pay.floor_per_hour)


def expected(pay: Pay, seconds: float) -> str:
    """The pay per hour that an estimated time per item would give, in a sentence. Raises as `hourly`."""
    rate, floor = hourly(pay, seconds), pay.floor_per_hour
    sentence = f"At {seconds:.0f} seconds per item, {rate_of(pay)} comes to {money(rate, pay.currency)} per hour"
    if floor is None or not below_floor(pay, rate):
        return f"{sentence}."
    return (
        f"{sentence}, less than the floor of {money(floor, pay.currency)}. "
        f"{money(enough(floor, seconds), pay.currency)} per item would reach it."
    )


def enough(floor: Decimal, seconds: float) -> float:
    """The least pay per item, in whole cents, that reaches the floor per hour at so many seconds per item."""
    return math.ceil(round(float(floor) * seconds / HOUR * 100, 6)) / 100


def rate_of(pay: Pay) -> str:
    """The pay as in "USD 0.50 per item". Raises UndefinedStatistic without a pay per item."""
    if pay.per_item is None:
        raise UndefinedStatistic(NO_RATE)
    return f"{money(pay.per_item, pay.currency)} per item"


def money(amount: Decimal | float, currency: str) -> str:
    """An amount, to the cent if it was computed, or as a lead entered it."""
    return f"{currency} {written_amount(amount) if isinstance(amount, Decimal) else f'{round(amount, 2):.2f}'}"
