"""`verify` replays the log and names every row that was changed or removed outside the app."""

import json
import re
import sqlite3
from datetime import timedelta
from typing import Any

import pytest
from helpers.busy import annotated
from helpers.entry import QUESTIONS, RIGHT, answer_all, open_studies
from helpers.ratings import assigned, exclude, first_work, resubmit, set_aside, submit, submit_during_a_check
from helpers.replaced_statements import CANCELLED, LOST_FILE, NOT_GRANTED, TERMINATED, replaced
from helpers.studies import SMALL_RUBRIC, sure
from sqlalchemy import select, text
from sqlalchemy.exc import OperationalError
from sqlmodel import Session

from triptych import clock
from triptych.annotate import annotations, assignments, entry_test, exclusions, onboarding, reservations
from triptych.annotate.annotations import SetAsideMessage
from triptych.cli import main as program
from triptych.operations import fold, verify
from triptych.operations.folded import FoldedStudy
from triptych.people import joining
from triptych.privacy import erasure, withdrawal
from triptych.storage import events, rows
from triptych.storage.database import reading, writing
from triptych.storage.models import Assignment, Item, Person, Snapshot, Study
from triptych.storage.unreadable import unreadable
from triptych.study import design
from triptych.study.persons import Who
from triptych.study.settings import Consent


def fill(session, make_study) -> Study:
    """Everything that can be in a log: annotations, an edit, a skip, an ignored item, a reinstatement."""
    study, _, (first, second, third) = make_study(session, annotators=3)
    submit(session, study, first, annotated())
    submit(session, study, first)
    resubmit(session, first, first_work(session, first), annotated() | {"note": "changed"})
    submit(session, study, second, annotated())
    set_aside(session, study, second, "ignore", "empty")
    for out in (True, False, True):
        exclude(session, study, third, out)
    assignments.current(session, study, first)
    return study


