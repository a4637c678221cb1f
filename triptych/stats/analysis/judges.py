"""What a model that rated the same candidates is worth beside the annotators: stand-in test and correlations.

A judge answers a criterion as annotators do. What judges alone gave is a metric, on a scale of its own: it may go along
with any criterion, so it is set beside each of them, by correlation only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..correlation import Correlations, segment_correlation, system_correlation
from ..judge import AltTest, Measure, alt_test
from ..undefined import Undefined, or_undefined
from .ratings import Ratings

NO_ORDER = Undefined("Not defined: options without a number do not go up or down with anything.")
OWN_SCALE = Undefined("Not tested for standing in: no annotator rated on the scale of these scores.")


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
    stand_in: AltTest | Undefined
    within_items: Correlations | Undefined
    of_systems: Correlations | Undefined

    @property
    def is_metric(self) -> bool:
        return self.scores != self.criterion


def judges(
    people: Sequence[Ratings], scores: Sequence[Ratings], names: Sequence[str], epsilon: float
) -> Iterator[JudgeOf]:
    """Every judge beside people's ratings, criterion by criterion.

    people: ratings by criterion, without those of judges; scores: those of judges alone; names: labels of the annotator
    codes; epsilon: how much worse than an annotator a judge may be for being cheap.
    """
    given = {names[code] for one in scores for code in np.unique(one.annotator).tolist()}
    codes = {name: code for code, name in enumerate(names)}
    by_criterion = {one.variable.key: one for one in people}
    for judge in sorted(given):
        for one in scores:
            of_judge = one.take(np.flatnonzero(one.annotator == codes[judge]))
            if len(of_judge):
                yield from _beside(judge, by_criterion, of_judge, np.asarray(names, dtype=object), epsilon)


def _beside(
    judge: str, people: dict[str, Ratings], scores: Ratings, names: np.ndarray, epsilon: float
) -> Iterator[JudgeOf]:
    """A judge's scores of one criterion beside people's ratings of it; a metric beside all that compares systems."""
    if len(same := people[scores.variable.key]):
        yield _as_annotator(judge, same, scores, names, epsilon)
    elif not scores.variable.not_comparable:
        compared = (one for one in people.values() if len(one) and not one.variable.not_comparable)
        yield from (_as_metric(judge, one, scores) for one in compared)


def _as_annotator(judge: str, one: Ratings, scores: Ratings, names: np.ndarray, epsilon: float) -> JudgeOf:
    values, given = _values(one), _where_rated(one, scores, _values(scores))
    measure: Measure = "rmse" if _is_number(one) else "accuracy"
    compared = (one.number, one.item, one.system, given)
    return JudgeOf(
        judge,
        one.variable.key,
        scores.variable.key,
        _shared(one, values, given),
        or_undefined(alt_test, values, one.units, one.item, names[one.annotator], given, measure, epsilon),
        or_undefined(segment_correlation, *compared) if _is_number(one) else NO_ORDER,
        or_undefined(system_correlation, *compared) if _is_number(one) else NO_ORDER,
    )


def _as_metric(judge: str, one: Ratings, scores: Ratings) -> JudgeOf:
    given = _where_rated(one, scores, scores.number)
    compared = (one.number, one.item, one.system, given)
    return JudgeOf(
        judge,
        one.variable.key,
        scores.variable.key,
        _shared(one, one.number, given),
        OWN_SCALE,
        or_undefined(segment_correlation, *compared),
        or_undefined(system_correlation, *compared),
    )


def _where_rated(one: Ratings, scores: Ratings, given: np.ndarray) -> np.ndarray:
    """(n,) what the judge gave for the unit of each rating, NaN = nothing; given: one number for each score."""
    places = zip(scores.item.tolist(), scores.system.tolist(), strict=True)
    judged: dict[tuple[int, int], float] = {}
    for place, number in zip(places, given.tolist(), strict=True):
        judged.setdefault(place, number)
    rated = zip(one.item.tolist(), one.system.tolist(), strict=True)
    return np.array([judged.get(place, np.nan) for place in rated], dtype=float)


def _shared(one: Ratings, values: np.ndarray, given: np.ndarray) -> int:
    """Units with both numbers."""
    return len(np.unique(one.units[~np.isnan(given) & ~np.isnan(values)]))


def _is_number(one: Ratings) -> bool:
    return one.variable.level != "nominal"


def _values(one: Ratings) -> np.ndarray:
    """(n,) numbers, or codes of the options where they have no order; NaN = missing."""
    if _is_number(one):
        return one.number
    return np.where(one.missing | (one.option < 0), np.nan, one.option.astype(float))
