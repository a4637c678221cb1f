"""Planning a study before it opens: the power of a plan, its cost, and the source of its variances."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import lru_cache

import numpy as np
from sqlmodel import Session

from triptych.errors import Conflict
from triptych.results.criterion import variable_of
from triptych.results.frame.counted import kinds_by_default
from triptych.results.frame.model import Counted
from triptych.results.frame.upkeep import frame_of
from triptych.results.pay import hourly
from triptych.results.study_analysis import StudyAnalysis, analyse
from triptych.rubric.model import Criterion
from triptych.stats.analysis.contrasts import Contrast
from triptych.stats.components import PRESETS, YES_NO_RESIDUALS, Components, Pilot
from triptych.stats.intervals import Estimate
from triptych.stats.numbers import counted
from triptych.stats.power import Plan, annotators_needed, items_needed, more, power, what_more_buys
from triptych.stats.undefined import Undefined, or_undefined
from triptych.storage.models import Study
from triptych.study import design, lifecycle
from triptych.study.design import Parts
from triptych.study.persons import Who
from triptych.study.settings import settings_of
from triptych.study.system_names import system_names

RESAMPLES = 60  # of the pilot
FEWEST_ANNOTATORS = 6  # of the pilot, for an interval: fewer do not show how much their tastes vary
TAILS = (0.025, 0.975)
PERCENT = 100
FEWER = (0.5, 0.75)
GROUP_SHARE = 0.5  # of the variance of items' tastes, without data on groups of items
ROUNDING = 1e-9  # a scatter below this is an error of floating point
NOT_YET = Undefined("There are no ratings of two systems side by side yet.")
NO_SCATTER = Undefined("Not defined: the pilot's differences are all equal, so they do not show how much they scatter.")


@dataclass(frozen=True)
class PlannedScale:
    """The scale of a plan. width: from end to end in points; share: whether it counts answers, in percentage points."""

    width: float
    share: bool = False

    @property
    def points(self) -> int:
        """The points of the scale in one unit of the criterion's numbers, which are shares from 0 to 1 or points."""
        return PERCENT if self.share else 1

    @property
    def unit(self) -> str:
        return "percentage points" if self.share else "points"


FIVE_POINTS = PlannedScale(4)


@dataclass(frozen=True)
class Basis:
    """The source of a plan's variance components, for one criterion.

    components: of a paired difference, in points of the scale. seconds: mean active seconds of an annotation, None if
    unknown. mean_share: of all systems, 0 to 1, None for points and presets. mean_difference: between two systems of
    that round in points, None for a preset and while results are interim. pilots: the paired differences of all pairs
    of systems from which the components are estimated, empty for a preset.
    """

    title: str
    components: Components
    scale: PlannedScale
    seconds: float | None = None
    mean_share: float | None = None
    mean_difference: float | None = None
    pilots: tuple[Pilot, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True)
class Between:
    """A 95 % interval that reflects the pilot's uncertainty about the variance; high is None if no size is enough."""

    low: float
    high: float | None


@dataclass(frozen=True)
class Needed:
    """The items or annotators needed for 80 % power, and the uncertainty from a pilot of enough annotators."""

    count: int | Undefined
    between: Between | None = None


@dataclass(frozen=True, eq=False)
class Chances:
    """Annotators × items: the power of each plan, NaN if the plan is impossible."""

    items: tuple[int, ...]
    annotators: tuple[int, ...]
    shares: np.ndarray


def preset(name: str, scale: PlannedScale) -> Basis:
    """The assumptions without a pilot; `name` is low or high variance."""
    components, source = PRESETS[name], "as in published studies"
    if scale.share:
        components, source = replace(components, residual=YES_NO_RESIDUALS[name]), "as yes/no answers can have"
    return Basis(f"{name.capitalize()} scatter, {source}", components.on_scale(scale.width), scale)


