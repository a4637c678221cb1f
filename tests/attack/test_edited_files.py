"""Reports, exports, capsules and backups that somebody edits, so that they seem to prove what never was."""

from __future__ import annotations

import io
import re
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.reported import Reported
from helpers.reports import again
from sqlalchemy import Engine, select, text, update

from triptych.cli import main as program
from triptych.operations import backup, verify
from triptych.operations import capsule as capsules
from triptych.reports import snapshot
from triptych.storage.database import reading, writing
from triptych.storage.models import Snapshot, Study


@pytest.fixture
def sqlite_engine(reported_engine: Engine) -> Engine:
    return reported_engine


@pytest.fixture
def study(reported_engine: Engine, reported: Reported) -> Study:
    """A study with an annotation and a stored report."""
    with writing(reported_engine) as session:
        now = session.get_one(Study, reported.study.id)
        snapshot.keep(session, now, reported.report, reported.lead.pseudonym)
    return reported.study


def edited(data: bytes, name: str, change: Callable[[bytes], bytes | None]) -> bytes:
    """The zip with one of its files changed, or left out where `change` gives None."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(made, "w") as new:
        for member in old.namelist():
            content = old.read(member)
            after = change(content) if member.endswith(f"/{name}") else content
            if after is not None:
                new.writestr(member, after)
    return made.getvalue()


def differences(engine, study: Study) -> str:
    with reading(engine) as session:
        return "\n".join(verify.verify(session, session.get_one(Study, study.id)).differences)


CHANGES = {"changed": lambda content: content.replace(b"accept", b"reject") + b"\n", "left out": lambda _: None}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("name", ["ratings.csv", "codebook.json"])
def test_verify_names_an_edited_file_of_a_stored_report(sqlite_engine, study, name, change):
    assert differences(sqlite_engine, study) == ""
    with writing(sqlite_engine) as session:
        stored = session.scalars(select(Snapshot)).one()
        stored.file = edited(stored.file, name, change)

    assert f"{name} differs from the file that was stored" in differences(sqlite_engine, study)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"sha256": "a" * 64}, "its file belongs to another report"),
        ({"event_hash": "b" * 64}, "has a different hash in the log"),
        ({"event_number": 99}, "has a different hash in the log"),
        ({"scope": {"kinds": []}}, "a different scope"),
        ({"file": b"PK"}, "cannot be read"),
    ],
)
def test_verify_names_an_edited_row_of_a_stored_report(sqlite_engine, study, values, message):
    with writing(sqlite_engine) as session:
        session.execute(update(Snapshot).values(values))

    assert message in differences(sqlite_engine, study)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize(("kind", "name"), [("report", "ratings.csv"), ("capsule", "codebook.json")])
def test_an_edited_zip_proves_nothing(
    sqlite_engine, study, reported: Reported, tmp_path: Path, capsys, kind, name, change
):
    path = tmp_path / f"{kind}.zip"
    whole = reported.report.zip if kind == "report" else b"".join(capsules.pieces(sqlite_engine, study.slug))
    path.write_bytes(whole)
    assert program.main(["data", "verify", "--against", str(path)]) == 0

    path.write_bytes(edited(whole, name, change))

    assert program.main(["data", "verify", "--against", str(path)]) == 2
    assert f"was changed after it was made: {name} differs from the file's own list" in capsys.readouterr().err


def fake_value(rows: str) -> str:
    return re.sub(r"(,mean,)[^,]+", r"\g<1>0.97", rows, count=1)


def fake_row_before(rows: str) -> str:
    return re.sub(r"([^\r\n]+,mean,)[^\r]+\r\n", r"\g<1>1.0,number,1.00\r\n\g<0>", rows, count=1)


def fake_column_before(rows: str) -> str:
    return re.sub("(?m)^", "1.00,", rows).replace("1.00,", "printed,", 1).removesuffix("1.00,")


FAKES = [
    (fake_value, "the report says .* and 0.97"),
    (fake_row_before, "is in the report 2 times"),
    (fake_column_before, "has other columns"),
]


@pytest.mark.parametrize(("fake", "sentence"), FAKES)
def test_a_reports_script_names_a_faked_result(reported: Reported, tmp_path: Path, monkeypatch, fake, sentence):
    """It compared only the printed number, and of two rows or columns for one number the last."""
    report = reported.report
    assert again(report, tmp_path / "report", monkeypatch) == []
    rows = fake(report.files["results.csv"].decode())

    wrong = again(replace(report, files={**report.files, "results.csv": rows.encode()}), tmp_path / "fake", monkeypatch)

    assert re.search(sentence, "\n".join(wrong))


def test_a_backup_is_compared_without_a_write(sqlite_engine, study, tmp_path: Path, capsys):
    """It may be on a network disk or one that is read-only, where the program opens no database of its own."""
    kept = tmp_path / "kept" / "backup.db"
    kept.parent.mkdir()
    kept.write_bytes(backup.make(sqlite_engine).path.read_bytes())
    before = kept.read_bytes()

    assert program.main(["data", "verify", "--against", str(kept)]) == 0

    assert [path.name for path in kept.parent.iterdir()] == ["backup.db"]
    assert kept.read_bytes() == before
    kept.write_bytes(b"SQLite format 3\0 and no more")
    assert program.main(["data", "verify", "--against", str(kept)]) == 2
    assert "It does not contain a last event" in capsys.readouterr().err


def test_an_edited_backup_is_not_restored(sqlite_engine, study):
    path = backup.make(sqlite_engine).path
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE study SET title = 'Another'")

    with pytest.raises(backup.BackupFailed, match="was changed after it was made"):
        backup.restore(sqlite_engine, path, "somebody", alone=True)


@pytest.mark.parametrize(
    "rule",
    ["RULE better AS ON INSERT TO rating DO INSTEAD NOTHING", "POLICY own ON rating USING (number > 3)"],
)
def test_verify_names_a_rule_and_a_policy_of_postgres(postgres_engine, make_study, rule):
    with writing(postgres_engine) as session:
        made, *_ = make_study(session)
        session.execute(text(f"CREATE {rule}"))

    assert "which this program never creates" in differences(postgres_engine, made)


def test_verify_says_which_database_it_checked(sqlite_engine, study, capsys):
    """The environment may lead the command to another one than the server."""
    assert program.main(["data", "verify"]) == 0
    assert f"Checked: {sqlite_engine.url!r}." in capsys.readouterr().out
