"""A page that follows the data: one small question every few seconds, a redraw only when the answer changed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import streamlit as st

from triptych.database import DatabaseAway

SECONDS = 3


def follow(version: Callable[[], int], seen: int) -> None:
    """Runs the whole page again as soon as `version()` differs from `seen`; widgets keep what they hold."""

    @st.fragment(run_every=SECONDS)
    def poll() -> None:
        with suppress(DatabaseAway):  # the next look may find it back
            if version() != seen:
                st.rerun(scope="app")

    poll()
