"""Strangers and the shipped nginx: it keeps no file of theirs, and waits for none."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from stack import Proxy

from bench.server import running_app

pytestmark = pytest.mark.deploy

MB = 2**20
PATIENCE = 10.0


@pytest.fixture(scope="module")
def proxy(tmp_path_factory, forked) -> Iterator[Proxy]:
    home = tmp_path_factory.mktemp("proxied")
    folder = tmp_path_factory.mktemp("nginx")
    place = Proxy(folder, ())
    settings = {"TRIPTYCH_ADDRESS": place.url, "TRIPTYCH_PROXIES": "127.0.0.1"}
    with running_app(home, settings, start=forked) as server:
        port = int(server.url.rpartition(":")[2])
        place.ports = (port, port)
        with place.running() as running:
            yield running


def bytes_kept(folder: Path) -> int:
    """Bytes that nginx has on its disk of what it receives, in files without a name."""
    master = (folder / "pid").read_text().strip()
    workers = Path(f"/proc/{master}/task/{master}/children").read_text().split()
    opened = [link for worker in workers for link in Path(f"/proc/{worker}/fd").iterdir()]
    return sum(link.stat().st_size for link in opened if str(folder / "client_body") in str(link.readlink()))


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


@pytest.mark.parametrize(
    "method, path",
    [("POST", "/desk/draft"), ("POST", "/auth/ticket"), ("PUT", "/"), ("PUT", "/_stcore/upload_file/a/b")],
)
def test_a_strangers_file_is_refused_and_never_kept(proxy, method, path):
    status, most = sent(proxy, method, path, 100 * MB, 20)

    assert status in (403, 413, 502, 0)
    assert most < MB
