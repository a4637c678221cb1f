"""Backups while people write hold all that was acknowledged before; a restore is whole, checked and in the log."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import threading
from collections.abc import Callable
from contextlib import ExitStack, closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from helpers.ratings import submit
from helpers.studies import add_person, full_answers, sure
from sqlalchemy import select

from triptych import clock
from triptych.errors import NotAllowed, NotFound
from triptych.operations import backup, verify
from triptych.operations.backup import BackupFailed
from triptych.people import accounts, roster
from triptych.results import texts
from triptych.results.frame.upkeep import build_frame, frame_of
from triptych.results.looking import log_look
from triptych.storage import database, events, sqlite_files
from triptych.storage.database import POSTGRES_POOL, reading, writing
from triptych.storage.events import EventKind
from triptych.storage.models import Event, Membership, Person, Role, Setting, Study
from triptych.storage.unavailable import explained
from triptych.study import lifecycle
from triptych.study.persons import Who
from triptych.web.session import web_engine

WRITERS = 16
LIMIT_SECONDS = 120.0  # of a wait, on a busy machine


def settings_in(path) -> set[str]:
    with sqlite3.connect(path) as stored:
        keys = {key for (key,) in stored.execute("SELECT key FROM setting")}
    stored.close()
    return keys


def test_a_backup_under_load_holds_everything_acknowledged_before(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, _ = make_study(session)
    acknowledged, stop, all_wrote = [], threading.Event(), threading.Barrier(WRITERS + 1)

    def write(writer: int) -> None:
        for number in range(10_000):
            with writing(sqlite_engine) as session:
                session.add(Setting(key=f"{writer}-{number}", value="x" * 500))
                events.record(session, study.id, EventKind.link_issued, f"P-{writer}", new={"number": number})
            acknowledged.append(f"{writer}-{number}")
            if number == 1:
                all_wrote.wait(LIMIT_SECONDS)
            if stop.is_set():
                return

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(WRITERS)]
    for thread in threads:
        thread.start()
    all_wrote.wait(LIMIT_SECONDS)
    before = set(acknowledged)
    made = backup.make(sqlite_engine)
    stop.set()
    for thread in threads:
        thread.join(LIMIT_SECONDS)
    assert not any(thread.is_alive() for thread in threads)

    held = settings_in(made.path)
    assert len(before) >= 2 * WRITERS
    assert before <= held
    assert len(acknowledged) > len(before)
    copy = database.open_engine(f"sqlite:///{made.path}")
    with reading(copy) as session:
        assert verify.verify(session, session.scalars(select(Study)).one()).holds
        assert made.heads == backup.heads_of(session)
    copy.dispose()


@pytest.fixture
def lab(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, lead, people = make_study(session)
        submit(session, study, people[0], full_answers(fluency=3))
    return study, lead, people


def test_a_backup_names_last_events_for_its_owner_only(sqlite_engine, lab):
    made = backup.make(sqlite_engine)

    with reading(sqlite_engine) as session:
        study = session.scalars(select(Study)).one()
    assert [(head.number, head.hash) for head in made.heads] == [(study.event_number, study.event_hash)]
    assert backup.listed() == [made]
    assert made.path.stat().st_mode & 0o077 == 0
    assert sorted(path.name for path in backup.folder().iterdir()) == [made.name, f"{made.name}.json"]


def test_a_backup_is_on_the_disk_before_its_name(sqlite_engine, lab, monkeypatch):
    """After a power failure the file next to it could be empty, and the backup counted as edited."""
    lasting, renamed = set[int](), Path.rename

    def wait(file: int) -> None:
        lasting.add(os.fstat(file).st_ino)

    def rename(part: Path, target: Path) -> Path:
        if target.suffix == ".db":
            assert {part.stat().st_ino, target.with_name(f"{target.name}.json").stat().st_ino} <= lasting
        return renamed(part, target)

    monkeypatch.setattr(os, "fsync", wait)
    monkeypatch.setattr(Path, "rename", rename)

    assert backup.make(sqlite_engine).path.exists()


def test_restoring_keeps_the_replaced_state_and_logs_it(sqlite_engine, lab):
    study, lead, people = lab
    made = backup.make(sqlite_engine)
    with writing(sqlite_engine) as session:
        submit(session, study, people[1], full_answers(fluency=1))
        assert len(frame_of(session, study).work) == 2
        events.record(session, study.id, EventKind.person_erased, lead.pseudonym, subject=people[0].pseudonym)
        events.record(session, study.id, EventKind.withdrew, people[1].pseudonym, subject=people[1].pseudonym)

    done = backup.restore_as(sqlite_engine, made.name, sure(lead))

    with reading(sqlite_engine) as session:
        assert len(frame_of(session, session.get_one(Study, study.id)).work) == 1
        last = events.since(session, study.id, 0)[-1]
        assert (last.kind, last.actor) == ("restored from a backup", lead.pseudonym)
        assert verify.verify(session, session.get_one(Study, study.id)).holds
        assert done.heads == backup.heads_of(session)
    assert done.again == (people[0].pseudonym, people[1].pseudonym)
    copy = database.open_engine(f"sqlite:///{done.before}")
    with reading(copy) as session:
        assert len(build_frame(session, session.scalars(select(Study)).one()).work) == 2
    copy.dispose()
    with writing(sqlite_engine) as session:
        submit(session, session.get_one(Study, study.id), people[1])


def collected(engine, slug: str) -> tuple[datetime | None, frozenset[tuple[str, str]], list[str], bool]:
    """When the study was unblinded, who looked, its last kinds of events, and whether its rows match its log."""
    with reading(engine) as session:
        study = lifecycle.by_slug(session, slug)
        looks = build_frame(session, study).planned
        kinds = [event.kind for event in events.since(session, study.id, 0)][-3:]
        return study.unblinded_at, looks.looks - looks.complete, kinds, verify.verify(session, study).holds


@pytest.mark.long
def test_a_restore_forgets_no_look_and_no_unblinding(sqlite_engine, lab):
    """A lead read interim results and names, restored, and collected on, with a report of a blind study."""
    study, lead, people = lab
    made = backup.make(sqlite_engine)
    with writing(sqlite_engine) as session:
        viewer = add_person(session, "viewer", Role.viewer).pseudonym
        submit(session, study, people[1], full_answers(fluency=1))
        log_look(session, study, filled=999, planned=999, actor=viewer)
        lifecycle.unblind(session, session.get_one(Study, study.id), sure(lead))
    unblinded_at, *_ = collected(sqlite_engine, study.slug)

    backup.restore_as(sqlite_engine, made.name, sure(lead))

    restored_at, looks, kinds, holds = collected(sqlite_engine, study.slug)
    assert restored_at == unblinded_at
    assert {actor for _, actor in looks} == {viewer}
    assert (kinds, holds) == (["results opened", "unblinded", "restored from a backup"], True)
    backup.restore_as(sqlite_engine, made.name, sure(lead))
    assert collected(sqlite_engine, study.slug) == (restored_at, looks, [*kinds[1:], "restored from a backup"], True)


@pytest.mark.long
def test_two_restores_forget_no_look_and_no_unblinding(sqlite_engine, make_study):
    """The first one restored a backup from before the study, by a lead who was removed since."""
    too_early = backup.make(sqlite_engine)
    with writing(sqlite_engine) as session:
        study, lead, _ = make_study(session)
        second = add_person(session, "second", Role.lead)
        roster.enrol_lead(session, study, session.get_one(Person, second.person_id), lead.pseudonym)
    right = backup.make(sqlite_engine)
    with writing(sqlite_engine) as session:
        log_look(session, study, filled=0, planned=9, actor=second.pseudonym)
        lifecycle.unblind(session, session.get_one(Study, study.id), sure(second))
        roster.remove_lead(session, study, second.pseudonym, sure(lead))
    unblinded_at, looks, *_ = collected(sqlite_engine, study.slug)

    for made in (too_early, right, right):
        backup.restore(sqlite_engine, made.path, "command line")

    assert collected(sqlite_engine, study.slug)[:2] == (unblinded_at, looks)
    assert collected(sqlite_engine, study.slug)[-1]


def test_a_backup_with_another_page_size_is_restored(sqlite_engine, lab, tmp_path):
    study, lead, people = lab
    laid_out = Path(shutil.copy2(backup.make(sqlite_engine).path, tmp_path / "laid-out.db"))
    with closing(sqlite3.connect(laid_out)) as file:
        file.execute("PRAGMA journal_mode=delete")  # in which alone the size of pages changes
        file.execute("PRAGMA page_size=8192")
        file.execute("VACUUM")
        assert file.execute("PRAGMA page_size").fetchone() == (8192,)
    with writing(sqlite_engine) as session:
        submit(session, study, people[1])

    backup.restore(sqlite_engine, laid_out, lead.pseudonym)

    with reading(sqlite_engine) as session:
        assert len(frame_of(session, session.get_one(Study, study.id)).work) == 1


def test_texts_are_counted_again_after_a_restore(sqlite_engine, lab):
    """Lengths were those of items that a restore had removed."""
    study, lead, _ = lab
    made = backup.make(sqlite_engine)
    with reading(sqlite_engine) as session:
        before = texts.texts_of(session, session.get_one(Study, study.id))

    backup.restore_as(sqlite_engine, made.name, sure(lead))

    with reading(sqlite_engine) as session:
        assert texts.texts_of(session, session.get_one(Study, study.id)) is not before


def test_readers_and_writers_go_on_through_a_restore(sqlite_engine, lab):
    study, lead, _ = lab
    made = backup.make(sqlite_engine)
    with reading(sqlite_engine) as looking:
        seen = looking.scalars(select(Event.number)).all()
        backup.restore(sqlite_engine, made.path, lead.pseudonym)
        assert looking.scalars(select(Event.number)).all() == seen
    with writing(sqlite_engine) as session:
        events.record(session, study.id, EventKind.link_issued, "P-1")


def test_only_a_sole_lead_restores_a_backup_from_the_page(sqlite_engine, lab, make_study):
    _, lead, people = lab
    made = backup.make(sqlite_engine)
    with writing(sqlite_engine) as session:
        assert backup.may_restore(session, lead)
        assert not backup.may_restore(session, people[0])
        other = add_person(session, "other lead", Role.lead)
        assert not backup.may_restore(session, other)
    with pytest.raises(NotAllowed, match="studies that you do not lead"):
        backup.restore_as(sqlite_engine, made.name, sure(other))


def test_a_lead_restores_a_backup_from_before_they_led(sqlite_engine, lab):
    study, lead, _ = lab
    with writing(sqlite_engine) as session:
        later = accounts.create_lead(session, "Later", "correct horse battery")
    made = backup.make(sqlite_engine)
    with writing(sqlite_engine) as session:
        session.add(Membership(study_id=study.id, person_id=later.id, role=Role.lead, joined_at=clock.now()))
        session.flush()
        who = Who(later.id, later.pseudonym, Role.lead, later.name, 0)
        assert backup.may_restore(session, who)

    backup.restore_as(sqlite_engine, made.name, sure(who))

    with reading(sqlite_engine) as session:
        assert events.since(session, study.id, 0)[-1].actor == later.pseudonym


def damaged(path):
    path.write_bytes(b"no database at all" * 500)


def without_tables(path):
    sqlite3.connect(path).close()


def newer(path):
    with sqlite3.connect(path) as stored:
        stored.execute("UPDATE alembic_version SET version_num = '9999'")
    stored.close()


def not_in_utf8(path):
    with sqlite3.connect(path) as stored:
        stored.execute("PRAGMA writable_schema = 1")
        stored.execute("UPDATE sqlite_master SET name = CAST(x'88' AS TEXT), sql = 'CREATE' WHERE name = 'rating'")
    stored.close()


def cut(path):
    with sqlite3.connect(path) as stored:
        stored.execute("DELETE FROM event WHERE number = (SELECT max(number) FROM event)")
    stored.close()


@pytest.mark.parametrize(
    "spoil, message",
    [
        (damaged, "not a database"),
        (without_tables, "is not a Triptych database"),
        (newer, "newer version"),
        (not_in_utf8, "malformed database schema"),
        (cut, "are missing"),
    ],
)
def test_a_file_that_is_no_good_backup_restores_nothing(sqlite_engine, lab, tmp_path, spoil, message):
    bad = tmp_path / "bad.db"
    if spoil is not without_tables:
        shutil.copy(backup.make(sqlite_engine).path, bad)
    spoil(bad)
    with reading(sqlite_engine) as session:
        before = backup.heads_of(session)

    with pytest.raises(BackupFailed, match=message):
        backup.restore(sqlite_engine, bad, "P-lead")

    with reading(sqlite_engine) as session:
        assert backup.heads_of(session) == before
    assert not [path for path in backup.folder().iterdir() if path.name.startswith(".")]


def changed_to(**values: Any) -> Callable[[Path], None]:
    """Writes values into the file beside the backup, in place of the first values of these names."""

    def change(path: Path) -> None:
        beside = path.with_name(f"{path.name}.json")
        text = beside.read_text()
        for name, value in values.items():
            before, _, after = text.partition(f'"{name}": ')
            text = f'{before}"{name}": {value}{re.sub(r"""^("[^"]*"|[0-9]+)""", "", after)}'
        beside.write_text(text)

    return change


