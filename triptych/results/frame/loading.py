"""Work and ratings of a study as two tables, for the data frame.

Only code for leads joins slot → candidate → system, as here; `annotate/candidate_order`, which balances the order,
stops at the system's id. The tables contain the blind codes of systems; only `system_names` has their names.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sqlalchemy import ColumnElement, Integer, Row, Select, SQLColumnExpression, and_, case, select, type_coerce
from sqlmodel import Session

from triptych.annotate.reservations import takes_places
from triptych.results.frame.model import ABOUT_ITEM, UNKNOWN_POSITION
from triptych.storage.answers import Columns
from triptych.storage.models import (
    IN_PLACE,
    RATED,
    SEEN,
    Assignment,
    AssignmentState,
    Candidate,
    Explanation,
    Item,
    Membership,
    Person,
    Purpose,
    Rating,
    Slot,
    Study,
    System,
    annotators_part,
)
from triptych.study import lifecycle
from triptych.study.lifecycle import CriterionRow

TIMES = ["assigned_at", "submitted_at"]
WORK = ["assignment", "annotator", "kind", "item", "state", "excluded", "active_seconds", *TIMES]
PLACED = "in_place"
# an ignored item has a reason and no ratings; without a place its state is surplus, but it still counts as ignored
GIVEN_STATE = case(
    (and_(Assignment.state == AssignmentState.surplus, Assignment.reason.is_not(None)), AssignmentState.ignored.value),
    else_=Assignment.state,
)
# numeric columns of a rating, by type; other columns hold codes
ANSWERS = {
    "rating": "int64",
    "assignment": "int64",
    "position": "float64",
    "criterion": "int64",
    "value": "float64",
    "option": "float64",
    "missing": "bool",
}
PLACES = {"assignment": "int64", "position": "int64", "order_known": "bool", "system": "int32"}
AT_ONCE = 500  # rows; 700 new objects would trigger the garbage collector
RATING = ["position", "system", "criterion", "value", "option", "missing", "reasons", "explanation"]
LABELS = ("annotator", "kind", "item", "state", "criterion", "option", "reasons")


def load(
    session: Session, study: Study, only: Collection[int] | None, purpose: Purpose = Purpose.main
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Work and ratings of the assignments of one purpose; only: numbers of assignments, None for all."""
    work = _typed(_stored_rows(session, _limited(_work_of(study, purpose), only)))
    rated = (Assignment.study_id == study.id, Assignment.purpose == purpose, Assignment.state.in_(RATED))
    answers = _arrays(session, _limited(_answers_of(*rated), only), ANSWERS)
    places = _arrays(session, _limited(_places_of(*rated), only), PLACES)
    explained = session.execute(_limited(_explained_of(*rated), only)).all()
    rows = pd.Index(work["assignment"]).get_indexer(answers["assignment"])
    if (rows < 0).any():  # stored after the work was read; its event will be processed next time
        answers, rows = {name: column[rows >= 0] for name, column in answers.items()}, rows[rows >= 0]
    columns = {
        **_placed(answers, places),
        **_answered(answers, lifecycle.design_of(session, study).criteria),
        **_explained(answers, explained),
    }
    ratings = work.take(rows).reset_index(drop=True).assign(**columns)
    return work, ratings[[*WORK, *RATING]]


def _arrays(session: Session, statement: Select[*Columns], kinds: dict[str, str]) -> dict[str, np.ndarray]:
    """Columns of numbers, None as NaN, a few rows of the driver at a time.

    SQLAlchemy's own rows would take as long again to build, and numbers need no conversion.
    """
    parts = [[np.empty(0, kind) for kind in kinds.values()]]
    with session.connection().execute(statement) as result:
        while result.cursor and (rows := result.cursor.fetchmany(AT_ONCE)):
            columns = zip(*rows, strict=True)
            parts.append([np.array(column, kind) for column, kind in zip(columns, kinds.values(), strict=True)])
    return dict(zip(kinds, map(np.concatenate, zip(*parts, strict=True)), strict=True))


