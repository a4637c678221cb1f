"""A new study from a rubric and a file of items; everything is previewed before it is stored."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from components.shell import state
from components.study.import_preview import import_preview
from components.study.study_form import choose_file, choose_plan, choose_rubric, file_before, forget_files
from triptych.rubric.files import EMPTY_RUBRIC
from triptych.stats.numbers import counted
from triptych.study import lifecycle
from triptych.study.checklist import SetupSection

who = state.require("lead")
st.title("New study", anchor=False)
with st.container(horizontal=True):
    st.page_link("lead/import_ratings.py", label="Import ratings made elsewhere", icon=":material/upload_file:")
    st.page_link("lead/import_study.py", label="Import a whole study", icon=":material/archive:")
    st.page_link("lead/planner.py", label="How large should it be?", icon=":material/insights:")

st.header("1. What is asked", anchor=False)
chosen = choose_rubric()
if chosen is None:
    st.stop()
rubric_yaml, rubric = chosen
with st.expander(counted(len(rubric.criteria), "question")):
    st.text(
        "\n".join(f"{criterion.title}: {criterion.question or criterion.definition}" for criterion in rubric.criteria)
    )

st.header("2. Which items", anchor=False)
file = choose_file(rubric)
if file is None:
    st.stop()
formats, common_names = import_preview(file, rubric, file_before())
if not file.ok:
    st.stop()

st.header("3. How", anchor=False)
plan = replace(choose_plan(rubric), formats=formats, common_names=common_names)
if state.button("Create the study", "create-study", type="primary"):
    study = state.run_command(lifecycle.create_from_file, plan, rubric_yaml, file, who)
    if study:
        forget_files()
        address = {"study": study.slug}
        if rubric_yaml == EMPTY_RUBRIC:
            address["section"] = SetupSection.rubric
        st.switch_page("lead/design.py", query_params=address)
state.show_messages()
st.caption("The study starts as a draft: nobody can annotate until you launch it.")
