"""Downloads that nobody reads: each holds a connection to the database, of which there are sixty for everybody."""

from __future__ import annotations

import asyncio

import pytest
from helpers.ratings import submit
from helpers.studies import add_person
from starlette.applications import Starlette

from triptych.people import roster
from triptych.storage import database
from triptych.storage.models import Person, Role, Study
from triptych.web import budgets, export

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


def test_a_lead_holds_few_connections_by_downloads(led, engine):
    async def attempt():
        begun = asyncio.Semaphore(0)
        unread = [asyncio.create_task(download(led, 0, begun, is_read=False)) for _ in range(int(DOWNLOADS))]
        for _ in unread:
            await begun.acquire()
        another = await download(led, 0, begun, is_read=True)
        of_other_lead = await download(led, 1, begun, is_read=True)
        for task in unread:
            task.cancel()
        await asyncio.gather(*unread, return_exceptions=True)
        return another, of_other_lead, await download(led, 0, begun, is_read=True)

    assert asyncio.run(attempt()) == (429, 200, 200)
    assert engine.pool.checkedout() == 0
