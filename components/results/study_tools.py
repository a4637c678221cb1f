"""Exports and unblinding on the results page."""

from __future__ import annotations

import streamlit as st

from components.results import charts
from components.results.export_menu import export_menu
from components.shell import state
from components.shell.choices import certain
from triptych.results.page import Board
from triptych.stats.numbers import counted
from triptych.storage.models import Study
from triptych.study import copies, lifecycle
from triptych.study.persons import Who

BLIND = (
    "From now on, system names appear on every page and in every export of this study, for all its leads. Anything "
    "that leads rate or decide after this is not blind. This is logged and cannot be undone."
)
BLIND_COPIES = "You will also know which system is which in these blind studies with the same responses: {titles}."


def study_tools(board: Board, who: Who) -> None:
    """Exports, and unblinding, which is irreversible and logged for `who`."""
    study = board.study
    with st.popover("Export"):
        st.link_button("Ratings as CSV", f"export/{study.slug}/ratings.csv")
        if board.frame.rubric.highlights:
            st.link_button("Highlights as CSV", f"export/{study.slug}/highlights.csv")
        st.link_button("Comments as CSV", f"export/{study.slug}/comments.csv")
        asked = board.frame.rubric.asked(board.frame.round)
        export_menu(study, {criterion.key: criterion.title for criterion in asked}, who.person_id)
        charts.choose_picture()
    if study.unblinded_at is None:
        with st.popover("Unblind"):
            overview = board.overview
            reach = f"Unblinding at {overview.done} of {counted(overview.expected, 'annotation')}."
            losses = f"{reach} {BLIND}{_named(study, who)}"
            certainty = certain(who, "Show the system names", losses, f"unblind-{study.slug}")
            if certainty:
                state.run_command(lifecycle.unblind, study, certainty)
                st.rerun()


def _named(study: Study, who: Who) -> str:
    """A sentence about the blind copies of the study, whose systems become known with its own."""
    titles = [f"“{copy.title}”" for copy in state.read(copies.blind_copies, study, who)]
    return f" {BLIND_COPIES.format(titles=', '.join(titles))}" if titles else ""
