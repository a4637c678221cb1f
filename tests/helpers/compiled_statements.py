"""SQL statements that the databases of all tests of a process share once they are compiled."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache


def share() -> None:
    """Gives every engine the same cache: compiling for the engine of each test is most of what a test of SQL costs.

    A key of the cache holds the dialect. Here those of one class are equal, as all tests use the same two databases.
    """
    statements: LRUCache[Any, Any] = LRUCache(10_000)
    setattr(Engine, "_compiled_cache", property(lambda self: statements, lambda self, own: None))  # noqa: B010 (a name that the class itself does not declare)
    for dialect in (SQLiteDialect_pysqlite, PGDialect_psycopg):
        setattr(dialect, "__hash__", lambda self: hash(type(self)))  # noqa: B010 (a name that the class itself does not declare)
        setattr(dialect, "__eq__", lambda self, other: type(self) is type(other))  # noqa: B010 (a name that the class itself does not declare)
