"""The cost of one more annotator: `python -m bench.campaigns.scaling [--quick] [--write-docs]`, for docs/scaling.md."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import aiohttp
import numpy as np

from bench.campaigns.peers import browser
from bench.campaigns.peers.tool import serving
from bench.campaigns.peers.triptych import Triptych
from bench.client import Annotator
from bench.figures import percentile, rounded, table
from bench.load import work_until
from bench.report import OUT, ROOT, machine, other_load, write_part
from bench.server import Server, running_app
from bench.world import World, build_world

JSON = OUT / "scaling.json"
DOCS = ROOT / "docs" / "scaling.md"
CROWDS, QUICK_CROWDS = (1, 10, 25, 50, 100, 200), (1, 10)
PAUSE = 1.0
MANY_DRAFTS = 5  # compared with one draft, to compute the cost of a draft
RATINGS, PER_ITEM = 20_000, 15
SIZES = (50, 200, 1_000, 10_000)
ITEM_SECONDS = 90  # per item of 15 ratings, for the table of servers
BUSY = 0.5  # maximum share of a processor that a process should use
MB = 2**20


@dataclass(frozen=True)
class Crowd:
    """A number of annotators at work: times in ms, memory in MiB, traffic in bytes of message bodies per item."""

    annotators: int
    drafts: int
    waits: list[float]
    per_second: float
    cpu_ms: float
    empty_mb: float
    open_mb: float
    worked_mb: float
    sockets: int
    threads: int
    received: float
    sent: float


@dataclass
class Traffic:
    """Bytes of bodies that a client received and sent by HTTP."""

    received: int = 0
    sent: int = 0

    def tracing(self) -> aiohttp.TraceConfig:
        config = aiohttp.TraceConfig()
        config.on_response_chunk_received.append(self._came)
        config.on_request_chunk_sent.append(self._went)
        config.freeze()
        return config

    async def _came(self, _: Any, __: Any, part: aiohttp.TraceResponseChunkReceivedParams) -> None:
        self.received += len(part.chunk)

    async def _went(self, _: Any, __: Any, part: aiohttp.TraceRequestChunkSentParams) -> None:
        self.sent += len(part.chunk)


def crowd(home: Path, count: int, seconds: float, drafts: int = 1) -> Crowd:
    """`count` annotators with the page open, then at work for `seconds`, with `drafts` drafts per one-second pause."""
    world = build_world(home, items=round(seconds / PAUSE) + 20, annotators=count, raters=count)
    with running_app(home) as server:
        return asyncio.run(_at_work(world, server, seconds, drafts))


async def _at_work(world: World, server: Server, seconds: float, drafts: int) -> Crowd:
    async with world.annotator(server.url, 0):
        pass  # caches filled by the first visit are not part of a page's cost
    await asyncio.sleep(2)
    empty, traffic = server.resident_mb(), Traffic()
    async with AsyncExitStack() as stack:
        people = [await stack.enter_async_context(world.annotator(server.url, n)) for n in range(len(world.cookies))]
        for person in people:
            person.http.trace_configs.append(traffic.tracing())
        opened, before, began = server.resident_mb(), server.cpu_seconds(), time.perf_counter()
        done = await asyncio.gather(
            *(_begin(n, person, len(people), seconds, drafts) for n, person in enumerate(people))
        )
        waits = [1000 * wait for own in done for _, wait in own]
        span, cpu = time.perf_counter() - began, server.cpu_seconds() - before
        return Crowd(
            len(people),
            drafts,
            waits,
            per_second=len(waits) / span,
            cpu_ms=1000 * cpu / len(waits),
            empty_mb=empty,
            open_mb=opened,
            worked_mb=server.resident_mb(),
            sockets=_sockets(server),
            threads=len(list(Path(f"/proc/{server.process.pid}/task").iterdir())),
            received=traffic.received / len(waits),
            sent=traffic.sent / len(waits),
        )


async def _begin(number: int, annotator: Annotator, of: int, seconds: float, drafts: int) -> list[tuple[float, float]]:
    """All annotators work; their starts are spread over one pause."""
    await asyncio.sleep(PAUSE * number / of)
    return await work_until(annotator, time.perf_counter() + seconds, drafts, PAUSE / drafts)


def _sockets(server: Server) -> int:
    """The number of open sockets of the server's process (Linux)."""
    files = Path(f"/proc/{server.process.pid}/fd").iterdir()
    return sum(str(file.readlink()).startswith("socket:") for file in files)


