"""Another program holds the SQLite file: requests get a quick 503, commands wait and say so."""

from __future__ import annotations

import asyncio
import io
import json
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import Any, cast
from weakref import WeakValueDictionary

import pytest
from helpers.asgi import sent
from helpers.ratings import assigned
from sqlalchemy import Engine, event, text
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.routing import Route

from triptych.annotate import assignments
from triptych.cli import main, opening
from triptych.operations import backup
from triptych.people import logins
from triptych.privacy import erasure
from triptych.storage import database, wiping
from triptych.storage.database import WAITING, sqlite_path, writing
from triptych.storage.models import Person
from triptych.storage.unavailable import BUSY, DatabaseBusy
from triptych.web import api, budgets, routes, session, start, work
from triptych.web.session import COOKIE, HEADER, HEADER_VALUE


@pytest.fixture
def other(sqlite_engine: Engine) -> Iterator[sqlite3.Connection]:
    """Another program that has begun to write."""
    with closing(sqlite3.connect(sqlite_path(str(sqlite_engine.url)), isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection


def wait_less(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same waits in milliseconds; connections that are open keep theirs."""
    monkeypatch.setitem(database.PRAGMAS, "busy_timeout", 20)
    monkeypatch.setattr(database, "QUEUE_SECONDS", 0.02)
    engine.dispose()


def answer_of(app: Starlette, method: str, path: str) -> tuple[int, dict[str, str], dict[bytes, bytes]]:
    """Status, JSON body and headers."""
    messages: list = []
    scope = {"type": "http", "method": method, "path": path, "root_path": "", "query_string": b""}

    async def send(message) -> None:
        messages.append(message)

    async def receive() -> dict:
        return {"type": "http.request", "body": b"{}", "more_body": False}

    asyncio.run(app({**scope, "headers": [(HEADER.encode(), HEADER_VALUE.encode())]}, receive, send))
    return messages[0]["status"], json.loads(messages[1]["body"]), dict(messages[0]["headers"])


def write(engine: Engine) -> None:
    with writing(engine) as session:
        session.execute(text("SELECT 1"))


def test_the_waits_of_a_request_end_within_ten_seconds():
    milliseconds = database.PRAGMAS["busy_timeout"]

    assert isinstance(milliseconds, int)
    assert database.QUEUE_SECONDS + milliseconds / 1000 < work.ANSWER_SECONDS < 10


def test_a_database_held_by_another_program_is_busy(sqlite_engine, other, monkeypatch):
    wait_less(sqlite_engine, monkeypatch)

    with pytest.raises(DatabaseBusy, match="another program holds it"):
        write(sqlite_engine)
    other.execute("ROLLBACK")
    write(sqlite_engine)


def test_a_writer_behind_others_does_not_wait_for_ever(sqlite_engine, monkeypatch):
    wait_less(sqlite_engine, monkeypatch)

    with writing(sqlite_engine), pytest.raises(DatabaseBusy):
        write(sqlite_engine)


def test_a_writer_waits_for_a_connection_before_its_turn(sqlite_engine):
    """Downloads that nobody read took all of them, and the writer held the lock for thirty seconds."""
    locked = []
    event.listen(sqlite_engine, "checkout", lambda *_: locked.append(database.write_lock.locked()))

    write(sqlite_engine)
    wiping.wipe(sqlite_engine, [])

    assert set(locked) == {False}


def test_withdrawals_rewrite_the_files_with_pauses(sqlite_engine, monkeypatch):
    """A stranger who joined a study and withdrew, again and again, kept everybody from storing anything."""
    monkeypatch.setattr(wiping, "SHORT_SECONDS", 0, raising=False)
    monkeypatch.setattr(wiping, "PAUSE", 10**6, raising=False)
    outcomes = []
    for _ in range(3):
        with writing(sqlite_engine) as session:
            wiping.note_due_wipe(session)
        outcomes.append(erasure.wipe(sqlite_engine))

    assert outcomes.count(wiping.Wiped.done) == 1
    assert len(wiping.due_wipes(sqlite_engine)) == 2

    monkeypatch.setattr(wiping, "_paused_until", {})
    start.finish_erasures(sqlite_engine)
    assert wiping.due_wipes(sqlite_engine) == []


def test_a_restore_takes_no_connection_of_others_in_its_turn(sqlite_engine, make_study):
    """Writers that waited for the turn had all of them."""
    with writing(sqlite_engine) as session:
        make_study(session)
    path = backup.make(sqlite_engine).path
    locked = []
    event.listen(sqlite_engine, "checkout", lambda *_: locked.append(database.write_lock.locked()))

    backup.restore(sqlite_engine, path, "command line")

    assert True not in locked


def test_a_request_that_no_thread_takes_up_is_busy_too(monkeypatch):
    monkeypatch.setattr(work, "ANSWER_SECONDS", 0.05)

    class Crowd:
        """Threads that are all waiting."""

        def submit(self, *_):
            return Future()

    monkeypatch.setattr(work, "_threads", Crowd())
    monkeypatch.setattr(work, "login_secret", lambda _: "a secret")
    app = Starlette(routes=work.WORK_ROUTES, exception_handlers=routes.ERRORS)
    status, body, headers = answer_of(app, "POST", "/desk/draft")

    assert (status, body) == (503, {"refused": "busy", "message": BUSY})
    assert headers[b"retry-after"] == b"3"


@pytest.mark.parametrize("declared", [2, work.SMALL_BODY + 1])
def test_messages_of_a_login_wait_together_no_longer(monkeypatch, declared):
    """Each waited for the one before it: of four tabs, the last was answered after twenty seconds."""
    ended = threading.Event()
    monkeypatch.setattr(work, "ANSWER_SECONDS", 0.2)
    monkeypatch.setattr(work, "_turns", WeakValueDictionary())  # a lock belongs to the loop of one test
    monkeypatch.setattr(work, "login_secret", lambda cookie: cookie)
    monkeypatch.setattr(work, "_sender_and_limit", lambda login, _: (login, work.MAX_BODY, True))
    hold = partial(work.command, lambda *_: Response("done" if ended.wait(20) else "late"))
    app = Starlette(routes=[Route("/", hold, methods=["POST"])], exception_handlers=routes.ERRORS)

    async def ask_as_tabs() -> list[tuple[int, bytes]]:
        headers = [(HEADER.encode(), HEADER_VALUE.encode()), (b"cookie", f"{COOKIE}=a login".encode())]
        headers.append((b"content-length", str(declared).encode()))
        asking = [sent(app, "POST", "/", headers, b"{}") for _ in range(60)]
        try:
            return await asyncio.wait_for(asyncio.gather(*asking), 6)
        finally:
            ended.set()

    assert {status for status, _ in asyncio.run(ask_as_tabs())} == {503}


@pytest.mark.parametrize("declared", [2, work.USUAL_BODY + 1])
@pytest.mark.parametrize("many", [["first"] * 10, [f"account {n}" for n in range(10)]], ids=["login", "address"])
def test_a_login_or_address_holds_few_of_the_threads(monkeypatch, many, declared):
    """Two hundred drafts of 250 KB, within their budgets, kept others from saving for ten seconds; and so did the
    accounts that a stranger had made in an open study.
    """
    begun, ended = threading.Event(), threading.Event()

    def wait_for_the_end(login, _=None):
        if login != "second":
            begun.set()
            ended.wait(20)
        return Response("done")

    monkeypatch.setattr(work, "_turns", WeakValueDictionary())
    monkeypatch.setattr(work, "_places", WeakValueDictionary())
    monkeypatch.setattr(work, "login_secret", lambda cookie: cookie)
    monkeypatch.setattr(
        work, "_sender_and_limit", lambda login, _: wait_for_the_end(login) and (login, work.MAX_BODY, True)
    )
    app = Starlette(routes=[Route("/", partial(work.command, wait_for_the_end), methods=["POST"])])

    async def ask_as(login: str) -> tuple[int, bytes]:
        cookie = b"cookie", f"{COOKIE}={login}".encode()
        length = b"content-length", str(declared).encode()
        headers = [(HEADER.encode(), HEADER_VALUE.encode()), cookie, length]
        return await sent(app, "POST", "/", headers, b"{}", address=f"192.0.2.{1 + (login == 'second')}")

    async def ask_after_many() -> tuple[int, bytes]:
        others = [asyncio.create_task(ask_as(login)) for login in many]
        await asyncio.to_thread(begun.wait, 20)
        try:
            return await asyncio.wait_for(ask_as("second"), 3)
        finally:
            ended.set()
            await asyncio.gather(*others)

    assert asyncio.run(ask_after_many()) == (200, b"done")


@pytest.mark.parametrize("path", ["/auth/ticket", "/auth/sign-out"])
def test_signing_in_or_out_holds_few_of_the_threads(monkeypatch, path):
    """While another program held the database, sixty tickets of a stranger, or sign-outs of one login, held all threads
    that open pages: a page took 9 or 18 s.
    """
    begun, ended, waiting = threading.Event(), threading.Event(), []

    def wait_for_the_end(_: object) -> None:
        waiting.append(1)
        begun.set()
        ended.wait(20)
        raise DatabaseBusy(BUSY)

    monkeypatch.setattr(work, "_places", WeakValueDictionary())
    monkeypatch.setattr(session, "current_login", wait_for_the_end)
    monkeypatch.setattr(session, "is_our_own", lambda _: True)
    app = Starlette(routes=routes.ROUTES, exception_handlers=routes.ERRORS)

    async def ask_many() -> int:
        asking = [asyncio.create_task(sent(app, "POST", path, [], b"")) for _ in range(40)]
        try:
            await asyncio.to_thread(begun.wait, 20)
            return await asyncio.wait_for(run_in_threadpool(lambda: len(waiting)), 3)
        finally:
            ended.set()
            await asyncio.gather(*asking)

    assert asyncio.run(ask_many()) <= 2


def test_a_lead_holds_one_of_the_threads_of_rubrics(monkeypatch):
    """Rubrics typed in eight logins of one lead kept the forms of others waiting for seven seconds."""
    begun, ended = threading.Event(), threading.Event()

    def wait_for_the_end(login, _):
        if login != "other":
            begun.set()
            ended.wait(20)
        return Response("done")

    monkeypatch.setattr(work, "_turns", WeakValueDictionary())
    monkeypatch.setattr(work, "login_secret", lambda cookie: cookie)
    monkeypatch.setattr(work, "_sender_and_limit", lambda login, _: (login.rstrip("0123456789"), work.MAX_BODY, True))
    handled = partial(work.command, wait_for_the_end, threads=ThreadPoolExecutor(2))
    app = Starlette(routes=[Route("/", handled, methods=["POST"])])

    async def ask_as(login: str) -> tuple[int, bytes]:
        headers = [(HEADER.encode(), HEADER_VALUE.encode()), (b"cookie", f"{COOKIE}={login}".encode())]
        return await sent(app, "POST", "/", [*headers, (b"content-length", b"2")], b"{}")

    async def ask_after_many() -> tuple[int, bytes]:
        many = [asyncio.create_task(ask_as(f"lead{number}")) for number in range(5)]
        await asyncio.to_thread(begun.wait, 20)
        try:
            return await asyncio.wait_for(ask_as("other"), 3)
        finally:
            ended.set()
            await asyncio.gather(*many)

    assert asyncio.run(ask_after_many()) == (200, b"done")


def test_a_rubric_of_an_annotator_is_not_read(monkeypatch):
    """Messages of forty accounts in an open study, with sixty thousand objects each, kept a lead's form waiting for
    more than a second.
    """
    monkeypatch.setattr(work, "_turns", WeakValueDictionary())
    monkeypatch.setattr(work, "login_secret", lambda cookie: cookie)
    monkeypatch.setattr(work, "_sender_and_limit", lambda login, _: (login, work.MAX_BODY, False))
    read = partial(work.command, lambda *_: pytest.fail("was read"), threads=ThreadPoolExecutor(1))
    headers = [(HEADER.encode(), HEADER_VALUE.encode()), (b"cookie", f"{COOKIE}=a login".encode())]
    headers.append((b"content-length", b"2"))
    app = Starlette(routes=[Route("/", read, methods=["POST"])])

    status, _ = asyncio.run(sent(app, "POST", "/", headers, b"{}"))

    assert status == 403


def test_what_has_its_own_threads_holds_no_place_of_annotators(monkeypatch):
    """Two leads who typed in the form of a rubric kept all annotators at their address waiting."""
    monkeypatch.setattr(work, "places_of", lambda _: pytest.fail("a place that annotators wait for"))
    monkeypatch.setattr(work, "_turns", WeakValueDictionary())
    monkeypatch.setattr(work, "login_secret", lambda cookie: cookie)
    monkeypatch.setattr(work, "_sender_and_limit", lambda login, _: (login, work.MAX_BODY, True))
    handled = partial(work.command, lambda *_: Response("done"), threads=ThreadPoolExecutor(1))
    headers = [(HEADER.encode(), HEADER_VALUE.encode()), (b"cookie", f"{COOKIE}=a login".encode())]
    headers.append((b"content-length", b"2"))
    app = Starlette(routes=[Route("/", handled, methods=["POST"])])

    assert asyncio.run(sent(app, "POST", "/", headers, b"{}")) == (200, b"done")


@pytest.mark.parametrize("declared", [2, work.SMALL_BODY + 1])
def test_logins_that_ended_share_one_budget(monkeypatch, declared):
    """A thousand ended logins of one annotator made the messages of others wait for seconds."""

    def refuse_all_but_one(login, _):
        return Response("done", 200 if login == "live" else 401)

    monkeypatch.setattr(work, "login_secret", lambda cookie: cookie)
    limits = {"live": (budgets.key_of_person(1), work.USUAL_BODY, False)}
    monkeypatch.setattr(work, "_sender_and_limit", lambda login, _: limits.get(login, ("", 0, False)))
    app = Starlette(routes=[Route("/", partial(work.command, refuse_all_but_one), methods=["POST"])])

    async def ask_as(login: str) -> int:
        cookie = b"cookie", f"{COOKIE}={login}".encode()
        headers = [(HEADER.encode(), HEADER_VALUE.encode()), cookie, (b"content-length", str(declared).encode())]
        return (await sent(app, "POST", "/", headers, b"{}"))[0]

    async def ask_in_turn() -> list[Counter[int]]:
        ended = [f"{declared} {n}" for n in range(400)]
        rounds = [Counter([await ask_as(login) for login in ended]) for _ in range(2)]
        return [*rounds, Counter([await ask_as("live")])]

    first, second, live = asyncio.run(ask_in_turn())
    assert (first, live) == ({401: 400}, {200: 1})
    assert second[429] > 50


def test_a_lead_holds_one_of_the_threads_of_scripts(monkeypatch):
    """Twenty dry runs of one lead kept the scripts of others waiting for a minute."""
    begun, ended = threading.Event(), threading.Event()

    def wait_for_the_end(_call, proof, _request, _content):
        if proof.secret == "1":
            begun.set()
            ended.wait(20)
        return Response("done")

    monkeypatch.setattr(api, "proof_in", lambda request: api.Proof(request.headers["authorization"]))
    monkeypatch.setattr(api, "_identified", lambda _, proof: int(proof.secret))
    monkeypatch.setattr(api, "_answered", wait_for_the_end)
    app = Starlette(routes=api.API_ROUTES)

    async def ask_as(lead: bytes) -> tuple[int, bytes]:
        return await sent(app, "GET", "/api/v1/asking", [(b"authorization", lead)])

    async def ask_after_many() -> tuple[int, bytes]:
        many = [asyncio.create_task(ask_as(b"1")) for _ in range(5)]
        await asyncio.to_thread(begun.wait, 20)
        try:
            return await asyncio.wait_for(ask_as(b"2"), 3)
        finally:
            ended.set()
            await asyncio.gather(*many)

    assert asyncio.run(ask_after_many()) == (200, b"done")


def test_the_list_of_own_items_holds_no_turn_to_write(sqlite_engine, make_study, monkeypatch):
    """It took 10 ms for 500 items, and an annotator may ask for it thirty times a second."""
    wait_less(sqlite_engine, monkeypatch)
    with writing(sqlite_engine) as session:
        study, _, (anna, _) = make_study(session)
        token = assigned(session, study, anna).token
        person = session.get_one(Person, anna.person_id)
        login = logins.use_ticket(session, logins.issue_sign_in_ticket(session, person))
    monkeypatch.setattr(work, "web_engine", lambda: sqlite_engine)
    [items] = [route for route in work.WORK_ROUTES if route.path == "/desk/items"]
    list_items = cast(Any, items.endpoint).args[0]

    with writing(sqlite_engine):
        assert list_items(login, {"assignment": token}).status_code == 200


def test_a_submission_reads_no_draft_of_other_items(sqlite_engine, make_study):
    """With 300 long drafts it took 40 ms instead of 0.3, and a returned workbook of so many items 8 s."""
    statements: list[tuple[str, Any]] = []
    with writing(sqlite_engine) as session:
        study, _, (anna, _) = make_study(session)
        token = assigned(session, study, anna).token
        event.listen(sqlite_engine, "before_cursor_execute", lambda *sent: statements.append(sent[2:4]))
        assignments.locked(session, anna, token)
        [(statement, values)] = statements
        plan = session.connection().exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values).all()

    [others] = [row.detail for row in plan if row.detail.startswith("SEARCH assignment_1 ")]
    assert "COVERING INDEX" in others


def test_a_command_waits_for_the_other_program_and_says_so(sqlite_engine, other, monkeypatch):
    wait_less(sqlite_engine, monkeypatch)
    said: list[str] = []

    def say(sentence: str) -> None:
        said.append(sentence)
        other.execute("ROLLBACK")

    monkeypatch.setattr(opening, "note", say)
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse battery\n"))

    assert main.main(["people", "add-lead", "Ada"]) == 0
    assert said == [WAITING]


def test_one_of_two_deadlocked_commands_is_busy(postgres_engine):
    """PostgreSQL ends one of them; its browser repeats it, and a lead is asked to."""
    locking, both = text("SELECT pg_advisory_xact_lock(:key)"), threading.Barrier(2)

    def command(*keys: int) -> None:
        with writing(postgres_engine) as session:
            session.execute(locking, {"key": keys[0]})
            both.wait()
            session.execute(locking, {"key": keys[1]})

    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(command, 1, 2), pool.submit(command, 2, 1)]
    (error,) = filter(None, (run.exception() for run in running))
    assert isinstance(error, DatabaseBusy)
    assert "Try it again" in str(error)
