"""The input of an export's writer, a study and iterators over its finished work, and its output, files. Independent of
the database. Systems have the names that may be written: System 1, System 2, … until the study is unblinded. Offsets
are Unicode code points with the end exclusive, times are UTC.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from triptych.formats.long_csv import Cell
from triptych.formats.model import JsonObject
from triptych.rubric.model import Criterion, Rubric
from triptych.storage.models import RATED


@dataclass(frozen=True)
class FinishedTurn:
    speaker: str
    text: str


@dataclass(frozen=True)
class FinishedRating:
    """One value. A criterion of the kind `best` has the number 1 in the slots picked and 0 in the others."""

    criterion: str
    number: float | None
    option: str | None
    missing: bool
    reasons: tuple[str, ...]
    explanation: str


@dataclass(frozen=True)
class FinishedHighlight:
    """Null offsets: an imported quote that is not in the text."""

    turn: int | None
    label: str
    start: int | None
    end: int | None
    quote: str
    comment: str
    unit: str | None


@dataclass(frozen=True)
class FinishedSlot:
    """A candidate's place in one annotation, and what it got there; position None: the order is not known."""

    position: int | None
    system: str
    set_aside: str | None
    ratings: tuple[FinishedRating, ...]
    highlights: tuple[FinishedHighlight, ...]


@dataclass(frozen=True)
class FinishedAnnotation:
    """All that one annotator gave for one item, in any purpose and state that is done.

    after_unblinding: a lead of the study submitted it when the names of the systems were known to leads. text_view: how
    its annotator saw the texts (written, formatted, mixed), language: of the page, arrangement: how several responses
    were shown; None where that is not known.
    """

    number: int
    annotator: str
    kind: str
    purpose: str
    repeat_of: str | None
    state: str
    reason: str | None
    version: int
    submitted_at: datetime
    active_seconds: float
    text_view: str | None
    language: str | None
    arrangement: str | None
    excluded: bool
    exclusion_reason: str | None
    after_unblinding: bool
    slots: tuple[FinishedSlot, ...]
    about_item: tuple[FinishedRating, ...]
    in_context: tuple[FinishedHighlight, ...]

    @property
    def rated(self) -> bool:
        return self.state in RATED

    @property
    def highlights(self) -> list[tuple[FinishedSlot | None, FinishedHighlight]]:
        """Every highlight with the slot that it is in, None in the context."""
        places = [(slot, slot.highlights) for slot in self.slots]
        return [(slot, mark) for slot, marks in (*places, (None, self.in_context)) for mark in marks]


@dataclass(frozen=True)
class FinishedCandidate:
    system: str
    text: str | None
    turns: tuple[FinishedTurn, ...]


@dataclass(frozen=True)
class FinishedItem:
    """Candidates are in the order of their blind codes, which is independent of any annotator's order."""

    item_id: str
    purpose: str
    context: str
    turns: tuple[FinishedTurn, ...]
    meta: JsonObject
    extra_texts: JsonObject
    retired: bool
    candidates: tuple[FinishedCandidate, ...]
    annotations: tuple[FinishedAnnotation, ...]


@dataclass(frozen=True)
class Selection:
    """Which items to walk, with which annotations; an empty part lets everything through.

    systems: only items that have a candidate of each. annotator: only their annotations, and the items that have one.
    main_only: no training items, no repeats, no attention checks.
    """

    systems: frozenset[str] = frozenset()
    annotator: str | None = None
    main_only: bool = False


EVERYTHING = Selection()
MAIN_WORK = Selection(main_only=True)


@dataclass(frozen=True)
class Finished:
    """One study as of one event. The four callables read as they are walked, so no study has to fit in memory.

    systems: blind code → the name that may be written, of those whose candidates are to be judged.
    items: a selection → its items, in the order of import. ratings, highlights: rows of the long CSV files.
    events: the log, one dictionary per event.
    """

    slug: str
    title: str
    series: str
    round: str
    state: str
    raters_per_item: int
    design_hash: str | None
    event_number: int
    event_hash: str
    blind: bool
    rubric: Rubric
    systems: dict[int, str]
    annotators: tuple[str, ...]
    most_candidates: int
    has_turns: bool
    has_conversations: bool
    counted_kinds: frozenset[str]
    items: Callable[[Selection], Iterator[FinishedItem]]
    ratings: Callable[[], Iterable[Sequence[Cell]]]
    highlights: Callable[[], Iterable[Sequence[Cell]]]
    events: Callable[[], Iterable[JsonObject]]

    @property
    def has_dialogues(self) -> bool:
        return self.has_turns or self.has_conversations

    @property
    def criteria(self) -> list[Criterion]:
        """What the study asked, in order."""
        return self.rubric.asked(self.round)


@dataclass(frozen=True)
class ExportOptions:
    """What a lead chooses. margin: pairs whose means differ by no more are ties. criterion: this one only."""

    margin: float = 0.0
    criterion: str | None = None

    def wants(self, criterion: Criterion) -> bool:
        return self.criterion in (None, criterion.key)


@dataclass(frozen=True)
class File:
    """One file of an export; its bytes are made while they are taken."""

    name: str
    blocks: Iterator[bytes]


# the list takes sentences for the README: what was left out and why, counted while the files were written
Writer = Callable[[Finished, ExportOptions, list[str]], Iterator[File]]
