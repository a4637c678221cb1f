"""Removes erased data from the database's files, with a message if that fails."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from components.shell import state
from triptych.privacy import erasure
from triptych.storage.unavailable import DatabaseUnavailable
from triptych.storage.wiping import Wiped

UNCLEARED = "left in the files"
REASONS = {
    Wiped.later: "The database's files were rewritten a moment ago; the erased bytes will leave them within minutes.",
    Wiped.somebody_reads: "Someone was reading the database, so the erased bytes are still in the file. Try again in a "
    "moment.",
    Wiped.failed: "The database's file could not be rewritten, so the erased bytes are still in it. Rewriting needs as "
    "much free space as the file has, and no other program that uses the file. Try again then.",
    Wiped.not_ours: "The erased bytes are still in the database's files, which only the owner of its tables may "
    "rewrite. For the command, the server's administrator should see Erasing somebody in docs/deploying.md.",
}


def clear() -> None:
    """Overwrite all erased data in the files. Call it outside all transactions."""
    try:
        outcome = erasure.wipe(state.engine())
    except DatabaseUnavailable:  # the rows stay erased
        outcome = Wiped.failed
    state.keep(UNCLEARED, outcome)


def run_and_clear(command: Callable[..., object], *args: object, done: str) -> None:
    """Run a command that erases something, see `state.run_command`, then clear the files, and run the page again."""
    if state.run_command(command, *args, done=done):
        clear()
    st.rerun()


def what_is_left() -> None:
    """Why the last clearing failed or was put off, if so, with a button to try again if that can help."""
    outcome = state.recall(UNCLEARED, Wiped.done)
    if outcome in REASONS:
        state.say(REASONS[outcome], "info" if outcome is Wiped.later else "warning")
    if outcome in (Wiped.somebody_reads, Wiped.failed) and state.button("Clear", "clear"):
        clear()
        st.rerun()
