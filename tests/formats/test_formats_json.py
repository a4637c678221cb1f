"""JSON and JSON Lines: shapes, turns, and everything that is not quite JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from helpers.present import present

from triptych.errors import ImportRefused
from triptych.formats import json_files, read_items
from triptych.formats.model import ItemFile, Problem, ReadOptions, TurnDraft

CONTEXT = [{"speaker": "User", "text": "I lost my job."}, {"speaker": "Bot", "text": "I am sorry."}]
ITEM = {"item_id": "d017", "context": CONTEXT, "candidates": {"gpt2": "one", "t5": "two"}}


def read(*values: Any, options: ReadOptions | None = None) -> ItemFile:
    lines = "\n".join(value if isinstance(value, str) else json.dumps(value) for value in values)
    return read_items(lines.encode(), "items.jsonl", options or ReadOptions())


def errors(file: ItemFile) -> list[Problem]:
    return [problem for problem in file.problems if problem.severity == "error"]


def pairs(file: ItemFile) -> list[tuple[str, str | None]]:
    return [(candidate.system, candidate.text) for candidate in file.items[0].candidates]


def test_our_own_shape_is_read_with_all_its_fields() -> None:
    file = read(ITEM | {"split": "main", "meta": {"domain": "esc", "stars": 4.50}, "extra_texts": {"Advice": "rest"}})
    item = file.items[0]
    assert file.ok
    assert pairs(file) == [("gpt2", "one"), ("t5", "two")]
    assert item.context_turns == (TurnDraft("User", "I lost my job."), TurnDraft("Bot", "I am sorry."))
    assert item.meta == {"split": "main", "domain": "esc", "stars": "4.5"}
    assert item.extra_texts == {"Advice": "rest"}
    assert file.speakers == ("User", "Bot")


@pytest.mark.parametrize(
    "candidates",
    [
        [{"system": "gpt2", "text": "one"}, {"system": "t5", "text": "two"}],
        [{"model": "gpt2", "response": "one"}, {"model": "t5", "output": "two"}],
        {"gpt2": {"text": "one"}, "t5": {"text": "two"}},
    ],
)
def test_candidates_may_be_a_dict_or_a_list(candidates: Any) -> None:
    assert pairs(read(ITEM | {"candidates": candidates})) == [("gpt2", "one"), ("t5", "two")]


def test_plain_lists_number_their_systems() -> None:
    assert pairs(read({"id": "1", "responses": ["one", "two"]})) == [
        ("candidate_1", "one"),
        ("candidate_2", "two"),
    ]


def test_candidates_may_be_whole_dialogues() -> None:
    file = read(ITEM | {"candidates": [{"system": "a", "turns": CONTEXT}, {"system": "b", "turns": [["x", "y"]]}]})
    assert file.ok
    assert file.items[0].candidates[0].turns == (TurnDraft("User", "I lost my job."), TurnDraft("Bot", "I am sorry."))
    assert file.items[0].candidates[1].turns == (TurnDraft("x", "y"),)
    assert file.items[0].candidates[1].text is None


@pytest.mark.parametrize(
    "context",
    [
        [{"role": "usr", "content": "Hi"}, {"role": "sys", "content": "Yo"}],
        [["usr", "Hi"], ["sys", "Yo"]],
        {"dialogue": [["usr", "Hi"], ["sys", "Yo"]]},
        {"turns": [{"speaker": " usr ", "text": "Hi"}, {"speaker": "sys", "text": "Yo"}]},
    ],
)
def test_turns_come_in_several_spellings(context: Any) -> None:
    assert read(ITEM | {"context": context}).items[0].context_turns == (TurnDraft("usr", "Hi"), TurnDraft("sys", "Yo"))


@pytest.mark.parametrize(
    ("context", "words"),
    [
        (["Hi", "Yo"], "turn 1 is a text"),
        ([{"speaker": "A", "text": "Hi"}, {"text": "Yo"}], "turn 2 has no speaker"),
        ([{"speaker": "A"}], "turn 1 has no text"),
        ({"a": 1}, "an object without 'text' or 'turns'"),
        ([["A", "B", "C"]], "turn 1 is a list"),
    ],
)
def test_an_invalid_conversation_is_an_error_naming_the_turn(context: Any, words: str) -> None:
    file = read(ITEM | {"context": context})
    assert words in errors(file)[0].message
    assert (errors(file)[0].row, errors(file)[0].column) == (1, "context")


def test_list_object_and_lines_give_the_same_items() -> None:
    other = ITEM | {"item_id": "d018"}
    contents = [
        json.dumps([ITEM, other], indent=2),
        json.dumps({"items": [ITEM, other], "version": 1}),
        json.dumps(ITEM) + "\n\n" + json.dumps(other) + "\r\n",
    ]
    file = [read_items(text.encode(), name).items for text in contents for name in ("a.json", "a.jsonl")]
    assert all([item.external_id for item in items] == ["d017", "d018"] for items in file)
    assert all(items[0].candidates == file[0][0].candidates for items in file)


def test_an_object_with_two_lists_is_refused_with_their_names() -> None:
    with pytest.raises(ImportRefused, match=r"lists under .*train"):
        read_items(json.dumps({"train": [ITEM], "test": [ITEM]}).encode(), "a.json")


def test_line_separators_inside_texts_do_not_end_lines() -> None:
    line = json.dumps(ITEM | {"context": "a\u2028b\u0085c"}, ensure_ascii=False)
    file = read(line, line.replace("d017", "d018"))
    assert file.ok
    assert file.items[1].context_text == "a\u2028b\u0085c"


def test_a_broken_line_is_named_and_the_others_are_read() -> None:
    file = read(ITEM, '{"item_id": "x", ', "[1]", ITEM | {"item_id": "d018"})
    assert [problem.row for problem in errors(file)] == [2, 3]
    assert [(item.external_id, item.row) for item in file.items] == [("d017", 1), ("d018", 4)]


def test_a_broken_list_is_refused_with_line_and_character() -> None:
    with pytest.raises(ImportRefused, match="Line 2, character"):
        read_items(b'[{"item_id": "1"},\n {"item_id" "2"}]', "a.json")


def test_a_repeated_key_is_an_error() -> None:
    file = read('{"item_id": "1", "context": "c", "candidates": {"a": "x", "a": "y"}}', ITEM)
    assert "key 'a' twice" in errors(file)[0].message
    assert errors(file)[0].row == 1


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "-Infinity"])
def test_non_json_numbers_are_errors_with_row_and_field(literal: str) -> None:
    file = read(ITEM, f'{{"item_id": "2", "context": "c", "candidates": {{"gpt2": {literal}, "t5": "x"}}}}')
    assert (errors(file)[0].row, errors(file)[0].column) == (2, "candidates")


def test_numbers_are_texts_as_written() -> None:
    huge = "9" * 5000
    file = read(
        f'{{"item_id": 1.50, "context": {huge}, "candidates": {{"a": 007e2, "b": true}}}}'.replace("007e2", "7e2")
    )
    assert file.ok
    assert file.items[0].external_id == "1.50"
    assert file.items[0].context_text == huge
    assert pairs(file) == [("a", "7e2"), ("b", "true")]


@pytest.mark.parametrize("bad", [None, "", "  ", True, [1], {"a": 1}])
def test_an_id_that_is_no_id_is_an_error(bad: Any) -> None:
    file = read(ITEM, ITEM | {"item_id": bad})
    assert [(problem.row, problem.column) for problem in errors(file)] == [(2, "item_id")]


def test_half_a_character_is_an_error() -> None:
    file = read(ITEM | {"context": "broken \ud83d here"})
    assert "lone surrogate" in errors(file)[0].message
    file.items[0].context_text.encode()


@pytest.mark.parametrize("field", ["meta", "extra_texts"])
def test_a_field_that_differs_between_records_is_left_out(field: str) -> None:
    """It is about a response: the first record's would tell which system the file lists first."""
    record = {"item_id": "1", "context": "Why?"}
    file = read(
        *(record | {"system": name, "text": name, field: {"file": f"/{name}.txt", "topic": "t"}} for name in "ab"),
        record | {"system": "c", "text": "c", field: {"only": "c"}},
    )
    assert file.ok
    assert (file.items[0].meta or file.items[0].extra_texts) == {"topic": "t"}
    assert [(problem.row, problem.column) for problem in file.problems] == [(2, f"{field}.file"), (3, f"{field}.only")]
    assert "differs from row 1 of the same item; left out" in file.problems[0].message


