"""Actions on a study as a whole: opening, pausing, closing, duplicating, deleting a draft."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import streamlit as st

from components.shell import state
from components.shell.choices import certain, choose, confirmed
from components.shell.clearing import clear
from components.shell.empty_state import empty_state
from components.study.study_form import PRESENTATIONS, ROUNDS
from triptych.privacy import deletion
from triptych.results.first_screen.next_step import next_step
from triptych.results.frame.counted import kinds_by_default
from triptych.results.frame.model import Counted
from triptych.results.progress import Overview, overview
from triptych.stats.numbers import counted
from triptych.storage.models import Round, Study, StudyState
from triptych.study import duplicate, lifecycle
from triptych.study.lifecycle import LONGEST_TITLE
from triptych.study.persons import Who

SETUP = "lead/design.py"
COPY = "A new draft with the same rubric and settings. Ratings, annotators and plan are not copied."
DELETION = "This permanently deletes the draft, with its items and invitations. It contains no ratings."
CLOSING = "The study accepts no more work. Unfinished work is saved; you can reopen the study."
STEPS = {
    StudyState.open: ("Reopen", "Annotators can join and begin."),
    StudyState.paused: ("Pause", "No new items are assigned. Items on screen can be submitted for 30 minutes."),
}
STATES = {
    StudyState.draft: "This study is a draft: nobody can annotate yet. Complete its sections, then launch it.",
    StudyState.open: "This study is open.",
    StudyState.paused: "This study is paused: no new items are assigned.",
    StudyState.closed: "This study is closed: it accepts no more work.",
}


def lifecycle_bar(study: Study, who: Who, go: Callable[[str], None]) -> None:
    """The study's state, the possible actions, and the other rounds of its series; `go` opens a section of Setup."""
    with state.reading() as session:
        view = overview(session, study, Counted(kinds_by_default(study)))
        free = duplicate.free_rounds(session, study)
        others = [led for led in lifecycle.for_lead(session, who) if led.series == study.series and led.id != study.id]
    presentation = PRESENTATIONS[study.presentation].lower()
    facts = f"{counted(study.raters_per_item, 'annotator')} per item · {study.round} round · {presentation}"
    st.text(f"{STATES[study.state]} {facts}.")
    with st.container(horizontal=True, vertical_alignment="center"):
        if study.state == StudyState.draft:
            st.button("Launch …", type="primary", on_click=go, args=("Launch",))
        else:
            _steps(study, who)
        with st.popover("Duplicate"):
            _duplicate(study, free, who)
        if study.state == StudyState.draft:
            _delete(study, who)
        # last: the browser identifies a popover by its position, so after closing, the next one would appear open
        if StudyState.closed in lifecycle.ALLOWED_NEXT[study.state]:
            with st.popover("Close"):
                _close(study, view, who)
        for other in others:
            label = f"{other.round.capitalize()} round of the same series"
            st.page_link(SETUP, label=label, query_params={"study": other.slug})
    if study.state == StudyState.open and not view.annotators:
        step = next_step(study, view)
        empty_state(step.sentence, step.place, study.slug)


def _steps(study: Study, who: Who) -> None:
    for to in sorted(lifecycle.ALLOWED_NEXT[study.state] - {StudyState.closed}, reverse=True):
        label, help_text = STEPS[to]
        main: Literal["primary", "secondary"] = "primary" if to == StudyState.open else "secondary"
        if state.button(label, f"to-{to}-{study.slug}", help=help_text, type=main):
            state.run_command(lifecycle.set_state, study, to, who.pseudonym)
            st.rerun()


def _duplicate(study: Study, free: Sequence[Round], who: Who) -> None:
    """Copy the study as an independent one, or as a round that the series does not have yet."""
    st.text(COPY)
    slug = study.slug
    names: dict[Round | None, str] = {None: "A separate study"}
    names |= {each: f"Next round: {ROUNDS[each]}" for each in free}
    next_round = choose("Duplicate as", names, f"copy-as-{slug}")
    old = study.title.removeprefix("Demo: ")
    proposed = f"{old} (copy)" if next_round is None else old  # lists show the round
    title = st.text_input(
        "The copy's title", proposed[:LONGEST_TITLE], max_chars=LONGEST_TITLE, key=f"copy-title-{slug}-{next_round}"
    )
    items = st.checkbox("With its items", next_round is None, key=f"copy-items-{slug}-{next_round}")
    if state.button("Make the draft", f"copy-make-{slug}", type="primary"):
        done = "The draft was created."
        draft = state.run_command(
            duplicate.duplicate, study, title, who, done=done, next_round=next_round, with_items=items
        )
        if draft:
            st.switch_page(SETUP, query_params={"study": draft.slug})
        st.rerun()


def _delete(study: Study, who: Who) -> None:
    if confirmed("Delete", DELETION, "Delete the draft", f"delete-{study.slug}"):
        if state.run_command(deletion.delete_draft, study, who, done="The draft was deleted."):
            clear()
        st.switch_page("lead/studies.py")


def _close(study: Study, view: Overview, who: Who) -> None:
    """Close the study, after showing what is unfinished."""
    losses = f"Closing at {view.done} of {counted(view.expected, 'annotation')}. {CLOSING}"
    if certain(who, "Close the study", losses, f"close-{study.slug}"):
        state.run_command(lifecycle.set_state, study, StudyState.closed, who.pseudonym)
        st.rerun()
