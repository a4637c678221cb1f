"""Tables: delimited text (CSV, TSV, semicolons) and functions for all tables.

The standard parser is strict about quotes here; after a broken quote it starts again at the next line, so that one
mistake does not hide the rows after it.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise

from triptych.errors import ImportRefused, NothingToImport
from triptych.formats.decode import decode
from triptych.formats.layout import CONTAINER_NAMES, RATING_NAMES, TEXT_NAMES, is_known, known_columns, simple
from triptych.formats.long_csv import is_escaped, restore_cell
from triptych.formats.model import (
    COLUMN_TWICE,
    MAX_COLUMNS,
    MAX_UPLOAD,
    Contents,
    Findings,
    ReadOptions,
    Record,
    Source,
)
from triptych.stats.numbers import counted

DELIMITERS = {",": "CSV", "\t": "TSV", ";": "CSV (semicolons)", "|": "CSV (bars)"}
MAX_QUOTE_PROBLEMS = 50
MAX_CELLS = 5 * MAX_COLUMNS
HEAD_CHARACTERS = 50_000
REVIEW_MARKS = ("approve", "reject")
QUOTE_PROBLEM = (
    "A quote in this row (it begins in line {line}) is not closed before the next cell. "
    'A cell with quotes in it is written "It said ""hello"" twice".'
)
ESCAPED_FORMULAS = (
    "{n} cell(s) have a ' before = + - or @, as some exports write it to protect spreadsheets. It is removed from "
    "tables that this program exported; in another file, remove it unless it belongs to the text."
)
_NAME = re.compile(r"[^\W\d_](?:[\w.:/()#-]| (?=\S)){0,39}")
_SEPARATOR_LINE = re.compile(r"sep=([^\"\r\n\0])(?:\r\n|\n|\r)", re.IGNORECASE)
csv.field_size_limit(MAX_UPLOAD)  # a text may be longer than the 128 KiB that the module allows by default

Cells = tuple[int, list[str]]


def read_delimited(data: bytes, contents: Contents, options: ReadOptions, findings: Findings) -> Source:
    """Records of a CSV, TSV or 'Unicode text' file; the delimiter is the one that gives the best header.

    Raises ImportRefused.
    """
    text = decode(data)
    if not text.strip():
        raise ImportRefused(f"The file is empty. The first row must name the columns, for example: {contents.example}")
    if max(text.count("\n"), text.count("\r")) > contents.most_lines:
        raise ImportRefused(f"The file has more than {contents.most_lines:,} lines; split it.")
    start, delimiter = _delimiter(text)
    if text.count(delimiter) > contents.most_cells:
        raise ImportRefused(f"The file has more than {contents.most_cells:,} cells; split it.")
    header, rows = as_table(list(parse(text[start:], delimiter, findings)), 1, contents, findings)
    while not header[-1].strip():
        header.pop()
    marks = len(header) if tuple(map(simple, header[-2:])) == REVIEW_MARKS else 0
    even = _even([_with_marks(row, marks) for row in rows], len(header), delimiter, findings)
    return as_source(header, even, DELIMITERS.get(delimiter, "CSV"), findings)


def parse(text: str, delimiter: str, findings: Findings) -> Iterator[Cells]:
    """Rows of delimited text, from 1. A broken quote is reported; reading continues at the line after its row's start.

    Raises ImportRefused for a row with too many cells.
    """
    lines = list(io.StringIO(text, newline=""))
    row, start, broken = 1, 0, 0
    while start < len(lines) and broken < MAX_QUOTE_PROBLEMS:
        reader = csv.reader(islice(lines, start, None), delimiter=delimiter, strict=True)
        end = 0
        try:
            for cells in reader:
                if len(cells) > MAX_CELLS:
                    raise ImportRefused(
                        f"Row {row} has over {MAX_CELLS:,} cells; at most {MAX_COLUMNS} columns can be read."
                    )
                yield row, cells
                row, end = row + 1, reader.line_num
            return
        except csv.Error:
            start += end
            findings.error(QUOTE_PROBLEM.format(line=start + 1), row)
            row, start, broken = row + 1, start + 1, broken + 1


def as_table(
    rows: Sequence[Cells], within: int, contents: Contents, findings: Findings
) -> tuple[list[str], list[Cells]]:
    """(header, rows below it), without blank rows; the header must be among the first `within` rows.

    Raises ImportRefused without a header, or without rows below it.
    """
    filled = [row for row in rows if any(cell.strip() for cell in row[1])]
    at = next((at for at, (_, cells) in enumerate(filled[:within]) if contents.is_header(cells)), None)
    if at is None and contents.foreign and filled and _could_be_names(filled[0][1]):
        at = 0
    if at is None:
        first = filled[0][0] if filled else None
        broken = [str(each) for each in findings.finish() if each.severity == "error" and _is_above(each.row, first)]
        raise ImportRefused(" ".join([*broken[:1], _no_header(filled, contents.example)]))
    number, names = filled[at]
    if at:
        findings.note(f"The header was found in row {number}; the {at} row(s) above it were left out.")
    if (count := sum(bool(name.strip()) for name in names)) > MAX_COLUMNS:
        raise ImportRefused(f"The file has {count:,} columns; at most {MAX_COLUMNS} can be read.")
    if at + 1 == len(filled) and not findings.has_errors:
        raise NothingToImport("The file has a header but no rows below it: there is nothing to import.")
    return names, filled[at + 1 :]


def _is_above(row: int | None, first: int | None) -> bool:
    """Whether a row that could not be read may be the header: it is above the first one that could."""
    return first is None or (row is not None and row < first)


def _could_be_names(cells: Sequence[str]) -> bool:
    """Whether a row could be column names: different short names that begin with a letter."""
    names = [cell.strip() for cell in cells if cell.strip()]
    return len(names) > 1 and len(set(names)) == len(names) and all(map(_NAME.fullmatch, names))


def as_source(
    header: Sequence[str], rows: Sequence[Cells], kind: str, findings: Findings, sheets: tuple[str, ...] = ()
) -> Source:
    """A table as records. Columns without a name are left out, columns with the same name are numbered.

    Raises ImportRefused where two columns have the same meaning.
    """
    names = _distinct(header, findings)
    for at, name in enumerate(names):
        if not name and any(len(cells) > at and cells[at].strip() for _, cells in rows):
            findings.warning(f"Column {at + 1} has text but no name; it was left out.")
    records = tuple(
        Record(row, {name: cell for name, cell in zip(names, cells, strict=False) if name}) for row, cells in rows
    )
    return Source(kind, tuple(filter(None, names)), records, tabular=True, sheets=sheets)


def restored(source: Source) -> Source:
    """The table without the ' that an export puts before what a spreadsheet could take for a formula."""
    records = (
        Record(record.row, {name: restore_cell(cell) for name, cell in record.values.items()})
        for record in source.records
    )
    return replace(source, records=tuple(records)) if source.tabular else source


