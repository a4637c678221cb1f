"""Erases a person: identifiers, logins and free text are deleted from every table and from the log.

They withdraw from every study, so ratings are kept or deleted as the consent promised (see `withdrawal`). Files made
before somebody was erased or withdrew (backups, capsules, reports) are found, listed and deleted on request.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from glob import escape
from pathlib import Path
from zipfile import BadZipFile

from sqlalchemy import Engine, delete, func, select
from sqlmodel import Session

from triptych import clock, settings
from triptych.errors import Conflict, NotAllowed
from triptych.formats import zips
from triptych.formats.zips import DAMAGED
from triptych.people import roster
from triptych.privacy import backup_facts, scrub, withdrawal
from triptych.privacy.backup_facts import BackupFacts
from triptych.storage import arrivals, database, events, foreign_parts, sqlite_files, traces, wiping, working
from triptych.storage.arrivals import StudyArrival
from triptych.storage.events import DEPARTURES, EventKind
from triptych.storage.models import (
    Assignment,
    Base,
    Event,
    EventDetail,
    Membership,
    PanelIdentity,
    Person,
    Snapshot,
    Study,
)
from triptych.storage.sqlite_files import COMPANIONS, JOURNALS, companion, identity, journals
from triptych.storage.wiping import Wiped
from triptych.study import annotator_groups, lifecycle
from triptych.study.persons import Certainty, Who

# large, and without a row that an erasure changes or deletes, except numbers of places taken
UNWIPED_TABLES = {"rubric", "criterion", "option", "item", "turn", "system", "candidate", "reference", "event"}
WIPED_TABLES = tuple(name for name in Base.metadata.tables if name not in UNWIPED_TABLES)
MAX_TEXTS, MAX_DATABASES = 2**28, 2**31  # bytes that an archive may take to search
DATABASES, ARCHIVES = {".db", ".sqlite"}, {".zip"}
OPAQUE = {".dump", ".sql", ".backup", ".bak", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".zst", ".7z"}
PACKED = {*ARCHIVES, *OPAQUE, ".parquet", ".xlsx"}
FOR_ADMINISTRATOR = "in the data folder, with studies that you do not lead: ask the administrator to delete it"
PASSED_ON = "passed on: ask the recipient to replace it"


def erase(session: Session, study: Study, pseudonym: str, certainty: Certainty) -> int:
    """Erase an annotator of the study; returns the number of studies that they took part in.

    They withdraw from each study, and their name, ids, logins and free texts are deleted. Call `wipe` afterwards,
    outside the transaction. Raises NotFound, Conflict if they were erased before, and NotAllowed for a lead or for
    somebody who takes part in a study that this lead does not lead.
    """
    who = certainty.who
    _, person = roster.find(session, study, pseudonym)
    if roster.is_erased(session, study, pseudonym):
        raise Conflict(f"{pseudonym} was already erased.")
    roster.refuse_if_shared(session, study, person, who.pseudonym)
    parts = select(Study, Membership.withdrawn_at).join(Membership, Membership.study_id == Study.id)
    studies = session.execute(parts.where(Membership.person_id == person.id).order_by(Study.id)).all()
    for part, withdrawn_at in studies:
        if withdrawn_at is None:
            withdrawal.withdraw(session, part, pseudonym, who.pseudonym)
        else:
            scrub.forget_words(session, part, person)  # comments that leads wrote after a withdrawal
        annotator_groups.forget(session, part, pseudonym, who.pseudonym)
        events.record(session, part.id, EventKind.person_erased, who.pseudonym, subject=pseudonym)
    scrub.forget_identity(session, person)
    session.execute(delete(PanelIdentity).where(PanelIdentity.person_id == person.id))
    person.disabled_at = person.disabled_at or clock.now()
    session.flush()
    return len(studies)


def annotations_of(session: Session, study: Study, pseudonym: str) -> int:
    """The number of annotations that this person has submitted in the study."""
    query = select(func.count(Assignment.id)).join(Person, Person.id == Assignment.person_id)
    own = (Assignment.study_id == study.id) & (Person.pseudonym == pseudonym) & Assignment.submitted_at.is_not(None)
    return session.execute(query.where(own)).scalar_one()


def wipe(engine: Engine) -> Wiped:
    """Leave no byte of what was erased in the database's files, as far as `wiping.wipe_with_pauses` can.

    Raises DatabaseUnavailable.
    Traces of errors, which may quote people, are deleted too, and copies that a killed process left.
    """
    traces.clear()
    working.delete_abandoned()
    return wiping.wipe_with_pauses(engine, WIPED_TABLES)


# Earlier copies


@dataclass(frozen=True)
class Copy:
    """A file, or a stored report (by its hash), that still contains people who have left.

    Neither path nor hash: it cannot be deleted here, as an archive that was published.
    """

    name: str
    made_at: datetime
    holds: tuple[str, ...]
    place: str
    path: Path | None = None
    sha256: str | None = None


def copies(session: Session, study: Study, who: Who) -> list[Copy]:
    """Backups, capsules, reports and archives that contain somebody who withdrew or was erased, newest first.

    Files also hold the work of other studies, so only a lead of them all gets their paths and may delete them.
    """
    left = _left(session, study)
    if not left:
        return []
    in_files = _files_holding(settings.local_folder(), study.slug, left, _people_here(session, study))
    if not roster.leads_everything(session, who.person_id):
        in_files = (replace(copy, place=FOR_ADMINISTRATOR, path=None) for copy in in_files)
    holding = [*in_files, *_reports(session, study, left), *_archives(session, study, left)]
    return sorted(holding, key=lambda copy: copy.made_at, reverse=True)


def _left(session: Session, study: Study) -> dict[str, Event]:
    """Everybody who was erased or withdrew → their last such event."""
    query = select(Event).where(Event.study_id == study.id, Event.kind.in_(DEPARTURES)).order_by(Event.number)
    return {event.subject: event for event in session.scalars(query) if event.subject}


@dataclass(frozen=True)
class _PeopleHere:
    """What is known here about people of a study who are in a file.

    nameless: who has no name any more; journey: of an imported study, for their pseudonyms in files from before;
    numbers: hash of each of its events → number.
    """

    nameless: Collection[str]
    journey: Sequence[StudyArrival]
    numbers: Mapping[str, int]

    def in_file(self, hashes: Collection[str]) -> Mapping[str, str]:
        """Pseudonym now → the one in a file with events of these hashes, where they differ."""
        last = max((number for event, number in self.numbers.items() if event in hashes), default=None)
        return {} if last is None else arrivals.origin(self.journey, last).former


def _people_here(session: Session, study: Study) -> _PeopleHere:
    parts = select(Person.pseudonym).join(Membership, Membership.person_id == Person.id)
    nameless = set(session.scalars(parts.where(Membership.study_id == study.id, Person.name.is_(None))))
    journey = arrivals.arrivals(session, study.id)
    if not journey:
        return _PeopleHere(nameless, (), {})
    hashes = session.execute(select(Event.hash, Event.number).where(Event.study_id == study.id))
    return _PeopleHere(nameless, journey, dict(map(tuple, hashes)))


def _files_holding(home: Path, slug: str, left: Mapping[str, Event], here: _PeopleHere) -> Iterator[Copy]:
    in_use = database.sqlite_path(settings.database_url())
    # the database may be in another folder, with copies that were made before updates next to it
    files = {*home.glob("*"), *home.glob("backups/**/*"), *in_use.parent.glob(f"{escape(in_use.stem)}-before-*.db*")}
    # closing one of these, even by another name, ends all of SQLite's locks in this process
    own = {identity(companion(in_use, ending)) for ending in ("", *COMPANIONS)}
    copied = (path for path in files if path.is_file() and identity(path) not in own)
    for path in sorted(path for path in copied if _is_database(path) or _is_unreadable(path) or _is_archive(path)):
        backup = _backup(path)
        before = [pseudonym for pseudonym, event in left.items() if _precedes(backup, slug, event)]
        holds = tuple(_held(path, left, before, here))
        if holds:
            yield Copy(path.name, backup.made_at, holds, str(path), path=path)


def _precedes(backup: BackupFacts, slug: str, event: Event) -> bool:
    """Whether it does not have a study's event: an event's time is earlier than its commit, its number is exact."""
    return backup.made_at < event.at or any(head.slug == slug and head.number < event.number for head in backup.studies)


def _backup(path: Path) -> BackupFacts:
    """When the file was last written; for a backup, when it was begun, since it shows the state of that moment."""
    made_at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    with suppress(OSError, ValueError, OverflowError):  # the file next to it may hold anything
        beside = backup_facts.read(path)
        return replace(beside, made_at=min(made_at, beside.made_at.astimezone(UTC)))
    return BackupFacts(made_at)


def _held(path: Path, left: Mapping[str, Event], before: Sequence[str], here: _PeopleHere) -> Iterable[str]:
    """People who have left but are in the file; if it cannot be read, those who left after it was made."""
    try:
        if _is_database(path):
            unread = before if any(map(Path.exists, journals(path))) else ()
            return sorted({*_in_database(path, left, here), *unread})
        if _is_archive(path):
            return _in_archive(path, left, before, here)
    except (sqlite3.Error, *DAMAGED, RuntimeError):  # RuntimeError: it has a password
        return before
    return before


def _is_unreadable(path: Path) -> bool:
    return path.suffix.casefold() in OPAQUE or path.name.endswith(JOURNALS)


def _is_archive(path: Path) -> bool:
    return path.suffix.casefold() in ARCHIVES


def _is_database(path: Path) -> bool:
    """Whether a file has the name or the first bytes of an SQLite database."""
    if path.suffix.casefold() in DATABASES:
        return True
    with suppress(OSError), path.open("rb") as file:
        return file.read(len(sqlite_files.SIGNATURE)) == sqlite_files.SIGNATURE
    return False


def _in_database(path: Path, left: Mapping[str, Event], here: _PeopleHere) -> list[str]:
    """People in the file who left after it was made, or whose name was deleted later, with their last study."""
    with sqlite_files.unchanged(path) as file:
        foreign_parts.refuse_computing(file)
        named = dict(file.execute("SELECT pseudonym, name IS NOT NULL FROM person").fetchall())
        hashes = {row[0] for row in file.execute("SELECT hash FROM event")}
    in_file = here.in_file(hashes)
    people = {pseudonym: in_file.get(pseudonym, pseudonym) for pseudonym in left}
    return [
        pseudonym
        for pseudonym, name in people.items()
        if name in named and (left[pseudonym].hash not in hashes or (named[name] and pseudonym in here.nameless))
    ]


def _in_archive(path: Path, left: Mapping[str, Event], before: Sequence[str], here: _PeopleHere) -> Sequence[str]:
    """People who have left but are in the archive's database; without one, whose pseudonym is in one of its files.

    Also those who left after it was made, if it holds files that are packed themselves and so cannot be searched.
    """
    with zips.opened(path) as archive:
        names = list(dict.fromkeys(archive.namelist()))
        is_unread = any(Path(name).suffix.casefold() in PACKED or name.endswith(JOURNALS) for name in names)
        unsearched = before if is_unread else ()
        inner = [name for name in names if Path(name).suffix.casefold() in DATABASES]
        if sum(entry.file_size for entry in archive.infolist()) > (MAX_DATABASES if inner else MAX_TEXTS):
            raise BadZipFile("it would fill the memory or the disk")
        if not inner:
            texts = [zips.read(archive, name) for name in names]
            named = {pseudonym for pseudonym in left if any(pseudonym.encode() in text for text in texts)}
            return sorted({*named, *unsearched})
        with working.folder() as folder:
            unpacked = [Path(archive.extract(name, folder)) for name in inner]
            named = {pseudonym for file in unpacked for pseudonym in _in_database(file, left, here)}
            return sorted({*named, *unsearched})


def _reports(session: Session, study: Study, left: Mapping[str, Event]) -> Iterator[Copy]:
    """Reports made before somebody left, which contain that person's data."""
    columns = select(Snapshot.sha256, Snapshot.made_at, Snapshot.event_number).where(Snapshot.study_id == study.id)
    for sha256, made_at, number in session.execute(columns):
        holds = tuple(pseudonym for pseudonym, event in left.items() if event.number > number)
        if holds:
            yield Copy(f"report {sha256[:12]}", made_at, holds, "in the database", sha256=sha256)


