"""The event log: who did what, when, with old and new values; one hash chain per study.

The events of a transaction are chained and written together just before its commit. Appending locks the study's row, so
numbers are in the order of commits, a reader that has seen number n never misses a smaller one, and writers wait for
each other only at the end of their transactions. Rows that an event carries are read under this lock.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cache

from sqlalchemy import Select, Table, bindparam, exists, select
from sqlalchemy import inspect as state_of
from sqlalchemy.orm.attributes import set_committed_value
from sqlmodel import Session

from triptych import clock
from triptych.errors import NotFound, StudyNotOpen, TriptychError
from triptych.storage import arrivals, rows, writes
from triptych.storage.models import (
    PREFIX,
    Assignment,
    Comment,
    EntryAttempt,
    Event,
    EventDetail,
    Item,
    JsonObject,
    Membership,
    Person,
    Role,
    RubricText,
    Study,
    StudyState,
    TestAnswer,
    Workbook,
)

PENDING = "triptych events"
# errors when reading a value that somebody stored in a column of another type, or in an arrival's values
UNREADABLE = (LookupError, ValueError, TypeError, AttributeError, OverflowError, RecursionError)
UNREADABLE_LOG = "The log contains a value that cannot be read."
PROGRAM = "Triptych"  # the actor of events that no person caused
CLOSED_MEANWHILE = "This study was closed a moment ago; nothing more can be stored."
DELETED_MEANWHILE = "This study was deleted a moment ago, so nothing was stored."
REMOVED_MEANWHILE = "You no longer lead this study, so nothing was stored."


class EventKind(StrEnum):
    """What happened. Logs store the values forever: members may be renamed, values never."""

    account_disabled = "account disabled"
    account_enabled = "account enabled"
    annotation_edited = "annotation edited"
    annotator_excluded = "annotator excluded"
    annotator_reinstated = "annotator reinstated"
    annotators_grouped = "annotators grouped"
    baseline = "baseline"
    check_answered_again = "check answered again"
    check_items_added = "check items added"
    commented = "commented"
    consent_asked_again = "consent asked again"
    consent_refused = "consent refused"
    consented = "consented"
    copies_deleted = "copies deleted"
    datasheet_answered = "datasheet answered"
    design_amended = "design amended"
    design_changed = "design changed"
    entry_test_failed = "entry test failed"
    entry_test_passed = "entry test passed"
    entry_test_started = "entry test started"
    entry_test_waived = "entry test waived"
    final_value_asked_for = "final value asked for"
    final_value_changed = "final value changed"
    final_value_recorded = "final value recorded"
    final_value_taken_back = "final value taken back"
    ignored = "ignored"
    imported = "imported"
    instructions_read = "instructions read"
    invited = "invited"
    joined = "joined"
    lead_added = "lead added"
    lead_removed = "lead removed"
    link_ended = "link ended"
    link_issued = "link issued"
    person_baseline = "baseline of a person"
    person_erased = "person erased"
    plan_stored = "plan stored"
    ratings_imported = "ratings imported"
    reminded = "reminded"
    reserved = "reserved"
    results_opened = "results opened"
    restored_from_backup = "restored from a backup"
    setting_changed = "setting changed"
    setting_redone = "setting redone"
    setting_undone = "setting undone"
    simulated = "simulated"
    skipped = "skipped"
    study_archived = "study archived"
    study_arrived = arrivals.KIND
    study_closed = "study closed"
    study_copied = "study copied"
    study_created = "study created"
    study_open = "study open"
    study_paused = "study paused"
    submitted = "submitted"
    surplus = "surplus"
    token_made = "token made"  # noqa: S105 (what happened, no secret)
    token_revoked = "token revoked"  # noqa: S105 (likewise)
    unblinded = "unblinded"
    viewer_added = "viewer added"
    viewer_removed = "viewer removed"
    viewers_reading_changed = "viewers' reading changed"
    withdrew = "withdrew"
    workbook_cancelled = "workbook cancelled"
    workbook_handed_in = "workbook handed in"
    workbook_made = "workbook made"


NO_VALUES = hashlib.sha256(b"[null, null]").hexdigest()  # the digest of an event without values
# an annotation came in; one was handed in, changed, or set aside
CAME_IN = (EventKind.submitted, EventKind.surplus, EventKind.imported)
HANDED_IN = (*CAME_IN, EventKind.annotation_edited, EventKind.ignored, EventKind.skipped)
DEPARTURES = (EventKind.person_erased, EventKind.withdrew)  # a person left, and texts of theirs were deleted
_PART = (Person.__table__, Membership.__table__)
_TEST = (Membership.__table__, EntryAttempt.__table__, TestAnswer.__table__)
_STATES = (Membership.__table__, Assignment.__table__)
_WORKBOOK = (Workbook.__table__, Assignment.__table__)
_EVERYTHING = (*rows.TAKING_PART, *rows.WORK)
_FINAL = (*rows.WORK, Person.__table__)  # in a demo study, a lead who is no member may give it
# Kind → tables whose rows the event carries, as they are at the commit: the rows of its assignment, or else of the
# person it is about, or else of the study. Other kinds change no row, or name the rows when recorded (`record`, rows).
CARRIED: dict[EventKind, tuple[Table, ...]] = {
    EventKind.annotator_excluded: _STATES,
    EventKind.annotator_reinstated: _STATES,
    EventKind.annotators_grouped: (Study.__table__,),
    EventKind.baseline: rows.DESIGN,
    EventKind.check_items_added: rows.DESIGN,
    EventKind.commented: (Comment.__table__,),
    EventKind.consent_asked_again: _PART,
    EventKind.consent_refused: (*_PART, Assignment.__table__),
    EventKind.consented: _PART,
    EventKind.datasheet_answered: (Study.__table__,),
    EventKind.design_amended: rows.DESIGN,
    EventKind.design_changed: rows.DESIGN,
    EventKind.entry_test_failed: _TEST,
    EventKind.entry_test_passed: _TEST,
    EventKind.entry_test_started: _TEST,
    EventKind.entry_test_waived: _PART,
    EventKind.final_value_asked_for: _FINAL,
    EventKind.final_value_changed: _FINAL,
    EventKind.final_value_recorded: _FINAL,
    EventKind.final_value_taken_back: _FINAL,
    EventKind.instructions_read: _PART,
    EventKind.invited: _PART,
    EventKind.joined: _PART,
    EventKind.lead_added: _PART,
    EventKind.lead_removed: _PART,
    EventKind.person_baseline: _EVERYTHING,
    EventKind.person_erased: _EVERYTHING,
    EventKind.plan_stored: rows.DESIGN,
    EventKind.ratings_imported: _PART,
    EventKind.setting_changed: (Study.__table__,),
    EventKind.setting_redone: (Study.__table__,),
    EventKind.setting_undone: (Study.__table__,),
    EventKind.simulated: (Assignment.__table__,),
    EventKind.study_closed: (Study.__table__,),
    EventKind.study_copied: rows.DESIGN,
    EventKind.study_arrived: (RubricText.__table__, Study.__table__),
    EventKind.study_created: (*rows.DESIGN, *_PART),
    EventKind.study_open: (Study.__table__, Item.__table__),
    EventKind.study_paused: (Study.__table__,),
    EventKind.unblinded: (Study.__table__,),
    EventKind.viewer_added: _PART,
    EventKind.viewer_removed: _PART,
    EventKind.viewers_reading_changed: (Study.__table__,),
    EventKind.withdrew: _EVERYTHING,
    EventKind.workbook_cancelled: _WORKBOOK,
    EventKind.workbook_handed_in: _WORKBOOK,
    EventKind.workbook_made: _WORKBOOK,
}


@dataclass(frozen=True)
class _Recorded:
    """An event waiting for its place in the chain; study: a reference that keeps the study's state in the session."""

    row: JsonObject
    old: JsonObject | None
    new: JsonObject | None
    rows: JsonObject
    study: Study | None

    @property
    def scope(self) -> tuple[int | None, str]:
        """The scope of its rows: an assignment, or else a person, or else the whole study."""
        assignment_id = self.row["assignment_id"]
        return assignment_id, "" if assignment_id else self.row["subject"]


