"""The items of a design: the list, adding items from a file, retiring items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from components.study.import_preview import import_preview
from components.study.settings_form import DesignRequest, finish, is_draft, lines_of, reason_for, save_label
from components.study.study_form import choose_file
from triptych.rubric.model import Rubric
from triptych.stats.numbers import counted
from triptych.storage.models import Study
from triptych.study import lifecycle
from triptych.study.design import ItemLine, Parts

ADD, REPLACE = "Add to the present items", "Replace all items"


def item_table(lines: Sequence[ItemLine], total: int) -> None:
    """The first items as a table, and how many there are."""
    if not lines:
        st.info("This study has no items yet. Upload a file of items below.")
        return
    kinds = Counter(line.purpose for line in lines)
    checks = [f"{kinds[name]} {name}" for name in ("gold", "attention") if kinds[name]]
    st.text(
        ", ".join([f"{counted(total, 'item')} to rate", *checks])
        + (f"; the first {len(lines)}:" if total > len(lines) else "")
    )
    table = pd.DataFrame(
        {
            "Item": [line.external_id for line in lines],
            "Beginning": [line.begins for line in lines],
            "Responses": [line.candidates for line in lines],
            "Annotators": [line.raters if line.purpose == "main" else None for line in lines],
            "Use": [line.purpose for line in lines],
            "Retired because": [line.retired or "" for line in lines],
        }
    )
    if not any(line.begins for line in lines):
        table = table.drop(columns="Beginning")
    if not any(line.retired is not None for line in lines):
        table = table.drop(columns="Retired because")
    st.dataframe(table, hide_index=True, height=min(320, 40 + 35 * len(table)), key="items")


def more_items(study: Study, rubric: Rubric) -> DesignRequest | None:
    """A file of items, shown before anything is stored."""
    key = f"items-{study.slug}-{study.event_number if is_draft(study) else study.design_hash}"
    file = choose_file(rubric, key)
    if file is None:
        return None
    import_preview(file, lifecycle.misfits(rubric, file))
    if not file.ok:
        return None
    ways = [ADD, REPLACE] if is_draft(study) and study.item_count else [ADD]
    way = st.radio("What to do with this file", ways, key=f"{key}-what") if len(ways) > 1 else ADD
    reason = reason_for(study, key)
    if not st.button(save_label(study), type="primary", key=f"{key}-keep"):
        return None
    return DesignRequest(Parts(items=file, replace_items=way == REPLACE), reason)


def retired_items(study: Study) -> DesignRequest | None:
    """Ids of items to retire, or to remove from a draft."""
    key = f"retire-{study.slug}-{study.event_number if is_draft(study) else study.design_hash}"
    with st.form(key, border=False):
        st.text(
            "The items are removed from this draft."
            if is_draft(study)
            else "Nobody gets these items any more. Their ratings stay in the results."
        )
        ids = st.text_area("Ids of the items, one per line", height=110, key=f"{key}-ids")
        named = tuple(lines_of(ids))
        request = finish(study, key, Parts(retire=named))
    return request if named else None
