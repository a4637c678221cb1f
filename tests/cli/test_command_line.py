"""What can be done without the browser: through the same commands, with clear words and exit codes."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shlex
import subprocess
import sys
import zipfile

import click
import pytest
from helpers.command_reference import reference
from helpers.ratings import submit
from helpers.studies import ROOT, SMALL_RUBRIC
from sqlalchemy import event, select

from triptych import clock, settings
from triptych.archive import make as archiving
from triptych.cli import main as program
from triptych.cli.commands import root
from triptych.errors import NotAllowed
from triptych.operations import backup
from triptych.people import accounts, links, signing_in
from triptych.people.names import LONGEST_NAME, read_name
from triptych.storage import database, schema
from triptych.storage.database import reading, writing
from triptych.storage.models import Event, EventDetail, Membership, Person, Study, StudyState
from triptych.storage.unavailable import DatabaseUnavailable
from triptych.study import lifecycle
from triptych.study.settings import settings_of

PASSCODE = "a long passcode 42"
ITEMS = str(ROOT / "data" / "demo" / "dialogue_response.jsonl")


@pytest.fixture
def run(monkeypatch, capsys):
    """run(*words) → (exit code, what it said, what it complained of); the passcode is piped in."""

    def running(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{PASSCODE}\n"))
        code = program.main(words)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return running


@pytest.mark.long
def test_a_study_is_created_and_launched_without_a_browser(run, sqlite_engine, tmp_path):
    assert run("people", "add-lead", "Dr Lead")[0] == 0
    words = ("study", "create", "Dr Lead", "Next turns", "dialogue_response", ITEMS)
    code, output, _ = run(*words)
    assert (code, "Nothing was written" in output) == (0, True)
    assert run("study", "list")[1] == ""
    assert run(*words, "--raters", "2", "--access", "invited", "--write")[0] == 0
    opening = ("study", "set-state", "Dr Lead", "next-turns", "open")
    assert "consent text is empty" in run(*opening)[2]
    assert run(*opening, "--no-consent", "Staff try it.")[0] == 0
    guests = tmp_path / "guests.csv"
    guests.write_text("name,email\nAnna,anna@lab.example\nBen,\n")
    code, output, _ = run(
        "people", "invite", "Dr Lead", "next-turns", "--list", str(guests), "--address", "http://lab:8501/"
    )
    assert code == 0

    with reading(sqlite_engine) as session:
        study = session.scalars(select(Study)).one()
        assert (study.state, study.raters_per_item, study.access) == ("open", 2, "invited")
        assert settings_of(study).checks.repeat_percent == 5
        secrets = [line.rpartition("join=")[2] for line in output.splitlines()]
        assert [links.accept_invitation(session, secret).name for secret in secrets] == ["Anna", "Ben"]
        roles = session.execute(select(Person.name, Membership.role).join(Membership)).all()
    assert sorted(map(tuple, roles)) == [("Anna", "annotator"), ("Ben", "annotator"), ("Dr Lead", "lead")]
    assert "next-turns\tmain\topen" in run("study", "list")[1]


def test_a_mapping_says_which_columns_of_items_are_responses(run, tmp_path):
    assert run("people", "add-lead", "Dr Lead")[0] == 0
    (tmp_path / "wide.csv").write_text("id,prompt,a,b\n1,Why?,So,Thus\n")
    roles = {"id": "item", "prompt": "context", "a": "response", "b": "response"}
    (tmp_path / "mapping.json").write_text(json.dumps({"roles": roles}))
    words = ("study", "create", "Dr Lead", "Wide", "dialogue_response", str(tmp_path / "wide.csv"))
    assert run(*words)[0] == 2
    code, output, _ = run(*words, "--mapping", str(tmp_path / "mapping.json"))
    assert (code, "Nothing was written" in output) == (0, True)


def test_unclear_roles_are_written_to_the_mapping(run, tmp_path):
    (tmp_path / "clear.csv").write_text("item_id,system,annotator,criterion,value\n1,s,x,good,4\n")
    (tmp_path / "unclear.csv").write_text("a,b,c,model\n1,w1,4,s\n1,w2,5,s\n")
    out = tmp_path / "roles.json"
    words = ("study", "import-ratings", "Dr Lead", "T", str(tmp_path / "unclear.csv"), str(tmp_path / "clear.csv"))

    code, _, complaint = run(*words)
    assert (code, "--mapping-out FILE" in complaint) == (2, True)
    code, _, complaint = run(*words, "--mapping-out", str(out))
    assert (code, str(out) in complaint, "unclear.csv: " in complaint) == (2, True, True)

    mapping = json.loads(out.read_text())
    assert mapping["roles"].keys() == {"item_id", "system", "annotator", "criterion", "value", "a", "b", "c", "model"}
    mapping["roles"] |= {"a": "item", "b": "annotator", "c": "value"}
    out.write_text(json.dumps(mapping))
    code, output, _ = run(*words, "--mapping", str(out))
    assert (code, "3 ratings" in output) == (0, True)


@pytest.mark.parametrize(
    "words",
    [
        (
            "data",
            "migrate",
        ),
        (
            "study",
            "list",
        ),
        (
            "data",
            "verify",
        ),
        ("people", "add-lead", "Dr Lead"),
        (
            "data",
            "backup",
        ),
    ],
)
def test_an_unavailable_database_is_reported(run, monkeypatch, words):
    monkeypatch.setenv("TRIPTYCH_DATABASE_URL", "postgresql://me:geheim@127.0.0.1:1/nothing")
    code, output, complaint = run(*words)

    assert (code, output) == (2, "")
    assert complaint.startswith("The database does not respond: ")
    assert complaint.rstrip().endswith(".venv/bin/python -m triptych server doctor")
    assert "geheim" not in complaint


READING = [
    (
        "data",
        "verify",
    ),
    (
        "data",
        "backup",
    ),
    (
        "study",
        "list",
    ),
    ("study", "export", "a-small-study", "study.zip"),
    ("data", "export", "a-small-study", "ratings", "ratings.csv"),
    ("report", "make", "a-small-study", "report"),
]


@pytest.mark.parametrize("words", READING)
def test_a_reading_command_creates_and_changes_no_database(run, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    code, output, complaint = run(*words)
    assert (code, output) == (2, "")
    assert "There is no study here" in complaint
    assert list(tmp_path.iterdir()) == []

    engine = database.open_engine(f"sqlite:///{tmp_path / 'triptych.db'}")
    schema.create_version(engine, "0003")
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.db")}
    code, output, complaint = run(*words)
    assert (code, output) == (2, "")
    assert "version 0003" in complaint
    assert complaint.rstrip().endswith(".venv/bin/python -m triptych data migrate")
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.db")} == before
    assert schema.stored_version(engine) == "0003"
    engine.dispose()


def test_where_nothing_can_be_verified_the_command_says_so(run, sqlite_engine):
    code, output, complaint = run("data", "verify")

    assert (code, output) == (2, "")
    assert "no study in this database" in complaint


def test_what_is_opened_to_read_takes_no_change(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, _ = make_study(session)
    engine = schema.open_existing(str(sqlite_engine.url), changes=False)

    with reading(engine) as session:
        assert session.get_one(Study, study.id).title == study.title
    with pytest.raises(DatabaseUnavailable), writing(engine) as session:
        session.get_one(Study, study.id).title = "Another"
    engine.dispose()


def test_a_file_that_is_no_database_is_reported(run, tmp_path, monkeypatch):
    (tmp_path / "triptych.db").write_text("no database, but long enough to be looked at as one\n" * 100)
    monkeypatch.setenv("TRIPTYCH_HOME", str(tmp_path))
    monkeypatch.delenv("TRIPTYCH_DATABASE_URL", raising=False)
    code, output, complaint = run("study", "list")

    assert (code, output) == (2, "")
    assert "file is not a database" in complaint


def test_files_of_one_system_each_are_joined(run, tmp_path):
    for system in ("one", "two"):
        (tmp_path / f"{system}.csv").write_text("item_id,context,text\n1,Why?,Because\n2,How?,So\n")
    files = [f"{system}={tmp_path / system}.csv" for system in ("one", "two")]
    code, output, _ = run("study", "create", "Dr Lead", "Two", "dialogue_response", *files)
    assert "2 items of 2 systems" in output
    code, _, complaint = run(
        "study", "create", "Dr Lead", "Two", "dialogue_response", files[0], str(tmp_path / "two.csv")
    )
    assert code == 2
    assert "SYSTEM=FILE" in complaint


@pytest.mark.parametrize(
    "words, complaint",
    [
        (("data", "export", "nowhere", "csv", "x.zip"), "no study called 'nowhere'"),
        (("people", "invite", "Nobody", "nowhere", "Anna"), "no lead called 'Nobody'"),
        (("study", "set-state", "Nobody", "nowhere", "open"), "no lead called 'Nobody'"),
        (("study", "export", "nowhere", "x.zip"), "no study nowhere"),
        (("data", "restore", "nowhere.db"), "There is no file nowhere.db"),
        (("study", "open-capsule", "nowhere.zip", "Dr New"), "not a study capsule"),
        (("study", "create", "L", "T", "dialogue_response", "nowhere.csv"), "nowhere.csv cannot be read"),
        (
            ("study", "create", "L", "T", "dialog", ITEMS),
            "dialog is no file and no shipped rubric: dialogue_response, ",
        ),
    ],
)
def test_a_refused_command_prints_one_sentence_with_exit_code_2(run, sqlite_engine, words, complaint):
    code, _, stderr = run(*words)
    assert code == 2
    assert complaint in stderr
    assert "Traceback" not in stderr


def lead_in(engine, name="Dr Lead"):
    with writing(engine) as session:
        return accounts.create_lead(session, name, PASSCODE)


@pytest.mark.parametrize("command", ["import-ratings", "create"])
def test_a_disabled_lead_makes_no_study(run, sqlite_engine, tmp_path, command):
    ratings = tmp_path / "ratings.csv"
    ratings.write_text("item_id,system,annotator,criterion,value\n1,m,w1,fluency,4\n1,m,w2,fluency,5\n")
    lead_in(sqlite_engine)
    with writing(sqlite_engine) as session:
        accounts.lead_called(session, "Dr Lead").disabled_at = clock.now()
    files = {"import-ratings": [str(ratings)], "create": ["dialogue_response", ITEMS]}
    code, _, complaint = run("study", command, "Dr Lead", "New", *files[command], "--write")

    assert (code, "no lead called 'Dr Lead' who can sign in" in complaint) == (2, True)
    with reading(sqlite_engine) as session:
        assert session.scalars(select(Study)).all() == []


@pytest.mark.parametrize("name", ["Dr  Lead", " Dr Lead\x07", "DR LEAD"])
def test_add_lead_names_what_sign_in_takes(run, name):
    code, output, _ = run("people", "add-lead", name)
    stored = read_name(name)

    assert (code, f"the name {stored} and" in output) == (0, True)
    engine = database.open_engine(settings.database_url())
    for spelling in (name, stored):
        assert signing_in.lead(engine, spelling, PASSCODE).name == stored


def test_a_name_too_long_is_refused(run):
    code, output, complaint = run("people", "add-lead", "x" * (LONGEST_NAME + 1))
    assert (code, output, complaint) == (2, "", f"A name has 1 to {LONGEST_NAME} characters.\n")


def test_one_of_a_thing_is_singular(run, sqlite_engine, tmp_path):
    items = tmp_path / "items.csv"
    items.write_text("item_id,context,cand:one\n1,Why?,Because\n")
    _, output, _ = run("study", "create", "Dr Lead", "One", "dialogue_response", str(items))
    assert "1 item of 1 system," in output
    lead_in(sqlite_engine)
    assert run("study", "create", "Dr Lead", "One", "dialogue_response", str(items), "--write")[0] == 0
    assert "\t1 item\t" in run("study", "list")[1]


def test_a_hint_is_a_whole_command(run, sqlite_engine):
    lead_in(sqlite_engine, "O'Neil")
    _, output, _ = run("study", "create", "O'Neil", "Next", "dialogue_response", ITEMS, "--write")
    hint = output.rpartition("Launch it: .venv/bin/python -m triptych ")[2]

    assert run(*shlex.split(hint), "--no-consent", "Staff try it.")[:2] == (0, "next is open.\n")


@pytest.mark.parametrize("option", [("--raters", "-3"), ("--most", "0")])
def test_a_dry_run_refuses_an_impossible_plan(run, option):
    code, output, complaint = run("study", "create", "Dr Lead", "Next", "dialogue_response", ITEMS, *option)
    assert (code, output, " 1 " in complaint) == (2, "", True)


def test_a_rubric_is_read_from_the_current_folder(run, tmp_path, monkeypatch):
    (tmp_path / "own.yaml").write_text(SMALL_RUBRIC)
    monkeypatch.chdir(tmp_path)

    assert run("rubric", "check", "own.yaml")[0] == 0
    assert run("study", "create", "Dr Lead", "Next", "own.yaml", ITEMS)[0] == 0


def test_each_mistake_of_a_rubric_is_a_line(run, tmp_path):
    (tmp_path / "own.yaml").write_text("key: own\ntitle: Own\n")
    code, _, complaint = run("rubric", "check", str(tmp_path / "own.yaml"))
    named = [line.split(": ")[1] for line in complaint.splitlines()]
    assert (code, {"summary", "instructions", "criteria"} <= set(named)) == (2, True)


@pytest.mark.parametrize(
    "words", [("rubric", "check", "absent.yaml"), ("study", "create", "Dr Lead", "T", "absent.yaml", ITEMS)]
)
def test_an_absent_rubric_is_named(run, words):
    assert run(*words)[::2] == (2, "absent.yaml cannot be read: No such file or directory.\n")


@pytest.mark.parametrize(
    "words",
    [
        (
            "study",
            "list",
        ),
        (
            "data",
            "migrate",
        ),
        ("data", "move", "mysql://lab/study"),
    ],
)
def test_an_unknown_kind_of_database_is_refused_in_a_sentence(run, sqlite_engine, monkeypatch, words):
    if words[0] != "move":
        monkeypatch.setenv("TRIPTYCH_DATABASE_URL", "mysql://lab/study")
    code, output, complaint = run(*words)

    assert (code, output) == (2, "")
    assert complaint == "Triptych stores its data in SQLite or PostgreSQL; mysql:// is not one of them.\n"


@pytest.mark.parametrize("words", [("study", "list"), ("data", "migrate")])
@pytest.mark.parametrize(
    "address",
    [
        "nonsense",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite://host/x.db",
        "sqlite:////srv/x.db?timeout=abc",
        "sqlite:////srv/x%00.db",
        "sqlite+pysqlcipher:////srv/x.db",
        "sqlite+aiosqlite:////srv/x.db",
        "postgresql://u:p@[::1/x",
        "postgresql://u:p@ss:word@h/x",
        "postgresql://u:p@h:abc/x",
        "postgresql://u:p@h/x%00",
        "postgresql+nothing://u:p@h/x",
        "postgresql+psycopg2://u:p@h/x",
        "postgresql://u:p@h/x?timeout=abc",
    ],
)
def test_an_address_that_is_none_is_refused_in_a_sentence(run, monkeypatch, address, words):
    monkeypatch.setenv("TRIPTYCH_DATABASE_URL", address)
    assert run(*words) == (2, "", f"TRIPTYCH_DATABASE_URL{database.NO_ADDRESS}\n")


def test_an_address_typed_in_a_command_is_not_the_setting(run, sqlite_engine):
    assert run("data", "move", "sqlite:////srv/x%00.db") == (2, "", f"This{database.NO_ADDRESS}\n")


def test_an_export_to_standard_output_is_only_data(run, rated, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, output, messages = run("data", "export", rated.slug, "ratings", "-")

    assert (code, output.count("\n"), messages) == (0, 7, "Written to -.\n")


def test_an_export_to_a_closed_output_is_not_called_written(monkeypatch, capsys, rated):
    monkeypatch.setattr(sys, "stdout", None)
    code = program.main(["data", "export", rated.slug, "ratings", "-"])
    sys.stdout.close()

    assert (code, capsys.readouterr().err) == (2, "Standard output: Bad file descriptor.\n")


@pytest.mark.long
def test_a_link_to_standard_output_stays_a_link(run, rated, tmp_path):
    # not /dev/stdout itself: a fault here would replace it for the whole machine
    device = tmp_path / "stdout"
    device.symlink_to("/proc/self/fd/1")
    command = [sys.executable, "-m", "triptych", "data", "export", rated.slug, "ratings", str(device)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    assert device.is_symlink()
    assert ended.stdout.startswith("study,round,")


def test_an_export_follows_a_link(run, rated, tmp_path):
    (tmp_path / "link.csv").symlink_to(tmp_path / "target.csv")

    assert run("data", "export", rated.slug, "ratings", str(tmp_path / "link.csv"))[0] == 0
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "target.csv").read_text().count("\n") == 7


def test_an_export_into_a_pipe_leaves_the_pipe(run, rated, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert run("data", "export", rated.slug, "ratings", str(pipe))[0] == 0
        assert os.read(reader, 100_000).count(b"\n") == 7
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_a_lead_cannot_see_studies_of_other_leads(run, sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, _ = make_study(session)
        accounts.create_lead(session, "Dr Other", PASSCODE)
    code, _, complaint = run("study", "set-state", "Dr Other", study.slug, "closed")
    assert code == 2
    assert "You do not lead a study" in complaint


@pytest.fixture
def rated(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, people_in = make_study(session)
        submit(session, study, people_in[0])
    return study


ALONE = (
    ("people", "add-lead", "Dr Lead"),
    ("people", "reset-passcode", "Dr Lead"),
    ("people", "invite", "L", "a-small-study", "Ada"),
    ("people", "identity", "Dr Lead", "lead@lab.test"),
    ("study", "set-state", "L", "a-small-study", "closed"),
    ("study", "archive", "a-small-study", "archive", "--licence", "none"),
    ("study", "import", "study.zip", "L"),
    ("study", "open-capsule", "study.zip", "L"),
    ("data", "restore", "x.db"),
    ("data", "move", "sqlite:///new.db"),
    ("data", "migrate"),
)
BESIDE_THE_APP = {
    *("study list", "study create", "study import-ratings", "study export", "data export", "data backup"),
    *("data verify", "report make", "server doctor", "rubric check"),
}


def test_every_command_reads_or_needs_the_database_to_itself():
    """study create and import-ratings write with --write, and then through the same door."""
    groups = [group for group in root().commands.values() if isinstance(group, click.Group)]
    known = {f"{group.name} {name}" for group in groups for name in group.commands} - {"server run", "rubric schema"}

    assert known == BESIDE_THE_APP | {" ".join(words[:2]) for words in ALONE}
    assert [name for name in BESIDE_THE_APP if f"`{name}`" not in reference()] == []


@pytest.mark.long
def test_a_running_server_refuses_commands_that_write(run, sqlite_engine, rated, tmp_path):
    lock = database.lock_server(sqlite_engine)
    try:
        for words in ALONE:
            code, _, complaint = run(*words)
            assert (code, "stop the app first" in complaint) == (2, True), (words, complaint)
        assert run("data", "backup")[0] == 0
        assert run("data", "export", rated.slug, "ratings", str(tmp_path / "ratings.csv"))[0] == 0
        assert run("data", "export", rated.slug, "events", str(tmp_path / "events.zip"))[0] == 0
        assert run("study", "export", rated.slug, str(tmp_path / "study.zip"))[0] == 0
        assert run("data", "verify")[0] == 0
    finally:
        lock.close()
    assert (tmp_path / "ratings.csv").read_text().count("\n") == 7
    assert zipfile.ZipFile(tmp_path / "events.zip").testzip() is None


@pytest.mark.long
def test_a_backup_is_restored_and_a_capsule_opened_by_command(run, sqlite_engine, rated, tmp_path, monkeypatch):
    assert run("data", "backup")[0] == 0
    assert run("study", "export", rated.slug, str(tmp_path / "study.zip"))[0] == 0
    with writing(sqlite_engine) as session:
        session.add(Person(pseudonym="P-late", created_at=rated.created_at))
    made = backup.listed()[0]

    code, output, _ = run("data", "restore", str(made.path))

    assert code == 0, output
    assert rated.slug in output
    with reading(sqlite_engine) as session:
        assert session.scalars(select(Person).where(Person.pseudonym == "P-late")).first() is None
    monkeypatch.setenv("TRIPTYCH_HOME", str(tmp_path / "elsewhere"))
    code, output, complaint = run("study", "open-capsule", str(tmp_path / "study.zip"), "Dr New")
    assert code == 0, complaint
    assert "Dr New leads it" in output
    assert run("data", "verify")[0] == 0


@pytest.mark.long
def test_an_archive_is_made_of_a_closed_study(run, sqlite_engine, rated, tmp_path):
    lead = "L"
    with writing(sqlite_engine) as session:
        study = lifecycle.by_slug(session, rated.slug)
        lifecycle.set_state(session, study, StudyState.closed, lead)
    texts, folder, given = tmp_path / "texts.csv", tmp_path / "archive", ("--licence", "CC-BY-4.0")
    before = events_of(sqlite_engine)

    code, said, _ = run("study", "archive", rated.slug, "--list-texts", str(texts), "--json")
    assert (code, json.loads(said)["texts"], events_of(sqlite_engine)) == (0, 0, before)
    assert run("study", "archive", rated.slug, str(folder))[0] == 2  # no licence
    assert run("study", "archive", rated.slug, str(tmp_path), *given)[0] == 2  # it holds the database
    assert run("study", "archive", rated.slug, str(folder), *given, "--release", str(tmp_path / "none"))[0] == 2
    assert not folder.exists()
    assert events_of(sqlite_engine) == before

    code, said, _ = run("study", "archive", rated.slug, str(folder), *given, "--release", str(texts), "--json")

    values = json.loads(said)
    names = {path.name for path in folder.iterdir()}
    assert (code, values["files"]) == (0, len(names))
    assert {"index.html", "results.html", "ratings.csv", "SHA256SUMS"} <= names
    assert hashlib.sha256((folder / "SHA256SUMS").read_bytes()).hexdigest() == values["sha256"]
    assert events_of(sqlite_engine) == before + 1
    assert run("data", "verify")[0] == 0


@pytest.mark.parametrize(
    "words",
    [
        ("people", "add-lead", "Zo{}"),
        ("people", "reset-passcode", "Zo{}"),
        ("people", "identity", "Zo{}", "zoe"),
        ("people", "invite", "Zo", "a-study", "Ana", "Zo{}"),
        ("study", "archive", "a-study", "folder", "--licence", "{}"),
        ("data", "move", "postgresql://{}"),
    ],
)
def test_a_name_that_is_not_utf8_loses_no_letter(run, words):
    run("people", "add-lead", "Zo")

    code, _, complaint = run(*(word.format(os.fsdecode(b"\xeb")) for word in words))

    assert (code, "\\udceb' is not UTF-8." in complaint) == (2, True)


def test_a_passcode_that_no_browser_sends_is_refused(sqlite_engine, monkeypatch, capsys):
    typed = io.TextIOWrapper(io.BytesIO("pässcode 42\n".encode()), encoding="ascii", errors="surrogateescape")
    monkeypatch.setattr("sys.stdin", typed)

    assert program.main(["people", "add-lead", "Dr Lead"]) == 2
    assert "Set PYTHONUTF8=1" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ("data", "verify", "--against", ""),
        ("study", "import-ratings", "Lead", "Title", "ratings.csv", "--items", ""),
        ("study", "import-ratings", "Lead", "Title", "ratings.csv", "--judge", ""),
    ],
)
def test_an_option_that_names_no_file_is_not_left_out(run, rated, words):
    code, _, complaint = run(*words)

    assert (code, f"'{words[-2]}': it names no file." in complaint) == (2, True)


@pytest.mark.long
def test_names_that_are_not_utf8_are_logged_with_a_replacement(run, sqlite_engine, rated, tmp_path):
    assert run("data", "backup")[0] == 0
    given = tmp_path / os.fsdecode(b"old \xff.db")
    given.write_bytes(backup.listed()[0].path.read_bytes())
    folder = tmp_path / os.fsdecode(b"archive \xff")

    assert run("data", "restore", str(given))[::2] == (0, "")
    with writing(sqlite_engine) as session:
        lifecycle.set_state(session, lifecycle.by_slug(session, rated.slug), StudyState.closed, "L")
    assert run("study", "archive", rated.slug, str(folder), "--licence", "none")[::2] == (0, "")

    with reading(sqlite_engine) as session:
        query = select(Event.kind, EventDetail.new).join(EventDetail)
        details = dict(map(tuple, session.execute(query.where(Event.study_id == rated.id))))
    assert details["restored from a backup"]["backup"] == "old \ufffd.db"
    assert details["study archived"]["folder"] == "archive \ufffd"
    assert (folder / "index.html").is_file()


@pytest.mark.long
def test_an_archive_that_cannot_be_logged_is_not_written(run, sqlite_engine, rated, tmp_path, monkeypatch):
    with writing(sqlite_engine) as session:
        lifecycle.set_state(session, lifecycle.by_slug(session, rated.slug), StudyState.closed, "L")
    make = archiving.archive_study

    def unlogged(session, *choices):
        event.listen(session, "before_commit", fail)
        return make(session, *choices)

    def fail(session):
        raise NotAllowed("The disk is full.")

    monkeypatch.setattr(archiving, "archive_study", unlogged)
    folder = tmp_path / "new" / "archive"

    code, _, complaint = run("study", "archive", rated.slug, str(folder), "--licence", "none")

    assert (code, "disk is full" in complaint) == (2, True)
    assert list(folder.parent.iterdir()) == []


def events_of(engine) -> int:
    with reading(engine) as session:
        return session.scalars(select(Study.event_number)).one()
