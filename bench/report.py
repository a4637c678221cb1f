"""Results as JSON files, one per measure, and the page in docs/ made from them."""

from __future__ import annotations

import hashlib
import json
import platform
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from os import cpu_count, getloadavg
from pathlib import Path
from typing import Any

from bench.figures import HEADING, Figure, row_of, table
from bench.measures import MEASURES
from bench.server import ROOT
from triptych import clock

OUT = Path(__file__).parent / "out"
DOCS = ROOT / "docs" / "benchmarks.md"
INTRODUCTION = """# How fast Triptych is

Written by `python -m bench --write-docs` from the JSON files of the last run; no figure is typed by hand.
Every measure runs a real server (`streamlit run app.py`) with its own database and the hotel and restaurant rubric:
5 criteria × 3 responses. *95 %* is the value that 95 % of the measured values stay within. The load clients
and the browser run on the same machine as the server and compete with it; so does anything else that runs there.
Each measure therefore states the machine's load before it began (0 is a quiet machine), the time of a fixed loop of
Python right after it and, for newer measures, the share of processor time that others on the same hardware used: on a
shared machine, the same code can take half as long again an hour later.
"""
# measures with a separate part of the page, so that each can be measured alone
PARTS = {
    "attack": """# While strangers attack

Written by `python -m bench attack --write-docs`.
""",
    "reading": """# What an annotator has in view

Written by `python -m bench reading --write-docs`.
""",
}


def machine() -> dict[str, str]:
    """The machine and versions of a measurement."""
    return {
        "measured": f"{clock.now():%Y-%m-%d}",
        "processors": str(cpu_count()),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "streamlit": version("streamlit"),
        "sqlite": sqlite3.sqlite_version,
    }


def other_load() -> float:
    """Processes that ran or waited in the last minute. Above half the number of processors, times are unreliable."""
    return round(getloadavg()[0], 1)


def fixed_loop() -> float:
    """Milliseconds of a fixed amount of Python, best of five, which shows when a shared machine was slow."""
    seconds = []
    for _ in range(5):
        began, digest = time.perf_counter(), b""
        for _ in range(100_000):
            digest = hashlib.sha256(digest).digest()
        seconds.append(time.perf_counter() - began)
    return round(1000 * min(seconds))


@dataclass(frozen=True)
class ProcessorTime:
    """Ticks of all processors since the machine started: those used by others on the same hardware, and all."""

    stolen: int
    all: int

    @classmethod
    def now(cls, counted: Path = Path("/proc/stat")) -> ProcessorTime | None:
        """The current counts on Linux; None elsewhere."""
        if not counted.exists():
            return None
        ticks = [int(number) for number in counted.read_text().splitlines()[0].split()[1:9]]
        return cls(stolen=ticks[7], all=sum(ticks))


def stolen_between(before: ProcessorTime | None, after: ProcessorTime | None) -> float | None:
    """Per cent of processor time used by others; None if it was not counted."""
    if before is None or after is None:
        return None
    return round(100 * (after.stolen - before.stolen) / max(after.all - before.all, 1), 1)


def save(name: str, figures: Sequence[Figure], quick: bool, load: float, stolen: float | None) -> None:
    """Store the figures of one measure in bench/out/.

    load: other_load() before the measure; stolen: stolen_between() its start and its end.
    """
    OUT.mkdir(exist_ok=True)
    entries = [asdict(figure) for figure in figures]
    about = {"measure": name, "quick": quick, "load": load, "stolen": stolen, "loop": fixed_loop()}
    result = {**about, "machine": machine(), "figures": entries}
    (OUT / f"{name}.json").write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")


def printed(figures: Sequence[Figure]) -> str:
    return table([row_of(figure) for figure in figures], HEADING)


def saved() -> list[dict[str, Any]]:
    """The results in bench/out/, in the order of the measures."""
    paths = [OUT / f"{name}.json" for name in MEASURES]
    return [json.loads(path.read_text()) for path in paths if path.exists()]


def page(results: Sequence[dict[str, Any]], introduction: str = INTRODUCTION) -> str:
    """A page of results: the machine, the table, and how each figure was measured."""
    figures = [(result, Figure(**figure)) for result in results for figure in result["figures"]]
    machines = {json.dumps(result["machine"]): result["machine"] for result in results}
    lines = [introduction]
    lines += [", ".join(f"{name} {value}" for name, value in facts.items()) + "." for facts in machines.values()]
    rows = [row_of(figure) for _, figure in figures]
    lines += ["", table(rows, HEADING), "", "## How each was measured", ""]
    lines += [f"- **{figure.what}** ({_circumstances(result)}): {figure.note}." for result, figure in figures]
    return "\n".join(lines) + "\n"


def _circumstances(result: dict[str, Any]) -> str:
    quick = ", quick run" if result["quick"] else ""
    loop = f", fixed loop {result['loop']:g} ms" if "loop" in result else ""
    stolen = f", {result['stolen']:g} % of processor time used by others" if result.get("stolen") is not None else ""
    return f"`{result['measure']}`{quick}, machine load before {result['load']:g}{loop}{stolen}"


def write_docs() -> None:
    """Write the main page and the separate parts."""
    results = saved()
    others = [result for result in results if result["measure"] not in PARTS]
    if others:
        write_part(DOCS, "triptych", page(others))
    for result in results:
        if introduction := PARTS.get(result["measure"]):
            write_part(DOCS, result["measure"], page([result], introduction))


def write_part(path: Path, name: str, text: str) -> None:
    """Replace the text between a page's two marks of this name; append it if the marks are missing.

    So each command writes only what it measured; other parts and the prose between them are unchanged.
    """
    begin, end = f"<!-- {name}: written by a command -->\n", f"<!-- {name}: end -->\n"
    before, _, rest = (path.read_text() if path.exists() else "").partition(begin)
    after = rest.partition(end)[2]
    gap = "\n" if before and not before.endswith("\n\n") else ""
    path.write_text(f"{before}{gap}{begin}{text}{end}{after}")
