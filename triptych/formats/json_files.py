"""JSON and JSON Lines, detected from the content regardless of the file's name."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from triptych.errors import ImportRefused
from triptych.formats.decode import decode
from triptych.formats.model import (
    MAX_COLUMNS,
    MAX_ITEMS,
    MAX_ROWS,
    Contents,
    Findings,
    Json,
    JsonObject,
    ReadOptions,
    Record,
    Source,
)
from triptych.formats.task_files import is_campaign, is_task, segments
from triptych.formats.values import NotFinite, NumberText, kind_of, number_of_parts

MAX_DEPTH = 16
MAX_PARTS = 1_000_000
MAX_BAD_LINES = 1_000
SHOWN_OF_KEY = 40  # characters; a path repeats the key of an object for each of its fields
OBJECT_EXAMPLE = '{"item_id": "1", "context": "…", "candidates": {"model-a": "…", "model-b": "…"}}'


class RepeatedKey(dict[str, Json]):
    """An object with a repeated key, for which JSON readers silently keep the last value."""

    def __init__(self, pairs: list[tuple[str, Json]], key: str) -> None:
        super().__init__(pairs)
        self.key = key


def read_json(data: bytes, contents: Contents, options: ReadOptions, findings: Findings) -> Source:
    """Records of a JSON list, of an object that holds one list of objects, or of JSON Lines.

    Raises ImportRefused.
    """
    text = decode(data)
    if not text.strip():
        raise ImportRefused(f"The file is empty. Each line must contain one item, for example: {OBJECT_EXAMPLE}")
    if number_of_parts(text) > MAX_PARTS:
        raise ImportRefused(f"The file has more than {MAX_PARTS:,} parts; split it.")
    if text.count("\n") > MAX_ROWS:
        raise ImportRefused(f"The file has more than {MAX_ROWS:,} lines; split it.")
    try:
        kind, values = _whole(_parse(text), contents, findings)
    except json.JSONDecodeError as error:
        if not _has_lines(text):
            raise ImportRefused(f"Line {error.lineno}, character {error.colno} is not JSON: {error.msg}.") from error
        kind, values = "JSON Lines", _lines(text, findings)
    if len(values) > MAX_ITEMS:
        raise ImportRefused(f"The file holds more than {MAX_ITEMS:,} items; split it.")
    records = [record for row, value in values if (record := _record(row, value, findings))]
    if not records and not findings.kinds:
        raise ImportRefused(f"The file holds no items. An item looks like this: {OBJECT_EXAMPLE}")
    columns = tuple(dict.fromkeys(key for record in records for key in record.values))
    if len(columns) > MAX_COLUMNS:
        raise ImportRefused(f"The items have {len(columns):,} different fields; at most {MAX_COLUMNS} can be read.")
    return Source(kind, columns, tuple(records), tabular=False)


def _parse(text: str) -> Json:
    """JSON with numbers kept as written. Raises JSONDecodeError, or ImportRefused if nested too deeply."""
    try:
        value: Json = json.loads(
            text, parse_int=NumberText, parse_float=NumberText, parse_constant=NotFinite, object_pairs_hook=_object
        )
    except RecursionError:
        raise _too_deep() from None
    return value


def _object(pairs: list[tuple[str, Json]]) -> JsonObject:
    if len(dict(pairs)) == len(pairs):
        return dict(pairs)
    repeated, _ = Counter(key for key, _ in pairs).most_common(1)[0]
    return RepeatedKey(pairs, repeated)


def _has_lines(text: str) -> bool:
    """Whether the text is meant as JSON Lines: one of its first lines is a complete object."""
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines[0].lstrip().startswith("{"):
        return False
    for line in lines[:20]:
        try:
            if isinstance(_parse(line), dict):
                return True
        except json.JSONDecodeError:
            continue
    return False


def _lines(text: str, findings: Findings) -> list[tuple[int, Json]]:
    values, broken = [], 0
    # Only line feeds end a line: U+2028 and others are allowed inside JSON texts.
    for row, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            values.append((row, _parse(line)))
        except json.JSONDecodeError as error:
            findings.error(f"is not JSON from character {error.colno} on: {error.msg}.", row)
            broken += 1
        if broken > MAX_BAD_LINES:
            raise ImportRefused(f"More than {MAX_BAD_LINES:,} lines are not JSON; the last one tried is line {row}.")
    return values


def _whole(value: Json, contents: Contents, findings: Findings) -> tuple[str, list[tuple[int, Json]]]:
    """The items of a file that is one JSON value."""
    _refuse_depth(value)
    if isinstance(value, dict):
        if is_campaign(value):
            return "campaign", segments(value)
        is_item = contents.is_header(tuple(value)) and not isinstance(value.get("items"), list)
        if contents.one_object or is_task(value) or is_item:
            return "JSON", [(1, value)]
        path, value = _only_list(value)
        findings.note(f"The items were found under {path}.")
    if not isinstance(value, list):
        raise ImportRefused(f"The file holds {kind_of(value)}, not a list of items such as [{OBJECT_EXAMPLE}]")
    return "JSON list", list(enumerate(value, 1))


def _only_list(value: JsonObject) -> tuple[str, list[Json]]:
    """(path, list) of the only list of objects inside an object; 'items' at the top has priority."""
    if isinstance(value.get("items"), list):
        return "items", value["items"]
    lists: list[tuple[str, list[Json]]] = []
    open_objects: list[tuple[str, JsonObject]] = [("", value)]
    while open_objects:
        path, inside = open_objects.pop()
        for key, part in inside.items():
            place = f"{path}{key:.{SHOWN_OF_KEY}}"
            if isinstance(part, dict):
                open_objects.append((f"{place}.", part))
            elif isinstance(part, list) and part and all(isinstance(entry, dict) for entry in part):
                lists.append((place, part))
    if len(lists) == 1:
        return lists[0]
    places = f"lists under {', '.join(path for path, _ in lists[:5])}" if lists else "no list of items"
    raise ImportRefused(f'The file holds {places}. It must hold one, for example {{"items": [{OBJECT_EXAMPLE}]}}')


def _record(row: int, value: Json, findings: Findings) -> Record | None:
    if not isinstance(value, dict):
        findings.error(f"is {kind_of(value)}, an object was expected, such as {OBJECT_EXAMPLE}", row)
        return None
    _refuse_depth(value)
    sound = True
    for column, message in _flaws(value):
        findings.error(message, row, column)
        sound = False
    return Record(row, value) if sound else None


def _flaws(value: Json, column: str | None = None) -> Iterator[tuple[str | None, str]]:
    """(field, flaw) of each value that strict JSON does not allow: NaN, Infinity, and repeated keys of an object."""
    if isinstance(value, NotFinite):
        yield column, f"is {value}, which is not a JSON value; write null or a text."
    elif isinstance(value, dict):
        if isinstance(value, RepeatedKey):
            yield column, f"has the key '{value.key}' twice."
        for key, inside in value.items():
            yield from _flaws(inside, column or key)
    elif isinstance(value, list):
        for inside in value:
            yield from _flaws(inside, column)


def _refuse_depth(value: Json) -> None:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):
        parts = (inside for part in level for inside in (part.values() if isinstance(part, dict) else part))
        level = [part for part in parts if isinstance(part, dict | list)]
        if not level:
            return
    raise _too_deep()


def _too_deep() -> ImportRefused:
    return ImportRefused(f"The file is nested more than {MAX_DEPTH} levels deep; an item needs four or five.")
