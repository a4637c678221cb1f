"""Final values: the values that count where annotators disagree. The annotations themselves stay unchanged.

Either a lead records final values after reading all annotations, or a chosen annotator gives them on the workbench
without seeing the other annotations. Final values are the item's one assignment with purpose adjudication. They are
exported under that purpose and excluded from all statistics, which are about independent annotations.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
from sqlalchemy import ColumnElement, Select, and_, delete, select, update
from sqlmodel import Session

from triptych import clock
from triptych.annotate import reservations
from triptych.annotate.exclusions import read_reason
from triptych.annotate.logged import LoggedAnnotation
from triptych.errors import Conflict, InvalidAnnotation, NotFound, StudyNotOpen
from triptych.people.membership import select_at_work
from triptych.results.criterion import criterion_ratings
from triptych.results.frame.counted import counting
from triptych.results.frame.highlights import main_item
from triptych.results.frame.model import ABOUT_ITEM, Counted, Frame
from triptych.results.study_analysis import StudyAnalysis
from triptych.rubric.model import Criterion
from triptych.rubric.scales import Best, Choice
from triptych.stats.analysis.final_values import FinalMeans, final_means
from triptych.storage import events
from triptych.storage.answers import select_answers
from triptych.storage.events import EventKind
from triptych.storage.models import (
    SEEN,
    Assignment,
    AssignmentState,
    Candidate,
    Highlight,
    Item,
    JsonObject,
    Option,
    Person,
    Purpose,
    Rating,
    Slot,
    StoredCriterion,
    Study,
    StudyState,
    System,
)
from triptych.study import lifecycle
from triptych.study.lifecycle import CriterionRow
from triptych.study.persons import Who

CHANGED = "Nothing was stored: {who} changed the final values of {item} after your page showed them. Look again."
# states in which a final value is recorded or asked for; if it is taken back or skipped, the item is open again
ASKED_OR_RECORDED = (AssignmentState.submitted, AssignmentState.reserved, AssignmentState.expired)
Values = dict[tuple[int, str], float | str | None]


@dataclass(frozen=True)
class FinalValue:
    """The final values of one item, who recorded them, when and why.

    values: (blind code, 0 about the item; criterion) → number or option. waiting: a chosen annotator was asked and has
    not answered yet.
    """

    by: str
    at: datetime | None
    reason: str
    values: Values
    waiting: bool


@dataclass(frozen=True)
class FinalAgreement:
    """How many of an annotator's ratings of adjudicated items equal the final value."""

    annotator: str
    same: int
    of: int


def record(
    session: Session,
    study: Study,
    item: str,
    values: Mapping[tuple[int, str], object],
    reason: str,
    who: Who,
    seen: FinalValue | None = None,
) -> None:
    """Stores a lead's final values of an item; those that the lead has seen are replaced.

    values: (blind code, 0 about the item; criterion) → a value on the criterion's scale, 1 or 0 where the question is
    which is best. Criteria that are left out have no final value. Raises NotFound, NotAllowed without a reason,
    InvalidAnnotation for a value off its scale or without any value, Conflict if other final values than seen are
    stored.
    """
    study = _locked(session, study, item)
    _refuse_unseen(session, study, item, seen)
    neat, item_row = read_reason(reason, "exports"), main_item(session, study, item)
    assignment = _assignment_of(session, item_row) or _made(session, study, item_row, who)
    decided = assignment.state == AssignmentState.submitted
    old = _logged_decision(session, assignment) if decided else None
    rows = _checked(session, study, assignment, values)
    _hand_over(session, assignment, who.person_id, order_known=False)
    assignment.version += 1
    assignment.state, assignment.reason, assignment.submitted_at = AssignmentState.submitted, neat, clock.now()
    session.add_all(rows)
    session.flush()
    kind = EventKind.final_value_changed if decided else EventKind.final_value_recorded
    new = _logged(session, assignment)
    events.record(session, study.id, kind, who.pseudonym, assignment_id=assignment.id, old=old, new=new)


