"""Whatever is changed in the tables by hand is named by `verify`, or is on its list of what no log can know."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers.busy import CONSENT, make_busy
from helpers.studies import add_person, join
from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Engine,
    Enum,
    Float,
    Integer,
    LargeBinary,
    Table,
    create_engine,
    select,
    text,
)
from sqlalchemy.pool import StaticPool
from sqlmodel import Session

from triptych.annotate import entry_test, onboarding
from triptych.cli import main
from triptych.operations import earlier_head, fold, verify
from triptych.people import joining
from triptych.rubric.files import text_hash
from triptych.storage import events, rows
from triptych.storage.database import open_engine, writing
from triptych.storage.events import CARRIED, EventKind
from triptych.storage.models import Assignment, Event, EventDetail, Rating, RubricText, Study, Utc
from triptych.storage.rows import DESIGN, TABLES, TAKING_PART, UNPROVED, WORK
from triptych.study import contents

PROVED = [table for name, table in TABLES.items() if name not in UNPROVED or name == "test_answer"]
COLUMNS = [column for table in PROVED for column in table.columns]


# kinds about one assignment whose rows `fold` derives from their values, and kinds that change no row
PLAIN = fold.ANSWERED | {
    EventKind.reserved,
    EventKind.account_disabled,
    EventKind.account_enabled,
    EventKind.check_answered_again,
    EventKind.copies_deleted,
    EventKind.link_ended,
    EventKind.link_issued,
    EventKind.reminded,
    EventKind.restored_from_backup,
    EventKind.results_opened,
    EventKind.study_archived,
    EventKind.token_made,
    EventKind.token_revoked,
}
# The columns that an added row must have for itself. A person, a rubric, an explanation or values that nothing points
# at belong to no study.
UNIQUE = {
    "study": ["id", "slug", "series"],
    "criterion": ["id", "key"],
    "option": ["id", "key"],
    "membership": ["id", "person_id"],
    "entry_attempt": ["id", "number"],
    "test_answer": ["id", "question"],
    "item": ["id", "external_id"],
    "turn": ["id", "position"],
    "system": ["id", "name", "blind_code"],
    "candidate": ["id", "system_id"],
    "planned_item": ["id", "person_id"],
    "workbook": ["id", "token"],
    "reference": ["id", "position"],
    "assignment": ["id", "token", "item_id"],
    "slot": ["position", "candidate_id"],
    "submission": ["id", "version"],
    "rating": ["id", "position"],
    "event": ["id", "number"],
    "comment": ["id"],
    "highlight": ["id"],
}


@pytest.fixture(scope="module")
def busy(tmp_path_factory, ready_sqlite) -> Path:
    path = tmp_path_factory.mktemp("busy") / "busy.db"
    path.write_bytes(ready_sqlite.read_bytes())
    engine = open_engine(f"sqlite:///{path}")
    make_busy(engine)
    engine.dispose()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode=delete")
    return path


@contextmanager
def in_memory(busy: Path) -> Iterator[Engine]:
    """The database in memory, without any rule that the tables enforce."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    with sqlite3.connect(busy) as source:
        source.backup(connection)
    connection.execute("PRAGMA foreign_keys=0")
    connection.execute("PRAGMA ignore_check_constraints=1")
    yield create_engine("sqlite://", creator=lambda: connection, poolclass=StaticPool)
    connection.close()


@pytest.fixture(scope="module")
def copy(busy: Path) -> Iterator[Engine]:
    with in_memory(busy) as engine:
        yield engine


@pytest.fixture
def rebuilt(busy: Path) -> Iterator[Session]:
    """A session on a copy of its own: SQLite's driver takes back no change of tables."""
    with in_memory(busy) as engine, Session(engine) as session:
        yield session


@pytest.fixture
def attacked(copy: Engine) -> Iterator[Session]:
    """A session whose changes are taken back."""
    with Session(copy) as session:
        yield session


def changed(session: Session, statement: str, **values: Any) -> int:
    return session.connection().execute(text(statement), values).rowcount


def reported(session: Session) -> list[str]:
    """Everything that `verify` says about the studies of the database."""
    session.expunge_all()
    verdicts = [verify.verify(session, study) for study in session.scalars(select(Study)).all()]
    return [line for verdict in verdicts for line in ([verdict.broken] if verdict.broken else verdict.differences)]


def test_the_study_holds_before_anybody_touches_it(attacked):
    assert reported(attacked) == []