def _delimiter(text: str) -> tuple[int, str]:
    """(start of the table, delimiter of its cells)."""
    separator = _SEPARATOR_LINE.match(text)
    if separator:
        return separator.end(), separator[1]
    head = text[:HEAD_CHARACTERS].lstrip("\r\n")

    def first_row(delimiter: str) -> list[str]:
        return next(parse(head, delimiter, Findings()), (0, []))[1]

    rows = {delimiter: first_row(delimiter) for delimiter in DELIMITERS}
    return 0, max(rows, key=lambda delimiter: (known_columns(rows[delimiter]), len(rows[delimiter])))


def _with_marks(row: Cells, width: int) -> Cells:
    """The row with empty cells added for columns that Mechanical Turk names in the header but does not write."""
    return (row[0], [*row[1], "", ""]) if len(row[1]) == width - len(REVIEW_MARKS) else row


def _even(rows: Sequence[Cells], width: int, delimiter: str, findings: Findings) -> list[Cells]:
    """The rows with as many cells as the header; others are errors. Reports cells that may contain further rows."""
    for row, cells in rows:
        while len(cells) > width and not cells[-1].strip():
            cells.pop()
        if len(cells) != width:
            findings.error(
                f"has {counted(len(cells), 'cell')}, the header has {counted(width, 'column')}. A cell that contains "
                f"{delimiter!r} must be in double quotes.",
                row,
            )
        elif any(_swallowed(cell, at, width, delimiter) for at, cell in enumerate(cells)):
            findings.warning("has a cell that looks like the rest of this row and the next one: check its quotes.", row)
    return [row for row in rows if len(row[1]) == width]


def _swallowed(cell: str, at: int, width: int, delimiter: str) -> bool:
    """Whether a multi-line cell has exactly the delimiters that would complete this row and begin another."""
    if "\n" not in cell or width < 3:
        return False
    first, *_, last = cell.split("\n")
    return first.count(delimiter) == width - 1 - at and last.count(delimiter) == at and width - 1 - at > 0


def tally_escaped(source: Source, findings: Findings) -> None:
    """Add a note if there are cells that an export may have protected from spreadsheets."""
    cells = (cell for record in source.records for cell in record.values.values())
    for _ in filter(is_escaped, cells if source.tabular else ()):
        findings.tally(ESCAPED_FORMULAS)


def _distinct(header: Sequence[str], findings: Findings) -> list[str]:
    """Names of columns, each once: `response, response, response` become candidate_1 to candidate_3."""
    names = [name.strip() for name in header]
    repeated = {name for name, count in Counter(simple(name) for name in names if name).items() if count > 1}
    candidates = {name for name in repeated if name in TEXT_NAMES}
    for name in sorted(repeated - candidates):
        if is_known(name) or name in RATING_NAMES:
            raise ImportRefused(COLUMN_TWICE.format(name=name))
    if len(candidates) > 1 or (candidates and any(simple(name) in CONTAINER_NAMES for name in names)):
        raise ImportRefused(f"Columns are repeated: {', '.join(sorted(candidates))}. Name them cand:<system>.")
    seen: Counter[str] = Counter()
    result = []
    for name in names:
        key = simple(name)
        seen[key] += 1
        if key in candidates:
            result.append(f"candidate_{seen[key]}")
        else:
            result.append(f"{name} ({seen[key]})" if seen[key] > 1 and name else name)
    for name in candidates:
        findings.note(f"{seen[name]} columns are called '{name}'; they are candidate_1 to candidate_{seen[name]}.")
    return result


def _no_header(filled: Sequence[Cells], example: str) -> str:
    if not filled:
        return f"No row of the file could be read. The first row must name the columns, for example: {example}"
    row, cells = filled[0]
    shown = ", ".join(f"'{cell[:30]}…'" if len(cell) > 30 else f"'{cell}'" for cell in cells[:4])
    return (
        f"Row {row} looks like data, not like a header: {shown}. "
        f"The first row must name the columns, for example: {example}"
    )


def row_ranges(numbers: Sequence[int]) -> str:
    """Row numbers as ranges: 3, 5–9, 12."""
    if not numbers:
        return ""
    ordered = sorted(set(numbers))
    starts = [ordered[0], *(b for a, b in pairwise(ordered) if b != a + 1)]
    ends = [*(a for a, b in pairwise(ordered) if b != a + 1), ordered[-1]]
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in zip(starts, ends, strict=True))
