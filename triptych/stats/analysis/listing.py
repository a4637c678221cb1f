"""Every number that a report prints, once: its place, its value, and how it is written."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Any

from ..coefficients import AgreementTable
from ..comparison import Dominance
from ..correlation import Correlations
from ..descriptive import MajorityShare, Shares
from ..diagnostics import AnnotatorAgreement, Speed
from ..effects import PositionEffect
from ..icc import Intraclass, Reliability
from ..intervals import Estimate
from ..judge import AltTest
from ..ordinal_model import OrdinalModel
from ..preferences import Preferences, Strength
from ..ranking import Ranking
from ..undefined import Undefined
from . import statistics as of
from .annotators import AnnotatorLook, EffectsOf, PeopleOf
from .contrasts import Contrast, RankingOf
from .judges import JudgeOf
from .ratings import ABOUT_ITEM
from .statistics import Number, Place
from .study import BesideRatings, OrdinalOf, StudyNumbers
from .systems import Agreement, CriterionNumbers, SystemResult, within

AS_CATEGORY, SET_APART = "with missing as a category: ", "without options set apart: "
FORMS = {"one_way": "ICC(1)", "absolute": "ICC(A)", "consistency": "ICC(C)"}
MEANS = {"kappa": "kappa", "correlation": "pearson", "distance": "mae"}
NO_ANSWER = Undefined("Not defined: every answer is marked missing.")
NO_TIME = Undefined("Not defined: no active time is known.")
NOBODY_ELSE = Undefined("Not defined: no other annotator has such a correlation.")
WITHOUT_TABLE = ("percent", "alpha")


def response(position: int) -> str:
    """What a reader calls a place on screen."""
    return f"Response {chr(ord('A') + position)}"


@dataclass(frozen=True)
class Listing:
    """The list of one study. names: of the systems, by their numbers, as they may be written."""

    study: StudyNumbers
    names: Mapping[int, str]
    beside: BesideRatings = BesideRatings()

    def numbers(self) -> Iterator[Number]:
        """All of them, in the order of results.csv."""
        study = self.study
        yield from Place("study").all(of.STUDY, study)
        for result in study.criteria:
            yield from chain.from_iterable(self._system(result, system) for system in result.systems)
            yield from _positions(result)
        yield from chain.from_iterable(map(self._contrast, study.contrasts))
        yield from chain.from_iterable(map(_agreement, study.agreement))
        yield from self._appendix()
        yield from chain.from_iterable(map(_effects, study.effects))
        for look in sorted(study.annotators, key=attrgetter("annotator")):
            yield from _annotator(look)
            yield from _speed(look.annotator, self.beside.speeds)
        yield from _spans(self.beside.spans)
        if self.beside.pay:
            yield from Place("pay").all(of.PAY, self.beside.pay)

    def _name(self, code: int) -> str:
        """A system's name that may be written; nothing for the item itself."""
        return "" if code == ABOUT_ITEM else self.names[code]

    def _system(self, result: CriterionNumbers, system: SystemResult) -> Iterator[Number]:
        place = Place("systems", result.variable.key, self._name(system.system), share=result.share)
        yield from place.all(tuple(s for s in of.SYSTEM if not (result.share and s.name in of.OF_POINTS)), system)
        yield from place.limits("interval", system.interval, of.VALUE)
        for point, count in zip(result.points, system.counts, strict=False):
            yield place.number(f"answers {point:g}", count, "count")
        if isinstance(system.shares, Shares):
            for option in system.shares.options:
                yield place.number(f"answers {option.option}", option.count, "count")
                share = NO_ANSWER if option.share is None else option.share
                yield place.number(f"share {option.option}", share, "share")
        if isinstance(system.majority, MajorityShare):
            yield from place.all(of.MAJORITY, system.majority)

    def _contrast(self, contrast: Contrast) -> Iterator[Number]:
        place = Place(
            "contrasts", contrast.criterion, self._name(contrast.system), self._name(contrast.baseline), contrast.share
        )
        difference = contrast.difference
        if not isinstance(difference, Estimate):
            yield place.number("difference", difference, of.CHANGE)
            return
        yield from place.all(of.CONTRAST, contrast)
        yield from place.limits("these annotators", difference.these, of.CHANGE)
        yield from place.limits("annotators like these", difference.alike, of.CHANGE)
        yield from place.all(of.TESTS, contrast)
        if isinstance(contrast.dominance, Dominance):
            yield from place.all(of.DOMINANCE, contrast.dominance)
            balance = contrast.dominance.estimate.headline
            yield place.number("win minus loss", balance.mean, "number")
            yield from place.limits("win minus loss", within((-1, 1), balance), "number")
        yield from place.all(of.SIGNED_RANK, contrast)

    def _appendix(self) -> Iterator[Number]:
        """Annotators one by one and two by two, models, ranks, strengths, lengths, repeats, judges."""
        study, systems = self.study, len(self.study.systems)
        for ratings, people in zip(study.ratings, study.people, strict=True):
            yield from _people(people, ratings.variable.level == "nominal")
        yield from chain.from_iterable(map(self._ordinal, study.ordinal_models))
        for ranking in study.rankings if systems > 2 else ():
            yield from self._ranks(ranking)
            yield from self._strengths(ranking) if systems > 3 else ()
        for length in self.beside.lengths:
            yield from Place("length", length.criterion).all_or_why(of.WITHIN_ITEMS, length.correlations, "Kendall")
        for twice in self.beside.with_self:
            yield from _counted(Place("repeats", twice.criterion), twice.table)
        for name, repeated in self.beside.repeated.items():
            yield from Place("repeats", "", name).all(of.REPEATED, repeated)
        for judge in self.beside.judges:
            yield from _metric(judge) if judge.is_metric else _judge(judge)

    def _ordinal(self, fit: OrdinalOf) -> Iterator[Number]:
        place, model = Place("ordinal", fit.criterion), fit.model
        if not isinstance(model, OrdinalModel):
            yield place.number("difference", model, "difference")
            return
        for pair in model.differences:
            beside = Place("ordinal", fit.criterion, self._name(pair.system), self._name(pair.baseline))
            yield from beside.all(of.ORDINAL_DIFFERENCE, pair)
        yield from place.all(of.ORDINAL_SPREADS, model)

    def _ranks(self, ranking: RankingOf) -> Iterator[Number]:
        ranked = ranking.ranking
        yield from Place("ranks", ranking.criterion).all_or_why(of.RANKING, ranked, "Friedman p")
        if not isinstance(ranked, Ranking):
            return
        for system, rank in zip(ranked.systems, ranked.mean_ranks, strict=True):
            yield Place("ranks", ranking.criterion, self._name(system)).number("mean rank", rank, "number")
        for pair in ranked.differences:
            place = Place("ranks", ranking.criterion, self._name(pair.system), self._name(pair.baseline))
            yield from place.all(of.RANK_DIFFERENCE, pair)

    def _strengths(self, ranking: RankingOf) -> Iterator[Number]:
        place, fitted = Place("strengths", ranking.criterion), ranking.preferences
        if not isinstance(fitted, Preferences):
            yield place.number("strength", fitted, "difference")
            return
        yield from place.all(of.STRENGTHS, fitted)
        for strength in fitted.strengths:
            yield from _strength(Place("strengths", ranking.criterion, self._name(strength.system)), strength, fitted)


