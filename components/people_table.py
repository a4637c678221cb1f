"""How far a study is, and who takes part in it, by pseudonym."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from components.words import duration, moment
from triptych.results import AnnotatorProgress, Overview

PROGRESS = st.column_config.ProgressColumn("Progress", format="%d %%", min_value=0, max_value=100)


def progress(view: Overview) -> None:
    """What is in of what is expected, and the time to go."""
    with st.container(horizontal=True):
        st.metric("Annotations", f"{view.done} of {view.expected}")
        st.metric("Items complete", f"{view.items_complete} of {view.items}")
        st.metric("Annotator time to go", duration(view.minutes_left))
        st.metric("Annotators", len(view.annotators))
    st.progress(min(view.done / view.expected, 1.0) if view.expected else 0.0)
    st.caption(f"Last annotation: {moment(view.last_at)}")


def people_table(rows: Sequence[AnnotatorProgress]) -> None:
    """One line per annotator: how far, how much longer, when last seen at work."""
    table = pd.DataFrame(
        {
            "Annotator": [row.pseudonym for row in rows],
            "Kind": [row.kind + (", excluded" if row.excluded else "") for row in rows],
            "Progress": [round(100 * row.done / row.total) if row.total else 0 for row in rows],
            "Done": [f"{row.done} of {row.total}" for row in rows],
            "Skipped": [row.skipped for row in rows],
            "Time left": [duration(row.minutes_left) for row in rows],
            "Last annotation": [moment(row.last_at) for row in rows],
        }
    )
    st.dataframe(table, hide_index=True, column_config={"Progress": PROGRESS}, key="people")