def other(column: Column[Any], value: Any) -> Any:
    """Another value that the column's type can hold."""
    kind = column.type
    if isinstance(kind, Enum):
        return next(name for name in reversed(kind.enums) if name != value)
    if isinstance(kind, JSON):
        return '{"x": "y"}' if value is None or value.startswith("{") else '["x"]'
    if isinstance(kind, Utc):
        return "2020-02-20 20:20:20.000000"
    if isinstance(kind, Boolean):
        return 0 if value else 1
    if isinstance(kind, LargeBinary):
        return b"x"
    if isinstance(kind, Integer | Float):
        return (value or 0) + 1_000_003
    return f"{value or ''}x"


def row_numbers(session: Session, table: Table) -> list[int]:
    return list(session.connection().execute(text(f'SELECT rowid FROM "{table.name}" ORDER BY rowid')).scalars())


@pytest.mark.long
@pytest.mark.parametrize("column", COLUMNS, ids=str)
def test_every_column_is_proved_or_listed(attacked, column):
    table = column.table
    numbers = row_numbers(attacked, table)
    assert numbers, f"the study has no row of {table.name}"
    for number in {numbers[0], numbers[-1]}:
        row = f'FROM "{table.name}" WHERE rowid = {number}'
        value = attacked.connection().execute(text(f'SELECT "{column.name}" {row}')).scalar_one()
        statement = f'UPDATE "{table.name}" SET "{column.name}" = :value WHERE rowid = {number}'
        with_the_row(attacked, column, statement, other(column, value))


def with_the_row(session: Session, column: Column[Any], statement: str, value: Any) -> None:
    """Changes the row, and takes that back after `verify` has named it."""
    undo = session.begin_nested()
    assert changed(session, statement, value=value) == 1
    lines = reported(session)
    undo.rollback()
    assert any(names(line, column) for line in lines) or str(column) in UNPROVED, (statement, value, lines[:3])


# how a message calls rows that have a better name on screen
CALLED = {"assignment": "annotation", "event": "event", "event_detail": "event"}
WHOLE_ROW = ("not in the log", "in the log only", "not there", "are gone", "missing", "was changed", "cannot be read")


def names(line: str, column: Column[Any]) -> bool:
    """Whether a line names table and column, or says that the whole row is changed, new or gone."""
    if str(column) in ("study.id", "study.event_number", "study.event_hash"):
        return line.startswith("Events after")
    called = CALLED.get(column.table.name, column.table.name)
    return called in line.lower() and (column.name in line or any(words in line for words in WHOLE_ROW))


def test_work_moved_to_another_annotator_is_named(attacked):
    one_per_item = "SELECT min(id) FROM assignment WHERE purpose = 'main' AND state = 'submitted' GROUP BY item_id"
    other_person = "(SELECT max(id) FROM person)"
    moved = changed(attacked, f"UPDATE assignment SET person_id = {other_person} WHERE id IN ({one_per_item})")

    lines = reported(attacked)

    assert sum("person_id is not what the log says" in line for line in lines) == moved > 3


def test_two_people_swapped_are_named(attacked):
    for old, new in (("P-first", "x"), ("P-second", "P-first"), ("x", "P-second")):
        changed(attacked, "UPDATE person SET pseudonym = :new WHERE pseudonym = :old", new=new, old=old)

    assert any(line.startswith("person") and "pseudonym" in line for line in reported(attacked))


@pytest.mark.parametrize("table", PROVED, ids=str)
def test_swapped_rows_are_named(attacked, table):
    """Two rows change their numbers, so that what points at the one points at the other."""
    numbers = row_numbers(attacked, table)
    has_number = "id" in table.columns and isinstance(table.columns["id"].type, Integer)
    if not has_number or len(numbers) < 2 or f"{table.name}.id" in UNPROVED:
        return
    first, last = numbers[0], numbers[-1]
    for old, new in ((first, -1), (last, first), (-1, last)):
        changed(attacked, f'UPDATE "{table.name}" SET id = :new WHERE id = :old', new=new, old=old)

    lines = reported(attacked)
    assert any(CALLED.get(table.name, table.name) in line.lower() for line in lines), lines[:3]


@pytest.mark.long
@pytest.mark.parametrize("table", PROVED, ids=str)
def test_a_deleted_row_is_named(attacked, table):
    for number in {row_numbers(attacked, table)[0], row_numbers(attacked, table)[-1]}:
        undo = attacked.begin_nested()
        changed(attacked, f'DELETE FROM "{table.name}" WHERE rowid = {number}')
        lines = reported(attacked)
        undo.rollback()

        called = CALLED.get(table.name, table.name)
        assert any(called in line.lower() for line in lines) or table.name == "study", lines[:3]


