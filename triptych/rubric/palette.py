"""The colours of labels, options and points, for workbench, pages and reports."""

from __future__ import annotations

from collections.abc import Sequence

# highlight labels in the order of the rubric; the last colour is for labels that the rubric no longer has. As tints
# they suit both themes of leads' pages; the workbench's CSS adds brighter ones for its dark theme
LABELS = (
    *("#b45309", "#1d6fb8", "#2f7d3b", "#a8328f", "#0f7c80"),
    *("#c0392b", "#6b4fbb", "#66720a", "#5d6470"),
)
# options have no order: hues after Okabe & Ito (2008); all options that count as positive share one colour
OPTIONS = ("#b8641b", "#8a8fc4", "#e0b040", "#6aa5d8", "#c98bb0", "#9a9a9a")
POSITIVE = "#018571"
# points have an order: brown to blue-green, after ColorBrewer BrBG, which is safe for colour-blind readers
LOW, MIDDLE, HIGH = (166, 97, 26), (205, 200, 190), (1, 133, 113)
# shares and distances in maps, from nothing to the most
SHADES = ((0.0, "#f1ebdf"), (0.5, "#7fb8ad"), (1.0, "#0b5a50"))
# interval of the mean for these annotators, and interval for annotators like these
THESE, ALIKE = "#23998a", "#c8843c"
# greys that suit both themes: lines through 0, lines of the grid, bands behind a chart, and the buttons above one
AXIS, GRID, BAND = "rgba(128,128,128,0.7)", "rgba(128,128,128,0.25)", "rgba(128,128,128,0.14)"
BUTTONS = "rgb(118,118,118)"


def along_scale(share: float) -> str:
    """The colour (#rrggbb) of a point at this share of its scale, from 0 (lowest) to 1."""
    start, end, way = (LOW, MIDDLE, share * 2) if share < 0.5 else (MIDDLE, HIGH, share * 2 - 1)
    return "#" + "".join(f"{round(low + way * (high - low)):02x}" for low, high in zip(start, end, strict=True))


def of_options(positive: Sequence[bool]) -> list[str]:
    """A colour for each option; `positive` says which options count as positive."""
    others = iter(OPTIONS * (1 + len(positive) // len(OPTIONS)))
    return [POSITIVE if counts else next(others) for counts in positive]


def label_variables(colours: Sequence[str]) -> str:
    """The colours as CSS custom properties `--label-0`, `--label-1`, …"""
    return " ".join(f"--label-{place}: {colour};" for place, colour in enumerate(colours))
