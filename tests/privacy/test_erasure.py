"""Erasing a person leaves no byte of their data, the log holds, and earlier copies are listed."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest
from helpers.database_files import files_of
from helpers.ratings import same, submit
from helpers.studies import add_person, full_answers, join, sure
from sqlalchemy import create_engine, delete, func, select, text

from bench.server import running_app
from triptych import clock
from triptych.annotate import assignments, exclusions
from triptych.errors import Conflict, NotAllowed, NotFound
from triptych.operations import backup as backups
from triptych.operations import verify
from triptych.people import accounts, joining, links, logins, panels, roster, signing_in, viewers
from triptych.privacy import erasure, personal_data, withdrawal
from triptych.results.frame.upkeep import build_frame, frame_of
from triptych.storage import database, events, sqlite_files, wiping
from triptych.storage.events import EventKind
from triptych.storage.models import (
    Assignment,
    EntryAttempt,
    Event,
    EventDetail,
    Explanation,
    Login,
    Membership,
    PanelIdentity,
    Person,
    Rating,
    Role,
    Snapshot,
    Study,
    TestAnswer,
)
from triptych.storage.wiping import Wiped
from triptych.study import annotator_groups, design, duplicate
from triptych.study.persons import Certainty, Who
from triptych.study.settings import settings_of

NAME, EMAIL, PANEL = "Wilhelmina Zauberberg", "wilhelmina@zauberberg.example", "5f1c0ffee5f1c0ffee"
WORDS, COMMENT, NOTE = "rude qwxplain", "marked zwcomment", "note vkwritten"
DRAFT, ABOUT, GROUP = "draft jjdrafted", "why pqexcluded", "xyexperts"
TRACES = [NAME, "zauberberg", PANEL, *(words.split()[1] for words in (WORDS, COMMENT, NOTE, DRAFT, ABOUT))]


def traced_answers(words: str = WORDS, comment: str = COMMENT, note: str = NOTE) -> dict:
    answers = full_answers(verdict="reject")
    explained = {letter: {"verdict": {"reject": {"reasons": ["rude"], "text": ""}}} for letter in "BC"}
    answers["explanations"] = {"A": {"verdict": {"reject": {"reasons": ["rude"], "text": words}}}, **explained}
    answers["highlights"] = [{"slot": "A", "turn": None, "start": 0, "end": 6, "label": "good", "comment": comment}]
    answers["note"] = note
    return answers


@pytest.fixture
def full(engine, make_study):
    """(study, lead, annotator): the annotator left traces in every table that can hold some."""
    with database.writing(engine) as session:
        study, lead, (ben, _) = make_study(session, items=3)
        person, _ = joining.join_open_study(session, study, NAME)
        person.email = EMAIL
        session.add(PanelIdentity(person_id=person.id, panel="prolific", external_id=PANEL))
        logins.use_ticket(session, logins.issue_sign_in_ticket(session, person))
        links.issue_link(session, study, person.id)
        annotator = Who(person.id, person.pseudonym, person.role, person.name, 0)
        submit(session, study, annotator, traced_answers())
        work = assignments.current(session, study, annotator)
        session.get_one(Assignment, work.id).draft = {"note": DRAFT}
        submit(session, study, ben, traced_answers("wrong quite ownwords", "ownmark", ""))
    with database.writing(engine) as session:
        exclusions.exclude(session, study, annotator.pseudonym, ABOUT, lead.pseudonym)
    return study, lead, annotator


@pytest.mark.long
def test_erasure_leaves_no_byte_of_the_person_and_others_texts(engine, full):
    study, lead, annotator = full
    before = files_of(engine)
    assert all(trace.encode() in before for trace in TRACES)
    with database.reading(engine) as session:
        frame_of(session, study)

    with database.writing(engine) as session:
        erasure.erase(session, study, annotator.pseudonym, sure(lead))
    assert erasure.wipe(engine) == Wiped.done

    after = files_of(engine)
    assert [trace for trace in TRACES if trace.encode() in after] == []
    assert b"ownwords" in after
    assert b"ownmark" in after
    with database.reading(engine) as session:
        assert events.first_broken(session, study.id) is None
        assert same(frame_of(session, study), build_frame(session, study))
        person = session.get_one(Person, annotator.person_id)
        assert (person.name, person.email, person.passcode_hash) == (None, None, None)
        assert session.scalars(select(Login).where(Login.person_id == annotator.person_id)).all() == []
        own_ratings = select(Rating).join(Assignment, Assignment.id == Rating.assignment_id)
        assert len(session.scalars(own_ratings.where(Assignment.person_id == annotator.person_id)).all()) == 6
        explanations = session.scalars(select(Explanation)).all()
        assert {tuple(explanation.reasons) for explanation in explanations} == {("rude",)}
        assert sorted(explanation.text for explanation in explanations) == [*[""] * 5, "wrong quite ownwords"]
        assert roster.is_erased(session, study, annotator.pseudonym)


SAMPLES = "SELECT concat(array_agg(s ORDER BY tablename)) FROM pg_stats AS s WHERE schemaname = 'public'"


@pytest.mark.long
@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_samples_of_postgres_keep_nothing_of_the_erased(engine, full):
    """Autovacuum has them taken of each column, for the planner of queries."""
    study, lead, annotator = full
    with engine.begin() as connection:
        connection.execute(text("ANALYZE"))
        sampled = connection.execute(text(SAMPLES)).scalar()
    assert NAME in sampled
    assert COMMENT in sampled

    with database.writing(engine) as session:
        erasure.erase(session, study, annotator.pseudonym, sure(lead))
    assert erasure.wipe(engine) == Wiped.done

    with engine.connect() as connection:
        sampled = connection.execute(text(SAMPLES)).scalar()
    assert [trace for trace in TRACES if trace in sampled or trace.encode() in files_of(engine)] == []


@pytest.mark.long
@pytest.mark.parametrize("leaving", ["erased", "withdrew", "seat withdrawn"])
def test_the_next_start_clears_the_files_after_a_kill(sqlite_engine, make_study, tmp_path, forked, leaving):
    """Between an erasure and the rewriting of the file the process may be killed, and nobody would ask for it again."""
    with database.writing(sqlite_engine) as session:
        study, lead, (annotator, _) = make_study(session, items=1)
        submit(session, study, annotator, traced_answers())
        seat = accounts.new_person(session, Role.viewer, name=NAME)
        viewers.enrol_viewer(session, study, seat, lead.pseudonym)
        pseudonym = seat.pseudonym
    trace = (NAME if leaving == "seat withdrawn" else WORDS).encode()
    sqlite_engine.dispose()

    child = os.fork()
    if child == 0:
        try:
            with database.writing(database.open_engine(str(sqlite_engine.url))) as session:
                if leaving == "erased":
                    erasure.erase(session, study, annotator.pseudonym, sure(lead))
                elif leaving == "withdrew":
                    withdrawal.withdraw_myself(session, study, annotator)
                else:
                    viewers.withdraw_seat(session, study, pseudonym, lead.pseudonym)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert trace in files_of(sqlite_engine)

    with running_app(tmp_path, start=forked):
        assert trace not in files_of(sqlite_engine)
    assert wiping.due_wipes(sqlite_engine) == []


@pytest.mark.long
def test_erasure_takes_the_person_out_of_their_group(engine, full):
    study, lead, annotator = full
    with database.writing(engine) as session:
        other = next(p for p in session.scalars(select(Person.pseudonym)) if p != annotator.pseudonym)
        for people, group in (((annotator.pseudonym, other), GROUP), ((other,), "crowd")):
            annotator_groups.set_group(session, study, people, group, lead.pseudonym)
            session.commit()
        copy = duplicate.duplicate(session, session.get_one(Study, study.id), "A copy", lead)
        assert settings_of(copy).annotator_groups == {}

    with database.writing(engine) as session:
        erasure.erase(session, study, annotator.pseudonym, sure(lead))
    assert erasure.wipe(engine) == Wiped.done

    assert GROUP.encode() not in files_of(engine)
    with database.reading(engine) as session:
        stored = session.get_one(Study, study.id)
        assert settings_of(stored).annotator_groups == {other: "crowd"}
        logged = session.execute(select(EventDetail.old, EventDetail.new)).all()
        assert annotator.pseudonym not in json.dumps([list(values) for values in logged])
        verdict = verify.verify(session, stored)
        assert verdict.holds, verdict.sentence
        last = select(func.max(Event.id)).where(Event.kind == EventKind.annotators_grouped).scalar_subquery()
        session.execute(delete(EventDetail).where(EventDetail.event_id == last))
        assert not verify.verify(session, stored).holds
        session.rollback()


@pytest.mark.long
@pytest.mark.parametrize("promised", ["keep", "delete"])
def test_a_withdrawal_leaves_only_the_ratings_that_the_consent_promised(engine, full, promised):
    study, lead, annotator = full
    passes_an_entry_test(engine, study, annotator)
    with database.writing(engine) as session:
        consent = {"text": "Agree?", "after_withdrawal": promised}
        design.amend(session, study, design.Parts(settings={"consent": consent}), "consent", lead.pseudonym)
        now = session.get_one(Study, study.id)
        joining.consent(session, now, annotator, settings_of(now).consent.version)

    with database.writing(engine) as session:
        now = session.get_one(Study, study.id)
        assert withdrawal.withdraw(session, now, annotator.pseudonym, lead.pseudonym) == promised
    assert erasure.wipe(engine) == Wiped.done

    after = files_of(engine)
    assert [trace for trace in TRACES if trace.encode() in after] == []
    assert b"ownwords" in after
    with database.reading(engine) as session:
        assert verify.verify(session, session.get_one(Study, study.id)).holds
        assert session.scalars(select(Login).where(Login.person_id == annotator.person_id)).all() == []
        own_ratings = select(Rating).join(Assignment, Assignment.id == Rating.assignment_id)
        ratings = session.scalars(own_ratings.where(Assignment.person_id == annotator.person_id)).all()
        assert len(ratings) == {"keep": 6, "delete": 0}[promised]
        logged = [new for new in session.scalars(select(EventDetail.new)) if "answers" in (new or {})]
        assert (logged, len(session.scalars(select(EntryAttempt)).all())) == ([], {"keep": 1, "delete": 0}[promised])
        assert same(frame_of(session, study), build_frame(session, study))


def passes_an_entry_test(engine, study, annotator) -> None:
    """An entry test that they passed, as `admission` stores and logs it."""
    with database.writing(engine) as session:
        part = session.scalars(select(Membership).where(Membership.person_id == annotator.person_id)).one()
        attempt = EntryAttempt(membership_id=part.id, number=1, started_at=clock.now(), asked=1, right=1, passed=True)
        attempt.finished_at = clock.now()
        session.add(attempt)
        session.flush()
        session.add(TestAnswer(attempt_id=attempt.id, question="q", option="a", correct=True, answered_at=clock.now()))
        new = {"attempt": 1, "right": 1, "asked": 1, "answers": {"q": "a"}}
        events.record(
            session, study.id, EventKind.entry_test_passed, annotator.pseudonym, subject=annotator.pseudonym, new=new
        )


def test_leaving_one_study_changes_nothing_in_another(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, lead, _ = make_study(session, items=2)
        other, _, _ = make_study(session, items=2, title="Another")
        person, code = joining.join_open_study(session, study, NAME)
        annotator = Who(person.id, person.pseudonym, person.role, person.name, 0)
        join(session, other, annotator)
        for joined in (study, other):
            submit(session, joined, annotator, traced_answers())
    with database.writing(sqlite_engine) as session:
        withdrawal.withdraw(session, study, annotator.pseudonym, lead.pseudonym)

    with database.writing(sqlite_engine) as session:
        assert [
            member.name for member in roster.members_of(session, study) if member.pseudonym == annotator.pseudonym
        ] == [None]
        assert NAME in [member.name for member in roster.members_of(session, other)]
        explained = select(Assignment.study_id, Explanation.text).select_from(Explanation)
        explained = explained.join(Rating, Rating.id == Explanation.rating_id)
        explained = explained.join(Assignment, Assignment.id == Rating.assignment_id).where(Explanation.text != "")
        assert [tuple(row) for row in session.execute(explained)] == [(other.id, WORDS)]
        assert all(verify.verify(session, checked).holds for checked in (study, other))
    assert signing_in.returning(sqlite_engine, study, NAME, code).id == annotator.person_id
    with database.writing(sqlite_engine) as session:
        withdrawal.withdraw(session, other, annotator.pseudonym, lead.pseudonym)
        assert session.get_one(Person, annotator.person_id).name is None


def test_a_lead_who_stops_annotating_stays_a_lead(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, lead, _ = make_study(session, items=2)
        submit(session, study, join(session, study, lead), traced_answers())
    with database.writing(sqlite_engine) as session:
        withdrawal.withdraw_myself(session, study, lead)

    with database.reading(sqlite_engine) as session:
        assert session.get_one(Person, lead.person_id).name == lead.name
        verdict = verify.verify(session, session.get_one(Study, study.id))
        assert verdict.holds, verdict.sentence
        kinds = select(Event.kind).join(EventDetail, EventDetail.event_id == Event.id)
        assert {"study created", "study open"} <= set(session.scalars(kinds.where(Event.actor == lead.pseudonym)))


def test_a_withdrawn_panel_id_is_recognised_in_its_study_only(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, lead, _ = make_study(session, access="panel")
        other, _, _ = make_study(session, access="panel", title="Another")
        first = panels.join_from_panel(session, study, "prolific", PANEL, "s1")
        withdrawal.withdraw(session, study, first.pseudonym, lead.pseudonym)
        assert PANEL not in session.scalars(select(PanelIdentity.external_id)).all()

        assert panels.join_from_panel(session, study, "prolific", PANEL, "s2").id == first.id
        elsewhere = panels.join_from_panel(session, other, "prolific", PANEL, "s3")
        assert elsewhere.id != first.id
        assert panels.join_from_panel(session, study, "prolific", PANEL, "s4").id == first.id
        assert set(session.scalars(select(PanelIdentity.session_id))) == {"", "s3"}
        withdrawal.withdraw(session, other, elsewhere.pseudonym, lead.pseudonym)
        assert panels.join_from_panel(session, other, "prolific", PANEL, "s5").id == elsewhere.id


def test_a_role_that_owns_no_tables_reports_that_wiping_failed(postgres_engine):
    with postgres_engine.begin() as connection:
        connection.execute(text("CREATE ROLE app_only LOGIN"))
        connection.execute(text("GRANT SELECT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO app_only"))
    app = create_engine(postgres_engine.url.set(username="app_only"))
    try:
        assert erasure.wipe(app) == Wiped.not_ours
        assert erasure.wipe(postgres_engine) == Wiped.done
    finally:
        app.dispose()


def test_a_role_that_owns_only_tables_leaves_samples(postgres_engine):
    with postgres_engine.begin() as connection:
        connection.execute(text("CREATE ROLE tables_only LOGIN"))
        names = text("SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = 'public'")
        for table in connection.scalars(names).all():
            connection.exec_driver_sql(" ".join(("ALTER TABLE", table, "OWNER TO tables_only")))
    owner = create_engine(postgres_engine.url.set(username="tables_only"))
    try:
        assert erasure.wipe(owner) == Wiped.not_ours
    finally:
        owner.dispose()
        with postgres_engine.begin() as connection:
            connection.execute(text("REASSIGN OWNED BY tables_only TO CURRENT_USER"))


def test_an_erased_person_cannot_come_back(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, lead, _ = make_study(session)
        person, code = joining.join_open_study(session, study, "Anna")
        ticket, link = logins.issue_sign_in_ticket(session, person), links.issue_link(session, study, person.id)
        login = logins.use_ticket(session, logins.issue_sign_in_ticket(session, person))
    with database.writing(sqlite_engine) as session:
        erasure.erase(session, study, person.pseudonym, sure(lead))
    with database.writing(sqlite_engine) as session:
        assert logins.who_is(session, login) is None
        for command, *arguments in (
            (logins.use_ticket, ticket),
            (links.accept_invitation, link),
            (roster.enable, study, person.pseudonym, lead),
            (roster.new_link, study, person.pseudonym, lead.pseudonym),
        ):
            with pytest.raises(NotAllowed):
                command(session, *arguments)
        with pytest.raises(Conflict):
            erasure.erase(session, study, person.pseudonym, sure(lead))
        assert "erased" in [member.state for member in roster.members_of(session, study)]
        joining.join_open_study(session, study, "Anna")  # the name is free for another person
    with pytest.raises(NotAllowed):
        signing_in.returning(sqlite_engine, study, "Anna", code)


def test_a_lead_erases_or_disables_only_their_own_annotators(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, lead, (anna, _) = make_study(session)
        other, its_lead, _ = make_study(session, title="Another")
        join(session, other, anna)
        join(session, study, its_lead)
        commands: list[tuple[Callable[..., object], Certainty | Who]] = [
            (erasure.erase, sure(lead)),
            (roster.disable, lead),
            (roster.enable, lead),
        ]
        for command, actor in commands:
            with pytest.raises(NotAllowed, match="do not lead"):
                command(session, study, anna.pseudonym, actor)
            with pytest.raises(NotAllowed, match="lead account"):
                command(session, study, its_lead.pseudonym, actor)


def test_copies_holding_a_withdrawn_person_are_listed_until_cleaned(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, lead, (anna, ben) = make_study(session)
        other, _, _ = make_study(session, title="Another")
        join(session, other, anna)
    old = backup(sqlite_engine, "old.db")
    with database.writing(sqlite_engine) as session:
        frozen = {"event_hash": "", "made_at": clock.now(), "made_by": lead.pseudonym, "file": b"zip"}
        session.add(Snapshot(study_id=study.id, event_number=1, sha256="a" * 64, **frozen))
        withdrawal.withdraw(session, other, anna.pseudonym, lead.pseudonym)
    between = backup(sqlite_engine, "between.db")
    with database.writing(sqlite_engine) as session:
        withdrawal.withdraw(session, study, anna.pseudonym, lead.pseudonym)
    backup(sqlite_engine, "new.db")

    with database.reading(sqlite_engine) as session:
        holds = {copy.name: copy.holds for copy in erasure.copies(session, study, lead)}
        assert holds == dict.fromkeys((old.name, between.name, f"report {'a' * 12}"), (anna.pseudonym,))
        # the name was deleted with the last study only
        assert {copy.name for copy in erasure.copies(session, other, lead)} == {old.name, between.name}
    shutil.rmtree(old.parent)


def backup(engine, name: str) -> Path:
    folder = database.sqlite_path(str(engine.url)).parent / "backups"
    folder.mkdir(exist_ok=True)
    sqlite_files.copy_sqlite(database.sqlite_path(str(engine.url)), folder / name)
    return folder / name


def test_only_copies_holding_the_person_are_listed_and_deleted(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, lead, (anna, ben) = make_study(session)
    old = backup(sqlite_engine, "old.db")
    elsewhere = shutil.copy2(old, old.with_name("copy of old.bak"))
    capsule = old.with_name("CAPSULE.ZIP")
    with zipfile.ZipFile(capsule, "w") as archive:
        archive.write(old, "study.db")
    foreign = old.with_name("notes.txt")
    foreign.write_text(anna.pseudonym)
    damaged = old.with_name("damaged.db")
    damaged.write_bytes(b"no database")
    with database.writing(sqlite_engine) as session:
        frozen = {"event_hash": "", "made_at": clock.now(), "made_by": lead.pseudonym, "file": b"zip"}
        session.add(Snapshot(study_id=study.id, event_number=1, sha256="a" * 64, **frozen))
        assert erasure.copies(session, study, lead) == []
        erasure.erase(session, study, anna.pseudonym, sure(lead))
        session.add(Snapshot(study_id=study.id, event_number=99, sha256="b" * 64, **frozen))
    new = backup(sqlite_engine, "new.db")

    with database.writing(sqlite_engine) as session:
        copies = {copy.name: copy for copy in erasure.copies(session, study, lead)}
        assert set(copies) == {"old.db", elsewhere.name, "CAPSULE.ZIP", "damaged.db", f"report {'a' * 12}"}
        assert copies["old.db"].path == old
        assert copies["old.db"].holds == (anna.pseudonym,)
        seen = [copy for copy in copies.values() if copy.path != old]
        assert erasure.delete_copies(session, study, sure(lead), seen) == 3
        assert old.exists()
        assert erasure.delete_copies(session, study, sure(lead), copies.values()) == 1
        assert [copy.path for copy in erasure.copies(session, study, lead)] == [None]
        assert erasure.delete_copies(session, study, sure(lead), copies.values(), with_reports=True) == 1
        assert session.scalars(select(Snapshot.sha256)).all() == ["b" * 64]
    assert (old.exists(), capsule.exists(), new.exists(), foreign.exists()) == (False, False, True, True)
    shutil.rmtree(old.parent)


def test_a_copy_that_cannot_be_deleted_is_named(sqlite_engine, make_study, monkeypatch):
    with database.writing(sqlite_engine) as session:
        study, lead, (anna, _) = make_study(session)
    old = backup(sqlite_engine, "old.db")
    with database.writing(sqlite_engine) as session:
        erasure.erase(session, study, anna.pseudonym, sure(lead))
    busy = Mock(side_effect=OSError(errno.EBUSY, "Device or resource busy"))
    for owner, name, fails, reason in (
        (os, "access", lambda *_: False, "its folder cannot be written"),
        (Path, "unlink", busy, "Device or resource busy"),
    ):
        with database.writing(sqlite_engine) as session, monkeypatch.context() as meanwhile:
            copies = erasure.copies(session, study, lead)
            meanwhile.setattr(owner, name, fails)
            with pytest.raises(NotAllowed, match=rf"old\.db could not be deleted: {reason}\. Delete it by hand\."):
                erasure.delete_copies(session, study, sure(lead), copies)
            session.rollback()
    with database.reading(sqlite_engine) as session:
        assert [copy.path for copy in erasure.copies(session, study, lead)] == [old]
    old.unlink()


@pytest.mark.parametrize("demo", [True, False])
def test_no_lead_deletes_files_with_studies_of_others(sqlite_engine, make_study, demo):
    with database.writing(sqlite_engine) as session:
        make_study(session, title="Theirs")
        study, lead, (anna, _) = make_study(session, title="Own")
        study.demo = demo
        frozen = {"event_hash": "", "made_at": clock.now(), "made_by": lead.pseudonym, "file": b"zip"}
        session.add(Snapshot(study_id=study.id, event_number=1, sha256="a" * 64, **frozen))
    path = backup(sqlite_engine, "old.db")
    with database.writing(sqlite_engine) as session:
        withdrawal.withdraw(session, study, anna.pseudonym, lead.pseudonym)

    with database.writing(sqlite_engine) as session:
        copies = {copy.name: copy for copy in erasure.copies(session, study, lead)}
        assert copies["old.db"].path is None
        assert "ask the administrator" in copies["old.db"].place
        assert erasure.delete_copies(session, study, sure(lead), copies.values(), with_reports=True) == 1  # the report
    assert path.exists()
    shutil.rmtree(path.parent)


@pytest.mark.parametrize("name", ["study.zip", "study.db.gz", "ratings.XLSX"])
def test_an_old_zip_of_packed_files_is_listed(sqlite_engine, make_study, name):
    with database.writing(sqlite_engine) as session:
        study, lead, (anna, _) = make_study(session)
    outer = backup(sqlite_engine, "old.db").with_name("outer.zip")
    with zipfile.ZipFile(outer, "w") as archive:
        archive.writestr(name, b"packed")
    with database.writing(sqlite_engine) as session:
        erasure.erase(session, study, anna.pseudonym, sure(lead))

    with database.writing(sqlite_engine) as session:
        holds = {copy.name: copy.holds for copy in erasure.copies(session, study, lead)}

    assert holds["outer.zip"] == (anna.pseudonym,)
    shutil.rmtree(outer.parent)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such locks")
def test_listing_copies_leaves_the_locks_of_the_database(sqlite_engine, make_study):
    """Without them, the next program to read it takes away the index that this process has mapped, which ends it."""
    in_use = database.sqlite_path(str(sqlite_engine.url))
    in_use.with_name("second name.db").hardlink_to(in_use)
    with database.writing(sqlite_engine) as session:
        study, lead, (anna, _) = make_study(session)
        erasure.erase(session, study, anna.pseudonym, sure(lead))
    with database.reading(sqlite_engine) as session:
        assert erasure.copies(session, study, lead) == []
        # what SQLite asks for before it makes the index anew: nobody else may have it
        alone = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'r+b'), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 128)"
        command = [sys.executable, "-c", alone, f"{in_use}-shm"]
        asked = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert "BlockingIOError" in asked.stderr


def test_a_copy_with_its_write_ahead_log_is_listed(sqlite_engine, make_study):
    """As people copy the files while the app runs: the newest rows are in the log alone."""
    with sqlite_engine.connect() as connection:
        in_use = database.sqlite_path(str(sqlite_engine.url))
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        with database.writing(sqlite_engine) as session:
            study, lead, (anna, _) = make_study(session)
        for ending in ("", "-wal"):
            shutil.copy(f"{in_use}{ending}", in_use.with_name(f"copy.db{ending}"))
    shutil.copy(f"{in_use}-wal", in_use.with_name("alone.db-wal"))
    with zipfile.ZipFile(in_use.with_name("packed.zip"), "w") as archive:
        for ending in ("", "-wal"):
            archive.write(in_use.with_name(f"copy.db{ending}"))
    assert anna.pseudonym.encode() not in in_use.with_name("copy.db").read_bytes()
    with database.writing(sqlite_engine) as session:
        erasure.erase(session, study, anna.pseudonym, sure(lead))

    with database.writing(sqlite_engine) as session:
        copies = erasure.copies(session, study, lead)
        erasure.delete_copies(session, study, sure(lead), [copy for copy in copies if copy.name != "copy.db-wal"])

    assert {copy.name for copy in copies} == {"copy.db", "copy.db-wal", "alone.db-wal", "packed.zip"}
    assert {copy.holds for copy in copies} == {(anna.pseudonym,)}
    assert [path for name in ("copy", "alone", "packed") for path in in_use.parent.glob(f"{name}.*")] == []
    with database.reading(sqlite_engine) as session:
        assert erasure.copies(session, study, lead) == []


def test_a_dump_begun_before_an_erasure_is_listed(sqlite_engine, make_study):
    """It shows the state in which it was begun, however long it took."""
    with database.writing(sqlite_engine) as session:
        study, lead, (anna, _) = make_study(session)
    folder = database.sqlite_path(str(sqlite_engine.url)).parent / "backups"
    folder.mkdir()
    begun = clock.now()
    with database.writing(sqlite_engine) as session:
        erasure.erase(session, study, anna.pseudonym, sure(lead))
    beside = {"during": f'{{"made_at": "{begun.isoformat()}"}}', "after": f'{{"made_at": "{clock.now().isoformat()}"}}'}
    for name, content in (beside | {"unreadable": '{"made_at": "2026-01-01T00:00:00"}'}).items():
        (folder / f"{name}.dump").write_bytes(b"PGDMP")
        (folder / f"{name}.dump.json").write_text(content)

    with database.reading(sqlite_engine) as session:
        assert [(copy.name, copy.holds) for copy in erasure.copies(session, study, lead)] == [
            ("during.dump", (anna.pseudonym,))
        ]


def test_a_dump_begun_before_an_erasures_commit_is_listed(sqlite_engine, make_study):
    """An erasure may wait for a study after its event; a dump that begins meanwhile still contains the person."""
    with database.writing(sqlite_engine) as session:
        study, lead, (anna, _) = make_study(session)
    waiting = backups.make(sqlite_engine)
    with database.writing(sqlite_engine) as session:
        erasure.erase(session, study, anna.pseudonym, sure(lead))
    for name, made in {"waiting": waiting, "stored": backups.make(sqlite_engine)}.items():
        beside = json.loads(made.path.with_name(f"{made.name}.json").read_text())
        made.path.with_name(f"{name}.dump").write_bytes(b"PGDMP")
        later = json.dumps(beside | {"made_at": clock.now().isoformat()})
        made.path.with_name(f"{name}.dump.json").write_text(later)
        backups.delete(made)

    with database.reading(sqlite_engine) as session:
        assert [copy.name for copy in erasure.copies(session, study, lead)] == ["waiting.dump"]


def test_a_database_elsewhere_hides_no_copy(sqlite_engine, make_study, tmp_path, monkeypatch):
    """TRIPTYCH_DATABASE_URL names a file in another folder; the old one stays in the data folder under that name."""
    with database.writing(sqlite_engine) as session:
        study, lead, (anna, _) = make_study(session)
    in_use = database.sqlite_path(str(sqlite_engine.url))
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("TRIPTYCH_HOME", str(home))
    monkeypatch.setenv("TRIPTYCH_DATABASE_URL", str(sqlite_engine.url))
    old, before = home / in_use.name, in_use.with_name(f"{in_use.stem}-before-0006-1.db")
    for path in (old, before):
        sqlite_files.copy_sqlite(in_use, path)
    (home / "in-use.db").symlink_to(in_use)
    (home / "link.db").symlink_to(old)

    with database.writing(sqlite_engine) as session:
        erasure.erase(session, study, anna.pseudonym, sure(lead))
    with database.writing(sqlite_engine) as session:
        assert {copy.path for copy in erasure.copies(session, study, lead)} == {old, before, home / "link.db"}
        with pytest.raises(NotAllowed, match="is a link to"):
            erasure.delete_copies(session, study, sure(lead), erasure.copies(session, study, lead))
    assert old.exists() and before.exists()  # none is deleted without an entry in the log
    before.unlink(missing_ok=True)


# One person's data


def test_personal_data_are_complete_and_unblind_nothing(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, _, _ = make_study(session, items=2)
        person, _ = joining.join_open_study(session, study, NAME)
        annotator = Who(person.id, person.pseudonym, person.role, person.name, 0)
        submit(session, study, annotator, traced_answers("=1+1 qwxplain"))
        as_json, as_csv = (
            b"".join(write(personal_data.of_member(session, study, annotator.pseudonym))).decode("utf-8-sig")
            for write in (personal_data.as_json, personal_data.as_csv)
        )

    for personal in (NAME, annotator.pseudonym, "qwxplain", COMMENT, NOTE, "Reject"):
        assert personal in as_json
    for secret in ("plumbum", "stannum", "ferrum", "item-1", "item-2", "candidate", "$argon2"):
        assert secret not in as_json
    assert json.loads(as_json)["studies"][0]["annotations"][0]["item"] == 1
    rows = as_csv.splitlines()
    assert len(rows) == 1 + 6
    assert ",A,Verdict,Reject,rude,'=1+1 qwxplain" in "\n".join(rows)


def test_personal_data_hold_the_answers_of_an_entry_test(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, _, (anna, _) = make_study(session)
    passes_an_entry_test(sqlite_engine, study, anna)
    with database.reading(sqlite_engine) as session:
        (attempt,) = personal_data.of_member(session, study, anna.pseudonym)["studies"][0]["entry_test"]
    assert (attempt["passed"], attempt["answers"]) == (True, {"q": "a"})


def test_ones_own_data_of_one_study_reveal_no_other(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, _, (anna, _) = make_study(session)
        other, _, _ = make_study(session, title="Another study")
        join(session, other, anna)
        assert len(personal_data.about(session, anna.person_id)["studies"]) == 2
        assert [part["title"] for part in personal_data.of_member(session, study, anna.pseudonym)["studies"]] == [
            study.title
        ]
        stranger = add_person(session, "stranger", Role.annotator)
        with pytest.raises(NotFound):
            personal_data.of_member(session, study, stranger.pseudonym)
