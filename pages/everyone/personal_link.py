"""A personal link: signs in whom it was made for."""

from __future__ import annotations

import streamlit as st

from components import state
from components.entrance import column
from triptych import people

secret = st.query_params["join"]
who = state.current_person()
with column("Welcome"):
    if who and who.role == "lead":
        state.say(f"You are signed in as the lead {who.pseudonym}. Opening this personal link signs you out.", "info")
        if not st.button("Open it as the person it was made for"):
            st.stop()
    state.sign_in_by(lambda session: people.accept_invitation(session, secret))
    state.show_messages()
    st.link_button("To the sign-in page", "/")
