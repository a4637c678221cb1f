"""Nested JSON as rows: list positions and outer keys become columns called levels, every other value a column.

    [{"id": "a", "votes": [{"by": "x", "fluency": 4}]}]   line 1, votes 1.1, id a, votes.by x, votes.fluency 4
    {"anna": {"q1": "yes"}}                               level 1 anna, level 2 q1, value yes
    [{"by": ["x", "y"], "fluency": [4, 5]}]               line 1, position 1 #1, by x, fluency 4; …

Lists of one object that run side by side share their positions, also with such lists further inside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from triptych.errors import ImportRefused
from triptych.formats.layout import CONTEXT_NAMES, META_NAMES, TEXT_NAMES, simple
from triptych.formats.model import CELLS_PER_LINE, MAX_COLUMNS, MAX_ROWS, Json, JsonObject, Record, Source
from triptych.formats.readers import refuse_long_names

MAX_CELLS = CELLS_PER_LINE * MAX_ROWS
MAX_CHARACTERS = 200_000_000  # of all rows; readers copy or parse what is next to a list in each of its rows
LINE, FOLDER, VALUE, LEVEL, POSITION = "line", "folder", "value", "level", "position"
Place = frozenset[tuple[str, str]]
TURNS = {*CONTEXT_NAMES, *TEXT_NAMES, *META_NAMES, "reasons", "turns"}


def flattened(source: Source, filename: str) -> Source:
    """The file as rows, with its folder as a level; tables and plain records are returned unchanged.

    Raises ImportRefused where lists and fields multiply to more rows, columns or cells than can be read.
    """
    folder = PurePosixPath(filename).parent.name
    if source.tabular or not any(_is_nested(v, name) for r in source.records for name, v in r.values.items()):
        rows: list[tuple[int, JsonObject]] = [(record.row, record.values) for record in source.records]
        levels: tuple[str, ...] = ()
    else:
        single = len(source.records) == 1 and _is_map(source.records[0].values)
        rows, levels = _all_rows(source.records, single)
    if folder:
        rows, levels = [(row, {FOLDER: folder, **values}) for row, values in rows], (FOLDER, *levels)
    if not levels:
        return source
    columns = tuple(dict.fromkeys(name for _, values in rows for name in values))
    if source.tabular:
        columns = (FOLDER, *source.columns)
    return replace(source, columns=columns, records=tuple(Record(*row) for row in rows), levels=levels)


def last_part(column: str) -> str:
    """The last part of a field's path: fluency in votes.fluency."""
    return column.rsplit(".", 1)[-1]


def _all_rows(records: Sequence[Record], single: bool) -> tuple[list[tuple[int, JsonObject]], tuple[str, ...]]:
    levels: dict[str, None] = {} if single else {LINE: None}
    columns: set[str] = set()
    rows: list[tuple[int, JsonObject]] = []
    characters = 0
    for record in records:
        line = {} if single else {LINE: str(record.row)}
        of_record = _rows(record.values, "", str(record.row), levels)
        columns.update(*of_record)
        _refuse_many_cells(len(columns), len(rows) + len(of_record))
        rows += [(record.row, {**line, **row}) for row in of_record]
        if len(rows) > MAX_ROWS:
            raise ImportRefused(f"The file makes more than {MAX_ROWS:,} rows; split it.")
        characters += _characters(of_record)
        if characters > MAX_CHARACTERS:
            raise ImportRefused(
                f"The file makes rows of more than {MAX_CHARACTERS:,} characters, since what is next to a list belongs "
                "to each of its rows; split it."
            )
    return rows, tuple(levels)


def _characters(rows: Sequence[JsonObject]) -> int:
    """About as many as the values of all rows have together, of which many may be one and the same."""
    lengths: dict[int, int] = {}
    total = 0
    for value in (value for row in rows for value in row.values()):
        if id(value) not in lengths:
            lengths[id(value)] = len(value if isinstance(value, str) else str(value))
        total += lengths[id(value)]
    return total


