"""Compares the effects in simulated answers with the results of their analysis. Pure: no database, no screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Any

import numpy as np
from scipy.stats import binom

from triptych.results.criterion import spoken, spoken_number, variable_of
from triptych.results.study_analysis import StudyAnalysis
from triptych.rubric.model import LETTERS, Criterion
from triptych.simulate.annotators import Crowd, generate_numbers
from triptych.stats.analysis.contrasts import Contrast
from triptych.stats.diagnostics import AnnotatorAgreement, Severity
from triptych.stats.effects import PositionEffect
from triptych.stats.undefined import Undefined

ANSWER_COUNT = 5000
LEVEL = 0.05
UNLIKELY = 0.01
STRONG, WEAK = 0.7, 0.3


class Recovered(StrEnum):
    yes = "yes"
    no = "no"
    unclear = "unclear"

    @classmethod
    def of(cls, right: bool, wrong: bool) -> Recovered:
        """Yes if the effect is right, even if it is wrong too; no if it is only wrong."""
        return cls.yes if right else cls.no if wrong else cls.unclear


@dataclass(frozen=True)
class RecoveryCheck:
    """One simulated effect: its name, what it is about, its simulated and estimated values, and whether it was
    recovered.
    """

    effect: str
    about: str
    planted: str
    observed: str
    recovered: Recovered


@dataclass(frozen=True, eq=False)
class Planted:
    """The results of infinitely many annotations by this crowd.

    answers: criterion → (n, systems) the number that an answer counts as, NaN if there is none, one row per imagined
    annotation; systems: blind codes in the order of the columns.
    """

    crowd: Crowd
    systems: tuple[int, ...]
    answers: dict[str, np.ndarray]

    def difference(self, criterion: str, system: int, baseline: int) -> float:
        """Mean of `system` minus `baseline`, in scale points; NaN if they never meet."""
        if self.crowd.effects[system] == self.crowd.effects[baseline]:
            return 0.0
        columns = self.answers[criterion]
        apart = columns[:, self.systems.index(system)] - columns[:, self.systems.index(baseline)]
        defined = apart[~np.isnan(apart)]
        return float(defined.mean()) if len(defined) else float("nan")


def imagined(crowd: Crowd, criteria: Sequence[Criterion], items: Sequence[Sequence[int]], rng: Random) -> Planted:
    """Answers of the crowd to an endless series of items, each by a random annotator and in a random order.

    items: the systems (blind codes) of each item of the study; one item is drawn for each annotation.
    """
    systems, people = tuple(sorted(crowd.effects)), list(crowd.severity)
    answers = {
        criterion.key: np.full((ANSWER_COUNT, len(systems)), np.nan)
        for criterion in criteria
        if not variable_of(criterion).not_comparable
    }
    columns = {code: column for column, code in enumerate(systems)}
    for row in range(ANSWER_COUNT):
        codes = rng.choice(items)
        order = rng.sample(codes, len(codes))
        qualities = crowd.qualities(order, rng)
        felt = crowd.felt(rng.choice(people), [qualities[code] for code in order], rng)
        for criterion in criteria:
            if criterion.key in answers:
                numbers = generate_numbers(criterion, felt, rng)
                answers[criterion.key][row, [columns[code] for code in order]] = numbers
    return Planted(crowd, systems, answers)


def checks(planted: Planted, analysis: StudyAnalysis) -> Iterator[RecoveryCheck]:
    """Each simulated effect with the estimate, without effects that the study cannot show."""
    if len(set(planted.crowd.effects.values())) > 1:
        yield from _rankings(planted, analysis)
    yield from _differences(planted, analysis)
    yield from _place(planted.crowd, analysis)
    yield from _careless(planted.crowd, analysis)
    yield from _severity(planted.crowd, analysis)


def _rankings(planted: Planted, analysis: StudyAnalysis) -> Iterator[RecoveryCheck]:
    """The order of the systems on each criterion; wrong only if a pair in the wrong order differs clearly."""
    for key, compared in analysis.compared.items():
        table = compared.table
        means: dict[str, dict[Any, float]] = {
            "planted": {code: np.nanmean(planted.answers[key][:, n]) for n, code in enumerate(planted.systems)},
            "observed": dict(zip(table.systems, np.nanmean(table.ratings, axis=0), strict=True)),
        }
        orders = {name: sorted(values, key=values.__getitem__, reverse=True) for name, values in means.items()}
        words = {name: " > ".join(analysis.name(code) for code in order) for name, order in orders.items()}
        turned = any(_judged(planted, contrast) == Recovered.no for contrast in analysis.contrasts_of(key))
        recovered = Recovered.of(orders["planted"] == orders["observed"], turned)
        yield RecoveryCheck("Ranking of systems", analysis.title(key), words["planted"], words["observed"], recovered)


def _differences(planted: Planted, analysis: StudyAnalysis) -> Iterator[RecoveryCheck]:
    """The sign of every difference, and how many of the intervals contain the simulated difference."""
    held = []
    for contrast in analysis.contrasts:
        if isinstance(contrast.difference, Undefined):
            continue
        interval, share = contrast.difference.headline, contrast.share
        truth = planted.difference(contrast.criterion, contrast.system, contrast.baseline)
        if interval.low is not None and interval.high is not None:
            held.append(interval.low <= truth <= interval.high)
        pair = f"{analysis.name(contrast.system)} − {analysis.name(contrast.baseline)}"
        about = f"{analysis.title(contrast.criterion)}: {pair}"
        yield RecoveryCheck(
            "Difference", about, spoken_number(truth, share), spoken(interval, share), _judged(planted, contrast)
        )
    if held:
        yield _intervals(held)


def _judged(planted: Planted, contrast: Contrast) -> Recovered:
    """yes: the interval is on the simulated side of 0, or contains 0 if there is no simulated difference."""
    if isinstance(contrast.difference, Undefined):
        return Recovered.unclear
    low, high = contrast.difference.headline.low, contrast.difference.headline.high
    if low is None or high is None:
        return Recovered.unclear
    truth = planted.difference(contrast.criterion, contrast.system, contrast.baseline)
    if low <= 0 <= high:
        return Recovered.unclear if truth else Recovered.yes
    return Recovered.yes if low * truth > 0 else Recovered.no


def _intervals(held: Sequence[bool]) -> RecoveryCheck:
    """Unclear if so many misses have a probability below 1 in 100; criteria share items, so they miss together."""
    missed, max_missed = held.count(False), binom.ppf(1 - UNLIKELY, len(held), LEVEL)
    recovered = Recovered.yes if missed <= max_missed else Recovered.unclear
    return RecoveryCheck(
        "Intervals of differences",
        "All of them",
        f"{100 * (1 - LEVEL):.0f} % hold the planted difference",
        f"{len(held) - missed} of {len(held)} do",
        Recovered.no if 2 * missed > len(held) else recovered,
    )


def _place(crowd: Crowd, analysis: StudyAnalysis) -> Iterator[RecoveryCheck]:
    """The advantage of the first place: the share of criteria that show it, at the level divided by their number."""
    effects = {key: effect for key, effect in analysis.positions.items() if isinstance(effect, PositionEffect)}
    if not effects:
        return
    seen = {key: effect for key, effect in effects.items() if effect.p < LEVEL / len(effects)}
    first = [key for key, effect in seen.items() if _gains_most(effect) == 0]
    words = f"In {len(seen)} of {len(effects)} criteria"
    if seen:
        shifts = [f"{analysis.title(key)}: {LETTERS[_gains_most(effect)]}" for key, effect in seen.items()]
        words += f" ({'; '.join(shifts)})"
    right = 2 * len(first) >= len(effects) if crowd.first else not seen
    recovered = Recovered.of(right, not crowd.first)
    planted = f"Response {LETTERS[0]} gains" if crowd.first else "None"
    yield RecoveryCheck("Place on the screen", "All criteria", planted, words, recovered)


def _gains_most(effect: PositionEffect) -> int:
    return max(effect.shifts, key=lambda position: effect.shifts[position].mean)


def _careless(crowd: Crowd, analysis: StudyAnalysis) -> Iterator[RecoveryCheck]:
    """Whether the correlation with the others flags exactly the annotators who answered at random.

    Wrong only if it flags others instead of them.
    """
    agreements = {
        look.annotator: look.agreement for look in analysis.annotators if isinstance(look.agreement, AnnotatorAgreement)
    }
    if not agreements:
        return
    alarmed = {annotator for annotator, agreement in agreements.items() if agreement.alarm}
    others_instead = bool(alarmed - crowd.careless and crowd.careless - alarmed)
    recovered = Recovered.of(alarmed == crowd.careless, others_instead)
    words = [
        str(annotator) if agreement.value is None else f"{annotator} ({agreement.value:.2f} with the others)"
        for annotator, agreement in agreements.items()
        if agreement.alarm
    ]
    result = f"Alarm for {', '.join(words)}" if alarmed else "No alarm"
    planted = f"{_names(crowd.careless)} at random" if crowd.careless else "Nobody"
    yield RecoveryCheck("Careless annotators", "Correlation with the others", planted, result, recovered)


def _severity(crowd: Crowd, analysis: StudyAnalysis) -> Iterator[RecoveryCheck]:
    """The strict annotator, and the recovery of all severities, without annotators who answer at random."""
    severities = {
        look.annotator: look.severity
        for look in analysis.annotators
        if isinstance(look.severity, Severity) and look.annotator not in crowd.careless
    }
    if crowd.severe and severities:
        strictest = min(severities, key=lambda name: severities[name].difference)
        high = severities[strictest].high
        clear = high is not None and high < 0
        yield RecoveryCheck(
            "Strict annotator",
            "Own rating minus the others'",
            crowd.severe,
            f"{strictest} ({100 * severities[strictest].difference:+.0f} % of the scale)",
            Recovered.of(clear and strictest == crowd.severe, clear),
        )
    planted = [crowd.severity[name] for name in severities]
    if len(severities) < 3 or np.ptp(planted) == 0:
        return
    # a strict annotator rates lower
    r = float(-np.corrcoef(planted, [severity.difference for severity in severities.values()])[0, 1])
    recovered = Recovered.of(r >= STRONG, not r >= WEAK)
    everybody = f"{len(severities)} annotators"
    yield RecoveryCheck(
        "Severities", everybody, "A strictness of each", f"Correlation with the planted ones {r:.2f}", recovered
    )


def _names(people: frozenset[str]) -> str:
    return " and ".join(sorted(people)) + (" answers" if len(people) == 1 else " answer")
