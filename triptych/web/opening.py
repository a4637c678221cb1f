"""The app opens while the server already answers: a browser loads Streamlit's own files in the meantime.

Importing our tables and opening the database takes about as long as those files take a browser. Until that is done,
everything that needs more than files waits, `/_stcore/health` too: a server that says it is healthy is open.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from triptych.storage import host

# Streamlit's own files and the workbench's are nobody's; a page is Streamlit's index until its websocket is there.
# Below a page there is nothing: Streamlit's script looks there first for where the app lies.
FILES, PAGES = ("/static/", "/assets/", "/annotate/"), {"/", "/annotate"}
WORK = "/desk/"
LONG = 1400  # bytes: what fits into one packet is not worth compressing
FAILED = 3  # the exit code of a server that could not start
# An import lets the interpreter go only when its turn is over, and sending a file takes many turns. Less than this
# costs more than it brings (`python -m bench start`).
SHORT_TURN = 0.003
log = logging.getLogger("triptych.web")


@dataclass(frozen=True)
class Opened:
    """What there is once the app is open: its routes, what answers them, and what counts every request."""

    routes: Sequence[BaseRoute]
    answer: ASGIApp
    measured: Callable[[ASGIApp], ASGIApp]


class Opening:
    """Opens the app in a thread; `running` imports it, opens it, and closes it in the end."""

    def __init__(self, running: Callable[[], AbstractContextManager[Opened]]) -> None:
        self.found: Opened | None = None
        self.running = running()
        self._under_way: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def lifespan(self, _: object) -> AsyncIterator[dict[str, object]]:
        """Begins to open; what could not be opened ends the process, with the reason."""
        host.send_at_once()
        self._under_way = asyncio.create_task(asyncio.to_thread(self._open))
        yield {}
        await self._under_way
        self.running.__exit__(None, None, None)

    def _open(self) -> None:
        turn = sys.getswitchinterval()
        sys.setswitchinterval(SHORT_TURN)
        try:
            self.found = self.running.__enter__()
        except BaseException as error:
            log.critical("The app did not start.", exc_info=error)
            # the server already runs, and this is not its thread; nothing is open yet that would need closing
            os._exit(FAILED)
        finally:
            sys.setswitchinterval(turn)

    async def wait(self) -> Opened:
        """What there is, as soon as the app is open."""
        if self.found is None:
            await asyncio.shield(self._under_way)
        return self.found


class OurRoutes(BaseRoute):
    """All routes that are ours, as one route; known when the app is open."""

    def __init__(self, opening: Opening) -> None:
        self.opening = opening

    def matches(self, scope: Scope) -> tuple[Match, dict[str, Any]]:
        routes = self.opening.found.routes if self.opening.found else ()
        best = max((route.matches(scope)[0] for route in routes), key=lambda match: match.value, default=Match.NONE)
        return best, {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (await self.opening.wait()).answer(scope, receive, send)


class Doorway:
    """ASGI middleware: whoever comes before the app is open waits, unless for a file that is nobody's."""

    def __init__(self, app: ASGIApp, opening: Opening) -> None:
        self.app, self.opening = app, opening
        self.inside: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.opening.found is None and is_nobodys(scope):
            return await self.app(scope, receive, send)
        if self.inside is None:
            self.inside = (await self.opening.wait()).measured(self.app)
        return await self.inside(scope, receive, send)


class Straight:
    """ASGI middleware: what a workbench sends goes straight to our routes, past Streamlit's layers, which have nothing
    to add to it but compression (`python -m bench two-processes`)."""

    def __init__(self, app: ASGIApp, opening: Opening) -> None:
        self.app, self.opening = app, opening
        self.ours = GZipMiddleware(self._answer, minimum_size=LONG)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_work = scope["type"] == "http" and scope["path"].startswith(WORK)
        await (self.ours if is_work else self.app)(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (await self.opening.wait()).answer(scope, receive, send)


def is_nobodys(scope: Scope) -> bool:
    """Whether this is for a file that everybody may have, or the server's own start and end."""
    if scope["type"] == "http":
        return scope["path"] in PAGES or scope["path"].startswith(FILES)
    return scope["type"] == "lifespan"
