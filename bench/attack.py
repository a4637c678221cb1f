"""Strangers who try to stall the server: how long annotators wait meanwhile, and how much memory the attack takes."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median, quantiles

import aiohttp
from streamlit.proto.WidgetStates_pb2 import WidgetState

from bench.client import Annotator, PageFailed, PageSession, our_headers
from bench.figures import Figure, at_most, observed
from bench.load import annotators
from bench.options import Options
from bench.server import Server, running_app
from bench.world import World, build_world

TABS, UPLOADS, POSTERS = 10, 60, 8
UPLOAD_MB, POST_MB, MB = 18, 4, 2**20
ANNOTATORS, DRAFT_EVERY = 10, 0.5
WARM_UP = 10.0  # seconds
FOREIGN = "http://evil.example"
GONE = (aiohttp.ClientError, ConnectionError, TimeoutError, PageFailed)


def attack(options: Options, home: Path) -> list[Figure]:
    """Times of drafts during attacks, and while the same attackers send requests that are answered with 403 at once."""
    seconds, pairs = options.seconds(20), options.rounds(3)
    world = build_world(home, items=20, annotators=ANNOTATORS, raters=ANNOTATORS)
    with running_app(home) as server:
        quiet = asyncio.run(_drafts(world, server, seconds))
        before = server.resident_mb()
        rounds = [
            (_attacked(world, server, seconds, True), _attacked(world, server, seconds, False)) for _ in range(pairs)
        ]
        growth = max(peak for real, _ in rounds for peak in real[1]) - before
    real = [[1000 * wait for wait in waits] for (waits, _), _ in rounds]
    refused = [[1000 * wait for wait in waits] for _, (waits, _) in rounds]
    note = (
        f"{TABS} tabs that try random sign-ins, {UPLOADS} uploads of {UPLOAD_MB} MB, {POSTERS} posters of {POST_MB} MB "
        f"to the workbench's route and as many with forged tokens to that of scripts, without a pause and in a process "
        f"of their own, against the same number at a route that answers 403 at once; {pairs} pairs of {seconds:.0f} s, "
        f"each after {WARM_UP:.0f} s in which attackers use up their bursts; {ANNOTATORS} annotators, a draft "
        f"every {DRAFT_EVERY:g} s each"
    )
    ratios = list(zip(real, refused, strict=True))
    return [
        observed("drafts, nobody attacks", "ms", [1000 * wait for wait in quiet], note="the same annotators alone"),
        observed("drafts, attackers at a route that answers 403", "ms", sum(refused, []), note=note),
        observed("drafts, attackers at sign-in, uploads and messages", "ms", sum(real, []), note=note),
        at_most("drafts under attack: ratio of medians", "×", [median(a) / median(b) for a, b in ratios], 2, note=note),
        at_most("drafts under attack: ratio of 95 %", "×", [_p95(a) / _p95(b) for a, b in ratios], 2, note=note),
        at_most(
            "memory under attack: growth",
            "MB",
            [growth],
            100,
            note="the maximum, minus the memory after annotators had worked alone",
        ),
    ]


def _p95(values: list[float]) -> float:
    return quantiles(values, n=20)[-1]


def _attacked(world: World, server: Server, seconds: float, real: bool) -> tuple[list[float], list[float]]:
    """Seconds that drafts took, and the server's memory in MB, during an attack."""
    with attackers(server.url, real):
        time.sleep(WARM_UP)
        return asyncio.run(_watched(world, server, seconds))


async def _watched(world: World, server: Server, seconds: float) -> tuple[list[float], list[float]]:
    memory: list[float] = []

    async def watch() -> None:
        while True:
            memory.append(server.resident_mb())
            await asyncio.sleep(0.5)

    watching = asyncio.create_task(watch())
    waits = await _drafts(world, server, seconds)
    watching.cancel()
    return waits, memory


async def _drafts(world: World, server: Server, seconds: float) -> list[float]:
    async with annotators(world, server.url) as people:
        end = time.perf_counter() + seconds
        waits = await asyncio.gather(*(_draft_until(person, end) for person in people))
    return sum(waits, [])


