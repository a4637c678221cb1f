"""Parts that this program never creates: triggers, views, rules and the like, and tables that compute something."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from contextlib import AbstractContextManager, closing
from functools import reduce
from operator import and_, or_
from pathlib import Path

from sqlalchemy import Connection, text

from triptych.storage.models import Base
from triptych.storage.schema import VERSION
from triptych.storage.sqlite_files import MAX_STEPS, unchanged

# From the catalogs, since information_schema hides from a role what it may not change. PostgreSQL's own functions and
# operators have numbers below 16384, and pg_depend does not list what depends on them.
_IN_POSTGRES = """
WITH ours AS (
    SELECT tableoid, oid, relname, relkind, relrowsecurity, relpersistence FROM pg_class
    WHERE oid IN (SELECT to_regclass(name) FROM unnest(CAST(:tables AS text[])) AS name)
)
SELECT 'trigger', tgname FROM pg_trigger JOIN ours ON tgrelid = ours.oid WHERE NOT tgisinternal
UNION SELECT 'rule', rulename FROM pg_rewrite JOIN ours ON ev_class = ours.oid WHERE relkind = 'r'
UNION SELECT 'policy', polname FROM pg_policy JOIN ours ON polrelid = ours.oid
UNION SELECT 'row security of', relname FROM ours WHERE relrowsecurity
UNION SELECT 'unlogged table', relname FROM ours WHERE relpersistence <> 'p' -- a crash empties it
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
_QUERIES = {
    # with writable_schema a type can be in capitals
    "sqlite": text("SELECT type, name FROM sqlite_master WHERE type NOT IN ('table', 'index') ORDER BY name"),
    "postgresql": text(_IN_POSTGRES).bindparams(tables=[*Base.metadata.tables, VERSION.name]),
}


def in_database(connection: Connection) -> list[str]:
    """A sentence about each trigger, view, rule and the like: they change or hide rows, and this program creates none.

    On PostgreSQL those that affect our tables or queries; others may have views of their own there.
    """
    parts = connection.execute(_QUERIES[connection.dialect.name])
    return [f"The database has the {kind} {name!r}, which this program never creates." for kind, name in parts]


_SCHEMA = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"
_FRAGMENT_ENDS = re.compile("[(),]")
LONGEST_STATEMENT = 10_000  # characters that define a table


def in_file(path: Path, *ours: Path) -> list[str]:
    """A sentence about each table, index or view of an SQLite file with a part that is in none of our databases.

    Also about each table that lacks a part which is in all of them; an index that is missing changes no row.

    A view, column, index or constraint that computes something can take any amount of memory and time when it is used;
    nothing but the schema is read here. Raises sqlite3.Error for a schema much longer than ours.
    """
    # parts of our own may still be in their write-ahead logs, if the disk is full
    written = [_fragments(closing(sqlite3.connect(own))) for own in ours]
    theirs = _fragments(unchanged(path))
    unknown = theirs - reduce(or_, written)
    missing = reduce(and_, written) - theirs  # such as a foreign key
    differing = {part[:2] for part in unknown} | {part[:2] for part in missing if part[0] == "table"}
    return [
        f"The database has the {kind} {name!r} in a form which this program never creates."
        for kind, name in sorted(differing)
    ]


def _fragments(opened: AbstractContextManager[sqlite3.Connection]) -> Counter[tuple[str, str, str]]:
    """How often each (type, name, part) is in what a file defines; their order depends on the migrations that were run.

    Parts are the pieces of the SQL definition between brackets and commas.
    """
    with opened as file:
        file.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, LONGEST_STATEMENT)
        file.set_progress_handler(lambda: 1, MAX_STEPS)
        return Counter(
            (kind, name, " ".join(fragment.split()))
            for kind, name, sql in file.execute(_SCHEMA)
            for fragment in _FRAGMENT_ENDS.split(sql)
        )


_COMPUTING = re.compile(r"\b(AS|VIRTUAL)\b", re.IGNORECASE)  # in views, computed columns and virtual tables


def refuse_computing(file: sqlite3.Connection) -> None:
    """Raises sqlite3.DatabaseError for a file whose tables compute something when they are read.

    One call of a function may take hours, which no number of steps limits.
    """
    definitions = file.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
    if any(_COMPUTING.search(str(sql)) for (sql,) in definitions):
        raise sqlite3.DatabaseError("a table may compute without end")
