"""`verify` replays the log and names every row that was changed or removed outside the app."""

from datetime import timedelta

import pytest
from helpers.entry import QUESTIONS, RIGHT, answer_all, open_studies
from helpers.ratings import assigned, exclude, first_work, resubmit, set_aside, submit
from helpers.studies import SMALL_RUBRIC, add_person, full_answers, join
from sqlalchemy import select, text
from sqlmodel import Session

from triptych import clock
from triptych.annotate import annotations, assignments, entry_test, exclusions, onboarding, reservations
from triptych.annotate.annotations import SetAsideMessage
from triptych.annotate.logged import LoggedAnnotation
from triptych.cli import main as program
from triptych.operations import verify
from triptych.people import accounts
from triptych.privacy import erasure, withdrawal
from triptych.storage import events
from triptych.storage.database import reading, writing
from triptych.storage.events import EventKind
from triptych.storage.models import Assignment, AssignmentState, Item, Study
from triptych.study.settings import Consent, changed, stored


def annotated() -> dict:
    """Answers with an explanation, a highlight, a response set aside and a note."""
    answers = full_answers()
    del answers["ratings"]["C"]
    answers["ratings"]["A"]["verdict"] = "reject"
    return answers | {
        "explanations": {"A": {"verdict": {"reject": {"reasons": ["wrong"], "text": "not so 😀"}}}},
        "highlights": [{"slot": "B", "start": 7, "end": 13, "label": "good", "comment": "é"}],
        "set_aside": {"C": "blank"},
        "note": "a note to the lead",
    }


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
    assert "every row is as it says" in verdict.sentence


ONE_RATING = "(SELECT min(id) FROM rating WHERE number IS NOT NULL)"
MEMBER = (
    "(study_id, person_id, role, joined_at) "
    "SELECT 1, max(id), '{}', '2026-01-01 00:00:00' FROM person WHERE role = '{}'"
)
BY_HAND = [
    (f"UPDATE rating SET number = 1 WHERE id = {ONE_RATING}", "fluency of Response A is 1, the log says 2"),
    (
        "UPDATE rating SET option_id = (SELECT id FROM option WHERE key = 'reject') WHERE id = "
        "(SELECT max(id) FROM rating WHERE option_id = (SELECT id FROM option WHERE key = 'accept'))",
        "is reject, the log says accept",
    ),
    (f"UPDATE rating SET missing = 1 WHERE id = {ONE_RATING}", "fluency of Response A is missing"),
    (f"DELETE FROM rating WHERE id = {ONE_RATING}", "fluency of Response A is not there, the log says 2"),
    ("UPDATE explanation SET text = 'very much so'", "the explanation of verdict of Response A"),
    ("UPDATE explanation SET reasons = '[]'", "the explanation of verdict of Response A"),
    ("DELETE FROM explanation", "the explanation of verdict of Response A"),
    ("UPDATE highlight SET start = 8, quote = substr(quote, 2)", "a highlight of Response B, 8 to 13"),
    ("UPDATE highlight SET label = 'bad'", "a highlight of Response B, 7 to 13"),
    ("UPDATE highlight SET quote = 'other'", "quotes other words than its text has"),
    ("DELETE FROM highlight", "a highlight of Response B, 7 to 13, is gone"),
    ("UPDATE slot SET set_aside = NULL", "what was set aside"),
    ("UPDATE assignment SET note = 'x' WHERE note IS NOT NULL", "its note"),
    ("UPDATE assignment SET active_seconds = 1 WHERE state = 'submitted'", "the time it took"),
    ("UPDATE assignment SET state = 'surplus' WHERE state = 'submitted'", "its state is surplus"),
    ("UPDATE assignment SET reason = 'other' WHERE state = 'ignored'", "its reason"),
    ("UPDATE assignment SET purpose = 'entry_test' WHERE id = 1", "for another purpose, than the log says"),
    ("UPDATE slot SET candidate_id = candidate_id + 100 WHERE assignment_id = 1", "stand in another order"),
    ("UPDATE membership SET excluded_at = NULL", "is not excluded, the log says otherwise"),
    ("UPDATE membership SET excluded_at = joined_at WHERE excluded_at IS NULL", "is excluded, the log says otherwise"),
    (f"INSERT INTO membership {MEMBER.format('annotator', 'lead')}", "the log does not say that they joined"),
    (f"INSERT INTO membership {MEMBER.format('lead', 'annotator')}", "the log does not say who added them"),
    (
        "UPDATE membership SET withdrawn_at = joined_at WHERE role = 'annotator'",
        "has withdrawn, the log says otherwise",
    ),
    ("UPDATE candidate SET text = 'A better answer' WHERE id = 1", "is not the text that was imported"),
    # rewriting the hash next to a text leaves the hash of the item, and that one the hash of the design
    ("UPDATE candidate SET sha256 = 'c' WHERE id = 1", "is not the text that was imported"),
    ("UPDATE item SET context = 'Another question?' WHERE id = 1", "Item item-1 is not what was imported"),
    ('UPDATE item SET extra_texts = \'{"Hint": "Choose A"}\' WHERE id = 1', "Item item-1 is not what was imported"),
    ("INSERT INTO turn (item_id, position, speaker, text) VALUES (1, 0, 'A', 'Well?')", "Item item-1 is not"),
    ("UPDATE item SET sha256 = 'c' WHERE id = 1", "not those that were frozen (event 2)"),
    ("UPDATE item SET raters = 9 WHERE id = 1", "not those that were frozen (event 2)"),
    ("UPDATE study SET presentation = 'succession'", "not those that were frozen (event 2)"),
    ("UPDATE study SET design_hash = 'c'", "another hash of its design than the log (event 2)"),
    ("UPDATE rubric SET yaml = yaml || ' '", "The rubric is not the text that was loaded"),
    ("UPDATE system SET name = name || '2' WHERE id = 1", "Which system wrote which response"),
    ("UPDATE candidate SET system_id = system_id + 100 WHERE id = 1", "Which system wrote which response"),
    ("DELETE FROM assignment WHERE id = 1", "Annotation 1 is gone"),
    ("DELETE FROM event WHERE number = 4", "Event 4 is missing"),
    ("UPDATE event_detail SET new = '{}' WHERE event_id = 6", "Event 6 was changed"),
    ("DELETE FROM event_detail WHERE event_id = 9", "the values of event 9 are gone from the log"),
]


