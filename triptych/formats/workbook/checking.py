"""A filled workbook line by line: its answers, and every invalid cell. Rows are identified by their hidden names, so
their order does not matter; each name must still be next to its own text. Pure: no database.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from openpyxl.utils.escape import unescape

from triptych.errors import InvalidAnnotation
from triptych.formats.model import JsonObject, Severity
from triptych.formats.values import for_xml
from triptych.formats.workbook.columns import (
    AGREE,
    AGREED,
    ASIDE,
    CONTEXT,
    LEAVE_OUT,
    NOTE,
    RATING,
    REASONS,
    TEXT,
    WORDS,
    SheetColumn,
    explanation_in,
    folded,
    letters_of,
    right_for,
    value_in,
    ways_out,
)
from triptych.formats.workbook.reading import FilledRow, FilledWorkbook
from triptych.formats.workbook.writing import GUIDELINES, WorkbookContents, WorkbookItem, row_key
from triptych.languages.language import _
from triptych.rubric.answers import MAX_TEXT, WHOLE_ITEM, check_explanation, option_name, parse_explanation
from triptych.rubric.model import Criterion, Rubric
from triptych.rubric.scales import Ask, Value

SHOWN_CHARACTERS = 60
NOT_STORED = "This will not be stored"
SORTED = "The rows are in another order than in the download. Each was recognised, so nothing is mixed up."
WITHOUT_VALUE = "This cell holds an error, or a formula that was never computed."
BY_HAND = "Delete what was typed here; rows cannot be added by hand."
OTHER_CONSENT = "The consent text is not in this workbook, or has changed since the download."
FRESH = "Copy the answers into a fresh download of this workbook."


@dataclass(frozen=True)
class CellProblem:
    """A problem with a cell, a row or the whole file, and the correction (right). row: number in the spreadsheet."""

    severity: Severity
    row: int | None
    column: str
    what: str
    right: str = ""


@dataclass(frozen=True)
class ReadItem:
    """What was filled in for one item: its answers in the workbench's form, or why it is left out.

    way_out: ("skip" or "ignore", reason). An item with neither was not begun.
    """

    token: str
    row: int
    answers: JsonObject | None = None
    way_out: tuple[str, str] | None = None
    note: str = ""


@dataclass(frozen=True)
class ReadWorkbook:
    items: tuple[ReadItem, ...]
    findings: tuple[CellProblem, ...]


def check_filled(filled: FilledWorkbook, book: WorkbookContents) -> ReadWorkbook:
    """The answers of the items that could be read, and all findings, by row."""
    checker = _Checker(filled, book)
    checker.check_rows()
    items = [checker.item(item) for item in book.items if len(checker.rows[item.token]) == len(item.responses)]
    findings = sorted(checker.findings, key=lambda problem: problem.row or 0)
    return ReadWorkbook(tuple(item for item in items if item is not None), tuple(findings))


@dataclass
class _Checker:
    """Checks one file. rows: item → letter → row."""

    filled: FilledWorkbook
    book: WorkbookContents
    findings: list[CellProblem] = field(default_factory=list)
    rows: dict[str, dict[str, FilledRow]] = field(default_factory=lambda: defaultdict(dict))

    def __post_init__(self) -> None:
        self.columns: dict[str, SheetColumn] = {column.key: column for column in self.book.columns}
        self.rubric: Rubric = self.book.rubric
        self.asked = self.rubric.asked(self.book.round)
        self.ways_out = {folded(title): way for title, way in ways_out(self.rubric).items()}

    def say(self, severity: Severity, row: int | None, column: str, what: str, right: str = "") -> None:
        title = self.columns[column].title if column in self.columns else column
        self.findings.append(CellProblem(severity, row, title, what, right))

    def check_rows(self) -> None:
        """Checks that every row occurs once, next to its own text, and that no column is missing."""
        places = {
            row_key(self.book.token, item.token, letter): (item, letter)
            for item in self.book.items
            for letter in letters_of(len(item.responses))
        }
        keys: dict[str, int] = {}
        for row in self.filled.rows:
            if row.key in places and row.key not in keys:
                item, letter = places[row.key]
                self.rows[item.token][letter] = row
                keys[row.key] = row.number
            else:
                self._strange_row(row, keys)
        for n, item in enumerate(self.book.items, 1):
            self._check_texts(item, n)
        if list(keys) != [key for key in places if key in keys]:
            self.say("note", None, "", SORTED)
        self._check_header()
        self._check_without_value()
        self._check_merged()
        self._check_consent()

    def _strange_row(self, row: FilledRow, keys: Mapping[str, int]) -> None:
        """keys: hidden name of each row of the workbook → its first number."""
        if row.key in keys:
            fault = f"This row is repeated: it is also row {keys[row.key]}."
            self.say("error", row.number, "", fault, "Delete one of them.")
        elif row.key:
            self.say("error", row.number, "", "This row belongs to another workbook.", FRESH)
        elif any(row.cells.get(key) for key, column in self.columns.items() if column.answer):
            self.say("error", row.number, "", "This row has answers, but is no row of this workbook.", BY_HAND)

    def _check_header(self) -> None:
        present = {key for row in self.filled.rows for key in row.cells}
        for key, column in self.columns.items():
            if column.answer and self.filled.rows and key not in present:
                self.say("error", None, key, "This column is no longer there.", FRESH)

    def _check_without_value(self) -> None:
        numbers = {row.number for rows in self.rows.values() for row in rows.values()}
        for number, key in self.filled.without_value:
            if number in numbers and self._answers(key):
                self.say("error", number, key, WITHOUT_VALUE, "Type the answer itself, or empty the cell.")

    def _check_merged(self) -> None:
        """Reports merged cells that hide answers; the workbook itself merges those of one answer only."""
        rows = [row for row in self.filled.rows if row.key]
        numbers = [row.number for row in rows]
        for merged in self.filled.merged:
            first, last = bisect_left(numbers, merged.first), bisect_right(numbers, merged.last) - 1
            if first > last or not (merged.is_wide or self._answers(merged.key)):
                continue
            is_one_answer = self._answer_of(rows[first], merged.key) == self._answer_of(rows[last], merged.key)
            if merged.is_wide or numbers[first] != merged.first or not is_one_answer:
                fault = f"The cells {merged.reference} are merged, so all but the first are empty."
                self.say("error", merged.first, merged.key, fault, "Unmerge them and answer each.")

    def _answer_of(self, row: FilledRow, key: str) -> str:
        """Whose answer a row has: the hidden name of the response or, without its letter, of the item."""
        is_of_item = key in self.columns and self.columns[key].about == "item"
        return row.key.rpartition(".")[0] if is_of_item else row.key

    def _check_consent(self) -> None:
        place = f"{GUIDELINES}: {_(AGREE)}"
        if self.book.consent and plain(self.filled.consent) != plain(self.book.consent):
            self.say("error", None, place, OTHER_CONSENT, f"{FRESH} Or let its annotator agree in the browser.")
        elif self.book.consent and folded(self.filled.agreed) != folded(_(AGREED)):
            fault = f"The answer is {_start(self.filled.agreed)!r}." if self.filled.agreed else "This is not answered."
            self.say("error", None, place, fault, f"{_(AGREED)}. Without it nothing may be stored.")

    def _check_texts(self, item: WorkbookItem, number: int) -> None:
        """Reports rows that are missing, or whose hidden name is next to another row's text."""
        letters = letters_of(len(item.responses))
        for letter, text in zip(letters, item.responses, strict=True):
            row = self.rows[item.token].get(letter)
            if row is None:
                fault = f"The row of item {number}, Response {letter}, is missing."
                self.say("error", None, "", fault, FRESH)
            elif plain(row.cells.get(TEXT, "")) != plain(text):
                self._other_text(row, TEXT, f"item {number}, Response {letter}")
            elif row.cells.get(CONTEXT) and plain(row.cells[CONTEXT]) != plain(item.context):
                self._other_text(row, CONTEXT, f"item {number}")

    @cached_property
    def _owners(self) -> dict[tuple[str, str], str]:
        """(column, text) → the item or response whose text it is."""
        owners: dict[tuple[str, str], str] = {}
        for n, item in enumerate(self.book.items, 1):
            owners.setdefault((CONTEXT, plain(item.context)), f"item {n}")
            for letter, text in zip(letters_of(len(item.responses)), item.responses, strict=True):
                owners.setdefault((TEXT, plain(text)), f"item {n}, Response {letter}")
        return owners

    def _other_text(self, row: FilledRow, column: str, name: str) -> None:
        seen = plain(row.cells.get(column, ""))
        owner = self._owners.get((column, seen))
        right = "Undo the sorting or copying: a row must keep its hidden first cell. " + FRESH
        if owner:
            self.say("error", row.number, column, f"The row is that of {name}, the text that of {owner}.", right)
        else:
            fault = f"The text is not the one of {name}: {_start(seen) or 'it is empty'}"
            self.say("error", row.number, column, fault, "Texts must stay as they were. " + FRESH)

    def item(self, item: WorkbookItem) -> ReadItem | None:
        """What was filled in for one item; None if any of it cannot be stored."""
        rows = self.rows[item.token]
        first, before = rows["A"].number, len(self.findings)
        filled = [key for row in rows.values() for key, cell in row.cells.items() if cell and self._answers(key)]
        way_out = self._way_out(rows)
        note = self._note(rows)
        if way_out is not None and set(filled) - {LEAVE_OUT, NOTE}:
            self.say("warning", first, LEAVE_OUT, f"{NOT_STORED}: what else is filled in for this item.")
        answers = self._read_answers(item, rows) | {"note": note} if filled and way_out is None else None
        if any(finding.severity == "error" for finding in self.findings[before:]):
            return None
        return ReadItem(item.token, first, answers=answers, way_out=way_out, note=note)

    def _answers(self, key: str) -> bool:
        return key in self.columns and self.columns[key].answer

    def _about_item(self, rows: dict[str, FilledRow], key: str) -> tuple[str, int]:
        """A cell that all rows of an item share, and its row."""
        answers = {row.cells[key]: row.number for row in rows.values() if row.cells.get(key)}
        if len(answers) > 1:
            where = ", ".join(str(number) for number in answers.values())
            self.say("error", max(answers.values()), key, f"This is asked once per item, but rows {where} differ.")
        return next(iter(answers.items()), ("", rows["A"].number))

    def _note(self, rows: dict[str, FilledRow]) -> str:
        note, number = self._about_item(rows, NOTE)
        if len(note) > MAX_TEXT:
            fault = f"The text has {len(note):,} characters; at most {MAX_TEXT:,} can be stored."
            self.say("error", number, NOTE, fault, "Shorten it.")
        return note

    def _way_out(self, rows: dict[str, FilledRow]) -> tuple[str, str] | None:
        cell, number = self._about_item(rows, LEAVE_OUT)
        if not cell:
            return None
        if folded(cell) not in self.ways_out:
            self.say(
                "error", number, LEAVE_OUT, f"{_start(cell)!r} is no such reason.", "; ".join(ways_out(self.rubric))
            )
        return self.ways_out.get(folded(cell))

    def _read_answers(self, item: WorkbookItem, rows: dict[str, FilledRow]) -> JsonObject:
        letters = letters_of(len(item.responses))
        ratings: dict[str, dict[str, Value]] = defaultdict(dict)
        explained: dict[str, JsonObject] = defaultdict(dict)
        aside = {letter: reason for letter in letters if (reason := self._aside(rows[letter]))}
        rated = "".join(letter for letter in letters if letter not in aside)
        for criterion, place in self._questions(rated):
            get = self._cells(rows, place)
            cell, number = get(f"{RATING}{criterion.key}")
            value = self._value(criterion, cell, number, rated)
            if value is None:
                continue
            ratings[place][criterion.key] = value
            explanation = self._explanation(criterion, place, value, get)
            if explanation:
                explained[place][criterion.key] = explanation
        return {"ratings": dict(ratings), "explanations": dict(explained), "set_aside": aside}

    def _questions(self, rated: str) -> Iterator[tuple[Criterion, str]]:
        """The questions to be answered; rated: letters of the responses that are not set aside."""
        for criterion in self.asked:
            if rated or criterion.scale.kind != "best":
                places = [WHOLE_ITEM] if criterion.about == "item" else list(rated)
                yield from ((criterion, place) for place in places)

    def _cells(self, rows: dict[str, FilledRow], place: str) -> Callable[[str], tuple[str, int]]:
        if place == WHOLE_ITEM:
            return lambda key: self._about_item(rows, key)
        return lambda key: (rows[place].cells.get(key, ""), rows[place].number)

    def _aside(self, row: FilledRow) -> str | None:
        cell, offer = row.cells.get(ASIDE, ""), self.rubric.set_aside_response
        if not cell or offer is None:
            return None
        reason = next(
            (choice.key for choice in offer.reasons if folded(cell) in (folded(choice.title), choice.key)), None
        )
        if reason is None:
            titles = "; ".join(choice.title for choice in offer.reasons)
            self.say("error", row.number, ASIDE, f"{_start(cell)!r} is no such reason.", titles)
        about_response = [key for key in row.cells if key.startswith((RATING, REASONS, WORDS)) and self._answers(key)]
        if any(row.cells[key] for key in about_response if self.columns[key].about == "candidate"):
            self.say("warning", row.number, ASIDE, f"{NOT_STORED}: the answers about a response that cannot be rated.")
        return reason

    def _value(self, criterion: Criterion, cell: str, number: int, letters: str) -> Value | None:
        key, right = f"{RATING}{criterion.key}", right_for(criterion.scale, letters)
        if not cell:
            if criterion.required:
                self.say("error", number, key, "This is not answered.", right)
            return None
        try:
            return value_in(criterion.scale, cell, letters)
        except InvalidAnnotation:
            self.say("error", number, key, f"{_start(cell)!r} is not on the scale.", right)
            return None

    def _explanation(
        self, criterion: Criterion, place: str, value: Value, get: Callable[[str], tuple[str, int]]
    ) -> JsonObject:
        """The explanation under the name of the chosen option, checked like the workbench's."""
        (reasons, number), (words, _) = get(f"{REASONS}{criterion.key}"), get(f"{WORDS}{criterion.key}")
        ask = criterion.scale.ask_for(value)
        column = f"{REASONS if reasons else WORDS}{criterion.key}"
        if ask is None:
            if reasons or words:
                self.say("warning", number, column, f"{NOT_STORED}: the answer chosen asks for no explanation.")
            return {}
        if words and ask.free_text == "none":
            self.say("warning", number, f"{WORDS}{criterion.key}", f"{NOT_STORED}: only the reasons are asked for.")
        try:
            explanation = explanation_in(ask, reasons, words)
            check_explanation(self.rubric, criterion, place, ask, parse_explanation(explanation))
        except InvalidAnnotation as error:
            self.say("error", number, column, str(error), _offered(ask, self.rubric))
        else:
            return {option_name(value): explanation}
        return {}


def _offered(ask: Ask, rubric: Rubric) -> str:
    """How an answer can be explained, as a correction in words."""
    low, high = rubric.explanation.min_words, rubric.explanation.max_words
    own = [f"{low} to {high} words of your own"] if ask.free_text != "none" else []
    return " or ".join(["; ".join(reason.text for reason in ask.reasons), *own] if ask.reasons else own)


def plain(cell: str) -> str:
    """A text in a form to compare: without the ' before a formula, characters that XML lacks, and what a spreadsheet
    does to spaces and escapes.
    """
    return " ".join(for_xml(unescape(cell.lstrip("'"))).split())


def _start(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"
