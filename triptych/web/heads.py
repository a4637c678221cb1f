"""Limits what a connection may send, and for how long, before there is a request or message that the gate can check;
and how long it may leave an answer unread.

uvicorn's parser in C, httptools, has no limit: a connection that sends an endless address or header line would use up
all memory, and each piece would be copied with everything before it, so that nobody else gets an answer.
"""

from __future__ import annotations

import asyncio
import socket
from collections import defaultdict
from typing import Any

import uvicorn.config
from starlette.requests import cookie_parser
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import CloseCode, Frame
from websockets.http11 import Request

from triptych.web import budgets, messages, origins
from triptych.web.session import cookie_in, login_secret

KB = 2**10
LONGEST_HEAD = 64 * KB  # as in h11, uvicorn's other parser
MOST_LINES = 250  # of a head; each cookie counts as one. Browsers and proxies send some dozens
HEAD_SECONDS = 30.0
BODY_SECONDS, SLOWEST_BODY = 30.0, 256 * KB  # a body may take this long, and a second more for each of so many bytes
READ_SECONDS = 60.0
LEAST_READ = 64 * KB  # in READ_SECONDS; slower than any line in use, and the answer waits in memory
PIECE = 4 * KB  # of received bytes; the limits are checked after each piece
MOST_WAITING = 8  # requests behind an unanswered one; browsers send none
LONGEST_SOCKET_MESSAGE = 4096 * KB  # the values of a page's widgets; uploads come by HTTP
ENDING = b"Content-Length: 0\r\nConnection: close\r\n\r\n"
# Python 3.11 takes seconds on the event loop to unquote 60 KB of backslashes. Readers of cookies strip a no-break space
# from a name, and with it another host may set what is then read as our `__Host-` cookie.
COOKIE_BYTES = bytes(byte if 0x20 <= byte < 0x7F and byte != ord("\\") else ord("?") for byte in range(256))
UNREADABLE = b"HTTP/1.1 400 Bad Request\r\n" + ENDING
TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\n" + ENDING
NO_LENGTH = b"HTTP/1.1 411 Length Required\r\n" + ENDING
TOO_MANY = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 5\r\n" + ENDING
# by address, and there by login ("" for strangers); oldest first
_connections: defaultdict[str, defaultdict[str, dict[LimitedHttp, None]]] = defaultdict(lambda: defaultdict(dict))


class UnreadLimit(asyncio.Protocol):
    """Ends a connection whose other side reads almost nothing of what it was sent, which takes memory until it does.

    `close` of a transport waits for that reader, too, for ever.
    """

    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    unread = 0  # bytes at the last look
    next_look: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        # the kernel would take megabytes for a proxy on this machine, and more of them only long after, so that slow
        # readers seem to read nothing
        tcp = transport.get_extra_info("socket")
        if hasattr(socket, "TCP_NOTSENT_LOWAT") and tcp is not None and tcp.family != socket.AF_UNIX:
            tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, LEAST_READ)
        if self.transport.get_write_buffer_size():  # of an answer before the handshake of a websocket
            self._look_again()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look_again()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._look_no_more()

    def connection_lost(self, exc: Exception | None) -> None:
        self._look_no_more()
        super().connection_lost(exc)

    def _look_again(self) -> None:
        self._look_no_more()
        self.unread = self.transport.get_write_buffer_size()
        self.next_look = self.loop.call_later(READ_SECONDS, self._look)

    def _look(self) -> None:
        if self.transport.get_write_buffer_size() > max(self.unread - LEAST_READ, 0):
            self.transport.abort()
        else:
            self._look_again()

    def _look_no_more(self) -> None:
        if self.next_look is not None:
            self.next_look.cancel()
            self.next_look = None


