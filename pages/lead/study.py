"""One study: its state, the addresses to give out, who takes part, and what is asked."""

from __future__ import annotations

import streamlit as st

from components import addresses, state
from components.live import follow
from components.people_table import people_table, progress
from components.rubric_preview import rubric_preview
from components.study_choice import choose_study
from triptych import events, people, results, studies
from triptych.models import Access, Study, StudyState
from triptych.results import Counted
from triptych.study_settings import settings_of

STEPS = {
    StudyState.open: ("Open", "Annotators can join and begin."),
    StudyState.paused: ("Pause", "Nobody gets a new item. What is on screen may be submitted for 30 minutes."),
    StudyState.closed: ("Close", "Nothing more is accepted. Unfinished work is kept; you can reopen the study."),
}
STATES = {
    StudyState.draft: "This study is a draft: nobody can annotate yet. Check the rubric below, then open it.",
    StudyState.open: "This study is open.",
    StudyState.paused: "This study is paused: nobody gets a new item.",
    StudyState.closed: "This study is closed: nothing more is accepted.",
}


def state_of(study: Study) -> None:
    """Where the study stands, and the steps from there."""
    st.write(STATES[StudyState(study.state)])
    address = {"study": study.slug}
    with st.container(horizontal=True, vertical_alignment="center"):
        for to in sorted(studies.ALLOWED_NEXT[StudyState(study.state)], reverse=True):
            label, help_text = STEPS[to]
            label = "Reopen" if to == StudyState.open and study.state != StudyState.draft else label
            main = "primary" if to == StudyState.open else "secondary"
            if st.button(label, key=f"to-{to}", help=help_text, type=main):
                state.run_command(studies.set_state, study, to, who.pseudonym)
                st.rerun()
        st.page_link("lead/results.py", label="Results", icon=":material/bar_chart:", query_params=address)
        st.page_link("lead/ratings.py", label="Every rating", icon=":material/table_rows:", query_params=address)


def way_in(study: Study) -> None:
    """What to send to annotators."""
    if addresses.reaches_this_computer_only():
        st.caption(
            "You reach Triptych on this computer only, and so do these addresses. To let others in, start it with "
            "HOST=0.0.0.0 and open this page under the address it prints."
        )
    if study.access == Access.panel:
        st.write("Give this address to the panel; it fills in the two ids.")
        st.code(addresses.panel_address(study), language=None, wrap_lines=True)
        st.write("Whoever has finished sees this completion code, which the panel asks for.")
        st.code(settings_of(study).codes.finished, language=None)
        return
    if study.access == Access.open:
        st.write("Anybody who opens this address can take part under a name.")
        st.code(addresses.study_address(study), language=None, wrap_lines=True)
        st.write("Somebody who lost her return code comes back by a personal link.")
    else:
        st.write("Invite people by name. Each gets a personal link, good for 90 days.")
    personal_link(study)


def personal_link(study: Study) -> None:
    with st.form("invite", clear_on_submit=True, width=560):
        name = st.text_input("Name", max_chars=people.LONGEST_NAME)
        st.caption("The name of somebody who takes part already gives her a new link; the old one stops working.")
        if st.form_submit_button("Make a personal link"):
            secret = state.run_command(people.invite, study, name)
            state.remember("invited", secret and (study.slug, name, addresses.personal_address(secret)))
            st.rerun()
    made = state.recall("invited")
    if made and made[0] == study.slug:
        st.text(f"Personal link of {made[1]}. Copy it now: it is not stored and cannot be shown again.")
        st.code(made[2], language=None, wrap_lines=True)


who = state.require("lead")
st.title("Study", anchor=False)
with state.reading() as session:
    mine = studies.for_lead(session, who)
slug = choose_study(mine)
with state.reading() as session:
    study = studies.led_by(session, who, slug)
    number = events.last_number(session, study.id)
    rubric = studies.design_of(session, study).rubric
    view = results.overview(session, study, Counted(results.kinds_by_default(study)))
state.show_messages()
state_of(study)
progress(view)
st.subheader("For annotators", anchor=False)
way_in(study)
st.subheader("People", anchor=False)
if view.annotators:
    people_table(view.annotators)
else:
    st.write("Nobody has joined yet.")
st.subheader("Rubric", anchor=False)
st.caption(
    f"{study.raters_per_item} annotators per item · {study.round} round · {study.presentation.replace('_', ' ')}"
)
with st.expander(f"{len(rubric.asked(study.round))} questions"):
    rubric_preview(rubric, rubric.asked(study.round))


def number_now() -> int:
    with state.reading() as session:
        return events.last_number(session, study.id)


follow(number_now, number)
