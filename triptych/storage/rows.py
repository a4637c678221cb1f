"""The rows of a study as recorded in its log, and the columns that the log does not contain.

Every other column of every table follows from the events: `operations.fold` plays them back, `operations.verify`
compares. Long texts, JSON and texts written by people appear as digests.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any

from sqlalchemy import JSON, ColumnElement, Connection, ForeignKeyConstraint, Table, or_, select

from triptych.storage.models import (
    Assignment,
    Base,
    Candidate,
    Comment,
    EntryAttempt,
    Explanation,
    Highlight,
    Item,
    JsonObject,
    Membership,
    Option,
    Person,
    PlannedItem,
    Rating,
    Reference,
    RubricText,
    Slot,
    StoredCriterion,
    Study,
    Submission,
    System,
    TestAnswer,
    Turn,
    Workbook,
)

TABLES: Mapping[str, Table] = Base.metadata.tables
DESIGN = tuple(
    table.__table__
    for table in (RubricText, Study, StoredCriterion, Option, Item, Turn, System, Candidate, Reference, PlannedItem)
)
WORK = tuple(table.__table__ for table in (Assignment, Slot, Submission, Rating, Explanation, Highlight))
TAKING_PART = tuple(table.__table__ for table in (Person, Membership, EntryAttempt, TestAnswer, Workbook, Comment))

_ACCOUNT = "An account belongs to the installation and may be used in several studies; no log has names or secrets."
_SECRETS = "Links, logins and one-time secrets belong to the installation; who takes part is recorded in membership."
_DRAFT = "A draft is saved every few seconds, without an event; submissions are in the log."
_NUMBER = "A number chosen by the database. Rows are matched by what they belong to, and references are followed."
_REPORT = (
    "A report is a copy, which may be deleted. Its data are compared with its own hashes and the event that it names; "
    "its pages, tables and figures have no hash, and no log records who made it and when."
)
# table, or table.column → why the log does not contain it; `docs/security.md` prints this list
UNPROVED: dict[str, str] = {
    "setting": "State of the installation, for example that the demo was loaded.",
    "panel_identity": _ACCOUNT,
    "login": _SECRETS,
    "ticket": _SECRETS,
    "token": _SECRETS,
    "stored_answer": "Replies to scripts, stored for a day, so that a request sent twice acts once.",
    "failed_sign_in": _SECRETS,
    "invitation": _SECRETS,
    "person.role": _ACCOUNT,
    "person.name": _ACCOUNT,
    "person.email": _ACCOUNT,
    "person.passcode_hash": _ACCOUNT,
    "person.created_at": _ACCOUNT,
    "person.disabled_at": _ACCOUNT,
    "person.language": _ACCOUNT,
    "person.identity": _ACCOUNT,
    "assignment.draft": _DRAFT,
    "assignment.draft_seq": _DRAFT,
    "assignment.pen": _DRAFT,
    "assignment.expires_at": "A reservation is extended while its annotator works, without an event; so an unfinished "
    "one may be reserved or expired, and has the active time of its draft.",
    "test_answer": "Answers of an entry test that has not been handed in; once it has, they are compared.",
    "rating.id": _NUMBER,
    "explanation.id": _NUMBER,
    "highlight.id": _NUMBER,
    "event.id": _NUMBER,
    "snapshot": _REPORT,
}
# checked without being carried: they are the end of the chain, or are counted from other rows
FOLLOWS = {"study.event_number", "study.event_hash", "item.taken"}
LONGEST_PLAIN = 32  # characters; a digest is longer, so a text that looks like one is hashed itself
# texts written by people and secrets are carried as digests, whatever their length
ALWAYS_HIDDEN = {
    "assignment.token",
    "assignment.note",
    "assignment.reason",
    "comment.text",
    "explanation.text",
    "highlight.comment",
    "membership.excluded_reason",
    "workbook.token",
}
Row = JsonObject


@cache
def carried(table: Table) -> list[str]:
    """The names of the columns recorded in the log, including the row numbers by which rows refer to each other."""
    leave_out = UNPROVED.keys() | FOLLOWS
    columns = [c for c in table.columns if c.name == "id" or f"{table.name}.{c.name}" not in leave_out]
    return [column.name for column in columns]


def digest_of(text: str) -> str:
    """Half of the SHA-256 of a text."""
    return f"#{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:LONGEST_PLAIN]}"


class _CarriedAs(StrEnum):
    """How a column's values are carried."""

    plain = "plain"
    person = "person"
    json = "json"
    hidden = "hidden"


