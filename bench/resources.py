"""Start-up, memory, and the effect of a study's size."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from statistics import fmean, median

from playwright.sync_api import Page, sync_playwright

from bench.client import Annotator
from bench.figures import Figure, at_most
from bench.load import annotate, annotators, work_until
from bench.options import Options
from bench.server import Server, free_port, is_healthy, running_app, start_server, wait_until
from bench.surface import USABLE, signed_in
from bench.world import World, build_world

MANY_ITEMS, FEW_ITEMS = 100_000, 200
BARE_APP, BARE_USABLE = "bench/bare_app.py", "button#bare"


def start(options: Options, home: Path) -> list[Figure]:
    """From the command to a usable page in an open browser, in alternation with a bare Streamlit app."""
    world = build_world(home)
    pages = {"bare": (BARE_APP, "", BARE_USABLE), "ours": ("app.py", f"annotate?study={world.slug}", USABLE)}
    seconds: dict[str, list[float]] = {"bare": [], "ours": []}
    with sync_playwright() as player:
        for _ in range(options.rounds(7)):
            for name, (script, path, usable) in pages.items():
                port = free_port()
                with signed_in(player, world, f"http://127.0.0.1:{port}") as page:
                    began = time.perf_counter()
                    server = start_server(home, port=port, script=script)
                    seconds[name].append(_time_when_usable(page, server, path, usable) - began)
    ratios = [ours / bare for ours, bare in zip(seconds["ours"], seconds["bare"], strict=True)]
    note = "from `streamlit run app.py` to a workbench that takes answers; Chromium is open, its cache empty"
    bare = median(seconds["bare"])
    against = f"the same for a Streamlit app of one component, started in turn with ours: median {bare:.3g} s"
    return [
        at_most("command → usable annotate page", "s", seconds["ours"], 2.8, note=note),
        at_most("command → usable page, against a bare Streamlit app", "×", ratios, 1.25, note=against),
    ]


def _time_when_usable(page: Page, server: Server, path: str, usable: str) -> float:
    """The time (perf_counter, in seconds) at which a starting server's page is usable; then the server is stopped."""
    try:
        wait_until(lambda: is_healthy(server.url), server, "answer")
        page.goto(f"{server.url}/{path}", wait_until="commit")
        page.wait_for_selector(usable)
        return time.perf_counter()
    finally:
        server.stop()


def idle(options: Options, home: Path) -> list[Figure]:
    """Resident memory of an idle server that has served one annotator."""
    world = build_world(home)
    samples = [_idle_mb(home, world) for _ in range(options.rounds(5))]
    note = "resident memory five seconds after one annotator opened the annotate page and left"
    return [at_most("idle memory", "MB", samples, 170, note=note)]


def _idle_mb(home: Path, world: World) -> float:
    async def visit(url: str) -> None:
        async with world.annotator(url, 0):
            pass

    with running_app(home) as server:
        asyncio.run(visit(server.url))
        time.sleep(5)
        return server.resident_mb()


def memory(options: Options, home: Path) -> list[Figure]:
    """Resident memory while 20 annotators work, leave and come back."""
    seconds = options.seconds(60 * options.minutes)
    world = build_world(home, items=round(seconds * 12), annotators=20, raters=20)
    with running_app(home) as server:
        samples = asyncio.run(_sampled(world, server, seconds))
    quarter = len(samples) // 4
    early, late = fmean(samples[quarter : 2 * quarter]), fmean(samples[-quarter:])
    note = (
        f"20 annotators for {seconds / 60:.3g} min, 0.2 s between items, the page opened again every 15 s: mean of "
        f"the last quarter ({late:.0f} MB) over the second ({early:.0f} MB); the target is for 20 min (--minutes 20)"
    )
    return [
        at_most("memory under load: growth", "×", [late / early], 1.05, note=note),
        at_most("memory under load", "MB", samples, 400, by="p95", note="one value every second"),
    ]


async def _sampled(world: World, server: Server, seconds: float) -> list[float]:
    samples: list[float] = []

    async def watch() -> None:
        while True:
            samples.append(server.resident_mb())
            await asyncio.sleep(1)

    async with annotators(world, server.url) as people:
        end = time.perf_counter() + seconds
        watching = asyncio.create_task(watch())
        await asyncio.gather(*(_come_and_go(person, end) for person in people))
        watching.cancel()
    return samples


async def _come_and_go(annotator: Annotator, end: float) -> None:
    while time.perf_counter() < end:
        await work_until(annotator, min(end, time.perf_counter() + 15), drafts=1, pause=0.2)
        await annotator.open()


def size(options: Options, home: Path) -> list[Figure]:
    """A study of 100,000 items against one of 200: start-up, and the time of one item."""
    worlds = {count: build_world(home / str(count), count, raters=1) for count in (FEW_ITEMS, MANY_ITEMS)}
    starts: dict[int, list[float]] = {FEW_ITEMS: [], MANY_ITEMS: []}
    waits: dict[int, list[float]] = {FEW_ITEMS: [], MANY_ITEMS: []}
    for _ in range(options.rounds(6)):
        # in alternation, so that other load on the machine affects both
        for count, world in worlds.items():
            began = time.perf_counter()
            with running_app(world.home) as server:
                starts[count].append(time.perf_counter() - began)
                waits[count].append(1000 * median(asyncio.run(_one_after_another(world, server, 25))))
    return [_against("start-up", starts, "s"), _against("submit → next item", waits, "ms")]


def _against(what: str, values: dict[int, list[float]], unit: str) -> Figure:
    """The large study's value divided by the small one's, one ratio per round."""
    ratios = [many / few for many, few in zip(values[MANY_ITEMS], values[FEW_ITEMS], strict=True)]
    few, many = median(values[FEW_ITEMS]), median(values[MANY_ITEMS])
    note = f"medians: {many:.3g} {unit} with {MANY_ITEMS:,} items, {few:.3g} {unit} with {FEW_ITEMS}"
    return at_most(f"{MANY_ITEMS:,} items: {what}", "×", ratios, 1.2, note=note)


async def _one_after_another(world: World, server: Server, items: int) -> list[float]:
    async with world.annotator(server.url, 0) as annotator:
        return [await annotate(annotator, pause=0.12) for _ in range(items)]
