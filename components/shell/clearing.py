"""Removes erased data from the database's files, with a message where that could not be done."""

from __future__ import annotations

import streamlit as st

from components.shell import state
from triptych.privacy import erasure
from triptych.storage.database import Wiped

UNCLEARED = "left in the files"
REASONS = {
    Wiped.somebody_reads: "Someone was reading the database, so the erased bytes are still in the file. Try again in a "
    "moment.",
    Wiped.not_ours: "The erased bytes are still in the database's files, which only the owner of its tables may "
    "rewrite. For the command, the server's administrator should see Erasing somebody in docs/deploying.md.",
}


def clear() -> None:
    """Remove every byte of what was erased from the files; call it outside of every transaction."""
    state.remember(UNCLEARED, erasure.wipe(state.engine()))


def what_is_left() -> None:
    """Why the last clearing left something, if it did; where another try can help, a button for it."""
    outcome = state.recall(UNCLEARED, Wiped.done)
    if outcome in REASONS:
        state.say(REASONS[outcome], "warning")
    if outcome == Wiped.somebody_reads and state.button("Clear", "clear"):
        clear()
        st.rerun()