class LimitedSocket(UnreadLimit, WebSocketsSansIOProtocol):
    """A websocket that is closed if it sends too many frames: the gate never sees pings and empty fragments.

    A frame of six bytes costs the event loop as much as a message: 7 MB of them blocked the server for 17 s.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.frames_taken = budgets.Spending(budgets.all_budgets()["frames"])
        self.conn.max_message_size = messages.LONGEST  # of anybody but leads: an unfinished message waits in memory

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        if not self.close_sent:  # the handshake was in order
            self.scope["extensions"] |= {messages.LONG: {"take": self.take_long_messages}}

    def take_long_messages(self) -> None:
        self.conn.max_message_size = self.config.ws_max_size

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel queued requests of a disconnected page, which would otherwise run for hours at a stranger's rate."""
        waiting = [self.queue.get_nowait() for _ in range(self.queue.qsize())]
        for message in waiting:
            if message["type"] != "websocket.receive":
                self.queue.put_nowait(message)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), PIECE):
            if not self.transport.is_closing():
                super().data_received(data[start : start + PIECE])
        if self.conn.handshake_exc is not None and not self.transport.is_closing():
            self.transport.write(UNREADABLE)  # uvicorn would wait for another message without end
            self.transport.close()

    def handle_parser_exception(self) -> None:
        """End a connection whose bytes cannot be read; uvicorn logs errors for those before its answer to the
        handshake, and for that answer.
        """
        if self.conn.close_sent is None:
            self.handshake_complete = self.disconnected = True
            self.transport.abort()
        else:
            super().handle_parser_exception()

    def handle_text(self, event: Frame) -> None:
        """As bytes, since pages send no text: uvicorn logs each one that is no UTF-8."""
        self.handle_bytes(event)

    def handle_events(self) -> None:
        is_too_much = self.frames_taken.take("", len(self.conn.events)) > 0
        super().handle_events()
        if is_too_much and not self.transport.is_closing():
            self.conn.fail(CloseCode.POLICY_VIOLATION)
            self.transport.write(b"".join(self.conn.data_to_send()))
            self.transport.close()