def linked(target: str) -> Callable[[Path], None]:
    return lambda path: path.with_name("linked.db").symlink_to(target)


def a_folder(path: Path) -> None:
    path.with_name("folder.db").mkdir()


def odd_name(path: Path) -> None:
    path.with_name("x\udcff.db").write_bytes(b"x")


@pytest.mark.long
@pytest.mark.parametrize(
    "spoil",
    [
        linked("absent.db"),
        linked("linked.db"),
        a_folder,
        odd_name,
        changed_to(made_at='"2025-01-01T00:00:00"'),
        changed_to(made_at='"9999-12-31T23:59:59-23:59"'),
        changed_to(slug='["x"]'),
        changed_to(slug='"\\ud800"'),
        changed_to(number="1e999"),
        changed_to(hash="null"),
    ],
    ids=["nowhere", "circle", "folder", "name", "no zone", "far", "list", "half a letter", "number", "no hash"],
)
def test_an_odd_file_among_backups_hides_none(visit, lab, spoil):
    study, lead, *_ = lab
    made = [backup.make(web_engine()) for _ in range(2)]
    spoil(made[1].path)

    assert {stored.name for stored in backup.listed()} == {stored.name for stored in made}
    assert not visit(lead, "backups.py", study=study.slug).exception


def test_a_damaged_database_is_kept_and_replaced(sqlite_engine, lab, tmp_path):
    made = backup.make(sqlite_engine)
    sqlite_engine.dispose()
    damaged(tmp_path / "triptych.db")
    with pytest.raises(BackupFailed):
        backup.restore(sqlite_engine, made.path, "command line")

    done = backup.restore(sqlite_engine, made.path, "command line", alone=True)

    assert done.before.name.startswith("damaged-")
    with backup.opened(tmp_path / "triptych.db") as replaced, reading(replaced) as session:
        assert session.scalars(select(Study.slug)).one() == done.heads[0].slug


