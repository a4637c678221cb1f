"""Can the ratings be trusted: annotators two by two and one by one, and what the place on the screen does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from triptych.results.contrasts import not_comparable
from triptych.results.criterion import RESAMPLES, Ratings, agreement_values, criterion_ratings, ends_of, or_words
from triptych.results.frame.counted import counted_work
from triptych.results.frame.model import Counted, Frame
from triptych.results.texts import Texts
from triptych.stats.coefficients import AgreementTable, intra_annotator
from triptych.stats.columns import codes
from triptych.stats.diagnostics import (
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
from triptych.stats.effects import (
    BestShare,
    OrderEffect,
    PositionEffect,
    best_by_position,
    order_effect,
    position_effect,
)
from triptych.stats.icc import Reliability, reliability
from triptych.stats.leave_one_out import WithoutAnnotator, without_each
from triptych.stats.pairs import AnnotatorPair, PairMeans, annotator_pairs, pair_means
from triptych.stats.rates import Rate, rate
from triptych.storage.models import RATED

NO_TIMES = "Not defined: when the annotations were made is not known."
NO_SCALE = "Not defined: no criterion has a scale of points."
NO_NUMBERS = "Not defined: the options have no order."
WEIGHTS = {"nominal": "identity", "ordinal": "ordinal", "interval": "quadratic"}


@dataclass(frozen=True)
class PeopleOf:
    """Annotators under one criterion: alpha without each, every pair of them, and what their mean is worth."""

    criterion: str
    without_each: tuple[WithoutAnnotator, ...] | str
    pairs: tuple[AnnotatorPair, ...] | str
    means: PairMeans | str
    reliability: Reliability | str


@dataclass(frozen=True)
class EffectsOf:
    """What place and time do to the ratings of one criterion. unplaced: ratings whose place is not known."""

    criterion: str
    position: PositionEffect | str
    best: tuple[BestShare, ...] | str
    order: OrderEffect | str
    unplaced: int


@dataclass(frozen=True)
class AnnotatorLook:
    """What stands out about one annotator, over all criteria; numbers are shares of the scale's width.

    flags: a sentence for each thing that asks for a look. Nothing here excludes anybody.
    """

    annotator: str
    kind: str
    excluded: bool
    annotations: int
    agreement: AnnotatorAgreement | str
    severity: Severity | str
    equal: StraightLining | str
    drift: Drift | str
    missing: FlaggedRate | str
    flags: tuple[str, ...]


@dataclass(frozen=True)
class WithSelf:
    """How far annotators agree with themselves on one criterion, over what they rated twice without knowing."""

    criterion: str
    table: AgreementTable | str


@dataclass(frozen=True)
class Repeated:
    """What one annotator rated twice, over all criteria: how often the same, and how far apart on average.

    apart: mean distance as a share of the scale's width; two different options are a whole width apart.
    """

    same: Rate
    apart: float


@dataclass(frozen=True, eq=False)
class Pooled:
    """Ratings of all criteria with numbers as one, each centred and divided by the width of its scale: (n,) each."""

    value: np.ndarray
    unit: np.ndarray
    item: np.ndarray
    annotator: np.ndarray
    at: np.ndarray


def people_of(ratings: Ratings, names: Sequence[str]) -> PeopleOf:
    """Without each, pairs and reliability under one criterion; `names` are the labels of annotator codes."""
    level = ratings.criterion.scale.level.value
    values, scale = agreement_values(ratings)
    who, units = np.asarray(names, dtype=object)[ratings.annotator], ratings.units
    pairs = or_words(annotator_pairs, units, who, values, WEIGHTS[level], scale)
    numbers = NO_NUMBERS if np.isnan(ratings.number).all() and len(ratings) else None
    return PeopleOf(
        ratings.criterion.key,
        or_words(without_each, units, who, values, level, scale),
        pairs,
        pairs if isinstance(pairs, str) else pair_means(pairs),
        numbers or or_words(reliability, units, who, ratings.number),
    )


def position_of(ratings: Ratings) -> PositionEffect | str:
    """What the place on screen does under one criterion."""
    columns = (ratings.number, ratings.item, ratings.annotator, ratings.position, ratings.system)
    return not_comparable(ratings.criterion) or or_words(position_effect, *columns)


def effects_of(ratings: Ratings, position: PositionEffect | str) -> EffectsOf:
    """Place and time under one criterion; `position` as position_of finds it."""
    why = not_comparable(ratings.criterion)
    if why:
        return EffectsOf(ratings.criterion.key, why, why, why, 0)
    columns = (ratings.number, ratings.item, ratings.annotator)
    return EffectsOf(
        ratings.criterion.key,
        position,
        or_words(best_by_position, *columns, ratings.position),
        or_words(order_effect, *columns, ratings.system, ratings.at) if times_known(ratings) else NO_TIMES,
        int((ratings.position < 0).sum()),
    )


def times_known(ratings: Ratings | Pooled) -> bool:
    """Whether annotators submitted one annotation after the other; what was imported may carry one time for all."""
    people = ratings.annotator.astype(np.int64)
    annotations, moments = (_pairs(people, column) for column in (ratings.item, ratings.at))
    return 2 * moments > annotations


def _pairs(people: np.ndarray, beside: np.ndarray) -> int:
    """How many different values stand beside each of the people, summed."""
    code, distinct = codes(beside)
    return len(codes(people * (len(distinct) + 1) + code)[1])


def pooled(every: Sequence[Ratings]) -> Pooled:
    """All criteria with numbers as one column."""
    parts = [_scaled(ratings, place) for place, ratings in enumerate(every) if not np.isnan(ratings.number).all()]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)] if parts else [np.empty(0)] * 5
    return Pooled(*columns)


def _scaled(ratings: Ratings, place: int) -> tuple[np.ndarray, ...]:
    kept = ratings.take(np.flatnonzero(~np.isnan(ratings.number)))
    low, high = ends_of(kept.criterion)
    value = (kept.number - kept.number.mean()) / (high - low)
    return value, kept.units * 1000 + place, kept.item, kept.annotator, kept.at


def looks(frame: Frame, counted: Counted, every: Sequence[Ratings], names: Sequence[str]) -> Iterator[AnnotatorLook]:
    """One line per annotator whose ratings count."""
    one = pooled(every)
    columns = (one.value, one.unit)
    ordered = not np.isnan(one.value).all()
    timed = times_known(one)
    found = (
        _by_annotator(or_words(agreement_with_others, *columns, one.annotator) if ordered else NO_NUMBERS),
        _by_annotator(or_words(severities, *columns, one.item, one.annotator) if ordered else NO_NUMBERS),
        _by_annotator(_equal_ratings(every, timed)),
        _by_annotator(or_words(drifts, *columns, one.item, one.annotator, one.at) if timed else NO_TIMES),
        _by_annotator(
            or_words(
                missing_rates,
                np.concatenate([ratings.missing for ratings in every]).astype(float),
                np.concatenate([ratings.annotator for ratings in every]),
            )
        ),
    )
    work = counted_work(frame, counted)
    work = work.loc[work["state"].isin(RATED), ["annotator", "kind", "excluded"]].astype(
        {"annotator": str, "kind": str}
    )
    for (name, kind, excluded), count in work.value_counts(sort=False).items():
        parts = [of_all(names.index(name)) for of_all in found]
        yield AnnotatorLook(name, kind, bool(excluded), int(count), *parts, flags=tuple(_flags(*parts)))


def _by_annotator(found):
    """What a diagnostic says about an annotator's code, or why it says nothing."""
    if isinstance(found, str):
        return lambda code: found
    rows = {int(getattr(row, "annotator", getattr(row, "label", None))): row for row in found}
    return lambda code: rows.get(code, "Not defined: too few ratings beside those of others.")


