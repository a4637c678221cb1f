"""A real Triptych server in a separate process, for benchmarks and tests."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 120.0  # seconds; a busy machine takes a minute to import everything
TICK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
SETUP_LINK = re.compile(r"https?://\S+\?setup=[\w-]+")


class ServerFailed(Exception):
    """The server ended or did not respond in time; contains the end of its log."""


@dataclass
class Server:
    """A running server: its address, its process, and how to stop it."""

    url: str
    process: subprocess.Popen[bytes]
    log: Path

    def stop(self, number: int = signal.SIGINT) -> None:
        """Stop it as Ctrl+C in the terminal does, or with another signal; kill it after ten seconds."""
        if self.process.poll() is None:
            self.process.send_signal(number)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        """`kill -9`: no handler runs, nothing is flushed."""
        self.process.kill()
        self.process.wait(10)

    def output(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def setup_link(self) -> str:
        """The one-time set-up link that a server without a lead prints. Raises ServerFailed if none appears."""
        wait_until(lambda: SETUP_LINK.search(self.output()), self, "print a set-up link")
        return SETUP_LINK.findall(self.output())[-1]

    def cpu_seconds(self) -> float:
        """Processor time of all its threads so far, user and system (Linux)."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def resident_mb(self) -> float:
        """Resident memory in MiB (Linux)."""
        return self._memory("VmRSS")

    def peak_mb(self) -> float:
        """The largest resident memory so far in MiB (Linux)."""
        return self._memory("VmHWM")

    def _memory(self, entry: str) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition(f"{entry}:")[2].split()[0]) / 1024


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(holds: Callable[[], Any], server: Server, what: str, patience: float = PATIENCE) -> None:
    """Wait until `holds()` is true. Raises ServerFailed if the server ends or `patience` seconds have passed."""
    end = time.monotonic() + patience
    while not holds():
        if server.process.poll() is not None or time.monotonic() > end:
            raise ServerFailed(f"The server did not {what}:\n{server.output()[-4000:]}")
        time.sleep(0.02)


def is_healthy(url: str, path: str = "/_stcore/health") -> bool:
    try:
        with urllib.request.urlopen(f"{url}{path}", timeout=2) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


def start_server(
    home: Path,
    env: Mapping[str, str] | None = None,
    port: int | None = None,
    start: Callable[..., Any] | None = None,
    script: str = "app.py",
    address: str = "127.0.0.1",
) -> Server:
    """Start the app on a free loopback port with its data in `home`; returns before it responds.

    Without demo studies unless `env` requests them. `script` is another Streamlit app; `address` is the address to
    listen on, reachable from this computer as 127.0.0.1. `start` takes the arguments of subprocess.Popen and returns an
    equivalent object.
    """
    port = port or free_port()
    home.mkdir(parents=True, exist_ok=True)
    log = home / "server.log"
    settings = {"TRIPTYCH_HOME": str(home), "TRIPTYCH_DEMO": "0", "PYTHONUNBUFFERED": "1", **(env or {})}
    command = [sys.executable, "-m", "streamlit", "run", script, "--server.headless=true"]
    command += [f"--server.port={port}", f"--server.address={address}"]
    with log.open("ab") as file:
        process = (start or subprocess.Popen)(
            command, cwd=ROOT, env={**os.environ, **settings}, stdin=subprocess.DEVNULL, stdout=file, stderr=file
        )
    return Server(f"http://127.0.0.1:{port}", process, log)


@contextmanager
def running_app(
    home: Path,
    env: Mapping[str, str] | None = None,
    port: int | None = None,
    start: Callable[..., Any] | None = None,
    address: str = "127.0.0.1",
) -> Iterator[Server]:
    """A server that responds, until the end of the context. Raises ServerFailed with the end of its log."""
    server = start_server(home, env, port, start, address=address)
    try:
        wait_until(lambda: is_healthy(server.url), server, "answer")
        yield server
    finally:
        server.stop()
