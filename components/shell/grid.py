"""A page of ratings in an AgGrid. Filtering and sorting apply to all rows, so the grid itself offers neither."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st
from st_aggrid import AgGrid

HEIGHT = 560
# shown behind the grid's frame, which is transparent until the grid has loaded
LOADING = """<style>
.st-key-ratings-grid { position: relative; }
.st-key-ratings-grid::before { content: "Loading the ratings …"; position: absolute; padding: 0.5rem; }
.st-key-ratings-grid > * { position: relative; }
</style>"""
WIDTHS = {"Criterion": 190, "Explanation": 320, "Reasons": 160, "Submitted (UTC)": 180, "Response": 105, "Value": 130}


def ratings_grid(rows: pd.DataFrame, key: str) -> dict[str, Any] | None:
    """The row that was clicked. All cells are text, so nothing in them is run or loaded."""
    columns = [{"field": name, "width": WIDTHS.get(name, 125), "tooltipField": name} for name in rows.columns]
    options = {
        "columnDefs": columns,
        "defaultColDef": {"sortable": False, "filter": False, "resizable": True, "editable": False},
        "rowSelection": {"mode": "singleRow", "checkboxes": False, "enableClickSelection": True},
        "enableCellTextSelection": True,
        "tooltipShowDelay": 600,
    }
    st.html(LOADING)
    with st.container(key="ratings-grid"):
        answer = AgGrid(
            rows,
            gridOptions=options,
            height=HEIGHT,
            key=key,
            update_on=["selectionChanged"],
            allow_unsafe_jscode=False,
            show_toolbar=False,
            server_sync_strategy="server_wins",
        )
    chosen = answer.selected_rows
    return None if chosen is None or not len(chosen) else dict(chosen.iloc[0])
