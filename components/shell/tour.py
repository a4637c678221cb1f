"""A tour of the finished demo study: five stops on its own pages, each with a task. The address names the stop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from triptych.storage.models import Study, StudyState

PARAMETER = "tour"


@dataclass(frozen=True)
class Stop:
    """A page, its purpose, and what to try on it."""

    page: str
    about: str
    task: str


STOPS = (
    Stop(
        "lead/results.py",
        "The first screen answers three questions: which system is better, can it be trusted, what comes next.",
        "Read the verdict, then look in the tab *Can it be trusted* for the agreement on Appropriateness.",
    ),
    Stop(
        "lead/items.py",
        "Items about which annotators disagree most come first. A lead can set a final value for each.",
        "Read the first item of the list and what each annotator gave, then go to the next one with the key J.",
    ),
    Stop(
        "lead/people.py",
        "Everyone who takes part: their progress, their pace, and who needs attention.",
        "Find the person who worked longest, and click the box to the left of their row to see the available actions.",
    ),
    Stop(
        "lead/design.py",
        "All decisions made before the first rating, frozen at launch under one hash.",
        "Open *Plan and preregistration* and find which criterion was declared as the primary one.",
    ),
    Stop(
        "lead/report.py",
        "Everything for a paper, frozen at one moment: tables, figures, methods, data, and a script that checks "
        "every number.",
        "Open *What is in it*, then make a report and download it.",
    ),
)


def tour_link(studies: Sequence[Study]) -> None:
    """A link to the first stop, unless the demo studies were removed."""
    study = next((study for study in studies if study.demo and study.state == StudyState.closed), None)
    if study is not None:
        _link(0, study, f"Tour of a finished study, {len(STOPS)} stops", ":material/tour:")


def stop_box(page: str, study: Study) -> None:
    """The stop named in the address, above its page; draws nothing on other pages or for other studies."""
    named = st.query_params.get(PARAMETER, "")
    place = int(named) - 1 if named in map(str, range(1, len(STOPS) + 1)) else None
    if place is None or not study.demo or STOPS[place].page != page:
        return
    stop = STOPS[place]
    with st.container(border=True, key="tour", gap="xsmall"):
        st.markdown(f"**Tour, stop {place + 1} of {len(STOPS)}.** {stop.about}")
        st.markdown(f"**Try:** {stop.task}")
        with st.container(horizontal=True):
            if place:
                _link(place - 1, study, "Back", ":material/arrow_back:")
            if place + 1 < len(STOPS):
                _link(place + 1, study, "Next", ":material/arrow_forward:")
            st.page_link("lead/studies.py", label="End the tour", icon=":material/close:")


def _link(place: int, study: Study, label: str, icon: str) -> None:
    query = {"study": study.slug, PARAMETER: str(place + 1)}
    st.page_link(STOPS[place].page, label=label, icon=icon, query_params=query)
