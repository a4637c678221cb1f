"""Parts that this program never creates: triggers, views, rules and the like, and tables that compute something."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import CheckConstraint, Connection, Engine, StaticPool, Table, bindparam, create_engine, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateTable

from triptych.storage.models import Base
from triptych.storage.schema import COMPUTING, HEAD, VERSION, create_version, upgrade
from triptych.storage.sqlite_files import MAX_STEPS, unchanged

_Fragments = Counter[tuple[str, str, str]]
# With writable_schema a type can be in capitals. A foreign key of another table keeps rows of ours from being deleted,
# such as those of somebody who withdraws.
_IN_SQLITE = """
SELECT type, name FROM sqlite_master WHERE type NOT IN ('table', 'index')
UNION SELECT 'foreign key of', name FROM sqlite_master, pragma_foreign_key_list(name)
    WHERE name NOT IN :tables AND lower("table") IN :tables
ORDER BY name
"""
# From the catalogs, since information_schema hides from a role what it may not change. Functions that take values of
# any or another type are named with their schema, since one of another program's would be found in their place.
_OURS = """
WITH ours AS (
    SELECT tableoid, oid, relname, relkind, relrowsecurity, relpersistence FROM pg_class
    WHERE oid IN (SELECT CAST(to_regclass(name) AS oid) FROM pg_catalog.unnest(CAST(:tables AS text[])) AS name)
)
"""
# PostgreSQL's own functions and operators have numbers below 16384, and pg_depend does not list what depends on them
_IN_POSTGRES = """
SELECT 'trigger', tgname FROM pg_trigger JOIN ours ON tgrelid = ours.oid
    WHERE NOT tgisinternal OR tgenabled <> 'O' -- those of foreign keys, which delete rows with their parents
UNION SELECT 'rule', rulename FROM pg_rewrite JOIN ours ON ev_class = ours.oid WHERE relkind = 'r'
UNION SELECT 'policy', polname FROM pg_policy JOIN ours ON polrelid = ours.oid
UNION SELECT 'row security of', relname FROM ours WHERE relrowsecurity
UNION SELECT 'unlogged table', relname FROM ours WHERE relpersistence <> 'p' -- a crash empties it
UNION SELECT 'foreign key of', key_table.relname FROM pg_constraint JOIN ours ON confrelid = ours.oid
    JOIN pg_class AS key_table ON key_table.oid = conrelid WHERE conrelid NOT IN (SELECT oid FROM ours)
UNION SELECT 'child table', child.relname FROM pg_inherits JOIN ours ON inhparent = ours.oid
    JOIN pg_class AS child ON child.oid = inhrelid
UNION SELECT CASE relkind WHEN 'p' THEN 'partitioned table' WHEN 'f' THEN 'foreign table' ELSE 'view' END, relname
    FROM ours WHERE relkind <> 'r'
-- an index that refuses rows: to annotators, an answer that cannot be stored
UNION SELECT 'index', refusing.relname FROM ours JOIN pg_index ON indrelid = ours.oid
    JOIN pg_class AS refusing ON refusing.oid = indexrelid
    WHERE (indisunique OR indexprs IS NOT NULL OR indpred IS NOT NULL)
        AND NOT EXISTS (SELECT FROM pg_constraint
            WHERE conindid = indexrelid AND conrelid = ours.oid AND contype IN ('p', 'u'))
        AND pg_catalog.concat_ws(' ', ours.relname, refusing.relname, indisunique,
            substring(pg_catalog.split_part(pg_get_indexdef(indexrelid), ' WHERE ', 1) FROM '[(].*$'))
            <> ALL(CAST(:own_indexes AS text[]))
-- used by our columns, constraints, defaults and indexes
UNION SELECT type, identity FROM ours
    JOIN pg_depend AS part ON (part.classid, part.objid) = (ours.tableoid, ours.oid)
        OR (part.refclassid, part.refobjid, part.deptype) = (ours.tableoid, ours.oid, 'a')
    JOIN pg_depend AS used ON (used.classid, used.objid) = (part.classid, part.objid)
    CROSS JOIN pg_identify_object(used.refclassid, used.refobjid, 0)
    WHERE type IN ('function', 'operator', 'type', 'operator class', 'collation', 'access method')
-- found by a query in place of PostgreSQL's own
UNION SELECT 'function', CAST(CAST(oid AS regprocedure) AS text) FROM pg_proc AS found
    WHERE oid >= '16384' AND '16384' > ALL((CAST(proargtypes AS oid[]))[0:pronargs - pronargdefaults - 1])
        AND pg_function_is_visible(oid)
        AND EXISTS (SELECT FROM pg_proc WHERE oid < '16384' AND proname = found.proname)
UNION SELECT 'operator', CAST(CAST(oid AS regoperator) AS text) FROM pg_operator
    WHERE oid >= '16384' AND oprleft < '16384' AND oprright < '16384' AND pg_operator_is_visible(oid)
        AND oprname IN ('=', '<>', '<', '<=', '>', '>=', '~~', '!~~', '~~*', '!~~*', '||', '+', '-', '*', '/')
        AND NOT EXISTS (SELECT FROM pg_type WHERE oid IN (oprleft, oprright) AND typcategory = 'A') -- of extensions
