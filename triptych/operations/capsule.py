"""A capsule: a study in one file, with its own database, original row numbers, rubric, codebook and hashes.

It contains pseudonyms and the names of systems and judges (models), but no people's names, addresses or passcodes, and
no reports. The lead who imports it leads the study (`arrival`).
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Engine, case, delete, func, inspect, select, update
from sqlalchemy.exc import SQLAlchemyError

from triptych import clock, settings
from triptych.errors import ImportRefused, NotAllowed, UnsafeDatabase
from triptych.formats import zips
from triptych.formats.model import MAX_UPLOAD
from triptych.formats.writers.model import ExportOptions, File
from triptych.operations import arrival, backup, doctor, move, usable, verify
from triptych.operations.arrival import Arrived
from triptych.operations.sealed import LARGEST_BYTES, UNREADABLE
from triptych.people import accounts, passcodes
from triptych.privacy.scrub import IDENTIFYING
from triptych.stats.numbers import counted
from triptych.storage import database, foreign_parts, schema, sqlite_files, wiping, working
from triptych.storage.models import (
    FailedSignIn,
    Invitation,
    JsonObject,
    Kind,
    Login,
    PanelIdentity,
    Person,
    RubricText,
    Setting,
    Snapshot,
    StoredAnswer,
    Study,
    Ticket,
    Token,
)
from triptych.storage.unavailable import DatabaseUnavailable
from triptych.study import lifecycle
from triptych.study.persons import Who

FORMAT = 1
DATABASE, RUBRIC, CODEBOOK, README, MANIFEST = "study.db", "rubric.yaml", "codebook.json", "README.md", "manifest.json"
CONTENT = (DATABASE, RUBRIC, CODEBOOK, README)
BLOCK = 2**20
LARGEST = 2 * 2**30  # bytes of the database
# of the database in an uploaded file: importing it blocks other writers, for a few seconds before they are refused
LARGEST_UPLOADED = 64 * 2**20  # bytes
MAX_ROWS_UPLOADED = 40_000
COMMAND = f"For a larger file the administrator stops the app and runs {settings.program()} study import."
MOVE = f"Move a larger one with {settings.program()} data move."
BLIND = (
    "A capsule contains the names of the systems. Unblind the study first, or create it with "
    f"{settings.program()} study export."
)
ABOUT = """# {slug}

A study of Triptych, a program for human evaluation of generated text: everything except people's identities.

- `study.db`: the study as an SQLite database, last event {number}, hash `{hash}`
- `rubric.yaml`: what was asked
- `codebook.json`: criteria, scales and the meaning of every column
- `manifest.json`: SHA-256 of each file

To add it to the studies of an installation of Triptych, as one of its leads:

    triptych study import {slug}-capsule.zip "Your name"

To look into it on any computer: choose a new folder, and

    TRIPTYCH_HOME=FOLDER triptych study open-capsule {slug}-capsule.zip "Your name"
    TRIPTYCH_HOME=FOLDER triptych

