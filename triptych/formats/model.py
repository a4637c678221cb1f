"""What a reader of item files gives back, and the limits that every reader keeps.

A file is read completely, then looked at, then imported or refused as a whole; so all of this is frozen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

# A value of a JSON or Parquet file, or a cell. Numbers of JSON files are texts (`values.NumberText`).
Json: TypeAlias = "None | bool | int | float | str | list[Json] | dict[str, Json]"
# An object of such a file, whose fields are narrowed where each is read.
JsonObject: TypeAlias = dict[str, Any]

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)

MAX_UPLOAD = 20 * 2**20
MAX_COLUMNS = 200
MAX_ROWS = 400_000
MAX_ITEMS = 100_000
MAX_CANDIDATES = 6
MAX_PROBLEMS = 200
MAX_ALIKE = 5  # problems that differ by their row alone and are named one by one


@dataclass(frozen=True)
class TurnDraft:
    """One turn of a conversation: who speaks, and what."""

    speaker: str
    text: str


@dataclass(frozen=True)
class CandidateDraft:
    """One system's output for one item: a text or turns. Both are None where the file has null (an error)."""

    system: str
    text: str | None
    turns: tuple[TurnDraft, ...] | None = None


@dataclass(frozen=True)
class ItemDraft:
    """One item as the file gives it. `context_text` is None exactly when the context is a list of turns.

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
    """Something that the lead should know about a file. An error keeps the whole file from being imported."""

    severity: Severity
    row: int | None
    column: str | None
    message: str
    file: str | None = None

    def __str__(self) -> str:
        row = f"row {self.row}" if self.row is not None else ""
        column = f"column '{self.column}'" if self.column is not None else ""
        where = ", ".join(part for part in (row, column) if part)
        if self.file:
            return ": ".join(part for part in (self.file, where, self.message) if part)
        return f"{where[0].upper()}{where[1:]}: {self.message}" if where else self.message


def in_words(problems: Iterable[Problem]) -> list[str]:
    """A line for each problem; those that differ by their row alone are one line with their number, where many."""
    kinds: dict[tuple[str | None, ...], list[Problem]] = {}
    for problem in problems:
        kinds.setdefault((problem.severity, problem.file, problem.column, problem.message), []).append(problem)
    lines: list[str] = []
    for alike in kinds.values():
        shown = alike if len(alike) <= MAX_ALIKE else alike[:1]
        lines += map(str, shown)
        lines += [f"… the same in {len(alike) - 1:,} more rows."] if len(alike) > MAX_ALIKE else []
    return lines


@dataclass(frozen=True)
class ReadOptions:
    """What the lead chose about a file.

    sheet                the sheet of a workbook
    append_field         a field whose text becomes the last turn; `append_speaker` says it
    judge_conversation   items without candidates are judged by their own conversation
    roles                pairs (column, role) where the lead chose what the columns are
    restore_formulas     take off the ' that a CSV export puts before = + - @ (see `long_csv.restore_cell`)
    """

    sheet: str | None = None
    append_field: str | None = None
    append_speaker: str | None = None
    judge_conversation: bool = False
    restore_formulas: bool = False
    roles: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class ItemFile:
    """A file that was read: its items, what was recognised, what was not, and every problem found.

    roles: column → role, as a lead may change it (`layout.roles_of`).
    """

    kind: str
    items: tuple[ItemDraft, ...]
    problems: tuple[Problem, ...]
    recognised: dict[str, str]
    ignored: tuple[str, ...]
    systems: tuple[str, ...]
    speakers: tuple[str, ...]
    sheets: tuple[str, ...]
    fields: tuple[str, ...]
    roles: dict[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """True when the file may be imported: at least one item and no error."""
        return bool(self.items) and not any(problem.severity == "error" for problem in self.problems)


@dataclass(frozen=True)
class Contents:
    """What a file is about: how its header looks, for example and for a program.

    one_object: a JSON file that is one object is one record, whatever is in it.
    """

    example: str
    is_header: Callable[[Sequence[str]], bool]
    endings: tuple[str, ...] = ("csv", "tsv", "txt", "json", "jsonl", "ndjson", "xlsx", "parquet")
    one_object: bool = False


@dataclass(frozen=True)
class Record:
    """One row of a table or one object of a JSON file. A value is a str, or what JSON has."""

    row: int
    values: JsonObject

    def get(self, column: str | None) -> Json:
        """The value of a column; None where there is no such column."""
        value: Json = self.values.get(column) if column is not None else None
        return value


@dataclass(frozen=True)
class Source:
    """The records of a file before anything is made of them. `tabular`: every record has every column.

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
    """Collects the problems of one file: the first ones of each severity, and how many more.

    `file` is written before each problem where several files are read together.
    """

    file: str | None = None
    problems: list[Problem] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    tallies: Counter[str] = field(default_factory=Counter)

    def error(self, message: str, row: int | None = None, column: str | None = None) -> None:
        self._add(Problem("error", row, column, message, self.file))

    def warning(self, message: str, row: int | None = None, column: str | None = None) -> None:
        self._add(Problem("warning", row, column, message, self.file))

    def note(self, message: str, row: int | None = None, column: str | None = None) -> None:
        self._add(Problem("note", row, column, message, self.file))

    def tally(self, message: str) -> None:
        """Count something that is worth one note for the whole file, `{n}` standing for the number."""
        self.tallies[message] += 1

    @property
    def has_errors(self) -> bool:
        return self.counts["error"] > 0

    def finish(self) -> tuple[Problem, ...]:
        """All problems, errors first. Past `MAX_PROBLEMS` the last says how many more, with their worst severity."""
        for message, number in self.tallies.items():
            self.note(message.replace("{n}", f"{number:,}"))
        self.tallies.clear()
        shown = sorted(self.problems, key=lambda problem: SEVERITIES.index(problem.severity))[:MAX_PROBLEMS]
        hidden = self.counts - Counter(problem.severity for problem in shown)
        gravest = next((severity for severity in SEVERITIES if hidden[severity]), None)
        if gravest is None:
            return tuple(shown)
        return (*shown, Problem(gravest, None, None, f"… and {hidden.total():,} more.", self.file))

    def _add(self, problem: Problem) -> None:
        self.counts[problem.severity] += 1
        if self.counts[problem.severity] <= MAX_PROBLEMS:
            self.problems.append(problem)
