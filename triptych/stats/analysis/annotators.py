"""Statistics of pairs of annotators and of single annotators; effects of screen position and of time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..coefficients import WEIGHTS, AgreementTable, intra_annotator
from ..columns import codes, pair_codes
from ..diagnostics import (
    AnnotatorAgreement,
    Drift,
    FlaggedRate,
    Severity,
    Speed,
    StraightLining,
    agreement_with_others,
    drifts,
    missing_rates,
    severities,
    speeds,
    straight_lining,
)
from ..effects import OrderEffect, PositionEffect, best_by_position, order_effect, position_effect
from ..icc import Reliability, reliability
from ..leave_one_out import WithoutAnnotator, without_each
from ..pairs import AnnotatorPair, PairMeans, annotator_pairs, pair_means
from ..rates import Rate, rate
from ..undefined import Undefined, or_undefined
from .ratings import NO_ORDER, Ratings, joined

NO_TIMES = Undefined("Not defined: the times of the annotations are unknown.")
TOO_FEW = Undefined("Not defined: too few ratings shared with others.")
NO_SEVERITY = Undefined("Not defined: severity does not show in choices of the best.")
NO_SCALE = Undefined("Not defined: no criterion has a scale of points.")


@dataclass(frozen=True)
class PeopleOf:
    """Annotators under one criterion: alpha without each, all pairs, and the reliability of their mean rating."""

    criterion: str
    without_each: tuple[WithoutAnnotator, ...] | Undefined
    pairs: tuple[AnnotatorPair, ...] | Undefined
    means: PairMeans | Undefined
    reliability: Reliability | Undefined


@dataclass(frozen=True)
class EffectsOf:
    """Effects of screen position and of time on the ratings of one criterion.

    unplaced: number of ratings with unknown position; share: whether the criterion's numbers are shares.
    """

    criterion: str
    position: PositionEffect | Undefined
    best: dict[int, Rate] | Undefined
    order: OrderEffect | Undefined
    unplaced: int
    share: bool


class Worker(NamedTuple):
    """An annotator with annotations that count, and how many."""

    annotator: str
    kind: str
    excluded: bool
    annotations: int


@dataclass(frozen=True)
class AnnotatorLook:
    """Diagnostics of one annotator, over all criteria; numbers are shares of the scale's width.

    flags: a sentence for each flag. Nothing here excludes anyone.
    """

    annotator: str
    kind: str
    excluded: bool
    annotations: int
    agreement: AnnotatorAgreement | Undefined
    severity: Severity | Undefined
    equal: StraightLining | Undefined
    drift: Drift | Undefined
    missing: FlaggedRate | Undefined
    flags: tuple[str, ...]


@dataclass(frozen=True)
class Repeated:
    """The units that one annotator rated twice, over all criteria.

    same: how often both ratings are equal. apart: mean distance of the two ratings as a share of the scale's width;
    two different options are a whole width apart.
    """

    same: Rate
    apart: float


@dataclass(frozen=True, eq=False)
class Pooled:
    """Ratings of all numeric criteria in one set of columns (n,).

    The values of each criterion are centred and divided by the width of its scale. at: when the item was assigned;
    criterion: its place.
    """

    value: np.ndarray
    unit: np.ndarray
    item: np.ndarray
    group: np.ndarray
    annotator: np.ndarray
    at: np.ndarray
    criterion: np.ndarray


def people_of(ratings: Ratings, names: Sequence[str]) -> PeopleOf:
    """Statistics of the annotators under one criterion; names: labels of the annotator codes."""
    level = ratings.variable.level
    values, scale = ratings.categories
    annotator_names, units = np.asarray(names, dtype=object)[ratings.annotator], ratings.units
    pairs = or_undefined(annotator_pairs, units, annotator_names, values, WEIGHTS[level], scale)
    ordered = not len(ratings) or not np.isnan(ratings.number).all()
    return PeopleOf(
        ratings.variable.key,
        or_undefined(without_each, units, annotator_names, values, level, scale),
        pairs,
        pairs if isinstance(pairs, Undefined) else pair_means(pairs),
        or_undefined(reliability, units, annotator_names, ratings.number) if ordered else NO_ORDER,
    )


def pairs_over_criteria(every: Sequence[Ratings], names: Sequence[str]) -> PairMeans | Undefined | None:
    """Means over pairs of annotators, with the units of all criteria together.

    None unless there are several criteria and all have the same scale of points. names: labels of the annotator codes.
    """
    scales = {(ratings.variable.level, ratings.variable.points) for ratings in every}
    if len(every) < 2 or len(scales) > 1 or not (scale := every[0].variable.points):
        return None
    units = np.concatenate([ratings.units * len(every) + place for place, ratings in enumerate(every)])
    number, annotator = joined(every, "number", "annotator")
    annotator_names = np.asarray(names, dtype=object)[annotator]
    weights = WEIGHTS[every[0].variable.level]
    pairs = or_undefined(annotator_pairs, units, annotator_names, number, weights, list(scale))
    return pairs if isinstance(pairs, Undefined) else pair_means(pairs)


def position_of(ratings: Ratings) -> PositionEffect | Undefined:
    """Effect of the position on screen on the ratings of one criterion."""
    if why := ratings.variable.not_comparable:
        return why
    columns = (ratings.number, ratings.item, ratings.annotator, ratings.position, ratings.system)
    return or_undefined(position_effect, *columns, share=ratings.variable.is_share)


def effects_of(ratings: Ratings, position: PositionEffect | Undefined) -> EffectsOf:
    """Effects of position and time under one criterion; position: the result of `position_of`."""
    why = ratings.variable.not_comparable
    if why:
        return EffectsOf(ratings.variable.key, why, why, why, 0, ratings.variable.is_share)
    columns = (ratings.number, ratings.item, ratings.annotator)
    timed = (*columns, ratings.system, ratings.at)
    share = ratings.variable.is_share
    return EffectsOf(
        ratings.variable.key,
        position,
        or_undefined(best_by_position, *columns, ratings.position),
        or_undefined(order_effect, *timed, share=share) if times_known(ratings) else NO_TIMES,
        int((ratings.position < 0).sum()),
        share,
    )


def times_known(ratings: Ratings | Pooled) -> bool:
    """Whether an annotator's work has an order in time; imported annotations may all have the same time."""
    people = ratings.annotator.astype(np.int64)
    annotations, moments = (len(pair_codes(people, codes(column)[0])[1]) for column in (ratings.item, ratings.at))
    return 2 * moments > annotations


