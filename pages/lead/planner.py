"""Planning a study: power, hours and cost, updated while sliders move."""

import streamlit as st

from components.shell import state
from components.shell.study_choice import chosen_study
from components.study import planner_form
from triptych.simulate import planner
from triptych.simulate.planner import Aim, Basis, Shape
from triptych.stats import power
from triptych.stats.power import Plan
from triptych.stats.undefined import UndefinedStatistic
from triptych.storage.models import Study, StudyState
from triptych.study import lifecycle
from triptych.study.persons import Who
from triptych.study.settings import settings_of

INTRODUCTION = (
    "How many items and annotators does a study need? Set the difference between two systems that it should show, and "
    "move the sliders. How much answers scatter and how long they take is estimated from a pilot. Before there is one, "
    "choose how much they may scatter."
)
NO_PILOT = (
    "Ratings of this series do not show how much answers scatter: there are too few yet, or their differences are all "
    "equal."
)


def bases_of(study: Study, who: Who) -> list[Basis]:
    """The criteria of every round of the series that has ratings."""
    with state.reading() as session:
        return [
            basis
            for study_round in planner.rounds(session, who, study)
            for basis in planner.bases(session, study_round)
        ]


def declare(study: Study, plan: Plan, aim: Aim) -> None:
    """Copy the plan to the preregistration's words and margins, if the person still leads the study."""

    def command(session: state.Session) -> None:
        # this fragment reruns alone, without the page's check that the person leads the study
        planner.declare(session, lifecycle.led_by(session, who, study.slug), plan, aim, who.pseudonym)

    state.run_command(command, done="The plan is in the preregistration.")
    state.show_messages()


@st.fragment
def planning(study: Study | None, bases: list[Basis], shape: Shape) -> None:
    """The part of the page that sliders change."""
    slug = study.slug if study else "new"
    currency = settings_of(study).pay.currency if study else "USD"
    basis = planner_form.choose_basis(bases, slug, shape.scales)
    plan = planner_form.choose_plan(study, slug, shape)
    aim = planner_form.choose_aim(basis, slug, shape.systems)
    scatter = planner.scatter_of(plan, basis, aim.shift)
    paid = planner.pay_per_hour(study, basis.seconds) if study and basis.seconds else None
    effort = planner_form.choose_effort(basis, paid, currency, slug)
    try:
        advice = planner.advise(plan, aim.shift, scatter)
        planner_form.outlook(advice, power.effort(plan, *effort), basis, currency)
        draft = study is not None and study.state == StudyState.draft
        if planner_form.solutions(plan, aim, basis, slug, draft) and study:
            declare(study, plan, aim)
    except UndefinedStatistic as refusal:
        state.say(str(refusal), "info")
        return
    planner_form.chances(planner.chances(plan, aim.shift, scatter), slug)


who = state.require("lead")
study = None
if "study" in st.query_params:
    with chosen_study(who) as (_, study):
        pass
st.text(INTRODUCTION)
bases = bases_of(study, who) if study else []
with state.reading() as session:
    shape = planner.shape_of(session, study) if study else Shape()
if study and not bases:
    st.caption(NO_PILOT)
planning(study, bases, shape)
