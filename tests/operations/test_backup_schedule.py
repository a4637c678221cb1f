"""Backups by schedule: when one is due, that one process makes it, and which are deleted."""

from __future__ import annotations

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta

import pytest
from sqlalchemy import update

from triptych import clock, settings
from triptych.cli import main
from triptych.errors import NotAllowed, NotFound
from triptych.operations import backup, backup_schedule
from triptych.operations.backup_schedule import Schedule, back_up_if_due, set_schedule, state_of
from triptych.operations.lasting import LAST, SCHEDULE
from triptych.privacy import backup_facts
from triptych.storage import database, schema
from triptych.storage.database import reading, writing
from triptych.storage.models import Setting
from triptych.web.session import web_engine


@pytest.fixture
def daily(monkeypatch):
    """A database with a daily schedule that keeps two backups; returns a function that moves the clock by hours."""
    with writing(web_engine()) as session:
        set_schedule(session, Schedule(24, 2))
    now = [clock.now()]
    monkeypatch.setattr(clock, "now", lambda: now[0])

    def pass_hours(hours: float) -> None:
        now[0] += timedelta(hours=hours)

    return pass_hours


def names() -> list[str]:
    return [made.name.partition("-")[0] for made in backup.listed()]


def test_without_a_schedule_nothing_is_made():
    back_up_if_due(web_engine())
    assert backup.listed() == []


def test_a_backup_is_made_once_when_it_is_due(daily):
    for _ in range(2):
        back_up_if_due(web_engine())
    assert names() == ["scheduled"]
    daily(23.9)
    back_up_if_due(web_engine())
    assert len(names()) == 1
    daily(0.2)
    back_up_if_due(web_engine())
    assert len(names()) == 2


def test_several_processes_make_one_backup(daily):
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(back_up_if_due, [web_engine()] * 4))
    assert names() == ["scheduled"]


def test_only_scheduled_backups_beyond_the_number_kept_are_deleted(daily):
    backup.make(web_engine())
    for _ in range(4):
        back_up_if_due(web_engine())
        daily(24)
    assert sorted(names()) == ["scheduled", "scheduled", "triptych"]
    assert len(list(backup.folder().iterdir())) == 6  # each with the file beside it


def test_a_scheduled_backup_that_somebody_renamed_stays(daily):
    """It was deleted like those with a name of the schedule."""
    for name in ("scheduled-before-the-final-round.db", "scheduled-20260101-000000-000000 (copy).db"):
        (backup.folder() / name).write_text("a copy")
    for _ in range(3):
        back_up_if_due(web_engine())
        daily(24)

    assert len(backup.listed()) == 4
    assert {path.stat().st_size for path in backup.folder().glob("*-the-*")} == {6}


def test_an_old_backup_that_stays_is_no_failure(daily, monkeypatch):
    for _ in range(2):
        back_up_if_due(web_engine())
        daily(24)

    def fail(made):
        raise PermissionError("It may not be deleted.")

    monkeypatch.setattr(backup, "delete", fail)
    back_up_if_due(web_engine())
    daily(2)
    back_up_if_due(web_engine())
    with reading(web_engine()) as session:
        assert (len(names()), state_of(session).failure) == (3, "")


def test_a_clock_that_was_ahead_stops_no_backup(daily):
    daily(100_000)
    for _ in range(2):
        back_up_if_due(web_engine())
        daily(24)
    daily(-100_000)
    back_up_if_due(web_engine())
    back_up_if_due(web_engine())

    newest, ahead = (made.at for made in backup.listed())
    assert newest == clock.now()
    assert ahead > newest


def test_backups_of_a_clock_ahead_replace_no_newer_ones(daily):
    """They counted as the newest until the clock reached their time again."""
    daily(100_000)
    for _ in range(2):
        back_up_if_due(web_engine())
        daily(24)
    daily(-100_000)
    made = []
    for _ in range(3):
        back_up_if_due(web_engine())
        made.append(clock.now())
        daily(24)

    assert [stored.at for stored in backup.listed()] == [made[2], made[1]]


