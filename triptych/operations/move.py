"""Moves studies between SQLite and PostgreSQL. Every row keeps its content and its number, and is compared afterwards.

Rows keep their numbers because the hashes of the event chain cover them, so the target must be empty. One transaction
reads the source and one writes the target, so a failed move leaves the target empty.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sqlalchemy import (
    JSON,
    Column,
    Connection,
    Engine,
    Insert,
    Select,
    SQLColumnExpression,
    Table,
    Text,
    bindparam,
    case,
    cast,
    false,
    func,
    insert,
    or_,
    select,
    true,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.elements import ColumnElement
from sqlmodel import Session

from triptych import settings
from triptych.errors import NotAllowed, NotFound, UnsafeDatabase
from triptych.operations.backup import opened
from triptych.people.panels import WITHDRAWN
from triptych.privacy.scrub import IDENTIFYING
from triptych.storage import events, outputs, schema, sqlite_files, working
from triptych.storage.models import Access, Base, Kind, Role, Study
from triptych.storage.rows import owner, within
from triptych.storage.unavailable import explained
from triptych.storage.unreadable import places_named

BATCH, BLOCK = 500, 2**20  # rows; bytes
TABLES: Sequence[Table] = Base.metadata.sorted_tables
STUDY, PERSON, RUBRIC = (Base.metadata.tables[name] for name in ("study", "person", "rubric"))
PANEL_ID, MEMBERSHIP, STORED_ANSWER = (
    Base.metadata.tables[name] for name in ("panel_identity", "membership", "stored_answer")
)


@dataclass(frozen=True)
class Moved:
    """How many rows of one table were moved, and the digest that both databases gave for them."""

    table: str
    rows: int
    digest: str


def move(source: Engine, target: Engine, slugs: Sequence[str] = ()) -> list[Moved]:
    """Copy whole studies with everybody in them, or the whole database if `slugs` is empty; the source is not changed.

    Every row is read back and compared, and every event chain checked, before the target is committed. Raises NotFound
    for an unknown study; UnsafeDatabase if the target is not empty, a value cannot be read, a schema or a row differs,
    or a chain is broken; DatabaseUnavailable.
    """
    _refuse_other_schema(source)
    schema.migrate(target)
    # in the other order, a failure of one database would be attributed to the other
    with explained(), _snapshot(source) as old, places_named(old, "Nothing was moved."), target.begin() as new:
        refuse_full(new)
        _refuse_unknown(old, slugs)
        for table in TABLES:
            _copy(old, new, table, chosen(table, slugs))
        count_on(new)
        moved = [_compare(old, new, table, chosen(table, slugs)) for table in TABLES]
        _check_chains(new)
    return moved


def move_to_file(source: Engine, file: Path, slugs: Sequence[str] = ()) -> list[Moved]:
    """As `move`, to a new SQLite file, which is made in a private folder: others may write to the folder of this one.

    Raises also NotAllowed for a file that exists, or to which another user leads.
    """
    if outputs.without_links(file).exists():
        raise NotAllowed(f"{file} already exists. Name a new file.")
    with working.folder() as private_folder:
        part = private_folder / file.name
        with opened(part) as target:
            moved = move(source, target, slugs)
        sqlite_files.refuse_unfinished(part)
        with part.open("rb") as stream:
            outputs.write(file, iter(partial(stream.read, BLOCK), b""))
    return moved


def _refuse_other_schema(source: Engine) -> None:
    version = schema.stored_version(source)
    if version != schema.HEAD:
        raise UnsafeDatabase(
            f"The source database is at version {version or 'none'}, this program needs {schema.HEAD}. "
            f"Run `{settings.program()} data migrate` first."
        )


@contextmanager
def _snapshot(source: Engine) -> Iterator[Connection]:
    """A consistent snapshot of the source for the whole move, regardless of concurrent writes."""
    with source.connect() as connection:
        if source.dialect.name == "postgresql":
            connection = connection.execution_options(isolation_level="REPEATABLE READ")
        yield connection


def refuse_full(new: Connection) -> None:
    for table in TABLES:
        if new.execute(select(table).limit(1)).first() is not None:
            raise UnsafeDatabase(
                "The target database is not empty. Rows keep their numbers, so it must be new: create one, and do not "
                "start the app on it before the move."
            )


def _refuse_unknown(old: Connection, slugs: Sequence[str]) -> None:
    unknown = set(slugs) - set(old.execute(select(Study.slug)).scalars())
    if unknown:
        raise NotFound(f"There is no study {', '.join(sorted(unknown))} in this database.")


def chosen(table: Table, slugs: Sequence[str]) -> Select[*tuple[object, ...]]:
    """The studies' rows in the order of their numbers, so that a row is written after the rows that it refers to.

    Of somebody who has withdrawn from all these studies, what identifies them is left out: it is kept for others.
    """
    query = _as_stored(table)
    if slugs and table is PERSON:
        gone = _departed(slugs)
        known = {name: case((gone, None), else_=PERSON.c[name]).label(name) for name in IDENTIFYING}
        query = select(*(known.get(column.name, column) for column in PERSON.columns))
    return query.where(_belongs(table, slugs)).order_by(*table.primary_key.columns)


def _belongs(table: Table, slugs: Sequence[str]) -> ColumnElement[bool]:
    """A condition for the source: which rows of a table belong to these studies, or to the whole database."""
    if not slugs:
        return true()
    if table is STORED_ANSWER:
        return false()  # may be about any study
    if table is PANEL_ID:
        return _is_panel_id_of(slugs)
    studies = STUDY.c.slug.in_(slugs)
    roots = {STUDY: studies, RUBRIC: RUBRIC.c.id.in_(select(STUDY.c.rubric_id).where(studies))}
    # a person is copied if any row of these studies names them
    columns = [column for other in TABLES if _is_of_study(other) for column in other.columns]
    naming = [select(c).where(within(c.table, roots)) for c in columns if c.references(PERSON.c.id)]
    people = or_(*map(PERSON.c.id.in_, naming))
    if table is not PERSON and not _is_of_study(table):
        people &= ~_departed(slugs)  # logins
    try:
        return within(table, {**roots, PERSON: people})
    except KeyError:
        return false()  # settings of an installation, not of a study


def _departed(slugs: Sequence[str]) -> ColumnElement[bool]:
    """Which people take part in none of these studies any more, as in `scrub.is_done_here`."""
    of_studies = MEMBERSHIP.c.study_id.in_(select(STUDY.c.id).where(STUDY.c.slug.in_(slugs)))
    present = select(MEMBERSHIP.c.person_id).where(of_studies, MEMBERSHIP.c.withdrawn_at.is_(None))
    return PERSON.c.id.not_in(present) & (PERSON.c.kind == Kind.human) & (PERSON.c.role != Role.lead)


def _is_panel_id_of(slugs: Sequence[str]) -> ColumnElement[bool]:
    """Which panel ids are those of these studies' people in them; before decision 72 an id was of several studies."""
    studies = select(STUDY.c.id).where(STUDY.c.slug.in_(slugs))
    panel, external_id = PANEL_ID.c.panel, PANEL_ID.c.external_id
    own = or_(*(panel.endswith(f"\n{slug}", autoescape=True) for slug in slugs))
    former = ~panel.contains("\n") & studies.where(STUDY.c.access == Access.panel).exists()
    members = PANEL_ID.c.person_id.in_(select(MEMBERSHIP.c.person_id).where(MEMBERSHIP.c.study_id.in_(studies)))
    gone = PANEL_ID.c.person_id.in_(select(PERSON.c.id).where(_departed(slugs)))
    return members & (own | former) & (external_id.startswith(WITHDRAWN) | ~gone)


