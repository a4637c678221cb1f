"""Every rating in an AgGrid. What is filtered out never reaches the browser, so filters run in Python first."""

from __future__ import annotations

import pandas as pd
from st_aggrid import AgGrid

HEIGHT = 560
WIDTHS = {"Criterion": 190, "Explanation": 320, "Reasons": 160, "Submitted (UTC)": 180, "Response": 105, "Value": 130}


def ratings_grid(rows: pd.DataFrame, key: str) -> None:
    """A read-only grid; texts are text cells, so nothing in them is run or loaded."""
    columns = [{"field": name, "width": WIDTHS.get(name, 125), "tooltipField": name} for name in rows.columns]
    options = {
        "columnDefs": columns,
        "defaultColDef": {"sortable": True, "filter": True, "resizable": True, "editable": False},
        "enableCellTextSelection": True,
        "tooltipShowDelay": 600,
    }
    AgGrid(
        rows,
        gridOptions=options,
        height=HEIGHT,
        key=key,
        update_on=[],
        allow_unsafe_jscode=False,
        show_toolbar=False,
        server_sync_strategy="server_wins",
    )