@pytest.mark.parametrize("field", ["meta", "extra_texts"])
def test_half_a_character_in_a_name_is_an_error(field: str) -> None:
    assert "lone surrogate" in errors(read(ITEM | {field: {"\ud83d": "a"}}))[0].message


def test_the_replacement_character_is_a_warning() -> None:
    file = read(ITEM | {"context": "Caf\ufffd"})
    assert file.ok
    assert "letters were lost" in file.problems[0].message


def test_a_missing_system_is_a_warning() -> None:
    file = read(
        ITEM,
        ITEM | {"item_id": "2", "candidates": {"bart": "x", "human": "y"}},
        ITEM | {"item_id": "3", "candidates": {"bart": "x"}},
    )
    assert file.ok
    assert [(problem.severity, problem.row) for problem in file.problems] == [("warning", 3)]


def test_an_item_without_candidates_among_others_is_an_error() -> None:
    file = read(ITEM, {"item_id": "2", "context": "c"}, ITEM | {"item_id": "3", "candidates": {}})
    assert [problem.row for problem in errors(file)] == [2, 3]


def test_more_systems_than_can_be_compared_are_an_error() -> None:
    """With 1,200 of them results took more than two minutes and a gigabyte and a half."""
    items = [ITEM | {"item_id": f"{n}", "candidates": {f"s{2 * n}": "a", f"s{2 * n + 1}": "b"}} for n in range(26)]
    assert read(*items[:25]).ok
    assert [problem.message for problem in errors(read(*items))] == [
        "The file names 52 systems; at most 50 can be compared."
    ]


