"""An annotation as recorded in the event log, and as stored in the tables: `verify` compares the two."""

from __future__ import annotations

from typing import NamedTuple, Self

from pydantic import BaseModel, ConfigDict
from sqlalchemy import case, select
from sqlmodel import Session

from triptych.annotate.reservations import Assigned
from triptych.rubric.answers import CheckedAnswers, CheckedRating
from triptych.storage.answers import ANSWER, select_answers
from triptych.storage.models import Assignment, AssignmentState, Highlight, JsonObject, Rating, Slot, StoredCriterion


class LoggedHighlight(NamedTuple):
    """One highlight: start and end in code points, end exclusive; both None for an imported quote not in the text.

    position: None in the context. quote: stored only for a highlight without start and end; others are cut from the
    text. unit: words or letters, None where not known. Older logs contain neither quote nor unit.
    """

    position: int | None
    turn: int | None
    start: int | None
    end: int | None
    label: str
    comment: str
    quote: str | None = None
    unit: str | None = None


class LoggedAnnotation(BaseModel):
    """The values of an event about an annotation. Fields that are not set are not in the log.

    Imports log ratings and highlights only; a skipped or ignored item logs its state, reason and note. Older versions
    logged less, so readers of a log use `model_fields_set`. version: of the annotation, from 1. seconds: active time.
    arrangement: how several responses were shown. at: time of submission, ISO 8601. reason: the reason for a final
    value, or why the item was set aside. set_aside: position of each response that was not rated, and the reason.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")
    state: AssignmentState | None = None
    version: int = 0
    ratings: tuple[CheckedRating, ...] = ()
    highlights: tuple[LoggedHighlight, ...] = ()
    set_aside: tuple[tuple[int, str], ...] = ()
    note: str | None = None
    seconds: float = 0
    arrangement: str | None = None
    at: str | None = None
    reason: str | None = None

    @classmethod
    def of(cls, assignment: Assigned, checked: CheckedAnswers) -> Self:
        """The annotation that has just been written for this assignment, equal to what `stored` reads."""
        return cls(
            state=assignment.state,
            version=assignment.version - 1,
            ratings=checked.ratings,
            highlights=tuple(
                LoggedHighlight(
                    *(position, span.turn, span.start, span.end, span.label, span.comment.strip()), unit=span.unit
                )
                for position, span in checked.highlights
            ),
            set_aside=tuple(sorted(checked.set_aside.items())),
            note=checked.note or None,
            seconds=assignment.active_seconds,
            arrangement=assignment.arrangement,
            at=assignment.submitted_at.isoformat() if assignment.submitted_at else None,
        )

    @classmethod
    def stored(cls, session: Session, assignment_id: int) -> Self:
        """The annotation as stored in the tables now."""
        run = session.connection().execute
        answers = select_answers(*ANSWER).where(Rating.assignment_id == assignment_id)
        ordered = answers.order_by(StoredCriterion.position, Rating.position)
        spans = (
            select(Highlight.position, Highlight.turn, Highlight.start, Highlight.end, Highlight.label)
            .add_columns(Highlight.comment, case((Highlight.start.is_(None), Highlight.quote)), Highlight.unit)
            .where(Highlight.assignment_id == assignment_id)
        )
        own_slots = (Slot.assignment_id == assignment_id) & Slot.set_aside.is_not(None)
        aside = select(Slot.position, Slot.set_aside).where(own_slots).order_by(Slot.position)
        names = ("state", "version", "note", "active_seconds", "arrangement", "submitted_at")
        columns = (getattr(Assignment, name) for name in names)
        facts = run(select(*columns).where(Assignment.id == assignment_id)).one()
        return cls(
            state=facts.state,
            version=facts.version - 1,
            ratings=tuple(
                CheckedRating(position, criterion, number, option, missing, tuple(reasons or ()), text or "")
                for position, criterion, number, option, missing, reasons, text in run(ordered)
            ),
            highlights=tuple(LoggedHighlight(*row) for row in run(spans.order_by(Highlight.id))),
            set_aside=tuple((position, reason) for position, reason in run(aside)),
            note=facts.note,
            seconds=facts.active_seconds,
            arrangement=facts.arrangement,
            at=facts.submitted_at.isoformat() if facts.submitted_at else None,
        )

    def to_json(self) -> JsonObject:
        """The event's values: the fields that were set, rows as lists."""
        return self.model_dump(mode="json", exclude_unset=True)
