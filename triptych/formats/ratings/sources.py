"""Files of ratings as records. Unlike items, their tables need only one column that is known by its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from triptych.formats.layout import simple
from triptych.formats.model import MAX_BYTES, Contents, Findings, Json, ReadOptions, Record, Source
from triptych.formats.ratings.model import MAX_RATINGS
from triptych.formats.readers import read_source
from triptych.formats.values import clean

KNOWN = {
    "item_id", "id", "item", "instance_id", "hitid", "example_idx", "annotation_id", "annotator", "annotator_id",
    "worker", "worker_id", "user_id", "judge", "rater", "system", "model", "criterion", "value", "rating", "score",
}  # fmt: skip


def _is_header(names: Sequence[str]) -> bool:
    return not KNOWN.isdisjoint(map(simple, names))


# there is often one file per annotator
RATINGS = Contents(
    "item_id, system, annotator, criterion, value",
    _is_header,
    one_object=True,
    most_bytes=MAX_BYTES,
    most_lines=MAX_RATINGS,
)


def read_clean(data: bytes, filename: str, findings: Findings, contents: Contents = RATINGS) -> Source:
    """The records of a file, cleaned as the texts of items are. Raises ImportRefused."""
    source = read_source(data, filename, contents, ReadOptions(), findings)
    columns = tuple(clean(name, findings, 1, None) for name in source.columns)
    return replace(source, columns=columns, records=tuple(_cleaned_record(r, findings) for r in source.records))


def _cleaned_record(record: Record, findings: Findings) -> Record:
    values: Any = _cleaned(record.values, findings, record.row, None)
    return record if values == record.values else Record(record.row, values)  # a million copies would fill the memory


def _cleaned(value: Json, findings: Findings, row: int, column: str | None) -> Json:
    """Every text inside: no control characters, no half characters, plain line feeds."""
    if isinstance(value, str):
        return clean(value, findings, row, column)
    if isinstance(value, list):
        return [_cleaned(inside, findings, row, column) for inside in value]
    if isinstance(value, dict):
        names = {clean(name, findings, row, column): inside for name, inside in value.items()}
        return {name: _cleaned(inside, findings, row, column or name) for name, inside in names.items()}
    return value