def _archives(session: Session, study: Study, left: Mapping[str, Event]) -> Iterator[Copy]:
    """Archives made before somebody left; their results include everybody, whatever was agreed to."""
    made = select(Event.number, Event.at, EventDetail.new).join(EventDetail, EventDetail.event_id == Event.id)
    of_study = made.where(Event.study_id == study.id, Event.kind == EventKind.study_archived).order_by(Event.number)
    for number, at, new in session.execute(of_study):
        holds = tuple(pseudonym for pseudonym, event in left.items() if event.number > number)
        if holds:
            yield Copy(f"archive {new['folder']} {new['sha256'][:12]}", at, holds, PASSED_ON)


def delete_copies(
    session: Session, study: Study, certainty: Certainty, seen: Collection[Copy], with_reports: bool = False
) -> int:
    """Delete those of `copies` that the lead has seen, and on request the reports; returns how many were deleted.

    Call `wipe` afterwards if reports were deleted. Raises NotAllowed if a file cannot be deleted; none is then.
    """
    study = lifecycle.lock(session, study.id)
    found = [copy for copy in copies(session, study, certainty.who) if copy in seen]
    chosen = [copy for copy in found if copy.path is not None or (with_reports and copy.sha256 is not None)]
    paths = [copy.path for copy in chosen if copy.path is not None]
    for path in paths:
        _refuse_undeletable(path)
    frozen = Snapshot.sha256.in_(copy.sha256 for copy in chosen)
    session.execute(delete(Snapshot).where(Snapshot.study_id == study.id, frozen))
    if with_reports:
        wiping.note_due_wipe(session)
    if chosen:
        new = {"copies": [copy.name for copy in chosen]}
        events.record(session, study.id, EventKind.copies_deleted, certainty.who.pseudonym, new=new)
    for path in paths:
        _delete(path)
    return len(chosen)


def _refuse_undeletable(path: Path) -> None:
    if path.is_symlink():
        raise NotAllowed(f"{path} is a link to {path.resolve()}. Delete both by hand.")
    if not os.access(path.parent, os.W_OK):
        raise NotAllowed(f"{path} could not be deleted: its folder cannot be written. Delete it by hand.")


def _delete(path: Path) -> None:
    try:
        for part in (path, *journals(path)):
            part.unlink(missing_ok=True)
    except OSError as error:
        raise NotAllowed(f"{path} could not be deleted: {error.strerror}. Delete it by hand.") from error
