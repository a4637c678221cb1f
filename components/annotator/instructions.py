"""The page before the first item, drawn by the same modules that draw the guidelines in the workbench."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from components.workbench import AHEAD_OF_WORKBENCH, from_assets
from triptych.annotate.instructions import Instructions

_mount = st.components.v2.component(
    "triptych.instructions", js=from_assets("workbench/instructions.js", AHEAD_OF_WORKBENCH), isolate_styles=False
)


def instruct(instructions: Instructions, on_read: Callable[[], None]) -> None:
    """What is judged and how; `on_read` is called when the annotator has ticked that they have read it."""
    _mount(data=instructions.model_dump_json(), key=f"instructions-{instructions.version}", on_read_change=on_read)
