"""Analyses of frames, and the item review of a study, as the results pages ask for them."""

from __future__ import annotations

from typing import Any

from sqlmodel import Session

from triptych.results import item_review
from triptych.results.frame.model import Counted, Frame
from triptych.results.frame.upkeep import frame_of
from triptych.results.study_analysis import StudyAnalysis, analyse
from triptych.stats.comparison import SideBySide
from triptych.stats.intervals import Estimate, estimate
from triptych.storage.models import Study
from triptych.study.system_names import system_names

NAMES = {code: f"System {code}" for code in range(1, 10)}
EVERYTHING = Counted()


def analysis(frame: Frame, **scope: Any) -> StudyAnalysis:
    return analyse(frame, Counted(**scope), NAMES)


def look_at(session: Session, study: Study, item: str | None = None, counted: Counted = EVERYTHING) -> tuple[Any, Any]:
    """The lines of the item review, and the look at one item: the first line's, unless it is named."""
    frame = frame_of(session, study)
    disagreement = analyse(frame, counted, system_names(session, study)).disagreement
    lines = item_review.lines(session, study, disagreement, counted)
    return lines, item_review.look(session, study, frame, item or lines[0].item, counted)


def difference(table: SideBySide, system: str, baseline: str) -> Estimate:
    """The paired difference of two systems, which least squares give where every annotation holds all systems."""
    pairs = table.pairs(system, baseline)
    return estimate(pairs.differences, pairs.groups, pairs.annotators)
