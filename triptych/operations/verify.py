"""Checks that the tables of a study match its event log. `fold` rebuilds every row and column from the log alone, and
the result is compared with the stored rows; `storage.rows` lists the few columns that no log can contain. This reveals
changes by anyone who does not rewrite the whole log. Exports, reports and backups contain the number and hash of the
last event, and `earlier_head` compares the log with those.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice, zip_longest
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    Connection,
    LargeBinary,
    Select,
    String,
    Table,
    and_,
    case,
    cast,
    func,
    not_,
    select,
    type_coerce,
)
from sqlalchemy.types import NullType
from sqlmodel import Session

from triptych.annotate.logged import LoggedHighlight
from triptych.annotate.reservations import takes_places
from triptych.operations import frozen, sealed
from triptych.operations.fold import fold
from triptych.operations.folded import FoldedAnswer, FoldedStudy, FoldedWork, hidden_mark
from triptych.rubric.answers import letter, place_in_words
from triptych.stats.numbers import counted
from triptych.storage import events, foreign_parts, sqlite_files
from triptych.storage.events import BrokenChain
from triptych.storage.models import (
    IN_PLACE,
    UNFINISHED,
    Assignment,
    AssignmentState,
    Candidate,
    Explanation,
    Highlight,
    Item,
    Membership,
    Person,
    Purpose,
    Rating,
    Slot,
    Study,
    Turn,
    Utc,
    annotators_part,
)
from triptych.storage.rows import DESIGN, TABLES, TAKING_PART, UNPROVED, Row, as_carried, of_study, stored, within
from triptych.storage.unreadable import UNREADABLE, reading_apart, unreadable

MAX_DIFFERENCES = 1000
OF_DRAFTS = ("state", "active_seconds")  # a draft changes these columns of an unfinished annotation without an event
# a row is named by the first of these columns that has a value
NAMES = ("external_id", "pseudonym", "person_id", "key", "slug", "id")
TIME = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9] [0-9][0-9]:[0-9][0-9]:[0-9][0-9].[0-9][0-9][0-9][0-9][0-9][0-9]"
TIME_BYTES = len("2026-01-01 00:00:00.000000")
ASSIGNMENT, SLOT, SUBMISSION = (TABLES[name] for name in ("assignment", "slot", "submission"))


@dataclass(frozen=True)
class Verdict:
    """The result for one study: `broken` describes the first invalid event, `differences` the rows that differ.

    `erased` counts annotations whose values were erased with their annotator. `baseline` is the number and time of the
    event before which an older version left some columns out of the log.
    """

    slug: str
    events: int
    hash: str
    broken: str | None
    differences: tuple[str, ...] = ()
    erased: int = 0
    baseline: tuple[int, datetime] | None = None

    @property
    def holds(self) -> bool:
        return self.broken is None and not self.differences

    @property
    def sentence(self) -> str:
        if self.broken is not None:
            return self.broken
        if self.differences:
            more = len(self.differences) - 1
            least = "At least " if len(self.differences) == MAX_DIFFERENCES else ""
            return self.differences[0] + (f" {least}{counted(more, 'more difference')}." if more else "")
        gone = f" Values erased with their annotator: {counted(self.erased, 'annotation')}." if self.erased else ""
        number = counted(self.events, "event")
        holds = f"The log of {number} is valid, and every row matches it; last hash {self.hash[:12]}."
        return f"{holds}{gone}{self._since}"

    @property
    def _since(self) -> str:
        if self.baseline is None:
            return ""
        number, at = self.baseline
        return (
            f" Annotations, texts and design are proved since the start; everything else since event {number} of "
            f"{at:%Y-%m-%d}, when this version began to log every row."
        )


def verify(session: Session, study: Study) -> Verdict:
    """Check the chain and compare every row; names at most `MAX_DIFFERENCES` differences. Raises DatabaseUnavailable.

    On PostgreSQL, call `database.see_one_state` first: what others store between two queries would be a difference.
    """
    events.write_pending(session)  # of an import; nothing can be written while reading apart
    try:
        with reading_apart(session.connection()):
            folded = fold(events.chain(session, study.id))
    except (BrokenChain, *UNREADABLE) as error:
        is_told = isinstance(error, BrokenChain) and error.__cause__ is None
        broken = str(error) if is_told else next(unreadable(session.connection()), events.UNREADABLE_LOG)
        return Verdict(study.slug, study.event_number, study.event_hash, broken)
    differences = tuple(islice(_readable(session, _differences(session, study, folded)), MAX_DIFFERENCES))
    head = study.slug, study.event_number, study.event_hash, None
    return Verdict(*head, differences, len(folded.erased), folded.baseline)


def _readable(session: Session, differences: Iterator[str]) -> Iterator[str]:
    """The differences, up to the first value that cannot be read as its column's type."""
    try:
        with reading_apart(session.connection()):
            yield from differences
    except UNREADABLE as error:
        places = list(islice(unreadable(session.connection()), MAX_DIFFERENCES))
        yield from places or [f"A stored value cannot be read, so the check ends here ({type(error).__name__})."]


