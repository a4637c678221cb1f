"""A server that answers before it is open: files at once, everything else when there is something to answer it."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from threading import Event
from unittest.mock import ANY

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route, Router

from triptych.storage.database import DatabaseAway
from triptych.web import opening, routes
from triptych.web.assets import Ahead, version
from triptych.web.opening import Doorway, Opened, Opening, OurRoutes, Straight


async def _ours(_) -> PlainTextResponse:
    return PlainTextResponse("ours")


class Refusing:
    """Middleware that lets nothing through."""

    def __init__(self, app, opening) -> None:
        self.answer = PlainTextResponse("no", 418)

    async def __call__(self, scope, receive, send) -> None:
        await self.answer(scope, receive, send)


def app_that_opens(allowed: Event, *between: type) -> Starlette:
    """Streamlit's place is taken by an app that answers everything; ours opens when `allowed` is set."""

    @contextmanager
    def running():
        allowed.wait(10)
        ours = [Route("/desk/act", _ours, methods=["POST"])]
        yield Opened(ours, Router(ours), lambda app: app)

    begun = Opening(running)
    page = Mount("/", app=PlainTextResponse("page"))
    layers = [Middleware(layer, opening=begun) for layer in (Doorway, *between)]
    return Starlette(routes=[OurRoutes(begun), page], middleware=layers, lifespan=begun.lifespan)


async def ask(app, path: str, method: str = "GET") -> tuple[int, bytes, dict[bytes, bytes]]:
    said: list = []

    async def send(message) -> None:
        said.append(message)

    scope = {"type": "http", "method": method, "path": path, "headers": [], "query_string": b"", "root_path": ""}
    await app(scope, None, send)
    return said[0]["status"], b"".join(part.get("body", b"") for part in said), dict(said[0]["headers"])


@pytest.mark.parametrize("path", ["/_stcore/health", "/healthz", "/results", "/report/a.zip", "/desk/act"])
def test_only_files_are_given_out_before_the_app_is_open(path):
    allowed = Event()
    app = app_that_opens(allowed)

    async def visit():
        async with app.router.lifespan_context(app):
            early = asyncio.create_task(ask(app, path, "POST"))
            for file in ("/", "/annotate", "/static/js/x.js", "/assets/1/x.js"):
                assert (await ask(app, file))[1] == b"page"
            waited = not early.done()
            allowed.set()
            return waited, (await early)[1]

    assert asyncio.run(visit()) == (True, b"ours" if path == "/desk/act" else b"page")


def test_our_routes_keep_their_methods_and_leave_the_rest_to_streamlit():
    allowed = Event()
    allowed.set()
    app = app_that_opens(allowed)

    async def visit():
        async with app.router.lifespan_context(app):
            return [(await ask(app, "/desk/act", method))[:2] for method in ("POST", "GET")]

    assert asyncio.run(visit()) == [(200, b"ours"), (200, b"page")]


def test_a_server_that_cannot_open_ends_and_says_why(monkeypatch, caplog):
    @contextmanager
    def running():
        raise DatabaseAway("The database is on holiday.")
        yield

    ended: list[int] = []
    monkeypatch.setattr(opening.os, "_exit", ended.append)
    Opening(running)._open()

    assert ended == [opening.FAILED]
    assert "on holiday" in caplog.text


def test_a_database_that_is_away_is_answered_in_words():
    async def broken(_):
        raise DatabaseAway("The database is on holiday.")

    status, body, _ = asyncio.run(ask(routes.explained(Router([Route("/x", broken)])), "/x"))

    assert (status, b"on holiday" in body) == (503, True)


@pytest.mark.parametrize(("path", "named"), [("/annotate", True), ("/", False)])
def test_the_workbenchs_modules_are_named_ahead_where_they_will_be_needed(path, named):
    headers = asyncio.run(ask(Ahead(PlainTextResponse("page")), path))[2]

    assert (f"<assets/{version()}/entry.js>; rel=modulepreload".encode() in headers.get(b"link", b"")) == named


def test_what_a_workbench_sends_reaches_our_routes_past_what_lies_between():
    allowed = Event()
    allowed.set()
    app = app_that_opens(allowed, Straight, Refusing)

    async def visit():
        async with app.router.lifespan_context(app):
            assert await ask(app, "/desk/act", "POST") == (200, b"ours", ANY)
            assert (await ask(app, "/other"))[0] == 418

    asyncio.run(visit())
