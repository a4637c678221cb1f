"""One study at a glance: its state, progress, the addresses to give out, links to its other pages."""

from __future__ import annotations

from typing import Literal

import streamlit as st

from components.results.findings import progress
from components.shell import live, state
from components.shell.clearing import clear
from components.shell.study_choice import chosen_study
from components.study import duplicate_form
from components.study.access_address import access_address
from components.study.closing import close
from components.study.study_form import PRESENTATIONS
from triptych.results.frame.counted import kinds_by_default
from triptych.results.frame.model import Counted
from triptych.results.progress import Overview, overview
from triptych.stats.numbers import counted
from triptych.storage import events
from triptych.storage.models import Study, StudyState
from triptych.study import duplicate, lifecycle

STEPS = {
    StudyState.open: ("Reopen", "Annotators can join and begin."),
    StudyState.paused: ("Pause", "Nobody gets a new item. What is on screen may be submitted for 30 minutes."),
}
STATES = {
    StudyState.draft: "This study is a draft: nobody can annotate yet. Go through its design, then launch it there.",
    StudyState.open: "This study is open.",
    StudyState.paused: "This study is paused: nobody gets a new item.",
    StudyState.closed: "This study is closed: nothing more is accepted.",
}
PLACES = [
    ("lead/design.py", "Design", ":material/tune:"),
    ("lead/preview.py", "Preview", ":material/visibility:"),
    ("lead/people.py", "People", ":material/group:"),
    ("lead/workbooks.py", "Workbooks", ":material/grid_on:"),
    ("lead/results.py", "Results", ":material/bar_chart:"),
    ("lead/ratings.py", "Every rating", ":material/table_rows:"),
]


def state_of(study: Study, view: Overview) -> None:
    """The study's state, the possible changes of it, and links to its pages."""
    st.write(STATES[study.state])
    address = {"study": study.slug}
    with st.container(horizontal=True, vertical_alignment="center"):
        if study.state == StudyState.draft:
            if st.button("Launch …", type="primary", help="First shows what was found in items and texts."):
                st.switch_page("lead/design.py", query_params={**address, "section": "Launch"})
        else:
            steps(study)
        more(study)
    if StudyState.closed in lifecycle.ALLOWED_NEXT[study.state]:
        close(study, view, who)
    with st.container(horizontal=True, vertical_alignment="center"):
        for page, label, icon in PLACES:
            st.page_link(page, label=label, icon=icon, query_params=address)


def steps(study: Study) -> None:
    for to in sorted(lifecycle.ALLOWED_NEXT[study.state] - {StudyState.closed}, reverse=True):
        label, help_text = STEPS[to]
        main: Literal["primary", "secondary"] = "primary" if to == StudyState.open else "secondary"
        if st.button(label, key=f"to-{to}", help=help_text, type=main):
            state.run_command(lifecycle.set_state, study, to, who.pseudonym)
            st.rerun()


def more(study: Study) -> None:
    """Duplicating the study, and deleting a draft."""
    request = duplicate_form.copy_form(study, free)
    if request is not None:
        options = {"next_round": request.next_round, "with_items": request.with_items}
        draft = state.run_command(
            duplicate.duplicate, study, request.title, who, done="The draft was created.", **options
        )
        if draft:
            st.switch_page("lead/study.py", query_params={"study": draft.slug})
        st.rerun()
    if duplicate_form.delete_form(study):
        if state.run_command(lifecycle.delete_draft, study, done="The draft was deleted."):
            clear()
        st.switch_page("lead/studies.py")


def facts(study: Study, view: Overview) -> None:
    """Progress, and the design in one line."""
    progress(view, "Annotators", str(len(view.annotators)))
    presentation = PRESENTATIONS[study.presentation].lower()
    st.caption(f"{counted(study.raters_per_item, 'annotator')} per item · {study.round} round · {presentation}")
    others = [other for other in studies if other.series == study.series and other.id != study.id]
    for other in others:
        label = f"{other.round.capitalize()} round of the same series"
        st.page_link("lead/study.py", label=label, query_params={"study": other.slug})


who = state.require("lead")
with chosen_study(who, "Study") as (session, study):
    studies = lifecycle.for_lead(session, who)
    number = events.last_number(session, study.id)
    free = duplicate.free_rounds(session, study)
    view = overview(session, study, Counted(kinds_by_default(study)))
state_of(study, view)
facts(study, view)
st.subheader("For annotators", anchor=False)
access_address(study)


live.follow(lambda: live.number_now(study), number)
