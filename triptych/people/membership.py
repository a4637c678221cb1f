"""An annotator's membership as every action of theirs reads it: one row."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, func, select
from sqlalchemy.sql.elements import SQLCoreOperations
from sqlmodel import Session

from triptych import clock
from triptych.errors import NotFound
from triptych.storage.models import Assignment, AssignmentState, Item, Membership, PlannedItem, Purpose, Role, Study
from triptych.study.persons import Who


@dataclass(frozen=True, slots=True)
class AnnotatorMembership:
    """An annotator's part in a study, and what of the study decides how their next item is found.

    has_plan: the study has an explicit plan. has_checks: it has gold or attention items. has_overdue: a reservation of
    anybody has run out.
    """

    id: int
    study_id: int
    excluded_at: datetime | None
    withdrawn_at: datetime | None
    turned_away_as: str | None
    consent_version: str | None
    instructions_read_at: datetime | None
    has_plan: bool
    has_checks: bool
    has_overdue: bool


def locked_membership(session: Session, study_id: int, who: Who) -> AnnotatorMembership:
    """The person's membership, locked: what one person does in a study happens in turn, and nobody else waits for it.

    Every command of an annotator locks it first. Raises NotFound for somebody who is not in the study.
    """
    return _required(_read(session, who, lock=True, study=study_id))


def locked_membership_of(session: Session, who: Who, token: str) -> AnnotatorMembership | None:
    """As `locked_membership`, in the study of this person's assignment; None if it is not theirs."""
    return _read(session, who, lock=True, token=token)


def membership_of(session: Session, study: Study, who: Who) -> AnnotatorMembership:
    """The person's membership, to look at. Raises NotFound for somebody who is not in the study."""
    return _required(_read(session, who, lock=False, study=study.id))


def _required(membership: AnnotatorMembership | None) -> AnnotatorMembership:
    if membership is None:
        raise NotFound("You are not an annotator of this study.")
    return membership


def _read(session: Session, who: Who, *, lock: bool, **place: int | str) -> AnnotatorMembership | None:
    """`place`: the study's id, or the token of an assignment in it."""
    query = _query("token" in place, lock)
    row = session.connection().execute(query, {"person": who.person_id, "now": clock.now(), **place}).first()
    return None if row is None else AnnotatorMembership(*row)


@cache
def _query(by_token: bool, lock: bool) -> Select[*tuple[Any, ...]]:
    # under a name of its own: a query may join the annotator's own assignment
    others = Assignment.__table__.alias("others")
    is_overdue = (others.c.study_id == Membership.study_id) & (others.c.state == AssignmentState.reserved)
    is_check = (Item.study_id == Membership.study_id) & Item.purpose.in_([Purpose.attention, Purpose.gold])
    query = select(
        Membership.id,
        Membership.study_id,
        Membership.excluded_at,
        Membership.withdrawn_at,
        Membership.turned_away_as,
        Membership.consent_version,
        Membership.instructions_read_at,
        _least(PlannedItem.person_id, PlannedItem.study_id == Membership.study_id).is_not(None),
        _least(Item.taken, is_check).is_not(None),
        func.coalesce(_least(others.c.expires_at, is_overdue) < bindparam("now"), False),
    ).where(Membership.person_id == bindparam("person"), Membership.role == Role.annotator)
    if by_token:
        own = (Assignment.study_id == Membership.study_id) & (Assignment.person_id == Membership.person_id)
        query = query.join(Assignment, own).where(Assignment.token == bindparam("token"))
    else:
        query = query.where(Membership.study_id == bindparam("study"))
    return query.with_for_update(key_share=True, of=Membership) if lock else query


def _least(column: SQLCoreOperations[Any], condition: ColumnElement[bool]) -> ColumnElement[Any]:
    """The least value, or NULL where no row is.

    PostgreSQL expects EXISTS to meet a row soon and reads a whole table in which there is none; a least value it takes
    from an index.
    """
    return select(func.min(column)).where(condition).scalar_subquery()
