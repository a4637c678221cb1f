"""What was found in an uploaded item file: problems by row, columns, and the first item as plain text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from components.shell import state
from triptych.formats import ItemDraft, ItemFile, Problem, TurnDraft
from triptych.formats.model import in_words
from triptych.formats.ratings.model import FinishedRatings
from triptych.stats.numbers import counted

MAX_CHARACTERS = 2000
SEVERITIES = {"error": "Errors", "warning": "Warnings", "note": "Notes"}
MAX_LINES = 12
BLINDING_NOTE = (
    "This names the system of each response. If you will rate in this study yourself, ask somebody else to check it."
)


def import_preview(file: ItemFile, misfits: Sequence[str]) -> None:
    """Draw the whole result; every text of the file is shown unformatted."""
    _summary(file)
    _problems(file)
    for sentence in misfits if file.ok else ():
        state.say(sentence, "warning")
    left, right = st.columns(2)
    with left:
        _columns(file)
    if file.items:
        with right:
            st.subheader("First item", anchor=False)
            if file.items[0].candidates:
                st.caption(BLINDING_NOTE)
            _item(file.items[0])


def _summary(file: ItemFile) -> None:
    sizes = Counter(len(item.candidates) for item in file.items)
    each = " or ".join(str(size) for size in sorted(sizes)) or "no"
    parts = [counted(len(file.items), "item"), f"{each} candidates each", counted(len(file.systems), "system")]
    st.text(f"{file.kind}: {', '.join(parts)}")


def _problems(file: ItemFile) -> None:
    """Whether the file can be imported, then every problem on a line of its own, by row."""
    counts = Counter(problem.severity for problem in file.problems)
    if counts["error"]:
        errors = counted(counts["error"], "error")
        state.say(f"{errors}. Nothing can be imported until the file is corrected and uploaded again.")
    elif file.ok:
        state.say("The file can be imported.", "success")
    else:
        state.say("There is no item in the file.")
    problem_lists(file.problems)


def problem_lists(problems: Sequence[Problem]) -> None:
    """Errors, warnings and notes, one on a line; every text of the file is shown unformatted."""
    for severity, title in SEVERITIES.items():
        lines = in_words(problem for problem in sorted(problems, key=_place) if problem.severity == severity)
        if lines:
            st.caption(title)
            with st.container(border=True, height=320 if len(lines) > MAX_LINES else "content"):
                st.text("\n".join(lines))


def _place(problem: Problem) -> tuple[bool, str, int]:
    """Problems of the whole file first, then by file and row, "and n more" at the end."""
    return problem.message.startswith("…"), problem.file or "", problem.row or 0


def _columns(file: ItemFile) -> None:
    st.subheader("Columns", anchor=False)
    meanings = column_meanings(file)
    st.dataframe(meanings, hide_index=True, key="columns")
    if file.ignored:
        st.caption(f"{len(file.ignored)} of {len(meanings['Read as'])} will be ignored and not stored.")


def column_meanings(file: ItemFile | FinishedRatings) -> dict[str, list[str]]:
    """The table of a file's columns or fields, and what each is read as."""
    meanings = {**file.recognised, **dict.fromkeys(file.ignored, "ignored")}
    return {"In the file": list(meanings), "Read as": list(meanings.values())}


def _item(item: ItemDraft) -> None:
    with st.container(border=True, height=420, gap="small"):
        _content("Id", item.external_id, ())
        if item.context_text or item.context_turns:
            _content("Context", item.context_text, item.context_turns)
        for title, text in item.extra_texts.items():
            _content("Shown next to the responses", f"{title}\n{text}", ())
        if item.meta:
            _content("Fields", "\n".join(f"{name}: {value}" for name, value in item.meta.items()), ())
        for number, candidate in enumerate(item.candidates, 1):
            st.divider()
            _content(f"System of candidate {number}", candidate.system, ())
            _content(f"Candidate {number}", candidate.text, candidate.turns or ())


def _content(label: str, text: str | None, turns: Sequence[TurnDraft]) -> None:
    """A text or turns under a label, cut where they are long."""
    whole = "\n".join(f"{turn.speaker}: {turn.text}" for turn in turns) if text is None else text
    with st.container(gap=None):
        st.caption(label)
        st.text(whole[:MAX_CHARACTERS] or "(empty)")
        if len(whole) > MAX_CHARACTERS:
            st.caption(f"… and {len(whole) - MAX_CHARACTERS:,} more characters")
