"""Uploads and messages: who sends them is asked before they are read, and they have a limit."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace

import aiohttp
import pytest
from helpers.asgi import sent
from helpers.attackers import ask, cookie
from helpers.studies import SMALL_RUBRIC
from starlette.applications import Starlette
from starlette.datastructures import Headers, UploadFile
from starlette.formparsers import MultiPartParser
from starlette.responses import Response
from starlette.routing import Route

from bench.client import PageSession, our_headers
from bench.server import Server, running_app
from bench.world import World, build_world
from components.shell import uploads
from components.study.import_preview import item_findings
from triptych.formats import read_items
from triptych.rubric.files import parse_rubric
from triptych.study.settings import Formats
from triptych.web import work
from triptych.web.gate import keep_uploads_in_memory
from triptych.web.session import COOKIE, HEADER, HEADER_VALUE

MB = 2**20
UPLOAD = "/_stcore/upload_file/{session}/{file}"
ROUTES = ("/desk/draft", "/desk/renew", "/desk/act", "/desk/items", "/lead/rubric")


@dataclass(frozen=True)
class Served:
    server: Server
    world: World

    @property
    def url(self) -> str:
        return self.server.url

    def people(self) -> dict[str, dict[str, str]]:
        """Everybody who is not a signed-in lead."""
        forged = self.world.lead[COOKIE][:-2] + ("AA" if not self.world.lead[COOKIE].endswith("AA") else "BB")
        return {
            "stranger": {},
            "annotator": cookie(self.world.cookies[0]),
            "forger": cookie({COOKIE: forged}),
            "page's visitor": cookie({"_streamlit_xsrf": "x"}),
        }


@pytest.fixture(scope="module")
def served(tmp_path_factory, forked) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("bodies")
    world = build_world(home, items=5, annotators=2)
    with running_app(home, start=forked) as server:
        yield Served(server, world)


@pytest.mark.parametrize("who", ["stranger", "annotator", "forger", "page's visitor"])
@pytest.mark.parametrize("method", ["PUT", "DELETE", "POST"])
def test_only_a_lead_uploads_and_nobody_else_is_read(served, who, method):
    """The body is announced and never comes: a server that reads it first would wait."""
    headers = {**served.people()[who], "Origin": served.url, "Content-Length": str(20 * MB)}
    answer = ask(served.url, method, UPLOAD.format(session="a", file="b"), headers)

    assert answer.status == 403
    assert answer.headers["connection"] == "close"


@pytest.mark.parametrize("path", [UPLOAD.format(session="a", file="b"), *ROUTES, "/api/v1/studies"])
def test_a_body_of_unsaid_length_is_refused_unread(served, path):
    """It was charged as a small one to a lead's budget, and read up to the route's limit."""
    method = "PUT" if "upload" in path else "POST"
    headers = {**cookie(served.world.lead), **our_headers(served.url), "Transfer-Encoding": "chunked"}
    answer = ask(served.url, method, path, headers)

    assert (answer.status, answer.headers["connection"]) == (411, "close")


@pytest.mark.long
def test_sixty_uploads_of_a_stranger_take_no_memory(served):
    """As many as took a gigabyte: with a live session, its XSRF cookie, and whole files."""

    async def upload_sixty() -> list[int]:
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(cookie_jar=jar) as http:
            async with http.get(f"{served.url}/_stcore/health"):
                pass
            token = next(c.value for c in jar if c.key == "_streamlit_xsrf")
            page = PageSession(http, served.url)
            await page.open()
            session_id = page.session_id
            statuses = []
            for number in range(60):
                form = aiohttp.FormData()
                form.add_field("file", b"x" * (18 * MB), filename="f.csv")
                url = served.url + UPLOAD.format(session=session_id, file=f"f{number}")
                headers = {"X-Xsrftoken": token, "Origin": served.url}
                try:
                    async with http.put(url, data=form, headers=headers) as answer:
                        statuses.append(answer.status)
                except (aiohttp.ClientError, ConnectionError):
                    statuses.append(0)  # hung up on while sending
            await page.close()
            return statuses

    before = served.server.resident_mb()
    statuses = asyncio.run(upload_sixty())

    assert set(statuses) <= {403, 0}
    assert served.server.resident_mb() - before < 100


async def upload(world: World, page: PageSession, name: str, content: str | None) -> int:
    """The status of the answer to a lead's upload under this name; without content, to its deletion."""
    async with page.http.get(f"{page.url}/_stcore/health") as answer:
        token = answer.cookies["_streamlit_xsrf"].value
    boundary, start = "b0undary", 'Content-Disposition: form-data; name="file"; filename="f.csv"'
    headers = {
        **cookie({**world.lead, "_streamlit_xsrf": token}),
        "Content-Type": f"multipart/form-data; boundary={boundary}",
        "X-Xsrftoken": token,
        "Origin": page.url,
    }
    body = b"" if content is None else f"--{boundary}\r\n{start}\r\n\r\n{content}\r\n--{boundary}--\r\n".encode()
    place = UPLOAD.format(session=page.session_id, file=name)
    # sent at once with its head, since a refusal ends the connection
    method = "DELETE" if content is None else "PUT"
    return (await asyncio.to_thread(ask, page.url, method, place, headers, body)).status


