"""Figures of the results: means with intervals, distributions, shares. Colours are in `triptych/rubric/palette.py`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from components.shell.state import recall
from triptych.results.criterion import CriterionResult, spoken
from triptych.results.study_analysis import StudyAnalysis
from triptych.rubric import palette
from triptych.rubric.scales import Choice, Likert, as_typed
from triptych.stats.analysis.systems import SystemResult
from triptych.stats.intervals import Interval
from triptych.stats.undefined import Undefined

ROW, FRAME = 44, 84
MIN_TEXT_PIXELS = 11  # of a number on a bar
NARROW = 0.07
PARTS = 5  # into which the range of a fine scale is divided
LONGEST_NAME = 32
PICTURE = "picture"  # session key of the format
Made = TypeVar("Made")
MODEBAR = {"bgcolor": "rgba(0,0,0,0)", "color": palette.BUTTONS, "activecolor": palette.BUTTONS}
_made: WeakKeyDictionary[StudyAnalysis, dict[str, Any]] = WeakKeyDictionary()


def show(figure: go.Figure, key: str, name: str, alt: str) -> None:
    """Draw a figure that can be saved as `name`, in the image format chosen on the page."""
    saving = {"format": recall(PICTURE, "SVG").lower(), "filename": name, "scale": 2}
    config = {
        "displaylogo": False,
        "displayModeBar": True,  # otherwise it appears only when the pointer is on the figure
        "toImageButtonOptions": saving,
        "modeBarButtons": [["toImage"]],
        "scrollZoom": False,
    }
    st.plotly_chart(figure, key=key, config=config, alt=alt)


def data(table: pd.DataFrame) -> None:
    """The numbers of a figure as a table.

    Sent with the page: a popover that asks for a run when it closes swallows the click on a link that closes it.
    """
    with st.popover("Data", icon=":material/table:"):
        st.dataframe(table, hide_index=True, width="content")


def made_once(analysis: StudyAnalysis, key: str, make: Callable[[], Made]) -> Made:
    """What `make` returns, cached for this analysis: building figures takes longer than the rest of the page."""
    parts: dict[str, Made] = _made.setdefault(analysis, {})
    if key not in parts:
        parts[key] = make()
    return parts[key]


def choose_picture() -> None:
    """The format in which the button of each figure saves it: a drawing for papers or pixels for slides."""
    st.segmented_control("Figures are saved as", ["SVG", "PNG"], default="SVG", required=True, key=PICTURE)


def means(result: CriterionResult, names: dict[int, str]) -> go.Figure | None:
    """One dot per system with its 95 % interval on the whole scale; None if no system has a mean."""
    intervals = [(system, system.interval) for system in result.systems if isinstance(system.interval, Interval)]
    if not intervals:
        return None
    scale = 100 if result.share else 1
    rows = [_name(system, names) for system, _ in intervals]
    hover = [f"{spoken(interval, result.share)}, n = {system.n}" for system, interval in intervals]
    figure = go.Figure(dots(rows, [ends_of(interval, scale) for _, interval in intervals], hover))
    frame(figure, [_name(system, names) for system in result.systems])
    ticks = [point for point in result.points if point == round(point)] or None
    figure.update_xaxes(range=whole_scale(result), title=title_of_means(result), showgrid=True, tickvals=ticks)
    return figure


def title_of_means(result: CriterionResult) -> dict[str, object]:
    return axis_title(f"{result.counts_as}, % of answers" if result.share else "Mean and 95 % interval")


def whole_scale(result: CriterionResult) -> tuple[float, float]:
    """The range of an axis for the criterion, from end to end with a margin; of shares in percent."""
    low, high = ((100 if result.share else 1) * end for end in result.ends)
    room = (high - low) * 0.04
    return low - room, high + room


def ends_of(interval: Interval, scale: int) -> tuple[float, float, float]:
    low, high = (interval.mean if end is None else end for end in (interval.low, interval.high))
    return scale * interval.mean, scale * low, scale * high


def dots(rows: list[str], intervals: Sequence[tuple[float, float, float]], hover: list[str]) -> go.Scatter:
    """One dot per row with its interval. `intervals`: (value, low, high), all equal without an interval."""
    return go.Scatter(
        x=[value for value, _, _ in intervals],
        y=rows,
        mode="markers",
        marker={"size": 11, "color": palette.THESE},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [high - value for value, _, high in intervals],
            "arrayminus": [value - low for value, low, _ in intervals],
            "color": palette.THESE,
            "thickness": 2,
            "width": 5,
        },
        text=hover,
        hovertemplate="%{y}: %{text}<extra></extra>",
    )


def answers(result: CriterionResult, names: dict[int, str]) -> go.Figure | None:
    """The distribution of answers: bars diverging from the scale's middle, or shares of options; None if fine."""
    if isinstance(result.criterion.scale, Choice):
        return _option_bars(result, result.criterion.scale, names)
    return _diverging_bars(result, names) if result.points else None


