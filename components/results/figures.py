"""Figures of comparisons and of agreement: differences with two intervals, win matrices, maps, coefficients."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from components.results.charts import axis_title, dots, frame, plain_label, short
from components.shell.words import signed
from triptych.results.disagreement import Distances
from triptych.rubric import palette
from triptych.simulate.planner import Chances
from triptych.stats.analysis.contrasts import Contrast
from triptych.stats.analysis.systems import Agreement
from triptych.stats.coefficients import BANDS
from triptych.stats.intervals import Interval
from triptych.stats.pairs import AnnotatorPair
from triptych.stats.undefined import Undefined

# values of the darkest cells: a distance of half the scale; a highlight in every reading
FAR_APART, EVERY_READING = 50, 100
MOST_CELLS = 40


def forest(contrasts: Sequence[Contrast], names: dict[int, str], widest: float) -> go.Figure:
    """A row per pair of systems: the mean difference, with the interval for these annotators (thick) and for annotators
    like these.

    `widest` is the largest possible difference; intervals are cut there.
    """
    defined = [(c, c.difference) for c in contrasts if not isinstance(c.difference, Undefined)]
    rows = [pair_label(contrast, names) for contrast, _ in defined]
    share = defined[0][0].share
    scale = 100 if share else 1
    figure = go.Figure()
    thin = [difference.alike for _, difference in defined]
    thick = [difference.these for _, difference in defined]
    figure.add_scatter(**_limits(thin, rows, scale, "Annotators like these", palette.ALIKE, 2))
    figure.add_scatter(**_limits(thick, rows, scale, "These annotators", palette.THESE, 6))
    figure.add_scatter(
        x=[scale * difference.mean for _, difference in defined],
        y=rows,
        mode="markers",
        marker={"size": 10, "color": palette.THESE},
        showlegend=False,
        text=[signed(difference.mean, share) for _, difference in defined],
        hovertemplate="%{y}: %{text}<extra></extra>",
    )
    frame(figure, rows)
    figure.add_vline(x=0, line_width=1, line_color=palette.AXIS)
    figure.update_xaxes(range=_range([*thin, *thick], scale, widest))
    unit = "% points" if share else "Points"  # short, for phones
    figure.update_xaxes(title=axis_title(f"{unit}; right: the first is higher"))
    return figure


def _range(intervals: list[Interval], scale: int, widest: float) -> list[float]:
    """From the lowest to the highest limit, cut at the scale's largest difference, including 0 and a margin."""
    ends = [
        scale * end for interval in intervals for end in (interval.low, interval.high, interval.mean) if end is not None
    ]
    low, high = max(min(0.0, *ends), -scale * widest), min(max(0.0, *ends), scale * widest)
    room = 0.06 * (high - low) or 1.0
    return [low - room, high + room]


def pair_label(contrast: Contrast, names: dict[int, str]) -> str:
    return f"{_short(names, contrast.system)} − {_short(names, contrast.baseline)}"


def _short(names: dict[int, str], system: int) -> str:
    return short(names.get(system, str(system)), str(system), 18)


def _limits(intervals: list[Interval], rows: list[str], scale: int, name: str, colour: str, width: int) -> dict:
    """Intervals as lines with gaps between them, so that the legend has a single entry."""
    x, y = [], []
    for interval, row in zip(intervals, rows, strict=True):
        if interval.low is not None and interval.high is not None:
            x += [scale * interval.low, scale * interval.high, None]
            y += [row, row, None]
    line = {"color": colour, "width": width}
    return {"x": x, "y": y, "mode": "lines", "line": line, "name": name, "hoverinfo": "skip", "showlegend": bool(x)}


def wins(contrasts: Sequence[Contrast], names: dict[int, str]) -> go.Figure:
    """How often the row's system was rated higher than the column's, in pairs rated by the same annotator."""
    codes = sorted({code for pair in contrasts for code in (pair.system, pair.baseline)})
    labels = [_short(names, code) for code in codes]
    share = np.full((len(codes), len(codes)), np.nan)
    for contrast in contrasts:
        if isinstance(contrast.dominance, Undefined):
            continue
        n = contrast.dominance.wins + contrast.dominance.ties + contrast.dominance.losses
        row, column = codes.index(contrast.system), codes.index(contrast.baseline)
        share[row, column], share[column, row] = contrast.dominance.wins / n, contrast.dominance.losses / n
    figure = _map(100 * share, labels, labels, "%{y} higher than %{x}: %{z:.0f} %<extra></extra>", 100)
    figure.update_xaxes(title=axis_title("was rated lower, % of pairs"), side="bottom")
    return figure