def record(
    session: Session,
    study_id: int,
    kind: EventKind,
    actor: str,
    *,
    assignment_id: int | None = None,
    subject: str = "",
    old: JsonObject | None = None,
    new: JsonObject | None = None,
    rows: JsonObject | None = None,
    at: datetime | None = None,
) -> None:
    """Records one event; it gets its place in the study's chain just before the caller's transaction commits.

    rows: table name → rows that the command writes, packed. The rows of kinds in CARRIED are read at the commit; `rows`
    then adds more, of tables that `operations/fold.py` knows for this kind. at: now, if not given.
    """
    row = {
        "study_id": study_id,
        "at": at or clock.now(),
        "actor": actor,
        "kind": kind,
        "assignment_id": assignment_id,
        "subject": subject,
    }
    # without this reference, the identity map would forget the study and that it was open
    study = session.identity_map.get(session.identity_key(Study, study_id))
    session.info.setdefault(PENDING, {}).setdefault(study_id, []).append(_Recorded(row, old, new, rows or {}, study))


def record_baseline(session: Session, study_id: int) -> None:
    """Record every current row, because an older version's log may lack some.

    One event for the design and one per participant, so that its values can be deleted with the person.
    """
    record(session, study_id, EventKind.baseline, PROGRAM)
    for pseudonym in sorted(rows.pseudonyms(session.connection(), rows.of_study(study_id)).values()):
        record(session, study_id, EventKind.person_baseline, PROGRAM, subject=pseudonym)