@pytest.mark.long
@pytest.mark.parametrize(("length", "of_id"), [(60_000, 2), (0, 60_000)], ids=["long files", "empty ones of long ids"])
def test_a_leads_pages_hold_uploads_up_to_a_limit(tmp_path, forked, length, of_id):
    """In all of them together. A deletion makes room."""
    world = build_world(tmp_path, items=3)

    async def fill(server: Server) -> list[int]:
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(cookies=world.lead, cookie_jar=jar) as http:
            pages = [PageSession(http, server.url) for _ in range(2)]
            for page in pages:
                await page.open()
            names = [f"{number:0{of_id}}" for number in range(5)]
            content = "x" * length
            statuses = [await upload(world, pages[n % 2], name, content) for n, name in enumerate(names)]
            statuses += [await upload(world, pages[0], names[0], what) for what in (None, content)]
            for page in pages:
                await page.close()
            return statuses

    with running_app(tmp_path, {"TRIPTYCH_BUDGETS": "held_bytes=260000"}, start=forked) as server:
        assert asyncio.run(fill(server)) == [204] * 3 + [429] * 2 + [204] * 2


def test_a_lead_uploads(served):
    """With the token of Streamlit's own check, which stays on; a session that does not exist is the next refusal."""
    token = ask(served.url, "GET", "/_stcore/health").headers["set-cookie"].partition(";")[0].partition("=")[2]
    headers = {**cookie({**served.world.lead, "_streamlit_xsrf": token}), "Origin": served.url, "X-Xsrftoken": token}
    answer = ask(served.url, "PUT", UPLOAD.format(session="a", file="b"), headers, b"x")

    assert answer.status == 400
    assert "Invalid session_id" in answer.body
    assert (
        ask(served.url, "PUT", UPLOAD.format(session="a", file="b"), {**headers, "X-Xsrftoken": ""}, b"x").status == 403
    )


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("who", ["stranger", "forger"])
def test_a_message_of_nobody_is_refused_before_it_is_read(served, path, who):
    headers = {**served.people()[who], **our_headers(served.url), "Content-Length": str(4 * MB)}

    assert ask(served.url, "POST", path, headers).status == 401


@pytest.mark.parametrize("path", ROUTES)
def test_a_message_announced_too_long_is_refused_unread(served, path):
    sender = cookie(served.world.lead) if path.startswith("/lead") else served.people()["annotator"]
    headers = {**sender, **our_headers(served.url), "Content-Length": str(3 * MB)}

    assert ask(served.url, "POST", path, headers).status == 413


def test_long_messages_of_an_ended_login_are_refused_unread(served):
    ended = cookie(served.world.cookies[1])
    headers = {**ended, **our_headers(served.url), "Content-Length": str(1 * MB)}
    before = ask(served.url, "POST", "/desk/draft", headers).status
    ask(served.url, "POST", "/auth/sign-out", {**ended, **our_headers(served.url), "Content-Length": "0"})

    assert (before, ask(served.url, "POST", "/desk/draft", headers).status) == (413, 401)


def test_the_event_loop_parses_no_message(monkeypatch):
    """One of 4 MB would hold everybody's requests."""
    parsing: list[threading.Thread] = []

    def noted(body: bytes) -> object:
        parsing.append(threading.current_thread())
        return json.loads(body)

    monkeypatch.setattr(work, "json", SimpleNamespace(loads=noted))
    monkeypatch.setattr(work, "login_secret", lambda _: "a login")
    answer = partial(work.command, lambda _, message: Response(str(message)))
    app = Starlette(routes=[Route("/", answer, methods=["POST"])])

    assert asyncio.run(sent(app, "POST", "/", [(HEADER.encode(), HEADER_VALUE.encode())], b"[1]")) == (200, b"[1]")
    assert parsing
    assert threading.main_thread() not in parsing


def test_no_upload_becomes_a_temporary_file(monkeypatch):
    async def stream() -> AsyncGenerator[bytes, None]:
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="items.csv"\r\n\r\n'
        yield b"x" * 3 * MB + b"\r\n--b--\r\n"

    monkeypatch.setattr(MultiPartParser, "spool_max_size", MultiPartParser.spool_max_size)
    keep_uploads_in_memory()
    headers = Headers({"Content-Type": "multipart/form-data; boundary=b"})
    upload = asyncio.run(MultiPartParser(headers, stream()).parse())["file"]

    assert isinstance(upload, UploadFile)
    assert (upload.size, upload.file.name) == (3 * MB, None)


def test_tabs_keep_what_they_read_up_to_a_limit(monkeypatch):
    """A Parquet file of 0.8 MB took half a gigabyte in each of a lead's tabs, for as long as it was open."""
    tabs = [uploads._Tab() for _ in range(3)]
    present = [tabs[0]]
    monkeypatch.setattr(uploads, "_own", lambda: present[0])
    for number in (0, 1):
        present[0] = tabs[number]
        uploads.keep_read(number, "read", uploads.MOST_KEPT - 1)
    assert [[*tab.read] for tab in tabs] == [[], [1], []]

    uploads.keep_read("assembled", "both", 1)
    assert [*tabs[1].read] == [1, "assembled"]
    uploads.keep_read("another", "file", 1)
    assert [*tabs[1].read] == ["another"]

    tabs[1:2] = []  # the tab is closed
    present[0] = tabs[0]
    gc.collect()
    assert tabs[0] in uploads._tabs
    assert len(uploads._tabs) == 1


def test_findings_about_items_keep_no_file_outside_the_limit(monkeypatch):
    tab = uploads._Tab()
    monkeypatch.setattr(uploads, "_own", lambda: tab)
    file = read_items(b"item_id,context,cand:a,cand:b\n1,Why,So,Thus\n", "items.csv")
    item_findings(file, parse_rubric(SMALL_RUBRIC), Formats())
    assert sum(size for _, size in tab.read.values()) == file.size
