"""Opening the database, its settings, its transactions and its migrations.

SQLite: WAL, full synchronous, foreign keys on, BEGIN IMMEDIATE for writes, and one lock around write transactions
of this process: without it threads starve each other (22 s at worst were measured), and the WAL-reset race of
SQLite below 3.51.3 cannot happen inside one process.
"""

from __future__ import annotations

import logging
import os
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from glob import escape
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import IO, Any

from sqlalchemy import (
    Column,
    Connection,
    Dialect,
    Engine,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    create_engine,
    event,
    insert,
    inspect,
    make_url,
    select,
    text,
)
from sqlalchemy.exc import ArgumentError, DisconnectionError, OperationalError
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection
from sqlmodel import Session

from triptych import clock, settings
from triptych.errors import NotFound, UnsafeDatabase
from triptych.storage import events, host
from triptych.storage.models import Base, Study
from triptych.storage.sqlite_files import MAX_STEPS, copy_sqlite, driver_connection, have_same_pages, unchanged
from triptych.storage.unavailable import BUSY, DatabaseBusy, DatabaseUnavailable, explained, is_unavailable
from triptych.storage.unreadable import unreadable

HEAD = "0014"
# as Alembic creates it
VERSION = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
PRAGMAS = {
    "journal_mode": "wal",
    "synchronous": 2,
    "foreign_keys": 1,
    "busy_timeout": 4500,
    "trusted_schema": 0,
    "mmap_size": 0,
}
RESTED = 5.0  # seconds
WRITES = "writes"  # key in the info of a pooled connection while it is used to write
# A write waits this long for other writers of this process, and the same time (`busy_timeout`) for another program, so
# that a request that waits for both is answered within ten seconds.
QUEUE_SECONDS = 4.5
COMMAND_SECONDS = 60.0  # time that a command waits for another program
MIGRATING = 7226  # number of PostgreSQL's advisory lock for migrations
# give up on an unreachable server after seconds, not after TCP's minutes
POSTGRES = {
    "connect_timeout": 5,
    "keepalives_idle": 30,
    "tcp_user_timeout": 15000,
    "application_name": "triptych",
    "prepare_threshold": 1,
}
WAITING = "Another program is using the database. Waiting for it for up to a minute."
SAFE_SQLITE = (3, 51, 3)
NAMED_PLACES = 10  # unreadable values in one message
NO_ADDRESS = "This is not the address of a database. Write postgresql://USER:PASSWORD@HOST/NAME or sqlite:///FILE."
log = logging.getLogger("triptych.storage.database")
write_lock = threading.Lock()
_alembic_lock = threading.Lock()  # it keeps the connection that it migrates in a global


@dataclass
class Patience:
    """How long this process waits for a program using the SQLite file, beyond `busy_timeout`, and its message."""

    seconds: float = 0
    say: Callable[[str], None] = log.info


_patience = Patience()


@contextmanager
def patient(say: Callable[[str], None] = log.info) -> Iterator[None]:
    """Within this context writes wait up to a minute for another program, with a message; commands can afford that."""
    before = _patience.seconds, _patience.say
    _patience.seconds, _patience.say = COMMAND_SECONDS, say
    try:
        yield
    finally:
        _patience.seconds, _patience.say = before


def backend_of(url: str) -> str:
    """ "sqlite" or "postgresql". Raises UnsafeDatabase for any other address."""
    try:
        backend = make_url(url).get_backend_name()
    except ArgumentError as error:
        raise UnsafeDatabase(NO_ADDRESS) from error
    if backend not in ("sqlite", "postgresql"):
        raise UnsafeDatabase(f"Triptych stores its data in SQLite or PostgreSQL; {backend}:// is not one of them.")
    return backend