def test_a_value_beyond_its_check_is_damage_that_is_replaced(sqlite_engine, lab):
    """SQLite's check finds it only in a copy: neither a backup nor a restore was possible."""
    study, lead, _ = lab
    made = backup.make(sqlite_engine)
    with writing(sqlite_engine) as session:
        session.get_one(Person, lead.person_id).disabled_at = clock.now()
    with sqlite_engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA ignore_check_constraints=1")
        connection.exec_driver_sql("UPDATE study SET state = 'odd'")
        connection.commit()
    sqlite_engine.dispose()
    with pytest.raises(BackupFailed, match="CHECK constraint failed in study"):
        backup.restore(sqlite_engine, made.path, "command line")

    done = backup.restore(sqlite_engine, made.path, "command line", alone=True)

    assert done.before.name.startswith("damaged-") and not done.is_access_unread
    with reading(sqlite_engine) as session:
        assert session.scalars(select(Study.state)).one() == study.state
        assert session.get_one(Person, lead.person_id).disabled_at


def test_a_backup_that_fails_has_no_words_for_annotators(sqlite_engine, lab, monkeypatch):
    """A command told its user to leave this page open, and asked for the password of SQLite."""
    failed = sqlite3.OperationalError("disk I/O error")
    failed.sqlite_errorcode = sqlite3.SQLITE_IOERR

    def fail(*_: object) -> None:
        with explained():
            raise failed

    monkeypatch.setattr(sqlite_files, "copy_sqlite", fail)

    with pytest.raises(BackupFailed) as told:
        backup.make(sqlite_engine)

    reason = "SQLite cannot use the file. Is its disk full or read-only? (disk I/O error)."
    assert str(told.value) == f"No backup was made: {reason}"