async def _draft_until(annotator: Annotator, end: float) -> list[float]:
    waits = []
    answers = annotator.answers(annotator.view)
    while time.perf_counter() < end:
        began = time.perf_counter()
        status, answer = await annotator.save_draft(annotator.view["work"], answers)
        waits.append(time.perf_counter() - began)
        if status != 200:
            raise PageFailed(f"A draft was refused: {answer}")
        await asyncio.sleep(DRAFT_EVERY)
    return waits


@contextmanager
def attackers(url: str, real: bool) -> Iterator[None]:
    """Run all attackers in a separate process; if not `real`, their requests are answered with 403 at once."""
    process = multiprocessing.get_context("spawn").Process(target=_run_attackers, args=(url, real), daemon=True)
    process.start()
    try:
        yield
    finally:
        process.kill()
        process.join()


def _run_attackers(url: str, real: bool) -> None:
    asyncio.run(_all_attackers(url, real))


async def _all_attackers(url: str, real: bool) -> None:
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), cookie_jar=jar) as http:
        session_id, token = await _own_session(http, url)
        upload = f"{url}/_stcore/upload_file/{session_id}/"
        headers = {**our_headers(url), "X-Xsrftoken": token}
        file, message = b"x" * (UPLOAD_MB * MB), b'{"draft": "' + b"x" * (POST_MB * MB) + b'"}'

        async def put(number: int) -> None:
            own = {**headers, "Origin": url if real else FOREIGN, "Content-Type": "multipart/form-data; boundary=b"}
            body = (
                b'--b\r\nContent-Disposition: form-data; name="f"; filename="f.csv"\r\n\r\n' + file + b"\r\n--b--\r\n"
            )
            async with http.put(f"{upload}{number}" if real else f"{url}/refused", data=body, headers=own):
                pass

        async def post(_: int) -> None:
            own = {**headers, "Origin": url if real else FOREIGN}
            async with http.post(f"{url}/desk/draft", data=message, headers=own):
                pass

        async def forge(number: int) -> None:
            own = {"Authorization": f"Bearer triptych_{number}.forged", "Origin": url if real else FOREIGN}
            async with http.post(f"{url}/api/v1/studies", data=message, headers=own):
                pass

        async def guess(number: int) -> None:
            if real:
                await _guess_passcodes(http, url, number)
            async with http.post(f"{url}/auth/ticket", headers={"Origin": FOREIGN}):
                pass

        work = [(put, UPLOADS), (post, POSTERS), (forge, POSTERS), (guess, TABS)]
        await asyncio.gather(*(_without_end(act, number) for act, count in work for number in range(count)))


async def _own_session(http: aiohttp.ClientSession, url: str) -> tuple[str, str]:
    """The id of a stranger's session, and the token that Streamlit requires for uploads."""
    async with http.get(f"{url}/_stcore/health") as answer:
        token = answer.cookies["_streamlit_xsrf"].value if "_streamlit_xsrf" in answer.cookies else ""
    page = PageSession(http, url)
    await page.open()
    return page.session_id, token


async def _guess_passcodes(http: aiohttp.ClientSession, url: str, number: int) -> None:
    """Guess passcodes in one tab of the sign-in page, until its socket is closed."""
    page = PageSession(http, url)
    await page.open()
    tries = 0
    while True:
        fields = {field.text_input.label: field.text_input.id for field in page.find("text_input")}
        buttons = [e.button.id for e in page.find("button") if e.button.label == "Sign in"]
        if not buttons:
            raise PageFailed("There is no form to sign in with.")
        typed = {"Name": "Bench", "Passcode": f"guess {number} {tries}"}
        widgets = [WidgetState(id=fields[label], string_value=text) for label, text in typed.items()]
        await page.run(*widgets, WidgetState(id=buttons[0], trigger_value=True))
        tries += 1


async def _without_end(act: Callable[[int], Awaitable[None]], number: int) -> None:
    while True:
        with suppress(*GONE):
            await act(number)
        await asyncio.sleep(0)
