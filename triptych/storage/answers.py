"""The query for the answers of assignments: a row per rating, with its position, criterion and explanation."""

from __future__ import annotations

from typing import Any, TypeVarTuple

from sqlalchemy import Select, SQLColumnExpression, select

from triptych.storage.models import Assignment, Base, Explanation, Option, Rating, StoredCriterion

# position (None: about the item), criterion, number, option, missing, reasons, text: as an answer in the event log
Columns = TypeVarTuple("Columns")  # the types of a query's columns
Answer = tuple[int | None, str, float | None, str | None, bool, list[str] | None, str | None]
ANSWER = (
    Rating.position,
    StoredCriterion.key,
    Rating.number,
    Option.key,
    Rating.missing,
    Explanation.reasons,
    Explanation.text,
)


def select_answers(*columns: SQLColumnExpression[object] | type[Base]) -> Select[*tuple[Any, ...]]:
    """Select these columns of all answers, in no particular order; option and explanation are NULL where there is none.

    The caller chooses the assignments: `.where(Rating.assignment_id == …)`, or any condition on Assignment.
    """
    return (
        select(*columns)
        .select_from(Rating)
        .join(Assignment, Assignment.id == Rating.assignment_id)
        .join(StoredCriterion, StoredCriterion.id == Rating.criterion_id)
        .outerjoin(Option, Option.id == Rating.option_id)
        .outerjoin(Explanation, Explanation.rating_id == Rating.id)
    )
