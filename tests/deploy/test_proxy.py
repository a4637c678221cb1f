"""Strangers and the shipped nginx: it keeps no file of theirs, and waits for none."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import streamlit
from stack import Proxy

from bench.server import running_app

pytestmark = pytest.mark.deploy

MB = 2**20
PATIENCE = 10.0
ADDRESS = "X-Test-Address"  # as which this test's nginx takes the visitor


@pytest.fixture(scope="module")
def proxy(tmp_path_factory, forked) -> Iterator[Proxy]:
    home = tmp_path_factory.mktemp("proxied")
    folder = tmp_path_factory.mktemp("nginx")
    place = Proxy(folder, (), more=f"set_real_ip_from 127.0.0.1; real_ip_header {ADDRESS};")
    settings = {"TRIPTYCH_ADDRESS": place.url, "TRIPTYCH_PROXIES": "127.0.0.1"}
    with running_app(home, settings, start=forked) as server:
        port = int(server.url.rpartition(":")[2])
        place.ports = (port, port)
        with place.running() as running:
            yield running


def bytes_kept(folder: Path, direction: str = "client_body") -> int:
    """Bytes that nginx has on its disk of bodies or (`proxy`) of answers, in files without a name."""
    master = (folder / "pid").read_text().strip()
    workers = Path(f"/proc/{master}/task/{master}/children").read_text().split()
    opened = [link for worker in workers for link in Path(f"/proc/{worker}/fd").iterdir()]
    return sum(link.stat().st_size for link in opened if str(folder / direction) in str(link.readlink()))


def sent(proxy: Proxy, method: str, path: str, length: int, megabytes: int) -> tuple[int, int]:
    """The status that a request is answered which sends only a part of its body, and how much of it nginx has kept."""
    most = 0
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{proxy.port}\r\nContent-Length: {length}\r\n\r\n"
    with (
        socket.create_connection(("127.0.0.1", proxy.port), timeout=PATIENCE) as plain,
        proxy.trust().wrap_socket(plain, server_hostname="127.0.0.1") as connection,
    ):
        connection.sendall(head.encode())
        try:
            for _ in range(megabytes):
                connection.sendall(b"x" * MB)
                most = max(most, bytes_kept(proxy.folder))
        except (OSError, ssl.SSLError):
            pass  # hung up on while sending
        try:
            line = connection.recv(65536).split(b"\r\n", 1)[0]
        except (OSError, ssl.SSLError):
            line = b""
    return int(line.split()[1]) if line else 0, most


@contextmanager
def under_way(proxy: Proxy, path: str, count: int, address: str = "") -> Iterator[None]:
    """Requests whose bodies do not end."""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{proxy.port}\r\nContent-Length: 60000\r\n"
    head += f"{ADDRESS}: {address}\r\n\r\n" if address else "\r\n"
    with ExitStack() as stack:
        for _ in range(count):
            plain = socket.create_connection(("127.0.0.1", proxy.port), timeout=PATIENCE)
            stack.enter_context(plain)
            connection = proxy.trust().wrap_socket(plain, server_hostname="127.0.0.1")
            stack.enter_context(connection)
            connection.sendall(head.encode() + b"x")
        yield


def status_when(proxy: Proxy, path: str, is_so: Callable[[int], bool], **headers: str) -> int:
    """The status of a request, asked again until nginx has taken up, or ended, all that was sent before."""
    end = time.monotonic() + PATIENCE
    while True:
        status = proxy.get(path, **headers).status
        if is_so(status) or time.monotonic() > end:
            return status


def test_open_pages_keep_no_script_of_their_address_out(proxy):
    with under_way(proxy, "/auth/ticket", 25):
        assert {proxy.get("/api/v1/asking").status for _ in range(20)} == {401}


def test_an_address_sends_few_long_messages_at_a_time(proxy):
    with under_way(proxy, "/desk/draft", 100):
        assert status_when(proxy, "/desk/draft", lambda status: status == 429) == 429
        assert proxy.get("/").status == 200


@pytest.mark.parametrize(
    "address, neighbour, stranger",
    [
        ("2001:db8:1:2:3::7", "2001:db8:1:2::9", "2001:db8:1:3::9"),
        ("2001:db8:1::7", "2001:db8:1::8:9", "2001:db8:2::7"),
    ],
)
def test_an_ipv6_network_is_one_visitor(proxy, address, neighbour, stranger):
    with under_way(proxy, "/desk/draft", 100, address):
        assert status_when(proxy, "/desk/draft", lambda status: status == 429, **{ADDRESS: neighbour}) == 429
        assert proxy.get("/desk/draft", **{ADDRESS: stranger}).status != 429


@pytest.mark.parametrize("path", ["/auth/ticket", "/", "/my-data.json"])
def test_only_places_for_long_bodies_take_one(proxy, path):
    status, most = sent(proxy, "POST", path, 4 * MB, 3)

    assert status == 413
    assert most == 0


@pytest.mark.parametrize(
    "method, path",
    [("POST", "/desk/draft"), ("POST", "/auth/ticket"), ("PUT", "/"), ("PUT", "/_stcore/upload_file/a/b")],
)
def test_a_strangers_file_is_refused_and_never_kept(proxy, method, path):
    status, most = sent(proxy, method, path, 100 * MB, 20)

    assert status in (403, 413, 502, 0)
    assert most < MB


def test_an_unread_answer_is_never_kept(proxy):
    """Of a script longer than the buffers of both connections."""
    scripts = (Path(streamlit.__file__).parent / "static" / "static" / "js").iterdir()
    path = f"/static/js/{max(scripts, key=lambda script: script.stat().st_size).name}"
    with socket.socket() as plain:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        plain.connect(("127.0.0.1", proxy.port))
        with proxy.trust().wrap_socket(plain, server_hostname="127.0.0.1") as connection:
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{proxy.port}\r\n\r\n".encode())
            assert b" 200 " in connection.recv(64)
            assert proxy.get(path).status == 200  # by the worker that passes on the other one

            assert bytes_kept(proxy.folder, "proxy") == 0