ORDER BY 1 DESC, 2
"""
_FINDING_IN_POSTGRES = """
SELECT pg_catalog.current_setting('search_path'), pg_catalog.current_setting('role'),
    (pg_catalog.current_schemas(true))[1] OPERATOR(pg_catalog.=) 'pg_catalog'
"""
# PostgreSQL rewrites what a CHECK compares; it changes no row, so those of a table are only counted. Ours call no
# function, and one of PostgreSQL's own could change which tables the app's connection reads from then on.
_FORMS_IN_POSTGRES = """
SELECT relname, pg_catalog.concat_ws(' ', attname, format_type(atttypid, atttypmod),
        CASE WHEN attnotnull THEN 'NOT NULL' END, pg_get_expr(adbin, adrelid))
    FROM ours JOIN pg_attribute ON attrelid = ours.oid LEFT JOIN pg_attrdef ON (adrelid, adnum) = (attrelid, attnum)
    WHERE attnum > 0 AND NOT attisdropped
UNION ALL SELECT relname, CASE WHEN contype = 'c' AND rule !~ '[a-z0-9_"][(]' THEN 'CHECK' ELSE rule END
    FROM ours JOIN pg_constraint AS part ON conrelid = ours.oid CROSS JOIN pg_get_constraintdef(part.oid) AS rule
    WHERE contype <> 'n'
"""
_SEQUENCE = re.compile(r"nextval\('[^']+'::regclass\)")
OUR_TABLES = {("table", name) for name in (*Base.metadata.tables, VERSION.name)}
_TABLES = {"tables": [name for _, name in OUR_TABLES]}
# PostgreSQL writes conditions of indexes in another way, so those are not compared
_OWN_INDEXES = {
    "own_indexes": [
        f"{table.name} {index.name} {'t' if index.unique else 'f'} ({', '.join(index.columns.keys())})"
        for table in Base.metadata.tables.values()
        for index in table.indexes
    ]
}
_QUERIES = {
    "sqlite": text(_IN_SQLITE).bindparams(bindparam("tables", list(Base.metadata.tables), expanding=True)),
    "postgresql": text(_OURS + _IN_POSTGRES).bindparams(**_TABLES, **_OWN_INDEXES),
}


def in_database(connection: Connection) -> list[str]:
    """A sentence about each trigger, view, rule and the like: they change or hide rows, and this program creates none.

    Also about each table or index in a form that is not ours. On PostgreSQL those that affect our tables or queries;
    others may have views of their own there.
    """
    parts = [*_hiding(connection), *connection.execute(_QUERIES[connection.dialect.name])]
    found = [f"The database has the {kind} {name!r}, which this program never creates." for kind, name in parts]
    if connection.dialect.name == "sqlite":
        differing = _differing(_fragments(connection.exec_driver_sql(_SCHEMA)), HEAD)
        # an index may refuse rows
        found += _sentences(part for part in differing if part in OUR_TABLES or part[0] == "index")
    else:
        theirs, ours = _forms(connection), _forms_of_models()
        found += _sentences({part[:2] for part in (theirs - ours) + (ours - theirs)})
    return found


def _hiding(connection: Connection) -> Iterator[tuple[str, str]]:
    """The search path and the role, if the queries for parts would not find by them what the app finds.

    The path may hide the catalogs; or a view that was read before ran a function that has changed one of the two.
    """
    if connection.dialect.name == "sqlite":
        return
    path, role, reads_catalogs = connection.exec_driver_sql(_FINDING_IN_POSTGRES).one()
    with connection.begin_nested() as apart:
        for reset in ("RESET search_path", "RESET role"):
            connection.exec_driver_sql(reset)
        first_path, first_role, _ = connection.exec_driver_sql(_FINDING_IN_POSTGRES).one()
        apart.rollback()
    if path != first_path or not reads_catalogs:
        yield "search path", path
    if role != first_role:
        yield "role", role


def _forms(connection: Connection) -> _Fragments:
    """How often each ("table", name, column or constraint) is in PostgreSQL; our sequences as `nextval`."""
    parts = connection.execute(text(_OURS + _FORMS_IN_POSTGRES).bindparams(**_TABLES))
    return Counter(("table", name, _plain(_SEQUENCE.sub("nextval", part))) for name, part in parts)


@cache
def _forms_of_models() -> _Fragments:
    """As `_forms`, of the tables that this program makes."""
    tables = (*Base.metadata.tables.values(), VERSION)
    return Counter(("table", table.name, _plain(part)) for table in tables for part in _form(table))


def _form(table: Table) -> Iterator[str]:
    """The columns and constraints of one of our tables, as PostgreSQL would list them."""
    dialect = postgresql.dialect()
    compiler = dialect.ddl_compiler(dialect, CreateTable(table))
    for column in table.columns:
        kind = column.type.compile(dialect).lower()
        kind = kind.replace("varchar", "character varying").replace("float", "double precision")
        sequence = "nextval" if column is table.autoincrement_column else ""
        yield f"{column.name} {kind} {'' if column.nullable else 'NOT NULL'} {sequence}"
    for rule in table.constraints:
        is_check = isinstance(rule, CheckConstraint)
        yield "CHECK" if is_check else compiler.process(rule).removeprefix(f"CONSTRAINT {rule.name} ")


def _plain(part: str) -> str:
    """Without the spaces and quotes that only one of the two writes."""
    return re.sub('[ "]', "", part)


_SCHEMA = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"
_CLAUSE_ENDS = re.compile("[(),]")
_BLANKS = re.compile("[ \t\n\f\r]+")  # as SQLite reads them: to it, a no-break space is a letter of a name or type
_BLANKS_AT_BRACKETS = re.compile(" ?([(),]) ?")
LONGEST_STATEMENT = 10_000  # characters that define a table


def in_file(path: Path, version: str) -> list[str]:
    """A sentence about each table, index or view of an SQLite file with a part that no empty database of this version
    or of today's has, or without one that both have.

    A view, column, index or constraint that computes something can take any amount of memory and time when it is used;
    nothing but the schema is read here. Raises UnsafeDatabase for an unknown version, sqlite3.Error for a schema much
    longer than ours.
    """
    with unchanged(path) as file:
        file.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, LONGEST_STATEMENT)
        file.set_progress_handler(lambda: 1, MAX_STEPS)
        return _sentences(_differing(_fragments(file.execute(_SCHEMA)), version))


def _sentences(parts: Iterable[tuple[str, str]]) -> list[str]:
    return [
        f"The database has the {kind} {name!r} in a form which this program never creates."
        for kind, name in sorted(parts)
    ]


def _differing(theirs: _Fragments, version: str) -> set[tuple[str, str]]:
    """(type, name) of what is defined in another way than in our databases of this version.

    An index that is missing changes no row; one that lacks a column may refuse some.
    """
    migrated, newest = _fragments_of(version), _newest_fragments()
    unknown = {part[:2] for part in theirs - (migrated | newest)}
    missing = {part[:2] for part in (migrated & newest) - theirs}
    there = {part[:2] for part in theirs}
    return unknown | {part for part in missing if part[0] == "table" or part in there}


@cache
def _fragments_of(version: str) -> _Fragments:
    """Of a database that the migrations made. Raises UnsafeDatabase for an unknown version."""
    return _fragments_after(lambda engine: create_version(engine, version))


@cache
def _newest_fragments() -> _Fragments:
    """Of a database that today's program makes. Other programs may have had SQLite collect statistics in it."""

    def make(engine: Engine) -> None:
        upgrade(engine)
        with engine.begin() as connection:
            connection.exec_driver_sql("ANALYZE")

    return _fragments_after(make)


