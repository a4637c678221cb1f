"""Dozens of annotators over HTTP, in the same way for every tool."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
import numpy as np

from bench.campaigns.peers.tool import Project, Server, Tool, Visitor
from bench.client import PageFailed

STRETCHES = 5
AGAIN = 0.5  # seconds before an annotator repeats a failed request
LOST = (PageFailed, aiohttp.ClientError, ConnectionError, TimeoutError)


@dataclass
class Work:
    """The result of a crowd: (time, seconds from submit to next item, work) of each annotation, and the errors."""

    done: list[tuple[float, float, str | None]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    cpu_seconds: float = 0.0
    began: float = 0.0
    ended: float = 0.0

    def milliseconds(self) -> list[float]:
        return [1000 * waited for _, waited, _ in self.done]

    def per_second(self) -> list[float]:
        """Annotations per second in each of five periods, since some tools answer in bursts."""
        counts, edges = np.histogram([when for when, _, _ in self.done], STRETCHES, (self.began, self.ended))
        return (counts / np.diff(edges)).tolist()


@asynccontextmanager
async def visitors(tool: Tool, project: Project, cookies: Sequence[Mapping[str, str]]) -> AsyncIterator[list[Visitor]]:
    """All annotators with the page open; they arrive five at a time."""
    async with AsyncExitStack() as stack:
        here: list[Visitor] = []
        for start in range(0, len(cookies), 5):
            coming = enumerate(cookies[start : start + 5], start)
            visits = [stack.enter_async_context(tool.visit(project, cookie, number)) for number, cookie in coming]
            here += await asyncio.gather(*visits)
        yield here


async def work(
    people: Sequence[Visitor], server: Server, seconds: float, pause: float, result: Work | None = None
) -> Work:
    """All annotators work for this long, or until one has no item left; drafts are sent only if there is a pause.

    `result` has the progress during the work.
    """
    result = result or Work()
    result.began = time.perf_counter()
    end = result.began + seconds
    over = asyncio.Event()
    before = server.cpu_seconds()

    async def annotate_until_the_end(number: int, visitor: Visitor) -> None:
        await asyncio.sleep(pause * number / len(people))
        while not over.is_set() and time.perf_counter() < end:
            try:
                await _annotate(visitor, pause, result)
            except LOST as error:
                result.errors.append(str(error) or repr(error))
                if server.process.poll() is not None:
                    return
                await asyncio.sleep(AGAIN)
            if visitor.work is None:
                over.set()

    await asyncio.gather(*(annotate_until_the_end(n, visitor) for n, visitor in enumerate(people)))
    result.ended = time.perf_counter()
    result.cpu_seconds = server.cpu_seconds() - before if server.process.poll() is None else 0.0
    return result


async def _annotate(visitor: Visitor, pause: float, result: Work) -> None:
    if pause:
        await asyncio.sleep(pause)
        await visitor.draft()
    item = visitor.work
    waited = await visitor.submit()
    result.done.append((time.perf_counter(), waited, item))


async def use_up(people: Sequence[Visitor], seconds: float) -> list[str]:
    """All annotators work without a pause until no item is left, at most for this long; returns the errors."""
    errors: list[str] = []

    async def annotate_all(visitor: Visitor) -> None:
        while visitor.work is not None:
            try:
                await visitor.submit()
            except LOST as error:
                errors.append(str(error) or repr(error))
                await asyncio.sleep(AGAIN)

    tasks = [asyncio.create_task(annotate_all(visitor)) for visitor in people]
    _, late = await asyncio.wait(tasks, timeout=seconds)
    for task in late:
        task.cancel()
    await asyncio.gather(*late, return_exceptions=True)
    return errors