def _ambiguous(connection: Connection) -> Iterator[str]:
    """Values of an SQLite file that Python reads as the log has them, but that SQL compares as others.

    Any text is true in Python and most are false in SQL; a time in another form is sorted elsewhere.
    """
    if connection.dialect.name != "sqlite":
        return
    for column in (column for table in TABLES.values() for column in table.columns):
        condition = _in_another_form(column)
        if condition is not None and not UNPROVED.keys() & {column.table.name, str(column)}:
            keys = select(*column.table.primary_key.columns).where(condition)
            for key in connection.execute(keys):
                row = f"{column.table.name} {', '.join(map(str, key))}"
                yield f"{row}: {column.name} is not in the form in which this program stores it."


def _in_another_form(column: Column[object]) -> ColumnElement[bool] | None:
    if isinstance(column.type, Boolean):
        return type_coerce(column, NullType()).not_in([0, 1])
    if isinstance(column.type, Utc):
        as_text = type_coerce(column, String())
        # GLOB ends at a NUL, and so does Python; a comparison in SQL does not
        return not_(as_text.bool_op("GLOB")(TIME)) | (func.length(cast(as_text, LargeBinary)) != TIME_BYTES)
    return None


def _differences(session: Session, study: Study, folded: FoldedStudy) -> Iterator[str]:
    study = session.get_one(Study, study.id, populate_existing=True)
    persons = dict(map(tuple, session.execute(select(Person.id, Person.pseudonym))))
    foreign = foreign_parts.in_database(session.connection())
    yield from foreign
    yield from sqlite_files.damage(session.connection())
    if not foreign:  # SQLite compares no references to a table in another form
        yield from sqlite_files.ownerless(session.connection(), TABLES)
    for number in folded.gone:
        yield f"The values of event {number} are missing from the log, but nobody withdrew or was erased since."
    yield from _of_departures(folded)
    yield from _of_baseline(folded)
    yield from _of_rows(session, study, folded, persons)
    yield from _of_work(session, study, folded, persons)
    yield from _of_places(session, study)
    yield from frozen.of_texts(session, study)
    yield from frozen.of_design(session, study, folded.design)
    yield from sealed.of_reports(session, study)
    yield from _ambiguous(session.connection())


def _of_departures(folded: FoldedStudy) -> Iterator[str]:
    """People who take part although an event says that they left: it would state their ratings as they are now."""
    parts = folded.tables["membership"].values()
    left = {part.get("person_id") for part in parts if part.get("withdrawn_at") is not None}
    for person, number in folded.departures.items():
        if person not in left:
            yield f"Event {number} says that {person or 'nobody'} left, but no withdrawal is stored."