A study whose log has fewer events than {number}, or another hash for this one, has lost or changed some.
"""


class Manifest(BaseModel):
    """The metadata of a capsule."""

    model_config = ConfigDict(frozen=True)  # a newer version may write more, and is named as such
    format: int
    schema_version: str = Field(pattern="^[0-9]{4}$")
    made_at: str
    study: JsonObject
    sha256: dict[str, str]


def check_request(study: Study) -> None:
    """Raises NotAllowed for a study whose systems leads may not know yet."""
    if study.unblinded_at is None:
        raise NotAllowed(BLIND)


def pieces(engine: Engine, slug: str) -> Iterator[bytes]:
    """The capsule of a study in pieces of a zip, of one state of the database. Raises NotFound, UnsafeDatabase."""
    from triptych.formats.writers.writing import zipped

    with working.folder() as private_folder:
        path = private_folder / DATABASE
        texts = _extract(engine, path, slug)
        hashes = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
        head = backup.heads_in(path)[0]
        sqlite_files.refuse_unfinished(path)
        manifest = Manifest(
            format=FORMAT,
            schema_version=schema.HEAD,
            made_at=clock.now().isoformat(),
            study=asdict(head),
            sha256=hashes | {DATABASE: backup.file_hash(path)},
        )
        texts[MANIFEST] = manifest.model_dump_json(indent=1)
        files = [File(name, iter([text.encode()])) for name, text in texts.items()]
        yield from zipped([*files, File(DATABASE, _blocks(path))], f"{slug}-capsule")


def _extract(engine: Engine, path: Path, slug: str) -> dict[str, str]:
    """Write the study's own database; returns the texts of the other files."""
    # imported here, since the writers of formats take half a second, which other commands do not need
    from triptych.exchange import exports
    from triptych.formats.writers.codebook import codebook

    with backup.opened(path) as copy:
        move.move(engine, copy, [slug])
        _leave_people_behind(copy)
        with database.reading(copy) as session:
            study = lifecycle.by_slug(session, slug)
            about = codebook(exports.read_finished(session, study), ExportOptions(0, None))
            return {
                RUBRIC: session.get_one(RubricText, study.rubric_id).yaml,
                CODEBOOK: json.dumps(about, ensure_ascii=False, allow_nan=False, indent=1) + "\n",
                README: ABOUT.format(slug=slug, number=study.event_number, hash=study.event_hash),
            }


def _leave_people_behind(copy: Engine) -> None:
    with database.writing(copy) as session:
        of_model = case((move.PERSON.c.kind == Kind.judge, move.PERSON.c.name))  # by which a judge is recognised
        session.execute(update(Person).values(dict.fromkeys(IDENTIFYING) | {"name": of_model}))
        # a report may contain texts of people who have left since
        for table in (PanelIdentity, Login, Ticket, Token, StoredAnswer, Invitation, FailedSignIn, Setting, Snapshot):
            session.execute(delete(table))
    wiping.wipe(copy, [])


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            yield block


def open_capsule(file: Path, engine: Engine, name: str, passcode: str) -> Arrived:
    """Open the study in an empty database, and create a lead with this name for it.

    Raises errors as `import_study`, UnsafeDatabase if the database is not empty, NotAllowed for an unusable name or
    passcode.
    """
    hashed = passcodes.hash_passcode(passcode)
    with checked(file, file.name, LARGEST) as source:
        schema.migrate(engine)
        with database.writing(engine) as session:
            move.refuse_full(session.connection())
            lead = accounts.create_lead(session, name, hashed)
            return arrival.arrive(session, source, Who(lead.id, lead.pseudonym, lead.role, lead.name, 0))


def import_study(file: Path, engine: Engine, who: Who) -> Arrived:
    """Import the study into this database, led by this lead.

    All hashes, the event log and every row are checked before anything is written, and again before the commit. Raises
    ImportRefused for a file that is no capsule or was changed, Conflict if the study is here already.
    """
    with checked(file, file.name, LARGEST) as source, database.writing(engine) as session:
        return arrival.arrive(session, source, who)


def notes_on(arrived: Arrived) -> list[str]:
    """What a lead should know about an imported study."""
    notes = []
    if arrived.slug != arrived.former_slug:
        notes.append(f"It was called {arrived.former_slug}; a study or a series here already has that name.")
    if arrived.people:
        who = counted(arrived.people, "annotator")
        notes.append(
            f"{who}: pseudonyms only, without names and logins. Leads can create new links on the page People."
        )
    if arrived.renamed:
        changes = ", ".join(f"{name} is {new}" for name, new in arrived.renamed.items())
        notes.append(f"The same pseudonym was already in use here: {changes}.")
    if arrived.paused:
        notes.append("It was open and is now paused.")
    return notes


@contextmanager
def uploaded(file: IO[bytes], name: str) -> Iterator[Engine]:
    """As `checked`, for an uploaded file, with lower limits, since the app is in use at the same time."""
    if file.seek(0, 2) > MAX_UPLOAD:
        raise ImportRefused(f"{name} has more than {MAX_UPLOAD // 2**20} MB. {COMMAND}")
    with checked(file, name, LARGEST_UPLOADED, MAX_ROWS_UPLOADED) as source:
        yield source


