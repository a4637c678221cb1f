"""The annotator's start page: their studies, progress and finished work."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from components.shell import state
from triptych.annotate import assignments, progress
from triptych.people import accounts, membership
from triptych.people.membership import AnnotatorMembership
from triptych.stats.numbers import counted
from triptych.storage.models import AssignmentState, Study, StudyState
from triptych.study import lifecycle

ANNOTATE, MY_DATA = "annotator/annotate.py", "annotator/my_data.py"
STATES = {
    StudyState.open: "open",
    StudyState.paused: "paused by the lead",
    StudyState.closed: "closed",
}
STATE_NAMES = {AssignmentState.surplus: "submitted"}  # that others were faster is no fault of the annotator

who = state.require("annotator")


def go(study: Study) -> None:
    state.remember("go", study.slug)


def join(study: Study) -> None:
    # callbacks run before the page checks the person: they may have signed out in another tab since the last run
    if state.current_person() == who and state.run_command(accounts.join, study, who):
        go(study)


def draw(study: Study, member: AnnotatorMembership, done: progress.Progress, work: list) -> None:
    with st.container(border=True):
        st.text(study.title)
        if member.turned_away_as or member.withdrawn_at:
            st.caption("There are no items for you in this study.")
            st.button("Show the reason", key=f"go-{study.slug}", on_click=go, args=(study,))
            return
        left = f" · about {done.minutes_left} min left" if done.minutes_left else ""
        st.progress(done.done / max(done.total, 1), f"{done.done} of at most {counted(done.total, 'item')}{left}")
        if study.state == StudyState.open:
            label = "Continue" if done.done else "Start"
            st.button(label, key=f"go-{study.slug}", type="primary", on_click=go, args=(study,))
        else:
            st.caption(f"This study is {STATES[study.state]}.")
        if work:
            with st.expander(f"What I have done ({len(work)})"):
                st.dataframe(work_table(work), hide_index=True, width="stretch")


def work_table(work: list) -> pd.DataFrame:
    """The annotator's own annotations, newest first; items have numbers in their own order, never names."""
    rows = [
        {
            "Item": number,
            "State": STATE_NAMES.get(assignment.state, assignment.state),
            "Submitted": assignment.submitted_at,
            "Minutes": round(assignment.active_seconds / 60, 1),
        }
        for number, assignment in enumerate(work, 1)
    ]
    return pd.DataFrame(rows[::-1])


chosen = state.take("go")
if chosen:
    st.switch_page(ANNOTATE, query_params={"study": chosen})
st.title("My work", anchor=False)
state.show_messages()
with state.reading() as session:
    studies = lifecycle.for_annotator(session, who.person_id)
    parts = [
        (
            s,
            membership.membership_of(session, s, who),
            progress.of_work(session, s, who),
            assignments.own_work(session, s, who),
        )
        for s in studies
    ]
    joinable = [] if accounts.came_from_panel(session, who) else lifecycle.open_to_all(session)
    others = [study for study in joinable if study.slug not in {joined.slug for joined in studies}]
for study, member, done, work in parts:
    draw(study, member, done, work)
if not parts:
    st.write("You are not in a study yet.")
if others:
    st.subheader("Studies you can join", anchor=False)
for study in others:
    with st.container(border=True, horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.text(study.title)
        st.button("Join", key=f"join-{study.slug}", on_click=join, args=(study,))
if parts:
    st.page_link(MY_DATA, label="What is stored about me, and how to withdraw", icon=":material/lock:")
