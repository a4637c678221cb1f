"""The sentence about one criterion: which system is better, and how sure. Pages, reports and dry runs print it."""

from __future__ import annotations

from collections.abc import Iterable

from triptych.results.study_analysis import StudyAnalysis
from triptych.stats.analysis.contrasts import Contrast
from triptych.stats.undefined import Undefined

MAX_LISTED = 3  # pairs in a sentence
EXPLORATORY = " Exploratory: other criteria were declared before launch."


def verdict(analysis: StudyAnalysis, criterion: str) -> str:
    """Which system is better under a criterion, and how sure, in a sentence; and whether that was the question."""
    contrasts = analysis.contrasts_of(criterion)
    return _verdict(analysis, contrasts) + (EXPLORATORY if contrasts and contrasts[0].exploratory else "")


def _verdict(analysis: StudyAnalysis, contrasts: tuple[Contrast, ...]) -> str:
    differences = (contrast.difference for contrast in contrasts)
    first = next((difference for difference in differences if not isinstance(difference, Undefined)), None)
    if first is None:
        return str(contrasts[0].difference) if contrasts else ""
    clear = [contrast for contrast in contrasts if contrast.clear]
    if clear:
        return _sentences(analysis, clear) + _rest(len(clear), len(contrasts))
    if all(contrast.p is None for contrast in contrasts):
        words = first.alike.sentence.removeprefix("No interval: ")
        here = [contrast for contrast in contrasts if contrast.clear_here]
        if here:
            return f"{_sentences(analysis, here)} For these annotators only: {words}"
        return f"No clear difference: {words}"
    return f"No clear difference between the systems{_smallest(contrasts)}."


def _sentences(analysis: StudyAnalysis, contrasts: Iterable[Contrast]) -> str:
    return " ".join(_sentence(analysis, contrast) for contrast in largest_first(contrasts)[:MAX_LISTED])


def _sentence(analysis: StudyAnalysis, contrast: Contrast) -> str:
    """As in: System 2 is higher than System 1 by 0.41 (0.20 to 0.61)."""
    if isinstance(contrast.difference, Undefined):
        return contrast.difference.reason
    interval = contrast.difference.headline
    better = contrast.higher or contrast.system
    other = contrast.baseline if better == contrast.system else contrast.system
    sign = 1 if better == contrast.system else -1
    digits, scale, unit = (0, 100, " percentage points") if contrast.share else (2, 1, "")
    limits = ""
    if interval.low is not None and interval.high is not None:
        low, high = sorted((sign * scale * interval.low, sign * scale * interval.high))
        limits = f" ({low:.{digits}f} to {high:.{digits}f})"
    by = f"{abs(scale * interval.mean):.{digits}f}{unit}{limits}"
    return f"{analysis.name(better)} is higher than {analysis.name(other)} by {by}{_sure(contrast.holm)}."


def _sure(p: float | None) -> str:
    if p is None:
        return ""
    return ", p < 0.001" if p < 0.001 else f", p = {p:.3f}"


def _rest(clear: int, of: int) -> str:
    """How many other pairs there are, and how many of them differ clearly."""
    more, unclear = max(clear - MAX_LISTED, 0), of - clear
    words = f" {more} other {'pair differs' if more == 1 else 'pairs differ'} clearly." if more else ""
    if unclear:
        words += f" {unclear} other {'pair does' if unclear == 1 else 'pairs do'} not differ clearly."
    return words


def _smallest(contrasts: tuple[Contrast, ...]) -> str:
    adjusted = [contrast.holm for contrast in contrasts if contrast.holm is not None]
    return f" (smallest adjusted p = {min(adjusted):.2f})" if adjusted else ""


def pair_of(analysis: StudyAnalysis, contrast: Contrast) -> str:
    """The two systems of a contrast, by name."""
    return f"{analysis.name(contrast.system)} and {analysis.name(contrast.baseline)}"


def largest_first(contrasts: Iterable[Contrast]) -> list[Contrast]:
    """Those with the largest mean difference first."""
    return sorted(contrasts, key=lambda contrast: -contrast.distance)
