"""The input of an export's writer, a study and iterators over its finished work, and its output, files. Independent of
the database. Systems have the names that may be written: System 1, System 2, … until the study is unblinded. Offsets
are Unicode code points with the end exclusive, times are UTC.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from triptych.formats.long_csv import Cell
from triptych.formats.model import CandidateDraft, JsonObject, TurnDraft
from triptych.rubric.model import Criterion, Rubric
from triptych.storage.models import RATED


@dataclass(frozen=True)
class FinishedRating:
    """One value. For a criterion of the kind `best`, number is 1 in the chosen slots and 0 in the others."""

    criterion: str
    number: float | None
    option: str | None
    missing: bool
    reasons: tuple[str, ...]
    explanation: str


@dataclass(frozen=True)
class FinishedHighlight:
    """One highlight; start and end are None for an imported quote that is not in the text."""

    turn: int | None
    label: str
    start: int | None
    end: int | None
    quote: str
    comment: str
    unit: str | None


@dataclass(frozen=True)
class FinishedSlot:
    """A candidate in one annotation, with its ratings and highlights; position: None if the order is not known."""

    position: int | None
    system: str
    set_aside: str | None
    ratings: tuple[FinishedRating, ...]
    highlights: tuple[FinishedHighlight, ...]


@dataclass(frozen=True)
class FinishedAnnotation:
    """One finished annotation, of any purpose and finished state.

    after_unblinding: a lead of the study submitted it after unblinding. text_view: how the annotator saw the texts
    (written, formatted, mixed); language: language of the page; arrangement: how several responses were shown; each
    None if not known.
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
        """(slot, highlight) of every highlight; slot: None for the context."""
        places = [(slot, slot.highlights) for slot in self.slots]
        return [(slot, mark) for slot, marks in (*places, (None, self.in_context)) for mark in marks]


@dataclass(frozen=True)
class FinishedItem:
    """An item; its candidates are in the order of their blind codes, not in any annotator's order."""

    item_id: str
    purpose: str
    context: str
    turns: tuple[TurnDraft, ...]
    meta: JsonObject
    extra_texts: JsonObject
    retired: bool
    candidates: tuple[CandidateDraft, ...]
    annotations: tuple[FinishedAnnotation, ...]


@dataclass(frozen=True)
class Selection:
    """Which items to read, with which annotations; empty fields select everything.

    annotator: only this annotator's annotations, and items with one. main_only: no training items, no repeats, no
    attention checks.
    """

    annotator: str | None = None
    main_only: bool = False


EVERYTHING = Selection()
MAIN_WORK = Selection(main_only=True)


@dataclass(frozen=True)
class Finished:
    """One study as of one event. The four callables read while they are iterated, so a study need not fit in memory.

    systems: blind code → printable name, for systems with candidates to be judged.
    items: selection → its items, in the order of import. ratings, highlights: rows of the long CSV files.
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
    """A lead's choices. margin: pairs whose means differ by no more are ties. criterion: only this; None for all."""

    margin: float = 0.0
    criterion: str | None = None

    def wants(self, criterion: Criterion) -> bool:
        return self.criterion in (None, criterion.key)


@dataclass(frozen=True)
class File:
    """One file of an export; its bytes are produced while they are read."""

    name: str
    blocks: Iterator[bytes]


# a writer adds sentences to the list for the README: what was left out and why, counted while writing the files
Writer = Callable[[Finished, ExportOptions, list[str]], Iterator[File]]
