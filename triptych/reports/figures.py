"""Figures of a report drawn with matplotlib: differences and means with intervals, and answers; as SVG and PDF.

Each has a size for one column of a paper and one for the page's width. The same numbers give the same bytes.
"""

from __future__ import annotations

import io
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from xml.sax.saxutils import quoteattr

import matplotlib
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont
from matplotlib.ft2font import FT2Font
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from triptych.reports.html import PrintedFigure, readable
from triptych.results.criterion import CriterionResult, interval_note
from triptych.results.evidence import foremost
from triptych.rubric import palette
from triptych.rubric.scales import as_typed
from triptych.stats.analysis.contrasts import Contrast
from triptych.stats.analysis.systems import SystemResult
from triptych.stats.intervals import Interval
from triptych.stats.numbers import counted
from triptych.stats.undefined import Undefined

WIDTH_INCHES = {"column": 3.03, "page": 6.3}
FONT_POINTS = {"column": 7, "page": 8}
LINE_LETTERS = {"column": 20, "page": 26}  # of a name; twice as many for an answer in the legend
LONGEST_NAME = 60  # letters; a longer one is in the caption
LINE_INCHES, AXIS_INCHES = 0.16, 0.42
BELOW = 0.33  # of a row, so that one interval does not hide the other
MAX_PAIRS = 12
MAX_POINT_TICKS = 11
LABELLED_SHARE = 0.07  # of a bar; a smaller part has no room for its answer
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "++++", "oo", "||||", "----")

# text in an SVG is text, so that any letter of a name is printed where the reader has a font for it
# a file matplotlibrc in the folder where a command is typed could change what figures show, and run LaTeX
matplotlib.rcdefaults()
matplotlib.rc("font", family="sans-serif", **{"sans-serif": ["DejaVu Sans"]})
matplotlib.rc("text", parse_math=False)
matplotlib.rc("svg", fonttype="none", hashsalt="triptych")
matplotlib.rc("pdf", fonttype=42)
matplotlib.rc("axes", linewidth=0.6)
matplotlib.rc("axes.spines", top=False, right=False, left=False)
matplotlib.rc("xtick.major", width=0.6)
matplotlib.rc("hatch", linewidth=0.6)


@dataclass(frozen=True)
class Plot:
    """The content of a figure. labels: of its rows from top to bottom, a system or a pair of which the second is
    subtracted; draw: draws the rows at 0, 1, 2, …; legend: (answer, colour, hatch); name: of its files.
    """

    name: str
    caption: str
    labels: Sequence[tuple[str, ...]]
    draw: Callable[[Axes], None]
    legend: Sequence[tuple[str, str, str]] = ()


def figures_of(
    result: CriterionResult, contrasts: Sequence[Contrast], names: dict[int, str], seal: str
) -> Iterator[PrintedFigure]:
    """The figures of one criterion. seal: names the snapshot, in every file."""
    for plot in (differences(result, contrasts, names), means(result, names), answers(result, names)):
        if plot:
            yield _printed(in_font(plot), seal)


def in_font(plot: Plot) -> Plot:
    """The plot with numbers instead of names that are too long or contain letters missing from the font.

    Its caption explains the numbers.
    """
    letters = FT2Font(findfont(matplotlib.rcParams["font.sans-serif"][0])).get_charmap()
    names = dict.fromkeys([*chain.from_iterable(plot.labels), *(title for title, _, _ in plot.legend)])
    strange = [
        name
        for name in names
        if len(name) > LONGEST_NAME or any(ord(letter) not in letters for letter in readable(name))
    ]
    if not strange:
        return plot
    key = {name: f"[{n}]" for n, name in enumerate(strange, 1)}
    return replace(
        plot,
        caption=f"{plot.caption} {'; '.join(f'{sign} is {name}' for name, sign in key.items())}.",
        labels=[tuple(key.get(name, name) for name in label) for label in plot.labels],
        legend=[(key.get(title, title), colour, hatch) for title, colour, hatch in plot.legend],
    )


