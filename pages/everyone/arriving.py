"""Shown between a successful sign-in and the cookie; shows a new return code once."""

from __future__ import annotations

import streamlit as st

from components.shell import state
from components.shell.entrance import column
from components.sign_in import arrive
from triptych.languages.language import _

arrival = state.arrival()
if arrival is None:
    st.rerun()
drop = [name for name in st.query_params if name != "study"]
if arrival.return_code is None:
    with column(_("Welcome")):
        arrive(arrival.ticket, drop=drop, study=arrival.study)
    st.stop()
with column(_("Your return code"), _("With this code and your name you can return to your work on any computer.")):
    st.code(arrival.return_code, language=None)
    st.write(_("It is shown only now. Write it down, or copy it to a safe place."))
    noted = state.button(_("I have noted it. Start"), "noted", type="primary")
    arrive(arrival.ticket, drop=drop, study=arrival.study, go=noted)