def _equal_ratings(every: Sequence[Ratings], timed: bool) -> tuple[StraightLining, ...] | str:
    """Over the largest group of criteria that share a scale."""
    if not timed:
        return NO_TIMES
    groups: dict[tuple[float, float], list[Ratings]] = {}
    for ratings in every:
        if ratings.criterion.scale.kind in ("likert", "number"):
            groups.setdefault(ends_of(ratings.criterion), []).append(ratings)
    if not groups:
        return NO_SCALE
    largest = max(groups.values(), key=len)
    names = ("number", "item", "annotator", "at")
    return or_words(
        straight_lining, *(np.concatenate([getattr(ratings, name) for ratings in largest]) for name in names)
    )


def _flags(
    agreement: AnnotatorAgreement | str,
    severity: Severity | str,
    equal: StraightLining | str,
    drift: Drift | str,
    missing: FlaggedRate | str,
) -> Iterator[str]:
    if isinstance(agreement, AnnotatorAgreement) and agreement.alarm:
        yield agreement.sentence
    if isinstance(equal, StraightLining) and equal.flagged:
        yield f"{equal.equal} of {equal.n} annotations give everything the same rating."
    if isinstance(drift, Drift) and drift.flagged:
        yield (
            f"Moves away from the others after {drift.turn} of {drift.n} annotations: from {drift.before:+.0%} of the "
            f"scale to {drift.after:+.0%}."
        )
    if isinstance(missing, FlaggedRate) and missing.flagged:
        yield f"{missing.rate.hits} of {missing.rate.n} answers are marked missing."


