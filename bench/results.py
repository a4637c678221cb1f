"""The results page: of a large and a very large study, and in many open tabs while ratings arrive."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp
from playwright.sync_api import Page, Playwright, sync_playwright

from bench.chromium import launch_chromium
from bench.client import Annotator, PageFailed, PageSession
from bench.figures import Figure, at_most
from bench.load import annotate
from bench.options import Options
from bench.rated import ANNOTATORS, rated_world
from bench.server import Server, running_app
from bench.surface import FLAGS, SIZE
from bench.world import World
from components.shell.live import POLL_SECONDS

LARGE, PREPARED, USUAL = 1_000_000, 30_000, 9_000
PATIENCE_MS = 600_000
OTHERS = ("Setup", "People", "Report", "Log", "Items")  # the last one contains the grid
AT_REST = "[data-testid=stApp][data-test-script-state=notRunning]"
CONTENT = "below the heading"  # any content
MEANS = ".st-key-first-screen [data-testid=stDataFrame]"
PICTURE = ".st-key-first-screen .js-plotly-plot .main-svg"
GRID = "iframe .ag-row"
COMPUTED = "text=/^Computed at .* of the log/"
NEWER = """
(old) => [...document.querySelectorAll('[data-testid=stCaptionContainer]')].some(
  (caption) => caption.innerText.startsWith('Computed at') && caption.innerText.trim() !== old.trim())
"""
# milliseconds from the click to the frame that shows the new heading and the element
CLICKED = """
(link, [place, what]) => new Promise((done) => {
  const began = performance.now();
  const isDrawn = (element) => Boolean(element?.getClientRects().length);
  const element = () => {
    if (what === 'below the heading') {
      let row = document.querySelector('.st-key-heading');
      while (row && !row.nextElementSibling && row.dataset.testid !== 'stMain') row = row.parentElement;
      return row?.nextElementSibling;
    }
    if (!what.startsWith('iframe ')) return document.querySelector(what);
    const frames = [...document.querySelectorAll('iframe')];
    return frames.map((frame) => frame.contentDocument?.querySelector(what.slice(7))).find(Boolean);
  };
  const look = () => {
    if (document.querySelector('h1')?.textContent === place && isDrawn(element())) done(performance.now() - began);
    else requestAnimationFrame(look);
  };
  link.click();
  requestAnimationFrame(look);
})
"""
TABS, EVERY = 20, 4.0


def large_study(options: Options, home: Path) -> list[Figure]:
    """The results of a million ratings in a browser: counts and means, then the verdict computed in the background."""
    world = rated_world(home, LARGE)
    with running_app(home) as server, sync_playwright() as player, _of_lead(player, world, server) as page:
        page.goto(f"{server.url}/log?study={world.slug}")
        first = _cost_of_opening(server, page, MEANS)
        verdicts, after = [_cost(server, lambda: page.wait_for_selector(COMPUTED))], []
        computed = page.locator(COMPUTED).inner_text()
        for _ in range(options.rounds(5)):
            _opened(page, "Log", CONTENT)
            with ThreadPoolExecutor(1) as pool:  # Playwright uses this thread's event loop
                pool.submit(lambda: asyncio.run(_one_more(world, server))).result()
            after.append(_cost_of_opening(server, page, PICTURE))
        page.wait_for_selector("text=are being computed")
        verdicts.append(_cost(server, lambda: page.wait_for_function(NEWER, arg=computed)))
        memory = server.peak_mb()
    note, what = (
        f"{LARGE:,} ratings, 5 criteria × 3 systems, in a browser; server CPU",
        f"results of {LARGE:,} ratings:",
    )
    read = f"{note} from the click to counts and means, for which the ratings are read once"
    drawn = f"{note} from the click to the last verdict with its time and picture"
    beside = f"{note} of all steps, while the page can be used"
    return [
        at_most(f"{what} first page of a server", "s", [first], 4, note=read),
        at_most(f"{what} after one new annotation", "s", after, 0.8, note=drawn),
        at_most(f"{what} a new verdict in the background", "s", verdicts, 10, note=beside),
        at_most(f"{what} memory", "MB", [memory], 1200, note="the largest resident size of the server in all of that"),
    ]


def clicks(options: Options, home: Path) -> list[Figure]:
    """30,000 ratings in a browser: from a click to the heading, the page's own content, the chart and the grid."""
    world = rated_world(home, PREPARED)
    pages, pictures, grids = [], [], []
    with running_app(home) as server, sync_playwright() as player, _of_lead(player, world, server) as page:
        page.goto(f"{server.url}/log?study={world.slug}")
        for place, what in (("Results", PICTURE), *((place, CONTENT) for place in OTHERS), ("Ratings", GRID)):
            _opened(page, place, what)  # imports and caches that a process needs once
        for _ in range(options.rounds(5)):
            pages += [_opened(page, place, CONTENT) for place in ("Results", *OTHERS)]
            grids.append(_opened(page, "Ratings", GRID))
            pictures.append(_opened(page, "Results", PICTURE))
    note = f"{PREPARED:,} ratings; from the click in a browser, every page opened once before"
    return [
        at_most(f"{PREPARED:,} ratings: heading and first own content", "s", pages, 0.3, note=note),
        at_most(f"{PREPARED:,} ratings: picture of prepared results", "s", pictures, 1, note=note),
        at_most(f"{PREPARED:,} ratings: a page of the grid", "s", grids, 3, note=note),
    ]


