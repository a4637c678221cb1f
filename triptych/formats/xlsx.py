"""Excel workbooks (.xlsx): guarded and surveyed first, then read with calamine."""

from __future__ import annotations

import datetime as dt
import io
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import python_calamine
from openpyxl.utils.cell import get_column_letter

from triptych.errors import ImportRefused
from triptych.formats.layout import ITEMS
from triptych.formats.model import Contents, Findings, ReadOptions, Source
from triptych.formats.tables import Cells, as_source, as_table, row_ranges
from triptych.formats.values import typed_number
from triptych.formats.xlsx_guard import SheetSurvey, guarded, survey

MAX_HEADER_ROW = 20
FIRST_INEXACT_NUMBER = 10**15


class Rounded(str):
    """A number with more digits than Excel keeps."""


def read_workbook(data: bytes, contents: Contents, options: ReadOptions, findings: Findings) -> Source:
    """Records of one sheet; if several sheets could be meant, no records and the error 'choose a sheet'.

    Raises ImportRefused.
    """
    members = guarded(data)
    sheets = {sheet.name: sheet for sheet in survey(members)}
    visible = tuple(name for name, sheet in sheets.items() if not sheet.hidden)
    hidden = [name for name, sheet in sheets.items() if sheet.hidden]
    if hidden:
        findings.warning(f"Hidden sheets were left out: {', '.join(hidden)}.")
    if options.sheet is not None and options.sheet not in visible:
        raise ImportRefused(f"There is no visible sheet '{options.sheet}'. There are: {', '.join(visible)}.")
    rows = read_sheets(members.as_zip(), [options.sheet] if options.sheet else visible)
    name = _choose(rows, visible, contents, findings)
    if name is None:
        return Source("XLSX", (), (), tabular=True, sheets=visible)
    shown = with_percentages(rows[name], sheets[name]) if contents is ITEMS else rows[name]  # ratings stay numbers
    header, below = as_table(shown, MAX_HEADER_ROW, contents, findings)
    _report_layout(sheets[name], [row for row, _ in below], findings)
    _report_rounded(header, below, findings)
    return as_source(header, below, "XLSX", findings, visible)


def _choose(rows: dict[str, list[Cells]], visible: Sequence[str], contents: Contents, findings: Findings) -> str | None:
    """The only sheet, or the only one with a header that fits."""
    if len(rows) == 1:
        return next(iter(rows))
    tops = {name: [cells for _, cells in grid if any(cells)][:MAX_HEADER_ROW] for name, grid in rows.items()}
    fitting = [name for name, top in tops.items() if any(map(contents.is_header, top))]
    if len(fitting) == 1:
        findings.note(f"Sheet '{fitting[0]}' was read, the only one with a header such as: {contents.example}")
        return fitting[0]
    finding = f"{len(fitting)} sheets look like items" if fitting else "No sheet has a known header"
    findings.error(f"{finding}: choose a sheet ({', '.join(visible)}).")
    return None


def read_sheets(zipped: bytes, names: Sequence[str]) -> dict[str, list[Cells]]:
    try:
        book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(zipped))
        grids = {name: book.get_sheet_by_name(name).to_python(skip_empty_area=False) for name in names}
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the Rust reader is not an Exception
        raise ImportRefused("The workbook is damaged: open it in Excel or LibreOffice and save it again.") from error
    return {
        name: [(number, [_cell_text(cell) for cell in row]) for number, row in enumerate(grid, 1)]
        for name, grid in grids.items()
    }


def _cell_text(cell: object) -> str:
    """A cell as a person sees it: 7 for 7.0, ISO dates."""
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, int | float) and abs(cell) < 10**20 and cell == int(cell):
        return str(int(cell)) if abs(cell) < FIRST_INEXACT_NUMBER else Rounded(int(cell))
    if isinstance(cell, dt.date | dt.time):
        return cell.isoformat()
    return str(cell)


def with_percentages(rows: Sequence[Cells], sheet: SheetSurvey) -> list[Cells]:
    """The rows with percentages as displayed: spreadsheet programs store a typed 50% as 0.5."""
    return [
        (
            row,
            [_percentage(cell) if (row, column) in sheet.percentages else cell for column, cell in enumerate(cells, 1)],
        )
        for row, cells in rows
    ]


def _percentage(cell: str) -> str:
    number = typed_number(cell)
    return cell if number is None else f"{number * 100:.12g}%"


def _report_layout(sheet: SheetSurvey, rows: Sequence[int], findings: Findings) -> None:
    """Report merged cells, which leave rows without values, and hidden rows, which are easily imported by mistake."""
    for first, last, ref in sheet.merged:
        if bisect_left(rows, first) == bisect_right(rows, last):
            continue
        below = f"row {last} has" if last == first + 1 else f"rows {first + 1} to {last} have"
        lacking = below if last > first else "all but the first of them have"
        findings.error(f"the cells {ref} are merged: {lacking} no value there. Unmerge them and fill each.", first)
    present = set(rows)
    for row, column in sheet.without_value:
        if row in present:
            place = f"{get_column_letter(column)}{row}"
            findings.error(
                f"cell {place} holds an Excel error or a formula that was never computed; write a text.", row
            )
    hidden = [row for row in rows if row in sheet.hidden_rows]
    if hidden:
        findings.warning(f"Hidden rows are read like the others: {row_ranges(hidden)}.")


def _report_rounded(header: Sequence[str], rows: Sequence[Cells], findings: Findings) -> None:
    for row, cells in rows:
        for name, cell in zip(header, cells, strict=False):
            if isinstance(cell, Rounded):
                findings.error(
                    f"holds the number {cell}; Excel keeps 15 digits, so its end may be wrong. "
                    "Format the column as text and enter it again.",
                    row,
                    name,
                )