def ask(session: Session, study: Study, item: str, pseudonym: str, who: Who) -> None:
    """Assign the item as an annotator's next one; their answers become its final values. They see it like any other
    item: no systems, no one else's ratings. Raises StudyNotOpen for a study that assigns no more items, NotFound for
    someone who cannot be asked now or has seen the item, Conflict if there is a final value or somebody was asked
    already.
    """
    study = _locked(session, study, item)
    if study.state not in (StudyState.open, StudyState.paused):
        raise StudyNotOpen("The study is not open, so no items are assigned. Open it, or decide yourself.")
    item_row = main_item(session, study, item)
    before = _assignment_of(session, item_row)
    if before is not None and before.state in ASKED_OR_RECORDED:
        raise Conflict("This item already has a final value, or someone was asked for it. Withdraw that first.")
    chosen = session.scalars(_who_have_not_seen(study, item).where(Person.pseudonym == pseudonym)).first()
    if chosen is None:
        raise NotFound(f"{pseudonym} is not an annotator of this study who can be asked about this item now.")
    assignment = before or _made(session, study, item_row, who)
    _hand_over(session, assignment, chosen.id, order_known=True)
    # as if it had expired: the item the annotator holds now comes first, then this one
    assignment.state, assignment.reason, assignment.submitted_at = AssignmentState.expired, None, None
    session.flush()
    new = {"annotator": pseudonym}
    events.record(
        session, study.id, EventKind.final_value_asked_for, who.pseudonym, assignment_id=assignment.id, new=new
    )


def take_back(session: Session, study: Study, item: str, reason: str, who: Who, seen: FinalValue | None) -> None:
    """Removes the final values that the lead has seen, or the request for them.

    Raises NotFound, NotAllowed without a reason, Conflict if none or others are stored.
    """
    study = _locked(session, study, item)
    _refuse_unseen(session, study, item, seen)
    neat, assignment = read_reason(reason, "exports"), _assignment_of(session, main_item(session, study, item))
    if assignment is None or assignment.state not in ASKED_OR_RECORDED:
        raise Conflict("This item has no final value.")
    old = _logged_decision(session, assignment)
    _hand_over(session, assignment, who.person_id, order_known=False)
    assignment.state, assignment.reason, assignment.submitted_at = AssignmentState.withdrawn, neat, None
    session.flush()
    new = _logged(session, assignment)
    events.record(
        session,
        study.id,
        EventKind.final_value_taken_back,
        who.pseudonym,
        assignment_id=assignment.id,
        old=old,
        new=new,
    )


def final_values(session: Session, study: Study, item: str | None = None) -> dict[str, FinalValue]:
    """Item → its final value, for all items that have one or wait for one."""
    adjudicated = (
        select(Assignment, Item.external_id, Person.pseudonym)
        .join(Item, Item.id == Assignment.item_id)
        .join(Person, Person.id == Assignment.person_id)
        .where(*_asked_or_recorded(study), *([Item.external_id == item] if item is not None else []))
    )
    values: dict[int, Values] = {}
    for assignment_id, code, criterion, number, option in session.execute(_values_of(study)):
        values.setdefault(assignment_id, {})[code or ABOUT_ITEM, criterion] = option if number is None else number
    return {
        external_id: FinalValue(
            pseudonym,
            assignment.submitted_at,
            assignment.reason or "",
            values.get(assignment.id, {}),
            assignment.submitted_at is None,
        )
        for assignment, external_id, pseudonym in session.execute(adjudicated)
    }


def agreement(frame: Frame, counted: Counted, finals: Mapping[str, FinalValue]) -> list[FinalAgreement]:
    """Per annotator, how many of their ratings equal the final value; empty where there is no final value."""
    final, decided = decided_frame(frame, finals)
    ratings, options = frame.ratings, final.ratings["option"].astype(object)
    same = ratings["value"].eq(final.ratings["value"]) | ratings["option"].astype(object).eq(options)
    rows = counting(frame, counted) & decided & ~ratings["missing"].to_numpy()
    counts = pd.DataFrame({"same": same, "of": 1})[rows].groupby(ratings["annotator"].astype(str)[rows]).sum()
    return [FinalAgreement(row.Index, int(row.same), int(row.of)) for row in counts.itertuples()]


def both_versions(analysis: StudyAnalysis, finals: Mapping[str, FinalValue]) -> tuple[FinalMeans, ...]:
    """Means with and without final values, per criterion and system with a final value."""
    if not finals:
        return ()
    frame, replaced = decided_frame(analysis.frame, finals)
    if not replaced.any():
        return ()
    pairs = zip(analysis.ratings, criterion_ratings(frame, analysis.scope), strict=True)
    return tuple(
        means for given, final in pairs for means in final_means(given, final, replaced[given.rows], analysis.systems)
    )


