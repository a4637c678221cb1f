"""Finished ratings of every program we read: what becomes of them, and what is said about what does not fit."""

from __future__ import annotations

import io
import json
import re
import tracemalloc
import zipfile
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triptych.errors import ImportRefused
from triptych.formats.model import MAX_UPLOAD, Findings, Record, Source, TurnDraft
from triptych.formats.ratings import archives, levels, model, read_files, read_ratings, spans
from triptych.formats.ratings.levels import flattened
from triptych.formats.ratings.model import FinishedRatings, ImportedHighlight
from triptych.formats.ratings.proposal import as_yaml, distinct_keys, propose
from triptych.formats.ratings.sources import RATINGS
from triptych.formats.ratings.spans import Offsets, Placing
from triptych.formats.readers import read_items_source
from triptych.rubric.files import parse_rubric

LONG = "item_id,system,annotator,criterion,value\n"


def table(text: str, name: str = "ratings.csv", **more: Any) -> FinishedRatings:
    return read_ratings(text.encode(), name, **more)


def records(*objects: Any, name: str = "export.jsonl") -> FinishedRatings:
    return read_ratings("\n".join(json.dumps(entry) for entry in objects).encode(), name)


def rated(ratings: FinishedRatings) -> list[tuple[str, str | None, str, str, str]]:
    return [(r.item, r.system, r.annotator, r.criterion, r.value) for r in ratings.ratings]


def messages(ratings: FinishedRatings) -> list[str]:
    return [str(problem) for problem in ratings.problems]


# Tables


@pytest.mark.parametrize("again", ["value", "Value", "criterion"])
def test_a_second_column_of_values_is_not_ignored(again):
    header = f"item_id,system,annotator,criterion,value,{again}"

    with pytest.raises(ImportRefused, match=f"Two columns are called '{again.lower()}'"):
        table(f"{header}\n1,A,ann,quality,3,5\n")


def test_a_long_table_keeps_ids_and_values_as_written():
    ratings = table(LONG + "007,m 1,w1,fluency,4\n7,m 1,w1,fluency,4.50\n")
    assert rated(ratings) == [("007", "m 1", "w1", "fluency", "4"), ("7", "m 1", "w1", "fluency", "4.50")]
    assert ratings.ok
    assert ratings.problems == ()


def test_a_column_per_criterion_reads_like_a_long_table():
    ratings = table("item_id;model;worker;fluency;sense\n1;m;w1;4;yes\n1;m;w2;;no\n")
    assert rated(ratings) == [
        ("1", "m", "w1", "fluency", "4"),
        ("1", "m", "w1", "sense", "yes"),
        ("1", "m", "w2", "sense", "no"),
    ]
    assert "1 empty rating(s)" in messages(ratings)[0]
    assert ratings.recognised["sense"] == "criterion 'sense'"


def test_a_column_per_annotator_reads_like_a_long_table():
    ratings = table("item_id,system,criterion,anna,bert\n1,m,fluency,4,5\n")
    assert rated(ratings) == [("1", "m", "anna", "fluency", "4"), ("1", "m", "bert", "fluency", "5")]
    assert ratings.recognised["bert"] == "ratings of annotator 'bert'"
    assert rated(table("item_id,anna,bert\n1,4,5\n"))[1] == ("1", "unknown", "bert", "rating", "5")


def test_an_empty_system_cell_means_the_item():
    assert table(LONG + "1,,w1,overall,4\n").ratings[0].system is None
    assert table("item_id,annotator,criterion,value\n1,w1,overall,4\n").ratings[0].system == "unknown"


def test_a_judge_is_recognised_by_column_or_lead():
    assert table("item_id,system,judge,criterion,value\n1,m,big-model,c,4\n").ratings[0].kind == "judge"
    kinds = table("item_id,annotator,kind,criterion,value\n1,w,human,c,4\n1,g,judge,c,4\n1,s,simulated,c,4\n")
    assert [rating.kind for rating in kinds.ratings] == ["human", "judge", "simulated"]
    assert table(LONG + "1,m,w,c,4\n", kind="judge").ratings[0].kind == "judge"


def test_explanation_time_position_and_repeat_come_along():
    header = "item_id,system,annotator,criterion,value,explanation,submitted_at,active_seconds,position,repeat\n"
    rating = table(header + "1,m,w,c,4,Because.,2026-03-01T10:00:00+01:00,12.5,2,again\n").ratings[0]
    assert rating.at == datetime(2026, 3, 1, 9, tzinfo=UTC)
    assert (rating.explanation, rating.seconds, rating.position, rating.of) == ("Because.", 12.5, 2, "again")


def test_texts_in_the_table_are_kept_and_must_agree():
    header = "item_id,system,annotator,criterion,value,context,response\n"
    ratings = table(header + "1,m,w,c,4,Why?,So.\n1,m,v,c,4,Why?,So.\n")
    assert ratings.texts == {("1", None): "Why?", ("1", "m"): "So."}
    assert (
        "Row 3, column 'response': the text differs"
        in messages(table(header + "1,m,w,c,4,Why?,So.\n1,m,v,c,4,Why?,Thus.\n"))[0]
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "The file is empty"),
        ("a,b\n1,2\n", "must name the columns"),
        (LONG, "no rows below it"),
        ("annotator,criterion,value\nw,c,4\n", "No column gives the item"),
        ("item_id,criterion,value\n1,c,4\n", "No column gives the annotator"),
        ("item_id,annotator\n1,w\n", "No column contains values. There are item_id, annotator; call it 'value'."),
    ],
)
def test_a_table_without_ratings_is_refused_with_a_reason(text: str, sentence: str):
    with pytest.raises(ImportRefused, match=sentence):
        table(text)


def test_rows_without_item_annotator_or_the_right_width_are_named():
    ratings = messages(table(LONG + ",m,w,c,4\n1,m,,c,4\n1,m,w,c\n"))
    assert ratings == [
        "Row 4: has 4 cells, the header has 5 columns. A cell that contains ',' must be in double quotes.",
        "Row 2, column 'item_id': has no item id.",
        "Row 3, column 'annotator': has no annotator.",
    ]


def test_highlights_tables_are_recognised_and_minus_one_means_no_place():
    ratings = table(
        "item_id,system,annotator,selection,comment,start,end,occurrences\n1,m,w,a b,Good,2,5,1\n1,m,w,x,,-1,-1,0\n"
    )
    assert [(h.quote, h.start, h.end, h.label, h.comment) for h in ratings.highlights] == [
        ("a b", 2, 5, "highlight", "Good"),
        ("x", None, None, "highlight", ""),
    ]
    assert ratings.ignored == ("occurrences",)


