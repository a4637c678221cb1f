"""Texts with all annotators' highlights, read only. Data becomes text nodes and attributes, never markup."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from components.results.findings import ratings_link
from components.shell import state
from components.workbench import from_assets
from triptych.results.frame.highlights import HighlightedItem, highlights_of_item
from triptych.results.frame.table import Filters
from triptych.results.study_analysis import StudyAnalysis
from triptych.rubric import palette
from triptych.storage.models import Study

CSS = (Path(__file__).parent / "marked.css").read_text(encoding="utf-8")
STYLE = f".tm {{ {palette.label_variables(palette.LABELS)} }}\n{CSS}"
_mount = st.components.v2.component(
    "triptych.marked", js=from_assets("workbench/texts/marked.js"), css=STYLE, isolate_styles=False
)


def pick_item(rows: pd.DataFrame, key: str, **shape: Any) -> str | None:
    """A table with a column Item; returns the item that the reader selects."""
    picked = st.dataframe(rows, hide_index=True, key=key, on_select="rerun", selection_mode="single-row", **shape)
    at = picked.selection.rows
    return rows["Item"].iloc[at[0]] if at and at[0] < len(rows) else None


def marked_item(item: HighlightedItem, key: str) -> None:
    """Draw the item's context and responses; a highlight's tooltip shows who made it and why."""
    # Streamlit refuses keys with `__`, which an item's id may contain
    _mount(data=drawn(item), key=key.replace("_", "-"))


def drawn(item: HighlightedItem) -> dict[str, object]:
    """The item as the browser receives it."""
    return {
        "labels": [{"key": label.key, "title": label.title} for label in item.labels],
        "context": list(map(asdict, item.context)),
        "candidates": [
            {"title": candidate.system, "passages": list(map(asdict, candidate.passages))}
            for candidate in item.candidates
        ],
    }


def item(analysis: StudyAnalysis, study: Study, chosen: str | None, where: str) -> None:
    """The selected item as its annotators saw it, with all highlights. `where` names the table."""
    if chosen is None:
        return
    highlighted = state.read(highlights_of_item, study, chosen, analysis.scope)
    marked_item(highlighted, key=f"marked-{where}-{study.slug}-{chosen}")
    ratings_link(f"Ratings of {chosen}", Filters(item=chosen), analysis, study.slug)
    if highlighted.unaligned:
        st.caption(f"{highlighted.unaligned} imported quotes are not in the text and are not shown.")
