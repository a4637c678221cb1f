"""Checks of a workbook before any reader opens it.

An .xlsx file is a zip of XML. A small file can contain gigabytes, entities, or a cell in the last corner of the sheet
that makes a reader allocate the whole sheet. So every member is inflated here within limits, and every sheet is
examined. Readers get only the checked content, in a new zip (two programs may read one zip differently).
Where the reader of the cells may read something else than is examined here, the workbook is refused: it allocates what
it reads, and ends the whole program if there is not enough memory.
Limits: 200 members, 64 MiB inflated, 100 : 1 where that is more than 8 MiB, 100,000 cells and merges, a megabyte from
one XML tag to the next.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from xml.etree.ElementTree import ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring, iterparse
from openpyxl.utils.cell import coordinate_to_tuple, range_boundaries

from triptych.errors import ImportRefused
from triptych.formats.zips import unzipped

MAX_MEMBERS = 200
MAX_INFLATED = 64 * 2**20
RATIO_FROM_BYTES = 8 * 2**20
MAX_RATIO = 100
MAX_CELLS = 100_000
MAX_AREA = 2_000_000
MAX_TAGS = 3_000_000
MAX_TEXT = 64 * 2**20
UNKNOWN = -1
ROW = re.compile("[1-9][0-9]{0,6}")
PLACE = re.compile(f"[A-Za-z]{{1,3}}{ROW.pattern}")
PERCENT_FORMATS: set[str | None] = {"9", "10"}  # numbers of the formats 0% and 0.00%, which no file spells out
QUOTED = re.compile(r'"[^"]*"|\\.')  # characters of a number format that are shown as they are
# while the XML parser reads a tag with its attributes, all other threads wait
LONG_TAG = re.compile(rb"<[^<]{1000000}")
READ_AT_ONCE = 2**20  # bytes of a sheet: the XML parser reads a tag or comment again from its beginning with each part
CELLS = b"sheetData"  # without this word nothing in a member is read as cells
WITH_MARKUP = re.compile(rb"<(?:\w+:)?v\b[^<>]*>[^<]*(?:&|<(?!/))")  # a value that two programs may read differently
NO_TABLE = ": that is not a table of items. Save the sheet as CSV UTF-8 instead."


class Members(dict[str, bytes]):
    """Name -> content of the members that passed."""

    def part(self, path: str) -> bytes:
        """A member by its path; Excel ignores the path's case."""
        return next((content for name, content in self.items() if name.casefold() == path.casefold()), b"<none/>")

    def as_zip(self) -> bytes:
        """The same members as a plain zip without compression."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
            for name, content in self.items():
                archive.writestr(name, content)
        return buffer.getvalue()


@dataclass(eq=False)
class SheetSurvey:
    """Properties in a sheet's XML that its values do not show.

    Rows and columns from 1. merged: (first row, last row, reference); without_value and percentages: (row, column).
    """

    name: str
    hidden: bool
    area: int = 0
    hidden_rows: set[int] = field(default_factory=set)
    merged: list[tuple[int, int, str]] = field(default_factory=list)
    without_value: list[tuple[int, int]] = field(default_factory=list)
    percentages: set[tuple[int, int]] = field(default_factory=set)


class SheetFile(io.BytesIO):
    """A sheet's XML for `iterparse`, which would read 16 KiB at a time."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(READ_AT_ONCE)


