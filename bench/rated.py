"""A study with ratings: tens of thousands of annotations, stored in bulk before its server starts."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import insert, select, update
from sqlmodel import Session

from bench.world import World, build_world
from triptych import clock
from triptych.storage import database
from triptych.storage.models import (
    Assignment,
    AssignmentState,
    Candidate,
    Item,
    Membership,
    Purpose,
    Rating,
    Role,
    Slot,
    Study,
    System,
)
from triptych.study import lifecycle

RATERS, ANNOTATORS = 3, 60
POINTS = 7
AT_ONCE = 1000


def rated_world(home: Path, ratings: int, annotators: int = ANNOTATORS) -> World:
    """A study like the other benchmarks', with about this many ratings: three annotators per item, and a place for one
    more.

    The last annotator has rated nothing and can rate all items.
    """
    per_item = 15 * RATERS
    world = build_world(home, round(ratings / per_item), annotators + 1, RATERS + 1)
    engine = database.open_engine(f"sqlite:///{home / 'triptych.db'}")
    with database.writing(engine) as session:
        _fill(session, session.scalars(select(Study)).one(), annotators)
    engine.dispose()
    return world


def _fill(session: Session, study: Study, annotators: int) -> None:
    members = select(Membership.person_id).where(Membership.study_id == study.id, Membership.role == Role.annotator)
    people = session.scalars(members.order_by(Membership.person_id)).all()[:annotators]
    work = _work(session, study, people)
    while batch := list(islice(work, AT_ONCE)):
        for table, rows in zip((Assignment, Slot, Rating), zip(*batch, strict=True), strict=True):
            flat = [row for group in rows for row in group]
            session.connection().execute(insert(table), flat)
    session.execute(update(Item).where(Item.study_id == study.id).values(taken=RATERS))


def _work(session: Session, study: Study, people: Sequence[int]) -> Iterator[tuple[list[dict[str, Any]], ...]]:
    """For each rater of each item: the assignment, its slots, and its ratings."""
    random = np.random.default_rng(1)
    severity = random.normal(0, 0.5, len(people))
    number, began = 0, clock.now() - timedelta(days=30)
    candidates = (
        select(Candidate.item_id, Candidate.id, System.blind_code)
        .join(System, System.id == Candidate.system_id)
        .join(Item, Item.id == Candidate.item_id)
        .where(Item.study_id == study.id, Item.purpose == Purpose.main)
        .order_by(Candidate.item_id, Candidate.id)
    )
    criteria = lifecycle.design_of(session, study).criteria
    for nth, (item, of_item) in enumerate(groupby(session.execute(candidates).all(), key=lambda row: row[0])):
        shown = list(of_item)
        good = np.array([row.blind_code for row in shown]) / 3 + random.normal(size=len(shown))
        for rater in range(RATERS):
            who, number = (nth + 7 * rater) % len(people), number + 1
            order = np.roll(np.arange(len(shown)), number)
            felt = good[order, None] - severity[who] + random.normal(size=(len(shown), len(criteria)))
            yield (
                [_assignment(study, number, item, people[who], began + timedelta(seconds=30 * number))],
                [_slot(number, place, shown[at].id) for place, at in enumerate(order)],
                [rating for place, row in enumerate(felt) for rating in _ratings(number, place, row, criteria)],
            )


def _assignment(study: Study, number: int, item: int, person: int, at: Any) -> dict[str, Any]:
    return {
        "id": number,
        "token": uuid.uuid4().hex,
        "study_id": study.id,
        "item_id": item,
        "person_id": person,
        "state": AssignmentState.submitted,
        "reserved_at": at,
        "expires_at": at,
        "submitted_at": at,
        "active_seconds": 60.0,
        "version": 2,
        "design_hash": study.design_hash,
    }


def _slot(number: int, place: int, candidate: int) -> dict[str, Any]:
    return {"assignment_id": number, "position": place, "candidate_id": candidate}


def _ratings(number: int, place: int, felt: np.ndarray, criteria: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The ratings of one response on every criterion: a point of the scale, or the first or second option."""
    for latent, criterion in zip(felt.tolist(), criteria.values(), strict=True):
        options = list(criterion.options.values())
        yield {
            "assignment_id": number,
            "position": place,
            "criterion_id": criterion.id,
            "number": None if options else float(min(max(round(4 + latent), 1), POINTS)),
            "option_id": options[latent < 0] if options else None,
        }