@pytest.mark.parametrize(
    ("values", "warned"),
    [(("1e-7", "9e-7"), True), (("0.1234560", "0.1234569"), True), (("0.12345678", "0.9"), False), (("1", "2"), False)],
)
def test_numbers_that_rounding_changes_have_a_remark(values: tuple[str, ...], warned: bool):
    assert any("rounded to 6 decimals" in remark for remark in proposal(*values).remarks) == warned


def test_control_characters_are_removed_with_a_warning():
    ratings = table(LONG + "1\x00,m,w\x07,c,4\n")
    assert rated(ratings) == [("1", "m", "w", "c", "4")]
    assert messages(ratings)[0].startswith("Row 2, column 'item_id': 1 control character(s)")
    assert "half of a character" in messages(records({"item_id": "\ud83d", "annotator": "w", "c": 1}))[0]


# Programs


def potato(labels: dict[str, Any], spans: dict[str, Any] | None = None, user: str = "u1") -> FinishedRatings:
    state = {"user_id": user, "instance_id_to_label_to_value": labels, "instance_id_to_span_to_value": spans or {}}
    return read_ratings(json.dumps(state, indent=1).encode(), "user_state.json")


def test_potato_labels_scales_selections_and_questions_are_read():
    ratings = potato(
        {
            "i1": {"sentiment": {"labels": {"positive": True, "negative": False}}},
            "i2": {"quality": {"scale_4": "4"}, "preference": {"selection": "A"}},
            "i3": {"response_quality": {"helpfulness": "4", "safety": "5"}, "why": {"text_box": "Because."}},
        },
        {"i1": {"ner": [{"start": 0, "end": 5, "label": "PERSON", "text": "Alice"}]}},
    )
    assert rated(ratings) == [
        ("i1", "unknown", "u1", "sentiment", "positive"),
        ("i2", "unknown", "u1", "quality", "4"),
        ("i2", "unknown", "u1", "preference", "A"),
        ("i3", "unknown", "u1", "response_quality: helpfulness", "4"),
        ("i3", "unknown", "u1", "response_quality: safety", "5"),
    ]
    assert [(n.name, n.text) for n in ratings.notes] == [("why", "Because.")]
    assert [(h.item, h.label, h.quote, h.utf16) for h in ratings.highlights] == [("i1", "PERSON", "Alice", True)]
    assert all(rating.position is None for rating in ratings.ratings)


def test_several_potato_labels_in_a_single_choice_are_reported():
    ratings = potato(
        {"i1": {"sentiment": {"labels": {"positive": True, "negative": "true"}}}, "i2": {"s": {"a": "true"}}}
    )
    assert rated(ratings) == [("i2", "unknown", "u1", "s", "a")]
    assert not ratings.ok
    assert "annotator 'u1' has several labels for item 'i1': 'positive', 'negative'" in messages(ratings)[0]
    assert "column 'sentiment'" in messages(ratings)[0]


