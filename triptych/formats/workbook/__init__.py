"""Workbooks for annotators: a study's items as a spreadsheet to fill in, and the check of a filled one."""

from __future__ import annotations

from triptych.formats.workbook.checking import CellProblem, ReadItem, ReadWorkbook, check_filled
from triptych.formats.workbook.reading import FilledRow, FilledWorkbook, read_filled
from triptych.formats.workbook.writing import MAX_TEXT_CHARACTERS, WorkbookContents, WorkbookItem, write_book

__all__ = [
    "MAX_TEXT_CHARACTERS",
    "WorkbookContents",
    "WorkbookItem",
    "FilledWorkbook",
    "FilledRow",
    "CellProblem",
    "ReadWorkbook",
    "ReadItem",
    "check_filled",
    "read_filled",
    "write_book",
]
