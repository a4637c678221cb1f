"""Feedback on training items: what was given beside the reference and its reason, never "right" or "wrong"."""

from __future__ import annotations

from sqlalchemy import select
from sqlmodel import Session

from triptych.assignments import Assigned
from triptych.blinding import LETTERS, Feedback, FeedbackRow
from triptych.models import Criterion, Option, Rating, Reference
from triptych.rubric import Choice, Likert, Rubric


def feedback(session: Session, rubric: Rubric, assignment: Assigned) -> Feedback:
    """One row per reference of the item, in the order of the criteria."""
    given = {
        (position, criterion): option if number is None else number
        for position, criterion, number, option in session.execute(
            select(Rating.position, Rating.criterion_id, Rating.number, Option.key)
            .outerjoin(Option, Option.id == Rating.option_id)
            .where(Rating.assignment_id == assignment.id)
        )
    }
    wanted = select(Reference, Criterion.key).join(Criterion).where(Reference.item_id == assignment.item_id)
    return Feedback(
        rows=tuple(
            _row(rubric, key, reference, given.get((reference.position, reference.criterion_id)))
            for reference, key in session.execute(wanted.order_by(Criterion.position, Reference.position))
        )
    )


def _row(rubric: Rubric, criterion: str, reference: Reference, given: float | str | None) -> FeedbackRow:
    return FeedbackRow(
        criterion=criterion,
        slot=None if reference.position is None else LETTERS[reference.position],
        given=_shown(rubric, criterion, given),
        reference=_shown(rubric, criterion, reference.accepted),
        verdict=verdict(given, reference.accepted, reference.close),
        reason=reference.reason,
    )


def verdict(given: float | str | None, accepted: str, close: float) -> str:
    """`same`, `close` (within the reference's own margin) or `different`."""
    try:
        distance = abs(float(given) - float(accepted))
    except (TypeError, ValueError):
        return "same" if given == accepted else "different"
    if distance == 0:
        return "same"
    return "close" if distance <= close else "different"


def _shown(rubric: Rubric, criterion: str, value: float | str | None) -> str:
    """A value as the screen names it."""
    if value is None:
        return "–"
    scale = rubric.criterion(criterion).scale
    if isinstance(scale, Choice):
        return next((option.title for option in scale.options if option.key == value), str(value))
    title = ""
    if isinstance(scale, Likert):
        title = next((point.title for point in scale.points if point.value == float(value)), "")
    return f"{float(value):g}" + (f" – {title}" if title else "")
