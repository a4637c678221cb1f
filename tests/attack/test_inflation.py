"""A small file from elsewhere that would take gigabytes of memory once it is read."""

from __future__ import annotations

import io
import os
import struct
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from triptych.errors import ImportRefused, NotFound
from triptych.formats import read_items, zips
from triptych.formats.model import ReadOptions
from triptych.formats.parquet import guard, reading
from triptych.formats.ratings import read_files
from triptych.formats.workbook.reading import read_filled
from triptych.operations import capsule, earlier_head, sealed
from triptych.privacy import erasure

ROWS = 600
LONG = "x" * 400_000
UNNAMED = erasure._PeopleHere((), (), {})


def repeated(count: int) -> pa.Array:
    """The same long text again and again, which Parquet writes once."""
    return pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), pa.array([LONG]))


def in_one_row(values: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array([0, len(values), *[len(values)] * (ROWS - 1)], pa.int32()), values)


def in_views() -> pa.Array:
    """A list of one long text in each row, of the kind whose rows may overlap, as Arrow's schema in the file says."""
    return pa.array([[LONG]] * ROWS, pa.list_view(pa.string()))


def as_a_program_calls_it(column: pa.Array) -> pa.Array:
    return pa.ExtensionArray.from_storage(pa.opaque(column.type, "kind", "program"), column)


