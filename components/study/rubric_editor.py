"""The text of a rubric, changed in the page; mistakes are shown when the field is left, or on Ctrl+Enter."""

from __future__ import annotations

import streamlit as st

from components.shell import state
from triptych.errors import InvalidRubric
from triptych.rubric.files import parse_rubric
from triptych.rubric.model import Rubric

MAX_CHARACTERS = 400_000
EDITOR_HINT = (
    "The text holds criteria, scales, reasons, guidelines, training items and the entry test; the README of the folder "
    "rubrics/ describes every field. Mistakes are shown when you leave the field or press Ctrl+Enter."
)


def rubric_editor(text: str, key: str) -> tuple[str, Rubric] | None:
    """The text in the field and its rubric; None while its mistakes are shown."""
    edited = st.text_area("The rubric's text (YAML)", text, height=480, max_chars=MAX_CHARACTERS, key=key)
    st.caption(EDITOR_HINT)
    return checked_rubric(edited, "line")


def checked_rubric(text: str, name: str) -> tuple[str, Rubric] | None:
    """The text and its rubric; None after showing its mistakes. `name`: what the messages call the text."""
    try:
        return text, parse_rubric(text, name)
    except InvalidRubric as refusal:
        state.say("This rubric cannot be used yet:")
        st.text(str(refusal))
        return None
