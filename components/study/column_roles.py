"""The role of each column of a file: a box with the proposed role, and the first rows as read."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from types import MappingProxyType
from typing import Any

import streamlit as st

from components.shell import state
from components.shell.choices import choose
from components.shell.words import read_aloud
from components.study.import_preview import BLINDING_NOTE, MAX_CHARACTERS
from triptych.errors import ImportRefused
from triptych.formats.layout import ITEM_ROLES
from triptych.formats.model import ItemFile
from triptych.formats.ratings.model import FinishedRatings
from triptych.formats.ratings.roles import ROLES, ColumnMapping, Duplicates, read_mapping

SIDE_BY_SIDE = 4
FIRST_ROWS = 8
MOST_UNFOLDED = 15
DUPLICATES: dict[Duplicates, str] = {
    "error": "An error: nothing is imported",
    "first": "Ignore it: the first rating counts",
    "last": "Use it: earlier ratings are ignored",
    "repeats": "A repeat: shows how consistent an annotator is",
}


def _choose_roles(
    proposed: Mapping[str, str], words: Mapping[str, str], key: str, samples: Mapping[str, str]
) -> dict[str, str]:
    """A box for each column, below its first values if they are known; returns the chosen roles."""
    title = f"What the {len(proposed)} columns or fields are"
    with st.expander(title, expanded=0 < len(samples) <= MOST_UNFOLDED, key=f"{key}-all"):
        chosen = {}
        for place, (column, role) in enumerate(proposed.items()):
            if place % SIDE_BY_SIDE == 0:  # separate rows, so that a narrow screen keeps the file's order
                columns = st.columns(SIDE_BY_SIDE)
            with columns[place % SIDE_BY_SIDE]:
                st.text(column)
                if samples.get(column):
                    st.caption(state.plain(samples[column]))
                label = read_aloud(f"Role of {column}")
                chosen[column] = choose(label, words, f"{key}-{column}", role, label_visibility="collapsed")
    return chosen


def choose_mapping(files: Sequence[FinishedRatings]) -> ColumnMapping:
    """Draw the mapping of the files' columns, which the lead can save; returns it with only the changed roles."""
    proposed = dict(ChainMap(*(file.roles for file in files)))  # if files differ about a column, the first one counts
    if not proposed:
        return ColumnMapping()
    place = _place_of_mapping()
    saved, chosen = _choose_from_saved(place, proposed, ROLES, "role")
    label = "A second rating of the same response by the same annotator"
    mapping = ColumnMapping(chosen, choose(label, DUPLICATES, "duplicates", saved.duplicates))
    _offer(place, mapping)
    return replace(mapping, roles={column: role for column, role in chosen.items() if role != proposed[column]})


def choose_item_roles(file: ItemFile) -> dict[str, str]:
    """The role of each column of an items file: chosen, from a saved mapping, or proposed."""
    place = _place_of_mapping()
    _, chosen = _choose_from_saved(place, file.roles, ITEM_ROLES, "item-role", file.samples)
    _offer(place, ColumnMapping(chosen))
    return chosen


def _place_of_mapping() -> Any:
    """An expander that reports whether it is open, which Streamlit's public types do not include."""
    return st.expander("Load or save this mapping", key="mapping", on_change="rerun")


def _choose_from_saved(
    place: Any,
    proposed: Mapping[str, str],
    words: Mapping[str, str],
    key: str,
    samples: Mapping[str, str] = MappingProxyType({}),
) -> tuple[ColumnMapping, dict[str, str]]:
    """A mapping from an uploaded file, if any, and the chosen roles, which start with those of that mapping."""
    upload = place.file_uploader("A mapping saved before", ["json"], key=f"{key}-mapping", max_upload_size=1)
    saved = ColumnMapping()
    try:
        saved = read_mapping(upload.getvalue().decode("utf-8", "replace")) if upload else saved
    except ImportRefused as refusal:
        state.say(str(refusal))
    known = {column: role for column, role in saved.roles.items() if column in proposed and role in words}
    # new widget keys for each mapping: an existing widget would keep its choice
    return saved, _choose_roles({**proposed, **known}, words, f"{key}-{upload.file_id}" if upload else key, samples)


def _offer(place: Any, mapping: ColumnMapping) -> None:
    if not place.open:  # showing code loads 1.5 MB of JavaScript
        return
    # to copy, not to download: Streamlit serves downloads to anyone, and columns may be named after systems
    place.caption("This mapping, to save for the next file")
    place.code(mapping.to_json(), language=None, height=300)


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
        with st.expander("First ratings, as read from the files"):
            st.caption(BLINDING_NOTE)
            st.dataframe(rows, hide_index=True, key="first_ratings")
