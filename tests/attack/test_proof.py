"""Whatever is changed in the tables by hand is named by `verify`, or stands on its list of what no log can know."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.busy import make_busy
from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Engine,
    Enum,
    Float,
    Integer,
    LargeBinary,
    Table,
    create_engine,
    select,
    text,
)
from sqlalchemy.pool import StaticPool
from sqlmodel import Session

from triptych.operations import verify
from triptych.storage.database import open_engine
from triptych.storage.models import Study, Utc
from triptych.storage.rows import TABLES, UNPROVED

PROVED = [table for name, table in TABLES.items() if name not in UNPROVED or name == "test_answer"]
COLUMNS = [column for table in PROVED for column in table.columns]


@pytest.fixture(scope="module")
def busy(tmp_path_factory, ready_sqlite) -> Path:
    path = tmp_path_factory.mktemp("busy") / "busy.db"
    path.write_bytes(ready_sqlite.read_bytes())
    engine = open_engine(f"sqlite:///{path}")
    make_busy(engine)
    engine.dispose()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode=delete")
    return path


@pytest.fixture(scope="module")
def copy(busy: Path) -> Iterator[Engine]:
    """The database in memory, without any rule that the tables enforce."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    with sqlite3.connect(busy) as source:
        source.backup(connection)
    connection.execute("PRAGMA foreign_keys=0")
    connection.execute("PRAGMA ignore_check_constraints=1")
    yield create_engine("sqlite://", creator=lambda: connection, poolclass=StaticPool)
    connection.close()


@pytest.fixture
def attacked(copy: Engine) -> Iterator[Session]:
    """A session whose changes are taken back."""
    with Session(copy) as session:
        yield session


def changed(session: Session, statement: str, **values: Any) -> int:
    return session.connection().execute(text(statement), values).rowcount


def reported(session: Session) -> list[str]:
    """Everything that `verify` says about the studies of the database."""
    session.expunge_all()
    verdicts = [verify.verify(session, study) for study in session.scalars(select(Study)).all()]
    return [line for verdict in verdicts for line in ([verdict.broken] if verdict.broken else verdict.differences)]


def test_the_study_holds_before_anybody_touches_it(attacked):
    assert reported(attacked) == []


def other(column: Column[Any], value: Any) -> Any:
    """Another value that the column's type can hold."""
    kind = column.type
    if isinstance(kind, Enum):
        return next(name for name in reversed(kind.enums) if name != value)
    if isinstance(kind, JSON):
        return '{"x": "y"}' if value is None or value.startswith("{") else '["x"]'
    if isinstance(kind, Utc):
        return "2020-02-20 20:20:20.000000"
    if isinstance(kind, Boolean):
        return 0 if value else 1
    if isinstance(kind, LargeBinary):
        return b"x"
    if isinstance(kind, Integer | Float):
        return (value or 0) + 1_000_003
    return f"{value or ''}x"


def row_numbers(session: Session, table: Table) -> list[int]:
    return list(session.connection().execute(text(f'SELECT rowid FROM "{table.name}" ORDER BY rowid')).scalars())  # noqa: S608


@pytest.mark.parametrize("column", COLUMNS, ids=str)
def test_every_column_of_every_table_is_proved_or_on_the_list(attacked, column):
    table = column.table
    numbers = row_numbers(attacked, table)
    assert numbers, f"the study has no row of {table.name}"
    for number in {numbers[0], numbers[-1]}:
        row = f'FROM "{table.name}" WHERE rowid = {number}'
        value = attacked.connection().execute(text(f'SELECT "{column.name}" {row}')).scalar_one()  # noqa: S608
        statement = f'UPDATE "{table.name}" SET "{column.name}" = :value WHERE rowid = {number}'  # noqa: S608
        with_the_row(attacked, column, statement, other(column, value))


def with_the_row(session: Session, column: Column[Any], statement: str, value: Any) -> None:
    """Changes the row, and takes that back after `verify` has named it."""
    undo = session.begin_nested()
    assert changed(session, statement, value=value) == 1
    lines = reported(session)
    undo.rollback()
    assert any(names(line, column) for line in lines) or str(column) in UNPROVED, (statement, value, lines[:3])


# how a message calls rows that have a better name on screen
CALLED = {"assignment": "annotation", "event": "event", "event_detail": "event"}
WHOLE_ROW = ("not in the log", "is gone", "not there", "are gone", "missing", "was changed", "cannot be read")


def names(line: str, column: Column[Any]) -> bool:
    """Whether a line names table and column, or says that the whole row is changed, new or gone."""
    if str(column) in ("study.id", "study.event_number", "study.event_hash"):
        return line.startswith("Events after")
    called = CALLED.get(column.table.name, column.table.name)
    return called in line.lower() and (column.name in line or any(words in line for words in WHOLE_ROW))
