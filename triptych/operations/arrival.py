"""Imports a study from a file into a database that may contain others: completely or not at all.

All row numbers are shifted by one offset, to begin right after those in use, so the order of rows is preserved. The log
is not changed; the arrival event states how to map it (`storage.arrivals`). People are imported as pseudonyms without
an account. A pseudonym that is already taken here belongs to someone else, so the imported person gets a new one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Connection, Engine, Table, func, or_, select
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlmodel import Session

from triptych.errors import Conflict, ImportRefused, first_mistake
from triptych.operations import move, usable, verify
from triptych.people import accounts, roster
from triptych.people.names import LONGEST_NAME, tidied
from triptych.storage import events
from triptych.storage.arrivals import numbers_in
from triptych.storage.events import EventKind
from triptych.storage.models import (
    Comment,
    Event,
    Kind,
    Membership,
    Person,
    Role,
    RubricText,
    Study,
    StudyState,
)
from triptych.storage.unavailable import BUSY, DatabaseBusy, is_unavailable
from triptych.study import contents, lifecycle
from triptych.study.persons import Who

LARGEST_NUMBER = 2**30  # that an import may use; PostgreSQL counts to twice as many, and everybody's rows need some
LARGEST_SPAN = 50_000_000  # from a file's first row number to its last; rows of other studies may have been between
LONGEST_PSEUDONYM = 80
LEFT_BEHIND = ("rubric", "snapshot")  # not copied: the rubric may be here; reports can be made again
PSEUDONYM = re.compile(r"[A-Z]+(-\w+)+", re.ASCII)
IN_ITS_PLACE = re.compile(r"\w+([ -]\w+)*", re.ASCII)  # in a log: "command line" and the keys of reasons
SHORT_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
LONGEST_SHORT_NAME = 80
SHORT_WAIT, USUAL_WAIT = "SET LOCAL lock_timeout = 200", "SET LOCAL lock_timeout = DEFAULT"  # ms
MOST_TRIES = 50
NOT_AVAILABLE = "55P03"  # PostgreSQL's state of a lock that was not granted in time
NOT_PERMITTED = "42501"
FOREIGN_ROW = "The file contains a row that cannot belong to a study"
NO_RIGHTS = "The app lacks a right in the database; the owner of its tables must run docs/deploy/rights.sql again"
DEMO = "The file holds a demo study, which all leads of an installation lead and may delete. Nothing was imported."
FAR_APART = f"The file's row numbers are too far apart: more than {LARGEST_SPAN:,}. Nothing was imported."
NO_NUMBERS = (
    "The row numbers of this database are so high that an import could use up those left for the rows of others. "
    "Import the study into a new database. Nothing was imported."
)
NUMBERED = [table for table in move.TABLES if table.autoincrement_column is not None]
REMOVALS = {Role.lead: EventKind.lead_removed, Role.viewer: EventKind.viewer_removed}


@dataclass(frozen=True)
class Arrived:
    """An imported study.

    former_slug: its short name in the file; renamed: pseudonym in the file → new pseudonym. people: annotators without
    an account. paused: whether it was open. events, hash: of its last event.
    """

    slug: str
    former_slug: str
    people: int
    renamed: Mapping[str, str]
    paused: bool
    events: int
    hash: str


def arrive(session: Session, source: Engine, who: Who) -> Arrived:
    """Import the only study of a checked database. This lead leads it; its other leads are not imported.

    Raises Conflict if the study is here already, ImportRefused for rows that this database refuses, and DatabaseBusy.
    """
    try:
        with source.connect() as old:
            return _arrived(session, old, who)
    except DBAPIError as error:
        if is_unavailable(error):
            raise
        reason = str(error.orig).partition("\n")[0]
        fault = NO_RIGHTS if getattr(error.orig, "sqlstate", None) == NOT_PERMITTED else FOREIGN_ROW
        raise ImportRefused(f"{fault}: {reason}. Nothing was imported.") from error
    except usable.UNUSABLE as error:
        reason = first_mistake(error, "a value") if isinstance(error, ValidationError) else f"{error}"
        first_line = reason.partition("\n")[0].rstrip(".")
        raise ImportRefused(
            f"The file contains something that cannot belong to a study: {first_line}. Nothing was imported."
        ) from error
    finally:
        lifecycle.forget_designs()


def _arrived(session: Session, old: Connection, who: Who) -> Arrived:
    new = session.connection()
    former = dict(old.execute(select(move.STUDY)).mappings().one())
    if former["demo"]:
        raise ImportRefused(DEMO)
    text = old.execute(select(RubricText.yaml)).scalar_one()
    # before the tables are held: both wait for others who create studies, and who need the tables
    own = (*_short_name(session, former), contents.store_rubric(session, text).id)
    _hold_still(session)
    _refuse_second(session, old)
    numbers = _numbers(old, [table for table in NUMBERED if table.name not in LEFT_BEHIND])
    shift = _shift(numbers, _numbers(new, NUMBERED).stop)
    names = _renamed(session, old)
    home = _Home(numbers, shift, names, *own)
    for table in move.TABLES:
        if table.name not in LEFT_BEHIND:
            _copy(old, new, table, former["slug"], home)
    move.count_on(new)
    study = session.get_one(Study, former["id"] + shift)
    usable.refuse_unusable(session, study)
    new_values = {"slug": former["slug"], "number": former["event_number"], "hash": former["event_hash"]}
    arrival = {**new_values, "shift": shift, "renamed": names}
    events.record(session, study.id, EventKind.study_arrived, who.pseudonym, new=arrival)
    _given_to(session, study, who)
    paused = study.state == StudyState.open
    if paused:
        lifecycle.set_state(session, study, StudyState.paused, who.pseudonym)
    events.write_pending(session)
    verdict = verify.verify(session, study)
    if not verdict.holds:
        raise ImportRefused(f"The study failed verification, so nothing was imported. {verdict.sentence}")
    people = select(func.count()).where(Membership.study_id == study.id, Membership.role == Role.annotator)
    count = session.execute(people).scalar_one()
    return Arrived(study.slug, former["slug"], count, names, paused, study.event_number, study.event_hash)


def _refuse_second(session: Session, old: Connection) -> None:
    """Raises Conflict if the study is here already, which its first event shows."""
    first = old.execute(select(Event.hash).where(Event.number == 1)).scalar_one()
    here = select(Study.slug).join(Event, Event.study_id == Study.id).where(Event.number == 1, Event.hash == first)
    slug = session.scalars(here).first()
    if slug is not None:
        raise Conflict(f"This study already exists here, as {slug}. Nothing was imported.")


def _numbers(connection: Connection, tables: Iterable[Table]) -> range:
    """From the first row number of these tables to the last."""
    ends = [connection.execute(select(func.min(table.c.id), func.max(table.c.id))).one() for table in tables]
    used = [number for pair in ends for number in pair if number is not None]
    return range(max(1, min(used, default=1)), max(used, default=0) + 1)


def _shift(numbers: range, free: int) -> int:
    """What is added to the file's row numbers, so that they begin at the first free one. Raises ImportRefused."""
    shift = free - numbers.start
    if len(numbers) > LARGEST_SPAN:
        raise ImportRefused(FAR_APART)
    if numbers.stop + shift > LARGEST_NUMBER:
        raise ImportRefused(NO_NUMBERS)
    return shift


