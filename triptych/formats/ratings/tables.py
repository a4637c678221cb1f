"""Tables and records of ratings: one row per rating, or one column per criterion or per annotator.

    long                   item_id, system, annotator, criterion, value
    a column a criterion   item_id, system, annotator, fluency, coherence
    a column an annotator  item_id, system, criterion, anna, bert   (or without criterion: it is called 'rating')

The long export of this program is the first of them with more columns. A table without a column for systems rates
one system 'unknown'; an empty system in a column for systems is a rating about the item.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from triptych.errors import ImportRefused
from triptych.formats.layout import CONTEXT_NAMES, simple
from triptych.formats.model import Json, JsonObject, Record, Source
from triptych.formats.ratings.model import (
    UNKNOWN_SYSTEM,
    Gathering,
    RaterKind,
    RatingExtras,
    Unit,
    moment_of,
    named,
    seconds_of,
    whole,
)
from triptych.formats.ratings_csv import RATINGS_HEADER
from triptych.formats.tables import restored
from triptych.storage.models import Purpose

# what a column may be → in words, and what it may be called
MEANINGS = {
    "item": (
        "id of the item",
        ("item_id", "id", "item", "instance_id", "example_id", "example_idx", "doc_id", "question_id"),
    ),
    "system": ("system", ("system", "model", "model_name", "setup_id")),
    "annotator": (
        "annotator",
        ("annotator", "annotator_id", "worker", "worker_id", "user", "user_id", "rater", "rater_id"),
    ),
    "judge": ("judge (a model)", ("judge", "judge_model", "agent")),
    "kind": ("kind of annotator", ("annotator_kind", "kind")),
    "criterion": ("criterion", ("criterion", "dimension", "aspect", "metric")),
    "value": ("value", ("value", "rating", "score", "label")),
    "option": ("value, where it is an option", ("option",)),
    "missing": ("marks what is missing", ("missing",)),
    "explanation": ("explanation", ("explanation", "justification", "rationale", "reason", "comment")),
    "reasons": ("reasons", ("reasons",)),
    "position": ("position", ("position",)),
    "at": ("time", ("submitted_at", "created_at", "timestamp", "time")),
    "seconds": ("seconds spent", ("active_seconds", "seconds", "lead_time")),
    "purpose": ("purpose", ("purpose",)),
    "repeat": ("repeat", ("repeat_of", "repeat")),
    "excluded": ("excluded", ("excluded",)),
    "exclusion": ("reason of the exclusion", ("exclusion_reason",)),
    "text": ("text of the candidate", ("text", "response", "output", "candidate", "summary", "completion")),
    "context": ("context", CONTEXT_NAMES),
}
OF_THE_EXPORT = {"study", "round", "design_hash", "explanation_words", "surplus", "version"}
NO_TIME = "{n} time(s) are not in ISO 8601; they are taken as not known."
OTHER_PURPOSE = "{n} rating(s) of training and tests are left out."
KINDS: dict[str, RaterKind] = {"judge": "judge", "simulated": "simulated"}
TRUE = {"1", "true", "yes"}


Cells = JsonObject


@dataclass
class Columns:
    """Which column is what; `wide` are the others, one criterion or annotator each."""

    by_meaning: dict[str, str]
    wide: list[str] = field(default_factory=list)

    def cells(self, record: Record) -> Cells:
        """What a row has, by its meaning."""
        return {part: record.values.get(column) for part, column in self.by_meaning.items()}


def read(source: Source, into: Gathering) -> None:
    """Ratings of a table. Raises ImportRefused where no column says whose ratings they are."""
    columns = find_columns(source.columns)
    into.recognised |= {column: MEANINGS[part][0] for part, column in columns.by_meaning.items()}
    if set(RATINGS_HEADER) <= set(source.columns):
        source = restored(source)
    _check(columns, source.columns)
    for record in source.records:
        cells = columns.cells(record)
        item = named(cells["item"])
        if not item:
            into.findings.error("has no id of an item.", record.row, columns.by_meaning["item"])
        elif named(cells.get("purpose")) not in ("", Purpose.main, Purpose.repeat):
            into.findings.tally(OTHER_PURPOSE)
        else:
            _texts(record.row, cells, columns, item, into)
            _row(record, cells, columns, item, into)
    if columns.wide:
        meaning = "criterion" if {"annotator", "judge"} & set(columns.by_meaning) else "ratings of annotator"
        into.recognised |= {column: f"{meaning} '{column}'" for column in columns.wide}


def find_columns(names: Sequence[str]) -> Columns:
    """The first column of every known meaning, and the columns that have none."""
    by_name: dict[str, str] = {}
    for name in names:
        by_name.setdefault(simple(name), name)
    by_meaning: dict[str, str] = {}
    for part, (_, spellings) in MEANINGS.items():
        column = next(
            (by_name[name] for name in spellings if by_name.get(name) not in (None, *by_meaning.values())), None
        )
        if column is not None:
            by_meaning[part] = column
    long = "value" in by_meaning and "criterion" in by_meaning
    taken = {*by_meaning.values(), *(name for name in names if simple(name) in OF_THE_EXPORT)}
    return Columns(by_meaning, [] if long else [name for name in names if name not in taken])


def _check(columns: Columns, names: Sequence[str]) -> None:
    by_meaning = columns.by_meaning
    if "item" not in by_meaning:
        raise ImportRefused("No column says which item a rating belongs to. Call it 'item_id'.")
    whose = {"annotator", "judge"} & set(by_meaning)
    if "criterion" in by_meaning and "value" in by_meaning and not whose:
        raise ImportRefused("No column says who rated. Call it 'annotator', or 'judge' for a model.")
    if not columns.wide and "value" not in by_meaning:
        raise ImportRefused(f"No column holds values. There are {', '.join(names)}; call it 'value'.")


def _texts(row: int, cells: Cells, columns: Columns, item: str, into: Gathering) -> None:
    if "context" in cells:
        into.context(item, cells["context"], row, columns.by_meaning["context"], from_cell=True)
    if "text" in cells:
        into.text(
            item, _system(cells) or UNKNOWN_SYSTEM, cells["text"], row, columns.by_meaning["text"], from_cell=True
        )


def _system(cells: Cells) -> str | None:
    return (named(cells["system"]) or None) if "system" in cells else UNKNOWN_SYSTEM


def _row(record: Record, cells: Cells, columns: Columns, item: str, into: Gathering) -> None:
    """One row, whichever way it is laid out."""
    kind, name = annotator_of(cells, into.kind)
    seconds = seconds_of(cells.get("seconds"))
    unit = Unit(item, _system(cells), name, kind, record.row, _time(cells, into), seconds)
    if _is_true(cells.get("excluded")):
        into.excluded[name] = named(cells.get("exclusion"))
    if not {"annotator", "judge"} & cells.keys():
        for column in columns.wide:
            whose = Unit(unit.item, unit.system, column, kind, record.row, unit.at)
            into.rate(whose, named(cells.get("criterion")) or "rating", record.values.get(column))
    elif not name:
        column = columns.by_meaning.get("annotator") or columns.by_meaning["judge"]
        into.findings.error("does not say who rated.", record.row, column)
    elif "criterion" in cells and "value" in cells:
        into.rate(unit, named(cells["criterion"]), _value(cells), _is_true(cells.get("missing")), **_extras(cells))
    else:
        for column in columns.wide + ([columns.by_meaning["value"]] if "value" in cells else []):
            into.rate(unit, column, record.values.get(column), _is_true(cells.get("missing")), **_extras(cells))


def annotator_of(cells: Cells, otherwise: RaterKind) -> tuple[RaterKind, str]:
    """Who rated. A column 'judge' names a model; a column of kinds distinguishes people, models and simulations."""
    judge = named(cells.get("judge"))
    if judge:
        return "judge", judge
    kind = named(cells.get("kind")).casefold()
    return KINDS.get(kind, otherwise), named(cells.get("annotator"))


def _time(cells: Cells, into: Gathering) -> datetime | None:
    written = cells.get("at")
    if not written:
        return None
    at = moment_of(written)
    if at is None:
        into.findings.tally(NO_TIME)
    return at


def _is_true(value: Json) -> bool:
    return value is True or named(value).casefold() in TRUE


def _keys(value: Json) -> tuple[str, ...]:
    """Keys of reasons: a list, or a text with ; between them."""
    return tuple(filter(None, map(named, value if isinstance(value, list) else named(value).split(";"))))


def _value(cells: Cells) -> Json:
    """The value, or in our own export the option."""
    return cells.get("option") if cells["value"] in (None, "") else cells["value"]


def _extras(cells: Cells) -> RatingExtras:
    """What a rating may carry besides its value."""
    unnamed_repeat = "repeat" if named(cells.get("purpose")) == Purpose.repeat else ""
    return {
        "explanation": named(cells.get("explanation")),
        "reasons": _keys(cells.get("reasons")),
        "position": whole(cells.get("position")),
        "of": named(cells.get("repeat")) or unnamed_repeat,
    }
