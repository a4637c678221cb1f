"""Planning with sliders: the scatter of ratings, the plan, and its power and cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from components.results import charts, figures
from components.shell.choices import choose
from components.shell.state import say
from components.shell.study_choice import titles_of
from components.shell.words import percent
from triptych.simulate.planner import PERCENT, Basis, Chances, equal, preset, solve
from triptych.stats.components import Components
from triptych.stats.power import Advice, Effort, Plan
from triptych.stats.undefined import Undefined
from triptych.storage.models import Study
from triptych.study.settings import settings_of

NO_STUDY = "No study yet"
SCALES = {"3 points": 2, "5 points": 4, "7 points": 6, "10 points": 9, "Yes or no, in percent": PERCENT}
SCATTER_LABELS = {
    "high": "High: annotators often differ",
    "low": "Low: annotators mostly agree",
}
DEFAULT_SECONDS, DEFAULT_PAY = 90, 12.0
MIN_ITEMS, SLIDER_ITEMS, MAX_ITEMS, MAX_RATERS, MAX_ANNOTATORS = 10, 500, 2000, 10, 40
GOOD_CHANCE = 0.8
CHANCE_NOTE = (
    "The chance that the difference is clear after adjusting p for all tests, at least; for annotators like these, or "
    "with fewer than five for these alone: a thousand "
    "simulated studies for the plan itself, two hundred for each cell of the map, which may be off by a few percent. "
    "Planners mostly ask for 80 %."
)


def choose_for(studies: Sequence[Study]) -> str | None:
    """The slug of the study to plan for, None where there is none yet; the address keeps it."""
    requested = st.query_params.get("study")
    chosen = choose("Plan for", {None: NO_STUDY, **titles_of(studies)}, f"for-{requested}", requested)
    if chosen is None:
        st.query_params.pop("study", None)
    else:
        st.query_params["study"] = chosen
    return chosen


def choose_basis(bases: Sequence[Basis], slug: str) -> Basis:
    """A criterion of a round with ratings, or a preset."""
    left, right = st.columns(2)
    names: dict[Any, str] = {basis: f"As in {basis.title}" for basis in bases}
    names |= SCATTER_LABELS
    chosen = choose("How much ratings scatter", names, f"basis-{slug}", place=left)
    if isinstance(chosen, Basis):
        return chosen
    scale = right.selectbox("Scale", list(SCALES), 1, key=f"scale-{slug}")
    return preset(chosen, SCALES[scale])


def choose_plan(study: Study | None, slug: str, tests: int) -> Plan:
    """Items, raters per item, annotators; at first those of the study."""
    items, raters, part = _of_study(study) if study else (100, 3, PERCENT)
    max_items = min(max(items, SLIDER_ITEMS), MAX_ITEMS)
    step = 1 if items % 10 else 10  # a slider rounds to its steps
    columns = st.columns(4)
    given = {
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
    overlap = None if part == PERCENT else round(given["items"] * part / PERCENT)
    label, hint = "Tests: pairs of systems × criteria that decide", "p is adjusted over all of them (Holm)."
    given["tests"] = st.number_input(label, 1, 1000, tests, key=f"t-{slug}-{tests}", help=hint)
    return Plan(**given, overlap=overlap)


def _of_study(study: Study) -> tuple[int, int, int]:
    """The study's items, raters, and percentage of items that they all rate; 100 items where there are none yet."""
    overlap, items = settings_of(study).overlap, study.item_count
    if study.raters_per_item > 1 or not 0 < overlap.items < items:
        return items or 100, study.raters_per_item, PERCENT
    return items, overlap.raters, round(PERCENT * overlap.items / items)


def choose_difference(basis: Basis, slug: str) -> float:
    """The difference between two systems that the study should show, in points."""
    step = 1.0 if basis.width > 20 else 0.05
    usual = round(basis.width / 10 / step) * step
    most = round(basis.width / 2 / step) * step
    unit = "percentage points" if basis.width == PERCENT else f"points (the scale has {basis.width:g} from end to end)"
    label, key = f"Difference to show, in {unit}", f"d-{slug}-{basis.title}"
    shift = st.slider(label, step, most, min(max(usual, step), most), step, key=key)
    if basis.mean_difference is not None:
        st.caption(
            f"In that round two systems were {basis.mean_difference:.2f} points apart on average. Plan for the "
            "smallest difference that matters to you, not for the one that a small round happened to show."
        )
    return shift


def choose_margin(basis: Basis, slug: str) -> float:
    """Up to which difference systems count as practically equal, in points of the basis; 0: not planned."""
    unit = "percentage points" if basis.width == PERCENT else "points"
    label, key = f"Practically equal within, in {unit} (0: not planned)", f"m-{slug}-{basis.title}"
    return st.number_input(label, 0.0, float(basis.width), 0.0, 0.05, key=key)


def more(plan: Plan, shift: float, margin: float, components: Components, slug: str, draft: bool) -> bool:
    """The items that give 80 %, the chance to show equality; whether the lead hands the plan to the preregistration."""
    if margin:
        chance = equal(plan, margin, components)
        words = chance.reason if isinstance(chance, Undefined) else percent(chance.share)
        st.text(f"Chance to show equal systems practically equal within ±{margin:g}: {words}")
    with st.container(horizontal=True):
        if st.button("Items for a chance of 80 %", key=f"solve-{slug}"):
            items = solve(plan, shift, components)
            say(
                items.reason if isinstance(items, Undefined) else f"About {items:,} items give a chance of 80 %.",
                "info",
            )
        return draft and st.button("Use this plan in the preregistration", key=f"declare-{slug}")


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


def outlook(advice: Advice, effort: Effort, currency: str) -> None:
    """The plan in numbers, and whether more annotators or more items would help it more."""
    plan = advice.plan
    with st.container(horizontal=True):
        st.metric("Chance to show it", percent(plan.rate.share))
        st.metric("Annotations", plan.plan.annotations)
        st.metric("Hours in total", f"{effort.hours:.1f}")
        st.metric("Hours per annotator", f"{effort.hours_each:.1f}")
        st.metric("Cost", f"{effort.cost:,.0f} {currency}")
    say(f"{plan.sentence} {advice.sentence}", "success" if plan.rate.share >= GOOD_CHANCE else "info")


def chances(grid: Chances, name: str) -> None:
    """The chances of plans around this one, as a map."""
    st.subheader("Around this plan", anchor=False)
    st.text("The chance to show the difference, in percent, with the present annotators per item.")
    charts.show(figures.chances(grid), f"chances-{name}", f"{name}-plan", "The chance of plans around this one.")
    st.caption(CHANCE_NOTE)
