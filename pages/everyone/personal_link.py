"""A personal link: signs in the person it was made for; an invited lead chooses a passcode first."""

from __future__ import annotations

import streamlit as st

from components.shell import state
from components.shell.entrance import column
from triptych.errors import NotAllowed
from triptych.people import accounts
from triptych.people.passcodes import SHORTEST
from triptych.storage.models import Role

secret = st.query_params["join"]
who = state.current_person()


def is_for_a_lead() -> bool:
    """Whether the link makes a lead account; an invalid link is reported when it is opened."""
    try:
        with state.reading() as session:
            return accounts.invited(session, secret).role == Role.lead
    except NotAllowed:
        return False


def choose_passcode() -> None:
    st.write("You are invited to lead a study. Choose the passcode you will sign in with.")
    with st.form("invited-lead", border=False):
        label = f"Choose a passcode ({SHORTEST} characters or more)"
        passcode = st.text_input(label, type="password", autocomplete="new-password")
        if state.form_button("Create the account", "invited-lead", type="primary", width="stretch"):
            state.sign_in_by(lambda session: accounts.accept_as_lead(session, secret, passcode))


with column("Welcome"):
    if who and who.role == "lead":
        state.say(f"You are signed in as the lead {who.pseudonym}. Opening this personal link signs you out.", "info")
        opened = st.button("Open it as the person it was made for") or state.recall("opened") == secret
        if not opened:
            st.stop()
        state.remember("opened", secret)
    if is_for_a_lead():
        choose_passcode()
    else:
        state.sign_in_by(lambda session: accounts.accept_invitation(session, secret))
    state.show_messages()
    st.link_button("Go to the sign-in page", "/")
