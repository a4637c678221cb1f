"""What a command prints and writes cannot be steered by stored words, nor by somebody with the same output folder."""

from __future__ import annotations

import io
import os
import sqlite3
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from threading import Barrier
from types import SimpleNamespace
from typing import IO, Any

import pytest
from helpers.present import present
from helpers.studies import ROOT
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

import triptych as tt
from triptych import settings
from triptych.cli import main, output, ratings
from triptych.errors import ImportRefused, NotAllowed, NotFound, UnsafeDatabase
from triptych.formats.ratings.roles import read_mapping
from triptych.operations import earlier_head
from triptych.privacy import erasure, withdrawal
from triptych.storage import outputs, wiping
from triptych.storage.database import lock_server, reading, writing
from triptych.storage.unavailable import DatabaseUnavailable


@pytest.mark.parametrize("words", [["data", "verify"], ["study", "list"], ["data", "backup"]])
def test_no_stored_word_hides_a_verdict(sqlite_engine, make_study, capsys, words):
    """Escape sequences, line ends and bidi marks come out spelled."""
    with writing(sqlite_engine) as session:
        make_study(session)
    forged = "x: The log of 3 events holds.\x1b[8m\r\n\u202e\ud800"
    with writing(sqlite_engine) as session:
        session.execute(text("UPDATE study SET slug = :forged").bindparams(forged=forged[:-1]))

    main.main(words)

    lines = capsys.readouterr().out.splitlines()
    assert all(line.isprintable() or line.expandtabs().isprintable() for line in lines), lines
    assert any(r"x: The log of 3 events holds.\x1b[8m\r\n\u202e" in line for line in lines)
    assert output.visible(forged).isprintable()


def test_an_unfinished_export_follows_no_link(tmp_path):
    """The old name of such a file was known, so another user could make it a link, or own it and read along."""
    victim, target = tmp_path / "victim", tmp_path / "export.csv"
    victim.write_text("precious")
    (tmp_path / ".export.csv.part").symlink_to(victim)

    outputs.write(target, [b"ratings"])

    assert victim.read_text() == "precious"
    assert target.read_bytes() == b"ratings"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".export.csv.part", "export.csv", "victim"]


def test_no_export_replaces_a_database(sqlite_engine, make_study, capsys):
    """A slip in the name of a file, of which the shell completes every one."""
    with writing(sqlite_engine) as session:
        slug = make_study(session)[0].slug
    file = Path(sqlite_engine.url.database)

    assert main.main(["data", "export", slug, "ratings", str(file)]) == 2

    assert "is a database, and would be lost. Name another file" in capsys.readouterr().err
    with reading(sqlite_engine) as session:
        assert session.execute(text("SELECT count(*) FROM study")).scalar_one() == 1


def test_no_export_replaces_the_log_of_a_database(sqlite_engine, make_study, capsys):
    """The write-ahead log has everything stored since the last checkpoint, and the shell completes its name, too."""
    with writing(sqlite_engine) as session:
        slug = make_study(session)[0].slug
    file = Path(sqlite_engine.url.database)
    log = file.with_name(f"{file.name}-wal")
    before = log.read_bytes()

    assert main.main(["data", "export", slug, "ratings", str(log)]) == 2

    assert f"is a part of the database {file.name}, and would be lost" in capsys.readouterr().err
    assert before
    assert log.read_bytes() == before


def test_no_export_replaces_the_lock_of_a_running_app(sqlite_engine, make_study, capsys):
    """A second server started, and a restore replaced the database, while the first went on."""
    with writing(sqlite_engine) as session:
        slug = make_study(session)[0].slug
    lock = Path(sqlite_engine.url.database).with_suffix(".lock")

    with present(lock_server(sqlite_engine)):
        assert main.main(["data", "export", slug, "ratings", str(lock)]) == 2
        assert "is the lock of a running app" in capsys.readouterr().err
        with pytest.raises(UnsafeDatabase):
            lock_server(sqlite_engine)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
def test_a_pipe_next_to_an_output_holds_no_export(tmp_path):
    """The file of which the output's name is that of the write-ahead log."""
    os.mkfifo(tmp_path / "planted")
    outputs.write(tmp_path / "planted-wal", [b"ratings"])
    assert (tmp_path / "planted-wal").read_bytes() == b"ratings"


def test_a_deeply_nested_file_is_no_earlier_report(tmp_path):
    path = tmp_path / "report.json"
    path.write_text("[" * 100_000)

    with pytest.raises(NotFound, match="cannot be read"):
        earlier_head.read(str(path))