def answers_in_parts(result: CriterionResult, numbers: Mapping[int, np.ndarray], names: dict[int, str]) -> go.Figure:
    """The distribution of answers on a fine scale, in equal parts. `numbers`: system → answers (n,), NaN for missing
    ones.
    """
    low_end, high_end = result.ends
    decimals = max(9, 9 - math.floor(math.log10(high_end - low_end)))  # as answers are, so that 0.6 is the edge at 0.6
    edges = np.round(np.linspace(low_end, high_end, PARTS + 1), decimals)
    pieces = [
        (f"{as_typed(low)} to {as_typed(high)}", palette.along_scale(place / (PARTS - 1)), "")
        for place, (low, high) in enumerate(pairwise(edges.tolist()))
    ]
    counts = {system.system: np.histogram(numbers[system.system], edges)[0].tolist() for system in result.systems}
    rows = [(_name(system, names), counts[system.system]) for system in result.systems if sum(counts[system.system])]
    return _about_the_middle(result, rows, pieces, names, "Share of answers per part of the scale")


def _diverging_bars(result: CriterionResult, names: dict[int, str]) -> go.Figure:
    """Points below the middle to the left, points above it to the right, and a middle point, if any, across it."""
    last = len(result.points) - 1
    pieces = [
        (title, palette.along_scale(place / last), as_typed(point))
        for place, (point, title) in enumerate(_point_titles(result))
    ]
    rows = [(_name(system, names), list(system.counts)) for system in result.systems if sum(system.counts)]
    return _about_the_middle(result, rows, pieces, names, "Share of answers per point")


def _about_the_middle(
    result: CriterionResult,
    rows: list[tuple[str, list[int]]],
    pieces: list[tuple[str, str, str]],
    names: dict[int, str],
    title: str,
) -> go.Figure:
    figure = _stacks(rows, pieces, lambda widths: -_left_of_middle(widths))
    frame(figure, [_name(system, names) for system in result.systems])
    figure.add_vline(x=0, line_width=1, line_color=palette.AXIS)
    figure.update_xaxes(showticklabels=False, showgrid=False, zeroline=False, title=axis_title(title))
    return figure


def _left_of_middle(row: list[float]) -> float:
    half = len(row) // 2
    return sum(row[:half]) + (row[half] / 2 if len(row) % 2 else 0)


def _point_titles(result: CriterionResult) -> list[tuple[float, str]]:
    """Short names for the legend; with more than three points only the first and last have titles."""
    scale = result.criterion.scale
    if not isinstance(scale, Likert):
        return [(point, as_typed(point)) for point in result.points]
    last = len(scale.points) - 1
    ends = {0, last} if last > 2 else {*range(last + 1)}
    return [
        (point.value, f"{as_typed(point.value)} {plain_label(point.title[:24]) if n in ends else ''}".strip())
        for n, point in enumerate(scale.points)
    ]


