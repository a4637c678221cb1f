"""Drafts: what an annotator has done so far on an item, saved about once a second from one tab.

Drafts are most of the load that annotators cause, so the next draft of an item that this process assigned is stored in
one statement (`save_next_draft`), checked against data cached when the item was shown. Measured on SQLite: 0.7 ms of
processor time instead of 1.5 ms for `save_draft`, which stores any draft and says why one is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import NamedTuple

from pydantic import Field
from sqlalchemy import (
    Boolean,
    ColumnElement,
    Engine,
    Float,
    Select,
    Update,
    bindparam,
    case,
    exists,
    func,
    select,
    update,
)
from sqlmodel import Session

from triptych import clock
from triptych.annotate import assignments
from triptych.annotate.annotations import ALREADY_SUBMITTED, MAX_COUNT, OPEN_ELSEWHERE, Message, capped_seconds
from triptych.annotate.reservations import Assigned, reservation_life
from triptych.errors import NotFound
from triptych.languages.language import _
from triptych.people import logins, passcodes
from triptych.people.membership import HAS_LEFT
from triptych.rubric.answers import check_draft, parse_answers
from triptych.rubric.model import Rubric
from triptych.storage import database
from triptych.storage.models import Assignment, JsonObject, Membership, Slot, Study, StudyState
from triptych.study import lifecycle
from triptych.study.persons import Who

MAX_REMEMBERED = 10_000  # assignments


class DraftMessage(Message):
    seq: int = Field(ge=1, le=MAX_COUNT)
    base: int = Field(ge=0, le=MAX_COUNT)
    take: bool = False
    draft: JsonObject


@dataclass(frozen=True)
class Refusal:
    """Why a draft was not stored; draft, draft_seq: the draft that is stored instead."""

    reason: str
    message: str
    draft: JsonObject | None = None
    draft_seq: int = 0


class _Drafted(NamedTuple):
    """An assignment of which a draft comes in. candidates: their number; has_left: whether its annotator has."""

    study: Study
    assignment_id: int
    version: int
    reserved_at: datetime
    candidates: int
    has_left: bool


@dataclass(frozen=True, slots=True)
class _DraftRules:
    """What the drafts of an assignment are checked against; `reserved_at` changes when it is assigned again."""

    assignment_id: int
    rubric: Rubric
    round: str
    candidates: int
    reserved_at: datetime
    life: timedelta


_expected: dict[str, _DraftRules] = {}  # by token


def expect(study: Study, rubric: Rubric, assignment: Assigned) -> None:
    """Remembers what the drafts of this assignment will be checked against."""
    life = reservation_life(study)
    expected = _DraftRules(assignment.id, rubric, study.round, assignment.candidates, assignment.reserved_at, life)
    _remember(assignment.token, expected)


def _remember(token: str, expected: _DraftRules) -> None:
    if len(_expected) >= MAX_REMEMBERED:
        _expected.clear()
    _expected[token] = expected


def save_next_draft(engine: Engine, login_secret: str, message: DraftMessage) -> bool:
    """Stores the next draft of an assignment that is cached in this process, in a separate transaction.

    Returns False if the assignment is not cached or the draft must be refused; `save_draft` then says why. Raises
    InvalidAnnotation, DatabaseUnavailable.
    """
    expected = _expected.get(message.assignment)
    if expected is None:
        return False
    secret_hash, now = passcodes.secret_hash(login_secret), clock.now()
    of_login = {"secret": secret_hash, "now": now, "given_out": expected.reserved_at}
    with database.one_statement(engine) as connection:
        return connection.execute(_next_draft_update(), {**_values(expected, message), **of_login}).rowcount == 1


def save_draft(session: Session, who: Who, message: DraftMessage) -> int | Refusal:
    """Stores the draft if it is newer than the stored one and comes from the tab that holds the pen.

    Another tab may take the pen if no draft was stored since it loaded the item (`base`), or on request (`take`).
    Returns the stored sequence number, or why the draft was refused. Raises NotFound, InvalidAnnotation.
    """
    drafted = _read(session, who, message)
    if refusal := _refusal(drafted, message):
        return refusal
    study = drafted.study
    rubric, life = lifecycle.design_of(session, study).rubric, reservation_life(study)
    expected = _DraftRules(drafted.assignment_id, rubric, study.round, drafted.candidates, drafted.reserved_at, life)
    if session.connection().execute(_draft_update(), _values(expected, message)).rowcount == 1:
        _remember(message.assignment, expected)
        return message.seq
    # since the assignment was read, the study may have been closed, or another tab may have written
    if refusal := _refusal(_read(session, who, message), message):
        return refusal
    stored = assignments.by_token(session, study, who, message.assignment)
    if stored.pen == message.pen:
        return stored.draft_seq
    return Refusal("open_elsewhere", _(OPEN_ELSEWHERE), stored.draft, stored.draft_seq)


def _read(session: Session, who: Who, message: DraftMessage) -> _Drafted:
    """The assignment and its study as they are stored now. Raises NotFound."""
    asked = {"token": message.assignment, "person": who.person_id}
    row = session.execute(_drafted(), asked, execution_options={"populate_existing": True}).first()
    if row is None:
        raise NotFound(_(assignments.NOT_YOURS))
    return _Drafted(*row)


def _refusal(drafted: _Drafted, message: DraftMessage) -> Refusal | None:
    """Why no draft of the assignment is stored any more, whichever tab it comes from."""
    if drafted.version != message.version:
        return Refusal("submitted", _(ALREADY_SUBMITTED))
    if drafted.has_left:
        return Refusal("closed", _(HAS_LEFT))
    if drafted.study.state == StudyState.closed:
        return Refusal("closed", _("This study is closed; nothing more can be stored."))
    return None


def _values(expected: _DraftRules, message: DraftMessage) -> dict[str, object]:
    """The values of a draft that fits the rubric. Raises InvalidAnnotation."""
    check_draft(expected.rubric, expected.round, expected.candidates, parse_answers(message.draft))
    return {
        "assignment": expected.assignment_id,
        "of_version": message.version,
        "base": message.base,
        "take": message.take,
        "new_draft": message.draft,
        "seq": message.seq,
        "new_pen": message.pen,
        "seconds": capped_seconds(expected.reserved_at, message.active_seconds),
        "until": clock.now() + expected.life,
    }


# statements with named parameters are built at their first use, see `storage.writes`
@cache
def _drafted() -> Select[Study, int, int, datetime, int, bool]:
    candidates = select(func.count()).where(Slot.assignment_id == Assignment.id).correlate(Assignment)
    has_left = exists().where(_of_one_who_left()).correlate(Assignment)
    columns = Study, Assignment.id, Assignment.version, Assignment.reserved_at, candidates.scalar_subquery(), has_left
    return (
        select(*columns)
        .join(Assignment, Assignment.study_id == Study.id)
        .where(Assignment.token == bindparam("token"), Assignment.person_id == bindparam("person"))
    )


@cache
def _draft_update() -> Update:
    """The update that stores a draft; this one statement decides every race between tabs."""
    has_pen = Assignment.pen == bindparam("new_pen")
    may_take_pen = (Assignment.draft_seq == bindparam("base")) | bindparam("take", type_=Boolean)
    # the time of a submitted annotation does not change with drafts; an edit counts when it is submitted
    is_first = Assignment.submitted_at.is_(None)
    is_open = exists().where(Study.id == Assignment.study_id, Study.state != StudyState.closed)
    return (
        update(Assignment.__table__)
        .where(Assignment.id == bindparam("assignment"), Assignment.version == bindparam("of_version"))
        .where(is_open, ~exists().where(_of_one_who_left()))
        .where(Assignment.draft_seq < bindparam("seq"), has_pen | may_take_pen)
        .values(
            draft=bindparam("new_draft"),
            draft_seq=bindparam("seq"),
            pen=bindparam("new_pen"),
            active_seconds=case((is_first, bindparam("seconds", type_=Float)), else_=Assignment.active_seconds),
            expires_at=bindparam("until"),
        )
    )


@cache
def _next_draft_update() -> Update:
    of_login = Assignment.person_id == logins.signed_in_person().scalar_subquery()
    return _draft_update().where(Assignment.reserved_at == bindparam("given_out"), of_login)


def _of_one_who_left() -> ColumnElement[bool]:
    """Whether a membership is that of an annotator who withdrew or was turned away, for an assignment of theirs."""
    own = (Membership.study_id == Assignment.study_id) & (Membership.person_id == Assignment.person_id)
    return own & (Membership.withdrawn_at.is_not(None) | Membership.turned_away_as.is_not(None))
