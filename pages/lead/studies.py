"""The lead's start page: their studies, and the demo studies."""

from __future__ import annotations

import streamlit as st

from components.shell import state
from components.shell.choices import confirmed
from components.shell.clearing import run_and_clear, what_is_left
from components.shell.tour import tour_link
from triptych.privacy import deletion
from triptych.stats.numbers import counted
from triptych.storage.models import StudyState
from triptych.study import lifecycle
from triptych.study.lifecycle import StudyLine

NEW = "lead/new_study.py"
PLACES = [
    ("lead/design.py", "Setup", ":material/tune:"),
    ("lead/people.py", "People", ":material/group:"),
    ("lead/results.py", "Results", ":material/bar_chart:"),
]
REMOVAL = (
    "This permanently deletes the demo studies, with everything that was tried out in them. Your own studies are "
    "not affected."
)


def draw(line: StudyLine) -> None:
    study = line.study
    address = {"study": study.slug}
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.text(study.title, width="stretch")
            st.badge(study.state.capitalize(), color="green" if study.state == StudyState.open else "gray")
        st.progress(min(line.done / line.expected, 1.0) if line.expected else 0.0)
        with st.container(horizontal=True, vertical_alignment="center"):
            progress = f"{line.done} of {counted(line.expected, 'annotation')}"
            facts = [progress, counted(line.annotators, "annotator"), f"{study.round} round"]
            st.caption(" · ".join(facts), width="stretch")
            for page, label, icon in PLACES:
                st.page_link(page, label=label, icon=icon, query_params=address)


def remove_demo() -> None:
    """Remove the demo studies after a confirmation; this deletes annotations made in them, too."""
    if confirmed("Remove the demo studies", REMOVAL, "Remove them", "remove-demo"):
        run_and_clear(deletion.delete_demo, done="The demo studies were removed.")


who = state.require("lead")
lines = state.read(lifecycle.lines_for_lead, who)
own = [line for line in lines if not line.study.demo]
shown_off = [line for line in lines if line.study.demo]

with st.container(horizontal=True, vertical_alignment="bottom"):
    st.title("Studies", anchor=False)
    if state.button("New study", "new-study", type="primary"):
        st.switch_page(NEW)
state.show_messages()
what_is_left()
for line in own:
    draw(line)
if not own:
    st.write("You have no study yet. *New study* creates one from a rubric and a file of items.")
if shown_off:
    st.header("Demo studies", anchor=False)
    st.caption("Invented texts and simulated annotators, to try everything out. They are not part of any total.")
    tour_link([line.study for line in shown_off])
    for line in shown_off:
        draw(line)
    remove_demo()