def guarded(data: bytes) -> Members:
    """Inflate a workbook within the limits.

    Raises ImportRefused with what is wrong.
    """
    if not zipfile.is_zipfile(io.BytesIO(data)):
        raise ImportRefused("This is not an Excel workbook (.xlsx): the zip inside cannot be opened.")
    max_bytes = min(MAX_INFLATED, max(RATIO_FROM_BYTES, MAX_RATIO * len(data)))
    members = unzipped(data, "The workbook", MAX_MEMBERS, max_bytes, NO_TABLE)
    names = {name.casefold() for name in members}
    is_ambiguous = len(names) != len(members) or any("\\" in name for name in members)
    if is_ambiguous or "xl/workbook.xml" not in names:
        raise ImportRefused(
            "This zip is not an Excel workbook (.xlsx). Save the table from Excel as .xlsx or CSV UTF-8."
        )
    for name, content in members.items():
        if content.startswith(b"PK\x03\x04"):
            raise ImportRefused(f"The workbook contains another zip archive ('{name}'). Save the table alone.")
    parts = Members({name: content for name, content in members.items() if name.endswith((".xml", ".rels"))})
    # an element counts twice, as it takes the same time with one tag as with two
    if sum(content.count(b"<") + content.count(b"/>") for content in parts.values()) > MAX_TAGS:
        raise ImportRefused("The workbook has millions of XML elements. Save the sheet as CSV UTF-8 instead.")
    if any(map(LONG_TAG.search, parts.values())):
        raise ImportRefused("The workbook has an XML tag or a text of a megabyte. Save the sheet as CSV UTF-8 instead.")
    return parts


def survey(members: Members) -> list[SheetSurvey]:
    """The sheets of a workbook in order, with hidden rows and merged cells; the cells of all are counted.

    Raises ImportRefused for more than 100,000 cells, cells too far apart, or one long text shown in many cells.
    """
    cells = shown = area = 0
    try:
        if any(b"\0" in content for content in members.values()):
            raise ValueError("XML in UTF-16, in which the reader of the cells sees other elements")
        lengths = _lengths_of_texts(members.part("xl/sharedStrings.xml"))
        longest = max(lengths.values(), default=0)
        named = _sheet_paths(members)
        percent_styles = _percent_styles(members.part("xl/styles.xml"))
        for sheet, path in [*named.items(), *_other_sheets(members, named.values())]:
            for shared in _look_through(sheet, members.part(path), MAX_AREA - area, percent_styles):
                cells += 1
                shown += 0 if shared is None else lengths.get(shared, longest)
                if cells > MAX_CELLS:
                    raise ImportRefused(
                        f"The workbook has more than {MAX_CELLS:,} cells. "
                        "Save the sheet as CSV UTF-8, it may be longer."
                    )
            area += sheet.area
    except DefusedXmlException as error:
        raise ImportRefused("The workbook defines XML entities, which Excel never does.") from error
    except (ParseError, ValueError, LookupError) as error:
        raise ImportRefused("The workbook is damaged: its XML cannot be read.") from error
    if shown > MAX_TEXT:
        raise ImportRefused("The workbook repeats long texts to more than 64 MB. Save the sheet as CSV UTF-8 instead.")
    if all(sheet.hidden for sheet in named):
        raise ImportRefused("The workbook has no visible sheet.")
    return list(named)


def _lengths_of_texts(content: bytes) -> dict[int, int]:
    """Number of each shared text → its length. Raises ValueError where the reader of the cells counts differently."""
    table = fromstring(content, forbid_dtd=True)
    texts = table.findall(".//{*}si")
    sizes = [part.get("uniqueCount", "0") for part in (table, *table.findall(".//{*}sst"))]
    if any(text.find(".//{*}si") is not None for text in texts) or any(_number(n, MAX_TAGS) >= MAX_TAGS for n in sizes):
        raise ValueError("the shared texts")
    return dict(enumerate(sum(map(len, text.itertext())) for text in texts))


def _percent_styles(content: bytes) -> set[str]:
    """Numbers of the cell styles that show 0.5 as 50%."""
    styles = fromstring(content, forbid_dtd=True)
    percent_formats = PERCENT_FORMATS | {
        each.get("numFmtId")
        for each in styles.findall(".//{*}numFmts/{*}numFmt")
        if "%" in QUOTED.sub("", each.get("formatCode", ""))
    }
    looks = enumerate(styles.findall(".//{*}cellXfs/{*}xf"))
    return {str(number) for number, look in looks if look.get("numFmtId") in percent_formats}