@pytest.fixture
def filled(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        return fill(session, make_study)


def verdict_of(engine, study) -> verify.Verdict:
    with reading(engine) as session:
        return verify.verify(session, session.get_one(Study, study.id))


def test_an_untouched_study_holds_whatever_happened_in_it(engine, make_study):
    with writing(engine) as session:
        study = fill(session, make_study)

    verdict = verdict_of(engine, study)

    assert verdict.holds, verdict.sentence
    assert "every row matches it" in verdict.sentence


def test_a_study_with_keys_of_40_letters_holds(sqlite_engine, make_study):
    """Rows in the log carry such a key as a digest, annotations the key itself."""
    rubric, answers = SMALL_RUBRIC, json.dumps(annotated())
    for key in ("fluency", "verdict", "reject", "wrong", "blank", "good"):
        rubric = re.sub(rf"\b{key}\b(?=[,:\n}}])", f"{key:_<40}", rubric)
        answers = answers.replace(f'"{key}"', f'"{key:_<40}"')
    with writing(sqlite_engine) as session:
        study, _, (who,) = make_study(session, rubric=rubric, annotators=1)
        submit(session, study, who, json.loads(answers))
    with writing(sqlite_engine) as session:
        events.record_baseline(session, study.id)

    verdict = verdict_of(sqlite_engine, study)

    assert verdict.holds, verdict.sentence


def test_an_annotation_edited_after_a_baseline_is_no_tampering(sqlite_engine, filled):
    with writing(sqlite_engine) as session:
        events.record_baseline(session, filled.id)
    with writing(sqlite_engine) as session:
        work = session.scalars(select(Assignment).where(Assignment.state == "submitted")).all()[0]
        person = session.get_one(Person, work.person_id)
        resubmit(session, Who(person.id, person.pseudonym, person.role, None, 0), work, annotated() | {"note": "later"})

    assert verdict_of(sqlite_engine, filled).differences == ()


def test_an_item_open_at_a_baseline_can_be_submitted(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, (first, _) = make_study(session)
        assignments.current(session, study, first)
    with writing(sqlite_engine) as session:
        events.record_baseline(session, study.id)
    with writing(sqlite_engine) as session:
        submit(session, study, first)

    assert verdict_of(sqlite_engine, study).differences == ()


def test_a_withdrawal_after_a_baseline_is_no_tampering(sqlite_engine, filled):
    """It deletes the values of the person's baseline, but not of their earlier events."""
    with writing(sqlite_engine) as session:
        events.record_baseline(session, filled.id)
    with writing(sqlite_engine) as session:
        person = session.get_one(Person, session.scalars(select(Assignment.person_id)).first())
        withdrawal.withdraw(session, filled, person.pseudonym, person.pseudonym)

    assert verdict_of(sqlite_engine, filled).differences == ()


def test_a_column_that_an_upgrade_adds_is_no_tampering(sqlite_engine, make_study, monkeypatch):
    carried = rows.carried

    def without_instructions(table):
        return [name for name in carried(table) if name != "instructions_version"]

    with monkeypatch.context() as before, writing(sqlite_engine) as session:
        before.setattr(rows, "carried", without_instructions)
        study = fill(session, make_study)
        events.write_pending(session)
    assert "instructions_version is not in the log" in verdict_of(sqlite_engine, study).sentence
    with writing(sqlite_engine) as session:
        events.record_baseline(session, study.id)

    assert verdict_of(sqlite_engine, study).differences == ()


def test_the_time_of_a_draft_is_no_tampering(engine, make_study):
    with writing(engine) as session:
        study = fill(session, make_study)
        drafted = text("UPDATE assignment SET active_seconds = 12.5 WHERE state = 'reserved'")
        session.execute(drafted)
        assert session.scalars(select(Assignment.id).where(Assignment.active_seconds == 12.5)).all()

    assert verdict_of(engine, study).holds


MESSAGES = [
    ("UPDATE rating SET number = 1 WHERE number = 2", "fluency of Response A: number is 1, the log says 2"),
    ("UPDATE rating SET missing = 1", "verdict of Response A: missing is True, the log says False"),
    ("DELETE FROM rating", "rating fluency of Response A: the row is in the log only"),
    ("UPDATE explanation SET text = 'very much so'", "explanation of verdict of Response A: text is not"),
    ("UPDATE highlight SET quote = 'other'", "highlight of Response B, 7 to 13: quote is not"),
    ("UPDATE highlight SET unit = 'words'", "highlight of Response B, 7 to 13: unit is not"),
    ("UPDATE slot SET set_aside = NULL", "set_aside of slot C is not what the log says"),
    (
        "UPDATE candidate SET text = 'A better answer' WHERE id = 1",
        "A response of item item-1 differs from the text that was",
    ),
    ("UPDATE item SET context = 'Another question?' WHERE id = 1", "Item item-1 differs from what was imported"),
    ("UPDATE item SET taken = taken - 1 WHERE taken > 0", "taken is"),
    ("UPDATE system SET name = name || '2' WHERE id = 1", "The assignment of responses to systems"),
    ("DELETE FROM assignment WHERE id = 1", "annotation 1: the row is in the log only"),
    ("DELETE FROM event WHERE number = 4", "Event 4 is missing"),
    ("UPDATE event_detail SET new = '{}' WHERE event_id = 6", "Event 6 was changed"),
    ("DELETE FROM event_detail WHERE event_id = 9", "The values of event 9 are missing from the log"),
]


@pytest.mark.long
def test_a_message_says_what_was_changed(sqlite_engine, filled):
    missed = []
    with sqlite_engine.connect() as connection:
        # an edit outside the app does not enforce foreign keys
        connection.connection.driver_connection.execute("PRAGMA foreign_keys=0")
        for statement, message in MESSAGES:
            changed = connection.execute(text(statement)).rowcount
            with Session(connection) as session:
                verdict = verify.verify(session, session.get_one(Study, filled.id))
            # one change may show in several places; which comes first depends on the order on screen
            if not changed or not any(message in difference for difference in (verdict.sentence, *verdict.differences)):
                missed.append((statement, verdict.sentence))
            connection.rollback()

    assert missed == []


WAY_IN = [
    ("UPDATE membership SET consent_version = 'x'", "membership"),
    ("UPDATE membership SET consented_at = joined_at", "membership"),
    ("UPDATE entry_attempt SET passed = true WHERE number = 1", "entry_attempt"),
    ("UPDATE test_answer SET option = 'a' WHERE question = 'one'", "test_answer"),
    ("DELETE FROM test_answer WHERE question = 'one'", "test_answer"),
]


@pytest.mark.long
@pytest.mark.parametrize("statement, table", WAY_IN)
def test_what_was_changed_about_consents_and_entry_tests_is_named(engine, statement, table):
    with open_studies(engine) as make:
        session, study, who = make(SMALL_RUBRIC + QUESTIONS, consent=Consent(text="Agree?"))
        joining.consent(session, study, who, Consent(text="Agree?").version)
        onboarding.read_instructions(session, study, who, onboarding.wording_of(study))
        for right in (RIGHT | {"two": "b"}, RIGHT):
            entry_test.start(session, study, who)
            answer_all(session, study, who, right)
        untouched = verify.verify(session, study)
        assert untouched.holds, untouched.sentence

        assert session.execute(text(statement)).rowcount
        verdict = verify.verify(session, study)

        assert any(difference.startswith(table) for difference in verdict.differences), verdict.sentence


def test_a_manually_added_rating_is_reported(sqlite_engine, filled):
    with writing(sqlite_engine) as session:
        held = session.scalars(select(Assignment.id).where(Assignment.state == "reserved")).first()
        row = "INSERT INTO rating (assignment_id, position, criterion_id, number, missing) VALUES (:it, 0, 1, 3, 0)"
        session.execute(text(row), {"it": held})

    assert "rating fluency of Response A: the row is not in the log." in verdict_of(sqlite_engine, filled).sentence


def promise(session, study, lead, after: str, *people) -> None:
    """Change the consent text; these people agree to it."""
    consent = Consent(text="You may leave.", after_withdrawal=after)
    design.amend(session, study, design.Parts(settings={"consent": consent}), "another promise", lead.pseudonym)
    for who in people:
        joining.consent(session, session.get_one(Study, study.id), who, consent.version)


def test_exclusions_withdrawals_and_erasures_are_no_tampering(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, lead, people = make_study(session, items=6, annotators=6, raters_per_item=2)
        for who in people[:5]:
            submit(session, study, who, annotated())
        for who in people[:2]:
            assignments.current(session, study, who)
    with writing(sqlite_engine) as session:
        exclusions.exclude(session, study, people[0].pseudonym, "too fast", lead.pseudonym)
        submit(session, study, people[5], annotated())
        exclusions.reinstate(session, study, people[0].pseudonym, "a mistake", lead.pseudonym)
        exclusions.exclude(session, study, people[4].pseudonym, "never read", lead.pseudonym)
        for who, after in zip(people[1:3], ("keep", "delete"), strict=True):
            promise(session, study, lead, after, who)
            withdrawal.withdraw(session, study, who.pseudonym, who.pseudonym)
        promise(session, study, lead, "keep")
        erasure.erase(session, study, people[3].pseudonym, sure(lead))

    verdict = verdict_of(sqlite_engine, study)

    assert verdict.holds, verdict.sentence
    assert verdict.erased == 3


class NeverListed(dict[int, int | None]):
    def __iter__(self):
        raise AssertionError("All lost values were looked at for one departure.")

    items = values = __iter__


def test_lost_values_are_not_compared_with_each_other(sqlite_engine, make_study, monkeypatch):
    """With 16,000 of them in a small file, the departure of one person took a minute and a half, each time."""
    with writing(sqlite_engine) as session:
        study, lead, people = make_study(session, items=2, annotators=3)
        for who in people[:2] * 2:
            submit(session, study, who, annotated())
    with writing(sqlite_engine) as session:
        promise(session, study, lead, "delete", *people[:2])
        for who in people[:2]:
            withdrawal.withdraw(session, study, who.pseudonym, who.pseudonym)
        erasure.erase(session, study, people[2].pseudonym, sure(lead))

    verdict = verdict_of(sqlite_engine, study)
    assert verdict.holds, verdict.sentence
    assert verdict.erased == 4
    monkeypatch.setattr(fold, "FoldedStudy", lambda: FoldedStudy(gone=NeverListed()))
    with reading(sqlite_engine) as session:
        folded = fold.fold(events.chain(session, study.id))
    assert (len(folded.gone), len(folded.erased)) == (0, 4)


def test_an_ignored_item_with_a_refilled_place_is_no_tampering(sqlite_engine, make_study, monkeypatch):
    real = clock.now
    with writing(sqlite_engine) as session:
        study, lead, (late, member, back, new) = make_study(session, items=1, annotators=4, raters_per_item=3)
        reserved = assigned(session, study, late)
        for who in (member, back):
            set_aside(session, study, who, "ignore", "empty")
        monkeypatch.setattr(clock, "now", lambda: real() + timedelta(hours=1))
        reservations.give_back_expired(session, study)
        submit(session, study, new)
        annotations.submit(session, late, ignoring(reserved))
        withdrawal.withdraw(session, study, member.pseudonym, member.pseudonym)
        exclusions.exclude(session, study, back.pseudonym, "too fast", lead.pseudonym)
        item = session.get_one(Item, reserved.item_id, populate_existing=True)
        filled_places, item.taken = item.taken, 3
        exclusions.reinstate(session, study, back.pseudonym, "a mistake", lead.pseudonym)
        item.taken = filled_places
        states = select(Assignment.state).where(Assignment.reason == "empty")
        assert set(session.scalars(states)) == {"surplus"}

    verdict = verdict_of(sqlite_engine, study)

    assert verdict.holds, verdict.sentence
    with writing(sqlite_engine) as session:
        session.execute(text("UPDATE assignment SET state = 'ignored' WHERE state = 'surplus'"))
    assert "state is not what the log says" in verdict_of(sqlite_engine, study).sentence


def ignoring(work: reservations.Assigned) -> SetAsideMessage:
    whole = {"assignment": work.token, "version": work.version, "pen": "pen-of-a-tab", "submission": "submission-1"}
    return SetAsideMessage(kind="ignore", reason="empty", **whole)


@pytest.mark.parametrize(("more", "words"), [(1, "1 more difference."), (2, "2 more differences.")])
def test_further_differences_are_counted(more, words):
    verdict = verify.Verdict("a", 9, "hash", None, tuple(f"Row {n} differs." for n in range(1 + more)))
    assert verdict.sentence == f"Row 0 differs. {words}"


def test_the_command_prints_every_head_and_fails_on_changed_rows(sqlite_engine, filled, capsys):
    assert program.main(["data", "verify"]) == 0
    assert filled.slug in capsys.readouterr().out
    with writing(sqlite_engine) as session:
        session.execute(text("UPDATE rating SET number = 3 WHERE number = 2"))

    assert program.main(["data", "verify"]) == 1
    assert "the log says 2" in capsys.readouterr().out


def test_work_stored_during_the_command_is_no_difference(postgres_engine, make_study, monkeypatch, capsys):
    """On PostgreSQL it named rows and events that somebody was supposed to have changed."""
    monkeypatch.setenv("TRIPTYCH_DATABASE_URL", postgres_engine.url.render_as_string(hide_password=False))
    with writing(postgres_engine) as session:
        study, _, (who, _) = make_study(session)
    submit_during_a_check(monkeypatch, postgres_engine, study, who)

    assert program.main(["data", "verify"]) == 0, capsys.readouterr().out


@pytest.mark.long
@pytest.mark.parametrize("part", ["FROM study", "event_detail.rows", "item.meta"])
@pytest.mark.parametrize(
    ("instead", "sentence"),
    [
        (CANCELLED, "The database does not respond: canceling statement due to user request. More: "),
        (TERMINATED, "The database does not respond: terminating connection due to administrator command. More: "),
        (NOT_GRANTED, "Another program is still using the database. Close it, and try again. More: "),
    ],
)
def test_a_database_that_stops_answering_is_no_difference(
    postgres_engine, make_study, monkeypatch, capsys, part, instead, sentence
):
    monkeypatch.setenv("TRIPTYCH_DATABASE_URL", postgres_engine.url.render_as_string(hide_password=False))
    with writing(postgres_engine) as session:
        make_study(session)
    with replaced(postgres_engine, part, instead):
        code = program.main(["data", "verify"])

    out, complaint = capsys.readouterr()
    assert (code, out) == (2, "")
    assert sentence in complaint
    assert program.main(["data", "verify"]) == 0


@pytest.mark.long
@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ("event_detail.rows", "event_detail: rows cannot be read."),
        ("item.meta", "item: meta cannot be read."),
    ],
)
def test_a_column_postgresql_refuses_to_read_is_named_alone(postgres_engine, make_study, part, sentence):
    """After the first failed statement it called every column of every table unreadable."""
    with writing(postgres_engine) as session:
        study, _, _ = make_study(session)
    with replaced(postgres_engine, part, LOST_FILE), reading(postgres_engine) as session:
        verdicts = [verify.verify(session, session.get_one(Study, study.id)) for _ in range(2)]

    assert [verdict.sentence for verdict in verdicts] == [sentence, sentence]


def test_a_stored_report_is_named_beside_no_other_value(sqlite_engine, make_study):
    """A report's file is bytes, which no other column holds."""
    with writing(sqlite_engine) as session:
        study, lead, _ = make_study(session)
        frozen = {"event_hash": "", "made_at": clock.now(), "made_by": lead.pseudonym, "file": b"zip"}
        session.add(Snapshot(study_id=study.id, event_number=1, sha256="a" * 64, **frozen))
    with sqlite_engine.begin() as connection:
        connection.execute(text("UPDATE item SET meta = '{' WHERE id = 1"))

    with reading(sqlite_engine) as session:
        assert list(unreadable(session.connection())) == ["item 1: meta cannot be read."]


def test_a_disk_that_fails_is_no_difference(sqlite_engine, filled, monkeypatch, capsys):
    failed = sqlite3.OperationalError("disk I/O error")
    failed.sqlite_errorcode = sqlite3.SQLITE_IOERR_READ

    def read(_chain: Any) -> FoldedStudy:
        raise OperationalError("SELECT", {}, failed)

    monkeypatch.setattr(verify, "fold", read)
    code = program.main(["data", "verify"])

    out, complaint = capsys.readouterr()
    assert (code, out) == (2, "")
    assert "SQLite cannot use the file. Is its disk full or read-only? (disk I/O error)" in complaint