def means(result: CriterionResult, names: dict[int, str]) -> Plot | None:
    """One row per system: mean and 95 % interval on the whole scale; None if no system has a mean."""
    drawn = [(names.get(system.system, "The item"), system.interval) for system in result.systems]
    intervals = [(name, interval) for name, interval in drawn if isinstance(interval, Interval)]
    if not intervals:
        return None

    def draw(axes: Axes) -> None:
        for row, (_, interval) in enumerate(intervals):
            _draw_interval(axes, row, interval, palette.THESE, width=1.6)
            axes.plot(interval.mean, row, "o", color=palette.THESE, markersize=4)
        axes.set_xlim(*_padded(*result.ends))
        _mark_scale(axes, result)

    what = f"share of “{result.counts_as}”" if result.share and result.counts_as else "mean"
    caption = f"{result.criterion.title}: {what} per system. {_number_of(result)} {interval_note(result)}"
    return Plot(f"{result.criterion.key}-means", caption.strip(), [(name,) for name, _ in intervals], draw)


def differences(result: CriterionResult, contrasts: Sequence[Contrast], names: dict[int, str]) -> Plot | None:
    """One row per pair of systems: the mean difference with its intervals, for the clearest pairs; None without any.

    Intervals are cut at the largest difference that the scale allows.
    """
    estimates = [
        (contrast, contrast.difference)
        for contrast in foremost(contrasts, MAX_PAIRS)
        if not isinstance(contrast.difference, Undefined)
    ]
    if not estimates:
        return None
    thin = any(estimate.alike.low is not None for _, estimate in estimates)
    thick = any(estimate.these.low is not None for _, estimate in estimates)

    def draw(axes: Axes) -> None:
        axes.axvline(0, color="black", linewidth=0.6)
        for row, (_, estimate) in enumerate(estimates):
            _draw_interval(axes, row, estimate.these, palette.THESE, width=3.5)
            _draw_interval(axes, row + BELOW, estimate.alike, palette.ALIKE, width=1, caps=True)
            axes.plot(estimate.mean, row, "o", color="black", markeredgewidth=0, markersize=2.6)  # hides no interval
        intervals = [interval for _, estimate in estimates for interval in (estimate.these, estimate.alike)]
        axes.set_xlim(*_reach(intervals, result.variable.width))
        _mark_difference(axes, result.share)

    of_all = sum(not isinstance(contrast.difference, Undefined) for contrast in contrasts)
    caption = [
        f"{result.criterion.title}: differences of systems, the first minus the second; to the right of 0 the first is "
        f"higher.",
        f"The {len(estimates)} clearest of {of_all} pairs." if of_all > len(estimates) else "",
        _numbers_behind([estimate.n for _, estimate in estimates]),
        "Thick: 95 % interval for these annotators." if thick else "",
        "Thin: 95 % interval for annotators like these." if thin else "",
    ]
    labels = [(names[contrast.system], names[contrast.baseline]) for contrast, _ in estimates]
    return Plot(f"{result.criterion.key}-differences", " ".join(filter(None, caption)), labels, draw)


def answers(result: CriterionResult, names: dict[int, str]) -> Plot | None:
    """One bar per system, divided by the share of each answer; None if answers are not counted."""
    counts = [(names.get(system.system, "The item"), _counts_of(system)) for system in result.systems]
    rows = [(name, of_system) for name, of_system in counts if sum(of_system)]
    if not rows:
        return None
    legend = _legend(result)

    def draw(axes: Axes) -> None:
        for row, (_, of_system) in enumerate(rows):
            _draw_bar(axes, row, of_system, legend, bool(result.points))
        axes.set_xlim(0, 1)
        _mark_shares(axes)

    missing = ", with those that count as missing" * bool(result.missing and not result.points)
    caption = f"{result.criterion.title}: shares of the answers for each system{missing}, in the order of the legend."
    caption += f" n = {counted(sum(sum(of_system) for _, of_system in rows), 'answer')}."
    return Plot(f"{result.criterion.key}-answers", caption, [(name,) for name, _ in rows], draw, legend)