def in_groups(components: Components) -> Components:
    """Components for groups of items without data on groups: half of the variance of items' tastes is the group's."""
    if components.group:
        return components
    return replace(
        components,
        item=components.item * math.sqrt(1 - GROUP_SHARE),
        group=components.item * math.sqrt(GROUP_SHARE),
    )


def rounds(session: Session, who: Who, study: Study) -> list[Study]:
    """The rounds of the study's series that this lead leads, itself first: a pilot informs the main round."""
    series = [led for led in lifecycle.for_lead(session, who) if led.series == study.series]
    return sorted(series, key=lambda led: led.id != study.id)


def bases(session: Session, study: Study) -> tuple[Basis, ...]:
    """The bases from the ratings of a round: one for each criterion with enough ratings.

    Enough: two systems side by side, an item rated by two annotators, an annotator with two items, and differences
    that are not all equal.
    """
    scope = Counted(kinds_by_default(study))
    analysis = analyse(frame_of(session, study), scope, system_names(session, study))
    return tuple(_bases(analysis, study.round))


def _bases(analysis: StudyAnalysis, study_round: str) -> Iterator[Basis]:
    active = analysis.work["active_seconds"]
    measured = active[active > 0]
    seconds = float(measured.mean()) if len(measured) else None
    for ratings in analysis.ratings:
        contrasts = _estimated(analysis.contrasts_of(ratings.criterion.key))
        pilots = tuple(_pilots(contrasts))
        components = pooled_components(pilots)
        if not isinstance(components, Undefined):
            scale = _scale_of(ratings.criterion)
            apart = scale.points * float(np.mean([abs(estimate.mean) for _, estimate in contrasts]))
            title = f"{ratings.criterion.title} ({study_round} round)"
            shown = None if analysis.collection.interim else apart
            share = float(np.nanmean(ratings.number)) if scale.share else None
            yield Basis(title, components.on_scale(scale.points), scale, seconds, share, shown, pilots)


def _scale_of(criterion: Criterion) -> PlannedScale:
    low, high = criterion.scale.ends
    return PlannedScale(PERCENT, True) if variable_of(criterion).is_share else PlannedScale(high - low)


def _estimated(contrasts: Sequence[Contrast]) -> list[tuple[Contrast, Estimate]]:
    return [(contrast, contrast.difference) for contrast in contrasts if isinstance(contrast.difference, Estimate)]


def _pilots(contrasts: Sequence[tuple[Contrast, Estimate]]) -> Iterator[Pilot]:
    """The paired differences of all pairs of systems that an annotator rated on one item."""
    for contrast, _ in contrasts:
        table, sides = contrast.table, contrast.table.of((contrast.system, contrast.baseline))
        both = ~np.isnan(sides).any(axis=1)
        columns = (table.items[both], table.annotators[both], table.groups[both])
        yield Pilot.build(sides[both, 0] - sides[both, 1], *columns)


def pooled_components(pilots: Sequence[Pilot]) -> Components | Undefined:
    """The average components of all pairs of systems, or the reason why none are defined."""
    pairs = [or_undefined(pilot.components) for pilot in pilots]
    defined = [components for components in pairs if isinstance(components, Components)]
    if not defined:
        return next((reason for reason in pairs if isinstance(reason, Undefined)), NOT_YET)
    pooled = _pooled(defined)
    return pooled if max(astuple(pooled)) > ROUNDING else NO_SCATTER


def _pooled(pairs: Sequence[Components]) -> Components:
    parts = [[getattr(components, part) for components in pairs] for part in ("item", "annotator", "residual", "group")]
    return Components(*(math.sqrt(np.mean(np.square(values))) for values in parts))


@lru_cache(maxsize=64)
def resampled(basis: Basis) -> tuple[Components, ...]:
    """Components estimated from resampled items and annotators of the pilot; empty for a preset."""
    draws = zip(*(pilot.resampled(RESAMPLES) for pilot in _defined(basis)), strict=True)
    return tuple(_pooled(pairs).on_scale(basis.scale.points) for pairs in draws)


def _defined(basis: Basis) -> list[Pilot]:
    return [pilot for pilot in basis.pilots if isinstance(or_undefined(pilot.components), Components)]


