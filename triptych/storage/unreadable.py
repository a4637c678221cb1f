"""Stored values that cannot be read as their column's type, since somebody wrote them with another program."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any

from sqlalchemy import JSON, Column, Connection, Enum, Float, Integer, LargeBinary, Text, cast, select, type_coerce
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.types import NullType

from triptych.errors import UnsafeDatabase
from triptych.storage import events
from triptych.storage.models import Utc
from triptych.storage.rows import TABLES
from triptych.storage.unavailable import is_unavailable, refuse_unavailable

UNREADABLE = (*events.UNREADABLE, SQLAlchemyError)
NAMED_PLACES = 10  # unreadable values in one message


@contextmanager
def places_named(connection: Connection, outcome: str) -> Iterator[None]:
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
            f"{outcome} {' '.join(places)} Correct this in the database with another program, then try again."
        ) from error


@contextmanager
def reading_apart(connection: Connection) -> Iterator[None]:
    """For reads that may fail with one of UNREADABLE: later ones still work, which PostgreSQL allows after a savepoint.

    Nothing can be changed there, since a view that is read may run a function that would hide it from the check. Raises
    DatabaseUnavailable, which says nothing about the values.
    """
    try:
        with nullcontext() if connection.dialect.name == "sqlite" else connection.begin_nested():
            if connection.dialect.name == "postgresql":
                connection.exec_driver_sql("SET TRANSACTION READ ONLY")  # until the savepoint ends
            yield
    except DBAPIError as error:
        refuse_unavailable(error)
        raise


def unreadable(connection: Connection) -> Iterator[str]:
    """Values that cannot be read as their column's type, by table, row and column. Raises DatabaseUnavailable."""
    for table in TABLES.values():
        for column in table.columns:
            try:
                with reading_apart(connection):
                    yield from _unreadable_in(connection, column)
            except SQLAlchemyError:  # SQLite returns not even the bytes of a text that is invalid UTF-8
                yield f"{table.name}: {column.name} cannot be read."


def _unreadable_in(connection: Connection, column: Column[object]) -> Iterator[str]:
    table = column.table
    on_postgres = connection.dialect.name == "postgresql"
    as_stored = cast(column, Text) if on_postgres else type_coerce(column, NullType())
    keys = [type_coerce(part, NullType()) for part in table.primary_key.columns]
    read = _reader(connection, column)
    for *key, value in connection.execute(select(*keys, as_stored).where(column.is_not(None))):
        try:
            read(value)
        except UNREADABLE:
            yield f"{table.name} {', '.join(map(str, key))}: {column.name} cannot be read."


def _reader(connection: Connection, column: Column[object]) -> Callable[[Any], object]:
    """Reads a stored value, or on PostgreSQL its text: its driver reads times and JSON, and would end the query."""
    kind = column.type.dialect_impl(connection.dialect)
    if connection.dialect.name == "postgresql" and not isinstance(kind, Enum):
        return {Utc: datetime.fromisoformat, JSON: json.loads}.get(type(column.type), str)
    stored = {Integer: int, Float: float, LargeBinary: bytes}.get(type(column.type), str)
    return kind.result_processor(connection.dialect, None) or partial(_refuse_other_than, stored)


def _refuse_other_than(stored: type, value: object) -> None:
    if not isinstance(value, stored):
        raise TypeError("SQLite stores values of each type in a column of any type")
