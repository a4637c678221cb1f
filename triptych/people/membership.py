"""An annotator's membership as the study reads it: one row, fetched with each of their actions."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Row, ScalarSelect, Select, TextClause, bindparam, func, select, text
from sqlmodel import Session

from triptych import clock
from triptych.errors import NotFound
from triptych.storage import database
from triptych.storage.models import Assignment, Item, Membership, PlannedItem, Role, Study
from triptych.study.persons import Who

_study, _person = bindparam("study"), bindparam("person")
_given_out = Assignment.__table__.alias("given_out")  # its own name: a statement may also query assignments
# values in the text, so that PostgreSQL knows how rare they are when it plans for any study
IS_CHECK, IS_GIVEN_OUT = text("item.purpose IN ('attention', 'gold')"), text("given_out.state = 'reserved'")


def _least(column: ColumnElement[Any], *where: ColumnElement[bool] | TextClause) -> ScalarSelect[Any]:
    """The least value, which an index gives at once, or NULL where nothing is.

    PostgreSQL expects of EXISTS to meet a match soon, and reads the whole of a table in which there is none.
    """
    return select(func.min(column)).where(*where).scalar_subquery()


# prepared once: they run for every annotation
FACTS = (
    Membership.id,
    Membership.excluded_at,
    Membership.withdrawn_at,
    Membership.turned_away_as,
    Membership.consent_version,
    Membership.instructions_read_at,
    # told with it: a study without plan and checks, where nothing has run out, pays for no further statement
    _least(PlannedItem.person_id, PlannedItem.study_id == Membership.study_id).is_not(None).label("planned"),
    _least(Item.taken, Item.study_id == Membership.study_id, IS_CHECK).is_not(None).label("checked"),
    (_least(_given_out.c.expires_at, _given_out.c.study_id == Membership.study_id, IS_GIVEN_OUT) < bindparam("now"))
    .is_(True)
    .label("due"),
)
MEMBERSHIP = select(*FACTS).where(
    Membership.study_id == _study, Membership.person_id == _person, Membership.role == Role.annotator
)
_LOCKED_MEMBERSHIP = MEMBERSHIP.with_for_update(key_share=True, of=Membership)


def locked_membership(session: Session, study_id: int, who: Who) -> Row[Any]:
    """Their membership, locked: actions of one person in a study run in turn, and others do not wait.

    Every command of an annotator locks it first. Raises NotFound for somebody who is not in the study.
    """
    return _membership(session, MEMBERSHIP if database.is_sqlite(session) else _LOCKED_MEMBERSHIP, study_id, who)


def membership_of(session: Session, study: Study, who: Who) -> Row[Any]:
    """Their membership, unlocked, for reading. Raises NotFound for somebody who is not in the study."""
    return _membership(session, MEMBERSHIP, study.id, who)


def _membership(session: Session, query: Select[Any], study_id: int, who: Who) -> Row[Any]:
    here = {"study": study_id, "person": who.person_id, "now": clock.now()}
    membership = session.connection().execute(query, here).first()
    if membership is None:
        raise NotFound("You are not an annotator of this study.")
    return membership
