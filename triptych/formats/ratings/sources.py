"""Files of ratings as records. Unlike items, their tables need only one column that is known by its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from triptych.errors import ImportRefused
from triptych.formats.decode import decode, refuse_other_content
from triptych.formats.json_files import read_json
from triptych.formats.layout import simple
from triptych.formats.model import (
    MAX_COLUMNS,
    MAX_ROWS,
    MAX_UPLOAD,
    Findings,
    Json,
    JsonObject,
    ReadOptions,
    Record,
    Source,
)
from triptych.formats.parquet import read_parquet
from triptych.formats.tables import DELIMITERS, Cells, RawTable, as_source, parse
from triptych.formats.values import clean
from triptych.formats.xlsx import read_workbook

EXAMPLE = "item_id, system, annotator, criterion, value"
ENDINGS = ("csv", "tsv", "txt", "json", "jsonl", "ndjson", "xlsx", "parquet")
KNOWN = {
    "item_id", "id", "item", "instance_id", "hitid", "example_idx", "annotation_id", "annotator", "annotator_id",
    "worker", "worker_id", "user_id", "judge", "rater", "system", "model", "criterion", "value", "rating", "score",
}  # fmt: skip


def read_source(
    data: bytes, filename: str, findings: Findings, endings: Sequence[str] = ENDINGS, example: str = EXAMPLE
) -> Source:
    """The records of a file, cleaned as the texts of items are; the name gives the format, the content must agree.

    `endings` and `example`: the formats that make sense, and a header, for a file that holds something else than
    ratings. Raises ImportRefused.
    """
    source = _read(data, filename, findings, endings, example)
    columns = tuple(clean(name, findings, 1, None) for name in source.columns)
    records = tuple(Record(r.row, _cleaned_object(r.values, findings, r.row, None)) for r in source.records)
    return replace(source, columns=columns, records=records)


def _cleaned(value: Json, findings: Findings, row: int, column: str | None) -> Json:
    """Every text inside: no control characters, no half characters, plain line feeds."""
    if isinstance(value, str):
        return clean(value, findings, row, column)
    if isinstance(value, list):
        return [_cleaned(inside, findings, row, column) for inside in value]
    if isinstance(value, dict):
        return _cleaned_object(value, findings, row, column)
    return value


def _cleaned_object(value: JsonObject, findings: Findings, row: int, column: str | None) -> JsonObject:
    names = {clean(name, findings, row, column): inside for name, inside in value.items()}
    return {name: _cleaned(inside, findings, row, column or name) for name, inside in names.items()}


def _read(data: bytes, filename: str, findings: Findings, endings: Sequence[str], example: str) -> Source:
    ending = filename.rsplit(".", 1)[-1].casefold() if "." in filename else ""
    if ending not in endings:
        known_endings = ", ".join(f".{name}" for name in endings)
        raise ImportRefused(f"Files that end in '.{ending}' cannot be read here. Known are {known_endings}.")
    if len(data) > MAX_UPLOAD:
        size = len(data) / 2**20
        raise ImportRefused(f"The file has {size:.0f} MB; at most {MAX_UPLOAD // 2**20} MB can be read. Split it.")
    if ending in ("xlsx", "parquet"):
        read = read_workbook if ending == "xlsx" else read_parquet
        return read(data, ReadOptions(), findings)
    refuse_other_content(data)
    return _read_json(data, findings) if ending in ("json", "jsonl", "ndjson") else _read_table(data, findings, example)


def _read_json(data: bytes, findings: Findings) -> Source:
    """One object is a list of one: what one annotator did is often a file of its own."""
    text = decode(data, findings).strip()
    if text.startswith("{"):
        try:
            return read_json(f"[{text}]".encode(), ReadOptions(), findings)
        except ImportRefused:
            return read_json(text.encode(), ReadOptions(), findings)
    return read_json(text.encode(), ReadOptions(), findings)


def _read_table(data: bytes, findings: Findings, example: str) -> Source:
    text = decode(data, findings)
    if max(text.count("\n"), text.count("\r")) > MAX_ROWS:
        raise ImportRefused(f"The file has more than {MAX_ROWS:,} lines; split it.")
    delimiter = _delimiter(text)
    rows = [row for row in parse(text, delimiter, findings) if any(cell.strip() for cell in row[1])]
    if not rows:
        raise ImportRefused(f"The file is empty. The first row must name the columns, for example: {example}")
    header = [cell.strip() for cell in rows[0][1]]
    if len(header) > MAX_COLUMNS:
        raise ImportRefused(f"The file has {len(header):,} columns; at most {MAX_COLUMNS} can be read.")
    if not KNOWN & {simple(name) for name in header}:
        raise ImportRefused(f"The first row must name the columns, for example: {example}")
    if len(rows) == 1 and not findings.has_errors:
        raise ImportRefused("The file has a header but no rows below it: there is nothing to import.")
    return as_source(RawTable(header, _even(rows[1:], len(header), findings)), DELIMITERS[delimiter], findings)


def _delimiter(text: str) -> str:
    """What separates the cells of the first row into the most names."""
    head = text[:50_000].lstrip("\r\n")
    return max(DELIMITERS, key=lambda mark: len(next(parse(head, mark, Findings()), (0, []))[1]))


def _even(rows: list[Cells], width: int, findings: Findings) -> list[Cells]:
    """Rows as wide as the header; the others are errors."""
    even = []
    for row, cells in rows:
        while len(cells) > width and not cells[-1].strip():
            cells.pop()
        if len(cells) == width:
            even.append((row, cells))
        else:
            findings.error(f"has {len(cells)} cells, the header has {width} columns.", row)
    return even
