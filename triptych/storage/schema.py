"""The version of the tables: opening a database that has it, creating it, upgrading to it."""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    event,
    insert,
    inspect,
    select,
    text,
)
from sqlmodel import Session

from triptych import clock, settings
from triptych.errors import NotFound, UnsafeDatabase
from triptych.storage import events
from triptych.storage.database import backend_of, open_engine, sqlite_path
from triptych.storage.models import Base, Study
from triptych.storage.sqlite_files import MAX_STEPS, copy_sqlite, driver_connection, have_same_pages, unchanged
from triptych.storage.unavailable import explained
from triptych.storage.unreadable import places_named

HEAD = "0014"
COMPUTING = re.compile(r"\b(AS|VIRTUAL)\b", re.IGNORECASE)  # in views, computed columns and virtual tables
UNFINISHED = ".part.db"  # how the name of a copy ends until it is complete; a kill leaves one, perhaps with a journal
# as Alembic creates it
VERSION = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
MIGRATING = 7226  # number of PostgreSQL's advisory lock for migrations
log = logging.getLogger("triptych.storage.schema")
_alembic_lock = threading.Lock()  # it keeps the connection that it migrates in a global


def open_existing(url: str, changes: bool = True) -> Engine:
    """An engine for an existing database, which is not upgraded. Without `changes`, SQLite refuses them.

    Raises NotFound where no database is, UnsafeDatabase for one whose tables are of another version.
    """
    if backend_of(url) == "sqlite" and not sqlite_path(url).exists():
        raise NotFound(f"There is no study here: {sqlite_path(url)} does not exist. Set TRIPTYCH_HOME to its folder.")
    engine = open_engine(url)
    if not changes and engine.dialect.name == "sqlite":
        event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA query_only=1"))
    version = stored_version(engine)
    if version is None:
        raise NotFound("There is no study here: the database is empty.")
    _refuse_newer(version)
    if version != HEAD:
        what = f"Stop the app and run: {settings.program()} data migrate"
        raise UnsafeDatabase(f"The database has version {version}, and this program needs {HEAD}. {what}")
    return engine


def _refuse_newer(version: str | None) -> None:
    """Raises UnsafeDatabase for tables of a newer version, which this program would damage."""
    if version is not None and version > HEAD:
        raise UnsafeDatabase(
            f"This database belongs to a newer Triptych (version {version}; this program, {settings.version()}, "
            f"supports {HEAD}). Install the newer one again, or restore the copy that it made before the upgrade: "
            f"triptych-before-….db next to the database."
        )


def version_in(path: Path) -> str | None:
    """The migration of an SQLite file from elsewhere, whose table for it may be anything; None without one.

    Raises sqlite3.Error for a table that takes long to read.
    """
    with unchanged(path) as file:
        file.set_progress_handler(lambda: 1, MAX_STEPS)
        if not file.execute(
            "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (VERSION.name,)
        ).fetchone():
            return None
        (version,) = file.execute("SELECT max(version_num) FROM alembic_version").fetchone()
        return version if isinstance(version, str) and re.fullmatch("[0-9]{4}", version) else None


def stored_version(engine: Engine) -> str | None:
    """The database's current migration; None for an empty one."""
    with engine.connect() as connection:
        return _version(connection)


def _version(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION.name):
        return None
    if connection.dialect.name == "sqlite":
        query = "SELECT sql FROM sqlite_master WHERE name = ? COLLATE NOCASE"
        if COMPUTING.search(connection.exec_driver_sql(query, (VERSION.name,)).scalar_one()):
            raise UnsafeDatabase(f"The database has {VERSION.name} in a form which this program never creates.")
    version = connection.execute(select(VERSION.c.version_num)).scalar()
    if not isinstance(version, str | None):  # SQLite stores bytes and numbers in a column of texts
        raise UnsafeDatabase("The database has a version that is no text, which this program never writes.")
    return version


