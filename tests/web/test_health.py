"""/healthz is about the process, /readyz about what it needs; the end of a server waits for what is under way."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError, OperationalError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route

from triptych import settings
from triptych.operations import doctor
from triptych.operations.doctor import Diagnosis
from triptych.storage import database, schema
from triptych.storage.database import reading, writing
from triptych.storage.unavailable import UNREACHABLE, DatabaseUnavailable
from triptych.web import health, routes, start

EVERYWHERE = "0.0.0.0"
STRONG = "v8Kq2LmZx7Wc4RtYb9NpJd3HsGf6QaUe1ToXiVk5"


NO_REQUEST = Request({"type": "http"})


@pytest.fixture
def served(sqlite_engine, monkeypatch):
    monkeypatch.setattr(health, "web_engine", lambda: sqlite_engine)
    return sqlite_engine


def ready() -> tuple[int, dict]:
    answer = health.readyz(NO_REQUEST)
    return answer.status_code, json.loads(bytes(answer.body))


def broken_engine(tmp_path: Path):
    return create_engine(f"sqlite:///{tmp_path}/no/such/folder.db")


def test_the_process_is_healthy_whatever_its_database_does(monkeypatch):
    monkeypatch.setattr(health, "web_engine", lambda: pytest.fail("nobody asks the database"))

    assert asyncio.run(health.healthz(NO_REQUEST)).status_code == 200


def test_ready_means_database_tables_and_disk(served):
    status, answer = ready()

    assert (status, answer["status"], answer["database"]) == (200, "ready", "answers")
    assert answer["tables"] == f"version {schema.HEAD}"
    assert answer["disk"].endswith("GB free")


def test_without_its_database_a_process_is_not_ready(tmp_path, monkeypatch):
    monkeypatch.setattr(health, "web_engine", lambda: broken_engine(tmp_path))
    status, answer = ready()

    assert (status, answer["status"]) == (503, "not ready")
    assert answer["database"] == answer["tables"] == "does not answer"


def test_tables_of_another_version_are_not_ready(served):
    with writing(served) as session:
        session.execute(text("UPDATE alembic_version SET version_num = '0000'"))
    status, answer = ready()

    assert status == 503
    assert f"this program needs {schema.HEAD}" in answer["tables"]


def test_a_full_disk_is_not_ready(served, tmp_path, monkeypatch):
    """Anybody may ask, so the answer names no folder."""
    monkeypatch.setattr(doctor, "MIN_FREE_BYTES", 2**62)
    status, answer = ready()

    assert status == 503
    assert str(tmp_path) not in answer["disk"]


def test_without_its_data_folder_a_process_is_not_ready(served, tmp_path, monkeypatch):
    monkeypatch.setattr(settings, "local_folder", lambda: tmp_path / "moved away")
    status, answer = ready()

    assert (status, answer["disk"]) == (503, "does not answer")


def test_asked_too_often_it_repeats_its_last_answer(served, monkeypatch):
    monkeypatch.setenv("TRIPTYCH_BUDGETS", "readiness=2/0.01")
    looks: list[int] = []

    def look() -> Diagnosis:
        looks.append(1)
        return Diagnosis("disk", "room")

    monkeypatch.setitem(health.CHECKS, "disk", look)

    assert {ready()[0] for _ in range(5)} == {200}
    assert len(looks) == 2


def test_an_unavailable_database_is_one_sentence_for_people(tmp_path):
    engine = broken_engine(tmp_path)

    with pytest.raises(DatabaseUnavailable, match="kept in this browser"), reading(engine) as session:
        session.execute(text("SELECT 1"))
    assert not database.answers(engine)


def test_an_invalid_statement_is_no_outage(sqlite_engine):
    with pytest.raises(OperationalError, match="no such table"), reading(sqlite_engine) as session:
        session.execute(text("SELECT * FROM nowhere"))


def test_a_cut_connection_is_an_outage_until_the_next(postgres_engine):
    cut = text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = :it")
    with pytest.raises(DatabaseUnavailable), reading(postgres_engine) as session:
        session.execute(text("SELECT 1"))
        with postgres_engine.connect() as other:
            other.execute(cut, {"it": postgres_engine.url.database})
        session.execute(text("SELECT 1"))

    assert database.answers(postgres_engine)


def test_a_statements_error_quotes_no_user_text(engine):
    with pytest.raises(DBAPIError) as caught, writing(engine) as session:
        session.execute(text("INSERT INTO person (name) VALUES (:name)"), {"name": "Rosalind"})

    assert "Rosalind" not in str(caught.value).partition("DETAIL")[0]


def test_an_outage_is_answered_with_503_and_the_sentence():
    async def broken(_):
        raise DatabaseUnavailable(UNREACHABLE)

    app = Starlette(routes=[Route("/x", broken)], exception_handlers=routes.ERRORS)
    sent: list = []

    async def send(message) -> None:
        sent.append(message)

    async def receive() -> dict:
        return {"type": "http.disconnect"}

    asyncio.run(app({"type": "http", "method": "GET", "path": "/x", "headers": [], "root_path": ""}, receive, send))

    assert sent[0]["status"] == 503
    assert json.loads(sent[1]["body"]) == {"refused": "away", "message": UNREACHABLE}
    assert (b"retry-after", b"3") in sent[0]["headers"]


def test_a_refused_start_is_logged_as_one_error(monkeypatch, caplog):
    def refuse(*_):
        raise settings.UnsafeSettings("No secret is set.")

    levels: list[int] = []
    monkeypatch.setattr(logging.getLogger("uvicorn.error"), "setLevel", levels.append)
    monkeypatch.setattr(start.logs, "settle", lambda: None)
    monkeypatch.setattr(settings, "refuse_unsafe_secrets", refuse)

    with pytest.raises(settings.UnsafeSettings), start.running({"server.port": 8501}.get):
        pass

    assert [record.message for record in caplog.records] == ["The app did not start."]
    assert levels == [logging.CRITICAL]


def test_stopping_waits_for_the_transaction_that_is_under_way(sqlite_engine):
    begun, done = threading.Event(), threading.Event()

    def write() -> None:
        with writing(sqlite_engine) as session:
            session.execute(text("INSERT INTO setting VALUES ('k', 'v')"))
            begun.set()
            done.wait(5)

    writer = threading.Thread(target=write)
    writer.start()
    begun.wait(5)
    assert not start.finish_writes(sqlite_engine, patience=0.05)
    threading.Timer(0.1, done.set).start()
    assert start.finish_writes(sqlite_engine)
    writer.join(10)
    assert not writer.is_alive()

    with reading(sqlite_engine) as session:
        assert session.execute(text("SELECT value FROM setting")).scalar() == "v"


@pytest.mark.parametrize("bound", ["127.0.0.1", "::1", "localhost"])
def test_alone_on_this_computer_any_secret_will_do(bound, monkeypatch):
    monkeypatch.setenv("TRIPTYCH_SECRET", "x")

    settings.refuse_unsafe_secrets(bound)


@pytest.mark.parametrize("secret", ["x", "change-me-change-me-change-me-change-me", "a" * 40, "short but random 7Gh2"])
@pytest.mark.parametrize("name", settings.SECRETS)
@pytest.mark.parametrize("bound", [None, EVERYWHERE, "192.168.1.5", "lab.example.org"])
def test_reachable_by_others_a_weak_secret_is_refused(bound, name, secret, monkeypatch):
    monkeypatch.setenv(name, secret)

    with pytest.raises(settings.UnsafeSettings, match=f"{name} is too easy to guess"):
        settings.refuse_unsafe_secrets(bound)


def test_one_process_with_a_file_generates_its_own_secret(monkeypatch):
    for name in settings.SECRETS:
        monkeypatch.delenv(name, raising=False)

    settings.refuse_unsafe_secrets(EVERYWHERE)
    assert not settings.is_weak(settings.cookie_secret())


def test_processes_on_postgresql_need_a_shared_secret(monkeypatch):
    monkeypatch.setenv("TRIPTYCH_DATABASE_URL", "postgresql://triptych_app@db/triptych")
    monkeypatch.delenv("TRIPTYCH_SECRET", raising=False)

    with pytest.raises(settings.UnsafeSettings, match="TRIPTYCH_SECRET is not set"):
        settings.refuse_unsafe_secrets("127.0.0.1")
    monkeypatch.setenv("TRIPTYCH_SECRET", STRONG)
    settings.refuse_unsafe_secrets("127.0.0.1")


def test_the_password_of_the_example_is_refused(monkeypatch):
    monkeypatch.setenv("TRIPTYCH_SECRET", STRONG)
    monkeypatch.setenv("TRIPTYCH_DATABASE_URL", "postgresql://triptych_app:change-me@127.0.0.1/triptych")

    with pytest.raises(settings.UnsafeSettings, match="example's password"):
        settings.refuse_unsafe_secrets("127.0.0.1")
