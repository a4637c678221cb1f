"""Numbers that tell whether ratings can be trusted: what places on screen and time do to them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from triptych.analyses import EffectsOf, StudyAnalysis
from triptych.analysis.effects import OrderEffect, PositionEffect
from triptych.reports.places import Number, Place
from triptych.results import LETTERS


def trust(found: StudyAnalysis) -> Iterator[Number]:
    """The whole list, after the appendix in results.csv."""
    yield from chain.from_iterable(map(_effects, found.effects))


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
