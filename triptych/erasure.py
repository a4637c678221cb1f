"""Erasing a person: identifiers, logins and free text go from every table and from the log; nothing of them is left.

Ratings stay or go as the consent promised (see `withdrawal`). The event chain still holds: it covers digests of old and
new values, not the values. Files made earlier (backups, capsules, reports) are found, listed and deleted on request.
"""

from __future__ import annotations

import re
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from sqlalchemy import Engine, delete, or_, select, update
from sqlmodel import Session

from triptych import clock, database, events, passcodes, people, roster, settings, studies, withdrawal
from triptych.database import Wiped
from triptych.errors import Conflict, NotAllowed
from triptych.models import (
    Assignment,
    AssignmentState,
    Event,
    EventDetail,
    Explanation,
    Highlight,
    Invitation,
    Login,
    Membership,
    PanelIdentity,
    Person,
    Purpose,
    Rating,
    Snapshot,
    Study,
    Ticket,
)
from triptych.people import CONSENTED, Who
from triptych.roster import ERASED
from triptych.rubric import Rubric

WRITTEN_ANEW = ("person", "panel_identity", "login", "invitation", "membership", "assignment", "submission")
WRITTEN_ANEW += ("rating", "explanation", "highlight", "event_detail", "snapshot", "failed_sign_in")
ABOUT_HER = (CONSENTED, withdrawal.WITHDRAWN)  # their values hold no text of anybody's
TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.+]+")
DATABASES, ARCHIVES, OPAQUE = {".db", ".sqlite"}, {".zip"}, {".dump", ".sql", ".gz", ".tar"}


def erase(session: Session, study: Study, pseudonym: str, who: Who) -> int:
    """Erases an annotator of the study; returns in how many studies.

    She withdraws from all of hers, then name, ids, logins and free texts go. Follow it with `wipe`, outside of the
    transaction. Raises NotFound, Conflict if it was done before, and NotAllowed for a lead and for somebody who also
    takes part in a study that this lead does not lead.
    """
    _, person = roster.find(session, study, pseudonym)
    if roster.is_erased(session, study, pseudonym):
        raise Conflict(f"{pseudonym} was erased already.")
    roster.refuse_if_shared(session, person, who)
    parts = select(Study, Membership.withdrawn_at).join(Membership, Membership.study_id == Study.id)
    hers = session.execute(parts.where(Membership.person_id == person.id).order_by(Study.id)).all()
    for part, withdrawn_at in hers:
        if withdrawn_at is None:
            withdrawal.withdraw(session, part, pseudonym, who.pseudonym)
        _forget_what_was_logged(session, part, person)
        passcodes.forget_failures(session, f"study {part.id}:{people.folded(person.name)}")
        events.record(session, part.id, ERASED, who.pseudonym, subject=pseudonym)
    _forget_texts(session, person)
    _forget_identity(session, person)
    return len(hers)


def _forget_identity(session: Session, person: Person) -> None:
    for table in (PanelIdentity, Login, Ticket, Invitation):
        session.execute(delete(table).where(table.person_id == person.id))
    session.execute(update(Membership).where(Membership.person_id == person.id).values(excluded_reason=None))
    person.name = person.email = person.passcode_hash = None
    person.disabled_at = person.disabled_at or clock.now()
    session.flush()


def _forget_texts(session: Session, person: Person) -> None:
    """Explanations, notes, comments and drafts; ready-made reasons are the rubric's words and stay."""
    hers = select(Assignment.id).where(Assignment.person_id == person.id)
    ratings = select(Rating.id).where(Rating.assignment_id.in_(hers))
    for statement in (
        update(Assignment).where(Assignment.person_id == person.id).values(draft=None, note=None),
        update(Explanation).where(Explanation.rating_id.in_(ratings)).values(text="", words=0),
        update(Highlight).where(Highlight.assignment_id.in_(hers)).values(comment=""),
    ):
        session.execute(statement.execution_options(synchronize_session=False))


def _forget_what_was_logged(session: Session, study: Study, person: Person) -> None:
    """Deletes the values of her events that hold more than the rubric's own words, and what leads wrote about her."""
    hers = select(Assignment.id).where(Assignment.study_id == study.id, Assignment.person_id == person.id)
    wanted = (
        select(EventDetail, Event.kind, Event.assignment_id)
        .join(Event, Event.id == EventDetail.event_id)
        .where(Event.study_id == study.id)
        .where(or_(Event.assignment_id.in_(hers), Event.subject == person.pseudonym, Event.actor == person.pseudonym))
    )
    known = _words_of(studies.design_of(session, study).rubric)
    told = [
        detail.event_id
        for detail, kind, assignment in session.execute(wanted)
        if kind not in ABOUT_HER and (assignment is None or _tells_more(known, [detail.old, detail.new]))
    ]
    gone = delete(EventDetail).where(EventDetail.event_id.in_(told))
    session.execute(gone.execution_options(synchronize_session=False))


def _words_of(rubric: Rubric) -> frozenset[str]:
    """Every text that a rubric or the program gives, and no annotator."""
    found = set(_texts(rubric.model_dump(mode="json")))
    return frozenset({*found, *AssignmentState, *Purpose, ""})


