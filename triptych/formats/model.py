"""The results of readers of item files, and the limits that all readers apply.

A file is read completely, then shown, then imported or refused as a whole; so all of these classes are frozen.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, get_args

from triptych.rubric.model import LETTERS
from triptych.storage.models import JsonObject as JsonObject

# A value of a JSON or Parquet file, or a cell. Numbers of JSON files are texts (`values.NumberText`).
Json: TypeAlias = "None | bool | int | float | str | list[Json] | dict[str, Json]"


Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)

MAX_UPLOAD = 20 * 2**20
MAX_BYTES = 100 * 2**20  # of any file: a million ratings, one in a row, as CSV
COLUMN_TWICE = "Two columns are called '{name}'. Give each column a different name."
MAX_COLUMNS = 200
MAX_ROWS = 400_000
CELLS_PER_LINE = 20  # of a CSV file, on average
MAX_ITEMS = 100_000
MAX_CANDIDATES = len(LETTERS)
MAX_SYSTEMS = 50  # of a study; every pair of them is tested
MAX_GROUPS = 20  # of annotators: every two are compared for every two systems under every criterion
MAX_PROBLEMS = 200
MAX_REASONS = 100  # in a cell
MAX_KINDS = 1_000  # of errors, of warnings and of notes, each of which takes a kilobyte; others are only counted
MAX_ALIKE = 5  # problems of one kind that are listed individually
LONGEST_MESSAGE = 5_000  # characters of a problem's message or column; names in a file may have megabytes
# quoted or numbers: what differs between problems of one kind; no place is tried twice, since files are quoted
VARIED = re.compile(r"(?<!\w)'(?:[^']|'(?=\w))*+(?:'|\Z)|\d[\d.,]*")


@dataclass(frozen=True)
class TurnDraft:
    """One turn of a conversation: who speaks, and what."""

    speaker: str
    text: str


@dataclass(frozen=True)
class CandidateDraft:
    """One system's output for one item: a text or turns; both None where the file has null, which is an error."""

    system: str
    text: str | None
    turns: tuple[TurnDraft, ...] | None = None


@dataclass(frozen=True)
class ItemDraft:
    """One item in a file. `context_text` is None exactly if the context is a list of turns.

    `row` is the row that a spreadsheet shows (the header is row 1), the line of a JSON Lines file, or the
    number of the object in a JSON list.
    """

    external_id: str
    context_text: str | None
    context_turns: tuple[TurnDraft, ...]
    candidates: tuple[CandidateDraft, ...]
    meta: dict[str, str]
    extra_texts: dict[str, str]
    row: int


@dataclass(frozen=True)
class Problem:
    """A problem with a file that the lead should know about. An error prevents the import. more: the number of further
    problems of the same kind that it represents. is_rest: it is no problem itself, but says how many are not listed.
    """

    severity: Severity
    row: int | None
    column: str | None
    message: str
    file: str | None = None
    more: int = 0
    is_rest: bool = False

    def __str__(self) -> str:
        return f"{self._sentence} … and {self.more:,} more of this kind." if self.more else self._sentence

    @property
    def _sentence(self) -> str:
        row = f"row {self.row}" if self.row is not None else ""
        column = f"column '{self.column}'" if self.column is not None else ""
        where = ", ".join(part for part in (row, column) if part)
        if self.file:
            return ": ".join(part for part in (self.file, where, self.message) if part)
        return f"{where[0].upper()}{where[1:]}: {self.message}" if where else self.message