def add_copy(session: Session, name: str) -> None:
    """A copy of a row under a number of its own, and with its unique values changed."""
    table = TABLES[name]
    number = row_numbers(session, table)[0]
    (row,) = changed_rows(session, f'SELECT * FROM "{name}" WHERE rowid = {number}')
    values = dict(row._mapping)
    values |= {column: other(table.columns[column], values[column]) for column in UNIQUE[name]}
    columns = ", ".join(f'"{column}"' for column in values)
    bound = ", ".join(f":{column}" for column in values)
    changed(session, f'INSERT INTO "{name}" ({columns}) VALUES ({bound})', **values)


@pytest.mark.parametrize("name", UNIQUE)
def test_an_added_row_is_named(attacked, name):
    add_copy(attacked, name)

    lines = reported(attacked)
    called = "events after 0 are missing" if name == "study" else CALLED.get(name, name)
    assert any(called in line.lower() for line in lines), lines[:3]


@pytest.mark.parametrize("name", sorted(UNIQUE.keys() - {"study", "event"}))
def test_a_later_baseline_hides_no_added_row(attacked, name):
    """Somebody adds an annotation, and the next upgrade records it with all other rows."""
    study = attacked.scalars(select(Study)).one()
    add_copy(attacked, name)
    attacked.expire_all()
    events.record_baseline(attacked, study.id)

    lines = reported(attacked)

    assert any("not in the log" in line or "differs from" in line for line in lines), lines


def test_a_baseline_during_an_entry_test_adds_nothing(attacked):
    study = attacked.scalars(select(Study)).one()
    who = join(attacked, study, add_person(attacked, "late"))
    joining.consent(attacked, study, who, CONSENT.version)
    onboarding.read_instructions(attacked, study, who, onboarding.wording_of(study))
    entry_test.start(attacked, study, who)
    entry_test.answer(attacked, study, who, "one", "b")
    events.write_pending(attacked)
    events.record_baseline(attacked, study.id)

    assert reported(attacked) == []


def test_a_rubric_of_no_study_is_not_compared(attacked):
    changed(
        attacked,
        "INSERT INTO rubric (key, sha256, yaml, loaded_at) VALUES ('a', 'b', 'c', '2026-01-01 00:00:00.000000')",
    )

    assert reported(attacked) == []


def test_an_added_explanation_is_named(attacked):
    bare = "SELECT min(id) FROM rating WHERE id NOT IN (SELECT rating_id FROM explanation)"
    changed(attacked, f"INSERT INTO explanation (rating_id, reasons, text, words) VALUES (({bare}), '[]', '', 0)")

    assert any("explanation" in line and "not in the log" in line for line in reported(attacked))


def test_a_log_without_its_last_events_is_named(attacked):
    """The head is set back too, so that the chain itself holds."""
    (number, *_), *_ = changed_rows(attacked, "SELECT number FROM event WHERE kind = 'submitted' ORDER BY number DESC")
    changed(attacked, "DELETE FROM event WHERE number >= :number", number=number)
    changed(
        attacked,
        "UPDATE study SET event_number = :last, event_hash = (SELECT hash FROM event WHERE number = :last)",
        last=number - 1,
    )

    lines = reported(attacked)

    assert any("is not what the log says" in line for line in lines)
    assert not any(line.startswith("Event") for line in lines)


def test_events_in_another_order_are_named(attacked):
    for old, new in ((5, -1), (6, 5), (-1, 6)):
        changed(attacked, "UPDATE event SET number = :new WHERE number = :old", new=new, old=old)

    assert reported(attacked) == ["Event 5 is missing or was replaced."]


def changed_rows(session: Session, query: str) -> list[Any]:
    return list(session.connection().execute(text(query)))


def test_an_unreadable_value_is_reported(attacked):
    changed(attacked, "UPDATE item SET meta = 'x' WHERE id = 1")

    assert any("cannot be read" in line for line in reported(attacked))


def test_a_rewritten_chain_differs_from_an_earlier_head(attacked):
    """The one who rewrites the log computes every hash again, so nothing else shows it."""
    study = attacked.scalars(select(Study)).one()
    head = earlier_head.EarlierHead(study.event_number, study.event_hash)
    assert earlier_head.compare(attacked, head).holds
    previous = ""
    for event in attacked.scalars(select(Event).order_by(Event.number)).all():
        event.previous_hash, event.actor = previous, "somebody"
        event.hash = previous = events.chain_hash(event.model_dump())
    study.event_hash = previous
    attacked.flush()

    assert events.first_broken(attacked, study.id) is None
    assert not earlier_head.compare(attacked, head).holds


