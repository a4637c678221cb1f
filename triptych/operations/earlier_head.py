"""Checks whether a study's log still contains the last event recorded in an earlier report, export, capsule or backup.

A completely rewritten log is consistent with itself; only comparison with an earlier head reveals it.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from zipfile import ZipFile

from sqlalchemy import select
from sqlmodel import Session

from triptych.errors import Conflict, NotFound
from triptych.formats import zips
from triptych.operations import sealed
from triptych.privacy.backup_facts import path_beside
from triptych.storage import foreign_parts, host, sqlite_files
from triptych.storage.arrivals import arrivals
from triptych.storage.models import Event, JsonObject, Study

SEAL = re.compile(r"study (\S+), last event (\d+) ([0-9a-f]{64})")  # in every document of a report
HASH = re.compile(r"\b[0-9a-f]{64}\b")
DATABASES = {".db", ".sqlite"}
DUMP = ".dump"  # a backup of PostgreSQL, whose last events are in the file next to it
# members of our zip files, and files, that contain the last event
NAMING = ("snapshot.json", "codebook.json", "manifest.json")
MOST_HEADS = 10_000  # studies of a database, or last events in another file
LONGEST_VALUE = 10_000  # bytes, of those that are read of a database
MAX_STEPS = 10_000_000  # SQLite's steps for reading the studies of a database
NO_HEAD = "It does not contain a last event. Pass a report, an export, a capsule, a backup, or the hash itself."


@dataclass(frozen=True)
class EarlierHead:
    """A last event as printed in a file. `number` is None if only its hash is known.

    slug: its study's short name; None if the file does not state it.
    """

    number: int | None
    hash: str
    slug: str | None = None


@dataclass(frozen=True)
class HeadComparison:
    """Whether the log contains the event, with a sentence for the reader."""

    holds: bool
    sentence: str


def read(source: str) -> list[EarlierHead]:
    """The last events in a file; `source` may also be a hash itself.

    Raises NotFound if there is none, or several hashes of which any may be it, Conflict for a report or a capsule that
    was changed.
    """
    if HASH.fullmatch(source.strip()):
        return [EarlierHead(None, source.strip())]
    path = Path(source)
    try:
        heads = list(dict.fromkeys(islice(_in_file(path), MOST_HEADS + 1)))
    except (*sealed.UNREADABLE, sqlite3.Error) as error:
        raise NotFound(f"{source} cannot be read. {NO_HEAD}") from error
    if not heads:
        raise NotFound(f"{source}: {NO_HEAD}")
    if len(heads) > MOST_HEADS:
        raise NotFound(f"{source} names more than {MOST_HEADS:,} last events.")
    return heads


def _in_file(path: Path) -> Iterator[EarlierHead]:
    if path.suffix in DATABASES:
        if not path.is_file():
            raise FileNotFoundError(path)
        yield from _heads_in(path)
    elif path.suffix == ".zip":
        with zips.opened(path) as archive:
            _refuse_changed(path, archive)
            for _, content in sealed.contents_of(archive, NAMING):
                yield from _in_json(content)
    elif path.suffix in (".json", DUMP):
        is_dump = path.suffix == DUMP
        data = host.read_placed(path_beside(path)) if is_dump else _read(path)
        yield from _in_json(json.loads(data))
    else:
        with path.open(encoding="utf-8") as file:
            text = file.read(sealed.LARGEST_BYTES)
        seals = dict.fromkeys(SEAL.findall(text))
        hashes = set(HASH.findall(text))
        if len(seals or hashes) > 1:  # of several seals, somebody wrote one into a name or text that is printed here
            count = len(seals or hashes)
            raise NotFound(f"{path} names {count} events that may be the last one. Pass the hash of the right one.")
        yield from (EarlierHead(int(number), hashed, slug) for slug, number, hashed in seals)
        if not seals:
            yield from (EarlierHead(None, hashed) for hashed in hashes)


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(sealed.LARGEST_BYTES)  # the rest of a larger file is missing, so that it cannot be read


def _refuse_changed(path: Path, archive: ZipFile) -> None:
    changed = sealed.changed_files(archive)
    if changed:
        raise Conflict(
            f"{path} was changed after it was made: {', '.join(changed)} differs from the file's own list. Compare "
            f"with an unchanged file."
        )


def _heads_in(path: Path) -> Iterator[EarlierHead]:
    """The last event of every study in an SQLite file, which may be on a read-only disk."""
    with sqlite_files.unchanged(path) as file:
        file.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        file.set_progress_handler(lambda: 1, MAX_STEPS)
        foreign_parts.refuse_computing(file)
        for row in file.execute("SELECT slug, event_number, event_hash FROM study ORDER BY id"):
            if [type(value) for value in row] != [str, int, str]:  # SQLite stores values of any type in a column
                raise sqlite3.DataError("a last event of other types")
            slug, number, hashed = row
            yield EarlierHead(number, hashed, slug)


def _in_json(value: object, slug: str | None = None) -> Iterator[EarlierHead]:
    """Every object with the number and hash of an event; `slug` is the study of the surrounding object."""
    if isinstance(value, list):
        for part in value:
            yield from _in_json(part, slug)
    elif isinstance(value, dict):
        slug = _slug_in(value) or slug
        number, text = value.get("number"), value.get("hash")
        if isinstance(number, int) and isinstance(text, str) and HASH.fullmatch(text):
            yield EarlierHead(number, text, slug)
        for part in value.values():
            yield from _in_json(part, slug)


def _slug_in(value: JsonObject) -> str | None:
    """The study named by an object: in snapshot.json by "study", in other files by "slug", there or in "study"."""
    study = value.get("study")
    named = study.get("slug") if isinstance(study, dict) else study
    return next((name for name in (value.get("slug"), named) if isinstance(name, str)), None)


def compare(session: Session, head: EarlierHead) -> HeadComparison:
    """Look for the event in the log of its study, or of all studies if the file does not name one."""
    # selected by study, as in `events.chain`, so that rows of other studies do not count
    of_study = select(Event.number).where(Event.hash == head.hash)
    events = [
        (study.slug, number)
        for study in session.scalars(select(Study))
        for number in session.scalars(of_study.where(Event.study_id == study.id))
    ]
    slug, number = min(events, key=lambda event: event[0] != head.slug, default=(None, 0))
    if slug is not None and head.slug not in (None, slug, *_former_slugs(session, slug, number)):
        return HeadComparison(
            False,
            f"Event {number} is in the log of {slug}, but the file is of the study {head.slug}: one of "
            "the two studies took the other's name or log.",
        )
    if slug is not None and head.number in (None, number):
        return HeadComparison(
            True, f"Event {number} of {slug} is in the log as it was then.{_namesake(session, head.slug, slug)}"
        )
    whose = f" of {head.slug}" if head.slug else ""
    which = f"Event {head.number}{whose} with hash {head.hash[:12]}" if head.number else "No such hash"
    verb = "is no longer in any log" if head.number else "is in any log"
    return HeadComparison(
        False, f"{which} {verb}: the log was truncated or rewritten since, or it belongs to another database."
    )


def _namesake(session: Session, former: str | None, slug: str) -> str:
    """A sentence about the study that has the former name of an imported one, which somebody may take for that one."""
    if former in (None, slug) or session.scalars(select(Study.id).where(Study.slug == former)).first() is None:
        return ""
    return f" It was called {former} in another database; the study called {former} here is another one."


def _former_slugs(session: Session, slug: str, number: int) -> list[str]:
    """The short names of the study in other databases since the event of this number."""
    study_id = session.scalars(select(Study.id).where(Study.slug == slug)).one()
    return [arrival.slug for arrival in arrivals(session, study_id) if arrival.number > number]