def zipped(**files: Any) -> bytes:
    """A zip with these files; what is no text becomes JSON."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content if isinstance(content, str | bytes) else json.dumps(content))
    return data.getvalue()


POTATO_ITEM = {"key": "k1", "context": "Why?", "response_a": "Well 😀, no\n=1+1", "response_b": "x", "system_b": "t5"}
POTATO_CONFIG = """
data_files: [data/items.json]
item_properties: {id_key: key, text_key: context}
instance_display: {fields: [{key: response_a, type: text, span_target: true}]}
annotation_schemes: [{annotation_type: multiselect, name: kinds_a}, {annotation_type: slider, name: score_b}]
"""


def potato_pairs(*labels: tuple[str, str, str], spans: Any = (), **more: Any) -> dict[str, Any]:
    """A state as Potato 2.12 writes it."""
    return {
        "user_id": "u1",
        "instance_id_to_label_to_value": {"k1": [[{"schema": s, "name": n}, value] for s, n, value in labels]},
        "instance_id_to_span_to_value": {"k1": [[span, 1] for span in spans]},
        **more,
    }


def test_a_potato_project_assigns_answers_and_spans_to_responses():
    span = {"schema": "mark", "name": "good", "title": "good", "target_field": "response_a"}
    state = potato_pairs(
        ("fluency_a", "4", "4"),
        ("score_b", "slider", "70"),
        ("pick", "selection", "A"),
        ("rubric_b", "helpful", "5"),
        ("fluency_why_a", "text_box", "Because."),
        ("kinds_a", "p", "p"),
        ("kinds_a", "q", "q"),
        spans=[span | {"start": 8, "end": 10}, span | {"start": 10, "end": 12}],
        instance_id_to_behavioral_data={"k1": {"session_end": 1795298641.4, "total_time_ms": 4973}},
    )
    folder = {"p/config.yaml": POTATO_CONFIG, "p/data/items.json": [POTATO_ITEM], "__MACOSX/p/user_state.json": "x"}
    (ratings,) = read_files(zipped(**folder, **{"p/annotation_output/u1/user_state.json": state}), "p.zip")
    assert rated(ratings) == [
        ("k1", "response_a", "u1", "fluency", "4"),
        ("k1", "t5", "u1", "score", "70"),
        ("k1", None, "u1", "pick", "A"),
        ("k1", "t5", "u1", "rubric: helpful", "5"),
    ]
    assert (ratings.ratings[0].seconds, ratings.ratings[0].at.year) == (4.973, 2026)
    assert [(n.system, n.name, n.text) for n in ratings.notes] == [("response_a", "fluency_why", "Because.")]
    # it counts code points, and none for a line break
    assert [(m.start, m.end, m.quote) for m in ratings.highlights] == [(8, 10, "no"), (11, 13, "=1")]
    assert "1 answer(s) to questions with several labels are left out" in "".join(messages(ratings))
    assert (ratings.texts["k1", None], ratings.texts["k1", "t5"]) == ("Why?", "x")


def test_a_data_file_of_a_potato_project_is_read_once():
    config = "annotation_schemes: []\ndata_files: [d.csv, p/d.csv, d.csv, none.csv, 5]\n"
    files = {"p/config.yaml": config, "p/d.csv": "id,text\nk1,x\n", "p/user_state.json": potato_pairs(("s", "1", "1"))}

    with patch("triptych.formats.ratings.potato.read_items_source", wraps=read_items_source) as read:
        read_files(zipped(**files), "p.zip")

    assert [call.args[1] for call in read.call_args_list] == ["p/d.csv"]


@pytest.mark.parametrize(
    ("paths", "message"),
    [("5", "a list was expected"), ("d.csv", "a list was expected"), (str(["d.csv"] * 201), "more than 200 files")],
)
def test_odd_paths_of_a_potato_project_are_reported(paths: str, message: str):
    config = f"annotation_schemes: []\ndata_files: {paths}\n"
    state = potato_pairs(("s", "1", "1"))

    (ratings,) = read_files(zipped(**{"p/config.yaml": config, "p/user_state.json": state}), "p.zip")

    assert not ratings.ok
    assert message in "".join(messages(ratings))


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "most"),
    [(str([1] * 6_000), "20,000 keys and values"), ("x: 'a" + "\n" * 300_000 + "b'", "1,000,000 bytes")],
)
def test_yaml_files_of_a_potato_project_count_together(text, most):
    files = {f"p/{number}.yaml": text for number in range(4)}
    state = potato_pairs(("s", "1", "1"))

    with pytest.raises(ImportRefused, match=f"have more than {most}"):
        read_files(zipped(**files, **{"p/user_state.json": state}), "p.zip")


def test_a_potato_state_rates_one_text_and_reports_multiple_labels():
    ratings = records(potato_pairs(("s", "1", "1"), ("t", "a", "a"), ("t", "b", "b")), name="user_state.json")
    assert rated(ratings) == [("k1", "unknown", "u1", "s", "1")]
    assert "several labels for item 'k1': 'a', 'b'" in messages(ratings)[0]


# Zip archives


def test_files_of_a_zip_are_read_one_by_one():
    files = {"a/ratings.csv": LONG + "1,m,w,c,4\n", "a/.DS_Store": "x", "a/README.md": "# Read"}
    (ratings,) = read_files(zipped(**files), "mine.ZIP", "judge")
    assert (ratings.name, ratings.ratings[0].kind) == ("a/ratings.csv", "judge")
    (ratings,) = read_files(zipped(**{"x": b"", "w1.csv": LONG + "1,m,w,c,4\n"}), "all.zip")
    assert ratings.name == "w1.csv"


def test_two_files_of_one_name_in_a_zip_are_refused():
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        for name in ("anna", "bert"):
            archive.writestr("ratings.csv", f"{LONG}1,m,{name},c,4\n")
    with pytest.raises(ImportRefused, match="The zip holds two files called ratings.csv"):
        read_files(data.getvalue(), "x.zip")


def test_files_of_a_zip_that_are_not_read_are_named():
    rows = {f"{name}.csv": f"{LONG}1,m,{name},c,4\n" for name in ("anna", "bert")}
    first, second = read_files(zipped(**rows, **{"c.csv ": rows["anna.csv"], "d.xls": b"", ".DS_Store": b""}), "x.zip")
    assert (messages(first), messages(second)) == (["Not read in the zip: c.csv , d.xls."], [])
    (first,) = read_files(zipped(**{"ratings.csv": rows["anna.csv"], **{f"{n}.csv": b"" for n in range(12)}}), "x.zip")
    assert messages(first)[0].endswith("8.csv, 9.csv and 2 more.")
    (first,) = read_files(zipped(**{"ratings.csv": rows["anna.csv"], "codebook.json": {}, "README.md": ""}), "x.zip")
    assert messages(first) == []


def test_an_empty_table_in_a_zip_is_left_out():
    empty = io.BytesIO()
    pq.write_table(pa.table({"item_id": pa.array([], pa.string())}), empty)
    tables = {"ratings.csv": LONG + "1,m,w,c,4\n", "highlights.csv": "item_id,system,annotator,label\n"}
    files = {**tables, "a/highlights.parquet": empty.getvalue()}

    (ratings,) = read_files(zipped(**files), "mine.zip")

    assert (rated(ratings), ratings.ok) == ([("1", "m", "w", "c", "4")], True)
    assert [message.partition(" has no rows")[0] for message in messages(ratings)] == [
        "highlights.csv",
        "a/highlights.parquet",
    ]
    with pytest.raises(ImportRefused, match=r"^ratings.csv: .* no rows"):
        read_files(zipped(**files | {"ratings.csv": LONG}), "mine.zip")


def test_items_without_texts_in_a_zip_are_left_alone():
    files = {"ratings.csv": LONG + "1,m,w,c,4\n", "items.csv": "item_id,context,system,text\n1,Why?,m,\n"}
    (ratings,) = read_files(zipped(**files), "mine.zip")
    assert ratings.items is None
    assert "The items in the same archive are not used" in messages(ratings)[0]


def test_warnings_about_items_in_a_zip_name_their_file():
    items = "item_id,context,system,text\n1,Why?,m,So.\n1,Why?,M,No.\n"
    (ratings,) = read_files(zipped(**{"ratings.csv": LONG + "1,m,w,c,4\n", "items.csv": items}), "mine.zip")
    assert ratings.items is not None
    alike = "row 2: the systems 'M' and 'm' (row 2) differ in case only; both are kept."
    assert messages(ratings) == [f"items.csv: {alike}"]


def test_a_zip_is_inflated_up_to_a_limit_only(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archives, "MAX_INFLATED", 2**20)
    with pytest.raises(ImportRefused, match="more than 1 MB when it is opened"):
        read_files(zipped(**{"a.csv": b" " * 2**19, "b.csv": b" " * (2**19 + 1)}), "x.zip")


@pytest.mark.long
@pytest.mark.parametrize("cell", ["", "1"])
def test_a_wide_table_has_a_million_cells_for_ratings(cell: str):
    header = ",".join(["item_id", "annotator", *(f"c{number}" for number in range(198))])
    row = ",".join(["i", "a", *[cell] * 198])
    with pytest.raises(ImportRefused, match="more than 1,200,000 cells for ratings; split it"):
        read_ratings("\n".join([header, *[row] * 6_061]).encode(), "x.csv")


def test_nested_lists_make_rows_up_to_a_limit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(levels, "MAX_ROWS", 3)
    with pytest.raises(ImportRefused, match="The file makes more than 3 rows; split it"):
        records({"item_id": "i", "votes": [{"x": 1}] * 2}, {"item_id": "j", "votes": [{"x": 1}] * 2})


@pytest.mark.long
@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"of": dict.fromkeys(map(str, range(99)), 1), "votes": [{"x": 1}] * 80_000}, "more than 8,000,000 cells"),
        ({"of": {str(number): [1, 2] for number in range(201)}}, "make 202 columns; at most 200"),
    ],
    ids=["cells", "columns"],
)
def test_nested_fields_make_a_table_of_limited_size(fields: dict[str, Any], sentence: str):
    with pytest.raises(ImportRefused, match=sentence):
        records({"item_id": "i", **fields})


@pytest.mark.parametrize(
    "fields",
    [{"a": {"b": 5}, "a.b": 4}, {"a.b": [3, 4], "a": {"b": [1, 2]}}, {"v": [{"w": [{"y": 3}]}], "v.w": [{"y": 4}]}],
)
def test_a_field_that_is_there_twice_is_refused(fields: dict[str, Any]):
    with pytest.raises(ImportRefused, match="is there twice, once with a dot in a name"):
        records({"item_id": "i", "system": "s", "annotator": "w", **fields})


RAGGED = st.recursive(st.just("x"), lambda inner: st.lists(inner, min_size=1, max_size=3), max_leaves=6)


def with_places(nested: Any, place: str = "") -> Any:
    """The same lists, with each text's place in them as its text: [["#1#1", "#1#2"], "#2"]."""
    return place if isinstance(nested, str) else [with_places(part, f"{place}#{n}") for n, part in enumerate(nested, 1)]


