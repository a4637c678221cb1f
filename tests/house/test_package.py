"""The wheel: what is in it, and that it works and stays safe where it is started from a hostile folder."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import urllib.request
import venv
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from helpers import browser
from helpers.browser import answer_all, expect, submit
from helpers.main_job import download, make_lead, make_study, take_part
from helpers.studies import ROOT, SMALL_RUBRIC, absent

from bench.server import Server, free_port, is_healthy, wait_until
from triptych import settings

chromium = browser.chromium
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
GUIDES = ("docs/statistics.md", "docs/security.md", "docs/commands.md", "docs/scripting.md")
SHIPPED = ("app.py", "pages", "components", "rubrics", "data/demo", "docs/guide-", ".streamlit/config.toml", *GUIDES)
APP = "triptych/_app/"
HOSTILE_MODULES = ("app.py", "components.py", "streamlit.py", "yaml.py", "pages/router.py")
HOSTILE_SETTINGS = """
[server]
address = "0.0.0.0"
fileWatcherType = "poll"
enableXsrfProtection = false
enableCORS = false
corsAllowedOrigins = ["https://example.org"]
enableStaticServing = true
enableAgentApi = true
maxUploadSize = 4000
trustedUserHeaders = { X-Example = "login" }
[client]
showErrorDetails = "full"
showErrorLinks = true
toolbarMode = "developer"
allowedOrigins = ["https://example.org"]
[browser]
gatherUsageStats = true
"""
CLOSED_SETTINGS = {
    "server.address": '"127.0.0.1"',
    "server.fileWatcherType": '"none"',
    "server.enableXsrfProtection": "true",
    "server.enableCORS": "true",
    "server.corsAllowedOrigins": "[]",
    "server.enableStaticServing": "false",
    "server.enableAgentApi": "false",
    "server.maxUploadSize": "100",
    "client.showErrorDetails": '"none"',
    "client.showErrorLinks": "false",
    "client.toolbarMode": '"minimal"',
    "browser.gatherUsageStats": "false",
}


def requirements(name: str) -> list[str]:
    lines = (line.strip() for line in (ROOT / name).read_text().splitlines())
    return [line for line in lines if line and not line.startswith(("#", "-r"))]


def contents(wheel: Path) -> dict[str, bytes]:
    """Path → bytes of everything but the list of checksums."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/RECORD")}


def repository_files() -> set[str]:
    """The repository's files, with new ones that are not ignored."""
    if not (ROOT / ".git").exists():
        absent("the git repository")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    options = ("-q", "--no-deps", "--no-build-isolation")
    build: list[str | Path] = [sys.executable, "-m", "pip", "wheel", *options, "-w", folder, ROOT]
    subprocess.run(build, check=True)
    return next(folder.glob("*.whl"))


def test_dependencies_are_the_pins_of_requirements():
    assert PROJECT["dependencies"] == requirements("requirements.txt")
    assert PROJECT["optional-dependencies"]["postgres"][0] in requirements("requirements-dev.txt")


@pytest.mark.long
def test_the_wheel_holds_everything_the_app_needs_and_nothing_else(wheel: Path):
    files = {name for name in repository_files() if name.startswith("triptych/")}
    files |= {APP + name for name in repository_files() if name == "requirements.txt" or name.startswith(SHIPPED)}
    packed = set(contents(wheel))

    assert {name for name in packed if not name.split("/")[0].endswith(".dist-info")} == files
    assert {name.split("/")[0] for name in packed} == {"triptych", f"triptych-{PROJECT['version']}.dist-info"}


@pytest.mark.long
def test_the_sdist_builds_the_same_wheel(wheel: Path, tmp_path: Path):
    build: list[str | Path] = [sys.executable, "-m", "hatchling", "build", "-d", tmp_path, "-t"]
    subprocess.run([*build, "sdist"], cwd=ROOT, check=True, capture_output=True)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = (path for path in tmp_path.iterdir() if path.is_dir())
    subprocess.run([*build, "wheel"], cwd=unpacked, check=True, capture_output=True)

    assert contents(next(tmp_path.glob("*.whl"))) == contents(wheel)


