"""Making backups while people work, and restoring them.

A backup is a complete database. A small file next to it names the last event of each study, which shows later what the
backup contains and whether a log was truncated. A backup contains everything acknowledged before it began. It also
contains names: protect it like the database.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from stat import S_ISREG

from sqlalchemy import URL, Engine, inspect, make_url, select, text
from sqlalchemy.exc import DatabaseError, SQLAlchemyError
from sqlmodel import Session

from triptych import clock, settings
from triptych.errors import NotAllowed, NotFound, TriptychError, UnsafeDatabase
from triptych.operations import doctor, verify
from triptych.operations.lasting import Lasting, carry_over, lasting
from triptych.people import roster
from triptych.privacy import backup_facts
from triptych.privacy.backup_facts import BackupFacts, Head, path_beside
from triptych.storage import database, events, foreign_parts, host, private, schema, sqlite_files, working, writes
from triptych.storage.events import EventKind
from triptych.storage.models import Role, Study
from triptych.storage.sqlite_files import COMPANIONS, JOURNAL, LOG, DamagedFile, companion
from triptych.storage.unavailable import DatabaseUnavailable, explained
from triptych.study.persons import Certainty, Who

OURS = {"study", "event"}  # tables of every version; a file of another program may have one of them
ENDINGS = {"sqlite": "db", "postgresql": "dump"}
NO_PG_DUMP = (
    "pg_dump is not installed on this computer, so PostgreSQL cannot be backed up from here. Install PostgreSQL's "
    "client programs, or let the database server make its own backups (docs/deploying.md)."
)
ON_POSTGRES = (
    "A PostgreSQL database is restored into a new one, on the database's server as its administrator: createdb "
    "-T template0 -O triptych_owner restored && pg_restore --exit-on-error -d restored FILE. docs/deploying.md "
    "explains how to check it and replace the old one."
)
BEFORE_RESTORE = "before-restore"  # prefix of the name of a backup of what a restore replaces
MIN_ROOM = 16 * 2**20  # bytes; SQLite's write-ahead log alone grows to 4 MB
PG_PASSWORD = "PGPASSWORD"  # noqa: S105 (a name)


class BackupFailed(TriptychError):
    """No backup was made or restored; the message says why."""


@dataclass(frozen=True)
class Backup:
    """One backup in the folder; `heads` and `database` are empty if the file next to it is missing."""

    path: Path
    at: datetime
    size: int
    heads: tuple[Head, ...]
    database: str = ""

    @property
    def name(self) -> str:
        return self.path.name


@dataclass(frozen=True)
class Restored:
    """The result of a restore: the backup, the backup of the state before, and `again`, people who had left since.

    differing: a sentence about each study with rows that differ from its log. is_access_unread: damage of the state
    before hides who had left and what was revoked since.
    """

    name: str
    before: Path | None
    heads: tuple[Head, ...]
    again: tuple[str, ...]
    differing: tuple[str, ...] = ()
    is_access_unread: bool = False


@dataclass(frozen=True)
class _Before:
    """The state before a restore. path: its backup, or a damaged database as it is. is_lost: nobody can read that.

    lasting: None if it is unreadable.
    """

    path: Path | None = None
    heads: dict[str, Head] = field(default_factory=dict)
    is_lost: bool = False
    lasting: Lasting | None = field(default_factory=Lasting)


def folder() -> Path:
    """The private folder for backups, next to the database, or the folder that a link there names.

    Raises UnsafeDatabase for a folder of another user or none, such as that of a disk which is not connected.
    """
    host.refuse_foreign(settings.local_folder())
    made = settings.local_folder() / "backups"
    try:
        made.mkdir(mode=0o777 & ~private.umask(), exist_ok=True)
    except FileExistsError as error:
        raise UnsafeDatabase(f"{made} is no folder. Is the disk connected that a link there names?") from error
    host.refuse_foreign(made)
    return made


def make(engine: Engine, name: str = "triptych") -> Backup:
    """Make a backup of the whole database while it is in use. Raises BackupFailed, after deleting the incomplete
    backup.
    """
    kind = engine.dialect.name
    at = clock.now()
    target = folder() / f"{name}-{at:%Y%m%d-%H%M%S-%f}.{ENDINGS[kind]}"
    of = of_database(engine.url)
    try:
        with _explained("No backup was made"), working.folder(target.parent) as private_folder:
            if name != BEFORE_RESTORE:
                _refuse_little_room(engine, target.parent)
            part = private_folder / target.name
            heads = _dump(engine, part) if kind == "postgresql" else _copy(engine, part)
            _secure(part)
            backup_facts.write(target, BackupFacts(at, file_hash(part), heads, of))
            part.rename(target)  # a file with a backup's name is complete
    finally:
        if not target.exists():
            path_beside(target).unlink(missing_ok=True)
    return Backup(target, at, target.stat().st_size, heads, of)


def of_database(address: URL | None = None) -> str:
    """Name of a database in the facts of its backups, without secrets: the place of an SQLite file in the data folder,
    or its path; else host, port and name. By default, of the database that is configured."""
    url = address or make_url(settings.database_url())
    if url.get_backend_name() == "sqlite":
        path = database.sqlite_path(url.render_as_string(hide_password=False))
        home = settings.local_folder().resolve()
        return (path.relative_to(home) if path.is_relative_to(home) else path).as_posix()
    host_name, port = url.host or url.query.get("host", ""), url.port or url.query.get("port", 5432)
    return f"{host_name}/{port}/{url.database or ''}"


def listed() -> list[Backup]:
    """The backups in the folder, newest first; last those of a clock that was ahead.

    Not those of another database, whose leads are others; an earlier version did not write which one it is.
    """
    files = (path for ending in ENDINGS.values() for path in folder().glob(f"*.{ending}"))
    backups = [backup for path in files if path.name.isprintable() and (backup := _read(path))]
    own = of_database()
    backups = [backup for backup in backups if backup.database in ("", own)]
    now = clock.now()
    return sorted(backups, key=lambda backup: (backup.at <= now, backup.at), reverse=True)


def find(name: str) -> Backup:
    """The backup with this name in the folder. Raises NotFound."""
    backup = next((backup for backup in listed() if backup.name == name), None)
    if backup is None:
        raise NotFound(f"There is no backup called {name!r}.")
    return backup


def delete(backup: Backup) -> None:
    """Delete a backup and the file next to it."""
    for path in (backup.path, path_beside(backup.path)):
        path.unlink(missing_ok=True)


def may_restore(session: Session, who: Who) -> bool:
    """Whether a backup can be restored while the app runs, and this lead leads all studies that it would replace."""
    return writes.is_sqlite(session) and who.role == Role.lead and roster.leads_everything(session, who.person_id)


def restore_as(engine: Engine, name: str, certainty: Certainty) -> Restored:
    """Restore a backup in the folder, for a lead who `may_restore`. Raises NotAllowed, and errors as `restore`."""
    with database.reading(engine) as session:
        if not may_restore(session, certainty.who):
            raise NotAllowed(
                "This database also holds studies that you do not lead. Ask the administrator: stop the app and run "
                f"{settings.program()} data restore FILE."
            )
    return restore(engine, find(name).path, certainty.who.pseudonym)


def restore(engine: Engine, source: Path, actor: str, *, alone: bool = False) -> Restored:
    """Replace the database by the backup, after backing up the current state, and log that in every study.

    Access that was revoked since stays revoked, everyone has to sign in again, and the schedule of backups stays. A
    copy is checked first: its integrity, its tables (an older version is migrated), its event chains, and every row.
    Rows that differ from the log are only reported, since this may be the only backup. `alone`: no server uses the
    file, so that even a damaged one can be replaced. Must be called in the only process that uses the file; its writers
    wait meanwhile, or are refused as busy. Raises BackupFailed; the database is then unchanged, as after a kill.
    """
    if engine.dialect.name != "sqlite":
        raise BackupFailed(ON_POSTGRES)
    # pandas, which a backup need not wait for; before anything is replaced, so that nothing fails after it
    from triptych.results import texts
    from triptych.results.frame import upkeep

    # a separate folder, since upgrading the copy leaves another file next to it
    with working.folder(folder()) as private_folder:
        part = private_folder / "copy.db"
        with _explained("Nothing was restored"):
            differing = _prepare(source, part)
            # what others stored after the backup of the current state would be in neither database; the connections
            # are its own, since those of the app may all wait for this turn to end
            with database.turn(), opened(database.sqlite_path(str(engine.url))) as current:
                before = _state_before(current, alone)
                # logged before the database is replaced, so that an interrupted restore is in the log
                with opened(part) as copy:
                    again, heads = _note(copy, host.logged_name(source), before, actor)
                if before.is_lost:  # SQLite may not even open it
                    current.dispose()
                    _exchange(database.sqlite_path(str(engine.url)), part)
                else:
                    sqlite_files.overwrite_sqlite(current, part)
    # the two caches that take a study's number of events, or its design's hash, for its state; others compare with a
    # frame or a stored event, or their keys differ between studies of two databases
    upkeep.forget()
    texts.forget()
    return Restored(source.name, before.path, heads, again, differing, before.lasting is None)


@contextmanager
def _explained(outcome: str) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, DatabaseError, OSError, UnsafeDatabase, DatabaseUnavailable) as error:
        reason = getattr(error, "strerror", None) or doctor.driver_words(error)
        raise BackupFailed(f"{outcome}: {reason.rstrip('.')}.") from error


def _copy(engine: Engine, part: Path) -> tuple[Head, ...]:
    sqlite_files.copy_sqlite(database.sqlite_path(str(engine.url)), part)
    return heads_in(part)


@contextmanager
def opened(path: Path) -> Iterator[Engine]:
    """An engine on a private SQLite file, which is closed afterwards."""
    engine = database.open_engine(settings.sqlite_url(path))
    try:
        yield engine
    finally:
        engine.dispose()


def heads_in(path: Path) -> tuple[Head, ...]:
    """The last event of every study in an SQLite file."""
    with opened(path) as copy, database.reading(copy) as session:
        return heads_of(session)


def heads_of(session: Session) -> tuple[Head, ...]:
    """The last event of every study."""
    query = select(Study.slug, Study.event_number, Study.event_hash).order_by(Study.id)
    return tuple(Head(*row) for row in session.execute(query))


def _dump(engine: Engine, part: Path) -> tuple[Head, ...]:
    """Write pg_dump's own format, of the same state as the last events that are returned. Raises BackupFailed."""
    from psycopg.conninfo import make_conninfo  # installed for PostgreSQL only

    program = shutil.which("pg_dump")
    if program is None:
        raise BackupFailed(NO_PG_DUMP)
    # all that the app connects with, also which encryption it requires
    _, address = engine.dialect.create_connect_args(engine.url)
    address.pop("context", None)  # SQLAlchemy's own
    # secrets in the arguments would be visible in the process list
    password, passphrase = address.pop("password", None), address.pop("sslpassword", None)
    environment = os.environ | ({PG_PASSWORD: password} if password else {})
    if passphrase:  # PostgreSQL has no variable for it
        service = part.with_name("service.conf")
        service.touch(0o600)
        service.write_text(f"[backup]\nsslpassword={passphrase}\n")
        environment["PGSERVICEFILE"], address["service"] = str(service), "backup"
    with explained():
        connection = engine.connect()
    with connection.execution_options(isolation_level="REPEATABLE READ"):
        snapshot = connection.execute(text("SELECT pg_export_snapshot()")).scalar()
        command = [program, "--format=custom", "--no-password", f"--file={part}", f"--snapshot={snapshot}"]
        # in the app's encoding, since that of a role or of the environment may lack letters
        command += ["--encoding=UTF8", f"--dbname={make_conninfo(**address)}"]
        ran = subprocess.run(command, env=environment, capture_output=True)  # noqa: S603 (no shell)
        if ran.returncode != 0:
            complaint = ran.stderr.decode(errors="replace")  # the server's words may be in Latin-1
            raise BackupFailed(f"No backup was made. pg_dump says: {complaint.strip().partition(chr(10))[0]}")
        with Session(connection) as session:
            return heads_of(session)


