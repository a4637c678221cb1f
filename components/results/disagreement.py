"""Who disagrees, and where: maps of annotators by criterion and of items by criterion, and the items to read first."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from components.results import charts, figures
from components.results.marked import pick_item
from components.shell.words import NONE, percent
from triptych.results.study_analysis import StudyAnalysis

MAX_LISTED, MOST_DRAWN = 200, 15
ALL_AGREE = "Wherever two annotators rated the same, they gave the same rating."
NOTHING = "No response has been rated by two annotators yet."


def people(analysis: StudyAnalysis, slug: str) -> None:
    """The distance of each annotator from the others, by criterion."""
    disagreement, titles = analysis.disagreement, analysis.titles
    if not disagreement.annotators:
        st.text(NOTHING)
        return
    far = disagreement.annotators[0]
    worst = max(far.criteria, key=far.criteria.__getitem__)
    sentence = (
        f"{far.name} is farthest from the others, most of all on {analysis.title(worst)} "
        f"({percent(far.criteria[worst])} of the scale)."
        if round(far.criteria[worst], 9)
        else ALL_AGREE
    )
    st.text(sentence)
    figure = figures.distances(disagreement.annotators[: figures.MOST_CELLS], titles)
    charts.show(figure, "distances", f"{slug}-annotators", sentence)
    with st.expander("Numbers", key="numbers-distances"):
        rows = [
            {"Annotator": a.name, "Ratings": a.n, **_by_criterion(a.criteria, titles)} for a in disagreement.annotators
        ]
        st.dataframe(pd.DataFrame(rows), hide_index=True, key="distances-table")
        st.caption(
            "Distance of a rating from the mean of the others, as a share of the scale; of options, the share of the "
            "others who chose another one."
        )


def items(analysis: StudyAnalysis, slug: str) -> str | None:
    """The items with the most disagreement; returns the item that the reader selects."""
    disagreement, titles = analysis.disagreement, analysis.titles
    if not disagreement.items:
        return None
    first = disagreement.items[0]
    sentence = (
        f"Annotators are farthest apart on {first.name}. Pick an item to read it."
        if round(first.score, 9)
        else ALL_AGREE
    )
    st.text(sentence)
    charts.show(figures.distances(disagreement.items[:MOST_DRAWN], titles), "items", f"{slug}-items", sentence)
    rows = [
        {"Item": i.name, "Distance": percent(i.score), "Ratings": i.n, **_by_criterion(i.criteria, titles)}
        for i in disagreement.items[:MAX_LISTED]
    ]
    picked = pick_item(pd.DataFrame(rows), f"items-{slug}", height=260)
    count = len(disagreement.items)
    cut = f" The first {MAX_LISTED} of {count:,} are listed." if count > MAX_LISTED else ""
    st.caption(f"Mean distance of two annotators, as a share of the scale.{cut}")
    return picked


def _by_criterion(parts: dict[str, float], titles: dict[str, str]) -> dict[str, str]:
    return {title: percent(parts[key]) if key in parts else NONE for key, title in titles.items()}
