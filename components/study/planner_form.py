"""Planning with sliders: the variance of ratings, the plan, and its power and cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import streamlit as st

from components.results import charts, figures
from components.shell.choices import choose
from components.shell.state import button, say
from components.shell.words import percent
from triptych.simulate.planner import (
    PERCENT,
    Aim,
    Basis,
    Between,
    Chances,
    PlannedScale,
    Shape,
    chance_between,
    preset,
    scatter_of,
    solve,
)
from triptych.stats.power import Advice, Effort, Plan, power_to_show_equal
from triptych.stats.undefined import Undefined
from triptych.storage.models import Study
from triptych.study.settings import settings_of

SCALES = {f"{points} points": PlannedScale(points - 1) for points in (5, 3, 7, 10)} | {
    "0 to 100": PlannedScale(100),
    "Yes or no, in percent": PlannedScale(PERCENT, True),
}
SCATTER_LABELS = {
    "high": "High: annotators often differ",
    "low": "Low: annotators mostly agree",
}
DEFAULT_SECONDS, DEFAULT_PAY = 90, 12.0
MIN_ITEMS, SLIDER_ITEMS, MAX_ITEMS, MAX_RATERS, MAX_ANNOTATORS, MAX_SYSTEMS = 10, 500, 2000, 10, 40, 16
GOOD_CHANCE = 0.8
CHANCE_NOTE = (
    "The chance that a system that is better than all others by this much under one criterion is clearly above a given "
    "one of them, with p adjusted for all tests; for annotators like these or, with fewer than five, for these "
    "annotators only. It agrees with simulated studies within a few percent; with rare answers it is often too "
    "high. A common target is 80 %."
)
GROUP_NOTE = (
    "The similarity of items in a group is unknown here: half of the variance of their tastes is assumed to be shared."
)
EVERY_PAIR = "Every two systems"


def choose_basis(bases: Sequence[Basis], slug: str, scales: Mapping[str, PlannedScale]) -> Basis:
    """A criterion of a round with ratings, or a preset on a scale of the study; without a study, on any scale."""
    left, right = st.columns(2)
    names: dict[Any, str] = {basis: f"As in {basis.title}" for basis in bases}
    names |= SCATTER_LABELS
    chosen = choose("How much ratings scatter", names, f"basis-{slug}", place=left)
    if isinstance(chosen, Basis):
        return chosen
    offered = scales or SCALES
    return preset(chosen, offered[right.selectbox("Scale", list(offered), key=f"scale-{slug}")])


def choose_plan(study: Study | None, slug: str, shape: Shape) -> Plan:
    """Items, raters per item and annotators. `shape` and the first values are the study's."""
    items, raters, part = _of_study(study, shape.items) if study else (100, 3, PERCENT)
    max_items = min(max(items, SLIDER_ITEMS), MAX_ITEMS)
    step = 1 if items % 10 else 10  # sliders round to their steps
    columns = st.columns(4)
    sizes = {
        "items": columns[0].slider(
            "Items", MIN_ITEMS, max_items, min(max(items, MIN_ITEMS), max_items), step, key=f"i-{slug}"
        ),
        "raters": columns[1].slider("Annotators per item", 1, MAX_RATERS, min(raters, MAX_RATERS), key=f"r-{slug}"),
        "annotators": columns[2].slider("Annotators in total", 2, MAX_ANNOTATORS, 10, key=f"a-{slug}"),
    }
    part = columns[3].slider(
        "Items that all of them rate, %", 0, PERCENT, part, key=f"o-{slug}", help="The others get one annotator."
    )
    if not MIN_ITEMS <= items <= MAX_ITEMS:
        st.caption(f"The study has {items:,} items; the planner takes {MIN_ITEMS} to {MAX_ITEMS:,}.")
    overlap = None if part == PERCENT else round(sizes["items"] * part / PERCENT)
    return Plan(**sizes, overlap=overlap, **_shape(slug, len(shape.systems), shape.criteria))


def _shape(slug: str, systems: int, criteria: int) -> dict[str, int]:
    """Systems and criteria to compare, the systems in one annotation, and the items in a group."""
    columns = st.columns(4)
    shape = {
        "systems": columns[0].number_input(
            "Systems", 2, MAX_SYSTEMS, min(max(2, systems), MAX_SYSTEMS), key=f"n-{slug}"
        ),
        "criteria": columns[1].number_input(
            "Deciding criteria",
            1,
            100,
            min(criteria, 100),
            key=f"c-{slug}",
            help="p is adjusted over all pairs of systems under all of them (Holm).",
        ),
    }
    shown = {0: "All systems"} | {n: f"{n} systems at random" for n in range(2, shape["systems"])} | {1: "One response"}
    shape["shown"] = choose("An annotator sees at a time", shown, f"w-{slug}-{shape['systems']}", place=columns[2])
    label, hint = "Items in a group", "Turns of a dialogue, questions on a passage; 1: items are independent."
    shape["group"] = columns[3].number_input(label, 1, 100, 1, key=f"g-{slug}", help=hint)
    return shape


def _of_study(study: Study, items: int) -> tuple[int, int, int]:
    """The study's items, raters, and percentage of items that everybody rates; 100 items if it has none yet."""
    overlap = settings_of(study).overlap
    if study.raters_per_item > 1 or not 0 < overlap.items < items:
        return items or 100, study.raters_per_item, PERCENT
    return items, overlap.raters, round(PERCENT * overlap.items / items)


