"""The doctor reports what is wrong, and changes nothing."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections import namedtuple
from pathlib import Path

import pytest
from helpers.studies import ROOT
from sqlalchemy import make_url, text

from triptych.cli import main as program
from triptych.operations import doctor
from triptych.operations.lasting import FAILED, SCHEDULE
from triptych.storage import host, schema
from triptych.storage.database import writing
from triptych.storage.models import Setting


def code_and_output(capsys) -> tuple[int, str]:
    code = program.main(["server", "doctor"])
    return code, capsys.readouterr().out


def test_a_fresh_installation_is_fine_and_stays_untouched(tmp_path, capsys):
    code, out = code_and_output(capsys)

    assert code == 0, out
    assert "none yet; created at the first start" in out
    assert "No problem found." in out
    assert list(tmp_path.iterdir()) == []


def test_a_working_database_is_reported_with_its_version(sqlite_engine, capsys):
    code, out = code_and_output(capsys)

    assert code == 0, out
    assert "SQLite" in out
    assert f"tables: version {schema.HEAD}" in out


@pytest.mark.parametrize(("schedule", "says"), [('{"every_hours": 24}', "failed. Disk full."), ("{", "cannot be read")])
def test_scheduled_backups_that_fail_are_a_problem(sqlite_engine, capsys, schedule, says):
    with writing(sqlite_engine) as session:
        session.add_all([Setting(key=SCHEDULE, value=schedule), Setting(key=FAILED, value="Disk full.")])
    code, out = code_and_output(capsys)

    assert code == 1
    assert says in next(line for line in out.splitlines() if line.startswith("PROBLEM backups: "))


def test_tables_of_another_version_are_named_with_the_remedy(sqlite_engine, capsys):
    with writing(sqlite_engine) as session:
        session.execute(text("UPDATE alembic_version SET version_num = '0000'"))
    code, out = code_and_output(capsys)

    assert code == 1
    assert "python -m triptych data migrate" in out
    assert "1 problem found." in out


def test_an_empty_database_gets_its_tables_at_the_start(tmp_path, capsys):
    (tmp_path / "triptych.db").touch(0o600)
    code, out = code_and_output(capsys)

    assert code == 0, out
    assert "tables: none yet; the app creates them at start, or run: .venv/bin/python -m triptych data migrate" in out


def test_a_damaged_page_is_named(sqlite_engine, tmp_path, capsys):
    with sqlite_engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    sqlite_engine.dispose()
    path = tmp_path / "triptych.db"
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2] + bytes(4096) + content[len(content) // 2 + 4096 :])
    code, out = code_and_output(capsys)

    assert code == 1
    assert "the file is damaged (" in out
    assert "Restore a backup." in out


def test_a_damaged_file_is_named(tmp_path, capsys):
    (tmp_path / "triptych.db").write_bytes(b"no database at all" * 100)
    code, out = code_and_output(capsys)

    assert code == 1
    assert "PROBLEM database" in out


def test_a_missing_package_is_named_with_its_install_command(tmp_path):
    (tmp_path / "requirements.txt").write_text("no-such-package==1.0\npytest==0.0.1\n")
    missing, other = doctor.packages(tmp_path / "requirements.txt")

    assert missing.problem
    assert "no-such-package is not installed" in missing.text
    assert "pytest is " in other.text
    assert "0.0.1 was tested" in other.text


def test_postgresql_without_its_driver_is_a_problem(tmp_path, monkeypatch):
    (tmp_path / "requirements.txt").write_text("")
    monkeypatch.setenv("TRIPTYCH_DATABASE_URL", "postgresql://x")

    def absent(name: str) -> str:
        raise doctor.importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(doctor.importlib.metadata, "version", absent)

    assert "psycopg[binary]" in next(doctor.packages(tmp_path / "requirements.txt")).text


def test_an_installation_is_mended_where_it_is(monkeypatch):
    monkeypatch.setattr(doctor, "is_installed", lambda: True)
    sentence = doctor.explain_missing(ModuleNotFoundError(name="sqlmodel"))
    assert f"{sys.executable} -m pip install -r {ROOT / 'requirements.txt'}" in sentence


def test_without_the_packages_every_command_says_what_to_install():
    ended = subprocess.run(
        [sys.executable, "-S", "-m", "triptych", "server", "doctor"], cwd=ROOT, capture_output=True, text=True, env={}
    )

    assert ended.returncode == 1
    assert "is not installed for" in ended.stderr
    assert "pip install -r requirements.txt" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_doctor_itself_needs_no_package_to_be_loaded():
    without_packages = [sys.executable, "-S", "-c", "import triptych.operations.doctor"]
    assert subprocess.run(without_packages, cwd=ROOT, env={}).returncode == 0


def test_an_unreachable_database_is_named_without_its_password(monkeypatch, capsys):
    monkeypatch.setenv("TRIPTYCH_DATABASE_URL", "postgresql://me:geheim@127.0.0.1:1/nothing")
    monkeypatch.setenv("TRIPTYCH_SECRET", "v8Kq2LmZx7Wc4RtYb9NpJd3HsGf6QaUe1ToXiVk5")
    code, out = code_and_output(capsys)

    assert code == 1
    assert "The database does not respond" in out
    assert "geheim" not in out


def test_an_empty_postgresql_without_create_rights_is_a_problem(postgres, postgres_admin, monkeypatch, capsys):
    postgres_admin.execute(text("CREATE ROLE makes_nothing LOGIN"))
    postgres_admin.execute(text("CREATE DATABASE bare"))
    url = make_url(postgres).set(username="makes_nothing", database="bare")
    monkeypatch.setenv("TRIPTYCH_DATABASE_URL", url.render_as_string(hide_password=False))
    monkeypatch.setenv("TRIPTYCH_SECRET", "v8Kq2LmZx7Wc4RtYb9NpJd3HsGf6QaUe1ToXiVk5")
    code, out = code_and_output(capsys)

    assert code == 1
    assert "this role may not create them. Run as the owner: .venv/bin/python -m triptych data migrate" in out


def test_a_role_without_rights_is_a_problem(postgres_engine, postgres_admin, monkeypatch, capsys):
    role = f"reader{uuid.uuid4().hex}"
    postgres_admin.execute(text(f"CREATE ROLE {role} LOGIN"))
    with writing(postgres_engine) as session:
        session.execute(text(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}"))
    url = postgres_engine.url.set(username=role)
    monkeypatch.setenv("TRIPTYCH_DATABASE_URL", url.render_as_string(hide_password=False))
    monkeypatch.setenv("TRIPTYCH_SECRET", "v8Kq2LmZx7Wc4RtYb9NpJd3HsGf6QaUe1ToXiVk5")
    code, out = code_and_output(capsys)

    assert code == 1
    assert "this role may not write. Run rights.sql of docs/deploy/ as the owner." in out


@pytest.mark.parametrize(
    "address, sentence",
    [
        ("postgresql:nonsense", "not the address of a database"),
        ("/srv/triptych.db\n", "not the address of a database"),
        ("mysql://lab/x", "mysql:// is not one"),
    ],
)
def test_a_wrong_address_is_named(monkeypatch, capsys, address, sentence):
    monkeypatch.setenv("TRIPTYCH_DATABASE_URL", address)
    monkeypatch.setenv("TRIPTYCH_SECRET", "v8Kq2LmZx7Wc4RtYb9NpJd3HsGf6QaUe1ToXiVk5")

    assert sentence in code_and_output(capsys)[1]


def test_a_working_postgresql_is_reported(postgres_engine, monkeypatch, capsys):
    monkeypatch.setenv("TRIPTYCH_DATABASE_URL", postgres_engine.url.render_as_string(hide_password=False))
    monkeypatch.setenv("TRIPTYCH_SECRET", "v8Kq2LmZx7Wc4RtYb9NpJd3HsGf6QaUe1ToXiVk5")
    code, out = code_and_output(capsys)

    assert code == 0, out
    assert "PostgreSQL" in out
    assert "one app process uses up to 30" in out


def test_weak_or_missing_secrets_on_postgresql_are_a_problem(monkeypatch):
    monkeypatch.setenv("TRIPTYCH_DATABASE_URL", "postgresql://me@127.0.0.1:1/nothing")
    monkeypatch.delenv("TRIPTYCH_SECRET", raising=False)

    assert [finding.problem for finding in doctor.secrets()] == [True]


def test_a_secret_that_others_can_read_is_a_problem(tmp_path, capsys):
    (tmp_path / "cookie.secret").write_text("x")
    (tmp_path / "cookie.secret").chmod(0o644)

    assert "chmod 600" in code_and_output(capsys)[1]


def test_a_folder_on_a_network_is_a_problem(monkeypatch, capsys):
    monkeypatch.setattr(host, "file_system", lambda place: "nfs4")

    assert "network file system" in code_and_output(capsys)[1]


def test_a_folder_that_cannot_be_made_is_a_problem(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRIPTYCH_HOME", str(tmp_path / "file" / "below"))

    assert "cannot be read and written: Not a directory" in code_and_output(capsys)[1]


def test_in_another_folder_it_names_the_programs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert [finding.text for finding in doctor.files()] == [
        f"complete; start the app in {doctor.ROOT}, where its settings are"
    ]


def test_lost_files_are_problems(monkeypatch):
    monkeypatch.setattr(doctor, "ROOT", Path("/nowhere"))

    assert "app.py" in next(iter(doctor.files())).text


@pytest.mark.parametrize("free", [10, 2**40])
def test_room_on_the_disk(free, tmp_path, monkeypatch):
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda place: namedtuple("usage", "free")(free))

    assert doctor.disk(tmp_path).problem is (free == 10)


@pytest.mark.parametrize(
    ("text", "problem", "sentence"),
    [
        ("", False, "off; set TRIPTYCH_MAIL to use a mail server"),
        ("smtp://me:hidden@lab.test?from=a@b.example", False, "messages to leads go to lab.test, port 587"),
        ("lab.test:hidden", True, "TRIPTYCH_MAIL cannot be read"),
    ],
)
def test_the_mail_setting_is_checked_without_its_password(monkeypatch, text, problem, sentence):
    monkeypatch.setenv("TRIPTYCH_MAIL", text)
    finding = doctor.mail()
    assert (finding.problem, sentence in finding.text) == (problem, True)
    assert "hidden" not in finding.text