def migrate(engine: Engine) -> None:
    """Upgrades the database to this program's schema, after a copy; an upgrade that fails changes nothing.

    Raises UnsafeDatabase for a database of a newer program, DatabaseUnavailable.
    """
    if engine.dialect.name == "sqlite" and not sqlite_path(str(engine.url)).exists():
        # SQLite itself would give the group no permissions, whatever the umask allows
        sqlite_path(str(engine.url)).touch(0o666)
    version = stored_version(engine)
    _refuse_newer(version)
    if version == HEAD:
        return
    if engine.dialect.name != "sqlite" or version is None:
        upgrade(engine)
        return
    saved = _saved_before(sqlite_path(str(engine.url)))
    try:
        upgrade(engine)
    except Exception:
        # one transaction, so the copy is not put back: another program may have stored something since
        log.error("The upgrade failed and changed nothing. The copy from before it is next to the file: %s", saved.name)
        raise


def _saved_before(path: Path) -> Path:
    """A copy of an SQLite file from before its upgrade; after a failed attempt it is the one made then."""
    name = f"{path.stem}-before-{HEAD}-"
    copies = [copy for copy in path.parent.glob(f"{escape(name)}*.db") if not copy.name.endswith(UNFINISHED)]
    earlier = [copy for copy in copies if copy.is_file() and os.access(copy, os.R_OK)]
    saved = path.with_name(f"{name}{clock.now():%Y%m%d-%H%M%S}.db")
    part = saved.with_suffix(UNFINISHED)
    part.touch(0o666, exist_ok=False)  # SQLite would follow a link that somebody laid there, to another database
    try:
        with explained():
            copy_sqlite(path, part)
        same = next((copy for copy in earlier if have_same_pages(copy, part)), None)
        return same or part.rename(saved)
    finally:
        part.unlink(missing_ok=True)


def upgrade(engine: Engine) -> None:
    """Creates the tables, or upgrades them without a copy. Raises DatabaseUnavailable."""
    with explained(), _migrating(engine) as connection:
        version = _version(connection)
        if version is None:
            _create(connection)
        elif version != HEAD:
            _run_migrations(connection, HEAD)
            with places_named(connection, "The database was not upgraded and is unchanged."):
                _record_baselines(connection)


def _create(connection: Connection) -> None:
    """Creates the tables of the models in a new database; running all migrations would give the same tables."""
    Base.metadata.create_all(connection)
    VERSION.create(connection)
    connection.execute(insert(VERSION).values(version_num=HEAD))


def create_version(engine: Engine, version: str) -> None:
    """Creates the tables of a version in an empty database, by running the migrations up to it.

    Raises UnsafeDatabase for an unknown version.
    """
    with _migrating(engine) as connection:
        _run_migrations(connection, version)


def _run_migrations(connection: Connection, target: str) -> None:
    # alembic takes a third of a second to import and is needed at most once per release
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    try:
        with _alembic_lock:
            command.upgrade(config, target)
    except CommandError as error:
        raise UnsafeDatabase(f"There is no version {_version(connection) or target!r} of the database") from error


def _record_baselines(connection: Connection) -> None:
    """Record the current state of all rows that older events of a study's log do not contain, for every study."""
    session = Session(connection)
    for study_id in session.scalars(select(Study.id).order_by(Study.id)).all():
        events.record_baseline(session, study_id)
        events.write_pending(session)


@contextmanager
def _migrating(engine: Engine) -> Iterator[Connection]:
    """A transaction that may change tables.

    SQLite copies a table to change it. With foreign keys on, dropping the old table would delete every row that refers
    to it, so they are off meanwhile and checked before the commit.
    """
    with engine.connect() as connection:
        if engine.dialect.name == "postgresql":
            with connection.begin():
                # if several processes start at once, the second finds the schema complete and does nothing
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": MIGRATING})
                yield connection
            return
        raw = driver_connection(connection)
        raw.execute("PRAGMA foreign_keys=0")
        try:
            with connection.begin():
                yield connection
                lost = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
                if lost:
                    raise UnsafeDatabase(f"The new schema would lose {len(lost)} rows, the first in {lost[0][0]}.")
        finally:
            raw.execute("PRAGMA foreign_keys=1")