def write_pending(session: Session) -> None:
    """Chains and writes what the transaction has recorded so far.

    Raises StudyNotOpen if the study was closed since, NotFound if it acts for a lead who was removed since.
    """
    for study_id, recorded in sorted(session.info.pop(PENDING, {}).items()):
        session.flush()
        if any(event.row["kind"] in CARRIED for event in recorded):
            # what others log before this is in the rows that it carries: they may have handed over an assignment
            session.connection().execute(_head_query(), {"study": study_id})
        _append(session, study_id, recorded, _rows_of(session, study_id, recorded))


def _rows_of(session: Session, study_id: int, recorded: Sequence[_Recorded]) -> list[str | None]:
    """The rows that each event carries, as JSON; if several events are about the same rows, the last carries them."""
    texts: list[str | None] = []
    carried_later: set[tuple[object, ...]] = set()
    for event in reversed(recorded):
        tables = [t for t in CARRIED.get(event.row["kind"], ()) if (event.scope, t.name) not in carried_later]
        carried_later |= {(event.scope, table.name) for table in tables}
        parts = event.rows | _read(session, study_id, event, tables) if tables else event.rows
        # without the salt, values with few possibilities could be guessed from the digest, which exports contain
        texts.append(json.dumps({"salt": secrets.token_hex(8), **parts}) if parts else None)
    return texts[::-1]


def _read(session: Session, study_id: int, event: _Recorded, tables: Sequence[Table]) -> JsonObject:
    assignment_id, pseudonym = event.scope
    if assignment_id is not None:
        roots = rows.of_assignment(assignment_id)
    elif pseudonym:
        roots = rows.of_person(study_id, pseudonym)
    else:
        roots = rows.of_study(study_id)
    return rows.read(session.connection(), tables, roots)


