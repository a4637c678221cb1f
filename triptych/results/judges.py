"""What a model that rated the same candidates is worth beside the annotators: stand-in test and correlations.

A judge answers a criterion as annotators do. What judges alone gave is a metric, on a scale of its own: it may go along
with any criterion, so it is set beside each of them, by correlation only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from triptych.results.contrasts import not_comparable
from triptych.results.criterion import Ratings, criterion_ratings, or_words
from triptych.results.frame.model import Counted, Frame
from triptych.stats.correlation import Correlations, segment_correlation, system_correlation
from triptych.stats.judge import EPSILON, AltTest, alt_test
from triptych.storage.models import Kind

ALONE = frozenset({Kind.judge.value})


@dataclass(frozen=True)
class JudgeOf:
    """One judge under one criterion, or in words why a number is not defined.

    scores: the criterion that the judge's scores stand under: the same one, or that of a metric. stand_in: may the
    judge take an annotator's place? within_items, of_systems: how its scores go along with the annotators' ratings.
    shared: candidates that it and at least one annotator rated.
    """

    judge: str
    criterion: str
    scores: str
    shared: int
    stand_in: AltTest | str
    within_items: Correlations | str
    of_systems: Correlations | str

    @property
    def is_metric(self) -> bool:
        return self.scores != self.criterion


def judges_in(frame: Frame) -> list[str]:
    """Pseudonyms of the judges whose scores are in the frame."""
    rows = frame.work.loc[frame.work["kind"] == Kind.judge.value, "annotator"]
    return sorted(rows.astype(str).unique().tolist())


def metrics_in(frame: Frame, ratings: Sequence[Ratings]) -> frozenset[str]:
    """Criteria that judges scored and nobody of those rated whose ratings these are; none while nobody rated."""
    rated = {one.criterion.key for one in ratings if len(one)}
    scored = frame.ratings.loc[frame.ratings["kind"] == Kind.judge.value, "criterion"]
    return frozenset(scored.astype(str).unique()) - rated if rated else frozenset()


def margin(frame: Frame) -> float:
    """How much worse than an annotator a judge may be for being cheap (epsilon), by what the annotators are."""
    return EPSILON[frame.settings.expertise]


def judges(frame: Frame, scope: Counted, ratings: Sequence[Ratings]) -> list[JudgeOf]:
    """Every judge beside the people whose ratings these are, criterion by criterion.

    scope: the filters of `ratings`; of them all hold for the judges too but whose ratings count.
    """
    people = {one.criterion.key: one.take(np.flatnonzero(~_of_judges(frame, one))) for one in ratings}
    alone = criterion_ratings(frame, replace(scope, kinds=ALONE, annotators=frozenset()))
    names = frame.ratings["annotator"].cat.categories
    return [
        found
        for judge in judges_in(frame)
        for scores in (one.take(np.flatnonzero(names[one.annotator] == judge)) for one in alone)
        if len(scores)
        for found in _beside(frame, judge, people, scores)
    ]


def _of_judges(frame: Frame, one: Ratings) -> np.ndarray:
    return (frame.ratings["kind"] == Kind.judge.value).to_numpy()[one.rows]


def _beside(frame: Frame, judge: str, people: dict[str, Ratings], scores: Ratings) -> Iterator[JudgeOf]:
    """A judge's scores of one criterion beside people's ratings of it; a metric beside all that compares systems."""
    if len(same := people[scores.criterion.key]):
        yield _as_annotator(frame, judge, same, scores)
    elif not not_comparable(scores.criterion):
        compared = (one for one in people.values() if len(one) and not not_comparable(one.criterion))
        yield from (_as_metric(judge, one, scores) for one in compared)


def _as_annotator(frame: Frame, judge: str, one: Ratings, scores: Ratings) -> JudgeOf:
    values, given = _values(one), _where_rated(one, scores, _values(scores))
    people = frame.ratings["annotator"].cat.categories[one.annotator]
    measure = "rmse" if _is_number(one) else "accuracy"
    columns = (values, one.units, one.item, people, given, measure, margin(frame))
    compared = (one.number, one.item, one.system, given)
    return JudgeOf(
        judge,
        one.criterion.key,
        scores.criterion.key,
        _shared(one, values, given),
        or_words(alt_test, *columns),
        or_words(segment_correlation, *compared) if _is_number(one) else NO_ORDER,
        or_words(system_correlation, *compared) if _is_number(one) else NO_ORDER,
    )


def _as_metric(judge: str, one: Ratings, scores: Ratings) -> JudgeOf:
    given = _where_rated(one, scores, scores.number)
    compared = (one.number, one.item, one.system, given)
    return JudgeOf(
        judge,
        one.criterion.key,
        scores.criterion.key,
        _shared(one, one.number, given),
        OWN_SCALE,
        or_words(segment_correlation, *compared),
        or_words(system_correlation, *compared),
    )


def _where_rated(one: Ratings, scores: Ratings, given: np.ndarray) -> np.ndarray:
    """(n,) what the judge gave for the unit of each rating, NaN = nothing; given: one number for each score."""
    judged = pd.Series(given, index=pd.MultiIndex.from_arrays([scores.item, scores.system]))
    place = pd.MultiIndex.from_arrays([one.item, one.system])
    return judged[~judged.index.duplicated()].reindex(place).to_numpy(dtype=float)


def _shared(one: Ratings, values: np.ndarray, given: np.ndarray) -> int:
    """Units with both numbers."""
    return len(np.unique(one.units[~np.isnan(given) & ~np.isnan(values)]))


NO_ORDER = "Not defined: options without a number do not go up or down with anything."
OWN_SCALE = "Not tested for standing in: no annotator rated on the scale of these scores."


def _is_number(one: Ratings) -> bool:
    return one.criterion.scale.level != "nominal"


def _values(one: Ratings) -> np.ndarray:
    """(n,) numbers, or codes of the options where they have no order; NaN = missing."""
    if _is_number(one):
        return one.number
    return np.where(one.missing | (one.option < 0), np.nan, one.option.astype(float))