@dataclass(frozen=True)
class ReadOptions:
    """The lead's choices for reading a file.

    sheet                the sheet of a workbook
    append_field         a field whose text becomes the last turn; `append_speaker` says it
    judge_conversation   items without candidates are judged by their own conversation
    roles                pairs (column, role) for columns whose role the lead chose
    """

    sheet: str | None = None
    append_field: str | None = None
    append_speaker: str | None = None
    judge_conversation: bool = False
    roles: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class ItemFile:
    """A file that was read: its items, recognised and ignored columns, and all problems.

    roles: column → role that a lead may change (`layout.roles_of`); samples: column → its first values.
    """

    kind: str
    items: tuple[ItemDraft, ...]
    problems: tuple[Problem, ...] = ()
    recognised: dict[str, str] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    speakers: tuple[str, ...] = ()
    sheets: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    roles: dict[str, str] = field(default_factory=dict)
    samples: dict[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """True when the file may be imported: at least one item and no error."""
        return bool(self.items) and not any(problem.severity == "error" for problem in self.problems)

    @property
    def size(self) -> int:
        """Number of items and responses, as a measure of memory: a thousand characters count like one of them."""
        texts = ((i.context_text, i.context_turns, i.candidates, i.meta, i.extra_texts) for i in self.items)
        characters = sum(len(str(text)) for parts in texts for text in parts)
        return len(self.items) + sum(len(item.candidates) for item in self.items) + characters // 1000


@dataclass(frozen=True)
class Contents:
    """The kind of content that a file must have.

    example: a header to show in messages; is_header: whether a row is a header.
    one_object: a JSON file with a single object is one record, whatever the object contains.
    foreign: a first row that could be names is a header even if no name is known; a lead then assigns roles.
    most_bytes, most_lines: limits for CSV files; other formats, which take more memory, may have MAX_UPLOAD bytes.
    """

    example: str
    is_header: Callable[[Sequence[str]], bool]
    endings: tuple[str, ...] = ("csv", "tsv", "txt", "json", "jsonl", "ndjson", "xlsx", "parquet")
    one_object: bool = False
    foreign: bool = False
    most_bytes: int = MAX_UPLOAD
    most_lines: int = MAX_ROWS

    @property
    def most_cells(self) -> int:
        return CELLS_PER_LINE * self.most_lines


@dataclass(frozen=True)
class Record:
    """One row of a table or one object of a JSON file; values are texts or other JSON values."""

    row: int
    values: JsonObject

    def get(self, column: str | None) -> Json:
        """The value of a column; None where there is no such column."""
        value: Json = self.values.get(column) if column is not None else None
        return value


@dataclass(frozen=True)
class Source:
    """The raw records of a file. tabular: every record has every column.

    levels: columns that were positions or outer keys in the file.
    """

    kind: str
    columns: tuple[str, ...]
    records: tuple[Record, ...]
    tabular: bool
    sheets: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()


@dataclass
class Findings:
    """Collects the problems of one file: the first of each kind, and the number of further ones.

    file: name put before each problem where several files are read together. parts: of JSON in cells so far.
    varieties: severity → number of kinds. unlisted: problems of further kinds than `MAX_KINDS`.
    """

    file: str | None = None
    parts: int = 0
    kinds: dict[tuple[str | None, ...], list[Problem]] = field(default_factory=dict)
    counts: Counter[tuple[str | None, ...]] = field(default_factory=Counter)
    varieties: Counter[Severity] = field(default_factory=Counter)
    unlisted: int = 0
    tallies: Counter[str] = field(default_factory=Counter)

    def error(self, message: str, row: int | None = None, column: str | None = None) -> None:
        self._add("error", message, row, column)

    def warning(self, message: str, row: int | None = None, column: str | None = None) -> None:
        self._add("warning", message, row, column)

    def note(self, message: str, row: int | None = None, column: str | None = None) -> None:
        self._add("note", message, row, column)

    def tally(self, message: str, number: int = 1) -> None:
        """Count something that gives one note for the whole file, in which `{n}` is replaced by the number."""
        if number:
            self.tallies[message] += number

    @property
    def has_errors(self) -> bool:
        return any(severity == "error" for severity, *_ in self.kinds)

    def finish(self) -> tuple[Problem, ...]:
        """All problems, errors first. Many of one kind are reduced to the first, with their number. Beyond
        `MAX_PROBLEMS` the last one states how many more there are, with their worst severity.
        """
        for message, number in self.tallies.items():
            self.note(message.replace("{n}", f"{number:,}"))
        self.tallies.clear()
        problems = []
        for kind, first in self.kinds.items():
            more = self.counts[kind] - 1
            problems += first if more < MAX_ALIKE else [replace(first[0], more=more)]
        problems.sort(key=lambda problem: SEVERITIES.index(problem.severity))
        shown, hidden = problems[:MAX_PROBLEMS], problems[MAX_PROBLEMS:]
        if not hidden:
            return tuple(shown)
        number = self.unlisted + sum(1 + problem.more for problem in hidden)
        return (*shown, Problem(hidden[0].severity, None, None, f"… and {number:,} more.", self.file, is_rest=True))

    def _add(self, severity: Severity, message: str, row: int | None, column: str | None) -> None:
        message, column = _shortened(message), column and _shortened(column)
        kind = severity, column, VARIED.sub("", message)
        if kind not in self.counts:
            self.varieties[severity] += 1
            if self.varieties[severity] > MAX_KINDS:
                self.unlisted += 1
                return
        self.counts[kind] += 1
        if self.counts[kind] <= MAX_ALIKE:
            self.kinds.setdefault(kind, []).append(Problem(severity, row, column, message, self.file))


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_MESSAGE else f"{text[:LONGEST_MESSAGE]}…"