def _append(session: Session, study_id: int, recorded: Sequence[_Recorded], carried: Sequence[str | None]) -> None:
    # salts and digests first: the study's row is locked to the commit, at the latest from here, and other writers wait
    salts = [secrets.token_hex(16) for _ in recorded]
    digests = [
        digest(salt, event.old, event.new, texts) for salt, event, texts in zip(salts, recorded, carried, strict=True)
    ]
    # the lock on the end of the chain does not block inserts of rows that point at the study
    head = session.connection().execute(_head_query(), {"study": study_id}).one()
    study = session.identity_map.get(session.identity_key(Study, study_id))
    if study is not None and head.state == StudyState.closed != study.state and not state_of(study).modified:
        raise StudyNotOpen(CLOSED_MEANWHILE)
    _refuse_removed_leads(session, study_id, recorded)
    number, previous = head.event_number, head.event_hash
    chained = []
    for event, values_digest in zip(recorded, digests, strict=True):
        number += 1
        row = event.row | {"number": number, "digest": values_digest, "previous_hash": previous}
        row["hash"] = previous = chain_hash(row)
        chained.append(row)
    details = [
        None if row["digest"] == NO_VALUES else {"salt": salt, "old": event.old, "new": event.new, "rows": texts}
        for row, salt, event, texts in zip(chained, salts, recorded, carried, strict=True)
    ]
    writes.add_events(session, study_id, chained, details)
    if study is not None:
        # stored by the statement above: the object mapper must not write the row again
        set_committed_value(study, "event_number", number)
        set_committed_value(study, "event_hash", previous)


def _refuse_removed_leads(session: Session, study_id: int, recorded: Sequence[_Recorded]) -> None:
    """Raises NotFound if a lead acted who is not in the study; every lead acts in a demo study.

    A removal locks the study's row first, so that here it has been committed or waits for this transaction. Somebody
    who became a lead after a backup may restore it, and acts are repeated with it of those who were removed since.
    """
    if any(event.row["kind"] == EventKind.restored_from_backup for event in recorded):
        return
    removed_now = {event.row["subject"] for event in recorded if event.row["kind"] == EventKind.lead_removed}
    actors = {event.row["actor"] for event in recorded} - removed_now
    leads = [actor for actor in actors if actor.startswith(f"{PREFIX[Role.lead]}-")]
    if not leads:
        return  # no query for annotators' commands
    has_part = exists().where(Membership.study_id == study_id, Membership.person_id == Person.id)
    in_demo = exists().where(Study.id == study_id, Study.demo)
    strangers = select(Person.id).where(Person.pseudonym.in_(leads), Person.role == Role.lead, ~has_part, ~in_demo)
    if session.scalars(strangers).first() is not None:
        raise NotFound(REMOVED_MEANWHILE)


@cache
def _head_query() -> Select[int, str, StudyState]:
    head = select(Study.event_number, Study.event_hash, Study.state).where(Study.id == bindparam("study"))
    return head.with_for_update(key_share=True)


def locked_study(session: Session, study_id: int) -> Study:
    """The study's row, locked until the transaction ends: nobody else changes the study or appends to its chain.

    A command that also locks memberships, items or assignments locks those first, in this order, as annotators' own
    commands do, which lock the study at their end; another order could deadlock. A write transaction on SQLite has
    locked the whole database already. Raises NotFound for a study that another lead deleted meanwhile.
    """
    query = select(Study).where(Study.id == study_id).with_for_update(key_share=True)
    study = session.scalars(query.execution_options(populate_existing=True)).one_or_none()
    if study is None:
        raise NotFound(DELETED_MEANWHILE)
    return study


