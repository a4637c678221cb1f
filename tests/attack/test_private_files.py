"""Another user of the same computer reads nothing of what the app keeps, from the first byte on."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from helpers.studies import ROOT

from bench.server import is_healthy, start_server, wait_until
from triptych import settings
from triptych.operations import doctor
from triptych.storage import private

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions; the doctor says so.")
CARELESS = partial(subprocess.Popen, umask=0o022)
ITEMS = "item_id,system,output\n1,A,One text.\n1,B,Another text.\n"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def open_to_others(folder: Path) -> list[str]:
    """Files and folders, the folder itself too, that anyone but their owner may use."""
    return [path.name for path in [folder, *folder.rglob("*")] if mode(path) & 0o077]


def command(home: Path, *words: str, typed: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """A command in a shell with the usual umask."""
    return subprocess.run(
        [sys.executable, "-m", "triptych", *words],
        cwd=ROOT,
        env={**os.environ, "TRIPTYCH_HOME": str(home), **environment},
        input=typed,
        capture_output=True,
        text=True,
        umask=0o022,
        check=False,
    )


@pytest.mark.long
def test_a_careless_shell_starts_a_private_server(tmp_path):
    home = tmp_path / "new" / "home"
    server = start_server(tmp_path, {"TRIPTYCH_HOME": str(home), "TRIPTYCH_SECRET": ""}, start=CARELESS)
    try:
        wait_until(lambda: is_healthy(server.url), server, "answer")
        status = Path(f"/proc/{server.process.pid}/status")
        assert not status.exists() or "Umask:\t0077" in status.read_text()
        assert {"triptych.db", "triptych.db-wal", "triptych.db-shm"} <= {path.name for path in home.iterdir()}
        assert open_to_others(home) == []
        assert mode(home.parent) == 0o700
    finally:
        server.kill()


@pytest.mark.long
def test_a_start_repairs_its_own_files_and_nothing_else(tmp_path, ready_sqlite):
    home = tmp_path / "home"
    (home / "backups").mkdir(parents=True)
    shutil.copy(ready_sqlite, home / "triptych.db")
    for name in ("cookie.secret", "notes.txt", "backups/triptych-20260101-000000.db", "backups/holiday.jpg"):
        (home / name).write_text("a secret of forty characters and no less")
    (home / "backups" / "triptych-link.db").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").write_text("somebody's")
    for path in [home, tmp_path / "elsewhere", *home.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    server = start_server(tmp_path, {"TRIPTYCH_HOME": str(home)}, start=CARELESS)
    try:
        wait_until(lambda: is_healthy(server.url), server, "answer")
        assert sorted(open_to_others(home)) == ["holiday.jpg", "home", "notes.txt", "triptych-link.db"]
        assert mode(tmp_path / "elsewhere") == 0o644
        warning = next(line for line in server.output().splitlines() if "permissions" in line.lower())
        assert "triptych.db" in warning
        assert "cookie.secret" in warning
    finally:
        server.kill()


@pytest.mark.parametrize("open_to", [0o777, 0o775, 0o755])
def test_a_folder_that_others_can_write_to_is_named(tmp_path, forked, open_to):
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(open_to)
    server = start_server(tmp_path, {"TRIPTYCH_HOME": str(home)}, start=forked)
    try:
        wait_until(lambda: is_healthy(server.url), server, "answer")
        lines = [line for line in server.output().splitlines() if "Others can write to the data folder" in line]
        assert len(lines) == (open_to != 0o755)
    finally:
        server.kill()


@pytest.mark.parametrize(("open_to", "is_named"), [(0o777, True), (0o1777, False), (0o755, False)])
def test_an_open_folder_around_the_data_folder_is_named(tmp_path, forked, monkeypatch, open_to, is_named):
    """Anyone could rename the data folder and put another in its place, except below the sticky bit."""
    around = tmp_path / "shared"
    home = around / "lab" / "home"
    (home / "backups").mkdir(parents=True)
    for folder, allowed in ((home, 0o700), (home / "backups", 0o700), (around, open_to)):
        folder.chmod(allowed)
    monkeypatch.setenv("TRIPTYCH_HOME", str(home))

    problems = [finding.text for finding in doctor.permissions(home) if finding.problem]
    assert [f"chmod o-w {around}," in problem for problem in problems] == [True] * is_named
    server = start_server(tmp_path, {"TRIPTYCH_HOME": str(home)}, start=forked)
    try:
        wait_until(lambda: is_healthy(server.url), server, "answer")
        assert ("Others can write to the data folder" in server.output()) == is_named
    finally:
        server.kill()


@pytest.mark.long
def test_commands_keep_their_data_private_and_exports_follow_the_person(tmp_path):
    home, items, export = tmp_path / "home", tmp_path / "items.csv", tmp_path / "ratings.csv"
    items.write_text(ITEMS)
    made = command(home, "add-lead", "Ada", typed="correct horse battery\n")
    assert made.returncode == 0, made.stderr
    made = command(home, "create-study", "Ada", "A study", "dialogue_response", str(items), "--write")
    assert made.returncode == 0, made.stderr
    slug = command(home, "studies").stdout.partition("\t")[0]
    made = command(home, "export", slug, "ratings", str(export))
    assert made.returncode == 0, made.stderr
    made = command(home, "backup")
    assert made.returncode == 0, made.stderr

    assert open_to_others(home) == []
    assert mode(export) == 0o644


@pytest.mark.long
def test_a_labs_group_gets_in_by_one_setting(tmp_path):
    home = tmp_path / "home"
    command(home, "add-lead", "Ada", typed="correct horse battery\n", TRIPTYCH_GROUP="1")
    command(home, "backup", TRIPTYCH_GROUP="1")

    assert mode(home) == 0o770
    assert mode(home / "triptych.db") == 0o660
    assert {mode(path) for path in (home / "backups").iterdir()} == {0o660}


def test_the_group_never_reads_the_cookie_secret(tmp_path, monkeypatch):
    """Nor the key for scripts, nor traces, which may quote people."""
    monkeypatch.setenv("TRIPTYCH_GROUP", "1")
    (tmp_path / "errors").mkdir(mode=0o750)
    own = [tmp_path / name for name in ("cookie.secret", "running.json", "errors/0a1b2c3d.txt")]
    for path in (*own, tmp_path / "triptych.lock"):
        path.write_text("x")
        path.chmod(0o640)

    assert set(private.repair()) == {*own, tmp_path / "errors", tmp_path / "triptych.lock"}
    assert {mode(path) for path in own} == {0o600}
    assert mode(tmp_path / "errors") == 0o700
    assert mode(tmp_path / "triptych.lock") == 0o660


def test_a_repair_reaches_every_file_of_the_database(tmp_path):
    (tmp_path / "backups").mkdir(mode=0o755)
    names = ("triptych.db", "triptych.db-wal", "triptych.db-shm", "triptych-before-0013-20260101-000000.db")
    made = [tmp_path / name for name in (*names, "backups/triptych-20260101-000000.db")]
    for path in made:
        path.write_text("x")
        path.chmod(0o644)

    assert set(private.repair()) == {*made, tmp_path / "backups"}
    assert {mode(path) for path in made} == {0o600}


def test_a_repair_changes_no_device(tmp_path, monkeypatch):
    """The administrator's start on sqlite:////dev/null took that away from everybody."""
    place = tmp_path / "device"
    os.mkfifo(place)
    place.chmod(0o666)
    monkeypatch.setenv("TRIPTYCH_DATABASE_URL", f"sqlite:///{place}")

    assert place not in private.repair()
    assert stat.S_IMODE(place.stat().st_mode) == 0o666


