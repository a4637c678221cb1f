"""The one read of the results page."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlmodel import Session

from triptych.results.frame.highlights import highlight_counts
from triptych.results.frame.model import Counted, Frame
from triptych.results.frame.upkeep import frame_of
from triptych.results.progress import Overview, overview
from triptych.storage.models import Study
from triptych.study.system_names import system_names


@dataclass(frozen=True)
class Board:
    """Everything the results page shows that is not computed from the frame's numbers alone."""

    study: Study
    frame: Frame
    names: dict[int, str]
    overview: Overview
    highlights: dict[str, int] = field(default_factory=dict)


def read_board(session: Session, study: Study, counted: Counted) -> Board:
    """The page's one read."""
    frame = frame_of(session, study)
    study = session.get_one(Study, study.id)  # as new as the frame, since an open page follows the frame's number
    return Board(
        study,
        frame,
        system_names(session, study),
        overview(session, study, counted),
        highlight_counts(session, study, counted) if frame.rubric.highlights else {},
    )
