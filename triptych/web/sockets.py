"""Open sockets by the login that opened them. When a login ends, for whatever reason, its sockets are closed."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from contextlib import suppress

from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from triptych.people import logins
from triptych.storage.database import reading
from triptych.storage.unavailable import DatabaseUnavailable
from triptych.web.messages import Unwanted
from triptych.web.session import web_engine

CHECK_SECONDS = 2.0
POLICY_CODE = 1008  # of a close, RFC 6455: "violates its policy"
log = logging.getLogger("triptych.web")


def live_logins(login_secrets: list[str]) -> set[str]:
    """The subset of these logins that is still valid. Raises DatabaseUnavailable."""
    with reading(web_engine()) as session:
        return logins.live_logins(session, login_secrets)


class OpenSocket:
    """A socket that can be closed from outside the app that serves it."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self._is_closed = False

    async def receive(self) -> Message:
        """As `receive` of ASGI; after a close nothing more is read, however the browser reacts."""
        message: Message = {}
        try:
            message = await self._receive()
        except Unwanted as refusal:
            await self.close(refusal.code, "unwanted message")
        return {"type": "websocket.disconnect", "code": POLICY_CODE} if self._is_closed else message

    async def send(self, message: Message) -> None:
        """As `send` of ASGI; after a close, or once the browser is gone, nothing more is sent.

        Streamlit would take a message that waited meanwhile for one of text, and write an error to the log.
        """
        if self._is_closed:
            return
        self._is_closed = message["type"] == "websocket.close"
        try:
            await self._send(message)
        except OSError:  # the next `receive` says that the browser is gone
            self._is_closed = True

    async def close(self, code: int, reason: str) -> None:
        """Close the connection; the app receives an ordinary disconnect."""
        with suppress(RuntimeError):  # it was already closing
            await self.send({"type": "websocket.close", "code": code, "reason": reason})


class LoginSockets:
    """The open sockets of this process, by login."""

    def __init__(self) -> None:
        self._open: defaultdict[str, set[OpenSocket]] = defaultdict(set)
        self._closing: set[asyncio.Task[None]] = set()
        self._watch: asyncio.Task[None] | None = None

    async def serve(self, app: ASGIApp, login: str, scope: Scope, socket: OpenSocket) -> None:
        """Serve a socket until it or its login ends."""
        self._open[login].add(socket)
        if self._watch is None or self._watch.done():
            self._watch = asyncio.create_task(self._close_ended())
        try:
            await app(scope, socket.receive, socket.send)
        finally:
            self._open[login].discard(socket)
            if not self._open[login]:
                del self._open[login]

    async def _close_ended(self) -> None:
        """Check every two seconds which logins have ended, as long as there are sockets."""
        while self._open:
            await asyncio.sleep(CHECK_SECONDS)
            try:
                await self._look()
            except DatabaseUnavailable:
                pass  # checked again in two seconds
            except Exception as error:  # such as a query that PostgreSQL cancelled; nothing else would go on checking
                log.error("Which logins have ended could not be read; it is tried again.", exc_info=error)

    async def _look(self) -> None:
        open_logins = list(self._open)
        live = await run_in_threadpool(live_logins, open_logins)
        for login in set(open_logins) - live:
            for socket in self._open.get(login, ()):
                # in a separate task: it may wait for an unresponsive browser
                closing = asyncio.create_task(socket.close(POLICY_CODE, "signed out"))
                self._closing.add(closing)
                closing.add_done_callback(self._closing.discard)
