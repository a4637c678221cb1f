"""The annotator's one screen: the current item on the workbench, or why there is none."""

from __future__ import annotations

from typing import Any

import streamlit as st

from components import endings, state
from components.workbench import workbench
from triptych import desk, studies
from triptych.desk import Desk
from triptych.errors import TriptychError

KEY = "workbench"
MY_WORK = "annotator/my_work.py"

who = state.require("annotator")
slug = st.query_params.get("study") or state.recall("study")
if not slug:
    st.switch_page(MY_WORK)
if slug != state.recall("study"):
    state.remember("study", slug)
    state.forget("showing")


def lay(**more: Any) -> Desk:
    """The desk as the database has it now."""
    with state.writing() as session:
        return desk.lay(session, studies.by_slug(session, slug), who, **more)


def act(action: Any) -> None:
    """Does what the workbench asks for; a refusal changes nothing and is said on the item."""
    showing = state.recall("showing")
    try:
        with state.writing() as session:
            laid = desk.act(session, studies.by_slug(session, slug), who, action, showing)
    except TriptychError as refusal:
        state.remember("refusal", str(refusal))
    else:
        state.remember("desk", laid)


def on_action() -> None:
    # callbacks run before the page asks who is there: she may have signed out in another tab since the last run
    if state.current_person() != who:
        return
    act(state.component_value(KEY, "action"))
    state.remember("acted", True)


acted = state.take("acted", False)
try:
    laid: Desk = state.take("desk") or lay(showing=state.recall("showing"), notice=state.take("refusal"))
except TriptychError as refusal:
    state.say(str(refusal))
    st.stop()
state.remember("showing", laid.showing)
if laid.stopped:
    st.switch_page(MY_WORK)
if laid.view is None:
    endings.draw(laid.nothing, lambda: state.completion_code(slug))
    st.stop()
action = workbench(laid.view, key=KEY, on_action=on_action)
# a session that the browser reached after a restart runs no callback for what it sends: do it here
if action and not acted:
    act(action)
    st.rerun()
