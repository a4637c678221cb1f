"""Facts that outlast a restore: who had left, which access was revoked, who saw results or systems' names, and the
schedule of backups.

A fact about a person, link or study that the restored backup does not have waits in a setting: the next backup may have
them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated

from pydantic import AwareDatetime, Field, TypeAdapter
from sqlalchemy import delete, insert, select
from sqlalchemy.orm import aliased
from sqlmodel import Session

from triptych.people.access_after_restore import WaysIn, keep_closed, ways_in
from triptych.storage import events
from triptych.storage.events import DEPARTURES, EventKind
from triptych.storage.models import Event, Person, Setting, Study

SETTING = "outlasts a restore"
SCHEDULE_KEYS = SCHEDULE, LAST, FAILED = "backup schedule", "backup last", "backup failed"  # of settings
MAX_KEPT = 365
LEAVING = (*DEPARTURES, EventKind.lead_removed, EventKind.viewer_removed)
REPEATED = (EventKind.results_opened, EventKind.unblinded, EventKind.restored_from_backup)


@dataclass(frozen=True)
class Schedule:
    """every_hours: interval, 0 for none; kept: number of backups beyond which the oldest is deleted."""

    every_hours: Annotated[int, Field(ge=0)] = 0
    kept: Annotated[int, Field(ge=1, le=MAX_KEPT)] = 7


@dataclass(frozen=True, order=True)
class Act:
    """An act in REPEATED, which the log of a restored study repeats. study: hash of the study's first event."""

    at: AwareDatetime
    kind: EventKind
    actor: str
    study: str


@dataclass(frozen=True)
class Lasting:
    """left: event hash → person who was erased, removed, or withdrew. schedule: settings of scheduled backups."""

    ways_in: WaysIn = field(default_factory=WaysIn)
    left: Mapping[str, str] = field(default_factory=dict)
    acts: frozenset[Act] = frozenset()
    schedule: Mapping[str, str] = field(default_factory=dict)

    def __or__(self, newer: Lasting) -> Lasting:
        ended = self.ways_in.ended | newer.ways_in.ended
        accounts = {**self.ways_in.accounts, **newer.ways_in.accounts}
        left, acts = {**self.left, **newer.left}, self.acts | newer.acts
        return Lasting(WaysIn(ended, accounts), left, acts, newer.schedule)


STORED, SCHEDULED = TypeAdapter(Lasting), TypeAdapter(Schedule)


def lasting(session: Session) -> Lasting:
    """The facts in the database's tables, and those that wait there."""
    return _waiting(session) | _in_tables(session)


def carry_over(session: Session, before: Lasting, backup: str) -> tuple[str, ...]:
    """Apply the facts of the state before to a copy of the backup; returns people who had left since and are in it
    again.

    The caller records the restore in every study with the acts that are repeated.
    """
    here = lasting(session)
    gone = {person for event, person in before.left.items() if event not in here.left}
    again = sorted(gone.intersection(session.scalars(select(Person.pseudonym))))
    keep_closed(session, before.ways_in, again)
    tables, facts = _in_tables(session), here | before
    _store_waiting(session, facts, tables, _repeat(session, facts.acts - tables.acts, backup))
    if SCHEDULE in before.schedule:  # otherwise this may be a new installation, which gets the backup's
        session.execute(delete(Setting).where(Setting.key.in_(SCHEDULE_KEYS)))
        session.execute(insert(Setting), [{"key": key, "value": value} for key, value in before.schedule.items()])
    elif not _is_usable(schedule_settings(session)):
        session.execute(delete(Setting).where(Setting.key.in_(SCHEDULE_KEYS)))
    return tuple(again)


def _is_usable(schedule: Mapping[str, str]) -> bool:
    """Whether the program stored these settings: those of a backup may hold anything."""
    last = schedule.get(LAST)
    with suppress(ValueError, OverflowError):
        SCHEDULED.validate_json(schedule.get(SCHEDULE, "{}"), strict=True)
        return last is None or datetime.fromisoformat(last).astimezone(UTC).isoformat() == last
    return False


def schedule_settings(session: Session) -> dict[str, str]:
    query = select(Setting.key, Setting.value).where(Setting.key.in_(SCHEDULE_KEYS))
    return dict(map(tuple, session.execute(query)))


def _repeat(session: Session, acts: Collection[Act], backup: str) -> frozenset[Act]:
    """Record acts again, with their time; returns those of studies that are not in the database."""
    begun = select(Event.hash, Study).join(Study, Study.id == Event.study_id).where(Event.number == 1)
    studies = dict(map(tuple, session.execute(begun)))
    for act in sorted(acts):
        if study := studies.get(act.study):
            if act.kind == EventKind.unblinded:
                study.unblinded_at = min(study.unblinded_at or act.at, act.at)
            # without the number of annotations, since other ones may follow: no look counts as one at complete results
            new = {"taken_back_by": backup}
            events.record(session, study.id, act.kind, act.actor, new=new, at=act.at)
    return frozenset(act for act in acts if act.study not in studies)


def _in_tables(session: Session) -> Lasting:
    leaving = select(Event.hash, Event.subject).where(Event.kind.in_(LEAVING))
    left = {hashed: subject for hashed, subject in session.execute(leaving) if subject}
    first = aliased(Event)
    begun = (first.study_id == Event.study_id) & (first.number == 1)
    repeated = select(Event.at, Event.kind, Event.actor, first.hash).join(first, begun).where(Event.kind.in_(REPEATED))
    acts = (Act(at, EventKind(kind), actor, study) for at, kind, actor, study in session.execute(repeated))
    return Lasting(ways_in(session), left, frozenset(acts), schedule_settings(session))


def _waiting(session: Session) -> Lasting:
    stored = session.scalars(select(Setting.value).where(Setting.key == SETTING)).first()
    with suppress(ValueError):  # a backup's setting may hold anything
        return STORED.validate_json(stored or "")
    return Lasting()


def _store_waiting(session: Session, facts: Lasting, tables: Lasting, acts: frozenset[Act]) -> None:
    """Store the facts that the tables do not have; of accounts not the identity, which is often an address."""
    accounts = {
        pseudonym: (passcode, disabled_at, None)
        for pseudonym, (passcode, disabled_at, _) in facts.ways_in.accounts.items()
        if pseudonym not in tables.ways_in.accounts
    }
    left = {event: person for event, person in facts.left.items() if event not in tables.left}
    waiting = Lasting(WaysIn(facts.ways_in.ended - tables.ways_in.ended, accounts), left, acts)
    session.merge(Setting(key=SETTING, value=STORED.dump_json(waiting).decode()))