@pytest.mark.long
@pytest.mark.parametrize(
    ("column", "options"),
    [
        (lambda: repeated(ROWS), {}),
        (in_views, {"store_schema": True}),
        (lambda: as_a_program_calls_it(in_views()), {"store_schema": True}),
        (lambda: in_one_row(repeated(ROWS)), {}),
        (lambda: in_one_row(pa.StructArray.from_arrays([repeated(ROWS)], ["text"])), {}),
        (lambda: in_one_row(pa.repeat(0, 30_000_000)), {}),
        (lambda: in_one_row(pa.repeat(0, 2_000_000)), {}),
        (
            lambda: pa.array([LONG + str(number) for number in range(ROWS)]),
            {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY"}},
        ),
    ],
    ids=[
        "text",
        "view of a list of texts",
        "extension of such a view",
        "list of texts",
        "list of objects",
        "list of numbers",
        "list that is smaller than its objects",
        "growing text",
    ],
)
def test_a_parquet_file_is_refused_before_it_is_inflated(monkeypatch, request, column, options):
    file = io.BytesIO()
    columns = {"item_id": [str(number) for number in range(ROWS)], "text": column()}
    pq.write_table(pa.table(columns), file, compression="zstd", **{"store_schema": False} | options)
    assert len(file.getvalue()) < 20_000
    decoded: list[object] = []
    monkeypatch.setattr(reading, "_value", decoded.append)
    pool = pa.proxy_memory_pool(usual := pa.default_memory_pool())
    pa.set_memory_pool(pool)
    request.addfinalizer(lambda: pa.set_memory_pool(usual))

    with pytest.raises(ImportRefused, match="holds more than 200 MB|DELTA_BYTE_ARRAY"):
        read_items(file.getvalue(), "items.parquet", ReadOptions())

    assert not decoded
    assert pool.max_memory() < guard.MAX_INFLATED


def as_number(number: int, size: int = 0) -> bytes:
    """A number as in the description of a Parquet file, in as many bytes as given."""
    coded: list[int] = []
    left = number * 2
    while left > 127 or len(coded) < size - 1:
        coded.append(left % 128 + 128)
        left //= 128
    return bytes([*coded, left])


def misstated(column: pa.Array, *numbers: int, **options: Any) -> bytes:
    """A Parquet file with this column, at whose end each of these numbers is replaced by 100."""
    file = io.BytesIO()
    pq.write_table(
        pa.table({"item_id": ["1"], "text": column}), file, use_dictionary=False, store_schema=False, **options
    )
    data = file.getvalue()
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    end = data[start:]
    for number in numbers:
        assert as_number(number) in end
        end = end.replace(as_number(number), as_number(100, len(as_number(number))))
    return data[:start] + end


def with_long_text() -> bytes:
    column, options = pa.array(["x" * 250_000_000]), {"compression": "zstd", "write_statistics": False}
    group = pq.read_metadata(io.BytesIO(misstated(column, **options))).row_group(0)
    return misstated(column, group.total_byte_size, group.column(1).total_uncompressed_size, **options)


def with_many_values() -> bytes:
    nulls = pa.ListArray.from_arrays(pa.array([0, 30_000_000], pa.int32()), pa.nulls(30_000_000, pa.bool_()))
    return misstated(nulls, 30_000_000, compression="zstd", write_statistics=False, data_page_size=2**30)


@pytest.mark.long
@pytest.mark.parametrize("made", [with_long_text, with_many_values])
def test_what_a_parquet_file_states_about_itself_is_checked(request, made):
    file = made()
    pool = pa.proxy_memory_pool(usual := pa.default_memory_pool())
    pa.set_memory_pool(pool)
    request.addfinalizer(lambda: pa.set_memory_pool(usual))

    with pytest.raises(ImportRefused, match="more than 200 MB|damaged"):
        read_items(file, "items.parquet", ReadOptions())

    assert pool.max_memory() < 100_000


def test_no_damaged_parquet_file_ends_the_program():
    """pyarrow ended it when it was asked for a part of a column with statistics of texts, but another type."""
    file = misstated(pa.array(["x"]))
    text, number = b"\x15\x0c%\x02\x18\x04text", b"\x15\x08%\x02\x18\x04text"
    assert text in file

    with pytest.raises(ImportRefused, match="damaged"):
        read_items(file.replace(text, number), "items.parquet", ReadOptions())


def test_a_list_in_a_page_header_ends_with_the_file(monkeypatch):
    """A file of a kilobyte kept a thread busy for ever, and filled the memory."""
    file = misstated(pa.array(["x" * 300]))
    endless = b"\x19\xf3" + b"\x80" * 8 + b"\x10"  # a list of 2**60 bytes, as the first field
    read: list[int] = []
    usual = guard._value

    def counted(data: Any, at: int, kind: int, depth: int) -> tuple[Any, int]:
        read.append(kind)
        assert len(read) < 1_000
        return usual(data, at, kind, depth)

    monkeypatch.setattr(guard, "_value", counted)
    with pytest.raises(ImportRefused, match="damaged"):
        read_items(file[:4] + endless + file[4 + len(endless) :], "items.parquet", ReadOptions())


def test_fields_of_page_headers_count_as_objects(monkeypatch):
    file = table(400, "short")
    monkeypatch.setattr(guard, "FIELD_BYTES", 10**7)
    with pytest.raises(ImportRefused, match="more than 200 MB"):
        read_items(file, "items.parquet", ReadOptions())


def table(rows: int, text: str) -> bytes:
    """Ratings as a Parquet file that stays below every limit."""
    file = io.BytesIO()
    columns = {"item_id": [str(number) for number in range(rows)], "response": [text] * rows}
    same = dict.fromkeys(("system", "annotator", "criterion"), ["x"] * rows)
    pq.write_table(pa.table({**columns, **same, "value": [1] * rows}), file, compression="zstd", store_schema=False)
    return file.getvalue()


def test_the_end_of_a_parquet_file_is_read_few_times(monkeypatch):
    """It was read again for each group of rows: 1 MB for a thousand groups took ten seconds."""
    opened = Mock(wraps=pq.ParquetFile)
    monkeypatch.setattr(pq, "ParquetFile", opened)
    file = io.BytesIO()
    pq.write_table(pa.table({"item_id": ["1"] * 50, "a": ["x"] * 50, "b": ["y"] * 50}), file, row_group_size=1)

    read_items(file.getvalue(), "items.parquet", ReadOptions())

    opened.assert_called_once()


def test_groups_that_are_read_in_turn_differently_are_refused(monkeypatch):
    file, table = io.BytesIO(), pa.table({"item_id": ["1"], "a": ["x"], "b": ["y"]})
    with pq.ParquetWriter(file, table.schema.with_metadata({"about": "x" * 1000})) as first:
        for _ in range(50):
            first.write_table(table)
    guarded = guard.check

    def alternating(data: bytes, metadata: Any) -> list[list[str]]:
        return [paths if number % 2 else [] for number, paths in enumerate(guarded(data, metadata))]

    monkeypatch.setattr(reading, "check", alternating)
    monkeypatch.setattr(guard, "MAX_INFLATED", 400_000)

    with pytest.raises(ImportRefused, match="MB when unpacked"):
        read_items(file.getvalue(), "items.parquet", ReadOptions())


@pytest.mark.long
def test_rows_with_the_same_text_share_it(monkeypatch):
    file = table(400, LONG)
    texts = []
    usual = reading._value

    def noted(value: object) -> object:
        texts.append(value)
        return usual(value)

    monkeypatch.setattr(reading, "_value", noted)
    read_items(file, "items.parquet", ReadOptions())

    assert len({id(text) for text in texts if text == LONG}) == 1


@pytest.mark.parametrize("others", [{}, {"user_state.json": "{}"}])
def test_a_zip_of_many_such_files_is_refused(others):
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        for number in range(30):
            archive.writestr(f"{number}.parquet", table(4, "text"))
        for name, content in others.items():
            archive.writestr(name, content)

    with pytest.raises(ImportRefused, match="holds 30 Parquet files or workbooks; at most 20"):
        read_files(zipped.getvalue(), "ratings.zip", "human", {})


def squeezed(method: int, big: str) -> bytes:
    """A zip of some kB with a file of 60 MB, by a method that Python inflates without a limit."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        with archive.open(big, "w") as member:
            for _ in range(60):
                member.write(bytes(2**20))
        if big != "manifest.json":
            archive.writestr("manifest.json", '{"sha256": {"study.db": "0"}}')
    assert len(packed.getvalue()) < 20_000
    return packed.getvalue()


@pytest.mark.long
@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA], ids=["bzip2", "LZMA"])
@pytest.mark.parametrize(
    ("big", "read"),
    [
        ("xl/workbook.xml", lambda path: read_items(path.read_bytes(), "items.xlsx", ReadOptions())),
        ("ratings.csv", lambda path: read_files(path.read_bytes(), path.name, "human", {})),
        ("manifest.json", lambda path: capsule.uploaded(path.open("rb"), path.name).__enter__()),
        ("study.db", lambda path: earlier_head.read(str(path))),
    ],
    ids=["items", "ratings", "capsule", "against"],
)
def test_a_zip_that_inflates_at_once_is_not_opened(tmp_path, method, big, read):
    path = tmp_path / "given.zip"
    path.write_bytes(squeezed(method, big))
    tracemalloc.start()
    try:
        with pytest.raises((ImportRefused, NotFound), match="deflate|not a study capsule|cannot be read"):
            read(path)
        assert tracemalloc.get_traced_memory()[1] < 10 * 2**20
    finally:
        tracemalloc.stop()


def understated(name: str) -> bytes:
    """A zip of some kB with a file of 60 MB that, as its directory says, has 10 bytes."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, bytes(60 * 2**20))
    data = bytearray(packed.getvalue())
    struct.pack_into("<I", data, data.rindex(b"PK\x01\x02") + 24, 10)
    return bytes(data)


def test_a_device_is_not_read_as_a_zip():
    """/dev/zero would be read without an end."""
    with pytest.raises(zipfile.BadZipFile, match="it is not a regular file"), zips.opened(Path(os.devnull)):
        pass


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("report/snapshot.json", sealed.changed_files),
        ("codebook.json", lambda archive: list(earlier_head._in_file(Path(archive.filename)))),
        ("ratings.csv", lambda archive: erasure._in_archive(Path(archive.filename), {}, (), UNNAMED)),
    ],
    ids=["list of hashes", "last event", "erasure"],
)
def test_a_zip_that_understates_a_size_takes_no_memory(tmp_path, name, read):
    path = tmp_path / "given.zip"
    path.write_bytes(understated(name))
    tracemalloc.start()
    try:
        with zipfile.ZipFile(path) as archive, pytest.raises((zipfile.BadZipFile, ValueError)):
            read(archive)
        assert tracemalloc.get_traced_memory()[1] < 10 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_file_of_a_report_is_hashed_once(tmp_path, monkeypatch):
    """A directory may name one list, and several lists one file, thousands of times."""
    with zipfile.ZipFile(tmp_path / "given.zip", "w") as archive:
        archive.writestr("a/ratings.csv", "1")
        for _ in range(3):
            archive.writestr("a/snapshot.json", '{"files": {"ratings.csv": "0"}}')
        archive.writestr("manifest.json", '{"sha256": {"a/ratings.csv": "0"}}')
    hashed = []

    def noted(file, _kind):
        hashed.append(file.name)
        return Mock(hexdigest=lambda: "0")

    monkeypatch.setattr(sealed.hashlib, "file_digest", noted)
    with zipfile.ZipFile(tmp_path / "given.zip") as archive:
        assert sealed.changed_files(archive) == ["snapshot.json"]  # three times

    assert hashed == ["a/ratings.csv"]