def test_the_log_says_something_about_every_table():
    """A new table is carried by events, or has a reason why it is not."""
    carried = {table.name for table in (*DESIGN, *TAKING_PART, *WORK)}

    assert TABLES.keys() == carried | {name for name in UNPROVED if name in TABLES} | {"event", "event_detail"}
    assert {str(column) for table in TABLES.values() for column in table.columns} >= {n for n in UNPROVED if "." in n}


@pytest.mark.parametrize("kind", EventKind)
def test_every_kind_of_event_is_played_back(kind):
    assert (kind in CARRIED) != (kind in PLAIN) or kind in fold.ANSWERED


def test_the_page_on_security_prints_the_list():
    page = Path("docs/security.md").read_text(encoding="utf-8")
    names = defaultdict(list)
    for name, reason in UNPROVED.items():
        names[reason].append(f"`{name}`")

    assert [reason for reason in names if f"| {', '.join(names[reason])} | {reason} |" not in page] == []


@pytest.mark.parametrize("name", ["rating", "explanation", "slot", "submission", "highlight"])
@pytest.mark.parametrize("number", [0, 99_999])
def test_a_row_that_is_there_twice_is_named(rebuilt, name, number):
    """Somebody with the file takes the rules from the table, and a rating counts double."""
    (row,) = changed_rows(rebuilt, f'SELECT * FROM "{name}" LIMIT 1')
    values = dict(row._mapping)
    if isinstance(values.get("id"), int):
        values["id"] = number
    changed(rebuilt, f'CREATE TABLE bare AS SELECT * FROM "{name}"')
    changed(rebuilt, f'DROP TABLE "{name}"')
    changed(rebuilt, f'ALTER TABLE bare RENAME TO "{name}"')
    bound = ", ".join(f":{column}" for column in values)
    changed(rebuilt, f'INSERT INTO "{name}" VALUES ({bound})', **values)

    assert any(name in line for line in reported(rebuilt))


@pytest.mark.parametrize(
    ("name", "column"),
    [
        *(("rating", "assignment_id"), ("explanation", "rating_id"), ("slot", "assignment_id")),
        *(("submission", "assignment_id"), ("highlight", "assignment_id"), ("comment", "assignment_id")),
        *(("membership", "study_id"), ("test_answer", "attempt_id"), ("event_detail", "event_id")),
    ],
)
def test_a_row_for_a_later_one_is_named(attacked, name, column):
    """Somebody with the file adds a part of the next annotation or event, which then cannot be stored or has it."""
    table = TABLES[name]
    (row,) = changed_rows(attacked, f'SELECT * FROM "{name}" LIMIT 1')
    values = dict(row._mapping) | {column: 4_711}
    values |= {key.name: 99_999 for key in table.primary_key.columns if key.name == "id"}
    bound = ", ".join(f":{column}" for column in values)
    names = ", ".join(f'"{column}"' for column in values)
    changed(attacked, f'INSERT INTO "{name}" ({names}) VALUES ({bound})', **values)

    assert any(line.startswith(f"{name} ") and "that is not there" in line for line in reported(attacked))


def test_a_trigger_and_a_view_are_named(rebuilt):
    changed(rebuilt, "CREATE TRIGGER t AFTER INSERT ON rating BEGIN UPDATE rating SET number = 5; END")
    changed(rebuilt, "CREATE VIEW v AS SELECT * FROM rating")

    assert [line.split(", ")[0] for line in reported(rebuilt)] == [
        "The database has the trigger 't'",
        "The database has the view 'v'",
    ]


@pytest.mark.parametrize("kind", ["Trigger", "View"])
def test_a_trigger_or_view_in_another_spelling_is_named(busy, tmp_path, kind):
    """SQLite reads the kinds of its parts in any case."""
    path = tmp_path / "edited.db"
    path.write_bytes(busy.read_bytes())
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("CREATE TRIGGER t AFTER INSERT ON rating BEGIN UPDATE rating SET number = 5; END")
        file.execute("CREATE VIEW v AS SELECT * FROM rating")
        file.execute("PRAGMA writable_schema=1")
        file.execute("UPDATE sqlite_master SET type = ? WHERE type = lower(?)", (kind, kind))

    with in_memory(path) as engine, Session(engine) as session:
        assert any(f"the {kind} " in line for line in reported(session))


