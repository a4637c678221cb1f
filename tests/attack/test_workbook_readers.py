"""A workbook is examined by one program and read by another: what both understand differently is not read.

The reader of the cells allocates what it reads, and without the memory it ends the server. So it is not called here.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from typing import Any

import pytest

from triptych.errors import ImportRefused
from triptych.formats import xlsx_guard
from triptych.formats.xlsx_guard import guarded, survey

OFFICE = "http://schemas.openxmlformats.org"
MAIN = f'xmlns="{OFFICE}/spreadsheetml/2006/main"'
SHEET = '<sheet name="S" r:id="r1"/>'
CELL = "<c><v>1</v></c>"
FAR = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
PLACE, STRINGS = "xl/worksheets/s.xml", "xl/sharedStrings.xml"
COUNT = 'uniqueCount="4294967295"'


def rows(content: str) -> str:
    return f"<worksheet {MAIN}><sheetData>{content}</sheetData></worksheet>"


def shared(content: str, facts: str = "") -> str:
    return f"<sst {MAIN} {facts}>{content}</sst>"


def related(*targets: str) -> str:
    relations = (f'<Relationship Id="r{n}" Target="{target}"/>' for n, target in enumerate(targets, 1))
    return f"<Relationships>{''.join(relations)}</Relationships>"


def book(sheets: str = SHEET, targets: Sequence[str] = ("worksheets/s.xml",), **members: Any) -> bytes:
    """A workbook. members: name of a member → its content; `s` is the sheet."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        names = f'{MAIN} xmlns:r="{OFFICE}/officeDocument/2006/relationships" xmlns:x="urn:x"'
        archive.writestr("xl/workbook.xml", f"<workbook {names}><sheets>{sheets}</sheets></workbook>")
        archive.writestr("xl/_rels/workbook.xml.rels", related(*targets))
        for name, content in members.items():
            archive.writestr(PLACE if name == "s" else name, content)
    return packed.getvalue()


def in_utf16() -> bytes:
    """A comment in UTF-16, whose bytes are elements for a reader of UTF-8."""
    inside = rows(FAR).encode()
    before, after = (text.encode("utf-16-le") for text in (f"<worksheet {MAIN}><!--", "--></worksheet>"))
    return b"\xff\xfe" + before + inside + b" " * (len(inside) % 2) + after


ALIKE = "".join(f'<sheet name="S{n}" r:id="r1"/>' for n in range(50))
WIDE: dict[str, Any] = {f"xl/worksheets/s{n}.xml": rows('<row r="120"><c r="XFD120"/></row>') for n in range(2)}
WORKBOOKS = {
    "a long row number": book(s=rows(f'<row>{CELL}</row><row r="4000000000">{CELL}</row>')),
    "a long column": book(s=rows('<row><c r="AAAAA1"/></row>')),
    "a row before its cell": book(s=rows(f'<row r="1048576"><c r="A1"/></row><row>{CELL}<c r="XFD2"/></row>')),
    "another member by ..": book(
        targets=("../xl/worksheets/s.xml",), s=rows(CELL), **{"xl/../xl/worksheets/s.xml": rows(FAR)}
    ),
    "another member by \\": book(s=rows(CELL), **{"xl\\worksheets\\s.xml": rows(FAR)}),
    "another member by a second id": book(
        '<sheet name="S" x:id="r1" r:id="r2"/>', ("worksheets/s.xml", "t.xml"), s=rows(CELL), **{"xl/t.xml": rows(FAR)}
    ),
    "another encoding": book(s=in_utf16()),
    "one member as many sheets": book(ALIKE, s=rows(CELL)),
    "many wide sheets": book(
        '<sheet name="A" r:id="r1"/><sheet name="B" r:id="r2"/>', ("worksheets/s0.xml", "worksheets/s1.xml"), **WIDE
    ),
    "a number of texts": book(s=rows(CELL), **{STRINGS: shared("<si/>", COUNT)}),
    "a number of texts inside": book(s=rows(CELL), **{STRINGS: "<a>" + shared("<si/>", COUNT) + "</a>"}),
    "texts by \\": book(
        s=rows('<row><c t="s"><v>0</v></c></row>'), **{"xl\\sharedStrings.xml": shared("<si><t>long</t></si>")}
    ),
    "texts in texts": book(
        s=rows('<row><c t="s"><v>1</v></c></row>'), **{STRINGS: shared("<si><si/></si><si><t>long</t></si>")}
    ),
}


@pytest.mark.parametrize("name", WORKBOOKS)
def test_a_workbook_that_two_programs_read_differently_is_refused(name):
    with pytest.raises(ImportRefused):
        survey(guarded(WORKBOOKS[name]))


def test_cells_of_a_plain_workbook_are_counted():
    (sheet,) = survey(guarded(book(s=rows(f'<row r="2">{CELL}<c r="C2"/></row><row/>'))))

    assert (sheet.name, sheet.area) == ("S", 6)


@pytest.mark.parametrize("place", ["s", "xl/styles.xml", STRINGS])
def test_a_tag_of_very_many_attributes_is_refused_unread(place):
    """Two million of them took a minute, or kept all other threads waiting for eight seconds."""
    attributes = " ".join(f'a{n}=""' for n in range(200_000))
    with pytest.raises(ImportRefused, match="a megabyte"):
        guarded(book(**{"s": rows(CELL), place: f"<x {attributes}/>"}))


def test_a_long_comment_in_a_sheet_takes_few_parts(monkeypatch):
    """With each part the parser reads it again from its beginning; 20 MB took 21 seconds, 60 MB minutes."""
    parts: list[int] = []

    class Counted(xlsx_guard.SheetFile):
        def read(self, size: int | None = -1, /) -> bytes:
            part = super().read(size)
            parts.append(len(part))
            return part

    monkeypatch.setattr(xlsx_guard, "SheetFile", Counted)
    survey(guarded(book(s=f"<!--{'<x' * 1_500_000}-->{rows(CELL)}")))

    assert len(parts) < 10


def test_elements_of_one_tag_count_like_those_of_two(monkeypatch):
    monkeypatch.setattr(xlsx_guard, "MAX_TAGS", 1_000)
    with pytest.raises(ImportRefused, match="millions of XML elements"):
        guarded(book(s=rows("<x/>" * 600)))
