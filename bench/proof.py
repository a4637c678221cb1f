"""The time of `verify` for a study of a million ratings, with the log that annotators would have produced."""

from __future__ import annotations

import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from sqlalchemy import select, update
from sqlmodel import Session

from bench.figures import Figure, at_most
from bench.options import Options
from bench.rated import rated_world
from triptych.annotate.logged import LoggedAnnotation
from triptych.operations import verify
from triptych.rubric.answers import CheckedRating
from triptych.storage import database, events, rows
from triptych.storage.answers import ANSWER, select_answers
from triptych.storage.events import EventKind
from triptych.storage.models import Assignment, Person, Rating, Slot, Study

RATINGS, QUICK_RATINGS = 1_000_000, 20_000
AT_ONCE = 1000
MAX_SECONDS = 60


def proof(options: Options, home: Path) -> list[Figure]:
    """The whole check on one core: verify the chain, rebuild the rows, compare every row."""
    count = QUICK_RATINGS if options.quick else RATINGS
    rated_world(home, count)
    engine = database.open_engine(f"sqlite:///{home / 'triptych.db'}")
    try:
        with database.writing(engine) as session:
            _log(session, session.scalars(select(Study)).one())
        with database.reading(engine) as session:
            began = time.process_time()
            verdict = verify.verify(session, session.scalars(select(Study)).one())
            seconds = time.process_time() - began
    finally:
        engine.dispose()
    if not verdict.holds:
        raise RuntimeError(verdict.sentence)
    note = "processor time on one core: the chain, the log played back, every row compared"
    return [at_most(f"verify a study of {count:,} ratings", "s", [seconds], MAX_SECONDS, note=note)]


def _log(session: Session, study: Study) -> None:
    """Write the events of these annotations."""
    session.execute(update(Slot).values(order_known=True))
    ids = list(session.scalars(select(Assignment.id).order_by(Assignment.id)))
    people = dict(map(tuple, session.execute(select(Person.id, Person.pseudonym))))
    for start in range(0, len(ids), AT_ONCE):
        _log_batch(session, study, ids[start : start + AT_ONCE], people)
        events.write_pending(session)


def _log_batch(session: Session, study: Study, batch: list[int], people: dict[int, str]) -> None:
    connection = session.connection()
    slots: dict[int, list[Any]] = defaultdict(list)
    for slot in rows.stored(connection, Slot.__table__, Slot.assignment_id.in_(batch)):
        slots[slot["assignment_id"]].append(slot)
    ratings: dict[int, list[CheckedRating]] = defaultdict(list)
    query = select_answers(Rating.assignment_id, *ANSWER).where(Rating.assignment_id.in_(batch))
    for number, *answer in session.execute(query):
        ratings[number].append(CheckedRating._make([*answer[:5], (), ""]))
    for row in rows.stored(connection, Assignment.__table__, Assignment.id.in_(batch)):
        number, who = row["id"], people[row["person_id"]]
        carried = rows.inserted(Assignment, [row], who) | rows.inserted(Slot, slots[number])
        new = {"item": row["item_id"], "order": [slot["candidate_id"] for slot in slots[number]]}
        record = events.record
        record(session, study.id, EventKind.reserved, who, assignment_id=number, new=new, rows=carried)
        annotation = LoggedAnnotation(
            state=row["state"],
            version=row["version"] - 1,
            ratings=tuple(ratings[number]),
            seconds=row["active_seconds"],
            at=row["submitted_at"].isoformat(),
        )
        record(session, study.id, EventKind.submitted, who, assignment_id=number, new=annotation.to_json())
