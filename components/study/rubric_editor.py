"""The text of a rubric, changed in the page; mistakes are named when the field is left, or on Ctrl+Enter."""

from __future__ import annotations

import streamlit as st

from components.shell import state
from triptych.errors import InvalidRubric
from triptych.rubric.files import parse_rubric
from triptych.rubric.model import Rubric

LONGEST = 400_000
HINT = (
    "Criteria, scales, reasons, guidelines, training items and the entry test stand here; the README of the folder "
    "rubrics/ lists all that can be said. Mistakes are shown when you leave the field or press Ctrl+Enter."
)


def rubric_editor(text: str, key: str) -> tuple[str, Rubric] | None:
    """The text as it stands in the field and what it says; None while its mistakes are on the screen."""
    given = st.text_area("The rubric's text (YAML)", text, height=480, max_chars=LONGEST, key=key)
    st.caption(HINT)
    return checked_rubric(given, "line")


def checked_rubric(text: str, name: str) -> tuple[str, Rubric] | None:
    """The text and what it says, or its mistakes on the screen. `name`: what the messages call the text."""
    try:
        return text, parse_rubric(text, name)
    except InvalidRubric as refusal:
        state.say("This rubric cannot be used yet:")
        st.text(str(refusal))
        return None