@pytest.mark.long
@given(st.lists(st.lists(RAGGED, min_size=1, max_size=3).map(with_places), min_size=2, max_size=3))
def test_ragged_lists_side_by_side_lose_no_value(fields: list[Any]):
    values: dict[str, Any] = {f"f{n}": field for n, field in enumerate(fields)}
    rows = [
        row.values for row in flattened(Source("JSON", tuple(values), (Record(1, values),), False), "x.json").records
    ]
    for name, field in values.items():
        cells = {str(row[name]): row for row in rows if name in row}
        assert cells.keys() == set(re.findall("[#0-9]+", json.dumps(field)))
        for cell, row in cells.items():
            assert "".join(str(row[f"position {depth}"]) for depth in range(1, 1 + cell.count("#"))) == cell


def test_a_zip_has_a_limit_of_cells():
    half = b"item_id,annotator,fluency\n" + b"," * 12_000_000
    with pytest.raises(ImportRefused, match="The zip holds more than 24,000,000 cells; split it"):
        read_files(zipped(**{"a.csv": half, "b.csv": half}), "x.zip")


@pytest.mark.parametrize("name", ["ratings.json", "user_state.json"])
def test_a_zip_has_a_limit_of_parts_in_json(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archives, "MAX_PARTS", 20)
    of = {f"{who}/{name}": json.dumps([{"annotator": who, "item_id": "i", "s": [[]] * 9}]) for who in ("anna", "bert")}
    with pytest.raises(ImportRefused, match="The JSON files in the zip have more than 20 parts; split it"):
        read_files(zipped(**of), "x.zip")


def test_commas_of_an_export_in_json_are_no_cells(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archives, "RATINGS", replace(RATINGS, most_lines=1))
    files = {"ratings.csv": LONG + "1,m,w,c,4\n", "events.json": b"[" + b"0," * 1_000 + b"0]"}
    (ratings,) = read_files(zipped(**files), "mine.zip")
    assert rated(ratings) == [("1", "m", "w", "c", "4")]


def test_a_zip_has_a_limit_of_ratings(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archives, "MAX_RATINGS", 3)
    files = {f"{name}.csv": f"{LONG}1,m,{name},c,4\n2,m,{name},c,4\n" for name in ("anna", "bert")}
    with pytest.raises(ImportRefused, match="The zip holds more than 3 ratings; split it"):
        read_files(zipped(**files), "x.zip")


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"PK\x03\x04 and nothing else", "damaged"),
        (bytes(MAX_UPLOAD + 2**20), "The zip has 21 MB; at most 20 MB can be read."),
        (zipped(**{"a.png": b"x"}), "no file of ratings in the zip"),
        (zipped(**{"ratings.csv": "a,b\n1,2\n"}), "ratings.csv: .*The first row must name the columns"),
        (zipped(**{"ratings.parquet": b"PAR1 and nothing else"}), "not a Parquet file"),
        (zipped(**{"u/user_state.json": {}, "config.yml": "annotation_schemes: ["}), "config.yml is not YAML"),
    ],
)
def test_an_unreadable_zip_is_refused_with_a_reason(data: bytes, sentence: str):
    with pytest.raises(ImportRefused, match=sentence):
        read_files(data, "x.zip")


def label_studio(**annotation: Any) -> dict[str, Any]:
    done = {"id": 1001, "completed_by": 10, "lead_time": 4.288, "created_at": "2021-08-23T12:19:18.905800Z"}
    data = {"dialogue": "💩 Why?", "resp_a": "So 💩 it is", "resp_b": "Thus", "model_a": "gpt"}
    return {"id": 1, "data": data, "annotations": [{**done, **annotation}], "predictions": []}


def result(control: str, to: str, kind: str, **value: Any) -> dict[str, Any]:
    return {"from_name": control, "to_name": to, "type": kind, "value": value}


def test_label_studio_controls_belong_to_the_response_they_name():
    results = [
        result("fluency_a", "resp_a", "rating", rating=4),
        result("ok_b", "resp_b", "choices", choices=["Yes"]),
        result("err", "resp_a", "labels", start=6, end=8, text="it", labels=["Error"]),
        result("why_b", "resp_b", "textarea", text=["Short."]),
    ]
    ratings = records([label_studio(result=results)], name="project.json")
    assert ratings.format == "Label Studio"
    assert rated(ratings) == [("1", "gpt", "10", "fluency", "4"), ("1", "resp_b", "10", "ok", "Yes")]
    assert (ratings.ratings[0].seconds, ratings.ratings[0].at.year) == (4.288, 2021)
    assert ratings.texts[("1", "gpt")] == "So 💩 it is"
    assert ratings.texts["1", None] == "💩 Why?"
    assert [(n.system, n.name, n.text) for n in ratings.notes] == [("resp_b", "why", "Short.")]
    span = Placing(Findings()).place(ratings.highlights[0], ratings.texts[("1", "gpt")])
    assert (span.start, span.end, span.quote) == (5, 7, "it")


def test_label_studio_predictions_become_a_judge():
    task = label_studio(was_cancelled=True, result=[result("fluency_a", "resp_a", "rating", rating=4)])
    task["predictions"] = [{"model_version": "m1", "result": [result("fluency_a", "resp_a", "rating", rating=2)]}]
    ratings = records([task], name="project.json")
    assert [(r.annotator, r.kind, r.value) for r in ratings.ratings] == [("m1", "judge", "2")]
    assert messages(ratings) == ["1 cancelled annotation(s) are left out."]


def test_label_studio_people_are_objects_and_unreadable_parts_are_reported():
    results = [result("c_a", "resp_a", "choices", choices=["x", "y"]), result("p", "resp_a", "ranker", ranker=[1])]
    task = label_studio(completed_by={"id": 3, "email": "a@example.org"}, result=results)
    ratings = records([task], name="project.json")
    assert ratings.ratings == []
    assert messages(ratings)[0] == "Row 1, column 'c': holds a list, one value was expected."
    assert "type 'ranker'" in messages(ratings)[1]


def test_label_studio_answers_about_a_passage_rate_no_response():
    place = {"start": 0, "end": 2, "text": "So"}
    about = result("kind", "resp_a", "choices", choices=["typo"], **place)
    span = result("err", "resp_a", "labels", labels=["Error"], **place) | {"meta": {"text": ["spelt", "so"]}}
    ratings = records([label_studio(result=[result("f_a", "resp_a", "rating", rating=4), about, span])], name="p.json")
    assert [row[3] for row in rated(ratings)] == ["f"]
    assert "1 answer(s) about one highlighted passage are left out" in "".join(messages(ratings))
    assert [mark.comment for mark in ratings.highlights] == ["spelt\nso"]