def test_the_doctor_names_what_others_can_read(tmp_path):
    (tmp_path / "triptych.db").touch(0o600)
    (tmp_path / "triptych.db").chmod(0o604)
    problem = next(finding for finding in doctor.permissions(tmp_path) if finding.problem)

    assert str(tmp_path / "triptych.db") in problem.text
    assert "chmod 600" in problem.text


def test_a_linked_folder_of_backups_open_to_others_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("TRIPTYCH_HOME", str(tmp_path / "home"))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    elsewhere.chmod(0o777)
    (settings.local_folder() / "backups").symlink_to(elsewhere)
    [problem] = [finding for finding in doctor.permissions(tmp_path) if finding.problem]

    assert "chmod 700" in problem.text
    assert mode(elsewhere) == 0o777


def test_the_doctor_says_where_permissions_mean_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(private, "is_held", lambda _: False)
    (finding,) = doctor.permissions(tmp_path)

    assert "does not support" in finding.text


@pytest.mark.long
@pytest.mark.parametrize("broken, reason", [("folder", "Not a directory"), ("file", "Is a directory")])
def test_an_unusable_data_folder_is_named_with_the_reason(tmp_path, broken, reason):
    home = tmp_path / "home"
    if broken == "folder":
        home.write_text("a file")
        home /= "below"
    else:
        (home / "triptych.db").mkdir(parents=True)
    server = start_server(tmp_path, {"TRIPTYCH_HOME": str(home)})
    try:
        assert server.process.wait(60) != 0
    finally:
        server.kill()

    assert str(home) in server.output()
    assert reason in server.output()
    assert "Traceback" not in server.output()


def test_no_folder_of_backups_keeps_the_app_from_starting(tmp_path, forked):
    """Such as a link to a disk that is read-only now; the start and the doctor ended in an error."""
    (tmp_path / "home").mkdir(0o700)
    (tmp_path / "home" / "backups").touch(0o600)
    server = start_server(tmp_path, {"TRIPTYCH_HOME": str(tmp_path / "home")}, start=forked)
    try:
        wait_until(lambda: is_healthy(server.url), server, "answer")
    finally:
        server.kill()

    examined = command(tmp_path / "home", "server", "doctor")
    assert f"PROBLEM permissions: {tmp_path / 'home' / 'backups'} is no folder that this user" in examined.stdout
