"""Findings in the ratings that could change the conclusion, most important first; and checks that were not possible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from triptych.results.criterion import StudyRatings, titles_apart
from triptych.results.frame.table import Filters
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.verdicts import (
    MAX_LISTED,
    between_groups,
    clear_of,
    clear_of_criteria,
    largest_first,
    pair_of,
    tested_here_only,
)
from triptych.rubric.scales import Choice
from triptych.stats.analysis.annotators import EffectsOf
from triptych.stats.analysis.collection import CLEAR
from triptych.stats.analysis.contrasts import Contrast, TestedDifference
from triptych.stats.analysis.groups import TASTES, Hint
from triptych.stats.analysis.systems import Agreement
from triptych.stats.camps import Camps
from triptych.stats.coefficients import BANDS
from triptych.stats.diagnostics import MISSING_SHARE, AnnotatorAgreement
from triptych.stats.effects import PositionEffect
from triptych.stats.intervals import ENOUGH_ANNOTATORS
from triptych.stats.multiplicity import adjusted
from triptych.stats.numbers import counted, first_words, joined_words, p_words, written, written_or_reason
from triptych.stats.undefined import Undefined
from triptych.storage.models import Kind

BY_CHANCE = "In simulations without camps, such a hint appeared in up to 7 % of studies."
WITH_JUDGES = "Ratings by a judge model are counted together with those by people."
TOO_FEW_PEOPLE = " Without judges, {people} would be too few to know what others would prefer."
ONLY_JUDGES = "No ratings by people are counted, only scores of judge models, which are called annotators here."
GROUPS_APART = 0.1  # difference of a group's alpha from the alpha of all, from which it comes first


@dataclass(frozen=True)
class Finding:
    """Something that readers of the results should know; the higher `weight`, the more it affects the conclusion.

    kind: a short name; examples: filters for the ratings behind it, None for all ratings; unnamed: the sentence without
    names of annotators, where it names some but is not about each of them.
    """

    weight: int
    kind: str
    sentence: str
    examples: Filters | None = None
    unnamed: str = ""


@dataclass(frozen=True)
class NotRun:
    """A check that these data do not allow, the titles of the criteria it is missing for (none: all), and why."""

    check: str
    criteria: tuple[str, ...]
    why: str


def findings(analysis: StudyAnalysis) -> tuple[Finding, ...]:
    """Reasons for caution when reading the results, most important first."""
    sources = (
        _simulated,
        _collection,
        _exclusions,
        _ignored_items,
        _single_annotators,
        _these_only,
        _groups,
        _agreement,
        _late,
        missing_answers,
        _camps,
        _people,
        _place,
    )
    every = (finding for source in sources for finding in source(analysis))
    return tuple(sorted(every, key=lambda finding: -finding.weight))


def _simulated(analysis: StudyAnalysis) -> Iterator[Finding]:
    if Kind.simulated in analysis.kinds:
        yield Finding(100, "simulated", "Simulated annotators are included. None of this is about people.")
    if Kind.judge in analysis.kinds:
        people = analysis.n_annotators - analysis.n_judges
        is_few = people < ENOUGH_ANNOTATORS <= analysis.n_annotators
        few = TOO_FEW_PEOPLE.format(people=counted(people, "annotator")) if is_few else ""
        yield Finding(95, "judge", WITH_JUDGES + few if Kind.human in analysis.kinds else ONLY_JUDGES)


def _collection(analysis: StudyAnalysis) -> Iterator[Finding]:
    """Planned annotations that are not in yet, or results that were opened before all were."""
    numbers = analysis.collection
    if numbers.sentence:
        yield Finding(92 if numbers.interim else 20, "collection", numbers.sentence)


def _exclusions(analysis: StudyAnalysis) -> Iterator[Finding]:
    """Contrasts whose outcome depends on the exclusion of annotators."""
    without = f"{'without' if analysis.scope.with_excluded else 'with'} excluded annotators"
    for _, sentence in _turned(analysis, analysis.other_way, without):
        yield Finding(98, "exclusions", sentence, Filters(marks=frozenset({"excluded"})))


def _ignored_items(analysis: StudyAnalysis) -> Iterator[Finding]:
    """Contrasts whose outcome depends on leaving out ignored items."""
    without = f"{'without' if analysis.scope.with_ignored else 'with'} the items that most annotators ignored"
    for contrast, sentence in _turned(analysis, analysis.ignored_other_way, without):
        yield Finding(97, "ignored items", sentence, _of_pair(contrast))


def _turned(
    analysis: StudyAnalysis, other: StudyAnalysis | None, without: str
) -> Iterator[tuple[TestedDifference, str]]:
    """Differences whose conclusion is another one in the alternative analysis, each with its sentence."""
    if other is None:
        return
    here, there = _conclusions(analysis), _conclusions(other)
    for place, (difference, conclusion) in here.items():
        conclusion_there = there[place][1] if place in there else conclusion
        if conclusion == conclusion_there:
            continue
        here_words, there_words = conclusion.beside(conclusion_there), conclusion_there.beside(conclusion)
        if conclusion.sign * conclusion_there.sign < 0:
            narrower = conclusion_there.of_these and not conclusion.of_these
            there_words = f"turned around{' for these annotators only' if narrower else ''}"
        pair = f"{analysis.name(difference.system)} against {analysis.name(difference.baseline)}"
        groups = f", {place[-1]}," if place[-1] else ""
        sentence = f"{pair}{groups} is {here_words} here, and {there_words} {without}."
        yield difference, f"{analysis.title(difference.criterion)}: {sentence}"


@dataclass(frozen=True)
class _TestOutcome:
    """What the tests say of a difference.

    higher: the sign of a clear difference, else 0; here_only: of one that is clear for these annotators but not for
    others like them; equal: practically equal; too_few: whether annotators are too few for a test for others like them.
    """

    higher: int
    here_only: int
    equal: bool
    too_few: bool = field(compare=False)

    @property
    def sign(self) -> int:
        return self.higher or self.here_only

    @property
    def of_these(self) -> bool:
        """Whether a difference that is clear is so for these annotators only."""
        return bool(self.here_only) or self.too_few

    def beside(self, other: _TestOutcome) -> str:
        """This conclusion in words that differ from those of the other one."""
        if self.higher:
            clear = "clear for these annotators only" if self.too_few else "clear"
            return f"both {clear} and practically equal" if self.equal else clear
        if self.here_only != other.here_only and self.here_only:
            same = other.too_few and other.sign == self.sign
            return "not clear for annotators like these" if same else "clear for these annotators only"
        if self.equal:
            return "practically equal"
        return "not shown to be equal" if other.sign == self.sign else "not clear"


def _conclusions(
    analysis: StudyAnalysis,
) -> dict[tuple[str, int, int, str], tuple[TestedDifference, _TestOutcome]]:
    """(criterion, system, baseline, the two groups of annotators or "") → the difference, and what its tests say."""
    clear = clear_of_criteria(analysis.contrasts)
    every: dict[tuple[str, int, int, str], tuple[TestedDifference, _TestOutcome]] = {}
    for contrast in analysis.contrasts:
        conclusion = _concluded(contrast, contrast in clear, contrast.equal)
        every[contrast.criterion, contrast.system, contrast.baseline, ""] = contrast, conclusion
    between = [of for of in analysis.group_differences if of.other]
    clear_between = clear_of_criteria(between)
    for of in between:
        conclusion = _concluded(of, of in clear_between, False)
        every[of.criterion, of.system, of.baseline, of.place] = of, conclusion
    return every


def _concluded(of: TestedDifference, is_clear: bool, equal: bool) -> _TestOutcome:
    sign = 0 if isinstance(of.difference, Undefined) else int(np.sign(of.difference.mean))
    return _TestOutcome(sign if is_clear else 0, sign if of.clear_here and not is_clear else 0, equal, of.p is None)


def _single_annotators(analysis: StudyAnalysis) -> Iterator[Finding]:
    """Clear differences that depend on a single annotator."""
    for criterion, compared in analysis.compared.items():
        turned: dict[str, list[Contrast]] = {}
        for contrast in analysis.contrasts_of(criterion):
            if contrast.clear or contrast.clear_here:
                for code in compared.turned_by(contrast):
                    turned.setdefault(analysis.people_names[code], []).append(contrast)
        compared.refitted.clear()  # a hundred megabytes in a large study, and every pair is known now
        for annotator, contrasts in turned.items():
            pairs = [pair_of(analysis, contrast) for contrast in contrasts]
            listed = first_words(pairs, MAX_LISTED)
            noun = "difference" if len(pairs) == 1 else "differences"
            verb = "turns" if len(pairs) == 1 else "turn"
            sentence, unnamed = (
                f"{analysis.title(criterion)}: without {person} the {noun} of {listed} {verb} around."
                for person in (annotator, "one annotator")
            )
            yield Finding(96, "one annotator", sentence, _of_pair(contrasts[0], annotator), unnamed)


def _these_only(analysis: StudyAnalysis) -> Iterator[Finding]:
    """Differences that hold for these annotators and not for others like them."""
    if 0 < analysis.n_annotators < ENOUGH_ANNOTATORS and analysis.contrasts:
        people = counted(analysis.n_annotators, "annotator")
        words = f"{people}: too few to know what others would prefer; {ENOUGH_ANNOTATORS} are needed."
        yield Finding(70, "few annotators", words)
        return
    if here_only := tested_here_only(analysis, analysis.compared):
        sentence = f"Too few annotators rated {joined_words(here_only)} to know what others would prefer."
        yield Finding(70, "few annotators", sentence)
    for criterion in analysis.compared:
        contrasts = analysis.contrasts_of(criterion)
        shaky = {c: c.p for c in contrasts if c.clear_here and c.p is not None and c.p >= CLEAR}
        if shaky:
            largest = largest_first([*shaky])[0]
            pair = pair_of(analysis, largest)
            several = f"{len(shaky)} of {len(contrasts)} pairs, most of all {pair},"
            sentence = (
                f"{analysis.title(criterion)}: {pair if len(shaky) == 1 else several} differ for these annotators, "
                f"but other annotators like these might not agree ({p_words(shaky[largest])})."
            )
            yield Finding(80, "these annotators only", sentence, _of_pair(largest))


def _groups(analysis: StudyAnalysis) -> Iterator[Finding]:
    """Agreement within groups that the pooled agreement hides, and differences of systems that differ by group."""
    for pooled in analysis.agreement:
        inside = [
            (of.group, of.agreement)
            for of in analysis.group_agreement
            if of.criterion == pooled.criterion and not isinstance(of.agreement.alpha, Undefined)
        ]
        if isinstance(pooled.alpha, Undefined) or not inside:
            continue
        apart = any(_apart(agreement, pooled) for _, agreement in inside)
        listed = ", ".join(f"{_alpha(agreement)} inside {group}" for group, agreement in inside)
        sentence = f"{analysis.title(pooled.criterion)}: alpha is {listed}, against {_alpha(pooled)} pooled."
        criteria = Filters(criteria=frozenset({pooled.criterion}))
        yield Finding(93 if apart else 35, "groups", sentence, criteria)
    yield from _groups_differ(analysis)


def _apart(inside: Agreement, pooled: Agreement) -> bool:
    """Whether a group's alpha is far from that of all, and not by the chance of a few items: intervals apart."""
    here, of_all = inside.interval, pooled.interval
    if isinstance(inside.alpha, Undefined) or isinstance(pooled.alpha, Undefined):
        return False
    if isinstance(here, Undefined) or isinstance(of_all, Undefined):
        return False
    return abs(inside.alpha - pooled.alpha) > GROUPS_APART and (here[1] < of_all[0] or of_all[1] < here[0])


