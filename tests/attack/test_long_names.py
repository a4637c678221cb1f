"""Files of ratings with names of a megabyte, which are not read again for each row.

Some kilobytes took minutes to hours; Python holds the interpreter, so all annotators would wait.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import PurePosixPath
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from openpyxl import Workbook

from triptych.errors import ImportRefused
from triptych.formats import read_items
from triptych.formats.ratings import argilla, controls, label_studio, potato, read_ratings
from triptych.formats.ratings.controls import Fields, explains
from triptych.formats.ratings.model import MAX_NAME, Gathering
from triptych.formats.readers import MAX_COLUMN_NAME

MANY = 500
RATING = {"item_id": "i", "system": "s", "annotator": "anna", "criterion": "c", "value": "4"}
ITEM = {"item_id": "i", "context": "Hi.", "cand:s": "Ho.", "cand:t": "Hey."}

Row = dict[str, str]


def as_csv(row: Row, rows: int) -> bytes:
    return "\n".join([",".join(row), *[",".join(row.values())] * rows]).encode()


def as_json(row: Row, rows: int) -> bytes:
    return json.dumps([row] * rows).encode()


def as_parquet(row: Row, rows: int) -> bytes:
    made = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([row] * rows), made)
    return made.getvalue()


def as_xlsx(row: Row, rows: int) -> bytes:
    made, book = io.BytesIO(), Workbook()
    for cells in (list(row), *[list(row.values())] * rows):
        book.active.append(cells)
    book.save(made)
    return made.getvalue()


FILES = {"csv": as_csv, "json": as_json, "parquet": as_parquet, "xlsx": as_xlsx}


@pytest.mark.parametrize(("row", "read"), [(RATING, read_ratings), (ITEM, read_items)], ids=["ratings", "items"])
@pytest.mark.parametrize("ending", FILES)
def test_a_long_name_of_a_column_is_refused(ending: str, row: Row, read: Callable[[bytes, str], object]):
    refusal = r"^The column or field 'n{30}…' has a name of 1,001 characters; at most 1,000 can be read\. Shorten it\.$"
    with pytest.raises(ImportRefused, match=refusal):
        read(FILES[ending](row | {"n" * (MAX_COLUMN_NAME + 1): "1"}, 2), f"x.{ending}")
    read(FILES[ending](row | {"n" * MAX_COLUMN_NAME: "1"}, 2), f"x.{ending}")


@pytest.mark.parametrize("inside", [dict.fromkeys("abc", 1), [[1], [2]], [{"a": 1}, {"a": 2}]])
def test_a_long_name_is_not_repeated_for_what_it_holds(inside):
    """12 MB took more than 6 GB, since the path of each field begins with those around it."""
    with pytest.raises(ImportRefused, match="has a name of 1,001 characters"):
        read_ratings(json.dumps({"id": "i", "n" * (MAX_COLUMN_NAME + 1): inside}).encode(), "x.json")


def test_a_long_name_around_items_is_shortened():
    items = {"n" * 1000: {"a": [ITEM], "b": [ITEM]}}
    with pytest.raises(ImportRefused, match=r"lists under n{40}\.a, n{40}\.b\."):
        read_items(json.dumps(items).encode(), "x.json")


def test_keys_of_a_single_object_may_be_texts():
    file = read_ratings(json.dumps({text * 600: {"anna": 4, "ben": 2} for text in ("Hi", "Ho")}).encode(), "x.json")
    assert sorted({len(rating.item) for rating in file.ratings}) == [1200]


LONG = "n" * (MAX_NAME + 1)
LABELLED = {"user_id": "u", "instance_id_to_label_to_value": {"i": {"s": {"a": "true", "b": "true"}}}}


@pytest.mark.parametrize(
    "record",
    [
        LABELLED | {"user_id": LONG},
        LABELLED | {"instance_id_to_label_to_value": {LONG: {"s": {"a": "4"}}}},
        LABELLED | {"instance_id_to_label_to_value": {"i": {LONG: {"a": "4", "b": "5"}}}},
        {"id": "i", "fields": {"text": "Hi."}, "responses": {LONG: [{"user_id": "u", "value": "4"}]}},
        {"id": "i", "fields": {"text": "Hi."}, "responses": {"q": [{"user_id": "u", "value": [{"start": 0}]}]}}
        | {"metadata": {"item_id": LONG}},
    ],
    ids=["annotator", "item", "criterion", "question", "item of a span"],
)
def test_a_long_name_is_not_repeated_for_each_rating(record):
    """Sentences about ratings name their annotator, item and criterion: 12 MB took minutes, or more than 6 GB."""
    with pytest.raises(ImportRefused, match=r"Row 1: the name 'n{30}…' has 2,\d\d\d characters; at most 2,000"):
        read_ratings(json.dumps(record).encode(), "x.json")


def test_names_of_fields_in_parquet_count_in_each_row():
    column = [{"n" * 10**6: 1}] * 300
    made = io.BytesIO()
    pq.write_table(pa.table({**{name: [value] * 300 for name, value in RATING.items()}, "more": column}), made)
    with pytest.raises(ImportRefused, match="The file holds more than 200 MB when unpacked"):
        read_ratings(made.getvalue(), "x.parquet")


def test_a_label_studio_table_reads_each_name_once(monkeypatch):
    names = [f"named here {n} only" for n in range(20)]
    rows = [f"{n},anna,1{',3' * len(names)}\n" for n in range(100)]
    counted = {name: Mock(wraps=getattr(label_studio, name)) for name in ("is_field", "explains")}
    ending = Mock(wraps=controls._ENDING)
    monkeypatch.setattr(controls, "_ENDING", ending)
    for name, function in counted.items():
        monkeypatch.setattr(label_studio, name, function)

    file = read_ratings(f"annotation_id,annotator,lead_time,{','.join(names)}\n{''.join(rows)}".encode(), "x.csv")

    assert len(file.ratings) == len(names) * len(rows)
    counts = [ending.fullmatch.call_count, *(function.call_count for function in counted.values())]
    assert all(0 < count <= 3 * len(names) for count in counts)


def test_an_argilla_question_is_placed_once_per_record(monkeypatch):
    answers = [{"user_id": f"u{n}", "value": "4", "status": "submitted"} for n in range(MANY)]
    record = {"id": "1", "fields": {"text": "Hi."}, "responses": {"c": answers, "c_why": answers}}
    place, counted = Mock(wraps=Fields("1", {}, {}).place), Mock(wraps=explains)
    monkeypatch.setattr(Fields, "place", place)
    monkeypatch.setattr(argilla, "explains", counted)

    file = read_ratings(json.dumps([record]).encode(), "x.json")

    assert (file.format, len(file.ratings), len(file.notes)) == ("Argilla", MANY, MANY)
    assert place.call_count <= 10
    assert counted.call_count <= 10


def test_a_path_that_a_potato_project_repeats_is_read_once(monkeypatch):
    config = {"annotation_schemes": [], "data_files": ["a/b.csv"] * potato.MAX_DATA_FILES}
    counted = Mock(wraps=PurePosixPath)
    monkeypatch.setattr(potato, "PurePosixPath", counted)

    files = {"a/b.csv": b"id,text\nk1,x\n", "config.yaml": json.dumps(config).encode()}
    project = potato.read_project(files, Gathering("p.zip", "Potato project"))

    assert list(project.fields) == ["k1"]
    assert counted.call_count <= 10