def test_a_label_studio_table_keeps_words_as_notes():
    header = "resp_a,resp_b,RatedBy,n_a,n_why_a,free_b,annotator,annotation_id,lead_time\n"
    text = '"{""text"":[""x"",""y""]}"'
    ratings = table(header + f'So,Thus,P-1,"[{{""number"":0.5}}]",Because,{text},7,1,3.5\n')
    assert rated(ratings) == [("2", "resp_a", "P-1", "n", "0.5")]
    notes = [(note.system, note.name, note.text) for note in ratings.notes]
    assert notes == [("resp_a", "n_why", "Because"), ("resp_b", "free", "x\ny")]


def test_a_label_studio_table_is_read_by_its_controls():
    header = "dialogue,resp_a,resp_b,id,fluency_a,ok_b,err_a,annotator,annotation_id,created_at,lead_time\n"
    span = '"[{""start"":3,""end"":5,""text"":""it"",""labels"":[""Error""]}]"'
    ratings = table(
        header + f'Why?,So it is,Thus,7,4,"{{""choices"":[""Yes""]}}",{span},a@example.org,1,2026-01-01,3.5\n'
    )
    assert ratings.format == "Label Studio table"
    assert rated(ratings) == [
        ("7", "resp_a", "a@example.org", "fluency", "4"),
        ("7", "resp_b", "a@example.org", "ok", "Yes"),
    ]
    assert [(mark.system, mark.label, mark.start) for mark in ratings.highlights] == [("resp_a", "Error", 3)]
    assert ratings.ignored == ("annotation_id",)


ARGILLA = {
    "id": "d017",
    "status": "completed",
    "fields": {"context": "Hello", "response_a": "Hi", "response_b": "Ho"},
    "metadata": {"domain": "esc", "system_b": "t5"},
}


def test_argilla_responses_and_suggestions_become_people_and_a_judge():
    record = ARGILLA | {
        "responses": {
            "fluency_a": [{"value": 4, "user_id": "u1", "status": "submitted"}],
            "fluency_b": [{"value": 3, "user_id": "u1"}, {"value": 1, "user_id": "u2", "status": "discarded"}],
            "best": [{"value": "response_b", "user_id": "u1"}],
            "spans_b": [{"value": [{"start": 0, "end": 2, "label": "bad"}], "user_id": "u1"}],
        },
        "suggestions": {"fluency_a": {"value": 3, "score": None, "agent": "judge-1"}},
    }
    ratings = records(record)
    assert rated(ratings) == [
        ("d017", "response_a", "u1", "fluency", "4"),
        ("d017", "t5", "u1", "fluency", "3"),
        ("d017", None, "u1", "best", "response_b"),
        ("d017", "response_a", "judge-1", "fluency", "3"),
    ]
    assert [rating.kind for rating in ratings.ratings] == ["human", "human", "human", "judge"]
    assert [(h.system, h.label, h.start, h.end) for h in ratings.highlights] == [("t5", "bad", 0, 2)]
    assert "1 discarded or draft response(s) are left out." in messages(ratings)


def test_flattened_argilla_lists_are_zipped_and_must_be_equally_long():
    flat = {"id": "1", "response_a": "Hi", "q.responses": [4, 5], "q.responses.users": ["u1", "u2"]}
    ratings = records(
        flat | {"q.responses.status": ["submitted", "draft"], "q.suggestion": 2, "q.suggestion.agent": "j"}
    )
    assert [(r.annotator, r.value) for r in ratings.ratings] == [("u1", "4"), ("j", "2")]
    assert "differ in number" in messages(records(flat | {"q.responses": [4]}))[0]


def pearmut(**more: Any) -> dict[str, Any]:
    item = {"item_id": "d017", "src": "Source", "tgt": {"gpt2-ft": "It is so, it seems.", "t5": "No."}}
    span = {"start_i": 3, "end_i": 4, "category": None, "severity": "minor"}
    responses = {
        "gpt2-ft": {"score": 70, "error_spans": [span], "textfield": "fine"},
        "t5": {"score": 0, "error_spans": []},
    }
    actions = [{"time": 1771311326.0, "action": "load"}, {"time": 1771311347.5, "action": "submit"}]
    return {"annotation": [responses], "item": [item], "actions": actions, "user_id": "hit-488", "item_i": 0} | more


def test_pearmut_inclusive_span_ends_become_exclusive():
    ratings = records(pearmut())
    assert rated(ratings) == [("d017", "gpt2-ft", "hit-488", "score", "70"), ("d017", "t5", "hit-488", "score", "0")]
    assert ratings.ratings[0].seconds == 21.5
    span = Placing(Findings()).place(ratings.highlights[0], ratings.texts[("d017", "gpt2-ft")])
    assert (ratings.highlights[0].label, span.quote) == ("minor", "is")
    assert [note.text for note in ratings.notes] == ["fine"]


def test_times_that_no_clock_shows_are_not_read():
    endless = [{"time": int("9" * 400)}] * 2  # more than a float holds: their difference is no number
    assert [rating.seconds for rating in records(pearmut(actions=endless)).ratings] == [0, 0]
    written = "Tue Jul 27 89:61:12 PDT 2021"
    ratings = table(MTURK + f"H1,W1,Approved,{written},30,bart,Hello,Summary,4,[]\n").ratings
    assert ratings and {rating.at for rating in ratings} == {None}


def test_years_that_a_study_cannot_have_are_unknown():
    times = ("0001-01-01T00:00:00Z", "1899-12-31", "2200-01-01", "9999-12-31T23:59:59Z", "2026-01-02T03:04:05Z")
    rows = "".join(f"{row},m,w,c,4,{time}\n" for row, time in enumerate(times))
    ratings = table("item_id,system,annotator,criterion,value,submitted_at\n" + rows)
    assert [rating.at for rating in ratings.ratings] == [*[None] * 4, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)]
    assert "4 time(s) are not in ISO 8601, or not in the years 1900 to 2199" in messages(ratings)[0]


def test_pearmut_offsets_are_utf16_units_without_line_breaks():
    text, spans = "So 😀\nit is", [(3, 4), (5, 6), (10, 10)]
    marks = [{"start_i": start, "end_i": end, "category": None, "severity": "minor"} for start, end in spans]
    ratings = records(pearmut(item=[{"tgt": {"m": text}}], annotation=[{"m": {"score": 1, "error_spans": marks}}]))
    assert [(m.start, m.end, m.quote) for m in ratings.highlights] == [
        (3, 4, "😀"),
        (5, 7, "it"),
        (None, None, "[missing]"),
    ]