def _alpha(agreement: Agreement) -> str:
    """As in "0.41 (0.30 to 0.52)"."""
    number, interval = written_or_reason(agreement.alpha, "number"), agreement.interval
    if isinstance(interval, Undefined):
        return number
    return f"{number} ({written(interval[0], 'number')} to {written(interval[1], 'number')})"


def _groups_differ(analysis: StudyAnalysis) -> Iterator[Finding]:
    """Criteria on which two groups of annotators clearly disagree about two systems."""
    for criterion in analysis.compared:
        between = [of for of in analysis.group_differences if of.criterion == criterion and of.other]
        if clear_of(between):
            sentence = f"{analysis.title(criterion)}: {between_groups(analysis, criterion)}"
            yield Finding(88, "groups", sentence, Filters(criteria=frozenset({criterion})))


def largest_gap(analysis: StudyAnalysis) -> str | None:
    """The criterion on which alpha within a declared group differs most from the pooled alpha; None without both."""
    pooled = {each.criterion: each.alpha for each in analysis.agreement}
    gaps = {
        inside.criterion: abs(alpha - of_all)
        for inside in analysis.group_agreement
        if not isinstance(alpha := inside.agreement.alpha, Undefined)
        and not isinstance(of_all := pooled[inside.criterion], Undefined)
    }
    return max(gaps, key=gaps.__getitem__, default=None)


