"""A study as its annotators will see it, in the workbench itself, which sends and stores nothing here."""

from __future__ import annotations

import streamlit as st

from components.shell import state
from components.shell.study_choice import chosen_study
from components.workbench import workbench
from triptych.preview import views
from triptych.study import contents, lifecycle

who = state.require("lead")
with chosen_study(who) as (session, study):
    slug = study.slug
    rubric = lifecycle.design_of(session, study).rubric
    stored = contents.stored_items(session, study, limit=views.MAX_ITEMS, by_number=True)
    items = views.samples(rubric, stored)
ids = [item.external_id for item in items]
chosen = st.selectbox("Item", range(len(ids)), format_func=ids.__getitem__, key=f"preview-item-{slug}")
st.caption("Try everything: nothing is sent or stored. Annotators see the responses in a balanced order.")
view = views.view_of(study, rubric, items, chosen)
workbench(view, key=f"preview-{slug}-{views.name_of(view)}")
