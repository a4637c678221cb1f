"""Checks of a Parquet file before pyarrow decompresses it.

The sizes at the end of a file are only statements: pyarrow decompresses every page to the size in the page's own
header, and reads as many values as that header names. So these headers are read here, as pyarrow reads them, and a file
whose pages are not as stated is refused. The parts of columns are read here, too: pyarrow's own object of a damaged one
ends the program.
Format: https://parquet.apache.org/docs/file-format/ and parquet.thrift, in the compact protocol of Apache Thrift.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from triptych.errors import ImportRefused
from triptych.formats.model import MAX_COLUMNS, MAX_ROWS

MAX_INFLATED = 200 * 2**20
MAX_PAGES = 100_000
MAX_END_BYTES = 4 * 2**20
MAX_HEADER_BYTES = 2**20  # of a page: with the smallest and largest text in it
VALUE_BYTES, REPEATED_BYTES = 20, 200  # of a value as an object of Python: some million in columns, one in lists
FIELD_BYTES = 20  # of a field of a header, which may take one byte in the file
ENTRY_BYTES = 16  # of a value in a dictionary
DAMAGED = "The file is damaged, or is not a Parquet file."
MANY_PAGES = f"The file has more than {MAX_PAGES:,} pages. Save it with larger row groups."
GROWING = 7, "DELTA_BYTE_ARRAY"  # texts are differences from the previous one: a small file can contain gigabytes
LENGTHS_FIRST = 6, "DELTA_LENGTH_BYTE_ARRAY"  # texts, which pyarrow does not read as references to a dictionary
# kinds of a field in Thrift; a truth value is its kind
MAX_DEPTH = 8
STOP, TRUE, FALSE, BYTE, SHORT, INTEGER, LONG, DOUBLE, TEXT, LIST, _, _, STRUCT = range(13)
# numbers of the fields at the end of a file, of a group of rows, of a part of a column and of its description
GROUPS, CHUNKS, DESCRIPTION = 4, 1, 3
CHUNK_VALUES, FIRST_PAGE, DICTIONARY_PAGE = 5, 9, 11
# numbers of the fields of a page's header, and of those in its part for one kind of page
KIND, INFLATED_SIZE, PACKED_SIZE = 1, 2, 3
DATA, INDEX, DICTIONARY, DATA_2 = range(4)
PARTS = {DATA: 5, INDEX: 6, DICTIONARY: 7, DATA_2: 8}
VALUES, ENCODING = 1, {DATA: 2, DATA_2: 4}

Fields = Mapping[int, Any]


class _DataPage(NamedTuple):
    """size: bytes that it takes to read and decompress it. values: those of the column, none in a dictionary."""

    size: int
    values: int
    encoding: int | None


def check(data: bytes, metadata: Any) -> list[list[str]]:
    """Paths of the text columns of each group of rows that pyarrow can read dictionary-encoded.

    Raises ImportRefused for a file that would take too much memory or time, by its rows, columns, values or pages.
    metadata: what pyarrow read at the end of the file.
    """
    if metadata.num_rows > MAX_ROWS or metadata.num_columns > MAX_COLUMNS:
        raise ImportRefused(
            f"The file has {metadata.num_rows:,} rows and {metadata.num_columns:,} columns; at most {MAX_ROWS:,} rows "
            f"and {MAX_COLUMNS} columns can be read. Split it."
        )
    try:
        return _check_pages(data, [metadata.schema.column(number) for number in range(metadata.num_columns)])
    except (AttributeError, LookupError, TypeError, ValueError) as error:  # also for a value of another kind
        raise ImportRefused(DAMAGED) from error


def _check_pages(data: bytes, columns: list[Any]) -> list[list[str]]:
    inflated = values = pages = 0
    texts: list[list[str]] = []
    for group in _end_of(data)[GROUPS]:
        texts.append([])
        for part, column in zip(group[CHUNKS], columns, strict=True):
            chunk = part[DESCRIPTION]
            # a run of equal values takes a few bytes in the file, whatever its length
            value_bytes = REPEATED_BYTES if column.max_repetition_level else VALUE_BYTES
            values += chunk[CHUNK_VALUES] * max(value_bytes, column.length or 0)
            refuse_inflated(values)
            encodings = set()
            for page in _pages(data, chunk):
                inflated, pages = inflated + page.size, pages + 1
                refuse_inflated(inflated)
                if pages > MAX_PAGES:
                    raise ImportRefused(MANY_PAGES)
                encodings.add(page.encoding)
            _refuse_encodings(encodings)
            if column.physical_type == "BYTE_ARRAY" and LENGTHS_FIRST[0] not in encodings:
                texts[-1].append(column.path)
    return texts


def refuse_inflated(size: int) -> None:
    """Raise ImportRefused for more bytes than a file may take when it is read."""
    if size > MAX_INFLATED:
        raise ImportRefused(f"The file holds more than {MAX_INFLATED // 2**20} MB when unpacked; split it.")


def _refuse_encodings(encodings: Collection[int | None]) -> None:
    """Raise ImportRefused for texts that would all be copied. A page with a dictionary has None."""
    for (encoding, name), is_copied in ((GROWING, True), (LENGTHS_FIRST, None in encodings)):
        if encoding in encodings and is_copied:
            raise ImportRefused(
                f"The file has texts in the encoding {name}, which is not supported. Save it with another encoding."
            )


def _end_of(data: bytes) -> Fields:
    size = int.from_bytes(data[-8:-4], "little")
    if size > MAX_END_BYTES:
        raise ImportRefused(MANY_PAGES)
    return _fields(memoryview(data)[-8 - size : -8], 0)[0]


def _pages(data: bytes, chunk: Fields) -> Iterator[_DataPage]:
    """The pages that pyarrow reads: from the first on, until they have as many values as stated."""
    view, at, left = memoryview(data), chunk[FIRST_PAGE], chunk[CHUNK_VALUES]
    if 0 < chunk.get(DICTIONARY_PAGE, 0) < at:
        at = chunk[DICTIONARY_PAGE]
    while left > 0:
        page, at = _page(view, at)
        left -= page.values
        yield page
    if left:
        raise ValueError("other values than stated")


def _page(data: memoryview, at: int) -> tuple[_DataPage, int]:
    """The page at a place, and the place after it."""
    header, length = _fields(data[at : at + MAX_HEADER_BYTES], 0)
    kind, size, packed_size = (header[number] for number in (KIND, INFLATED_SIZE, PACKED_SIZE))
    part = header[PARTS[kind]]
    if min(size, packed_size, part.get(VALUES, 0)) < 0:
        raise ValueError("a negative size")
    size, end = size + FIELD_BYTES * length, at + length + packed_size
    if kind in ENCODING:
        return _DataPage(size, part[VALUES], part[ENCODING[kind]]), end
    return _DataPage(size + ENTRY_BYTES * part.get(VALUES, 0), 0, None), end


def _fields(data: memoryview, at: int, depth: int = 0) -> tuple[Fields, int]:
    """A structure by the numbers of its fields, and the place after it.

    What no program writes, such as a field out of order, raises ValueError: two programs may read it differently.
    """
    fields: dict[int, Any] = {}
    number = 0
    while data[at] != STOP:
        step, kind = divmod(data[at], 16)
        if not step or depth > MAX_DEPTH:
            raise ValueError("a field out of order, or too deep")
        number += step
        fields[number], at = _value(data, at + 1, kind, depth)
    return fields, at + 1


def _value(data: memoryview, at: int, kind: int, depth: int) -> tuple[Any, int]:
    """A value of a kind, None for a text, and the place after it."""
    if kind in (TRUE, FALSE):
        return kind == TRUE, at
    if kind in (BYTE, DOUBLE):
        return None, at + (1 if kind == BYTE else 8)
    if kind == STRUCT:
        return _fields(data, at, depth + 1)
    if kind == LIST:
        return _listed(data, at, depth)
    if kind not in (SHORT, INTEGER, LONG, TEXT):
        raise ValueError("an unknown kind of value")
    number, at = _varint(data, at)
    if kind == TEXT:
        return None, at + number
    if kind != LONG and number >= 2**32:
        raise ValueError("a number that does not fit its kind")
    return (number >> 1) ^ -(number & 1), at


def _listed(data: memoryview, at: int, depth: int) -> tuple[list[Any], int]:
    count, kind = divmod(data[at], 16)
    at += 1
    if count == 15:
        count, at = _varint(data, at)
    if kind in (TRUE, FALSE):
        raise ValueError("a list of truth values, which has bytes of its own")
    if count > len(data) - at:
        raise ValueError("a list that is longer than the file")
    listed = []
    for _ in range(count):
        value, at = _value(data, at, kind, depth)
        listed.append(value)
    return listed, at


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """A number in bytes of seven bits, and the place after it."""
    number = 0
    for shift in range(0, 70, 7):
        byte, at = data[at], at + 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
    raise ValueError("a number of more than ten bytes")