def _number_of(result: CriterionResult) -> str:
    """The numbers for a caption: n = 240 answers on 20 items by 6 annotators."""
    items, people = counted(result.items, "item"), counted(result.annotators, "annotator")
    what = "response" if result.variable.kind == "best" else "answer"
    return f"n = {counted(result.n, what)} on {items} by {people}."


def _numbers_behind(counts: Sequence[int]) -> str:
    fewest, most = min(counts), max(counts)
    shown = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
    return f"n = {shown} ratings of the two systems of a difference."


def _draw_interval(axes: Axes, row: float, interval: Interval, colour: str, width: float, caps: bool = False) -> None:
    if interval.low is None or interval.high is None:
        return
    axes.plot([interval.low, interval.high], [row, row], color=colour, linewidth=width, solid_capstyle="butt")
    if caps:
        axes.plot([interval.low, interval.high], [row, row], "|", color=colour, markersize=5, markeredgewidth=width)


def _draw_bar(
    axes: Axes, row: int, counts: Sequence[int], legend: Sequence[tuple[str, str, str]], labelled: bool
) -> None:
    """labelled: whether parts with enough room show their answer."""
    left, total = 0.0, sum(counts)
    for count, (title, colour, hatch) in zip(counts, legend, strict=True):
        share = count / total
        axes.barh(row, share, 0.72, left, color=colour, hatch=hatch, edgecolor="white", linewidth=0.6)
        if labelled and share >= LABELLED_SHARE:
            place = (left + share / 2, row)
            axes.annotate(title, place, ha="center", va="center_baseline", color=_readable_on(colour))
        left += share


def _readable_on(colour: str) -> str:
    red, green, blue = to_rgb(colour)
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"


def _padded(low: float, high: float) -> tuple[float, float]:
    """The range with room for half a marker at both ends."""
    return low - 0.02 * (high - low), high + 0.02 * (high - low)


def _reach(intervals: Sequence[Interval], widest: float) -> tuple[float, float]:
    """The range from the lowest to the highest limit, within the scale's largest difference, including 0."""
    ends = [end for interval in intervals for end in (interval.mean, interval.low, interval.high) if end is not None]
    low, high = max(min(0.0, *ends), -widest), min(max(0.0, *ends), widest)
    return _padded(low, high) if low < high else (-widest, widest)


def _mark_scale(axes: Axes, result: CriterionResult) -> None:
    if result.share:
        _mark_shares(axes)
    elif result.points and len(result.points) <= MAX_POINT_TICKS:
        axes.set_xticks(result.points, [as_typed(point) for point in result.points])
    else:
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))


def _mark_shares(axes: Axes) -> None:
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])


def _mark_difference(axes: Axes, share: bool) -> None:
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10], min_n_ticks=3))
    scale = 100 if share else 1
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _signed(round(scale * value, 6))))
    axes.set_xlabel("Difference in percentage points" if share else "Difference in points")


def _signed(number: float) -> str:
    return f"{number:+g}".replace("-", "−") if number else "0"


def _counts_of(system: SystemResult) -> Sequence[int]:
    """Counts by point of the scale, or by option."""
    if system.counts:
        return system.counts
    return [] if isinstance(system.shares, Undefined) else [option.count for option in system.shares]


def _legend(result: CriterionResult) -> list[tuple[str, str, str]]:
    """(answer, colour, hatch): a ramp for points, which are ordered; separate colours and hatches for options."""
    if result.points:
        last = max(len(result.points) - 1, 1)
        return [(as_typed(point), palette.along_scale(place / last), "") for place, point in enumerate(result.points)]
    options = getattr(result.criterion.scale, "options", ())
    colours = palette.of_options([option.positive for option in options])
    return list(zip([option.title for option in options], colours, _hatches(colours), strict=True))


