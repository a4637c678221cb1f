"""The result of a measure, and the table of results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Figure:
    """One measured quantity and its target, if any; `median` and `p95` of `n` values are in `unit`."""

    what: str
    unit: str
    median: float
    p95: float
    n: int
    target: str
    passed: bool
    note: str = ""


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that is not below this share of the values (nearest rank)."""
    return sorted(values)[max(math.ceil(percent / 100 * len(values)), 1) - 1]


def at_most(
    what: str, unit: str, values: Sequence[float], limit: float, *, by: str = "median", note: str = ""
) -> Figure:
    """A figure that passes if its median, or its p95 with by="p95", is at most the limit."""
    statistics = {"median": median(values), "p95": percentile(values, 95)}
    target = f"{by} ≤ {limit:g} {unit}"
    return Figure(
        what, unit, statistics["median"], statistics["p95"], len(values), target, statistics[by] <= limit, note
    )


def at_least(what: str, unit: str, values: Sequence[float], limit: float, *, note: str = "") -> Figure:
    """A figure that passes if its median is at least the limit; p95 is the value that 95 % of the values reach."""
    middle, low = median(values), percentile(values, 5)
    return Figure(what, unit, middle, low, len(values), f"median ≥ {limit:g} {unit}", middle >= limit, note)


def observed(what: str, unit: str, values: Sequence[float], *, note: str = "") -> Figure:
    """A figure without a target."""
    return Figure(what, unit, median(values), percentile(values, 95), len(values), "", True, note)


def table(rows: Sequence[Sequence[str]], heading: Sequence[str]) -> str:
    """Rows as a Markdown table with padded columns."""
    lines = [heading, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heading))]
    drawn = ["| " + " | ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)) + " |" for line in lines]
    return "\n".join([drawn[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *drawn[1:]])


def row_of(figure: Figure) -> list[str]:
    return [
        figure.what,
        f"{rounded(figure.median)} {figure.unit}".strip(),
        f"{rounded(figure.p95)} {figure.unit}".strip(),
        str(figure.n),
        figure.target,
        figure.target and ("pass" if figure.passed else "FAIL"),
    ]


HEADING = ["Measure", "Median", "95 %", "n", "Target", ""]


def rounded(value: float) -> str:
    """Three significant digits, no exponent."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
