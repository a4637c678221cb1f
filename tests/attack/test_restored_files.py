"""Backups from elsewhere, and restores that cannot be finished: the database stays as it was."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from helpers.studies import ROOT
from sqlalchemy import Engine, select

from components.shell import backups
from triptych.cli import main
from triptych.operations import backup
from triptych.operations.backup import BackupFailed
from triptych.storage import database, sqlite_files
from triptych.storage.database import reading, writing
from triptych.storage.events import EventKind
from triptych.storage.models import Event, Person, Study
from triptych.storage.unavailable import DatabaseBusy

ACTOR = "command line"
# the index's pages then belong to nothing, which SQLite calls damage
DROP_UNSAFELY = ["PRAGMA writable_schema = 1", "DELETE FROM sqlite_master WHERE name = 'day'"]


@pytest.fixture
def study(sqlite_engine: Engine, make_study) -> Study:
    with writing(sqlite_engine) as session:
        return make_study(session)[0]


def titles(engine: Engine) -> list[str]:
    with reading(engine) as session:
        return list(session.scalars(select(Study.title)))


def run_on(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        for statement in statements:
            file.execute(statement)


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE measurement (x)"],
        ["CREATE TABLE event (day)"],
        ["CREATE VIEW answer AS SELECT 42"],
        ["CREATE TABLE alembic_version (version_num)", "INSERT INTO alembic_version VALUES ('0a1b2c')"],
        ["CREATE TABLE run (x)", "CREATE INDEX day ON run (x)", *DROP_UNSAFELY],
    ],
)
def test_a_restore_overwrites_no_file_of_another_program(sqlite_engine, study, tmp_path, statements):
    path = backup.make(sqlite_engine).path
    thesis = tmp_path / "thesis.db"
    run_on(thesis, *statements)
    names = "SELECT name FROM sqlite_master ORDER BY name"
    with closing(sqlite3.connect(thesis)) as file:
        before = file.execute(names).fetchall()
    engine = database.open_engine(f"sqlite:///{thesis}")

    with pytest.raises(BackupFailed, match=r"thesis\.db holds another program's tables"):
        backup.restore(engine, path, ACTOR, alone=True)

    engine.dispose()
    with closing(sqlite3.connect(thesis)) as file:
        assert file.execute(names).fetchall() == before
    assert not list(path.parent.glob("damaged-*"))


def test_a_database_that_lost_its_version_is_kept(sqlite_engine, study):
    path = backup.make(sqlite_engine).path
    stored = database.sqlite_path(str(sqlite_engine.url))
    sqlite_engine.dispose()
    run_on(stored, "DELETE FROM alembic_version", "CREATE TABLE of_this_file (x)")

    restored = backup.restore(sqlite_engine, path, ACTOR, alone=True)

    assert restored.is_access_unread
    assert restored.before
    with closing(sqlite3.connect(restored.before)) as file:
        assert file.execute("SELECT count(*) FROM of_this_file").fetchone() == (0,)
    with backup.opened(stored) as replaced:
        assert titles(replaced) == [study.title]


def test_a_database_that_cannot_be_read_is_not_replaced(sqlite_engine, study):
    """It was taken for a damaged one, and looks and an unblinding that it held were forgotten."""
    earlier, path = backup.make(sqlite_engine).path, database.sqlite_path(str(sqlite_engine.url))
    before = path.read_bytes()
    path.chmod(0)
    powerless = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    if powerless and not shutil.which(powerless[0]):
        pytest.skip("the administrator reads every file")

    command = [*powerless, sys.executable, "-m", "triptych", "data", "restore", str(earlier)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert (ended.returncode, path.stat().st_mode & 0o777) == (2, 0)
    assert f"Nothing was restored: {path} cannot be read and written" in ended.stderr
    path.chmod(0o600)
    assert path.read_bytes() == before


def test_a_log_of_writes_beside_a_backup_is_not_restored(sqlite_engine, study):
    """The backup's own bytes are unchanged, so its hash is right; SQLite would still read the log."""
    path = backup.make(sqlite_engine).path
    edited = path.with_name("edited.db")
    shutil.copy(path, edited)
    with closing(sqlite3.connect(edited)) as file:
        file.execute("PRAGMA journal_mode=wal")
        file.execute("UPDATE study SET title = 'Another'")
        file.execute("UPDATE person SET name = 'Mallory', passcode_hash = 'theirs'")
        file.commit()
        shutil.copy(f"{edited}-wal", f"{path}-wal")

    with pytest.raises(BackupFailed, match="was changed after it was made"):
        backup.restore(sqlite_engine, path, ACTOR, alone=True)

    assert titles(sqlite_engine) == [study.title]
    with reading(sqlite_engine) as session:
        assert "Mallory" not in session.scalars(select(Person.name)).all()


