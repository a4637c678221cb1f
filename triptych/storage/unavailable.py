"""The errors of a database that cannot be reached or cannot store, and the sentences that users read about them.

After an action in the workbench, `UNREACHED` of its `desk.js` is shown instead.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DataError, DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolExhausted

from triptych.errors import NotAllowed, TriptychError
from triptych.languages.language import _, message

# the file is busy, full, damaged by its disk, read-only or missing: errors that a command cannot fix
SQLITE_UNAVAILABLE = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
}
UNREACHABLE = message(
    "The database does not answer at the moment. What was saved is safe, and what you wrote since is kept in this "
    "browser. Leave this page open; it goes on as soon as the database is back."
)
BUSY = message(
    "The database is busy: another program holds it. What was saved is safe, and what you wrote since is kept in this "
    "browser. Leave this page open; it goes on as soon as that program is done."
)
FULL = message(
    "The disk of the database is full. What was saved is safe, and what you wrote since is kept in this browser. Leave "
    "this page open; it goes on as soon as there is room again; the people who run the app must make some."
)
READ_ONLY = message(
    "The database is read-only. What was saved is safe, and what you wrote since is kept in this browser. Leave this "
    "page open; it goes on as soon as it can be written to; the people who run the app must see to that."
)
COLLIDED = message("Somebody changed the same data at the same moment, so nothing was stored. Try it again.")
# by SQLite's code or PostgreSQL's state (out of disk, a read-only transaction, a transaction that could not be
# serialised, a deadlock, a lock that was not granted in time)
SENTENCES: dict[int | str, str] = {
    sqlite3.SQLITE_BUSY: BUSY,
    sqlite3.SQLITE_FULL: FULL,
    sqlite3.SQLITE_READONLY: READ_ONLY,
    "53100": FULL,
    "25006": READ_ONLY,
    "40001": COLLIDED,
    "40P01": COLLIDED,
    "55P03": BUSY,
}
log = logging.getLogger("triptych.storage.database")


class DatabaseUnavailable(TriptychError):
    """The database cannot be reached or cannot store.

    Nothing of this command was stored, or all of it if the connection was lost before PostgreSQL confirmed the commit.
    """


class DatabaseBusy(DatabaseUnavailable):
    """Others held the database for too long, or changed the same data; nothing of this command was stored."""


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
        refuse_unavailable(error)
        raise


def refuse_unavailable(error: DBAPIError | PoolExhausted | sqlite3.OperationalError) -> None:
    """Raises DatabaseUnavailable if that is what the error means."""
    if not is_unavailable(error):
        return
    sentence = SENTENCES.get(_code(error), UNREACHABLE)
    log.warning("%s (%s).", sentence.partition(".")[0], type(getattr(error, "orig", error)).__name__)
    raise (DatabaseBusy if sentence in (BUSY, COLLIDED) else DatabaseUnavailable)(_(sentence)) from error


def is_damaged(error: BaseException) -> bool:
    """Whether SQLite found pages that it cannot read, as after another program wrote to the file."""
    return isinstance(error, DBAPIError) and _code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _code(error: DBAPIError | PoolExhausted | sqlite3.OperationalError) -> int | str:
    """SQLite's primary error code, 0 for an error of Python's own, such as a text that is not UTF-8; or PostgreSQL's
    SQLSTATE, "" if there is none.
    """
    cause = getattr(error, "orig", error)
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", 0) & 0xFF
    return getattr(cause, "sqlstate", None) or ""


def is_unavailable(error: DBAPIError | PoolExhausted | sqlite3.OperationalError) -> bool:
    """Whether the error means that the database is missing or cannot store, not that it refused a statement."""
    if isinstance(error, PoolExhausted) or (isinstance(error, DBAPIError) and error.connection_invalidated):
        return True
    code = _code(error)
    if isinstance(code, int):
        return code in SQLITE_UNAVAILABLE
    # PostgreSQL: no connection at all (no state), connection lost, out of disk or memory, read-only, shutting or
    # starting up, in conflict with other transactions, a lock that was not granted or a statement that was cancelled
    is_lost = not code and isinstance(error, OperationalError)
    return is_lost or code.startswith(("08", "53", "57P", "25006", "40001", "40P01", "55P03", "57014"))