def _of_baseline(folded: FoldedStudy) -> Iterator[str]:
    """Annotations and rows that differed from the log when the baseline was taken."""
    for table, there, here in folded.replaced:
        # there may be newer columns
        yield from _row(f"{table} {_name(there or here or {})} at the baseline", there, here, complete=False)
    for number, before, after in folded.restated:
        for difference in _compared(before, after, folded.tables["criterion"]):
            yield f"annotation {number} at the baseline: {difference}"


# Rows of the design and of participants


def _of_rows(session: Session, study: Study, folded: FoldedStudy, persons: Mapping[int, str]) -> Iterator[str]:
    """Rows that are changed, missing or added, in the order of their numbers."""
    underway = {number for number, row in folded.tables["entry_attempt"].items() if row["finished_at"] is None}
    parts = [*folded.tables["membership"].values(), *(work.row for work in folded.works.values())]
    taking_part = {part.get("person_id") for part in parts}
    for table in (*DESIGN, *TAKING_PART):
        logged = dict(folded.tables[table.name])
        for row in stored(session.connection(), table, within(table, of_study(study.id))):
            there = logged.pop(row["id"], None)
            if table.name == "test_answer" and row["attempt_id"] in underway:
                continue
            here = as_carried(table, row, persons)
            yield from _row(f"{table.name} {_name(here)}", there, here)
        for row in logged.values():
            if table.name == "person" and row["pseudonym"] not in taking_part:
                continue  # a former lead, whose final values others have replaced
            if table.name != "test_answer" or row["attempt_id"] not in underway:
                yield from _row(f"{table.name} {_name(row)}", row, None)


def _name(row: Row) -> str:
    name = next(row[column] for column in NAMES if row.get(column) is not None)
    return f"{name}" if name == row["id"] else f"{row['id']} ({name})"


def _row(where: str, there: Row | None, here: Row | None, complete: bool = True) -> Iterator[str]:
    """Differences between the log's row and the stored one, of which one may be missing."""
    if there is None or here is None:
        yield f"{where}: the row is {'not in the log' if there is None else 'in the log only'}."
    else:
        yield from (f"{where}: {difference}" for difference in _columns(here, there, complete))


def _columns(here: Row, there: Row, complete: bool = True, ignored: Sequence[str] = ()) -> Iterator[str]:
    """Differences between two rows. If `complete`, columns that the log's row does not have are differences, too."""
    for column in there | here if complete else there:
        if column not in there:
            yield f"{column} is not in the log."
        elif column not in ignored and (column not in here or here[column] != there[column]):
            yield f"{column} is not what the log says."


# Assignments and what belongs to them


def _of_work(session: Session, study: Study, folded: FoldedStudy, persons: Mapping[int, str]) -> Iterator[str]:
    ids = list(session.scalars(select(Assignment.id).where(Assignment.study_id == study.id).order_by(Assignment.id)))
    names = dict(map(tuple, session.execute(select(Item.id, Item.external_id).where(Item.study_id == study.id))))
    for start in range(0, len(ids), frozen.BATCH):
        for number, work, row in _stored_work(session, ids[start : start + frozen.BATCH], persons):
            where = f"annotation {number} ({names.get(row['item_id'], '?')}, {persons.get(row['person_id'], '?')})"
            expected = folded.works.pop(number, None)
            if expected is None:
                yield f"{where}: the row is not in the log."
                continue
            for difference in _compared(expected, work, folded.tables["criterion"], complete=True):
                yield f"{where}: {difference}"
    for number, work in folded.works.items():
        yield f"annotation {number}: the row is in the log only (event {work.number})."


def _stored_work(
    session: Session, batch: Sequence[int], persons: Mapping[int, str]
) -> Iterator[tuple[int, FoldedWork, Mapping[str, Any]]]:
    """For each assignment of a batch: its number, its stored content, and its row."""
    run = session.connection().execute
    answers = frozen.grouped(run(_answers(batch)))
    spans = frozen.grouped(run(_spans(batch)))
    slots, submissions = (_by_assignment(session, table, batch) for table in (SLOT, SUBMISSION))
    for row in stored(session.connection(), ASSIGNMENT, ASSIGNMENT.c.id.in_(batch)):
        number = row["id"]
        work = FoldedWork(
            as_carried(ASSIGNMENT, row, persons),
            _single("position", slots[number]),
            _single("id", submissions[number]),
            [FoldedAnswer.of(*answer) for answer in answers[number]],
            [_marked(span) for span in spans[number]],
        )
        yield number, work, row


