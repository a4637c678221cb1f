"""Tables and records of ratings: one row per rating, or one column per criterion or per annotator.

    long                   item_id, system, annotator, criterion, value
    a column a criterion   item_id, system, annotator, fluency, coherence
    a column an annotator  item_id, system, criterion, anna, bert   (or without criterion: it is called 'rating')

The long export of this program is the first layout with more columns. A table without a column for systems rates one
system 'unknown'; in a column for systems, an empty cell means a rating about the item.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType

from triptych.errors import ImportRefused
from triptych.formats.layout import as_one_text
from triptych.formats.model import MAX_REASONS, Json, JsonObject, Record, Source
from triptych.formats.ratings.model import (
    MAX_RATINGS,
    UNKNOWN_SYSTEM,
    YEARS,
    Gathering,
    RaterKind,
    RatingExtras,
    Unit,
    moment_of,
    named,
    seconds_of,
    whole,
)
from triptych.formats.ratings.roles import MEANINGS, Roles, RolesNeeded, criterion_of, proposed_roles
from triptych.formats.ratings_csv import OWN_COLUMNS
from triptych.formats.tables import restored
from triptych.formats.values import plain
from triptych.storage.models import Purpose

NO_TIME = (
    f"{{n}} time(s) are not in ISO 8601, or not in the years {YEARS[0]} to {YEARS[-1]}; they are treated as unknown."
)
ID_DIGITS = 12
NAMED = "No input is an item id: assignments with the same context are treated as one item."
OTHER_PURPOSE = "{n} rating(s) of training and tests are left out."
KINDS: dict[str, RaterKind] = {"judge": "judge", "simulated": "simulated"}
TRUE = {"1", "true", "yes"}


Cells = JsonObject


@dataclass(frozen=True)
class Columns:
    """Columns by meaning; wide: column of values → its criterion or annotator."""

    by_meaning: dict[str, str]
    wide: dict[str, str] = field(default_factory=dict)
    are_tasks: bool = False

    def cells(self, record: Record) -> Cells:
        """Meaning → cell of a row."""
        return {part: record.values.get(column) for part, column in self.by_meaning.items()}


def read(source: Source, into: Gathering, roles: Roles = MappingProxyType({})) -> None:
    """Ratings of a table; roles: column → role, where the lead chose one.

    Raises RolesNeeded where no column says whose ratings they are, ImportRefused where there are too many cells.
    """
    if set(source.columns) >= OWN_COLUMNS:
        source = restored(source)
    into.roles = proposed_roles(source) | {column: role for column, role in roles.items() if column in source.columns}
    columns = columns_of(into.roles, source.levels)
    into.recognised |= {column: MEANINGS[part][0] for part, column in columns.by_meaning.items()}
    _check(columns, into.roles)
    if len(source.records) * len(columns.wide) > MAX_RATINGS:
        raise ImportRefused(f"The table has more than {MAX_RATINGS:,} cells for ratings; split it.")
    for record in source.records:
        cells = columns.cells(record)
        item = named(cells["item"]) if "item" in cells else _named_by(cells["context"])
        if not item:
            into.findings.error("has no item id.", record.row, columns.by_meaning.get("item"))
        elif named(cells.get("purpose")) not in ("", Purpose.main, Purpose.repeat):
            into.findings.tally(OTHER_PURPOSE)
        else:
            _texts(record.row, cells, columns, item, into)
            _row(record, cells, columns, item, into)
    if "item" not in columns.by_meaning:
        into.findings.note(NAMED)
    meaning = "criterion" if {"annotator", "judge"} & set(columns.by_meaning) else "ratings of annotator"
    into.recognised |= {column: f"{meaning} '{name}'" for column, name in columns.wide.items()}


def columns_of(roles: Roles, levels: Sequence[str] = ()) -> Columns:
    """The first column of every role, and the columns of values if there are several or there is no criterion."""
    by_meaning: dict[str, str] = {}
    for column, role in roles.items():
        if role in MEANINGS and role != "value":
            by_meaning.setdefault(role, column)
    values = [column for column, role in roles.items() if role == "value"]
    if "criterion" in by_meaning and len(values) == 1:
        return Columns({**by_meaning, "value": values[0]})
    return Columns(by_meaning, {column: criterion_of(column, levels) for column in values}, "HITId" in roles)


def _check(columns: Columns, roles: Roles) -> None:
    by_meaning = columns.by_meaning
    if "item" not in by_meaning and "context" not in by_meaning:
        raise RolesNeeded(roles, "No column gives the item of a rating. Call it 'item_id'.")
    whose = {"annotator", "judge"} & set(by_meaning)
    if "value" in by_meaning and not whose:
        raise RolesNeeded(roles, "No column gives the annotator. Call it 'annotator', or 'judge' for a model.")
    if not columns.wide and "value" not in by_meaning:
        raise RolesNeeded(roles, f"No column contains values. There are {', '.join(roles)}; call it 'value'.")


def _named_by(context: Json) -> str:
    """An id made from a context, the same in every file; contexts serve as items without an id."""
    return f"item-{hashlib.sha256(plain(context).encode()).hexdigest()[:ID_DIGITS]}" if context else ""


def _texts(row: int, cells: Cells, columns: Columns, item: str, into: Gathering) -> None:
    if group := named(cells.get("item group")):
        into.group_item(item, group, row, columns.by_meaning["item group"])
    if "context" in cells:
        column = columns.by_meaning["context"]
        into.text(item, None, as_one_text(column, cells["context"]), row, column, from_cell=True)
    if "response" in cells:
        system, column = _system(cells) or UNKNOWN_SYSTEM, columns.by_meaning["response"]
        into.text(item, system, cells["response"], row, column, from_cell=True)


def _system(cells: Cells) -> str | None:
    return (named(cells["system"]) or None) if "system" in cells else UNKNOWN_SYSTEM


def _row(record: Record, cells: Cells, columns: Columns, item: str, into: Gathering) -> None:
    """One row, in any layout."""
    kind, name = annotator_of(cells, into.kind)
    seconds = seconds_of(cells.get("seconds"))
    part = str(record.row) if columns.are_tasks else ""
    unit = Unit(item, _system(cells), name, kind, record.row, _time(cells, into), seconds, part)
    if group := named(cells.get("annotator group")):
        into.annotator_groups.setdefault(name, group)
    if _is_true(cells.get("excluded")):
        into.excluded[name] = named(cells.get("exclusion"))
    if not {"annotator", "judge"} & cells.keys():
        for column in columns.wide:
            whose = replace(unit, annotator=column, seconds=0)
            into.rate(whose, named(cells.get("criterion")) or "rating", record.values.get(column))
    elif not name:
        column = columns.by_meaning.get("annotator") or columns.by_meaning["judge"]
        into.findings.error("has no annotator.", record.row, column)
    elif "criterion" in cells and "value" in cells:
        into.rate(unit, named(cells["criterion"]), _value(cells), _is_true(cells.get("missing")), **_extras(cells))
    else:
        is_missing, extras = _is_true(cells.get("missing")), _extras(cells)
        for column, criterion in columns.wide.items():
            into.rate(unit, criterion, record.values.get(column), is_missing, **extras)


def annotator_of(cells: Cells, otherwise: RaterKind) -> tuple[RaterKind, str]:
    """(kind, name) of the rater. A column 'judge' contains a model; a column of kinds tells people from models."""
    judge = named(cells.get("judge"))
    if judge:
        return "judge", judge
    kind = named(cells.get("kind")).casefold()
    return KINDS.get(kind, otherwise), named(cells.get("annotator"))


def _time(cells: Cells, into: Gathering) -> datetime | None:
    written = cells.get("time")
    if not written:
        return None
    at = moment_of(written)
    if at is None:
        into.findings.tally(NO_TIME)
    return at


def _is_true(value: Json) -> bool:
    return value is True or named(value).casefold() in TRUE


def _keys(value: Json) -> tuple[str, ...]:
    """Keys of reasons: a list, or a text with ; between them. Raises ImportRefused for very many, which take memory."""
    if isinstance(value, str) and value.count(";") > MAX_REASONS:
        raise ImportRefused(f"The reasons '{value[:30]}…' are more than {MAX_REASONS}, for one rating.")
    return tuple(filter(None, map(named, value if isinstance(value, list) else named(value).split(";"))))


def _value(cells: Cells) -> Json:
    """The value; in our own export, the option if the value is empty."""
    return cells.get("option") if cells["value"] in (None, "") else cells["value"]


def _extras(cells: Cells) -> RatingExtras:
    """The optional parts of a rating besides its value."""
    unnamed_repeat = "repeat" if named(cells.get("purpose")) == Purpose.repeat else ""
    return {
        "explanation": named(cells.get("explanation")),
        "reasons": _keys(cells.get("reasons")),
        "position": whole(cells.get("position")),
        "of": named(cells.get("repeat")) or unnamed_repeat,
    }
