"""A restore over a damaged database that ends at any step: the old file or the new one stands, nothing is forgotten."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from helpers.studies import ROOT, sure
from sqlalchemy import Engine

from triptych import clock
from triptych.operations import backup
from triptych.results.looking import log_look
from triptych.storage import database
from triptych.storage.database import writing
from triptych.storage.models import Person, Study
from triptych.study import lifecycle

ACTOR = "command line"
GARBAGE = b"no more a database" * 500
SEEN_SINCE = {"results opened", "unblinded"}  # kinds of events after the backup
# Forks a process for each signal and step of a restore that changes files, which ends there, in a data folder of its
# own.
SCRIPT = """
import os, shutil, signal, sys
from itertools import count
from pathlib import Path
from triptych.operations import backup
from triptych.results import texts
from triptych.results.frame import upkeep
from triptych.storage import database

signal.signal(signal.SIGINT, signal.default_int_handler)  # where the tests run in the background it is ignored
file, earlier, homes = map(Path, sys.argv[1:4])
EVENTS = {"os.rename", "os.remove", "os.link", "os.truncate", "shutil.copyfile", "sqlite3.connect"}

def restore(home, number, last):
    steps = iter(range(1, last + 1))

    def step(event, values):
        if event in EVENTS and any(name in str(values) for name in (f"{home}/triptych.db", "damaged-")):
            if next(steps, None) == last:
                os.kill(os.getpid(), number)

    os.environ["TRIPTYCH_HOME"] = str(home)
    sys.addaudithook(step)
    engine = database.open_engine(f"sqlite:///{home}/triptych.db")
    backup.restore(engine, earlier, "command line", alone=True)

def is_ended(home, number, last):
    home.mkdir(0o700, parents=True)
    shutil.copy(file, home / "triptych.db")
    if not (child := os.fork()):
        ended = 1
        try:
            restore(home, number, last)
            ended = 0
        finally:
            os._exit(ended)
    return os.waitpid(child, 0)[1] != 0

for number in sys.argv[4:]:
    for last in count(1):
        if not is_ended(homes / number / str(last), int(number), last):
            break
"""


@pytest.fixture
def earlier(sqlite_engine: Engine, make_study, tmp_path) -> Path:
    """A backup, after which somebody was disabled, and results and the systems' names were seen."""
    with writing(sqlite_engine) as session:
        study, lead, people = make_study(session)
    earlier = tmp_path / "earlier.db"
    shutil.copy(backup.make(sqlite_engine).path, earlier)
    with writing(sqlite_engine) as session:
        log_look(session, study, filled=1, planned=9, actor=lead.pseudonym)
        lifecycle.unblind(session, session.get_one(Study, study.id), sure(lead))
        session.get_one(Person, people[0].person_id).disabled_at = clock.now()
    sqlite_engine.dispose()
    return earlier


@pytest.fixture
def stored(earlier, sqlite_engine) -> Path:
    return database.sqlite_path(str(sqlite_engine.url))


def drop_an_index(path: Path) -> None:
    """Its pages belong to nothing, which SQLite calls damage; every row can be read."""
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("PRAGMA writable_schema = 1")
        file.execute("DELETE FROM sqlite_master WHERE name = 'ix_person_identity'")


def fill_with_garbage(path: Path) -> None:
    path.write_bytes(GARBAGE)


def name_a_table_in_no_utf8(path: Path) -> None:
    """SQLite's message about its definition quotes it, which Python cannot decode."""
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("PRAGMA writable_schema = 1")
        odd = "CAST(x'4352454154452088' AS TEXT)"
        file.execute(f"UPDATE sqlite_master SET sql = {odd}, name = CAST(x'88' AS TEXT) WHERE name = 'rating'")


