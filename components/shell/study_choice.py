"""The study of a lead's page, which only the address determines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import streamlit as st

from components.shell import state
from triptych.errors import NotFound
from triptych.stats.numbers import counted
from triptych.storage.models import Study
from triptych.study import lifecycle
from triptych.study.lifecycle import StudyLine
from triptych.study.persons import Who


@contextmanager
def chosen_study(who: Who) -> Iterator[tuple[state.Session, Study]]:
    """The study named in the address, for the page's first queries. Stops the page if the person does not lead it.

    The frame, which the router draws before the page, shows the study's name, state and places, and the page's heading.
    """
    with state.reading() as session:
        yield session, _led(session, who)
    state.show_messages()


def _led(session: state.Session, who: Who) -> Study:
    try:
        return lifecycle.led_by(session, who, st.query_params.get("study", ""))
    except NotFound:
        st.error("You do not lead a study with this address. Open one from the list of studies.")
        st.stop()


@contextmanager
def watched_study(who: Who, place: str) -> Iterator[tuple[state.Session, Study]]:
    """The viewer's one study, below the page's heading, for the page's first queries."""
    with state.reading() as session:
        study = lifecycle.seen_by(session, who)
        line = lifecycle.line_of(session, study)
        st.title(place, anchor=False)
        st.text(f"{study.title} · {facts_of(line)}")
        yield session, study


def facts_of(line: StudyLine) -> str:
    """The study's state, its progress, and whether it is blind."""
    blind = "Blind" if line.study.unblinded_at is None else "Unblinded"
    return f"{line.study.state.capitalize()} · {line.done:,} of {counted(line.expected, 'annotation')} · {blind}"


def titles_of(studies: Sequence[Study]) -> dict[str, str]:
    """Slug → title and round; a demo study has only its title, which begins with "Demo"."""
    return {study.slug: study.title if study.demo else f"{study.title} ({study.round})" for study in studies}
