"""Files that somebody put into a data folder: links, pipes, a database or a secret of their own."""

from __future__ import annotations

import io
import os
import sqlite3
import struct
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import triptych as tt
from triptych import clock, settings
from triptych.cli import main
from triptych.errors import NotFound, UnsafeDatabase
from triptych.operations import backup, move
from triptych.privacy import erasure, withdrawal
from triptych.scripting import home as home_of_scripts
from triptych.storage import database, host, private, schema, traces
from triptych.storage.models import Study

SOMEBODY, THIS_USER = 4321, 1234


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("TRIPTYCH_HOME", str(tmp_path / "home"))
    return settings.local_folder()


@pytest.fixture
def somebody_elses(monkeypatch):
    """Makes a file belong to another user than the one who runs the app."""
    if os.geteuid() != 0:
        pytest.skip("only the administrator gives files away")

    def given_away(path: Path, own: Path | None = None) -> None:
        """own: a file of this user to which their link leads, in the place of theirs."""
        if own is not None:
            path.symlink_to(own)
            os.chown(own, THIS_USER, -1)
        os.chown(path.parent, THIS_USER, -1)
        os.chown(path, SOMEBODY, -1, follow_symlinks=own is None)
        monkeypatch.setattr("os.geteuid", lambda: THIS_USER)

    return given_away


def test_a_link_starts_no_second_server_on_a_database(home, tmp_path):
    engine = database.open_engine(settings.database_url())
    schema.migrate(engine)
    (tmp_path / "linked.db").symlink_to(home / "triptych.db")
    linked = database.open_engine(f"sqlite:///{tmp_path / 'linked.db'}")

    with database.lock_server(engine), pytest.raises(UnsafeDatabase, match="Another Triptych is using triptych.db"):
        database.lock_server(linked)

    assert not (tmp_path / "linked.lock").exists()