def open_engine(url: str) -> Engine:
    """An engine with our settings on every connection.

    Raises UnsafeDatabase for an unsafe folder, another kind of database, or one of another user.
    """
    if backend_of(url) == "postgresql":
        engine = create_engine(
            url,
            pool_size=10,
            max_overflow=20,
            pool_timeout=10,
            pool_use_lifo=True,  # the connection used last has the most prepared statements
            connect_args=POSTGRES,
            hide_parameters=True,
        )
        event.listen(engine, "connect", _prefer_indexes)
        event.listen(engine, "connect", _go_by_its_clock)
        event.listen(engine, "checkin", _rest)
        event.listen(engine, "checkout", partial(_make_sure, engine.dialect))
        return engine
    path = sqlite_path(url)
    host.refuse_unsafe_folder(path.parent)
    # SQLite applies a write-ahead log, and deletes any file that a journal names
    logs = [path.with_name(f"{path.name}-{kind}") for kind in ("wal", "journal")]
    for used in filter(Path.exists, [path.parent, path, *logs]):
        host.refuse_foreign(used)
    _note_version()
    engine = create_engine(
        url,
        pool_size=20,
        max_overflow=40,
        pool_timeout=10,
        connect_args={"timeout": 10, "check_same_thread": False},
        hide_parameters=True,  # error messages must not contain what people wrote
    )
    event.listen(engine, "connect", _apply_pragmas)
    # an event listener on the engine would make SQLAlchemy look for listeners at every statement
    setattr(engine.dialect, "do_begin", _begin)  # noqa: B010 (a method, to the type checker)
    return engine


@lru_cache(maxsize=1)
def _note_version() -> None:
    """Logs, once per process, that writers take turns because of an old SQLite."""
    if sqlite3.sqlite_version_info < SAFE_SQLITE:
        log.info("SQLite %s is older than 3.51.3, so writers take turns.", sqlite3.sqlite_version)


def open_to_read(url: str) -> Engine:
    """An engine for a read-only command: it creates no file and no table, and SQLite refuses changes.

    Raises NotFound where no database is, UnsafeDatabase for one whose tables are of another version.
    """
    return open_existing(url, changes=False)


def open_existing(url: str, changes: bool = True) -> Engine:
    """An engine for an existing database, which is not upgraded. Raises as `open_to_read`."""
    if backend_of(url) == "sqlite" and not sqlite_path(url).exists():
        raise NotFound(f"There is no study here: {sqlite_path(url)} does not exist. Set TRIPTYCH_HOME to its folder.")
    engine = open_engine(url)
    if not changes and engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _take_no_change)
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


def _take_no_change(connection: sqlite3.Connection, _: Any) -> None:
    connection.execute("PRAGMA query_only=1")


def _prefer_indexes(connection: Any, _: Any) -> None:
    """Tells the planner that the rows are in memory or on an SSD; otherwise it reads small tables whole."""
    connection.autocommit = True  # a rollback would undo the setting
    connection.execute("SET random_page_cost = 1.1")
    connection.autocommit = False


def _go_by_its_clock(connection: Any, _: Any) -> None:
    """Sets this process's clock by the server's, in one round trip outside a transaction."""
    connection.autocommit = True
    clock.go_by(lambda: connection.execute("SELECT clock_timestamp()").fetchone()[0])
    connection.autocommit = False


def _rest(_: Any, record: ConnectionPoolEntry) -> None:
    record.info["resting since"] = time.monotonic()


def _make_sure(dialect: Dialect, connection: Any, record: ConnectionPoolEntry, _: Any) -> None:
    """Tests a pooled connection that was unused for a while; in steady use this round trip is saved.

    Raises DisconnectionError if it fails; the pool then opens another connection.
    """
    if time.monotonic() - record.info.get("resting since", time.monotonic()) < RESTED:
        return
    try:
        _go_by_its_clock(connection, record)
    except dialect.loaded_dbapi.Error as error:
        raise DisconnectionError("An idle connection had been closed.") from error


def sqlite_path(url: str) -> Path:
    """The path of the SQLite file, with links resolved, because its lock and copies are next to the file itself.

    Raises UnsafeDatabase.
    """
    backend_of(url)
    return Path(os.path.realpath(make_url(url).database or ""))


