"""The last question before an act that cannot be undone: what will be lost, and the passcode."""

from __future__ import annotations

import streamlit as st

from components.shell import state
from triptych.study.persons import Who

ASKED = "Your passcode (you last gave it more than 15 minutes ago)"


def certain(who: Who, label: str, losses: str, key: str) -> bool:
    """Draws what will be lost and the button; whether the lead is sure and gave their passcode lately, or now."""
    with st.form(f"certain-{key}", border=False):
        st.text(losses)
        is_fresh = state.passcode_is_fresh(who)
        passcode = "" if is_fresh else st.text_input(ASKED, type="password", autocomplete="current-password")
        is_sure = st.checkbox("I am sure", key=f"certain-{key}-sure")
        pressed = state.form_button(label, f"certain-{key}-pressed", type="primary")
    if pressed and not is_sure:
        state.say("Nothing was done. Tick the box first.", "info")
    is_certain = pressed and is_sure and (is_fresh or state.confirm_passcode(who, passcode))
    if pressed and not is_certain:
        state.show_messages()
    return is_certain
