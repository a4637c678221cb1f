"""How a server starts, or says why it does not."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from urllib.request import urlopen

import aiohttp
import pytest
from helpers.studies import ROOT

from bench.client import PageSession
from bench.server import running_app, start_server
from bench.world import build_world
from triptych.storage import database, schema
from triptych.storage.models import DEMO_LOADED, Setting
from triptych.web import start

FULL = Path("/dev/full")
MAPS = Path("/proc/self/maps")

STARTED = """
import asyncio, os, sys
import app
async def start():
    async with app.lifespan(app.app):
        print("numpy" in sys.modules, os.environ["OPENBLAS_NUM_THREADS"], sys.get_int_max_str_digits())
asyncio.run(start())
"""


@pytest.mark.long
@pytest.mark.parametrize(
    "address, sentence",
    [
        ("mysql://lab/study", "mysql:// is not one of them."),
        ("postgresql://lab/study", "TRIPTYCH_SECRET is not set."),
    ],
)
def test_a_refused_start_gives_one_sentence(tmp_path, address, sentence):
    server = start_server(tmp_path, {"TRIPTYCH_DATABASE_URL": address, "TRIPTYCH_SECRET": ""})
    try:
        assert server.process.wait(60) != 0
    finally:
        server.kill()

    assert server.output().count(sentence) == 1
    assert "Traceback" not in server.output()
    assert ".py" not in server.output()


def test_a_server_raises_its_limit_of_open_files():
    """A usual shell allows 1,024, which the sockets of one address use up."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, before[1]))
    try:
        start.allow_open_files()
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == min(before[1], start.OPEN_FILES)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.long
def test_a_start_sets_what_the_environment_set_otherwise(tmp_path):
    """The threads of NumPy, which is not imported where the demo studies are there; the longest number to be read."""
    engine = database.open_engine(f"sqlite:///{tmp_path / 'triptych.db'}")
    schema.migrate(engine)
    with database.writing(engine) as session:
        session.add(Setting(key=DEMO_LOADED, value="before"))
    engine.dispose()
    home = {**os.environ, "TRIPTYCH_HOME": str(tmp_path), "TRIPTYCH_DEMO": "1", "PYTHONINTMAXSTRDIGITS": "0"}
    home.pop("OPENBLAS_NUM_THREADS", None)
    ran = subprocess.run([sys.executable, "-c", STARTED], cwd=ROOT, env=home, capture_output=True, text=True)

    assert ran.stdout.split()[-3:] == ["False", "1", "4300"], ran.stderr
    assert (tmp_path / "cookie.secret").exists()


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="Windows deletes no open file")
def test_a_deleted_lock_lets_no_second_server_in(tmp_path):
    with running_app(tmp_path) as server:
        (tmp_path / "triptych.lock").unlink()
        with urlopen(f"{server.url}/readyz", timeout=30) as answer:
            assert answer.status == 200
        second = start_server(tmp_path)
        try:
            assert second.process.wait(60) != 0
        finally:
            second.kill()

    assert "Another Triptych is using triptych.db" in second.output()


OPENED = """
import asyncio
import app
from triptych.web import start
async def open_and_stop():
    async with app.lifespan(app.app):
        print(start._leading_to("http://127.0.0.1/?setup=secret").exists())
    print(start._opener().exists())
asyncio.run(open_and_stop())
"""


@pytest.mark.long
def test_the_file_that_opens_the_setup_link_is_deleted(tmp_path):
    home = {**os.environ, "TRIPTYCH_HOME": str(tmp_path), "TRIPTYCH_DEMO": "0"}
    ran = subprocess.run([sys.executable, "-c", OPENED], cwd=ROOT, env=home, capture_output=True, text=True)

    assert ran.stdout.split()[-2:] == ["True", "False"], ran.stderr


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has a disk that is always full")
def test_an_output_on_a_full_disk_prevents_no_start(monkeypatch):
    full = FULL.open("w")
    for output in (full, None):
        monkeypatch.setattr(sys, "stdout", output)
        start.announce("http://127.0.0.1:8501", "127.0.0.1")
    with suppress(OSError):
        full.close()


def test_printed_links_begin_with_the_configured_address(monkeypatch):
    options = {"server.address": "127.0.0.1", "server.port": 8501, "server.baseUrlPath": "/lab/"}

    assert start.address(options.get) == "http://127.0.0.1:8501/lab"
    monkeypatch.setenv("TRIPTYCH_ADDRESS", "https://annotate.example.org http://lab7.example:8080")
    assert start.address(options.get) == "https://annotate.example.org/lab"


@pytest.mark.long
@pytest.mark.skipif(not MAPS.exists(), reason="only Linux lists the files that a process has loaded")
def test_an_annotators_first_pages_load_no_pandas(tmp_path):
    world = build_world(tmp_path, items=2)

    async def visit(url: str) -> None:
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(cookies=world.cookies[0], cookie_jar=jar) as http:
            page = PageSession(http, url)
            await page.open()
            await page.close()
        async with world.annotator(url, 0):
            pass

    with running_app(tmp_path) as server:
        asyncio.run(visit(server.url))
        assert "/pandas/" not in MAPS.parent.with_name(str(server.process.pid)).joinpath("maps").read_text()
