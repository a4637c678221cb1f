"""Connections to the database: engines with our settings, transactions to read or write, and the turns of writers.

SQLite: WAL, full synchronous, foreign keys on, BEGIN IMMEDIATE for writes, and one lock around write transactions
of this process: without it threads starve each other (22 s at worst were measured), and the WAL-reset race of
SQLite below 3.51.3 cannot happen inside one process.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from sqlalchemy import Connection, Dialect, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import DisconnectionError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection
from sqlmodel import Session

from triptych import clock, settings
from triptych.errors import NotAllowed, UnsafeDatabase
from triptych.languages.language import _
from triptych.storage import events, host, outputs
from triptych.storage.sqlite_files import COMPANIONS, MALFORMED, FileInUse, companion
from triptych.storage.unavailable import BUSY, DatabaseBusy, DatabaseUnavailable, explained

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
# give up on an unreachable server after seconds, not after TCP's minutes
POSTGRES = {
    "connect_timeout": 5,
    "keepalives_idle": 30,
    "tcp_user_timeout": 15000,
    "application_name": "triptych",
    "prepare_threshold": 1,
    "client_encoding": "UTF8",  # whatever the role or the environment sets: texts have any characters
}
POSTGRES_POOL, POSTGRES_OVERFLOW = 10, 20  # connections of one process; docs/deploying.md adds them up
SETTINGS = """
SET random_page_cost = 1.1; SET datestyle = ISO; SET extra_float_digits = 1;
SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3;
SET tcp_user_timeout = 60000;
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'
"""
WAITING = "Another program is using the database. Waiting for it for up to a minute."
DRIVERS = ("sqlite", "sqlite+pysqlite", "postgresql", "postgresql+psycopg")
NO_ADDRESS = (
    " is not the address of a database. Write postgresql://USER:PASSWORD@HOST/NAME or sqlite:///FILE. Write @ and % in "
    "user or password as %40 and %25."
)
TAKEN = (
    "Another Triptych may be using this database, since its lock file was deleted. What was saved is safe. The people "
    "who run the app must stop one of the two."
)
log = logging.getLogger("triptych.storage.database")
write_lock = threading.Lock()
_holding = threading.Lock()


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
        address = make_url(url)
        backend = address.get_backend_name()
        if backend not in ("sqlite", "postgresql"):
            raise UnsafeDatabase(f"Triptych stores its data in SQLite or PostgreSQL; {backend}:// is not one of them.")
        if address.drivername not in DRIVERS:
            raise _no_address(url)
        _arguments, options = address.get_dialect()().create_connect_args(address)
    except (SQLAlchemyError, ValueError) as error:  # ValueError: of a port or an option
        raise _no_address(url) from error
    has_no_file = backend == "sqlite" and address.database in (None, "", ":memory:")
    if has_no_file or "%00" in url or (backend == "postgresql" and not _are_options(options)):
        raise _no_address(url)
    return backend


def _no_address(url: str) -> UnsafeDatabase:
    """The refusal of an address; it quotes nothing, as a misread address may show a part of the password."""
    is_set = not settings.uses_own_file() and url == settings.database_url()
    return UnsafeDatabase(f"{settings.DATABASE if is_set else 'This'}{NO_ADDRESS}")


def _are_options(options: MutableMapping[str, Any]) -> bool:
    """Whether PostgreSQL's driver accepts these options of an address."""
    from psycopg import ProgrammingError  # installed for PostgreSQL only
    from psycopg.conninfo import make_conninfo

    try:
        make_conninfo(**{name: options[name] for name in options.keys() - POSTGRES.keys()})
    except ProgrammingError:
        return False
    return True


