"""The consent page, the first step before the work."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from components.shell.entrance import READING, column
from components.shell.state import plain
from triptych.languages.language import _, message
from triptych.rubric.model import Section
from triptych.study.settings import AFTER_WITHDRAWAL, SHARED, Consent, Ethics

DECLINED_NOTE = message(
    "You get no items in this study from now on. It is stored that you declined, with your name or id and anything you "
    "submitted before. Under *My data* you can read this and withdraw."
)


def read(consent: Consent, ethics: Ethics) -> None:
    """The consent text, and the details that a study must state with it."""
    with st.container(border=True, key="consent-text"):
        st.text(consent.text)
    st.caption(_(AFTER_WITHDRAWAL[consent.after_withdrawal]))
    if consent.sharing in SHARED:
        st.caption(_(SHARED[consent.sharing]))
    until = f"{ethics.stored_until:%Y-%m-%d}" if ethics.stored_until else ""
    facts = {_("Approved"): ethics.approval, _("Data are stored until"): until, _("Complaints"): ethics.complaints}
    st.text("\n".join(f"{label}: {text}" for label, text in facts.items() if text))


def ask(
    title: str, consent: Consent, ethics: Ethics, on_agree: Callable[[], None], on_refuse: Callable[[], None]
) -> None:
    """The study's title and its consent text, with the buttons to agree and to decline."""
    with column(_("Before you begin"), _("Please read this. You take part only if you agree."), READING):
        st.header(plain(title), anchor=False)
        read(consent, ethics)
        with st.container(horizontal=True):
            st.button(_("I agree"), type="primary", on_click=on_agree)
            with st.popover(_("I do not agree")):
                st.write(_(DECLINED_NOTE))
                st.button(_("Leave the study"), on_click=on_refuse)


def sections(parts: Sequence[Section]) -> None:
    """Titled sections of a text, shown unformatted."""
    for part in parts:
        with st.container(gap="xxsmall"):
            st.header(plain(part.title), anchor=False)
            st.text(part.text)
