"""A stranger's connection takes neither memory nor processor before it has sent a request that can be judged."""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any
from unittest.mock import Mock

import pytest
import uvicorn
from helpers.attackers import ask, close_code, cookie, handshake, open_socket, place_of, upgrade
from starlette.requests import cookie_parser
from websockets.frames import CloseCode

from bench.server import Server, running_app
from bench.world import build_world
from triptych.web import heads, origins
from triptych.web.heads import LONGEST_HEAD, LimitedHttp, LimitedSocket
from triptych.web.messages import LONGEST
from triptych.web.session import COOKIE, cookie_in, cookie_name, cookie_value

PIECE = b"a" * 2**16
PIECES = 200
HOST = b"Host: 127.0.0.1\r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory, forked) -> Iterator[Server]:
    with running_app(tmp_path_factory.mktemp("heads"), start=forked) as server:
        yield server


def pieces_taken(server: Server, begin: bytes, piece: bytes) -> int:
    """How many pieces were sent before the server hung up; PIECES if it took all."""
    taken = 0
    with socket.create_connection(place_of(server.url), timeout=20) as connection, suppress(OSError):
        connection.sendall(begin)
        while taken < PIECES:
            connection.sendall(piece)
            taken += 1
    return taken


@pytest.mark.parametrize(
    "begin, piece",
    [
        (b"GET /", PIECE),
        (b"GET / HTTP/1.1\r\n" + HOST + b"X: ", PIECE),
        (b"GET / HTTP/1.1\r\n" + HOST, (b"X: " + PIECE[:1000] + b"\r\n") * 60),
        (b"GET / HTTP/1.1\r\n" + HOST, b"".join(b"X%d: y\r\n" % n for n in range(5000))),
        (b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X: " + PIECE + b"\r\n"),
    ],
    ids=["address", "header", "headers", "short headers", "trailers"],
)
def test_a_head_without_end_is_not_read(server, begin, piece):
    assert pieces_taken(server, begin, piece) < PIECES


def test_a_head_that_is_too_long_is_answered(server):
    begin = b"GET / HTTP/1.1\r\n" + HOST + b"X: "
    with socket.create_connection(place_of(server.url), timeout=20) as connection:
        connection.sendall(begin + b"a" * (LONGEST_HEAD + 1 - len(begin)))
        answer = connection.recv(1000)

    assert answer.startswith(b"HTTP/1.1 431 ")
    assert ask(server.url, headers={"X": "a" * 30_000}).status == 200


LINES = {
    "headers": b"".join(b"X%d: y\r\n" % n for n in range(heads.MOST_LINES)),
    "cookies": b"Cookie: " + b"; ".join([b"a=b"] * heads.MOST_LINES) + b"\r\n",
}


@pytest.mark.parametrize("lines", LINES.values(), ids=LINES)
@pytest.mark.parametrize("after", [b"", b"Connection: Upgrade\r\nUpgrade: websocket\r\n"], ids=["request", "handshake"])
def test_a_head_of_too_many_lines_is_refused(server, lines, after):
    """Three hundred connections with heads of 16,000 lines kept everybody waiting for 20 s, and took 500 MB."""
    output = server.output()
    with socket.create_connection(place_of(server.url), timeout=20) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n" + HOST + lines + after + b"\r\n")
        answers = b"".join(iter(lambda: connection.recv(1000), b""))

    assert answers == heads.TOO_LONG
    assert server.output() == output


def test_lines_count_for_each_head_of_a_connection(server):
    """A page sends hundreds of requests on one."""
    request = b"GET /healthz HTTP/1.1\r\n" + HOST + b"X: y\r\n" * 100
    with socket.create_connection(place_of(server.url), timeout=20) as connection:
        connection.sendall((request + b"\r\n") * 3 + request + b"Connection: close\r\n\r\n")
        answers = b"".join(iter(lambda: connection.recv(1000), b""))

    assert answers.count(b"HTTP/1.1 200 ") == 4


def test_a_socket_takes_no_longer_message_than_a_page_sends(server):
    """The beginning of one waited in memory: two hundred of them, of nobody, took 800 MB."""
    length = LONGEST + 1
    with open_socket(server.url, {"Origin": server.url}) as connection:
        connection.sendall(b"\x82" + bytes([0x80 | 127]) + struct.pack("!Q", length) + b"\0\0\0\0")
        answer = connection.recv(2)  # before any of its bytes were sent

    assert answer[0] == 0x88
    assert handshake(server.url, {"Origin": server.url}).status == 101


TINY = {
    "pings": (b"", b"\x89\x80\0\0\0\0"),
    "empty pieces of a message": (b"\x02\x81\0\0\0\0x", b"\x00\x80\0\0\0\0"),
}


@pytest.mark.parametrize("first, tiny", TINY.values(), ids=TINY)
def test_a_socket_of_tiny_frames_ends(server, first, tiny):
    """A megabyte of them kept everybody waiting for seconds."""
    taken = 0
    with open_socket(server.url, {"Origin": server.url}) as connection:
        connection.sendall(first + tiny * 50)
        assert ask(server.url, path="/healthz").status == 200
        with suppress(ConnectionError):
            while taken < PIECES:
                connection.sendall(tiny * (len(PIECE) // len(tiny)))
                taken += 1

    assert taken < PIECES


HANDSHAKES_THAT_ARE_NONE = {"a long line": {"X": "a" * 9000}, "many lines": {f"X{n}": "y" for n in range(200)}}


@pytest.mark.parametrize("lines", HANDSHAKES_THAT_ARE_NONE.values(), ids=HANDSHAKES_THAT_ARE_NONE)
def test_a_handshake_that_cannot_be_read_is_refused(server, lines):
    """It stayed open for ever, without an answer, and no budget counted it."""
    assert handshake(server.url, {"Origin": server.url, **lines}).status == 400


@pytest.mark.parametrize("answer", ["websocket.accept", "websocket.close"])
def test_a_frame_before_its_handshakes_answer_is_no_error(caplog, answer):
    """uvicorn logged one for each such connection, and no budget counted these lines."""
    is_read = asyncio.Event()

    async def answers_late(_scope: object, _receive: object, send: Callable[..., Any]) -> None:
        await is_read.wait()
        await send({"type": answer})
        await send({"type": "websocket.close"})

    async def talk() -> bool:
        config = uvicorn.Config(answers_late, lifespan="off")
        config.load()
        connection = LimitedSocket(config, uvicorn.server.ServerState(), {})
        answers = {"get_extra_info": None, "get_write_buffer_size": 0, "is_closing": False}
        transport = Mock(**{f"{name}.return_value": answer for name, answer in answers.items()})
        connection.connection_made(transport)
        connection.data_received(upgrade("http://127.0.0.1"))
        await asyncio.sleep(0)  # the app begins, and has not answered yet
        assert not transport.abort.called
        connection.data_received(bytes.fromhex("ff ff ff"))
        is_read.set()
        await asyncio.gather(*connection.tasks)
        return bool(transport.abort.called)

    assert asyncio.run(talk())
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def test_what_a_socket_asked_is_not_done_after_its_end():
    """A stranger's hundred messages, sent at once, held a place of their address until each had had its turn."""

    async def left() -> list[str]:
        config = uvicorn.Config(lambda *_: None, lifespan="off")
        config.load()
        connection = LimitedSocket(config, uvicorn.server.ServerState(), {})
        connection.connection_made(Mock(**{"get_extra_info.return_value": None}))
        kinds = ["websocket.connect", *["websocket.receive"] * 100]
        queue: asyncio.Queue[Any] = connection.queue
        for kind in kinds:
            queue.put_nowait({"type": kind})
        connection.connection_lost(None)
        return [queue.get_nowait()["type"] for _ in range(queue.qsize())]

    assert asyncio.run(left()) == ["websocket.connect", "websocket.disconnect"]


@pytest.mark.parametrize(
    "begin, piece",
    [
        (b"GET /healthz HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        (b"", b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"),
    ],
    ids=["chunks", "requests before an answer"],
)
def test_a_connection_of_tiny_pieces_ends(server, begin, piece):
    block = piece * (len(PIECE) // len(piece))

    assert pieces_taken(server, begin, block) < PIECES


def test_requests_without_sense_fill_no_log(server):
    lines = server.output()
    ask(server.url, "GET", "/", {"Connection": "Upgrade", "Upgrade": "x"})
    with socket.create_connection(place_of(server.url), timeout=20) as connection:
        connection.sendall(b"\0\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 400 ")

    assert server.output() == lines


async def _serving(app) -> asyncio.Server:
    """A server in this event loop that answers with an ASGI app."""
    config = uvicorn.Config(app, lifespan="off")
    config.load()
    state = uvicorn.server.ServerState()
    return await asyncio.get_running_loop().create_server(lambda: LimitedHttp(config, state, {}), "127.0.0.1", 0)


async def _until_closed(begin: bytes, monkeypatch) -> bytes:
    """What a server that waits a tenth of a second for a head or body answers to these bytes: the cookies."""
    monkeypatch.setattr(heads, "HEAD_SECONDS", 0.1)
    monkeypatch.setattr(heads, "BODY_SECONDS", 0.1)

    async def app(scope, receive, send) -> None:
        body = dict(scope["headers"]).get(b"cookie", b"none")
        length = str(len(body)).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
        await send({"type": "http.response.body", "body": body})

    async with await _serving(app) as listening:
        reader, writer = await asyncio.open_connection(*listening.sockets[0].getsockname())
        writer.write(begin)
        answer = await asyncio.wait_for(reader.read(), 4)  # uvicorn itself hangs up on a silent one after 5 seconds
        writer.close()
    return answer


@pytest.mark.parametrize("begin", [b"", b"GET / HTTP/1.1\r\nX: "])
def test_a_head_that_does_not_come_ends_the_connection(begin, monkeypatch):
    assert asyncio.run(_until_closed(begin, monkeypatch)) == b""


def test_a_body_that_does_not_come_ends_the_connection(monkeypatch):
    """Bodies that stopped before their end stayed in memory for good."""
    begin = b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 9\r\n\r\nabc"

    assert asyncio.run(_until_closed(begin, monkeypatch)).startswith(b"HTTP/1.1 200")


def test_a_second_head_that_does_not_come_ends_it_too(monkeypatch):
    answer = asyncio.run(_until_closed(b"GET / HTTP/1.1\r\n" + HOST + b"\r\nGET /", monkeypatch))

    assert answer.startswith(b"HTTP/1.1 200") and answer.endswith(b"none")


def test_a_cookie_is_read_without_backslashes(monkeypatch):
    """Python 3.11 takes time by the square of their number to unquote them: 60 KB kept everybody waiting for 13 s."""
    signed = f"{COOKIE}={cookie_value('secret')}".encode()
    begin = b"GET / HTTP/1.1\r\n" + HOST + b'Cookie: other="' + rb"\1\"" * 9000 + b'"; ' + signed + b"\r\n\r\nGET /"

    answer = asyncio.run(_until_closed(begin, monkeypatch))

    assert signed in answer and b"\\" not in answer


NO_TOKEN = b"\t\\" + bytes(range(0x80, 0x100))  # the parser itself refuses other control characters


def test_no_other_name_of_a_cookie_is_read_as_ours(monkeypatch):
    """Another host may set a cookie of another name; `strip` removed a no-break space, and a name was ours."""
    name = cookie_name(COOKIE, https=True).encode()
    pieces = [bytes([byte]) + name + b"=theirs" for byte in NO_TOKEN]
    begin = b"GET / HTTP/1.1\r\n" + HOST + b"Cookie: a=b; " + b"; ".join(pieces) + b"\r\n\r\nGET /"

    answer = asyncio.run(_until_closed(begin, monkeypatch)).decode("latin-1")

    assert answer.count("=theirs") == len(pieces)
    assert cookie_in(cookie_parser(answer.partition("\r\n\r\n")[2]), https=True) is None


async def _seen_by_the_first_of_two_requests() -> str:
    """The message that an answer receives after another request has come, and the connection has ended."""
    asked, seen = asyncio.Event(), asyncio.Queue[str]()

    async def app(scope, receive, send) -> None:
        await receive()
        asked.set()
        seen.put_nowait((await receive())["type"])

    async with await _serving(app) as listening:
        _, writer = await asyncio.open_connection(*listening.sockets[0].getsockname())
        writer.write(b"GET / HTTP/1.1\r\n" + HOST + b"\r\n" + b"GET / HTTP/1.1\r\n" + HOST + b"\r\n")
        await asked.wait()
        writer.close()
        return await asyncio.wait_for(seen.get(), 4)


def test_the_first_of_two_requests_learns_that_its_reader_left():
    """Only the last one did, so that a download went on to its end for nobody."""
    assert asyncio.run(_seen_by_the_first_of_two_requests()) == "http.disconnect"


def test_no_socket_opens_before_the_answers_have_ended(server):
    """Seven files and a handshake in one piece took 33 MB: they were written whole for a reader that never came."""
    request = b"GET /nothing HTTP/1.1\r\n" + HOST + b"\r\n"
    with socket.create_connection(place_of(server.url), timeout=20) as connection:
        connection.sendall(
            request + upgrade(server.url).replace(b"\r\n\r\n", f"\r\nOrigin: {server.url}\r\n\r\n".encode())
        )
        with suppress(ConnectionResetError):
            assert b" 101 " not in b"".join(iter(lambda: connection.recv(65536), b""))


def test_no_stranger_has_uvicorn_write_errors(server):
    """It wrote a trace for each answer that nobody reads any more, and for each text that is no UTF-8."""
    request = b"GET /nothing HTTP/1.1\r\n" + HOST + b"\r\n"
    text_and_close = bytes.fromhex("81 82 00000000 ffff  88 82 00000000 03e8")
    for _ in range(100):
        with socket.create_connection(place_of(server.url), timeout=20) as connection:
            connection.sendall(request * 2)
    for _ in range(100):
        with socket.create_connection(place_of(server.url), timeout=20) as connection:
            connection.sendall(request + upgrade(server.url))
    for _ in range(5):
        with open_socket(server.url, {"Origin": server.url}) as connection:
            connection.sendall(text_and_close)
            assert close_code(connection) == CloseCode.NORMAL_CLOSURE
    assert ask(server.url, path="/healthz").status == 200

    assert "uvicorn.error: " not in server.output()


HALF_A_HEAD = b"GET /healthz HTTP/1.1\r\n" + HOST + b"X: "


def half_a_body(cookies: dict[str, str]) -> bytes:
    names = {"Origin": "http://127.0.0.1", "X-Triptych": "1", "Content-Length": "10", **cookie(cookies)}
    return (
        b"POST /desk/draft HTTP/1.1\r\n"
        + HOST
        + b"".join(f"{n}: {v}\r\n".encode() for n, v in names.items())
        + b"\r\n{"
    )


def waiting(server: Server, sockets: ExitStack, sent: bytes) -> socket.socket:
    """A connection that has sent these bytes, which the server has read."""
    connection = sockets.enter_context(socket.create_connection(place_of(server.url), timeout=20))
    connection.sendall(sent)
    ask(server.url, path="/healthz")  # answered after the bytes above
    return connection


@pytest.mark.long
def test_the_oldest_connection_of_an_address_ends_with_a_time(tmp_path, forked):
    """So that slow heads and idle connections take no page's place, a load balancer's own questions least of all."""
    with running_app(tmp_path, {"TRIPTYCH_BUDGETS": "connections=5"}, start=forked) as server, ExitStack() as sockets:
        connections = [waiting(server, sockets, HALF_A_HEAD) for _ in range(6)]
        refused = connections[0].recv(1000)
        connections[-1].sendall(b"y\r\n\r\n")
        served = connections[-1].recv(1000)

        assert ask(server.url, path="/readyz").status == 200

    assert refused.startswith(b"HTTP/1.1 429 ") and b"Retry-After: 5\r\n" in refused
    assert served.startswith(b"HTTP/1.1 200 ")


@pytest.mark.long
def test_an_account_has_so_many_connections_of_its_own(tmp_path, forked):
    """Strangers at its address do not end them; a body that comes slowly holds one."""
    world = build_world(tmp_path, items=5)
    with running_app(tmp_path, {"TRIPTYCH_BUDGETS": "connections=5"}, start=forked) as server, ExitStack() as sockets:
        slow = [waiting(server, sockets, half_a_body(world.cookies[0])) for _ in range(2)]
        for _ in range(8):
            waiting(server, sockets, HALF_A_HEAD)
        slow[0].sendall(b"[" * 9)
        answered = slow[0].recv(1000)
        for _ in range(5):
            waiting(server, sockets, half_a_body(world.cookies[0]))
        refused = slow[1].recv(1000)

    assert answered.startswith(b"HTTP/1.1 400 ")
    assert refused.startswith(b"HTTP/1.1 429 ")


@pytest.mark.long
def test_all_logins_at_an_address_have_so_many_connections(tmp_path, forked):
    """Ten logins took 4,000 open files, and nobody else could connect; the one with the most loses its oldest."""
    world = build_world(tmp_path, items=5, annotators=2)
    limits = {"TRIPTYCH_BUDGETS": "connections=5 address_connections=6"}
    with running_app(tmp_path, limits, start=forked) as server, ExitStack() as sockets:
        few = waiting(server, sockets, half_a_body(world.cookies[0]))
        many = [waiting(server, sockets, half_a_body(world.cookies[1])) for _ in range(5)]
        waiting(server, sockets, half_a_body(world.lead))
        refused = many[0].recv(1000)
        few.sendall(b"[" * 9)
        answered = few.recv(1000)

    assert refused.startswith(b"HTTP/1.1 429 ")
    assert answered.startswith(b"HTTP/1.1 400 ")


@pytest.mark.long
def test_a_body_that_ends_early_leaves_no_error(tmp_path, forked):
    """Else an annotator could push every trace out of the data folder."""
    world = build_world(tmp_path, items=5)
    with running_app(tmp_path, start=forked) as server:
        with ExitStack() as sockets:
            waiting(server, sockets, half_a_body(world.cookies[0]))
        ask(server.url, path="/healthz")
        lines = server.output()

    assert "error" not in lines
    assert not list(tmp_path.glob("errors/*"))


@pytest.mark.long
def test_long_headers_are_not_remembered():
    """Hundreds of names and origins of strangers, each as long as a head may be, would stay in memory."""
    tracemalloc.start()
    try:
        for number in range(100):
            assert origins.authority_of(f"{number}{'x' * LONGEST_HEAD}") is None
            assert origins.read_origin(f"http://{number}{'x' * LONGEST_HEAD}") is None
        assert tracemalloc.get_traced_memory()[0] < 2**20
    finally:
        tracemalloc.stop()
