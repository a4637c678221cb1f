"""What every tool must be able to do to be measured, and the processes and environments that all of them need."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

import aiohttp

from bench.server import Server, wait_until

INSTALLING = 1800.0  # seconds
ANSWERING = 600.0  # seconds; a tool that reads 100,000 items at its start needs patience


class NotMeasured(Exception):
    """A measure could not be taken; the message says why and is shown in the table."""


@dataclass(frozen=True)
class Screen:
    """Where a browser finds things on a tool's annotation page; selectors are CSS.

    `shown`: an expression of JavaScript, what names the item on the screen, null until it can be rated.
    `question` holds the `option` elements of one of the fifteen questions; an option is, or holds, something that
    matches `chosen` once it is chosen.
    """

    address: str
    shown: str
    question: str
    option: str
    chosen: str
    submit: str


class Visitor(Protocol):
    """One signed-in annotator as the tool's own page acts over HTTP."""

    @property
    def work(self) -> str | None:
        """The annotator and their item, as in `Tool.stored`; None when they have no item left."""

    async def draft(self) -> None:
        """What the page sends on its own while the annotator rates."""

    async def submit(self) -> float:
        """Sends the annotation and fetches the next item; seconds from the one to the other. Raises PageFailed."""


@dataclass(frozen=True)
class Project:
    """A tool's study, ready to be served: its folder, its size, and what its tool keeps to itself.

    importing: seconds that its items took to go in, where `prepare` does more than that.
    """

    home: Path
    items: int
    annotators: int
    raters: int
    port: int
    material: Mapping[str, Any] = field(default_factory=dict)
    importing: float | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class Tool(Protocol):
    """One tool; `prepare` happens before its server starts, `sign_up` on the running server."""

    name: ClassVar[str]
    notes: ClassVar[str]

    def install(self) -> str:
        """Makes the tool ready and returns its version."""

    def prepare(self, home: Path, items: int, annotators: int, raters: int) -> Project: ...

    def start(self, project: Project) -> Server:
        """Starts the server and returns at once."""

    def answers(self, project: Project) -> bool:
        """Whether the server answers requests."""

    def sign_up(self, project: Project) -> Sequence[Mapping[str, str]]:
        """The cookies of each annotator (name → value), on the running server."""

    def visit(
        self, project: Project, cookies: Mapping[str, str], number: int
    ) -> AbstractAsyncContextManager[Visitor]: ...

    def screen(self, project: Project) -> Screen: ...

    def fill(self, project: Project, count: int) -> None:
        """Puts this many annotations where the tool keeps them, before or while it runs as it needs."""

    def export(self, project: Project) -> int:
        """Exports all annotations in the tool's flat form; returns how many came out."""

    def stored(self, project: Project) -> Mapping[str, str]:
        """Every annotation that the tool has on its disk: the visitor's `work` → the item."""


@contextmanager
def serving(tool: Tool, project: Project) -> Iterator[Server]:
    """The tool's server, answering; ended when the block is left. Raises ServerFailed."""
    server = tool.start(project)
    try:
        wait_until(lambda: tool.answers(project), server, "answer", ANSWERING)
        yield server
    finally:
        server.stop()


def cache() -> Path:
    """The folder of the peers' environments: outside the repository, in the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "triptych-bench-peers"


def environment(package: str, version: str) -> Path:
    """A virtual environment with this package of PyPI alone, made at its first use; returns its folder of commands.

    Raises NotMeasured if it cannot be installed.
    """
    home = cache() / f"{package}-{version}"
    if not (home / "installed").exists():
        python = home / "bin" / "python"
        pip: list[str | Path] = [
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            f"{package}=={version}",
        ]
        try:
            subprocess.run([sys.executable, "-m", "venv", home], check=True, timeout=INSTALLING)
            subprocess.run(pip, check=True, timeout=INSTALLING)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            raise NotMeasured(f"{package} {version} could not be installed: {error}") from error
        (home / "installed").touch()
    return home / "bin"


def start_process(project: Project, command: Sequence[str | Path], env: Mapping[str, str]) -> Server:
    """A peer's server as a process of its own, in the project's folder, its output in `server.log`."""
    log = project.home / "server.log"
    with log.open("ab") as file:
        process = subprocess.Popen(
            command, cwd=project.home, env=clean(env), stdin=subprocess.DEVNULL, stdout=file, stderr=file
        )
    return Server(project.url, process, log)


def reachable(url: str) -> bool:
    """Whether this address answers with 200."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def clean(env: Mapping[str, str]) -> dict[str, str]:
    """The surroundings of a peer's process: ours without Triptych's settings, and `env`."""
    return {**{name: value for name, value in os.environ.items() if not name.startswith("TRIPTYCH_")}, **env}


def browserlike(cookies: Mapping[str, str]) -> aiohttp.ClientSession:
    """An HTTP session that keeps cookies and connections as a browser's tab does."""
    jar = aiohttp.CookieJar(unsafe=True)
    return aiohttp.ClientSession(cookies=dict(cookies), cookie_jar=jar, connector=aiohttp.TCPConnector(limit=6))


def seconds(act: Callable[[], Any]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began