@pytest.mark.parametrize(
    ("table", "edit"),
    [
        ("membership", "UPDATE membership SET consented_at = NULL WHERE role = 'annotator'"),
        ("entry_attempt", "UPDATE entry_attempt SET passed = 1 - passed"),
        ("entry_attempt", "DELETE FROM entry_attempt"),
        ("study", "UPDATE study SET title = 'Another title'"),
    ],
)
def test_a_later_baseline_hides_no_edit(attacked, table, edit):
    """Somebody who edits the rows and lets the program record a baseline of them, as after an update."""
    study = attacked.scalars(select(Study)).one()
    events.record_baseline(attacked, study.id)
    assert reported(attacked) == []
    changed(attacked, edit)
    attacked.expire_all()
    events.record_baseline(attacked, study.id)

    lines = reported(attacked)

    assert any(line.startswith(f"{table} ") and "at the baseline" in line for line in lines), lines


EDITED_RATING = "UPDATE rating SET number = 3 - number WHERE assignment_id = :number"


@pytest.mark.parametrize(
    ("kind", "about", "edit"),
    [
        (EventKind.reminded, "nothing", EDITED_RATING),
        (EventKind.setting_changed, "nothing", EDITED_RATING),
        (EventKind.final_value_asked_for, "nothing", EDITED_RATING),
        (EventKind.final_value_asked_for, "it", EDITED_RATING),
        (EventKind.check_answered_again, "another", "UPDATE assignment SET active_seconds = 1 WHERE id = :number"),
        (EventKind.reminded, "it", "UPDATE assignment SET active_seconds = 1 WHERE id = :number"),
        (EventKind.annotation_edited, "it", "UPDATE slot SET order_known = 0 WHERE assignment_id = :number"),
        (EventKind.results_opened, "it", "UPDATE slot SET order_known = 0 WHERE assignment_id = :number"),
    ],
)
def test_no_other_event_states_an_edited_row(attacked, kind, about, edit):
    """Somebody who edits a row and adds an event that seems harmless but carries it as edited."""
    number = attacked.scalars(select(Rating.assignment_id).where(Rating.number.is_not(None))).first()
    assert changed(attacked, edit, number=number)
    stated = rows.read(attacked.connection(), WORK, rows.of_assignment(number))
    another = attacked.scalars(select(Assignment.id).where(Assignment.id != number)).first()
    study = attacked.scalars(select(Study)).one()
    numbers = {"nothing": None, "another": another, "it": number}
    events.record(attacked, study.id, kind, "L-1", assignment_id=numbers[about], rows=stated)

    lines = reported(attacked)

    assert any(line.startswith(f"annotation {number} ") and " the log" in line for line in lines), lines


OF_FIRST = "state = 'submitted' AND person_id IN (SELECT id FROM person WHERE pseudonym = 'P-first')"


@pytest.mark.parametrize(
    ("kind", "subject", "edit"),
    [
        (EventKind.datasheet_answered, "", "study SET unblinded_at = '2026-01-01 00:00:00.000000'"),
        (EventKind.consented, "P-third", "membership SET excluded_at = NULL"),
        (EventKind.consented, "P-gone", "membership SET withdrawn_at = NULL"),
        (EventKind.entry_test_started, "P-first", "entry_attempt SET passed = 1"),
        (EventKind.workbook_made, "P-first", f"assignment SET active_seconds = 1 WHERE {OF_FIRST}"),
        (EventKind.annotator_excluded, "P-first", f"assignment SET state = 'ignored' WHERE {OF_FIRST}"),
        (EventKind.consented, "P-first", "person SET kind = 'simulated' WHERE pseudonym = 'P-first'"),
        (EventKind.plan_stored, "", "option SET missing = 1 - missing"),
        (EventKind.check_items_added, "", "system SET blind_code = blind_code + 7"),
    ],
)
def test_no_event_states_what_its_kind_never_changes(attacked, kind, subject, edit):
    """As above, by events that do carry the whole row; one before them leaves it out, and one is of another person."""
    study = attacked.scalars(select(Study)).one()
    assert changed(attacked, f"UPDATE {edit}")
    changed(attacked, "UPDATE membership SET study_id = -study_id")
    events.record(attacked, study.id, EventKind.instructions_read, "P-third", subject="P-third")
    events.write_pending(attacked)
    changed(attacked, "UPDATE membership SET study_id = -study_id")
    attacked.expire_all()
    events.record(attacked, study.id, EventKind.annotator_excluded, "L-1", subject="P-second")
    events.record(attacked, study.id, kind, "L-1", subject=subject)

    column = edit.split()[2]
    assert [line for line in reported(attacked) if f": {column} is not what the log says" in line]


