"""Delimited text: shapes, quotes, encodings, limits."""

from __future__ import annotations

import pickle

import pytest

from triptych.errors import ImportRefused
from triptych.formats import read_items
from triptych.formats.changes import differences
from triptych.formats.model import MAX_PROBLEMS, Findings, ItemFile, Problem, ReadOptions, TurnDraft
from triptych.formats.ratings.sources import RATINGS
from triptych.formats.readers import read_source

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


def test_a_field_that_differs_between_rows_is_left_out() -> None:
    """It is about a response: the first row's would tell which system the file lists first."""
    header = "item_id,context,system,text,meta:model_file,meta:domain,extra:notes\n"
    file = read(f"{header}1,c,a,x,/a.jsonl,esc,by a\n1,c,b,y,/b.jsonl,,by b\n2,d,a,z,,esc,\n2,d,b,w,,esc,\n")
    assert file.ok
    assert [(item.meta, item.extra_texts) for item in file.items] == [({"domain": "esc"}, {})] * 2
    assert [(problem.row, problem.column) for problem in file.problems] == [(3, "meta:model_file"), (3, "extra:notes")]


def test_each_row_without_an_id_is_an_error() -> None:
    file = read("item_id,context,system,text\nnull,c,a,x\n,c,a,x\n ,c,b,y\n")
    assert [problem.row for problem in errors(file)] == [3, 4]


def test_a_long_table_needs_a_column_as_its_id() -> None:
    text = "split,system,text\nc,a,x\nc,b,y\n"
    file = read(text)
    assert not file.ok
    assert "item_id" in errors(file)[0].message

    roles = (("split", "item"), ("system", "system"), ("text", "response"))
    chosen = read(text, options=ReadOptions(roles=roles))
    assert [candidate.system for candidate in chosen.items[0].candidates] == ["a", "b"]


FOREIGN = (
    "qid,frage,antwort_birch,antwort_oak,topic\n"
    "q1,Where is it?,It is over there.,Over there I think.,place\n"
    "q2,When is it open?,At ten every day.,From ten on.,time\n"
    "q3,How much is it?,Two euros a day.,It costs two euros.,place\n"
)


def test_columns_of_no_known_name_are_guessed_from_their_values() -> None:
    file = read(FOREIGN)
    assert file.ok
    assert file.roles == {
        "qid": "item", "frage": "context", "antwort_birch": "response", "antwort_oak": "response", "topic": "ignore"
    }  # fmt: skip
    assert file.systems == ("antwort_birch", "antwort_oak")
    assert any("guessed" in problem.message for problem in file.problems)
    assert file.samples["topic"] == "place · time"


def test_numbered_lists_are_responses_but_single_words_are_not() -> None:
    """A note alone said that a system was left out, or that a topic was taken for one."""
    file = read(
        "id,question,birch-7b,oak-1,topic\n"
        "1,Sauce?,1. Buy it. 2. Open it.,Cook tomatoes.,sauce\n"
        "2,Rice?,Wash it first.,100 g for each person.,rice\n"
    )
    assert file.ok
    assert file.systems == ("birch-7b", "oak-1")
    assert file.roles["topic"] == "ignore"
    assert "single words: topic." in str(file.problems)


def test_a_system_that_answers_in_single_words_is_no_label() -> None:
    file = read("id,question,birch,oak\n1,Is it?,Yes,It is so.\n2,Was it?,No,It was not.\n3,Will it?,Maybe,Who knows\n")
    assert (file.ok, file.systems) == (True, ("birch", "oak"))


def test_the_reference_of_a_check_is_never_guessed_a_response() -> None:
    file = read(
        "id,question,birch,oak,purpose,reference\n"
        "1,How long?,5 minutes.,Two hours long.,gold,fluency A = 5 (short)\n"
        "2,How hot?,100 degrees.,Not very hot.,gold,fluency B = 1 (wrong)\n"
    )
    assert [file.roles[name] for name in ("oak", "purpose", "reference")] == ["ignore", "field", "field"]


