"""All coefficients of agreement on one criterion, each with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from .agreement import Level, alphas, percents
from .chance import WeightedStatistic, Weighting, fleiss, gwet, weight_table
from .columns import Column, codes, numbers
from .counts import NO_VARIATION, NOT_PAIRED, Statistic, UnitCounts, jackknife_interval
from .numbers import joined_words, written
from .undefined import Undefined, UndefinedStatistic, or_undefined

BANDS = (0.667, 0.8)
WEIGHTS: dict[Level, Weighting] = {"nominal": "identity", "ordinal": "ordinal", "interval": "quadratic"}
HARDLY_BY_CHANCE = ("percent", "ac")  # coefficients that a rare answer hardly moves
_WORTH_SAYING = 0.1


@dataclass(frozen=True)
class Coefficient:
    """One coefficient; its name contains its level or weights."""

    key: str
    name: str
    value: float | Undefined
    interval: tuple[float, float] | Undefined


@dataclass(frozen=True)
class AgreementTable:
    """Agreement between annotators. units: number of units with two ratings or more.

    coefficients: by key percent, alpha (at the level of the scale), alpha_interval (for an ordinal scale), ac,
    fleiss; in this order.
    """

    units: int
    coefficients: tuple[Coefficient, ...]

    def __getitem__(self, key: str) -> Coefficient:
        return next(coefficient for coefficient in self.coefficients if coefficient.key == key)


def agreement_table(
    units: Column, values: Column, level: Level, scale: Column | None = None, items: Column | None = None
) -> AgreementTable:
    """All coefficients of one criterion, each with an interval from its values without each item.

    units: (n,) labels; values: (n,) numbers, NaN = missing; scale: all points in order; items: (n,) the item that each
    unit belongs to; if omitted, every unit is its own item. Gwet's coefficient is AC1 on nominal scales, AC2 with
    ordinal weights on ordinal and with quadratic weights on interval scales; Fleiss' kappa is unweighted. The intervals
    apply to these annotators. Raises UndefinedStatistic when no unit has two ratings.
    """
    table = UnitCounts.build(units, values, scale, units if items is None else items)
    coefficients = tuple(_coefficient(table, key, *of, level) for key, of in _coefficients_of(table, level).items())
    return AgreementTable(table.units, coefficients)


def _coefficient(table: UnitCounts, key: str, name: str, statistic: Statistic | Undefined, level: Level) -> Coefficient:
    if isinstance(statistic, Undefined):
        return Coefficient(key, name, statistic, statistic)
    value = float(statistic(table, table.observed())[0])
    return Coefficient(key, name, value, or_undefined(_interval, table, key, statistic, level))


def _interval(table: UnitCounts, key: str, statistic: Statistic, level: Level) -> tuple[float, float]:
    limits = jackknife_interval(table, statistic, 0 if key == "percent" else -1)
    if key not in HARDLY_BY_CHANCE:
        table.refuse_rare(level)
    return limits


def alpha_alone(
    units: Column, values: Column, level: Level, scale: Column | None = None, items: Column | None = None
) -> Coefficient:
    """Krippendorff's alpha with its interval, or why there is none; arguments as in `agreement_table`."""
    table = or_undefined(UnitCounts.build, units, values, scale, units if items is None else items)
    if isinstance(table, Undefined):
        return Coefficient("alpha", f"Krippendorff's alpha ({level})", table, table)
    return _coefficient(table, "alpha", *_coefficients_of(table, level)["alpha"], level)


def intra_annotator(
    annotators: Column,
    units: Column,
    values: Column,
    level: Level,
    scale: Column | None = None,
    items: Column | None = None,
) -> AgreementTable:
    """How far annotators agree with themselves on units that they rated twice; the units here are (annotator, unit).

    annotators, units: (n,) labels, a repeated item under the label of its first showing; the rest as in
    agreement_table. Raises UndefinedStatistic when nobody rated a unit twice.
    """
    owners = units if items is None else items
    ratings, raters, labels, owner = numbers(values, annotators, units, owners)
    (rater, _), (unit, distinct) = codes(raters), codes(labels)
    try:
        return agreement_table(rater * max(len(distinct), 1) + unit, ratings, level, scale, owner)
    except UndefinedStatistic as error:
        if str(error) == NOT_PAIRED:
            raise UndefinedStatistic("No item was rated twice by the same annotator.") from error
        raise


def category_note(missing: float | Undefined, category: float | Undefined, option: str, level: Level) -> str:
    """A sentence when it matters how an answer like "I don't know" is counted; otherwise "".

    missing: nominal alpha without that answer; category: nominal alpha with that answer as a category; option: the
    answer's title; level: the level of the scale, at which alpha is printed elsewhere.
    """
    if isinstance(missing, Undefined) or isinstance(category, Undefined) or abs(category - missing) <= _WORTH_SAYING:
        return ""
    alpha = "alpha" if level == "nominal" else "nominal alpha, which ignores order,"
    counted, left_out = (written(of, "number") for of in (category, missing))
    return f"With “{option}” as a category of its own {alpha} is {counted} instead of {left_out}."


def band_note(interval: tuple[float, float]) -> str:
    """Classify an interval of alpha by Krippendorff's 0.667 and 0.800 (Content Analysis, 2004, chapter 11)."""
    low, high = interval
    crossed = [f"{band:.3f}" for band in BANDS if low < band <= high]
    if crossed:
        return f"The interval straddles {joined_words(crossed)}."
    if low >= BANDS[1]:
        return "The whole interval is at or above 0.800: reliable."
    if low >= BANDS[0]:
        return "The whole interval is between 0.667 and 0.800: enough for tentative conclusions only."
    return "The whole interval is below 0.667: too low to draw conclusions from."


def _coefficients_of(table: UnitCounts, level: Level) -> dict[str, tuple[str, Statistic | Undefined]]:
    """Key → (name, statistic) of each coefficient, or the reason why these ratings do not define it."""
    weights = WEIGHTS[level]
    gwets = "Gwet's AC1" if weights == "identity" else f"Gwet's AC2 ({weights} weights)"
    statistics: dict[str, tuple[str, Statistic | Undefined]] = {
        "percent": ("Percent agreement", percents),
        "alpha": (f"Krippendorff's alpha ({level})", partial(alphas, level=level)),
    }
    if level == "ordinal":
        statistics["alpha_interval"] = ("Krippendorff's alpha (interval)", partial(alphas, level="interval"))
    statistics["ac"] = (gwets, _weighted(gwet, table, weights))
    statistics["fleiss"] = ("Fleiss' kappa (generalised to missing ratings)", _weighted(fleiss, table, "identity"))
    if np.count_nonzero(table.used) > 1:
        return statistics
    return {key: row if key == "percent" else (row[0], Undefined(NO_VARIATION)) for key, row in statistics.items()}


def _weighted(statistic: WeightedStatistic, table: UnitCounts, weights: Weighting) -> Statistic | Undefined:
    weights_of_points = or_undefined(weight_table, weights, table.values)
    if isinstance(weights_of_points, Undefined):
        return weights_of_points
    return lambda counts, draw: statistic(counts, draw, weights_of_points)