def decided_ones(finals: Mapping[str, FinalValue]) -> list[FinalValue]:
    """The final values that are recorded, without those that wait for an annotator."""
    return [final for final in finals.values() if not final.waiting]


def decided_frame(frame: Frame, finals: Mapping[str, FinalValue]) -> tuple[Frame, np.ndarray]:
    """The frame with every rating replaced by the final value, where there is one; and (n,) which ratings those are."""
    values = {(item, *place): value for item, final in finals.items() for place, value in final.values.items()}
    ratings = frame.ratings
    decided = np.zeros(len(ratings), dtype=bool)
    numbers, missing = ratings["value"].to_numpy(copy=True), ratings["missing"].to_numpy(copy=True)
    options, unanswered = ratings["option"].astype(object).to_numpy(copy=True), _missing_options(frame)
    has_final = ratings["item"].isin(list(finals)).to_numpy()
    for row in np.flatnonzero(has_final).tolist():
        item, system, criterion = (ratings[name].iat[row] for name in ("item", "system", "criterion"))
        value = values.get((item, system, criterion))
        if value is not None:
            is_option = isinstance(value, str)
            decided[row], options[row] = True, value if is_option else None
            numbers[row], missing[row] = np.nan if is_option else value, (criterion, value) in unanswered
    changed = ratings.assign(value=numbers, option=pd.Categorical(options), missing=missing)
    return replace(frame, ratings=changed), decided


def _missing_options(frame: Frame) -> set[tuple[str, float | str]]:
    """(criterion, option) of the options that the rubric marks missing."""
    scales = ((criterion.key, criterion.scale) for criterion in frame.rubric.criteria)
    return {(key, option) for key, scale in scales if isinstance(scale, Choice) for option in scale.missing}


def adjudicators(session: Session, study: Study, item: str) -> list[str]:
    """Annotators who can be asked for a final value of the item: those who have not seen it."""
    return [person.pseudonym for person in session.scalars(_who_have_not_seen(study, item).order_by(Person.pseudonym))]


def _refuse_unseen(session: Session, study: Study, item: str, seen: FinalValue | None) -> None:
    """Raises Conflict if other final values than these are stored."""
    final = final_values(session, study, item).get(item)
    if final != seen:
        raise Conflict(CHANGED.format(item=item, who=final.by if final and not final.waiting else "someone"))


def _locked(session: Session, study: Study, item: str) -> Study:
    """The study, locked after all work on the item, as its annotators' commands do.

    Otherwise a rating that is being changed would be stored after the final value, on PostgreSQL, and the asked
    annotator's own command could deadlock with the lead's.
    """
    of_item = (Item.study_id == study.id) & (Item.external_id == item)
    work = select(Assignment.id).join(Item, Item.id == Assignment.item_id).where(of_item).order_by(Assignment.id)
    session.execute(work.with_for_update(of=Assignment, key_share=True))
    return lifecycle.lock(session, study.id)


def _who_have_not_seen(study: Study, item: str) -> Select[Person]:
    """Annotators who neither rated, ignored or skipped the item nor hold it now."""
    met = (
        select(Assignment.person_id)
        .join(Item, Item.id == Assignment.item_id)
        .where(Item.study_id == study.id, Item.external_id == item, Assignment.purpose == Purpose.main)
        .where(Assignment.state.in_((*SEEN, AssignmentState.reserved)))
    )
    return select_at_work(study, Person).where(Person.id.not_in(met))


def _asked_or_recorded(study: Study) -> Iterator[ColumnElement[bool]]:
    yield Assignment.study_id == study.id
    yield Assignment.purpose == Purpose.adjudication
    yield Assignment.state.in_(ASKED_OR_RECORDED)


def _assignment_of(session: Session, item: Item) -> Assignment | None:
    adjudicated = select(Assignment).where(Assignment.item_id == item.id, Assignment.purpose == Purpose.adjudication)
    return session.scalars(adjudicated.execution_options(populate_existing=True)).first()