def test_a_restore_keeps_the_schedule_and_newer_backups(daily):
    with writing(web_engine()) as session:
        set_schedule(session, Schedule(24, 1))
    before = backup.make(web_engine())
    with writing(web_engine()) as session:
        set_schedule(session, Schedule(12, 7))
    for _ in range(3):
        back_up_if_due(web_engine())
        daily(12)
    with reading(web_engine()) as session:
        schedule = state_of(session)

    backup.restore(web_engine(), before.path, "the administrator")

    with reading(web_engine()) as session:
        assert state_of(session) == schedule
    back_up_if_due(web_engine())
    assert names().count("scheduled") == 4


def test_a_restore_into_a_new_database_brings_the_schedule(daily, tmp_path, monkeypatch):
    made = backup.make(web_engine())
    monkeypatch.setenv("TRIPTYCH_HOME", str(tmp_path / "new"))

    backup.restore(web_engine(), made.path, "the administrator")

    with reading(web_engine()) as session:
        assert state_of(session).schedule == Schedule(24, 2)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *((SCHEDULE, value) for value in ("5", '{"every_hours": "x"}', '{"every_hours": 1, "kept": "x"}')),
        *((LAST, value) for value in ("yesterday", "2026-01-01T00:00:00")),
    ],
)
def test_a_schedule_that_nothing_reads_is_not_restored(daily, tmp_path, monkeypatch, key, value):
    """Somebody edits the settings of a backup, which no log proves, and leaves out the file next to it."""
    made = backup.make(web_engine())
    made.path.with_name(f"{made.name}.json").unlink()
    with closing(sqlite3.connect(made.path)) as file, file:
        file.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (key, value))
    monkeypatch.setenv("TRIPTYCH_HOME", str(tmp_path / "new"))

    backup.restore(web_engine(), made.path, "the administrator")

    with reading(web_engine()) as session:
        assert state_of(session).due is None


def test_a_restore_replaces_a_database_of_an_earlier_version(tmp_path, monkeypatch):
    monkeypatch.setenv("TRIPTYCH_HOME", str(tmp_path))
    newer, older = (database.open_engine(f"sqlite:///{tmp_path / name}") for name in ("newer.db", "triptych.db"))
    schema.migrate(newer)
    newer.dispose()
    schema.create_version(older, "0005")
    with writing(older) as session:
        set_schedule(session, Schedule(24, 3))

    backup.restore(older, tmp_path / "newer.db", "the administrator")

    with reading(older) as session:
        assert state_of(session).schedule == Schedule(24, 3)
    assert schema.stored_version(older) == schema.HEAD
    older.dispose()


