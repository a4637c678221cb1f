"""The layout of sign-in pages and of steps before the work: one column, narrow for a form and wider for reading."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlit as st

from components.shell import state
from triptych.languages.language import _
from triptych.people.identities import UNKNOWN
from triptych.study.persons import Who

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
def centred(width: int) -> Iterator[None]:
    with st.container(horizontal_alignment="center"), st.container(width=width):
        yield


@contextmanager
def column(title: str, sentence: str | None = None, width: int = WIDTH) -> Iterator[None]:
    """A centred column with a heading and a sentence, and the logo where no bar above has it.

    The caller escapes text of users.
    """
    with centred(width):
        if width == WIDTH:
            st.space("large")
            st.image(LOGO, width=56, alt="")
        st.title(title, anchor=False)
        if sentence:
            st.write(sentence)
        yield


def continue_as(identity: str, is_known: bool) -> bool:
    """Draws the one click of somebody who came in by single sign-on, or that nobody here is known by this identity."""
    if not is_known:
        state.say(_(UNKNOWN, identity=identity), "info")
        return False
    label = _("Continue as {identity}", identity=state.plain(identity))
    return state.button(label, "continue-as", type="primary", width="stretch")


def ask_before_changing_person(who: Who | None, person_id: int | None, link: str) -> None:
    """Stops the page until somebody who is signed in has agreed that a link of another person signs them out.

    `person_id`: who the link is for, None for somebody new or a link that is not valid; `link` tells links apart.
    """
    if who is None or who.person_id == person_id:
        return
    called = _("the lead {name}", name=who.pseudonym) if who.role == "lead" else who.pseudonym
    text = _("You are signed in as {name}. This link is for somebody else; opening it signs you out.", name=called)
    state.say(text, "info")
    agreed = state.button(_("Open it as the person it was made for"), "open-link") or state.recall("agreed") == link
    if not agreed:
        st.link_button(_("Stay signed in as {name}", name=who.pseudonym), "/")
        st.stop()
    state.remember("agreed", link)
