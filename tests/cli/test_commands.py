"""The commands: groups, names of earlier versions, JSON, pipes, help that answers at once, and the way to the app."""

from __future__ import annotations

import inspect
import io
import json
import os
import re
import socket
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

import click
import pytest
from helpers.studies import ROOT
from sqlalchemy import text

from triptych import settings
from triptych.cli import files, server
from triptych.cli import main as program
from triptych.cli.commands import ENCODINGS, FORMER, RENAMED, TABLES, ZIPPED, LazyCommand, root
from triptych.errors import NotAllowed, UnsafeDatabase
from triptych.formats import decode
from triptych.formats.model import MAX_BYTES
from triptych.formats.writers import FORMATS
from triptych.storage import database, host, private, schema
from triptych.storage.database import writing
from triptych.storage.models import Access, Round, StudyState

PASSCODE = "a long passcode 42"
HEAVY = ("sqlalchemy", "sqlmodel", "pydantic", "numpy", "pandas", "streamlit", "triptych.storage", "segno")
FULL = Path("/dev/full")
ITEMS = "item_id,context,cand:one,cand:two\n1,Why?,Because,So\n"


def all_commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], LazyCommand]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from all_commands(command, (*path, name))
        elif isinstance(command, LazyCommand):
            yield (*path, name), command


COMMANDS = dict(all_commands(root()))


@pytest.fixture
def run(monkeypatch, capsys):
    """run(*words, piped=…) → (exit code, standard output, standard error)."""

    def running(*words: str, piped: str = f"{PASSCODE}\n") -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(piped.encode())))
        code = program.main(words)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return running


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_a_command_has_a_function_for_its_arguments(path):
    command = COMMANDS[path]
    arguments = {parameter.name for parameter in command.params} - {"as_json"}

    assert arguments == set(inspect.signature(command.function()).parameters)
    assert command.help
    assert all(parameter.help for parameter in command.params)


def test_choices_are_those_of_the_program():
    choices = {
        parameter.name: list(parameter.type.choices)
        for command in COMMANDS.values()
        for parameter in command.params
        if isinstance(parameter.type, click.Choice)
    }
    assert choices["access"] == list(Access)
    assert choices["round"] == list(Round)
    assert choices["state"] == [state for state in StudyState if state != StudyState.draft]
    assert choices["format"] == [*TABLES, *ZIPPED] == [*TABLES, *FORMATS]
    assert tuple(decode.ENCODINGS) == ENCODINGS


@pytest.mark.parametrize("group", sorted({path[:-1] for path in COMMANDS}), ids=" ".join)
def test_lists_of_commands_show_whole_sentences(run, group):
    assert "..." not in run(*group, "--help")[1].partition("Commands:")[2]


@pytest.mark.parametrize("former", FORMER)
def test_an_earlier_name_leads_on_with_one_line(run, former):
    new = (FORMER[former], RENAMED.get(former, former))
    assert new in COMMANDS
    code, old_help, warning = run(former, "--help")

    assert (code, old_help) == run(*new, "--help")[:2]
    assert (warning.count("\n"), " ".join(new) in warning) == (1, True)


@pytest.mark.parametrize(
    ("stream", "words", "code"),
    [
        ("stdin", ("people", "add-lead", "Dr Lead"), 2),
        ("stdout", ("study", "list"), 0),
        ("stderr", ("study", "list", "--unknown"), 2),
    ],
)
def test_a_closed_stream_changes_no_exit_code(monkeypatch, sqlite_engine, stream, words, code):
    monkeypatch.setattr(sys, stream, None)
    assert program.main(words) == code
    getattr(sys, stream).close()


