"""Copies of people's texts that a killed process leaves: the next erasure, start or work of the kind deletes them."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

import pytest
from helpers.studies import ROOT
from sqlalchemy import Engine

from triptych import settings
from triptych.operations import backup, capsule
from triptych.privacy import erasure
from triptych.storage import host, working
from triptych.storage.database import writing
from triptych.storage.models import Study

TEXT = b"in words of its own"  # of a response
WORK = {
    "a backup": "backup.file_hash = die; backup.make(engine)",
    "a restore": "backup._state_before = die; backup.restore(engine, backup.listed()[0].path, 'x', alone=True)",
    "an import": "arrival.arrive = die; capsule.import_study(file, engine, None)",
    "an export": "backup.heads_in = die; list(capsule.pieces(engine, slug))",
}
SCRIPT = """
import os, sys
from pathlib import Path
from typing import IO
from triptych import settings
from triptych.operations import arrival, backup, capsule
from triptych.storage import database

def die(*_):
    os.kill(os.getpid(), 9)

file, slug = Path(sys.argv[1]), sys.argv[2]
engine = database.open_engine(settings.database_url())
"""


@pytest.fixture
def study(sqlite_engine: Engine, make_study) -> Study:
    with writing(sqlite_engine) as session:
        return make_study(session)[0]


def holding(*folders: Path) -> set[Path]:
    """Files with a text of the study, apart from the database in use."""
    files = {path for folder in folders for path in folder.rglob("*") if path.is_file()}
    return {path for path in files if not path.name.startswith("triptych.db") and TEXT in path.read_bytes()}


@pytest.mark.long
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_a_killed_process_leaves_no_copy_for_good(sqlite_engine, study, tmp_path, monkeypatch, work):
    elsewhere, home = tmp_path / "temporary", settings.local_folder()
    elsewhere.mkdir()
    monkeypatch.setenv("TMPDIR", str(elsewhere))
    file = tmp_path / "study.zip"
    file.write_bytes(b"".join(capsule.pieces(sqlite_engine, study.slug)))
    backup.make(sqlite_engine)
    before = holding(elsewhere, home)

    ended = subprocess.run([sys.executable, "-c", SCRIPT + work, file, study.slug], cwd=ROOT)

    assert ended.returncode == -signal.SIGKILL
    assert holding(elsewhere, home) > before
    erasure.wipe(sqlite_engine)
    assert holding(elsewhere, home) == before


@pytest.mark.parametrize(("setting", "modes"), [("1", {0o2770, 0o660}), ("", {0o2700, 0o600})])
def test_a_labs_group_deletes_what_a_member_left(monkeypatch, setting, modes):
    """An export works with the shell's umask, so that its file belongs to people."""
    monkeypatch.setenv("TRIPTYCH_GROUP", setting)
    settings.local_folder().chmod(0o2770)
    shell = os.umask(0o022)
    try:
        with working.folder() as folder:
            assert {stat.S_IMODE(path.stat().st_mode) for path in [folder.parent, *folder.parent.iterdir()]} == modes
    finally:
        os.umask(shell)


def test_a_copy_in_use_is_not_deleted():
    with working.folder() as first, working.folder() as second:
        assert first.is_dir()
        assert second.is_dir()
    assert not first.exists()
    assert not second.exists()


def test_a_copy_next_to_a_database_elsewhere_is_deleted(tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    monkeypatch.setenv("TRIPTYCH_DATABASE_URL", f"sqlite:///{elsewhere / 'study.db'}")
    left = elsewhere / f"{working.PREFIX}of-a-killed-process"
    (left / working.COPIES).mkdir(parents=True)

    working.delete_abandoned()

    assert not left.exists()


def test_a_folder_is_not_deleted_before_it_is_locked(monkeypatch):
    """Another process deleted it between the making of the lock file and its locking."""
    lock = host._lock
    begun: list[IO[str]] = []

    def while_others_start(handle: IO[str]) -> None:
        if not begun:
            begun.append(handle)
            working.delete_abandoned()
        lock(handle)

    monkeypatch.setattr(host, "_lock", while_others_start)
    with working.folder() as folder:
        assert folder.is_dir()
    assert begun


def test_an_old_folder_without_copies_is_deleted():
    """Its process was killed between deleting the copies and the folder."""
    left = settings.local_folder() / f"{working.PREFIX}of-a-killed-process"
    left.mkdir(parents=True)
    (left / working.LOCK).touch()
    working.delete_abandoned()
    assert left.exists()  # it may be about to be locked
    os.utime(left, times=(0, 0))
    working.delete_abandoned()
    assert not left.exists()


def test_no_copy_needs_the_folder_for_temporary_files(sqlite_engine, study, tmp_path, monkeypatch):
    """It may be in memory, and smaller than a database."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    file = tmp_path / "study.zip"
    file.write_bytes(b"".join(capsule.pieces(sqlite_engine, study.slug)))

    with capsule.checked(file, file.name, capsule.LARGEST):
        pass
    backup.restore(sqlite_engine, backup.make(sqlite_engine).path, "command line", alone=True)