@pytest.mark.parametrize(
    ("kind", "subject", "edit"),
    [
        (EventKind.withdrew, "P-gone", "rating SET number = 3 - number"),
        (EventKind.withdrew, "", "rating SET number = 3 - number"),
        (EventKind.entry_test_passed, "P-second", "entry_attempt SET passed = 1 - passed"),
    ],
)
def test_no_event_about_somebody_states_rows_of_others(attacked, monkeypatch, kind, subject, edit):
    assert changed(attacked, f"UPDATE {edit}")
    study = attacked.scalars(select(Study)).one()
    stated = rows.read(attacked.connection(), [*TAKING_PART, *WORK], rows.of_study(study.id))
    monkeypatch.setattr(events, "CARRIED", {})  # the added event carries these rows alone
    events.record(attacked, study.id, kind, "L-1", subject=subject, rows=stated)

    lines = reported(attacked)

    assert any(edit.split()[2] in line and "the log says" in line for line in lines), lines


OF_P_FIRST = "(SELECT id FROM person WHERE pseudonym = 'P-first')"
RATINGS_OF_FIRST = (
    "UPDATE rating SET number = 3 - number "
    f"WHERE assignment_id IN (SELECT id FROM assignment WHERE person_id = {OF_P_FIRST})"
)


@pytest.mark.parametrize("kind", [EventKind.withdrew, EventKind.person_erased])
def test_nobody_is_said_to_leave_who_stays(attacked, kind):
    study = attacked.scalars(select(Study)).one()
    events.record(attacked, study.id, kind, "L-1", subject="P-first")

    assert any("says that P-first left, but no withdrawal is stored" in line for line in reported(attacked))


@pytest.mark.parametrize("kind", [EventKind.withdrew, EventKind.person_erased])
def test_a_departure_states_no_edited_rating(attacked, kind):
    """Texts go with somebody who leaves; ratings in the log before stay as they are there."""
    assert changed(attacked, RATINGS_OF_FIRST)
    assert changed(attacked, f"UPDATE membership SET withdrawn_at = joined_at WHERE person_id = {OF_P_FIRST}")
    study = attacked.scalars(select(Study)).one()
    events.record(attacked, study.id, kind, "L-1", subject="P-first")

    assert any("P-first): rating" in line and "the log says" in line for line in reported(attacked))


def test_no_event_gives_an_annotation_to_somebody_else(attacked, monkeypatch):
    """Given to somebody who has left, stated as edited, and given back."""
    assert changed(attacked, RATINGS_OF_FIRST)
    study = attacked.scalars(select(Study)).one()
    stated = rows.read(attacked.connection(), [*TAKING_PART, *WORK], rows.of_study(study.id))
    works = list(rows.unpacked(stated["assignment"]))
    given = [work | {"person_id": "P-gone" if work["person_id"] == "P-first" else work["person_id"]} for work in works]
    monkeypatch.setattr(events, "CARRIED", {})  # the added events carry these rows alone
    for _ in range(2):
        there = {**stated, "assignment": rows.packed(given)}
        events.record(attacked, study.id, EventKind.withdrew, "L-1", subject="P-gone", rows=there)
    parts = {name: stated[name] for name in ("membership", "assignment")}
    events.record(attacked, study.id, EventKind.annotator_excluded, "L-1", subject="P-first", rows=parts)

    assert any("P-first): rating" in line and "the log says" in line for line in reported(attacked))


def test_events_of_one_transaction_share_somebodys_rows(attacked):
    """The last one carries the annotations, and the one before it their ratings."""
    study = attacked.scalars(select(Study)).one()
    for kind in (EventKind.withdrew, EventKind.annotator_excluded):
        events.record(attacked, study.id, kind, "L-1", subject="P-gone")

    assert reported(attacked) == []


FIRST_TWO = "(SELECT id FROM system ORDER BY id LIMIT 2)"


