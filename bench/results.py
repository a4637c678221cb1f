"""The results page: opened on a very large study, and open in many tabs while ratings come in."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from bench.client import Annotator, PageFailed, PageSession
from bench.figures import Figure, at_most, observed
from bench.load import annotate
from bench.options import Options
from bench.rated import ANNOTATORS, rated_world
from bench.server import Server, running_app
from bench.world import World
from components.shell.live import POLL_SECONDS

LARGE, USUAL = 1_000_000, 9_000
TABS, EVERY = 20, 4.0


def large_study(options: Options, home: Path) -> list[Figure]:
    """Processor time of the results page of a million ratings."""
    world = rated_world(home, LARGE)
    with running_app(home) as server:
        first, again, fresh = asyncio.run(_opened(world, server, options.rounds(5)))
    note = f"{LARGE:,} ratings, 5 criteria × 3 systems; server CPU until the page is drawn, with its numbers and charts"
    what = f"results of {LARGE:,} ratings:"
    return [
        observed(f"{what} first page of a server", "s", [first], note=f"{note}; the ratings are read once"),
        at_most(f"{what} after one new annotation", "s", fresh, 1.5, note=f"{note}; every number is recomputed"),
        observed(f"{what} nothing new", "s", again, note=note),
    ]


async def _opened(world: World, server: Server, rounds: int) -> tuple[float, list[float], list[float]]:
    """CPU seconds of the first page, of pages without and with a new annotation before them."""
    again, fresh = [], []
    async with _page(world, server) as page, world.annotator(server.url, ANNOTATORS) as annotator:
        first = await _cost(server, page.open)
        for _ in range(rounds):
            again.append(await _cost(server, page.run))
            await annotate(annotator)
            fresh.append(await _cost(server, page.run))
    return first, again, fresh


async def _cost(server: Server, act: Callable[[], Awaitable[Any]]) -> float:
    before = server.cpu_seconds()
    await act()
    return server.cpu_seconds() - before


def many_tabs(options: Options, home: Path) -> list[Figure]:
    """What the server spends on open results pages that follow a study."""
    seconds = options.seconds(60)
    world = rated_world(home, USUAL)
    with running_app(home) as server:
        shares = asyncio.run(_followed(world, server, seconds))
    note = (
        f"{TABS} results pages of a study with {USUAL:,} ratings, which ask every {POLL_SECONDS} s, and an annotation "
        f"every {EVERY:g} s; share of a core over {seconds:.0f} s each"
    )
    return [at_most(f"{TABS} open results pages: server CPU", "%", shares, 15, note=note)]


async def _followed(world: World, server: Server, seconds: float) -> list[float]:
    """Percent of a core over three times so many seconds, after as many to settle."""
    shares = []
    async with AsyncExitStack() as stack:
        pages = [await stack.enter_async_context(_page(world, server)) for _ in range(TABS)]
        for page in pages:
            await page.open()
        annotator = await stack.enter_async_context(world.annotator(server.url, ANNOTATORS))
        async with asyncio.TaskGroup() as group:
            working = [group.create_task(_ask(page, number)) for number, page in enumerate(pages)]
            working.append(group.create_task(_rate(annotator)))
            await asyncio.sleep(seconds)
            for _ in range(3):
                shares.append(100 * await _cost(server, lambda: asyncio.sleep(seconds)) / seconds)
            for task in working:
                task.cancel()
    return shares


@asynccontextmanager
async def _page(world: World, server: Server) -> AsyncIterator[PageSession]:
    """A lead's tab on the results page, not yet open."""
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(cookies=world.lead, cookie_jar=jar) as http:
        page = PageSession(http, server.url, "results", f"study={world.slug}")
        try:
            yield page
        finally:
            await page.close()


async def _ask(page: PageSession, number: int) -> None:
    """The page's own clock: its fragment runs every few seconds, and draws the page again if something changed."""
    await asyncio.sleep(POLL_SECONDS * number / TABS)
    if not page.fragment:
        raise PageFailed("The page does not follow its study.")
    while True:
        began = time.perf_counter()
        await page.run(fragment=page.fragment)
        await asyncio.sleep(max(POLL_SECONDS - (time.perf_counter() - began), 0))


async def _rate(annotator: Annotator) -> None:
    while True:
        await annotate(annotator)
        await asyncio.sleep(EVERY)
