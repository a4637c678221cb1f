"""Writing CSV files in which a spreadsheet finds no formula to run.

A text cell that starts with = + - @, tab, carriage return or NUL is a formula (or hides one) for Excel and
LibreOffice. Where their list separator is not the comma, they also begin a cell after a ; or tab inside a text, and a
row after a line end, since a quote in the middle of a cell is a letter for them. `safe_cell` puts a ' before each such
place, and before places that look as if they had been protected, so that `restore_cell` is its exact inverse:
restore_cell(safe_cell(text)) == text for every text. `safe_text` is for cells of a workbook, which nothing separates.
Numbers stay numbers. The rule changes data on purpose; JSON exports carry the texts untouched.
Source: OWASP, "CSV Injection"; ASVS 5.0.0, 1.2.10.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\0")
UNSAFE_INSIDE = re.compile(r"([;\t\r\n])(?=['\"]*[=+\-@\0])")
SAFE_INSIDE = re.compile(r"([;\t\r\n])'(?=['\"]*[=+\-@\0])")

ROWS_PER_PIECE = 250

Cell = str | int | float | bool | None


def safe_text(text: str) -> str:
    """The text, with one ' in front where a spreadsheet could take it for a formula."""
    return f"'{text}" if text.lstrip("'").startswith(FORMULA_STARTS) else text


def safe_cell(text: str) -> str:
    """The text for a CSV file, with a ' before each place where a spreadsheet could begin a formula."""
    return safe_text(UNSAFE_INSIDE.sub(r"\1'", text))


def restore_cell(cell: str) -> str:
    """The original text of a cell written by `safe_cell`."""
    is_marked = cell.startswith("'") and cell.lstrip("'").startswith(FORMULA_STARTS)
    return SAFE_INSIDE.sub(r"\1", cell[1:] if is_marked else cell)


def is_escaped(cell: str) -> bool:
    """Whether the cell looks as if `safe_cell` had added a '."""
    return restore_cell(cell) != cell


def write_csv(rows: Iterable[Sequence[Cell]], header: Sequence[str]) -> Iterator[str]:
    """Pieces of a CSV file (RFC 4180, CRLF): the header, then some rows at a time, to save memory.

    None is an empty cell. Raises ValueError for NaN and infinity, because what is undefined is written as None, and
    for rows of different lengths.
    """
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\r\n")
    left = iter(rows)
    piece: list[Sequence[Cell]] = [header]
    while piece:
        writer.writerows(zip(*map(_written, zip(*piece, strict=True)), strict=True))
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
        piece = list(islice(left, ROWS_PER_PIECE))


def _written(column: tuple[Cell, ...]) -> Sequence[Cell]:
    """A column with dangerous cells made safe; repeated cells are checked once."""
    changed = {cell: safe for cell in set(column) if (safe := _safe(cell)) is not cell}
    return [changed.get(cell, cell) for cell in column] if changed else column


def _safe(cell: Cell) -> Cell:
    if isinstance(cell, str):
        return safe_cell(cell)
    if isinstance(cell, float) and not math.isfinite(cell):
        raise ValueError(f"{cell} cannot be written to a CSV file; what is undefined is written as None")
    return cell