def speeds_of(frame: Frame, counted: Counted, texts: Texts) -> tuple[Speed, ...] | str:
    """How fast each annotator was; annotations without a time or of items without a text are left out.

    Times count in tenths of a second, as exports and reports write them.
    """
    work = counted_work(frame, counted)
    work = work[work["state"].isin(RATED)]
    words = work["item"].astype(str).map(texts.reading).to_numpy(dtype=float)
    seconds = np.array([round(seconds, 1) for seconds in work["active_seconds"]], dtype=float)
    seconds[seconds <= 0] = np.nan
    known = ~np.isnan(words) & (words > 0)
    return or_words(speeds, seconds[known], words[known], work["annotator"].astype(str).to_numpy()[known])


def speed_flag(speed: Speed) -> str:
    """A sentence where an annotator was often too fast to read; empty elsewhere."""
    return f"{speed.unread} of {speed.n} annotations took too little time to read." if speed.flagged else ""


def with_self(twice: Frame, counted: Counted) -> tuple[WithSelf, ...]:
    """Agreement of annotators with themselves per criterion; `twice` as triptych.results.twice_rated gives it."""
    return tuple(_with_self(ratings) for ratings in criterion_ratings(twice, counted))


def _with_self(ratings: Ratings) -> WithSelf:
    values, scale = agreement_values(ratings)
    level = ratings.criterion.scale.level.value
    table = or_words(intra_annotator, ratings.annotator, ratings.units, values, level, scale, RESAMPLES)
    return WithSelf(ratings.criterion.key, table)


def repeated(twice: Frame, counted: Counted) -> dict[str, Repeated]:
    """By annotator: what she rated twice; `twice` as triptych.results.twice_rated gives it."""
    parts = [_twice(ratings) for ratings in criterion_ratings(twice, counted)]
    if not parts:
        return {}
    annotator, distance = (np.concatenate(column) for column in zip(*parts, strict=True))
    names, found = twice.ratings["annotator"].cat.categories, {}
    for code in np.unique(annotator).tolist():
        mine = distance[annotator == code]
        found[names[code]] = Repeated(rate(int((mine == 0).sum()), len(mine)), float(mine.mean()))
    return found


def _twice(ratings: Ratings) -> tuple[np.ndarray, np.ndarray]:
    """(annotator codes, distances as shares of the scale) of every pair of ratings that one annotator gave a unit."""
    values, _ = agreement_values(ratings)
    known = np.flatnonzero(~np.isnan(values))
    people, units = ratings.annotator[known].astype(np.int64), ratings.units[known]
    order = np.lexsort((units, people))
    people, units, values = people[order], units[order], values[known][order]
    pair = np.flatnonzero((people[1:] == people[:-1]) & (units[1:] == units[:-1]))
    apart = np.abs(values[pair + 1] - values[pair])
    low, high = ends_of(ratings.criterion)
    nominal = ratings.criterion.scale.kind in ("choice", "best")
    return people[pair], (apart > 0).astype(float) if nominal else apart / (high - low)
