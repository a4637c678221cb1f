"""What a tool must provide to be measured, and the processes and environments that all tools need."""

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
ANSWERING = 600.0  # seconds; a tool may read 100,000 items at its start


class NotMeasured(Exception):
    """A measure failed; the message is shown in the table."""


@dataclass(frozen=True)
class Screen:
    """Where a browser finds elements on a tool's annotation page; selectors are CSS.

    `shown`: a JavaScript expression that identifies the item on screen, null until it can be rated. `question` contains
    the `option` elements of one of the fifteen questions; a chosen option matches `chosen`, or contains an element that
    does.
    """

    address: str
    shown: str
    question: str
    option: str
    chosen: str
    submit: str


class Visitor(Protocol):
    """A signed-in annotator who sends the requests of the tool's own page."""

    @property
    def work(self) -> str | None:
        """The annotator and their item, as in `Tool.stored`; None if no item is left."""

    async def draft(self) -> None:
        """The page's automatic request while the annotator rates."""

    async def submit(self) -> float:
        """Submit the annotation and fetch the next item; returns the seconds for both. Raises PageFailed."""


@dataclass(frozen=True)
class Project:
    """A tool's study, ready to be served: its folder, its size, and the tool's own data.

    importing: seconds of the import of items, if `prepare` does more than that.
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
    """A tool. `prepare` is called before its server starts, `sign_up` while it runs."""

    name: ClassVar[str]
    notes: ClassVar[str]

    def install(self) -> str:
        """Install the tool and return its version."""

    def prepare(self, home: Path, items: int, annotators: int, raters: int) -> Project: ...

    def start(self, project: Project) -> Server:
        """Start the server; returns at once."""

    def answers(self, project: Project) -> bool:
        """Whether the server answers requests."""

    def sign_up(self, project: Project) -> Sequence[Mapping[str, str]]:
        """The cookies of each annotator (name → value), obtained from the running server."""

    def visit(
        self, project: Project, cookies: Mapping[str, str], number: int
    ) -> AbstractAsyncContextManager[Visitor]: ...

    def screen(self, project: Project) -> Screen: ...

    def fill(self, project: Project, count: int) -> None:
        """Store this many annotations in the tool, before its start or while it runs, as it requires."""

    def export(self, project: Project) -> int:
        """Export all annotations in the tool's flat format; returns their number."""

    def stored(self, project: Project) -> Mapping[str, str]:
        """All annotations on the tool's disk: the visitor's `work` → the item."""


@contextmanager
def serving(tool: Tool, project: Project) -> Iterator[Server]:
    """The tool's server, which responds, until the end of the context. Raises ServerFailed."""
    server = tool.start(project)
    try:
        wait_until(lambda: tool.answers(project), server, "answer", ANSWERING)
        yield server
    finally:
        server.stop()


def cache() -> Path:
    """The folder of the tools' environments, in the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "triptych-bench-peers"


def environment(package: str, version: str) -> Path:
    """A virtual environment with only this PyPI package, created at first use; returns its folder of commands.

    Raises NotMeasured if the package cannot be installed.
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
    """Start a tool's server as a separate process in the project's folder, with its output in `server.log`."""
    log = project.home / "server.log"
    with log.open("ab") as file:
        process = subprocess.Popen(
            command, cwd=project.home, env=clean(env), stdin=subprocess.DEVNULL, stdout=file, stderr=file
        )
    return Server(project.url, process, log)


def reachable(url: str) -> bool:
    """Whether this address answers with status 200."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def clean(env: Mapping[str, str]) -> dict[str, str]:
    """The environment of a tool's process: ours without Triptych's settings, plus `env`."""
    return {**{name: value for name, value in os.environ.items() if not name.startswith("TRIPTYCH_")}, **env}


def browserlike(cookies: Mapping[str, str]) -> aiohttp.ClientSession:
    """An HTTP session that keeps cookies and connections, as a browser tab does."""
    jar = aiohttp.CookieJar(unsafe=True)
    return aiohttp.ClientSession(cookies=dict(cookies), cookie_jar=jar, connector=aiohttp.TCPConnector(limit=6))


def seconds(act: Callable[[], Any]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began
