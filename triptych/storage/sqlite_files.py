"""An SQLite file by itself: reading, copying and overwriting it, and looking for damage."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.pool import ConnectionPoolEntry

from triptych.errors import UnsafeDatabase
from triptych.languages.language import _
from triptych.storage.unavailable import UNREACHABLE, DatabaseUnavailable, explained

SIGNATURE = b"SQLite format 3\0"
LOG, JOURNAL = JOURNALS = "-wal", "-journal"  # endings of files next to a database with rows that are not in it yet
COMPANIONS = ("-shm", *JOURNALS)  # endings of all files that SQLite writes next to a database
SQLITE_HEADER = 100  # bytes, with counters of changes
MALFORMED = "malformed database schema"  # as SQLite says it
MOVED = (
    "The database file or its write-ahead log was deleted or replaced during use. Put it back, or start the app again."
)
MAX_STEPS = 100_000  # of SQLite, to read which tables there are
log = logging.getLogger("triptych.storage.database")


class DamagedFile(UnsafeDatabase):
    """SQLite's check of a copy finds damage, in pages or values, which the original has, too."""


@dataclass
class FileInUse:
    """The file that an engine opened first. identity: its device and number there; None until then.

    logs: the same of its write-ahead log, for each open connection, which keeps that in its place.

    SQLite goes on writing to a file that was deleted or replaced, and all that is stored there is lost at the end. A
    new connection would apply the write-ahead log to the file in its place, and damage that.
    """

    path: Path
    identity: tuple[int, int] | None = None
    logs: dict[ConnectionPoolEntry, tuple[int, int] | None] = field(default_factory=dict)
    is_missing: bool = False

    @cached_property
    def log_file(self) -> Path:
        return companion(Path(os.path.realpath(self.path)), LOG)

    def watch(self, engine: Engine) -> None:
        """Makes the engine refuse all connections while another file, or none, is in the place of its own.

        To be called after what else listens for new connections, since the first read makes the write-ahead log.
        """
        event.listen(engine, "do_connect", self._refuse_another)
        event.listen(engine, "connect", self._note)
        event.listen(engine, "checkout", self._refuse_another)
        event.listen(engine, "close", self._forget)

    def _note(self, _connection: object, record: ConnectionPoolEntry) -> None:
        self.identity = self.identity or identity(self.path)
        self.logs[record] = identity(self.log_file)

    def _forget(self, _connection: object, record: ConnectionPoolEntry) -> None:
        """SQLite deletes the write-ahead log with the last connection only."""
        self.logs.pop(record, None)

    def _refuse_another(self, *_arguments: object) -> None:
        was_missing, self.is_missing = self.is_missing, self._is_another()
        if self.is_missing and not was_missing:
            log.error(MOVED)
        if self.is_missing:
            raise DatabaseUnavailable(_(UNREACHABLE))

    def _is_another(self) -> bool:
        if self.identity is not None and identity(self.path) != self.identity:
            return True
        logs = {*self.logs.copy().values()} - {None}
        return bool(logs) and logs != {identity(self.log_file)}


def companion(path: Path, ending: str) -> Path:
    """The path of the file with this ending next to a database."""
    return path.with_name(f"{path.name}{ending}")


def journals(path: Path) -> list[Path]:
    return [companion(path, ending) for ending in JOURNALS]


def identity(path: Path) -> tuple[int, int] | None:
    """What all names of a file share: its device and number there; None if there is no file."""
    try:
        entry = path.stat()
    except OSError:
        return None
    return entry.st_dev, entry.st_ino


@contextmanager
def unchanged(path: Path) -> Iterator[sqlite3.Connection]:
    """Open an SQLite file alone, ignoring files next to it; it may be on a read-only disk."""
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as file:
        # a stored value is not longer than its file, but a computed one could take a gigabyte
        file.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, path.stat().st_size + 1000)
        try:
            yield file
        except UnicodeDecodeError as error:  # of SQLite's message, which quotes a damaged definition
            raise sqlite3.DatabaseError(MALFORMED) from error


def copy_sqlite(source: Path, target: Path) -> None:
    """Makes a consistent copy with SQLite's backup interface, and checks it. Raises UnsafeDatabase."""
    copy_pages(source, target)
    refuse_damaged(target, source.name)


def copy_pages(source: Path, target: Path) -> None:
    """Makes a consistent copy, of which nothing but pages is read."""
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)


def overwrite_sqlite(engine: Engine, source: Path) -> None:
    """Replaces the database's content with that of a private file, in one transaction of SQLite's backup interface.

    A concurrent reader sees one state or the other. To be called within `turn`. Raises DatabaseUnavailable.
    """
    with explained(), engine.connect() as connection, closing(sqlite3.connect(source)) as new:
        current = driver_connection(connection)
        (page_size,) = current.execute("PRAGMA page_size").fetchone()
        if new.execute("PRAGMA page_size").fetchone() != (page_size,):  # SQLite would call the database read-only
            new.execute("PRAGMA journal_mode=delete")
            new.execute(f"PRAGMA page_size={page_size}")
            new.execute("VACUUM")
        new.backup(current)


def driver_connection(connection: Connection) -> Any:
    """The connection of sqlite3 itself."""
    return connection.connection.driver_connection


def refuse_unfinished(path: Path) -> None:
    """Raises UnsafeDatabase if SQLite could not move all of its log into a file that was closed.

    SQLite says nothing of this: the disk is full, and the file lacks rows or is damaged.
    """
    log = companion(path, LOG)
    if log.exists() and log.stat().st_size:
        raise UnsafeDatabase("The copy is incomplete, since the disk of the data folder is full. Make some room first.")


def have_same_pages(copy: Path, other: Path) -> bool:
    """Whether two SQLite files differ in nothing but their headers."""
    with copy.open("rb") as one, other.open("rb") as two:
        one.seek(SQLITE_HEADER)
        two.seek(SQLITE_HEADER)
        blocks = zip_longest(*(iter(partial(file.read, 2**20), b"") for file in (one, two)))
        return all(mine == theirs for mine, theirs in blocks)


def refuse_damaged(copy: Path, name: str) -> None:
    """Raises DamagedFile for a damaged copy of the file of this name, UnsafeDatabase for one that the app cannot read.

    The check computes what its tables define.
    """
    with closing(sqlite3.connect(copy)) as file:
        encoding = file.execute("PRAGMA encoding").fetchone()[0]
        answer = file.execute("PRAGMA integrity_check").fetchone()[0]
    if encoding != "UTF-8":
        raise UnsafeDatabase(f"{name} has its texts in {encoding}, but the app reads and writes UTF-8.")
    if answer != "ok":
        raise DamagedFile(f"The copy of {name} is damaged: {answer}.")


def damage(connection: Connection) -> list[str]:
    """A sentence about each inconsistency in an SQLite file, such as an index that hides rows from some queries."""
    if connection.dialect.name != "sqlite":
        return []
    answer = connection.execute(text("PRAGMA integrity_check(1)")).scalar()
    return [] if answer == "ok" else [f"The database file is damaged or was edited: {answer}."]


def ownerless(connection: Connection, tables: Iterable[str]) -> Iterator[str]:
    """A sentence about each row in an SQLite file that refers to a missing row, so that it will belong to the next row
    of that number. To be called only for tables in the program's own form.
    """
    for table in tables if connection.dialect.name == "sqlite" else ():
        for _table, row, parent, _key in connection.execute(text(f'PRAGMA foreign_key_check("{table}")')):
            yield f"{table} {row}: it refers to a row of {parent} that is not there."