def _rows(value: Json, name: str, place: str, levels: dict[str, None], depth: int = 0) -> list[JsonObject]:
    """The rows of one value. name: path of its field; place: path of list positions; depth: number of outer keys."""
    if isinstance(value, list | dict):  # each of its values has the name in its own
        refuse_long_names([name])
    if not _is_nested(value, name):
        if isinstance(value, list) and simple(last_part(name)) not in TURNS:
            value = "\n\n".join(map(str, value))
        return [{name or VALUE: value}]
    if isinstance(value, dict):
        if not (depth or _is_map(value)):
            fields = (_rows(inside, f"{name}.{key}" if name else key, place, levels) for key, inside in value.items())
            return _beside(list(fields), levels)
        level = f"{name} {LEVEL} {depth + 1}".strip()
        levels.setdefault(level)
        rows = [
            {level: key, **row} for key, part in value.items() for row in _rows(part, name, place, levels, depth + 1)
        ]
        _refuse_many_cells(max(map(len, rows), default=0), len(rows))
        return rows
    entries = value if isinstance(value, list) else []
    of_objects = all(isinstance(entry, dict) for entry in entries)
    level = name if of_objects else f"{POSITION} {depth + 1}"
    levels.setdefault(level)
    rows = []
    for number, entry in enumerate(entries, 1):
        inner = _rows(entry, name, f"{place}.{number}", levels, 0 if of_objects else depth + 1)
        rows += [{level: f"{place}.{number}" if of_objects else f"#{number}", **row} for row in inner]
    _refuse_many_cells(max(map(len, rows), default=0), len(rows))
    return rows


def _refuse_many_cells(columns: int, rows: int) -> None:
    if columns > MAX_COLUMNS:
        raise ImportRefused(f"The nested fields make {columns:,} columns; at most {MAX_COLUMNS} can be read.")
    if columns * rows > MAX_CELLS:
        raise ImportRefused(f"The nested fields make more than {MAX_CELLS:,} cells; split the file.")


def _is_nested(value: Json, name: str) -> bool:
    """Whether a value contains values that belong in separate rows, unlike turns and lists of sentences."""
    if not isinstance(value, list | dict) or not value or simple(last_part(name)) in TURNS:
        return False
    texts = [entry for entry in value if isinstance(entry, str)]
    return isinstance(value, dict) or len(texts) < len(value) or not any(" " in text for text in texts)


def _is_map(value: JsonObject) -> bool:
    """Whether the keys are data instead of field names: all values are objects."""
    return all(isinstance(inside, dict) for inside in value.values())


def _beside(tables: list[list[JsonObject]], levels: dict[str, None]) -> list[JsonObject]:
    """The fields of one object as rows: single values are repeated, lists are joined by the levels they share."""
    columns = Counter(name for table in tables for name in {name for row in table for name in row})
    # before each constant is repeated in every row; with names like a.b, many tables may share their columns
    _refuse_many_cells(max(len(columns), len(tables)), sum(map(len, tables)))
    twice = [name for name, times in columns.items() if times > 1 and name not in levels]
    if twice:
        raise ImportRefused(f"The field '{twice[0]}' is there twice, once with a dot in a name. Rename one of them.")
    lists = [table for table in tables if len(table) > 1 or levels.keys() & table[0]]
    constants = {name: value for table in tables if table not in lists for name, value in table[0].items()}
    return [{**constants, **row} for row in _joined(lists, levels)] or [constants]


def _joined(tables: list[list[JsonObject]], levels: dict[str, None]) -> list[JsonObject]:
    """Rows of the same place become one; rows of a place outside of others are repeated in these."""
    at: dict[Place, JsonObject] = {}
    for table in sorted(tables, key=len, reverse=True):
        for row in table:
            at.setdefault(_place(row, levels), {}).update(row)
    of_names: dict[frozenset[str], list[Place]] = {}
    for place in at:
        of_names.setdefault(frozenset(name for name, _ in place), []).append(place)
    outer: set[Place] = set()
    for names, places in of_names.items():
        for fewer in (some for some in of_names if some < names):
            for place in places:
                part = frozenset(step for step in place if step[0] in fewer)
                if part in at:
                    outer.add(part)
                    at[place] = {**at[part], **at[place]}
    return [row for place, row in at.items() if place not in outer]


def _place(row: JsonObject, levels: dict[str, None]) -> Place:
    """(level, position) of each level of a row; a field of another record may have a level's name, and any value."""
    return frozenset((name, at) for name in levels.keys() & row.keys() if isinstance(at := row[name], str))
