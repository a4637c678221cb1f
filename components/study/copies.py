"""More studies from this one: a copy, the next round; and the end of a draft."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from components.study.study_form import ROUNDS
from triptych.storage.models import Round, Study, StudyState
from triptych.study.lifecycle import LONGEST_TITLE

COPY = "The same rubric and settings in a new draft. No rating, no annotator and no plan comes along."


@dataclass(frozen=True)
class Copy:
    """What a lead wants copied; no round: a study of its own."""

    title: str
    next_round: Round | None
    with_items: bool


def copy_form(study: Study, free: Sequence[Round]) -> Copy | None:
    """A copy of its own, or a round that the series does not have yet."""
    with st.popover("Duplicate"):
        st.text(COPY)
        own = "A study of its own"
        names = {own: own, **{each: f"Next round: {ROUNDS[each]}" for each in free}}
        chosen = st.selectbox("As what", list(names), format_func=names.__getitem__, key=f"copy-as-{study.slug}")
        old = study.title.removeprefix("Demo: ")
        proposed = f"{old} (copy)" if chosen == own else old  # lists say which round it is
        title = st.text_input("Title", proposed[:LONGEST_TITLE], max_chars=LONGEST_TITLE, key=f"copy-{chosen}")
        items = st.checkbox("With its items", chosen == own, key=f"copy-items-{chosen}")
        if st.button("Make the draft", type="primary", key=f"copy-make-{study.slug}"):
            return Copy(title, None if chosen == own else chosen, items)
    return None


def delete_form(study: Study) -> bool:
    """Asks before a draft goes."""
    if study.state != StudyState.draft:
        return False
    with st.popover("Delete"):
        st.text("The draft goes for good, with its items and invitations. Nobody has rated anything in it.")
        return st.button("Delete the draft", type="primary", key=f"delete-{study.slug}")