def _apply_pragmas(connection: sqlite3.Connection, _: Any) -> None:
    """Applies our settings and checks that SQLite accepted each of them."""
    connection.isolation_level = None
    for name, value in PRAGMAS.items():
        connection.execute(f"PRAGMA {name}={value}")
        row = connection.execute(f"PRAGMA {name}").fetchone()
        # a build without memory mapping returns no row for mmap_size
        if row and row[0] != value:
            raise UnsafeDatabase(f"SQLite did not accept {name}={value}; it reports {row[0]}.")


def _begin(connection: PoolProxiedConnection) -> None:
    """Begins a transaction; replaces SQLAlchemy's own hook."""
    if not connection.info.get(WRITES):
        connection.execute("BEGIN")
        return
    end, spoken = time.monotonic() + _patience.seconds, False
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= end:
                raise
        if not spoken:
            _patience.say(WAITING)
            spoken = True


@contextmanager
def turn() -> Iterator[None]:
    """Waits for this thread's turn among the writers of this process. Raises DatabaseBusy if it waits too long."""
    if not write_lock.acquire(timeout=QUEUE_SECONDS + _patience.seconds):
        raise DatabaseBusy(BUSY)
    try:
        yield
    finally:
        write_lock.release()


@contextmanager
def reading(engine: Engine) -> Iterator[Session]:
    """A session for reading. Raises DatabaseUnavailable.

    On SQLite it sees one state; on PostgreSQL each statement sees the newest, unless `see_one_state` is called.
    """
    with explained(), Session(engine, expire_on_commit=False, autoflush=False) as session:
        yield session
        # closing would roll back, and at a rollback psycopg drops the prepared statements of its connection
        session.expunge_all()
        session.commit()


def see_one_state(session: Session) -> None:
    """Makes all later reads of the session see one state of the database; call it before the first query."""
    if session.get_bind().dialect.name != "sqlite":  # SQLite shows a transaction one state anyway
        session.connection(execution_options={"isolation_level": "REPEATABLE READ"})


@contextmanager
def writing(engine: Engine) -> Iterator[Session]:
    """A session whose changes are committed together at the end, or not at all. Raises DatabaseUnavailable."""
    with explained(), _to_write(engine) as connection, Session(connection, expire_on_commit=False) as session:
        yield session
        commit(session)


@contextmanager
def _to_write(engine: Engine) -> Iterator[Connection]:
    """A connection for write transactions: on SQLite they take turns and lock the file from the beginning.

    The connection comes first: where all are in use, waiting for one must not keep others from writing.
    """
    with engine.connect() as connection, turn() if engine.dialect.name == "sqlite" else nullcontext():
        facts = connection.info
        facts[WRITES] = True
        try:
            yield connection
        finally:
            del facts[WRITES]


def commit(session: Session) -> None:
    """Writes what the transaction has recorded into the event log, and commits."""
    events.write_pending(session)
    session.commit()


def wait_for_others(session: Session, name: str) -> None:
    """Waits for the end of other transactions that called this with the same name; later ones wait for this one.

    Needed where there is no row to lock yet, such as before a first try. On SQLite writers take turns anyway.
    """
    if session.get_bind().dialect.name == "postgresql":
        key = int.from_bytes(sha256(name.encode("utf-8", "surrogatepass")).digest()[:8], signed=True)
        session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": key})


@contextmanager
def one_statement(engine: Engine) -> Iterator[Connection]:
    """A connection for a single statement that writes: a fraction of the cost of a session.

    On PostgreSQL it commits by itself, which saves the round trips of BEGIN and COMMIT. Raises DatabaseUnavailable.
    """
    if engine.dialect.name == "postgresql":
        with explained(), autocommitting(engine).connect() as connection:
            yield connection
    else:
        with explained(), _to_write(engine) as connection, connection.begin():
            yield connection


@lru_cache(maxsize=8)
def autocommitting(engine: Engine) -> Engine:
    """The engine, with connections on which each statement commits by itself."""
    return engine.execution_options(isolation_level="AUTOCOMMIT")


def answers(engine: Engine) -> bool:
    """Whether the database can be reached."""
    try:
        with explained(), engine.connect() as connection:
            connection.execute(text("SELECT 1"))
    except DatabaseUnavailable:
        return False
    return True