def _camps(analysis: StudyAnalysis) -> Iterator[Finding]:
    """Camps that nobody declared."""
    for hint in analysis.camps:
        people = [analysis.people_names[code] for code in hint.camps.first]
        listed = first_words(people, MAX_LISTED, ", ")
        sentence, unnamed = (_two_camps(analysis, hint, first) for first in (listed, str(len(people))))
        if hint.criterion == TASTES:
            yield Finding(72, "camps", sentence, None, unnamed)
        else:
            yield Finding(91, "camps", sentence, Filters(criteria=frozenset({hint.criterion})), unnamed)


def _two_camps(analysis: StudyAnalysis, hint: Hint, first: str) -> str:
    """A hint in words; first: the first camp's annotators, or their number."""
    others = len(hint.camps.second)
    camps = f"{first} on one side, {others} others on the other{_by_group(analysis, hint.camps)}"
    if hint.criterion == TASTES:
        return f"Annotators may form two camps with different preferences: {camps}. {BY_CHANCE}"
    inside, across = (written(mean or 0.0, "number") for mean in (hint.camps.inside, hint.camps.across))
    return (
        f"{analysis.title(hint.criterion)}: annotators may form two camps that agree more within ({inside} of the "
        f"largest possible correlation, on average) than across ({across}): {camps}. {BY_CHANCE}"
    )


