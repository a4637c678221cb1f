"""A connection that reads nothing of what it asked for takes memory for a short time only."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn
import uvloop
from helpers.attackers import upgrade

from triptych.web import heads
from triptych.web.heads import LimitedHttp

ANSWER = b"x" * 8 * 2**20  # more than the kernel takes for a reader that reads nothing
SMALL = 2**16
HOST = b"Host: 127.0.0.1\r\n"


async def app(scope, receive, send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.send", "bytes": ANSWER})
        return
    length = str(len(ANSWER)).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
    await send({"type": "http.response.body", "body": ANSWER})


@asynccontextmanager
async def asked(request: bytes) -> AsyncIterator[tuple[socket.socket, uvicorn.server.ServerState]]:
    """A connection that sent this request and reads nothing yet, and what the server knows of its connections."""
    config = uvicorn.Config(app, lifespan="off", ws="websockets-sansio")
    config.load()
    state = uvicorn.server.ServerState()
    loop = asyncio.get_running_loop()
    listening = await loop.create_server(lambda: LimitedHttp(config, state, {}), "127.0.0.1", 0)
    async with listening:
        with socket.create_connection(listening.sockets[0].getsockname()) as connection:
            connection.setblocking(False)
            await loop.sock_sendall(connection, request)
            yield connection, state
        listening.close()


async def until(holds) -> None:
    async with asyncio.timeout(10):
        while not holds():
            await asyncio.sleep(0.01)


def run(attempt):
    """On the event loop of the server."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(attempt)


REQUESTS = {
    "an answer": b"GET / HTTP/1.1\r\n" + HOST + b"\r\n",
    "an answer on a connection that ends": b"GET / HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n",
    "a websocket": upgrade("http://127.0.0.1"),
}


@pytest.mark.parametrize("request_sent", REQUESTS.values(), ids=REQUESTS)
def test_a_connection_that_reads_nothing_ends(request_sent, monkeypatch):
    monkeypatch.setattr(heads, "READ_SECONDS", 0.1)

    async def attempt() -> None:
        async with asked(request_sent) as (_, state):
            await until(lambda: state.connections)
            await until(lambda: not state.connections)

    run(attempt())


def test_a_connection_that_reads_slowly_gets_everything(monkeypatch):
    monkeypatch.setattr(heads, "READ_SECONDS", 0.1)
    monkeypatch.setattr(heads, "LEAST_READ", 1)

    async def attempt() -> int:
        loop, received = asyncio.get_running_loop(), 0
        async with asked(REQUESTS["an answer on a connection that ends"]) as (connection, _):
            while piece := await loop.sock_recv(connection, SMALL):
                received += len(piece)
                await asyncio.sleep(0)
        return received

    assert run(attempt()) > len(ANSWER)


def test_the_kernel_takes_little_that_nobody_reads():
    """For a proxy it took megabytes, and more only after a third was read, so that its slow readers seemed to stop."""

    async def attempt() -> int:
        async with asked(REQUESTS["an answer"]) as (_, state):
            await until(lambda: state.connections)
            connection = next(iter(state.connections))
            await until(connection.transport.get_write_buffer_size)
            return connection.transport.get_write_buffer_size()

    assert run(attempt()) > len(ANSWER) - 2**20


def test_an_account_over_its_connections_frees_one_that_reads_nothing(monkeypatch):
    """Ended as the oldest, it was counted no more and stayed open, as its reader did not take the rest."""
    monkeypatch.setattr(heads, "READ_SECONDS", 0.1)

    async def attempt() -> None:
        async with asked(REQUESTS["an answer"]) as (_, state):
            await until(lambda: state.connections)
            next(iter(state.connections)).end()
            await until(lambda: not state.connections)

    run(attempt())
