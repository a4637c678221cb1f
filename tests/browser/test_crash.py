"""`kill -9` of the real server under load: what was acknowledged is there, and nothing is stored in part."""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from sqlalchemy import func, select

from bench.client import Annotator, PageFailed
from bench.server import PATIENCE, Server, running_app
from bench.world import World, build_world
from triptych.storage import database, events
from triptych.storage.models import Assignment, AssignmentState, Event, Rating, Slot, Study, Submission

ROUNDS = 20
ANNOTATORS = 4
RATINGS = 15
GONE = (PageFailed, aiohttp.ClientError, ConnectionError, TimeoutError)


@dataclass
class Acknowledged:
    """What the server said it has: submission ids; per assignment the draft confirmed last and those sent since."""

    submissions: set[str] = field(default_factory=set)
    drafts: dict[str, list[Any]] = field(default_factory=dict)
    restored: int = 0
    count: int = 0


async def work(annotator: Annotator, acknowledged: Acknowledged, enough: asyncio.Event, goal: int) -> None:
    """Drafts and submits, one item after another, until the server dies."""
    while True:
        view = annotator.view
        token, answers = view["work"]["token"], annotator.answers(view)
        acknowledged.drafts[token] = [view["draft"]]
        for note in ("begun", "nearly done"):
            draft = {**answers, "note": note}
            acknowledged.drafts[token].append(draft)
            status, answer = await annotator.save_draft(view["work"], draft)
            assert status == 200, answer
            acknowledged.drafts[token] = [draft]
            acknowledged.count += 1
        done, _ = await annotator.submit(view, answers)
        acknowledged.submissions.add(done)
        acknowledged.count += 1
        if acknowledged.count >= goal:
            enough.set()


def check_draft_is_back(annotator: Annotator, acknowledged: Acknowledged) -> None:
    """The page shows the draft confirmed last, or one that was on its way when the server died."""
    view = annotator.view
    sent = acknowledged.drafts.get(view["work"]["token"])
    if sent:
        assert view["draft"] in sent
        acknowledged.restored += view["draft"] is not None


async def load_then_kill(world: World, server: Server, acknowledged: Acknowledged, draw: random.Random) -> None:
    """Four annotators at work; the server is killed some thousandths of a second after enough was confirmed."""
    async with AsyncExitStack() as stack:
        people = [world.annotator(server.url, n, draw.randrange(2**32)) for n in range(ANNOTATORS)]
        await asyncio.gather(*(stack.enter_async_context(person) for person in people))
        for person in people:
            check_draft_is_back(person, acknowledged)
        enough = asyncio.Event()
        goal = acknowledged.count + draw.randint(4, 40)
        working = [asyncio.create_task(work(person, acknowledged, enough, goal)) for person in people]
        waiting = asyncio.create_task(enough.wait())
        await asyncio.wait([waiting, *working], timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        asyncio.get_running_loop().call_later(draw.uniform(0, 0.06), server.process.kill)
        ended = await asyncio.gather(*working, return_exceptions=True)
    server.process.wait(PATIENCE)
    assert enough.is_set()
    unexpected = [end for end in ended if not isinstance(end, GONE)]
    assert not unexpected, unexpected


def check_stored(home: Path, acknowledged: Acknowledged) -> None:
    """Every confirmed submission is stored; every stored one is complete; the event chain holds."""
    engine = database.open_engine(f"sqlite:///{home / 'triptych.db'}")
    with database.reading(engine) as session:
        stored = {s.id: s.assignment_id for s in session.scalars(select(Submission))}
        assert not acknowledged.submissions - set(stored), "an acknowledged submission is lost"
        ratings = dict(session.execute(select(Rating.assignment_id, func.count()).group_by(Rating.assignment_id)).all())
        assert ratings == dict.fromkeys(stored.values(), RATINGS), "a submission is there by half"
        done = select(Assignment.id).where(Assignment.state == AssignmentState.submitted)
        logged = select(Event.assignment_id).where(Event.kind == AssignmentState.submitted)
        assert set(session.scalars(done)) == set(session.scalars(logged)) == set(stored.values())
        slots = dict(session.execute(select(Slot.assignment_id, func.count()).group_by(Slot.assignment_id)).all())
        assert slots == dict.fromkeys(session.scalars(select(Assignment.id)), 3), "an assignment without its slots"
        assert events.first_broken(session, session.scalars(select(Study.id)).one()) is None
    engine.dispose()


@pytest.mark.long
def test_twenty_kills_lose_no_acknowledged_submission_or_draft(tmp_path: Path, forked: Any):
    draw = random.Random(20)
    world, acknowledged = build_world(tmp_path, items=1500, annotators=ANNOTATORS, raters=ANNOTATORS), Acknowledged()

    for _ in range(ROUNDS):
        with running_app(tmp_path, start=forked) as server:
            asyncio.run(load_then_kill(world, server, acknowledged, draw))
        check_stored(tmp_path, acknowledged)

    assert len(acknowledged.submissions) >= ROUNDS
    assert acknowledged.restored >= ROUNDS


def test_a_submission_repeated_after_a_kill_is_stored_once(tmp_path: Path, forked: Any):
    world = build_world(tmp_path)

    async def submit_and_die(server: Server) -> dict[str, Any]:
        async with world.annotator(server.url, 0) as annotator:
            view = annotator.view
            message = annotator.submission(view, annotator.answers(view))
            await annotator.act(message)
            server.kill()
            return message

    async def repeat(server: Server, message: dict[str, Any]) -> dict[str, Any]:
        async with world.annotator(server.url, 0) as annotator:
            await annotator.act(message)
            return annotator.view["work"]

    with running_app(tmp_path, start=forked) as server:
        message = asyncio.run(submit_and_die(server))
    with running_app(tmp_path, start=forked) as server:
        after = asyncio.run(repeat(server, message))

    assert after["receipt"] == message["submission"]
    assert after["token"] != message["assignment"]
    check_stored(tmp_path, Acknowledged(submissions={message["submission"]}))
