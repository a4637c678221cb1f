"""What was found in an uploaded item file: problems by row, columns, and the first item as plain text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from components import state
from triptych.formats import ItemDraft, ItemFile, Turn

LONGEST = 2000
SEVERITIES = {"error": "Error", "warning": "Warning", "note": "Note"}


def import_preview(file: ItemFile, misfits: Sequence[str]) -> None:
    """Draws the whole finding; every text of the file appears as it stands."""
    _summary(file)
    _problems(file)
    for sentence in misfits:
        state.say(sentence, "warning")
    left, right = st.columns(2)
    with left:
        _columns(file)
    if file.items:
        with right:
            st.subheader("First item", anchor=False)
            _item(file.items[0])


def _summary(file: ItemFile) -> None:
    sizes = Counter(len(item.candidates) for item in file.items)
    each = " or ".join(str(size) for size in sorted(sizes)) or "no"
    st.text(f"{file.kind}: {len(file.items):,} items, {each} candidates each, {len(file.systems)} systems")


def _problems(file: ItemFile) -> None:
    counts = Counter(problem.severity for problem in file.problems)
    if counts["error"]:
        told = f"{counts['error']} errors" if counts["error"] > 1 else "One error"
        state.say(f"{told}. Nothing can be imported until the file is corrected and uploaded again.")
    elif file.ok:
        state.say("The file can be imported.", "success")
    else:
        state.say("There is no item in the file.")
    if file.problems:
        rows = [
            {
                "": SEVERITIES[problem.severity],
                "Row": "" if problem.row is None else str(problem.row),
                "Column": problem.column or "",
                "What": problem.message,
            }
            for problem in file.problems
        ]
        wide = {"What": st.column_config.TextColumn(width="large")}
        st.dataframe(pd.DataFrame(rows), hide_index=True, column_config=wide, key="problems")


def _columns(file: ItemFile) -> None:
    st.subheader("Columns", anchor=False)
    rows = [{"In the file": column, "Taken for": meaning} for column, meaning in file.recognised.items()]
    rows += [{"In the file": column, "Taken for": "ignored"} for column in file.ignored]
    st.dataframe(pd.DataFrame(rows, columns=["In the file", "Taken for"]), hide_index=True, key="columns")
    if file.ignored:
        st.caption(f"{len(file.ignored)} of {len(rows)} would be ignored: nothing of them is stored.")


def _item(item: ItemDraft) -> None:
    with st.container(border=True, height=420):
        st.caption("Id")
        st.text(item.external_id)
        if item.context_text or item.context_turns:
            _content("Context", item.context_text, item.context_turns)
        for title, text in item.extra_texts.items():
            _content("Shown beside it", f"{title}\n{text}", ())
        if item.meta:
            _content("Fields", "\n".join(f"{name}: {value}" for name, value in item.meta.items()), ())
        for number, candidate in enumerate(item.candidates, 1):
            st.divider()
            st.caption(f"Candidate {number}, by the system")
            st.text(candidate.system)
            _content("Text", candidate.text, candidate.turns or ())


def _content(label: str, text: str | None, turns: Sequence[Turn]) -> None:
    """A text or turns, cut where they are long."""
    whole = "\n".join(f"{turn.speaker}: {turn.text}" for turn in turns) if text is None else text
    st.caption(label)
    st.text(whole[:LONGEST] or "(empty)")
    if len(whole) > LONGEST:
        st.caption(f"… and {len(whole) - LONGEST:,} more characters")
