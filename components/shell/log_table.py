"""The event log: filters, a page of lines, and what one event changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pandas as pd
import streamlit as st

from components.shell.words import NONE
from triptych.annotate.logged import LoggedHighlight
from triptych.operations.verify import Verdict
from triptych.rubric.answers import CheckedRating, place_in_words
from triptych.rubric.scales import as_typed
from triptych.stats.numbers import counted
from triptych.storage.events import UNREADABLE
from triptych.storage.models import JsonObject
from triptych.study.log import Entry, EventFilters

PAGE_ROWS = 100
MISSING = "missing"


def choose_filters(kinds: Sequence[str], people: Sequence[str], slug: str) -> EventFilters:
    """Which events to list; an empty box filters nothing. The address stores the boxes."""
    bound: Any = {"bind": "query-params"}
    first, second, third, fourth, fifth = st.columns([3, 3, 2, 2, 3])
    chosen = first.multiselect("What happened", kinds, placeholder="Everything", key="kind", **bound)
    who = second.multiselect("Who", people, placeholder="Everybody", key="person", **bound)
    item = third.text_input("Item id", key="item", **bound)
    days = fifth.date_input("Days (UTC)", value=[], key=f"days-{slug}")
    number = fourth.number_input("Annotation", min_value=1, value=None, step=1, key=f"annotation-{slug}")
    since, until = _ends(days)
    return EventFilters(frozenset(chosen), frozenset(who), item.strip(), number, since, until)


def _ends(days: date | Sequence[date]) -> tuple[datetime | None, datetime | None]:
    """The start of the first day, and the start of the day after the last."""
    bounds: list[date] = [days] if isinstance(days, date) else list(days)
    if not bounds:
        return None, None
    return _midnight(bounds[0]), _midnight(bounds[-1] + timedelta(days=1))


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def choose_page(count: int, slug: str) -> int:
    """The index of the first event to show."""
    pages = max(-(-count // PAGE_ROWS), 1)
    if pages == 1:
        return 0
    return PAGE_ROWS * (st.number_input(f"Page (of {pages})", 1, pages, 1, key=f"page-{slug}-{pages}", width=160) - 1)


def log_table(entries: Sequence[Entry], slug: str) -> Entry | None:
    """One line per event, newest first; returns the event that the lead selects."""
    table = pd.DataFrame(
        [
            {
                "No.": entry.event.number,
                "When (UTC)": f"{entry.event.at:%Y-%m-%d %H:%M:%S}",
                "Who": entry.event.actor,
                "What": entry.event.kind,
                "About": entry.event.subject,
                "Item": entry.item or "",
                "Annotation": str(entry.event.assignment_id or ""),
            }
            for entry in entries
        ]
    )
    picked = st.dataframe(
        table,
        hide_index=True,
        height=min(38 + 35 * len(entries), 460),
        key=f"log-{slug}",
        on_select="rerun",
        selection_mode="single-row",
    )
    st.caption("Click the box to the left of a line to see what it changed.")
    rows = picked.selection.rows
    return entries[rows[0]] if rows and rows[0] < len(entries) else None


def changes(entry: Entry) -> None:
    """The values that an event wrote, next to the previous ones."""
    event = entry.event
    st.text(f"Event {event.number}: {event.kind}, {event.actor}, {event.at:%Y-%m-%d %H:%M:%S} UTC")
    if entry.withheld:
        st.text("Its values would reveal which system is which. They are shown once the study is unblinded.")
    elif entry.old is None and entry.new is None:
        st.text("It has no values, or they were erased together with the person they were about.")
    else:
        st.dataframe(pd.DataFrame(changed_values(entry.old, entry.new)), hide_index=True, key=f"changes-{event.number}")
    st.caption(f"Hash {event.hash}")


def changed_values(old: JsonObject | None, new: JsonObject | None) -> list[dict[str, str]]:
    """One line per value, before and after; an annotation has one per rating, explanation and highlight."""
    before, after = _flat(old or {}), _flat(new or {})
    names = [*after, *(name for name in before if name not in after)]
    if old is None:
        return [{"Value": name, "Is": after[name]} for name in names]
    return [{"Value": name, "Was": before.get(name, NONE), "Is": after.get(name, NONE)} for name in names]


def _flat(values: JsonObject) -> dict[str, str]:
    cells: dict[str, str] = {}
    for name, value in values.items():
        plain = {name.replace("_", " "): NONE if value is None else str(value)}
        try:
            # a withdrawal logs what becomes of "ratings" in one word
            cells |= PARTS[name](value) if name in PARTS and isinstance(value, list) else plain
        except UNREADABLE:  # an imported log may have anything there
            cells |= plain
    return cells


def _ratings(rows: list[Any]) -> dict[str, str]:
    cells = {}
    for rating in (CheckedRating(*row) for row in rows):
        place = f"{rating.criterion}, {place_in_words(rating.position)}"
        chosen = MISSING if rating.missing and rating.option is None else rating.option
        cells[place] = str(chosen) if rating.number is None else as_typed(rating.number)
        if rating.reasons or rating.text:
            cells[f"{place}: explanation"] = " · ".join([*rating.reasons, *([rating.text] if rating.text else [])])
    return cells


def _highlights(rows: list[Any]) -> dict[str, str]:
    cells = {}
    for number, mark in enumerate((LoggedHighlight(*row) for row in rows), 1):
        about = place_in_words(mark.position)
        place = about if mark.turn is None else f"{about}, turn {mark.turn + 1}"
        span = f"{mark.label}, characters {mark.start} to {mark.end}"
        cells[f"highlight {number}, {place}"] = f"{span}: {mark.comment}" if mark.comment else span
    return cells


def _set_aside(rows: list[Any]) -> dict[str, str]:
    return {f"set aside, {place_in_words(position)}": str(reason) for position, reason in rows}


# parts of an annotation in the log, each a list of rows
PARTS: dict[str, Callable[[list[Any]], dict[str, str]]] = {
    "ratings": _ratings,
    "highlights": _highlights,
    "set_aside": _set_aside,
}


def head(number: int, last_hash: str) -> None:
    """Number and hash of the last event, to write down or to compare with an export, a report or a backup."""
    st.text(f"{counted(number, 'event')}. Hash of the last one:")
    st.code(last_hash or NONE, language=None, wrap_lines=True)
    st.caption(
        "Exports, reports, backups and capsules contain number and hash of their last event. If this log has fewer "
        "events than one of these, or a different hash for the same number, events were removed or rewritten."
    )


def verdict(check: Verdict) -> None:
    """Whether every row matches the log, and the first rows that do not."""
    if check.holds:
        st.success(check.sentence)
        return
    if check.broken:
        st.error("The log itself was changed outside the app.")
        st.text(check.broken)
        return
    rows = counted(len(check.differences), "row")
    st.error(f"{rows} changed outside the app: the log says otherwise.")
    st.dataframe(pd.DataFrame({"What differs": check.differences[:PAGE_ROWS]}), hide_index=True)
