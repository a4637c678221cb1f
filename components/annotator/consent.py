"""The first two steps before the work: consent and instructions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from components.shell.entrance import READING, column
from components.shell.state import plain
from triptych.annotate.onboarding import Welcome
from triptych.rubric.model import Section
from triptych.study.settings import Consent

AFTER_WITHDRAWAL = {
    "keep": "You may withdraw at any time. The ratings you gave until then stay, without your name.",
    "delete": "You may withdraw at any time. The ratings you gave until then are deleted.",
}


def ask(consent: Consent, on_agree: Callable[[], None], on_refuse: Callable[[], None]) -> None:
    """The consent text, with the buttons to agree and to decline."""
    with column("Before you begin", "Please read this. You take part only if you agree.", READING):
        with st.container(border=True):
            st.text(consent.text)
        st.caption(AFTER_WITHDRAWAL[consent.after_withdrawal])
        with st.container(horizontal=True):
            st.button("I agree", type="primary", on_click=on_agree)
            with st.popover("I do not agree"):
                st.write("You will not take part in this study. Only the fact that you declined is stored.")
                st.button("Leave the study", on_click=on_refuse)


def instruct(welcome: Welcome, on_read: Callable[[], None]) -> None:
    """What to do, what the texts may contain, and who to ask."""
    with column("Instructions", width=READING):
        for text in welcome.instructions:
            st.text(text)
        for note in welcome.content_notes:
            with st.container(border=True):
                st.caption("Please note")
                st.text(note)
        sections(welcome.guidelines)
        if welcome.contact:
            st.caption("Questions? Write to")
            st.text(welcome.contact)
        st.caption("You can find all this under Guidelines while you work.")
        st.button("I have read this", type="primary", on_click=on_read)


def sections(parts: Sequence[Section]) -> None:
    """Titled parts of a text, shown unformatted."""
    for part in parts:
        with st.container(gap="xxsmall"):
            st.subheader(plain(part.title), anchor=False)
            st.text(part.text)
