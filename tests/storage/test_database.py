"""Opening a database: its settings, its transactions, its refusals."""

from __future__ import annotations

import logging
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest
from helpers.present import present
from sqlalchemy import create_engine, insert, select, text, update
from sqlalchemy.exc import IntegrityError

from triptych import clock, settings
from triptych.errors import NotFound, UnsafeDatabase
from triptych.storage import database, host, outputs, schema
from triptych.storage.database import reading, writing
from triptych.storage.models import Person, Study
from triptych.storage.repeating import repeated
from triptych.storage.unavailable import DatabaseUnavailable


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


@pytest.fixture
def odd_database(postgres, postgres_admin, request):
    """The address of a PostgreSQL database of another encoding, or one with settings of its own."""
    encoding, *changes = request.param
    name = f"odd{uuid.uuid4().hex}"
    postgres_admin.execute(text(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}' LOCALE 'C'"))
    for change in changes:
        postgres_admin.execute(text(f"ALTER DATABASE {name} SET {change}"))
    yield f"{postgres}/{name}"
    postgres_admin.execute(text(f"DROP DATABASE {name}"))


@pytest.mark.parametrize(
    "odd_database",
    [("UTF8", "datestyle = German", "client_encoding = LATIN1", "extra_float_digits = -15"), ("SQL_ASCII",)],
    indirect=True,
)
def test_no_setting_of_postgresql_changes_stored_values(odd_database):
    now, engine = clock.now(), database.open_engine(odd_database)
    schema.migrate(engine)
    with writing(engine) as session:
        session.add(Person(pseudonym="A-1", name="Жé…🙂", created_at=now))
    with reading(engine) as session:
        person = session.scalars(select(Person)).one()
        number = session.scalar(text("SELECT CAST(62.5 AS double precision)"))
    engine.dispose()

    assert (person.name, person.created_at, number) == ("Жé…🙂", now, 62.5)


@pytest.mark.parametrize(
    ("odd_database", "setting"),
    [(("UTF8", "synchronous_commit = off"), "on"), (("UTF8", "synchronous_commit = remote_apply"), "remote_apply")],
    indirect=["odd_database"],
)
def test_postgresql_acknowledges_what_is_on_its_disk(odd_database, setting):
    engine = database.open_engine(odd_database)
    with engine.connect() as connection:
        assert connection.scalar(text("SHOW synchronous_commit")) == setting
    engine.dispose()


def test_locks_of_a_lost_computer_end_within_a_minute(postgres_engine):
    """PostgreSQL asks after two hours of silence; until then nobody could submit to the study whose row was locked."""
    with postgres_engine.connect() as connection:
        idle, interval, count = (
            int(connection.scalar(text(f"SELECT setting FROM pg_settings WHERE name = 'tcp_keepalives_{name}'")))
            for name in ("idle", "interval", "count")
        )
        unanswered = int(connection.scalar(text("SELECT setting FROM pg_settings WHERE name = 'tcp_user_timeout'")))
    assert 0 < idle + interval * count <= 60
    assert 0 < unanswered <= 60_000


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


def test_a_deleted_lock_is_taken_again_with_its_note(sqlite_engine):
    with present(database.lock_server(sqlite_engine)) as lock:
        place = host.RunningAt("http://lab:8501", 8501, "127.0.0.1")
        host.write_note(lock, place)
        path = Path(lock.name)
        path.unlink()
        database.hold(lock)

        assert host.noted(path) == place
        with pytest.raises(UnsafeDatabase, match="Another Triptych is using triptych.db"):
            database.lock_server(sqlite_engine)

    database.lock_server(sqlite_engine).close()


def test_a_server_stops_where_another_took_its_lock(sqlite_engine):
    first = present(database.lock_server(sqlite_engine))
    Path(first.name).unlink()
    second = present(database.lock_server(sqlite_engine))
    with pytest.raises(DatabaseUnavailable, match="since its lock file was deleted"):
        database.hold(first)

    second.close()
    database.hold(first)
    with pytest.raises(UnsafeDatabase):
        database.lock_server(sqlite_engine)
    first.close()


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
    assert host.file_system(tmp_path, tmp_path / "none") == ""


def test_work_that_fails_is_logged_and_repeated(caplog):
    errors = iter([NotFound("Nothing there."), ValueError("odd")])
    done = threading.Event()

    def work() -> None:
        for error in errors:
            raise error
        done.set()

    with repeated(work, "Some work", 0.001, logging.getLogger("triptych.some_work")):
        assert done.wait(5)
    assert [(record.levelname, record.getMessage()) for record in caplog.records[:2]] == [
        ("WARNING", "Some work: it failed and is tried again."),
        ("ERROR", "Some work: it failed and is tried again."),
    ]


def test_a_circle_of_links_leads_to_no_file(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")

    with pytest.raises(OSError, match="symbolic links"):
        outputs.without_links(tmp_path / "a")
