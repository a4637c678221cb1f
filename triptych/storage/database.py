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
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache, partial
from glob import escape
from hashlib import sha256
from itertools import islice, zip_longest
from pathlib import Path
from secrets import token_hex
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
    delete,
    event,
    insert,
    inspect,
    make_url,
    select,
    text,
)
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, DisconnectionError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolExhausted
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection
from sqlmodel import Session

from triptych import clock, settings
from triptych.errors import NotAllowed, NotFound, TriptychError, UnsafeDatabase
from triptych.storage import events, host
from triptych.storage.models import Base, Setting, Study
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
WIPE_DUE = "wipe due "  # prefix of keys of settings
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
# the file is busy, full, damaged by its disk, read-only or missing: errors that a command cannot fix
SQLITE_UNAVAILABLE = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
}
UNREACHABLE, BUSY, FULL, READ_ONLY = (
    f"{reason}. What was saved is safe, and what you wrote since is kept in this browser. Leave this page open; it "
    f"goes on as soon as {remedy}."
    for reason, remedy in (
        ("The database does not answer at the moment", "the database is back"),
        ("The database is busy: another program holds it", "that program is done"),
        ("The disk of the database is full", "there is room again; the people who run the app must make some"),
        ("The database is read-only", "it can be written to; the people who run the app must see to that"),
    )
)
COLLIDED = "Somebody changed the same data at the same moment, so nothing was stored. Try it again."
WAITING = "Another program is using the database. Waiting for it for up to a minute."
# by SQLite's code or PostgreSQL's state (out of disk, a read-only transaction, a transaction that could not be
# serialised, a deadlock)
SENTENCES: dict[int | str, str] = {
    sqlite3.SQLITE_BUSY: BUSY,
    sqlite3.SQLITE_FULL: FULL,
    sqlite3.SQLITE_READONLY: READ_ONLY,
    "53100": FULL,
    "25006": READ_ONLY,
    "40001": COLLIDED,
    "40P01": COLLIDED,
}
SAFE_SQLITE = (3, 51, 3)
SQLITE_HEADER = 100  # bytes, with counters of changes
NAMED_PLACES = 10  # unreadable values in one message
NO_ADDRESS = "This is not the address of a database. Write postgresql://USER:PASSWORD@HOST/NAME or sqlite:///FILE."
log = logging.getLogger("triptych.storage.database")
_write_lock = threading.Lock()
_alembic_lock = threading.Lock()  # it keeps the connection that it migrates in a global


class DatabaseUnavailable(TriptychError):
    """The database cannot be reached or cannot store; nothing of this command was stored."""


class DatabaseBusy(DatabaseUnavailable):
    """Others held the database for too long, or changed the same data; nothing of this command was stored."""


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
    if not _write_lock.acquire(timeout=QUEUE_SECONDS + _patience.seconds):
        raise DatabaseBusy(BUSY)
    try:
        yield
    finally:
        _write_lock.release()


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
        with explained(), _by_itself(engine).connect() as connection:
            yield connection
    else:
        with explained(), _to_write(engine) as connection, connection.begin():
            yield connection


class Wiped(StrEnum):
    """What `wipe` achieved."""

    done = "done"
    somebody_reads = "somebody reads"
    failed = "failed"
    not_ours = "not ours"


def note_due_wipe(session: Session) -> None:
    """Stores, together with an erasure, that `wipe` has to follow, so that the next start does it after a kill.

    Each has its own key, since one that comes while the files are rewritten has to stay.
    """
    session.execute(insert(Setting).values(key=f"{WIPE_DUE}{token_hex(8)}", value=clock.now().isoformat()))


def due_wipes(engine: Engine) -> Sequence[str]:
    """The keys of erasures since the last `wipe`."""
    with reading(engine) as session:
        return session.scalars(select(Setting.key).where(Setting.key.startswith(WIPE_DUE))).all()


