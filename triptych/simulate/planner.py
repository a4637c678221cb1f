"""Planning a study before it opens: what a plan could show, what it takes, and where the scatter is taken from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from sqlalchemy import func, select
from sqlmodel import Session

from triptych.results.criterion import ends_of, variable_of
from triptych.results.frame.counted import kinds_by_default
from triptych.results.frame.model import Counted
from triptych.results.frame.upkeep import frame_of
from triptych.results.pay import hourly
from triptych.results.study_analysis import StudyAnalysis, analyse
from triptych.stats.analysis.contrasts import Contrast
from triptych.stats.components import PRESETS, Components, variance_components
from triptych.stats.intervals import Estimate
from triptych.stats.power import Plan, items_needed, power, power_to_show_equal, what_more_buys
from triptych.stats.undefined import Undefined, or_undefined
from triptych.storage.models import Study, System
from triptych.study import design, lifecycle
from triptych.study.design import Parts
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


def tests_of(session: Session, study: Study) -> int:
    """Pairs of systems × criteria that p will be adjusted over, those declared if some are; at least 1."""
    comparable = set(_comparable(session, study))
    declared = settings_of(study).preregistration.family
    systems = session.scalars(select(func.count()).select_from(System).where(System.study_id == study.id)).one()
    return max(1, math.comb(systems, 2) * len(comparable & declared if declared else comparable))


def _comparable(session: Session, study: Study) -> list[str]:
    """Keys of the criteria that can tell systems apart."""
    asked = lifecycle.design_of(session, study).rubric.asked(study.round)
    return [criterion.key for criterion in asked if not variable_of(criterion).not_comparable]


def declare(session: Session, study: Study, plan: Plan, shift: float, margin: float, unit: str, actor: str) -> None:
    """Hands a plan to the preregistration of a draft: size, the difference to show, and the margin where it has none.

    unit: of the difference, in words; margin: in points of the criteria, 0 for none. Raises Conflict after launch.
    """
    before = settings_of(study).preregistration
    sample = (
        f"{plan.items} items, {plan.raters} annotators per item, {plan.annotators} annotators in total"
        f"{'' if plan.overlap is None else f' (that many for {plan.overlap} items, one for the others)'}; planned to "
        f"show a difference of {shift:g} {unit} with p adjusted over {plan.tests} tests."
    )
    margins = (dict.fromkeys(_comparable(session, study), margin) if margin else {}) | before.margins
    values = before.model_dump(mode="json") | {"sample": sample, "margins": margins}
    design.amend(session, study, Parts(settings={"preregistration": values}), "", actor)


def pay_per_hour(study: Study, seconds: float) -> float | None:
    """What the study pays for an hour at so many seconds per item, else the least that its lead finds fair."""
    pay = settings_of(study).pay
    if pay.per_item is not None:
        return hourly(pay, seconds)
    return None if pay.floor_per_hour is None else float(pay.floor_per_hour)


solve = lru_cache(maxsize=64)(items_needed)  # items with which a plan shows a shift with a chance of 80 %
equal = lru_cache(maxsize=64)(power_to_show_equal)  # chance that equal systems are shown to be equal
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