@pytest.mark.long
def test_an_earlier_version_that_cannot_be_upgraded_is_replaced(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TRIPTYCH_HOME", str(tmp_path))
    newer, older = (database.open_engine(f"sqlite:///{tmp_path / name}") for name in ("newer.db", "triptych.db"))
    schema.migrate(newer)
    newer.dispose()
    schema.create_version(older, "0005")
    with closing(sqlite3.connect(tmp_path / "triptych.db")) as file:
        file.execute("INSERT INTO membership (study_id, person_id, role, joined_at) VALUES (7, 7, 'lead', 0)")
        file.commit()
    older.dispose()
    with pytest.raises(backup.BackupFailed, match="would lose 2 rows"):
        backup.restore(older, tmp_path / "newer.db", "the administrator")

    assert main.main(["data", "restore", str(tmp_path / "newer.db")]) == 0

    assert "hides whose access was revoked since this backup" in capsys.readouterr().out
    assert schema.stored_version(older) == schema.HEAD
    older.dispose()


def test_a_failure_is_remembered_until_a_backup_succeeds(daily, monkeypatch):
    def fail(engine, name):
        raise backup.BackupFailed("No backup was made: disk full.")

    with monkeypatch.context() as broken:
        broken.setattr(backup, "make", fail)
        back_up_if_due(web_engine())
    with reading(web_engine()) as session:
        assert state_of(session).failure == "No backup was made: disk full."
    daily(1)
    back_up_if_due(web_engine())
    with reading(web_engine()) as session:
        assert state_of(session).failure == ""


def test_an_interrupted_backup_is_made_an_hour_later(daily, monkeypatch):
    class Killed(BaseException):
        pass

    def end(engine, name):
        raise Killed

    with monkeypatch.context() as broken, pytest.raises(Killed):
        broken.setattr(backup, "make", end)
        back_up_if_due(web_engine())
    for hours in (0.9, 0.2, 23.7):
        daily(hours)
        back_up_if_due(web_engine())

    assert names() == ["scheduled"]
    daily(0.4)
    back_up_if_due(web_engine())
    assert names() == ["scheduled", "scheduled"]


@pytest.mark.parametrize("schedule", [Schedule(24, 0), Schedule(24, 366), Schedule(-1, 7), Schedule(8761, 7)])
def test_a_schedule_needs_sensible_numbers(schedule):
    with pytest.raises(NotAllowed, match="Keep 1 to 365"), writing(web_engine()) as session:
        set_schedule(session, schedule)


def test_an_endless_interval_stops_no_backups(daily):
    """Nobody could open the page Backups to put it right."""
    daily(24)
    back_up_if_due(web_engine())
    with writing(web_engine()) as session:
        endless = json.dumps({"every_hours": 999_999_999_999_999, "kept": 2})
        session.execute(update(Setting).where(Setting.key == SCHEDULE).values(value=endless))
    with reading(web_engine()) as session:
        assert state_of(session).due == clock.now() + timedelta(days=365)
    daily(24 * 366)
    back_up_if_due(web_engine())

    assert names() == ["scheduled", "scheduled"]


def test_a_running_server_makes_what_is_due(daily, monkeypatch):
    monkeypatch.setattr(backup_schedule, "LOOK_SECONDS", 3600)
    with backup_schedule.scheduled(web_engine()):
        pass  # leaving waits for the work under way
    assert names() == ["scheduled"]


def test_two_databases_in_a_folder_keep_their_own_backups(daily, monkeypatch, tmp_path):
    back_up_if_due(web_engine())
    (first,) = backup.listed()
    monkeypatch.setenv(settings.DATABASE, f"sqlite:///{tmp_path / 'other.db'}")
    other = database.open_engine(settings.database_url())
    schema.migrate(other)
    with writing(other) as session:
        set_schedule(session, Schedule(24, 1))

    for _ in range(2):
        daily(25)
        back_up_if_due(other)

    assert first.path.exists()
    (second,) = backup.listed()
    assert second.path != first.path
    with pytest.raises(NotFound):
        backup.find(first.name)
    monkeypatch.delenv(settings.DATABASE)
    assert backup.listed() == [first]


def test_a_backup_of_an_unknown_database_is_listed_and_kept(daily):
    """As earlier versions made them."""
    back_up_if_due(web_engine())
    (old,) = backup.listed()
    facts = json.loads(backup_facts.path_beside(old.path).read_text())
    del facts["database"]
    backup_facts.path_beside(old.path).write_text(json.dumps(facts))

    for _ in range(3):
        daily(25)
        back_up_if_due(web_engine())

    assert [made.database for made in backup.listed()] == ["triptych.db", "triptych.db", ""]


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("postgresql://u:secret@db.example:5433/study?sslpassword=secret", "db.example/5433/study"),
        ("postgresql://u@db.example/study", "db.example/5432/study"),
        ("sqlite:////elsewhere/study.db", "/elsewhere/study.db"),
    ],
)
def test_a_backup_names_its_database_without_secrets(monkeypatch, address, name):
    monkeypatch.setenv(settings.DATABASE, address)

    assert backup.of_database() == name