def test_a_full_disk_leaves_no_half_backup(sqlite_engine, lab, monkeypatch):
    monkeypatch.setattr(sqlite_files, "copy_sqlite", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))

    with pytest.raises(BackupFailed, match="No backup was made: No space left"):
        backup.make(sqlite_engine)

    assert backup.listed() == []


def test_an_unknown_backup_is_named(sqlite_engine):
    with pytest.raises(NotFound, match=r"There is no backup called '\.\./triptych\.db'\."):
        backup.find("../triptych.db")


def test_postgresql_is_dumped_at_the_state_of_its_events(postgres_engine, make_study):
    if shutil.which("pg_dump") is None:
        pytest.skip("pg_dump is not installed on this machine.")
    with writing(postgres_engine) as session:
        make_study(session, annotators=0)
    made = backup.make(postgres_engine)

    beside = json.loads(made.path.with_name(f"{made.name}.json").read_text())
    listing = subprocess.run(["pg_restore", "--list", str(made.path)], capture_output=True, text=True, check=True)
    assert "TABLE DATA public rating" in listing.stdout
    assert beside["studies"][0]["number"] == made.heads[0].number == 2
    with pytest.raises(BackupFailed, match="pg_restore"):
        backup.restore(postgres_engine, made.path, "P-lead")