@contextmanager
def checked(file: Path | IO[bytes], name: str, largest: int, max_rows: int | None = None) -> Iterator[Engine]:
    """A checked copy of the file's database, without what belongs to another installation.

    largest: maximum bytes of the database. max_rows: maximum rows of all its tables; None for no limit. Raises
    ImportRefused, in which `name` is the name of the file.
    """
    with working.folder() as private_folder:
        path = private_folder / DATABASE
        manifest = _unpacked(file, name, path, largest)
        with _explained(name):
            for part in foreign_parts.in_file(path, manifest.schema_version):
                raise ImportRefused(f"The study in the capsule failed verification. {part}")
        with backup.opened(path) as source:
            with _explained(name):
                _refuse_other_version(source, manifest.schema_version)
                if max_rows is not None:
                    _refuse_many(source, name, max_rows)
                schema.migrate(source)
                _check(source, manifest)
                # the file's maker may have added accounts of their own
                _leave_people_behind(source)
            yield source


@contextmanager
def _explained(name: str) -> Iterator[None]:
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, UnsafeDatabase, DatabaseUnavailable, *UNREADABLE) as error:
        reason = doctor.driver_words(error).partition("\n")[0].rstrip(".")
        raise ImportRefused(f"{name} holds no study that can be read: {reason}.") from error


def _unpacked(file: Path | IO[bytes], called: str, path: Path, largest: int) -> Manifest:
    """Extract the database; returns the manifest after checking the hash of every file. Raises ImportRefused."""
    try:
        with zips.opened(file) as archive:
            names = {name.rpartition("/")[2]: name for name in archive.namelist()}
            manifest = Manifest.model_validate_json(archive.open(names[MANIFEST]).read(LARGEST_BYTES))
            if manifest.format != FORMAT or manifest.schema_version > schema.HEAD:
                raise ImportRefused(f"{called} was made by a newer version of Triptych. Update this one first.")
            for name in CONTENT:
                into, limit = (path, largest) if name == DATABASE else (path.with_name(name), LARGEST_BYTES)
                if _written(archive, names[name], into, limit) != manifest.sha256[name]:
                    raise ImportRefused(f"{name} in {called} was changed after the capsule was created.")
    except (zlib.error, *UNREADABLE) as error:
        raise ImportRefused(
            f"{called} is not a study capsule, or is truncated or damaged. Pass a file written by `triptych study "
            f"export`."
        ) from error
    return manifest


def _written(archive: zipfile.ZipFile, member: str, into: Path, limit: int) -> str:
    """Extract one file and return its SHA-256. The size stated in the zip is not trusted."""
    left = min(limit, shutil.disk_usage(into.parent).free)
    with archive.open(member) as packed, into.open("wb") as out:
        while block := packed.read(BLOCK):
            left -= len(block)
            if left < 0:
                larger = COMMAND if limit == LARGEST_UPLOADED else MOVE
                raise ImportRefused(f"{into.name} in the file is too large, or there is no room for it. {larger}")
            out.write(block)
    return backup.file_hash(into)


def _refuse_other_version(source: Engine, version: str) -> None:
    """Raises UnsafeDatabase for a version without a migration, which would cause an unexpected error."""
    if schema.stored_version(source) != version:
        raise UnsafeDatabase("its database and its manifest name different versions")


def _refuse_many(source: Engine, called: str, max_rows: int) -> None:
    tables = [table for table in move.TABLES if inspect(source).has_table(table.name)]
    with database.reading(source) as session:
        rows = sum(session.execute(select(func.count()).select_from(table)).scalar_one() for table in tables)
    if rows > max_rows:
        raise ImportRefused(f"The study in {called} has {rows:,} rows; up to {max_rows:,} are added here. {COMMAND}")


def _check(source: Engine, manifest: Manifest) -> None:
    with database.reading(source) as session:
        if [asdict(head) for head in backup.heads_of(session)] != [manifest.study]:
            raise ImportRefused("The study in the capsule is not the one that its manifest names.")
        usable.refuse_many_arrivals(session)
        verdict = verify.verify(session, session.scalars(select(Study)).one())
        if not verdict.holds:
            raise ImportRefused(f"The study in the capsule failed verification. {verdict.sentence}")
