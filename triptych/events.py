"""The event log: who did what, when, with old and new values; one hash chain per study.

Writing an event locks the study's row, so numbers are given in the order of commits and a reader that has seen
number n never misses a smaller one.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from typing import Any

from sqlalchemy import bindparam, insert, select, update
from sqlmodel import Session

from triptych import clock
from triptych.models import Event, EventDetail, Study

_study, _event, _detail = Study.__table__, Event.__table__, EventDetail.__table__
_this_study = _study.c.id == bindparam("study")
_NEXT = (
    update(_study)
    .where(_this_study)
    .values(event_number=_study.c.event_number + 1)
    .returning(_study.c.event_number, _study.c.event_hash)
)
_EVENT = insert(_event).returning(_event.c.id)
_DETAIL = insert(_detail)
_HEAD = update(_study).where(_this_study).values(event_hash=bindparam("head"))


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
    # prepared statements on one connection: an event is written with every annotation, and again for the next item
    session.flush()
    connection = session.connection()
    number, previous = connection.execute(_NEXT, {"study": study_id}).one()
    salt = secrets.token_hex(16)
    row = {
        "study_id": study_id,
        "number": number,
        "at": clock.now(),
        "actor": actor,
        "kind": kind,
        "assignment_id": assignment_id,
        "subject": subject,
        "digest": digest(salt, old, new),
        "previous_hash": previous,
    }
    row["hash"] = chain_hash(row)
    event_id = connection.execute(_EVENT, row).scalar_one()
    if old is not None or new is not None:
        connection.execute(_DETAIL, {"event_id": event_id, "salt": salt, "old": old, "new": new})
    connection.execute(_HEAD, {"study": study_id, "head": row["hash"]})
    return number


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
