"""Streamlit's sessions: one belongs to the login that it began with, and its pages to who may open them now."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest
from helpers.studies import draft_items
from sqlalchemy import Engine, delete, select
from streamlit.proto.WidgetStates_pb2 import WidgetState

from bench.client import PageSession
from bench.server import Server, running_app
from bench.world import RUBRIC, World, build_world
from triptych.storage import database
from triptych.storage.models import Login, Membership, Person, Role, Study
from triptych.study import lifecycle

DRAFT = "a-draft"


@dataclass(frozen=True)
class Served:
    server: Server
    world: World
    engine: Engine


class Tab(PageSession):
    """A tab that knows the fragments of its page."""

    fragments: tuple[str, ...] = ()

    def _unfolded(self, message: Any) -> Any:
        message = super()._unfolded(message)
        if message.delta.fragment_id:
            self.fragments = (*self.fragments, message.delta.fragment_id)
        return message


@pytest.fixture(scope="module")
def served(tmp_path_factory, forked) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("sessions")
    world = build_world(home, items=5)
    engine = database.open_engine(f"sqlite:///{home / 'triptych.db'}")
    with database.writing(engine) as session:
        lead = session.scalars(select(Person).where(Person.role == Role.lead)).one()
        plan = lifecycle.StudyPlan(title="A draft")
        lifecycle.create_study(session, plan, RUBRIC.read_text(), draft_items(5), lead.pseudonym, lead.id)
    with running_app(home, start=forked) as server:
        yield Served(server, world, engine)
    engine.dispose()


def browsing(cookies: Mapping[str, str]) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(cookies=dict(cookies), cookie_jar=aiohttp.CookieJar(unsafe=True))


@pytest.mark.long
def test_a_session_goes_on_with_its_login_only(served):
    """Its name was enough: after a sign-out callbacks and fragments of the lead's page ran for who came next."""
    url, world = served.server.url, served.world
    with database.reading(served.engine) as session:
        hashes = session.scalars(select(Login.secret_hash)).all()

    async def claims() -> list[bool]:
        async with browsing(world.lead) as lead, browsing({}) as nobody, browsing(world.cookies[0]) as annotator:
            first = Tab(lead, url, "planner", f"study={DRAFT}")
            await first.open()
            await first.close()
            mine = []
            forged = [{"X-Triptych-Login": value} for value in hashes]
            for http, headers in [*((nobody, header) for header in [{}, *forged]), (annotator, {}), (lead, {})]:
                tab = Tab(http, url)
                await tab.connect("PLACEHOLDER_AUTH_TOKEN", first.session_id, **headers)  # as after a cut line
                await tab.run()
                await tab.close()
                mine.append(tab.session_id == first.session_id)
        return mine

    *others, same = asyncio.run(claims())
    assert (any(others), same) == (False, True)


@pytest.mark.long
def test_a_removed_lead_declares_nothing_from_an_open_page(served):
    """The planner's part of the page runs by itself, without the page's look at who leads the study."""

    async def declare() -> None:
        async with browsing(served.world.lead) as http:
            tab = Tab(http, served.server.url, "planner", f"study={DRAFT}")
            await tab.open()
            [button] = [b.button.id for b in tab.find("button") if "declare" in b.button.id]
            with database.writing(served.engine) as session:
                session.execute(delete(Membership).where(Membership.study_id == _study(session).id))
            await tab.run(WidgetState(id=button, trigger_value=True), fragment=tab.fragments[-1])
            await tab.close()

    asyncio.run(declare())
    with database.reading(served.engine) as session:
        assert "preregistration" not in (_study(session).settings or {})


def _study(session: Any) -> Study:
    return session.scalars(select(Study).where(Study.slug == DRAFT)).one()
