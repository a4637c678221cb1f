"""Workbooks for leads: the list, and the check of a returned one, row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import streamlit as st

from components.shell import state
from components.shell.choices import choose, confirmed
from components.shell.words import NONE, moment
from triptych.annotate.workbooks import MAX_ITEMS, Returned, WorkbookLine
from triptych.stats.numbers import counted
from triptych.storage.models import Study

NEW_PERSON = "Someone new, by name"
SEVERITIES = {"error": "Error", "warning": "Warning", "note": "Note"}
MAX_ROWS = 12
CANCELLING = "Its open items go to other annotators, and the file will no longer be accepted."
WIDTHS: Any = {
    "Row": {"width": 50},
    "Column": {"width": 150},
    "Kind": {"width": 70},
    "What is wrong": {"width": 330},
    "What would be right": {"width": "large"},
}
PARTLY_LABEL = "Store complete items; leave items that were not begun for later"


def choose_annotator(pseudonyms: Sequence[str], slug: str) -> tuple[str, bool, int]:
    """(pseudonym or name, whether it is a name, number of items) for a new workbook."""
    first, second, third = st.columns([2, 2, 1], vertical_alignment="bottom")
    names = {each: each for each in (*pseudonyms, NEW_PERSON)}
    chosen = choose("Annotator", names, f"workbook_for-{slug}", NEW_PERSON, first)
    name = second.text_input("Name", key=f"workbook_name-{slug}", max_chars=80) if chosen == NEW_PERSON else ""
    count = third.number_input("Items at most", 1, MAX_ITEMS, 25, key=f"workbook_items-{slug}")
    return (name, True, count) if chosen == NEW_PERSON else (chosen, False, count)


def workbook_list(study: Study, lines: Sequence[WorkbookLine], cancel: Callable[[int], None]) -> None:
    """One block per workbook, newest first, with download and cancel."""
    for line in lines:
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            with st.container(gap=None):
                st.text(f"{line.pseudonym} · workbook {line.id} · {line.state}")
                st.caption(_story(line))
            if line.cancelled_at is None:
                link = f"workbook/{study.slug}/{line.id}.xlsx"
                st.link_button("Download", link, icon=":material/download:")
            is_open, key = line.cancelled_at is None and line.done < line.items, f"cancel-{line.id}"
            if is_open and confirmed("Cancel", CANCELLING, "Cancel the workbook", key, type="secondary"):
                cancel(line.id)


def _story(line: WorkbookLine) -> str:
    parts = [f"{line.done} of {counted(line.items, 'item')} handed in", f"made {moment(line.made_at)}"]
    if line.returned_at is not None:
        parts.append(f"last handed in {moment(line.returned_at)}")
    if line.cancelled_at is not None:
        parts = [f"cancelled {moment(line.cancelled_at)}", f"{counted(line.done, 'item')} handed in before"]
    return " · ".join(parts)


def workbook_check(returned: Returned) -> None:
    """Whether the file can be stored, then all findings, by row."""
    st.text(f"The workbook of {returned.pseudonym}: {_counts(returned)}.")
    wrong = sum(finding.severity == "error" for finding in returned.findings)
    if wrong:
        cells = "One cell or row" if wrong == 1 else f"{wrong} cells or rows"
        state.say(f"{cells} must be corrected. Nothing is stored until then: correct the file and upload it again.")
    elif returned.messages:
        state.say(f"Everything is correct. {counted(len(returned.messages), 'item')} can be stored.", "success")
    else:
        state.say("There is nothing to store: all answers were handed in before.", "info")
    rows = [
        {
            "Row": NONE if finding.row is None else str(finding.row),
            "Column": finding.column or NONE,
            "Kind": SEVERITIES[finding.severity],
            "What is wrong": finding.what,
            "What would be right": finding.right or NONE,
        }
        for finding in returned.findings
    ]
    if rows:
        height: int | Literal["content"] = 460 if len(rows) > MAX_ROWS else "content"
        st.dataframe(rows, hide_index=True, height=height, column_config=WIDTHS, key="workbook_findings")


def _counts(returned: Returned) -> str:
    """The numbers of new, unchanged and open items, as a text."""
    parts = [(len(returned.messages), "to store"), (returned.unchanged, "stored before and the same")]
    rest = returned.items - len(returned.messages) - returned.unchanged
    parts.append((rest, "open or with errors"))
    return f"{counted(returned.items, 'item')}, " + ", ".join(f"{number} {what}" for number, what in parts if number)