def test_unknown_names_make_a_header_but_prose_does_not() -> None:
    assert read("foo,bar\n1,Hello\n2,Hi\n").roles == {"foo": "ignore", "bar": "ignore"}
    for first in ("Where is it?,Over there.", "1,2", "same,same"):
        with pytest.raises(ImportRefused, match="looks like data"):
            read(f"{first}\n3,4\n")


def test_a_corrected_file_is_compared_with_the_one_before() -> None:
    before = read("item_id,context,cand:a,cand:b\n1,c,x,y\n2,d,x,\n3,e,x,y\n,f,x,y\n")
    after = read("item_id,context,cand:a,cand:b\n1,c,x,y\n2,d,x,z\n4,f,x,y\n")
    assert differences(before, after) == [
        "1 error before, 0 now.", "3: no longer in it.", "4: new.", "2: changed."
    ]  # fmt: skip
    assert differences(after, after) == ["The items are the same."]


def test_without_ids_every_context_is_an_item() -> None:
    file = read("instruction,output,generator\nc,x,a\nc,y,b\nd,z,a\n")
    assert [[candidate.system for candidate in item.candidates] for item in file.items] == [["a", "b"], ["a"]]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_header_decides_the_delimiter(delimiter: str) -> None:
    row = delimiter.join(["1", '"a, b; c, d; e"', "x", "y"])
    file = read(delimiter.join(["item_id", "context", "cand:a", "cand:b"]) + f"\n{row}\n")
    assert file.ok
    assert file.items[0].context_text == "a, b; c, d; e"


@pytest.mark.parametrize("blank", [2, 300])
def test_empty_columns_at_the_end_are_no_columns(blank: int) -> None:
    """A spreadsheet saves all columns that were ever formatted; 304 were too many to be read."""
    file = read(f"item_id,context,cand:a,cand:b{',' * blank}\n1,Why?,x,y{',' * blank}\n2,Who?,x,z\n")
    assert file.ok
    assert [[candidate.text for candidate in item.candidates] for item in file.items] == [["x", "y"], ["x", "z"]]


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("item_id,response,response,text,text", "repeated: response, text. Name them cand:<system>."),
        ("item_id,meta:x,meta: x,response", "Two columns are called 'meta: x'."),
        (",".join(["item_id,response", *(f"c{n}" for n in range(199))]), "has 201 columns; at most 200 can be read."),
        ('"item_id,response', "Row 1: A quote in this row (it begins in line 1)"),
    ],
)
def test_a_header_that_cannot_be_read_is_named(header: str, words: str) -> None:
    with pytest.raises(ImportRefused) as refused:
        read(f"{header}\n1,x,y,z,w\n")
    assert words in str(refused.value)


def test_a_broken_row_below_the_first_is_not_its_fault() -> None:
    with pytest.raises(ImportRefused, match="^Row 1 looks like data"):
        read('1,x\n2,y\n"3,z\n')


def test_a_file_of_one_broken_row_says_so() -> None:
    with pytest.raises(ImportRefused, match=r"^Row 1: .*quot.* No row of the file could be read\."):
        read('"item_id,response\n')


def test_a_role_for_one_column_is_refused_for_two() -> None:
    roles = (("a", "item"), ("b", "item"), ("c", "response"))
    with pytest.raises(ImportRefused, match="a, b: only one column can be the item"):
        read("a,b,c\n1,2,x\n", options=ReadOptions(roles=roles))


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


def test_problems_of_one_kind_are_named_once_with_their_number() -> None:
    file = read(HEADER + "".join(f"{number},c,x\n" for number in range(500)))
    (problem,) = (problem for problem in file.problems if problem.severity == "error")
    assert (problem.row, problem.more) == (2, 499)
    assert str(problem).endswith("… and 499 more of this kind.")


