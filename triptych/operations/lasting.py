"""Facts that outlast a restore: who had left, and which access was revoked.

A fact about a person or link that the restored backup does not have waits in a setting: the next backup may have them.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from pydantic import TypeAdapter
from sqlalchemy import delete, insert, select
from sqlmodel import Session

from triptych.people.access_after_restore import WaysIn, keep_closed, ways_in
from triptych.storage.events import DEPARTURES, EventKind
from triptych.storage.models import Event, Person, Setting

SETTING = "outlasts a restore"
LEAVING = (*DEPARTURES, EventKind.lead_removed, EventKind.viewer_removed)


@dataclass(frozen=True)
class Lasting:
    """left: event hash → person who was erased, removed, or withdrew."""

    ways_in: WaysIn = field(default_factory=WaysIn)
    left: Mapping[str, str] = field(default_factory=dict)

    def __or__(self, newer: Lasting) -> Lasting:
        ended = self.ways_in.ended | newer.ways_in.ended
        accounts = {**self.ways_in.accounts, **newer.ways_in.accounts}
        return Lasting(WaysIn(ended, accounts), {**self.left, **newer.left})


STORED = TypeAdapter(Lasting)


def lasting(session: Session) -> Lasting:
    """The facts in the database's tables, and those that wait there."""
    return _waiting(session) | _in_tables(session)


def carry_over(session: Session, before: Lasting) -> tuple[str, ...]:
    """Apply the facts of the state before to a copy of the backup; returns people who had left since and are in it
    again.
    """
    here = lasting(session)
    gone = {person for event, person in before.left.items() if event not in here.left}
    again = sorted(gone.intersection(session.scalars(select(Person.pseudonym))))
    keep_closed(session, before.ways_in, again)
    _store_waiting(session, here | before, _in_tables(session))
    return tuple(again)


def _in_tables(session: Session) -> Lasting:
    query = select(Event.hash, Event.subject).where(Event.kind.in_(LEAVING))
    return Lasting(ways_in(session), {hashed: subject for hashed, subject in session.execute(query) if subject})


def _waiting(session: Session) -> Lasting:
    stored = session.scalars(select(Setting.value).where(Setting.key == SETTING)).first()
    with suppress(ValueError):  # a backup's setting may hold anything
        return STORED.validate_json(stored or "")
    return Lasting()


def _store_waiting(session: Session, facts: Lasting, tables: Lasting) -> None:
    """Store the facts that the tables do not have; of accounts not the identity, which is often an address."""
    accounts = {
        pseudonym: (passcode, disabled_at, None)
        for pseudonym, (passcode, disabled_at, _) in facts.ways_in.accounts.items()
        if pseudonym not in tables.ways_in.accounts
    }
    left = {event: person for event, person in facts.left.items() if event not in tables.left}
    waiting = Lasting(WaysIn(facts.ways_in.ended - tables.ways_in.ended, accounts), left)
    session.execute(delete(Setting).where(Setting.key == SETTING))
    session.execute(insert(Setting).values(key=SETTING, value=STORED.dump_json(waiting).decode()))
