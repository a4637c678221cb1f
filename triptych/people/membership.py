"""An annotator's membership in one row, as every action of theirs reads it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, SQLColumnExpression, bindparam, func, select
from sqlmodel import Session

from triptych import clock
from triptych.errors import NotFound
from triptych.languages.language import _, message
from triptych.storage.models import (
    CHECK_PURPOSES,
    Assignment,
    AssignmentState,
    Item,
    Kind,
    Membership,
    Person,
    PlannedItem,
    Role,
    Study,
    has_value,
)
from triptych.study.persons import Who

COMPUTED = ("has_plan", "has_checks", "has_overdue")
HAS_LEFT = message("You no longer take part in this study, so nothing more of yours is stored.")


@dataclass(frozen=True, slots=True)
class AnnotatorMembership:
    """An annotator's part in a study, and properties of the study that determine how their next item is found.

    has_plan: whether it has an explicit plan. has_checks: gold or attention items. has_overdue: an expired reservation
    of anybody.
    """

    id: int
    study_id: int
    excluded_at: datetime | None
    withdrawn_at: datetime | None
    turned_away_as: str | None
    consent_version: str | None
    instructions_read_at: datetime | None
    instructions_version: str | None
    has_plan: bool
    has_checks: bool
    has_overdue: bool

    @property
    def has_left(self) -> bool:
        """Whether nothing more of theirs is stored: they were excluded or turned away, or withdrew."""
        return bool(self.excluded_at or self.withdrawn_at or self.turned_away_as)


def select_at_work(study: Study, column: SQLColumnExpression[object] | type[Person]) -> Select[*tuple[Any, ...]]:
    """This column of the people, not models or simulations, who may be given items of the study."""
    query = select(column).join(Membership, Membership.person_id == Person.id)
    return query.where(takes_part(study), Person.kind == Kind.human)


def takes_part(study: Study) -> ColumnElement[bool]:
    """Condition on Membership and Person: annotators who have not failed, left, or been excluded."""
    return (
        (Membership.study_id == study.id)
        & (Membership.role == Role.annotator)
        & Membership.turned_away_as.is_(None)
        & Membership.withdrawn_at.is_(None)
        & Membership.excluded_at.is_(None)
        & Person.disabled_at.is_(None)
    )


def locked_membership(session: Session, study_id: int, who: Who) -> AnnotatorMembership:
    """The person's membership, locked: one person's commands in a study run one after another, and nobody else waits.
    Every annotator command locks it first. Raises NotFound for somebody who is not in the study.
    """
    return _read(session, who, study_id, lock=True)


def membership_of(session: Session, study: Study, who: Who) -> AnnotatorMembership:
    """The person's membership, for reading. Raises NotFound for somebody who is not in the study."""
    return _read(session, who, study.id, lock=False)


def _read(session: Session, who: Who, study_id: int, *, lock: bool) -> AnnotatorMembership:
    own = {"person": who.person_id, "now": clock.now(), "study": study_id}
    row = session.connection().execute(_of_study(lock), own).first()
    if row is None:
        raise NotFound(_("You are not an annotator of this study."))
    return AnnotatorMembership(*row)


@cache
def _of_study(lock: bool) -> Select[*tuple[Any, ...]]:
    query = select_membership().where(Membership.study_id == bindparam("study"))
    return query.with_for_update(key_share=True, of=Membership) if lock else query


def select_membership() -> Select[*tuple[Any, ...]]:
    """The columns of `AnnotatorMembership`, in its order, of `:person` at `:now`; the caller names the study."""
    # aliased, since a query may join the annotator's own assignment
    others = Assignment.__table__.alias("others")
    is_overdue = (others.c.study_id == Membership.study_id) & has_value(others.c.state, AssignmentState.reserved)
    is_check = (Item.study_id == Membership.study_id) & has_value(Item.purpose, *CHECK_PURPOSES)
    stored = (getattr(Membership, field.name) for field in fields(AnnotatorMembership) if field.name not in COMPUTED)
    return select(
        *stored,
        _least(PlannedItem.person_id, PlannedItem.study_id == Membership.study_id).is_not(None),
        _least(Item.taken, is_check).is_not(None),
        func.coalesce(_least(others.c.expires_at, is_overdue) < bindparam("now"), False),
    ).where(Membership.person_id == bindparam("person"), has_value(Membership.role, Role.annotator))


def _least(column: SQLColumnExpression[object], condition: ColumnElement[bool]) -> ColumnElement[object]:
    """The minimum, or NULL without rows. PostgreSQL assumes that EXISTS finds a row soon and scans the whole table if
    there is none; it reads a minimum from an index.
    """
    return select(func.min(column)).where(condition).scalar_subquery()
