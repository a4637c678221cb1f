"""The annotator's one screen: a step before the work, the current item on the workbench, or why there is none."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial

import streamlit as st

from components.annotator import consent, endings, entry_test, unsent
from components.annotator.instructions import instruct
from components.shell import entrance, state
from components.shell.choices import choose_language
from components.workbench import workbench
from triptych.annotate import assignments, desk, onboarding
from triptych.annotate import entry_test as admission
from triptych.annotate.assignments import NoItem
from triptych.annotate.blinding import store_keys
from triptych.annotate.instructions import instructions_for
from triptych.annotate.onboarding import Ending, Stage, Step
from triptych.errors import TriptychError
from triptych.people import joining
from triptych.storage.unavailable import DatabaseUnavailable
from triptych.study import lifecycle
from triptych.study.settings import Consent, Ethics

MY_WORK = "annotator/my_work.py"

who = state.require("annotator")
slug = st.query_params.get("study") or state.recall("study")
if not slug:
    st.switch_page(MY_WORK)
state.remember("study", slug)
PASSED, BACK = f"passed-{slug}", f"back-{slug}"


def run(command: Callable[..., object], *args: object) -> None:
    # callbacks run before the page checks the person, who may have signed out in another tab since the last run
    if state.current_person() == who:
        state.run_command(lambda session: command(session, lifecycle.by_slug(session, slug), who, *args))


def answer(sheet: admission.Sheet, question: str) -> None:
    run(admission.answer, question, state.recall(entry_test.field(sheet, question)))


def draw(step: Step) -> None:
    match step:
        case Step(stage=Stage.consent, consent=Consent() as text, ethics=Ethics() as ethics):
            agree = (joining.consent, text.version)
            consent.ask(study.title, text, ethics, lambda: run(*agree), lambda: run(onboarding.refuse))
        case Step(stage=Stage.instructions):
            with state.reading() as session:
                page = instructions_for(session, lifecycle.by_slug(session, slug), who)
            instruct(page, lambda: run(onboarding.read_instructions, page.version))
        case Step(stage=Stage.test, sheet=admission.Sheet(begun=False) as sheet):
            entry_test.prepare(sheet, lambda: run(admission.start))
        case Step(stage=Stage.test, sheet=admission.Sheet() as sheet):
            entry_test.ask(sheet, partial(answer, sheet), lambda: run(admission.hand_in))
        case Step(stage=Stage.passed, outcome=admission.Outcome() as outcome):
            entry_test.passed(outcome, lambda: state.remember(PASSED, True))
        case Step(ending=Ending() as ending):
            endings.draw(NoItem(step.stage), ending)
            if step.outcome:
                entry_test.failed(step.outcome)


try:
    with state.writing() as session:
        study = lifecycle.by_slug(session, slug)
        step = onboarding.step(session, study, who)
        if step and step.stage == Stage.passed and state.recall(PASSED):
            step = None
        back = state.recall(BACK)
        showing = assignments.changeable(session, study, who, back) if back else None
        on_desk = desk.Desk() if step else desk.lay(session, study, who, showing=showing)
        ending = onboarding.ending(study, on_desk.nothing) if on_desk.nothing else None
        last = assignments.changeable(session, study, who) if ending else None
        left_behind = store_keys(session, study, who) if on_desk.nothing == NoItem.withdrawn else []
except DatabaseUnavailable:
    raise  # the router shows this and polls
except TriptychError as refusal:
    state.say(str(refusal))
    st.stop()
state.show_messages()
if step:
    draw(step)
    is_wide = step.stage == Stage.instructions or step.ending is not None
    with nullcontext() if is_wide else entrance.centred(entrance.READING):
        choose_language(who)
    begun = step.sheet and (step.sheet.number, step.sheet.begun)
    entrance.begin_at_top(f"{slug} {step.stage} {begun}")
    st.stop()
if left_behind:
    unsent.forget(left_behind)
if on_desk.nothing and ending:
    endings.draw(on_desk.nothing, ending, partial(state.remember, BACK, last) if last else None)
if on_desk.view is None:
    st.stop()
# the workbench loads further items itself; it returns when no item is left, or when the annotator stops for today
left = workbench(on_desk.view, key=f"workbench-{slug}", showing=on_desk.showing)
if left:
    state.forget(BACK)
if left == "stop":
    st.switch_page(MY_WORK)
if left and on_desk.showing:
    st.rerun()  # shows the desk's current item
