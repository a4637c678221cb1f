"""What each column or level of a file is: a drop-down each with the proposal, and the first rows as they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

import streamlit as st

from components.shell import state
from components.shell.choices import choose
from components.shell.words import read_aloud
from components.study.import_preview import BLINDING_NOTE, MAX_CHARACTERS
from triptych.errors import ImportRefused
from triptych.formats.ratings.model import FinishedRatings
from triptych.formats.ratings.roles import ROLES, ColumnMapping, Duplicates, read_mapping

SIDE_BY_SIDE = 4
FIRST_ROWS = 8
DUPLICATES: dict[Duplicates, str] = {
    "error": "An error: nothing is imported",
    "first": "Left out: the first counts",
    "last": "Counts: those before are left out",
    "repeats": "A repeat: shows how an annotator agrees with themselves",
}


def choose_roles(proposed: Mapping[str, str], words: Mapping[str, str], key: str) -> dict[str, str]:
    """A drop-down for each column; the roles as they are chosen."""
    with st.expander(f"What the {len(proposed)} columns or fields are", key=f"{key}-all"):
        columns = st.columns(SIDE_BY_SIDE)
        chosen = {}
        for place, (column, role) in enumerate(proposed.items()):
            with columns[place % SIDE_BY_SIDE]:
                st.text(column)
                label = read_aloud(f"Role of {column}")
                chosen[column] = choose(label, words, f"{key}-{column}", role, label_visibility="collapsed")
    return chosen


def choose_mapping(files: Sequence[FinishedRatings]) -> ColumnMapping:
    """The mapping of files of ratings that were read as proposed, to be saved; roles: those that were changed."""
    proposed: dict[str, str] = {}
    for file in files:
        proposed = file.roles | proposed
    if not proposed:
        return ColumnMapping()
    saved = _saved()
    known = {column: role for column, role in saved.roles.items() if column in proposed}
    chosen = choose_roles(proposed | known, ROLES, "role")
    label = "A second rating of the same response by the same annotator"
    mapping = ColumnMapping(chosen, choose(label, DUPLICATES, "duplicates", saved.duplicates))
    st.download_button("Save this mapping", mapping.to_json(), "mapping.json", "application/json", on_click="ignore")
    return replace(mapping, roles={column: role for column, role in chosen.items() if role != proposed[column]})


def _saved() -> ColumnMapping:
    """A mapping that was saved before, if one is uploaded."""
    upload = st.file_uploader("A mapping saved before", ["json"], key="mapping_file")
    try:
        return read_mapping(upload.getvalue().decode("utf-8", "replace")) if upload else ColumnMapping()
    except ImportRefused as refusal:
        state.say(str(refusal))
        return ColumnMapping()


def first_ratings(files: Sequence[FinishedRatings]) -> None:
    """The first ratings of all files, as they were read."""
    rows = []
    for file in files:
        for rating in islice(file.ratings, FIRST_ROWS):
            response = file.texts.get((rating.item, rating.system or ""), "")
            rows.append(
                {
                    "Item": rating.item,
                    "Group of items": file.item_groups.get(rating.item, ""),
                    "System": rating.system or "(about the item)",
                    "Annotator": rating.annotator,
                    "Group of annotators": file.annotator_groups.get(rating.annotator, ""),
                    "Criterion": rating.criterion,
                    "Value": rating.value,
                    "Response": str(response)[:MAX_CHARACTERS],
                }
            )
    if rows:
        with st.expander("First ratings, as they are read"):
            st.caption(BLINDING_NOTE)
            st.dataframe(rows, hide_index=True, key="first_ratings")
