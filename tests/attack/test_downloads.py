"""Downloads that nobody reads: each holds its bytes, or one of the connections to the database that all share."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import replace

import pytest
from helpers.present import present
from helpers.ratings import submit
from helpers.studies import add_person, full_answers
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool

from triptych.annotate import workbooks
from triptych.people import roster
from triptych.privacy import personal_data
from triptych.storage import database
from triptych.storage.models import Person, Role, Study
from triptych.storage.unavailable import DatabaseUnavailable
from triptych.web import budgets, export, personal, routes

WORKBOOK = "/workbook/{study}/1.xlsx"
DOWNLOADS = budgets.USUAL["downloads"].at_once


@pytest.fixture
def led(engine, make_study, monkeypatch):
    """(routes, the study's path, its two leads); `x-lead` says which of them asks."""
    with database.writing(engine) as session:
        study, lead, people = make_study(session)
        submit(session, study, people[0])
        other = add_person(session, "another lead", Role.lead)
        roster.enrol_lead(session, session.get_one(Study, study.id), session.get_one(Person, other.person_id), "lead")
    leads = [lead, other]
    monkeypatch.setattr(export, "web_engine", lambda: engine)
    monkeypatch.setattr(export, "current_login", lambda request: leads[int(request.headers["x-lead"])])
    return Starlette(routes=export.EXPORT_ROUTES), f"/export/{study.slug}/ratings.csv"


async def download(served, lead, begun, is_read):
    """The status, once the whole answer was taken; a browser that reads nothing stays at its first piece."""
    app, path = served
    status = 0

    async def receive():
        await asyncio.Event().wait()  # the browser stays

    async def send(message):
        nonlocal status
        status = message.get("status", status)
        if message.get("body") and not is_read:
            begun.release()
            await asyncio.Event().wait()

    headers = [(b"x-lead", str(lead).encode())]
    scope = {"type": "http", "method": "GET", "path": path, "root_path": "", "query_string": b"", "headers": headers}
    await app(scope, receive, send)
    return status


def alongside(led, unread, others):
    """Statuses of the downloads by these leads, while `unread` are sent to the first lead, who reads none of them."""

    async def attempt():
        begun = asyncio.Semaphore(0)
        tasks = [asyncio.create_task(download(led, 0, begun, is_read=False)) for _ in range(unread)]
        for _ in tasks:
            await begun.acquire()
        statuses = [await download(led, lead, begun, is_read=True) for lead in others]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return [*statuses, await download(led, 0, begun, is_read=True)]

    return asyncio.run(attempt())


def test_a_lead_holds_few_connections_by_downloads(led, engine):
    assert alongside(led, int(DOWNLOADS), [0, 1]) == [429, 200, 200]
    assert engine.pool.checkedout() == 0


def test_all_leads_together_hold_few_connections_by_downloads(led, engine, monkeypatch):
    monkeypatch.setenv("TRIPTYCH_BUDGETS", "all_downloads=1")

    assert alongside(led, 1, [0, 1]) == [429, 429, 200]
    assert engine.pool.checkedout() == 0


def test_the_last_places_are_for_leads_with_few_downloads(led, monkeypatch):
    """Three leads who read slowly held all of them for hours."""
    monkeypatch.setenv("TRIPTYCH_BUDGETS", "all_downloads=3")

    assert alongside(led, 2, [0, 1]) == [429, 200, 200]


def test_a_person_holds_few_files_of_their_own_data(led, engine, monkeypatch):
    """They hold no connection."""
    app, _ = led
    app.router.routes.extend(personal.PERSONAL_ROUTES)
    monkeypatch.setattr(personal, "web_engine", lambda: engine)
    monkeypatch.setattr(personal, "current_login", export.current_login)
    monkeypatch.setenv("TRIPTYCH_BUDGETS", "downloads=2 all_downloads=1")

    assert alongside((app, "/my-data.json"), 2, [0, 1]) == [429, 200, 200]


def test_ones_own_data_are_sent_an_annotation_at_a_time(engine, make_study, monkeypatch):
    """Four files of an annotator with 300 items of 160 KB took 5 GB, and others' drafts waited for three seconds."""
    monkeypatch.setattr(personal_data, "BATCH", 2)
    with database.writing(engine) as session:
        study, _, (anna, *_) = make_study(session, items=5)
        for note in "abcde":
            submit(session, study, anna, full_answers() | {"note": note * 5000})
    monkeypatch.setattr(personal, "web_engine", lambda: engine)
    monkeypatch.setattr(personal, "current_login", lambda _: anna)
    app, pieces = Starlette(routes=personal.PERSONAL_ROUTES), []

    async def send(message):
        assert engine.pool.checkedout() == 0
        pieces.append(message.get("body", b""))

    async def receive():
        await asyncio.Event().wait()

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/my-data.json",
        "root_path": "",
        "query_string": b"",
        "headers": [],
    }
    asyncio.run(app(scope, receive, send))

    [part] = json.loads(b"".join(pieces))["studies"]
    assert [work["note"][0] for work in part["annotations"]] == [*"abcde"]
    assert [work["item"] for work in part["annotations"]] == [1, 2, 3, 4, 5]
    assert max(map(len, pieces)) < 20_000