@pytest.mark.skipif(shutil.which("pg_dump") is None, reason="pg_dump is not installed")
def test_a_dump_holds_letters_that_an_encoding_lacks(postgres_engine, monkeypatch):
    """The app worked with such a role or environment, while each of its backups failed."""
    with writing(postgres_engine) as session:
        session.add(Setting(key="name", value="日本語"))
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")

    assert backup.make(postgres_engine).path.read_bytes()[:5] == b"PGDMP"


def test_pg_dump_connects_as_the_app_does(postgres_engine, monkeypatch, tmp_path):
    """Without the address's parameters it went on without TLS if somebody on the way refused that."""
    program = tmp_path / "pg_dump"
    program.write_text(
        '#!/bin/sh\nfor word in "$@" "password $PGPASSWORD"; do echo "$word"; done > "${3#--file=}"\n'
        'echo $(stat -c %a "$PGSERVICEFILE") $(cat "$PGSERVICEFILE") >> "${3#--file=}"\n'
    )
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    url = postgres_engine.url.set(password="quite secret").update_query_dict(
        {"sslmode": "allow", "sslrootcert": "/lab/ca.crt", "options": "-c jit=off", "sslpassword": "key's secret"}
    )
    engine = database.open_engine(url.render_as_string(hide_password=False))
    try:
        words = backup.make(engine).path.read_text().splitlines()
    finally:
        engine.dispose()

    place = next(word for word in words if word.startswith("--dbname="))
    stated = {"sslmode=allow", "sslrootcert=/lab/ca.crt", f"dbname={url.database}", "service=backup"}
    assert stated <= set(place[9:].split())
    assert "options='-c jit=off'" in place
    assert words[-2:] == ["password quite secret", "600 [backup] sslpassword=key's secret"]
    assert "secret" not in " ".join(words[:-2])
    assert not list(backup.folder().glob("**/.working-*"))


def test_a_dump_that_fails_says_why_and_leaves_nothing(postgres_engine, monkeypatch, tmp_path):
    script = "#!/bin/sh\nprintf 'server version mismatch: \\344\\ndetail\\n' >&2\nexit 1\n"
    (tmp_path / "pg_dump").write_text(script)  # with a letter in Latin-1
    (tmp_path / "pg_dump").chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(BackupFailed, match=r"^No backup was made\. pg_dump says: server version mismatch: \ufffd$"):
        backup.make(postgres_engine)
    assert backup.listed() == []


def test_a_backup_without_a_free_connection_fails_in_words(postgres_engine, monkeypatch):
    """Where all were in use, a schedule's failure was on no page."""
    monkeypatch.setattr(postgres_engine.pool, "_timeout", 0.1)
    monkeypatch.setattr(postgres_engine.pool, "_max_overflow", 0)
    with ExitStack() as held, pytest.raises(BackupFailed, match="No backup was made: .*does not respond"):
        for _ in range(POSTGRES_POOL):
            held.enter_context(postgres_engine.connect())
        backup.make(postgres_engine)


def test_without_pg_dump_a_sentence_says_what_to_do(postgres_engine, monkeypatch):
    monkeypatch.setattr(os, "environ", os.environ | {"PATH": ""})
    with pytest.raises(BackupFailed, match="pg_dump is not installed"):
        backup.make(postgres_engine)
