"""The version of the tables: creating and upgrading them."""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, Engine, inspect, text

from triptych.errors import NotFound, UnsafeDatabase
from triptych.storage import database, foreign_parts, schema
from triptych.storage.database import writing
from triptych.storage.models import Base


@pytest.fixture
def migrated_engine(engine: Engine, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """A database of the same kind as `engine`, made by all migrations from the first on."""
    url = f"sqlite:///{tmp_path / 'empty.db'}"
    if engine.dialect.name == "postgresql":
        name = f"t{uuid.uuid4().hex}"
        request.getfixturevalue("postgres_admin").execute(text(f"CREATE DATABASE {name}"))
        url = f"{request.getfixturevalue('postgres')}/{name}"
    empty = database.open_engine(url)
    schema.create_version(empty, schema.HEAD)
    yield empty
    empty.dispose()


def parts(engine: Engine) -> dict[str, Any]:
    """Everything of a schema but the order of its columns and constraints."""
    inspector = inspect(engine)

    def plain(entries: Iterable[Any]) -> list[str]:
        return sorted(json.dumps(entry, default=str, sort_keys=True) for entry in entries)

    return {
        table: {
            "columns": plain(inspector.get_columns(table)),
            "primary key": inspector.get_pk_constraint(table)["constrained_columns"],
            "foreign keys": plain(inspector.get_foreign_keys(table)),
            "unique": plain(inspector.get_unique_constraints(table)),
            "checks": plain(inspector.get_check_constraints(table)),
            "indexes": plain(inspector.get_indexes(table)),
        }
        for table in inspector.get_table_names()
    }


def test_the_migrations_make_exactly_the_tables_of_the_models(migrated_engine):
    with migrated_engine.connect() as connection:
        context = MigrationContext.configure(connection)
        assert compare_metadata(context, Base.metadata) == []
        assert foreign_parts.in_database(connection) == []


@pytest.mark.long
def test_a_new_database_has_the_schema_of_a_migrated_one(migrated_engine, engine):
    new, old = parts(engine), parts(migrated_engine)

    assert "alembic_version" in new
    assert new.keys() == old.keys()
    for table, own in new.items():
        assert own == old[table]


def test_a_database_at_the_head_is_left_alone(sqlite_engine, tmp_path):
    schema.migrate(sqlite_engine)

    assert [path.name for path in tmp_path.glob("*before*")] == []


def test_a_migration_that_copies_a_table_keeps_references(sqlite_engine, make_study, tmp_path):
    with writing(sqlite_engine) as session:
        make_study(session, items=3)
    later = f"sqlite:///{tmp_path / 'older.db'}"
    older = database.open_engine(later)
    schema.create_version(older, "0003")
    tables = ["person", "rubric", "study", "criterion", "item", "system", "candidate"]
    with sqlite3.connect(tmp_path / "older.db") as raw:
        raw.execute("ATTACH ? AS full", (str(tmp_path / "triptych.db"),))
        for table in tables:
            columns = ", ".join(f'"{row[1]}"' for row in raw.execute(f"PRAGMA main.table_info({table})"))
            raw.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM full.{table}")
        raw.commit()
        before = [raw.execute(f"SELECT count(*) FROM main.{table}").fetchone()[0] for table in tables]

    schema.migrate(older)

    with older.connect() as connection:
        assert [connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar() for table in tables] == before
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
    older.dispose()


@pytest.mark.parametrize("version", ["x'3030'", "14"])
def test_a_version_that_is_no_text_is_refused(sqlite_engine, version):
    with writing(sqlite_engine) as session:
        session.execute(text(f"CREATE TABLE untyped AS SELECT {version} AS version_num"))
        session.execute(text("DROP TABLE alembic_version"))
        session.execute(text("ALTER TABLE untyped RENAME TO alembic_version"))

    with pytest.raises(UnsafeDatabase, match="a version that is no text"):
        schema.open_existing(str(sqlite_engine.url))


def test_an_empty_database_holds_no_study(tmp_path):
    (tmp_path / "triptych.db").touch()

    with pytest.raises(NotFound, match=r"There is no study here: the database is empty\."):
        schema.open_existing(f"sqlite:///{tmp_path / 'triptych.db'}")


def test_a_database_of_an_unknown_version_is_not_upgraded(sqlite_engine):
    with writing(sqlite_engine) as session:
        session.execute(text("UPDATE alembic_version SET version_num = '0002'"))

    with pytest.raises(UnsafeDatabase, match="There is no version '0002'"):
        schema.migrate(sqlite_engine)


@pytest.mark.long
@pytest.mark.parametrize("version", [f"{number:04}" for number in range(3, int(schema.HEAD))])
def test_a_failed_upgrade_from_any_version_changes_nothing(tmp_path, monkeypatch, version):
    """All migrations are one transaction, whatever Alembic and SQLite do about changes of tables."""
    engine = database.open_engine(f"sqlite:///{tmp_path / 'old.db'}")
    schema.create_version(engine, version)
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO setting VALUES ('note', 'a row')"))

    def fail(connection: Connection) -> None:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == schema.HEAD
        raise RuntimeError("half way")

    def content() -> list[str]:
        with closing(sqlite3.connect(tmp_path / "old.db")) as file:
            return list(file.iterdump())

    before = content()
    monkeypatch.setattr(schema, "_record_baselines", fail)

    with pytest.raises(RuntimeError, match="half way"):
        schema.migrate(engine)

    engine.dispose()
    assert content() == before
    assert len(list(tmp_path.glob("old-before-*.db"))) == 1