@pytest.mark.parametrize(
    ("edits", "line"),
    [
        (
            [
                f"UPDATE candidate SET system_id = -system_id WHERE system_id IN {FIRST_TWO}",
                f"UPDATE candidate SET system_id = (SELECT sum(id) FROM system WHERE id IN {FIRST_TWO}) + system_id "
                "WHERE system_id < 0",
            ],
            "candidate 1: system_id is not what the log says.",
        ),
        (["UPDATE system SET name = name || '2'"], "system 1: name is not what the log says."),
        (["UPDATE item SET purpose = 'training' WHERE external_id = 'item-2'"], "(item-2): purpose is not what"),
        (
            ["UPDATE rubric SET yaml = replace(yaml, 'fluency', 'fluency '), sha256 = :sha256"],
            "rubric 1 (small): sha256 is not what the log says.",
        ),
    ],
)
def test_no_amendment_changes_what_was_judged(attacked, edits, line):
    """Somebody who exchanges systems, and adds an amendment with the hashes that fit."""
    changed(attacked, "PRAGMA defer_foreign_keys=1")
    yaml = attacked.scalars(select(RubricText.yaml)).one().replace("fluency", "fluency ")
    for edit in edits:
        changed(attacked, edit, **({"sha256": text_hash(yaml)} if ":sha256" in edit else {}))
    attacked.expire_all()
    study = attacked.scalars(select(Study)).one()
    study.design_hash = contents.design_hash(attacked, study)
    seals = {"design_hash": study.design_hash, "systems_seal": contents.systems_seal(attacked, study)}
    events.record(attacked, study.id, EventKind.design_amended, "L-1", new=seals | {"reason": "A typo."})

    assert any(line in said for said in reported(attacked))


def test_imported_ratings_do_not_unfreeze_the_design(attacked):
    """An event as the first version wrote it, after which nobody knew the hash of the design."""
    study = attacked.scalars(select(Study)).one()
    assert changed(attacked, "UPDATE study SET raters_per_item = raters_per_item + 1")
    attacked.expire_all()
    events.record(attacked, study.id, EventKind.ratings_imported, "L-1", new={"files": []})
    events.record(attacked, study.id, EventKind.datasheet_answered, "L-1")

    assert any("differ from those that were frozen" in line for line in reported(attacked))


def test_no_other_event_states_an_edited_answer(attacked):
    """As above, by values as a submission has them."""
    submitted = select(Event.assignment_id, EventDetail.new).join(EventDetail, EventDetail.event_id == Event.id)
    number, new = attacked.execute(submitted.where(Event.kind == EventKind.submitted)).first()
    for rating in new["ratings"]:
        rating[2] = rating[2] and 3 - rating[2]
    assert changed(attacked, "UPDATE rating SET number = 3 - number WHERE assignment_id = :number", number=number)
    study = attacked.scalars(select(Study)).one()
    events.record(attacked, study.id, EventKind.reminded, "L-1", assignment_id=number, new={"ratings": new["ratings"]})

    lines = reported(attacked)

    assert any(line.startswith(f"annotation {number} ") and ": rating " in line for line in lines), lines


def test_an_index_that_hides_rows_is_named(busy, tmp_path):
    """Rows count where a query reads the table, and are not there where one follows the index."""
    path = tmp_path / "edited.db"
    path.write_bytes(busy.read_bytes())
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("CREATE INDEX hiding ON rating (assignment_id)")
        file.execute("PRAGMA writable_schema=1")
        file.execute("UPDATE sqlite_master SET sql = replace(sql, 'assignment_id', 'number') WHERE name = 'hiding'")

    with in_memory(path) as engine, Session(engine) as session:
        assert any(line.startswith("The database file is damaged or was edited") for line in reported(session))


def test_an_event_outside_the_chain_proves_no_earlier_head(rebuilt):
    """Without its columns' types, a table holds events that a join finds and the chain does not read."""
    study = rebuilt.scalars(select(Study)).one()
    head = earlier_head.EarlierHead(study.event_number, study.event_hash, study.slug)
    changed(rebuilt, "CREATE TABLE bare AS SELECT * FROM event")
    columns = ", ".join(f'"{column.name}"' for column in TABLES["event"].columns)
    changed(rebuilt, f"CREATE TABLE untyped ({columns})")
    changed(rebuilt, f"INSERT INTO untyped ({columns}) SELECT {columns} FROM bare")
    changed(rebuilt, "UPDATE untyped SET study_id = CAST(study_id AS TEXT)")
    changed(rebuilt, "DROP TABLE event")
    changed(rebuilt, "ALTER TABLE untyped RENAME TO event")

    assert not earlier_head.compare(rebuilt, head).holds


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("item", "retired", "'x'"),  # true in Python, false in SQL: the item is given out again
        ("entry_attempt", "passed", "2"),  # not `IS 1`: the annotator has to pass the test again
        ("study", "demo", "''"),
        ("study", "opened_at", "replace(opened_at, ' ', 'T')"),
        ("assignment", "submitted_at", "datetime(submitted_at, '+14 hours') || substr(submitted_at, 20) || '+14:00'"),
        ("assignment", "submitted_at", "submitted_at || char(0) || 'x'"),
    ],
)
def test_a_value_that_sql_takes_for_another_is_named(attacked, table, column, value):
    """What Python reads is what the log says, and the queries of the app find something else."""
    truth = f"{column} = 0" if value == "''" else f"{column} IS NOT 0"
    ((number,),) = changed_rows(attacked, f'SELECT max(id) FROM "{table}" WHERE {column} IS NOT NULL AND {truth}')
    changed(attacked, f'UPDATE "{table}" SET {column} = {value} WHERE id = :number', number=number)

    assert reported(attacked) == [f"{table} {number}: {column} is not in the form in which this program stores it."]


