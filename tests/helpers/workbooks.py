"""A spreadsheet as an annotator fills it in."""

from __future__ import annotations

import io

from openpyxl import load_workbook


class Sheet:
    """A workbook as an annotator has it open: cells by row and column key."""

    def __init__(self, data: bytes) -> None:
        self.book = load_workbook(io.BytesIO(data))
        self.sheet = self.book["Ratings"]
        self.keys = {cell.value: cell.column for cell in self.sheet[1]}
        self.rows = [row for row in range(4, self.sheet.max_row + 1) if self.sheet.cell(row, 1).value]

    def put(self, row: int, key: str, value) -> None:
        self.sheet.cell(self.rows[row], self.keys[key]).value = value

    def get(self, row: int, key: str):
        return self.sheet.cell(self.rows[row], self.keys[key]).value

    def fill(self, fluency=2, verdict="Accept") -> Sheet:
        for row in range(len(self.rows)):
            self.put(row, "rating:fluency", fluency)
            self.put(row, "rating:verdict", verdict)
        return self

    def agree(self, answer: str = "I agree") -> str:
        """Answers the consent text, and returns it."""
        page = self.book["Guidelines"]
        row = next(row for row in range(1, 9) if page.cell(row, 1).value == "Do you agree to take part?")
        page.cell(row, 2).value = answer
        return page.cell(row - 1, 2).value

    def saved(self) -> bytes:
        file = io.BytesIO()
        self.book.save(file)
        return file.getvalue()