def test_a_folder_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    target, new = tmp_path / "empty", tmp_path / "over" / "new"
    target.mkdir()
    contents = {"index.html": b"<p>", "data/ratings.csv": b"1"}
    open_file = Path.open

    def without_room(path: Path, mode: str) -> IO[Any]:
        if path.name == "ratings.csv":
            raise OSError(28, "No space left on device")
        return open_file(path, mode)

    monkeypatch.setattr(Path, "open", without_room)
    for folder in (target, new):
        with pytest.raises(OSError, match=str(folder)):
            outputs.write_folder(folder, contents)
    assert list(target.iterdir()) == list(new.parent.iterdir()) == []

    monkeypatch.undo()
    for folder in (target, new):
        outputs.write_folder(folder, contents)
        assert {path.name for path in folder.rglob("*")} == {"index.html", "data", "ratings.csv"}


def test_two_commands_do_not_mix_their_files_in_a_folder(tmp_path, monkeypatch):
    entered, make_private = Barrier(2), tempfile.TemporaryDirectory

    def together(**options):
        entered.wait()  # both found an empty folder
        return make_private(**options)

    def write(number: int) -> str:
        try:
            outputs.write_folder(tmp_path, {f"{name}.csv": str(number).encode() for name in range(20)})
        except NotAllowed as refusal:
            return str(refusal)
        return "written"

    monkeypatch.setattr(tempfile, "TemporaryDirectory", together)
    with ThreadPoolExecutor(2) as threads:
        said = list(threads.map(write, range(2)))

    assert said.count("written") < 2
    assert all(outcome == "written" or "no longer empty" in outcome for outcome in said)
    assert len({path.read_text() for path in tmp_path.iterdir()}) <= 1


def test_a_folder_of_outputs_is_nobody_elses(tmp_path, monkeypatch):
    """Another user may have laid links to this user's files into it, or lay them while it is filled."""
    victim, linked, foreign = tmp_path / "victim", tmp_path / "linked", tmp_path / "foreign"
    victim.write_text("precious")
    linked.mkdir()
    foreign.mkdir()
    (linked / "report.html").symlink_to(victim)
    if os.geteuid() == 0:
        os.chown(foreign, 4321, -1)
    monkeypatch.setattr("os.geteuid", lambda: 1234)

    for folder, reason in ((linked, "already exists"), (foreign, "belongs to another user")):
        with pytest.raises(NotAllowed, match=reason):
            outputs.write_folder(folder, {"report.html": b"<p>"})

    assert victim.read_text() == "precious"
    assert list(foreign.iterdir()) == []


def test_a_swapped_private_folder_overwrites_nothing(tmp_path, monkeypatch):
    """Without the sticky bit, others can put a folder of theirs, with links in it, in the place of the private one."""
    victim, make_private = tmp_path / "victim", tempfile.TemporaryDirectory
    victim.write_text("precious")

    def swapped(**options):
        folder = make_private(**options)
        (Path(folder.name) / "part").mkdir()
        (Path(folder.name) / "part" / "README.md").symlink_to(victim)
        return folder

    monkeypatch.setattr(tempfile, "TemporaryDirectory", swapped)
    with pytest.raises(OSError, match="report"):
        outputs.write_folder(tmp_path / "report", {"README.md": b"# A study"})

    assert victim.read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == ["victim"]


as_file_or_folder = pytest.mark.parametrize(
    "write",
    [lambda path: outputs.write(path, [b"a"]), lambda path: outputs.write_folder(path, {"a": b"a"})],
    ids=["file", "folder"],
)
LEADS_ELSEWHERE = "belongs to another user and leads elsewhere"


@pytest.fixture
def give_away(monkeypatch):
    """Makes a link or pipe belong to another user than the one who writes, who is the administrator if `user` is 0."""

    def given_away(path: Path, user: int = 1234) -> None:
        if os.geteuid() == 0:
            os.chown(path, 4321, -1, follow_symlinks=False)
        elif user == 0:
            pytest.skip("only the administrator gives files away")
        monkeypatch.setattr("os.geteuid", lambda: user)

    return given_away


@as_file_or_folder
@pytest.mark.parametrize("user", [1234, 0], ids=["user", "administrator"])
@pytest.mark.parametrize("kind", ["link", "link to nothing", "pipe"])
def test_no_output_goes_where_another_user_leads_it(tmp_path, give_away, write, kind, user):
    """Linux follows no link of another user in /tmp, but it does not notice a path that was resolved before."""
    target, victim = tmp_path / "ratings.csv", tmp_path / "victim"
    if kind == "pipe":
        os.mkfifo(target)
    else:
        target.symlink_to(victim)
    if kind == "link":
        victim.write_text("precious")
    give_away(target, user)

    with pytest.raises(NotAllowed, match=LEADS_ELSEWHERE):
        write(target)

    assert not victim.exists() or victim.read_text() == "precious"


