"""Logs say what happened and where to look, and nothing about a person, a text, a secret or a folder."""

from __future__ import annotations

import http.client
import os
import re
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from helpers import browser
from helpers.studies import ROOT, add_person
from sqlalchemy import Engine, create_engine, text

from triptych.errors import NotFound
from triptych.operations import doctor as examination
from triptych.privacy import erasure
from triptych.storage import database, schema, traces
from triptych.storage.database import reading, writing
from triptych.storage.models import Role
from triptych.storage.unavailable import DatabaseUnavailable
from triptych.web.session import COOKIE

chromium = browser.chromium
NAME = "Rosalind"
ABSOLUTE = re.compile(r"(?<![\w:/.])/\w[^\s/]*/\w")
ID = re.compile(r"\b[0-9a-f]{8}\b")
# what libraries do: texts in templates, warnings, threads and errors that nobody waits for
NOISE = f"""
import asyncio, logging, sys, threading, warnings
from triptych.operations import logs

def fail():
    raise ValueError("{NAME} wrote this in /home/rosalind/study.csv")

logs.settle()
for name in ("uvicorn.error", "streamlit.runtime", "triptych.web"):
    try:
        fail()
    except ValueError as error:
        logging.getLogger(name).exception("Failed")
logging.getLogger("uvicorn.error").error("{NAME}: /?join=secret")
logging.getLogger("streamlit.web").warning(f"No file /home/rosalind/study.csv, ask %s", "{NAME}")
logging.getLogger("triptych.web").warning("Nothing at %s for %s", "/home/rosalind/study.csv", "{NAME.lower()}@lab.org")
logging.getLogger("triptych.web").warning("%d", "{NAME}")
warnings.warn("{NAME} is deprecated")
thread = threading.Thread(target=fail)
thread.start()
thread.join()

async def lose():
    asyncio.ensure_future(asyncio.to_thread(fail))
    await asyncio.sleep(0)

asyncio.run(lose())
class Lost:
    def __del__(self):
        fail()
Lost()
fail()
"""


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_source_logs_a_person_or_a_path(tmp_path, form):
    environment = {**os.environ, "TRIPTYCH_HOME": str(tmp_path), "TRIPTYCH_LOG": form}
    ran = subprocess.run(
        [sys.executable, "-c", NOISE], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )

    assert ran.stderr.count("ValueError") >= 6, ran.stderr
    assert NAME.lower() not in ran.stderr.lower()
    assert "Traceback" not in ran.stderr
    assert not ABSOLUTE.findall(ran.stderr)
    assert set(traces.stored_in(tmp_path)) <= set(ID.findall(ran.stderr))


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    with browser.running(tmp_path_factory.mktemp("home")) as started:
        yield started


