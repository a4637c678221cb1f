"""Actions on a study as a whole: opening, pausing, closing, duplicating, deleting a draft."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import streamlit as st

from components.shell import state
from components.shell.clearing import clear
from components.shell.empty_state import empty_state
from components.study import duplicate_form
from components.study.closing import close
from components.study.study_form import PRESENTATIONS
from triptych.privacy import deletion
from triptych.results.first_screen.next_step import next_step
from triptych.results.frame.counted import kinds_by_default
from triptych.results.frame.model import Counted
from triptych.results.progress import overview
from triptych.stats.numbers import counted
from triptych.storage.models import Round, Study, StudyState
from triptych.study import duplicate, lifecycle
from triptych.study.persons import Who

SETUP = "lead/design.py"
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
        _copies(study, free, who)
        # last: the browser identifies a popover by its position, so after closing, the next one would appear open
        if StudyState.closed in lifecycle.ALLOWED_NEXT[study.state]:
            close(study, view, who)
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


def _copies(study: Study, free: Sequence[Round], who: Who) -> None:
    request = duplicate_form.copy_form(study, free)
    if request is not None:
        draft = state.run_command(
            duplicate.duplicate,
            study,
            request.title,
            who,
            done="The draft was created.",
            next_round=request.next_round,
            with_items=request.with_items,
        )
        if draft:
            st.switch_page(SETUP, query_params={"study": draft.slug})
        st.rerun()
    if duplicate_form.delete_form(study):
        if state.run_command(deletion.delete_draft, study, who, done="The draft was deleted."):
            clear()
        st.switch_page("lead/studies.py")