def _refuse_little_room(engine: Engine, backups: Path) -> None:
    """Raises BackupFailed before a backup that would hardly leave room for what annotators store.

    The disk of PostgreSQL is unknown: there, the disk of the backups must have some room.
    """
    size, place = 0, backups
    if engine.dialect.name == "sqlite":
        place = database.sqlite_path(str(engine.url))
        size = place.stat().st_size
    needed = size + max(size, MIN_ROOM)
    if place.stat().st_dev == backups.stat().st_dev and shutil.disk_usage(backups).free < needed:
        raise BackupFailed(
            f"No backup was made: it would leave too little room on its disk, where {needed // 2**20} MB must be free. "
            "Make room, for example by moving backups to another computer."
        )


def _secure(path: Path) -> None:
    """Make a file private, and wait until it is on the disk."""
    path.chmod(0o666 & ~private.umask())
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def file_hash(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read(path: Path) -> Backup | None:
    """None for what is no file, such as a link to nothing, or was deleted just now."""
    try:
        stat = path.stat()
    except OSError:
        return None
    if not S_ISREG(stat.st_mode):
        return None
    beside = BackupFacts(datetime.fromtimestamp(stat.st_mtime, UTC))
    with suppress(OSError, ValueError, OverflowError):  # the file next to it may hold anything
        stated = backup_facts.read(path)
        beside = replace(stated, made_at=stated.made_at.astimezone(UTC))
    return Backup(path, beside.made_at, stat.st_size, beside.studies, beside.database)


def _was_changed(source: Path, copy: Path) -> bool:
    """Whether a backup's hash differs from that in the file next to it, if there is one.

    A write-ahead log next to the backup counts as a change, since SQLite applies it to the copy.
    """
    try:
        beside = backup_facts.read(source)
        return beside.sha256 != file_hash(copy) or _is_filled(companion(copy, LOG))
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        return True


def _is_filled(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _copy_bytes(source: Path, copy: Path) -> None:
    """Copy a file whose folder may be another user's; what is no file, such as a pipe, is not waited for."""
    with open(source.resolve(), "rb", opener=host.unfollowed) as file, copy.open("xb") as target:
        if not S_ISREG(os.fstat(file.fileno()).st_mode):
            raise BackupFailed(f"There is no file {source}.")
        shutil.copyfileobj(file, target)


def _prepare(source: Path, part: Path) -> tuple[str, ...]:
    """Copy the backup and migrate it to this program's schema; returns how its rows differ from the log.

    Raises BackupFailed if it is damaged or a chain is broken.
    """
    if not source.is_file():
        raise BackupFailed(f"There is no file {source}.")
    # SQLite opens only the copy: next to the file, another user could put a journal, which has any file deleted
    given = part.with_name("given.db")
    _copy_bytes(source, given)
    if _is_filled(log := companion(source, LOG)):
        _copy_bytes(log, companion(given, LOG))
    if _was_changed(source, given):
        raise BackupFailed(f"Nothing was restored: {source.name} was changed after it was made.")
    if _is_filled(journal := companion(source, JOURNAL)):
        raise BackupFailed(f"Nothing was restored: {journal.name} holds an unfinished transaction.")
    sqlite_files.copy_pages(given, part)
    given.unlink()
    version = schema.version_in(part)
    if version is None or version > schema.HEAD:
        reason = "is not a Triptych database" if version is None else f"belongs to a newer version ({version})"
        raise BackupFailed(f"Nothing was restored: {source.name} {reason}.")
    for foreign in foreign_parts.in_file(part, version):
        raise BackupFailed(f"Nothing was restored from {source.name}. {foreign}")
    sqlite_files.refuse_damaged(part, source.name)
    with opened(part) as copy:
        schema.migrate(copy)
        with database.reading(copy) as session:
            verdicts = [verify.verify(session, study) for study in session.scalars(select(Study).order_by(Study.id))]
    for verdict in verdicts:
        if verdict.broken is not None:
            reason = f"the event log of {verdict.slug} is broken. {verdict.broken}"
            raise BackupFailed(f"Nothing was restored: {reason}")
    return tuple(f"{verdict.slug}: {verdict.sentence}" for verdict in verdicts if not verdict.holds)


def _state_before(engine: Engine, alone: bool) -> _Before:
    """Back up the current database; a damaged one is copied as it is, if nobody is using it.

    It stays in its place until the new one is there: after a kill, the next restore reads the same facts of it.
    """
    path = database.sqlite_path(str(engine.url))
    if path.exists() and not os.access(path, os.R_OK | os.W_OK):  # what is in it is not known to be damaged
        raise UnsafeDatabase(f"{path} cannot be read and written. {host.ADVICE}")
    try:
        if not path.exists() or not (names := _tables_and_views(engine)):
            return _Before()
        if not names >= OURS:  # damaged or not
            raise UnsafeDatabase(f"{path} holds another program's tables. Name another file.")
        version = schema.stored_version(engine)
        if version is None:
            raise DamagedFile(f"{path} has lost the version of its tables.")
        saved = make(engine, BEFORE_RESTORE)
    except (BackupFailed, DatabaseError, DamagedFile) as error:
        # a full disk prevents the backup, but is no reason to replace the database without one
        if not alone or (_is_whole(path) and DamagedFile not in (type(error), type(error.__cause__))):
            raise
        facts = _lasting_of(path, alone)
        engine.dispose()
        return _Before(_keep(path, facts is None), is_lost=facts is None, lasting=facts)
    heads = {head.slug: head for head in saved.heads}
    facts = _lasting_in(engine) if version >= schema.HEAD else _lasting_of(saved.path, alone)
    return _Before(saved.path, heads, lasting=facts)


def _tables_and_views(engine: Engine) -> set[str]:
    tables = inspect(engine)
    return {*tables.get_table_names(), *tables.get_view_names()}


def _lasting_of(path: Path, alone: bool) -> Lasting | None:
    """What outlasts the restore, from an upgraded copy; None if damage hides it from the only user of the file."""
    try:
        with working.folder(folder()) as private_folder:
            part = private_folder / "older.db"
            sqlite_files.copy_pages(path, part)
            with opened(part) as copy:
                if schema.stored_version(copy) != schema.HEAD:
                    schema.upgrade(copy)
                return _lasting_in(copy)
    except (sqlite3.Error, SQLAlchemyError, UnsafeDatabase, DatabaseUnavailable, *events.UNREADABLE):
        if alone:
            return None
        raise


def _lasting_in(engine: Engine) -> Lasting:
    with database.reading(engine) as session:
        return lasting(session)


def _is_whole(path: Path) -> bool:
    """Whether an SQLite file passes SQLite's check, without the part of its write-ahead log that was not applied.

    CHECK constraints are not checked, since SQLite ignores them in a file that is only read.
    """
    with suppress(sqlite3.Error), sqlite_files.unchanged(path) as file:
        return bool(file.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",))
    return False


def _keep(path: Path, is_lost: bool) -> Path:
    """Copy a damaged database as it is, with SQLite's files next to it, to the folder of backups."""
    aside = folder() / f"damaged-{clock.now():%Y%m%d-%H%M%S-%f}.db"
    endings = [ending for ending in (*COMPANIONS, "") if companion(path, ending).exists()]
    with working.folder(aside.parent) as private_folder:
        parts = {ending: companion(private_folder / aside.name, ending) for ending in endings}
        for ending, part in parts.items():
            try:
                shutil.copyfile(companion(path, ending), part)
                _secure(part)
            except OSError as error:
                if not is_lost:
                    raise
                # its disk does not read all of it any more, or is full; a second name outlasts the exchange
                part.unlink(missing_ok=True)
                try:
                    part.hardlink_to(companion(path, ending))
                except OSError:  # the backups are on another disk, or this one has no second names
                    raise error from None
        for ending, part in parts.items():  # a file with a backup's name is complete
            part.rename(companion(aside, ending))
    return aside


def _exchange(path: Path, source: Path) -> None:
    """Put a copy of the source in the place of a database, in one step."""
    with working.folder(path.parent) as private_folder:  # on the same disk
        whole = private_folder / path.name
        sqlite_files.copy_pages(source, whole)
        _secure(whole)
        for ending in COMPANIONS:  # SQLite would apply them to the new file
            companion(path, ending).unlink(missing_ok=True)
        whole.replace(path)


def _note(copy: Engine, name: str, before: _Before, actor: str) -> tuple[tuple[str, ...], tuple[Head, ...]]:
    """Carry over what outlasts a restore, and log it in every study; returns people who had left, and the heads."""
    with Session(copy) as session:
        heads = heads_of(session)
        again = carry_over(session, before.lasting or Lasting(), name)
        for head, study in zip(heads, session.scalars(select(Study).order_by(Study.id)), strict=True):
            left = before.heads.get(head.slug)
            old = None if left is None else {"number": left.number, "hash": left.hash}
            new = {"backup": name, "number": head.number}
            events.record(session, study.id, EventKind.restored_from_backup, actor, old=old, new=new)
        database.commit(session)
        return again, heads_of(session)