def _by_group(analysis: StudyAnalysis, camps: Camps) -> str:
    """How many of the largest declared groups are in the first camp; empty without groups."""
    first, both = (
        Counter(analysis.groups.get(analysis.people_names[code], "") for code in side)
        for side in (camps.first, (*camps.first, *camps.second))
    )
    del both[""]
    shares = [f"{first[group]} of {people} in {group}" for group, people in both.most_common(MAX_LISTED)]
    return f" ({', '.join(shares)} on the first)" if shares else ""


def _agreement(analysis: StudyAnalysis) -> Iterator[Finding]:
    """Criteria on which annotators agree too little, or on which it matters how a missing answer counts."""
    low = [(each, each.alpha) for each in analysis.agreement if not isinstance(each.alpha, Undefined)]
    low = [(each, alpha) for each, alpha in low if alpha < BANDS[0]]
    rests = [pair for pair in low if clear_of(analysis.contrasts_of(pair[0].criterion))]
    others = [pair for pair in low if pair not in rests]
    for weight, group, then in ((75, rests, " Clear differences depend on these ratings."), (50, others, "")):
        if group:
            listed = ", ".join(
                f"{analysis.title(each.criterion)} {written(alpha, 'thousandths')}" for each, alpha in group
            )
            sentence = f"Annotators agree too little to rely on individual ratings (alpha below 0.667): {listed}.{then}"
            criteria = frozenset(each.criterion for each, _ in group)
            yield Finding(weight, "low agreement", sentence, Filters(criteria=criteria))
    for agreement in analysis.agreement:
        if agreement.note:
            yield Finding(40, "missing as a category", f"{analysis.title(agreement.criterion)}: {agreement.note}")


def _late(analysis: StudyAnalysis) -> Iterator[Finding]:
    """Ratings by leads who knew the systems' names."""
    work = analysis.work
    late = int(analysis.frame.after_unblinding(work).sum())
    if late:
        noun = "annotation" if late == 1 else "annotations"
        sentence = f"{late} {noun} by a lead came after unblinding, when the names of the systems were known to leads."
        yield Finding(88, "after unblinding", sentence, Filters(marks=frozenset({"after unblinding"})))


def missing_answers(analysis: StudyAnalysis) -> Iterator[Finding]:
    """Criteria with many answers like "I don't know": this points to the rubric, not to the annotators."""
    for ratings in analysis.ratings:
        scale = ratings.criterion.scale
        options = scale.options if isinstance(scale, Choice) else ()
        places = [place for place, option in enumerate(options) if option.apart]
        titles = titles_apart(ratings.criterion)
        apart = frozenset(option.title for option in options if option.apart)
        yield from _often(ratings, ratings.missing, "marked missing", Filters(marks=frozenset({"missing"})))
        yield from _often(ratings, np.isin(ratings.option, places), titles, Filters(values=apart))


def _often(ratings: StudyRatings, matches: np.ndarray, what: str, which: Filters) -> Iterator[Finding]:
    """A finding if more than a fifth of the answers match; what: what these answers are."""
    criterion, share = ratings.criterion, matches.mean() if len(matches) else 0
    if share > MISSING_SHARE:
        sentence = f"{criterion.title}: {written(share, 'share')} of the answers are {what}; is the question clear?"
        yield Finding(60, "missing answers", sentence, replace(which, criteria=frozenset({criterion.key})))


def _people(analysis: StudyAnalysis) -> Iterator[Finding]:
    for look in analysis.annotators:
        alarm = look.agreement.sentence if isinstance(look.agreement, AnnotatorAgreement) else ""
        for flag in look.flags:
            weight = 65 if flag == alarm else 45
            ratings = Filters(annotators=frozenset({look.annotator}))
            yield Finding(weight, "annotator", f"{look.annotator}: {flag}", ratings)