def test_a_backup_that_would_change_later_rows_is_refused(sqlite_engine, study, tmp_path):
    given = tmp_path / "given.db"
    shutil.copy(backup.make(sqlite_engine).path, given)
    run_on(given, "CREATE TRIGGER t AFTER INSERT ON rating BEGIN UPDATE rating SET number = 5; END")

    with pytest.raises(BackupFailed, match="has the trigger 't' in a form which this program never creates"):
        backup.restore(sqlite_engine, given, ACTOR, alone=True)


def test_a_backup_without_a_rule_of_ours_is_refused(sqlite_engine, study, tmp_path):
    changed = tmp_path / "changed.db"
    shutil.copy(backup.make(sqlite_engine).path, changed)
    rule = "FOREIGN KEY(study_id) REFERENCES study (id) ON DELETE CASCADE,"
    run_on(
        changed,
        "PRAGMA writable_schema = 1",
        f"UPDATE sqlite_master SET sql = replace(sql, '{rule}', '') WHERE name = 'event'",
    )
    with pytest.raises(BackupFailed, match="has the table 'event' in a form which this program never creates"):
        backup.restore(sqlite_engine, changed, ACTOR, alone=True)


def test_edited_rows_of_a_backup_are_reported(sqlite_engine, study, tmp_path, capsys):
    """Without the file beside it only its rows can show that somebody edited it."""
    edited = tmp_path / "edited.db"
    shutil.copy(backup.make(sqlite_engine).path, edited)
    run_on(edited, "UPDATE study SET title = 'Another'")

    assert main.main(["data", "restore", str(edited)]) == 0

    said = f"{study.slug}: study 1 ({study.slug}): title is not what the log says."
    assert f"Rows of the backup differ from their log. {said}" in capsys.readouterr().out
    restored = backup.restore(sqlite_engine, edited, ACTOR, alone=True)
    (differing,) = restored.differing
    assert differing.startswith(said)
    assert differing in backups.restored(restored)


def test_a_full_disk_takes_no_database_away(sqlite_engine, study, monkeypatch):
    """No room for a backup of the state before is no damage of the database."""
    path = backup.make(sqlite_engine).path

    def no_room(*_: object) -> None:
        raise BackupFailed("No backup was made: database or disk is full.")

    monkeypatch.setattr(backup, "make", no_room)
    with pytest.raises(BackupFailed, match="disk is full"):
        backup.restore(sqlite_engine, path, ACTOR, alone=True)

    assert titles(sqlite_engine) == [study.title]
    assert not list(path.parent.glob("damaged-*"))


def test_a_damaged_database_stays_when_nothing_is_restored(sqlite_engine, study, monkeypatch):
    path = backup.make(sqlite_engine).path
    stored = database.sqlite_path(str(sqlite_engine.url))
    sqlite_engine.dispose()
    damaged = b"SQLite format 3\0" + b"no more" * 200
    stored.write_bytes(damaged)

    copy = sqlite_files.copy_pages

    def no_room(source: Path, target: Path) -> None:
        if target.name == stored.name:
            target.write_bytes(b"half")
            raise sqlite3.OperationalError("database or disk is full")
        copy(source, target)

    monkeypatch.setattr(sqlite_files, "copy_pages", no_room)
    with pytest.raises(BackupFailed, match="disk is full"):
        backup.restore(sqlite_engine, path, ACTOR, alone=True)

    assert stored.read_bytes() == damaged


def test_a_backup_without_its_list_leaves_no_list(sqlite_engine, study, monkeypatch):
    def no_room(self: Path, *_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "rename", no_room)
    with pytest.raises(BackupFailed, match="No space left on device"):
        backup.make(sqlite_engine)

    assert list(backup.folder().iterdir()) == []


