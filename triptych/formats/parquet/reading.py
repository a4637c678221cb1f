"""Parquet files: the rows of one file as records, with the values that JSON would have."""

from __future__ import annotations

import datetime as dt
import io
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

from triptych.errors import ImportRefused, NothingToImport
from triptych.formats.model import (
    COLUMN_TWICE,
    Contents,
    Findings,
    Json,
    JsonObject,
    ReadOptions,
    Record,
    Source,
)
from triptych.formats.parquet.guard import DAMAGED, check, refuse_inflated
from triptych.formats.values import NumberText, UnfitValueError

ROWS_PER_BATCH = 5_000


def read_parquet(data: bytes, contents: Contents, options: ReadOptions, findings: Findings) -> Source:
    """Records of a Parquet file, numbered from 1. Raises ImportRefused."""
    import pyarrow as pa  # here, because a server that imports no such file need not load it
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_metadata(io.BytesIO(data))
        texts = check(data, metadata)
        columns = tuple(metadata.schema.to_arrow_schema().names)
        _refuse_repeated(columns)
        rows = [Record(n, values) for n, values in enumerate(_rows(data, metadata, texts), 1)]
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise ImportRefused(DAMAGED) from error
    except ValueError as error:  # pyarrow's of an object that has a field twice
        raise ImportRefused("A column has two fields of one name. Give each field a different name.") from error
    except OverflowError as error:
        raise ImportRefused("The file has a date outside the years 1 to 9999. Save it as text.") from error
    if not rows:
        raise NothingToImport("The file has no rows: there is nothing to import.")
    return Source("Parquet", columns, tuple(rows), tabular=False)


def _refuse_repeated(columns: Sequence[str]) -> None:
    for name, count in Counter(columns).items():
        if count > 1:
            raise ImportRefused(COLUMN_TWICE.format(name=name))


def _bytes_of(values: Any) -> int:
    """How many bytes the values of an Arrow array take when each row has its own copy of a text and of names."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.type
    if isinstance(kind, pa.BaseExtensionType):
        return _bytes_of(values.storage)
    if pa.types.is_dictionary(kind):
        return pc.sum(pc.take(pc.binary_length(values.dictionary), values.indices)).as_py() or 0
    if pa.types.is_struct(kind):
        return len(values) * sum(len(field.name) for field in kind) + sum(map(_bytes_of, values.flatten()))
    if pa.types.is_map(kind):
        return _bytes_of(values.keys) + _bytes_of(values.items)
    if kind.num_fields:  # a list of any kind
        return _bytes_of(values.flatten())
    return int(values.nbytes)


def _rows(data: bytes, metadata: Any, texts: Sequence[Sequence[str]]) -> Iterator[JsonObject]:
    size = 0
    for batch in _batches(data, metadata, texts):
        size += sum(_bytes_of(column) for column in batch.columns)
        refuse_inflated(size)
        names = batch.schema.names
        columns = [_column(name, column) for name, column in zip(names, batch.columns, strict=True)]
        for row in zip(*columns, strict=True):
            yield dict(zip(names, row, strict=True))


def _batches(data: bytes, metadata: Any, texts: Sequence[Sequence[str]]) -> Iterator[Any]:
    """Rows in batches, each from one group: pyarrow does not put texts in lists together from several.

    texts: paths of columns of each group, read dictionary-encoded: each distinct text once, with references to it.
    """
    import pyarrow.parquet as pq

    file, read_as, size = None, None, 0
    for number, paths in enumerate(texts):
        if file is None or paths != read_as:  # opening reads the end of the file again
            refuse_inflated(size := size + metadata.serialized_size)
            file, read_as = pq.ParquetFile(io.BytesIO(data), metadata=metadata, read_dictionary=paths), paths
        yield from file.iter_batches(ROWS_PER_BATCH, row_groups=[number])


def _column(name: str, column: Any) -> list[Json]:
    """The values of a column. Raises ImportRefused with its name."""
    try:
        return _values_of(column)
    except UnfitValueError as error:
        raise ImportRefused(
            f"Column '{name}' has values of the type {error}, which cannot be read. "
            "Save them as text or numbers, or leave the column out."
        ) from error


def _values_of(column: Any) -> list[Json]:
    """A column's values; rows with the same text share it. Raises as `_value`."""
    if not hasattr(column, "dictionary"):
        return list(map(_value, column.to_pylist()))
    if len(column.dictionary) > len(column):  # the dictionary belongs to a whole group of rows
        return list(map(_value, column.dictionary_decode().to_pylist()))
    texts = list(map(_value, column.dictionary.to_pylist()))
    return [None if number is None else texts[number] for number in column.indices.to_pylist()]


def _value(value: object) -> Json:
    """Values as from `json_files`: numbers as written, times in ISO 8601; NaN is null.

    Raises UnfitValueError, with the type, for what has no counterpart there, such as a duration or a picture's bytes.
    """
    if isinstance(value, dict):
        return {str(name): _value(inside) for name, inside in value.items()}
    if isinstance(value, list):
        return [_value(inside) for inside in value]
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, float):
        is_whole = value.is_integer() and abs(value) < 2**53
        return None if math.isnan(value) else NumberText(int(value) if is_whole else repr(value))
    if isinstance(value, Decimal):
        digits = format(value, "f")
        return NumberText(digits.rstrip("0").rstrip(".") if "." in digits else digits)
    if isinstance(value, int):
        return NumberText(value)
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, bytes):
        return _text_in(value)
    raise UnfitValueError(type(value).__name__)


def _text_in(value: bytes) -> str:
    """A text that was stored as bytes, as some databases do."""
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise UnfitValueError("bytes") from error
