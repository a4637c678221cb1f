"""Servers that are forked from a process with the libraries imported; `forking_parent.py` is that process."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


class Forked:
    """A process that is not our child, with the methods of subprocess.Popen that `Server` uses."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._end = os.pidfd_open(pid)

    def poll(self) -> int | None:
        """None while it runs; what it ended with only its parent knows, and 0 stands for it."""
        return 0 if select.select([self._end], [], [], 0)[0] else None

    def wait(self, timeout: float) -> None:
        if not select.select([self._end], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("the server", timeout)

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            signal.pidfd_send_signal(self._end, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@contextmanager
def forking() -> Iterator[Callable[..., Any]]:
    """The `start` of servers that cost half: each a process of its own, but the libraries are imported already."""
    if not hasattr(os, "pidfd_open"):  # not Linux
        yield subprocess.Popen
        return
    script = Path(__file__).with_name("forking_parent.py")
    command = [sys.executable, "-u", script]
    with subprocess.Popen(command, cwd=script.parents[2], stdin=-1, stdout=-1, text=True) as parent:

        def fork(
            command: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: int, stdout: IO[bytes], stderr: IO[bytes]
        ) -> Forked:
            arguments = command[command.index("streamlit") :]
            order = {"arguments": arguments, "env": dict(env), "log": stdout.name}
            parent.stdin.write(json.dumps(order) + "\n")
            parent.stdin.flush()
            return Forked(int(parent.stdout.readline()))

        yield fork