def choose_difference(basis: Basis, slug: str) -> float:
    """The difference between two systems, in points, that the study should show."""
    width, unit = basis.scale.width, basis.scale.unit
    step = _step(width)
    usual = round(width / 10 / step) * step
    most = round(width / 2 / step) * step
    unit += "" if basis.scale.share else f" (the scale has {width:g} from end to end)"
    label, key = f"Difference to show, in {unit}", f"d-{slug}-{basis.title}"
    shift = st.slider(label, step, most, min(max(usual, step), most), step, _decimals(step), key=key)
    if basis.mean_difference is not None:
        st.caption(
            f"In that round two systems were {basis.mean_difference:.2f} {basis.scale.unit} apart on average. Plan for "
            "the smallest difference that matters to you, not for the one that a small round happened to show."
        )
    return shift


def _step(width: float) -> float:
    """Of a difference on a scale of this width."""
    if width < 1:
        return float(10.0 ** math.floor(math.log10(width / 20)))
    return 1.0 if width > 20 else 0.05


def _decimals(step: float) -> str:
    return f"%.{max(2, -math.floor(math.log10(step)))}f"


def choose_aim(basis: Basis, slug: str, systems: Sequence[str]) -> Aim:
    """The difference to show, between which systems, and the largest one that counts as none."""
    shift = choose_difference(basis, slug)
    left, right = st.columns(2)
    label, key = f"Practically equal within, in {basis.scale.unit} (0: not planned)", f"m-{slug}-{basis.title}"
    step = min(_step(basis.scale.width), 0.05)
    margin = left.number_input(label, 0.0, float(basis.scale.width), 0.0, step, _decimals(step), key=key)
    pairs = {"": EVERY_PAIR} | {pair: pair for pair in (f"{a} against {b}" for b, a in combinations(systems, 2))}
    contrast = choose("Contrast to declare", pairs, f"contrast-{slug}", place=right) if systems else ""
    return Aim(shift, margin, basis.scale, contrast)


def solutions(plan: Plan, aim: Aim, basis: Basis, slug: str, draft: bool) -> bool:
    """Items or annotators needed for 80 % power, and the power to show equality; whether to preregister the plan."""
    if aim.margin:
        chance = power_to_show_equal(plan, aim.margin, scatter_of(plan, basis, 0))
        words = chance.reason if isinstance(chance, Undefined) else percent(chance)
        st.text(f"Chance to show equal systems practically equal within ±{aim.margin:g} {basis.scale.unit}: {words}")
    with st.container(horizontal=True):
        for what in ("items", "annotators"):
            if button(f"{what.capitalize()} for a chance of 80 %", f"solve-{what}-{slug}"):
                needed = solve(basis, plan, aim.shift, what)
                say(f"{_about(needed.count, what)}{_sure(needed.between, what)}", "info")
        return draft and button("Use this plan in the preregistration", f"declare-{slug}")


def _about(count: int | Undefined, what: str) -> str:
    return count.reason if isinstance(count, Undefined) else f"About {count:,} {what} give a chance of 80 %."


def _sure(between: Between | None, what: str) -> str:
    """The range of the needed number, given the pilot's uncertainty."""
    if between is None:
        return ""
    most = "more than the planner tries" if between.high is None else f"{between.high:,.0f}"
    return f" The pilot leaves open between {between.low:,.0f} and {most} {what} (95 %)."


def choose_effort(basis: Basis, pay: float | None, currency: str, slug: str) -> tuple[float, float]:
    """Seconds per annotation and pay per hour."""
    left, right = st.columns(2)
    seconds = left.slider(
        "Active seconds per annotation",
        10,
        900,
        int(min(max(basis.seconds or DEFAULT_SECONDS, 10), 900)),
        5,
        key=f"s-{slug}-{basis.seconds}",
    )
    rate = right.number_input(f"Pay per hour, {currency}", 0.0, 1000.0, pay or DEFAULT_PAY, 0.5, key=f"p-{slug}-{pay}")
    return seconds, rate


def outlook(advice: Advice, effort: Effort, basis: Basis, currency: str) -> None:
    """The plan in numbers, and whether more annotators or more items would help more."""
    plan, share = advice.plan, advice.share
    with st.container(horizontal=True):
        st.metric("Chance to show it", percent(share))
        st.metric("Annotations", plan.annotations)
        st.metric("Hours in total", f"{effort.hours:.1f}")
        st.metric("Hours per annotator", f"{effort.hours_each:.1f}")
        st.metric("Cost", f"{effort.cost:,.0f} {currency}")
    between = chance_between(basis, plan, advice.shift)
    pilot = ""
    if isinstance(between, Undefined):
        pilot = f" {between.reason}"
    elif between is not None and between.high is not None:
        pilot = f" The pilot leaves open a chance from {percent(between.low)} to {percent(between.high)} (95 %)."
    say(f"{advice.words}{pilot} {advice.sentence}", "success" if share >= GOOD_CHANCE else "info")
    if plan.group > 1 and not basis.components.group:
        st.caption(GROUP_NOTE)


def chances(grid: Chances, name: str) -> None:
    """The power of similar plans, as a map."""
    st.header("Around this plan", anchor=False)
    st.text("The chance to show the difference, in percent, with the current number of annotators per item.")
    charts.show(figures.chances(grid), f"chances-{name}", f"{name}-plan", "The chance of plans around this one.")
    st.caption(CHANCE_NOTE)
