"""Triptych itself, measured like the other tools: one process on SQLite."""

from __future__ import annotations

import asyncio
import csv
import io
import sqlite3
import tomllib
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from random import Random
from typing import ClassVar

from sqlmodel import Session, select

from bench.campaigns.peers.tool import Project, Screen, browserlike, reachable
from bench.client import Annotator, our_headers
from bench.server import ROOT, Server, free_port, start_server
from bench.world import World, build_world
from triptych.annotate import assignments
from triptych.annotate.annotations import SubmitMessage, submit
from triptych.annotate.assignments import Assigned
from triptych.people import logins
from triptych.simulate.annotators import SimulatedCandidate, generate_answers
from triptych.storage import database
from triptych.storage.models import Person, Role, Study
from triptych.study.persons import Who

STORED = "SELECT token, item_id FROM assignment WHERE state IN ('submitted', 'surplus')"


class Triptych:
    """The checked-out version on SQLite, as `make run` starts it."""

    name: ClassVar[str] = "Triptych"
    notes: ClassVar[str] = (
        "`streamlit run app.py`, one process on SQLite; the hotel and restaurant rubric, side by side, balanced order. "
        "A submit is one request, which stores the annotation and answers with the next item"
    )

    def install(self) -> str:
        return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

    def prepare(self, home: Path, items: int, annotators: int, raters: int) -> Project:
        world = build_world(home, items, annotators, raters)
        return Project(home, items, annotators, raters, free_port(), {"world": world})

    def start(self, project: Project) -> Server:
        return start_server(project.home, port=project.port)

    def answers(self, project: Project) -> bool:
        return reachable(f"{project.url}/_stcore/health")

    def sign_up(self, project: Project) -> Sequence[Mapping[str, str]]:
        return _world(project).cookies

    @asynccontextmanager
    async def visit(self, project: Project, cookies: Mapping[str, str], number: int) -> AsyncIterator[TriptychVisitor]:
        async with _world(project).annotator(project.url, number) as annotator:
            yield TriptychVisitor(annotator)

    def screen(self, project: Project) -> Screen:
        return Screen(
            address=f"{project.url}/annotate?study={_world(project).slug}",
            shown="document.querySelector('.tw [data-tw-submit]') ? document.querySelector('.tw').dataset.token : null",
            question="[data-tw-question]",
            option="label:has(input[type=radio])",
            chosen=":checked",
            submit="[data-tw-submit]",
        )

    def fill(self, project: Project, count: int) -> None:
        """Store annotations through the functions that every annotation uses, without HTTP."""
        random = Random(1)
        with _database(project) as session:
            study = session.exec(select(Study)).one()
            for person in session.exec(select(Person).where(Person.role == Role.annotator)).all():
                for _ in range(min(project.items, count)):
                    _annotate(session, study, Who(person.id, person.pseudonym, person.role, None, 0), project, random)
                    count -= 1
                database.commit(session)

    def export(self, project: Project) -> int:
        rows = csv.DictReader(io.StringIO(asyncio.run(_exported(project))))
        return len({(row["annotator"], row["item_id"]) for row in rows})

    def stored(self, project: Project) -> dict[str, str]:
        with closing(sqlite3.connect(project.home / "triptych.db")) as stored:
            return {token: str(item) for token, item in stored.execute(STORED)}


class TriptychVisitor:
    """The benchmarks' annotator as a visitor."""

    def __init__(self, annotator: Annotator) -> None:
        self.annotator = annotator

    @property
    def work(self) -> str | None:
        return self.annotator.view["work"]["token"] if self.annotator.has_work else None

    async def draft(self) -> None:
        view = self.annotator.view
        await self.annotator.save_draft(view["work"], self.annotator.answers(view))

    async def submit(self) -> float:
        view = self.annotator.view
        return (await self.annotator.submit(view, self.annotator.answers(view)))[1]


def _world(project: Project) -> World:
    return project.material["world"]


@contextmanager
def _database(project: Project) -> Iterator[Session]:
    engine = database.open_engine(f"sqlite:///{project.home / 'triptych.db'}")
    try:
        with database.writing(engine) as session:
            yield session
    finally:
        engine.dispose()


def _annotate(session: Session, study: Study, who: Who, project: Project, random: Random) -> None:
    work = assignments.current(session, study, who)
    assert isinstance(work, Assigned)  # the study has items for everybody
    candidates = [SimulatedCandidate(random.random(), "A response.") for _ in range(3)]
    answers = generate_answers(_world(project).rubric, study.round, candidates, random)
    message = SubmitMessage(
        kind="submit",
        assignment=work.token,
        version=work.version,
        pen="simulated",
        submission=str(uuid.uuid4()),
        active_seconds=5,
        answers={**answers, "highlights": []},
    )
    submit(session, who, message)


async def _exported(project: Project) -> str:
    """The ratings, as the lead downloads them."""
    with _database(project) as session:
        lead = session.exec(select(Person).where(Person.role == Role.lead)).one()
        ticket = logins.issue_sign_in_ticket(session, lead)
    async with browserlike({}) as http:
        signing_in = {**our_headers(project.url), "X-Triptych-Ticket": ticket}
        async with http.post(f"{project.url}/auth/ticket", headers=signing_in) as answer:
            answer.raise_for_status()
        async with http.get(f"{project.url}/export/{_world(project).slug}/ratings.csv") as answer:
            answer.raise_for_status()
            return await answer.text()