def database(home: Path, ratings: int) -> dict[str, float]:
    """Size of the SQLite file in bytes before and after this many ratings, and the time to write an annotation."""
    tool = Triptych()
    project = tool.prepare(home, 200, 50, 50)
    before, began = _stored_bytes(home), time.perf_counter()
    tool.fill(project, ratings // PER_ITEM)
    spent = time.perf_counter() - began
    annotations = ratings // PER_ITEM
    grown = _stored_bytes(home) - before
    return {
        "ratings": annotations * PER_ITEM,
        "bytes_per_rating": grown / (annotations * PER_ITEM),
        "ms_per_annotation": 1000 * spent / annotations,
    }


def _stored_bytes(home: Path) -> int:
    return sum(file.stat().st_size for file in home.glob("triptych.db*"))


def page_bytes(home: Path) -> float:
    """Bytes that a browser with an empty cache receives over HTTP until the annotate page is usable."""
    tool = Triptych()
    project = tool.prepare(home, 20, 1, 1)
    with serving(tool, project):
        return browser.first_bytes(tool, project, tool.sign_up(project)[0])


def measured(quick: bool) -> dict[str, Any]:
    """All measurements, as stored in bench/out/scaling.json."""
    load, seconds = other_load(), 6.0 if quick else 20.0
    runs = [(count, 1) for count in (QUICK_CROWDS if quick else CROWDS)] + [(10, MANY_DRAFTS)]
    with tempfile.TemporaryDirectory(prefix="triptych-scaling-") as folder:
        crowds = []
        for count, drafts in runs:
            print(f"{count} annotators, {drafts} drafts …", file=sys.stderr, flush=True)
            crowds.append(asdict(crowd(Path(folder) / f"{count}-{drafts}", count, seconds, drafts)))
        print("database and page …", file=sys.stderr, flush=True)
        grown = database(Path(folder) / "database", RATINGS // 10 if quick else RATINGS)
        first = page_bytes(Path(folder) / "page")
    return {"quick": quick, "load": load, "machine": machine(), "crowds": crowds, "database": grown, "page": first}


def costs(result: dict[str, Any]) -> dict[str, float]:
    """The cost of one annotator: memory from a line through all crowds, processor time from two crowds.

    `act_ms`: an annotation without drafts; `draft_ms`: a draft; MiB of a process without pages and of a page.
    """
    crowds = [Crowd(**crowd) for crowd in result["crowds"]]
    calm = [crowd for crowd in crowds if crowd.drafts == 1]
    many = next(crowd for crowd in crowds if crowd.drafts > 1)
    one_draft = next(crowd for crowd in calm if crowd.annotators == many.annotators)
    draft = max((many.cpu_ms - one_draft.cpu_ms) / (many.drafts - 1), 0.0)
    page, base = np.polyfit([crowd.annotators for crowd in calm], [crowd.worked_mb for crowd in calm], 1)
    sockets, _ = np.polyfit([crowd.annotators for crowd in calm], [crowd.sockets for crowd in calm], 1)
    most = max(calm, key=lambda crowd: crowd.annotators)
    return {
        "draft_ms": draft,
        "act_ms": max(most.cpu_ms - draft, 0.0),
        "page_mb": float(page),
        "base_mb": float(base),
        "sockets": float(sockets),
    }


def crowd_table(result: dict[str, Any]) -> str:
    heading = ["Annotators", "drafts per item", "annotations /s", "median", "95 %", "CPU per item", "one processor"]
    heading += ["memory: empty", "pages open", "after work", "sockets", "threads", "received per item", "sent per item"]
    return table([_crowd_row(Crowd(**crowd)) for crowd in result["crowds"]], heading)


def _crowd_row(crowd: Crowd) -> list[str]:
    times = [f"{rounded(median(crowd.waits))} ms", f"{rounded(percentile(crowd.waits, 95))} ms"]
    cpu = [f"{rounded(crowd.cpu_ms)} ms", f"{crowd.cpu_ms * crowd.per_second / 10:.0f} %"]
    memory = [f"{value:.0f} MB" for value in (crowd.empty_mb, crowd.open_mb, crowd.worked_mb)]
    traffic = [f"{value / 1000:.1f} kB" for value in (crowd.received, crowd.sent)]
    counts = [str(crowd.sockets), str(crowd.threads)]
    return [
        str(crowd.annotators),
        str(crowd.drafts),
        f"{crowd.per_second:.1f}",
        *times,
        *cpu,
        *memory,
        *counts,
        *traffic,
    ]


def cost_table(result: dict[str, Any]) -> str:
    cost, grown = costs(result), result["database"]
    rows = [
        ["processor: a submit and the next item", f"{rounded(cost['act_ms'])} ms"],
        ["processor: a draft", f"{rounded(cost['draft_ms'])} ms"],
        [f"processor: an item with {PER_ITEM} drafts", f"{rounded(_item_ms(cost))} ms"],
        ["memory: a process without pages", f"{cost['base_mb']:.0f} MB"],
        ["memory: an open page at work", f"{cost['page_mb']:.2f} MB"],
        ["connections of an open page", f"{cost['sockets']:.1f}"],
        ["first load over HTTP, nothing cached", f"{result['page'] / MB:.1f} MB"],
        ["database: a rating and everything about it", f"{grown['bytes_per_rating']:.0f} bytes"],
        [
            f"database: a million ratings, extrapolated from {grown['ratings']:,.0f}",
            f"{grown['bytes_per_rating'] * 10**6 / MB:.0f} MB",
        ],
        ["writing one annotation on SQLite, without HTTP", f"{rounded(grown['ms_per_annotation'])} ms"],
    ]
    return table(rows, ["What", "Cost"])


def _item_ms(cost: dict[str, float]) -> float:
    return cost["act_ms"] + PER_ITEM * cost["draft_ms"]


def server_table(result: dict[str, Any]) -> str:
    """The needs of this many annotators at once, computed from the costs."""
    heading = ["Annotators at once", "items /s", "processors busy", "processes", "memory", "sockets", "the study's row"]
    return table([_server_row(count, result) for count in SIZES], heading)


def _server_row(count: int, result: dict[str, Any]) -> list[str]:
    cost, items = costs(result), count / ITEM_SECONDS
    busy = items * _item_ms(cost) / 1000
    processes = max(int(np.ceil(busy / BUSY)), 1)
    memory = processes * cost["base_mb"] + count * cost["page_mb"]
    locked = 100 * items * result["database"]["ms_per_annotation"] / 1000
    drawn = [f"{items:.1f}", f"{busy:.2f}", str(processes), f"{memory / 1024:.1f} GB"]
    return [f"{count:,}", *drawn, f"{count * cost['sockets']:,.0f}", f"{locked:.0f} %"]


def write_docs(result: dict[str, Any]) -> None:
    """Write the three tables between their marks."""
    about = ", ".join(f"{name} {value}" for name, value in result["machine"].items())
    quick = "; a quick run" if result["quick"] else ""
    where = f"{about}; machine load before {result['load']:g}{quick}.\n\n"
    for name, text in (("crowds", where + crowd_table(result)), ("costs", cost_table(result))):
        write_part(DOCS, name, text + "\n")
    write_part(DOCS, "servers", server_table(result) + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.campaigns.scaling", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two small crowds, to see that everything runs")
    parser.add_argument("--write-docs", action="store_true", help="write the tables of docs/scaling.md")
    parser.add_argument("--no-run", action="store_true", help="measure nothing; with --write-docs")
    chosen = parser.parse_args(arguments)
    if not chosen.no_run:
        OUT.mkdir(exist_ok=True)
        JSON.write_text(json.dumps(measured(chosen.quick)) + "\n")
    result = json.loads(JSON.read_text())
    print("\n\n".join([crowd_table(result), cost_table(result), server_table(result)]))
    if chosen.write_docs:
        write_docs(result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
