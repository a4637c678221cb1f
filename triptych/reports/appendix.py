"""Numbers of a paper's appendix: annotators one by one and two, models, ranks, strengths, lengths, repeats, judges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from triptych.reports.further import Further
from triptych.reports.places import Number, Place, name_of
from triptych.reports.recompute.ordinal import SPREADS
from triptych.results.annotators import PeopleOf
from triptych.results.contrasts import RankingOf
from triptych.results.judges import JudgeOf
from triptych.results.study_analysis import LengthOf, OrdinalOf, StudyAnalysis
from triptych.rubric.scales import Level
from triptych.stats.correlation import Correlations
from triptych.stats.icc import Intraclass, Reliability
from triptych.stats.judge import AltTest
from triptych.stats.leave_one_out import WithoutAnnotator
from triptych.stats.ordinal_model import OrdinalModel
from triptych.stats.pairs import AnnotatorPair
from triptych.stats.preferences import Preferences, Strength
from triptych.stats.ranking import Ranking

FORMS = {"one_way": "ICC(1)", "absolute": "ICC(A)", "consistency": "ICC(C)"}
MEANS = {"kappa": "kappa", "correlation": "pearson", "distance": "mae"}


def appendix(found: StudyAnalysis, further: Further) -> Iterator[Number]:
    """The whole list, in the order of results.csv."""
    for ratings, people in zip(found.ratings, found.people, strict=True):
        yield from _people(people, ratings.criterion.scale.level is Level.nominal)
    for one in found.ordinal_models:
        yield from _ordinal(found, one)
    for one in found.rankings if len(found.frame.systems) > 2 else ():
        yield from _ranks(found, one)
        yield from _strengths(found, one) if len(found.frame.systems) > 3 else ()
    yield from chain.from_iterable(map(_length, further.lengths))
    yield from _repeats(further)
    for judge in further.judges:
        yield from _metric(judge) if judge.is_metric else _judge(judge)


def _people(found: PeopleOf, nominal: bool) -> Iterator[Number]:
    yield from _reliability(Place("reliability", found.criterion), found.reliability)
    if isinstance(found.without_each, str):
        yield Place("without annotator", found.criterion).number("alpha", found.without_each, "number")
    else:
        yield from chain.from_iterable(_without(found.criterion, one) for one in found.without_each)
    place, wanted = Place("annotator pairs", found.criterion), list(MEANS)[:1] if nominal else list(MEANS)
    known = () if isinstance(found.pairs, str) else found.pairs
    for pair in known:
        yield from _pair(Place("annotator pairs", found.criterion, pair.first, pair.second), pair, wanted)
    yield place.number("pairs", len(known), "count")
    for name in wanted:
        mean = found.means if isinstance(found.means, str) else getattr(found.means, MEANS[name])
        yield place.number(f"mean {name}", mean, "number")


def _reliability(place: Place, found: Reliability | str) -> Iterator[Number]:
    if isinstance(found, str):
        yield from _form(place, "ICC(1)", found)
        return
    yield place.number("units", found.units, "count")
    yield place.number("annotators", found.annotators, "count")
    yield place.number("ratings per unit", found.k, "number")
    for name, form in FORMS.items():
        yield from _form(place, form, getattr(found, name))


def _form(place: Place, form: str, found: Intraclass | str) -> Iterator[Number]:
    """Reliability of one rating and of the mean of k, and ratings per unit that are needed for 0.8."""
    defined = isinstance(found, Intraclass)
    yield place.number(f"{form} single", found.single if defined else found, "number")
    yield place.number(f"{form} mean", found.mean if defined else found, "number")
    yield place.number(f"{form} needed", found.needed if defined else found, "count")


def _without(criterion: str, one: WithoutAnnotator) -> Iterator[Number]:
    place = Place("without annotator", criterion, one.annotator)
    yield place.number("units", one.units, "count")
    yield place.number("alpha", one.alpha, "number")
    yield place.number("change", one.change, "difference")


def _pair(place: Place, pair: AnnotatorPair, wanted: Sequence[str]) -> Iterator[Number]:
    """Correlation and distance only where the scale has an order."""
    yield place.number("n", pair.n, "count")
    yield place.number("the same", pair.percent, "share")
    yield from (place.number(name, getattr(pair, MEANS[name]), "number") for name in wanted)


def _ranks(found: StudyAnalysis, one: RankingOf) -> Iterator[Number]:
    place, ranked = Place("ranks", one.criterion), one.ranking
    if not isinstance(ranked, Ranking):
        yield place.number("Friedman p", ranked, "p")
        return
    yield place.number("items", ranked.items, "count")
    yield place.number("Friedman chi-square", ranked.statistic, "number")
    yield place.number("Friedman p", ranked.p, "p")
    for system, rank in zip(ranked.systems, ranked.mean_ranks, strict=True):
        yield Place("ranks", one.criterion, name_of(found, system)).number("mean rank", rank, "number")
    for pair in ranked.differences:
        place = Place("ranks", one.criterion, name_of(found, pair.system), name_of(found, pair.baseline))
        yield place.number("difference of ranks", pair.difference, "difference")
        yield place.number("Nemenyi p", pair.p, "p")


def _strengths(found: StudyAnalysis, one: RankingOf) -> Iterator[Number]:
    place, fitted = Place("strengths", one.criterion), one.preferences
    if not isinstance(fitted, Preferences):
        yield place.number("strength", fitted, "difference")
        return
    for name in ("n", "level", "items"):
        yield place.number({"n": "pairs"}.get(name, name), getattr(fitted, name), "count")
    yield place.number("ties", fitted.ties, "number")
    for strength in fitted.strengths:
        yield from _strength(Place("strengths", one.criterion, name_of(found, strength.system)), strength, fitted)


def _strength(place: Place, one: Strength, fitted: Preferences) -> Iterator[Number]:
    yield place.number("strength", one.value, "difference")
    if one.error is None or one.low is None or one.high is None:
        yield place.number("strength error", fitted.sentence, "number")
        yield from place.limits("strength", fitted.sentence, "difference")
        return
    yield place.number("strength error", one.error, "number")
    yield from place.limits("strength", (one.low, one.high), "difference")


def _ordinal(found: StudyAnalysis, one: OrdinalOf) -> Iterator[Number]:
    place, model = Place("ordinal", one.criterion), one.model
    if not isinstance(model, OrdinalModel):
        yield place.number("difference", model, "difference")
        return
    for pair in model.differences:
        beside = Place("ordinal", one.criterion, name_of(found, pair.system), name_of(found, pair.baseline))
        yield beside.number("difference", pair.estimate, "difference")
        yield from beside.limits("difference", (pair.low, pair.high), "difference")
        yield beside.number("p", pair.p, "p")
    for name, spread in zip(SPREADS, (model.item, model.annotator, model.annotator_by_system), strict=True):
        yield place.number(name, spread, "number")


def _length(one: LengthOf) -> Iterator[Number]:
    yield from _correlations(Place("length", one.criterion), one.correlations, ("pairs", "items"))


def _correlations(place: Place, found: Correlations | str, counts: Sequence[str], before: str = "") -> Iterator[Number]:
    if isinstance(found, str):
        yield place.number(f"{before}Kendall", found, "difference")
        return
    for name, one in (("Kendall", found.kendall), ("Pearson", found.pearson)):
        yield place.number(f"{before}{name}", one.value, "difference")
        yield from place.limits(f"{before}{name}", one.interval, "difference")
    yield from (place.number(f"{before}{name}", getattr(found, name), "count") for name in counts)


def _repeats(further: Further) -> Iterator[Number]:
    """Annotators with themselves: by criterion, then each over all criteria."""
    for one in further.with_self:
        yield from Place("repeats", one.criterion).counted(one.table)
    for name, twice in further.repeated.items():
        place = Place("repeats", "", name)
        yield place.number("n", twice.same.n, "count")
        yield place.number("the same", twice.same.share, "share")
        yield place.number("apart", twice.apart, "share")


def _judge(one: JudgeOf) -> Iterator[Number]:
    place, test = Place("judges", one.criterion, one.judge), one.stand_in
    yield place.number("shared", one.shared, "count")
    if isinstance(test, AltTest):
        yield place.number("epsilon", test.epsilon, "number")
        yield place.number("winning rate", test.winning_rate, "share")
        yield place.number("advantage", test.advantage, "share")
        for each in test.comparisons:
            beside = Place("judges", one.criterion, one.judge, str(each.annotator))
            yield beside.number("items", each.n, "count")
            yield beside.number("judge wins", each.judge_wins, "share")
            yield beside.number("annotator wins", each.annotator_wins, "share")
            yield beside.number("p", each.p, "p")
            yield beside.number("p corrected", each.corrected, "p")
    else:
        yield place.number("winning rate", test, "share")
    yield from _both_correlations(place, one)


def _metric(one: JudgeOf) -> Iterator[Number]:
    """What judges alone gave: in the place of the second name stands the criterion of its scores."""
    place = Place("metrics", one.criterion, one.judge, one.scores)
    yield place.number("shared", one.shared, "count")
    yield from _both_correlations(place, one)


def _both_correlations(place: Place, one: JudgeOf) -> Iterator[Number]:
    yield from _correlations(place, one.within_items, ("pairs", "items"), "within items ")
    yield from _correlations(place, one.of_systems, ("systems", "items"), "of systems ")
