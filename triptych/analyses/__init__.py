"""What the ratings of a study say, as typed numbers that pages and reports print."""

from triptych.analyses.conclusions import Finding, NotRun, verdict
from triptych.analyses.contrasts import Contrast, Example, RankingOf
from triptych.analyses.disagreement import AnnotatorDistance, Disagreement, ItemDisagreement
from triptych.analyses.study import LengthOf, OrdinalOf, StudyAnalysis, analyse, lengths, spans
from triptych.analyses.trust import AnnotatorLook, EffectsOf, PeopleOf, speeds_of

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
    "StudyAnalysis",
    "analyse",
    "lengths",
    "spans",
    "speeds_of",
    "verdict",
]
