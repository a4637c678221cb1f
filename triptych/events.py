"""The event log: who did what, when, with old and new values; one hash chain per study.

What a transaction records is chained and written together just before its commit: appending locks the study's row, so
numbers are given in the order of commits, a reader that has seen number n never misses a smaller one, and writers wait
for each other only at their end.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import JSON, String, bindparam, insert, select, update
from sqlalchemy import inspect as state_of
from sqlalchemy.event import listens_for
from sqlalchemy.orm import Session as MappedSession
from sqlalchemy.orm.attributes import set_committed_value
from sqlmodel import Session

from triptych import clock, database
from triptych.errors import StudyNotOpen
from triptych.models import Event, EventDetail, Study, StudyState

PENDING = "triptych events"
CLOSED_MEANWHILE = "This study was closed a moment ago; nothing more can be stored."
# prepared once: these run for every annotation
_LOCKED = (
    select(Study)
    .where(Study.id == bindparam("study"))
    .with_for_update(key_share=True)
    .execution_options(populate_existing=True)
)
_event, _study = Event.__table__, Study.__table__
_HEAD = select(_study.c.event_number, _study.c.event_hash, _study.c.state).where(_study.c.id == bindparam("study"))
# rows that point at the study hold it against a change of its key only
_LOCKED_HEAD = _HEAD.with_for_update(key_share=True)
_INSERT = insert(_event)
# beside its event, found by number: asking for the ids first would cost one statement more
_detail_of = select(
    _event.c.id, bindparam("salt", type_=String), bindparam("old", type_=JSON), bindparam("new", type_=JSON)
).where(_event.c.study_id == bindparam("study"), _event.c.number == bindparam("number"))
_INSERT_DETAIL = insert(EventDetail.__table__).from_select(["event_id", "salt", "old", "new"], _detail_of)
_MOVE_HEAD = (
    update(_study)
    .where(_study.c.id == bindparam("study"))
    .values(event_number=bindparam("number"), event_hash=bindparam("hash"))
)


def record(
    session: Session,
    study_id: int,
    kind: str,
    actor: str,
    *,
    assignment_id: int | None = None,
    subject: str = "",
    old: dict[str, Any] | None = None,
    new: dict[str, Any] | None = None,
) -> None:
    """Notes one event; it becomes part of the study's chain when the caller's transaction commits."""
    noted = {
        "study_id": study_id,
        "at": clock.now(),
        "actor": actor,
        "kind": kind,
        "assignment_id": assignment_id,
        "subject": subject,
    }
    # held until then: the identity map alone would forget the study, and with it that it was open
    study = session.identity_map.get(session.identity_key(Study, study_id))
    session.info.setdefault(PENDING, {}).setdefault(study_id, []).append((noted, old, new, study))


def record_many(session: Session, study_id: int, kind: str, actor: str, news: Mapping[int, dict[str, Any]]) -> None:
    """One event of this kind for each assignment; `news`: assignment → its new values."""
    for assignment_id, new in news.items():
        record(session, study_id, kind, actor, assignment_id=assignment_id, new=new)


@listens_for(MappedSession, "before_commit")
def write_pending(session: Session) -> None:
    """Chains and writes what the transaction has recorded so far. Raises StudyNotOpen if the study was closed since."""
    for study_id, noted in sorted(session.info.pop(PENDING, {}).items()):
        session.flush()
        _append(session, study_id, noted)


@listens_for(MappedSession, "after_rollback")
def _forget(session: Session) -> None:
    session.info.pop(PENDING, None)


def _append(session: Session, study_id: int, noted: Sequence[tuple[dict[str, Any], Any, Any, Study | None]]) -> None:
    run = session.connection().execute
    head = run(_HEAD if database.is_sqlite(session) else _LOCKED_HEAD, {"study": study_id}).one()
    study = session.identity_map.get(session.identity_key(Study, study_id))
    if study is not None and head.state == StudyState.closed != study.state and not state_of(study).modified:
        raise StudyNotOpen(CLOSED_MEANWHILE)
    number, previous = head.event_number, head.event_hash
    rows, details = [], []
    for event_row, old, new, _ in noted:
        salt = secrets.token_hex(16)
        number += 1
        row = {**event_row, "number": number, "digest": digest(salt, old, new), "previous_hash": previous}
        row["hash"] = previous = chain_hash(row)
        rows.append(row)
        if old is not None or new is not None:
            details.append({"study": study_id, "number": number, "salt": salt, "old": old, "new": new})
    run(_INSERT, rows)
    if details:
        run(_INSERT_DETAIL, details)
    run(_MOVE_HEAD, {"study": study_id, "number": number, "hash": previous})
    if study is not None:
        # written already: the mapper shall not write the row again
        set_committed_value(study, "event_number", number)
        set_committed_value(study, "event_hash", previous)


def locked_study(session: Session, study_id: int) -> Study:
    """The study's row, locked until the transaction ends: nobody else changes the study or appends to its chain.

    A write transaction on SQLite has locked the whole database already; what this session has read stays true.
    """
    if database.is_sqlite(session):
        return session.get_one(Study, study_id)
    return session.scalars(_LOCKED, {"study": study_id}).one()


def digest(salt: str, old: Any, new: Any) -> str:
    """Salted digest of the values; the values themselves may be erased later."""
    text = json.dumps([old, new], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(f"{salt}{text}".encode()).hexdigest()


def chain_hash(row: dict[str, Any]) -> str:
    """Hash of one event over its own fields and the hash before it."""
    names = ("study_id", "number", "actor", "kind", "assignment_id", "subject", "digest", "previous_hash")
    parts = [row["at"].isoformat(), *(str(row[name]) for name in names)]
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()


def last_number(session: Session, study_id: int) -> int:
    """The number of the study's last event, with what this transaction has recorded."""
    write_pending(session)
    return session.execute(select(Study.event_number).where(Study.id == study_id)).scalar_one()


def since(session: Session, study_id: int, number: int) -> list[Event]:
    """The events after a number, in order."""
    write_pending(session)
    later = select(Event).where(Event.study_id == study_id, Event.number > number).order_by(Event.number)
    return list(session.scalars(later))


def first_broken(session: Session, study_id: int) -> str | None:
    """A sentence about the first event that was changed or removed; None if the chain holds."""
    write_pending(session)
    details = select(EventDetail).join(Event).where(Event.study_id == study_id)
    by_event = {detail.event_id: detail for detail in session.scalars(details)}
    previous, number = "", 0
    for event in since(session, study_id, 0):
        number += 1
        detail = by_event.get(event.id)
        changed = detail is not None and digest(detail.salt, detail.old, detail.new) != event.digest
        if event.number != number or event.previous_hash != previous:
            return f"Event {number} is missing or was replaced."
        if changed or chain_hash(event.model_dump()) != event.hash:
            return f"Event {number} was changed."
        previous = event.hash
    head = session.get_one(Study, study_id, populate_existing=True)
    return None if (head.event_number, head.event_hash) == (number, previous) else f"Events after {number} are missing."