def _hatches(colours: Sequence[str]) -> list[str]:
    """A hatch for each option: no two options share both colour and hatch, and neighbours differ in grey."""
    seen: Counter[str] = Counter()
    hatches = []
    for colour in colours:
        hatches.append(HATCHES[(colours.index(colour) + seen[colour]) % len(HATCHES)])
        seen[colour] += 1
    return hatches


def _printed(plot: Plot, seal: str) -> PrintedFigure:
    files = {}
    for size in WIDTH_INCHES:
        figure = _drawn(plot, size)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # laid out once for both formats
        about = {"svg": {"Date": None, "Creator": None, "Description": seal}}
        about["pdf"] = {"CreationDate": None, "Creator": None, "Producer": None, "Subject": seal}
        for ending, metadata in about.items():
            file = io.BytesIO()
            figure.savefig(file, format=ending, metadata=metadata)
            files[f"{plot.name}-{size}.{ending}"] = file.getvalue()
    svg = readable(files[f"{plot.name}-page.svg"].decode())
    opening = f'<svg role="img" aria-label={quoteattr(readable(plot.caption))} '
    drawing = Markup(opening + svg.partition("<svg ")[2])  # noqa: S704 - both writers escape text and attributes
    return PrintedFigure(plot.name, plot.caption, drawing, files)


def _drawn(plot: Plot, size: str) -> Figure:
    letters, points = LINE_LETTERS[size], FONT_POINTS[size]
    labels = [_row_label(label, letters) for label in plot.labels]
    lines = 1 + max(label.count("\n") for label in labels)
    answers_shown = ["\n".join(_lines(title, 2 * letters)) for title, _, _ in plot.legend]
    columns = _legend_columns(answers_shown, size)
    legend_rows = math.ceil(len(plot.legend) / columns) * (1 + max((w.count("\n") for w in answers_shown), default=0))
    height = LINE_INCHES * ((lines + 0.4) * len(labels) + 1.1 * legend_rows) + AXIS_INCHES
    with matplotlib.rc_context({"font.size": points}):
        figure = Figure((WIDTH_INCHES[size], height), layout="constrained")
        axes = figure.add_subplot()
        plot.draw(axes)
        axes.set_yticks(range(len(labels)), labels)
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(len(labels) - 0.5, -0.5)
        if plot.legend:
            boxes = [Patch(facecolor=c, hatch=h, edgecolor="white") for _, c, h in plot.legend]
            by_column = [at for column in range(columns) for at in range(column, len(boxes), columns)]  # reads by row
            figure.legend(
                [boxes[at] for at in by_column],
                [answers_shown[at] for at in by_column],
                loc="outside lower center",
                ncols=columns,
                frameon=False,
                handlelength=1.2,
                columnspacing=1,
                borderaxespad=0,
            )
    return figure


def _row_label(names: tuple[str, ...], letters: int) -> str:
    """On one line where it fits; every name on its own otherwise."""
    line = " − ".join(map(readable, names))
    return line if len(line) <= letters else " −\n".join("\n".join(_lines(name, letters)) for name in names)


def _lines(words: str, letters: int) -> list[str]:
    """The words broken into lines of that many letters, after a sign between words where there is one."""
    lines = [""]
    for piece in re.findall(r"[^\s/_.:,-]*[\s/_.:,-]*", readable(words)):
        if len((lines[-1] + piece).rstrip()) > letters:
            lines.append("")
        lines[-1] += piece
    broken = [line[at : at + letters] for line in lines for at in range(0, len(line.rstrip()), letters)]
    return [line.strip() for line in broken] or [""]


def _legend_columns(titles: Sequence[str], size: str) -> int:
    """How many answers fit next to each other: all of them, or as many as the longest leaves room for."""
    inches = [0.29 + max(map(len, title.split("\n"))) * FONT_POINTS[size] * 0.0085 for title in titles]
    if sum(inches) <= WIDTH_INCHES[size]:
        return max(len(titles), 1)
    return max(int(WIDTH_INCHES[size] / max(inches)), 1)
