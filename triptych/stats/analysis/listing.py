"""Every number that a report prints, once: its place, its value, and how it is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from ..descriptive import MajorityShare
from ..diagnostics import Speed
from ..effects import PositionEffect
from ..intervals import Interval
from ..judge import AltTest
from ..preferences import Preferences
from ..proportional_odds import LogitDifference
from ..ranking import Ranking
from ..rates import Rate
from ..spans import SpanAgreement
from ..undefined import Undefined
from . import statistics as tables
from .annotators import AnnotatorLook, EffectsOf, PeopleOf
from .contrasts import Contrast
from .groups import GroupDifference
from .judges import JudgeOf
from .ratings import ABOUT_ITEM
from .statistics import Number, Place
from .study import BesideRatings, StudyNumbers
from .systems import CriterionNumbers, SystemResult

AS_CATEGORY, SET_APART = "with missing as a category: ", "without options set apart: "
NO_ANSWER = Undefined("Not defined: every answer is marked missing.")
LETTERS = "ABCDEF"  # of responses on screen
MOST_LISTED_PAIRS = 1_225  # of 50 annotators; of more, a report holds the means only
NO_TIME = Undefined("Not defined: no active time is known.")


def response(position: int) -> str:
    """The name of a position on screen, as annotators see it; a number beyond the last letter."""
    return f"Response {LETTERS[position] if position < len(LETTERS) else position + 1}"


@dataclass(frozen=True)
class Listing:
    """The list of one study. names: system number → the name that may be printed."""

    study: StudyNumbers
    names: Mapping[int, str]
    beside: BesideRatings = BesideRatings()

    def numbers(self) -> Iterator[Number]:
        """All numbers, in the order of results.csv."""
        study = self.study
        yield from Place("study").all(tables.STUDY, study)
        for result in study.criteria:
            yield from chain.from_iterable(self._system(result, system) for system in result.systems)
            yield from _positions(result)
        for means in self.beside.finals:
            place = Place("final values", means.criterion, self._name(means.system), share=means.share)
            yield from place.all(tables.FINAL_VALUES, means)
        yield from chain.from_iterable(map(self._contrast, study.contrasts))
        yield from chain.from_iterable(map(_agreement, study.criteria))
        yield from self._groups()
        yield from self._appendix()
        yield from chain.from_iterable(map(_effects, study.effects))
        for look in sorted(study.annotators, key=attrgetter("annotator")):
            yield from _annotator(look, self.beside.speeds)
        yield from _spans(self.beside.spans)
        if self.beside.pay:
            yield from Place("pay").all(tables.PAY, self.beside.pay)

    def _name(self, code: int) -> str:
        """A system's printable name; empty for the item itself."""
        return "" if code == ABOUT_ITEM else self.names[code]

    def _system(self, result: CriterionNumbers, system: SystemResult) -> Iterator[Number]:
        place = Place("systems", result.variable.key, self._name(system.system), share=result.share)
        yield from place.all(tables.SYSTEM, system)
        for point, count in zip(result.points, system.counts, strict=False):
            yield place.number(f"answers {point:.15g}", count, "count")
        for option in () if isinstance(system.shares, Undefined) else system.shares:
            yield place.number(f"answers {option.option}", option.count, "count")
            share = NO_ANSWER if option.share is None else option.share
            yield place.number(f"share {option.option}", share, "share")
        for key, won in system.majorities.items():
            yield place.number(f"majority {key}", won, "count")
        if isinstance(system.majority, MajorityShare):
            yield from place.all(tables.MAJORITY, system.majority)

    def _contrast(self, contrast: Contrast) -> Iterator[Number]:
        names = self._name(contrast.system), self._name(contrast.baseline)
        undefined = contrast.difference if isinstance(contrast.difference, Undefined) else None
        place = Place("contrasts", contrast.criterion, *names, contrast.share)
        yield from place.all_or_why(tables.CONTRAST, undefined or contrast, "difference")

    def _groups(self) -> Iterator[Number]:
        """Agreement inside declared groups of annotators, and differences of systems by group.

        The field `system` holds the group or the two systems, the field `baseline` the group or groups.
        """
        for of_group in self.study.group_agreement:
            place = Place("groups", of_group.criterion, of_group.group)
            yield place.number("annotators", of_group.annotators, "count")
            yield from place.all(tables.AGREEMENT, of_group.agreement.table)
        yield from chain.from_iterable(map(self._group_difference, self.study.group_differences))

    def _group_difference(self, of_group: GroupDifference) -> Iterator[Number]:
        systems = f"{self._name(of_group.system)} − {self._name(of_group.baseline)}"
        undefined = of_group.difference if isinstance(of_group.difference, Undefined) else None
        place = Place("group differences", of_group.criterion, systems, of_group.place, of_group.share)
        yield from place.all_or_why(tables.DIFFERENCE, undefined or of_group, "difference")

    def _appendix(self) -> Iterator[Number]:
        """Single annotators and pairs of annotators, models, ranks, strengths, lengths, repeats, judges."""
        study, systems = self.study, len(self.study.systems)
        for ratings, people in zip(study.ratings, study.people, strict=True):
            yield from _people(people, ratings.variable.level == "nominal")
        if study.pairs_over_criteria:
            yield from Place("annotator pairs").all(tables.PAIRS, study.pairs_over_criteria)
        for key, model in study.ordinal_models.items():
            yield from self._ordinal(key, model)
        for key, ranked in study.ranks.items() if systems > 2 else ():
            yield from self._ranks(key, ranked)
            yield from self._strengths(key, study.strengths[key]) if systems > 3 else ()
        for key, correlations in self.beside.lengths.items():
            yield from Place("length", key).all_or_why(tables.LENGTH, correlations, "Kendall")
        for key, table in self.beside.with_self.items():
            yield from Place("repeats", key).all(tables.AGREEMENT, table)
        for name, repeated in self.beside.repeated.items():
            yield from Place("repeats", "", name).all(tables.REPEATED, repeated)
        yield from chain.from_iterable(map(_judge, self.beside.judges))

    def _ordinal(self, key: str, model: tuple[LogitDifference, ...] | Undefined) -> Iterator[Number]:
        if isinstance(model, Undefined):
            yield from Place("ordinal", key).all_or_why(tables.ORDINAL_DIFFERENCE, model, "difference")
            return
        for pair in model:
            beside = Place("ordinal", key, self._name(pair.system), self._name(pair.baseline))
            yield from beside.all(tables.ORDINAL_DIFFERENCE, pair)

    def _ranks(self, key: str, ranked: Ranking | Undefined) -> Iterator[Number]:
        yield from Place("ranks", key).all_or_why(tables.RANKING, ranked, "Friedman p")
        if not isinstance(ranked, Ranking):
            return
        for system, rank in zip(ranked.systems, ranked.mean_ranks, strict=True):
            yield Place("ranks", key, self._name(system)).number("mean rank", rank, "number")
        for pair in ranked.differences:
            place = Place("ranks", key, self._name(pair.system), self._name(pair.baseline))
            yield from place.all(tables.RANK_DIFFERENCE, pair)

    def _strengths(self, key: str, fitted: Preferences | Undefined) -> Iterator[Number]:
        place = Place("strengths", key)
        if not isinstance(fitted, Preferences):
            yield from place.all_or_why(tables.STRENGTH, fitted, "strength")
            return
        yield from place.all(tables.STRENGTHS, fitted)
        for strength in fitted.strengths:
            yield from replace(place, system=self._name(strength.system)).all(tables.STRENGTH, strength)