def _positions(result: CriterionNumbers) -> Iterator[Number]:
    for mean in () if isinstance(result.positions, Undefined) else result.positions:
        place = Place("order", result.variable.key, response(mean.position), share=result.share)
        yield from place.all(of.POSITION, mean)


def _coefficients(
    place: Place, table: AgreementTable | Undefined, before: str = "", only: Collection[str] = ()
) -> Iterator[Number]:
    """Coefficients of agreement, all or some, or the words why there is no table."""
    if isinstance(table, Undefined):
        yield from (place.number(f"{before}{key}", table, "number") for key in only or WITHOUT_TABLE)
        return
    for coefficient in table.coefficients:
        if not only or coefficient.key in only:
            style = "share" if coefficient.key == "percent" else "number"
            yield place.number(f"{before}{coefficient.key}", coefficient.value, style)
            yield from place.limits(f"{before}{coefficient.key}", coefficient.interval, style)


def _counted(place: Place, table: AgreementTable | Undefined, before: str = "") -> Iterator[Number]:
    """The units behind a table of agreement, then all its coefficients."""
    yield place.number(f"{before}units", 0 if isinstance(table, Undefined) else table.units, "count")
    yield from _coefficients(place, table, before)


def _agreement(agreement: Agreement) -> Iterator[Number]:
    place = Place("agreement", agreement.criterion)
    yield from _counted(place, agreement.table)
    if agreement.category is not None:
        yield from _coefficients(place, agreement.category, AS_CATEGORY, only=("alpha",))
    if agreement.apart is not None:
        yield from _counted(place, agreement.apart, SET_APART)


