"""The result of `operations.fold`: the rows of the study according to its log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from triptych.annotate.logged import LoggedHighlight
from triptych.storage.models import Explanation
from triptych.storage.rows import Row, as_carried

_EXPLANATION = Explanation.__table__


class FoldedAnswer(NamedTuple):
    """A rating with its explanation; without one, reasons, text and words are None.

    Criterion and option by their numbers; by their keys until the log has been read, where an annotator's event names
    them.
    """

    position: int | None
    criterion_id: Any
    number: float | None
    option_id: Any
    missing: bool
    reasons: Any
    text: str | None
    words: int | None

    def hidden(self) -> FoldedAnswer:
        """With the explanation as the log's rows carry it."""
        words = as_carried(_EXPLANATION, {"reasons": self.reasons, "text": self.text}, {})
        return self._replace(**words)


@dataclass(slots=True)
class FoldedWork:
    """An assignment and what belongs to it. None: unknown, or the whole annotation was erased.

    hidden: explanations and comments are digests. A highlight's quote is None where it is what its text says there.
    """

    row: Row = field(default_factory=dict)
    slots: dict[int, Row] = field(default_factory=dict)
    submissions: dict[str, Row] | None = None
    answers: Sequence[FoldedAnswer] | None = None
    highlights: Sequence[LoggedHighlight] | None = None
    hidden: bool = False
    number: int = 0


@dataclass(frozen=True)
class ErasedEvent:
    """An event whose values were deleted; people: one of them must have left since. Groups name others, too."""

    number: int
    kind: str
    assignment_id: int | None
    people: frozenset[str]


@dataclass
class FoldedStudy:
    """The study's rows according to the log.

    tables: of each table but those of the work, number → row. erased: assignments whose values were erased with their
    annotator. baseline: number and time of the event that first said what older events left out. restated: each
    assignment that a baseline restated with what the log had said of it before, and what the baseline said. replaced:
    each other row that a baseline stated again, with its table, what the log had said before, and what the baseline
    said, None where it left the row out. design: the hashes that launch or the last amendment logged, and the number of
    that event.
    """

    tables: dict[str, dict[int, Row]] = field(default_factory=lambda: defaultdict(dict))
    works: dict[int, FoldedWork] = field(default_factory=dict)
    erased: set[int] = field(default_factory=set)
    gone: list[ErasedEvent] = field(default_factory=list)
    baseline: tuple[int, datetime] | None = None
    restated: list[tuple[int, FoldedWork, FoldedWork]] = field(default_factory=list)
    replaced: list[tuple[str, Row, Row | None]] = field(default_factory=list)
    design: tuple[dict[str, Any], int] | None = None
