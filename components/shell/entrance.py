"""The layout of sign-in pages and of steps before the work: one column, narrow for a form and wider for reading."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlit as st

LOGO = Path(__file__).parent / "logo.svg"
WIDTH = 440
READING = 720
# Streamlit keeps the scroll position when the content changes; a new step is read from its beginning
TOP = """
let shown;
export default ({ data, parentElement }) => {
  if (data === shown) return;
  shown = data;
  parentElement.ownerDocument.querySelector('[data-testid="stMain"]')?.scrollTo(0, 0);
};
"""
_top = st.components.v2.component("triptych.top", js=TOP)


def begin_at_top(step: str) -> None:
    """Shows the page from its beginning, once for each step."""
    _top(data=step, key=f"top-{step}")


@contextmanager
def column(title: str, sentence: str | None = None, width: int = WIDTH) -> Iterator[None]:
    """A centred column with the logo, a heading and a sentence; the caller escapes text of users."""
    with st.container(horizontal_alignment="center"), st.container(width=width):
        st.space("large")
        st.image(LOGO, width=56)
        st.title(title, anchor=False)
        if sentence:
            st.write(sentence)
        yield
