"""Delimited text: shapes, quotes, encodings, limits."""

from __future__ import annotations

import pickle

import pytest

from triptych.errors import ImportRefused
from triptych.formats import ItemFile, Problem, ReadOptions, TurnDraft, read_items
from triptych.formats.model import MAX_PROBLEMS

HEADER = "item_id,context,cand:a,cand:b\n"


def read(text: str, name: str = "items.csv", options: ReadOptions | None = None) -> ItemFile:
    return read_items(text.encode(), name, options or ReadOptions())


def errors(file: ItemFile) -> list[Problem]:
    return [problem for problem in file.problems if problem.severity == "error"]


def test_a_wide_table_gives_candidates_meta_fields_and_extra_texts() -> None:
    file = read("item_id,context,cand:gpt,cand:T5 small,meta:domain,extra:Treatment,note\n1,c,x,y,esc,rest,n\n")
    item = file.items[0]
    assert file.ok
    assert file.kind == "wide CSV"
    assert [(candidate.system, candidate.text) for candidate in item.candidates] == [
        ("gpt", "x"),
        ("T5 small", "y"),
    ]
    assert (item.meta, item.extra_texts) == ({"domain": "esc"}, {"Treatment": "rest"})
    assert (file.ignored, file.fields) == (("note",), ("note",))
    assert file.recognised["cand:gpt"] == "candidate of system 'gpt'"


@pytest.mark.parametrize(("system", "text"), [("system", "text"), ("model", "response"), ("Model", "Output")])
def test_a_long_table_joins_the_rows_of_an_item(system: str, text: str) -> None:
    file = read(f"item_id,context,{system},{text}\n1,c,a,x\n2,d,a,z\n1,,b,y\n2,d,b,w\n")
    assert file.ok
    assert file.kind == "long CSV"
    assert [[candidate.text for candidate in item.candidates] for item in file.items] == [
        ["x", "y"],
        ["z", "w"],
    ]
    assert [item.context_text for item in file.items] == ["c", "d"]


def test_a_long_table_names_contradictions_by_row() -> None:
    file = read("item_id,context,system,text\n1,c,a,x\n1,other,b,y\n1,c,a,again\n2,d,a,z\n")
    assert [(problem.row, problem.message.split(" ")[0]) for problem in errors(file)] == [
        (3, "has"),
        (4, "system"),
        (5, "has"),
    ]
    assert "row 2" in errors(file)[0].message
    assert "row 2" in errors(file)[1].message
    assert "'b'" in errors(file)[2].message


def test_each_row_without_an_id_is_an_error() -> None:
    file = read("item_id,context,system,text\nnull,c,a,x\n,c,a,x\n ,c,b,y\n")
    assert [problem.row for problem in errors(file)] == [3, 4]


def test_a_long_table_without_ids_is_refused() -> None:
    with pytest.raises(ImportRefused, match="item_id"):
        read("split,system,text\nc,a,x\n")


def test_without_ids_every_context_is_an_item() -> None:
    file = read("instruction,output,generator\nc,x,a\nc,y,b\nd,z,a\n")
    assert [[candidate.system for candidate in item.candidates] for item in file.items] == [["a", "b"], ["a"]]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_header_decides_the_delimiter(delimiter: str) -> None:
    row = delimiter.join(["1", '"a, b; c, d; e"', "x", "y"])
    file = read(delimiter.join(["item_id", "context", "cand:a", "cand:b"]) + f"\n{row}\n")
    assert file.ok
    assert file.items[0].context_text == "a, b; c, d; e"


def test_a_separator_line_of_excel_is_followed() -> None:
    assert read("sep=;\r\nitem_id;context;cand:a\r\n1;c;x\r\n").items[0].context_text == "c"


