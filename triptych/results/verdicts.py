"""The sentence about one criterion: which system is better, and how sure. Pages, reports and dry runs print it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

import numpy as np

from triptych.results.criterion import CriterionResult, chances_of_best, headline, spoken_number
from triptych.results.study_analysis import StudyAnalysis
from triptych.stats.analysis.collection import CLEAR
from triptych.stats.analysis.contrasts import Contrast, TestedDifference
from triptych.stats.analysis.groups import GroupDifference
from triptych.stats.analysis.statistics import BEYOND, MARGIN, SHARE_STYLES
from triptych.stats.equivalence import Equivalence
from triptych.stats.intervals import ENOUGH_ANNOTATORS, Estimate, Interval
from triptych.stats.numbers import PERCENT, counted, first_words, joined_words, p_words, signed_words, written
from triptych.stats.undefined import Undefined

D = TypeVar("D", bound=TestedDifference)
MAX_LISTED = 3  # pairs in a sentence
MAX_ORDERED = 5  # systems whose order is given pair by pair
END_GAP = 0.1  # difference of the shares of two groups' answers at an end of the scale, from which severity is named
NOT_COMPARABLE = "Shares cannot be compared, as systems were shown in sets of different size."
APPLIES_HERE = "applies to these annotators only: there are too few to generalise."
EXPLORATORY = "Exploratory: other criteria were declared before launch."


def extremes(analysis: StudyAnalysis, result: CriterionResult) -> str:
    """The systems with the highest and lowest mean. Also names those that are highest and lowest after adjusting for
    items and annotators, if they differ, since systems may not share all items and annotators; these alone where
    shares cannot be compared.
    """
    words = headline(result, analysis.names)
    apart = any(chances_of_best(of) for of in analysis.ratings if of.criterion.key == result.criterion.key)
    if apart:
        words = NOT_COMPARABLE
    contrasts = analysis.contrasts_of(result.criterion.key)
    means = {of.system: of.interval.mean for of in result.systems if isinstance(of.interval, Interval)}
    adjusted = dict.fromkeys(means, 0.0)
    for contrast in contrasts:
        if isinstance(contrast.difference, Undefined) or not {contrast.system, contrast.baseline} <= means.keys():
            return words
        adjusted[contrast.system] += contrast.difference.mean
        adjusted[contrast.baseline] -= contrast.difference.mean
    by_mean, by_adjusted = (sorted(of, key=lambda system: (-round(of[system], 9), system)) for of in (means, adjusted))
    if not contrasts or (not apart and (by_mean[0], by_mean[-1]) == (by_adjusted[0], by_adjusted[-1])):
        return words
    return (
        f"{words} After adjusting for items and annotators, {analysis.name(by_adjusted[0])} is the highest and "
        f"{analysis.name(by_adjusted[-1])} the lowest."
    )


def verdict(analysis: StudyAnalysis, criterion: str) -> str:
    """Which systems differ under a criterion, how sure and for which annotators; and whether this was declared."""
    contrasts = analysis.contrasts_of(criterion)
    if not contrasts:
        return ""
    if analysis.untested:
        return analysis.untested
    tested = [contrast for contrast in contrasts if contrast.is_tested]
    if not tested:
        return _why_untested(contrasts[0])
    clear = clear_of(contrasts)
    parts = [
        "Interim:" if analysis.collection.interim else "",
        f"{order(analysis, contrasts)}." if len(clear) > 1 else "",
        *(sized(analysis, contrast) for contrast in largest_first(clear)[:MAX_LISTED]),
        _more_clear(len(clear) - MAX_LISTED),
        _equal(analysis, tested, clear),
        _rest(analysis, [contrast for contrast in tested if contrast not in clear and not contrast.equal], len(clear)),
        _untested(analysis, [contrast for contrast in contrasts if contrast not in tested]),
        _of_annotators(analysis, criterion, tested),
        EXPLORATORY if contrasts[0].exploratory else "",
    ]
    return " ".join(part for part in parts if part)


def _more_clear(pairs: int) -> str:
    if pairs <= 0:
        return ""
    return "1 more pair differs clearly." if pairs == 1 else f"{pairs} more pairs differ clearly."


def between_groups(analysis: StudyAnalysis, criterion: str) -> str:
    """Whether groups of annotators see different differences between systems; empty with fewer than two groups."""
    between = [of for of in analysis.group_differences if of.criterion == criterion and of.other]
    if not between:
        return ""
    if analysis.untested:
        return analysis.untested
    tests = [of for of in between if of.is_tested]
    if not tests:
        return f"Groups cannot be compared. {_why_untested(between[0])}"
    clear = clear_of(tests)
    listed = largest_first(clear)[:MAX_LISTED]
    parts = [_group_sentence(analysis, of) for of in listed]
    if (more := len(clear) - MAX_LISTED) > 0:
        verb = "is" if more == 1 else "are"
        parts.append(f"{counted(more, 'more clear difference')} between groups {verb} in the table.")
    if not clear:
        p = min(_deciding(tests, speaks_for_others(tests)))
        parts.append(f"No clear difference between groups (smallest adjusted {p_words(p)}); they may still differ.")
    if not speaks_for_others(tests):
        parts.append("This applies to these annotators; others in their groups may differ.")
    parts += dict.fromkeys(_severity(analysis, of) for of in listed)
    return " ".join(part for part in parts if part)


def _group_sentence(analysis: StudyAnalysis, of: GroupDifference) -> str:
    """As in "expert and crowd differ on System 2 − System 1: +0.80 against −0.10, apart by 0.90 (0.31 to 1.49)"."""
    if isinstance(of.difference, Undefined):
        return of.difference.reason
    inside = [
        _signed(each, each.difference.mean)
        for each in _inside(analysis, of)
        if not isinstance(each.difference, Undefined)
    ]
    interval = of.difference.headline
    limits = interval.limits(lambda limit: _signed(of, limit))
    return (
        f"{of.group} and {of.other} differ on {analysis.name(of.system)} minus {analysis.name(of.baseline)}: "
        f"{' against '.join(inside)}, apart by {_signed(of, interval.mean)}{limits}{_sure(of.p_holm)}."
    )


def _severity(analysis: StudyAnalysis, of: GroupDifference) -> str:
    """Where the group with the smaller difference has more answers at an end than the other has at either."""
    smaller, larger = sorted(_inside(analysis, of), key=lambda each: each.distance)
    if smaller.higher != larger.higher and (smaller.clear or smaller.clear_here):
        return ""
    ratings = analysis.ratings_of(of.criterion)
    group_of = np.array([analysis.groups.get(name, "") for name in analysis.people_names])[ratings.annotator]
    rated = ~np.isnan(ratings.number)
    of_smaller, of_larger = (
        [float(np.mean(ratings.number[rated & (group_of == each.group)] == end)) for end in ratings.variable.ends]
        for each in (smaller, larger)
    )
    at = int(np.argmax(of_smaller))
    if round(of_smaller[at] - max(of_larger), 9) < END_GAP:
        return ""
    here, there = written(of_smaller[at], "share"), written(of_larger[at], "share")
    return (
        f"{here} of the answers in {smaller.group} and {there} in {larger.group} have the "
        f"{('lowest', 'highest')[at]} possible value: differences are smaller near an end of the scale, so "
        "severity alone may explain this."
    )


def _inside(analysis: StudyAnalysis, of: GroupDifference) -> list[GroupDifference]:
    """The same difference in each of the two groups."""
    place = of.criterion, of.system, of.baseline, ""
    return [
        each
        for each in analysis.group_differences
        if (each.criterion, each.system, each.baseline, each.other) == place and each.group in (of.group, of.other)
    ]


def _signed(difference: TestedDifference, size: float) -> str:
    return signed_words(size, difference.share)


def speaks_for_others(contrasts: Iterable[TestedDifference]) -> bool:
    """Whether any of the tests is about annotators like these, which needs enough of them."""
    return any(contrast.p is not None for contrast in contrasts)


def caution(contrasts: Collection[TestedDifference]) -> str:
    """A sentence if all tests apply to their own annotators only, since these are too few; else empty."""
    has_tests = any(contrast.is_tested for contrast in contrasts)
    return f"This {APPLIES_HERE}" if has_tests and not speaks_for_others(contrasts) else ""


def tested_here_only(analysis: StudyAnalysis, criteria: Iterable[str]) -> list[str]:
    """Titles of the criteria whose tests apply to their own annotators only, since these are too few."""
    return [analysis.title(key) for key in criteria if caution(analysis.contrasts_of(key))]


def caution_on(analysis: StudyAnalysis, criteria: Collection[str]) -> str:
    """Like `caution`, for a text about several criteria: names them if not all have so few annotators."""
    few = tested_here_only(analysis, criteria)
    if not few:
        return ""
    return f"This {APPLIES_HERE}" if len(few) == len(criteria) else f"On {joined_words(few)}, this {APPLIES_HERE}"


def clear_of(contrasts: Sequence[D]) -> list[D]:
    """The clear contrasts: for annotators like these or, without such a test, for these annotators."""
    alike = speaks_for_others(contrasts)
    return [contrast for contrast in contrasts if (contrast.clear if alike else contrast.clear_here)]


def clear_of_criteria(contrasts: Iterable[D]) -> list[D]:
    """Like `clear_of`, separately for each criterion, since only some may have enough annotators."""
    by_criterion: dict[str, list[D]] = defaultdict(list)
    for contrast in contrasts:
        by_criterion[contrast.criterion].append(contrast)
    return [contrast for of_one in by_criterion.values() for contrast in clear_of(of_one)]


def _deciding(tests: Iterable[TestedDifference], alike: bool) -> list[float]:
    """The adjusted p-values by which `clear_of` decides; alike: those for annotators like these."""
    return [p for of in tests if (p := of.holm if alike else of.holm_here) is not None]


def order(analysis: StudyAnalysis, contrasts: Sequence[Contrast]) -> str:
    """Which systems are above which: all in a row, or as in "System 3 is above System 1 and System 2".

    With more than five systems, only those tested that are not below another system, as all pairs would fill a page.
    """
    clear = clear_of(contrasts)
    below: dict[int, set[int]] = {system: set() for system in analysis.systems}
    for contrast in clear:
        below[contrast.higher].add(contrast.lower)
    if len(clear) == len(below) * (len(below) - 1) / 2:
        ranked = sorted(below, key=lambda system: -len(below[system]))
        return f"All differ clearly, from high to low: {', '.join(map(analysis.name, ranked))}"
    if len(below) > MAX_ORDERED:
        beaten = sorted(set().union(*below.values()))
        top = [system for system in tested_systems(contrasts) if system not in beaten]
        every = f"all{tested_only(contrasts)}"
        few = f"{every} but {names_of(analysis, beaten)}" if len(beaten) < len(top) else names_of(analysis, top)
        return f"Clearly below no other: {few}"
    together: dict[frozenset[int], list[int]] = defaultdict(list)
    for system, lower in below.items():
        together[frozenset(lower)].append(system)
    groups = sorted((pair for pair in together.items() if pair[0]), key=lambda pair: (-len(pair[0]), pair[1]))
    return "; ".join(
        f"{names_of(analysis, above)} {'is' if len(above) == 1 else 'are'} above {names_of(analysis, sorted(lower))}"
        for lower, above in groups
    )


def summary(analysis: StudyAnalysis, contrasts: Sequence[Contrast]) -> str:
    """The verdict in a few words without a full stop, to be followed by the criteria that it applies to."""
    clear = clear_of(contrasts)
    if analysis.untested:
        return "Estimates without tests"
    if not clear and all(contrast.equal for contrast in contrasts):
        return f"All systems are practically equal within ±{_size(contrasts[0], contrasts[0].margin or 0, MARGIN)}"
    if not clear:
        return f"No two systems{tested_only(contrasts)} differ clearly"
    wins = Counter(contrast.higher for contrast in clear)
    first, won = wins.most_common(1)[0]
    others = len({code for contrast in contrasts for code in (contrast.system, contrast.baseline)}) - 1
    if won == others:
        return f"{analysis.name(first)} is clearly above all others"
    return f"{order(analysis, contrasts)}{not_compared(analysis, contrasts)}"


def tested_systems(contrasts: Iterable[Contrast]) -> list[int]:
    """The systems that a test compares with another one, in order of their codes."""
    return sorted({code for of in contrasts if of.is_tested for code in (of.system, of.baseline)})


def not_compared(analysis: StudyAnalysis, contrasts: Iterable[Contrast]) -> str:
    """As in "; System 7 was not compared": the systems without a test, to end a sentence about the others."""
    without = sorted(set(analysis.systems).difference(tested_systems(contrasts)))
    if not without:
        return ""
    named = names_of(analysis, without) if len(without) <= MAX_ORDERED else f"{len(without)} systems"
    return f"; {named} {'was' if len(without) == 1 else 'were'} not compared"


def tested_only(contrasts: Iterable[Contrast]) -> str:
    """Which systems a sentence about all pairs covers, if some pairs have no test."""
    return " that can be compared" if not all(contrast.is_tested for contrast in contrasts) else ""


def names_of(analysis: StudyAnalysis, systems: Iterable[int]) -> str:
    """Names of systems as a list in a sentence."""
    return joined_words([analysis.name(system) for system in systems])


def _why_untested(contrast: TestedDifference) -> str:
    undefined = contrast.difference
    return str(undefined) if isinstance(undefined, Undefined) else undefined.these.sentence


def sized(analysis: StudyAnalysis, contrast: Contrast) -> str:
    """As in "System 2 is higher than System 1 by 0.41 (0.20 to 0.61)"."""
    if isinstance(contrast.difference, Undefined):
        return contrast.difference.reason
    interval = contrast.difference.headline
    better = contrast.higher or contrast.system
    other = contrast.baseline if better == contrast.system else contrast.system
    sign = 1 if better == contrast.system else -1
    limits = ""
    if interval.low is not None and interval.high is not None:
        low, high = sorted((sign * interval.low, sign * interval.high))
        limits = f" ({_plain(contrast, low)} to {_plain(contrast, high)})"
    by = f"{_plain(contrast, abs(interval.mean))}{' percentage points' if contrast.share else ''}{limits}"
    return f"{analysis.name(better)} is higher than {analysis.name(other)} by {by}{_sure(contrast.p_holm)}."


def _plain(contrast: Contrast, size: float) -> str:
    """A size rounded as in tables, without a unit."""
    return spoken_number(size, contrast.share).removesuffix(" %")


def _sure(p: float | None) -> str:
    return "" if p is None else f", {p_words(p)}"


def _equal(analysis: StudyAnalysis, tested: Sequence[Contrast], clear: Collection[Contrast]) -> str:
    """The pairs within the margin set beforehand; even a clear difference may be that small."""
    equal = [contrast for contrast in tested if contrast.equal]
    if not equal:
        return ""
    pairs = [
        pair_of(analysis, contrast) + (", though clearly different" if contrast in clear else "") for contrast in equal
    ]
    margin = _size(equal[0], equal[0].margin or 0, MARGIN)
    return f"Practically equal within ±{margin}: {first_words(pairs, MAX_ORDERED)}."


def _size(contrast: Contrast, size: float, style: str) -> str:
    style = SHARE_STYLES[style] if contrast.share else style
    return written(size, style).replace(PERCENT["points"], "percentage points")


def _rest(analysis: StudyAnalysis, unclear: Sequence[Contrast], others: int) -> str:
    """The pairs whose test is neither clear nor shows them equal; `others`: how many are clear."""
    if not unclear:
        return ""
    if not others:
        alike = speaks_for_others(analysis.contrasts_of(unclear[0].criterion))
        p = _deciding(unclear, alike)
        strict = f"; clear below {written(unclear[0].bound, 'bound')}" if unclear[0].bound < CLEAR else ""
        smallest = f" (smallest adjusted {p_words(min(p), unclear[0].bound)}{strict})" if p else ""
        tried = f" {_cannot_tell(analysis, unclear)}" if unclear[0].margin is not None else ""
        every = len(analysis.contrasts_of(unclear[0].criterion))
        among = "between the systems" if len(unclear) == every else "between the others"
        return f"No clear difference {among}{smallest}.{tried}"
    if len(unclear) > MAX_LISTED:
        return f"{len(unclear)} other pairs do not differ clearly."
    if unclear[0].margin is not None:
        return _cannot_tell(analysis, unclear)
    pairs = "; ".join(pair_of(analysis, contrast) for contrast in unclear)
    return f"Not clearly different: {pairs}."


def _cannot_tell(analysis: StudyAnalysis, unclear: Sequence[Contrast]) -> str:
    """Pairs that are neither shown to differ nor to be equal, with the differences that are excluded."""
    tested = [(contrast, contrast.equivalence) for contrast in unclear]
    pairs = [
        f"{pair_of(analysis, contrast)} (beyond ±{_size(contrast, of.excluded, BEYOND)} excluded)"
        for contrast, of in tested
        if isinstance(of, Equivalence)
    ]
    if not pairs:
        words = next((str(of) for _, of in tested if isinstance(of, Undefined)), "")
        return f"Whether systems are practically equal was not tested. {words}".strip()
    return f"Cannot tell whether equal: {first_words(pairs, MAX_LISTED)}."


def _untested(analysis: StudyAnalysis, contrasts: Sequence[Contrast]) -> str:
    """A sentence about the pairs without a test, with the reason of the first pair."""
    if not contrasts:
        return ""
    pairs = [pair_of(analysis, contrast) for contrast in contrasts]
    return f"Not compared: {first_words(pairs, MAX_LISTED)}. {_why_untested(contrasts[0])}"


def _of_annotators(analysis: StudyAnalysis, criterion: str, tested: Sequence[Contrast]) -> str:
    """Which annotators the verdict applies to, how far they differ, and what more annotators would allow."""
    count = _annotators(tested)
    if speaks_for_others(tested):
        only_here = [contrast for contrast in tested if contrast.clear_here and not contrast.clear]
        if not only_here:
            return ""
        pairs = [f"{analysis.name(of.higher)} is above {analysis.name(of.lower)}" for of in largest_first(only_here)]
        people = _annotators(only_here)
        these = "this annotator" if people == 1 else f"these {people} annotators"
        return f"For {these} only, also clear: {first_words(pairs, MAX_LISTED)}."
    if count == 1:
        return "This applies to a single annotator, who gave all or nearly all of the ratings; others may differ."
    missing = ENOUGH_ANNOTATORS - count
    return (
        f"This applies to these {count} annotators; others may differ.{_own(analysis, criterion, tested)} "
        f"{missing} more {'annotator' if missing == 1 else 'annotators'} would allow a test for annotators like these."
    )


def _annotators(contrasts: Iterable[Contrast]) -> int:
    """The largest number of annotators behind one of the differences."""
    return max(contrast.difference.annotators for contrast in contrasts if isinstance(contrast.difference, Estimate))


def _own(analysis: StudyAnalysis, criterion: str, tested: Sequence[Contrast]) -> str:
    """The range of the individual annotators' differences for the largest contrast."""
    effects, largest = analysis.compared[criterion].effects, largest_first(tested)[0]
    if isinstance(effects, Undefined):
        return ""
    own = effects.by_annotator(largest.system, largest.baseline).values()
    if len(own) < 2:
        return ""
    sides = (largest.system, largest.baseline)
    higher, lower = sides if largest.higher == largest.system else sides[::-1]
    sign = 1 if higher == largest.system else -1
    low, high = sorted((sign * of for of in own), key=float)[:: len(own) - 1]
    lowest, highest = (signed_words(of, largest.share) for of in (low, high))
    shown = f"{lowest.removesuffix(' percentage points')} to {highest}"
    return f" Their own differences of {analysis.name(higher)} from {analysis.name(lower)} run from {shown}."


def pair_of(analysis: StudyAnalysis, contrast: Contrast) -> str:
    """The two systems of a contrast, by name."""
    return f"{analysis.name(contrast.system)} and {analysis.name(contrast.baseline)}"


def largest_first(contrasts: Iterable[D]) -> list[D]:
    """The contrasts, with the largest mean difference first."""
    return sorted(contrasts, key=lambda contrast: -contrast.distance)
