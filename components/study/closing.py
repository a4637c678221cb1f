"""Closing a study, after showing what is unfinished."""

from __future__ import annotations

import streamlit as st

from components.shell import state
from components.shell.choices import certain
from triptych.results.progress import Overview
from triptych.stats.numbers import counted
from triptych.storage.models import Study, StudyState
from triptych.study import lifecycle
from triptych.study.persons import Who

CONSEQUENCE = "The study accepts no more work. Unfinished work is saved; you can reopen the study."


def close(study: Study, view: Overview, who: Who) -> None:
    """The button to close the study, which closes it after the lead's confirmation."""
    with st.popover("Close"):
        losses = f"Closing at {view.done} of {counted(view.expected, 'annotation')}. {CONSEQUENCE}"
        if certain(who, "Close the study", losses, f"close-{study.slug}"):
            state.run_command(lifecycle.set_state, study, StudyState.closed, who.pseudonym)
            st.rerun()
