"""A new study from a rubric and a file of items: everything is shown before anything is stored."""

from __future__ import annotations

import streamlit as st

from components.shell import state
from components.study.import_preview import import_preview
from components.study.rubric_preview import rubric_preview
from components.study.study_form import choose_file, choose_plan, choose_rubric
from triptych.stats.numbers import counted
from triptych.study import lifecycle

who = state.require("lead")
st.title("New study", anchor=False)

st.subheader("1. What is asked", anchor=False)
chosen = choose_rubric()
if chosen is None:
    st.stop()
rubric_yaml, rubric = chosen
with st.expander(counted(len(rubric.criteria), "question")):
    rubric_preview(rubric, rubric.criteria)

st.subheader("2. Which items", anchor=False)
file = choose_file(rubric)
if file is None:
    st.stop()
import_preview(file, lifecycle.misfits(rubric, file))
if not file.ok:
    st.stop()

st.subheader("3. How", anchor=False)
plan = choose_plan(rubric)
if st.button("Create the study", type="primary"):
    study = state.run_command(lifecycle.create_from_file, plan, rubric_yaml, file, who)
    if study:
        state.forget("files_read")
        st.switch_page("lead/study.py", query_params={"study": study.slug})
state.show_messages()
st.caption("The study starts as a draft: nobody can annotate before you launch it.")
