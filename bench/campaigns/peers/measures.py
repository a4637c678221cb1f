"""The measures, taken of one tool after the other on the same machine."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import CalledProcessError
from urllib.error import URLError

from bench.campaigns.peers import browser, crowd
from bench.campaigns.peers.crowd import LOST, Work
from bench.campaigns.peers.tool import NotMeasured, Project, Tool, seconds, serving
from bench.server import Server, ServerFailed

ITEMS, RATERS, PAUSE = 200, 50, 1.0
CAP, SCARCE = 3, 10  # for over-assignment: places per item, and a number of items that is too small
KILLED, KILL_AFTER, KILL_BY = 10, 20, 60.0  # annotators; annotations before the server is killed, or seconds
REFUSED = (NotMeasured, ServerFailed, URLError, CalledProcessError, *LOST)


@dataclass(frozen=True)
class Effort:
    """The amount of measuring; the quick one checks that everything runs."""

    rated: int = 20
    crowds: tuple[int, ...] = (1, 10, 25, 50)
    seconds: float = 15.0
    starts: int = 5
    sizes: tuple[int, ...] = (10_000, 100_000)
    submits: int = 25
    exported: int = 10_000


QUICK = Effort(rated=2, crowds=(1, 12), seconds=4.0, starts=1, sizes=(1_000,), submits=5, exported=500)


@dataclass(frozen=True)
class Quantity:
    """One quantity of one tool: its values in `unit`, or the reason why there are none.

    With an empty `what`, the reason applies to every quantity of the measure.
    """

    what: str
    unit: str
    values: Sequence[float] = ()
    more_is_better: bool = False
    failed: str = ""
    measure: str = ""


def measures(effort: Effort) -> dict[str, Callable[[Tool, Path, Effort], Iterator[Quantity]]]:
    """All measures by name, in table order."""
    crowds = {f"crowd-{n}": _crowd_of(n) for n in effort.crowds}
    sizes = {f"size-{n}": _size_of(n) for n in effort.sizes}
    return {"browser": look, "start": start, **crowds, **sizes, "kill": kill, "cap": cap, "export": export}


def measure(tool: Tool, home: Path, effort: Effort, only: Sequence[str] | None = None) -> list[Quantity]:
    """All measures of one tool, or `only` these; a failed measure has its reason instead of values."""
    quantities = []
    for name, take in measures(effort).items():
        if only and name not in only:
            continue
        print(f"{tool.name}: {name} …", file=sys.stderr, flush=True)
        try:
            quantities += [replace(quantity, measure=name) for quantity in take(tool, home / name, effort)]
        except REFUSED as error:
            lines = (str(error) or repr(error)).strip().splitlines()
            quantities.append(Quantity("", "", failed=lines[-1][:200], measure=name))
    return quantities


def look(tool: Tool, home: Path, effort: Effort) -> Iterator[Quantity]:
    """One annotator with a mouse."""
    project = tool.prepare(home, ITEMS, 1, RATERS)
    with serving(tool, project):
        seen = browser.look(tool, project, tool.sign_up(project)[0], effort.rated)
    yield Quantity("submit → next item shown", "ms", seen.next)
    yield Quantity("click on a rating → shown", "ms", seen.clicks)


def start(tool: Tool, home: Path, effort: Effort) -> Iterator[Quantity]:
    """Time from command to answer, first load of the page with an empty cache, and memory after it."""
    project = tool.prepare(home, ITEMS, 1, RATERS)
    starts, loads, idle = [], [], []
    for _ in range(effort.starts):
        began = time.perf_counter()
        with serving(tool, project) as server:
            starts.append(time.perf_counter() - began)
            loads.append(browser.first_load(tool, project, tool.sign_up(project)[0]))
            time.sleep(2)
            idle.append(server.resident_mb())
    yield Quantity("first load of the page", "ms", loads)
    yield Quantity("command → answers requests", "s", starts)
    yield Quantity("memory after the first page", "MB", idle)


def _crowd_of(count: int) -> Callable[[Tool, Path, Effort], Iterator[Quantity]]:
    def load(tool: Tool, home: Path, effort: Effort) -> Iterator[Quantity]:
        project = tool.prepare(home, ITEMS, count, max(RATERS, count))
        with serving(tool, project) as server:
            cookies = tool.sign_up(project)
            calm, rush = asyncio.run(_calm_and_rush(tool, project, server, cookies, effort.seconds))
            memory = server.resident_mb()
        who = f"{count} annotator{'s' * (count > 1)}"
        yield from _load_found(f"{who}, {PAUSE:g} s pause", calm)
        yield from _load_found(f"{who}, no pause", rush)
        yield Quantity(f"{who}: memory afterwards", "MB", [memory])

    return load


async def _calm_and_rush(
    tool: Tool, project: Project, server: Server, cookies: Sequence, length: float
) -> tuple[Work, Work]:
    async with crowd.visitors(tool, project, cookies) as people:
        calm = await crowd.work(people, server, length, PAUSE)
        return calm, await crowd.work(people, server, length, 0.0)


def _load_found(who: str, work: Work) -> Iterator[Quantity]:
    done = max(len(work.done), 1)
    for what, unit, values in (
        ("submit → next item", "ms", work.milliseconds()),
        ("annotations per second", "/s", work.per_second()),
        ("server CPU per annotation", "ms", [1000 * work.cpu_seconds / done]),
    ):
        if work.done:
            yield Quantity(f"{who}: {what}", unit, values, more_is_better=unit == "/s")
        else:
            reason = work.errors[-1][:160] if work.errors else "none was answered in time"
            yield Quantity(f"{who}: {what}", unit, failed=f"no annotation was stored: {reason}")
    yield Quantity(f"{who}: failed requests", "", [len(work.errors)])


def _size_of(count: int) -> Callable[[Tool, Path, Effort], Iterator[Quantity]]:
    def size(tool: Tool, home: Path, effort: Effort) -> Iterator[Quantity]:
        began = time.perf_counter()
        project = tool.prepare(home, count, 1, RATERS)
        prepared = time.perf_counter()
        with serving(tool, project) as server:
            started = time.perf_counter()
            cookies = tool.sign_up(project)
            waits = asyncio.run(_one_by_one(tool, project, server, cookies, effort.submits))
        importing = prepared - began if project.importing is None else project.importing
        yield Quantity(f"{count:,} items: import", "s", [importing])
        yield Quantity(f"{count:,} items: command → answers requests", "s", [started - prepared])
        yield Quantity(f"{count:,} items: submit → next item", "ms", waits)

    return size


async def _one_by_one(tool: Tool, project: Project, server: Server, cookies: Sequence, submits: int) -> list[float]:
    async with crowd.visitors(tool, project, cookies) as (visitor,):
        return [1000 * await visitor.submit() for _ in range(submits + 1)][1:]


def kill(tool: Tool, home: Path, effort: Effort) -> Iterator[Quantity]:
    """`kill -9` while ten annotators submit: the acknowledged annotations that are missing after a restart."""
    project = tool.prepare(home, ITEMS, KILLED, RATERS)
    with serving(tool, project) as server:
        cookies = tool.sign_up(project)
        acknowledged = asyncio.run(_until_killed(tool, project, server, cookies))
    if not acknowledged:
        raise NotMeasured("nothing was acknowledged before the kill")
    with serving(tool, project):
        lost = acknowledged - set(tool.stored(project))
    yield Quantity("`kill -9`: acknowledged annotations lost", f"of {len(acknowledged)}", [len(lost)])


async def _until_killed(tool: Tool, project: Project, server: Server, cookies: Sequence) -> set[str]:
    async with crowd.visitors(tool, project, cookies) as people:
        result = Work()
        working = asyncio.create_task(crowd.work(people, server, KILL_BY, 0.0, result))
        while len(result.done) < KILL_AFTER and not working.done():
            await asyncio.sleep(0.02)
        server.kill()
        await working
        return {item for _, _, item in result.done if item is not None}


def cap(tool: Tool, home: Path, effort: Effort) -> Iterator[Quantity]:
    """All annotators have arrived before the first one starts: the maximum number of annotations on an item, in two
    studies.
    """
    most = max(effort.crowds)
    for items, name in ((most, "enough places for all"), (SCARCE, f"{SCARCE} items, too few places")):
        counts = _counted(tool, home / str(items), items, most, 4 * effort.seconds)
        yield Quantity(f"most annotations on an item capped at {CAP}: {name}", "", [max(counts.values())])


def _counted(tool: Tool, home: Path, items: int, annotators: int, length: float) -> Counter[str]:
    project = tool.prepare(home, items, annotators, CAP)
    with serving(tool, project):
        asyncio.run(_all_at_once(tool, project, tool.sign_up(project), length))
        counts = Counter(tool.stored(project).values())
    if not counts:
        raise NotMeasured("no annotation was stored")
    return counts


async def _all_at_once(tool: Tool, project: Project, cookies: Sequence, length: float) -> None:
    async with crowd.visitors(tool, project, cookies) as people:
        await crowd.use_up(people, length)


def export(tool: Tool, home: Path, effort: Effort) -> Iterator[Quantity]:
    """Export of all annotations in the tool's flat format."""
    project = tool.prepare(home, ITEMS, RATERS, RATERS)
    times: list[float] = []
    with serving(tool, project):
        tool.fill(project, effort.exported)
        for _ in range(3):
            came_out: list[int] = []
            times.append(seconds(lambda: came_out.append(tool.export(project))))  # noqa: B023 (called at once)
            if came_out != [effort.exported]:
                raise NotMeasured(f"{came_out[0]:,} of {effort.exported:,} annotations came out")
    yield Quantity(f"export of {effort.exported:,} annotations", "s", times)
