"""The annotator's one screen: the current item on the workbench, or why there is none."""

from __future__ import annotations

import streamlit as st

from components import endings, state
from components.workbench import workbench
from triptych import desk, studies
from triptych.database import DatabaseAway
from triptych.errors import TriptychError

MY_WORK = "annotator/my_work.py"

who = state.require("annotator")
slug = st.query_params.get("study") or state.recall("study")
if not slug:
    st.switch_page(MY_WORK)
state.remember("study", slug)
try:
    with state.writing() as session:
        laid = desk.lay(session, studies.by_slug(session, slug), who)
except DatabaseAway:
    raise  # the router says so, and looks again by itself
except TriptychError as refusal:
    state.say(str(refusal))
    st.stop()
if laid.view is None:
    endings.draw(laid.nothing, lambda: state.completion_code(slug))
    st.stop()
# from here on the workbench asks for the next items itself; it leaves when there is none, or to stop for today
left = workbench(laid.view, key=f"workbench-{slug}")
if left == "stop":
    st.switch_page(MY_WORK)