def test_turns_written_as_json_in_a_cell_become_turns() -> None:
    cell = '"[{""speaker"": ""A"", ""text"": ""Hi""}, {""role"": ""B"", ""content"": ""Yo""}]"'
    pairs = '"[[""usr"", ""Hi""], [""sys"", ""Yo""]]"'
    file = read(f"item_id,context,cand:a\n1,{cell},x\n2,{pairs},{cell}\n")
    assert file.ok
    assert file.items[0].context_turns == (TurnDraft("A", "Hi"), TurnDraft("B", "Yo"))
    assert file.items[0].context_text is None
    assert file.items[1].context_turns == (TurnDraft("usr", "Hi"), TurnDraft("sys", "Yo"))
    assert file.items[1].candidates[0].turns == (TurnDraft("A", "Hi"), TurnDraft("B", "Yo"))
    assert file.speakers == ("A", "B", "usr", "sys")


def test_a_cell_with_deeply_nested_brackets_is_a_text() -> None:
    cell = "[" * 100_000
    assert read(f"item_id,context,cand:a\n1,{cell},x\n").items[0].context_text == cell


def test_seven_candidate_columns_mean_items_use_some_of_them() -> None:
    names = [f"cand:s{number}" for number in range(8)]
    rows = ["1,c,x,y,z,,,,,", "2,c,,,,,,x,y,z"]
    file = read("\n".join([",".join(["item_id", "context", *names]), *rows]))
    assert file.ok
    assert [[candidate.system for candidate in item.candidates] for item in file.items] == [
        ["s0", "s1", "s2"],
        ["s5", "s6", "s7"],
    ]


def test_more_than_six_candidates_for_an_item_are_an_error() -> None:
    names = ",".join(f"cand:s{number}" for number in range(7))
    file = read(f"item_id,context,{names}\n1,c,1,2,3,4,5,6,7\n")
    assert "7 candidates" in errors(file)[0].message


def test_a_column_that_is_there_twice_is_refused() -> None:
    for header in ("item_id,context,context,cand:a", "item_id,context,cand:a,cand:a"):
        with pytest.raises(ImportRefused, match="Two columns"):
            read(f"{header}\n1,c,d,x\n")


def test_one_text_column_is_one_candidate() -> None:
    file = read("id,prompt,completion\n1,c,x\n")
    assert file.ok
    assert file.systems == ("candidate_1",)


def test_missing_ids_become_row_numbers_and_blank_ids_are_errors() -> None:
    numbered = read("context,cand:a\nc,x\n")
    assert numbered.ok
    assert numbered.items[0].external_id == "2"
    assert numbered.problems[0].severity == "warning"
    assert errors(read(HEADER + " ,c,x,y\n"))[0].row == 2


def test_a_table_without_candidates_says_what_to_add() -> None:
    file = read("item_id,context,reference\n1,c,r\n2,d,r\n")
    assert [problem.message[:22] for problem in errors(file)] == ["No item has candidates"]
    assert file.fields == ("reference",)


def test_a_quote_that_swallows_whole_rows_evenly_is_warned_of() -> None:
    file = read('item_id,context,cand:a,cand:b\n1,"open,x,y\n2,closed",x,y\n')
    assert [(problem.severity, problem.row) for problem in file.problems] == [("warning", 2)]
    assert "quotes" in file.problems[0].message


def test_an_unclosed_quote_costs_only_its_line() -> None:
    file = read(HEADER + '1,"c,x,y\n2,d,x,y\n3,e,x,y\n')
    assert [problem.row for problem in errors(file)] == [2]
    assert [item.external_id for item in file.items] == ["2", "3"]


def test_old_mac_line_ends_end_rows() -> None:
    assert len(read("item_id,context,cand:a\r1,c,x\r2,d,y\r").items) == 2


def test_a_last_empty_cell_without_line_end_is_a_cell() -> None:
    file = read("item_id,context,cand:a\n1,c,")
    assert not errors(file)
    assert file.items[0].candidates[0].text == ""


def test_problems_beyond_the_limit_are_counted_and_stay_errors() -> None:
    file = read(HEADER + "".join(f"{number},c,x\n" for number in range(500)))
    assert len(file.problems) == MAX_PROBLEMS + 1
    assert file.problems[-1] == Problem("error", None, None, "… and 300 more.")


