"""Reservations: places on items are taken and freed, assignments are made, extended and given back.

A place is counted on the item's row, and the database refuses one too many, whichever request wins a race.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, func, insert, literal_column, select, update
from sqlalchemy.sql.dml import ReturningInsert, ReturningUpdate
from sqlmodel import Session

from triptych import clock
from triptych.annotate.candidate_order import candidate_order
from triptych.people.membership import membership_of
from triptych.storage import events, rows
from triptych.storage.events import EventKind
from triptych.storage.models import (
    UNFINISHED,
    Assignment,
    AssignmentState,
    Item,
    Origin,
    PlannedItem,
    Purpose,
    Slot,
    Study,
    has_value,
)
from triptych.storage.writes import add_rows, update_row
from triptych.study.persons import Who
from triptych.study.settings import settings_of

WORKBOOK_LIFE = timedelta(days=3650)  # a workbook stays with its annotator until it is cancelled


@dataclass(frozen=True, slots=True)
class Assigned:
    """An assignment's columns, read without the ORM: every submission reads assignments."""

    id: int
    token: str
    study_id: int
    item_id: int
    person_id: int
    purpose: Purpose
    state: AssignmentState
    version: int
    draft: dict[str, Any] | None
    draft_seq: int
    pen: str | None
    active_seconds: float
    reserved_at: datetime
    submitted_at: datetime | None
    arrangement: str | None
    candidates: int
    has_edited: bool = False  # whether its annotator ever submitted an item again; known for a locked assignment


COMPUTED = ("candidates", "has_edited")
# Statements with named parameters are built at their first use, see `storage.writes`.


def select_assigned() -> Select[*tuple[Any, ...]]:
    """Select the columns of `Assigned`, in its order; the caller adds the condition."""
    columns = [getattr(Assignment, field.name) for field in fields(Assigned) if field.name not in COMPUTED]
    candidates = select(func.count()).where(Slot.assignment_id == Assignment.id)
    return select(*columns, candidates.correlate(Assignment).scalar_subquery())


def own_assignments() -> ColumnElement[bool]:
    """Condition on Assignment: belongs to the person `:person` in the study `:study`."""
    return (Assignment.study_id == bindparam("study")) & (Assignment.person_id == bindparam("person"))


def seen_items() -> Select[int]:
    """The items assigned to this person and not released. An exclusion releases those of a workbook for others only,
    since the file of somebody who is reinstated may still come back.

    Read once, as a list: with a subquery per item, SQLite would scan all their work each time.
    """
    released = has_value(Assignment.state, AssignmentState.expired) & ~has_value(Assignment.origin, Origin.workbook)
    return select(Assignment.item_id).where(own_assignments(), ~released)


def unfinished_of(session: Session, study: Study, who: Who) -> list[Assigned]:
    """This person's open reservations on the web and those that expired before submission, newest first."""
    rows = session.connection().execute(_unfinished(), {"study": study.id, "person": who.person_id})
    return [Assigned(*row) for row in rows]


@cache
def _unfinished() -> Select[*tuple[Any, ...]]:
    query = select_assigned().where(
        own_assignments(),
        has_value(Assignment.state, *UNFINISHED),
        Assignment.submitted_at.is_(None),  # follows from the state; an index on it skips all finished work
        ~has_value(Assignment.origin, Origin.workbook),
    )
    return query.order_by(Assignment.id.desc())


def reservation_life(study: Study) -> timedelta:
    """How long an item stays reserved for an inactive annotator."""
    return timedelta(minutes=settings_of(study).reservation_minutes)


def takes_places(study: Study) -> ColumnElement[bool]:
    """Condition on Assignment: it takes a place of its item. Simulated ones do only in a demo study, judges' never."""
    left_out = (Origin.judge,) if study.demo else (Origin.judge, Origin.simulated)
    return Assignment.origin.not_in(left_out)


