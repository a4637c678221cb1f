"""Opening a database: its settings, its migrations, its refusals."""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, create_engine, insert, inspect, select, text, update
from sqlalchemy.exc import IntegrityError

from triptych import clock, settings
from triptych.errors import UnsafeDatabase
from triptych.storage import database, host, schema
from triptych.storage.database import reading, writing
from triptych.storage.models import Base, Person, Study


def test_every_connection_has_our_settings(sqlite_engine):
    with sqlite_engine.connect() as first, sqlite_engine.connect() as second:
        for connection in (first, second):
            accepted = {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in database.PRAGMAS}
            assert {name: value for name, value in accepted.items() if value is not None} == {
                name: value for name, value in database.PRAGMAS.items() if accepted[name] is not None
            }
            assert (accepted["journal_mode"], accepted["synchronous"], accepted["foreign_keys"]) == ("wal", 2, 1)


@pytest.mark.parametrize("name", ["a?x", "b%41b", "c#d", "e f", "ä"])
def test_the_database_is_in_the_folder_of_this_name(tmp_path, monkeypatch, name):
    """A part of the name was read as that of another folder, open to others."""
    monkeypatch.setenv("TRIPTYCH_HOME", str(tmp_path / name))
    monkeypatch.delenv("TRIPTYCH_DATABASE_URL", raising=False)

    assert database.sqlite_path(settings.database_url()) == tmp_path / name / "triptych.db"


def test_a_folder_that_no_address_can_name_is_refused():
    with pytest.raises(settings.UnsafeSettings, match="not UTF-8"):
        settings.sqlite_url(Path("/x/a\udcff/triptych.db"))


def test_an_old_sqlite_is_noted_once(sqlite_engine, caplog, monkeypatch):
    monkeypatch.setattr(database, "SAFE_SQLITE", (99,))
    database._note_version.cache_clear()
    with caplog.at_level("INFO", "triptych"):
        for _ in range(2):
            database.open_engine(str(sqlite_engine.url)).dispose()

    assert caplog.text.count("writers take turns") == 1


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
    schema.create_version(older, "0002")
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


def test_a_failed_migration_leaves_the_file_and_a_backup(sqlite_engine, tmp_path, monkeypatch):
    with writing(sqlite_engine) as session:
        session.add(Person(pseudonym="A-1", created_at=clock.now()))
    monkeypatch.setattr(schema, "HEAD", "9999")

    def break_half_way(engine):
        with engine.begin() as connection:
            connection.execute(text("DROP TABLE rating"))
        raise RuntimeError("half way")

    monkeypatch.setattr(schema, "_upgrade", break_half_way)

    with pytest.raises(RuntimeError, match="half way"):
        schema.migrate(sqlite_engine)

    with sqlite3.connect(tmp_path / "triptych.db") as raw:
        assert raw.execute("SELECT pseudonym FROM person").fetchall() == [("A-1",)]
        assert raw.execute("SELECT count(*) FROM rating").fetchone() == (0,)
    assert len(list(tmp_path.glob("triptych-before-9999-*.db"))) == 1


def test_a_write_that_raises_changes_nothing(engine):
    with pytest.raises(RuntimeError), writing(engine) as session:
        session.add(Person(pseudonym="A-1", created_at=clock.now()))
        session.flush()
        raise RuntimeError("no")

    with reading(engine) as session:
        assert session.execute(text("SELECT count(*) FROM person")).scalar() == 0


def test_prepared_statements_outlive_a_read(postgres_engine):
    with database.reading(postgres_engine) as session:
        for _ in range(2):
            session.scalars(select(Study.id)).all()
    query = text("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'SELECT study.id%'")
    with database.reading(postgres_engine) as session:
        assert session.scalar(query) == 1


def test_an_index_finds_few_rows_of_a_small_table(postgres_engine):
    engine = database.open_engine(postgres_engine.url.render_as_string(hide_password=False))
    with writing(engine) as session:
        session.execute(text("CREATE TEMP TABLE work (id INTEGER PRIMARY KEY, words TEXT) ON COMMIT DROP"))
        session.execute(text("INSERT INTO work SELECT n, 'words' FROM generate_series(1, 2000) AS n"))
        session.execute(text("ANALYZE work"))
        own = "EXPLAIN SELECT words FROM work WHERE id IN (SELECT 100 * n FROM generate_series(1, 15) AS n)"
        plan = session.scalars(text(own)).all()
    engine.dispose()

    assert not [line for line in plan if "Seq Scan" in line], plan


def test_a_connection_is_transactional_again_after_an_own_commit(postgres_engine):
    url = postgres_engine.url.render_as_string(hide_password=False)
    engine = create_engine(url, pool_size=1, max_overflow=0)
    with database.one_statement(engine) as connection:
        connection.execute(insert(Person).values(pseudonym="kept", created_at=clock.now()))
    with pytest.raises(RuntimeError), writing(engine) as session:
        session.execute(update(Person).values(pseudonym="half done"))
        raise RuntimeError("no")

    with reading(engine) as session:
        assert session.scalars(select(Person.pseudonym)).all() == ["kept"]
    engine.dispose()


def test_the_database_refuses_a_state_it_does_not_know(engine):
    with pytest.raises(IntegrityError), writing(engine) as session:
        king: Any = "king"
        session.add(Person(pseudonym="A-1", role=king, created_at=clock.now()))


def test_times_keep_their_zone(engine):
    before = clock.now()
    with writing(engine) as session:
        session.add(Person(pseudonym="A-1", created_at=before))
    with reading(engine) as session:
        assert session.get(Person, 1).created_at == before


def test_a_second_server_on_one_file_is_refused(sqlite_engine):
    first = database.lock_server(sqlite_engine)

    with pytest.raises(UnsafeDatabase, match="Another Triptych is using triptych.db"):
        database.lock_server(sqlite_engine)

    first.close()
    database.lock_server(sqlite_engine).close()


@pytest.mark.parametrize("name", ["OneDrive - Lab", "Dropbox", "iCloud Drive"])
def test_a_synchronised_folder_is_refused(tmp_path, name):
    folder = tmp_path / name
    folder.mkdir()

    with pytest.raises(UnsafeDatabase, match="synchronised"):
        database.open_engine(f"sqlite:///{folder / 'triptych.db'}")


def test_a_network_file_system_is_recognised_by_mount_point(tmp_path):
    mounts = tmp_path / "mounts"
    mounts.write_text(f"disk / ext4 rw 0 0\nserver:/x {tmp_path / 'net'} nfs4 rw 0 0\n")

    assert host.file_system(tmp_path / "net" / "lab", mounts) == "nfs4"
    assert host.file_system(tmp_path, mounts) == "ext4"