def _option_bars(result: CriterionResult, scale: Choice, names: dict[int, str]) -> go.Figure:
    """Shares of the options among answers that are not missing."""
    colours = palette.of_options([option.positive for option in scale.options])
    places = [place for place, option in enumerate(scale.options) if not option.missing]
    pieces = [(plain_label(scale.options[place].title[:40]), colours[place], "") for place in places]
    rows = [
        (_name(system, names), [system.shares[place].count for place in places])
        for system in result.systems
        if not isinstance(system.shares, Undefined)
    ]
    figure = _stacks(rows, pieces, lambda _: 0.0)
    frame(figure, [_name(system, names) for system in result.systems])
    # a little beyond 100: Plotly leaves out a number that would be cut off
    ticks = {"range": [0, 102], "tickvals": [0, 25, 50, 75, 100]}
    figure.update_xaxes(**ticks, showgrid=False, title=axis_title("Share of answers, %"))
    return figure


def _stacks(
    rows: list[tuple[str, list[int]]], pieces: list[tuple[str, str, str]], start: Callable[[list[float]], float]
) -> go.Figure:
    """One bar per row, with a piece for each point or option.

    rows: name and counts. pieces: title, colour, and the text shown on it instead of its share. start: where a bar with
    pieces of these widths begins.
    """
    figure = go.Figure()
    widths = [[100 * count / (sum(counts) or 1) for count in counts] for _, counts in rows]
    starts = [start(row) for row in widths]
    for place, (title, colour, written) in enumerate(pieces):
        part = [row[place] for row in widths]
        figure.add_bar(
            name=title,
            x=part,
            y=[name for name, _ in rows],
            base=starts,
            orientation="h",
            marker={"color": colour, "line": {"width": 0}},
            text=[written or (f"{width:.0f} %" if width >= 100 * NARROW else "") for width in part],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            customdata=[(counts[place], width) for (_, counts), width in zip(rows, part, strict=True)],
            hovertemplate="%{y}: %{fullData.name}, %{customdata[0]} (%{customdata[1]:.0f} %)<extra></extra>",
        )
        starts = [begin + width for begin, width in zip(starts, part, strict=True)]
    # otherwise Plotly shrinks a text to the width of its piece, on a phone to a speck
    figure.update_layout(uniformtext={"minsize": MIN_TEXT_PIXELS, "mode": "hide"})
    return figure


def frame(figure: go.Figure, order: list[str]) -> None:
    """Apply the layout of all figures; `order` is the rows from top to bottom."""
    figure.update_layout(
        barmode="overlay",
        bargap=0.35,
        height=FRAME + 36 + ROW * len(order),
        margin={"l": 8, "r": 8, "t": 28, "b": 8},  # at the top, room for the button that saves the figure
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0, "traceorder": "normal", "title": None},
        dragmode=False,
        modebar=MODEBAR,
    )
    figure.update_yaxes(categoryorder="array", categoryarray=order[::-1], automargin=True, fixedrange=True, title=None)
    figure.update_xaxes(fixedrange=True)


def axis_title(text: str) -> dict[str, object]:
    return {"text": plain_label(text), "standoff": 6, "font": {"size": 12}}


def _name(system: SystemResult, names: dict[int, str]) -> str:
    return short(names.get(system.system, "Item"), str(system.system), LONGEST_NAME)


def short(name: str, mark: str, longest: int) -> str:
    """A label shortened to `longest` characters, escaped for Plotly."""
    return plain_label(cut(name, mark, longest))


def cut(name: str, mark: str, longest: int) -> str:
    """A shortened name that ends in a mark, since Plotly would draw equal names as one row."""
    return name if len(name) <= longest else f"{name[: longest - len(mark) - 3]}… {mark}"


def plain_label(text: str) -> str:
    """A name escaped for Plotly, which interprets some HTML in every text."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