def test_a_report_of_more_than_four_gigabytes_is_not_hashed(tmp_path, monkeypatch):
    monkeypatch.setattr(sealed, "MAX_INFLATED", 1000, raising=False)
    path = tmp_path / "given.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ratings.csv", bytes(2000))
        archive.writestr("manifest.json", '{"sha256": {"ratings.csv": "0"}}')

    with pytest.raises(NotFound, match="cannot be read"):
        earlier_head.read(str(path))


@pytest.mark.parametrize(
    "column", [pa.array([2**31 - 1] * 4, pa.date32()), pa.array([10**15] * 4, pa.date64())], ids=["days", "ms"]
)
def test_a_date_beyond_the_calendar_is_refused_in_words(column):
    file = io.BytesIO()
    pq.write_table(pa.table({"item_id": ["1", "1", "2", "2"], "text": column}), file)

    with pytest.raises(ImportRefused, match="outside the years 1 to 9999"):
        read_items(file.getvalue(), "items.parquet", ReadOptions())


def with_long_directory(path: Path) -> Path:
    """A zip of 20 MB whose list names one small file 440,000 times; its end counts them in 64 bits."""
    local = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 0, 0, 33, 0, 0, 0, 1, 0) + b"a"
    entry = struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 0, 0, 33, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"a"
    count = 440_000
    size, at = count * len(entry), len(local)
    end = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, at)
    end += struct.pack("<4sLQL", b"PK\6\7", 0, at + size, 1)
    end += struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 65535, 65535, 2**32 - 1, 2**32 - 1, 0)
    path.write_bytes(local + entry * count + end)
    return path


def test_a_long_list_of_files_is_not_read(tmp_path, monkeypatch):
    file = with_long_directory(tmp_path / "list.zip")
    listed: list[object] = []
    monkeypatch.setattr(zipfile.ZipInfo, "_decodeExtra", lambda *values: listed.append(values))

    with pytest.raises(ImportRefused, match="holds too many files; at most 200 can be read"):
        read_filled(file.read_bytes())
    with pytest.raises(ImportRefused, match="not a study capsule"), file.open("rb") as stream:
        capsule.uploaded(stream, file.name).__enter__()
    with pytest.raises(NotFound):
        earlier_head.read(str(file))

    assert not listed
