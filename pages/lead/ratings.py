"""All ratings of one study: filtered, sorted or grouped over all rows, and shown in pages."""

from typing import Any

import streamlit as st

from components.shell import live, state
from components.shell.empty_state import no_rating_yet
from components.shell.grid import ratings_grid
from components.shell.study_choice import chosen_study
from triptych.results.frame.model import Frame
from triptych.results.frame.table import (
    GROUPS,
    MARKS,
    ORDERS,
    PAGE_ROWS,
    Filters,
    Page,
    groups_table,
    rating_of,
    ratings_table,
    values_in,
)
from triptych.results.frame.upkeep import frame_of
from triptych.stats.numbers import counted
from triptych.study.system_names import system_names

ONE_BY_ONE = "Nothing"
BOUND: Any = {"bind": "query-params"}  # boxes that the address stores, so that links can set them
SEVERAL: Any = {"placeholder": "All", **BOUND}


def filters(frame: Frame, names: dict[int, str]) -> Filters:
    """Which ratings to list; an empty box filters nothing."""
    titles = {criterion.key: criterion.title for criterion in frame.rubric.asked(frame.round)}
    first, second, third, fourth = st.columns(4)
    annotators = sorted(frame.work["annotator"].cat.categories)
    people = first.multiselect("Annotator", annotators, key="annotator", **SEVERAL)
    systems = second.multiselect("System", frame.systems, format_func=names.__getitem__, key="system", **SEVERAL)
    criteria = third.multiselect("Criterion", list(titles), format_func=titles.__getitem__, key="criterion", **SEVERAL)
    values = fourth.multiselect("Value", values_in(frame), key="value", **SEVERAL)
    item = first.text_input("Item id contains", key="item", **BOUND)
    text = second.text_input("Explanation contains", key="text", **BOUND)
    marks = third.multiselect("Marked as", MARKS, key="only", **SEVERAL)
    return Filters(
        annotators=frozenset(people),
        item=item,
        systems=frozenset(systems),
        criteria=frozenset(criteria),
        values=frozenset(values),
        marks=frozenset(marks),
        text=text,
    )


def start_of(about: object) -> int:
    """The first row of the page that the lead is on; changed filters start again at the first page."""
    return (state.recall(f"page-{hash(about)}", 1) - 1) * PAGE_ROWS


def turn_pages(count: int, about: object) -> None:
    if (pages := -(-count // PAGE_ROWS)) > 1:
        st.number_input(f"Page, of {pages:,}", 1, pages, key=f"page-{hash(about)}", width=180)


def groups(by: str, passing: Filters) -> None:
    """One row per item or annotator; a click lists its ratings."""
    table = groups_table(frame, passing, by, start_of((by, passing)))
    key = f"groups-{slug}-{by}"

    def open_group() -> None:
        rows = state.recall(key).selection.rows
        if rows:
            label = table.rows[by].iloc[rows[0]]
            state.remember(by.lower(), label if by == "Item" else [label])
            state.remember("group", ONE_BY_ONE)

    st.text(f"{counted(table.count, by.lower())} with such ratings. Click the box at the left to list them.")
    st.dataframe(table.rows, hide_index=True, key=key, on_select=open_group, selection_mode="single-row")
    turn_pages(table.count, (by, passing))


def ratings(passing: Filters, order: str, descending: bool) -> None:
    """A page of ratings; a click opens the item with that rating marked."""
    about = passing, order, descending
    page = Page(order, descending, start_of(about))
    table = ratings_table(frame, passing, names, page)
    cut = f"; rows {page.start + 1:,} to {page.start + len(table.rows):,} are shown" if table.count > PAGE_ROWS else ""
    st.text(f"{table.count:,} of {counted(table.total, 'rating')}{cut}.")
    clicked = ratings_grid(table.rows, key=f"ratings-{slug}-{hash((about, page.start))}")
    if clicked:
        st.switch_page("lead/items.py", query_params={"study": slug, **rating_of(frame, names, clicked)})
    st.caption("Click a rating to read its item.")
    turn_pages(table.count, about)


who = state.require("lead")
with chosen_study(who) as (session, study):
    slug = study.slug
    frame = frame_of(session, study)
    names = system_names(session, study)
if frame.ratings.empty:
    no_rating_yet(study)
    live.follow(lambda: live.number_now(study), frame.number)
    st.stop()
passing = filters(frame, names)
with st.container(horizontal=True, vertical_alignment="bottom"):
    order = st.selectbox("Order by", list(ORDERS), key="order", width=180, **BOUND)
    descending = st.toggle("Descending", value=True, key="descending", **BOUND)
    by = st.selectbox("Group by", [ONE_BY_ONE, *GROUPS], key="group", width=180, **BOUND)
if by == ONE_BY_ONE:
    ratings(passing, order, descending)
else:
    groups(by, passing)
live.follow(lambda: live.number_now(study), frame.number)