def _hold_still(session: Session) -> None:
    """Prevent others from using row numbers in the meantime; SQLite has only one writer anyway.

    The log needs no lock, and the app's role could get none (docs/deploy/rights.sql): the statement that appends to it
    also writes the study's row. A writer may wait for a table that is held already, so each try ends before PostgreSQL
    finds a deadlock and ends one of both. Raises DatabaseBusy.
    """
    new = session.connection()
    if new.dialect.name != "postgresql":
        return
    held = [table.name for table in move.TABLES if table.name != Event.__tablename__]
    names = ", ".join(map(new.dialect.identifier_preparer.quote, held))
    new.exec_driver_sql(SHORT_WAIT)
    for _ in range(MOST_TRIES):
        try:
            with session.begin_nested():  # whose savepoint begins with the session's next use of its connection
                session.connection().exec_driver_sql(" ".join(("LOCK TABLE", names, "IN SHARE ROW EXCLUSIVE MODE")))
        except OperationalError as error:
            if getattr(error.orig, "sqlstate", None) != NOT_AVAILABLE:
                raise
        else:
            new.exec_driver_sql(USUAL_WAIT)
            return
    raise DatabaseBusy(BUSY)


def _renamed(session: Session, old: Connection) -> dict[str, str]:
    """Pseudonym in the file → new pseudonym, for people whose pseudonym is taken here.

    Raises ValueError for one that this program does not make: other letters may look like those of somebody else's.
    """
    columns = Person.pseudonym, Comment.author, Event.actor, Event.subject
    named = {name for column in columns for name in old.execute(select(column).distinct()).scalars()} - {""}
    people = set(old.execute(select(Person.pseudonym)).scalars())
    for name in named:
        form = PSEUDONYM if name in people else IN_ITS_PLACE
        if not isinstance(name, str) or len(name) > LONGEST_PSEUDONYM or not form.fullmatch(name):
            raise ValueError(f"the pseudonym {name!r:.90}")
    here = set(session.scalars(select(Person.pseudonym)))
    renamed: dict[str, str] = {}
    for name in sorted(named & here):
        taken = named | here | set(renamed.values())
        renamed[name] = accounts.free_pseudonym(name.partition("-")[0][:8], taken.__contains__)
    return renamed


