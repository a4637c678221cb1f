"""The quiet page everybody comes in through: one narrow column under the three panels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlit as st

LOGO = Path(__file__).parent / "logo.svg"
WIDTH = 440


@contextmanager
def column(title: str, sentence: str | None = None) -> Iterator[None]:
    """A narrow centred column with the logo, a heading and a sentence; all three are our own words."""
    with st.container(horizontal_alignment="center"), st.container(width=WIDTH):
        st.space("large")
        st.image(LOGO, width=56)
        st.title(title, anchor=False)
        if sentence:
            st.write(sentence)
        yield