def _tells_more(known: frozenset[str], values: Any) -> bool:
    return any(text not in known and not TIME.fullmatch(text) for text in _texts(values))


def _texts(value: Any) -> Iterator[str]:
    """The texts in a value of JSON; names of fields are ours."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def wipe(engine: Engine) -> Wiped:
    """Leaves no byte of what was erased in the database's files, as far as `database.wipe` can. Raises DatabaseAway."""
    return database.wipe(engine, WRITTEN_ANEW)


# Copies made earlier


@dataclass(frozen=True)
class Copy:
    """A file, or a report kept in the database (no path), that still holds people who were erased since."""

    name: str
    path: Path | None
    made_at: datetime
    holds: tuple[str, ...]


def copies(session: Session, study: Study) -> list[Copy]:
    """Backups, capsules and reports that still hold somebody who was erased from this study, newest first."""
    erased = _erased(session, study)
    if not erased:
        return []
    found = [*_files_holding(settings.local_folder(), erased), *_reports(session, study)]
    return sorted(found, key=lambda copy: copy.made_at, reverse=True)


def _erased(session: Session, study: Study) -> dict[str, datetime]:
    wanted = select(Event.subject, Event.at).where(Event.study_id == study.id, Event.kind == ERASED)
    return dict(map(tuple, session.execute(wanted)))


def _files_holding(home: Path, erased: dict[str, datetime]) -> Iterator[Copy]:
    in_use = database.sqlite_path(settings.database_url()).name
    known = DATABASES | ARCHIVES | OPAQUE
    files = [path for path in home.glob("*") if path.name != in_use] + list(home.glob("backups/**/*"))
    for path in sorted(path for path in files if path.suffix in known and path.is_file()):
        made_at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        before = [pseudonym for pseudonym, at in erased.items() if made_at < at]
        holds = tuple(_held(path, list(erased), before))
        if holds:
            yield Copy(path.name, path, made_at, holds)


def _held(path: Path, erased: Sequence[str], before: Sequence[str]) -> Iterable[str]:
    """Who of the erased is still in the file; where nobody can look inside, those who were erased after it was made."""
    try:
        if path.suffix in DATABASES:
            return _in_database(path, erased)
        if path.suffix in ARCHIVES:
            return _in_archive(path, erased)
    except (sqlite3.Error, BadZipFile, OSError):
        return before
    return before


def _in_database(path: Path, erased: Sequence[str]) -> list[str]:
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as file:
        people_in_it = {row[0] for row in file.execute("SELECT pseudonym FROM person")}
        since = {row[0] for row in file.execute("SELECT subject FROM event WHERE kind = ?", (ERASED,))}
    return [pseudonym for pseudonym in erased if pseudonym in people_in_it - since]


def _in_archive(path: Path, erased: Sequence[str]) -> list[str]:
    """A capsule holds a database; of any other archive each text is searched."""
    with ZipFile(path) as archive:
        names = archive.namelist()
        inner = [name for name in names if Path(name).suffix in DATABASES]
        if not inner:
            texts = [archive.read(name) for name in names]
            return [pseudonym for pseudonym in erased if any(pseudonym.encode() in text for text in texts)]
        with tempfile.TemporaryDirectory() as folder:
            unpacked = [Path(archive.extract(name, folder)) for name in inner]
            return sorted({pseudonym for one in unpacked for pseudonym in _in_database(one, erased)})


def _reports(session: Session, study: Study) -> Iterator[Copy]:
    """Reports frozen before somebody was erased: their data hold her texts."""
    gone = select(Event.subject, Event.number).where(Event.study_id == study.id, Event.kind == ERASED)
    erased = session.execute(gone).all()
    columns = select(Snapshot.sha256, Snapshot.made_at, Snapshot.event_number).where(Snapshot.study_id == study.id)
    for sha256, made_at, number in session.execute(columns):
        holds = tuple(row.subject for row in erased if row.number > number)
        if holds:
            yield Copy(f"report {sha256[:12]}", None, made_at, holds)


def delete_copies(session: Session, study: Study, actor: str, with_reports: bool = False) -> int:
    """Deletes the files that `copies` finds, and the reports if asked to; returns how many copies are gone.

    Follow it with `wipe` where reports were deleted. Raises NotAllowed if a file cannot be deleted.
    """
    study = studies.lock(session, study.id)
    chosen = [copy for copy in copies(session, study) if copy.path is not None or with_reports]
    frozen = {copy.name.removeprefix("report ") for copy in chosen if copy.path is None}
    for sha256 in session.scalars(select(Snapshot.sha256).where(Snapshot.study_id == study.id)).all():
        if sha256[:12] in frozen:
            session.execute(delete(Snapshot).where(Snapshot.study_id == study.id, Snapshot.sha256 == sha256))
    for copy in chosen:
        if copy.path is not None:
            _delete(copy.path)
    if chosen:
        new = {"copies": [copy.name for copy in chosen]}
        events.record(session, study.id, "copies deleted", actor, new=new)
    return len(chosen)


def _delete(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise NotAllowed(f"{path} could not be deleted: {error.strerror}. Delete it by hand.") from error
