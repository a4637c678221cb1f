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
from triptych.formats.parquet import guard
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