def take_place(session: Session, item_id: int, *, for_done_work: bool = False) -> bool:
    """Takes one place of the item, if one is free; a retired item has places for work that is done only.

    The condition is in the update, so no race over-assigns an item.
    """
    is_free = (Item.id == item_id) & (Item.taken < Item.raters)
    if not for_done_work:
        is_free &= ~Item.retired
    taking = update(Item.__table__).where(is_free).values(taken=Item.taken + 1)
    return session.connection().execute(taking).rowcount == 1


def free_place(session: Session, item_id: int) -> None:
    """Frees one place of the item."""
    session.connection().execute(update(Item.__table__).where(Item.id == item_id).values(taken=Item.taken - 1))


def free_places(session: Session, item_ids: Iterable[int]) -> None:
    """Frees a place of each item, always in the same order, so that concurrent calls cannot deadlock."""
    for item_id in sorted(item_ids):
        free_place(session, item_id)


@cache
def next_item(planned: bool) -> Select[int]:
    """The item that `:person` gets next: by lowest priority, then fewest taken, then the study's random rank.

    Items that they have seen are left out. planned: only items of their part of the study's plan, in its order.
    """
    query = select(Item.id).where(
        Item.study_id == bindparam("study"),
        has_value(Item.purpose, Purpose.main),
        ~Item.retired,
        Item.taken < Item.raters,
        Item.id.not_in(seen_items()),
    )
    only: ColumnElement[int] = literal_column("1")  # in the text, see `has_value`
    if planned:
        own_plan = (PlannedItem.study_id == bindparam("study")) & (PlannedItem.person_id == bindparam("person"))
        query = query.join(PlannedItem, PlannedItem.item_id == Item.id).where(own_plan)
        return query.order_by(PlannedItem.rank, PlannedItem.id).limit(only)
    return query.order_by(Item.priority, Item.taken, Item.rank).limit(only)


def take_next(session: Session, study: Study, who: Who, *, planned: bool) -> int | None:
    """Takes a place on the person's next item; returns its id.

    On PostgreSQL the query skips an item whose place somebody is taking at this moment, so nobody waits.
    """
    return session.connection().execute(_take_next(planned), {"study": study.id, "person": who.person_id}).scalar()


@cache
def _take_next(planned: bool) -> ReturningUpdate[int]:
    query = next_item(planned).with_for_update(skip_locked=True, key_share=True, of=Item)
    taking = update(Item.__table__).where(Item.id == query.scalar_subquery()).values(taken=Item.taken + 1)
    return taking.returning(Item.id)


def reserve(
    session: Session,
    study: Study,
    who: Who,
    item_id: int,
    purpose: Purpose,
    expired: Sequence[Assigned],
    **columns: Any,
) -> Assigned:
    """A new assignment with its slots; if the person's reservation of this item expired, that one is reactivated.

    columns: columns of its row that differ from those of a reservation on the web.
    """
    before = next((own for own in expired if (own.item_id, own.purpose) == (item_id, purpose)), None)
    if before is not None:
        return extend(session, study, before, **columns)
    order, now = candidate_order(session, study, who, item_id, columns.get("repeat_of")), clock.now()
    row: dict[str, Any] = {
        "token": secrets.token_urlsafe(12),
        "study_id": study.id,
        "item_id": item_id,
        "person_id": who.person_id,
        "purpose": purpose,
        "state": AssignmentState.reserved,
        "version": 1,
        "draft_seq": 0,
        "active_seconds": 0.0,
        "reserved_at": now,
    }
    on_web = {"origin": Origin.web, "expires_at": now + reservation_life(study), "design_hash": study.design_hash}
    stored = {**row, **on_web, **columns}
    assignment_id = session.connection().execute(_add_assignment(), stored).scalar_one()
    slots = [
        {"assignment_id": assignment_id, "position": position, "candidate_id": candidate, "order_known": True}
        for position, candidate in enumerate(order)
    ]
    add_rows(session, Slot, slots)
    carried = rows.inserted(Assignment, [{"id": assignment_id, **stored}], who.pseudonym) | rows.inserted(Slot, slots)
    new = {"item": item_id, "order": list(order), "purpose": purpose}
    events.record(
        session, study.id, EventKind.reserved, who.pseudonym, assignment_id=assignment_id, new=new, rows=carried
    )
    return Assigned(
        id=assignment_id, draft=None, pen=None, submitted_at=None, arrangement=None, candidates=len(order), **row
    )


