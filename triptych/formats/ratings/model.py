"""What a reader of finished ratings returns, regardless of the program that wrote the file. Nothing here has been
checked against a rubric: a value is the text in the file. Everything concerns one file; `assemble` combines several.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Literal, TypedDict, Unpack, get_args

from triptych.errors import ImportRefused
from triptych.formats.model import Findings, ItemFile, Json, JsonObject, Problem, Source, TurnDraft
from triptych.formats.values import NumberText, UnfitValueError, as_content, kind_of
from triptych.rubric.answers import MarkUnit

Content = str | tuple[TurnDraft, ...]
RaterKind = Literal["human", "judge", "simulated"]

UNKNOWN_SYSTEM = "unknown"
MAX_RATINGS = 1_200_000  # in a file or zip
NO_VALUE = "{n} empty rating(s) are left out: what was not answered has no row."
YEARS = range(1900, 2200)  # of a time: days can be added to it, and each library can represent it
MAX_NAME = 2_000  # characters of a name in a file, which sentences about its ratings repeat; a stored id may have fewer
LONGEST_SECONDS = 1e9  # of work on an item; sums of larger numbers could overflow
MAX_QUOTED = 100_000_000  # characters, as many as a zip may contain
FREE_TEXT = "{n} free text(s) are kept as the explanation of the rating they name or belong to, or as a note."


@dataclass(frozen=True)
class Unit:
    """The unit that one annotator rated, with its row in the file and the time. system: None for the item itself.

    part: the piece of work, if an annotator did several on an item; the seconds of different parts are added up.
    """

    item: str
    system: str | None
    annotator: str
    kind: RaterKind
    row: int
    at: datetime | None = None
    seconds: float = 0
    part: str = ""

    def __post_init__(self) -> None:
        _refuse_long(self.row, self.item, self.system or "", self.annotator)


def _refuse_long(row: int, *names: str) -> None:
    """Raises ImportRefused for a name that would take long to read in each row."""
    longest = max(names, key=len)
    if len(longest) > MAX_NAME:
        raise ImportRefused(
            f"Row {row}: the name '{longest[:30]}…' has {len(longest):,} characters; at most {MAX_NAME:,} can be read."
        )


@dataclass(frozen=True, kw_only=True)
class ImportedRating(Unit):
    """One value in the file. position: from 0, None where not known.

    of: distinguishes repeated ratings of one unit: "" for the first, otherwise the file's name for the repeat.
    """

    criterion: str
    value: str
    missing: bool
    explanation: str = ""
    reasons: tuple[str, ...] = ()
    position: int | None = None
    of: str = ""


class RatingExtras(TypedDict, total=False):
    """Optional parts of a rating besides its value; see ImportedRating."""

    explanation: str
    reasons: tuple[str, ...]
    position: int | None
    of: str


@dataclass(frozen=True, kw_only=True)
class ImportedHighlight(Unit):
    """One highlight in the file. start, end: end exclusive; None if the file says that the quote is not in the text.

    utf16: offsets count UTF-16 units. quote: None if the file has none. system: None if the file names none, as for a
    highlight in the context. marked_by: words or letters; None if not known.
    """

    label: str
    start: int | None
    end: int | None
    quote: str | None
    comment: str = ""
    turn: int | None = None
    utf16: bool = False
    marked_by: str | None = None


@dataclass(frozen=True, kw_only=True)
class ImportedNote(Unit):
    """Free text that does not belong to a single rating; `name` is the name of the field in the file."""

    name: str
    text: str


@dataclass
class FinishedRatings:
    """One file that was read.

    recognised: column or field → its role. items: items in the same archive, or the content of a file without ratings.
    texts: item and system → text of the response; system None → the item's context. roles: column → role, where a lead
    may choose it. item_groups, annotator_groups: item or annotator → group.
    """

    name: str
    format: str
    ratings: list[ImportedRating] = field(default_factory=list)
    highlights: list[ImportedHighlight] = field(default_factory=list)
    notes: list[ImportedNote] = field(default_factory=list)
    texts: dict[tuple[str, str | None], Content] = field(default_factory=dict)
    excluded: dict[str, str] = field(default_factory=dict)
    recognised: dict[str, str] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    items: ItemFile | None = None
    roles: dict[str, str] = field(default_factory=dict)
    item_groups: dict[str, str] = field(default_factory=dict)
    annotator_groups: dict[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether the file has content and no error."""
        return bool(self.ratings or self.highlights or self.items) and not any(
            p.severity == "error" for p in self.problems
        )


def in_group(file: FinishedRatings, group: str) -> FinishedRatings:
    """The file with all its annotators in one group, which is added to their ids to tell them from other groups'."""
    if not group:
        return file

    def grouped(name: str) -> str:
        return f"{group}/{name}"

    ratings = [replace(rating, annotator=grouped(rating.annotator)) for rating in file.ratings]
    return replace(
        file,
        ratings=ratings,
        highlights=[replace(highlight, annotator=grouped(highlight.annotator)) for highlight in file.highlights],
        notes=[replace(note, annotator=grouped(note.annotator)) for note in file.notes],
        excluded={grouped(name): reason for name, reason in file.excluded.items()},
        annotator_groups={rating.annotator: group for rating in ratings},
    )