@as_file_or_folder
def test_no_output_goes_through_a_folder_that_is_anothers_link(tmp_path, give_away, write):
    """In a folder without the sticky bit, they can put it in the place of this user's own folder."""
    private, exports = tmp_path / "private", tmp_path / "exports"
    private.mkdir()
    exports.symlink_to(private)
    give_away(exports)

    with pytest.raises(NotAllowed, match=f"exports {LEADS_ELSEWHERE}"):
        write(exports / "ratings.csv")

    assert list(private.iterdir()) == []


@as_file_or_folder
def test_an_output_goes_through_own_links(tmp_path, write):
    place, link = tmp_path / "disk" / "place", tmp_path / "home" / "link"
    place.mkdir(parents=True)
    link.parent.mkdir()
    link.symlink_to("../disk/place")

    write(link / ".." / "output")

    assert (tmp_path / "disk" / "output").exists()


def planted(monkeypatch, plant: Callable[[], None]) -> None:
    """Has another user do something after the path of an output was checked."""
    exists = Path.exists

    def then(path: Path) -> bool:
        monkeypatch.undo()
        plant()
        return exists(path)

    monkeypatch.setattr(Path, "exists", then)


def test_a_link_planted_after_the_check_gets_no_report(tmp_path, monkeypatch):
    target, theirs = tmp_path / "report", tmp_path / "theirs"
    theirs.mkdir()
    lstat = Path.lstat

    def then_a_link(path: Path) -> os.stat_result:
        try:
            return lstat(path)
        finally:
            if path == target:
                monkeypatch.undo()
                target.symlink_to(theirs / "report")

    monkeypatch.setattr(Path, "lstat", then_a_link)
    with pytest.raises(NotAllowed, match="already exists"):
        outputs.write_folder(target, {"README.md": b"# A study"})

    assert list(theirs.iterdir()) == []


@pytest.mark.parametrize("missing", ["report", "of/a/report"])
def test_a_link_planted_in_a_new_folder_gets_no_report(tmp_path, monkeypatch, missing):
    """Making the missing folders went through a link of somebody else, and so did the report."""
    new, theirs = tmp_path / "new", tmp_path / "theirs"
    theirs.mkdir()
    check = outputs._new_or_empty

    def then_a_link(path: Path) -> tuple[Path, bool]:
        checked = check(path)
        new.symlink_to(theirs)
        return checked

    monkeypatch.setattr(outputs, "_new_or_empty", then_a_link)
    with pytest.raises(OSError):
        outputs.write_folder(new / missing, {"README.md": b"# A study"})

    assert list(theirs.iterdir()) == []


@pytest.mark.parametrize("part", ["folder", "file"])
def test_a_link_planted_after_the_check_overwrites_nothing(tmp_path, monkeypatch, part):
    private, exports = tmp_path / "private", tmp_path / "exports"
    private.mkdir()
    exports.mkdir()
    victim, target = private / "ratings.csv", exports / "ratings.csv"
    victim.write_text("precious")

    def plant() -> None:
        if part == "file":
            target.symlink_to(victim)
        else:
            exports.rename(tmp_path / "old")
            exports.symlink_to(private)

    planted(monkeypatch, plant)
    with suppress(OSError):
        outputs.write(target, [b"ratings"])

    assert victim.read_text() == "precious"
    assert part == "folder" or target.read_text() == "ratings"


def test_a_pipe_planted_after_the_check_gets_nothing(tmp_path, monkeypatch, give_away):
    target = tmp_path / "ratings.csv"
    readers = []

    def plant() -> None:
        os.mkfifo(target)
        readers.append(os.open(target, os.O_RDONLY | os.O_NONBLOCK))
        give_away(target)

    planted(monkeypatch, plant)
    with pytest.raises(NotAllowed, match=LEADS_ELSEWHERE):
        outputs.write(target, [b"ratings"])

    assert os.read(readers[0], 100) == b""
    os.close(readers[0])


def test_a_pipe_that_becomes_a_file_empties_nothing(tmp_path, monkeypatch):
    target, victim = tmp_path / "pipe", tmp_path / "victim"
    victim.write_text("precious")
    os.mkfifo(target)
    is_file = Path.is_file

    def then_a_link(path: Path) -> bool:
        found = is_file(path)
        target.unlink()
        target.symlink_to(victim)
        return found

    monkeypatch.setattr(Path, "is_file", then_a_link)
    with pytest.raises(NotAllowed, match="was replaced by a file"):
        outputs.write(target, [b"ratings"])

    assert victim.read_text() == "precious"


