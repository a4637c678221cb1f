"""Data of a report besides the ratings that count: repeated ratings, lengths of responses, highlights, judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from sqlmodel import Session

from triptych.results.adjudication import FinalValue, both_versions, final_values
from triptych.results.annotators import repeated, speeds_of, with_self
from triptych.results.frame.counted import counting
from triptych.results.frame.model import Frame
from triptych.results.frame.upkeep import twice_rated
from triptych.results.judges import judges, scope_of_judges
from triptych.results.pay import PayMeter
from triptych.results.study_analysis import StudyAnalysis, lengths, spans
from triptych.results.texts import Texts, readings_of, texts_of, words_of
from triptych.stats.analysis.study import BesideRatings
from triptych.stats.undefined import Undefined
from triptych.storage.models import Study


@dataclass(frozen=True, eq=False)
class Further:
    """Analyses beyond the ratings that count, and their data.

    twice: repeated ratings, from triptych.results.twice_rated, None without any. texts: of the study. readings: who
    read which text and marked what, from triptych.texts.readings_of; None if the rubric has no highlights. finals: of
    items with final values. numbers: the analyses.
    """

    twice: StudyAnalysis | None
    texts: Texts
    readings: pd.DataFrame | None
    finals: Mapping[str, FinalValue]
    numbers: BesideRatings


def further_of(session: Session, study: Study, analysis: StudyAnalysis, pay: PayMeter | Undefined) -> Further:
    """All of it for one analysis, read from the database."""
    readings = readings_of(session, study, analysis.frame, analysis.scope) if analysis.frame.rubric.highlights else None
    twice, texts = twice_rated(session, study, analysis.frame), texts_of(session, study)
    return further_from(analysis, twice, texts, readings, pay, final_values(session, study))


def further_from(
    analysis: StudyAnalysis,
    twice: Frame,
    texts: Texts,
    readings: pd.DataFrame | None,
    pay: PayMeter | Undefined,
    finals: Mapping[str, FinalValue],
) -> Further:
    """The same from data that was read; `twice` is from triptych.results.twice_rated."""
    counts = counting(twice, analysis.scope).any()
    has_words = not np.isnan(words_of(analysis.frame.ratings, texts.words)).all()
    numbers = BesideRatings(
        with_self=with_self(twice, analysis.scope) if counts else {},
        repeated=repeated(twice, analysis.scope) if counts else {},
        lengths=lengths(analysis, texts) if has_words else {},
        judges=tuple(judges(analysis.frame, analysis.scope, analysis.ratings)),
        spans=() if readings is None or readings.empty else spans(readings),
        speeds=speeds_of(analysis.frame, analysis.scope, texts),
        pay=pay.numbers if isinstance(pay, PayMeter) else None,
        finals=both_versions(analysis, finals),
    )
    again = replace(analysis, frame=twice) if len(twice.ratings) else None
    return Further(again, texts, readings, finals, numbers)


def beside(analysis: StudyAnalysis) -> np.ndarray:
    """(n,) whether a rating of the frame is a judge's score that is compared with the ratings that count."""
    return counting(analysis.frame, scope_of_judges(analysis.scope))