def test_every_manual_change_or_removal_is_named(sqlite_engine, filled):
    missed = []
    with sqlite_engine.connect() as connection:
        # an edit outside the app does not enforce foreign keys
        connection.connection.driver_connection.execute("PRAGMA foreign_keys=0")
        for statement, message in BY_HAND:
            changed = connection.execute(text(statement)).rowcount
            with Session(connection) as session:
                verdict = verify.verify(session, session.get_one(Study, filled.id))
            # one change may show in several places; which comes first depends on the order on screen
            if not changed or not any(message in difference for difference in (verdict.sentence, *verdict.differences)):
                missed.append((statement, verdict.sentence))
            connection.rollback()

    assert missed == []


WAY_IN_BY_HAND = [
    ("UPDATE membership SET consent_version = 'x'", "agreed to another text, or at another time"),
    ("UPDATE membership SET consented_at = joined_at", "agreed to another text, or at another time"),
    ("UPDATE membership SET consent_version = NULL, consented_at = NULL", "agreed to another text"),
    ("DELETE FROM event_detail WHERE event_id = (SELECT id FROM event WHERE kind = 'consented')", "gone from the log"),
    ("UPDATE membership SET consent_version = 'x' WHERE consent_version IS NULL", "the log does not say so"),
    ("UPDATE entry_attempt SET passed = true WHERE number = 1", "Attempt 1 of"),
    ('UPDATE entry_attempt SET "right" = 2 WHERE number = 1', "Attempt 1 of"),
    ("DELETE FROM entry_attempt WHERE number = 2", "Attempt 2 of"),
    ("UPDATE entry_attempt SET number = 3 WHERE number = 2", "at the entry test is not the one in the log (which has"),
    ("UPDATE test_answer SET option = 'a' WHERE question = 'one'", "Attempt 2 of"),
    ("DELETE FROM test_answer WHERE question = 'one'", "Attempt 1 of"),
]


