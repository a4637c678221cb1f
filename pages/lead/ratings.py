"""Every rating of one study, filtered."""

import streamlit as st

from components.shell import live, state
from components.shell.grid import ratings_grid
from components.shell.study_choice import chosen_study
from triptych.results.frame.model import Frame
from triptych.results.frame.table import MARKS, Filters, ratings_table, values_in
from triptych.results.frame.upkeep import frame_of
from triptych.stats.numbers import counted
from triptych.study.system_names import system_names

LIMIT = 2000


def filters(frame: Frame, names: dict[int, str]) -> Filters:
    """What to list; an empty box lets everything through. The address holds the boxes, so that a link can set them."""
    titles = {criterion.key: criterion.title for criterion in frame.rubric.asked(frame.round)}
    first, second, third, fourth = st.columns(4)
    people = first.multiselect(
        "Annotator", sorted(frame.work["annotator"].cat.categories), key="annotator", bind="query-params"
    )
    systems = second.multiselect(
        "System", frame.systems, format_func=names.__getitem__, key="system", bind="query-params"
    )
    criteria = third.multiselect(
        "Criterion", list(titles), format_func=titles.__getitem__, key="criterion", bind="query-params"
    )
    values = fourth.multiselect("Value", values_in(frame), key="value", bind="query-params")
    item = first.text_input("Item id contains", key="item", bind="query-params")
    text = second.text_input("Explanation contains", key="text", bind="query-params")
    marks = third.multiselect("Only", MARKS, key="only", bind="query-params")
    return Filters(
        annotators=frozenset(people),
        item=item,
        systems=frozenset(systems),
        criteria=frozenset(criteria),
        values=frozenset(values),
        marks=frozenset(marks),
        text=text,
    )


who = state.require("lead")
with chosen_study(who) as (session, study):
    slug = study.slug
    frame = frame_of(session, study)
    names = system_names(session, study)
table = ratings_table(frame, filters(frame, names), names, LIMIT)
cut = f"; the newest {LIMIT:,} are shown" if table.count > LIMIT else ""
st.text(f"{table.count:,} of {counted(table.total, 'rating')}{cut}.")
ratings_grid(table.rows, key=f"ratings-{slug}")
st.page_link("lead/results.py", label="Back to the results", query_params={"study": slug})
live.follow(lambda: live.number_now(study), frame.number)
