"""Items from one file per system, and from the task files of other programs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from helpers.present import present
from hypothesis import given, settings
from hypothesis import strategies as st

from triptych.errors import ImportRefused
from triptych.formats import read_items
from triptych.formats.joined import join_files
from triptych.formats.model import ItemFile, ReadOptions, TurnDraft

A = b"item_id,context,text\n1,Why?,Because.\n2,Who?,You.\n"
B = b'{"id": "2", "response": "Me."}\n{"id": "1", "response": "So."}\n'


def messages(file: ItemFile, severity: str = "error") -> list[str]:
    return [str(problem) for problem in file.problems if problem.severity == severity]


def texts(file: ItemFile) -> dict[str, dict[str, str | None]]:
    return {
        item.external_id: {candidate.system: candidate.text for candidate in item.candidates} for item in file.items
    }


def read(value: Any, name: str = "tasks.json") -> ItemFile:
    return read_items(json.dumps(value).encode(), name)


# One file per system


def test_files_of_one_system_each_are_joined_by_item_id() -> None:
    file = join_files([("a.csv", A, "gpt"), ("b.jsonl", B, "t5")])
    assert file.ok
    assert texts(file) == {"1": {"gpt": "Because.", "t5": "So."}, "2": {"gpt": "You.", "t5": "Me."}}
    assert [item.context_text for item in file.items] == ["Why?", "Who?"]
    assert file.systems == ("gpt", "t5")
    assert file.recognised["b.jsonl: response"] == "candidate of system 't5'"


def test_contexts_and_fields_may_have_their_own_file() -> None:
    contexts = b"item_id,context,meta:domain\n1,Why?,esc\n2,Who?,esc\n"
    file = join_files([("c.csv", contexts, ""), ("a.csv", b"item_id,text\n1,x\n2,y\n", "gpt"), ("b.jsonl", B, "t5")])
    assert file.ok
    assert texts(file)["2"] == {"gpt": "y", "t5": "Me."}
    assert (file.items[1].context_text, file.items[1].meta) == ("Who?", {"domain": "esc"})


def test_a_field_that_differs_between_files_is_left_out() -> None:
    of_a, of_b = (f"item_id,context,text,meta:run,meta:domain\n1,Why?,x,{run},esc\n".encode() for run in "ab")
    file = join_files([("a.csv", of_a, "gpt"), ("b.csv", of_b, "t5")])
    assert file.ok
    assert file.items[0].meta == {"domain": "esc"}
    assert messages(file, "warning") == ["b.csv: row 2: has another 'run' than the previous files; left out."]


def test_conflicting_contexts_and_ids_are_named_by_row() -> None:
    other = b"item_id,context,text\n1,Why not?,x\n1,Why?,again\n3,Where?,z\n"
    file = join_files([("a.csv", A, "gpt"), ("o.csv", other, "t5")])
    assert not file.ok
    assert messages(file) == [
        "a.csv: has no text for item '3', which is in row 4 of 'o.csv'.",
        "o.csv: row 3: the id '1' is already used in row 2 (ignoring leading and trailing blanks).",
        "o.csv: has no text for item '2', which is in row 3 of 'a.csv'.",
        "o.csv: row 2: has a different context from row 2 of 'a.csv'.",
    ]


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ([("a.csv", A, "gpt"), ("b.jsonl", B, " GPT ")], "are both assigned to system"),
        ([("a.csv", A, "gpt"), ("b.jsonl", B, "")], "Say which system wrote the texts of 'b.jsonl'"),
        ([("a.csv", A, "gpt"), ("b.csv", b"id,cand:x,cand:y\n1,a,b\n2,c,d\n", "t5")], "has 2 candidates"),
        ([("a.csv", A, "gpt"), ("b.csv", b"context,text\nWhy?,So.\nWho?,Me.\n", "t5")], "There is no column 'item_id'"),
        ([("a.csv", A, "gpt"), ("b.csv", b"item_id,text\nx,So.\ny,Me.\n", "t5")], "shares no item id"),
        ([("a.csv", b"item_id,context\n1,Why?\n", "gpt")], "No file has a text"),
    ],
)
def test_files_that_cannot_be_joined_say_why(files: list[tuple[str, bytes, str]], words: str) -> None:
    file = join_files(files)
    assert not file.ok
    assert any(words in problem for problem in messages(file)), file.problems


def test_an_unreadable_file_is_refused_by_name() -> None:
    with pytest.raises(ImportRefused, match=r"^b\.csv: The content of this file is a zip"):
        join_files([("a.csv", A, "gpt"), ("b.csv", b"PK\x03\x04", "t5")])


def test_whole_conversations_of_each_system_are_joined_too() -> None:
    def of(text: str) -> bytes:
        return json.dumps({"item_id": "1", "dialogue": [["usr", "Hi"], ["sys", text]]}).encode() + b"\n"

    file = join_files([("a.jsonl", of("Yo"), "a"), ("b.jsonl", of("Oh"), "b")], ReadOptions(judge_conversation=True))
    assert file.ok
    assert [present(candidate.turns)[1] for candidate in file.items[0].candidates] == [
        TurnDraft("sys", "Yo"),
        TurnDraft("sys", "Oh"),
    ]


@settings(max_examples=15)
@given(st.permutations(range(6)), st.permutations(range(6)))
def test_the_order_of_rows_changes_no_item(first: list[int], second: list[int]) -> None:
    def of(order: list[int], name: str) -> bytes:
        return ("item_id,context,text\n" + "".join(f"{n},c{n},{name}{n}\n" for n in order)).encode()

    file = join_files([("a.csv", of(first, "a"), "a"), ("b.csv", of(second, "b"), "b")])
    assert file.ok
    assert texts(file) == {str(n): {"a": f"a{n}", "b": f"b{n}"} for n in range(6)}


# Task files of other programs

DATA = {"item_id": "d017", "dialogue": "Hello", "resp_a": "one", "resp_b": "two", "system_a": "gpt", "model_b": "t5"}
PAIR = {"d017": {"gpt": "one", "t5": "two"}}


def test_label_studio_tasks_keep_systems_and_drop_annotations() -> None:
    work = {"id": 1, "result": [], "was_cancelled": False}
    file = read([{"id": 7, "data": DATA, "annotations": [work], "meta": {"domain": "esc"}}])
    assert (file.ok, file.kind, texts(file)) == (True, "Label Studio JSON list", PAIR)
    assert (file.items[0].context_text, file.items[0].meta) == ("Hello", {"domain": "esc"})
    assert "1 task(s) also contain annotations" in messages(file, "note")[0]
    assert file.recognised["resp_a"] == "candidate of the system in 'system_a'"


def test_a_conversation_of_label_studio_names_its_authors() -> None:
    turns = [{"author": "Alice", "text": "Hi"}, {"author": "Bob", "text": "Yo"}]
    file = read([{"id": 7, "data": {"dialogue": turns, "response_a": "one", "response_b": "two"}}])
    assert file.items[0].context_turns == (TurnDraft("Alice", "Hi"), TurnDraft("Bob", "Yo"))
    assert texts(file) == {"7": {"response_a": "one", "response_b": "two"}}


def test_a_label_studio_table_gives_each_item_once() -> None:
    table = (
        "id,dialogue,resp_a,resp_b,fluency_a,annotator,annotation_id,lead_time\n"
        "1,Hi,x,y,4,ann@lab,11,3.5\n1,Hi,x,y,2,bob@lab,12,9.1\n2,Yo,z,w,1,ann@lab,13,2\n"
    )
    file = read_items(table.encode(), "export.csv")
    assert (file.ok, [item.row for item in file.items]) == (True, [2, 4])
    assert "fluency_a" in file.ignored


def test_records_of_argilla_are_read_with_systems_from_their_metadata() -> None:
    record = {
        "id": "d017",
        "status": "completed",
        "fields": {"context": [{"role": "user", "content": "Hello"}], "response_a": "one", "response_b": "two"},
        "metadata": {"system_a": "gpt", "system_b": "t5", "domain": "esc"},
        "responses": {"fluency_a": [{"value": 4, "user_id": "2f5e"}]},
        "suggestions": {},
    }
    file = read_items(json.dumps(record).encode(), "records.jsonl")
    assert (file.ok, file.kind, texts(file)) == (True, "Argilla JSON", PAIR)
    assert (file.items[0].context_turns, file.items[0].meta) == ((TurnDraft("user", "Hello"),), {"domain": "esc"})


@pytest.mark.parametrize("task", [{"responses": ["A text", "B text"]}, {"text": ["A text", "B text"]}])
def test_instances_of_potato_are_read(task: dict[str, Any]) -> None:
    lines = "\n".join(json.dumps({"id": str(n), "context": "Hi", **task}) for n in (1, 2))
    file = read_items(lines.encode(), "data.jsonl")
    assert file.ok
    assert texts(file)["2"] == {"candidate_1": "A text", "candidate_2": "B text"}


def test_attention_items_of_potato_are_checks() -> None:
    file = read([{"id": "attn_1", "text": "Choose positive.", "expected_answer": {"sentiment": "positive"}}])
    assert (file.ok, file.kind) == (True, "Potato JSON list")
    assert json.loads(file.items[0].meta["reference"]) == [{"criterion": "sentiment", "accepted": "positive"}]
    assert "1 item(s) have an expected answer" in messages(file, "note")[0]


SEGMENT = {"item_id": "d017", "src": "Hello", "tgt": {"gpt": "one", "t5": "two"}}
INFO = {"assignment": "single-stream", "sliders": [{"name": "Fluency", "min": 0, "max": 5, "step": 1}]}


@pytest.mark.parametrize("data", [[[SEGMENT]], [[[SEGMENT]], [[SEGMENT]]]])
def test_a_campaign_of_pearmut_gives_each_segment_once(data: list[Any]) -> None:
    file = read({"info": INFO, "campaign_id": "esc1", "data": data})
    assert (file.ok, file.kind, texts(file)) == (True, "Pearmut campaign", PAIR)
    assert file.items[0].context_text == "Hello"


def test_segments_without_id_are_named_by_place() -> None:
    plain = {name: SEGMENT[name] for name in ("src", "tgt")}
    check = plain | {"src": "Mark this 90.", "validation": {"gpt": {"score": [80, 90]}}}
    file = read({"info": INFO, "data": [[plain, plain], [check]]})
    assert list(texts(file)) == ["1/1", "1/2", "2/1"]
    expected = [{"criterion": "score", "slot": "A", "accepted": "85", "close": "5"}]
    assert file.items[2].meta["purpose"] == "attention"
    assert json.loads(file.items[2].meta["reference"]) == expected


def test_a_list_of_rules_of_pearmut_makes_a_check() -> None:
    rules = {"gpt": [{"warning": "Too high."}, {"score": [20, 40]}], "t5": [{"score": [70, 90], "warning": "Low."}]}
    file = read({"info": INFO, "data": [[SEGMENT | {"validation": rules}]]})
    reference = json.loads(file.items[0].meta["reference"])
    assert [(answer["slot"], answer["accepted"], answer["close"]) for answer in reference] == [
        ("A", "30", "10"),
        ("B", "80", "10"),
    ]


@pytest.mark.parametrize("rules", [{"candidate_1": {"score": [70, 90]}}, {"score": [70, 90]}, [{"score": [70, 90]}]])
def test_rules_for_one_translation_make_a_check(rules: Any) -> None:
    file = read({"info": INFO, "data": [[{"src": "Hello", "tgt": "one", "item_id": "d017", "validation": rules}]]})
    (answer,) = json.loads(file.items[0].meta["reference"])
    assert (answer["slot"], answer["accepted"]) == ("A", "80")


def test_rules_of_pearmut_without_a_score_are_noted() -> None:
    file = read({"info": INFO, "data": [[SEGMENT | {"validation": {"gpt": {"score_greaterthan": "t5"}}}]]})
    assert "purpose" not in file.items[0].meta
    assert "1 item(s) have rules of validation without" in messages(file, "note")[0]


def test_sources_with_one_translation_each_are_read() -> None:
    file = read([{"src": "Hello", "tgt": "one", "item_id": "d017"}])
    assert (file.ok, texts(file)) == (True, {"d017": {"candidate_1": "one"}})


def test_our_own_items_may_lack_fields_in_json() -> None:
    row = {"item_id": "1", "purpose": "main", "context": "Why?", "system": "gpt", "text": "So."}
    full = dict.fromkeys(["context_turns", "turns", "meta", "extra_texts"], "")
    gold = row | {"item_id": "3", "purpose": "gold"}
    file = read([row | full, row | {"item_id": "2"}, gold])
    assert texts(file) == {"1": {"gpt": "So."}, "2": {"gpt": "So."}}
    assert "1 candidate(s) of training items and checks are left out" in messages(file, "note")[0]


def test_one_segment_with_two_texts_is_an_error() -> None:
    other = SEGMENT | {"src": "Other"}
    file = read({"info": INFO, "data": [[[SEGMENT]], [[other]]]})
    assert "the id 'd017' is already used in row 1" in messages(file)[0]


@pytest.mark.parametrize(
    ("tasks", "words"),
    [
        (
            [{"id": 1, "data": DATA}, {"id": 2, "data": "Hello"}],
            "Row 2, column 'data': is a text; the texts of the task",
        ),
        ([{"id": 1, "data": DATA | {"resp_b": "https://files.example.org/2.txt"}}], "contains an address, not a text"),
        ([{"id": 1, "data": DATA | {"model_b": "gpt"}}], "system 'gpt' already has a candidate in the same item"),
        ([{"id": 1, "data": {"dialogue": "Hi", "gpt": "one"}}], "No item has candidates"),
        ({"info": INFO, "data": [["text"]]}, "an object was expected"),
        ([{"id": 1, "fields": {"context": "Hi", "response_a": None}, "responses": {}}], "is null"),
    ],
)
def test_tasks_without_items_are_reported_and_nothing_is_imported(tasks: Any, words: str) -> None:
    file = read(tasks)
    assert not file.ok
    assert any(words in problem for problem in messages(file)), file.problems


def test_a_campaign_nested_too_deeply_is_refused() -> None:
    with pytest.raises(ImportRefused, match="nested too deeply"):
        read({"info": INFO, "data": [[[[SEGMENT]]]]})


def test_our_files_may_have_a_field_called_data() -> None:
    file = read([{"item_id": "1", "context": "Hi", "candidates": {"a": "x"}, "data": {"text": "kept out"}}])
    assert (file.ok, file.kind, file.ignored) == (True, "JSON list", ("data",))