def wipe(engine: Engine, tables: Sequence[str]) -> Wiped:
    """Removes all traces of deleted rows from the database's files, unless somebody is reading them.

    SQLite: the file is rewritten and the write-ahead log truncated. PostgreSQL: the tables are rewritten, which only
    their owner may do; traces in its write-ahead log and archive disappear with their rotation. Raises
    DatabaseUnavailable.
    """
    due = due_wipes(engine)
    outcome = _wipe_on_postgres(engine, tables) if engine.dialect.name == "postgresql" else _wipe_on_sqlite(engine)
    if due and outcome in (Wiped.done, Wiped.not_ours):
        with writing(engine) as session:
            session.execute(delete(Setting).where(Setting.key.in_(due)))
    return outcome


def _wipe_on_sqlite(engine: Engine) -> Wiped:
    with explained(), engine.connect() as connection, _write_lock:
        raw = _driver_connection(connection)
        raw.execute("VACUUM")
        busy, *_ = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return Wiped.somebody_reads if busy else Wiped.done


# PostgreSQL itself only warns and skips a table of another owner
_FOREIGN = text("SELECT count(*) FROM pg_class WHERE oid = to_regclass(:name) AND NOT pg_has_role(relowner, 'USAGE')")


def _wipe_on_postgres(engine: Engine, tables: Sequence[str]) -> Wiped:
    quote = engine.dialect.identifier_preparer.quote
    with explained(), _by_itself(engine).connect() as connection:
        if any(connection.execute(_FOREIGN, {"name": quote(name)}).scalar() for name in tables):
            return Wiped.not_ours
        for name in tables:
            connection.exec_driver_sql(" ".join(("VACUUM FULL", quote(name))))
    return Wiped.done


def _driver_connection(connection: Connection) -> Any:
    """The driver's own connection: sqlite3 or psycopg."""
    return connection.connection.driver_connection


@lru_cache(maxsize=8)
def _by_itself(engine: Engine) -> Engine:
    return engine.execution_options(isolation_level="AUTOCOMMIT")


@contextmanager
def explained() -> Iterator[None]:
    """Converts the various errors of an unavailable database to DatabaseUnavailable; other errors pass.

    Raises NotAllowed for a value that a column cannot store.
    """
    try:
        yield
    except DataError as error:
        raise NotAllowed("A character or number in it cannot be stored here. Nothing was stored.") from error
    except (DBAPIError, PoolExhausted, sqlite3.OperationalError) as error:
        if not is_unavailable(error):
            raise
        sentence = SENTENCES.get(_code(error), UNREACHABLE)
        unavailable = (DatabaseBusy if sentence in (BUSY, COLLIDED) else DatabaseUnavailable)(sentence)
        log.warning("%s (%s).", str(unavailable).partition(".")[0], type(getattr(error, "orig", error)).__name__)
        raise unavailable from error


def _code(error: DBAPIError | PoolExhausted | sqlite3.OperationalError) -> int | str:
    """SQLite's primary error code or PostgreSQL's SQLSTATE; "" where there is neither."""
    cause = getattr(error, "orig", error)
    code = getattr(cause, "sqlite_errorcode", None)
    return getattr(cause, "sqlstate", None) or "" if code is None else code & 0xFF


def answers(engine: Engine) -> bool:
    """Whether the database can be reached."""
    try:
        with explained(), engine.connect() as connection:
            connection.execute(text("SELECT 1"))
    except DatabaseUnavailable:
        return False
    return True


def is_unavailable(error: DBAPIError | PoolExhausted | sqlite3.OperationalError) -> bool:
    """Whether the error means that the database is missing or cannot store, not that it refused a statement."""
    if isinstance(error, PoolExhausted) or (isinstance(error, DBAPIError) and error.connection_invalidated):
        return True
    code = _code(error)
    if isinstance(code, int):
        return code in SQLITE_UNAVAILABLE
    # PostgreSQL: no connection at all (no state), connection lost, out of disk or memory, read-only, shutting or
    # starting up, in conflict with other transactions
    is_lost = not code and isinstance(error, OperationalError)
    return is_lost or code.startswith(("08", "53", "57P", "25006", "40001", "40P01"))


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