def test_a_link_swapped_during_reading_overwrites_nothing(tmp_path, monkeypatch):
    victim, link = tmp_path / "victim", tmp_path / "link.csv"
    victim.write_text("precious")
    link.symlink_to(tmp_path / "own.csv")
    read_link = os.readlink

    def swapped(path: Path) -> str:
        link.rename(tmp_path / "aside")
        link.symlink_to(victim)
        target = read_link(path)
        link.unlink()
        (tmp_path / "aside").rename(link)
        return target

    monkeypatch.setattr(os, "readlink", swapped)
    with pytest.raises(NotAllowed, match="was replaced while it was read"):
        outputs.write(link, [b"ratings"])

    assert victim.read_text() == "precious"


def test_a_script_writes_no_report_through_anothers_link(tmp_path, give_away):
    victim, target = tmp_path / "victim", tmp_path / "report.zip"
    victim.write_text("precious")
    target.symlink_to(victim)
    give_away(target)
    answer: Any = SimpleNamespace(study="a-study", sha256="f" * 64, content=b"zip")
    connection: Any = SimpleNamespace(call=lambda *_, **fields: answer)

    with pytest.raises(NotAllowed, match=LEADS_ELSEWHERE):
        tt.StudyClient(connection, answer).report(target)

    assert victim.read_text() == "precious"


def test_commands_write_into_no_home_of_another_user(sqlite_engine, make_study, capsys, monkeypatch):
    with writing(sqlite_engine) as session:
        make_study(session)
    if os.geteuid() == 0:
        os.chown(settings.local_folder(), 4321, -1)
    monkeypatch.setattr("os.geteuid", lambda: 1234)
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse battery\n"))

    for words in (["people", "add-lead", "Ada"], ["data", "backup"]):
        assert main.main(words) == 2
        assert "belongs to another user" in capsys.readouterr().err


def test_a_full_disk_is_called_that(sqlite_engine, monkeypatch, capsys):
    """Also where the file that has no room is not the database itself."""

    def no_room(*_: object) -> None:
        full = sqlite3.OperationalError("database or disk is full")
        full.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise OperationalError("INSERT", {}, full)

    monkeypatch.setattr("triptych.operations.capsule.pieces", no_room)

    assert main.main(["study", "export", "a-small-study", "study.zip"]) == 2
    assert capsys.readouterr().err.startswith("The disk of the database is full (database or disk is full).")


def test_a_disk_full_while_rewriting_is_called_that(sqlite_engine, monkeypatch):
    """The rewriting goes by no statement of SQLAlchemy's, and so its errors do not."""

    class Full:
        def execute(self, _: str) -> None:
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error

    monkeypatch.setattr(wiping, "driver_connection", lambda _: Full())

    with pytest.raises(DatabaseUnavailable, match="The disk of the database is full"):
        wiping.wipe(sqlite_engine, [])


@pytest.mark.parametrize("words", [["study", "list", "x\r\x1b[8m\u202e"], ["study", "list", "--x\x1b[8m\u202e"]])
def test_no_typed_name_of_a_file_steers_the_terminal(monkeypatch, words):
    """A shell puts the names of somebody's files in the place of *."""
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]  # otherwise click leaves colours out
    monkeypatch.setattr("sys.stderr", terminal)

    assert main.main(words) == 2
    assert terminal.getvalue().replace("\n", "").isprintable()


