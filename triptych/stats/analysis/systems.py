"""The results of each system under one criterion, and the annotators' agreement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..coefficients import AgreementTable, Coefficient, agreement_table, alpha_alone, band_note, category_note
from ..descriptive import (
    MajorityShare,
    OptionShare,
    PositionMean,
    Summary,
    distribution,
    item_summary,
    majorities,
    majority,
    position_means,
    shares,
    summary,
)
from ..intervals import Interval, mean_interval
from ..undefined import Undefined, or_undefined
from .ratings import ABOUT_ITEM, NO_ORDER, Ratings, Variable


@dataclass(frozen=True)
class SystemResult:
    """One system under one criterion (system 0: the item itself).

    summary and interval are about answers as numbers: the point, or 1 or 0 for chosen as best and for a positive
    option; of_items is about the mean number of each item.
    counts: answers per point of the scale. shares: answers per option. majorities: option → number of items where more
    than half of the non-missing answers chose it. alpha: Krippendorff's, over the annotators' ratings of this system.
    """

    system: int
    n: int
    missing: int
    summary: Summary | Undefined
    of_items: Summary | Undefined
    interval: Interval | Undefined
    counts: tuple[int, ...]
    shares: tuple[OptionShare, ...] | Undefined
    majority: MajorityShare | Undefined
    majorities: Mapping[str, int]
    alpha: Coefficient


@dataclass(frozen=True)
class Agreement:
    """Agreement between annotators on one criterion.

    Units are candidates or items that two annotators or more rated. table: all coefficients; answers that the rubric
    marks missing are left out. category: coefficients at the nominal level with those answers as categories, where
    there are any. apart: coefficients without the options that the rubric sets apart, where somebody chose one. note,
    band: sentences for a reader, empty where there is nothing to say.
    """

    criterion: str
    level: str
    table: AgreementTable | Undefined
    category: AgreementTable | Undefined | None
    apart: AgreementTable | Undefined | None
    note: str
    band: str

    def value(self, key: str) -> float | Undefined:
        return self.table if isinstance(self.table, Undefined) else self.table[key].value

    @property
    def percent(self) -> float | Undefined:
        return self.value("percent")

    @property
    def alpha(self) -> float | Undefined:
        return self.value("alpha")

    @property
    def interval(self) -> tuple[float, float] | Undefined:
        return self.table if isinstance(self.table, Undefined) else self.table["alpha"].interval


@dataclass(frozen=True)
class CriterionNumbers:
    """The numbers of one criterion over all its counted ratings. items, annotators: numbers of those with an answer."""

    variable: Variable
    n: int
    missing: int
    systems: tuple[SystemResult, ...]
    items: int
    annotators: int
    agreement: Agreement
    positions: tuple[PositionMean, ...] | Undefined

    @property
    def share(self) -> bool:
        """Whether the criterion's numbers are shares of answers; `counts_as` says of which."""
        return self.variable.is_share

    @property
    def counts_as(self) -> str:
        return self.variable.counts_as

    @property
    def majorities(self) -> dict[str, int]:
        """Option → number of units (of all systems) where more than half of the answers chose it."""
        options = dict.fromkeys(option for system in self.systems for option in system.majorities)
        return {option: sum(system.majorities.get(option, 0) for system in self.systems) for option in options}

    @property
    def points(self) -> tuple[float, ...]:
        return self.variable.points

    @property
    def ends(self) -> tuple[float, float]:
        return self.variable.ends


def criterion_numbers(ratings: Ratings, systems: list[int]) -> CriterionNumbers:
    """The numbers of one criterion; systems: the codes of all systems of the study."""
    rated = systems if ratings.variable.per_response else [ABOUT_ITEM]
    return CriterionNumbers(
        ratings.variable,
        int((~ratings.missing).sum()),
        int(ratings.missing.sum()),
        tuple(system_result(code, ratings.of_system(code)) for code in rated),
        len(np.unique(ratings.item[~ratings.missing])),
        len(np.unique(ratings.annotator[~ratings.missing])),
        agreement_of(ratings),
        _positions(ratings),
    )


def system_result(code: int, ratings: Ratings) -> SystemResult:
    """The numbers of one system, from its ratings."""
    variable = ratings.variable
    counts = or_undefined(distribution, ratings.number, variable.points) if variable.points else ()
    of_answers: Summary | Undefined = NO_ORDER
    of_items: Summary | Undefined = NO_ORDER
    interval: Interval | Undefined = NO_ORDER
    if not len(ratings) or variable.has_numbers:
        of_answers = or_undefined(summary, ratings.number)
        of_items = or_undefined(item_summary, ratings.number, ratings.item)
        mean = or_undefined(mean_interval, ratings.number, ratings.group, ratings.annotator)
        interval = within(variable.ends, mean)
    values, scale = ratings.categories
    return SystemResult(
        system=code,
        n=int((~ratings.missing).sum()),
        missing=int(ratings.missing.sum()),
        summary=of_answers,
        of_items=of_items,
        interval=interval,
        counts=() if isinstance(counts, Undefined) else tuple(int(count) for count in counts),
        shares=_shares(ratings),
        majority=_majority(ratings),
        majorities=_majorities(ratings),
        alpha=alpha_alone(ratings.units, values, variable.level, scale, ratings.group),
    )


