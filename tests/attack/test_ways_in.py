"""Every documented way to the app works without a new setting, and a foreign page is refused on each of them."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import pytest
from helpers.attackers import ask, cookie, handshake
from helpers.studies import ROOT

from bench.client import Annotator
from bench.load import annotate
from bench.server import Server, free_port, is_healthy, wait_until
from bench.world import World, build_world

pytestmark = pytest.mark.long

STRONG = "b7Jm2xQe0VtLr5KcYhWz8NdA4sGfUo1iPq3RvXk6Tj9MaCyE"


@pytest.fixture
def world(tmp_path, monkeypatch) -> World:
    monkeypatch.setenv("TRIPTYCH_SECRET", STRONG)
    return build_world(tmp_path / "home", items=5)


@contextmanager
def made(world: World, **variables: str) -> Iterator[Server]:
    """The server as the last line of `make run` starts it; what it installs before is not run."""
    port = free_port()
    arguments = [f"{name}={value}" for name, value in {**variables, "PORT": str(port)}.items()]
    # the tests themselves may be started by make, which would say more to a make below it
    alone = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    make = ["make", "-n", "run", *arguments]
    recipe = subprocess.run(make, cwd=ROOT, env=alone, capture_output=True, text=True, check=True)
    command = shlex.split(recipe.stdout.splitlines()[-1].replace(".venv/bin", str(Path(sys.executable).parent)))
    assert f"--server.port={port}" in command
    log = world.home / "server.log"
    environment = {**os.environ, "TRIPTYCH_HOME": str(world.home), "TRIPTYCH_DEMO": "0", "PYTHONUNBUFFERED": "1"}
    with log.open("ab") as file:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file
        )
    server = Server(f"http://127.0.0.1:{port}", process, log)
    try:
        wait_until(lambda: is_healthy(server.url), server, "answer")
        yield server
    finally:
        server.stop()


def annotates_but_no_foreign_page_does(world: World, url: str, host: str = "") -> None:
    """A whole annotation at this address, and what other pages get there."""

    async def work() -> None:
        async with AsName(world, url, host) if host else world.annotator(url, 0) as annotator:
            await annotate(annotator, drafts=1)

    asyncio.run(work())
    named = {"Host": host or url.removeprefix("http://"), **cookie(world.lead)}
    assert handshake(url, {**named, "Origin": "http://127.0.0.1:8888"}).status == 403
    assert handshake(url, {**named, "Origin": "http://evil.example"}).status == 403
    assert handshake(url, named).status == 403
    assert ask(url, "GET", "/", {"Host": "evil.example"}).status == 421


class AsName(Annotator):
    """An annotator whose browser calls the server by a name that leads to 127.0.0.1."""

    def __init__(self, world: World, url: str, host: str) -> None:
        super().__init__(f"http://{host}", world.slug, world.rubric, world.cookies[0])
        self.place = url

    async def __aenter__(self) -> AsName:
        class ToThisComputer(aiohttp.abc.AbstractResolver):
            async def resolve(self, host: str, port: int = 0, family: int = socket.AF_INET) -> list:
                flags = {"family": socket.AF_INET, "proto": 0, "flags": socket.AI_NUMERICHOST}
                return [{"hostname": host, "host": "127.0.0.1", "port": port, **flags}]

            async def close(self) -> None:
                pass

        connector = aiohttp.TCPConnector(limit=0, resolver=ToThisComputer())
        jar = aiohttp.CookieJar(unsafe=True)
        self.http = aiohttp.ClientSession(cookies=self.cookies, connector=connector, cookie_jar=jar)
        await self.open()
        return self


def test_make_run(world):
    with made(world) as server:
        annotates_but_no_foreign_page_does(world, server.url)
        annotates_but_no_foreign_page_does(
            world, server.url, server.url.removeprefix("http://").replace("127.0.0.1", "localhost")
        )


def test_make_run_for_the_labs_network(world):
    with made(world, HOST="0.0.0.0") as server:
        port = server.url.rpartition(":")[2]
        annotates_but_no_foreign_page_does(world, server.url)
        annotates_but_no_foreign_page_does(world, server.url, f"{socket.gethostname().lower()}:{port}")
        assert f"On other computers: http://{socket.gethostname().lower()}:{port}" in server.output()


def test_a_mapped_port(world):
    """As a container's port or a forwarded one: the browser's address has another port than the server."""
    with made(world) as server, forwarded(server.url) as url:
        assert url != server.url
        annotates_but_no_foreign_page_does(world, url)
        # the app's own port is a foreign origin there
        assert handshake(url, {**cookie(world.lead), "Origin": server.url}).status == 403


@contextmanager
def forwarded(url: str) -> Iterator[str]:
    """Another port of this computer that leads to the server, byte by byte."""
    import threading

    target = int(url.rpartition(":")[2])
    started, loops = threading.Event(), []

    async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", target)
        await asyncio.gather(pipe(reader, back), pipe(there, writer))

    async def serve() -> None:
        ended = asyncio.Event()
        loops.append((asyncio.get_running_loop(), ended))
        async with await asyncio.start_server(connect, "127.0.0.1", port):
            started.set()
            await ended.wait()

    port = free_port()
    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    started.wait(10)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        loop, ended = loops[0]
        loop.call_soon_threadsafe(ended.set)
        thread.join(10)


def test_ssh_with_a_forwarded_port(world, tmp_path):
    with made(world) as server, tunnelled(server, tmp_path) as url:
        annotates_but_no_foreign_page_does(world, url)


@contextmanager
def tunnelled(server: Server, folder: Path) -> Iterator[str]:
    """`ssh -L` through an sshd of this test."""
    programs = {
        name: shutil.which(name) or shutil.which(name, path="/usr/sbin") or "" for name in ("ssh", "sshd", "ssh-keygen")
    }
    if "" in programs.values():
        pytest.skip("ssh and sshd are missing on this machine; the mapped port is the same way in.")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # sshd asks for it
    for name in ("host", "own"):
        subprocess.run([programs["ssh-keygen"], "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    port, local = free_port(), free_port()
    settings = folder / "sshd_config"
    settings.write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/own.pub\nStrictModes no\n"
        f"PidFile {folder}/pid\nUsePAM no\nPermitRootLogin yes\n"
    )
    ways = ["-N", "-i", str(folder / "own"), "-p", str(port), "-o", "StrictHostKeyChecking=no"]
    ways += ["-o", f"UserKnownHostsFile={folder}/hosts", "-o", "ExitOnForwardFailure=yes", "-F", "none"]
    with subprocess.Popen([programs["sshd"], "-D", "-e", "-f", settings], stderr=subprocess.DEVNULL) as daemon:
        target = f"127.0.0.1:{server.url.rpartition(':')[2]}"
        try:
            wait_until(lambda: _listens(port), server, "see sshd")
            with subprocess.Popen([programs["ssh"], *ways, "-L", f"127.0.0.1:{local}:{target}", "127.0.0.1"]) as client:
                try:
                    url = f"http://127.0.0.1:{local}"
                    wait_until(lambda: is_healthy(url), server, "answer through ssh")
                    yield url
                finally:
                    client.terminate()
        finally:
            daemon.terminate()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