DEEP = "[" * 5000


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("study", "settings", "x"),
        ("study", "created_at", "soon"),
        ("study", "state", "wrong"),
        ("study", "settings", DEEP),
        ("item", "meta", DEEP),
        ("assignment", "draft", "x"),
        ("membership", "joined_at", "2026-13-45"),
        ("event", "at", "soon"),
    ],
)
def test_a_value_that_nothing_reads_is_named(busy, tmp_path, capsys, table, column, value):
    """SQLite stores any word in any column, and what cannot be read kept the check from beginning."""
    path = tmp_path / "triptych.db"
    path.write_bytes(busy.read_bytes())
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("PRAGMA ignore_check_constraints=1")
        number = file.execute(f'SELECT min(id) FROM "{table}"').fetchone()[0]
        file.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE id = ?', [value, number])

    assert main.main(["data", "verify"]) == 1

    assert f"{table} {number}: {column} cannot be read." in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("study", "state", "wrong"),
        ("study", "created_at", "infinity"),
        ("membership", "joined_at", "0044-03-15 BC"),
        ("item", "meta", DEEP + "]" * len(DEEP)),
    ],
)
def test_a_value_of_postgresql_that_nothing_reads_is_named(
    postgres_engine, make_study, monkeypatch, capsys, table, column, value
):
    """It knows times that Python does not; the message was about a value that cannot be stored."""
    with writing(postgres_engine) as session:
        make_study(session)
    with postgres_engine.begin() as connection:
        connection.exec_driver_sql(f'ALTER TABLE "{table}" DROP CONSTRAINT IF EXISTS "ck_{column}_known"')
        change = f'UPDATE "{table}" SET "{column}" = %s WHERE id = (SELECT min(id) FROM "{table}")'
        connection.exec_driver_sql(change, (value,))
    monkeypatch.setenv("TRIPTYCH_DATABASE_URL", postgres_engine.url.render_as_string(hide_password=False))

    assert main.main(["data", "verify"]) == 1

    printed = capsys.readouterr().out
    # Python reads deeper JSON from 3.12 on; then the value is compared
    is_compared = column == "meta" and f"{table} 1 (item-1): {column} is not what the log says." in printed
    assert f"{table} 1: {column} cannot be read." in printed or is_compared


@pytest.mark.parametrize(
    ("column", "value", "sentence"),
    [
        ("new", "'x'", "event_detail 2: new cannot be read."),
        ("old", "CAST(x'ff' AS TEXT)", "event_detail: old cannot be read."),
        ("rows", "x'ff'", "event_detail 2: rows cannot be read."),
    ],
)
def test_values_of_an_event_that_nothing_reads_are_named(attacked, column, value, sentence):
    """They kept the check from beginning, and a backup that held them from being refused in a sentence."""
    changed(attacked, f"UPDATE event_detail SET {column} = {value} WHERE event_id = 2")
    study = attacked.get_one(Study, attacked.scalars(select(Event.study_id).where(Event.id == 2)).one())
    assert sentence in reported(attacked)
    if column != "old":
        assert events.first_broken(attacked, study.id) == events.UNREADABLE_LOG


def test_an_arrival_that_says_nothing_usable_is_named(attacked):
    """Where a study came from is read before its log is checked."""
    changed(attacked, "UPDATE event SET kind = 'study arrived' WHERE id = 2")
    changed(attacked, """UPDATE event_detail SET new = '{"slug": "x"}' WHERE event_id = 2""")
    assert events.UNREADABLE_LOG in reported(attacked)
