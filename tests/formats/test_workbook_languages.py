"""A workbook in Arabic: its sheets, its lists, and that it is read back in the language that it was made in."""

from __future__ import annotations

import io

from openpyxl import load_workbook

from triptych.formats.workbook.columns import value_in
from triptych.formats.workbook.reading import read_filled
from triptych.formats.workbook.writing import WorkbookContents, WorkbookItem, write_book
from triptych.languages.language import using
from triptych.rubric.files import read_shipped


def test_a_workbook_is_read_in_its_own_language():
    rubric = read_shipped()["rrgen"][1]
    with using("ar"):
        item = WorkbookItem("item", "Good room.", (), ("Thanks.",))
        book = WorkbookContents("token", "S", "P", rubric.in_language("ar"), "main", (), (item,), "Please agree.")
        data = write_book(book)
    sheets = load_workbook(io.BytesIO(data))
    assert all(sheet.sheet_view.rightToLeft for sheet in sheets.worksheets)
    guidelines = sheets["Guidelines"]
    [row] = [cell.row for cell in guidelines["A"] if cell.value == "هل توافق على المشاركة؟"]
    guidelines.cell(row, 2).value = "أوافق"
    file = io.BytesIO()
    sheets.save(file)

    filled = read_filled(file.getvalue())
    assert (filled.token, filled.agreed, filled.language) == ("token", "أوافق", "ar")
    arabic, english = (each.criterion("verdict").scale for each in (rubric.in_language("ar"), rubric))
    assert value_in(arabic, "قبول", "A") == value_in(english, "Accept", "A") == "accept"
