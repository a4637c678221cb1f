"""What the ratings of a study say, as typed numbers that pages and reports print."""

from triptych.analyses.conclusions import Finding, NotRun, missing_answers, verdict
from triptych.analyses.contrasts import Contrast, Example, RankingOf
from triptych.analyses.disagreement import AnnotatorDistance, Disagreement, ItemDisagreement
from triptych.analyses.study import LengthOf, OrdinalOf, StudyAnalysis, analyse, lengths, spans
from triptych.analyses.trust import (
    AnnotatorLook,
    EffectsOf,
    PeopleOf,
    Repeated,
    WithSelf,
    repeated,
    speed_flag,
    speeds_of,
    with_self,
)

__all__ = [
    "AnnotatorDistance",
    "AnnotatorLook",
    "Contrast",
    "Disagreement",
    "EffectsOf",
    "Example",
    "Finding",
    "ItemDisagreement",
    "LengthOf",
    "NotRun",
    "OrdinalOf",
    "PeopleOf",
    "RankingOf",
    "Repeated",
    "StudyAnalysis",
    "WithSelf",
    "analyse",
    "lengths",
    "missing_answers",
    "repeated",
    "spans",
    "speed_flag",
    "speeds_of",
    "verdict",
    "with_self",
]
