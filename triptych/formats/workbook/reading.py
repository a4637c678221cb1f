"""Reads the cells of a filled workbook saved by Excel or LibreOffice: hidden names, and texts as displayed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from triptych.errors import ImportRefused
from triptych.formats.model import MAX_UPLOAD
from triptych.formats.workbook.columns import AGREE, KEY
from triptych.formats.workbook.writing import HEADER_ROW, HIDDEN, MARK, TOKEN
from triptych.formats.xlsx import read_sheets
from triptych.formats.xlsx_guard import guarded, survey
from triptych.languages.language import ENGLISH, _, codes, using

NOT_OURS = (
    "This is not a workbook that Triptych made, or its hidden first row or column was removed. Copy the answers into a "
    "fresh download of the workbook and upload that."
)
SAVE_AS = "Open it where it was filled, save it as an Excel workbook (.xlsx), and upload that."
OLD_EXCEL, ZIP, OPEN_DOCUMENT = b"\xd0\xcf\x11\xe0", b"PK", b"application/vnd.oasis.opendocument"


@dataclass(frozen=True)
class FilledRow:
    """One row of the sheet. number: from 1, as in the spreadsheet; key: its hidden name, or empty."""

    number: int
    key: str
    cells: dict[str, str]


@dataclass(frozen=True)
class FilledWorkbook:
    """A filled workbook. token: from the hidden sheet, or else from the first row that has one; agreed: the cell for
    consent; language: language of the workbook.
    """

    token: str
    rows: tuple[FilledRow, ...]
    agreed: str = ""
    language: str = ENGLISH


def read_filled(data: bytes) -> FilledWorkbook:
    """The rows that are not empty. Raises ImportRefused for a file that is not one of our workbooks."""
    if len(data) > MAX_UPLOAD:
        raise ImportRefused(f"The file has {len(data) // 2**20} MB; at most {MAX_UPLOAD // 2**20} MB can be read.")
    _refuse_other_formats(data)
    members = guarded(data)
    names = [sheet.name for sheet in survey(members)]
    grids = read_sheets(members.as_zip(), names)
    sheet = next((rows for rows in grids.values() if any(cells[:1] == [MARK] for _number, cells in rows)), None)
    if sheet is None:
        raise ImportRefused(NOT_OURS)
    start, header = next((at, cells) for at, (_number, cells) in enumerate(sheet) if cells[:1] == [MARK])
    keys = [KEY, *header[1:]]
    rows = tuple(_row(number, keys, cells) for number, cells in sheet[start + 1 :] if _counts(number, cells))
    named = next((row.key.partition(".")[0] for row in rows if row.key), "")
    proof = next((cells for _number, cells in grids.get(HIDDEN, []) if cells[:1] == [TOKEN] and len(cells) > 1), [])
    hidden = proof[1] if proof else named
    code = proof[2] if len(proof) > 2 and proof[2] in codes() else ENGLISH
    if not hidden:
        raise ImportRefused(NOT_OURS)
    with using(code):
        question = _(AGREE)
    agreed = next((cells[1] for grid in grids.values() for _number, cells in grid if cells[:1] == [question]), "")
    return FilledWorkbook(hidden, rows, agreed.strip(), code)


def _refuse_other_formats(data: bytes) -> None:
    """Refuse other formats of spreadsheet programs, by their first bytes."""
    if data.startswith(OLD_EXCEL):
        raise ImportRefused(f"This is a workbook of an old Excel (.xls), or one with a password. {SAVE_AS}")
    if data.startswith(ZIP) and OPEN_DOCUMENT in data[:200]:
        raise ImportRefused(f"This is an OpenDocument spreadsheet (.ods). {SAVE_AS}")
    if not data.startswith(ZIP):
        raise ImportRefused(f"This is no workbook. A table as text lacks the hidden names of its rows. {SAVE_AS}")


def _counts(number: int, cells: Sequence[str]) -> bool:
    """Whether a row counts: it is neither the header nor empty."""
    return number > HEADER_ROW and any(cell.strip() for cell in cells)


def _row(number: int, keys: Sequence[str], cells: Sequence[str]) -> FilledRow:
    values = {key: cell.strip() for key, cell in zip(keys, cells, strict=False) if key}
    return FilledRow(number, values.pop(KEY), values)