def _made(session: Session, study: Study, item: Item, who: Who) -> Assignment:
    """The item's adjudication assignment, which nobody has yet."""
    made = reservations.reserve(session, study, who, item.id, Purpose.adjudication, (), state=AssignmentState.withdrawn)
    return session.get_one(Assignment, made.id)


def _hand_over(session: Session, assignment: Assignment, person_id: int, *, order_known: bool) -> None:
    """Empties the assignment and gives it to this person; a browser that still has it open can store nothing in it.

    By its new token, not by another version: an item that nobody has answered begins at version 1, as others do.
    """
    own_slots = Slot.assignment_id == assignment.id
    for statement in (
        delete(Rating).where(Rating.assignment_id == assignment.id),
        delete(Highlight).where(Highlight.assignment_id == assignment.id),
        update(Slot).where(own_slots).values(order_known=order_known, set_aside=None),
    ):
        session.execute(statement.execution_options(synchronize_session=False))
    assignment.person_id, assignment.token = person_id, secrets.token_urlsafe(12)
    assignment.draft, assignment.pen, assignment.note = None, None, None
    assignment.draft_seq, assignment.active_seconds = 0, 0
    assignment.reserved_at = assignment.expires_at = clock.now()


def _checked(
    session: Session, study: Study, assignment: Assignment, values: Mapping[tuple[int, str], object]
) -> list[Rating]:
    """Rows of the values. Raises InvalidAnnotation."""
    design = lifecycle.design_of(session, study)
    asked = {criterion.key: criterion for criterion in design.rubric.asked(study.round)}
    slots = (
        select(System.blind_code, Slot.position)
        .join(Candidate, Candidate.system_id == System.id)
        .join(Slot, Slot.candidate_id == Candidate.id)
        .where(Slot.assignment_id == assignment.id)
    )
    places: dict[int, int | None] = {ABOUT_ITEM: None, **dict(session.execute(slots).all())}
    if not values:
        raise InvalidAnnotation("Choose at least one final value.")
    rows = []
    for (code, key), value in values.items():
        if key not in asked or code not in places or asked[key].per_response == (code == ABOUT_ITEM):
            raise InvalidAnnotation(f"{key!r} is not asked about this in the study.")
        rows.append(_row(design.criteria[key], asked[key], places[code], value) | {"assignment_id": assignment.id})
    return [Rating(**row) for row in rows]


def _row(criterion_row: CriterionRow, criterion: Criterion, position: int | None, value: Any) -> dict[str, Any]:
    row = {"position": position, "criterion_id": criterion_row.id}
    if isinstance(criterion.scale, Best):
        if value not in (0, 1):
            raise InvalidAnnotation(f"{criterion.title}: 1 means best, 0 means not best.")
        return row | {"number": float(value)}
    checked = criterion.scale.check(value)
    if isinstance(criterion.scale, Choice):
        is_missing = checked in criterion.scale.missing
        return row | {"option_id": criterion_row.options[str(checked)], "missing": is_missing}
    return row | {"number": checked}


def _logged(session: Session, assignment: Assignment) -> JsonObject:
    """The final values as an annotation is logged, with the reason."""
    annotation = LoggedAnnotation.stored(session, assignment.id)
    return annotation.model_copy(update={"reason": assignment.reason}).to_json()


def _logged_decision(session: Session, assignment: Assignment) -> JsonObject | None:
    """What a lead had decided, as it is logged; None for an annotator's answers.

    Those are only in events by the annotator, whose values are deleted when they leave.
    """
    was_asked = select(Slot.order_known).where(Slot.assignment_id == assignment.id).limit(1)
    return None if session.scalars(was_asked).first() else _logged(session, assignment)


def _values_of(study: Study) -> Select[int, int | None, str, float | None, str | None]:
    """(assignment, blind code or none, criterion, number, option) of every final value."""
    at_slot = and_(Slot.assignment_id == Rating.assignment_id, Slot.position == Rating.position)
    return (
        select_answers(Rating.assignment_id, System.blind_code, StoredCriterion.key, Rating.number, Option.key)
        .outerjoin(Slot, at_slot)
        .outerjoin(Candidate, Candidate.id == Slot.candidate_id)
        .outerjoin(System, System.id == Candidate.system_id)
        .where(*_asked_or_recorded(study))
    )