def open_engine(url: str) -> Engine:
    """An engine with our settings on every connection.

    Raises UnsafeDatabase for an unsafe folder, another kind of database, or one of another user or behind their link.
    """
    if backend_of(url) == "postgresql":
        engine = create_engine(
            url,
            pool_size=POSTGRES_POOL,
            max_overflow=POSTGRES_OVERFLOW,
            pool_timeout=10,
            pool_use_lifo=True,  # the connection used last has the most prepared statements
            connect_args=POSTGRES,
            hide_parameters=True,
        )
        event.listen(engine, "connect", _apply_settings)
        event.listen(engine, "connect", _go_by_its_clock)
        event.listen(engine, "checkin", _rest)
        event.listen(engine, "checkout", partial(_make_sure, engine.dialect))
        return engine
    if not host.is_administrator() and not settings.group_may():
        _refuse_foreign_links(url)
    path = sqlite_path(url)
    host.refuse_unsafe_folder(path.parent)
    # SQLite applies a write-ahead log, deletes any file that a journal names, and waits for a pipe in the place of its
    # shared memory
    for used in filter(Path.exists, [path.parent, path, *(companion(path, ending) for ending in COMPANIONS)]):
        host.refuse_foreign(used)
    engine = create_engine(
        url,
        pool_size=20,
        max_overflow=40,
        pool_timeout=10,
        connect_args={"timeout": 10, "check_same_thread": False},
        hide_parameters=True,  # error messages must not contain what people wrote
    )
    event.listen(engine, "connect", _apply_pragmas)
    FileInUse(Path(engine.url.database or "")).watch(engine)
    # an event listener on the engine would make SQLAlchemy look for listeners at every statement
    setattr(engine.dialect, "do_begin", _begin)  # noqa: B010 (mypy forbids assigning to a method)
    return engine


def _apply_settings(connection: Any, _: object) -> None:
    """Tells the planner that the rows are in memory or on an SSD, since it reads small tables whole otherwise; and the
    server to write dates as the driver reads them, all digits of numbers, and to disk what it acknowledges, whatever
    the database or the role sets; and to give up the locks of a computer that lost power or its network after a minute
    instead of TCP's two hours.
    """
    connection.autocommit = True  # a rollback would undo the settings
    connection.execute(SETTINGS)
    connection.autocommit = False


def _go_by_its_clock(connection: Any, _: object) -> None:
    """Sets this process's clock by the server's, in one round trip outside a transaction."""
    connection.autocommit = True
    clock.go_by(lambda: connection.execute("SELECT pg_catalog.clock_timestamp()").fetchone()[0])
    connection.autocommit = False


def _rest(_: object, record: ConnectionPoolEntry) -> None:
    record.info["resting since"] = time.monotonic()


def _make_sure(dialect: Dialect, connection: Any, record: ConnectionPoolEntry, _: object) -> None:
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


def _refuse_foreign_links(url: str) -> None:
    """Raises UnsafeDatabase if a link of another user leads to the SQLite file, which they could read or exchange."""
    try:
        outputs.without_links(Path(make_url(url).database or ""))
    except NotAllowed as error:
        raise UnsafeDatabase(str(error)) from error


def _apply_pragmas(connection: sqlite3.Connection, _: object) -> None:
    """Applies our settings and checks that SQLite accepted each of them."""
    connection.isolation_level = None
    for name, value in PRAGMAS.items():
        try:
            connection.execute(f"PRAGMA {name}={value}")
        except UnicodeDecodeError as error:  # of SQLite's message, which quotes a damaged definition
            raise sqlite3.DatabaseError(MALFORMED) from error
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
        raise DatabaseBusy(_(BUSY))
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


def hold(lock: IO[str]) -> None:
    """Lock the file again if somebody deleted it. Raises DatabaseUnavailable if another program was faster."""
    with _holding:
        if os.fstat(lock.fileno()).st_nlink:
            return
        lock.seek(0)
        try:
            with host.lock_file(Path(lock.name), TAKEN) as again:
                again.write(lock.read())
                os.dup2(again.fileno(), lock.fileno())
        except UnsafeDatabase as error:
            raise DatabaseUnavailable(TAKEN) from error
