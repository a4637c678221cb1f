"""The leads of a study: listing, adding, inviting and removing them."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from components.people.choose_member import choose_member
from components.people.invitations import guest_form
from components.people.links import show_links
from components.shell import state
from components.shell.choices import certain
from components.shell.clearing import run_and_clear
from components.shell.words import moment
from triptych.people import invitations, roster
from triptych.people.invitations import Invited
from triptych.people.names import LONGEST_NAME
from triptych.people.roster import Member
from triptych.storage.models import Role, Study
from triptych.study.persons import Who

ADD_HINT = "Someone with a lead account on this server."
INVITE_HINT = "They open the link, choose a passcode, and can then do everything in this study that you can."
NEW_LINK_HINT = "For a lead who lost their link before choosing a passcode. The earlier link will stop working."
REMOVE_HINT = (
    "they can no longer see this study. Their account, if they have one, remains; an invitation that they have not "
    "accepted is deleted together with their name."
)


def leads(study: Study, everybody: Sequence[Member], who: Who) -> None:
    """Draw the leads and the actions on them."""
    _table(everybody)
    actor = who.pseudonym
    with st.container(horizontal=True):
        with st.popover("Add a lead"):
            _add(study, actor)
        with st.popover("Invite a new lead"):
            st.text(INVITE_HINT)
            guest = guest_form(Role.lead, study.slug)
            if guest:
                show_links(study.slug, state.run_command(invitations.invite_one, study, *guest, Role.lead, actor))
        fellow = [member for member in everybody if member.role == Role.lead]
        waiting = [member for member in fellow if not member.can_sign_in]
        if waiting:
            with st.popover("New link"):
                _new_link(study, waiting, actor)
        if len(fellow) > 1:
            with st.popover("Remove a lead"):
                _remove(study, fellow, who)
    state.show_messages()


def _table(rows: Sequence[Member]) -> None:
    """The leads of the study; one who has not set a passcode yet is shown as invited."""
    leads = [row for row in rows if row.role == Role.lead]
    if not leads:
        st.text("Every lead on this server can see this demo study.")
        return
    table = {
        "Lead": [row.pseudonym for row in leads],
        "Name": [row.name or "" for row in leads],
        "State": [row.state.capitalize() for row in leads],
        "Since": [moment(row.joined_at) for row in leads],
    }
    st.dataframe(pd.DataFrame(table), hide_index=True, key="leads")


def _add(study: Study, actor: str) -> None:
    st.text(ADD_HINT)
    name_of_form = f"add-lead-{study.slug}"
    key = state.numbered(name_of_form)
    with st.form(key, border=False):
        name = st.text_input("Name they sign in with", max_chars=LONGEST_NAME)
        if state.form_button("Add", key):
            state.run_command(roster.add_lead, study, name, actor, done="The study has another lead.")
            state.renew(name_of_form)
            st.rerun()


def _new_link(study: Study, waiting: Sequence[Member], actor: str) -> None:
    st.text(NEW_LINK_HINT)
    chosen = choose_member(waiting, "Invited lead", f"waiting-{study.slug}")
    if chosen and state.button("Create a new link", f"new-link-{study.slug}-{chosen.pseudonym}", type="primary"):
        secret = state.run_command(roster.new_link, study, chosen.pseudonym, actor)
        if secret:
            show_links(study.slug, Invited(chosen.name or "", chosen.email, Role.lead, chosen.pseudonym, secret))


def _remove(study: Study, fellow: Sequence[Member], who: Who) -> None:
    chosen = choose_member(fellow, "Lead", f"fellow-{study.slug}")
    if chosen is None:
        return
    losses = f"{chosen.pseudonym} leaves: {REMOVE_HINT}"
    certainty = certain(who, "Remove this lead", losses, f"remove-{study.slug}-{chosen.pseudonym}")
    if certainty:
        done = f"{chosen.pseudonym} no longer leads this study."
        run_and_clear(roster.remove_lead, study, chosen.pseudonym, certainty, done=done)