def answer_to(app: browser.App, cookie: str, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(app.url.removeprefix("http://"), timeout=30)
    with closing(connection):
        connection.request("GET", path, headers={"Cookie": f"{COOKIE}={cookie}"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


@pytest.mark.long
@pytest.mark.parametrize("digits", [23, 5000])
def test_a_workbook_of_an_endless_number_does_not_exist(app, make_study, digits):
    """Python converts at most 4,300 digits; more were an unexpected error, also for somebody who is not signed in."""
    with app.writing() as session:
        study, lead, _ = make_study(session)
        slug = study.slug
    cookie = browser.session_cookie(app, lead.person_id)
    status, _ = answer_to(app, cookie, f"/workbook/{slug}/{'9' * digits}.xlsx")

    assert status == 404
    assert answer_to(app, "", f"/workbook/{slug}/{'9' * digits}.xlsx")[0] == 401
    assert "Traceback" not in app.server.output()


@pytest.mark.long
def test_an_unexpected_error_shows_an_id_and_keeps_its_trace(app, chromium):
    with app.writing() as session:
        lead = add_person(session, "lead", Role.lead)
    cookie = browser.session_cookie(app, lead.person_id)
    with closing(sqlite3.connect(app.home / "triptych.db")) as file:
        file.execute("ALTER TABLE study RENAME TO lost_study")
    try:
        status, body = answer_to(app, cookie, "/export/study/ratings.csv")
        page = chromium.new_context().new_page()
        page.goto(f"{app.url}/?anybody=1")
        shown = page.get_by_role("alert").first.inner_text()
    finally:
        with closing(sqlite3.connect(app.home / "triptych.db")) as file:
            file.execute("ALTER TABLE lost_study RENAME TO study")

    assert status == 500
    for words in (body, shown):
        (number,) = ID.findall(words)
        assert number in app.server.output()
        file = app.home / "errors" / f"{number}.txt"
        assert "no such table" in file.read_text()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        assert number in doctor(app.home).stdout
        assert "no such table" in doctor(app.home, "--error", number).stdout
    assert "no such table" not in app.server.output() + body + shown
    assert "Traceback" not in app.server.output()
    assert not ABSOLUTE.findall(app.server.output())


def doctor(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "triptych", "server", "doctor", *words],
        cwd=ROOT,
        env={**os.environ, "TRIPTYCH_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_repeated_error_pushes_out_no_other_trace():
    def failed(numerator: int) -> str:
        try:
            return str(numerator / 0)
        except ZeroDivisionError as error:
            return traces.store(error)

    other = traces.store(ValueError("of another place"))
    numbers = [failed(numerator) for numerator in range(traces.MAX_TRACES + 3)]

    assert "of another place" in traces.text_of(other)
    assert "failed" in traces.text_of(numbers[-1])


def test_traces_stay_few_and_short_and_can_be_cleared(tmp_path, monkeypatch):
    monkeypatch.setattr(traces, "MAX_OF_ONE_PLACE", traces.MAX_TRACES + 3)
    numbers = [traces.store(ValueError("x" * 10**6)) for _ in range(traces.MAX_TRACES + 3)]

    assert len(traces.stored_in(tmp_path)) == traces.MAX_TRACES
    assert len(traces.text_of(numbers[-1])) <= traces.MAX_CHARACTERS
    with pytest.raises(NotFound):
        traces.text_of(numbers[0])
    with pytest.raises(NotFound):
        traces.text_of("../triptych")
    traces.clear()
    assert traces.stored_in(tmp_path) == []


def test_an_erasure_deletes_every_trace(sqlite_engine, tmp_path):
    """They may quote the person."""
    traces.store(ValueError(f"{NAME} wrote this"))
    assert traces.stored_in(tmp_path)

    erasure.wipe(sqlite_engine)

    assert traces.stored_in(tmp_path) == []


def test_an_error_has_the_same_id_wherever_it_is_reported():
    error = ValueError("once")

    assert traces.store(error) == traces.store(error)


def fill(engine: Engine) -> None:
    with writing(engine) as session:
        session.execute(text("PRAGMA max_page_count=1"))
        session.execute(text("CREATE TABLE more (x)"))
        session.execute(text("INSERT INTO more VALUES (zeroblob(1000000))"))


def test_full_locked_and_read_only_databases_are_told_apart(sqlite_engine, tmp_path, monkeypatch):
    path = tmp_path / "triptych.db"
    monkeypatch.setitem(database.PRAGMAS, "busy_timeout", 50)
    sentences = {}
    with pytest.raises(DatabaseUnavailable) as caught:
        fill(sqlite_engine)
    sentences["disk"] = str(caught.value)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        patient = database.open_engine(f"sqlite:///{path}")
        with pytest.raises(DatabaseUnavailable) as caught, writing(patient) as session:
            add_person(session, "somebody")
    sentences["busy"] = str(caught.value)
    engine = schema.open_existing(f"sqlite:///{path}", changes=False)
    with pytest.raises(DatabaseUnavailable) as refused, writing(engine) as session:
        add_person(session, "somebody")
    sentences["read-only"] = str(refused.value)
    with pytest.raises(DatabaseUnavailable) as caught, reading(absent_engine(tmp_path)) as session:
        session.execute(text("SELECT 1"))
    sentences["does not answer"] = str(caught.value)

    assert len(set(sentences.values())) == 4
    assert "is read-only (attempt to write" in examination.refusal(refused.value)
    assert all(word in sentence for word, sentence in sentences.items())
    assert all("What was saved is safe" in sentence for sentence in sentences.values())


def absent_engine(tmp_path: Path) -> Engine:
    return create_engine(f"sqlite:///{tmp_path}/no/such/folder.db")
