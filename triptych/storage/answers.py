"""The query for the answers of assignments: a row per rating, with what it is about and how it was explained."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, select

from triptych.storage.models import Assignment, Explanation, Option, Rating, StoredCriterion

# position (None: about the item), criterion, number, option, missing, reasons, text: as the event log has an answer
ANSWER = (
    Rating.position,
    StoredCriterion.key,
    Rating.number,
    Option.key,
    Rating.missing,
    Explanation.reasons,
    Explanation.text,
)


def select_answers(*columns: Any) -> Select[*tuple[Any, ...]]:
    """These columns of every answer, in no order; option and explanation are NULL where there is none.

    The caller names the assignments: `.where(Rating.assignment_id == …)`, or any condition on Assignment.
    """
    return (
        select(*columns)
        .select_from(Rating)
        .join(Assignment, Assignment.id == Rating.assignment_id)
        .join(StoredCriterion, StoredCriterion.id == Rating.criterion_id)
        .outerjoin(Option, Option.id == Rating.option_id)
        .outerjoin(Explanation, Explanation.rating_id == Rating.id)
    )
