"""Empty PostgreSQL databases: test after test uses the same one, since a new one is a copy of 300 files."""

from __future__ import annotations

import uuid

from sqlalchemy import Connection, create_engine, text
from sqlalchemy.exc import ProgrammingError

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
TABLES = "SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version'"
END_OTHERS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
COUNT_FROM_ONE = """
SELECT setval(oid, 1, false) FROM pg_class WHERE relkind = 'S' AND relnamespace = 'public'::regnamespace
"""


class EmptyDatabases:
    """Copies of the database `ready` of a server; admin: a connection to it that may make them."""

    def __init__(self, server: str, admin: Connection) -> None:
        self.server, self.admin = server, admin
        self.url = self.schema = ""

    def next(self) -> str:
        """The URL of an empty database: the last one without its rows, unless a test changed its schema."""
        if not self.url or not self._emptied():
            name = f"t{uuid.uuid4().hex}"
            self.admin.execute(text(f"CREATE DATABASE {name} TEMPLATE ready"))
            self.url, self.schema = f"{self.server}/{name}", ""
            self._emptied()
        return self.url

    def _emptied(self) -> bool:
        """Whether the schema is as it was at first; then all rows are deleted."""
        engine = create_engine(self.url)
        try:
            with engine.begin() as connection:
                run = connection.execute
                run(text(END_OTHERS))
                schema = run(text(SCHEMA)).scalar_one()
                self.schema = self.schema or schema
                if schema != self.schema:
                    return False
                run(text("SET session_replication_role = replica"))  # deletes in any order
                for table in run(text(TABLES)).scalars().all():
                    run(text(f"DELETE FROM {table}"))
                run(text(COUNT_FROM_ONE))
                return True
        except ProgrammingError:  # no version
            return False
        finally:
            engine.dispose()
