"""What several test files share: analyses."""

from __future__ import annotations

from typing import Any

from triptych.results.frame.model import Counted, Frame
from triptych.results.study_analysis import StudyAnalysis, analyse

NAMES = {code: f"System {code}" for code in range(1, 7)}


def analysis(frame: Frame, **scope: Any) -> StudyAnalysis:
    return analyse(frame, Counted(**scope), NAMES)
