"""Text for a page that is empty: the reason, and a link to the next step."""

from __future__ import annotations

import streamlit as st

from components.shell import places
from components.shell.state import plain, reading
from triptych.results.first_screen.next_step import next_step
from triptych.results.frame.counted import kinds_by_default
from triptych.results.frame.model import Counted
from triptych.results.progress import overview
from triptych.storage.models import Study


def empty_state(sentence: str, place: str, slug: str) -> None:
    """A sentence about what is missing, and a link to the place of the study where it is created, if there is one."""
    st.info(plain(sentence))
    if place:
        st.page_link(places.PLACES[place][0].page, label=f"Go to {place}", query_params={"study": slug})


def no_rating_yet(study: Study) -> None:
    """Shown by pages about ratings in a study without ratings."""
    with reading() as session:
        step = next_step(study, overview(session, study, Counted(kinds_by_default(study))))
    empty_state(f"There is no rating yet. {step.sentence}", step.place, study.slug)
