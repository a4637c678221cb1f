"""Second looks: a queue of items, one item with all its annotations, and its final values."""

from functools import partial

import streamlit as st

from components.results import item_review as second_look
from components.results.scope import choose_scope, scope_notes
from components.shell import state
from components.shell.empty_state import empty_state, no_rating_yet
from components.shell.study_choice import chosen_study
from triptych.annotate import comments
from triptych.results import adjudication, item_review
from triptych.results.frame.counted import kinds_by_default
from triptych.results.frame.upkeep import frame_of
from triptych.results.item_review import Look
from triptych.results.quality import flags_of
from triptych.results.study_analysis import analyse
from triptych.study.system_names import system_names


def run(command, *arguments, done: str, goal: str | None = None) -> None:
    """Run a command about the item and redraw the page with its message; if it succeeded, scroll to `goal`."""

    def go_on(_: object) -> str:
        if goal:
            second_look.turn_to_item(goal)
        return done

    state.run_command(command, study, *arguments, who, done=go_on)
    st.rerun()


def decide(look: Look, following: str | None) -> None:
    """The item's final values: accept, change or revoke them."""
    item = look.texts.external_id
    st.subheader("Final values", anchor=False)
    if look.final is None:
        accept(look, item, following)
        return
    second_look.final_state(look.final)
    if (why := second_look.take_back(look, study.slug)) is not None:
        run(partial(adjudication.take_back, seen=look.final), item, why, done="This item no longer has a final value.")
    label = "Decide yourself instead" if look.final.waiting else "Change them"
    with st.expander(label, key=f"decide-{item}"):
        accept(look, item, following)


def accept(look: Look, item: str, following: str | None) -> None:
    if chosen := second_look.final_form(look, second_look.mark_in_address(), study.slug):
        done = f"The final values of {item} are recorded."
        run(partial(adjudication.record, seen=look.final), item, *chosen, done=done, goal=following)


def ask(item: str) -> None:
    """Assign the item to an annotator who has not seen it and is not flagged."""
    with state.reading() as session:
        people = adjudication.adjudicators(session, study, item)
        flags = flags_of(session, study, frame)
    flagged = [name for name in people if flags.get(name)]
    if asked := second_look.ask_somebody([n for n in people if n not in flagged], flagged, f"{study.slug}-{item}"):
        run(adjudication.ask, item, asked, done=f"{asked} gets this item next.")


def talk(item: str) -> None:
    """The messages of leads and annotators about the item."""
    with state.reading() as session:
        threads, askable = comments.threads(session, study, item), comments.askable(session, study, item, who)
    form = f"comment-{study.slug}-{item}"
    if question := second_look.comments(threads, askable, form):
        done = f"{question[0]} finds your comment under My work."
        state.run_command(comments.ask, study, item, *question, who, done=done, empties=form)
        st.rerun()


who = state.require("lead")
with chosen_study(who) as (session, study):
    slug = study.slug
    kinds, frame = kinds_by_default(study), frame_of(session, study)
    names = system_names(session, study)
if frame.work.empty:
    no_rating_yet(study)
left, right = st.columns([1, 3], gap="medium")
with left:
    scope = choose_scope(frame, kinds, slug)
    analysis = analyse(frame, scope, names)
    with state.reading() as session:
        lines = item_review.lines(session, study, analysis.disagreement, scope)
        finals = adjudication.final_values(session, study)
    chosen = second_look.choose_item(lines, st.query_params.get("look", ""), slug) if lines else None
with right:
    top = st.container()
    scope_notes(frame, scope, kinds)
    if not lines:
        empty_state("This study has no items yet. Add a file of items.", "Setup", slug)
    if chosen:
        item, items = chosen
        second_look.walk(item, items)
        look = state.read(item_review.look, study, frame, item, scope)
        second_look.draw_look(look, slug)
        if not frame.work.empty:
            decide(look, second_look.neighbours(items, item)[1])
            if look.final is None:
                ask(item)
            second_look.draw_answers(look, slug)
            talk(item)
    second_look.agreement_with_final(adjudication.agreement(frame, scope, finals))
    with top:
        second_look.unsent_form(slug, finals)
