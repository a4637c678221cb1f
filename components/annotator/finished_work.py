"""What an annotator has done, as a table for them."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from triptych.annotate.own_items import OwnItem


def finished_work(items: Sequence[OwnItem]) -> None:
    """Draws nothing for somebody who has not begun."""
    if items:
        with st.expander(f"What I have done ({len(items)})"):
            st.dataframe(_work_table(items), hide_index=True, width="stretch")


def _work_table(items: Sequence[OwnItem]) -> pd.DataFrame:
    """The annotator's own items, newest first, with the numbers that the workbench shows."""
    rows = [
        {
            "Item": item.number,
            "State": f"{item.state}: {item.reason}" if item.reason else item.state,
            "Submitted": item.at,
            "Minutes": round(item.seconds / 60, 1),
        }
        for item in items
    ]
    return pd.DataFrame(rows[::-1])
