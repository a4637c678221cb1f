"""Duplicating a study, as a copy or as the next round, and deleting a draft."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from components.study.study_form import ROUNDS
from triptych.storage.models import Round, Study, StudyState
from triptych.study.lifecycle import LONGEST_TITLE

COPY = "A new draft with the same rubric and settings. Ratings, annotators and plan are not copied."


@dataclass(frozen=True)
class Copy:
    """The copy a lead asks for; without a round it is a study of its own."""

    title: str
    next_round: Round | None
    with_items: bool


def copy_form(study: Study, free: Sequence[Round]) -> Copy | None:
    """The copy to make: a study of its own, or a round that the series does not have yet."""
    with st.popover("Duplicate"):
        st.text(COPY)
        own = "A study of its own"
        names = {own: own, **{each: f"Next round: {ROUNDS[each]}" for each in free}}
        chosen = st.selectbox("Duplicate as", list(names), format_func=names.__getitem__, key=f"copy-as-{study.slug}")
        old = study.title.removeprefix("Demo: ")
        proposed = f"{old} (copy)" if chosen == own else old  # lists say which round it is
        title = st.text_input("Title", proposed[:LONGEST_TITLE], max_chars=LONGEST_TITLE, key=f"copy-{chosen}")
        items = st.checkbox("With its items", chosen == own, key=f"copy-items-{chosen}")
        if st.button("Make the draft", type="primary", key=f"copy-make-{study.slug}"):
            return Copy(title, None if chosen == own else chosen, items)
    return None


def delete_form(study: Study) -> bool:
    """Whether the lead confirmed deleting the draft."""
    if study.state != StudyState.draft:
        return False
    with st.popover("Delete"):
        st.text("This deletes the draft for good, with its items and invitations. Nobody has rated anything in it.")
        return st.button("Delete the draft", type="primary", key=f"delete-{study.slug}")
