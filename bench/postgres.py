"""A throw-away PostgreSQL server on a free loopback port, for benchmarks and tests alike."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import create_engine
from sqlalchemy.exc import OperationalError

from bench.server import ServerFailed, free_port


def postgres_binaries() -> Path | None:
    """Where initdb and postgres lie; None if PostgreSQL is not installed."""
    found = shutil.which("initdb")
    if found:
        return Path(found).parent
    return max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)


@contextmanager
def throw_away_postgres(durable: bool = False) -> Iterator[str]:
    """The URL of a new cluster, without its database name; it refuses root, so root lends it to another user.

    durable: a commit waits for the disk, as on a real server; tests do without. Raises ServerFailed where PostgreSQL is
    not installed or does not start.
    """
    binaries = postgres_binaries()
    if binaries is None:
        raise ServerFailed("PostgreSQL (initdb) is not installed.")
    # a folder of its own: another user must be able to walk to it
    with TemporaryDirectory(prefix="triptych-postgres-") as folder:
        other = {"user": "postgres"} if os.geteuid() == 0 else {}
        if other:
            shutil.chown(folder, **other)
        port, data = free_port(), Path(folder) / "data"
        making = [binaries / "initdb", "-D", data, "-A", "trust", "-U", "triptych", "-E", "UTF8", "--no-sync"]
        subprocess.run(making, check=True, capture_output=True, cwd="/", **other)
        serving = [binaries / "postgres", "-D", data, "-p", str(port), "-k", folder, "-h", "127.0.0.1"]
        serving += [] if durable else ["-F"]
        with subprocess.Popen(serving, cwd="/", stderr=subprocess.DEVNULL, **other) as server:
            url = f"postgresql+psycopg://triptych@127.0.0.1:{port}"
            try:
                wait_for_postgres(f"{url}/postgres", server)
                yield url
            finally:  # whatever went wrong: leaving waits for the server to end
                server.send_signal(signal.SIGQUIT)


def wait_for_postgres(url: str, server: subprocess.Popen[bytes]) -> None:
    """Returns when the server takes connections. Raises ServerFailed when it ends instead."""
    engine = create_engine(url)
    while server.poll() is None:
        with suppress(OperationalError), engine.connect():
            engine.dispose()
            return
    raise ServerFailed(f"PostgreSQL ended with {server.returncode} before it took a connection.")
