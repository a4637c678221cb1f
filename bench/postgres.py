"""A temporary PostgreSQL server on a free loopback port, for benchmarks and tests."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import create_engine
from sqlalchemy.exc import OperationalError

from bench.server import PATIENCE, ServerFailed, free_port


def postgres_binaries() -> Path | None:
    """The folder of initdb and postgres; None if PostgreSQL is not installed."""
    initdb = shutil.which("initdb")
    if initdb:
        return Path(initdb).parent
    return max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)


@contextmanager
def throw_away_postgres(durable: bool = False) -> Iterator[str]:
    """The URL of a new cluster, without a database name. PostgreSQL refuses root, so root runs it as another user.

    durable: commits wait for the disk, as on a real server; tests do not need that. Raises ServerFailed if PostgreSQL
    is not installed or does not start.
    """
    binaries = postgres_binaries()
    if binaries is None:
        raise ServerFailed("PostgreSQL (initdb) is not installed.")
    # not in a test's private folder, which another user could not enter
    with TemporaryDirectory(prefix="triptych-postgres-") as folder:
        owner = "postgres" if os.geteuid() == 0 else None
        if owner:
            shutil.chown(folder, owner)
        port, data = free_port(), Path(folder) / "data"
        making: list[str | Path] = [
            binaries / "initdb",
            "-D",
            data,
            "-A",
            "trust",
            "-U",
            "triptych",
            "-E",
            "UTF8",
            "--no-sync",
        ]
        subprocess.run(making, check=True, capture_output=True, cwd="/", timeout=PATIENCE, user=owner)
        serving: list[str | Path] = [
            binaries / "postgres",
            "-D",
            data,
            "-p",
            str(port),
            "-k",
            folder,
            "-h",
            "127.0.0.1",
        ]
        serving += [] if durable else ["-F"]
        with subprocess.Popen(serving, cwd="/", stderr=subprocess.DEVNULL, user=owner) as server:
            url = f"postgresql+psycopg://triptych@127.0.0.1:{port}"
            try:
                wait_for_postgres(f"{url}/postgres", server)
                yield url
            finally:
                end_postgres(server, signal.SIGQUIT)


def wait_for_postgres(url: str, server: subprocess.Popen[bytes]) -> None:
    """Wait until the server accepts connections. Raises ServerFailed if it ends or takes too long."""
    engine = create_engine(url)
    end = time.monotonic() + PATIENCE
    while server.poll() is None:
        with suppress(OperationalError), engine.connect():
            engine.dispose()
            return
        if time.monotonic() > end:
            raise ServerFailed(f"PostgreSQL took no connection within {PATIENCE:.0f} s.")
        time.sleep(0.02)
    raise ServerFailed(f"PostgreSQL ended with {server.returncode} before it took a connection.")


def end_postgres(server: subprocess.Popen[bytes], number: int) -> None:
    """Send the signal and wait for the server to end. If it does not, kills it and raises ServerFailed."""
    if server.poll() is not None:
        return
    server.send_signal(number)
    try:
        server.wait(PATIENCE)
    except subprocess.TimeoutExpired as error:
        server.kill()
        server.wait(10)
        raise ServerFailed(f"PostgreSQL did not stop within {PATIENCE:.0f} s and was killed.") from error
