"""The built wheel with its packages from the index, in an environment of its own: the command starts the app."""

from __future__ import annotations

import html.parser
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
import venv
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from helpers.present import present
from helpers.studies import ROOT

from bench.server import Server, wait_until

pytestmark = pytest.mark.deploy
LINK = re.compile(r"(http://127\.0\.0\.1:\d+)/\?setup=\S+")


@dataclass
class Command:
    """`triptych` in an empty environment, for a user with an empty home, typed in a folder of theirs."""

    program: Path
    home: Path

    @property
    def data(self) -> Path:
        return self.home / ".local" / "share" / "triptych"

    def environment(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), "PYTHONUNBUFFERED": "1", "LANG": "C.UTF-8"}

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        command: list[str | Path] = [self.program, *words]
        return subprocess.run(command, cwd=self.home, env=self.environment(), capture_output=True, text=True)

    def start(self) -> Server:
        """`triptych` alone; its address is that of the set-up link it prints."""
        log = self.home / "server.log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [self.program],
                cwd=self.home,
                env=self.environment(),
                stdout=file,
                stderr=subprocess.STDOUT,
                umask=0o022,
            )
        server = Server("", process, log)
        wait_until(lambda: LINK.search(log.read_text()), server, "print the set-up link")
        return Server(present(LINK.search(log.read_text()))[1], process, log)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Command:
    folder = tmp_path_factory.mktemp("a folder with spaces")
    build: list[str | Path] = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    venv.create(folder / "env", with_pip=True)
    install: list[str | Path] = [
        folder / "env" / "bin" / "python",
        "-m",
        "pip",
        "install",
        "-q",
        next(folder.glob("*.whl")),
    ]
    subprocess.run(install, cwd=folder, check=True)
    (folder / "home").mkdir()
    return Command(folder / "env" / "bin" / "triptych", folder / "home")


@pytest.fixture(scope="module")
def server(installed: Command) -> Iterator[Server]:
    started = installed.start()
    yield started
    started.stop()


class Title(html.parser.HTMLParser):
    """The title of a page."""

    text, is_open = "", False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.is_open = tag == "title"

    def handle_data(self, data: str) -> None:
        self.text += data if self.is_open else ""
        self.is_open = False


def test_the_command_alone_answers_with_a_page(installed: Command, server: Server):
    page = Title()
    with urllib.request.urlopen(server.url, timeout=60) as answer:
        page.feed(answer.read().decode())
    assert (answer.status, page.text) == (200, "Streamlit")
    demo = json.loads(installed.run("study", "list", "--json").stdout)
    assert len(demo["studies"]) == 4


def test_the_data_are_for_their_user_alone(installed: Command, server: Server):
    assert installed.data.stat().st_mode & 0o777 == 0o700
    files = [path for path in installed.data.rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"triptych.db", "triptych.lock"}
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


def test_a_second_start_on_the_same_data_is_refused(installed: Command, server: Server):
    ended = installed.run()
    assert (ended.returncode, ended.stdout) == (2, "")
    assert f"already running with these data at {server.url}" in ended.stderr


def test_a_removed_program_leaves_the_data(installed: Command, server: Server):
    assert "listens on this computer only" in installed.run("share").stderr
    server.process.send_signal(signal.SIGINT)
    server.process.wait(60)
    with closing(socket.socket()) as probe:
        assert probe.connect_ex(("127.0.0.1", int(server.url.rpartition(":")[2]))) != 0
    assert installed.run("data", "verify").returncode == 0

    python = installed.program.with_name("python")
    subprocess.run([python, "-m", "pip", "uninstall", "-q", "-y", "triptych"], check=True)
    assert not installed.program.exists()
    assert (installed.data / "triptych.db").is_file()