def _positions(result: CriterionNumbers) -> Iterator[Number]:
    for mean in () if isinstance(result.positions, Undefined) else result.positions:
        place = Place("order", result.variable.key, response(mean.position), share=result.share)
        yield from place.all(tables.POSITION, mean)


def _agreement(result: CriterionNumbers) -> Iterator[Number]:
    agreement, place = result.agreement, Place("agreement", result.variable.key)
    yield from place.all(tables.AGREEMENT, agreement.table)
    if agreement.category is not None:
        yield from place.all(tables.ALPHA, agreement.category, AS_CATEGORY)
    if agreement.apart is not None:
        yield from place.all(tables.AGREEMENT, agreement.apart, SET_APART)
    for option, won in result.majorities.items():
        yield place.number(f"majority {option}", won, "count")


def _people(people: PeopleOf, nominal: bool) -> Iterator[Number]:
    """Statistics of annotators; correlation and distance of pairs only where the scale has an order."""
    key, reliability = people.criterion, people.reliability
    shown = tables.ONE_WAY if isinstance(reliability, Undefined) else tables.RELIABILITY
    yield from Place("reliability", key).all(shown, reliability)
    if isinstance(people.without_each, Undefined):
        yield from Place("without annotator", key).all_or_why(tables.WITHOUT, people.without_each, "alpha")
    else:
        for without in people.without_each:
            yield from Place("without annotator", key, without.annotator).all(tables.WITHOUT, without)
    pairs = () if isinstance(people.pairs, Undefined) else people.pairs
    for pair in pairs if len(pairs) <= MOST_LISTED_PAIRS else ():
        place = Place("annotator pairs", key, pair.first, pair.second)
        yield from place.all(tables.NOMINAL_PAIR if nominal else tables.PAIR, pair)
    place = Place("annotator pairs", key)
    yield place.number("pairs", len(pairs), "count")
    yield from place.all(tables.NOMINAL_PAIRS if nominal else tables.PAIRS, people.means)