def _people(people: PeopleOf, nominal: bool) -> Iterator[Number]:
    """Correlation and distance of two annotators only where the scale has an order."""
    key = people.criterion
    yield from _reliability(Place("reliability", key), people.reliability)
    if isinstance(people.without_each, Undefined):
        yield Place("without annotator", key).number("alpha", people.without_each, "number")
    else:
        for without in people.without_each:
            yield from Place("without annotator", key, without.annotator).all(of.WITHOUT, without)
    pairs = () if isinstance(people.pairs, Undefined) else people.pairs
    means = list(MEANS)[:1] if nominal else list(MEANS)
    for pair in pairs:
        place = Place("annotator pairs", key, pair.first, pair.second)
        yield from place.all(of.PAIR, pair)
        yield from (place.number(name, getattr(pair, MEANS[name]), "number") for name in means)
    place = Place("annotator pairs", key)
    yield place.number("pairs", len(pairs), "count")
    for name in means:
        mean = people.means if isinstance(people.means, Undefined) else getattr(people.means, MEANS[name])
        yield place.number(f"mean {name}", mean, "number")


def _reliability(place: Place, reliability: Reliability | Undefined) -> Iterator[Number]:
    if isinstance(reliability, Undefined):
        yield from _form(place, "ICC(1)", reliability)
        return
    yield from place.all(of.RELIABILITY, reliability)
    for name, form in FORMS.items():
        yield from _form(place, form, getattr(reliability, name))


def _form(place: Place, form: str, correlation: Intraclass | Undefined) -> Iterator[Number]:
    """Reliability of one rating and of the mean of k, and ratings per unit that are needed for 0.8."""
    for name, style in (("single", "number"), ("mean", "number"), ("needed", "count")):
        value = getattr(correlation, name) if isinstance(correlation, Intraclass) else correlation
        yield place.number(f"{form} {name}", value, style)


def _strength(place: Place, strength: Strength, fitted: Preferences) -> Iterator[Number]:
    yield place.number("strength", strength.value, "difference")
    if strength.error is None or strength.low is None or strength.high is None:
        why = Undefined(fitted.sentence)
        yield place.number("strength error", why, "number")
        yield from place.limits("strength", why, "difference")
        return
    yield place.number("strength error", strength.error, "number")
    yield from place.limits("strength", (strength.low, strength.high), "difference")


def _judge(comparison: JudgeOf) -> Iterator[Number]:
    place, test = Place("judges", comparison.criterion, comparison.judge), comparison.stand_in
    yield place.number("shared", comparison.shared, "count")
    yield from place.all_or_why(of.STAND_IN, test, "winning rate")
    for pair in test.comparisons if isinstance(test, AltTest) else ():
        yield from Place("judges", comparison.criterion, comparison.judge, str(pair.annotator)).all(
            of.STAND_IN_PAIR, pair
        )
    yield from _both_correlations(place, comparison)