def lock_server(engine: Engine) -> IO[str] | None:
    """Refuse a second server, or a writing command while a server runs, on one SQLite file."""
    if engine.dialect.name != "sqlite":
        return None
    path = sqlite_path(str(engine.url))
    lock = path.with_suffix(".lock")
    place = host.noted(lock)
    last = f" The app was last started at {place.address}." if place else ""
    handle = host.lock_file(
        lock,
        f"Another Triptych is using {path.name}: stop the app first, or wait for the command or script that is using "
        f"it."
        f"{last} Commands that only read, and scripts, work while the app runs; several processes need PostgreSQL.",
    )
    # of an app that was killed: scripts would send their calls to its port, which may be another user's by now
    with suppress(OSError):
        path.with_name(host.RUNNING).unlink(missing_ok=True)
    return handle


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
    return connection.execute(select(VERSION.c.version_num)).scalar()


def migrate(engine: Engine) -> None:
    """Upgrades the database to this program's schema, after a backup; if that fails, the old file is restored.

    Raises UnsafeDatabase for a database of a newer program.
    """
    if engine.dialect.name == "sqlite" and not sqlite_path(str(engine.url)).exists():
        # SQLite itself would give the group no permissions, whatever the umask allows
        sqlite_path(str(engine.url)).touch(0o666)
    version = stored_version(engine)
    _refuse_newer(version)
    if version == HEAD:
        return
    if engine.dialect.name != "sqlite" or version is None:
        _upgrade(engine)
        return
    path = sqlite_path(str(engine.url))
    saved = _saved_before(path)
    try:
        _upgrade(engine)
    except Exception:
        engine.dispose()
        copy_sqlite(saved, path)
        raise


def _saved_before(path: Path) -> Path:
    """A copy of an SQLite file from before its upgrade; after a failed attempt it is the one made then."""
    name = f"{path.stem}-before-{HEAD}-"
    earlier = [copy for copy in path.parent.glob(f"{escape(name)}*.db") if copy.is_file() and os.access(copy, os.R_OK)]
    saved = path.with_name(f"{name}{clock.now():%Y%m%d-%H%M%S}.db")
    part = saved.with_suffix(".part.db")
    part.touch(0o666, exist_ok=False)  # SQLite would follow a link that somebody laid there, to another database
    try:
        with explained():
            copy_sqlite(path, part)
        same = next((copy for copy in earlier if have_same_pages(copy, part)), None)
        return same or part.rename(saved)
    finally:
        part.unlink(missing_ok=True)


def _upgrade(engine: Engine) -> None:
    with _migrating(engine) as connection:
        version = _version(connection)
        if version is None:
            _create(connection)
        elif version != HEAD:
            _run_migrations(connection, HEAD)
            with _places_named(connection):
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
    from alembic.util import CommandError

    try:
        with _migrating(engine) as connection:
            _run_migrations(connection, version)
    except CommandError as error:
        raise UnsafeDatabase(f"There is no version {version!r} of the database") from error


def _run_migrations(connection: Connection, target: str) -> None:
    # alembic takes a third of a second to import and is needed at most once per release
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    with _alembic_lock:
        command.upgrade(config, target)


def _record_baselines(connection: Connection) -> None:
    """Record the current state of all rows that older events of a study's log do not contain, for every study."""
    session = Session(connection)
    for study_id in session.scalars(select(Study.id).order_by(Study.id)).all():
        events.record_baseline(session, study_id)
        events.write_pending(session)


@contextmanager
def _places_named(connection: Connection) -> Iterator[None]:
    """Raises UnsafeDatabase, with table, row and column, for a stored value that cannot be read."""
    try:
        yield
    except (*events.UNREADABLE, OperationalError) as error:
        # on SQLite also a text that is not UTF-8; on PostgreSQL nothing can be read after an error of its own
        if isinstance(error, OperationalError) and (connection.dialect.name != "sqlite" or is_unavailable(error)):
            raise
        places = list(islice(unreadable(connection), NAMED_PLACES))
        if not places:
            raise
        raise UnsafeDatabase(
            f"The database was not upgraded and is unchanged. {' '.join(places)} Correct this in the database with "
            "another program, then try again."
        ) from error


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
