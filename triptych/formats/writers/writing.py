"""Writes files piece by piece: JSON lines, long JSON documents, CSV, Parquet, and the zip around them."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain, islice
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from triptych.formats.long_csv import Cell, safe_text, write_csv
from triptych.formats.writers.model import File

INDENT_SPACES = 1
BLOCK_CHARACTERS = 2**16
EARLIEST_TIME = ZipInfo().date_time  # in a zip file


class Drain(io.RawIOBase):
    """A write-only file object that cannot seek and does not keep the bytes that were taken from it."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._written = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._written

    def write(self, data: Any) -> int:
        size = len(memoryview(data).cast("B"))
        self._kept += data
        self._written += size
        return size

    def take(self) -> bytes:
        """The bytes written since the last call."""
        taken = bytes(self._kept)
        self._kept.clear()
        return taken


def in_blocks(pieces: Iterable[str]) -> Iterator[bytes]:
    """The pieces in UTF-8, joined to blocks of about BLOCK_CHARACTERS, because sending single lines is slow."""
    buffered, length = [], 0
    for piece in pieces:
        buffered.append(piece)
        length += len(piece)
        if length > BLOCK_CHARACTERS:
            yield "".join(buffered).encode()
            buffered, length = [], 0
    yield "".join(buffered).encode()


def as_json(value: object) -> str:
    """JSON with unescaped texts and without NaN: undefined values are null."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def json_file(name: str, document: object) -> File:
    """A small document, indented."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=INDENT_SPACES) + "\n"
    return text_file(name, text)


def text_file(name: str, text: str) -> File:
    return File(name, iter([text.encode()]))


def jsonl_file(name: str, rows: Iterable[object]) -> File:
    """One JSON value per line."""
    return File(name, in_blocks(f"{as_json(row)}\n" for row in rows))


def json_list_file(name: str, rows: Iterable[object], before: str = "", after: str = "") -> File:
    """One long list, one entry per line; before, after: JSON text around the list."""
    entries = (f"{',' if number else ''}\n{as_json(row)}" for number, row in enumerate(rows))
    return File(name, in_blocks(chain([f"{before}["], entries, [f"\n]{after}\n"])))


def csv_file(name: str, header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> File:
    """A CSV file in which no spreadsheet finds a formula."""
    return File(name, in_blocks(write_csv(rows, header)))


def parquet_file(name: str, schema: Any, rows: Iterable[Sequence[object]], per_group: int) -> File:
    """A Parquet file, one row group after the other. schema: pyarrow.Schema with the columns of the rows."""
    return File(name, _parquet(schema, iter(rows), per_group))


def _parquet(schema: Any, rows: Iterator[Sequence[object]], per_group: int) -> Iterator[bytes]:
    import pyarrow as pa  # here, because a server that exports nothing need not load it
    import pyarrow.parquet as pq

    drain = Drain()
    with pq.ParquetWriter(drain, schema, compression="zstd") as writer:
        while group := list(islice(rows, per_group)):
            columns = zip(*group, strict=True)
            arrays = [pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            yield drain.take()
    yield drain.take()


def spreadsheet(sheets: Mapping[str, Iterable[Sequence[Cell]]]) -> bytes:
    """An xlsx file with these sheets, in which no spreadsheet finds a formula; the same cells make the same bytes."""
    from openpyxl import Workbook
    from openpyxl.writer.excel import ExcelWriter

    workbook = Workbook(write_only=True)
    for name, rows in sheets.items():
        sheet = workbook.create_sheet(name)
        for row in rows:
            sheet.append([safe_text(cell) if isinstance(cell, str) else cell for cell in row])
    workbook.properties.created = workbook.properties.modified = datetime(*EARLIEST_TIME)
    timed, file = io.BytesIO(), io.BytesIO()
    ExcelWriter(workbook, ZipFile(timed, "w")).save()  # `workbook.save` would add the time
    with ZipFile(timed) as entries, ZipFile(file, "w") as archive:
        for name in entries.namelist():
            archive.writestr(ZipInfo(name), entries.read(name), ZIP_DEFLATED)
    return file.getvalue()


def zipped(files: Iterable[File], folder: str) -> Iterator[bytes]:
    """A zip file in pieces, without knowing any length beforehand; the same files make the same bytes."""
    drain = Drain()
    with ZipFile(drain, "w") as archive:
        for file in files:
            entry = ZipInfo(f"{folder}/{file.name}")
            entry.compress_type = ZIP_DEFLATED
            with archive.open(entry, "w", force_zip64=True) as member:
                for block in file.blocks:
                    member.write(block)
                    yield drain.take()
    yield drain.take()