def test_a_closed_stream_never_becomes_a_file_of_the_app():
    """The app replaces the command; what it opens first would have the number of its closed streams."""
    app = "[sys.executable, '-c', 'import os; [os.fstat(number) for number in range(3)]']"
    script = f"import os, sys; from triptych.cli import main; main.main(['--version']); os.execv(sys.executable, {app})"
    closed = ["sh", "-c", 'exec "$0" -c "$1" <&- >&- 2>&-', sys.executable, script]

    assert subprocess.run(closed, cwd=ROOT).returncode == 0


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has a disk that is always full")
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_what_cannot_be_printed_was_carried_out(monkeypatch, capsys, sqlite_engine, make_study, stream):
    with writing(sqlite_engine) as session:
        make_study(session)
    full = FULL.open("w")
    monkeypatch.setattr(sys, stream, full)
    code = program.main(["data", "verify"])
    with suppress(OSError):
        full.close()
    printed = capsys.readouterr()

    if stream == "stdout":
        assert (code, "its answer cannot be written: No space" in printed.err) == (1, True)
    else:
        assert (code, "every row matches it" in printed.out) == (0, True)


def test_the_earlier_report_command_leads_on(run, sqlite_engine):
    code, _, complaint = run("report", "nowhere", "folder")

    assert code == 2
    assert "is now called `.venv/bin/python -m triptych report make`" in complaint
    assert "no study called 'nowhere'" in complaint


@pytest.mark.parametrize(
    "words", [["--help"], ["study", "create", "--help"], ["--version"], ["server", "run", "--help"]]
)
def test_help_imports_nothing_slow(words):
    script = (
        "import sys; from triptych.cli.main import main\n"
        f"assert main({words!r}) == 0\n"
        f"assert not [name for name in sys.modules if name.startswith({HEAVY!r})]"
    )
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True)


@pytest.mark.long
def test_answers_are_one_json_object_where_asked(run, tmp_path):
    (tmp_path / "items.csv").write_text(ITEMS)
    create = ("study", "create", "Dr Lead", "Two", "dialogue_response", str(tmp_path / "items.csv"), "--json")
    assert json.loads(run("people", "add-lead", "Dr Lead", "--json")[1])["name"] == "Dr Lead"
    shown, made = (json.loads(run(*create, *more)[1]) for more in ([], ["--write"]))
    assert shown | {"study": "two"} == made
    assert (made["items"], made["systems"], made["problems"]) == (1, 2, [])

    (study,) = json.loads(run("study", "list", "--json")[1])["studies"]
    assert (study["slug"], study["state"], study["item_count"]) == ("two", "draft", 1)
    guests = json.loads(run("people", "invite", "Dr Lead", "two", "Ann", "--json")[1])["invited"]
    assert guests[0]["link"].startswith("http://localhost:8501/?join=")
    code, output, progress = run("data", "verify", "--json")
    assert (code, json.loads(output)["holds"], "1 of 1" in progress) == (0, True, True)
    diagnoses = json.loads(run("server", "doctor", "--json")[1])
    assert {part["about"] for part in diagnoses["diagnoses"]} >= {"Python", "packages", "folder", "database"}


# one becomes the app, the other prints what a shell runs
WITHOUT_JSON = {"server run", "completion"}
# a folder of many files; what a passcode is read from; what is known by the ending of its name
WITHOUT_PIPE = {"study archive folder", "study open-capsule file", "data verify against"}
NAMED_FILES = {"file", "files", "folder"}


def test_every_command_answers_in_json_and_names_its_pipes():
    answering = {name for path, command in COMMANDS.items() if (name := " ".join(path)) and "as_json" in named(command)}
    assert answering == {" ".join(path) for path in COMMANDS} - WITHOUT_JSON
    silent = {
        f"{' '.join(path)} {name}"
        for path, command in COMMANDS.items()
        for name, help in named(command).items()
        if name in NAMED_FILES | {"against"} and "- " not in help
    }
    assert silent == WITHOUT_PIPE


def named(command: LazyCommand) -> dict[str, str]:
    """What the command says of each of its arguments and options."""
    return {str(param.name): str(getattr(param, "help", "")) for param in command.params}


def test_a_file_read_back_and_forth_may_be_piped(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"PK\x03\x04\xff")))
    with files.on_disk("-") as path:
        assert path.read_bytes() == b"PK\x03\x04\xff"
    assert not path.parent.exists()


