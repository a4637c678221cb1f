"""What a workbook may be before any reader touches it.

An .xlsx file is a zip of XML. Small ones can hold gigabytes, entities, or a cell in the last corner of the
sheet that makes a reader allocate the whole of it. So every member is inflated here, counted while inflating
and checked. Only what passed is given to the reader, in a new zip (two programs may read one zip
differently).
Limits: 200 members, 64 MiB inflated, 100 : 1 where that is more than 8 MiB, 100,000 cells.
"""

from __future__ import annotations

import io
import posixpath
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from xml.parsers import expat

from triptych.errors import ImportRefused

MAX_MEMBERS = 200
MAX_INFLATED = 64 * 2**20
RATIO_FROM_BYTES = 8 * 2**20
MAX_RATIO = 100
MAX_CELLS = 100_000
MAX_AREA = 2_000_000
MAX_TAGS = 3_000_000
MAX_TEXT = 64 * 2**20
CHUNK_BYTES = 2**18
EMPTY = b"<none/>"

_LOCAL_HEADER = struct.Struct("<4s5H3I2H")
_DECLARATION = re.compile(rb"<!\s*(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_CELL = re.compile(r"\$?([A-Z]{1,3})\$?([0-9]{1,7})")


class Members(dict[str, bytes]):
    """Name -> content of the members that passed."""

    def part(self, path: str) -> bytes:
        """A member by its path, whose case does not count for Excel."""
        return next((content for name, content in self.items() if name.casefold() == path.casefold()), EMPTY)

    def as_zip(self) -> bytes:
        """The same members as a plain zip without compression."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
            for name, content in self.items():
                archive.writestr(name, content)
        return buffer.getvalue()


@dataclass
class SheetSurvey:
    """What a sheet's XML says and its values do not. Rows from 1; `merged`: (first, last, reference)."""

    name: str
    hidden: bool
    hidden_rows: set[int] = field(default_factory=set)
    merged: list[tuple[int, int, str]] = field(default_factory=list)
    without_value: list[tuple[int, str]] = field(default_factory=list)
    cells: int = 0
    last_row: int = 0
    last_column: int = 0
    shared: list[int] = field(default_factory=list)


def guarded(data: bytes) -> Members:
    """Inflate a workbook within the limits.

    Raises ImportRefused with what is wrong.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        infos = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error, OverflowError) as error:
        raise ImportRefused("This is not an Excel workbook (.xlsx): the zip inside cannot be opened.") from error
    if len(infos) > MAX_MEMBERS:
        raise ImportRefused(f"The workbook has {len(infos):,} parts; at most {MAX_MEMBERS} can be read.")
    names = [info.filename.casefold() for info in infos]
    if len(set(names)) != len(names) or "xl/workbook.xml" not in names:
        raise ImportRefused(
            "This zip is not an Excel workbook (.xlsx). Save the table from Excel as .xlsx or CSV UTF-8."
        )
    members, total = Members(), 0
    for info in infos:
        content = _inflate(data, info, total)
        total += len(content)
        _check_member(info.filename, content)
        if info.filename.endswith((".xml", ".rels")):
            members[info.filename] = content
    if sum(content.count(b"<") for content in members.values()) > MAX_TAGS:
        raise ImportRefused("The workbook has millions of XML elements. Save the sheet as CSV UTF-8 instead.")
    return members


def survey(members: Members) -> list[SheetSurvey]:
    """The sheets of a workbook in order, with hidden rows and merged cells; the cells of all are counted.

    Raises ImportRefused for more than 100,000 cells, or cells too far apart.
    """
    sheets = []
    cells = 0
    for sheet, path in _sheet_paths(members):
        reader = _SheetReader(sheet)
        _walk(members.part(path), reader.start, reader.text, reader.end)
        cells += sheet.cells
        _refuse_cells(sheet, cells)
        sheets.append(sheet)
    _refuse_repeated_text(members, sheets)
    if not any(not sheet.hidden for sheet in sheets):
        raise ImportRefused("The workbook has no visible sheet.")
    return sheets


def _inflate(data: bytes, info: zipfile.ZipInfo, before: int) -> bytes:
    """One member, counted while inflating; the sizes that a zip declares are not believed but compared."""
    if info.flag_bits & 0x1:
        raise ImportRefused("The workbook is protected by a password. Save it without one.")
    start = _content_start(data, info)
    packed = memoryview(data)[start : start + info.compress_size]
    if info.compress_type == zipfile.ZIP_STORED:
        content = bytes(packed)
        _refuse_inflated(before + len(content), len(data))
    elif info.compress_type == zipfile.ZIP_DEFLATED:
        content = _inflate_deflated(packed, before, len(data))
    else:
        raise ImportRefused("The workbook is compressed in a way that Excel does not use. Save it again from Excel.")
    if len(content) != info.file_size or zlib.crc32(content) != info.CRC:
        raise ImportRefused(f"The workbook is damaged: '{info.filename}' is not what the zip says it is.")
    return content


def _content_start(data: bytes, info: zipfile.ZipInfo) -> int:
    header = data[info.header_offset : info.header_offset + _LOCAL_HEADER.size]
    if len(header) < _LOCAL_HEADER.size or not header.startswith(b"PK\x03\x04"):
        raise ImportRefused("The workbook is damaged: a part of the zip is not where it should be.")
    *_, name_length, extra_length = _LOCAL_HEADER.unpack(header)
    return info.header_offset + _LOCAL_HEADER.size + int(name_length) + int(extra_length)


def _inflate_deflated(packed: memoryview, before: int, file_size: int) -> bytes:
    inflater, content, rest = zlib.decompressobj(-zlib.MAX_WBITS), bytearray(), bytes(packed)
    try:
        while rest and not inflater.eof:
            content += inflater.decompress(rest, CHUNK_BYTES)
            rest = inflater.unconsumed_tail
            _refuse_inflated(before + len(content), file_size)
        content += inflater.flush()
    except zlib.error as error:
        raise ImportRefused("The workbook is damaged: a part of the zip cannot be inflated.") from error
    _refuse_inflated(before + len(content), file_size)
    return bytes(content)


def _refuse_inflated(size: int, file_size: int) -> None:
    if size > MAX_INFLATED or (size > RATIO_FROM_BYTES and size > MAX_RATIO * file_size):
        raise ImportRefused(
            f"The workbook grows from {file_size / 2**20:.1f} MB to {size // 2**20} MB or more when opened: "
            "that is no table of items. Save the sheet as CSV UTF-8 instead."
        )


def _check_member(name: str, content: bytes) -> None:
    if content.startswith(b"PK\x03\x04"):
        raise ImportRefused(f"The workbook holds another zip archive ('{name}'). Save the table alone.")
    if name.endswith((".xml", ".rels")) and _DECLARATION.search(
        content.replace(b"\0", b"") if b"\0" in content else content
    ):
        raise ImportRefused(f"The workbook defines XML entities ('{name}'), which Excel never does.")


def _walk(
    content: bytes,
    start: Callable[[str, dict[str, str]], None],
    text: Callable[[str], None] | None = None,
    end: Callable[[str], None] | None = None,
) -> None:
    """Call `start` with each element's local name and attributes, `text` with texts, `end` with names."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.StartElementHandler = lambda name, attributes: start(name.rsplit(":", 1)[-1], attributes)
    parser.CharacterDataHandler = text
    if end is not None:
        parser.EndElementHandler = lambda name: end(name.rsplit(":", 1)[-1])
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise ImportRefused("The workbook is damaged: its XML cannot be read.") from error


def _refuse_doctype(*_: object) -> None:
    raise ImportRefused("The workbook defines XML entities, which Excel never does.")


def _sheet_paths(members: Members) -> list[tuple[SheetSurvey, str]]:
    """Every sheet of the workbook with the member that holds it."""
    targets: dict[str, str] = {}

    def relation(name: str, attributes: dict[str, str]) -> None:
        if name == "Relationship":
            target = attributes.get("Target", "")
            path = target.lstrip("/") if target.startswith("/") else posixpath.join("xl", target)
            targets[attributes.get("Id", "")] = posixpath.normpath(path)

    sheets: list[tuple[SheetSurvey, str]] = []

    def sheet(name: str, attributes: dict[str, str]) -> None:
        if name == "sheet":
            relation_id = next((value for key, value in attributes.items() if key.endswith(":id")), "")
            hidden = attributes.get("state", "visible") != "visible"
            sheets.append((SheetSurvey(attributes.get("name", ""), hidden), targets.get(relation_id, "")))

    _walk(members.part("xl/_rels/workbook.xml.rels"), relation)
    _walk(members.part("xl/workbook.xml"), sheet)
    return sheets


class _SheetReader:
    """Reads one sheet's XML for what `Sheet` holds; stops at the first cell that is too much."""

    def __init__(self, sheet: SheetSurvey) -> None:
        self.sheet = sheet
        self.row = 0
        self.column = 0
        self.kind = ""
        self.place = ""
        self.is_formula = self.has_value = self.in_value = False
        self.digits: str | None = None

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "c":
            self._cell(attributes)
        elif name == "row":
            self.row, self.column = _number(attributes.get("r"), self.row + 1), 0
            if attributes.get("hidden") in ("1", "true"):
                self.sheet.hidden_rows.add(self.row)
        elif name == "v":
            self.in_value = True
            self.digits = "" if self.kind == "s" else None
        elif name == "f":
            self.is_formula = True
        elif name == "mergeCell":
            corners = _CELL.findall(attributes.get("ref", ""))
            if corners:
                self.sheet.merged.append((int(corners[0][1]), int(corners[-1][1]), attributes["ref"]))

    def text(self, data: str) -> None:
        self.has_value = self.has_value or self.in_value
        if self.digits is not None:
            self.digits += data

    def end(self, name: str) -> None:
        if name == "v":
            self.in_value = False
            if self.digits is not None:
                self.sheet.shared.append(_number(self.digits.strip(), -1))
            self.digits = None
        elif name == "c" and (self.kind == "e" or (self.is_formula and not self.has_value and self.kind != "str")):
            self.sheet.without_value.append((self.row, self.place))

    def _cell(self, attributes: dict[str, str]) -> None:
        place = _CELL.fullmatch(attributes.get("r", ""))
        self.column = _column(place[1]) if place else self.column + 1
        row = int(place[2]) if place else self.row
        self.row, self.kind, self.place = row, attributes.get("t", ""), attributes.get("r", "")
        self.is_formula = self.has_value = False
        self.sheet.cells += 1
        self.sheet.last_row = max(self.sheet.last_row, row)
        self.sheet.last_column = max(self.sheet.last_column, self.column)
        _refuse_cells(self.sheet, self.sheet.cells)


def _number(text: str | None, otherwise: int) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else otherwise


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


def _refuse_cells(sheet: SheetSurvey, cells: int) -> None:
    if cells > MAX_CELLS:
        raise ImportRefused(
            f"The workbook has more than {MAX_CELLS:,} cells. Save the sheet as CSV UTF-8, it may be longer."
        )
    if sheet.last_row * sheet.last_column > MAX_AREA:
        raise ImportRefused(
            f"Sheet '{sheet.name}' reaches to row {sheet.last_row:,}, column {sheet.last_column:,}. "
            "Delete what lies far outside the table, or save the sheet as CSV UTF-8."
        )


def _refuse_repeated_text(members: Members, sheets: list[SheetSurvey]) -> None:
    """One long text may be stored once in a workbook and be shown in every cell."""
    lengths: list[int] = []
    inside = False

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal inside
        inside = name == "t"
        if name == "si":
            lengths.append(0)

    def text(data: str) -> None:
        if inside and lengths:
            lengths[-1] += len(data)

    _walk(members.part("xl/sharedStrings.xml"), start, text)
    shown = sum(lengths[at] for sheet in sheets for at in sheet.shared if 0 <= at < len(lengths))
    if shown > MAX_TEXT:
        raise ImportRefused("The workbook repeats long texts to more than 64 MB. Save the sheet as CSV UTF-8 instead.")