def _single(column: str, parts: Sequence[Row]) -> dict[Any, Row]:
    """Rows by a unique column. If somebody dropped the constraint, a repeated value gets a key of its own."""
    named: dict[Any, Row] = {}
    for row in parts:
        named[f"{row[column]} (again)" if row[column] in named else row[column]] = row
    return named


def _answers(batch: Sequence[int]) -> Select[*tuple[Any, ...]]:
    names = ("assignment_id", "position", "criterion_id", "number", "option_id", "missing")
    return (
        select(*(getattr(Rating, name) for name in names), Explanation.reasons, Explanation.text, Explanation.words)
        .outerjoin(Explanation, Explanation.rating_id == Rating.id)
        .where(Rating.assignment_id.in_(batch))
    )


def _spans(batch: Sequence[int]) -> Select[*tuple[Any, ...]]:
    names = ("assignment_id", "position", "turn", "start", "end", "label", "comment", "quote", "unit")
    at_slot = and_(Slot.assignment_id == Highlight.assignment_id, Slot.position == Highlight.position)
    in_context = Highlight.position.is_(None)
    of_context = case((Highlight.turn.is_(None), Item.context), else_=Turn.text)
    return (
        select(*(getattr(Highlight, name) for name in names))
        .add_columns(case((in_context, of_context), else_=Candidate.text), Candidate.turns)
        .outerjoin(Slot, at_slot)
        .outerjoin(Candidate, Candidate.id == Slot.candidate_id)
        .outerjoin(Assignment, and_(in_context, Assignment.id == Highlight.assignment_id))
        .outerjoin(Item, Item.id == Assignment.item_id)
        .outerjoin(Turn, and_(Turn.item_id == Item.id, Turn.position == Highlight.turn))
        .where(Highlight.assignment_id.in_(batch))
    )


def _by_assignment(session: Session, table: Table, batch: Sequence[int]) -> dict[int, list[Row]]:
    groups: dict[int, list[Row]] = defaultdict(list)
    for row in stored(session.connection(), table, table.c.assignment_id.in_(batch)):
        groups[row["assignment_id"]].append(as_carried(table, row, {}))
    return groups


def _marked(span: Sequence[Any]) -> LoggedHighlight:
    """A highlight; without its quote if the text has the same words at that place."""
    position, turn, start, end, label, comment, quote, unit, text, turns = span
    is_whole = turn is None or position is None  # for a context, `text` is that of the turn
    whole = (text or "") if is_whole else turns[turn][1] if turns and turn < len(turns) else ""
    as_in_text = start is not None and whole[start:end] == quote
    return hidden_mark(LoggedHighlight(position, turn, start, end, label, comment, None if as_in_text else quote, unit))


def _compared(
    expected: FoldedWork, actual: FoldedWork, criteria: Mapping[int, Row], complete: bool = False
) -> Iterator[str]:
    """The differences between log and tables. If `complete`, values that the log does not have are differences, too."""
    unfinished = {expected.row.get("state"), actual.row.get("state")} <= {*UNFINISHED}
    yield from _columns(actual.row, expected.row, complete, OF_DRAFTS if unfinished else ())
    if complete or expected.slots:  # earlier versions logged no order for imported ratings
        yield from _keyed("slot {}", expected.slots, actual.slots, complete)
    if expected.submissions is not None:
        yield from _keyed("submission {}", expected.submissions, actual.submissions or {}, complete)
    elif complete:
        yield "its submissions are not in the log."
    if expected.answers is None or expected.highlights is None:
        if complete:
            yield "its ratings are not in the log."
        return
    yield from _of_answers(expected.answers, actual.answers or (), criteria)
    there, here = Counter(expected.highlights), Counter(actual.highlights or ())
    yield from _of_marks(list((there - here).elements()), list((here - there).elements()))


