"""Workbooks for annotators: a study's items as a spreadsheet to fill in, and the check of a filled one."""

from __future__ import annotations

from triptych.formats.workbook.checking import Finding, ReadBook, ReadItem, check_filled
from triptych.formats.workbook.reading import Filled, FilledRow, read_filled
from triptych.formats.workbook.writing import LONGEST_TEXT, Book, BookItem, write_book

__all__ = [
    "LONGEST_TEXT",
    "Book",
    "BookItem",
    "Filled",
    "FilledRow",
    "Finding",
    "ReadBook",
    "ReadItem",
    "check_filled",
    "read_filled",
    "write_book",
]
