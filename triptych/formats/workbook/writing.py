"""A study's items as a workbook that one annotator fills in: a row per response, a column per question.

All cells except answers are protected. Rows are identified by a hidden first cell, which moves with the row when rows
are sorted, columns by the hidden first row. A second sheet has instructions and definitions. A third, very hidden sheet
has the workbook's token and the drop-down lists.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from openpyxl import Workbook
from openpyxl.cell.cell import TYPE_STRING, Cell
from openpyxl.styles import Alignment, Border, Font, PatternFill, Protection, Side
from openpyxl.utils import get_column_letter
from openpyxl.workbook.protection import WorkbookProtection
from openpyxl.worksheet.cell_range import MultiCellRange
from openpyxl.worksheet.datavalidation import DataValidation
from openpyxl.worksheet.worksheet import Worksheet

from triptych.formats.long_csv import safe_text
from triptych.formats.values import for_xml
from triptych.formats.workbook.columns import (
    AGREE,
    AGREED,
    BEFORE,
    CONTEXT,
    EXTRA,
    KEY,
    LETTER,
    NUMBER,
    REFUSED,
    TEXT,
    SheetColumn,
    columns_of,
    label,
    letters_of,
)
from triptych.languages import language
from triptych.languages.language import _, message
from triptych.rubric.model import Criterion, Rubric, WorkedExample
from triptych.rubric.scales import Choice, Likert, NumberScale, as_typed

MARK = "triptych workbook 1"
TOKEN = "token"  # noqa: S105 (a name)
RATINGS, GUIDELINES, HIDDEN = "Ratings", "Guidelines", "Triptych"
MAX_TEXT_CHARACTERS = 32_000  # Excel holds 32,767 characters in a cell
MACHINE_ROW, INTRO_ROW, HEADER_ROW = 1, 2, 3
LINE_POINTS, MAX_ROW_POINTS = 15, 400  # points; Excel draws no row higher than 409
MAX_TITLE_CHARACTERS, MAX_HINT_CHARACTERS = 32, 250  # of the input message of a cell
THIN, THICK = Side(style="thin", color="C9CED6"), Side(style="medium", color="5B6B7F")
HEAD = PatternFill("solid", fgColor="E4EAF1")
OPEN = PatternFill("solid", fgColor="FFF8DC")
INSTRUCTION = message(
    "Fill in the yellow cells: pick from the list, or type the number. Everything else is protected. What the "
    "questions mean is on the sheet Guidelines. Save the file as .xlsx and send it back."
)
FIXED = {"selectLockedCells": False, "formatColumns": False, "formatRows": False, "autoFilter": True}


@dataclass(frozen=True)
class WorkbookItem:
    """One item as its annotator may see it. token: hidden name of its rows.

    extra_texts: title and text of each extra text; responses: one text per slot, in order.
    """

    token: str
    context: str
    extra_texts: Sequence[tuple[str, str]]
    responses: Sequence[str]


@dataclass(frozen=True)
class WorkbookContents:
    """The contents of a workbook.

    guidelines: title and text of each of the study's additions to the rubric; consent: the text that the annotator must
    agree to, or empty.
    """

    token: str
    title: str
    annotator: str
    rubric: Rubric
    round: str
    guidelines: Sequence[tuple[str, str]]
    items: Sequence[WorkbookItem]
    consent: str = ""

    @property
    def columns(self) -> tuple[SheetColumn, ...]:
        extras = dict.fromkeys(title for item in self.items for title, _ in item.extra_texts)
        most = max((len(item.responses) for item in self.items), default=1)
        return columns_of(self.rubric, self.round, list(extras), most)


def write_book(book: WorkbookContents) -> bytes:
    """The workbook as a file. No text may exceed MAX_TEXT_CHARACTERS."""
    made = Workbook()
    made.properties.creator = "Triptych"
    made.security = WorkbookProtection(lockStructure=True)
    sheet = made.active
    sheet.title = RATINGS
    hidden = made.create_sheet(HIDDEN)
    hidden.sheet_state = "veryHidden"
    hidden.append([TOKEN, book.token, language.used()])
    is_right_to_left = language.language(language.used()).direction == "rtl"
    _write_ratings(sheet, hidden, book)
    _write_guidelines(made.create_sheet(GUIDELINES, 1), book)
    for each in made.worksheets:
        each.sheet_view.rightToLeft = is_right_to_left
    file = io.BytesIO()
    made.save(file)
    return file.getvalue()


def row_key(token: str, item: str, letter: str) -> str:
    """The hidden name of a row."""
    return f"{token}.{item}.{letter}"


def _put(sheet: Worksheet, row: int, column: int, value: str | float) -> Cell:
    """Write a cell so that no spreadsheet interprets its text as a formula, without characters that XML lacks."""
    text = safe_text(for_xml(value)) if isinstance(value, str) else value
    cell = sheet.cell(row, column, text)
    if isinstance(text, str):
        cell.data_type = TYPE_STRING  # else #N/A would be an error, which is read as an empty cell
    cell.alignment = Alignment(wrap_text=True, vertical="top")
    return cell


def _font(**looks: Any) -> Font:
    """The font of the other cells with these properties; it needs a name, or LibreOffice uses another font."""
    return Font(**{"name": "Calibri", "size": 11, **looks})


def _write_ratings(sheet: Worksheet, hidden: Worksheet, book: WorkbookContents) -> None:
    columns = book.columns
    _write_header(sheet, book, columns)
    row = HEADER_ROW + 1
    for number, item in enumerate(book.items, 1):
        row = _write_item(sheet, book, columns, item, number, row)
    for place, column in enumerate(columns, 1):
        if column.answer and row > HEADER_ROW + 1:
            _validate(sheet, hidden, column, place, row - 1)
    _set_up(sheet, columns, row - 1)


def _write_header(sheet: Worksheet, book: WorkbookContents, columns: Sequence[SheetColumn]) -> None:
    for place, column in enumerate(columns, 1):
        sheet.cell(MACHINE_ROW, place, MARK if column.key == KEY else column.key)
        cell = _put(sheet, HEADER_ROW, place, "" if column.key == KEY else column.title)
        cell.font, cell.fill = _font(bold=True), HEAD
        cell.border = Border(bottom=THICK, right=THIN)
    _put(sheet, INTRO_ROW, 2, f"{book.title} · {book.annotator}\n{_(INSTRUCTION)}").font = _font(color="44505F")
    last_text = next(place for place, column in enumerate(columns, 1) if column.key == TEXT)
    sheet.merge_cells(start_row=INTRO_ROW, end_row=INTRO_ROW, start_column=2, end_column=last_text)
    sheet.row_dimensions[MACHINE_ROW].hidden = True
    sheet.row_dimensions[INTRO_ROW].height = 4 * LINE_POINTS
    sheet.row_dimensions[HEADER_ROW].height = max(_lines(c.title, c.width) for c in columns) * LINE_POINTS + 6


def _write_item(
    sheet: Worksheet,
    book: WorkbookContents,
    columns: Sequence[SheetColumn],
    item: WorkbookItem,
    number: int,
    first: int,
) -> int:
    """Writes the rows of one item and returns the next row. A text too tall for one row spans several merged rows."""
    before, sheet.merged_cells = sheet.merged_cells, MultiCellRange()  # the writer compares each range with all others
    texts = item.responses
    shared = _shared_texts(item, columns)
    width = {column.key: column.width for column in columns}
    needed = [max(_height(text, width[TEXT]), 3 * LINE_POINTS) for text in texts]
    tallest = max(_height(text, width[key]) for key, text in shared.items())
    grown = [height * max(1, tallest / sum(needed)) for height in needed]
    row = first
    for letter, text, height in zip(letters_of(len(texts)), texts, grown, strict=True):
        over = math.ceil(height / MAX_ROW_POINTS)
        values: dict[str, str | int] = {KEY: row_key(book.token, item.token, letter), LETTER: letter, TEXT: text}
        if letter == "A":
            values |= {NUMBER: number, **shared}
        for place, column in enumerate(columns, 1):
            _style(_put(sheet, row, place, values.get(column.key, "")), column, letter == "A")
        for part in range(row, row + over):
            sheet.row_dimensions[part].height = height / over
        _merge(sheet, columns, "candidate", row, row + over - 1)
        row += over
    _merge(sheet, columns, "item", first, row - 1)
    before.ranges |= sheet.merged_cells.ranges
    sheet.merged_cells = before
    return row


def _shared_texts(item: WorkbookItem, columns: Sequence[SheetColumn]) -> dict[str, str]:
    """Column → its text, for texts that all rows of the item share."""
    extras = dict(item.extra_texts)
    shown = {column.key: extras.get(column.title, "") for column in columns if column.key.startswith(EXTRA)}
    return {CONTEXT: item.context, **shown}


def _style(cell: Cell, column: SheetColumn, begins_item: bool) -> None:
    cell.border = Border(top=THICK if begins_item else THIN, right=THIN, bottom=THIN)
    if column.key in (NUMBER, LETTER):
        cell.font, cell.alignment = _font(bold=True), Alignment(horizontal="center", vertical="top")
    if column.answer:
        cell.fill, cell.protection = OPEN, Protection(locked=False)
        # align all answers the same way, numbers or words
        cell.alignment = Alignment(horizontal="left", vertical="top", wrap_text=True)
        if not column.choices and column.limits is None:
            cell.number_format = "@"  # typed text that begins with = or looks like a date stays text


def _merge(sheet: Worksheet, columns: Sequence[SheetColumn], about: str, first: int, last: int) -> None:
    if last == first:
        return
    for place, column in enumerate(columns, 1):
        if column.about == about and column.key != KEY:
            sheet.merge_cells(start_row=first, end_row=last, start_column=place, end_column=place)


def _validate(sheet: Worksheet, hidden: Worksheet, column: SheetColumn, place: int, last: int) -> None:
    """The list or range of a column, and the prompt that explains it."""
    if column.choices:
        check = DataValidation("list", formula1=_listed(hidden, column.choices), allow_blank=True)
    elif column.limits is not None:
        low, high = column.limits
        check = DataValidation("decimal", "between", as_typed(low), as_typed(high), allow_blank=True)
    else:
        check = DataValidation(allow_blank=True)
    check.showErrorMessage = column.strict and check.type is not None
    check.errorTitle, check.error = _("Not on this scale"), _("Pick an answer from the list, or type its number.")
    check.showInputMessage = bool(column.hint)
    check.promptTitle = for_xml(column.title)[:MAX_TITLE_CHARACTERS]
    check.prompt = _cut(for_xml(column.hint), MAX_HINT_CHARACTERS)
    letter = get_column_letter(place)
    check.add(f"{letter}{HEADER_ROW + 1}:{letter}{last}")
    sheet.add_data_validation(check)


def _listed(hidden: Worksheet, choices: Sequence[str | float]) -> str:
    """Writes a list into a column of the hidden sheet and returns its reference; a rule holds 255 characters."""
    place = hidden.max_column + 1
    for row, choice in enumerate(choices, 1):
        _put(hidden, row, place, choice)
    letter = get_column_letter(place)
    return f"'{HIDDEN}'!${letter}$1:${letter}${len(choices)}"


def _set_up(sheet: Worksheet, columns: Sequence[SheetColumn], last: int) -> None:
    """Sets column widths, frozen cells, protection, and printing."""
    for place, column in enumerate(columns, 1):
        dimension = sheet.column_dimensions[get_column_letter(place)]
        dimension.width, dimension.hidden = column.width, column.key == KEY
    sheet.freeze_panes = sheet.cell(HEADER_ROW + 1, 3)
    sheet.sheet_view.zoomScale = 85
    _finish(sheet)
    sheet.page_setup.orientation, sheet.page_setup.paperSize = "landscape", sheet.PAPERSIZE_A4
    sheet.print_title_rows = f"{HEADER_ROW}:{HEADER_ROW}"
    sheet.print_area = f"B{INTRO_ROW}:{get_column_letter(len(columns))}{last}"
    sheet.oddFooter.center.text = "&P / &N"


def _finish(sheet: Worksheet) -> None:
    """Prints one page wide, and protects without a password: against mistakes, not against intent."""
    sheet.page_setup.fitToWidth, sheet.page_setup.fitToHeight = 1, 0
    sheet.sheet_properties.pageSetUpPr.fitToPage = True
    sheet.protection.sheet = True
    for name, locked in FIXED.items():
        setattr(sheet.protection, name, locked)


def _write_guidelines(sheet: Worksheet, book: WorkbookContents) -> None:
    row = 1
    for title, text in _guidelines(book):
        heading = _put(sheet, row, 1, title)
        heading.font = _font(bold=True, size=11 if text or title == _(AGREE) else 13)
        _put(sheet, row, 2, text)
        sheet.row_dimensions[row].height = min(max(_height(text, 100), _height(title, 28)), MAX_ROW_POINTS)
        if title == _(AGREE):
            _ask_consent(sheet, row)
        row += 1
    sheet.column_dimensions["A"].width, sheet.column_dimensions["B"].width = 28, 100
    _finish(sheet)


def _ask_consent(sheet: Worksheet, row: int) -> None:
    cell = sheet.cell(row, 2)
    cell.fill, cell.protection = OPEN, Protection(locked=False)
    check = DataValidation("list", formula1=f'"{_(AGREED)},{_(REFUSED)}"', showErrorMessage=True)
    check.add(cell)
    sheet.add_data_validation(check)


def _guidelines(book: WorkbookContents) -> Iterator[tuple[str, str]]:
    """(title, text) of every row; a row without a text is a heading."""
    rubric = book.rubric
    yield rubric.title, ""
    if book.consent:
        yield _(BEFORE), book.consent
        yield _(AGREE), ""
    yield _("What to do"), f"{rubric.instructions}\n{_(INSTRUCTION)}"
    yield from book.guidelines
    yield from ((section.title, section.text) for section in rubric.guidelines)
    if rubric.explanation.min_words:
        low, high = rubric.explanation.min_words, rubric.explanation.max_words
        limits = _("An explanation in your own words has {low} to {high} words.", low=low, high=high)
        yield _("Explanations"), limits
    for criterion in rubric.asked(book.round):
        yield criterion.title, ""
        yield from _definitions(criterion)


def _definitions(criterion: Criterion) -> Iterator[tuple[str, str]]:
    words = (criterion.question, criterion.definition, criterion.note)
    yield _("What is asked"), "\n".join(filter(None, words))
    scale = criterion.scale
    if isinstance(scale, Likert):
        for point in scale.points:
            sparing = _("For borderline cases: use it sparingly.") if point.sparing else ""
            yield label(point.value, point.title), " ".join(filter(None, (point.definition, sparing))) or "–"
    elif isinstance(scale, Choice):
        yield from ((option.title, option.definition or "–") for option in scale.options)
    elif isinstance(scale, NumberScale):
        ends = ((scale.low, scale.low_title), (scale.high, scale.high_title))
        low, high = (f"{as_typed(end)} {title}".strip() for end, title in ends)
        values = {"unit": scale.unit, "low": low, "high": high, "step": as_typed(scale.step)}
        text = _("A number {unit} from {low} to {high}, in steps of {step}.", **values)
        yield _("Scale"), text.replace("  ", " ")
    else:
        yield _("Scale"), _("The letter of the best response; of several, if they are equally good.")
    yield from ((_("Example"), _example(example)) for example in criterion.examples)


def _example(example: WorkedExample) -> str:
    dialogue = [f"{turn.speaker}: {turn.text}" for turn in example.context]
    rated = [f"“{candidate.text}”\n→ {candidate.rating}: {candidate.reason}" for candidate in example.candidates]
    return "\n".join([*dialogue, *rated])


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _lines(text: str, width: int) -> int:
    """Approximate number of lines of a text in a column: letters of a proportional font are narrower than digits."""
    return sum(max(1, math.ceil(len(line) / (width * 1.05))) for line in text.split("\n"))


def _height(text: str, width: int) -> float:
    return _lines(text, width) * LINE_POINTS + 6
