"""Which study a lead's page is about: the address names it, a box changes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import streamlit as st

from components.shell import state
from components.shell.choices import choose
from triptych.storage.models import Study
from triptych.study import lifecycle
from triptych.study.persons import Who


@contextmanager
def chosen_study(who: Who, title: str = "") -> Iterator[tuple[state.Session, Study]]:
    """The page's title and the box to choose a study; the chosen one, for what the page reads of it at first.

    The page's messages follow what is drawn in here.
    """
    if title:
        st.title(title, anchor=False)
    with state.reading() as session:
        slug = _choose(lifecycle.for_lead(session, who))
    with state.reading() as session:
        yield session, lifecycle.led_by(session, who, slug)
    state.show_messages()


def _choose(studies: Sequence[Study]) -> str:
    """The slug in the address, or the newest study's; stops the page where there is none to choose."""
    if not studies:
        st.info("You lead no study yet.")
        st.stop()
    titles = titles_of(studies)
    requested = st.query_params.get("study", studies[0].slug)
    if requested not in titles:
        st.error("You lead no study with this address. Open one from the list of studies.")
        st.stop()
    # a key per address: otherwise the box would keep a study that the address no longer names
    chosen = choose("Study", titles, f"study-{requested}", requested)
    st.query_params["study"] = chosen
    return chosen


def titles_of(studies: Sequence[Study]) -> dict[str, str]:
    """Slug → title, with what tells rounds of one title apart."""
    return {study.slug: f"{study.title} ({'demo' if study.demo else study.round})" for study in studies}
