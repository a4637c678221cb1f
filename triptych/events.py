"""The event log: who did what, when, with old and new values; one hash chain per study.

Writing an event locks the study's row, so numbers are given in the order of commits and a reader that has seen
number n never misses a smaller one.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from typing import Any

from sqlalchemy import bindparam, insert, select
from sqlmodel import Session

from triptych import clock, database
from triptych.models import Event, EventDetail, Study

# prepared once: these run for every annotation
_LOCKED = (
    select(Study).where(Study.id == bindparam("study")).with_for_update().execution_options(populate_existing=True)
)
_INSERT = insert(Event).returning(Event.id)
_INSERT_DETAIL = insert(EventDetail)


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
) -> int:
    """Appends one event in the caller's transaction; returns its number in the study's chain."""
    study = locked_study(session, study_id)
    salt = secrets.token_hex(16)
    row = {
        "study_id": study_id,
        "number": study.event_number + 1,
        "at": clock.now(),
        "actor": actor,
        "kind": kind,
        "assignment_id": assignment_id,
        "subject": subject,
        "digest": digest(salt, old, new),
        "previous_hash": study.event_hash,
    }
    row["hash"] = chain_hash(row)
    event_id = session.connection().execute(_INSERT, row).scalar_one()
    if old is not None or new is not None:
        session.connection().execute(_INSERT_DETAIL, {"event_id": event_id, "salt": salt, "old": old, "new": new})
    study.event_number, study.event_hash = row["number"], row["hash"]
    return row["number"]


def locked_study(session: Session, study_id: int) -> Study:
    """The study's row, locked until the transaction ends, so that two writers never share a place in the chain.

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
    return session.execute(select(Study.event_number).where(Study.id == study_id)).scalar_one()


def since(session: Session, study_id: int, number: int) -> list[Event]:
    """The events after a number, in order."""
    later = select(Event).where(Event.study_id == study_id, Event.number > number).order_by(Event.number)
    return list(session.scalars(later))


def first_broken(session: Session, study_id: int) -> str | None:
    """A sentence about the first event that was changed or removed; None if the chain holds."""
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
