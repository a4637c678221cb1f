"""The result of `operations.fold`: the study's rows according to its log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from triptych.annotate.logged import LoggedHighlight
from triptych.storage.models import Explanation, Highlight
from triptych.storage.rows import Row, as_carried

_EXPLANATION, _HIGHLIGHT = Explanation.__table__, Highlight.__table__


class FoldedAnswer(NamedTuple):
    """A rating with its explanation; without an explanation, reasons, text and words are None.

    reasons and text are digests, as in the log's rows, unless they are short.
    `criterion_id` and `option_id` are numbers; while an annotator's event is replayed, they are keys until the end of
    the log.
    """

    position: int | None
    criterion_id: Any
    number: float | None
    option_id: Any
    missing: bool
    reasons: Any
    text: str | None
    words: int | None

    @classmethod
    def of(cls, *answer: Any) -> FoldedAnswer:
        """The answer whose fields are these values, with digests instead of texts."""
        full = cls(*answer)
        if full.words is None:
            return full
        return full._replace(**as_carried(_EXPLANATION, {"reasons": full.reasons, "text": full.text}, {}))


def hidden_mark(mark: LoggedHighlight) -> LoggedHighlight:
    """The highlight with digests instead of texts, as in the log's rows."""
    texts = {"label": mark.label, "comment": mark.comment, "quote": mark.quote}
    return mark._replace(**as_carried(_HIGHLIGHT, texts, {}))


@dataclass(slots=True)
class FoldedWork:
    """An assignment and its parts. A part is None if it is unknown, or if the whole annotation was erased.

    Explanations and comments are digests. A highlight's quote is None if it equals the text at that place.
    """

    row: Row = field(default_factory=dict)
    slots: dict[int, Row] = field(default_factory=dict)
    submissions: dict[str, Row] | None = None
    answers: Sequence[FoldedAnswer] | None = None
    highlights: Sequence[LoggedHighlight] | None = None
    number: int = 0


@dataclass
class FoldedStudy:
    """The study's rows according to its log.

    tables: for each table except those of annotations, number → row. erased: assignments whose values were erased with
    their annotator. gone: event whose values are missing → its assignment; each must have left with somebody. baseline:
    number and time of the first event that added what older events left out. restated: (assignment, earlier state,
    state in the baseline). replaced: for other rows, and assignments that only a baseline has, (table, row before the
    baseline, row in it); None where there is no row. design: the hashes logged at launch or by the last amendment, and
    that event's number. departures: person → number of the last event by which they left.
    """

    tables: dict[str, dict[int, Row]] = field(default_factory=lambda: defaultdict(dict))
    works: dict[int, FoldedWork] = field(default_factory=dict)
    erased: set[int] = field(default_factory=set)
    gone: dict[int, int | None] = field(default_factory=dict)
    baseline: tuple[int, datetime] | None = None
    restated: list[tuple[int, FoldedWork, FoldedWork]] = field(default_factory=list)
    replaced: list[tuple[str, Row | None, Row | None]] = field(default_factory=list)
    design: tuple[dict[str, Any], int] | None = None
    departures: dict[str, int] = field(default_factory=dict)