@cache
def _add_assignment() -> ReturningInsert[int]:
    return insert(Assignment.__table__).returning(Assignment.__table__.c.id)


def extend(session: Session, study: Study, assignment: Assigned, **columns: Any) -> Assigned:
    """Extends a reservation; an expired one is reactivated, with its order and its draft. columns: as for `reserve`."""
    live = {"state": AssignmentState.reserved, "expires_at": clock.now() + reservation_life(study)}
    update_row(session, Assignment, assignment.id, live | columns)
    return replace(assignment, state=AssignmentState.reserved)


def renew(session: Session, who: Who, token: str) -> bool:
    """Extends a live reservation of this person; returns False if it has expired."""
    own = (Assignment.token == token) & (Assignment.person_id == who.person_id)
    study = session.scalars(select(Study).join(Assignment, Assignment.study_id == Study.id).where(own)).first()
    if study is None:
        return False
    renewing = (
        update(Assignment.__table__)
        .where(own, Assignment.state == AssignmentState.reserved)
        .values(expires_at=clock.now() + reservation_life(study))
    )
    return session.connection().execute(renewing).rowcount == 1


def give_back_expired(session: Session, study: Study) -> None:
    """Frees the places of expired reservations; drafts stay with their assignments."""
    # on PostgreSQL somebody may be submitting one of them at this moment: it is left alone
    overdue = (
        select(Assignment.id)
        .where(Assignment.study_id == study.id, Assignment.state == AssignmentState.reserved)
        .where(Assignment.expires_at < clock.now())
        .with_for_update(skip_locked=True)
    )
    free_places(session, end(session, Assignment.id.in_(overdue)))


def end(session: Session, which: ColumnElement[bool], state: AssignmentState = AssignmentState.expired) -> list[int]:
    """Ends reservations, keeping drafts; returns the items whose places the caller frees. which: on Assignment."""
    ending = update(Assignment.__table__).where(which).values(state=state)
    ended = session.connection().execute(ending.returning(Assignment.item_id, Assignment.purpose))
    return [item for item, purpose in ended if purpose == Purpose.main]


def reserve_for_workbook(session: Session, study: Study, who: Who, count: int, workbook_id: int) -> list[Assigned]:
    """Reserve the next items, at most `count`, chosen as on the web, until the workbook is cancelled. The person's
    membership must be locked. Their expired web reservations are included, with their drafts.
    """
    give_back_expired(session, study)
    planned = membership_of(session, study, who).has_plan
    expired = unfinished_of(session, study, who)
    columns = {"origin": Origin.workbook, "workbook_id": workbook_id, "expires_at": clock.now() + WORKBOOK_LIFE}
    taken: list[Assigned] = []
    while len(taken) < count and (item_id := take_next(session, study, who, planned=planned)) is not None:
        taken.append(reserve(session, study, who, item_id, Purpose.main, expired, **columns))
    return taken


def free_workbook(session: Session, workbook_id: int) -> int:
    """Frees the places that a workbook still holds. Its items can then be assigned on the web; returns how many."""
    of_workbook = Assignment.workbook_id == workbook_id
    free_places(session, end(session, of_workbook & (Assignment.state == AssignmentState.reserved)))
    left = of_workbook & (Assignment.state == AssignmentState.expired)
    releasing = update(Assignment.__table__).where(left).values(origin=Origin.web, workbook_id=None)
    return session.connection().execute(releasing).rowcount
