"""The peers' part of docs/benchmarks.md, made from one JSON file per tool in bench/out/peers/."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any

from bench.campaigns.peers.measures import Quantity
from bench.campaigns.peers.tool import Tool
from bench.figures import percentile, rounded, table
from bench.report import DOCS, OUT, machine, write_part

FOLDER = OUT / "peers"
OURS, TARGETED = "Triptych", "Potato"
# how many times as good as Potato's the median, or the 95 % value, must be
TARGETS = {
    "submit → next item shown": ("median", 4),
    "50 annotators, no pause: annotations per second": ("median", 8),
    "50 annotators, 1 s pause: submit → next item": ("95 %", 20),
}
CLOSE = 1.05  # ratios closer to 1 than this count as equal
INTRODUCTION = """## Compared with Potato and Label Studio

Written by `make bench-peers`; no figure is typed by hand. Each tool has the same 200 items × 3 candidates × 5 questions
and runs in turn on the same machine. Its server is started as its own documentation says, with SQLite or files on the
same disk; browser and load clients run on the same machine, too. Cells are medians with the range of the middle 90 % of
the values; *95 %* is the value that 95 % stay within. A ratio states how many times as good Triptych is: above 1
Triptych is better, below 1 the other tool. The HTTP clients send the same requests as the tool's own page, in the same
order.
"""


def save(tool: Tool, version: str, quick: bool, load: float, quantities: Sequence[Quantity]) -> None:
    """Store one tool's figures; `load` is the machine's load before the measurement."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    about = {"tool": tool.name, "version": version, "notes": tool.notes, "quick": quick, "load": load}
    result = {**about, "machine": machine(), "found": [asdict(quantity) for quantity in quantities]}
    _path(tool).write_text(json.dumps(result, ensure_ascii=False) + "\n")


def earlier(tool: Tool, repeated: Sequence[str]) -> list[Quantity]:
    """Earlier results of this tool, without the measures that are repeated."""
    before = json.loads(_path(tool).read_text())["found"] if _path(tool).exists() else []
    return [Quantity(**quantity) for quantity in before if quantity["measure"] not in repeated]


def _path(tool: Tool) -> Path:
    return FOLDER / f"{tool.name.lower().replace(' ', '-')}.json"


def saved(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """The stored results of these tools."""
    return [json.loads(_path(tool).read_text()) for tool in tools if _path(tool).exists()]


def write_docs(results: Sequence[dict[str, Any]]) -> None:
    write_part(DOCS, "peers", part(results))


def part(results: Sequence[dict[str, Any]]) -> str:
    """The whole part: versions, table, targets, where a peer is better, how each was set up."""
    tools = {result["tool"]: Measured(result["found"]) for result in results}
    ours, peers = tools.pop(OURS, Measured([])), tools
    heading = ["Measure", OURS, *peers, *(f"ratio to {name}" for name in peers)]
    rows = [_row(what, ours, list(peers.values())) for what in dict.fromkeys(chain(ours, *peers.values()))]
    lines = [INTRODUCTION, ", ".join(_version(result) for result in results) + ".", "", table(rows, heading), ""]
    if TARGETED in peers:
        lines += ["### Against Potato", "", table(list(_targets(ours, peers[TARGETED])), TARGET_HEADING), ""]
    lines += ["### Where a peer is better", "", *_better(ours, peers), "", "### How each was set up", ""]
    return "\n".join([*lines, *(f"- **{result['tool']}**: {result['notes']}." for result in results)]) + "\n"


class Measured(dict[str, Quantity]):
    """One tool's quantities by name, and the reasons for measures that failed."""

    def __init__(self, rows: Sequence[dict[str, Any]]) -> None:
        quantities = [Quantity(**row) for row in rows]
        super().__init__({quantity.what: quantity for quantity in quantities if quantity.what})
        self._reasons = {quantity.measure: quantity.failed for quantity in quantities if not quantity.what}

    def why_not(self, measure: str) -> str:
        return self._reasons.get(measure) or self._reasons.get("", "")


def _version(result: dict[str, Any]) -> str:
    measured = result["machine"]["measured"]
    quick = ", a quick run" if result["quick"] else ""
    return f"{result['tool']} {result['version']} ({measured}{quick}, load of the machine before it {result['load']:g})"


def _row(what: str, ours: Measured, peers: Sequence[Measured]) -> list[str]:
    measure = next(tool[what].measure for tool in (ours, *peers) if what in tool)
    cells = [_cell(tool.get(what), tool.why_not(measure)) for tool in (ours, *peers)]
    return [what, *cells, *(_times(_ratio(ours.get(what), tool.get(what))) for tool in peers)]


def _cell(quantity: Quantity | None, reason: str = "") -> str:
    if quantity is None or not quantity.values:
        return f"not measured: {(quantity.failed if quantity else reason) or 'not part of this run'}".replace("|", "/")
    middle = f"{rounded(median(quantity.values))} {quantity.unit}".strip()
    if len(quantity.values) < 2:
        return middle
    low, high = percentile(quantity.values, 5), percentile(quantity.values, 95)
    return f"{middle} ({rounded(low)} to {rounded(high)})"


def _ratio(ours: Quantity | None, theirs: Quantity | None, by: str = "median") -> float | None:
    """How many times as good Triptych is; None if a value is missing or 0."""
    if ours is None or theirs is None or not ours.values or not theirs.values:
        return None
    our_value, their_value = (
        median(quantity.values) if by == "median" else percentile(quantity.values, 95) for quantity in (ours, theirs)
    )
    if not our_value or not their_value:
        return None
    return our_value / their_value if ours.more_is_better else their_value / our_value


def _times(ratio: float | None) -> str:
    return "–" if ratio is None else f"{rounded(ratio)} ×"


TARGET_HEADING = ["Measure", "Value", "Triptych", "Potato", "Ratio", "Target", ""]


def _targets(ours: Measured, theirs: Measured) -> Iterator[list[str]]:
    for what, (by, least) in TARGETS.items():
        our_quantity, their_quantity = ours.get(what), theirs.get(what)
        ratio = _ratio(our_quantity, their_quantity, by)
        drawn = (
            ("–", "not measured") if ratio is None else (f"{rounded(ratio)} ×", "pass" if ratio >= least else "FAIL")
        )
        yield [what, by, _value(our_quantity, by), _value(their_quantity, by), drawn[0], f"≥ {least} ×", drawn[1]]


def _value(quantity: Quantity | None, by: str) -> str:
    if quantity is None or not quantity.values:
        return "–"
    value = median(quantity.values) if by == "median" else percentile(quantity.values, 95)
    return f"{rounded(value)} {quantity.unit}"


def _better(ours: Measured, peers: Mapping[str, Measured]) -> list[str]:
    """A line for each quantity in which a peer's median is better than ours, unless the difference is small."""
    lines = [
        f"- **{name}**, {what}: {_cell(quantities[what])} against {_cell(quantity)}."
        for name, quantities in peers.items()
        for what, quantity in ours.items()
        if _is_better(quantity, quantities.get(what))
    ]
    return lines or ["In nothing that was measured here."]


def _is_better(ours: Quantity, theirs: Quantity | None) -> bool:
    ratio = _ratio(ours, theirs)
    if ratio is not None:
        return ratio * CLOSE < 1
    if theirs is None or not ours.values or not theirs.values:
        return False
    our_value, their_value = median(ours.values), median(theirs.values)
    return their_value > our_value if ours.more_is_better else their_value < our_value
