"""What can be done without the browser: through the same commands, with clear words and exit codes."""

from __future__ import annotations

import io
import zipfile

import pytest
from helpers.ratings import submit
from helpers.studies import ROOT
from sqlalchemy import select

from triptych.cli import main as program
from triptych.operations import backup
from triptych.people import accounts
from triptych.storage import database
from triptych.storage.database import reading, writing
from triptych.storage.models import Membership, Person, Study
from triptych.study.settings import settings_of

PASSCODE = "a long passcode 42"
ITEMS = str(ROOT / "data" / "demo" / "dialogue_response.jsonl")


@pytest.fixture
def run(monkeypatch, capsys):
    """run(*words) → (exit code, what it said, what it complained of); the passcode is piped in."""

    def running(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{PASSCODE}\n"))
        code = program.main(words)
        said = capsys.readouterr()
        return code, said.out, said.err

    return running


def test_a_study_is_made_launched_and_given_people_without_the_browser(run, sqlite_engine, tmp_path):
    assert run("add-lead", "Dr Lead")[0] == 0
    words = ("create-study", "Dr Lead", "Next turns", "dialogue_response", ITEMS)
    code, said, _ = run(*words)
    assert (code, "Nothing was written" in said) == (0, True)
    assert run("studies")[1] == ""
    assert run(*words, "--raters", "2", "--access", "invited", "--write")[0] == 0
    assert run("set-state", "Dr Lead", "next-turns", "open")[0] == 0
    guests = tmp_path / "guests.csv"
    guests.write_text("name,email\nAnna,anna@lab.example\nBen,\n")
    code, said, _ = run("invite", "Dr Lead", "next-turns", "--list", str(guests), "--address", "http://lab:8501/")
    assert code == 0

    with reading(sqlite_engine) as session:
        study = session.scalars(select(Study)).one()
        assert (study.state, study.raters_per_item, study.access) == ("open", 2, "invited")
        assert settings_of(study).checks.repeat_percent == 5
        secrets = [line.rpartition("join=")[2] for line in said.splitlines()]
        assert [accounts.accept_invitation(session, secret).name for secret in secrets] == ["Anna", "Ben"]
        roles = session.execute(select(Person.name, Membership.role).join(Membership)).all()
    assert sorted(map(tuple, roles)) == [("Anna", "annotator"), ("Ben", "annotator"), ("Dr Lead", "lead")]
    assert "next-turns\tmain\topen" in run("studies")[1]


@pytest.mark.parametrize("words", [("migrate",), ("studies",), ("verify",), ("add-lead", "Dr Lead"), ("backup",)])
def test_a_database_that_is_away_is_said_in_words(run, monkeypatch, words):
    monkeypatch.setenv("TRIPTYCH_DATABASE_URL", "postgresql://me:geheim@127.0.0.1:1/nothing")
    code, said, complaint = run(*words)

    assert (code, said) == (2, "")
    assert complaint.startswith("The database does not answer: ")
    assert complaint.rstrip().endswith("python -m triptych doctor")
    assert "geheim" not in complaint


READING = [
    ("verify",),
    ("backup",),
    ("studies",),
    ("capsule", "a-small-study", "study.zip"),
    ("export", "a-small-study", "ratings", "ratings.csv"),
    ("report", "a-small-study", "report"),
]


@pytest.mark.parametrize("words", READING)
def test_a_command_that_reads_makes_no_database_and_changes_none_of_another_version(run, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    code, said, complaint = run(*words)
    assert (code, said) == (2, "")
    assert "There is no study here" in complaint
    assert list(tmp_path.iterdir()) == []

    engine = database.open_engine(f"sqlite:///{tmp_path / 'triptych.db'}")
    with monkeypatch.context() as older:
        older.setattr(database, "HEAD", "0002")
        database.migrate(engine)
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.db")}
    code, said, complaint = run(*words)
    assert (code, said) == (2, "")
    assert "version 0002" in complaint
    assert complaint.rstrip().endswith("python -m triptych migrate")
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.db")} == before
    assert database.stored_version(engine) == "0002"
    engine.dispose()


def test_where_nothing_can_be_verified_the_command_says_so(run, sqlite_engine):
    code, said, complaint = run("verify")

    assert (code, said) == (2, "")
    assert "no study in this database" in complaint


def test_what_is_opened_to_read_takes_no_change(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, _ = make_study(session)
    engine = database.open_to_read(str(sqlite_engine.url))

    with reading(engine) as session:
        assert session.get_one(Study, study.id).title == study.title
    with pytest.raises(database.DatabaseAway), writing(engine) as session:
        session.get_one(Study, study.id).title = "Another"
    engine.dispose()


def test_a_file_that_is_no_database_is_said_in_words(run, tmp_path, monkeypatch):
    (tmp_path / "triptych.db").write_text("no database, but long enough to be looked at as one\n" * 100)
    monkeypatch.setenv("TRIPTYCH_HOME", str(tmp_path))
    monkeypatch.delenv("TRIPTYCH_DATABASE_URL", raising=False)
    code, said, complaint = run("studies")

    assert (code, said) == (2, "")
    assert "file is not a database" in complaint


def test_files_of_one_system_each_are_joined(run, tmp_path):
    for system in ("one", "two"):
        (tmp_path / f"{system}.csv").write_text("item_id,context,text\n1,Why?,Because\n2,How?,So\n")
    files = [f"{system}={tmp_path / system}.csv" for system in ("one", "two")]
    code, said, _ = run("create-study", "Dr Lead", "Two", "dialogue_response", *files)
    assert "2 items of 2 systems" in said
    code, _, complaint = run("create-study", "Dr Lead", "Two", "dialogue_response", files[0], str(tmp_path / "two.csv"))
    assert code == 2
    assert "SYSTEM=FILE" in complaint


@pytest.mark.parametrize(
    "words, complaint",
    [
        (("export", "nowhere", "csv", "x.zip"), "no study called 'nowhere'"),
        (("invite", "Nobody", "nowhere", "Anna"), "no lead called 'Nobody'"),
        (("set-state", "Nobody", "nowhere", "open"), "no lead called 'Nobody'"),
        (("capsule", "nowhere", "x.zip"), "no study nowhere"),
        (("restore", "nowhere.db"), "There is no file nowhere.db"),
        (("open-capsule", "nowhere.zip", "Dr New"), "no study capsule"),
        (("create-study", "L", "T", "dialogue_response", "nowhere.csv"), "nowhere.csv cannot be read"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence_with_exit_code_2(run, sqlite_engine, words, complaint):
    code, _, said = run(*words)
    assert code == 2
    assert complaint in said
    assert "Traceback" not in said


def test_somebody_elses_study_is_not_there_for_a_lead(run, sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, _ = make_study(session)
        accounts.create_lead(session, "Dr Other", PASSCODE)
    code, _, said = run("set-state", "Dr Other", study.slug, "closed")
    assert code == 2
    assert "You lead no study" in said


@pytest.fixture
def rated(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, people_in = make_study(session)
        submit(session, study, people_in[0])
    return study


def test_a_running_server_keeps_writing_commands_out_and_lets_backups_and_exports_in(
    run, sqlite_engine, rated, tmp_path
):
    lock = database.lock_server(sqlite_engine)
    try:
        refused = [("add-lead", "Dr Lead"), ("restore", "x.db"), ("set-state", "L", rated.slug, "closed")]
        for words in refused:
            code, _, said = run(*words)
            assert (code, "Another Triptych is using triptych.db" in said) == (2, True), words
        assert run("backup")[0] == 0
        assert run("export", rated.slug, "ratings", str(tmp_path / "ratings.csv"))[0] == 0
        assert run("export", rated.slug, "events", str(tmp_path / "events.zip"))[0] == 0
        assert run("capsule", rated.slug, str(tmp_path / "study.zip"))[0] == 0
        assert run("verify")[0] == 0
    finally:
        lock.close()
    assert (tmp_path / "ratings.csv").read_text().count("\n") == 7
    assert zipfile.ZipFile(tmp_path / "events.zip").testzip() is None


def test_a_backup_is_restored_and_a_capsule_opened_by_command(run, sqlite_engine, rated, tmp_path, monkeypatch):
    assert run("backup")[0] == 0
    assert run("capsule", rated.slug, str(tmp_path / "study.zip"))[0] == 0
    with writing(sqlite_engine) as session:
        session.add(Person(pseudonym="P-late", created_at=rated.created_at))
    made = backup.listed()[0]

    code, said, _ = run("restore", str(made.path))

    assert code == 0, said
    assert rated.slug in said
    with reading(sqlite_engine) as session:
        assert session.scalars(select(Person).where(Person.pseudonym == "P-late")).first() is None
    monkeypatch.setenv("TRIPTYCH_HOME", str(tmp_path / "elsewhere"))
    code, said, complaint = run("open-capsule", str(tmp_path / "study.zip"), "Dr New")
    assert code == 0, complaint
    assert "Dr New leads it" in said
    assert run("verify")[0] == 0
