"""A personal link: signs its person in; an invited lead sets a passcode first."""

from __future__ import annotations

import streamlit as st

from components.shell import state
from components.shell.addresses import own_path
from components.shell.entrance import ask_before_changing_person, column
from triptych.errors import NotAllowed
from triptych.languages.language import _
from triptych.people import links, signing_in
from triptych.people.passcodes import SHORTEST
from triptych.storage.models import Person, Role

secret = st.query_params["join"]


def leads_to() -> tuple[Person | None, str]:
    """The link's person and study; None for an invalid link, which is reported when it is opened."""
    try:
        with state.reading() as session:
            return links.invited(session, secret), links.invited_to(session, secret).slug
    except NotAllowed:
        return None, ""


def choose_passcode() -> None:
    st.write(_("You are invited to lead a study. Choose the passcode you will sign in with."))
    with st.form("invited-lead", border=False):
        label = _("Choose a passcode ({count} characters or more)", count=SHORTEST)
        passcode = st.text_input(label, type="password", autocomplete="new-password")
        if state.form_button(_("Create the account"), "invited-lead", type="primary", width="stretch"):
            state.sign_in_by(lambda: signing_in.invited_lead(state.engine(), secret, passcode))


def accept() -> Person:
    with state.writing() as session:
        return links.accept_invitation(session, secret)


with column(_("Welcome")):
    person, study = leads_to()
    ask_before_changing_person(state.current_person(), person.id if person else None, secret)
    if person and person.role == Role.lead:
        choose_passcode()
    else:
        # not with st.query_params, which would leave the secret in the browser's history
        state.sign_in_by(accept, study)
    state.show_messages()
    st.link_button(_("Go to the sign-in page"), own_path(""))