def test_a_refusal_leaves_the_standard_output_empty(run, sqlite_engine):
    code, output, complaint = run("study", "set-state", "Nobody", "nowhere", "open", "--json")
    assert (code, output, complaint.count("\n")) == (2, "", 1)


PIPED = {
    "csv": ITEMS,
    "jsonl": '{"item_id": "1", "context": "Why?", "candidates": [{"system": "a", "text": "So"}]}\n',
    "json": '[{"item_id": "1", "context": "Why?", "candidates": [{"system": "a", "text": "So"}]}]',
}


@pytest.mark.parametrize("kind", PIPED)
def test_items_are_read_from_a_pipe(run, kind):
    code, output, _ = run("study", "create", "L", "T", "dialogue_response", "-", "--json", piped=PIPED[kind])
    assert (code, json.loads(output)["items"]) == (0, 1)


def test_ratings_and_rubrics_are_read_from_a_pipe(run):
    ratings = "item_id,system,annotator,criterion,value\n1,s,x,good,4\n1,s,y,good,5\n"
    code, output, _ = run("study", "import-ratings", "L", "T", "-", piped=ratings)
    assert (code, "2 ratings" in output) == (0, True)
    rubric = (ROOT / "rubrics" / "rrgen.yaml").read_text()
    code, output, _ = run("rubric", "check", "-", "--json", piped=rubric)
    assert (code, json.loads(output)["rubrics"][0]["file"]) == (0, "-")
    assert run("rubric", "check", "-", piped="criteria: [")[0] == 2


def test_an_import_lists_what_is_left_out_of_each_file(run, tmp_path):
    ratings, items, mapping = (tmp_path / name for name in ("ratings.csv", "items.csv", "roles.json"))
    rows = ["a,9,s,ann,4,main,tea", "b,,s,ann,,main,tea", "b,,s,bob,5,training,tea"]
    ratings.write_text("\n".join(["item_id,,system,annotator,fluency,purpose,mood", *rows]))
    items.write_text("item_id,,context,cand:s\na,9,Why?,So\nb,,When?,Now\n")
    mapping.write_text('{"roles": {"mood": "ignore"}}')
    words = ("study", "import-ratings", "L", "T", str(ratings), "--items", str(items), "--mapping", str(mapping))

    code, output, _ = run(*words)

    assert code == 0
    assert {
        "ratings.csv: Column 2 has text but no name; it was left out.",
        "ratings.csv: 1 empty rating(s) are left out: what was not answered has no row.",
        "ratings.csv: 1 rating(s) of training and tests are left out.",
        "ratings.csv: Ignored columns or fields: mood.",
        f"{items}: Column 2 has text but no name; it was left out.",
    } <= set(output.splitlines())
    assert "ratings.csv: Ignored columns or fields: mood." in json.loads(run(*words, "--json")[1])["problems"]


@pytest.mark.parametrize("group", [os.fsdecode(b"caf\xe9"), "a\nb"])
def test_a_group_with_an_unreadable_name_is_refused(run, tmp_path, group):
    ratings = tmp_path / "ratings.csv"
    ratings.write_text("item_id,system,annotator,criterion,value\n1,s,x,good,4\n1,s,y,good,5\n")

    code, _, complaint = run("study", "import-ratings", "L", "T", f"{group}={ratings}", "--write")

    assert code == 2
    assert complaint.endswith(": a group needs a name in UTF-8, without control characters.\n")


def test_an_import_names_what_is_not_read_in_a_folder(run, tmp_path):
    for name in ("anna.csv", "bert.csv.bak", "cleo/cleo.zip", ".git/config", "mine\nyours.xls"):
        (tmp_path / "given" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "given" / name).write_text("item_id,system,annotator,criterion,value\n1,s,x,good,4\n")

    code, output, _ = run("study", "import-ratings", "L", "T", str(tmp_path / "given"))

    assert code == 0
    line = "anna.csv: Not read in the folder: bert.csv.bak, cleo/cleo.zip, mine\\nyours.xls."
    assert line in output.splitlines(), output


