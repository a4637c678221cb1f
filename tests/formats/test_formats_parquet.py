"""Parquet files: what they may hold that no JSON does."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from triptych.errors import ImportRefused
from triptych.formats import read_items
from triptych.formats.model import Json
from triptych.formats.parquet import guard, reading
from triptych.formats.ratings import read_ratings

NUMBERS = pa.array([1, 2])
TWO_FIELDS = pa.StructArray.from_arrays([NUMBERS, NUMBERS], ["score", "score"])


@pytest.mark.parametrize(
    ("columns", "names", "reason"),
    [
        ([NUMBERS, NUMBERS], ["score", "score"], "Two columns are called 'score'. Give"),
        ([TWO_FIELDS], ["scores"], "two fields of one name"),
    ],
)
def test_a_parquet_file_with_one_name_twice_is_refused(columns: list[pa.Array], names: list[str], reason: str) -> None:
    texts = pa.array(["a", "b"])
    file = io.BytesIO()
    table = pa.Table.from_arrays([*[texts] * 3, *columns], ["item_id", "context", "cand:a", *names])
    pq.write_table(table, file)

    with pytest.raises(ImportRefused, match=reason):
        read_items(file.getvalue(), "items.parquet")


def ratings_file(written: Mapping[str, Any] = MappingProxyType({}), **columns: pa.Array | list[str]) -> bytes:
    """Two annotators' ratings of one response, as Parquet; written: how."""
    file = io.BytesIO()
    usual = {"item_id": ["1", "1"], "system": ["A", "A"], "annotator": ["ann", "bob"]}
    pq.write_table(pa.table({**usual, **columns}), file, **written)
    return file.getvalue()


@pytest.mark.parametrize(
    ("values", "read"),
    [
        (pa.array([Decimal("3.00"), Decimal("4.50")], pa.decimal128(4, 2)), ["3", "4.5"]),
        (pa.array([Decimal(10), None], pa.decimal256(60, 0)), ["10"]),
        (pa.array([b"good", "schön".encode()]), ["good", "schön"]),
        (pa.array([float("inf"), float("nan")]), ["inf"]),
        (pa.array([bytes(15) + b"\1", None], pa.uuid()), ["00000000-0000-0000-0000-000000000001"]),
    ],
    ids=["decimal", "long decimal", "binary text", "infinite", "id of DuckDB"],
)
def test_values_of_every_readable_type_are_read(values: pa.Array, read: list[Json]) -> None:
    ratings = read_ratings(ratings_file(fluency=values), "ratings.parquet")

    assert [rating.value for rating in ratings.ratings] == read


def test_lists_of_texts_in_several_groups_of_rows_are_read() -> None:
    """pyarrow does not put them together, and the file counted as damaged."""
    reasons = pa.array([["short"], ["long", "wrong"]])

    ratings = read_ratings(ratings_file({"row_group_size": 1}, fluency=["4", "5"], reasons=reasons), "ratings.parquet")

    assert [rating.value for rating in ratings.ratings] == ["4", "5"]


def test_texts_after_their_lengths_are_read() -> None:
    """DuckDB writes texts so with `parquet_version v2`; the file counted as damaged."""
    encoded = {"use_dictionary": False, "column_encoding": {"fluency": "DELTA_LENGTH_BYTE_ARRAY"}}

    ratings = read_ratings(ratings_file(encoded, fluency=["4", "5"]), "ratings.parquet")

    assert [rating.value for rating in ratings.ratings] == ["4", "5"]


@pytest.mark.parametrize("others", [(7,), (None, 6)], ids=["differences", "lengths and a dictionary"])
def test_texts_that_would_all_be_copied_are_refused(others: tuple[int | None, ...]) -> None:
    with pytest.raises(ImportRefused, match="BYTE_ARRAY, which is not supported"):
        guard._refuse_encodings({0, *others})


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        ([0x05], "out of order"),
        ([0x1C] * 12, "too deep"),
        ([0x1D], "an unknown kind"),
        ([0x15, *[0xFF] * 4, 0x7F], "does not fit its kind"),
        ([0x16, *[0xFF] * 10], "more than ten bytes"),
        ([0x19, 0x11], "truth values"),
        ([0x19, 0xF5, 0x7F], "longer than the file"),
    ],
)
def test_what_no_program_writes_into_a_header_is_refused(data: list[int], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        guard._fields(memoryview(bytes([*data, guard.STOP])), 0)


def test_fields_that_no_limit_needs_are_passed_over() -> None:
    byte, double, last = [0x13, 9], [0x17, *range(8)], [0x15, 4]
    fields, end = guard._fields(memoryview(bytes([*byte, *double, *last, guard.STOP])), 0)
    assert (fields, end) == ({1: None, 2: None, 3: 2}, 14)


@pytest.mark.parametrize(
    ("limit", "most", "reason"),
    [
        ("MAX_COLUMNS", 3, "The file has 2 rows and 4 columns; at most 400,000 rows and 3 columns can be read"),
        ("MAX_PAGES", 1, "The file has more than 100,000 pages"),
        ("MAX_END_BYTES", 10, "The file has more than 100,000 pages"),
    ],
)
def test_a_parquet_file_has_limits(monkeypatch: pytest.MonkeyPatch, limit: str, most: int, reason: str) -> None:
    monkeypatch.setattr(guard, limit, most)
    with pytest.raises(ImportRefused, match=reason):
        read_ratings(ratings_file(fluency=["4", "5"]), "ratings.parquet")


def test_texts_are_read_from_a_dictionary_longer_than_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "ROWS_PER_BATCH", 1)
    ratings = read_ratings(ratings_file(fluency=["4", "5"]), "ratings.parquet")
    assert [(rating.annotator, rating.value) for rating in ratings.ratings] == [("ann", "4"), ("bob", "5")]


def test_systems_stored_as_decimals_are_kept_apart() -> None:
    systems = pa.array([Decimal(1), Decimal(2)], pa.decimal128(3, 0))

    ratings = read_ratings(ratings_file(system=systems, fluency=["4", "5"]), "ratings.parquet")

    assert [rating.system for rating in ratings.ratings] == ["1", "2"]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (pa.array([dt.timedelta(seconds=4), None]), "timedelta"),
        (pa.array([b"4", b"\xff"]), "bytes"),
        (pa.array([[("score", 4)], None], pa.map_(pa.string(), pa.int64())), "tuple"),
        (pa.array([{"score": b"\xff"}, None]), "bytes"),
    ],
    ids=["duration", "bytes", "map", "bytes in an object"],
)
def test_a_column_that_cannot_be_read_is_refused(values: pa.Array, kind: str) -> None:
    with pytest.raises(ImportRefused, match=f"Column 'fluency' has values of the type {kind}, which cannot be"):
        read_ratings(ratings_file(adequacy=["4", "5"], fluency=values), "ratings.parquet")