def _judge(comparison: JudgeOf) -> Iterator[Number]:
    """Comparison of a judge; a metric has no stand-in test, and the field `baseline` holds the metric's criterion."""
    where = comparison.criterion, comparison.judge
    place = Place("metrics", *where, comparison.scores) if comparison.is_metric else Place("judges", *where)
    yield from place.all(tables.SHARED, comparison)
    if not comparison.is_metric:
        test = comparison.stand_in
        yield from place.all_or_why(tables.STAND_IN, test, "winning rate")
        for pair in test.comparisons if isinstance(test, AltTest) else ():
            yield from Place("judges", *where, str(pair.annotator)).all(tables.STAND_IN_PAIR, pair)
    yield from place.all_or_why(tables.WITHIN_ITEMS, comparison.within_items, "within items Kendall")
    yield from place.all_or_why(tables.OF_SYSTEMS, comparison.of_systems, "of systems Kendall")


class AtPlace(NamedTuple):
    """Effects of one position on screen; None where no response was shown."""

    shift: Interval | Undefined | None
    best: Rate | Undefined | None


def at_places(effects: EffectsOf) -> dict[int, AtPlace]:
    """By position: its mean shift from all positions, and how often the best response was there."""
    effect, best = effects.position, effects.best
    shifts = effect.shifts if isinstance(effect, PositionEffect) else {}
    shares = {} if isinstance(best, Undefined) else best
    return {
        at: AtPlace(
            shifts.get(at, effect if isinstance(effect, Undefined) else None),
            shares.get(at, best if isinstance(best, Undefined) else None),
        )
        for at in sorted({*shifts, *shares})
    }


def _effects(effects: EffectsOf) -> Iterator[Number]:
    place = Place("effects", effects.criterion, share=effects.share)
    yield from place.all_or_why(tables.POSITION_EFFECT, effects.position, "p")
    for position, effect in at_places(effects).items():
        yield from replace(place, system=response(position)).all(tables.AT_PLACE, effect)
    yield from place.all_or_why(tables.ORDER_EFFECT, effects.order, "first to last")


def _annotator(look: AnnotatorLook, speeds: tuple[Speed, ...] | Undefined) -> Iterator[Number]:
    """Numbers of one annotator over all criteria.

    Distances are shares of the scale's width; seconds are over annotations with a known time and a text.
    """
    place = Place("annotators", "", look.annotator)
    yield from place.all(tables.LOOK, look)
    yield from place.all_or_why(tables.DRIFT, look.drift, "drift")
    rows = () if isinstance(speeds, Undefined) else (speed for speed in speeds if speed.annotator == look.annotator)
    why = speeds if isinstance(speeds, Undefined) else NO_TIME
    yield from place.all_or_why(tables.SPEED, next(iter(rows), why), "seconds")


def _spans(agreements: tuple[SpanAgreement, ...] | Undefined) -> Iterator[Number]:
    """Agreement on highlights whatever their label, then on each label."""
    if isinstance(agreements, Undefined):
        yield from Place("highlights").all_or_why(tables.SPANS, agreements, "F1, same passage")
        return
    for agreement in agreements:
        yield from Place("highlights", "", agreement.label or "").all(tables.SPANS, agreement)
