"""Judges of a frame compared with the people whose ratings count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from triptych.results.criterion import StudyRatings, criterion_ratings
from triptych.results.frame.model import Counted, Frame
from triptych.stats.analysis import judges as beside
from triptych.stats.analysis.judges import JudgeOf
from triptych.stats.judge import EPSILON
from triptych.storage.models import Kind


def judges_in(frame: Frame) -> list[str]:
    """Pseudonyms of the judges whose scores are in the frame."""
    rows = frame.work.loc[frame.work["kind"] == Kind.judge.value, "annotator"]
    return sorted(rows.astype(str).unique().tolist())


def metrics_in(frame: Frame, ratings: Sequence[StudyRatings]) -> frozenset[str]:
    """Criteria that judges scored but none of the people in `ratings` rated; empty while nobody has rated."""
    rated = {asked.variable.key for asked in ratings if len(asked)}
    scored = frame.ratings.loc[frame.ratings["kind"] == Kind.judge.value, "criterion"]
    return frozenset(scored.astype(str).unique()) - rated if rated else frozenset()


def excluded_judges(frame: Frame) -> list[str]:
    """Pseudonyms of the judges that a lead excluded."""
    rows = frame.work.loc[(frame.work["kind"] == Kind.judge.value) & frame.work["excluded"], "annotator"]
    return sorted(rows.astype(str).unique().tolist())


def scope_of_judges(scope: Counted) -> Counted:
    """Which scores are compared with the ratings that count: filters of items apply, those of people do not.

    Excluded judges are compared too: a lead who tries many could otherwise show the best as the only one.
    """
    return replace(scope, kinds=frozenset({Kind.judge.value}), annotators=frozenset(), with_excluded=True)


def margin(frame: Frame) -> float:
    """How much worse than an annotator a judge may be, because it is cheap (epsilon); depends on the kind of study."""
    return EPSILON[frame.settings.expertise]


def judges(frame: Frame, scope: Counted, ratings: Sequence[StudyRatings]) -> list[JudgeOf]:
    """Every judge compared with the people in `ratings`, by criterion."""
    return list(beside.judges(*sides(frame, scope, ratings), margin(frame)))


def sides(
    frame: Frame, scope: Counted, ratings: Sequence[StudyRatings]
) -> tuple[list[StudyRatings], Sequence[StudyRatings], list[str]]:
    """Ratings of people and scores of judges, by criterion, and labels of the annotator codes."""
    of_judges = (frame.ratings["kind"] == Kind.judge.value).to_numpy()
    people = [asked.take(np.flatnonzero(~of_judges[asked.rows])) for asked in ratings]
    names = frame.ratings["annotator"].cat.categories.tolist()
    return people, criterion_ratings(frame, scope_of_judges(scope)), names
