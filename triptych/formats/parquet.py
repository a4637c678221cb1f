"""Parquet files: the rows of one file as records, with the values that JSON would have."""

from __future__ import annotations

import datetime as dt
import io
import math
from collections.abc import Iterator
from typing import Any

from triptych.errors import ImportRefused
from triptych.formats.model import (
    MAX_COLUMNS,
    MAX_ROWS,
    Contents,
    Findings,
    Json,
    JsonObject,
    ReadOptions,
    Record,
    Source,
)
from triptych.formats.values import NumberText

MAX_INFLATED = 200 * 2**20
ROWS_PER_BATCH = 5_000


def read_parquet(data: bytes, contents: Contents, options: ReadOptions, findings: Findings) -> Source:
    """Records of a Parquet file, numbered from 1. Raises ImportRefused."""
    import pyarrow as pa  # here, because a server that imports no such file need not load it
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(io.BytesIO(data))
        _refuse_size(file.metadata)
        columns = tuple(file.schema_arrow.names)
        rows = [Record(n, values) for n, values in enumerate(_rows(file), 1)]
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise ImportRefused("The file is damaged, or it is no Parquet file.") from error
    if not rows:
        raise ImportRefused("The file has no rows: there is nothing to import.")
    return Source("Parquet", columns, tuple(rows), tabular=False)


def _refuse_size(metadata: Any) -> None:
    if metadata.num_rows > MAX_ROWS or metadata.num_columns > MAX_COLUMNS:
        raise ImportRefused(
            f"The file has {metadata.num_rows:,} rows and {metadata.num_columns:,} columns; at most {MAX_ROWS:,} rows "
            f"and {MAX_COLUMNS} columns can be read. Split it."
        )
    _refuse_inflated(sum(metadata.row_group(n).total_byte_size for n in range(metadata.num_row_groups)))


def _refuse_inflated(size: int) -> None:
    if size > MAX_INFLATED:
        raise ImportRefused(f"The file holds more than {MAX_INFLATED // 2**20} MB when it is opened; split it.")


def _rows(file: Any) -> Iterator[JsonObject]:
    size = 0
    for batch in file.iter_batches(ROWS_PER_BATCH):
        size += batch.nbytes
        _refuse_inflated(size)
        for row in batch.to_pylist():
            yield {name: _value(value) for name, value in row.items()}


def _value(value: object) -> Json:
    """As `json_files` gives values: numbers as they are written, times in ISO 8601; what is no number is null."""
    if isinstance(value, dict):
        return {str(name): _value(inside) for name, inside in value.items()}
    if isinstance(value, list):
        return [_value(inside) for inside in value]
    if isinstance(value, float) and math.isfinite(value):
        return NumberText(int(value) if value.is_integer() and abs(value) < 2**53 else repr(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return NumberText(value)
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    return value if isinstance(value, str | bool) else None