def _sheet_paths(members: Members) -> dict[SheetSurvey, str]:
    """Every sheet of the workbook → the member that holds it. Raises ValueError where that is not plain."""
    relations = fromstring(members.part("xl/_rels/workbook.xml.rels"), forbid_dtd=True).findall(".//{*}Relationship")
    targets = {relation.get("Id"): posixpath.join("/xl", relation.get("Target", "")) for relation in relations}
    paths = {}
    for sheet in fromstring(members.part("xl/workbook.xml"), forbid_dtd=True).findall(".//{*}sheet"):
        (relation_id,) = (value for key, value in sheet.items() if key.endswith("}id"))
        survey_of = SheetSurvey(sheet.get("name", ""), sheet.get("state", "visible") != "visible")
        paths[survey_of] = posixpath.normpath(targets.get(relation_id, "")).lstrip("/")
    if len({path.casefold() for path in paths.values()}) != len(paths):
        raise ValueError("two sheets in one member, which would be read again and again")
    return paths


def _other_sheets(members: Members, paths: Collection[str]) -> Iterator[tuple[SheetSurvey, str]]:
    """Members that no sheet names here, but perhaps for the reader of the cells."""
    named = {path.casefold() for path in paths}
    for name, content in members.items():
        if name.casefold() not in named and CELLS in content:
            yield SheetSurvey(name, hidden=True), name


def _look_through(
    sheet: SheetSurvey, content: bytes, max_area: int, percent_styles: Collection[str]
) -> Iterator[int | None]:
    """Fills in the survey of one sheet; yields each cell's index in the list of shared texts, None without one.

    UNKNOWN is yielded for an index that the reader of the cells may read as another number.
    """
    is_plain = not WITH_MARKUP.search(content)
    row = column = last_row = last_column = 0
    for event, element in iterparse(SheetFile(content), ("start", "end"), forbid_dtd=True):
        name = element.tag.rpartition("}")[2]
        if event == "start" and name == "row":
            row, column = _row(element.get("r"), row + 1), 0
            if element.get("hidden") in ("1", "true"):
                sheet.hidden_rows.add(row)
        elif event == "end" and name == "c":
            row_of_cell, column = _place(element.get("r"), (row, column + 1))
            last_row, last_column = max(last_row, row_of_cell), max(last_column, column)
            sheet.area = last_row * last_column
            if sheet.area > max_area:
                raise ImportRefused(
                    f"Sheet '{sheet.name}' reaches to row {last_row:,}, column {last_column:,}. "
                    "Delete cells far outside the table, or save the sheet as CSV UTF-8."
                )
            kind, values = element.get("t"), [value.text for value in element.findall("{*}v")]
            value = next(iter(values), None)
            is_computed = bool(value) or kind == "str" or element.find("{*}f") is None
            _note_kind(sheet, (row_of_cell, column), kind if is_computed else "e", element.get("s") in percent_styles)
            yield None if kind != "s" else _number(value, UNKNOWN) if is_plain and len(values) == 1 else UNKNOWN
        elif event == "end" and name == "mergeCell":
            first, last = range_boundaries(element.get("ref", ""))[1::2]
            if first and last:
                sheet.merged.append((first, last, element.get("ref")))
            yield None  # it counts as a cell, since a small file can contain millions
        if event == "end" and name in ("c", "row"):
            element.clear()


def _note_kind(sheet: SheetSurvey, place: tuple[int, int], kind: str | None, has_percent_style: bool) -> None:
    if kind == "e":
        sheet.without_value.append(place)
    elif kind in (None, "n") and has_percent_style:
        sheet.percentages.add(place)


def _row(reference: str | None, otherwise: int) -> int:
    """The number of a row. Raises ValueError for one that may be read as another."""
    if reference is None:
        return otherwise
    if not ROW.fullmatch(reference):
        raise ValueError(reference)
    return int(reference)


def _place(reference: str | None, otherwise: tuple[int, int]) -> tuple[int, int]:
    """Row and column of a cell, from 1. Raises ValueError for a reference that may be read as another."""
    if reference is None:
        return otherwise
    if not PLACE.fullmatch(reference):
        raise ValueError(reference)
    place: tuple[int, int] = coordinate_to_tuple(reference)
    return place


def _number(text: str | None, otherwise: int) -> int:
    digits = (text or "").strip()
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else otherwise