@lru_cache(maxsize=256)
def chance_between(basis: Basis, plan: Plan, shift: float) -> Between | Undefined | None:
    """The interval of the plan's power, given the pilot's uncertainty, or why there is none; None for a preset."""
    scatter = _quantiles(basis, plan, shift)
    if not isinstance(scatter, tuple):
        return scatter
    low, high = (power(plan, shift, components) for components in scatter)
    return Between(low, high)


def _quantiles(basis: Basis, plan: Plan, shift: float) -> tuple[Components, Components] | Undefined | None:
    """The resampled components with the lowest and the highest power, without the tails."""
    people = min((len(np.unique(pilot.annotators)) for pilot in _defined(basis)), default=FEWEST_ANNOTATORS)
    if people < FEWEST_ANNOTATORS:
        return Undefined(
            f"The error of this estimate is not known: in the pilot, only {people} annotators rated both systems of "
            f"some pair. It takes at least {FEWEST_ANNOTATORS} to show how much annotators' tastes differ."
        )
    draws = [scatter_of(plan, basis, shift, components) for components in resampled(basis)]
    if not draws:
        return None
    ranked = sorted(draws, key=lambda components: power(plan, shift, components))
    low, high = (ranked[round(tail * (len(ranked) - 1))] for tail in TAILS)
    return low, high


def scatter_of(plan: Plan, basis: Basis, shift: float, resampled: Components | None = None) -> Components:
    """The variance components of a plan, including group tastes if its items are grouped."""
    components = resampled or basis.components
    if basis.mean_share is not None:
        components = _widened(components, basis.mean_share, shift / basis.scale.points)
    return in_groups(components) if plan.group > 1 else components


def _widened(components: Components, share: float, shift: float) -> Components:
    """Components of two shares of which one is `shift` from a pilot's mean, on the side where shares scatter more.

    The variance p (1 - p) of an answer is noise; equal tastes in log odds move a share in proportion to p (1 - p).
    """
    other = max(shifted * (1 - shifted) for shifted in (share - shift, share, share + shift))
    ratio = other / (share * (1 - share))
    noise, tastes = math.sqrt((1 + ratio) / 2), math.sqrt((1 + ratio**2) / 2)
    return replace(components.on_scale(tastes), residual=noise * components.residual)


@dataclass(frozen=True)
class Shape:
    """What a study compares. systems: their visible names; criteria: the number of deciding criteria, the declared ones
    if there are any, at least one; scales: of the criteria that can compare systems, with their titles; items: to rate.
    """

    systems: tuple[str, ...] = ()
    criteria: int = 1
    scales: Mapping[str, PlannedScale] = field(default_factory=dict)
    items: int = 0


def shape_of(session: Session, study: Study) -> Shape:
    """What a study compares, from its rubric, items and preregistration."""
    comparable = _comparable(session, study)
    declared = settings_of(study).preregistration.family
    deciding = [criterion for criterion in comparable if criterion.key in declared] if declared else comparable
    titles: dict[PlannedScale, list[str]] = {}
    for criterion in comparable:
        titles.setdefault(_scale_of(criterion), []).append(criterion.title)
    scales = {", ".join(of_scale): scale for scale, of_scale in titles.items()}
    items = lifecycle.items_to_rate(session, study)
    return Shape(tuple(system_names(session, study).values()), max(1, len(deciding)), scales, items)


def _comparable(session: Session, study: Study) -> list[Criterion]:
    """The criteria that can compare systems."""
    asked = lifecycle.design_of(session, study).rubric.asked(study.round)
    return [criterion for criterion in asked if not variable_of(criterion).not_comparable]


@dataclass(frozen=True)
class Aim:
    """The aim of a plan. shift: the difference to show; margin: up to which systems are practically equal, 0 for none;
    both in points of the scale. contrast: in words, "" for all pairs of systems.
    """

    shift: float
    margin: float = 0.0
    scale: PlannedScale = FIVE_POINTS
    contrast: str = ""