def test_annotators_at_an_address_hold_few_files(led, engine, monkeypatch):
    """In an open study they may be one stranger: ten accounts held the forty threads that open everybody's pages."""
    app, _ = led
    app.router.routes.extend(personal.PERSONAL_ROUTES)
    monkeypatch.setattr(personal, "web_engine", lambda: engine)
    signed_in = export.current_login
    monkeypatch.setattr(
        personal, "current_login", lambda request: replace(present(signed_in(request)), role=Role.annotator)
    )
    monkeypatch.setenv("TRIPTYCH_BUDGETS", "downloads=2")

    assert alongside((app, "/my-data.json"), 2, [0, 1]) == [429, 429, 200]


@pytest.mark.parametrize(
    "path, module, function, built",
    [
        ("/my-data.json", personal_data, "about", {"identity": None, "studies": []}),
        (WORKBOOK, workbooks, "file_of", b""),
    ],
    ids=["personal data", "workbook"],
)
def test_a_person_has_few_files_built_at_a_time(led, engine, monkeypatch, path, module, function, built):
    """They were counted when they were built: forty at once took 2.7 GB for an annotator with drafts of 250 KB, and a
    hundred workbooks of a lead let nobody open a page for minutes.
    """
    app, export_path = led
    app.router.routes.extend(personal.PERSONAL_ROUTES)
    begun, ended = threading.Semaphore(0), threading.Event()

    def build(*_):
        begun.release()
        ended.wait(20)
        return built

    monkeypatch.setattr(personal, "web_engine", lambda: engine)
    monkeypatch.setattr(personal, "current_login", export.current_login)
    monkeypatch.setattr(module, function, build)
    monkeypatch.setattr(workbooks, "file_name", lambda *_: "workbook.xlsx")
    monkeypatch.setenv("TRIPTYCH_BUDGETS", "downloads=2")

    async def ask() -> int:
        return await download(
            (app, path.format(study=export_path.split("/")[2])), 0, asyncio.Semaphore(0), is_read=True
        )

    async def attempt() -> list[int]:
        tasks = [asyncio.create_task(ask()) for _ in range(2)]
        for _ in tasks:
            await asyncio.to_thread(begun.acquire, timeout=20)
        third = asyncio.create_task(ask())
        await asyncio.wait([third], timeout=3)
        ended.set()
        return [await third, *await asyncio.gather(*tasks)]

    assert asyncio.run(attempt()) == [429, 200, 200]
    assert not begun.acquire(blocking=False)


def test_requests_for_files_hold_few_of_the_threads(led, monkeypatch):
    """Three hundred requests of a viewer for a report's page kept the pages of others from opening for seven seconds:
    the page was read before the place of its download was counted.
    """
    begun, ended = threading.Event(), threading.Event()

    def wait_for_the_end(_request):
        begun.set()
        ended.wait(20)

    monkeypatch.setattr(export, "current_login", wait_for_the_end)

    async def opened_meanwhile():
        asked = [asyncio.create_task(download(led, 0, asyncio.Semaphore(0), is_read=True)) for _ in range(60)]
        await asyncio.to_thread(begun.wait, 20)
        try:
            return await asyncio.wait_for(run_in_threadpool(lambda: "opened"), 3)
        finally:
            ended.set()
            await asyncio.gather(*asked)

    assert asyncio.run(opened_meanwhile()) == "opened"


def test_a_download_from_an_unavailable_database_is_to_be_repeated(led, monkeypatch):
    def away(*_):
        raise DatabaseUnavailable("The database does not answer.")

    monkeypatch.setattr(export, "reading", away)
    app, path = led
    answering = Starlette(routes=app.routes, exception_handlers=routes.ERRORS)

    assert alongside((answering, path), 0, [0]) == [503, 503]
