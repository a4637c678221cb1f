"""An annotator's membership as her way through a study reads it: one row, fetched with every action of hers."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, Select, bindparam, exists, select
from sqlmodel import Session

from triptych import clock, database
from triptych.errors import NotFound
from triptych.models import Assignment, AssignmentState, Item, Membership, PlannedItem, Purpose, Role, Study
from triptych.people import Who

_study, _person = bindparam("study"), bindparam("person")
_given_out = Assignment.__table__.alias("given_out")  # under a name of its own: a statement may ask for hers beside it
# prepared once: they run for every annotation
FACTS = (
    Membership.id,
    Membership.excluded_at,
    Membership.withdrawn_at,
    Membership.turned_away_as,
    Membership.consent_version,
    Membership.instructions_read_at,
    # told with it: a study without plan and checks, where nothing has run out, pays for no further statement
    exists().where(PlannedItem.study_id == Membership.study_id).label("planned"),
    exists()
    .where(Item.study_id == Membership.study_id, (Item.purpose == Purpose.attention) | (Item.purpose == Purpose.gold))
    .label("checked"),
    exists()
    .where(
        _given_out.c.study_id == Membership.study_id,
        _given_out.c.state == AssignmentState.reserved,
        _given_out.c.expires_at < bindparam("now"),
    )
    .label("due"),
)
_MEMBERSHIP = select(*FACTS).where(
    Membership.study_id == _study, Membership.person_id == _person, Membership.role == Role.annotator
)
_LOCKED_MEMBERSHIP = _MEMBERSHIP.with_for_update(key_share=True, of=Membership)


def locked_membership(session: Session, study_id: int, who: Who) -> Row[Any]:
    """Her membership, locked: what one person does in a study happens in turn, and nobody else waits for it.

    Every command of an annotator locks it first. Raises NotFound for somebody who is not in the study.
    """
    return _found(session, _MEMBERSHIP if database.is_sqlite(session) else _LOCKED_MEMBERSHIP, study_id, who)


def membership_of(session: Session, study: Study, who: Who) -> Row[Any]:
    """Her membership as it is, to look at. Raises NotFound for somebody who is not in the study."""
    return _found(session, _MEMBERSHIP, study.id, who)


def _found(session: Session, wanted: Select[Any], study_id: int, who: Who) -> Row[Any]:
    here = {"study": study_id, "person": who.person_id, "now": clock.now()}
    found = session.connection().execute(wanted, here).first()
    if found is None:
        raise NotFound("You are not an annotator of this study.")
    return found