def test_a_link_in_the_place_of_the_lock_overwrites_nothing(home, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    host.lock_in(home).symlink_to(victim)

    with pytest.raises(UnsafeDatabase):
        host.lock_file(host.lock_in(home), "refused")

    assert victim.read_text() == "precious"
    assert host.noted(host.lock_in(home)) is None


def test_a_pipe_in_the_place_of_the_lock_stalls_nobody(home):
    os.mkfifo(host.lock_in(home))

    assert host.noted(host.lock_in(home)) is None


def test_no_lock_of_another_user_is_used(home, somebody_elses):
    """They could delete it while a command ran, so that a server started; and commands printed the address in it."""
    lock = host.lock_in(home)
    lock.write_text('{"address": "http://evil.example", "port": 1, "bound": "0.0.0.0"}')
    somebody_elses(lock)

    assert host.noted(lock) is None
    with pytest.raises(UnsafeDatabase, match="a lock: it belongs to another user. Give it to the user who"):
        host.lock_file(lock, "refused")


def test_scripts_call_no_server_of_another_user(home, somebody_elses):
    """They got what the script sent, and made up the answers."""
    place = home / host.RUNNING
    place.write_text('{"url": "http://127.0.0.1:1", "key": "theirs"}')
    assert home_of_scripts.running_app(home) == ("http://127.0.0.1:1", "theirs")
    somebody_elses(place)

    with pytest.raises(NotFound):
        home_of_scripts.running_app(home)


def test_no_pipe_stalls_a_script(home):
    os.mkfifo(home / host.RUNNING)

    with pytest.raises(NotFound):
        home_of_scripts.running_app(home)


@pytest.mark.parametrize("name", ["triptych.db", "cookie.secret", "running.json"])
def test_a_file_of_another_user_is_not_used(home, somebody_elses, name):
    (home / name).touch()
    somebody_elses(home / name)

    with pytest.raises(UnsafeDatabase, match=f"{name} belongs to another user"):
        private.refuse_unusable()


@pytest.mark.parametrize("name", ["backups", "cookie.secret"])
def test_no_link_of_another_user_is_used(home, tmp_path, somebody_elses, name):
    """The secret was whatever file of this user they chose, such as one that everybody can read."""
    known = tmp_path / "known"
    known.mkdir() if name == "backups" else known.write_text("known to all")
    somebody_elses(home / name, known)

    with pytest.raises(UnsafeDatabase, match=f"{name} belongs to another user"):
        backup.folder() if name == "backups" else private.refuse_unusable()


def test_a_link_to_nothing_is_no_secret(home, tmp_path):
    """Of another user, who made its target once the app had started."""
    (home / "cookie.secret").symlink_to(tmp_path / "later")

    with pytest.raises(UnsafeDatabase, match="secret cannot be read and written: No such file"):
        private.refuse_unusable()


def test_commands_write_into_no_database_of_another_user(home, somebody_elses, monkeypatch, capsys):
    (home / "triptych.db").touch()
    somebody_elses(home / "triptych.db")
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse battery\n"))

    assert main.main(["people", "add-lead", "Ada"]) == 2
    assert "triptych.db belongs to another user" in capsys.readouterr().err


def test_no_backup_goes_to_a_folder_of_another_user(home, tmp_path, somebody_elses, make_study):
    engine = database.open_engine(settings.database_url())
    schema.migrate(engine)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (home / "backups").symlink_to(theirs)
    somebody_elses(theirs)

    with pytest.raises(UnsafeDatabase, match="backups belongs to another user"):
        backup.make(engine)

    assert list(theirs.iterdir()) == []


def test_an_empty_secret_signs_nothing(home, monkeypatch):
    """As a power failure leaves it."""
    monkeypatch.delenv(settings.SECRET, raising=False)
    (home / "cookie.secret").touch()

    assert not settings.is_weak(settings.cookie_secret())
    assert settings.cookie_secret() == (home / "cookie.secret").read_text() != ""


def test_a_link_in_the_place_of_the_traces_deletes_nothing(home, tmp_path):
    """Only the newest traces are kept, and an erasure deletes all of them."""
    victims = [tmp_path / "letters" / f"letter-{number}.txt" for number in range(traces.MAX_TRACES + 1)]
    victims[0].parent.mkdir()
    for victim in victims:
        victim.write_text("precious")
    (home / "errors").symlink_to(victims[0].parent)

    traces.store(ValueError("an error"))
    traces.clear()

    assert sorted(victims[0].parent.iterdir()) == sorted(victims)


def test_a_link_in_place_of_a_copy_overwrites_nothing(home, tmp_path, monkeypatch):
    """The copy before an upgrade has a name that somebody can foresee."""
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    victim = tmp_path / "victim.db"
    with closing(sqlite3.connect(victim)) as file:
        file.execute("CREATE TABLE precious (a)")
    engine = database.open_engine(settings.database_url())
    schema.create_version(engine, "0013")
    (home / f"triptych-before-{schema.HEAD}-{moment:%Y%m%d-%H%M%S}.part.db").symlink_to(victim)
    monkeypatch.setattr(clock, "now", lambda: moment)

    with pytest.raises(FileExistsError):
        schema.migrate(engine)

    with closing(sqlite3.connect(victim)) as file:
        assert file.execute("SELECT name FROM sqlite_master").fetchall() == [("precious",)]
    engine.dispose()


def test_no_script_calls_the_port_of_a_killed_app(home):
    """Another user may have taken it, and would read the call while a long command holds the database."""
    engine = database.open_engine(settings.database_url())
    schema.migrate(engine)
    (home / home_of_scripts.FILE).write_text('{"url": "http://127.0.0.1:1", "key": "triptych-home_x"}')

    with database.lock_server(engine), pytest.raises(tt.NotFound, match="not a running app"):
        tt.open(home)


def journal_that_deletes(path: Path, victim: Path) -> Path:
    """A journal next to a database, whose transaction began in several databases: SQLite deletes the common one."""
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("PRAGMA journal_mode=delete")
        file.execute("PRAGMA cache_size=5")
        file.execute("CREATE TABLE filler AS SELECT hex(zeroblob(2000)) AS text FROM event, event AS other")
        file.execute("BEGIN")
        file.execute("UPDATE filler SET text = text || 'x'")
        journal = path.with_name(f"{path.name}-journal")
        unfinished = path.read_bytes(), journal.read_bytes()
        file.execute("ROLLBACK")
    name = bytes(victim.resolve())
    record = struct.pack(">I", 2**30 // 4096 + 1) + name + struct.pack(">II", len(name), sum(name))
    path.write_bytes(unfinished[0])
    journal.write_bytes(unfinished[1] + record + bytes.fromhex("d9d505f920a163d7"))
    return journal


@pytest.fixture
def victim(tmp_path) -> Path:
    path = tmp_path / "victim"
    path.write_text("precious")
    return path


@pytest.mark.parametrize("words", [["study", "list"], ["data", "migrate"]])
def test_a_journal_of_another_user_deletes_nothing(home, victim, somebody_elses, make_study, capsys, words):
    engine = database.open_engine(settings.database_url())
    schema.migrate(engine)
    with database.writing(engine) as session:
        make_study(session)
    engine.dispose()
    journal = journal_that_deletes(home / "triptych.db", victim)
    somebody_elses(journal)

    code = main.main(words)

    assert victim.exists()
    assert code == 2
    assert "triptych.db-journal belongs to another user" in capsys.readouterr().err


def test_a_write_ahead_log_of_another_user_is_not_applied(home, somebody_elses, capsys):
    engine = database.open_engine(settings.database_url())
    schema.migrate(engine)
    engine.dispose()
    log = home / "triptych.db-wal"
    log.write_bytes(b"theirs")
    somebody_elses(log)

    assert main.main(["study", "list"]) == 2

    assert "triptych.db-wal belongs to another user" in capsys.readouterr().err
    assert log.read_bytes() == b"theirs"


def test_no_pipe_of_another_user_holds_a_command(home, somebody_elses, capsys):
    """SQLite waited for ever for somebody to write into it, in the place of the memory that its processes share."""
    engine = database.open_engine(settings.database_url())
    schema.migrate(engine)
    engine.dispose()
    os.mkfifo(home / "triptych.db-shm")
    somebody_elses(home / "triptych.db-shm")

    assert main.main(["data", "backup"]) == 2
    assert "triptych.db-shm belongs to another user" in capsys.readouterr().err


def test_a_journal_beside_a_backup_deletes_nothing(sqlite_engine, make_study, victim, tmp_path):
    with database.writing(sqlite_engine) as session:
        make_study(session)
    given = tmp_path / "given.db"
    given.write_bytes(backup.make(sqlite_engine).path.read_bytes())
    journal_that_deletes(given, victim)

    with pytest.raises(backup.BackupFailed) as refused:
        backup.restore(sqlite_engine, given, "command line", alone=True)

    assert victim.exists()
    assert "given.db-journal holds an unfinished transaction" in str(refused.value)


@pytest.mark.parametrize("placed", ["pipe", "endless"])
def test_a_file_placed_beside_a_backup_holds_no_restore(sqlite_engine, make_study, tmp_path, placed):
    with database.writing(sqlite_engine) as session:
        make_study(session)
    given = tmp_path / "given.db"
    given.write_bytes(backup.make(sqlite_engine).path.read_bytes())
    place_beside(given, placed)

    with pytest.raises(backup.BackupFailed, match="was changed after it was made"):
        backup.restore(sqlite_engine, given, "command line", alone=True)


def place_beside(made: Path, placed: str) -> None:
    beside = made.with_name(f"{made.name}.json")
    beside.unlink(missing_ok=True)
    if placed == "pipe":
        os.mkfifo(beside)
    else:
        beside.symlink_to("/dev/zero")


@pytest.mark.parametrize("placed", ["pipe", "endless"])
def test_a_file_beside_a_backup_holds_no_list_of_copies(sqlite_engine, make_study, placed):
    with database.writing(sqlite_engine) as session:
        study, lead, (anna, *_) = make_study(session)
    made = backup.make(sqlite_engine).path
    place_beside(made, placed)
    with database.writing(sqlite_engine) as session:
        withdrawal.withdraw(session, study, anna.pseudonym, lead.pseudonym)

    with database.reading(sqlite_engine) as session:
        assert [copy.path for copy in erasure.copies(session, study, lead)] == [made]


def test_a_journal_that_appears_during_a_restore_deletes_nothing(
    sqlite_engine, make_study, victim, tmp_path, monkeypatch
):
    with database.writing(sqlite_engine) as session:
        make_study(session)
    given = tmp_path / "given.db"
    given.write_bytes(backup.make(sqlite_engine).path.read_bytes())
    prepared = journal_that_deletes(given, victim).rename(tmp_path / "prepared")
    given.with_name("given.db-wal").write_bytes(b"x")  # for which SQLite does not read the file as it is
    connect = sqlite3.connect

    def then_a_journal(*values, **options):
        if prepared.exists():
            prepared.rename(tmp_path / "given.db-journal")
        return connect(*values, **options)

    monkeypatch.setattr(database.sqlite3, "connect", then_a_journal)
    with pytest.raises(backup.BackupFailed):
        backup.restore(sqlite_engine, given, "command line", alone=True)

    assert victim.exists()
    assert (tmp_path / "given.db-journal").exists()


def test_a_write_ahead_log_is_restored_with_its_file(sqlite_engine, make_study, tmp_path):
    """A database copied from a computer that crashed has its last changes there."""
    with database.writing(sqlite_engine) as session:
        study = make_study(session)[0]
    kept = tmp_path / "kept.db"
    kept.write_bytes(backup.make(sqlite_engine).path.read_bytes())
    with closing(sqlite3.connect(kept)) as file:
        file.execute("PRAGMA journal_mode=wal")
        file.execute("UPDATE study SET title = 'Another'")
        file.commit()
        for ending in ("", "-wal"):
            (tmp_path / f"crashed.db{ending}").write_bytes((tmp_path / f"kept.db{ending}").read_bytes())

    backup.restore(sqlite_engine, tmp_path / "crashed.db", "command line", alone=True)

    with database.reading(sqlite_engine) as session:
        assert session.get_one(Study, study.id).title == "Another"


def test_a_pipe_in_the_place_of_a_backup_stalls_nobody(sqlite_engine, tmp_path, monkeypatch):
    pipe = tmp_path / "given.db"
    os.mkfifo(pipe)
    monkeypatch.setattr(Path, "is_file", lambda _: True)  # it was, when it was looked at

    with pytest.raises(backup.BackupFailed, match="There is no file"):
        backup.restore(sqlite_engine, pipe, "command line", alone=True)


@pytest.mark.parametrize("planted", ["before", "meanwhile"])
@pytest.mark.parametrize("user", [THIS_USER, 0], ids=["user", "administrator"])
def test_no_database_moves_to_where_anothers_link_leads(home, tmp_path, monkeypatch, capsys, user, planted):
    """Everything would be in a file that others may read, or in another database of this user."""
    if os.geteuid() != 0:
        pytest.skip("only the administrator gives files away")
    engine = database.open_engine(settings.database_url())
    schema.migrate(engine)
    engine.dispose()
    public, moved = tmp_path / "places.db", tmp_path / "moved.db"
    public.touch(0o644)

    def plant() -> None:
        moved.symlink_to(public)
        os.chown(moved, SOMEBODY, -1, follow_symlinks=False)

    copy_rows = move.move

    def and_plant(*arguments: Any) -> Sequence[move.Moved]:
        plant()
        return copy_rows(*arguments)

    if planted == "before":
        plant()
    else:
        monkeypatch.setattr(move, "move", and_plant)
    monkeypatch.setattr("os.geteuid", lambda: user)

    assert main.main(["data", "move", f"sqlite:///{moved}"]) != 0

    assert "belongs to another user and leads elsewhere" in capsys.readouterr().err
    assert public.read_bytes() == b""


def test_no_database_is_opened_through_anothers_link(tmp_path, monkeypatch):
    if os.geteuid() != 0:
        pytest.skip("only the administrator gives files away")
    linked = tmp_path / "linked.db"
    linked.symlink_to(tmp_path / "own.db")
    os.chown(linked, SOMEBODY, -1, follow_symlinks=False)
    monkeypatch.setattr("os.geteuid", lambda: THIS_USER)
    monkeypatch.setattr(host, "refuse_foreign", lambda place: None)  # the folder of the test is root's

    with pytest.raises(UnsafeDatabase, match="belongs to another user and leads elsewhere"):
        database.open_engine(f"sqlite:///{linked}")