@dataclass
class Installation:
    """The wheel in a separate environment, and a folder with files that must not matter."""

    python: Path
    hostile: Path
    data: Path

    @property
    def app(self) -> Path:
        return next(self.python.parents[1].glob("lib/python*/site-packages/triptych/_app"))

    def environment(self) -> dict[str, str]:
        own = ("PYTHON", "TRIPTYCH", "STREAMLIT")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(own)}
        return {**inherited, "XDG_DATA_HOME": str(self.data), "TRIPTYCH_DEMO": "0", "PYTHONUNBUFFERED": "1"}

    def start(self) -> Server:
        """`triptych run` in the hostile folder."""
        port, log = free_port(), self.data / "server.log"
        command: list[str | Path] = [self.python.with_name("triptych"), "server", "run", "--port", str(port)]
        with log.open("ab") as file:
            process = subprocess.Popen(command, cwd=self.hostile, env=self.environment(), stdout=file, stderr=file)
        return Server(f"http://127.0.0.1:{port}", process, log)

    def settings(self, folder: Path) -> dict[str, str]:
        """What Streamlit reads in a folder: option → TOML value."""
        command: list[str | Path] = [self.python, "-P", "-m", "streamlit", "config", "show"]
        shown = subprocess.run(command, cwd=folder, env=self.environment(), capture_output=True, text=True, check=True)
        values, section = {}, ""
        for line in shown.stdout.splitlines():
            if heading := re.fullmatch(r"\[([\w.]+)\]", line):
                section = heading[1]
            elif value := re.fullmatch(r"(\w+) = (.*)", line):
                values[f"{section}.{value[1]}"] = value[2].replace(" ", "")
        return values


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder / "env", symlinks=True)
    python = folder / "env" / "bin" / "python"
    options = ("--no-deps", "--no-index")
    install: list[str | Path] = [sys.executable, "-m", "pip", "-q", "--python", python, "install", *options, wheel]
    subprocess.run(install, check=True)
    # the libraries are those of this environment; the checkout is not on the path
    (packages,) = (folder / "env" / "lib").glob("python*/site-packages")
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    hostile, data = folder / "hostile", folder / "data"
    for place in (hostile / "pages", hostile / ".streamlit", data):
        place.mkdir(parents=True)
    for name in HOSTILE_MODULES:
        (hostile / name).write_text("from pathlib import Path\nPath(__file__).with_suffix('.ran').touch()\n")
    (hostile / ".streamlit" / "config.toml").write_text(HOSTILE_SETTINGS)
    return Installation(python, hostile, data)


@pytest.fixture(scope="module")
def server(installed: Installation) -> Iterator[Server]:
    started = installed.start()
    try:
        wait_until(lambda: is_healthy(started.url), started, "answer")
        yield started
    finally:
        started.stop()


@pytest.mark.long
def test_checkout_and_installation_report_the_same_version(installed: Installation):
    command: list[str | Path] = [installed.python.with_name("triptych"), "--version"]
    printed = subprocess.run(
        command, cwd=installed.hostile, env=installed.environment(), capture_output=True, text=True
    )

    assert printed.stdout == f"triptych {settings.version()}\n"
    assert settings.version() == PROJECT["version"]


@pytest.mark.long
def test_settings_of_the_working_folder_do_not_count(installed: Installation, server: Server):
    hostile, ours = installed.settings(installed.hostile), installed.settings(installed.app)
    assert not {name for name, value in CLOSED_SETTINGS.items() if hostile.get(name) == value}
    assert {name: ours.get(name) for name in CLOSED_SETTINGS} == CLOSED_SETTINGS

    with urllib.request.urlopen(f"{server.url}/_stcore/host-config", timeout=20) as answer:
        assert json.load(answer)["allowedOrigins"] == []
        assert "frame-ancestors 'self'" in answer.headers["Content-Security-Policy"]
    port = int(server.url.rpartition(":")[2])
    with pytest.raises(ConnectionRefusedError):  # it would answer there if it listened on all addresses
        socket.create_connection(("127.0.0.2", port), timeout=20).close()


@pytest.mark.long
@pytest.mark.browser
def test_the_main_job_works_from_a_wheel(
    installed: Installation,
    server: Server,
    chromium: Any,
    tmp_path: Path,
):
    items, rubric = tmp_path / "items.jsonl", tmp_path / "rubric.yaml"
    rubric.write_text(SMALL_RUBRIC)
    texts = {"plumbum": "A grey answer.", "stannum": "A white answer."}
    candidates = [{"system": system, "text": text} for system, text in texts.items()]
    rows = [{"item_id": f"i{n}", "context": f"Question {n}?", "candidates": candidates} for n in range(2)]
    items.write_text("\n".join(map(json.dumps, rows)))
    lead = chromium.new_context().new_page()
    make_lead(lead, server)
    address = make_study(lead, server, items, "From a wheel", rubric, raters=1)
    page = chromium.new_context().new_page()
    take_part(page, address, "Ada")
    for _ in rows:
        answer_all(page)
        submit(page)

    ratings = download(lead, server, address.split("study=")[1], "ratings")
    assert {(row["item_id"], row["criterion"]) for row in ratings} == {
        (row["item_id"], criterion) for row in rows for criterion in ("fluency", "verdict")
    }
    assert (installed.data / "triptych" / "triptych.db").is_file()
    assert not list(installed.hostile.rglob("*.ran"))

    # a page that nobody has opened yet is read from its file now
    (installed.app / "pages" / "lead" / "planner.py").write_text("raise RuntimeError('words of a trace')\n")
    lead.goto(f"{server.url}/planner")
    expect(lead.get_by_role("alert")).to_contain_text("Something went wrong")
    assert "words of a trace" not in lead.content()
    assert "planner.py" not in lead.get_by_role("alert").inner_text()