@cache
def _shapes(table: Table) -> dict[str, _CarriedAs]:
    """Name of each recorded column → its shape; cached, as every annotation records rows."""
    return {name: _shape(table, name) for name in carried(table)}


def _shape(table: Table, name: str) -> _CarriedAs:
    if name == "person_id":
        return _CarriedAs.person
    if isinstance(table.columns[name].type, JSON):
        return _CarriedAs.json
    return _CarriedAs.hidden if f"{table.name}.{name}" in ALWAYS_HIDDEN else _CarriedAs.plain


def as_carried(table: Table, row: Mapping[str, object], persons: Mapping[int, str]) -> Row:
    """A row as recorded in the log: people by their pseudonyms, times as text, long texts as digests.

    Columns that `row` lacks are left out.
    """
    return {name: _value(row[name], shape, persons) for name, shape in _shapes(table).items() if name in row}


def _value(value: Any, shape: _CarriedAs, persons: Mapping[int, str]) -> Any:
    if value is None:
        return None
    if shape is _CarriedAs.person:
        return persons.get(value, value)
    if shape is _CarriedAs.json:
        value = json.dumps(value, sort_keys=True, ensure_ascii=False)
    if isinstance(value, datetime):
        return value.isoformat()
    if not isinstance(value, str):
        return value
    return digest_of(value) if shape is _CarriedAs.hidden else shortened(str(value))


def shortened(text: str) -> str:
    """A text as the rows of a log carry it, unless it was written by people: a long one as its digest."""
    return text if len(text) <= LONGEST_PLAIN else digest_of(text)


def owner(table: Table) -> ForeignKeyConstraint | None:
    """The foreign key to the row that owns a row of this table; a parent in the study comes before a person."""
    owners = [key for key in table.foreign_key_constraints if key.ondelete == "CASCADE"]
    return min(
        owners,
        key=lambda key: ("study_id" not in key.column_keys, key.referred_table.name == "person", key.column_keys),
        default=None,
    )


def within(table: Table, roots: Mapping[Table, ColumnElement[bool]]) -> ColumnElement[bool]:
    """Condition on the table: its row or an owner of it (see `owner`) fulfils one of the conditions in `roots`.

    Raises KeyError for a table that belongs to none of them.
    """
    if table in roots:
        return roots[table]
    key = owner(table)
    if key is None:
        raise KeyError(table.name)
    column, referred = key.elements[0].parent, key.elements[0].column
    return column.in_(select(referred).where(within(key.referred_table, roots)))


def of_study(study_id: int) -> dict[Table, ColumnElement[bool]]:
    """Roots (for `within`) of all rows of a study, with its rubric and all participants."""
    study, rubric, person = Study.__table__, RubricText.__table__, Person.__table__
    parts = [Membership.__table__, Assignment.__table__, Workbook.__table__, PlannedItem.__table__]
    return {
        study: study.c.id == study_id,
        rubric: rubric.c.id.in_(select(study.c.rubric_id).where(study.c.id == study_id)),
        person: or_(*(person.c.id.in_(select(part.c.person_id).where(part.c.study_id == study_id)) for part in parts)),
    }