@contextmanager
def _of_lead(player: Playwright, world: World, server: Server) -> Iterator[Page]:
    """An empty page of a browser with the lead's cookie."""
    browser = launch_chromium(player, FLAGS)
    try:
        context = browser.new_context(viewport=SIZE)
        context.add_cookies([{"name": name, "value": value, "url": server.url} for name, value in world.lead.items()])
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        yield page
    finally:
        browser.close()


def _opened(page: Page, place: str, what: str) -> float:
    """Seconds from a click on a place of the study until its heading and the first such element are drawn."""
    page.wait_for_selector(AT_REST)
    links = page.locator(".st-key-frame-places a, .st-key-heading a")
    milliseconds: float = links.filter(has_text=re.compile(f"^{place}$")).first.evaluate(CLICKED, [place, what])
    return milliseconds / 1000


async def _one_more(world: World, server: Server) -> None:
    async with world.annotator(server.url, ANNOTATORS) as annotator:
        await annotate(annotator)


def _cost_of_opening(server: Server, page: Page, what: str) -> float:
    """Server CPU seconds from a click on *Results* until the element is drawn; the previous page has finished."""
    page.wait_for_selector(AT_REST)
    return _cost(server, lambda: _opened(page, "Results", what))


def _cost(server: Server, act: Callable[[], Any]) -> float:
    """Server CPU seconds during `act`."""
    before = server.cpu_seconds()
    act()
    return server.cpu_seconds() - before


def many_tabs(options: Options, home: Path) -> list[Figure]:
    """The server's CPU time for open results pages that follow a study."""
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
    """Percent of a core in three periods of this length, after one to settle."""
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
                before = server.cpu_seconds()
                await asyncio.sleep(seconds)
                shares.append(100 * (server.cpu_seconds() - before) / seconds)
            for task in working:
                task.cancel()
    return shares


@asynccontextmanager
async def _page(world: World, server: Server) -> AsyncIterator[PageSession]:
    """A lead's tab on the results page, not yet opened."""
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(cookies=world.lead, cookie_jar=jar) as http:
        page = PageSession(http, server.url, "results", f"study={world.slug}")
        try:
            yield page
        finally:
            await page.close()


async def _ask(page: PageSession, number: int) -> None:
    """Simulates the page's timer: its fragment runs every few seconds, and redraws the page after a change."""
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