def test_problems_that_quote_other_words_are_of_one_kind() -> None:
    doubled = "".join(f"it's {number // 2},c,x,y\n" for number in range(40))
    (problem,) = (problem for problem in read(HEADER + doubled).problems if problem.severity == "error")
    assert str(problem).startswith("Row 3: the id 'it's 0' is already used in row 2")
    assert problem.more == 19


def test_kinds_beyond_the_limit_are_counted_and_stay_errors() -> None:
    findings = Findings()
    for number in range(MAX_PROBLEMS + 3):
        for _ in range(7):
            findings.error("wrong", column=f"column {chr(0x4E00 + number)}")
    problems = findings.finish()
    assert len(problems) == MAX_PROBLEMS + 1
    assert problems[-1] == Problem("error", None, None, "… and 21 more.", is_rest=True)


def test_an_error_behind_many_warnings_still_counts() -> None:
    rows = "".join(f"{number},c,,y\n" for number in range(300)) + "0,c,x,y\n"
    file = read(HEADER + rows)
    assert not file.ok
    assert file.problems[0].severity == "error"
    assert file.problems[-1].more == 299


def test_a_problem_reads_as_a_sentence_with_its_place() -> None:
    assert str(Problem("error", 3, "context", "is null.")) == "Row 3, column 'context': is null."
    assert str(Problem("note", None, None, "Fine.")) == "Fine."


def test_mixed_utf8_and_latin1_is_refused_with_the_line() -> None:
    data = HEADER.encode() + "1,Café,x,y\n".encode() + "2,Café,x,y\n".encode("latin-1")
    with pytest.raises(ImportRefused, match="Line 3.*mixes two encodings"):
        read_items(data, "items.csv")


def test_cyrillic_in_windows_1251_is_not_taken_for_western_letters() -> None:
    data = HEADER.encode() + "1,«Привет» – сказал он,хорошо,плохо\n".encode("cp1251")
    with pytest.raises(ImportRefused, match="the file does not declare its encoding"):
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
    ("content", "ending", "words"),
    [
        (b"a," * (11 * 2**20), "json", "at most 20 MB"),
        (b"a," * (51 * 2**20), "csv", "at most 100 MB"),
        (b"item_id,system\n" + b"\n" * 1_300_000, "csv", "1,200,000 lines"),
        (b"item_id,system\n" + b"\n" * (21 * 2**20), "csv", "1,200,000 lines"),
    ],
)
def test_ratings_may_be_a_larger_csv(content: bytes, ending: str, words: str) -> None:
    with pytest.raises(ImportRefused, match=words):
        read_source(content, f"ratings.{ending}", RATINGS, ReadOptions(), Findings())


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a," * (11 * 2**20), "at most 20 MB"),
        (b"item_id,context,cand:a," + b"x," * 10_000 + b"\n1,c,x\n", "columns can be read"),
        (b"item_id,context,cand:a\n" + b"," * (7 * 2**20), "columns can be read"),
        (b"item_id,context,cand:a\n" + b"\n" * (19 * 2**20), "400,000 lines"),
        (b"item_id,context,cand:a\n" + b'"x' * (9 * 2**20), "No row|quote|header"),
        (b"\xe9\x80" * (9 * 2**20), "UTF-8"),
        (b"," * (19 * 2**20), "looks like data|No row|columns"),
        (b"item_id,context,cand:a\n" + (b"," * 199 + b"\n") * 41_000, "more than 8,000,000 cells; split it"),
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


@pytest.mark.long
def test_more_than_a_hundred_thousand_items_are_refused() -> None:
    with pytest.raises(ImportRefused, match="at most 100,000"):
        read("item_id,context,cand:a\n" + "".join(f"{number},c,x\n" for number in range(100_001)))


def test_a_quote_is_no_separator() -> None:
    with pytest.raises(ImportRefused, match="looks like data, not like a header"):
        read('sep="\nitem_id,context,cand:a\n1,c,x\n')