def of_person(study_id: int, pseudonym: str) -> dict[Table, ColumnElement[bool]]:
    """Roots of one person's part in a study."""
    person = Person.__table__
    own = select(person.c.id).where(person.c.pseudonym == pseudonym).scalar_subquery()
    parts = (Membership.__table__, Assignment.__table__, Workbook.__table__)
    roots = {part: (part.c.study_id == study_id) & (part.c.person_id == own) for part in parts}
    # a person whose last membership has ended no longer belongs to the study
    return {person: (person.c.pseudonym == pseudonym) & of_study(study_id)[person], **roots}


def of_assignment(assignment_id: int) -> dict[Table, ColumnElement[bool]]:
    """Roots of one assignment and its person."""
    work, person = Assignment.__table__, Person.__table__
    own = select(work.c.person_id).where(work.c.id == assignment_id)
    return {work: work.c.id == assignment_id, person: person.c.id.in_(own)}


def pseudonyms(connection: Connection, roots: Mapping[Table, ColumnElement[bool]]) -> dict[int, str]:
    """Person → pseudonym, for all people whose rows these are."""
    person = Person.__table__
    query = select(person.c.id, person.c.pseudonym).where(within(person, roots))
    return dict(map(tuple, connection.execute(query)))


def packed(rows: Iterable[Row]) -> JsonObject:
    """Rows of one table in the log's JSON form: the column names once, and a list of values per row."""
    rows = list(rows)
    names = list(rows[0]) if rows else []
    return {"columns": names, "rows": [[row[name] for name in names] for row in rows]}


def written(model: type[Base], values: Sequence[Mapping[str, object]]) -> JsonObject:
    """Rows of one table that a command has just written, for `events.record`; columns that name no person."""
    table = model.__table__
    return {table.name: packed(as_carried(table, row, {}) for row in values)}


def inserted(model: type[Base], values: Sequence[Mapping[str, Any]], pseudonym: str = "") -> JsonObject:
    """Like `written`, for complete new rows of this person: columns without a value are NULL."""
    table = model.__table__
    shapes = _shapes(table)
    persons = {row["person_id"]: pseudonym for row in values if "person_id" in row}
    lines = [[_value(row.get(name), shape, persons) for name, shape in shapes.items()] for row in values]
    return {table.name: {"columns": list(shapes), "rows": lines}}


def read(
    connection: Connection,
    tables: Sequence[Table],
    roots: Mapping[Table, ColumnElement[bool]],
) -> JsonObject:
    """The rows of these tables as they are stored now: name of the table → its rows, packed."""
    persons = pseudonyms(connection, roots)
    return {
        table.name: {
            "columns": list(carried(table)),
            "rows": list(_lines(connection, table, within(table, roots), persons)),
        }
        for table in tables
    }


def _lines(
    connection: Connection, table: Table, which: ColumnElement[bool], persons: Mapping[int, str]
) -> Iterator[list[object]]:
    """These rows as recorded in the log, in the order of their numbers; others cannot write meanwhile.

    Other columns are not read: drafts may be long.
    """
    names = carried(table)
    query = select(*(table.c[name] for name in names)).where(which).order_by(*table.primary_key.columns)
    shapes = [_shapes(table)[name] for name in names]
    for row in connection.execute(query.execution_options(yield_per=1000)):
        yield [_value(value, shape, persons) for value, shape in zip(row, shapes, strict=True)]


def stored(connection: Connection, table: Table, which: ColumnElement[bool]) -> Iterable[Mapping[str, Any]]:
    """These rows of the table, in the order of their numbers."""
    query = select(table).where(which).order_by(*table.primary_key.columns)
    rows = connection.execute(query.execution_options(yield_per=1000))
    names = list(rows.keys())
    return (dict(zip(names, row, strict=True)) for row in rows)


def unpacked(part: Mapping[str, Any]) -> Iterable[Row]:
    """The rows that `packed` has packed."""
    return (dict(zip(part["columns"], values, strict=True)) for values in part["rows"])
