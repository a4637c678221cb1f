"""What several test files share: item review."""

from __future__ import annotations

from triptych.results import item_review
from triptych.results.frame.model import Counted
from triptych.results.frame.upkeep import frame_of
from triptych.results.study_analysis import analyse
from triptych.study.system_names import system_names


def look_at(session, study, item=None, counted=Counted()):  # noqa: B008
    frame = frame_of(session, study)
    names = system_names(session, study)
    found = analyse(frame, counted, names).disagreement
    lines = item_review.lines(session, study, found, counted)
    return lines, item_review.look(session, study, frame, item or lines[0].item, counted)
