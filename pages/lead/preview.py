"""A study as its annotators will see it: the workbench itself, which sends and stores nothing here."""

from __future__ import annotations

import streamlit as st

from components.shell import state
from components.shell.study_choice import chosen_study
from components.workbench import workbench
from triptych.annotate import preview
from triptych.study import contents, lifecycle

who = state.require("lead")
with chosen_study(who) as (session, study):
    slug = study.slug
    rubric = lifecycle.design_of(session, study).rubric
    items = preview.samples(rubric, contents.stored_items(session, study, limit=preview.MAX_ITEMS))
ids = [item.external_id for item in items]
chosen = st.selectbox("Item", range(len(ids)), format_func=ids.__getitem__, key=f"preview-item-{slug}")
st.caption("Try everything: nothing is sent or stored. Annotators see the responses in a balanced order.")
view = preview.view_of(study, rubric, items, chosen)
workbench(view, key=f"preview-{slug}-{preview.name_of(view)}")
