"""The first lead account, from the link that the terminal printed."""

from __future__ import annotations

import streamlit as st

from components.shell import state
from components.shell.addresses import own_path
from components.shell.entrance import column
from triptych.errors import NotAllowed
from triptych.people import accounts, signing_in
from triptych.people.names import LONGEST_NAME
from triptych.people.passcodes import SHORTEST

secret = st.query_params["setup"]
try:
    state.read(accounts.check_setup_ticket, secret)
except NotAllowed as refusal:
    with column("Set up Triptych"):
        state.say(str(refusal), "warning")
        st.link_button("Sign in", own_path(""))
    st.stop()

with column("Set up Triptych", "Create the first lead account. Leads run studies, see results and invite annotators."):
    with st.form("setup", border=False):
        name = st.text_input("Your name", max_chars=LONGEST_NAME, autocomplete="username")
        label = f"Choose a passcode ({SHORTEST} characters or more)"
        passcode = st.text_input(label, type="password", autocomplete="new-password")
        if state.form_button("Create the account", "setup", type="primary", width="stretch"):
            state.sign_in_by(lambda: signing_in.first_lead(state.engine(), secret, name, passcode))
    state.show_messages()