@dataclass
class Gathering(FinishedRatings):
    """Collects what a reader finds in one file with cleaned texts. kind: kind of raters, if the file does not say."""

    kind: RaterKind = "human"
    findings: Findings = field(default_factory=Findings)
    quoted: int = 0  # characters of all quotes; some are passages of texts, which a few bytes name

    def rate(
        self, unit: Unit, criterion: str, value: Json, missing: bool = False, **extras: Unpack[RatingExtras]
    ) -> None:
        """Adds a rating; an empty value is counted and left out, a list or object is an error."""
        _refuse_long(unit.row, criterion)
        if value is None or (isinstance(value, str) and not value.strip()):
            if not missing:
                self.findings.tally(NO_VALUE)
                return
            value = ""
        if isinstance(value, list | dict):
            self.findings.error(f"holds {kind_of(value)}, one value was expected.", unit.row, criterion)
            return
        text = ("yes" if value else "no") if isinstance(value, bool) else str(value).strip()
        self.ratings.append(ImportedRating(**vars(unit), criterion=criterion, value=text, missing=missing, **extras))

    def mark(
        self,
        unit: Unit,
        label: Json,
        start: Json,
        end: Json,
        quote: Json,
        comment: str = "",
        turn: int | None = None,
        utf16: bool = False,
        marked_by: Json = None,
    ) -> None:
        """Adds a highlight; offsets may be texts; null or negative ones mean that the quote is not in the text."""
        _refuse_long(unit.row, str(label or ""))
        first, last = whole(start), whole(end)
        offsets = {"start": (start, first), "end": (end, last)}
        for name, (offset, number) in offsets.items():
            if number is None and offset not in (None, ""):
                self.findings.error("is not a whole number; offsets count characters from 0.", unit.row, name)
                return
        quoted = None if quote is None else str(quote)
        self.quoted += len(quoted or "")
        if self.quoted > MAX_QUOTED:
            self.findings.error(f"the highlights up to here have quotes of more than {MAX_QUOTED:,} characters in all.")
            return
        is_placed = first is not None and last is not None and first >= 0
        self.highlights.append(
            ImportedHighlight(
                **vars(unit),
                label=str(label or "").strip() or "highlight",
                start=first if is_placed else None,
                end=last if is_placed else None,
                quote=quoted,
                comment=comment,
                turn=turn,
                utf16=utf16,
                marked_by=str(marked_by) if marked_by in get_args(MarkUnit) else None,
            )
        )

    def note(self, unit: Unit, name: str, value: Json) -> None:
        """Adds free text about a unit; blank texts are ignored."""
        _refuse_long(unit.row, name)
        texts = value if isinstance(value, list) else [value]
        text = "\n".join(str(part) for part in texts if isinstance(part, str) and part.strip())
        if text:
            self.findings.tally(FREE_TEXT)
            self.notes.append(ImportedNote(**vars(unit), name=name, text=text))

    def group_item(self, item: str, group: str, row: int, column: str) -> None:
        """The group of an item; rows must agree on it."""
        if self.item_groups.setdefault(item, group) != group:
            self.findings.error(f"puts item '{item}' into a different group from an earlier row.", row, column)

    def text(self, item: str, system: str | None, value: Json, row: int, column: str, from_cell: bool = False) -> None:
        """The text of a candidate or, without a system, the context of an item; rows must agree on it."""
        if value is None or value == "":
            return
        try:
            content = as_content(value, self.findings, from_cell)
        except UnfitValueError as error:
            self.findings.error(str(error), row, column)
            return
        if self.texts.setdefault((item, system), content) != content:
            about = item if system is None else f"{system} of {item}"
            self.findings.error(f"the text differs from the earlier one for '{about}'.", row, column)

    def listed(self, value: Json, row: int, column: str) -> list[Json]:
        """The value as a list; null gives an empty list, any other value is an error."""
        if isinstance(value, list):
            return value
        self._report_kind(value, "a list", row, column)
        return []

    def mapped(self, value: Json, row: int, column: str) -> JsonObject:
        """The value as an object; null gives an empty object, any other value is an error."""
        if isinstance(value, dict):
            return value
        self._report_kind(value, "an object", row, column)
        return {}

    def _report_kind(self, value: Json, expected: str, row: int, column: str) -> None:
        if value is not None:
            self.findings.error(f"is {kind_of(value)}, {expected} was expected.", row, column)

    def finished(self, source: Source) -> FinishedRatings:
        """The finished ratings, with all problems."""
        if not self.ratings and not self.highlights and not self.findings.has_errors:
            self.findings.error("There is no rating in the file.")
        self.ignored = tuple(column for column in source.columns if column not in self.recognised)
        self.problems = self.findings.finish()
        return self


def whole(value: Json) -> int | None:
    """A whole number written as text or given as a number; None for anything else."""
    number = _as_float(value)
    return int(number) if number is not None and number.is_integer() else None


def seconds_of(value: Json) -> float:
    """Seconds as a number ≥ 0; 0 where they are not known."""
    seconds = _as_float(value)
    return seconds if seconds is not None and 0 <= seconds <= LONGEST_SECONDS else 0


def _as_float(value: Json) -> float | None:
    try:
        return float(value) if isinstance(value, str | int | float) else None
    except (ValueError, OverflowError):
        return None


def moment_of(value: Json) -> datetime | None:
    """A time in UTC from ISO 8601 or seconds since 1970, within YEARS; a time without a zone is taken as UTC."""
    try:
        if isinstance(value, int | float | NumberText) and not isinstance(value, bool):
            at = datetime.fromtimestamp(float(value), UTC)
        else:
            at = datetime.fromisoformat(str(value).strip())
            at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return at if at.year in YEARS else None


def named(value: Json) -> str:
    """An id as text without blanks around it; "" where there is none."""
    return str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