@pytest.mark.parametrize("words", [("study", "import-ratings", "L", "T"), ("rubric", "check")], ids=" ".join)
def test_no_more_of_a_file_is_read_than_allowed(run, tmp_path, words):
    """A file with a hole takes nothing in an archive and on the disk, and all of its size in memory."""
    path = tmp_path / "large.csv"
    with path.open("wb") as file:
        file.truncate(3 * MAX_BYTES)
    tracemalloc.start()
    code, _, complaint = run(*words, str(path))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert code == 2
    assert re.search("has more than 100 MB. Split it|a rubric has at most 200,000", complaint)
    assert most < 2 * MAX_BYTES


def test_a_fault_of_the_program_has_its_own_code(run, monkeypatch, sqlite_engine):
    monkeypatch.setattr("triptych.cli.study.list_studies", lambda: 1 / 0)
    code, output, complaint = run("study", "list")

    assert (code, output) == (3, "")
    shown = re.search(r"server doctor --error (\w+)", complaint)
    assert shown
    assert "ZeroDivisionError" in run("server", "doctor", "--error", shown[1])[1]


@pytest.mark.parametrize(
    "words", [["nonsense"], ["study"], ["study", "nonsense"], ["server", "run", "--port", "70000"]]
)
def test_wrong_arguments_are_refused_with_the_usage(run, words):
    code, output, complaint = run(*words)
    assert (code, output, "Usage: .venv/bin/python -m triptych" in complaint) == (2, "", True)


@pytest.mark.parametrize("words", [["people"], ["data", "export", "a-study"], ["study", "a\nb"]])
def test_an_error_of_arguments_is_one_plain_line(run, words):
    """A group without a command repeated its whole help as an error, with line ends spelled out."""
    complaint = run(*words)[2]
    assert ("\\n" in complaint, complaint.count("Usage: ")) == (words[0] == "study", 1)


@pytest.mark.parametrize("words", [["completion", "bash"], ["--help"]])
def test_a_pipe_that_nobody_reads_ends_a_command_silently(words):
    reading, writing_end = os.pipe()
    os.close(reading)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    ended = subprocess.run(
        [sys.executable, "-m", "triptych", *words],
        cwd=ROOT,
        env=environment,
        stdout=writing_end,
        stderr=subprocess.PIPE,
    )
    os.close(writing_end)
    assert (ended.returncode, ended.stderr) == (1, b"")


def test_a_shell_completes_commands(run, monkeypatch):
    for shell in ("bash", "zsh", "fish"):
        assert "_TRIPTYCH_COMPLETE" in run("completion", shell)[1]
    environment = {"_TRIPTYCH_COMPLETE": "bash_complete", "COMP_WORDS": "triptych study cr", "COMP_CWORD": "2"}
    completed = subprocess.run(
        [sys.executable, "-m", "triptych"], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert completed.stdout.split() == ["plain,create"]


@pytest.fixture
def started(monkeypatch):
    """Runs `triptych` with these words as far as the start of Streamlit: (exit code, its command or nothing)."""

    def starting(*words: str) -> tuple[int, list[str]]:
        commands: list[list[str]] = []
        monkeypatch.setattr("os.execv", lambda _, command: commands.append(command))
        monkeypatch.setattr("subprocess.call", lambda command: 0)
        monkeypatch.chdir(ROOT)
        return program.main(words), commands[0] if commands else []

    return starting


def test_without_arguments_the_app_starts_on_a_free_port(started, monkeypatch):
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(server, "FIRST_PORT", port)
        code, command = started()

    assert (code, "--server.address=127.0.0.1" in command) == (0, True)
    (chosen,) = (int(part.partition("=")[2]) for part in command if part.startswith("--server.port="))
    assert port < chosen < port + server.PORTS_TO_TRY


def test_a_name_too_long_is_no_address(started, capsys):
    assert started("server", "run", "--address", "x" * 300) == (2, [])
    assert "is not an address of this computer" in capsys.readouterr().err


def test_a_taken_port_is_refused_where_it_was_named(started, capsys):
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        code, command = started("server", "run", "--port", str(taken.getsockname()[1]))
    assert (code, command) == (2, [])
    assert "Address already in use. Without --port a free port is used." in capsys.readouterr().err
    for address in ("203.0.113.7", "no name"):
        with pytest.raises(NotAllowed, match=address):
            server.port_for(address)


def test_a_home_is_made_private_at_any_path(started, monkeypatch, tmp_path):
    home = tmp_path / "my data; ünïcode" / "home"
    monkeypatch.setenv("TRIPTYCH_HOME", str(home))
    assert started()[0] == 0
    assert home.stat().st_mode & 0o777 == 0o700


def test_the_folders_above_a_new_home_are_private_too(started, monkeypatch, tmp_path):
    """Who may write above the home can put a link in its place."""
    monkeypatch.setenv("TRIPTYCH_HOME", str(tmp_path / "labs" / "ours" / "home"))
    shell = os.umask(0)
    try:
        assert started()[0] == 0
    finally:
        os.umask(shell)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.rglob("*") if path.is_dir()} == {0o700}


