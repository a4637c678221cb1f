"""Planning a study: the chance to show a difference, hours and cost, while sliders move."""

import streamlit as st

from components.shell import state
from components.study import planner_form
from components.study.settings_form import is_draft
from triptych.simulate import planner
from triptych.simulate.planner import Basis
from triptych.stats import power
from triptych.stats.power import Plan
from triptych.stats.undefined import UndefinedStatistic
from triptych.storage.models import Study
from triptych.study import lifecycle
from triptych.study.persons import Who
from triptych.study.settings import settings_of

INTRODUCTION = (
    "How many items and annotators does a study need? Set the difference between two systems that it should show, and "
    "move the sliders. How much answers scatter and how long they take comes from the ratings of a pilot or, before "
    "there is one, from published studies."
)


def bases_of(study: Study, who: Who) -> list[Basis]:
    """The criteria of every round of the series that has ratings."""
    with state.reading() as session:
        return [
            basis
            for study_round in planner.rounds(session, who, study)
            for basis in planner.bases(session, study_round)
        ]


def declare(study: Study | None, basis: Basis, plan: Plan, shift: float, margin: float) -> None:
    """The plan in the words and margins of the preregistration; shares are stored from 0 to 1."""
    shares = basis.width == planner.PERCENT
    unit, margin = ("percentage points", margin / planner.PERCENT) if shares else ("points", margin)
    done = "The plan is in the preregistration."
    state.run_command(planner.declare, study, plan, shift, margin, unit, who.pseudonym, done=done)
    state.show_messages()


@st.fragment
def planning(study: Study | None, bases: list[Basis], tests: int) -> None:
    """Everything that a slider changes, and nothing else."""
    slug = study.slug if study else "new"
    currency = settings_of(study).pay.currency if study else "USD"
    basis = planner_form.choose_basis(bases, slug)
    plan = planner_form.choose_plan(study, slug, tests)
    shift = planner_form.choose_difference(basis, slug)
    margin = planner_form.choose_margin(basis, slug)
    paid = planner.pay_per_hour(study, basis.seconds) if study and basis.seconds else None
    effort = planner_form.choose_effort(basis, paid, currency, slug)
    try:
        advice = planner.advise(plan, shift, basis.components)
        planner_form.outlook(advice, power.effort(plan, *effort), currency)
        draft = study is not None and is_draft(study)
        if planner_form.more(plan, shift, margin, basis.components, slug, draft):
            declare(study, basis, plan, shift, margin)
    except UndefinedStatistic as refusal:
        state.say(str(refusal), "info")
        return
    planner_form.chances(planner.chances(plan, shift, basis.components), slug)


who = state.require("lead")
st.title("Planner", anchor=False)
with state.reading() as session:
    studies = lifecycle.for_lead(session, who)
st.text(INTRODUCTION)
slug = planner_form.choose_for(studies)
study = next((led for led in studies if led.slug == slug), None)
bases = bases_of(study, who) if study else []
with state.reading() as session:
    tests = planner.tests_of(session, study) if study else 1
if study and not bases:
    st.caption("No round of this series has enough ratings yet to show how much they scatter.")
planning(study, bases, tests)
