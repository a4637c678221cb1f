"""Reads the cells of a filled workbook saved by Excel or LibreOffice: hidden names, and texts as displayed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from openpyxl.utils.cell import get_column_letter, range_boundaries

from triptych.errors import ImportRefused
from triptych.formats.model import MAX_UPLOAD
from triptych.formats.tables import Cells
from triptych.formats.workbook.columns import AGREE, BEFORE, KEY
from triptych.formats.workbook.writing import HEADER_ROW, HIDDEN, MARK, TOKEN
from triptych.formats.xlsx import read_sheets, with_percentages
from triptych.formats.xlsx_guard import SheetSurvey, guarded, survey
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
class MergedCells:
    """Merged cells: first and last row, key of the first column, whether another of our columns is among them."""

    first: int
    last: int
    key: str
    is_wide: bool
    reference: str


@dataclass(frozen=True)
class FilledWorkbook:
    """A filled workbook. token: from the hidden sheet, or else from the first row that has one; consent, agreed: the
    cells with the consent text and the answer to it; language: language of the workbook; without_value: row and key of
    each error and formula without a result.
    """

    token: str
    rows: tuple[FilledRow, ...]
    consent: str
    agreed: str
    language: str
    without_value: tuple[tuple[int, str], ...]
    merged: tuple[MergedCells, ...]


def read_filled(data: bytes) -> FilledWorkbook:
    """The rows that are not empty. Raises ImportRefused for a file that is not one of our workbooks."""
    if len(data) > MAX_UPLOAD:
        raise ImportRefused(f"The file has {len(data) // 2**20} MB; at most {MAX_UPLOAD // 2**20} MB can be read.")
    _refuse_other_formats(data)
    members = guarded(data)
    surveys = {sheet.name: sheet for sheet in survey(members)}
    grids = read_sheets(members.as_zip(), list(surveys))
    sheet, start = _marked(grids)
    keys = _keys(grids[sheet][start][1])
    seen = surveys[sheet]
    below = [(number, cells) for number, cells in grids[sheet][start + 1 :] if _counts(number, cells)]
    rows = tuple(_row(number, keys, cells) for number, cells in with_percentages(below, seen))
    named = next((row.key.partition(".")[0] for row in rows if row.key), "")
    proof = next((cells for _number, cells in grids.get(HIDDEN, []) if cells[:1] == [TOKEN] and len(cells) > 1), [])
    hidden = proof[1] if proof else named
    code = proof[2] if len(proof) > 2 and proof[2] in codes() else ENGLISH
    if not hidden:
        raise ImportRefused(NOT_OURS)
    with using(code):
        consent, agreed = _beside(_(BEFORE), grids), _beside(_(AGREE), grids)
    without_value = tuple((row, key) for row, column in seen.without_value for key in keys[column - 1 : column])
    return FilledWorkbook(hidden, rows, consent, agreed.strip(), code, without_value, _merged(seen, keys))


def _beside(title: str, grids: Mapping[str, Sequence[Cells]]) -> str:
    """The cell next to this title, or nothing."""
    rows = (cells for grid in grids.values() for _number, cells in grid)
    return next((cells[1] for cells in rows if cells[:1] == [title] and any(cells[1:2])), "")


def _marked(grids: Mapping[str, Sequence[Cells]]) -> tuple[str, int]:
    """The sheet with the hidden names, and the place of its first row. Raises ImportRefused without one, or for two."""
    marked: dict[str, int] = {}
    for name, rows in grids.items():
        for place, (_number, cells) in enumerate(rows):
            if cells[:1] == [MARK]:
                marked.setdefault(name, place)
    if not marked:
        raise ImportRefused(NOT_OURS)
    if len(marked) > 1:
        names = ", ".join(marked)
        raise ImportRefused(f"Several sheets of this workbook hold its rows: {names}. Delete all but the right one.")
    return next(iter(marked.items()))


def _keys(first_row: Sequence[str]) -> list[str]:
    """The key of each column. Raises ImportRefused where two columns have the same."""
    keys = [KEY, *first_row[1:]]
    repeated = {key for key, times in Counter(keys).items() if key and times > 1}
    if repeated:
        letters = ", ".join(get_column_letter(place) for place, key in enumerate(keys, 1) if key in repeated)
        raise ImportRefused(f"Columns of this workbook are repeated: {letters}. Delete the copies.")
    return keys


def _merged(sheet: SheetSurvey, keys: Sequence[str]) -> tuple[MergedCells, ...]:
    cells = []
    for top, bottom, reference in sheet.merged:
        left, _top, right, _bottom = range_boundaries(reference)
        first, *others = keys[(left or 1) - 1 : right][:2] or [""]
        cells.append(MergedCells(top, bottom, first, any(others), reference))
    return tuple(cells)


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