def test_a_missing_or_repeated_system_is_an_error() -> None:
    file = read(
        ITEM
        | {
            "candidates": [
                {"system": "", "text": "x"},
                {"system": "a", "text": "y"},
                {"system": "a", "text": "z"},
            ]
        }
    )
    assert ["no system" in errors(file)[0].message, "already" in errors(file)[1].message] == [True, True]


def test_systems_that_differ_in_case_are_warned_of() -> None:
    file = read(ITEM | {"candidates": {"GPT": "x", "gpt": "y"}})
    assert file.ok
    assert "differ in case only" in file.problems[0].message


def test_a_conversation_can_be_judged_by_its_turns() -> None:
    line = {"item_id": "e1", "context": CONTEXT, "reference": "Bye."}
    assert not read(line).ok
    judged = read(line, options=ReadOptions(judge_conversation=True))
    item = judged.items[0]
    assert judged.ok
    assert (item.context_text, item.context_turns) == ("", ())
    assert (item.candidates[0].system, len(present(item.candidates[0].turns))) == ("unknown", 2)
    assert (judged.fields, judged.ignored) == (("reference",), ("reference",))


def test_a_field_can_be_the_last_turn() -> None:
    line = {"item_id": "e1", "context": CONTEXT, "reference": "Bye."}
    options = ReadOptions(judge_conversation=True, append_field="reference", append_speaker="Bot")
    file = read(line, options=options)
    assert file.ok
    assert present(file.items[0].candidates[0].turns)[-1] == TurnDraft("Bot", "Bye.")
    assert file.ignored == ()
    assert file.recognised["reference"] == "last turn, speaker Bot"


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        ({"reference": ""}, ReadOptions(append_field="reference", append_speaker="Bot"), "no text to append"),
        ({"context": "text"}, ReadOptions(append_field="reference", append_speaker="Bot"), "turns only"),
        ({}, ReadOptions(append_field="reference"), "Choose the speaker of"),
        ({}, ReadOptions(append_field="other", append_speaker="Bot"), "no field 'other'"),
    ],
)
def test_a_last_turn_that_cannot_be_appended_is_an_error(change: Any, options: ReadOptions, words: str) -> None:
    file = read(ITEM | {"reference": "Bye."} | change, options=options)
    assert words in errors(file)[0].message


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 5_000,
        b"[" * 60 + b"]" * 60,
        b'{"a":' * 100_000,
        b'{"item_id": "1", "context": ' + b"[" * 60 + b"]" * 60 + b"}\n" + json.dumps(ITEM).encode(),
        b"[" + b"{}," * (6 * 2**20) + b"{}]",
        b"[" + b"1," * (9 * 2**20) + b"1]",
        b"{}\n" + b"x\n" * (9 * 2**20),
        b'{"item_id": "1"}\n' + b"x\n" * 300_000,
        b"[" + b"{}," * 400_000 + b"{}]",
        b"[" + b"1," * 400_000 + b"1]",
        b"[]",
        b"   ",
        b"12",
        b'{"item_id"',
    ],
)
def test_a_bomb_or_an_empty_file_is_refused(content: bytes) -> None:
    for name in ("items.json", "items.jsonl"):
        with pytest.raises(ImportRefused):
            read_items(content, name)


def test_letters_with_a_bracket_in_their_bytes_are_no_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_files, "MAX_PARTS", 20)
    item = {"item_id": "1", "context": "\u5bb6" * 30, "candidates": {"a": "x", "b": "y"}}
    assert read_items(json.dumps([item], ensure_ascii=False).encode("utf-16"), "x.json").ok