def _of_marks(there: Sequence[LoggedHighlight], here: Sequence[LoggedHighlight]) -> Iterator[str]:
    """Differences between the remaining highlights of both sides, compared in pairs."""
    for old, new in zip_longest(there, here):
        mark = old or new
        name = f"highlight of {place_in_words(mark.position)}, {mark.start} to {mark.end}"
        yield from _row(name, old and old._asdict(), new and new._asdict())


def _keyed(name: str, there: Mapping[Any, Row], here: Mapping[Any, Row], complete: bool) -> Iterator[str]:
    for key in there.keys() | here.keys():
        called = name.format(letter(key) if isinstance(key, int) else key)
        if key not in there or key not in here:
            yield f"{called} is {'not in the log' if key not in there else 'in the log only'}."
            continue
        for column, value in there[key].items():
            if here[key].get(column) != value:
                yield f"{column} of {called} is not what the log says."
        if complete and here[key].keys() - there[key].keys():
            yield f"{', '.join(sorted(here[key].keys() - there[key].keys()))} of {called}: not in the log."


def _of_answers(
    logged: Sequence[FoldedAnswer], stored_answers: Sequence[FoldedAnswer], criteria: Mapping[int, Row]
) -> Iterator[str]:
    there, here = ({answer[:2]: answer for answer in side} for side in (logged, stored_answers))
    if there == here and len(logged) == len(stored_answers):
        return
    rows = Counter(answer[:2] for answer in stored_answers)
    for position, criterion in there.keys() | here.keys():
        name = f"{criteria.get(criterion, {}).get('key', criterion)} of {place_in_words(position)}"
        old, new = there.get((position, criterion)), here.get((position, criterion))
        if old is None or new is None:
            yield from _row(f"rating {name}", old and old._asdict(), new and new._asdict())
        elif old != new:
            yield from _of_answer(name, old, new)
        if rows[position, criterion] > 1:
            yield f"rating {name}: the row, or its explanation, is there {rows[position, criterion]} times."


def _of_answer(name: str, old: FoldedAnswer, new: FoldedAnswer) -> Iterator[str]:
    for column in ("number", "option_id", "missing"):
        logged, value = getattr(old, column), getattr(new, column)
        if logged != value:
            yield f"rating {name}: {column} is {_spoken(value)}, the log says {_spoken(logged)}."
    there, here = (_explanation(answer) for answer in (old, new))
    if there or here:
        yield from _row(f"explanation of {name}", there, here)


def _explanation(answer: FoldedAnswer) -> Row | None:
    if answer.words is None:
        return None
    return {"reasons": answer.reasons, "text": answer.text, "words": answer.words}


def _spoken(value: object) -> str:
    return "empty" if value is None else str(value).removesuffix(".0")


# Derived columns


def _of_places(session: Session, study: Study) -> Iterator[str]:
    """Items whose `taken` differs from their held or filled places. Annotations by excluded annotators, judges and
    simulated annotators fill none.
    """
    held = (
        select(Assignment.item_id)
        .outerjoin(Membership, annotators_part() & Membership.excluded_at.is_not(None))
        .where(Assignment.study_id == study.id, Assignment.purpose == Purpose.main, Membership.id.is_(None))
        .where(Assignment.state.in_([AssignmentState.reserved, *IN_PLACE]), takes_places(study))
    )
    places = Counter(session.scalars(held))
    items = select(Item.id, Item.external_id, Item.taken).where(Item.study_id == study.id)
    for number, name, taken in session.execute(items):
        if taken != places[number]:
            yield f"item {number} ({name}): taken is {taken}, its annotations fill {counted(places[number], 'place')}."
