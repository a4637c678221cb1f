"""What an attacker can send: raw requests, handshakes and frames, with any header a browser or a program could set."""

from __future__ import annotations

import base64
import os
import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from bench.server import Server

SOCKET = "/_stcore/stream"
TIMEOUT = 20.0
LAST_CHUNK = b"0\r\n\r\n"
Sent = Mapping[str, str] | Sequence[tuple[str, str]]  # headers; pairs where one is sent twice


@dataclass(frozen=True)
class Answer:
    """Status (0 where the server hung up without one), headers by their lower-case names, and the body."""

    status: int
    headers: dict[str, str]
    body: str


def place_of(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return str(parts.hostname), int(parts.port or 80)


def ask(
    url: str,
    method: str = "GET",
    path: str = "/",
    headers: Sent = (),
    body: bytes = b"",
) -> Answer:
    """One request on a connection of its own. Host is the server's unless the headers name one.

    A body may be announced by a Content-Length of the headers and never sent.
    """
    with socket.create_connection(place_of(url), timeout=TIMEOUT) as connection:
        connection.sendall(_head(url, method, path, headers, body) + body)
        return _read(connection)


def handshake(url: str, headers: Sent = (), path: str = SOCKET) -> Answer:
    """The answer to a websocket handshake; 101 if the socket is open. No Origin unless the headers name one."""
    with socket.create_connection(place_of(url), timeout=TIMEOUT) as connection:
        connection.sendall(_head(url, "GET", path, [*_upgrade(), *pairs(headers)]))
        return _read(connection)


def upgrade(url: str) -> bytes:
    """The head of a websocket handshake."""
    return _head(url, "GET", SOCKET, _upgrade())


@contextmanager
def open_socket(url: str, headers: Sent = ()) -> Iterator[socket.socket]:
    """A websocket that the server accepted."""
    with socket.create_connection(place_of(url), timeout=TIMEOUT) as connection:
        connection.sendall(_head(url, "GET", SOCKET, [*_upgrade(), *pairs(headers)]))
        head = b""
        while b"\r\n\r\n" not in head:
            head += _received(connection, 1)
        assert b" 101 " in head.splitlines()[0] + b" ", head
        yield connection


def is_closed(connection: socket.socket) -> bool:
    """Whether the server ends the socket of a login that ended, within five seconds."""
    connection.settimeout(5.0)
    received = b""
    while b"signed out" not in received:
        received += _received(connection, 65536)
    return True


def _received(connection: socket.socket, most: int) -> bytes:
    """The next bytes, at most so many. Raises EOFError if the server has closed the connection."""
    received = connection.recv(most)
    if not received:
        raise EOFError("the server closed the connection")
    return received


def frame(payload: bytes) -> bytes:
    """A binary frame as a client sends it."""
    length = len(payload)
    size = bytes([0x80 | 127]) + struct.pack("!Q", length)
    if length < 2**16:
        size = bytes([0x80 | length]) if length < 126 else bytes([0x80 | 126]) + struct.pack("!H", length)
    return b"\x82" + size + b"\0\0\0\0" + payload


def close_code(connection: socket.socket) -> int:
    """The code of the close with which the server ends this websocket."""
    with connection.makefile("rb") as answers:
        while opcode := answers.read(1):
            size = answers.read(1)[0]
            size = int.from_bytes(answers.read({126: 2, 127: 8}[size])) if size > 125 else size
            payload = answers.read(size)
            if opcode == b"\x88":
                return int.from_bytes(payload[:2])
    return 0


def pairs(headers: Sent) -> list[tuple[str, str]]:
    return list(headers.items() if isinstance(headers, Mapping) else headers)


def _upgrade() -> list[tuple[str, str]]:
    key = base64.b64encode(os.urandom(16)).decode()
    sent = [("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13")]
    return [*sent, ("Sec-WebSocket-Key", key), ("Sec-WebSocket-Protocol", "streamlit")]


def _head(url: str, method: str, path: str, headers: Sent, body: bytes = b"") -> bytes:
    sent = pairs(headers)
    names = {name.lower() for name, _ in sent}
    sent = sent if "host" in names else [("Host", urlsplit(url).netloc), *sent]
    if body and "content-length" not in names and "transfer-encoding" not in names:
        sent = [*sent, ("Content-Length", str(len(body)))]
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in sent if value)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _read(connection: socket.socket) -> Answer:
    received = b""
    while b"\r\n\r\n" not in received:
        try:
            piece = connection.recv(65536)
        except ConnectionError:
            piece = b""
        if not piece:
            return Answer(0, {}, received.decode("latin-1"))
        received += piece
    head, _, rest = received.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    length, is_chunked = int(headers.get("content-length", 0)), headers.get("transfer-encoding") == "chunked"
    while (len(rest) < length or (is_chunked and not rest.endswith(LAST_CHUNK))) and (piece := connection.recv(65536)):
        rest += piece
    return Answer(int(first.split(" ")[1]), headers, rest.decode("utf-8", "replace"))


def cookie(cookies: Mapping[str, str]) -> dict[str, str]:
    """The Cookie header for these cookies."""
    return {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}


def refusals(server: Server) -> list[str]:
    """The lines that the server logged about requests it refused."""
    return [line for line in server.output().splitlines() if "Refused with" in line]