def _metric(comparison: JudgeOf) -> Iterator[Number]:
    """What judges alone gave: in the place of the second name is the criterion of its scores."""
    place = Place("metrics", comparison.criterion, comparison.judge, comparison.scores)
    yield place.number("shared", comparison.shared, "count")
    yield from _both_correlations(place, comparison)


def _both_correlations(place: Place, comparison: JudgeOf) -> Iterator[Number]:
    levels: Sequence[tuple[str, Any, Correlations | Undefined]] = (
        ("within items ", of.WITHIN_ITEMS, comparison.within_items),
        ("of systems ", of.OF_SYSTEMS, comparison.of_systems),
    )
    for before, statistics, correlations in levels:
        if isinstance(correlations, Undefined):
            yield place.number(f"{before}Kendall", correlations, "difference")
        else:
            yield from place.all(statistics, correlations, before)


def _effects(effects: EffectsOf) -> Iterator[Number]:
    place = Place("effects", effects.criterion)
    yield from place.all_or_why(of.POSITION_EFFECT, effects.position, "p")
    yield from _places(effects)
    yield from place.all_or_why(of.ORDER_EFFECT, effects.order, "first to last")


def _places(effects: EffectsOf) -> Iterator[Number]:
    """At each place on screen: how far ratings lie from the mean of all places, how often the best one was there."""
    effect = effects.position
    shifts = {row.position: row.interval for row in effect.shifts} if isinstance(effect, PositionEffect) else {}
    best = {} if isinstance(effects.best, Undefined) else {row.position: row.rate.share for row in effects.best}
    for at in sorted({*shifts, *best}):
        place = Place("effects", effects.criterion, response(at))
        if at in shifts:
            yield place.number("shift", shifts[at].mean, "difference")
            yield from place.limits("shift", shifts[at], "difference")
        elif isinstance(effect, Undefined):
            yield place.number("shift", effect, "difference")
        if isinstance(effects.best, Undefined):
            yield place.number("best", effects.best, "share")
        elif at in best:
            yield place.number("best", best[at], "share")


def _annotator(look: AnnotatorLook) -> Iterator[Number]:
    """Over all criteria; distances are shares of the scale's width."""
    place = Place("annotators", "", look.annotator)
    yield place.number("annotations", look.annotations, "count")
    yield from _with_others(place, look.agreement)
    yield from place.all(of.LOOK, look)
    yield from place.all_or_why(of.DRIFT, look.drift, "drift")


def _with_others(place: Place, agreement: AnnotatorAgreement | Undefined) -> Iterator[Number]:
    if isinstance(agreement, Undefined) or agreement.value is None or agreement.low is None or agreement.high is None:
        why = agreement if isinstance(agreement, Undefined) else Undefined(agreement.sentence)
        yield place.number("correlation", why, "number")
        return
    yield place.number("correlation", agreement.value, "number")
    yield from place.limits("correlation", (agreement.low, agreement.high), "number")
    yield place.number("half of the others", NOBODY_ELSE if agreement.others is None else agreement.others, "number")


def _speed(annotator: str, speeds: tuple[Speed, ...] | Undefined) -> Iterator[Number]:
    """Of the annotations with a known time and a text: median seconds, and how many were too fast to read."""
    rows = () if isinstance(speeds, Undefined) else (speed for speed in speeds if speed.annotator == annotator)
    why = speeds if isinstance(speeds, Undefined) else NO_TIME
    yield from Place("annotators", "", annotator).all_or_why(of.SPEED, next(iter(rows), why), "seconds")


def _spans(agreements: Any) -> Iterator[Number]:
    """Agreement on highlights whatever their label, then on each label."""
    if isinstance(agreements, Undefined):
        yield Place("highlights").number("F1, same passage", agreements, "number")
        return
    for agreement in agreements:
        yield from Place("highlights", "", agreement.label or "").all(of.SPANS, agreement)