def within(ends: tuple[float, float], interval: Interval | Undefined) -> Interval | Undefined:
    """An interval, if there is one, cut at the ends of the scale."""
    return interval if isinstance(interval, Undefined) else cut(ends, interval)


def cut(ends: tuple[float, float], interval: Interval) -> Interval:
    """The interval, truncated to the range of possible values."""
    if interval.low is None or interval.high is None:
        return interval
    low, high = np.clip((interval.low, interval.high), *ends).tolist()
    return replace(interval, low=low, high=high)


def _shares(ratings: Ratings) -> tuple[OptionShare, ...] | Undefined:
    options = ratings.variable.options
    if not options:
        return Undefined("This scale has points, not options.")
    names = np.array([*(option.key for option in options), None], dtype=object)
    missing = [option.key for option in options if option.missing]
    return or_undefined(shares, names[ratings.option], [option.key for option in options], missing)


def _majority(ratings: Ratings) -> MajorityShare | Undefined:
    """Items that most of their raters found positive; answers marked missing are no votes."""
    if not ratings.variable.options or not ratings.variable.counts_as:
        return Undefined("No option of this criterion is marked positive.")
    votes = np.where(ratings.number == 1, "positive", "other").astype(object)
    votes[np.isnan(ratings.number)] = None
    return or_undefined(majority, ratings.item, votes, "positive")


def _majorities(ratings: Ratings) -> dict[str, int]:
    """Option → number of items that it won; without options marked missing, empty where nothing was chosen."""
    options = [option.key for option in ratings.variable.options if not option.missing]
    values, places = ratings.among(options)
    won = or_undefined(majorities, ratings.item, values, places)
    return {} if isinstance(won, Undefined) else dict(zip(options, won, strict=True))


def _positions(ratings: Ratings) -> tuple[PositionMean, ...] | Undefined:
    variable = ratings.variable
    if not variable.per_response:
        return Undefined("Asked about the item, which has no position.")
    if why := variable.not_comparable:
        return why
    return or_undefined(position_means, ratings.number, ratings.position, ratings.system)


def agreement_of(ratings: Ratings) -> Agreement:
    """Agreement between annotators on one criterion."""
    variable, units = ratings.variable, ratings.units
    values, scale = ratings.categories
    table = or_undefined(agreement_table, units, values, variable.level, scale, ratings.group)
    category, note = _with_categories(ratings, units, values)
    return Agreement(
        criterion=variable.key,
        level=variable.level,
        table=table,
        category=category,
        apart=_set_apart(ratings, units),
        note=note,
        band=_band(table),
    )


def _band(table: AgreementTable | Undefined) -> str:
    limits = table if isinstance(table, Undefined) else table["alpha"].interval
    return "" if isinstance(limits, Undefined) else band_note(limits)


def _set_apart(ratings: Ratings, units: np.ndarray) -> AgreementTable | Undefined | None:
    """Agreement without the options that the rubric sets apart; None where nobody chose one."""
    options = ratings.variable.options
    if not np.isin(ratings.option, [place for place, option in enumerate(options) if option.apart]).any():
        return None
    values, places = ratings.among([option.key for option in options if not option.missing and not option.apart])
    return or_undefined(agreement_table, units, values, ratings.variable.level, places, ratings.group)


def _with_categories(
    ratings: Ratings, units: np.ndarray, values: np.ndarray
) -> tuple[AgreementTable | Undefined | None, str]:
    """Nominal agreement with the answers marked missing as categories of their own, and whether that matters."""
    options = ratings.variable.options
    asked = [option.title for option in options if option.missing]
    if not asked or not (np.isnan(values) & (ratings.option >= 0)).any():
        return None, ""
    every, places = ratings.among([option.key for option in options])
    category = or_undefined(agreement_table, units, every, "nominal", places, ratings.group)
    left_out = or_undefined(agreement_table, units, values, "nominal", None, ratings.group)
    missing, counted = (
        table if isinstance(table, Undefined) else table["alpha"].value for table in (left_out, category)
    )
    return category, category_note(missing, counted, " or ".join(asked), ratings.variable.level)
