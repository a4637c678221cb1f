"""Planning a study: the chance to show a difference, hours and cost, while sliders move."""

import streamlit as st

from components.shell import state
from components.study import planner_form
from triptych.simulate import planner
from triptych.simulate.planner import Basis
from triptych.stats import power
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


@st.fragment
def planning(study: Study | None, bases: list[Basis]) -> None:
    """Everything that a slider changes, and nothing else."""
    slug = study.slug if study else "new"
    currency = settings_of(study).pay.currency if study else "USD"
    basis = planner_form.choose_basis(bases, slug)
    plan = planner_form.choose_plan(study, slug)
    shift = planner_form.choose_difference(basis, slug)
    paid = planner.pay_per_hour(study, basis.seconds) if study and basis.seconds else None
    effort = planner_form.choose_effort(basis, paid, currency, slug)
    try:
        advice = planner.advise(plan, shift, basis.components)
        planner_form.outlook(advice, power.effort(plan, *effort), currency)
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
if study and not bases:
    st.caption("No round of this series has enough ratings yet to show how much they scatter.")
planning(study, bases)
