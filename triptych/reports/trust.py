"""Numbers that tell whether work can be trusted: places on screen, time, annotators one by one, highlights."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from operator import attrgetter

from triptych.reports.further import Further
from triptych.reports.places import Number, Place
from triptych.results.annotators import AnnotatorLook, EffectsOf
from triptych.results.study_analysis import StudyAnalysis
from triptych.rubric.answers import LETTERS
from triptych.stats.diagnostics import AnnotatorAgreement, Drift, FlaggedRate, Severity, Speed, StraightLining
from triptych.stats.effects import OrderEffect, PositionEffect
from triptych.stats.spans import SpanAgreement

NO_TIME = "Not defined: no active time is known."
NOBODY_ELSE = "Not defined: no other annotator has such a correlation."


def trust(found: StudyAnalysis, further: Further) -> Iterator[Number]:
    """The whole list, after the appendix in results.csv."""
    yield from chain.from_iterable(map(_effects, found.effects))
    for look in sorted(found.annotators, key=attrgetter("annotator")):
        yield from _annotator(look)
        yield from _speed(look.annotator, further.speeds)
    yield from _spans(further.spans)


def _effects(found: EffectsOf) -> Iterator[Number]:
    place, effect, order = Place("effects", found.criterion), found.position, found.order
    known = isinstance(effect, PositionEffect)
    if known:
        yield place.number("annotations", effect.annotations, "count")
        yield place.number("Wald", effect.statistic, "number")
    yield place.number("p", effect.p if known else effect, "p")
    yield from _places(found)
    if isinstance(order, OrderEffect):
        yield place.number("first to last", order.change.mean, "difference")
        yield from place.limits("first to last", order.change.headline, "difference")
    else:
        yield place.number("first to last", order, "difference")


def _places(found: EffectsOf) -> Iterator[Number]:
    """At each place on screen: how far ratings lie from the mean of all places, how often the best one stood there."""
    effect = found.position
    shifts = {one.position: one.interval for one in effect.shifts} if isinstance(effect, PositionEffect) else {}
    best = {} if isinstance(found.best, str) else {one.position: one.rate.share for one in found.best}
    for at in sorted({*shifts, *best}):
        place = Place("effects", found.criterion, f"Response {LETTERS[at]}")
        yield place.number("shift", shifts[at].mean if at in shifts else effect, "difference")
        if at in shifts:
            yield from place.limits("shift", shifts[at], "difference")
        yield place.number("best", best.get(at, found.best), "share")


def _annotator(one: AnnotatorLook) -> Iterator[Number]:
    """Over all criteria; distances are shares of the scale's width."""
    place = Place("annotators", "", one.annotator)
    yield place.number("annotations", one.annotations, "count")
    yield from _with_others(place, one.agreement)
    severity, equal, missing = one.severity, one.equal, one.missing
    yield place.number("severity", severity.difference if isinstance(severity, Severity) else severity, "points")
    yield place.number("all equal", equal.share if isinstance(equal, StraightLining) else equal, "share")
    yield place.number("missing", missing.rate.share if isinstance(missing, FlaggedRate) else missing, "share")
    if not isinstance(one.drift, Drift):
        yield place.number("drift", one.drift, "number")
        return
    yield place.number("drift", one.drift.excursion, "number")
    yield place.number("drift at most", one.drift.bound, "number")
    yield place.number("turn after", one.drift.turn, "count")
    yield place.number("before the turn", one.drift.before, "points")
    yield place.number("after the turn", one.drift.after, "points")


def _with_others(place: Place, found: AnnotatorAgreement | str) -> Iterator[Number]:
    if isinstance(found, str) or found.value is None or found.low is None or found.high is None:
        yield place.number("correlation", found if isinstance(found, str) else found.sentence, "number")
        return
    yield place.number("correlation", found.value, "number")
    yield from place.limits("correlation", (found.low, found.high), "number")
    yield place.number("half of the others", NOBODY_ELSE if found.others is None else found.others, "number")


def _speed(annotator: str, found: tuple[Speed, ...] | str) -> Iterator[Number]:
    """Of the annotations with a known time and a text: median seconds, and how many were too fast to read."""
    place = Place("annotators", "", annotator)
    one = None if isinstance(found, str) else next((speed for speed in found if speed.annotator == annotator), NO_TIME)
    if not isinstance(one, Speed):
        yield place.number("seconds", one or found, "number")
        return
    yield place.number("timed", one.n, "count")
    yield place.number("seconds", one.median, "number")
    yield place.number("too fast to read", one.unread, "count")


def _spans(found: tuple[SpanAgreement, ...] | str) -> Iterator[Number]:
    """Agreement on highlights whatever their label, then on each label."""
    if isinstance(found, str):
        yield Place("highlights").number("F1, same passage", found, "number")
        return
    for one in found:
        place = Place("highlights", "", one.label or "")
        for name in ("texts", "spans", "pairs"):
            yield place.number(name, getattr(one, name), "count")
        yield place.number("F1, same passage", one.exact, "number")
        yield place.number("F1, overlapping", one.overlapping, "number")
        yield place.number("alpha over characters", one.alpha, "number")
