"""Feedback on training items: what was given beside the reference and its reason, never "right" or "wrong"."""

from __future__ import annotations

from sqlmodel import Session

from triptych.annotate.blinding import Feedback, FeedbackRow
from triptych.annotate.checks import compared, in_words
from triptych.annotate.reservations import Assigned
from triptych.rubric.answers import LETTERS
from triptych.rubric.model import Rubric
from triptych.storage.models import Assignment


def feedback(session: Session, rubric: Rubric, assignment: Assigned) -> Feedback:
    """One row per reference of the item, in the order of the criteria."""
    return Feedback(
        rows=tuple(
            FeedbackRow(
                criterion=comparison.criterion,
                slot=None if comparison.position is None else LETTERS[comparison.position],
                given=in_words(rubric, comparison.criterion, comparison.given),
                reference=in_words(rubric, comparison.criterion, comparison.accepted),
                verdict=comparison.verdict,
                reason=comparison.reason,
            )
            for comparison in compared(session, Assignment.id == assignment.id)
        )
    )
