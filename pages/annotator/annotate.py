"""The annotator's one screen: an entry step, the current item on the workbench, or why there is none."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from components.annotator import consent, endings, entry_test
from components.shell import entrance, state
from components.workbench import workbench
from triptych.annotate import assignments, desk, onboarding
from triptych.annotate import entry_test as admission
from triptych.annotate.assignments import Nothing
from triptych.annotate.onboarding import Stage, Step
from triptych.errors import TriptychError
from triptych.people import accounts
from triptych.storage.database import DatabaseAway
from triptych.study import lifecycle

MY_WORK = "annotator/my_work.py"

who = state.require("annotator")
slug = st.query_params.get("study") or state.recall("study")
if not slug:
    st.switch_page(MY_WORK)
state.remember("study", slug)
TOLD, BACK = f"told-{slug}", f"back-{slug}"


def run(command: Any, *args: Any) -> None:
    # callbacks run before the page checks the person: they may have signed out in another tab since the last run
    if state.current_person() == who:
        state.run_command(lambda session: command(session, lifecycle.by_slug(session, slug), who, *args))


def answer(sheet: admission.Sheet, question: str) -> None:
    run(admission.answer, question, state.recall(entry_test.field(sheet, question)))


def draw(step: Step) -> None:
    match step.stage:
        case Stage.consent:
            agree = (accounts.consent, step.consent.version)
            consent.ask(step.consent, lambda: run(*agree), lambda: run(onboarding.refuse))
        case Stage.instructions:
            consent.instruct(step.welcome, lambda: run(onboarding.read_instructions))
        case Stage.test if not step.sheet.begun:
            entry_test.prepare(step.sheet, lambda: run(admission.start))
        case Stage.test:
            entry_test.ask(step.sheet, partial(answer, step.sheet), lambda: run(admission.hand_in))
        case Stage.passed:
            entry_test.passed(step.outcome, lambda: state.remember(TOLD, True))
        case _:
            endings.draw(Nothing(step.stage), step.ending)
            if step.outcome:
                entry_test.failed(step.outcome)


try:
    with state.writing() as session:
        study = lifecycle.by_slug(session, slug)
        step = onboarding.step(session, study, who)
        if step and step.stage == Stage.passed and state.recall(TOLD):
            step = None
        back = state.recall(BACK)
        showing = assignments.changeable(session, study, who, back) if back else None
        laid = None if step else desk.lay(session, study, who, showing=showing)
        ending = onboarding.ending(study, laid.nothing) if laid and laid.nothing else None
        last = assignments.changeable(session, study, who) if ending else None
except DatabaseAway:
    raise  # the router shows this, and checks again by itself
except TriptychError as refusal:
    state.say(str(refusal))
    st.stop()
state.show_messages()
if step:
    draw(step)
    begun = step.sheet and (step.sheet.number, step.sheet.begun)
    entrance.begin_at_top(f"{slug} {step.stage} {begun}")
    st.stop()
if laid.view is None:
    endings.draw(laid.nothing, ending, partial(state.remember, BACK, last) if last else None)
    st.stop()
# from here the workbench loads the next items itself; it returns when there is none, or to stop for today
left = workbench(laid.view, key=f"workbench-{slug}", showing=laid.showing)
if left:
    state.forget(BACK)
if left == "stop":
    st.switch_page(MY_WORK)
if left and laid.showing:
    st.rerun()  # to the current item of the desk
