"""The deciding criterion, the order of systems, and the verdict of the first screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from triptych.results.criterion import CriterionResult
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.verdicts import (
    EXPLORATORY,
    MAX_ORDERED,
    caution_on,
    clear_of,
    extremes,
    largest_first,
    names_of,
    not_compared,
    sized,
    summary,
    tested_only,
    tested_systems,
)
from triptych.results.verdicts import verdict as sentence_of
from triptych.stats.analysis.contrasts import Contrast
from triptych.stats.intervals import Interval

Order = Literal["number", "primary", "mean"]


@dataclass(frozen=True)
class FirstVerdict:
    """headline: the verdict in a sentence; second: size of the difference and the verdict of other criteria; groups:
    groups of systems without a clear difference, from the highest to the lowest, if too many for one sentence."""

    headline: str
    second: str = ""
    groups: tuple[str, ...] = ()


def primary(analysis: StudyAnalysis) -> str:
    """The deciding criterion: of those that compare systems the first declared one, else the first; "" if there is
    none."""
    with_results = [result.criterion.key for result in pictured(analysis)]
    return next(iter([key for key in with_results if analysis.contrasts_of(key)] or with_results), "")


def pictured(analysis: StudyAnalysis) -> list[CriterionResult]:
    """Criteria about responses with a mean or share for at least one system, those declared before launch first."""
    shown = [result for result in analysis.criteria if result.variable.per_response and _means(result)]
    return sorted(shown, key=lambda result: result.criterion.key not in analysis.declared)


def _means(result: CriterionResult) -> dict[int, float]:
    """System → its mean as a share of the scale, for systems that have a mean."""
    low, high = result.ends
    systems = [(system.system, system.interval) for system in result.systems]
    return {code: (of.mean - low) / ((high - low) or 1.0) for code, of in systems if isinstance(of, Interval)}


def in_order(analysis: StudyAnalysis, by: Order) -> list[int]:
    """The systems from the highest to the lowest, by the primary criterion or by the mean of all pictured criteria
    (shares of their scales); or by their numbers, an order that new ratings do not change."""
    key, shown = primary(analysis), pictured(analysis)
    if by == "number" or not shown:
        return analysis.systems
    results = [result for result in shown if by == "mean" or result.criterion.key == key]
    means = [_means(result) for result in results]
    heights = {code: [of[code] for of in means if code in of] for code in analysis.systems}
    return sorted(
        analysis.systems, key=lambda code: -round(float(np.mean(heights[code])), 9) if heights[code] else np.inf
    )


def first_verdict(analysis: StudyAnalysis) -> FirstVerdict:
    """The verdict on the primary criterion, and whether others show clear differences the other way round."""
    key = primary(analysis)
    result = next((result for result in analysis.criteria if result.criterion.key == key), analysis.criteria[0])
    contrasts = analysis.contrasts_of(key) if key else ()
    if not contrasts:
        return FirstVerdict(f"{_quoted(result.criterion.title)}: {extremes(analysis, result)}")
    if analysis.untested:
        return FirstVerdict(analysis.untested, f"{_quoted(result.criterion.title)}: {extremes(analysis, result)}")
    if not any(contrast.is_tested for contrast in contrasts):
        return FirstVerdict(f"{_quoted(analysis.title(key))}: {sentence_of(analysis, key)}", extremes(analysis, result))
    interim = "Interim: " if analysis.collection.interim else ""
    clear = largest_first(clear_of(contrasts))
    parts = [
        sized(analysis, clear[0]) if clear else extremes(analysis, result),
        EXPLORATORY if contrasts[0].exploratory else "",
        _others(analysis, key),
        caution_on(analysis, [key, *_clear_others(analysis, key)]),
    ]
    second = " ".join(filter(None, parts))
    if len(analysis.systems) <= MAX_ORDERED:
        return FirstVerdict(f"{interim}{summary(analysis, contrasts)} on {_quoted(analysis.title(key))}.", second)
    groups = groups_apart(tested_systems(contrasts), clear)
    words = f"{_in_groups(analysis, groups, tested_only(contrasts))}{not_compared(analysis, contrasts)}"
    return FirstVerdict(
        f"{interim}{_quoted(analysis.title(key))}: {words}.",
        second,
        tuple(names_of(analysis, group) for group in groups) if len(groups) > 1 else (),
    )


def _quoted(title: str) -> str:
    """The title, in quotation marks if it is a sentence."""
    return f"“{title}”" if title.endswith(("?", ".", "!", ":")) else title


def groups_apart(systems: Sequence[int], clear: Sequence[Contrast]) -> list[list[int]]:
    """Groups from the highest to the lowest: inside each no two systems differ clearly, and each system is clearly
    below one of the group before."""
    below = {(contrast.lower, contrast.higher) for contrast in clear}
    remaining, groups = list(systems), []
    while remaining:
        top = [code for code in remaining if not any((code, other) in below for other in remaining)] or remaining
        groups.append(top)
        remaining = [code for code in remaining if code not in top]
    return groups


def _in_groups(analysis: StudyAnalysis, groups: Sequence[Sequence[int]], tested: str) -> str:
    top, rest = groups[0], sum(map(len, groups[1:]))
    if not rest:
        return f"No two of the {len(top)} systems{tested} differ clearly"
    first = names_of(analysis, top) if len(top) <= MAX_ORDERED else f"{len(top)} systems"
    verb = "is" if len(top) == 1 else "are"
    follow = f"the other {rest} follow" + (f" in {len(groups) - 1} groups" if len(groups) > 2 else "")
    return f"{first} {verb} clearly below no other; {follow}"


def _others(analysis: StudyAnalysis, key: str) -> str:
    """Whether other criteria show clear differences the other way round."""
    others = [other for other in analysis.compared if other != key]
    if not others:
        return ""
    higher_of = {
        (contrast.system, contrast.baseline): contrast.higher for contrast in clear_of(analysis.contrasts_of(key))
    }
    against = [
        contrast
        for other in others
        for contrast in clear_of(analysis.contrasts_of(other))
        if higher_of.get((contrast.system, contrast.baseline), contrast.higher) != contrast.higher
    ]
    if against:
        first = largest_first(against)[0]
        more = f" ({len(against) - 1} more such differences)" if len(against) > 1 else ""
        higher, lower = analysis.name(first.higher), analysis.name(first.lower)
        kind = " (exploratory)" if first.exploratory else ""
        return f"The other way round on {analysis.title(first.criterion)}{kind}: {higher} is above {lower}{more}."
    if not higher_of:
        clear = _clear_others(analysis, key)
        exploratory = sum(analysis.contrasts_of(other)[0].exploratory for other in clear)
        kind = f" ({exploratory} exploratory)" if exploratory else ""
        return f"Other criteria: {len(clear)} of {len(others)} show clear differences{kind}."
    return "No other criterion shows a clear difference the other way round."


def _clear_others(analysis: StudyAnalysis, key: str) -> list[str]:
    """The other criteria that show clear differences."""
    return [other for other in analysis.compared if other != key and clear_of(analysis.contrasts_of(other))]