def test_the_app_is_given_links_to_its_home(started, monkeypatch, tmp_path):
    """It refuses to open a database through those of other users."""
    (tmp_path / "linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setenv("TRIPTYCH_HOME", str(tmp_path / "linked"))
    assert started()[0] == 0
    assert os.environ["TRIPTYCH_HOME"] == str(tmp_path / "linked")


@pytest.mark.parametrize("start", ["sqlite:///", "sqlite+pysqlite:///", "sqlite:////"])
def test_app_and_commands_use_the_same_database(started, monkeypatch, tmp_path, start):
    """The app runs in its own folder, where a relative path led to another file."""
    path = tmp_path / "our lab" / "lab.db"
    path.parent.mkdir()
    monkeypatch.setattr(Path, "cwd", lambda: path.parent)
    typed = quote(str(path)).removeprefix("/") if start.endswith("////") else "lab.db"
    monkeypatch.setenv("TRIPTYCH_DATABASE_URL", f"{start}{typed}")

    assert started()[0] == 0
    assert database.sqlite_path(os.environ["TRIPTYCH_DATABASE_URL"]) == path


def test_an_impossible_home_is_refused_in_a_sentence(started, monkeypatch, tmp_path, capsys):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TRIPTYCH_HOME", str(tmp_path / "file" / "home"))

    assert started() == (2, [])
    assert capsys.readouterr().err == f"{tmp_path / 'file' / 'home'}: Not a directory.\n"


@pytest.fixture
def serving(monkeypatch, tmp_path):
    """A server on this home, as its lock file shows it."""
    monkeypatch.delenv("TRIPTYCH_DATABASE_URL", raising=False)
    lock = host.lock_file(host.lock_in(tmp_path), "")
    host.write_note(lock, host.RunningAt("http://127.0.0.1:8507", 8507, "127.0.0.1"))
    with closing(lock):
        yield lock


def test_a_second_start_names_the_first(started, serving, capsys):
    assert started() == (2, [])
    assert "already running with these data at http://127.0.0.1:8507" in capsys.readouterr().err


def test_the_lock_of_a_stopped_server_stops_nobody(started, serving):
    serving.close()
    assert started()[0] == 0


@pytest.mark.parametrize(
    "note", ["", "{", '{"address": 1, "port": "x", "bound": []}', "[]", '{"address": 1}', "\0" * 5000]
)
def test_a_lock_file_with_another_note_is_only_a_lock(started, serving, note, capsys):
    serving.truncate(0)
    serving.write(note)
    serving.flush()
    assert started() == (2, [])
    assert "already running with these data: " in capsys.readouterr().err


def test_the_app_locks_the_file_that_the_command_looks_at(sqlite_engine, monkeypatch, tmp_path):
    lock = database.lock_server(database.open_engine(f"sqlite:///{settings.local_folder() / 'triptych.db'}"))
    assert lock is not None
    with closing(lock):
        assert host.is_locked(host.lock_in(settings.local_folder()))


def test_sharing_shows_the_address_in_the_network(run, serving, monkeypatch):
    code, _, complaint = run("share")
    assert (code, "listens on this computer only" in complaint) == (2, True)

    host.write_note(serving, host.RunningAt("http://127.0.0.1:8507/lab", 8507, "::"))
    monkeypatch.setattr(server, "network_address", lambda: "192.168.1.20")
    code, output, _ = run("share")
    assert (code, "  http://192.168.1.20:8507/lab\n" in output, server.PLAIN_HTTP in output) == (0, True, True)
    assert output.count("█") > 100
    assert json.loads(run("share", "--json")[1]) == {"address": "http://192.168.1.20:8507/lab", "encrypted": False}

    for behind_a_proxy in (True, False):
        if behind_a_proxy:
            host.write_note(serving, host.RunningAt("https://annotate.example.org", 8507, "127.0.0.1"))
        else:
            monkeypatch.setenv("TRIPTYCH_ADDRESS", "https://annotate.example.org")
        code, output, _ = run("share")
        assert (code, "  https://annotate.example.org\n" in output, server.PLAIN_HTTP in output) == (0, True, False)


def test_sharing_without_an_app_says_how_to_start_one(run, monkeypatch):
    monkeypatch.delenv("TRIPTYCH_DATABASE_URL", raising=False)
    code, output, complaint = run("share")
    assert (code, output, "server run --address 0.0.0.0" in complaint) == (2, "", True)


def test_a_qr_code_is_square_with_its_three_corners():
    rows = server.qr_code("http://192.168.1.20:8507")
    width = len(rows[0])
    assert {len(row) for row in rows} == {width}
    assert len(rows) == (width + 1) // 2
    # a corner begins with seven dark modules, after a border of two light ones
    assert rows[1][2:9] == rows[1][-9:-2] == " " + "▄" * 5 + " "


def test_no_document_installs_a_foreign_package():
    """The name triptych of the package index belongs to somebody else."""
    installing = re.compile(r"(?:pipx? install|pipx run|uvx|uv tool (?:install|run))(?: -\S+)* ['\"]?triptych\b(?!-|/)")
    paths = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "docs" / "deploy").iterdir()]
    assert installing.search("pipx install triptych")
    assert f"pipx install ./triptych-{settings.version()}-py3-none-any.whl " in (ROOT / "README.md").read_text()
    assert not [path for path in paths if path.is_file() and installing.search(path.read_text(encoding="utf-8"))]