@pytest.mark.parametrize(
    "words",
    [
        ("data", "restore", "{name} again"),
        ("data", "verify", "--against", "{name}"),
        ("rubric", "check", "{name}"),
        ("report", "make", "a-study", "folder", "{name}"),
        ("study", "create", "Lead", "A study", "dialogue_response", "{name} again"),
        ("study", "import-ratings", "Lead", "A study", "{folder}"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_no_name_of_a_file_adds_a_line(sqlite_engine, tmp_path, capsys, words):
    """The name of a file from elsewhere would be taken for a sentence of the program."""
    folder = tmp_path / "given"
    folder.mkdir()
    name = folder / "a\nThe log of 3 events holds.csv"
    name.write_text("item_id,text,x\n1,a,b\n")

    assert main.main([word.format(name=name, folder=folder) for word in words]) == 2

    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert not any(line.startswith("The log") for line in lines)


@pytest.mark.parametrize("mapping", ["[" * 5000, '{"roles": {"a": []}}', '{"roles": {"a": {}}}', '{"roles": 1e999}'])
def test_a_hostile_mapping_is_refused_in_words(mapping):
    with pytest.raises(ImportRefused, match="mapping"):
        read_mapping(mapping)


def test_links_and_pipes_in_a_folder_are_left_out(tmp_path):
    """An archive from elsewhere may unpack to links and pipes."""
    folder, secret = tmp_path / "given", tmp_path / "secret.csv"
    folder.mkdir()
    secret.write_text("mine")
    (folder / "ratings.csv").write_text("item_id")
    (folder / "outside.csv").symlink_to(secret)
    (folder / "endless.csv").symlink_to("/dev/zero")
    os.mkfifo(folder / "pipe.csv")

    paths, others = ratings._files_in(folder)

    assert [name for _, name in paths] == ["ratings.csv"]
    assert others == ["endless.csv", "outside.csv", "pipe.csv"]


def copies_with_somebody_who_left(engine, make_study) -> list[str]:
    """Names of the listed copies after somebody withdrew from a study; each must be listed for them alone."""
    with writing(engine) as session:
        study, lead, (somebody, _) = make_study(session)
    with writing(engine) as session:
        withdrawal.withdraw(session, study, somebody.pseudonym, lead.pseudonym)

    with reading(engine) as session:
        copies = erasure.copies(session, study, lead)
    assert {copy.holds for copy in copies} == {(somebody.pseudonym,)}
    return sorted(copy.name for copy in copies)


def test_an_archive_with_a_password_hides_nobody_who_left(sqlite_engine, make_study):
    kept = settings.local_folder() / "old.zip"
    with zipfile.ZipFile(kept, "w") as archive:
        archive.writestr("ratings.csv", "text")
    # bit 0 of the flags, in both of the zip's lists
    kept.write_bytes(kept.read_bytes().replace(b"\x14\0\0\0\0\0", b"\x14\0\x01\0\0\0"))
    os.utime(kept, (0, 0))
    assert copies_with_somebody_who_left(sqlite_engine, make_study) == ["old.zip"]


def test_a_hostile_copy_in_the_data_folder_stalls_no_erasure(sqlite_engine, make_study, monkeypatch):
    """Somebody's capsule that an administrator put there, or a file of the lab's group; each lists who left since."""
    monkeypatch.setattr(erasure, "MAX_TEXTS", 1000, raising=False)
    home = settings.local_folder()
    with zipfile.ZipFile(home / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ratings.csv", b"\0" * 10_000)
    with closing(sqlite3.connect(home / "view.db")) as file:
        file.execute("CREATE TABLE event (hash, kind)")
        file.execute("CREATE VIEW person AS SELECT 'nobody' AS pseudonym")
    for path in (home / "bomb.zip", home / "view.db"):
        os.utime(path, (0, 0))

    assert copies_with_somebody_who_left(sqlite_engine, make_study) == ["bomb.zip", "view.db"]


@pytest.mark.long
def test_a_folder_changes_no_figure(tmp_path):
    """Matplotlib reads settings from the folder where a command is typed, first of all."""
    (tmp_path / "matplotlibrc").write_text("text.usetex: True\n")
    script = "from triptych.reports.figures import matplotlib; print(matplotlib.rcParams['text.usetex'])"
    words = [sys.executable, "-c", script]
    ran = subprocess.run(
        words, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )

    assert ran.stdout == "False\n"


FIGURES = """
import os, pathlib
from types import SimpleNamespace
from triptych.reports.build import figures_by_criterion
{before}
print(figures_by_criterion(SimpleNamespace(criteria=()), ""))
{after}
"""


def _figures_printed(folder: Path, before: str = "", after: str = "") -> str:
    words = [sys.executable, "-P", "-c", FIGURES.format(before=before, after=after)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=60).stdout


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
def test_a_pipe_in_the_folder_holds_no_report(tmp_path):
    """Matplotlib would wait for somebody to write its settings."""
    os.mkfifo(tmp_path / "matplotlibrc")

    assert _figures_printed(tmp_path, after="print(pathlib.Path.cwd())") == f"{{}}\n{tmp_path}\n"


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="Windows deletes no folder in use")
def test_a_report_is_made_where_the_folder_was_deleted(tmp_path):
    assert _figures_printed(tmp_path, before="pathlib.Path.cwd().rmdir()") == "{}\n"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows deletes no folder in use")
def test_a_whole_path_is_written_where_the_folder_was_deleted(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    outputs.write(tmp_path / "ratings.csv", [b"1"])

    assert (tmp_path / "ratings.csv").read_bytes() == b"1"