def forgets_nothing(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as file:
        kinds = {kind for (kind,) in file.execute("SELECT kind FROM event")}
        (disabled,) = file.execute("SELECT count(disabled_at) FROM person").fetchone()
        (unblinded_at,) = file.execute("SELECT unblinded_at FROM study").fetchone()
        return kinds >= SEEN_SINCE and disabled == 1 and unblinded_at is not None


def is_whole(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as file:
        return file.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def restored(path: Path, earlier: Path) -> backup.Restored:
    engine = database.open_engine(f"sqlite:///{path}")
    try:
        return backup.restore(engine, earlier, ACTOR, alone=True)
    finally:
        engine.dispose()


def ended_at_each_step(path: Path, earlier: Path, *numbers: signal.Signals) -> Iterator[list[Path]]:
    """For each signal the database of each data folder whose restore it ended, and last of one that was not."""
    homes = path.with_name("homes")
    command: list[str | Path] = [sys.executable, "-c", SCRIPT, path, earlier, homes, *map(str, map(int, numbers))]
    subprocess.run(command, cwd=ROOT, check=True, stderr=subprocess.DEVNULL)
    for number in numbers:
        of_signal = (homes / str(int(number))).iterdir()
        yield [home / "triptych.db" for home in sorted(of_signal, key=lambda home: int(home.name))]


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_a_restore_over_damage_forgets_nothing_when_ended(earlier, stored, monkeypatch):
    drop_an_index(stored)

    for *ended, whole in ended_at_each_step(stored, earlier, signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        assert len(ended) > 5
        assert is_whole(whole)
        for path in ended:
            assert forgets_nothing(path)
            monkeypatch.setenv("TRIPTYCH_HOME", str(path.parent))
            assert not restored(path, earlier).is_access_unread
            assert is_whole(path)
            assert forgets_nothing(path)


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_a_lost_file_or_the_new_one_stands_when_ended(earlier, stored, monkeypatch):
    fill_with_garbage(stored)

    for *ended, whole in ended_at_each_step(stored, earlier, signal.SIGINT, signal.SIGKILL):
        assert len(ended) > 5
        assert is_whole(whole)
        for path in ended:
            is_lost = path.read_bytes() == GARBAGE
            assert is_lost or is_whole(path)
            monkeypatch.setenv("TRIPTYCH_HOME", str(path.parent))
            again = restored(path, earlier)
            assert again.is_access_unread == is_lost
            assert again.before
            assert is_whole(path)


@pytest.mark.parametrize("damage", [drop_an_index, fill_with_garbage, name_a_table_in_no_utf8])
def test_a_damaged_database_is_kept_as_it_is(earlier, stored, damage):
    damage(stored)
    as_it_is = stored.read_bytes()

    before = restored(stored, earlier).before

    assert before
    assert before.read_bytes() == as_it_is
    assert {path.name for path in before.parent.glob("damaged-*")} == {before.name}


@pytest.fixture
def unreadable(stored, monkeypatch) -> None:
    """Its disk fails while the file is copied."""
    fill_with_garbage(stored)
    copy = shutil.copyfile

    def fail(source: Path, target: Path) -> None:
        copy(source, target)
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(shutil, "copyfile", fail)


@pytest.mark.usefixtures("unreadable")
def test_a_database_that_its_disk_cannot_read_is_kept(earlier, stored):
    """It was moved before, which reads nothing of it."""
    before = restored(stored, earlier).before

    assert before
    assert before.read_bytes() == GARBAGE
    assert is_whole(stored)


@pytest.mark.usefixtures("unreadable")
def test_a_file_without_a_second_name_names_the_disk(earlier, stored, monkeypatch):
    """The reason was "Invalid cross-device link" where the backups are on another disk."""

    def refuse(target: Path, original: Path) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    with pytest.raises(backup.BackupFailed, match=r"^Nothing was restored: Input/output error\.$"):
        restored(stored, earlier)

    assert stored.read_bytes() == GARBAGE


def test_a_full_disk_leaves_no_part_of_a_copy(earlier, stored, monkeypatch):
    """The log was kept, which is copied before its database."""
    copy = shutil.copyfile

    def fail(source: Path, target: Path) -> None:
        if target.suffix == ".db":
            raise OSError(errno.ENOSPC, "No space left on device")
        copy(source, target)

    monkeypatch.setattr(shutil, "copyfile", fail)
    with closing(sqlite3.connect(stored, isolation_level=None)) as other:  # holds the log
        other.execute("INSERT INTO setting VALUES ('note', 'of another program')")
        other.execute("PRAGMA writable_schema = 1")
        other.execute("DELETE FROM sqlite_master WHERE name = 'ix_person_identity'")
        with pytest.raises(backup.BackupFailed, match="No space left on device"):
            restored(stored, earlier)

    assert not list((stored.parent / "backups").glob("damaged-*"))


def test_no_log_of_a_lost_database_reaches_the_new_one(earlier, stored):
    """SQLite would write the log's pages over those of the new file."""
    with closing(sqlite3.connect(stored, isolation_level=None)) as other:  # holds the log
        other.execute("INSERT INTO setting VALUES ('note', 'of another program')")
        log = stored.with_name("triptych.db-wal").read_bytes()
        fill_with_garbage(stored)

        before = restored(stored, earlier).before

    assert before
    assert before.with_name(f"{before.name}-wal").read_bytes() == log
    assert is_whole(stored)
    with closing(sqlite3.connect(stored)) as file:
        assert not file.execute("SELECT * FROM setting WHERE key = 'note'").fetchall()
