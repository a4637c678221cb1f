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

from bench.server import PATIENCE, ServerFailed


class Forked:
    """A process that is not our child, with the methods of subprocess.Popen that `Server` uses."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._end = os.pidfd_open(pid)

    def poll(self) -> int | None:
        """None while it runs, then 0: only its parent knows the exit code."""
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
    """A `start` of servers at half the cost: each is a separate process that has imported the libraries already."""
    if not hasattr(os, "pidfd_open"):  # not Linux
        yield subprocess.Popen
        return
    script = Path(__file__).with_name("forking_parent.py")
    command: list[str | Path] = [sys.executable, "-u", script]
    with subprocess.Popen(command, cwd=script.parents[2], stdin=-1, stdout=-1, text=True) as parent:

        def fork(
            command: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: int, stdout: IO[bytes], stderr: IO[bytes]
        ) -> Forked:
            arguments = command[command.index("streamlit") :]
            order = {"arguments": arguments, "env": dict(env), "log": stdout.name}
            print(json.dumps(order), file=parent.stdin, flush=True)
            return Forked(_answer(parent))

        try:
            yield fork
        finally:
            # its servers are ended by those who started them; it has nothing to clean up, and waiting for a process
            # with the threads of many libraries to end by itself can take for ever
            parent.kill()


def _answer(parent: subprocess.Popen[str]) -> int:
    """The process id that the parent answers with. Raises ServerFailed when it ends or does not answer in time."""
    assert parent.stdout is not None
    if not select.select([parent.stdout], [], [], PATIENCE)[0]:
        raise ServerFailed(f"The process that forks servers did not answer within {PATIENCE:.0f} s.")
    line = parent.stdout.readline()
    if not line:
        raise ServerFailed("The process that forks servers ended; why is on its standard error above.")
    return int(line)
