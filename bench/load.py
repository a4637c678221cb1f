"""Dozens of annotators over websockets: the server's cost of an annotation, and the others' waiting time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from bench.client import Annotator, PageFailed
from bench.figures import Figure, at_least, at_most
from bench.options import Options
from bench.server import Server, running_app
from bench.world import World, build_world

Value = TypeVar("Value")


async def annotate(annotator: Annotator, *, drafts: int = 0, pause: float = 0.0) -> float:
    """Rate one item and submit it; returns the seconds from submit to the next item.

    `drafts`: the number of growing drafts that are posted first, with `pause` seconds before each and before the
    submit.
    """
    view = annotator.view
    answers = annotator.answers(view)
    for n in range(1, drafts + 1):
        await asyncio.sleep(pause)
        status, answer = await annotator.save_draft(view["work"], _begun(answers, n / drafts))
        if status != 200:
            raise PageFailed(f"A draft was refused: {answer}")
    if not drafts:
        await asyncio.sleep(pause)
    return (await annotator.submit(view, answers))[1]


def _begun(answers: dict[str, Any], share: float) -> dict[str, Any]:
    """A share of the ratings, as in a draft of a partly answered item."""
    ratings = [(place, key, value) for place, part in answers["ratings"].items() for key, value in part.items()]
    part: dict[str, dict] = {}
    for place, key, value in ratings[: max(round(len(ratings) * share), 1)]:
        part.setdefault(place, {})[key] = value
    return {**answers, "ratings": part}


@asynccontextmanager
async def annotators(world: World, url: str) -> AsyncIterator[list[Annotator]]:
    """All annotators of the world with the annotate page open; they arrive ten at a time."""
    async with AsyncExitStack() as stack:
        opened: list[Annotator] = []
        numbers = range(len(world.cookies))
        for start in range(0, len(numbers), 10):
            coming = [world.annotator(url, number) for number in numbers[start : start + 10]]
            opened += await asyncio.gather(*(stack.enter_async_context(person) for person in coming))
        yield opened


async def work_until(annotator: Annotator, end: float, drafts: int, pause: float) -> list[tuple[float, float]]:
    """Annotate until the time `end`; returns pairs (time of submit, seconds until the next item)."""
    done = []
    while time.perf_counter() < end:
        seconds = await annotate(annotator, drafts=drafts, pause=pause)
        done.append((time.perf_counter(), seconds))
    return done


async def together(
    world: World, server: Server, seconds: float, drafts: int, pause: float
) -> list[tuple[float, float]]:
    """All annotators work for this long; their starts are spread over one pause."""
    async with annotators(world, server.url) as people:
        end = time.perf_counter() + seconds

        async def annotate_until_the_end(number: int, annotator: Annotator) -> list[tuple[float, float]]:
            await asyncio.sleep(pause * number / len(people))
            return await work_until(annotator, end, drafts, pause)

        done = await asyncio.gather(*(annotate_until_the_end(n, a) for n, a in enumerate(people)))
    return [pair for pairs in done for pair in pairs]


def on_a_server(
    home: Path, world: World, work: Callable[[World, Server], Coroutine[Any, Any, list[Value]]]
) -> list[Value]:
    """The result of `work` on a new server over this world."""
    with running_app(home) as server:
        return asyncio.run(work(world, server))


async def _rounds(world: World, server: Server, rounds: int, items: int, drafts: int, pause: float) -> list[float]:
    """Server processor time per annotated item in ms, one value per round after a warm-up round."""
    costs = []
    async with annotators(world, server.url) as people:
        for number in range(rounds + 1):
            before = server.cpu_seconds()
            done = await asyncio.gather(*(_several(a, items if number else 1, drafts, pause) for a in people))
            costs.append(1000 * (server.cpu_seconds() - before) / sum(done))
    return costs[1:]


async def _several(annotator: Annotator, items: int, drafts: int, pause: float) -> int:
    for _ in range(items):
        await annotate(annotator, drafts=drafts, pause=pause)
    return items


def cpu_with_drafts(options: Options, home: Path) -> list[Figure]:
    """One rating per second with a draft after each of 15, then submit."""
    world = build_world(home, items=60, annotators=10, raters=10)

    async def work(world: World, server: Server) -> list[float]:
        return await _rounds(world, server, options.rounds(5), items=1, drafts=15, pause=1.0)

    costs = on_a_server(home, world, work)
    note = "10 annotators, one rating per second, 15 drafts and a submit per item; one value per round of 10 items"
    return [at_most("server CPU per annotated item, with all drafts", "ms", costs, 40, note=note)]


def cpu_without_drafts(options: Options, home: Path) -> list[Figure]:
    """Submits only."""
    world = build_world(home, items=600, annotators=10, raters=10)

    async def work(world: World, server: Server) -> list[float]:
        return await _rounds(world, server, options.rounds(10), items=10, drafts=0, pause=0.1)

    costs = on_a_server(home, world, work)
    note = "10 annotators, 0.1 s between items, no drafts; one value per round of 100 items"
    return [at_most("server CPU per annotated item, without drafts", "ms", costs, 12, note=note)]


def fifty_with_a_pause(options: Options, home: Path) -> list[Figure]:
    """50 annotators with one second between items and a draft on each."""
    seconds = options.seconds(60)
    world = build_world(home, items=round(seconds) + 20, annotators=50, raters=50)

    async def work(world: World, server: Server) -> list[tuple[float, float]]:
        return await together(world, server, seconds, drafts=1, pause=1.0)

    waited = [1000 * wait for _, wait in on_a_server(home, world, work)]
    note = f"50 annotators for {seconds:.0f} s, one second and one draft before each submit"
    return [at_most("50 annotators, 1 s pause: submit → next item", "ms", waited, 100, by="p95", note=note)]


def fifty_without_pause(options: Options, home: Path) -> list[Figure]:
    """50 annotators who submit without a pause."""
    seconds = options.seconds(30)
    world = build_world(home, items=round(seconds * 8), annotators=50, raters=50)

    async def work(world: World, server: Server) -> list[tuple[float, float]]:
        return await together(world, server, seconds, drafts=0, pause=0.0)

    times = sorted(when for when, _ in on_a_server(home, world, work))
    first = times[0]
    per_second = [0] * int(times[-1] - first)
    for when in times:
        if when - first < len(per_second):
            per_second[int(when - first)] += 1
    note = (
        f"50 annotators for {seconds:.0f} s, no pause, no drafts; one value per second; load client on the same machine"
    )
    return [at_least("50 annotators, no pause: annotations per second", "/s", per_second[1:-1], 100, note=note)]
