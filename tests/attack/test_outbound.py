"""The server asks nobody but the mail server that its configuration names: every address it connects to or looks up is
recorded."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from helpers.attackers import ask, cookie, handshake
from helpers.ratings import submit

from bench.load import annotate
from bench.server import Server, running_app, wait_until
from bench.world import World, build_world
from triptych.storage import database
from triptych.storage.models import Person

PATHS = ("/", "/_stcore/host-config", "/_stcore/health", "/_stcore/upload_file/a/b", "/auth/login", "/results")
# Runs in the server before anything else; records what Python code asks of the system, whatever library it is in.
RECORDER = """
import json, os, sys
BY_SOCKET = ("socket.connect", "socket.sendto", "socket.sendmsg")
BY_NAME = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo")
OWN = {None, "", "0.0.0.0", "127.0.0.1", "::1", "::"}
log = os.open(os.environ["RECORD_INTO"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

def record(event, arguments):
    if event not in BY_SOCKET + BY_NAME:
        return
    place = arguments[0] if event in BY_NAME else arguments[1]
    host = place[0] if isinstance(place, tuple) else place
    if host not in OWN:
        os.write(log, (json.dumps([event, str(place)]) + "\\n").encode())

sys.addaudithook(record)
os.write(log, b'["recording", ""]\\n')
"""


@pytest.fixture
def recorded(tmp_path) -> dict[str, str]:
    """The environment of a server whose outgoing connections are written into a file."""
    folder = tmp_path / "recorder"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(RECORDER)
    return {"PYTHONPATH": str(folder), "RECORD_INTO": str(tmp_path / "record")}


def connections(environment: dict[str, str]) -> list[list[str]]:
    lines = [json.loads(line) for line in Path(environment["RECORD_INTO"]).read_text().splitlines()]
    assert ["recording", ""] in lines
    return [line for line in lines if line != ["recording", ""]]


async def annotate_twice(server: Server, world: World) -> None:
    async with world.annotator(server.url, 0) as annotator:
        for _ in range(2):
            await annotate(annotator, drafts=2)


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"])
def test_start_handshakes_of_all_kinds_and_whole_annotations_ask_nobody(tmp_path, recorded, address):
    world = build_world(tmp_path / "home", items=5)
    environment = {**recorded, "TRIPTYCH_SECRET": settings_secret(world)}
    with running_app(world.home, environment, address=address) as server:
        host = server.url.removeprefix("http://")
        for origin in (server.url, "http://evil.example", "https://127.0.0.1:1", "null", "", "http://127.0.0.1:8888"):
            for name in (host, "localhost:1", "evil.example", "10.9.8.7"):
                handshake(server.url, {**cookie(world.lead), "Host": name, "Origin": origin})
                handshake(server.url, {"Host": name, "Origin": origin, "Sec-WebSocket-Protocol": "streamlit, x, y"})
        for path in PATHS:
            ask(server.url, "GET", path, cookie(world.lead))
            ask(server.url, "PUT", path, {**cookie(world.lead), "Origin": server.url}, b"x")
        asyncio.run(annotate_twice(server, world))

    assert connections(recorded) == []


@pytest.mark.long
def test_a_named_mail_server_is_the_only_one_asked(tmp_path, recorded, make_study):
    world = build_world(tmp_path / "home", items=1)
    engine = database.open_engine(f"sqlite:///{world.home / 'triptych.db'}")
    with database.writing(engine) as session:
        study, lead, (anna,) = make_study(session, items=1, annotators=1, raters_per_item=1)
        submit(session, study, anna)
        person = session.get_one(Person, lead.person_id)
        person.email, person.passcode_hash = "lead@lab.test", "set"
    engine.dispose()
    named = {"TRIPTYCH_MAIL": "smtp://192.0.2.1:2525?from=app@lab.test", "TRIPTYCH_SECRET": settings_secret(world)}
    with running_app(world.home, {**recorded, **named}) as server:
        wait_until(lambda: connections(recorded), server, "ask the mail server")
    assert {"192.0.2.1" in place for _, place in connections(recorded)} == {True}


def settings_secret(world: World) -> str:
    """The secret that signed the cookies of this world."""
    return (world.home / "cookie.secret").read_text()