def distances(rows: Sequence[Distances], titles: dict[str, str]) -> go.Figure:
    """Annotators or items (rows) × criteria: the distance of an annotator from the others, or between an item's."""
    table = np.array([[row.criteria.get(key, np.nan) for key in titles] for row in rows], dtype=float)
    columns = [short(title, str(n), 28) for n, title in enumerate(titles.values(), 1)]
    labels = [short(row.name, str(n), 24) for n, row in enumerate(rows, 1)]
    return _map(100 * table, columns, labels, "%{y}, %{x}: %{z:.0f} % of the scale<extra></extra>", FAR_APART)


def pairs(pairs_of: Sequence[AnnotatorPair], together: Sequence[str] = ()) -> go.Figure:
    """Annotators × annotators: how often two gave the same rating. `together`: their order, with groups in a row."""
    rated = {str(name) for pair in pairs_of for name in (pair.first, pair.second)}
    people = ([name for name in together if name in rated] or sorted(rated))[:MOST_CELLS]
    place = {name: n for n, name in enumerate(people)}
    table = np.full((len(people), len(people)), np.nan)
    for pair in pairs_of:
        first, second = str(pair.first), str(pair.second)
        if first in place and second in place:
            row, column = place[first], place[second]
            table[row, column] = table[column, row] = 100 * pair.percent
    labels = [plain_label(name) for name in people]
    return _map(table, labels, labels, "%{y} and %{x}: same rating %{z:.0f} %<extra></extra>", 100)


def _map(table: np.ndarray, columns: list[str], rows: list[str], hover: str, highest: float) -> go.Figure:
    """Cells from light to dark with their number; undefined cells are empty."""
    # reversed here and not by the axis: Plotly chooses a number's colour by the cell that was in its row before
    table, rows = table[::-1], rows[::-1]
    text = [["" if cell != cell else f"{cell:.0f}" for cell in row] for row in table]
    figure = go.Figure(
        go.Heatmap(
            z=[[None if cell != cell else cell for cell in row] for row in table],
            x=columns,
            y=rows,
            text=text,
            texttemplate="%{text}" if max(table.shape) <= 15 or table.shape[1] <= 8 else "",
            colorscale=palette.SHADES,
            zmin=0,
            zmax=highest,
            xgap=2,
            ygap=2,
            hovertemplate=hover,
            showscale=False,
        )
    )
    frame(figure, rows[::-1])
    figure.update_layout(height=110 + 26 * max(len(rows), 3))
    figure.update_xaxes(showgrid=False, type="category", automargin=True)
    figure.update_yaxes(showgrid=False, type="category", categoryorder="trace")
    return figure


def chances(chance: Chances) -> go.Figure:
    """Annotators × items: the probability that a plan shows its difference."""
    people, items = (
        [f"{count} {what}" for count in counts]
        for counts, what in ((chance.annotators, "annotators"), (chance.items, "items"))
    )
    return _map(100 * chance.shares, items, people, "%{y}, %{x}: %{z:.0f} %<extra></extra>", 100)


def alphas(agreements: Sequence[Agreement], titles: dict[str, str]) -> go.Figure:
    """Krippendorff's alpha of each criterion with its interval, and the bands from 0.667 and 0.800."""
    defined = [(a, a.alpha) for a in agreements if not isinstance(a.alpha, Undefined)]
    rows = [short(titles[agreement.criterion], agreement.criterion, 30) for agreement, _ in defined]
    limits = [
        (alpha, alpha, alpha) if isinstance(agreement.interval, Undefined) else (alpha, *agreement.interval)
        for agreement, alpha in defined
    ]
    figure = go.Figure(dots(rows, limits, [f"{alpha:.2f}" for alpha, _, _ in limits]))
    frame(figure, rows)
    lowest = min([0.0, *(low - 0.05 for _, low, _ in limits)])
    for band in BANDS:  # they overlap, so the range above both is darker
        figure.add_vrect(x0=band, x1=1.02, fillcolor=palette.BAND, line_width=0, layer="below")
    # as many ticks as fit: on a phone, five to a point would be set upright
    figure.update_xaxes(range=[lowest, 1.02], title=axis_title("Alpha (grey from 0.667)"))
    return figure


def highlights(rates: pd.DataFrame, titles: dict[str, str], names: dict[int, str], what: str) -> go.Figure:
    """Highlights per 100 readings, labels (rows) × systems (columns). `what` was read: a response or a turn."""
    columns = [_short(names, code) for code in rates.columns]
    rows = [short(titles.get(label, label), label, 30) for label in rates.index]
    return _map(
        rates.to_numpy(dtype=float),
        columns,
        rows,
        f"%{{y}}, %{{x}}: %{{z:.0f}} per 100 {what}<extra></extra>",
        EVERY_READING,
    )
