"""Logging that somebody opens the results, before they see them."""

from __future__ import annotations

import streamlit as st

from components.shell import state
from triptych import clock
from triptych.errors import TriptychError
from triptych.results import looking
from triptych.results.frame.collection import collection
from triptych.results.frame.model import Frame
from triptych.storage.models import Study

LOGGED = "looks logged"


def log_look(study: Study, frame: Frame, pseudonym: str) -> None:
    """Log that a lead or viewer opens results, once a day per session.

    Where the log cannot take the entry, such as from a busy database, nothing is shown: results may decide when
    collection stops.
    """
    look, logged = (study.slug, f"{clock.now():%Y-%m-%d}"), state.recall(LOGGED, frozenset())
    if look in logged:
        return
    numbers = collection(frame.planned, frame.work, frame.settings.preregistration)
    try:
        with state.writing() as session:
            looking.log_look(session, study, numbers.filled, numbers.planned, pseudonym)
    except TriptychError as refusal:
        state.say(str(refusal))
        st.stop()
    state.remember(LOGGED, logged | {look})