@pytest.mark.parametrize("statement, message", WAY_IN_BY_HAND)
def test_what_was_changed_about_consents_and_entry_tests_is_named(engine, statement, message):
    with open_studies(engine) as make:
        session, study, who = make(SMALL_RUBRIC + QUESTIONS, consent=Consent(text="Agree?"))
        accounts.consent(session, study, who, Consent(text="Agree?").version)
        onboarding.read_instructions(session, study, who)
        for right in (RIGHT | {"two": "b"}, RIGHT):
            entry_test.start(session, study, who)
            answer_all(session, study, who, right)
        join(session, study, add_person(session, "ben"))
        untouched = verify.verify(session, study)
        assert untouched.holds, untouched.sentence

        assert session.execute(text(statement)).rowcount
        verdict = verify.verify(session, study)

        assert any(message in difference for difference in verdict.differences), verdict.sentence


def test_a_manually_added_rating_is_reported(sqlite_engine, filled):
    with writing(sqlite_engine) as session:
        held = session.scalars(select(Assignment.id).where(Assignment.state == "reserved")).first()
        row = "INSERT INTO rating (assignment_id, position, criterion_id, number, missing) VALUES (:it, 0, 1, 3, 0)"
        session.execute(text(row), {"it": held})

    assert "fluency of Response A is 3, the log has nothing." in verdict_of(sqlite_engine, filled).sentence


def test_events_of_an_older_version_still_hold(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, (who, _) = make_study(session)
        work = assignments.by_token(session, who, submit(session, study, who, annotated()).token)
        logged = LoggedAnnotation.stored(session, work.id).to_json()
        old = {name: logged[name] for name in ("state", "version", "ratings", "highlights")}
        events.record(session, study.id, EventKind.annotation_edited, who.pseudonym, assignment_id=work.id, new=old)

    assert verdict_of(sqlite_engine, study).holds


def promise(session, study, after: str) -> None:
    study.settings = stored(changed(study, consent=Consent(text="You may leave.", after_withdrawal=after)))
    session.flush()


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
            promise(session, study, after)
            withdrawal.withdraw(session, study, who.pseudonym, who.pseudonym)
        promise(session, study, "keep")
        erasure.erase(session, study, people[3].pseudonym, lead)

    verdict = verdict_of(sqlite_engine, study)

    assert verdict.holds, verdict.sentence
    assert verdict.erased == 3


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
        annotations.set_aside_item(session, late, ignoring(reserved))
        withdrawal.withdraw(session, study, member.pseudonym, member.pseudonym)
        exclusions.exclude(session, study, back.pseudonym, "too fast", lead.pseudonym)
        session.get_one(Item, reserved.item_id).taken = 3
        exclusions.reinstate(session, study, back.pseudonym, "a mistake", lead.pseudonym)
        states = select(Assignment.state).where(Assignment.reason == "empty")
        assert set(session.scalars(states)) == {"surplus"}

    verdict = verdict_of(sqlite_engine, study)

    assert verdict.holds, verdict.sentence
    with writing(sqlite_engine) as session:
        session.execute(text("UPDATE assignment SET state = 'ignored' WHERE state = 'surplus'"))
    assert "its state is ignored, the log says surplus" in verdict_of(sqlite_engine, study).sentence


def test_an_older_log_of_ignored_items_still_holds(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, (who, _) = make_study(session)
        work = set_aside(session, study, who, "ignore", "empty")
        new = {"reason": "empty", "note": None}
        events.record(session, study.id, EventKind.ignored, who.pseudonym, assignment_id=work.id, new=new)
        session.get_one(Assignment, work.id).state = AssignmentState.surplus

    assert verdict_of(sqlite_engine, study).holds


def ignoring(work: reservations.Assigned) -> SetAsideMessage:
    whole = {"assignment": work.token, "version": work.version, "pen": "pen-of-a-tab", "submission": "submission-1"}
    return SetAsideMessage(kind="ignore", reason="empty", **whole)


def test_the_command_prints_every_head_and_fails_on_changed_rows(sqlite_engine, filled, capsys):
    assert program.main(["verify"]) == 0
    assert filled.slug in capsys.readouterr().out
    with writing(sqlite_engine) as session:
        session.execute(text("UPDATE rating SET number = 3 WHERE number = 2"))

    assert program.main(["verify"]) == 1
    assert "the log says 2" in capsys.readouterr().out