def test_pearmut_documents_without_data_or_annotation_are_counted():
    ratings = records(pearmut(item_i="welcome_1"), pearmut(annotation=[None]), pearmut())
    assert len(ratings.ratings) == 2
    assert messages(ratings)[:2] == [
        "1 welcome, random or goodbye document(s) are left out.",
        "1 segment(s) without an annotation are left out.",
    ]
    assert "does not have as many annotations" in messages(records(pearmut(annotation=[])))[0]


def test_factgenie_spans_end_with_their_text_and_types_are_indices():
    line = {
        "dataset": "d", "split": "test", "example_idx": 0, "setup_id": "m1", "output": "It rained all day.",
        "annotations": [{"type": 1, "text": "rained", "start": 3, "reason": "It did not."}],
        "flags": [{"label": "Checked", "value": True}], "sliders": [{"label": "Fluency", "value": "3"}],
        "options": [{"label": "Length", "value": "short"}], "text_fields": [{"label": "Why", "value": "So."}],
        "metadata": {"annotator_id": "a1", "annotation_span_categories": [{"name": "A"}, {"name": "B"}]},
    }  # fmt: skip
    ratings = records(line)
    assert rated(ratings) == [
        ("d/test/0", "m1", "a1", "Checked", "yes"),
        ("d/test/0", "m1", "a1", "Length", "short"),
        ("d/test/0", "m1", "a1", "Fluency", "3"),
    ]
    mark = ratings.highlights[0]
    assert (mark.label, mark.start, mark.end, mark.comment) == ("B", 3, 9, "It did not.")
    assert [note.name for note in ratings.notes] == ["Why"]
    judged = records(line | {"metadata": {"model": "llm", "campaign_id": "c"}})
    assert {rating.kind for rating in judged.ratings} == {"judge"}
    assert judged.highlights[0].label == "type 1"


MTURK = (
    "HITId,WorkerId,AssignmentStatus,SubmitTime,WorkTimeInSeconds,Input.model_type,Input.dialogue,Input.summary,"
    "Answer.Fluency,Answer.taskAnswers\n"
)


def test_a_mechanical_turk_batch_is_read_without_the_rejected_assignments():
    form, text = '"[{""verdict"":{""no"":false,""yes"":true}}]"', '"[{""verdict"":""yes""}]"'
    rows = (
        f"H1,W1,Approved,Tue Jul 27 02:11:12 PDT 2021,30,bart,Hello,Summary one,4,{form}\n"
        f"H2,W2,Submitted,,31,t5,Hello,Summary two,3,{text}\n"
        f"H3,W3,Rejected,,1,t5,Hello,Summary two,1,{form}\n"
    )
    ratings = table(MTURK + rows)
    [item] = {rating.item for rating in ratings.ratings}
    assert rated(ratings) == [
        (item, "bart", "W1", "Fluency", "4"),
        (item, "bart", "W1", "verdict", "yes"),
        (item, "t5", "W2", "Fluency", "3"),
        (item, "t5", "W2", "verdict", "yes"),
    ]
    assert ratings.ratings[0].at == datetime(2021, 7, 27, 9, 11, 12, tzinfo=UTC)
    assert ratings.texts[(item, "t5")] == "Summary two"
    assert "1 rejected assignment(s) are left out." in messages(ratings)


def test_rejected_mechanical_turk_assignments_are_left_out():
    header = "HITId,WorkerId,AssignmentStatus,Input.model,Answer.Fluency,Approve,Reject\n"
    ratings = table(header + "H1,W1,Submitted,m,4,X,\nH1,W2,Submitted,m,1,,Too fast\n")
    assert [row[2] for row in rated(ratings)] == ["W1"]


SPAN = {"start": 0, "end": 2, "label": "bad"}
LS_TABLE = "resp_a,resp_b,id,fluency_a,annotator,annotation_id,lead_time\n"


def argilla(**answer: Any) -> FinishedRatings:
    return records(ARGILLA | {"responses": {"all": [{"user_id": "u1", **answer}]}})


def of_potato() -> FinishedRatings:
    """A project with a span in no field, and an item without an id."""
    state = potato_pairs(("fluency_a", "4", "4"), spans=[{"schema": "mark", "name": "good", "start": 1, "end": 2}])
    files = {"p/config.yaml": POTATO_CONFIG, "p/data/items.json": [{"context": "Who?"}, POTATO_ITEM]}
    return read_files(zipped(**files, **{"p/user_state.json": state}), "p.zip")[0]


@pytest.mark.parametrize(
    ("read", "problem"),
    [
        (of_potato, "Row 1, column 'mark': a span does not name its response."),
        (lambda: argilla(value=[SPAN]), "Row 1, column 'all': a span does not name its response."),
        (lambda: argilla(value=4, user_id=None), "Row 1, column 'all': a response has no annotator."),
        (lambda: argilla(value=[{"value": "a", "rank": 1}]), "1 ranking(s) are left out: rankings are not supported."),
        (
            lambda: records([label_studio(result=[result("err", "q", "labels", labels=["E"], start=0, end=2)])]),
            "Row 1, column 'to_name': a highlight does not name its response.",
        ),
        (lambda: table(LS_TABLE + "So,Thus,7,4,,1,3.5\n"), "Row 2, column 'annotator': has no annotator."),
        (
            lambda: table(MTURK + "H1,W1,Approved,,3,bart,Hello,So,4,{no\n"),
            "Row 2, column 'Answer.taskAnswers': is not JSON.",
        ),
        (lambda: table("item_id,annotator,quote,start,end\n,w,a,2,5\n"), "Row 2: does not name the item."),
        (lambda: table("item_id,annotator,quote,start,end\n1,,a,2,5\n"), "Row 2: does not name the annotator."),
        (
            lambda: table(f"item_group,{LONG}a,1,m,w,c,4\nb,1,n,w,c,4\n"),
            "Row 3, column 'item_group': puts item '1' into a different group from an earlier row.",
        ),
    ],
)
def test_what_lacks_a_response_rater_or_item_is_named(read: Callable[[], FinishedRatings], problem: str):
    assert problem in messages(read())


