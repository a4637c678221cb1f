"""One criterion on subsets of the items, by any field of the items file."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from components.results import charts
from components.shell.choices import choose
from triptych.results.criterion import CriterionResult, spoken
from triptych.results.first_screen.ranking import pictured
from triptych.results.first_screen.slices import Slice, slices
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.verdicts import caution, summary
from triptych.stats.intervals import Interval
from triptych.stats.numbers import counted

ESTIMATES = "Estimates only: this field was not declared before launch, so nothing is tested on its values."
MOST_DRAWN = 8


def slices_section(analysis: StudyAnalysis, slug: str) -> None:
    """Estimates with intervals and counts for every value; verdicts only for a field declared before launch."""
    fields, shown = analysis.frame.fields, {result.criterion.key: result for result in pictured(analysis)}
    if not fields or not shown:
        st.text("The items file has no field that distinguishes items, so there is nothing to slice by.")
        return
    left, right = st.columns(2)
    field = choose("Field of the items", {name: name for name in fields}, f"slice-field-{slug}", place=left)
    titles = {key: result.criterion.title for key, result in shown.items()}
    key = choose("Criterion", titles, f"slice-criterion-{slug}", place=right)
    parts = slices(analysis, key, field)
    declared = field in analysis.frame.settings.preregistration.slices
    st.text("\n".join(_verdict(analysis, part) for part in parts) if declared else ESTIMATES)
    if len(parts) <= MOST_DRAWN:
        alt = f"{titles[key]} by {field}: mean and 95 % interval of each system; the table has the numbers."
        charts.show(_figure(analysis, shown[key], parts), f"slices-{field}-{key}", f"{slug}-{key}-{field}", alt)
    share = shown[key].share
    rows = [
        {
            "Value": part.value,
            "Items": part.items,
            "System": analysis.name(system.system),
            "Ratings": system.n,
            "Mean or share (95 % interval)": spoken(system.interval, share)
            if isinstance(system.interval, Interval)
            else system.interval.reason,
        }
        for part in parts
        for system in part.systems
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True, key=f"slices-table-{field}-{key}")


def _verdict(analysis: StudyAnalysis, part: Slice) -> str:
    is_tested = any(contrast.is_tested for contrast in part.contrasts)
    words = summary(analysis, part.contrasts) if is_tested or analysis.untested else "Not compared"
    return f"{part.value} ({counted(part.items, 'item')}): {words}. {caution(part.contrasts)}".rstrip()


def _figure(analysis: StudyAnalysis, result: CriterionResult, parts: Sequence[Slice]) -> go.Figure:
    """One row per system and value, with a system's rows together, on the whole scale."""
    drawn = [
        (
            f"{charts.short(analysis.name(system.system), str(system.system), 20)}, {charts.short(part.value, '', 16)}",
            of,
        )
        for place in range(len(analysis.systems))
        for part in parts
        if isinstance(of := (system := part.systems[place]).interval, Interval)
    ]
    scale = 100 if result.share else 1
    rows = [name for name, _ in drawn]
    intervals = [charts.ends_of(of, scale) for _, of in drawn]
    figure = go.Figure(charts.dots(rows, intervals, [spoken(of, result.share) for _, of in drawn]))
    charts.frame(figure, rows)
    figure.update_layout(height=charts.FRAME + 18 + 24 * len(rows))  # 18 px for the title of the axis
    title = charts.title_of_means(result)
    figure.update_xaxes(range=charts.whole_scale(result), title=title, showgrid=True, zeroline=False)
    figure.update_traces(marker_size=9)
    return figure