# From the catalogs, since information_schema hides from a role what it may not change. PostgreSQL's own functions and
# operators have numbers below 16384, and pg_depend does not list what depends on them.
_FOREIGN_IN_POSTGRES = """
WITH ours AS (
    SELECT tableoid, oid, relname, relkind, relrowsecurity FROM pg_class
    WHERE oid IN (SELECT to_regclass(name) FROM unnest(CAST(:tables AS text[])) AS name)
)
SELECT 'trigger', tgname FROM pg_trigger JOIN ours ON tgrelid = ours.oid WHERE NOT tgisinternal
UNION SELECT 'rule', rulename FROM pg_rewrite JOIN ours ON ev_class = ours.oid WHERE relkind = 'r'
UNION SELECT 'policy', polname FROM pg_policy JOIN ours ON polrelid = ours.oid
UNION SELECT 'row security of', relname FROM ours WHERE relrowsecurity
UNION SELECT 'child table', child.relname FROM pg_inherits JOIN ours ON inhparent = ours.oid
    JOIN pg_class AS child ON child.oid = inhrelid
UNION SELECT CASE relkind WHEN 'p' THEN 'partitioned table' WHEN 'f' THEN 'foreign table' ELSE 'view' END, relname
    FROM ours WHERE relkind <> 'r'
-- used by our columns, constraints, defaults and indexes
UNION SELECT type, identity FROM ours
    JOIN pg_depend AS part ON (part.classid, part.objid) = (ours.tableoid, ours.oid)
        OR (part.refclassid, part.refobjid, part.deptype) = (ours.tableoid, ours.oid, 'a')
    JOIN pg_depend AS used ON (used.classid, used.objid) = (part.classid, part.objid)
    CROSS JOIN pg_identify_object(used.refclassid, used.refobjid, 0)
    WHERE type IN ('function', 'operator', 'type', 'operator class', 'collation', 'access method')
-- found by a query in place of PostgreSQL's own
UNION SELECT 'function', CAST(CAST(oid AS regprocedure) AS text) FROM pg_proc AS found
    WHERE oid >= '16384' AND '16384' > ALL(proargtypes) AND pg_function_is_visible(oid)
        AND EXISTS (SELECT FROM pg_proc WHERE oid < '16384' AND proname = found.proname)
UNION SELECT 'operator', CAST(CAST(oid AS regoperator) AS text) FROM pg_operator
    WHERE oid >= '16384' AND oprleft < '16384' AND oprright < '16384' AND pg_operator_is_visible(oid)
        AND oprname IN ('=', '<>', '<', '<=', '>', '>=')
UNION SELECT 'search path', pg_catalog.current_setting('search_path')
    WHERE (pg_catalog.current_schemas(true))[1] OPERATOR(pg_catalog.<>) 'pg_catalog'
ORDER BY 1 DESC, 2
"""
_FOREIGN_PARTS = {
    # with writable_schema a type can be in capitals
    "sqlite": text("SELECT type, name FROM sqlite_master WHERE type NOT IN ('table', 'index') ORDER BY name"),
    "postgresql": text(_FOREIGN_IN_POSTGRES).bindparams(tables=[*Base.metadata.tables, VERSION.name]),
}


def foreign_parts(connection: Connection) -> list[str]:
    """A sentence about each trigger, view, rule and the like: they change or hide rows, and this program creates none.

    On PostgreSQL those that affect our tables or queries; others may have views of their own there.
    """
    parts = connection.execute(_FOREIGN_PARTS[connection.dialect.name])
    return [f"The database has the {kind} {name!r}, which this program never creates." for kind, name in parts]


_SCHEMA = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"
_FRAGMENT_ENDS = re.compile("[(),]")
LONGEST_STATEMENT = 10_000  # characters that define a table
MAX_STEPS = 100_000  # of SQLite, to read which tables there are


def unknown_parts(path: Path, *ours: Path) -> list[str]:
    """A sentence about each table, index or view of an SQLite file with a part that is in none of our databases.

    A view, column, index or constraint that computes something can take any amount of memory and time when it is used;
    nothing but the schema is read here. Raises sqlite3.Error for a schema much longer than ours.
    """
    # parts of our own may still be in their write-ahead logs, if the disk is full
    written = [_fragments(closing(sqlite3.connect(own))) for own in ours]
    unknown = _fragments(unchanged(path)).difference(*written)
    return [
        f"The database has the {kind} {name!r} in a form which this program never creates."
        for kind, name in sorted({(kind, name) for kind, name, _ in unknown})
    ]