def _short_name(session: Session, former: Mapping[str, Any]) -> tuple[str, str]:
    """Short name and series: unchanged if both are free here, otherwise the next free ones.

    Raises ValueError for long ones, which take time by the square of their length to be freed of accents.
    """
    slug, series = former["slug"], former["series"]
    if max(len(slug), len(series)) > LONGEST_SHORT_NAME:
        raise ValueError(f"a short name of more than {LONGEST_SHORT_NAME} characters")
    free = lifecycle.free_slug(session, slug)  # which also waits for others who name a study
    taken = select(Study.id).where(or_(Study.slug.in_([slug, series]), Study.series.in_([slug, series])))
    if not SHORT_NAME.fullmatch(slug) or not SHORT_NAME.fullmatch(series) or session.scalars(taken).first() is not None:
        return free, free
    return slug, series


@dataclass(frozen=True)
class _Home:
    """How a study's rows are changed for this database."""

    numbers: range  # of the file's rows
    shift: int
    renamed: Mapping[str, str]
    slug: str
    series: str
    rubric: int

    def row(self, table: Table, row: Mapping[str, Any]) -> dict[str, object]:
        """A row of the file, changed for this database. Raises ValueError for values that a column cannot have."""
        moved = {column.name: usable.checked(column, row[column.name]) for column in table.columns}
        for name in numbers_in(table):
            if moved[name] is not None:
                moved[name] = self._grown(table, moved[name])
        for name in NAMING.get(table.name, ()):
            moved[name] = self.renamed.get(moved[name], moved[name])
        return moved | self._of_its_own(table, moved)

    def _grown(self, table: Table, number: int) -> int:
        # a smaller number could become the number of another study's row
        if number not in self.numbers:
            raise ValueError(f"a row of {table.name} with the number {number}")
        return number + self.shift

    def _of_its_own(self, table: Table, row: Mapping[str, Any]) -> dict[str, object]:
        if table.name == "person":
            name = (tidied(row["name"] or "")[:LONGEST_NAME] or None) if row["kind"] == Kind.judge else None
            return {"role": Role.annotator, "name": name, "email": None, "passcode_hash": None, "identity": None}
        if table.name != "study":
            return {}
        settings = json.loads(row["settings"])
        if groups := settings.get("annotator_groups"):
            settings["annotator_groups"] = {self.renamed.get(name, name): group for name, group in groups.items()}
        text = json.dumps(settings)
        return {"slug": self.slug, "series": self.series, "rubric_id": self.rubric, "settings": text}


# table → columns that name people by pseudonym
NAMING = {"person": ("pseudonym",), "comment": ("author",), "event": ("actor", "subject")}


def _copy(old: Connection, new: Connection, table: Table, slug: str, home: _Home) -> None:
    rows = old.execute(move.chosen(table, [slug]), execution_options={"yield_per": move.BATCH})
    insertion = move.insertion(table, new.dialect.name)
    for batch in rows.mappings().partitions():
        moved = (home.row(table, dict(row)) for row in batch)
        new.execute(insertion, [{f"_{name}": value for name, value in row.items()} for row in moved])


def _given_to(session: Session, study: Study, who: Who) -> None:
    """Remove the study's leads and viewers, and make the importing lead its lead."""
    seats = select(Membership, Person.pseudonym).join(Person, Person.id == Membership.person_id)
    seats = seats.where(Membership.study_id == study.id, Membership.role.in_(REMOVALS)).order_by(Membership.id)
    for seat, pseudonym in session.execute(seats).all():
        kind = REMOVALS[seat.role]
        session.delete(seat)
        session.flush()
        events.record(session, study.id, kind, who.pseudonym, subject=pseudonym)
    lead = session.get_one(Person, who.person_id)
    roster.enrol_lead(session, study, lead, who.pseudonym)