def pooled(every: Sequence[Ratings]) -> Pooled:
    """The ratings of all numeric criteria together."""
    parts = [_scaled(ratings, place) for place, ratings in enumerate(every) if not np.isnan(ratings.number).all()]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)] if parts else [np.empty(0)] * 7
    return Pooled(*columns)


def _scaled(ratings: Ratings, place: int) -> tuple[np.ndarray, ...]:
    numeric = ratings.take(np.flatnonzero(~np.isnan(ratings.number)))
    with np.errstate(over="ignore", invalid="ignore"):  # statistics refuse what is too large
        value = (numeric.number - numeric.number.mean()) / numeric.variable.width
    unit, criterion = numeric.units * 1000 + place, np.full(len(value), place)
    return value, unit, numeric.item, numeric.group, numeric.annotator, numeric.at, criterion


def looks(workers: Iterable[Worker], every: Sequence[Ratings], names: Sequence[str]) -> Iterator[AnnotatorLook]:
    """The diagnostics of each worker; names: labels of the annotator codes in the ratings."""
    together = pooled(every)
    columns = (together.value, together.unit)
    by_group = (*columns, together.group, together.annotator)
    ordered = not np.isnan(together.value).all()
    timed = times_known(together)
    marked_missing, annotator = joined(every, "missing", "annotator")
    diagnostics = (
        or_undefined(agreement_with_others, *by_group, together.criterion) if ordered else NO_ORDER,
        _severities(every, together) if ordered else NO_ORDER,
        _equal_ratings(every),
        or_undefined(drifts, *columns, together.item, together.annotator, together.at) if timed else NO_TIMES,
        or_undefined(missing_rates, marked_missing.astype(float), annotator),
    )
    rows_by_code, code_of = tuple(map(_by_annotator, diagnostics)), {name: code for code, name in enumerate(names)}
    for worker in workers:
        code = code_of[worker.annotator]
        agreement, severity, equal, drift, missing = (
            rows if isinstance(rows, Undefined) else rows.get(code, TOO_FEW) for rows in rows_by_code
        )
        flags = tuple(_flags(agreement, equal, drift, missing))
        yield AnnotatorLook(*worker, agreement, severity, equal, drift, missing, flags)


