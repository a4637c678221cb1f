"""What a model that rated the same candidates is worth beside the annotators: stand-in test and correlations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from triptych.analysis.correlation import Correlations, segment_correlation, system_correlation
from triptych.analysis.judge import EPSILON, AltTest, alt_test
from triptych.findings import Ratings, criterion_ratings, or_words
from triptych.models import Kind
from triptych.results import Counted, Frame

ALONE = frozenset({Kind.judge.value})


@dataclass(frozen=True)
class JudgeOf:
    """One judge under one criterion, or in words why a number is not defined.

    stand_in: may the judge take an annotator's place? within_items, of_systems: how its scores go along with the
    annotators' ratings. shared: candidates that it and at least one annotator rated.
    """

    judge: str
    criterion: str
    shared: int
    stand_in: AltTest | str
    within_items: Correlations | str
    of_systems: Correlations | str


def judges_in(frame: Frame) -> list[str]:
    """Pseudonyms of the judges whose scores are in the frame."""
    rows = frame.work.loc[frame.work["kind"] == Kind.judge.value, "annotator"]
    return sorted(rows.astype(str).unique().tolist())


def margin(frame: Frame) -> float:
    """How much worse than an annotator a judge may be for being cheap (epsilon), by what the annotators are."""
    return EPSILON[frame.settings.expertise]


def judges(frame: Frame, scope: Counted, ratings: Sequence[Ratings]) -> list[JudgeOf]:
    """Every judge beside the people whose ratings these are, criterion by criterion.

    scope: the filters of `ratings`; of them all hold for the judges too but whose ratings count.
    """
    people = [one.take(np.flatnonzero(~_of_judges(frame, one))) for one in ratings]
    alone = criterion_ratings(frame, replace(scope, kinds=ALONE, annotators=frozenset()))
    names = frame.ratings["annotator"].cat.categories
    return [
        found
        for judge in judges_in(frame)
        for one, scores in zip(people, alone, strict=True)
        for found in _beside(frame, judge, one, scores.take(np.flatnonzero(names[scores.annotator] == judge)))
    ]


def _of_judges(frame: Frame, one: Ratings) -> np.ndarray:
    return (frame.ratings["kind"] == Kind.judge.value).to_numpy()[one.rows]


def _beside(frame: Frame, judge: str, one: Ratings, scores: Ratings) -> Iterator[JudgeOf]:
    """Nothing for a criterion that the judge did not rate."""
    if not len(scores):
        return
    values, given = _values(one), _values(scores)
    judged = pd.Series(given, index=pd.MultiIndex.from_arrays([scores.item, scores.system]))
    place = pd.MultiIndex.from_arrays([one.item, one.system])
    beside = judged[~judged.index.duplicated()].reindex(place).to_numpy(dtype=float)
    both = ~np.isnan(beside) & ~np.isnan(values)
    measure = "rmse" if _is_number(one) else "accuracy"
    people = frame.ratings["annotator"].cat.categories[one.annotator]
    columns = (values, one.units, one.item, people, beside, measure, margin(frame))
    compared = (one.number, one.item, one.system, beside)
    yield JudgeOf(
        judge,
        one.criterion.key,
        len(np.unique(one.units[both])),
        or_words(alt_test, *columns),
        or_words(segment_correlation, *compared) if _is_number(one) else NO_ORDER,
        or_words(system_correlation, *compared) if _is_number(one) else NO_ORDER,
    )


NO_ORDER = "Not defined: options without a number do not go up or down with anything."


def _is_number(one: Ratings) -> bool:
    return one.criterion.scale.level != "nominal"


def _values(one: Ratings) -> np.ndarray:
    """(n,) numbers, or codes of the options where they have no order; NaN = missing."""
    if _is_number(one):
        return one.number
    return np.where(one.missing | (one.option < 0), np.nan, one.option.astype(float))
