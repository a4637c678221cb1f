"""What is written comes back: items through JSON and CSV, texts through cells that spreadsheets cannot run."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import pytest
from helpers.present import present
from hypothesis import example, given
from hypothesis import strategies as st

from triptych.errors import ImportRefused
from triptych.formats import read_items
from triptych.formats.long_csv import FORMULA_STARTS, restore_cell, safe_cell, safe_text, write_csv
from triptych.formats.model import ItemDraft, ReadOptions

CHARACTERS = st.characters(exclude_categories=("Cs", "Cc"), include_characters="\n\t", exclude_characters="\ufffd")
TEXT = st.text(CHARACTERS, max_size=40) | st.sampled_from(["=1+1", "'=1", "-", "\t=x", "NA", '"', ",", "a\nb", "@me"])
CELL_TEXT = TEXT.filter(lambda text: not text.lstrip().startswith("["))
NAME = st.text(st.characters(categories=("L", "N")), min_size=1, max_size=8)
IDS = st.lists(NAME, min_size=1, max_size=5, unique_by=str.casefold)
SYSTEMS = st.lists(NAME, min_size=1, max_size=6, unique_by=str.casefold)
KEYS = ["item_id", "context", "candidates", "system", "text", "speaker", "turns", "response_a", "meta", "extra:x"]
TURN = st.fixed_dictionaries({"speaker": NAME, "text": TEXT})


@st.composite
def items(draw: st.DrawFn, text: st.SearchStrategy[str], turns: bool) -> list[dict]:
    systems, contexts = draw(SYSTEMS), text
    if turns:
        contexts = st.one_of(text, st.lists(TURN, min_size=1, max_size=3))
    return [
        {
            "item_id": external_id,
            "context": draw(contexts),
            "candidates": {system: draw(text) for system in systems},
            "meta": {"domain": draw(text.filter(bool))},
        }
        for external_id in draw(IDS)
    ]


def as_written(item: ItemDraft) -> dict:
    turns = [{"speaker": turn.speaker, "text": turn.text} for turn in item.context_turns]
    return {
        "item_id": item.external_id,
        "context": turns if item.context_text is None else item.context_text,
        "candidates": {candidate.system: candidate.text for candidate in item.candidates},
        "meta": item.meta,
    }


def as_csv(rows: list[list[str]]) -> bytes:
    with io.StringIO(newline="") as file:
        csv.writer(file).writerows(rows)
        return file.getvalue().encode()


@pytest.mark.long
@given(items(TEXT, turns=True), st.booleans(), st.booleans())
def test_items_come_back_from_json_as_they_were(written: list[dict], ascii_only: bool, as_list: bool) -> None:
    parts = [json.dumps(item, ensure_ascii=ascii_only) for item in written]
    data = f"[{', '.join(parts)}]" if as_list else "\n".join(parts)
    file = read_items(data.encode(), "items.jsonl")
    assert file.ok
    assert [as_written(item) for item in file.items] == written


@pytest.mark.long
@given(items(CELL_TEXT, turns=False))
def test_items_come_back_from_a_wide_csv_as_they_were(written: list[dict]) -> None:
    systems = list(written[0]["candidates"])
    header = ["item_id", "context", *(f"cand:{system}" for system in systems), "meta:domain"]
    rows = [
        [item["item_id"], item["context"], *item["candidates"].values(), item["meta"]["domain"]] for item in written
    ]
    file = read_items(as_csv([header, *rows]), "items.csv")
    assert file.ok
    assert [as_written(item) for item in file.items] == written


@pytest.mark.long
@given(items(CELL_TEXT, turns=False))
def test_items_come_back_from_a_long_csv_as_they_were(written: list[dict]) -> None:
    header = ["item_id", "context", "system", "text", "meta:domain"]
    rows = [
        [item["item_id"], item["context"], system, text, item["meta"]["domain"]]
        for item in written
        for system, text in item["candidates"].items()
    ]
    file = read_items(as_csv([header, *rows]), "items.csv")
    assert file.ok
    assert [as_written(item) for item in file.items] == written


@given(st.lists(st.text(), min_size=1))
def test_text_cells_never_start_like_formulas_and_can_be_restored(texts: list[str]) -> None:
    lines = "".join(write_csv([texts], ["header"] * len(texts)))
    _, cells = list(csv.reader(io.StringIO(lines, newline="")))
    assert not any(cell.startswith(FORMULA_STARTS) for cell in cells)
    assert [restore_cell(cell) for cell in cells] == texts


@given(st.lists(st.text("a,;\t\r\n'\"=+-@\0"), min_size=1))
@example(["so so;=1+1;", 'so;"=1+1&"', "so\n-1", "x;"])
def test_no_separator_uncovers_a_formula_inside_a_cell(texts: list[str]) -> None:
    lines = "".join(write_csv([texts], ["header"] * len(texts)))
    cells = [cell for by in ",;\t" for row in csv.reader(io.StringIO(lines, newline=""), delimiter=by) for cell in row]
    assert not any(cell.lstrip("\t\r\n").startswith(FORMULA_STARTS) for cell in cells)
    assert [restore_cell(safe_cell(text)) for text in texts] == texts


@given(st.text("a;\n'\"=-"), st.text("a;\n'\"=-"))
def test_two_texts_never_become_the_same_cell(first: str, second: str) -> None:
    assert (safe_cell(first) == safe_cell(second)) == (first == second)


@pytest.mark.parametrize("start", FORMULA_STARTS)
def test_each_dangerous_first_character_is_made_safe(start: str) -> None:
    assert safe_cell(f"{start}cmd") == safe_text(f"{start}cmd") == f"'{start}cmd"


def test_lists_inside_workbook_cells_stay_unchanged() -> None:
    assert safe_text("Two points:\n- one;\n- two") == "Two points:\n- one;\n- two"


def test_numbers_stay_numbers_and_nothing_is_an_empty_cell() -> None:
    assert list(write_csv([[-5, 2.5, None, "-5"]], ["a", "b", "c", "=d"])) == [
        "a,b,c,'=d\r\n",
        "-5,2.5,,'-5\r\n",
    ]


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_an_undefined_number_is_never_written(value: float) -> None:
    with pytest.raises(ValueError, match="written as None"):
        list(write_csv([[value]], ["a"]))


def test_protected_cells_stay_and_are_reported() -> None:
    data = b"item_id,context,cand:a\n1,'=c,'quoted'\n"
    file = read_items(data, "items.csv")
    assert file.ok
    assert file.items[0].context_text == "'=c"
    assert "1 cell(s) have a '" in file.problems[0].message


@given(st.binary(max_size=300), st.sampled_from(["csv", "tsv", "txt", "json", "jsonl", "xlsx", "parquet"]))
def test_any_bytes_are_read_or_refused_with_a_reason(data: bytes, ending: str) -> None:
    try:
        file = read_items(data, f"items.{ending}")
    except ImportRefused as refused:
        assert str(refused)
    else:
        assert file.ok or file.problems


JSON_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inside, max_size=3),
    max_leaves=8,
)


@pytest.mark.long
@given(st.lists(st.dictionaries(st.sampled_from(KEYS), JSON_VALUE), max_size=3), st.booleans())
def test_any_json_is_read_or_refused_with_a_reason(values: list[dict], judge: bool) -> None:
    options = ReadOptions(judge_conversation=judge, append_field="text", append_speaker="A" if judge else None)
    try:
        file = read_items(json.dumps(values).encode(), "items.json", options)
    except ImportRefused as refused:
        assert str(refused)
    else:
        assert file.ok or file.problems
        assert not file.ok or all(1 <= len(item.candidates) <= 6 for item in file.items)


@pytest.mark.parametrize(
    ("name", "count", "candidates"), [("ems_3", 22, 3), ("squality_3", 100, 3), ("summeval_3", 100, 3)]
)
def test_real_items_are_all_read(shared: Path, name: str, count: int, candidates: int) -> None:
    path = shared / "real" / f"{name}.jsonl"
    file = read_items(path.read_bytes(), path.name)
    assert file.ok
    assert [len(item.candidates) for item in file.items] == [candidates] * count


def test_real_conversations_are_judged_whole(shared: Path) -> None:
    data = (shared / "real" / "esconv_contexts.jsonl").read_bytes()
    options = ReadOptions(judge_conversation=True, append_field="reference", append_speaker="supporter")
    file = read_items(data, "esconv_contexts.jsonl", options)
    assert file.ok
    assert (len(file.items), file.systems, file.speakers) == (195, ("unknown",), ("supporter", "seeker"))
    assert all(present(item.candidates[0].turns)[-1].speaker == "supporter" for item in file.items)