def _fragments_after(make: Callable[[Engine], None]) -> _Fragments:
    """Of an empty database in memory."""
    engine = create_engine("sqlite://", poolclass=StaticPool)
    make(engine)
    with engine.connect() as connection:
        fragments = _fragments(connection.exec_driver_sql(_SCHEMA))
    engine.dispose()
    return fragments


def _fragments(schema: Iterable[Any]) -> _Fragments:
    """How often each (type, name, part) is in what a database defines; the order depends on the migrations.

    Parts are the columns and constraints of the SQL definition, and the words before and after these.
    """
    return Counter(
        (kind, name, _BLANKS_AT_BRACKETS.sub(r"\1", _BLANKS.sub(" ", clause)).strip(" "))
        for kind, name, sql in schema
        for clause in _clauses(sql)
    )


def _clauses(sql: str) -> Iterator[str]:
    """The pieces between the outermost brackets and the commas there."""
    depth = start = 0
    for end in _CLAUSE_ENDS.finditer(sql):
        before, depth = depth, depth + {"(": 1, ")": -1}.get(end[0], 0)
        if min(before, depth) == 0 or (end[0] == "," and depth == 1):
            yield sql[start : end.start()]
            start = end.end()
    yield sql[start:]


def unsafe_to_read(connection: Connection) -> list[str]:
    """A sentence about each of our tables in an SQLite file that is a view or computes something, maybe without end."""
    if connection.dialect.name != "sqlite":
        return []
    stored = {(kind, name) for kind, name, sql in connection.exec_driver_sql(_SCHEMA) if not COMPUTING.search(sql)}
    return _sentences(OUR_TABLES - stored)


def refuse_computing(file: sqlite3.Connection) -> None:
    """Raises sqlite3.DatabaseError for a file whose tables compute something when they are read.

    One call of a function may take hours, which no number of steps limits.
    """
    definitions = file.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
    if any(COMPUTING.search(str(sql)) for (sql,) in definitions):
        raise sqlite3.DatabaseError("a table may compute without end")
