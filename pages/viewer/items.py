"""Items of the study that a viewer sees, those with the greatest disagreement first, each with all its annotations."""

import streamlit as st

from components.results import item_review as second_look
from components.results.marked import marked_item
from components.shell import state
from components.shell.study_choice import watched_study
from triptych.participants.watching import watched
from triptych.results import item_review
from triptych.results.frame.counted import kinds_by_default
from triptych.results.frame.model import Counted
from triptych.results.study_analysis import analyse
from triptych.study.system_names import system_names

who = state.require("viewer")
with watched_study(who, "Items") as (session, study):
    scope, view = Counted(kinds_by_default(study)), watched(session, study)
    analysis = analyse(view.frame, scope, system_names(session, study))
    lines = view.lines(item_review.lines(session, study, analysis.disagreement, scope))
if not lines:
    st.info("This study has no items yet.")
    st.stop()
chosen = second_look.choose_item(lines, st.query_params.get("look", ""), study.slug)
if chosen is not None:
    item, _ = chosen
    look = state.read(view.look, study, item, scope)
    st.header(state.plain(item), anchor=False)
    marked_item(look.texts, key=f"look-{study.slug}-{item}")
    st.dataframe(look.ratings, hide_index=True, key=f"ratings-{study.slug}")
    if look.explained:
        st.dataframe([second_look.explained_row(rating) for rating in look.explained], hide_index=True)
    st.subheader("Final value", anchor=False)
    if look.final and not look.final.waiting:
        second_look.final_state(look.final)
    else:
        st.text("None.")