def _fragments(opened: AbstractContextManager[sqlite3.Connection]) -> set[tuple[str, str, str]]:
    """(type, name, part) of all that a file defines, in no order, which depends on the migrations that were run.

    Parts are the pieces of the SQL definition between brackets and commas.
    """
    with opened as file:
        file.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, LONGEST_STATEMENT)
        file.set_progress_handler(lambda: 1, MAX_STEPS)
        return {
            (kind, name, " ".join(fragment.split()))
            for kind, name, sql in file.execute(_SCHEMA)
            for fragment in _FRAGMENT_ENDS.split(sql)
        }


def damage(connection: Connection) -> list[str]:
    """A sentence about each inconsistency in an SQLite file, such as an index that hides rows from some queries."""
    if connection.dialect.name != "sqlite":
        return []
    answer = connection.execute(text("PRAGMA integrity_check(1)")).scalar()
    return [] if answer == "ok" else [f"The database file is damaged or was edited: {answer}."]


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
        same = next((copy for copy in earlier if _has_same_pages(copy, part)), None)
        return same or part.rename(saved)
    finally:
        part.unlink(missing_ok=True)


def _has_same_pages(copy: Path, other: Path) -> bool:
    """Whether two SQLite files differ in nothing but their headers."""
    with copy.open("rb") as one, other.open("rb") as two:
        one.seek(SQLITE_HEADER)
        two.seek(SQLITE_HEADER)
        blocks = zip_longest(*(iter(partial(file.read, 2**20), b"") for file in (one, two)))
        return all(mine == theirs for mine, theirs in blocks)


@contextmanager
def unchanged(path: Path) -> Iterator[sqlite3.Connection]:
    """Open an SQLite file alone, ignoring files next to it; it may be on a read-only disk."""
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as file:
        # a stored value is not longer than its file, but a computed one could take a gigabyte
        file.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, path.stat().st_size + 1000)
        yield file


_COMPUTING = re.compile(r"\b(AS|VIRTUAL)\b", re.IGNORECASE)  # in views, computed columns and virtual tables


def refuse_computing(file: sqlite3.Connection) -> None:
    """Raises sqlite3.DatabaseError for a file whose tables compute something when they are read.

    One call of a function may take hours, which no number of steps limits.
    """
    definitions = file.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
    if any(_COMPUTING.search(str(sql)) for (sql,) in definitions):
        raise sqlite3.DatabaseError("a table may compute without end")


def copy_sqlite(source: Path, target: Path) -> None:
    """Makes a consistent copy with SQLite's backup interface, and checks it. Raises UnsafeDatabase."""
    copy_pages(source, target)
    refuse_damaged(target, source.name)


def copy_pages(source: Path, target: Path) -> None:
    """Makes a consistent copy, of which nothing but pages is read."""
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)


def refuse_damaged(copy: Path, name: str) -> None:
    """Raises UnsafeDatabase for a damaged copy of the file of this name, or one that the app's connections cannot read.

    The check computes what its tables define.
    """
    with closing(sqlite3.connect(copy)) as file:
        encoding = file.execute("PRAGMA encoding").fetchone()[0]
        answer = file.execute("PRAGMA integrity_check").fetchone()[0]
    if encoding != "UTF-8":
        raise UnsafeDatabase(f"{name} has its texts in {encoding}, but the app reads and writes UTF-8.")
    if answer != "ok":
        raise UnsafeDatabase(f"The copy of {name} is damaged: {answer}.")


def overwrite_sqlite(engine: Engine, source: Path) -> None:
    """Replaces the database's content with that of the file, in one transaction of SQLite's backup interface.

    A concurrent reader sees one state or the other. To be called within `turn`. Raises DatabaseUnavailable.
    """
    with explained(), engine.connect() as connection, closing(sqlite3.connect(source)) as new:
        new.backup(_driver_connection(connection))


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
        raw = _driver_connection(connection)
        raw.execute("PRAGMA foreign_keys=0")
        try:
            with connection.begin():
                yield connection
                lost = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
                if lost:
                    raise UnsafeDatabase(f"The new schema would lose {len(lost)} rows, the first in {lost[0][0]}.")
        finally:
            raw.execute("PRAGMA foreign_keys=1")
