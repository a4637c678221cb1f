"""Workbooks: what is read, what is reported, and what never reaches a reader."""

from __future__ import annotations

import io
import random
import struct
import zipfile
from collections.abc import Callable

import openpyxl
import pytest

from triptych.errors import ImportRefused
from triptych.formats import read_items
from triptych.formats.model import Findings, ItemFile, Problem, ReadOptions
from triptych.formats.ratings.sources import read_clean

HEADER = ["item_id", "context", "cand:a", "cand:b"]
SHEET = "xl/worksheets/sheet1.xml"
NAMESPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def workbook(*rows: list, change: Callable[[openpyxl.Workbook], None] | None = None) -> bytes:
    book = openpyxl.Workbook()
    for row in rows or (HEADER, ["1", "c", "x", "y"]):
        book.active.append(row)
    if change:
        change(book)
    return saved(book)


def saved(book: openpyxl.Workbook) -> bytes:
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def replaced(data: bytes, **members: bytes) -> bytes:
    """The workbook with other members: sheet=…, shared=…, other=…"""
    names = {"sheet": SHEET, "shared": "xl/sharedStrings.xml", "other": "xl/embeddings/other.bin"}
    contents = {names[key]: content for key, content in members.items()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            if name not in contents:
                new.writestr(name, old.read(name))
        for name, content in contents.items():
            new.writestr(name, content)
    return buffer.getvalue()


def sheet_xml(rows: str) -> bytes:
    return f"<worksheet {NAMESPACE}><sheetData>{rows}</sheetData></worksheet>".encode()


def read(data: bytes, options: ReadOptions | None = None) -> ItemFile:
    return read_items(data, "items.xlsx", options or ReadOptions())


def errors(file: ItemFile) -> list[Problem]:
    return [problem for problem in file.problems if problem.severity == "error"]


def test_cells_are_texts_as_a_person_sees_them() -> None:
    file = read(workbook(HEADER, [7, True, 1.5, "007"], ["0010", "c", " x ", "a\nb"]))
    assert file.ok
    assert file.kind == "wide XLSX"
    assert [item.external_id for item in file.items] == ["7", "0010"]
    assert (file.items[0].context_text, file.items[0].candidates[0].text) == ("TRUE", "1.5")
    assert [candidate.text for candidate in file.items[1].candidates] == [" x ", "a\nb"]


def format_percent(book: openpyxl.Workbook) -> None:
    for cell in book.active[2]:
        cell.number_format = "0.0%"


def test_a_percentage_is_shown_as_in_the_spreadsheet() -> None:
    file = read(workbook(HEADER, ["1", "0.5", 0.5, 1], change=format_percent))

    assert file.items[0].context_text == "0.5"
    assert [candidate.text for candidate in file.items[0].candidates] == ["50%", "100%"]


def test_a_rating_shown_as_a_percentage_stays_a_number() -> None:
    data = workbook(["item_id", "value"], ["1", 0.5], change=format_percent)

    (record,) = read_clean(data, "ratings.xlsx", Findings()).records

    assert record.values == {"item_id": "1", "value": "0.5"}


def test_a_long_sheet_is_read() -> None:
    file = read(workbook(["item_id", "context", "system", "text"], ["1", "c", "a", "x"], ["1", "c", "b", "y"]))
    assert file.ok
    assert (file.kind, len(file.items[0].candidates)) == ("long XLSX", 2)


def test_numbers_with_more_digits_than_excel_keeps_are_errors() -> None:
    file = read(workbook(HEADER, [1161888007138312192, "c", "x", "y"]))
    assert (errors(file)[0].row, errors(file)[0].column) == (2, "item_id")
    assert "15 digits" in errors(file)[0].message


def test_excel_errors_and_formulas_without_value_are_named() -> None:
    file = read(workbook(HEADER, ["1", "c", "#N/A", "y"], ["2", "=A1", "x", "y"]))
    assert [(problem.row, problem.message[:7]) for problem in errors(file)] == [
        (2, "cell C2"),
        (3, "cell B3"),
    ]


def two_sheets(book: openpyxl.Workbook) -> None:
    other = book.create_sheet("second")
    other.append(HEADER)
    other.append(["2", "d", "x", "y"])


def test_two_sheets_of_items_need_a_choice_and_follow_it() -> None:
    data = workbook(change=two_sheets)
    undecided = read(data)
    assert not undecided.ok
    assert "choose a sheet" in errors(undecided)[0].message
    assert (undecided.items, undecided.sheets) == ((), ("Sheet", "second"))
    chosen = read(data, ReadOptions(sheet="second"))
    assert chosen.ok
    assert chosen.items[0].external_id == "2"


def test_a_missing_sheet_is_refused_with_the_visible_ones() -> None:
    with pytest.raises(ImportRefused, match="Sheet, second"):
        read(workbook(change=two_sheets), ReadOptions(sheet="third"))


def test_columns_without_name_and_repeated_columns_are_reported() -> None:
    file = read(workbook(["id", "prompt", "response", "response"], ["1", "c", "x", "y", "stray"]))
    assert file.ok
    assert file.systems == ("candidate_1", "candidate_2")
    assert any("Column 5" in problem.message for problem in file.problems)


def test_a_sheet_without_header_or_rows_is_refused() -> None:
    for rows in ([["r1", "a", "b"]], [HEADER]):
        with pytest.raises(ImportRefused):
            read(workbook(*rows))


def row_bomb() -> bytes:
    return replaced(
        workbook(), sheet=sheet_xml("<row>" + "<c><v>1</v></c>" * 10 + "</row>" + "<row><c/></row>" * 200_000)
    )


def empty_row_bomb() -> bytes:
    return replaced(workbook(), sheet=sheet_xml("<row/>" * 5_000_000))


def text_bomb() -> bytes:
    return replaced(workbook(), shared=b"<sst><si><t>" + b"A" * 150_000_000 + b"</t></si></sst>")


def repeated_text_bomb(number: str = "0") -> bytes:
    """number: of the long text, as it is written into each cell."""
    noise = "".join(random.Random(1).choices("abcdefgh", k=100_000))
    cells = "".join(f'<row r="{row}"><c r="A{row}" t="s"><v>{number}</v></c></row>' for row in range(1, 90_000))
    return replaced(
        workbook(), sheet=sheet_xml(cells), shared=f"<sst><si><t>{noise}</t></si>{'<si/>' * 9}</sst>".encode()
    )


def merged_bomb() -> bytes:
    merged = '<mergeCell ref="A2:B2"/>' * 200_000
    return replaced(workbook(), sheet=sheet_xml("<row/>").replace(b"</work", f"{merged}</work".encode()))


def far_corner() -> bytes:
    return replaced(workbook(), sheet=sheet_xml('<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'))


def entity_bomb(encoding: str = "utf-8") -> bytes:
    text = '<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;&b;">]>' + sheet_xml("").decode()
    return replaced(workbook(), sheet=text.encode(encoding))


def nested_zip() -> bytes:
    return replaced(workbook(), other=workbook())


def many_members() -> bytes:
    buffer = io.BytesIO(workbook())
    with zipfile.ZipFile(buffer, "a") as archive:
        for number in range(300):
            archive.writestr(f"xl/{number}.xml", "<a/>")
    return buffer.getvalue()


def lying_sizes() -> bytes:
    """The central directory says that the sheet has 10 bytes."""
    data = bytearray(row_bomb())
    at = data.rindex(SHEET.encode()) - 46
    assert data[at : at + 4] == b"PK\x01\x02"
    struct.pack_into("<I", data, at + 24, 10)
    return bytes(data)


def twice_the_same_member() -> bytes:
    buffer = io.BytesIO(workbook())
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(SHEET.upper(), b"<a/>")
    return buffer.getvalue()


HOSTILE = {
    "row bomb": (row_bomb, "cells"),
    "empty row bomb": (empty_row_bomb, "opened|XML elements"),
    "text bomb": (text_bomb, "when it is opened"),
    "repeated text": (repeated_text_bomb, "repeats long texts"),
    "repeated text by a long number": (lambda: repeated_text_bomb("0" * 10), "repeats long texts"),
    "repeated text by two numbers": (lambda: repeated_text_bomb("9</v><v>0"), "repeats long texts"),
    "repeated text by a comment": (lambda: repeated_text_bomb("0<!-- -->9"), "repeats long texts"),
    "repeated text by an entity": (lambda: repeated_text_bomb("0&#57;"), "repeats long texts"),
    "merged cells": (merged_bomb, "cells"),
    "far corner": (far_corner, "row 1,048,576"),
    "entities": (entity_bomb, "XML entities"),
    "entities in UTF-16": (lambda: entity_bomb("utf-16"), "damaged"),
    "nested zip": (nested_zip, "another zip"),
    "300 members": (many_members, "at most 200"),
    "lying sizes": (lying_sizes, "does not match the zip's directory"),
    "one member twice": (twice_the_same_member, "not an Excel workbook"),
    "no zip": (lambda: b"item_id,context", "not an Excel workbook"),
    "cut in half": (lambda: workbook()[:2000], "not an Excel workbook"),
    "another zip": (lambda: b"PK\x05\x06" + bytes(18), "not an Excel workbook"),
    "broken XML": (lambda: replaced(workbook(), sheet=b"<worksheet><row"), "damaged"),
    "path names": (
        lambda: replaced(workbook(), sheet=b"").replace(b"xl/workbook.xml", b"../../../../abc"),
        "Excel",
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_workbook_is_refused_with_a_reason(name: str) -> None:
    make, words = HOSTILE[name]
    data = make()
    with pytest.raises(ImportRefused) as refused:
        read(data)
    assert any(word in str(refused.value) for word in words.split("|")), str(refused.value)


@pytest.mark.long
def test_a_dull_but_honest_workbook_is_read() -> None:
    """The same line 5,000 times packs more than 100 to 1; below 8 MiB that is no reason to refuse it."""
    rows = [HEADER, *([str(number), "the same context", "thanks", "thanks"] for number in range(5_000))]
    assert len(read(workbook(*rows)).items) == 5_000


def test_damaged_bytes_are_refused_and_never_crash() -> None:
    data = workbook(HEADER, ["1", "c", "x", "y"])
    chance = random.Random(7)
    for _ in range(300):
        damaged = bytearray(data)
        for _ in range(chance.randint(1, 6)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            read(bytes(damaged))
        except ImportRefused as refused:
            assert str(refused)