SHAPES = {
    "Potato": lambda x: {
        "user_id": "u",
        "instance_id_to_label_to_value": {"i": {"s": x}, "j": x},
        "instance_id_to_span_to_value": {"i": {"s": x}, "j": x},
    },
    "Potato pairs": lambda x: {
        "user_id": "u",
        "instance_id_to_label_to_value": {"i": [[{"schema": x, "name": x}, x], [x, x]], "j": [x]},
        "instance_id_to_span_to_value": {"i": [[{"name": x, "start": x, "end": x, "target_field": x}, x], x]},
        "instance_id_to_behavioral_data": {"i": x, "j": {"session_end": x, "total_time_ms": x}},
    },
    "Potato without items": lambda x: {"user_id": x, "instance_id_to_label_to_value": x},
    "Label Studio": lambda x: {"id": 1, "data": x, "annotations": x, "predictions": [x]},
    "Label Studio results": lambda x: {
        "id": 1,
        "data": {"resp_a": x},
        "annotations": [
            {"completed_by": 1, "result": x},
            {"completed_by": x, "result": [result("a", "resp_a", "rating", rating=x)]},
            {"completed_by": 1, "result": [result("a", "resp_a", "labels", labels=x, start=x), x]},
        ],
    },
    "Argilla": lambda x: {"id": x, "fields": {"response_a": "x"}, "responses": x, "suggestions": x},
    "Argilla answers": lambda x: {
        "id": 1,
        "fields": {"response_a": x},
        "responses": {"q_a": x, "r_a": [x], "s_a": [{"user_id": "u", "value": x}]},
    },
    "flat Argilla": lambda x: {"id": 1, "q.responses": x, "q.responses.users": x, "q.suggestion": x},
    "Pearmut": lambda x: {"annotation": x, "item": [x], "user_id": "u", "actions": x},
    "Pearmut scores": lambda x: pearmut(annotation=[{"m": {"score": x, "error_spans": x, "sliders": x}, "n": x}]),
    "factgenie": lambda x: {"setup_id": "m", "example_idx": x, "metadata": x},
    "factgenie ratings": lambda x: {
        "setup_id": "m",
        "example_idx": 0,
        "output": x,
        "metadata": {"annotator_id": "a", "categories": x},
        "sliders": x,
        "annotations": x,
        "options": [{"label": "o", "value": x}],
    },
    "table": lambda x: {"item_id": x, "annotator": "w", "criterion": x, "value": x, "context": x, "position": x},
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("x", [True, 3, -1e300, "text", [], [1], [[]], ["a", "b"], {}, {"a": 1}, {"start": "x"}, None])
def test_no_shape_of_a_known_program_ends_in_a_trace(shape: str, x: Any):
    try:
        ratings = records([SHAPES[shape](x)], name="x.json")
    except ImportRefused:
        return
    assert ratings.problems or ratings.ratings or ratings.highlights


# Places of highlights


def mark(start: int | None, end: int | None, quote: str | None, **more: Any) -> ImportedHighlight:
    return ImportedHighlight("1", "m", "w", "human", 2, label="x", start=start, end=end, quote=quote, **more)


@given(st.text(alphabet="ab💩é", min_size=1, max_size=20), st.data())
@settings(max_examples=30, deadline=None)
def test_utf16_offsets_give_the_same_slice_as_code_points(text: str, data: Any):
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    first, last = (len(text[:at].encode("utf-16-le")) // 2 for at in (start, end))

    assert [Offsets(text, utf16=True).from_utf16(at) for at in (first, last)] == [start, end]
    span = Placing(Findings()).place(mark(first, last, text[start:end], utf16=True), text)
    assert (span.start, span.end) == (start, end)


@pytest.mark.parametrize(
    ("given_span", "expected", "sentence"),
    [
        (mark(2, 4, "b 💩"), (1, 4), "exactly once"),
        (mark(4, 7, "c d", utf16=True), (4, 7), "counted in other units"),
        (mark(5, 8, "c d"), (4, 7), "counted in other units"),
        (mark(0, 1, "ab"), (0, 2), "their last character"),
        (mark(None, None, "c d"), (4, 7), "exactly once"),
    ],
)
def test_a_misplaced_quote_is_realigned_and_counted(given_span, expected, sentence):
    findings = Findings()
    span = Placing(findings).place(given_span, "ab 💩c d")
    assert (span.start, span.end) == expected
    assert sentence in str(findings.finish()[0])


def test_a_missing_or_repeated_quote_has_no_place():
    assert Placing(Findings()).place(mark(0, 3, "xyz"), "abc").start is None
    assert Placing(Findings()).place(mark(None, None, "a"), "a b a").start is None
    placing = Placing(Findings())
    assert placing.place(mark(1, 2, "b"), None) == placing.place(mark(None, None, "b"), None)


def test_a_highlight_in_a_dialogue_finds_its_turn():
    turns = (TurnDraft("A", "Hello there"), TurnDraft("B", "Bye"))
    assert Placing(Findings()).place(mark(0, 3, "Bye"), turns).turn == 1
    assert Placing(Findings()).place(mark(0, 3, "Bye", turn=1), turns).turn == 1
    assert Placing(Findings()).place(mark(0, 3, "Bye", turn=0), turns).start is None


def test_a_quote_that_occurs_everywhere_is_not_listed():
    long = "a " * 1_000_000
    placing = Placing(Findings())
    tracemalloc.start()

    placing.place(mark(None, None, "a"), long)

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000


@pytest.mark.parametrize("content", ["a b c", (TurnDraft("A", "a b"), TurnDraft("B", "c"))])
def test_quotes_are_searched_up_to_a_limit(content):
    findings = Findings()
    placing = Placing(findings)

    with patch.object(spans, "MAX_SEARCHED", 1_000):
        starts = [placing.place(mark(None, None, "c"), content).start for _ in range(20)]

    assert starts[0] is not None
    assert starts[-1] is None
    assert [problem.severity for problem in findings.finish()].count("error") == 1


def test_passages_without_quotes_are_copied_up_to_a_limit():
    findings = Findings()
    placing = Placing(findings)

    with patch.object(spans, "MAX_SEARCHED", 100_000):
        places = [placing.place(mark(1, 500, None), "a" * 500) for _ in range(4)]

    assert [len(place.quote) for place in places] == [499, 499, 0, 0]
    assert [problem.severity for problem in findings.finish()] == ["error"]


def test_spans_of_potato_have_quotes_up_to_a_limit():
    item = {"id": "k1", "text": "a" * 500}
    span = {"schema": "mark", "name": "x", "target_field": "text", "start": 0, "end": 500}
    config = "annotation_schemes: []\ndata_files: [d.json]\ninstance_display: {fields: [{key: text}]}\n"
    files = {
        "config.yaml": config,
        "d.json": [item],
        "user_state.json": potato_pairs(("s", "1", "1"), spans=[span] * 4),
    }

    with patch.object(model, "MAX_QUOTED", 1_200):
        (ratings,) = read_files(zipped(**files), "p.zip")

    assert len(ratings.highlights) == 2
    assert "have quotes of more than 1,200 characters" in "".join(messages(ratings))


def test_offsets_of_a_text_are_counted_once_for_all_highlights():
    placing, text = Placing(Findings()), "é💩 x"

    with patch("numpy.cumsum", wraps=np.cumsum) as counted:
        places = [placing.place(mark(2, 3, "💩", utf16=True), text).start for _ in range(3)]

    assert places == [1, 1, 1]
    assert counted.call_count == 1


# Proposals


def proposal(*values: str) -> Any:
    rows = "".join(f'{n},s,w,c,"{value}"\n' for n, value in enumerate(values))
    return propose(table(LONG + rows).ratings)[0]


@pytest.mark.parametrize(
    ("values", "use", "scale"),
    [
        (["1", "3", "5"], "ordinal", (1, 5, 1)),
        (["2", "5"], "ordinal", (1, 5, 1)),
        (["4", "4"], "ordinal", (1, 5, 1)),
        (["0", "2.5", "3"], "ordinal", (0, 3, 0.5)),
        (["10", "95"], "interval", (0, 100, 1)),
        (["0.25", "0.9"], "interval", (0, 1, 0.01)),
        (["-3", "3"], "ordinal", (-3, 3, 1)),
    ],
)
def test_numbers_are_proposed_as_a_scale_that_holds_them(values, use, scale):
    ratings = proposal(*values)
    assert (ratings.use, (ratings.low, ratings.high, ratings.step), ratings.unfit) == (use, scale, [])


@pytest.mark.parametrize(
    ("people", "scores", "scale"),
    [
        pytest.param("1 2 4 5", "0.1234 0.31", (1, 5, 1), id="a metric"),
        pytest.param("1 2 5", "8 3", (1, 5, 1), id="more points"),
        pytest.param("1 2 5", "4.5 3", (1, 5, 1), id="between the points"),
        pytest.param("10 95", "0.3 0.4", (0, 100, 1), id="another range"),
        pytest.param("1 2 5", "good bad", (1, 5, 1), id="words"),
    ],
)
def test_scores_on_another_scale_get_their_own_criterion(people, scores, scale):
    entry, other = beside(people, scores)
    assert (entry.name, (entry.low, entry.high, entry.step), entry.unfit) == ("c", scale, [])
    assert (other.name, other.key, other.of, other.judges) == ("c (judge)", "c_judge", "c", ("bleu",))
    assert (set(other.values), other.unfit) == (set(scores.split()), [])
    assert "analysed like a metric instead" in other.remarks[0]


@pytest.mark.parametrize(
    ("people", "scores"),
    [("1 2 4", "5 3"), ("1 5", "n/a 2"), ("yes no", "no unsure"), ("10 95", "33.5 80"), ("0.25 0.9", "0.3333 0.5")],
)
def test_a_judge_on_peoples_scale_answers_their_criterion(people, scores):
    (ratings,) = beside(people, scores)
    assert (ratings.judges, ratings.unfit) == ((), [])
    assert set(ratings.values) == {*people.split(), *scores.split()}


def test_scores_of_one_judge_do_not_change_another():
    rows = "1,s,w,c,1\n2,s,w,c,5\n1,s,w,c (judge),3\n"
    scores = "1,s,good,c,4\n1,s,bleu,c,0.31\n"
    files = read_ratings((LONG + rows).encode(), "r.csv"), read_ratings((LONG + scores).encode(), "j.csv", "judge")
    ratings = propose(rating for file in files for rating in file.ratings)
    assert [(entry.name, entry.key, sorted(entry.values), entry.judges) for entry in ratings] == [
        ("c", "c", ["1", "4", "5"], ()),
        ("c (judge) (judge)", "c_judge_judge", ["0.31"], ("bleu",)),
        ("c (judge)", "c_judge", ["3"], ()),
    ]


def beside(people: str, scores: str) -> Any:
    """What is proposed for people's values and a judge's under the same name."""
    rows = [
        LONG + "".join(f"{n},s,{annotator},c,{v}\n" for n, v in enumerate(of.split()))
        for annotator, of in (("w", people), ("bleu", scores))
    ]
    human, judge = (text.encode() for text in rows)
    files = read_ratings(human, "x.csv", "human"), read_ratings(judge, "x.csv", "judge")
    return propose(rating for file in files for rating in file.ratings)


def test_a_scale_without_length_is_refused():
    with pytest.raises(ImportRefused, match="'c': the scale must end above its start"):
        as_yaml("Imported", [replace(proposal("1", "2"), low=3.0, high=3.0)], {})


def test_words_among_numbers_are_missing_or_listed():
    ratings = proposal("1", "2", "5", "N/A", "five", "4,5")
    assert ratings.missing == ("N/A",)
    assert ratings.unfit == ["five", "4,5"]


def test_words_become_options_unless_they_mean_missing():
    ratings = proposal("Yes", "No", "Unsure", "n/a")
    assert (ratings.use, ratings.labels, ratings.missing) == ("nominal", ("No", "Unsure", "Yes", "n/a"), ("n/a",))


def test_labels_differing_in_case_are_reported_and_blanks_stripped():
    ratings = proposal("A", "a", "A ", "5")
    assert ratings.labels == ("5", "A", "a")
    assert ratings.values["A"] == 2
    assert any("'A' and 'a' differ in case only" in remark for remark in ratings.remarks)
    assert any("Numbers among words: 5." in remark for remark in ratings.remarks)


def test_free_text_is_left_out_and_outlying_numbers_are_reported():
    texts = proposal(*(f"text {n}" for n in range(13)))
    assert texts.use == "leave out"
    assert "13 different texts" in texts.remarks[0]
    assert "111111" in proposal("80", "85", "100", "111111").remarks[0]


@given(st.lists(st.text(alphabet="abAB01-. éß!", min_size=1, max_size=6), min_size=1, max_size=12))
@settings(max_examples=20, deadline=None)
def test_every_proposed_criterion_passes_the_rubric_reader(values):
    ratings = propose(table(LONG + "".join(f"{n},s,w,c,{value}\n" for n, value in enumerate(values))).ratings)
    if any(entry.use != "leave out" for entry in ratings):
        rubric = parse_rubric(as_yaml("A title: with a colon", ratings, {"bad: label": "candidate", "good": "context"}))
        assert [label.title for label in rubric.highlights] == ["bad: label", "good"]


@given(st.lists(st.text(max_size=50), unique=True, max_size=8))
@settings(max_examples=20, deadline=None)
def test_keys_are_distinct_and_fit_a_rubric(names):
    keys = distinct_keys(names, "option").values()
    assert len(set(keys)) == len(names)
    assert all(key[0].isalpha() and key.isascii() and key == key.lower() and len(key) <= 40 for key in keys)


def test_every_shared_file_of_ratings_is_read(shared: Path):
    files = sorted([*shared.glob("nasty/files/ratings_*.csv"), *shared.glob("real/*_ratings.csv")])
    for file in files:
        ratings = read_ratings(file.read_bytes(), file.name)
        rows = file.read_text().count("\n") - 1
        empty = sum(line.endswith(",") for line in file.read_text().splitlines())
        assert (len(ratings.ratings), ratings.ok) == (rows - empty, True), file.name
    assert len(files) == 8
