"""Figures of the HTML report as inline SVG: means and differences with intervals; answers. No script, no font."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement

from triptych.results.contrasts import foremost
from triptych.results.criterion import CriterionResult
from triptych.rubric import palette
from triptych.stats.analysis.contrasts import Contrast
from triptych.stats.analysis.systems import SystemResult
from triptych.stats.descriptive import Shares
from triptych.stats.intervals import Estimate, Interval
from triptych.stats.undefined import Undefined

WIDTH, LABEL, ROW, PAD = 640, 180, 26, 14
LONGEST = 26  # letters of a name next to a figure
MOST_PAIRS = 12
THICK_AND_THIN = "Thick: these annotators; thin: annotators like these."


@dataclass(frozen=True)
class Axis:
    low: float
    high: float

    def at(self, value: float) -> float:
        return LABEL + (value - self.low) / (self.high - self.low) * (WIDTH - LABEL - PAD)


def means(result: CriterionResult, names: dict[int, str]) -> Element | None:
    """One line per system: mean and 95 % interval on the whole scale; None where no system has a mean."""
    intervals = [(names.get(system.system, "The item"), system.interval) for system in result.systems]
    drawn = [(name, limits) for name, limits in intervals if isinstance(limits, Interval)]
    if not drawn:
        return None
    axis = Axis(*result.ends)
    height = ROW * (len(drawn) + 1)
    figure = _svg(height, f"Means of {result.criterion.title} with 95 % intervals")
    for place, (name, interval) in enumerate(drawn):
        y = ROW * place + ROW / 2
        _words(figure, LABEL - 8, y + 4, _short(name, LONGEST), "end")
        if interval.low is not None and interval.high is not None:
            _line(figure, axis.at(interval.low), y, axis.at(interval.high), y, palette.THESE, 3)
        circle = {"cx": f"{axis.at(interval.mean):.1f}", "cy": f"{y:.1f}", "r": "5", "fill": palette.THESE}
        SubElement(figure, "circle", circle)
    _line(figure, LABEL, height - ROW + 4, WIDTH - PAD, height - ROW + 4, "currentColor", 1)
    for value in (axis.low, (axis.low + axis.high) / 2, axis.high):
        written = f"{100 * value:.0f} %" if result.share else f"{value:g}"
        _words(figure, axis.at(value), height - 6, written, "middle")
    return figure


def differences(result: CriterionResult, contrasts: Sequence[Contrast], names: dict[int, str]) -> Element | None:
    """One line per two systems: the mean difference with both intervals, the clearest ones; None where there is none.

    What an interval has beyond the largest difference that the scale allows is not drawn.
    """
    contrasts_drawn = foremost(contrasts, MOST_PAIRS)
    if not contrasts_drawn:
        return None
    axis, bottom = _axis_of(contrasts_drawn, result.widest), ROW * len(contrasts_drawn)
    figure = _svg(bottom + 3 * ROW, f"Differences of systems on {result.criterion.title} with 95 % intervals")
    _line(figure, axis.at(0), 0, axis.at(0), bottom, "currentColor", 1)
    for place, contrast in enumerate(contrasts_drawn):
        _draw_pair(figure, ROW * place + ROW / 2, contrast, names)
        if not isinstance(contrast.difference, Undefined):
            _draw_difference(figure, ROW * place + ROW / 2, contrast.difference, axis)
    for value in (axis.low, 0, axis.high):
        if not value or abs(axis.at(value) - axis.at(0)) > 2 * PAD:
            written = f"{100 * value:+.0f}" if result.share else f"{value:+.2g}"
            _words(figure, axis.at(value), bottom + PAD, written if value else "0", "middle")
    unit = "Percentage points" if result.share else "Points"
    for place, words in enumerate((f"{unit}; right: the first is higher.", THICK_AND_THIN), 1):
        _words(figure, LABEL, bottom + ROW * place + PAD, words, "start")
    return figure


def _axis_of(contrasts_drawn: Sequence[Contrast], widest: float) -> Axis:
    """From the lowest limit to the highest that the scale allows, 0 among them."""
    differences = [c.difference for c in contrasts_drawn if not isinstance(c.difference, Undefined)]
    intervals = [interval for difference in differences for interval in (difference.these, difference.alike)]
    ends = [end for interval in intervals for end in (interval.mean, interval.low, interval.high) if end is not None]
    low, high = max(min(0.0, *ends), -widest), min(max(0.0, *ends), widest)
    return Axis(low, high) if low < high else Axis(-widest, widest)


def _draw_pair(figure: Element, y: float, contrast: Contrast, names: dict[int, str]) -> None:
    pair = " − ".join(_short(names[code], (LONGEST - 3) // 2) for code in (contrast.system, contrast.baseline))
    _words(figure, LABEL - 8, y + 4, pair, "end")


def _draw_difference(figure: Element, y: float, difference: Estimate, axis: Axis) -> None:
    drawn = ((difference.alike, palette.ALIKE, 2), (difference.these, palette.THESE, 6))
    for interval, colour, width in drawn:
        if interval.low is not None and interval.high is not None:
            low, high = max(interval.low, axis.low), min(interval.high, axis.high)
            _line(figure, axis.at(low), y, axis.at(high), y, colour, width)
    place = {"cx": f"{axis.at(difference.mean):.1f}", "cy": f"{y:.1f}", "r": "5"}
    SubElement(figure, "circle", {**place, "fill": palette.THESE, "stroke": "#fff"})


def answers(result: CriterionResult, names: dict[int, str]) -> Element | None:
    """One bar per system, divided by how often each answer was given; None where answers are not counted."""
    labels, rows = _counts(result, names)
    rows = [(name, counts) for name, counts in rows if sum(counts)]
    if not rows:
        return None
    colours = _colours(result, len(labels))
    legend = _legend_rows(labels)
    figure = _svg(ROW * len(rows) + 18 * len(legend) + 8, f"Answers to {result.criterion.title}")
    for place, (name, counts) in enumerate(rows):
        _words(figure, LABEL - 8, ROW * place + ROW / 2 + 4, _short(name, LONGEST), "end")
        _bar(figure, ROW * place + 4, counts, labels, colours)
    for place, row in enumerate(legend):
        for x, label in row:
            y = ROW * len(rows) + 18 * place + 8
            box = {"x": str(x), "y": str(y), "width": "10", "height": "10", "fill": colours[labels.index(label)]}
            SubElement(figure, "rect", box)
            _words(figure, x + 14, y + 9, label, "start")
    return figure


def _counts(result: CriterionResult, names: dict[int, str]) -> tuple[list[str], list[tuple[str, Sequence[int]]]]:
    """Labels of the answers, and how often each system got each of them."""
    if result.points:
        labels = [f"{point:g}" for point in result.points]
        return labels, [(names.get(system.system, "The item"), system.counts) for system in result.systems]
    options = getattr(result.criterion.scale, "options", ())
    return [option.title for option in options], [
        (names.get(o.system, "The item"), _of_options(o)) for o in result.systems
    ]


def _of_options(system: SystemResult) -> list[int]:
    return [option.count for option in system.shares.options] if isinstance(system.shares, Shares) else []


def _colours(result: CriterionResult, count: int) -> list[str]:
    """A ramp for points, which have an order; colours of their own for options."""
    if not result.points:
        options = getattr(result.criterion.scale, "options", ())
        return palette.of_options([option.positive for option in options])
    return [palette.along_scale(place / max(count - 1, 1)) for place in range(count)]


def _bar(figure: Element, y: float, counts: Sequence[int], labels: Sequence[str], colours: Sequence[str]) -> None:
    axis, before = Axis(0, sum(counts)), 0
    for count, label, colour in zip(counts, labels, colours, strict=True):
        if count:
            x, end = axis.at(before), axis.at(before + count)
            size = {"x": f"{x:.1f}", "y": f"{y:.1f}", "width": f"{end - x:.1f}", "height": str(ROW - 8)}
            part = SubElement(figure, "rect", {**size, "fill": colour, "stroke": "#fff", "stroke-width": "1"})
            SubElement(part, "title").text = f"{label}: {count}"
        before += count


def _legend_rows(labels: Sequence[str]) -> list[list[tuple[int, str]]]:
    """(x, label) in rows that fit the width."""
    rows: list[list[tuple[int, str]]] = [[]]
    x = LABEL
    for label in labels:
        wide = 24 + 7 * len(label)
        if rows[-1] and x + wide > WIDTH:
            rows.append([])
            x = LABEL
        rows[-1].append((x, label))
        x += wide
    return rows


def _svg(height: float, title: str) -> Element:
    size = {"viewBox": f"0 0 {WIDTH} {height:.0f}", "role": "img"}
    figure = Element("svg", {**size, "xmlns": "http://www.w3.org/2000/svg", "aria-label": title})
    SubElement(figure, "title").text = title
    return figure


def _words(figure: Element, x: float, y: float, words: str, anchor: str) -> None:
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor, "font-size": "12", "fill": "currentColor"}
    SubElement(figure, "text", place).text = _short(words, 60)


def _short(words: str, longest: int) -> str:
    """Cut in the middle: names of systems often differ at their ends."""
    half = (longest - 1) // 2
    return words if len(words) <= longest else f"{words[:half]}…{words[-half:]}"


def _line(figure: Element, x: float, y: float, to_x: float, to_y: float, colour: str, width: int) -> None:
    ends = {"x1": f"{x:.1f}", "y1": f"{y:.1f}", "x2": f"{to_x:.1f}", "y2": f"{to_y:.1f}"}
    SubElement(figure, "line", {**ends, "stroke": colour, "stroke-width": str(width)})
