"""A study's items: the list, adding items from a file, retiring items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from components.shell import state
from components.study.import_preview import import_preview
from components.study.saved_field import lines_of
from components.study.study_form import choose_file, file_before
from triptych.rubric.model import Rubric
from triptych.stats.numbers import counted
from triptych.storage.models import Purpose, Study, StudyState
from triptych.study.design import ItemLine, Parts

ADD, REPLACE = "Add to the current items", "Replace all items"


def item_table(lines: Sequence[ItemLine], total: int) -> None:
    """The first items as a table, and the number of items to rate, which is `total`."""
    if not lines:
        st.info("This study has no items yet. Upload a file of items below.")
        return
    kinds = Counter(line.purpose for line in lines if line.retired is None)
    checks = [f"{kinds[name]} {name}" for name in ("gold", "attention") if kinds[name]]
    st.text(
        ", ".join([f"{counted(total, 'item')} to rate", *checks])
        + (f"; the first {len(lines)}:" if total > kinds["main"] else "")
    )
    table = pd.DataFrame(
        {
            "Item": [line.external_id for line in lines],
            "Beginning": [line.begins for line in lines],
            "Responses": [line.candidates for line in lines],
            "Annotators": [line.raters if line.purpose == Purpose.main else None for line in lines],
            "Use": [line.purpose for line in lines],
            "Retired because": [line.retired or "" for line in lines],
        }
    )
    if not any(line.begins for line in lines):
        table = table.drop(columns="Beginning")
    if not any(line.retired is not None for line in lines):
        table = table.drop(columns="Retired because")
    st.dataframe(table, hide_index=True, height=min(320, 40 + 35 * len(table)), key="items")


def more_items(study: Study, rubric: Rubric, version: int) -> Parts | None:
    """A file of items, previewed before it is stored; after a change of `version` the uploader is empty."""
    draft = study.state == StudyState.draft
    key = f"items-{study.slug}-{version}"
    file = choose_file(rubric, key)
    if file is None:
        return None
    _, common_names = import_preview(file, rubric, file_before(), study)
    if not file.ok:
        return None
    ways = [ADD, REPLACE] if draft and study.item_count else [ADD]
    way = st.radio("What to do with this file", ways, key=f"{key}-what") if len(ways) > 1 else ADD
    pressed = state.button("Store these items", f"{key}-stored", type="primary")
    settings = {"common_names": common_names}
    return Parts(items=file, replace_items=way == REPLACE, settings=settings) if pressed else None


def retired_items(study: Study, version: int) -> Parts | None:
    """The ids of items to retire, or to remove from a draft."""
    draft = study.state == StudyState.draft
    key = f"retire-{study.slug}-{version}"
    with st.form(key, border=False):
        st.text(
            "The items are removed from this draft."
            if draft
            else "These items will no longer be assigned. Their ratings remain in the results."
        )
        ids = st.text_area("Ids of the items, one per line", height=110, key=f"{key}-ids")
        label = "Remove these items" if draft else "Retire these items"
        pressed, named = state.form_button(label, f"{key}-stored"), tuple(lines_of(ids))
    return Parts(retire=named) if pressed and named else None