def _is_of_study(table: Table) -> bool:
    goes_with = owner(table)
    return goes_with is not None and goes_with.referred_table is not PERSON


def _as_stored(table: Table) -> Select[*tuple[object, ...]]:
    """All columns; JSON as text, because JSON's null, read as a value, would look like SQL's NULL."""
    return select(*(cast(c, Text).label(c.name) if isinstance(c.type, JSON) else c for c in table.columns))


def insertion(table: Table, dialect: str) -> Insert:
    """An INSERT that takes rows of `_as_stored`, with an underscore before each column's name."""

    def parameter(column: Column[object]) -> SQLColumnExpression[object]:
        if not isinstance(column.type, JSON):
            return bindparam(f"_{column.name}", type_=column.type)
        text = bindparam(f"_{column.name}", type_=Text)
        return cast(text, JSON) if dialect == "postgresql" else text

    return insert(table).values({column.name: parameter(column) for column in table.columns})


def _copy(old: Connection, new: Connection, table: Table, rows: Select[*tuple[object, ...]]) -> None:
    statement = insertion(table, new.dialect.name)
    for batch in old.execution_options(yield_per=BATCH).execute(rows).mappings().partitions():
        try:
            new.execute(statement, [{f"_{name}": value for name, value in row.items()} for row in batch])
        except DBAPIError as error:
            if error.connection_invalidated:
                raise
            reason = str(error.orig).partition("\n")[0]
            sentence = f"The new database refuses a row of {table.name}: {reason}. Nothing was moved."
            raise UnsafeDatabase(sentence) from error


def count_on(new: Connection) -> None:
    """Set PostgreSQL's sequences, so that the next row created there follows the last one moved."""
    if new.dialect.name != "postgresql":
        return
    for table in TABLES:
        column = table.autoincrement_column
        if column is not None:
            sequence = func.pg_get_serial_sequence(table.name, column.name)
            new.execute(select(func.setval(sequence, func.max(column))))


def _compare(old: Connection, new: Connection, table: Table, rows: Select[*tuple[object, ...]]) -> Moved:
    """Read the rows back from both databases and compare them. Raises UnsafeDatabase if one differs."""
    before, after = _digest(old, rows), _digest(new, _as_stored(table))
    if before != after:
        raise UnsafeDatabase(
            f"The rows of {table.name} differ after the move: {before[0]} before, {after[0]} after. Nothing was moved."
        )
    return Moved(table.name, *after)


def _digest(connection: Connection, rows: Select[*tuple[object, ...]]) -> tuple[int, str]:
    """Count and digest of rows, independent of their order: databases sort texts differently."""
    count = total = 0
    for row in connection.execution_options(yield_per=BATCH).execute(rows):
        count += 1
        total += int.from_bytes(hashlib.sha256(repr(tuple(row)).encode("utf-8", "surrogatepass")).digest())
    return count, f"{total % 2**256:064x}"


def _check_chains(new: Connection) -> None:
    with Session(new) as session:
        for study in session.scalars(select(Study)):
            broken = events.first_broken(session, study.id)
            if broken:
                raise UnsafeDatabase(f"The event log of {study.slug} is broken: {broken} Nothing was moved.")
