"""Second looks: one item across its annotators, and its final value."""

import streamlit as st

from components.results import item_review as second_look
from components.results.scope import choose_scope, scope_notes
from components.shell import state
from components.shell.study_choice import chosen_study
from triptych.results import adjudication, item_review
from triptych.results.frame.counted import kinds_by_default
from triptych.results.frame.upkeep import frame_of
from triptych.results.item_review import Look
from triptych.results.study_analysis import analyse
from triptych.storage.models import Study
from triptych.study.system_names import system_names


def run(command, *arguments, done: str, **named) -> None:
    """Runs a command about the item and redraws the page with its message."""
    state.run_command(command, study, *arguments, who, done=done, **named)
    st.rerun()


def decide(look: Look) -> None:
    """The current final value, and how to set one."""
    item = look.texts.external_id
    st.subheader("Final value", anchor=False)
    second_look.final_state(look.final)
    if look.final is None:
        asked = second_look.ask_somebody(people, f"{study.slug}-{item}")
        if asked:
            run(adjudication.ask, item, asked, done=f"{asked} gets this item next.")
    else:
        why = second_look.take_back(f"{study.slug}-{item}")
        if why is not None:
            run(adjudication.take_back, item, why, done="This item has no final value any more.")
    with st.expander("Decide yourself" if look.final is None else "Change it", key=f"decide-{item}"):
        chosen = second_look.final_form(look, frame.rubric.asked(frame.round), study.slug)
        if chosen:
            run(adjudication.record, item, *chosen, done=f"The final values of {item} are recorded.")


def look_at(study: Study, item: str) -> Look:
    with state.reading() as session:
        return item_review.look(session, study, frame, item, scope)


who = state.require("lead")
with chosen_study(who, "Items") as (session, study):
    slug = study.slug
    kinds, frame = kinds_by_default(study), frame_of(session, study)
    names = system_names(session, study)
scope = choose_scope(frame, kinds, slug)
scope_notes(frame, scope, kinds)
state.show_messages()
analysis = analyse(frame, scope, names)
with state.reading() as session:
    lines = item_review.lines(session, study, analysis.disagreement, scope)
    people = adjudication.adjudicators(session, study)
    finals = adjudication.final_values(session, study)
if not lines:
    st.info("This study has no items yet. Add a file of items on its Design page.")
    st.stop()
item = second_look.choose_item(lines, st.query_params.get("item", ""), slug)
second_look.agreement_with_final(adjudication.agreement(frame, scope, finals))
if item is not None:
    look = look_at(study, item)
    second_look.draw_look(look, slug)
    decide(look)
