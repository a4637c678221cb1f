"""Removes the traces of deleted rows from the files of the database, after an erasure."""

from __future__ import annotations

import time
from collections.abc import Sequence
from enum import StrEnum
from secrets import token_hex
from threading import Lock
from weakref import WeakKeyDictionary

from sqlalchemy import Engine, delete, insert, select, text
from sqlmodel import Session

from triptych import clock
from triptych.storage.database import autocommitting, reading, write_lock, writing
from triptych.storage.models import Setting
from triptych.storage.sqlite_files import driver_connection
from triptych.storage.unavailable import explained

WIPE_DUE = "wipe due "  # prefix of keys of settings
PAUSE = 50  # times as long as the files were rewritten, in which nobody else could write
SHORT_SECONDS = 0.2  # after this there is no pause
_rewriting = Lock()
_paused_until: WeakKeyDictionary[Engine, float] = WeakKeyDictionary()


class Wiped(StrEnum):
    """What `wipe` achieved. later: it was done a moment ago, or is being done; what came since stays due."""

    done = "done"
    later = "later"
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


def wipe_with_pauses(engine: Engine, tables: Sequence[str]) -> Wiped:
    """As `wipe`, for the database of a running app: anybody may join an open study, withdraw, and begin again."""
    if not _rewriting.acquire(blocking=False):
        return Wiped.later
    began = time.monotonic()
    try:
        return Wiped.later if began < _paused_until.get(engine, began) else wipe(engine, tables)
    finally:
        now = time.monotonic()
        if now - began > SHORT_SECONDS:
            _paused_until[engine] = now + PAUSE * (now - began)
        _rewriting.release()


def _wipe_on_sqlite(engine: Engine) -> Wiped:
    with explained(), engine.connect() as connection, write_lock:
        raw = driver_connection(connection)
        raw.execute("VACUUM")
        busy, *_ = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return Wiped.somebody_reads if busy else Wiped.done


# PostgreSQL itself only warns and skips a table of another owner
_FOREIGN = text("SELECT count(*) FROM pg_class WHERE oid = to_regclass(:name) AND NOT pg_has_role(relowner, 'USAGE')")
_FOREIGN_CATALOGUE = text(
    "SELECT count(*) FROM pg_database WHERE datname = current_database() AND NOT pg_has_role(datdba, 'USAGE')"
)


def _wipe_on_postgres(engine: Engine, tables: Sequence[str]) -> Wiped:
    quote = engine.dialect.identifier_preparer.quote
    with explained(), autocommitting(engine).connect() as connection:
        if any(connection.execute(_FOREIGN, {"name": quote(name)}).scalar() for name in tables):
            return Wiped.not_ours
        for name in tables:
            connection.exec_driver_sql(" ".join(("VACUUM (FULL, ANALYZE)", quote(name))))
        if connection.execute(_FOREIGN_CATALOGUE).scalar():
            return Wiped.not_ours
        # with the values that it samples for the planner of queries
        connection.exec_driver_sql("VACUUM FULL pg_statistic")
    return Wiped.done