def test_an_interrupted_restore_is_in_the_log(sqlite_engine, study, monkeypatch):
    path = backup.make(sqlite_engine).path
    overwrite = sqlite_files.overwrite_sqlite

    def then_killed(engine: Engine, source: Path) -> None:
        overwrite(engine, source)
        raise KeyboardInterrupt

    monkeypatch.setattr(sqlite_files, "overwrite_sqlite", then_killed)
    with pytest.raises(KeyboardInterrupt):
        backup.restore(sqlite_engine, path, ACTOR, alone=True)

    with reading(sqlite_engine) as session:
        last = session.scalars(select(Event).order_by(Event.number.desc())).first()
        assert last.kind == EventKind.restored_from_backup


def test_nothing_is_stored_between_the_last_backup_and_a_restore(sqlite_engine, study, monkeypatch):
    """It was in neither of them: a submission with a receipt was gone without a trace."""
    path = backup.make(sqlite_engine).path
    monkeypatch.setattr(database, "QUEUE_SECONDS", 0.05)
    state_before = backup._state_before
    refused = []

    def then_somebody_submits(engine: Engine, alone: bool) -> backup._Before:
        before = state_before(engine, alone)
        with ThreadPoolExecutor(1) as other:
            refused.append(other.submit(submit).exception())
        return before

    def submit() -> None:
        with writing(sqlite_engine) as session:
            session.get_one(Study, study.id).title = "Another"

    monkeypatch.setattr(backup, "_state_before", then_somebody_submits)
    backup.restore(sqlite_engine, path, ACTOR)

    assert isinstance(refused[0], DatabaseBusy)
    submit()
    assert titles(sqlite_engine) == ["Another"]


def test_no_copy_of_a_backup_stays_behind(sqlite_engine, study, tmp_path):
    """It would hold everybody in it, for good: one of an older version, and one whose name is a pattern."""
    given = tmp_path / "backup[1].db"
    shutil.copy(backup.make(sqlite_engine).path, given)
    run_on(given, "DROP TABLE stored_answer", "DROP TABLE token", "DROP INDEX ix_person_identity")
    run_on(given, "ALTER TABLE person DROP COLUMN identity", "ALTER TABLE highlight DROP COLUMN unit")
    run_on(given, *(f"ALTER TABLE {table} DROP COLUMN language" for table in ("assignment", "person")))
    run_on(given, "ALTER TABLE assignment DROP COLUMN arrangement", "UPDATE alembic_version SET version_num = '0008'")

    backup.restore(sqlite_engine, given, ACTOR, alone=True)

    assert [path.name for path in backup.folder().iterdir() if path.name.startswith(".")] == []


def test_a_backup_on_a_read_only_disk_is_restored(sqlite_engine, study, tmp_path, monkeypatch):
    """There SQLite can make none of the files that it wants next to a database."""
    kept = tmp_path / "kept" / "backup.db"
    kept.parent.mkdir()
    shutil.copy(backup.make(sqlite_engine).path, kept)
    run_on(kept, "PRAGMA journal_mode=wal")
    connect = sqlite3.connect

    def as_read_only(name, *values, **options):
        assert not str(name).endswith(str(kept)), "opened for writing"
        return connect(name, *values, **options)

    monkeypatch.setattr(sqlite3, "connect", as_read_only)
    assert backup.restore(sqlite_engine, kept, ACTOR, alone=True).name == "backup.db"
    assert [path.name for path in kept.parent.iterdir()] == ["backup.db"]


def test_a_backup_in_utf16_is_not_restored(sqlite_engine, study, tmp_path):
    """The app's open connections could read nothing any more, until it is started again."""
    given = tmp_path / "given.db"
    with closing(sqlite3.connect(backup.make(sqlite_engine).path)) as made, closing(sqlite3.connect(given)) as file:
        file.execute("PRAGMA encoding = 'UTF-16le'")
        file.executescript("\n".join(made.iterdump()))

    with pytest.raises(BackupFailed, match="has its texts in UTF-16le"):
        backup.restore(sqlite_engine, given, ACTOR, alone=True)

    assert titles(sqlite_engine) == [study.title]
