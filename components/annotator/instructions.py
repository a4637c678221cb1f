"""The page of instructions before the first item, drawn by the modules that draw the workbench's guidelines."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from components.workbench import AHEAD_OF_WORKBENCH, from_assets
from triptych.annotate.instructions import Instructions

_mount = st.components.v2.component(
    "triptych.instructions", js=from_assets("workbench/instructions.js", AHEAD_OF_WORKBENCH), isolate_styles=False
)


def instruct(instructions: Instructions, on_read: Callable[[], None]) -> None:
    """The instructions. `on_read` is called when the annotator confirms that they have read them."""
    _mount(data=instructions.model_dump_json(), key=f"instructions-{instructions.version}", on_read_change=on_read)
