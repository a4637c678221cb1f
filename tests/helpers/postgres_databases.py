"""Empty PostgreSQL databases: test after test uses the same one, since a new one is a copy of 300 files."""

from __future__ import annotations

import time
import uuid
from concurrent.futures import Future
from typing import Any

import psycopg
from sqlalchemy import Connection, make_url, text
from sqlmodel import Session

# different after each CREATE, ALTER and DROP of a table or what belongs to it, and after a change of its version
SCHEMA = """
WITH ours AS (SELECT oid, xmin FROM pg_class WHERE relnamespace = 'public'::regnamespace)
SELECT md5(string_agg(row, ' ' ORDER BY row)) FROM (
    SELECT concat(oid, xmin) AS row FROM ours
    UNION ALL SELECT concat(attrelid, attnum, a.xmin) FROM pg_attribute AS a JOIN ours ON ours.oid = attrelid
    UNION ALL SELECT concat(c.oid, c.xmin) FROM pg_constraint AS c JOIN ours ON ours.oid = conrelid
    UNION ALL SELECT concat(t.oid, t.xmin) FROM pg_trigger AS t JOIN ours ON ours.oid = tgrelid
    UNION ALL SELECT concat(r.oid, r.xmin) FROM pg_rewrite AS r JOIN ours ON ours.oid = ev_class
    UNION ALL SELECT concat(p.oid, p.xmin) FROM pg_policy AS p JOIN ours ON ours.oid = polrelid
    UNION ALL SELECT concat(oid, xmin) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL SELECT version_num FROM alembic_version
) AS rows
"""
WAITING = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
PATIENCE_SECONDS = 60
END_OTHERS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
# replica: rows are deleted in any order
EMPTY = """
DO $$
DECLARE
    name text;
BEGIN
    SET LOCAL session_replication_role = replica;
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version' LOOP
        EXECUTE format('DELETE FROM %I', name);
    END LOOP;
    PERFORM setval(oid, 1, false) FROM pg_class WHERE relkind = 'S' AND relnamespace = 'public'::regnamespace;
END $$
"""


class EmptyDatabases:
    """Copies of the database `ready` of a server; admin: a connection to it that may make them.

    One connection empties a database each time: a new one reads all about its tables first, which costs more than a
    test.
    """

    def __init__(self, server: str, admin: Connection) -> None:
        self.server, self.admin = server, admin
        self.url = ""
        self.schema: Any = None
        self.connection: psycopg.Connection | None = None

    def next(self) -> str:
        """The URL of an empty database: the last one without its rows, unless a test changed its schema."""
        if not self._emptied():
            self.close()
            name = f"t{uuid.uuid4().hex}"
            self.admin.execute(text(f"CREATE DATABASE {name} TEMPLATE ready"))
            self.url = f"{self.server}/{name}"
            plain = make_url(self.url).set(drivername="postgresql").render_as_string(hide_password=False)
            self.connection = psycopg.connect(plain, autocommit=True)
            self.schema = self.connection.execute(SCHEMA).fetchone()
        return self.url

    def _emptied(self) -> bool:
        """Whether the schema is as it was at first; then all rows are deleted."""
        if self.connection is None:
            return False
        try:
            self.connection.execute(END_OTHERS)
            if self.connection.execute(SCHEMA).fetchone() != self.schema:
                return False
            self.connection.execute(EMPTY)
        except psycopg.Error:  # a test deleted the table of the version, or ended this connection
            return False
        return True

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()


def wait_for_a_lock(session: Session, other: Future[Any]) -> None:
    """Until somebody waits for a lock, or the other thread is done."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not other.done() and not session.scalar(WAITING):
        assert time.monotonic() < end, "the other thread neither waits for a lock nor ends"