def _placed(answers: dict[str, np.ndarray], places: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Position and system of each rating."""
    of_item = np.isnan(answers["position"])
    position = np.where(of_item, 0, answers["position"]).astype(np.int64)
    width = 1 + max(position.max(initial=0), places["position"].max(initial=0))
    slots = pd.Index(places["assignment"] * width + places["position"])
    at = np.where(of_item, -1, slots.get_indexer(answers["assignment"] * width + position))
    is_shown = np.append(places["order_known"], False)[at]
    return {
        "position": np.where(is_shown, position, UNKNOWN_POSITION).astype(np.int16),
        "system": np.append(places["system"], np.int32(ABOUT_ITEM))[at],
    }


def _answered(answers: dict[str, np.ndarray], criteria: dict[str, CriterionRow]) -> dict[str, object]:
    """The columns for the criterion and the answer."""
    keys = {row.id: key for key, row in criteria.items()}
    options = {number: key for row in criteria.values() for key, number in row.options.items()}
    return {
        "criterion": _labels(answers["criterion"], keys),
        "value": answers["value"],
        "option": _labels(np.nan_to_num(answers["option"]).astype(np.int64), options),
        "missing": answers["missing"],
    }


def _explained(answers: dict[str, np.ndarray], explained: Sequence[Row[int, list[str], str]]) -> dict[str, object]:
    """Reasons and texts of all ratings; few ratings may have any."""
    at = pd.Index(answers["rating"]).get_indexer([row.rating_id for row in explained])
    texts = np.full(len(answers["rating"]), "", dtype=object)
    reasons = np.zeros(len(texts), dtype=np.int64)
    numbers = {"": 0}
    for place, (_, keys, text) in zip(at.tolist(), explained, strict=True):
        if place >= 0:
            texts[place] = text
            reasons[place] = numbers.setdefault(",".join(keys or ()), len(numbers))
    names = {number: keys for keys, number in numbers.items()}
    return {"reasons": _labels(reasons, names), "explanation": pd.Series(texts, dtype="str")}


def _labels(numbers: np.ndarray, names: dict[int, str]) -> pd.Categorical:
    """The numbers as categories with their names; a number without a name becomes missing."""
    at, occurring = pd.factorize(numbers)
    named = [names.get(number) for number in occurring.tolist()]
    keys = sorted({key for key in named if key is not None})
    code = np.array([-1 if key is None else keys.index(key) for key in named], dtype=np.int64)
    return pd.Categorical.from_codes(code[at], pd.Index(keys, dtype="str"))


def _stored_rows(session: Session, statement: Select[*Columns]) -> Sequence[object]:
    """Rows from the driver, with times as text on SQLite; SQLAlchemy's own rows would take four times as long."""
    with session.connection().execute(statement) as result:
        return result.cursor.fetchall() if result.cursor else ()


def _typed(rows: Sequence[object]) -> pd.DataFrame:
    """Work as a frame whose column types do not depend on the values, so that an empty frame has the same types."""
    labels = [name for name in WORK if name in LABELS]
    kinds = {"assignment": "int64", "excluded": "bool", PLACED: "bool", "active_seconds": "float64"}
    work = pd.DataFrame(rows, columns=[*WORK, PLACED]).astype(kinds | dict.fromkeys(labels, "str"))
    times = {name: pd.to_datetime(work[name], utc=True, format="ISO8601").dt.as_unit("us") for name in TIMES}
    return work.astype(dict.fromkeys(labels, "category")).assign(**times)


def _limited(statement: Select[*Columns], only: Collection[int] | None) -> Select[*Columns]:
    return statement if only is None else statement.where(Assignment.id.in_(only))


def select_work(*columns: SQLColumnExpression[object]) -> Select[*tuple[Any, ...]]:
    """Assignments with their item, their person, and that person's part in the study, if there is one."""
    return (
        select(*columns)
        .select_from(Assignment)
        .join(Item, Item.id == Assignment.item_id)
        .join(Person, Person.id == Assignment.person_id)
        .outerjoin(Membership, annotators_part())
    )


def _work_of(study: Study, purpose: Purpose) -> Select[*tuple[object, ...]]:
    return select_work(
        Assignment.id,
        Person.pseudonym,
        Person.kind,
        Item.external_id,
        GIVEN_STATE,
        Membership.excluded_at.is_not(None),
        Assignment.active_seconds,
        Assignment.reserved_at,
        Assignment.submitted_at,
        and_(Assignment.state.in_(IN_PLACE), takes_places(study)),
    ).where(Assignment.study_id == study.id, Assignment.purpose == purpose, Assignment.state.in_(SEEN))


def _answers_of(*rated: ColumnElement[bool]) -> Select[int, int, int | None, int, float | None, int | None, int]:
    """Answers as stored, with row numbers instead of labels, which would take five times as long."""
    columns = (Rating.id, Rating.assignment_id, Rating.position, Rating.criterion_id, Rating.number, Rating.option_id)
    missing = type_coerce(Rating.missing, Integer)
    return select(*columns, missing).join(Assignment, Assignment.id == Rating.assignment_id).where(*rated)


def _places_of(*rated: ColumnElement[bool]) -> Select[int, int, int, int]:
    """Which system was shown where."""
    return (
        select(Slot.assignment_id, Slot.position, type_coerce(Slot.order_known, Integer), System.blind_code)
        .join(Assignment, Assignment.id == Slot.assignment_id)
        .join(Candidate, Candidate.id == Slot.candidate_id)
        .join(System, System.id == Candidate.system_id)
        .where(*rated)
    )


def _explained_of(*rated: ColumnElement[bool]) -> Select[int, list[str], str]:
    return (
        select(Explanation.rating_id, Explanation.reasons, Explanation.text)
        .join(Rating, Rating.id == Explanation.rating_id)
        .join(Assignment, Assignment.id == Rating.assignment_id)
        .where(*rated)
    )