def _severities(every: Sequence[Ratings], together: Pooled) -> tuple[Severity, ...] | Undefined:
    """Severities over all criteria but choices of the best."""
    graded = [ratings for ratings in every if ratings.variable.kind != "best"]
    counted = together if len(graded) == len(every) else pooled(graded)
    if not len(counted.value):
        return NO_SEVERITY
    return or_undefined(severities, counted.value, counted.unit, counted.group, counted.annotator)


def _by_annotator(rows: Sequence[Any] | Undefined) -> Mapping[int, Any] | Undefined:
    """A diagnostic's rows by the annotator's code, or the reason why there are none."""
    if isinstance(rows, Undefined):
        return rows
    return {row.annotator if hasattr(row, "annotator") else row.label: row for row in rows}


def _equal_ratings(every: Sequence[Ratings]) -> tuple[StraightLining, ...] | Undefined:
    """Straight-lining, over the largest group of criteria that share a scale."""
    groups: dict[tuple[float, float], list[Ratings]] = {}
    for ratings in every:
        if ratings.variable.kind in ("likert", "number"):
            groups.setdefault(ratings.variable.ends, []).append(ratings)
    if not groups:
        return NO_SCALE
    largest = max(groups.values(), key=len)
    return or_undefined(straight_lining, *joined(largest, "number", "item", "annotator"))


def _flags(
    agreement: AnnotatorAgreement | Undefined,
    equal: StraightLining | Undefined,
    drift: Drift | Undefined,
    missing: FlaggedRate | Undefined,
) -> Iterator[str]:
    if isinstance(agreement, AnnotatorAgreement) and agreement.alarm:
        yield agreement.sentence
    if isinstance(equal, StraightLining) and equal.flagged:
        yield f"{equal.equal} of {equal.n} annotations have the same rating throughout."
    if isinstance(drift, Drift) and drift.flagged:
        yield (
            f"Moves away from the others after {drift.turn} of {drift.n} annotations: from {drift.before:+z.0%} of the "
            f"scale to {drift.after:+z.0%}."
        )
    if isinstance(missing, FlaggedRate) and missing.flagged:
        yield f"{missing.rate.hits} of {missing.rate.n} answers are marked missing."


def reading_speeds(seconds: np.ndarray, words: np.ndarray, annotators: np.ndarray) -> tuple[Speed, ...] | Undefined:
    """How fast each annotator was; annotations without a time or of items without a text are left out.

    seconds, words: (n,) active seconds of each annotation and words to read in its item, NaN = not known. Times count
    in tenths of a second, as exports and reports write them.
    """
    seconds = np.array([round(time, 1) for time in seconds.tolist()], dtype=float)
    seconds[seconds <= 0] = np.nan
    has_text = words > 0
    return or_undefined(speeds, seconds[has_text], words[has_text], annotators[has_text])


def with_self(ratings: Ratings) -> AgreementTable | Undefined:
    """Agreement of annotators with themselves on one criterion, over the ratings of what was rated twice."""
    values, scale = ratings.categories
    columns = (ratings.annotator, ratings.units, values, ratings.variable.level, scale, ratings.item)
    return or_undefined(intra_annotator, *columns)


def repeated(every: Sequence[Ratings], names: Sequence[str]) -> dict[str, Repeated]:
    """By annotator: a summary of the units they rated twice, over all criteria; names: labels of annotator codes."""
    parts = [_repeat_distances(ratings) for ratings in every]
    if not parts:
        return {}
    annotator, distance = (np.concatenate(column) for column in zip(*parts, strict=True))
    by_name = {}
    for code in np.unique(annotator).tolist():
        apart = distance[annotator == code]
        by_name[names[code]] = Repeated(rate(int((apart == 0).sum()), len(apart)), float(apart.mean()))
    return by_name


def _repeat_distances(ratings: Ratings) -> tuple[np.ndarray, np.ndarray]:
    """(annotator codes, distances as shares of the scale), one for each unit that an annotator rated twice."""
    values, _ = ratings.categories
    present = np.flatnonzero(~np.isnan(values))
    people, units = ratings.annotator[present].astype(np.int64), ratings.units[present]
    order = np.lexsort((units, people))
    people, units, values = people[order], units[order], values[present][order]
    pair = np.flatnonzero((people[1:] == people[:-1]) & (units[1:] == units[:-1]))
    apart = np.abs(values[pair + 1] - values[pair])
    return people[pair], (apart > 0).astype(float) if ratings.variable.is_share else apart / ratings.variable.width