def _place(analysis: StudyAnalysis) -> Iterator[Finding]:
    """Effects of the place on screen, adjusted (Holm) over the criteria that have one."""
    effects = {key: effect for key, effect in analysis.positions.items() if isinstance(effect, PositionEffect)}
    tests = adjusted(effect.p for effect in effects.values())
    for (criterion, effect), test in zip(effects.items(), tests, strict=True):
        if test.holm is not None and test.holm < CLEAR:
            sentence = f"{analysis.title(criterion)}: the place on screen matters. {effect.sentence}"
            yield Finding(30, "order on screen", sentence, Filters(criteria=frozenset({criterion})))


def not_run(analysis: StudyAnalysis) -> tuple[NotRun, ...]:
    """Checks that these data do not allow; the same reason for several criteria is listed once."""
    return _grouped(analysis, _undefined(analysis))


def all_not_run(analysis: StudyAnalysis) -> tuple[NotRun, ...]:
    """Like `not_run`, including the ordinal model, which takes seconds."""
    models = (_words("Proportional odds", criterion, model) for criterion, model in analysis.ordinal_models.items())
    return _grouped(analysis, chain(_undefined(analysis), *models))


def _grouped(analysis: StudyAnalysis, undefined: Iterable[tuple[str, str, str]]) -> tuple[NotRun, ...]:
    reasons: dict[tuple[str, str], list[str]] = {}
    for check, criterion, why in undefined:
        titles = reasons.setdefault((check, why), [])
        if criterion and analysis.title(criterion) not in titles:
            titles.append(analysis.title(criterion))
    return tuple(NotRun(check, tuple(titles), why) for (check, why), titles in reasons.items())


def _undefined(analysis: StudyAnalysis) -> Iterator[tuple[str, str, str]]:
    """(check, criterion, reason) of every number that is Undefined."""
    for criterion, why in analysis.not_compared.items():
        yield "Comparison of systems", criterion, why
    yield from _undefined_pairs(analysis)
    for agreement in analysis.agreement:
        yield from _words("Krippendorff's alpha", agreement.criterion, agreement.alpha)
        yield from _words("Interval of alpha", agreement.criterion, agreement.interval)
    for people in analysis.people:
        yield from _words("Agreement without each annotator", people.criterion, people.without_each)
        yield from _words("Pairs of annotators", people.criterion, people.pairs)
        yield from _words("Intraclass correlation", people.criterion, people.reliability)
    for effects in analysis.effects:
        yield from _words("Effect of the place on screen", effects.criterion, effects.position)
        yield from _words("Change over time", effects.criterion, effects.order)
        yield from _unplaced(effects)
    for key, ranked in analysis.ranks.items():
        yield from _words("Friedman's test", key, ranked)
    for look in analysis.annotators:
        yield from _words("Drift of annotators", "", look.drift)
        yield from _words("Equal ratings of annotators", "", look.equal)
        yield from _words("Severity of annotators", "", look.severity)


def _undefined_pairs(analysis: StudyAnalysis) -> Iterator[tuple[str, str, str]]:
    """Checks that are not defined for pairs of systems, with the number of pairs unless all of a criterion's."""
    counts = Counter(words for contrast in analysis.contrasts for words in _undefined_of(contrast))
    of = Counter(contrast.criterion for contrast in analysis.contrasts)
    for (check, criterion, why), count in counts.items():
        yield check if count == of[criterion] else f"{check}: {count} of {of[criterion]} pairs", criterion, why


def _undefined_of(contrast: Contrast) -> Iterator[tuple[str, str, str]]:
    if isinstance(contrast.difference, Undefined):
        yield "Comparison of systems", contrast.criterion, contrast.difference.reason
    elif contrast.difference.test is None:
        yield "Test for annotators like these", contrast.criterion, contrast.difference.alike.sentence
    yield from _words("Signed-rank test", contrast.criterion, contrast.signed_rank)


def _unplaced(effects: EffectsOf) -> Iterator[tuple[str, str, str]]:
    if effects.unplaced:
        verbs = ("has", "is") if effects.unplaced == 1 else ("have", "are")
        words = f"{counted(effects.unplaced, 'rating')} {verbs[0]} an unknown place and {verbs[1]} left out."
        yield "Effect of the place on screen", effects.criterion, words


def _words(check: str, criterion: str, value: object) -> Iterator[tuple[str, str, str]]:
    if isinstance(value, Undefined):
        yield check, criterion, value.reason


def _of_pair(contrast: TestedDifference, annotator: str = "") -> Filters:
    people = frozenset({annotator}) if annotator else frozenset()
    both = frozenset({contrast.system, contrast.baseline})
    return Filters(annotators=people, systems=both, criteria=frozenset({contrast.criterion}))
