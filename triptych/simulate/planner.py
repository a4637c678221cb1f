"""Planning a study before it opens: what a plan could show, what it takes, and where the scatter is taken from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from sqlmodel import Session

from triptych.results.criterion import ends_of
from triptych.results.frame.counted import kinds_by_default
from triptych.results.frame.model import Counted
from triptych.results.frame.upkeep import frame_of
from triptych.results.pay import hourly
from triptych.results.study_analysis import StudyAnalysis, analyse
from triptych.stats.analysis.contrasts import Contrast
from triptych.stats.components import PRESETS, Components, variance_components
from triptych.stats.intervals import Estimate
from triptych.stats.power import Plan, power, what_more_buys
from triptych.stats.undefined import Undefined, or_undefined
from triptych.storage.models import Study
from triptych.study import lifecycle
from triptych.study.persons import Who
from triptych.study.settings import settings_of
from triptych.study.system_names import system_names

ROUGHLY = 200  # simulated studies behind one cell of the map, where a few percent more or less do not matter
PERCENT = 100
STEPS = (0.5, 0.75, 1, 1.5, 2)
NOT_YET = Undefined("There are no ratings of two systems side by side yet.")


@dataclass(frozen=True)
class Basis:
    """Where the scatter of a plan is taken from, for one criterion.

    components: of a paired difference, in points; width: of the scale in points, 100 where answers are counted as
    shares, in percent. seconds: median active seconds of an annotation, None where not known. mean_difference:
    between two systems of that round in points, None for a preset.
    """

    title: str
    components: Components
    width: float
    seconds: float | None = None
    mean_difference: float | None = None


@dataclass(frozen=True, eq=False)
class Chances:
    """Annotators × items: the chance of each plan, NaN where a plan cannot be."""

    items: tuple[int, ...]
    annotators: tuple[int, ...]
    shares: np.ndarray


def preset(name: str, width: float) -> Basis:
    """What is known before any pilot: `name` is low or high scatter, on a scale of this width in points."""
    return Basis(f"{name.capitalize()} scatter, as in published studies", PRESETS[name].on_scale(width), width)


def rounds(session: Session, who: Who, study: Study) -> list[Study]:
    """The rounds of the study's series that this lead leads, itself first: a pilot informs the main round."""
    series = [led for led in lifecycle.for_lead(session, who) if led.series == study.series]
    return sorted(series, key=lambda led: led.id != study.id)


def bases(session: Session, study: Study) -> tuple[Basis, ...]:
    """What is learnt from the ratings of a round: a basis for each criterion with enough ratings.

    Enough: two systems side by side, some item rated by two annotators, some annotator with two items.
    """
    scope = Counted(kinds_by_default(study))
    analysis = analyse(frame_of(session, study), scope, system_names(session, study))
    return tuple(_bases(analysis, study.round))


def _bases(analysis: StudyAnalysis, study_round: str) -> Iterator[Basis]:
    seconds = analysis.work["active_seconds"]
    measured = seconds[seconds > 0]
    median = float(measured.median()) if len(measured) else None
    for ratings in analysis.ratings:
        contrasts = analysis.contrasts_of(ratings.criterion.key)
        components = pooled_components(contrasts)
        if not isinstance(components, Undefined):
            low, high = ends_of(ratings.criterion)
            unit = PERCENT if contrasts[0].share else 1
            apart = unit * float(np.mean([abs(estimate.mean) for _, estimate in _estimated(contrasts)]))
            title = f"{ratings.criterion.title} ({study_round} round)"
            yield Basis(title, components.on_scale(unit), unit * (high - low), median, apart)


def _estimated(contrasts: Sequence[Contrast]) -> list[tuple[Contrast, Estimate]]:
    return [(contrast, contrast.difference) for contrast in contrasts if isinstance(contrast.difference, Estimate)]


def pooled_components(contrasts: Sequence[Contrast]) -> Components | Undefined:
    """One set of components for all pairs of systems: their variances averaged; a sentence where none is defined."""
    pairs = [or_undefined(_components, contrast) for contrast, _ in _estimated(contrasts)]
    defined = [components for components in pairs if isinstance(components, Components)]
    if not defined:
        return next((reason for reason in pairs if isinstance(reason, Undefined)), NOT_YET)
    parts = [[getattr(components, part) for components in defined] for part in ("item", "annotator", "residual")]
    return Components(*(math.sqrt(np.mean(np.square(values))) for values in parts))


def _components(contrast: Contrast) -> Components:
    pairs = contrast.table.pairs(contrast.system, contrast.baseline)
    return variance_components(pairs.differences, pairs.items, pairs.annotators)


def pay_per_hour(study: Study, seconds: float) -> float | None:
    """What the study pays for an hour at so many seconds per item, else the least that its lead finds fair."""
    pay = settings_of(study).pay
    if pay.per_item is not None:
        return hourly(pay, seconds)
    return None if pay.floor_per_hour is None else float(pay.floor_per_hour)


# The chance to show that systems lie so many points apart, with advice, once for each point of the sliders. Raises
# UndefinedStatistic for a plan that cannot be (more raters per item than annotators, fewer than two items).
advise = lru_cache(maxsize=512)(what_more_buys)


@lru_cache(maxsize=64)
def chances(plan: Plan, shift: float, components: Components) -> Chances:
    """The chance around a plan: half to twice its items and annotators, the raters per item as they are."""
    items, annotators = (sorted({max(2, round(step * of)) for step in STEPS}) for of in (plan.items, plan.annotators))
    shares = [
        [_chance(replace(plan, items=item, annotators=people), shift, components) for item in items]
        for people in annotators
    ]
    return Chances(tuple(items), tuple(annotators), np.array(shares))


def _chance(plan: Plan, shift: float, components: Components) -> float:
    chance = or_undefined(power, plan, shift, components, ROUGHLY)
    return float("nan") if isinstance(chance, Undefined) else chance.rate.share
