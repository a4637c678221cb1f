"""The first picture of the results: all systems and criteria, with intervals, each on its whole scale."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from components.results.charts import MODEBAR, cut, dots, ends_of, plain_label
from components.shell.words import NONE
from triptych.results.criterion import CriterionResult, spoken, spoken_number
from triptych.results.study_analysis import StudyAnalysis
from triptych.rubric import palette
from triptych.stats.intervals import Interval

ROW, LOW_ROW, TITLE, AXIS = 22, 19, 26, 22  # px
MANY_ROWS = 14  # from this number on, rows are lower
TALLEST = 465  # px; criteria that would be taller below each other are drawn side by side
LONGEST_NAME = 26
LETTERS_ACROSS = 90  # limit for titles side by side


def picture(analysis: StudyAnalysis, shown: Sequence[CriterionResult], order: Sequence[int]) -> tuple[go.Figure, bool]:
    """Systems as rows and criteria as charts, and whether these are side by side, since below each other they would be
    too tall. Then a phone scrolls sideways.

    shown: from the first to the last criterion for which a system has an interval. order: systems from top to bottom.
    """
    rows = [plain_label(row_name(analysis, code)) for code in order]
    common = len({(result.ends, result.share) for result in shown}) == 1
    below = len(shown) * (len(order) * ROW + TITLE + (0 if common else AXIS))
    if below <= TALLEST:
        return _below_each_other(shown, order, rows, common, below), False
    return _side_by_side(shown, order, rows), True


def row_name(analysis: StudyAnalysis, code: int) -> str:
    """The system's name; a long one is cut and ends in the system's number."""
    return cut(analysis.name(code), str(code), LONGEST_NAME)


def _below_each_other(
    shown: Sequence[CriterionResult], order: Sequence[int], rows: list[str], common: bool, height: int
) -> go.Figure:
    height += AXIS + 8
    gap = (TITLE + (0 if common else AXIS)) / (height - TITLE - AXIS)
    figure = make_subplots(
        len(shown),
        1,
        shared_xaxes=common,
        vertical_spacing=gap if len(shown) > 1 else 0,
        subplot_titles=[plain_label(textwrap.shorten(result.criterion.title, 60, placeholder="…")) for result in shown],
    )
    for place, result in enumerate(shown, 1):
        _draw(figure, result, order, rows, place, 1)
    if common:
        figure.update_xaxes(showticklabels=True, row=len(shown), col=1)
    figure.update_annotations(x=0, xanchor="left", font={"size": 13})
    return _finished(figure, height, TITLE)


def _side_by_side(shown: Sequence[CriterionResult], order: Sequence[int], rows: list[str]) -> go.Figure:
    """The first criterion is twice as wide as the others."""
    across = max(LETTERS_ACROSS // (len(shown) + 1), 9)
    titles = [_wrapped(result.criterion.title, across * (1 if place else 2)) for place, result in enumerate(shown)]
    lines = max(title.count("<br>") for title in titles) + 1
    figure = make_subplots(
        1,
        len(shown),
        shared_yaxes=True,
        horizontal_spacing=0.12 / len(shown),
        column_widths=[2] + [1] * (len(shown) - 1),
        subplot_titles=titles,
    )
    for place, result in enumerate(shown, 1):
        _draw(figure, result, order, rows, 1, place)
    figure.update_annotations(font={"size": 12 if len(shown) <= 6 else 11})
    top = 17 * lines + 6
    row = ROW if len(rows) < MANY_ROWS else LOW_ROW
    return _finished(figure, len(rows) * row + AXIS + top + 8, top)


def _wrapped(title: str, across: int) -> str:
    lines = textwrap.wrap(title, across, max_lines=3, placeholder="…")
    return "<br>".join(map(plain_label, lines))


def _draw(
    figure: go.Figure, result: CriterionResult, order: Sequence[int], rows: list[str], row: int, column: int
) -> None:
    """The systems under one criterion, in a subplot whose axis covers the whole scale."""
    scale = 100 if result.share else 1
    intervals = {system.system: system.interval for system in result.systems}
    drawn = [
        (name, of) for name, code in zip(rows, order, strict=True) if isinstance(of := intervals.get(code), Interval)
    ]
    ends = [ends_of(of, scale) for _, of in drawn]
    marks = dots([name for name, _ in drawn], ends, [spoken(of, result.share) for _, of in drawn])
    marks.update(marker_size=9, error_x={"thickness": 2.5, "width": 0})
    figure.add_trace(marks, row=row, col=column)
    low, high = (scale * end for end in result.ends)
    room = (high - low) * 0.05
    ticks = _ticks(result, low, high)
    texts = [f"{tick:g} %" if result.share else f"{tick:g}" for tick in ticks]
    figure.update_xaxes(range=[low - room, high + room], tickvals=ticks, ticktext=texts, row=row, col=column)
    figure.update_yaxes(
        categoryorder="array", categoryarray=rows[::-1], range=[-0.6, len(rows) - 0.4], row=row, col=column
    )


def _ticks(result: CriterionResult, low: float, high: float) -> list[float]:
    """Whole points of a short scale, otherwise its ends and its middle."""
    points = [point for point in result.points if point == round(point)]
    return points if 1 < len(points) <= 7 else [low, (low + high) / 2, high]


def _finished(figure: go.Figure, height: int, top: int) -> go.Figure:
    figure.update_layout(
        height=height,
        showlegend=False,
        margin={"l": 4, "r": 14, "t": top, "b": AXIS},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        dragmode=False,
        modebar=MODEBAR,
    )
    figure.update_xaxes(fixedrange=True, showgrid=True, gridcolor=palette.GRID, zeroline=False, tickfont={"size": 11})
    figure.update_yaxes(
        fixedrange=True,
        showgrid=True,
        gridcolor=palette.GRID,
        automargin=True,
        title=None,
        type="category",
        tickfont={"size": 13},
    )
    return figure


def table(analysis: StudyAnalysis, shown: Sequence[CriterionResult], order: Sequence[int]) -> pd.DataFrame:
    """The numbers of the picture: one row per criterion and system, with n and the ends of the interval."""
    of = [(result, system) for result in shown for code in order for system in result.systems if system.system == code]
    rows = [
        {
            "Criterion": result.criterion.title,
            "System": analysis.name(system.system),
            "n": system.n,
            **dict(zip(("Mean or share", "Low", "High"), _numbers(system.interval, result.share), strict=True)),
        }
        for result, system in of
    ]
    return pd.DataFrame(rows)


def _numbers(interval: object, share: bool) -> list[str]:
    if not isinstance(interval, Interval):
        return [NONE] * 3
    return [NONE if end is None else spoken_number(end, share) for end in (interval.mean, interval.low, interval.high)]