def declare(session: Session, study: Study, plan: Plan, aim: Aim, actor: str) -> None:
    """Copy a plan to the preregistration of a draft: contrast, size, and the margin of the criteria with its scale,
    which a plan without a margin takes back.

    Raises Conflict after launch, or if no criterion has the scale of the margin.
    """
    before = settings_of(study).preregistration
    alike = [criterion.key for criterion in _comparable(session, study) if _scale_of(criterion) == aim.scale]
    if aim.margin and not alike:
        raise Conflict(
            "No criterion of this study has the scale of the plan. Set the margin to 0 here, and under Design."
        )
    margins = {key: margin for key, margin in before.margins.items() if key not in alike}
    if aim.margin:
        margins |= dict.fromkeys(alike, aim.margin / aim.scale.points)
    values = before.model_dump(mode="json") | {
        "sample": sample_in_words(plan, aim),
        "margins": margins,
        "primary_contrast": aim.contrast or before.primary_contrast,
    }
    design.amend(session, study, Parts(settings={"preregistration": values}), "", actor)


def sample_in_words(plan: Plan, aim: Aim) -> str:
    """The size and aim of a plan in words, for the preregistration."""
    groups = f" in groups of {plan.group}" if plan.group > 1 else ""
    each = "per response, each shown alone" if plan.shown == 1 else "per item"
    shown = f", {plan.shown} of {plan.systems} systems at a time" if 1 < plan.shown < plan.systems else ""
    rest = "" if plan.overlap is None else f" (that many for {counted(plan.overlap, 'item')}, one for the others)"
    raters = f"{counted(plan.raters, 'annotator')} {each}{shown}, {plan.annotators} annotators in total{rest}"
    equal = f"; systems within ±{aim.margin:g} {aim.scale.unit} count as practically equal" if aim.margin else ""
    return (
        f"{plan.items} items{groups}, {raters}; planned to show a difference of {aim.shift:g} {aim.scale.unit} "
        f"({aim.contrast or 'every two systems'}) with p adjusted by Holm over {counted(plan.tests, 'test')}{equal}."
    )


def pay_per_hour(study: Study, seconds: float) -> float | None:
    """The study's pay per hour at this many seconds per item; without pay, the minimum that its lead finds fair."""
    pay = settings_of(study).pay
    if pay.per_item is not None:
        return hourly(pay, seconds)
    return None if pay.floor_per_hour is None else float(pay.floor_per_hour)


advise = lru_cache(maxsize=512)(what_more_buys)  # power to show that a system is above the others, with advice


@lru_cache(maxsize=64)
def solve(basis: Basis, plan: Plan, shift: float, what: str = "items") -> Needed:
    """The items, or as `what` says the annotators, with which a plan shows a shift with 80 % power."""
    needed = items_needed if what == "items" else annotators_needed
    count = needed(plan, shift, scatter_of(plan, basis, shift))
    scatter = _quantiles(basis, plan, shift)
    if not isinstance(scatter, tuple):
        return Needed(count)
    most, least = (needed(plan, shift, components) for components in scatter)
    if isinstance(least, Undefined):
        return Needed(count)
    return Needed(count, Between(least, None if isinstance(most, Undefined) else most))


@lru_cache(maxsize=64)
def chances(plan: Plan, shift: float, components: Components) -> Chances:
    """The power of similar plans: half to twice the items and annotators, with the same raters per item."""
    items, annotators = (
        sorted({*(max(2, round(step * of)) for step in FEWER), of, more(of), 2 * of})
        for of in (plan.items, plan.annotators)
    )
    shares = [
        [_chance(replace(plan, items=item, annotators=people), shift, components) for item in items]
        for people in annotators
    ]
    return Chances(tuple(items), tuple(annotators), np.array(shares))


def _chance(plan: Plan, shift: float, components: Components) -> float:
    chance = or_undefined(power, plan, shift, components)
    return float("nan") if isinstance(chance, Undefined) else chance
