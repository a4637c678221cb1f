"""The layout of sign-in pages and of steps before the work: one column, narrow for forms and wider for reading."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlit as st

from components.shell import state
from components.shell.addresses import own_path
from triptych.languages.language import _
from triptych.people.identities import UNKNOWN
from triptych.storage.models import Role
from triptych.study.persons import Who

LOGO = Path(__file__).parent / "logo.svg"
WIDTH = 440
READING = 720
# Streamlit keeps the scroll position when the content changes, but people read a new step from its beginning
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
    """Scroll to the top of the page, once for each step."""
    _top(data=step, key=f"top-{step}")


@contextmanager
def centred(width: int) -> Iterator[None]:
    with st.container(horizontal_alignment="center"), st.container(width=width):
        yield


@contextmanager
def column(title: str, sentence: str | None = None, width: int = WIDTH) -> Iterator[None]:
    """A centred column with a heading and a sentence, and the logo unless a bar above has it.

    The caller must escape users' texts.
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
    """For people who came by single sign-on: a button to sign in, or a message that the identity is unknown here."""
    if not is_known:
        state.say(_(UNKNOWN, identity=identity), "info")
        return False
    label = _("Continue as {identity}", identity=state.plain(identity))
    return state.button(label, "continue-as", type="primary", width="stretch")


def ask_before_changing_person(who: Who | None, person_id: int | None, link: str) -> None:
    """Stop the page until a person who is signed in agrees to be signed out by a link of another person.

    In a tab whose login has ended, the link waits too: nobody has agreed to it.

    `person_id`: the link's person; None for a new person or an invalid link. `link` distinguishes links.
    """
    if who.person_id == person_id if who else not state.came_back_signed_out():
        return
    if who is None:
        text = _("You were signed out, here or in another tab. Everything that was saved is safe.")
    else:
        called = _("the lead {name}", name=who.pseudonym) if who.role == Role.lead else who.pseudonym
        text = _("You are signed in as {name}. This link is for somebody else; opening it signs you out.", name=called)
    state.say(text, "info")
    agreed = state.button(_("Open it as the person it was made for"), "open-link") or state.recall("agreed") == link
    if not agreed:
        if who is not None:
            st.link_button(_("Stay signed in as {name}", name=who.pseudonym), own_path(""))
        st.stop()
    state.remember("agreed", link)