def test_an_error_behind_many_warnings_still_counts() -> None:
    rows = "".join(f"{number},c,,y\n" for number in range(300)) + "0,c,x,y\n"
    file = read(HEADER + rows)
    assert not file.ok
    assert file.problems[0].severity == "error"
    assert "and 101 more" in file.problems[-1].message


def test_a_problem_reads_as_a_sentence_with_its_place() -> None:
    assert str(Problem("error", 3, "context", "is null.")) == "Row 3, column 'context': is null."
    assert str(Problem("note", None, None, "Fine.")) == "Fine."


def test_mixed_utf8_and_latin1_is_refused_with_the_line() -> None:
    data = HEADER.encode() + "1,Café,x,y\n".encode() + "2,Café,x,y\n".encode("latin-1")
    with pytest.raises(ImportRefused, match="Line 3.*mixes two encodings"):
        read_items(data, "items.csv")


def test_cyrillic_in_windows_1251_is_not_taken_for_western_letters() -> None:
    data = HEADER.encode() + "1,«Привет» – сказал он,хорошо,плохо\n".encode("cp1251")
    with pytest.raises(ImportRefused, match="nothing in the file says which encoding"):
        read_items(data, "items.csv")


def test_utf16_is_read_and_without_a_byte_order_mark_refused() -> None:
    text = HEADER + "1,naïve ☂,x,y\n"
    for encoding, mark in (("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")):
        assert read_items(mark + text.encode(encoding), "items.csv").items[0].context_text == "naïve ☂"
    with pytest.raises(ImportRefused, match="UTF-16 without a byte order mark"):
        read_items(text.encode("utf-16-le"), "items.csv")
    with pytest.raises(ImportRefused, match="begins as UTF-16"):
        read_items(b"\xff\xfe" + text.encode("utf-16-le") + b"\x00", "items.csv")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (pickle.dumps({"item_id": 1}), "pickle"),
        (b"PK\x03\x04 anything", "zip"),
        (b"%PDF-1.7", "PDF"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old Office"),
        (b"PAR1....", "Parquet"),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "json", "txt"])
def test_other_content_under_a_wrong_name_is_refused(content: bytes, what: str, ending: str) -> None:
    with pytest.raises(ImportRefused, match=what):
        read_items(content, f"items.{ending}")


@pytest.mark.parametrize("name", ["items.xls", "items.pdf", "items", "items.csv.exe"])
def test_an_unknown_ending_is_refused(name: str) -> None:
    with pytest.raises(ImportRefused, match=r"\.csv, \.tsv"):
        read_items(b"item_id", name)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a," * (11 * 2**20), "at most 20 MB"),
        (b"item_id,context,cand:a," + b"x," * 10_000 + b"\n1,c,x\n", "columns can be read"),
        (b"item_id,context,cand:a\n" + b"," * (19 * 2**20), "columns can be read"),
        (b"item_id,context,cand:a\n" + b"\n" * (19 * 2**20), "400,000 lines"),
        (b"item_id,context,cand:a\n" + b'"x' * (9 * 2**20), "No row|quote|header"),
        (b"\xe9\x80" * (9 * 2**20), "UTF-8"),
        (b"," * (19 * 2**20), "looks like data|No row|columns"),
    ],
)
def test_a_bomb_of_text_is_refused_with_a_reason(content: bytes, words: str) -> None:
    try:
        file = read_items(content, "items.csv")
    except ImportRefused as refused:
        messages = str(refused)
    else:
        messages = " ".join(problem.message for problem in errors(file))
        assert not file.ok
    assert any(word in messages for word in words.split("|")), messages[:300]


def test_more_than_a_hundred_thousand_items_are_refused() -> None:
    with pytest.raises(ImportRefused, match="at most 100,000"):
        read("item_id,context,cand:a\n" + "".join(f"{number},c,x\n" for number in range(100_001)))


def test_a_quote_is_no_separator() -> None:
    with pytest.raises(ImportRefused, match="looks like data, not like a header"):
        read('sep="\nitem_id,context,cand:a\n1,c,x\n')