class LimitedHttp(UnreadLimit, HttpToolsProtocol):
    """A connection that is closed if the head of a request, or the lines after a body, are too long or take too long.

    If a login, or the strangers at an address, open more connections than their budget allows, the oldest is closed; if
    all at an address do, the oldest of those who have most. A connection counts for its login from the first head with
    a valid one, so that strangers at an address cannot close the connections of people who are signed in.
    """

    def __init__(self, config: uvicorn.Config, *args: Any, **options: Any) -> None:
        config.ws_max_size = min(config.ws_max_size, LONGEST_SOCKET_MESSAGE)
        super().__init__(config, *args, **options)
        self.ws_protocol_class = LimitedSocket
        self.bytes_of_head = self.lines_of_head = 0
        self.deadline: asyncio.TimerHandle | None = None
        self.counted_for = "", ""  # address and login
        self.unanswered: list[RequestResponseCycle] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._await_head()
        peer = self.client[0] if self.client else ""
        if not origins.configured().trusts(peer):
            self._count_for(budgets.key_of(None, peer), "")

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), PIECE):
            if not self.transport.is_closing() and self.transport.get_protocol() is self:
                self._receive(data[start : start + PIECE])

    def _receive(self, data: bytes) -> None:
        self.bytes_of_head += len(data)
        super().data_received(data)
        if len(self.pipeline) > MOST_WAITING:
            self.transport.close()
        if self.bytes_of_head > LONGEST_HEAD:
            self._refuse_head()

    def _refuse_head(self) -> None:
        if not self.transport.is_closing():
            if self.cycle is None or self.cycle.response_complete:
                self.transport.write(TOO_LONG)
            self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.lines_of_head = 0
        self._await_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Replace in a cookie what none of ours has. Raises ValueError, which ends the parsing, for too many lines."""
        is_cookie = name.lower() == b"cookie"
        self.lines_of_head += 1 + (value.count(b";") if is_cookie else 0)
        if self.lines_of_head > MOST_LINES:
            raise ValueError("The head has too many lines.")
        super().on_header(name, value.translate(COOKIE_BYTES) if is_cookie else value)

    def send_400_response(self, msg: str) -> None:
        if self.lines_of_head > MOST_LINES:
            self._refuse_head()
        else:
            super().send_400_response(msg)

    def on_headers_complete(self) -> None:
        self.bytes_of_head = 0
        self._stop_waiting()
        self._await_body()
        address, counted_login = self.counted_for
        if address and not counted_login:
            self._count_for(address, self._login() or "")
        super().on_headers_complete()
        cycles = [*self.unanswered, self.cycle]
        self.unanswered = [cycle for cycle in cycles if cycle is not None and not cycle.response_complete]

    def on_chunk_header(self) -> None:
        """Refuse a body of unstated length, as the gate would: each of its bytes may cost as much as a request."""
        if not self.transport.is_closing():
            if self.cycle is not None and not self.cycle.response_started:
                self.transport.write(NO_LENGTH)
            self.transport.close()

    def on_body(self, body: bytes) -> None:
        self.bytes_of_head = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self.bytes_of_head = 0
        self._stop_waiting()
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._count_for()
        super().connection_lost(exc)
        for cycle in self.unanswered:  # uvicorn ends only the last of several, and logs what the others then write
            cycle.disconnected = True
            cycle.message_event.set()
        if self.cycle is not None:
            self.cycle.body = bytearray()  # a reference cycle, so the body would be freed much later

    def handle_websocket_upgrade(self) -> None:
        """End a connection that asks for a socket before its answers have ended, as no browser does.

        They would be written whole into memory, and never learn that the connection was lost.
        """
        if self.unanswered:
            self.transport.abort()
            return
        self._count_for()  # the gate counts sockets
        self._look_no_more()
        super().handle_websocket_upgrade()

    def _count_for(self, address: str = "", login: str = "") -> None:
        """Count this connection at an address for a login, "" for strangers; without an address, for nobody."""
        before, login_before = self.counted_for
        if (address, login) == self.counted_for:
            return
        self.counted_for = address, login
        if before:
            _connections[before][login_before].pop(self)
            if not _connections[before][login_before]:
                del _connections[before][login_before]
            if not _connections[before]:
                del _connections[before]
        if address:
            here = _connections[address]
            here[login][self] = None
            most = budgets.all_budgets()
            if len(here[login]) > most["connections"].at_once:
                next(iter(here[login])).end()
            elif sum(map(len, here.values())) > most["address_connections"].at_once:
                fullest = max(here.values(), key=len)
                next(iter(fullest)).end()

    def end(self) -> None:
        """Close the connection; an unanswered request gets an answer first."""
        self._count_for()
        waits = self.cycle is not None and not self.cycle.response_started
        if waits or (self.bytes_of_head and (self.cycle is None or self.cycle.response_complete)):
            self.transport.write(TOO_MANY)
        self.transport.close()

    def _login(self) -> str | None:
        """The secret of the login in the head, if its signature is valid."""
        sent = b"; ".join(value for name, value in self.headers if name == b"cookie").decode("latin-1")
        return login_secret(cookie_in(cookie_parser(sent), self.scheme == "https"))

    def _await_head(self) -> None:
        if self.deadline is None:
            self.deadline = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _await_body(self) -> None:
        """End a connection whose body does not come: what came of it waits in memory."""
        length = next((int(value) for name, value in self.headers if name.lower() == b"content-length"), 0)
        if length:
            self.deadline = self.loop.call_later(BODY_SECONDS + length / SLOWEST_BODY, self.transport.close)

    def _stop_waiting(self) -> None:
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None


def limit_what_is_read_before_the_gate() -> None:
    """Limit every connection: uvicorn has chosen its class before `streamlit run` reads the app, so it is replaced."""
    setattr(HttpToolsProtocol, "__new__", lambda _, *args, **options: object.__new__(LimitedHttp))  # noqa: B010 (mypy forbids assigning to a method)