def test_a_newer_database_is_refused_and_left_alone(run, sqlite_engine, tmp_path):
    with writing(sqlite_engine) as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    files = sorted(tmp_path.iterdir())
    for words in (["data", "migrate"], ["study", "list"], ["people", "add-lead", "Ann"]):
        code, output, complaint = run(*words)
        assert (code, output, "This database belongs to a newer Triptych" in complaint) == (2, "", True), words
    assert schema.stored_version(sqlite_engine) == "9999"
    assert not [path for path in tmp_path.iterdir() if path not in files and "before" in path.name]


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A folder that looks like a checkout with data, in which an installed command is typed."""
    monkeypatch.setattr(settings, "is_installed", lambda: True)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "user"))
    for name in ("app.py", "triptych/settings.py", "data/local/triptych.db"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_installed_command_takes_the_data_of_a_checkout(checkout):
    assert settings.usual_home() == checkout / "data" / "local"
    (checkout / "app.py").unlink()
    assert settings.usual_home() == checkout / "user" / "triptych"


def test_data_of_another_user_in_a_checkout_are_left_alone(checkout, monkeypatch):
    monkeypatch.setattr("os.getuid", lambda: checkout.stat().st_uid + 1)
    assert settings.usual_home() == checkout / "user" / "triptych"


@pytest.mark.skipif(os.name == "nt", reason="no owners on Windows")
def test_a_home_of_another_user_is_refused(monkeypatch, tmp_path):
    if os.geteuid() == 0:
        os.chown(tmp_path, 4321, -1)
    monkeypatch.setattr("os.geteuid", lambda: 1234)
    with pytest.raises(UnsafeDatabase, match="belongs to another user"):
        private.refuse_unusable()
    monkeypatch.setenv("TRIPTYCH_GROUP", "1")
    private.refuse_unusable()
