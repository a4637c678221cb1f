"""Duplicating a study, as a copy or as the next round, and deleting a draft."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from components.shell import state
from components.shell.choices import choose, confirmed
from components.study.study_form import ROUNDS
from triptych.storage.models import Round, Study, StudyState
from triptych.study.lifecycle import LONGEST_TITLE

COPY = "A new draft with the same rubric and settings. Ratings, annotators and plan are not copied."
DELETION = "This permanently deletes the draft, with its items and invitations. It contains no ratings."


@dataclass(frozen=True)
class CopyRequest:
    """The copy that a lead requests; without a round it is an independent study."""

    title: str
    next_round: Round | None
    with_items: bool


def copy_form(study: Study, free: Sequence[Round]) -> CopyRequest | None:
    """Choose the copy: an independent study, or a round that the series does not have yet."""
    with st.popover("Duplicate"):
        st.text(COPY)
        slug = study.slug
        names: dict[Round | None, str] = {None: "A separate study"}
        names |= {each: f"Next round: {ROUNDS[each]}" for each in free}
        next_round = choose("Duplicate as", names, f"copy-as-{slug}")
        old = study.title.removeprefix("Demo: ")
        proposed = f"{old} (copy)" if next_round is None else old  # lists show the round
        title = st.text_input(
            "The copy's title", proposed[:LONGEST_TITLE], max_chars=LONGEST_TITLE, key=f"copy-title-{slug}-{next_round}"
        )
        items = st.checkbox("With its items", next_round is None, key=f"copy-items-{slug}-{next_round}")
        if state.button("Make the draft", f"copy-make-{slug}", type="primary"):
            return CopyRequest(title, next_round, items)
    return None


def delete_form(study: Study) -> bool:
    """Whether the lead confirmed deleting the draft."""
    if study.state != StudyState.draft:
        return False
    return confirmed("Delete", DELETION, "Delete the draft", f"delete-{study.slug}")
