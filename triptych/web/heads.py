"""What a connection may send, and for how long, before there is a request or message that the gate can judge.

uvicorn's parser in C, httptools, has no limit: one connection with an address or header line without end took memory
until none was left, and copied each piece together with all before it, so that the server answered nobody.
"""

from __future__ import annotations

import asyncio
from typing import Any

import uvicorn.config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

KB = 2**10
LONGEST_HEAD = 64 * KB  # as uvicorn's other parser, h11, has it
HEAD_SECONDS = 30.0
LONGEST_SOCKET_MESSAGE = 4096 * KB  # the values of a page's widgets; uploads come by HTTP
TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class LimitedHttp(HttpToolsProtocol):
    """A connection that ends when the head of a request, or the lines after a body, are too long or take too long."""

    def __init__(self, config: uvicorn.Config, *args: Any, **options: Any) -> None:
        config.ws_max_size = min(config.ws_max_size, LONGEST_SOCKET_MESSAGE)
        super().__init__(config, *args, **options)
        self.bytes_of_head = 0
        self.deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn's own
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        self.bytes_of_head += len(data)
        super().data_received(data)
        if self.bytes_of_head > LONGEST_HEAD and not self.transport.is_closing():
            if self.cycle is None or self.cycle.response_complete:
                self.transport.write(TOO_LONG)
            self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._await_head()

    def on_headers_complete(self) -> None:
        self.bytes_of_head = 0
        self._stop_waiting()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self.bytes_of_head = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self.bytes_of_head = 0
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        if self.deadline is None:
            self.deadline = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None


def limit_what_is_read_before_the_gate() -> None:
    """Make every connection a limited one: uvicorn has chosen its class before `streamlit run` reads the app."""
    # found by its name, since to the type checker it is no attribute that may be set
    setattr(HttpToolsProtocol, "__new__", lambda _, *args, **options: object.__new__(LimitedHttp))  # noqa: B010
