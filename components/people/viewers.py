"""The viewers of a study: listing and inviting them, removing one, and whether they may read explanations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from components.people.choose_member import choose_member
from components.people.links import show_links
from components.shell import state
from components.shell.clearing import run_and_clear
from components.shell.words import moment
from triptych.people import invitations
from triptych.people import viewers as seats
from triptych.people.links import INVITATION_LIFE
from triptych.people.names import LONGEST_NAME
from triptych.people.roster import Member
from triptych.storage.models import Role, Study
from triptych.study.persons import Who
from triptych.study.settings import settings_of

HINT = (
    "A viewer, for example a co-author, sees Results, Items and Report through a personal link, blind as long as the "
    "study is, with annotators as Annotator 1, 2, … They cannot change anything. An annotator of this study cannot be "
    "its viewer."
)
LINK_HINT = "Anyone with the link can open it until it expires or you withdraw it."
WITHDRAW_HINT = "The link stops working, and the viewer's open pages close within five seconds."
USUAL_DAYS = 30
READING = "Viewers read explanations and comments"


def viewers(study: Study, everybody: Sequence[Member], who: Who) -> None:
    """Draw the viewers and the actions on them."""
    st.caption(HINT)
    sitting, actor = [member for member in everybody if member.role == Role.viewer], who.pseudonym
    if sitting:
        rows = [(v.pseudonym, v.name or "", moment(v.link_until) if v.link_until else "Ended") for v in sitting]
        st.dataframe(pd.DataFrame(rows, columns=["Viewer", "Name", "Link ends"]), hide_index=True, key="viewers")
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.popover("Invite a viewer"):
            _invite(study, actor)
        if sitting:
            with st.popover("Withdraw a seat"):
                _withdraw(study, sitting, actor)
        _choose_reading(study, who)
    state.show_messages()


def _choose_reading(study: Study, who: Who) -> None:
    """A toggle that is stored by its callback: a run that compared it with what is stored could repeat for ever."""
    key, stored = f"viewers-read-{study.slug}", settings_of(study).viewers_read_explanations

    def store() -> None:
        allowed = bool(state.recall(key))
        state.run_command(
            lambda session: seats.let_read_explanations(
                session, state.led_study(session, who, study.slug), allowed, who.pseudonym
            )
        )

    first: Any = {} if state.change_shown(key, stored) else {"value": stored}
    if st.toggle(READING, key=key, on_change=store, **first) != stored:
        st.rerun()  # shows what is stored: a tab whose session ended sent the toggle as it was


def _invite(study: Study, actor: str) -> None:
    st.text(LINK_HINT)
    form = f"viewer-{study.slug}"
    key = state.numbered(form)
    with st.form(key, border=False):
        name = st.text_input("Name of the viewer", max_chars=LONGEST_NAME)
        email = st.text_input("E-mail address (optional)", max_chars=200)
        days = st.number_input("Days until the link expires", 1, INVITATION_LIFE.days, USUAL_DAYS)
        if state.form_button("Create a read-only link", key):
            asked = (study, name, email, Role.viewer, actor, int(days))
            show_links(study.slug, state.run_command(invitations.invite_one, *asked, empties=form))


def _withdraw(study: Study, sitting: Sequence[Member], actor: str) -> None:
    st.text(WITHDRAW_HINT)
    chosen = choose_member(sitting, "Viewer", f"sitting-{study.slug}")
    if chosen is None:
        return
    if state.button("Withdraw this seat", f"withdraw-seat-{study.slug}-{chosen.pseudonym}", type="primary"):
        done = f"{chosen.pseudonym} no longer sees this study."
        run_and_clear(seats.withdraw_seat, study, chosen.pseudonym, actor, done=done)
