"""Arriving from a panel, with the person's id in the address."""

from __future__ import annotations

import streamlit as st

from components.shell import state
from components.shell.entrance import column
from triptych.people import accounts
from triptych.people.accounts import panel_of
from triptych.study import lifecycle

slug = st.query_params["study"]
who = state.current_person()
parameters = st.query_params.to_dict()


def join(session):
    study = lifecycle.by_slug(session, slug)
    panel = panel_of(study)
    return accounts.join_from_panel(
        session, study, panel.name, parameters.get(panel.id_param, ""), parameters.get(panel.session_param, "")
    )


with column("Welcome"):
    if who and who.role == "lead":
        state.say(f"You are signed in as the lead {who.pseudonym}. Opening this link signs you out.", "info")
        if not st.button("Open it as this participant"):
            st.stop()
    state.sign_in_by(join)
    state.show_messages()
    st.write("Open the study again from your panel. If this happens again, write to the study's contact there.")
