"""Parquet files: what they may hold that no JSON does."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from triptych.errors import ImportRefused
from triptych.formats import read_items

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