def digest(salt: str, old: object, new: object, carried: str | None = None) -> str:
    """Salted digest of the values and rows, which may be erased later; a fixed digest if there are none."""
    if old is None and new is None and carried is None:
        return NO_VALUES
    text = json.dumps([old, new], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(f"{salt}{text}{rows_digest(carried) or ''}".encode()).hexdigest()


def rows_digest(carried: str | None) -> str | None:
    """SHA-256 of the rows that an event carries."""
    return None if carried is None else hashlib.sha256(carried.encode()).hexdigest()


def chain_hash(row: JsonObject) -> str:
    """Hash of one event over its own fields and the hash before it."""
    names = ("study_id", "number", "actor", "kind", "assignment_id", "subject", "digest", "previous_hash")
    parts = [row["at"].isoformat(), *(str(row[name]) for name in names)]
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()


def last_number(session: Session, study_id: int) -> int:
    """The number of the study's last event, including events recorded in this transaction."""
    write_pending(session)
    return session.execute(select(Study.event_number).where(Study.id == study_id)).scalar_one()


def since(session: Session, study_id: int, number: int) -> list[Event]:
    """The events after a number, in order."""
    write_pending(session)
    later = select(Event).where(Event.study_id == study_id, Event.number > number).order_by(Event.number)
    return list(session.scalars(later))


@dataclass(frozen=True)
class Logged:
    """An event with its values; rows: JSON. Values and rows have the numbers and pseudonyms of their origin."""

    number: int
    at: datetime
    actor: str
    kind: str
    assignment_id: int | None
    subject: str
    hash: str
    new: JsonObject
    rows: str | None
    has_values: bool
    says_none: bool
    origin: arrivals.FormerNumbers


def chain(session: Session, study_id: int) -> Iterator[Logged]:
    """The log in order, each event checked against the previous one. Raises BrokenChain at the first that fails.

    Events recorded in the current transaction are chained first.
    """
    write_pending(session)
    try:
        yield from _checked(session, study_id)
    except UNREADABLE as error:
        raise BrokenChain(UNREADABLE_LOG) from error


def _checked(session: Session, study_id: int) -> Iterator[Logged]:
    journey = arrivals.arrivals(session, study_id)
    event, detail = Event.__table__.c, EventDetail.__table__.c
    query = (
        select(*event, detail.salt, detail.old, detail.new, detail.rows)
        .select_from(Event.__table__.outerjoin(EventDetail.__table__))
        .where(event.study_id == study_id)
        .order_by(event.number)
        .execution_options(yield_per=1000)
    )
    previous, number, before = "", 0, arrivals.origin(journey, 0)
    turning_points = {arrival.number for arrival in journey}
    rows_in_order = session.connection().execute(query)
    names = list(rows_in_order.keys())
    for values in rows_in_order:
        row = dict(zip(names, values, strict=True))
        number += 1
        before = arrivals.origin(journey, number) if number in turning_points else before
        has_values = row["salt"] is not None
        if row["number"] != number or row["previous_hash"] != previous:
            raise BrokenChain(f"Event {number} is missing or was replaced.")
        changed = has_values and (
            row["digest"] == NO_VALUES or digest(row["salt"], row["old"], row["new"], row["rows"]) != row["digest"]
        )
        if changed or chain_hash(before.as_logged(row) if journey else row) != row["hash"]:
            raise BrokenChain(f"Event {number} was changed.")
        previous = row["hash"]
        about = {
            name: row[name] for name in ("number", "at", "actor", "kind", "assignment_id", "subject", "hash", "rows")
        }
        says_none = row["digest"] == NO_VALUES
        yield Logged(**about, new=row["new"] or {}, has_values=has_values, says_none=says_none, origin=before)
    head = select(Study.event_number, Study.event_hash).where(Study.id == study_id)
    if tuple(session.connection().execute(head).one()) != (number, previous):
        raise BrokenChain(f"Events after {number} are missing.")


class BrokenChain(TriptychError):
    """The event log was changed outside the app."""


def first_broken(session: Session, study_id: int) -> str | None:
    """A sentence about the first event that was changed or removed; None if the chain holds."""
    try:
        for _ in chain(session, study_id):
            pass
    except BrokenChain as broken:
        return str(broken)
    return None
