"""Storing what annotators give: drafts, submissions, skips. The browser is never trusted.

Nothing here knows a system or a candidate's id beyond the slot; texts are read only to check highlights.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy import Boolean, Float, bindparam, case, delete, func, insert, or_, select, update
from sqlmodel import Session

from triptych import assignments, clock, database, events, studies
from triptych.answers import Checked, CheckedRating, Text, check_answers, check_draft, count_words, parse_answers
from triptych.assignments import TTL, Nothing
from triptych.errors import AlreadySubmitted, InvalidAnnotation, NotFound, OpenElsewhere
from triptych.models import (
    Assignment,
    AssignmentState,
    Candidate,
    Criterion,
    Explanation,
    Highlight,
    Option,
    Purpose,
    Rating,
    Slot,
    Study,
    StudyState,
    Submission,
)
from triptych.people import Who
from triptych.studies import Design

MOST = 2**31 - 2  # a submission adds one, and PostgreSQL counts no further
_rating, _explanation = Rating.__table__, Explanation.__table__
# prepared once: they run for every annotation
_this_assignment = bindparam("assignment")
_RATINGS = (
    select(
        Rating.position, Criterion.key, Rating.number, Option.key, Rating.missing, Explanation.reasons, Explanation.text
    )
    .join(Criterion, Criterion.id == Rating.criterion_id)
    .outerjoin(Option, Option.id == Rating.option_id)
    .outerjoin(Explanation, Explanation.rating_id == Rating.id)
    .where(Rating.assignment_id == _this_assignment)
    .order_by(Criterion.position, Rating.position)
)
_SPANS = (
    select(Highlight.position, Highlight.turn, Highlight.start, Highlight.end, Highlight.label, Highlight.comment)
    .where(Highlight.assignment_id == _this_assignment)
    .order_by(Highlight.id)
)
OPEN_ELSEWHERE = "This item is open in another tab or on another computer."
GIVEN = "This item was submitted before."


class Message(BaseModel):
    """What every message of the workbench carries."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    assignment: str = Field(max_length=64)
    version: int = Field(ge=1, le=MOST)
    pen: str = Field(min_length=8, max_length=64)
    active_seconds: float = Field(default=0, ge=0, le=10**7, allow_inf_nan=False)


class DraftMessage(Message):
    seq: int = Field(ge=1, le=MOST)
    base: int = Field(ge=0, le=MOST)
    take: bool = False
    draft: dict[str, Any]


class FinalMessage(Message):
    """What ends the work on an item; `base` is the last draft number the browser knows to be stored."""

    kind: str
    submission: str = Field(min_length=8, max_length=64)
    base: int = Field(default=0, ge=0, le=MOST)


class SubmitMessage(FinalMessage):
    answers: dict[str, Any]


class SetAsideMessage(FinalMessage):
    """Skip or ignore the item, with a reason."""

    reason: str = Field(max_length=40)
    text: Text = ""


@dataclass(frozen=True)
class Receipt:
    """The same submission always gets the same receipt; `next` is what the annotator does now."""

    submission: str
    assignment: Assignment
    next: Assignment | Nothing


M = TypeVar("M", bound=Message)

# prepared once: these run for every draft or annotation
_at = Slot.assignment_id == bindparam("assignment")
_COUNT_SLOTS = select(func.count()).where(_at)
_DRAFTED = (
    select(
        Assignment.id.label("assignment_id"),
        Assignment.version,
        Assignment.reserved_at,
        Study.id,
        Study.state,
        Study.round,
        Study.seed,
        Study.created_at,
        Study.rubric_id,
        select(func.count()).where(Slot.assignment_id == Assignment.id).scalar_subquery().label("candidates"),
    )
    .join(Study, Study.id == Assignment.study_id)
    .where(Assignment.token == bindparam("token"), Assignment.person_id == bindparam("person"))
)
_SUBMITTED = select(Submission.assignment_id).where(Submission.id == bindparam("submission"))
_LAST_RECEIPT = (
    select(Submission.id)
    .where(Submission.assignment_id == bindparam("assignment"))
    .order_by(Submission.version.desc())
    .limit(1)
)
# the one statement that decides every race between tabs
_STORE_DRAFT = (
    update(Assignment)
    .where(Assignment.id == bindparam("assignment"), Assignment.version == bindparam("of"))
    .where(Assignment.draft_seq < bindparam("seq"))
    .where(
        or_(
            Assignment.pen == bindparam("new_pen"),
            Assignment.draft_seq == bindparam("base"),
            bindparam("take", type_=Boolean),
        )
    )
    .values(
        draft=bindparam("new_draft"),
        draft_seq=bindparam("seq"),
        pen=bindparam("new_pen"),
        # what was submitted took the time it took; an edit counts when it is submitted
        active_seconds=case(
            (Assignment.submitted_at.is_(None), bindparam("seconds", type_=Float)), else_=Assignment.active_seconds
        ),
        expires_at=bindparam("until"),
    )
)


def read_message(kind: type[M], data: Any) -> M:
    """The message, typed. Raises InvalidAnnotation and changes nothing."""
    try:
        return kind.model_validate(data, strict=False)
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(str(part) for part in first["loc"])
        raise InvalidAnnotation(f"The message does not fit: {path}: {first['msg']}.") from error


@dataclass(frozen=True)
class Refusal:
    """Why a draft was not stored, with what is stored instead."""

    reason: str
    message: str
    draft: dict[str, Any] | None = None
    draft_seq: int = 0
    receipt: str | None = None


def save_draft(session: Session, who: Who, message: DraftMessage) -> int | Refusal:
    """Stores the draft if it is newer than the stored one and comes from the tab that holds the pen.

    Another tab may take the pen if nothing was stored since it looked (`base`), or on request (`take`).
    Returns the sequence number stored, or why not. Raises NotFound, InvalidAnnotation.
    """
    run = session.connection().execute
    found = run(_DRAFTED, {"token": message.assignment, "person": who.person_id}).first()
    if found is None:
        raise NotFound(assignments.NOT_YOURS)
    if found.version != message.version:
        return Refusal("submitted", GIVEN, receipt=run(_LAST_RECEIPT, {"assignment": found.assignment_id}).scalar())
    if found.state == StudyState.closed:
        return Refusal("closed", "This study is closed; nothing more can be stored.")
    check_draft(studies.design_of(session, found).rubric, found.round, found.candidates, message.draft)
    change = {
        "new_draft": message.draft,
        "seq": message.seq,
        "new_pen": message.pen,
        "seconds": _capped(found.reserved_at, message.active_seconds),
        "until": clock.now() + TTL,
    }
    race = {"assignment": found.assignment_id, "base": message.base, "take": message.take, "of": message.version}
    if run(_STORE_DRAFT, {**change, **race}).rowcount == 1:
        return message.seq
    # somebody else may have written since it was read
    stored = session.get_one(Assignment, found.assignment_id, populate_existing=True)
    if stored.version != message.version:
        return Refusal("submitted", GIVEN, receipt=run(_LAST_RECEIPT, {"assignment": stored.id}).scalar())
    if stored.pen == message.pen:
        return stored.draft_seq
    return Refusal("open_elsewhere", OPEN_ELSEWHERE, stored.draft, stored.draft_seq)


def _capped(reserved_at: datetime, seconds: float) -> float:
    """Active seconds as the browser measured them, never more than the time since the item was given out."""
    return min(seconds, max((clock.now() - reserved_at).total_seconds(), 0))


def _candidate_count(session: Session, assignment: Assignment) -> int:
    return session.connection().execute(_COUNT_SLOTS, {"assignment": assignment.id}).scalar_one()


def submit(session: Session, who: Who, message: SubmitMessage) -> Receipt:
    """Stores the whole annotation and reserves the next item, in the caller's transaction.

    The same submission id again gives the same receipt. Raises InvalidAnnotation, NotFound, AlreadySubmitted,
    OpenElsewhere, StudyNotOpen; then nothing has changed.
    """
    study, assignment = _locked(session, who, message.assignment)
    if not _is_repeat(session, assignment, message.submission):
        _refuse_unless_current(study, assignment, message)
        _refuse_other_pen(assignment, message)
        _store(session, study, assignment, who, message)
    return Receipt(message.submission, assignment, assignments.current_in(session, study, who))


def _store(session: Session, study: Study, assignment: Assignment, who: Who, message: SubmitMessage) -> None:
    design = studies.design_of(session, study)
    answers = parse_answers(message.answers)
    checked = check_answers(design.rubric, study.round, _candidate_count(session, assignment), answers)
    edited = assignment.submitted_at is not None
    old = stored_answers(session, assignment) if edited else None
    if edited:
        _clear(session, assignment)
    _write_ratings(session, design, assignment, checked)
    _write_highlights(session, assignment, checked)
    assignment.note, assignment.reason = checked.note or None, None
    assignment.draft, assignment.draft_seq = message.answers, assignment.draft_seq + 1
    _finish(session, assignment, message, AssignmentState.submitted)
    kind = "annotation edited" if edited else assignment.state
    new = _logged(assignment, checked)
    events.record(session, study.id, kind, who.pseudonym, assignment_id=assignment.id, old=old, new=new)


def set_aside_item(session: Session, who: Who, message: SetAsideMessage) -> Receipt:
    """Skips the item (its place becomes free) or ignores it (counts as done), with a reason of the rubric.

    Raises InvalidAnnotation, NotFound, AlreadySubmitted, OpenElsewhere, StudyNotOpen.
    """
    study, assignment = _locked(session, who, message.assignment)
    if not _is_repeat(session, assignment, message.submission):
        _refuse_unless_current(study, assignment, message)
        _refuse_other_pen(assignment, message)
        rubric = studies.design_of(session, study).rubric
        offer = rubric.skip if message.kind == "skip" else rubric.ignore_item
        if offer is None or message.reason not in [reason.key for reason in offer.reasons]:
            raise InvalidAnnotation(f"{message.reason!r} is no reason to {message.kind} an item of this study.")
        old = stored_answers(session, assignment) if assignment.submitted_at else None
        _clear(session, assignment)
        assignment.reason, assignment.note = message.reason, message.text.strip() or None
        state = AssignmentState.skipped if message.kind == "skip" else AssignmentState.ignored
        _finish(session, assignment, message, state)
        new = {"reason": message.reason, "note": assignment.note}
        events.record(
            session,
            study.id,
            state,
            who.pseudonym,
            assignment_id=assignment.id,
            subject=message.reason,
            old=old,
            new=new,
        )
    return Receipt(message.submission, assignment, assignments.current_in(session, study, who))


def _locked(session: Session, who: Who, token: str) -> tuple[Study, Assignment]:
    """Study first, then assignment: one order of locks for every command, so that none waits in a circle."""
    found = assignments.by_token(session, who, token)
    study = studies.lock(session, found.study_id)
    if not database.is_sqlite(session):
        # somebody may have been faster between the two; on SQLite a write transaction is alone
        session.refresh(found)
    return study, found


def _is_repeat(session: Session, assignment: Assignment, submission: str) -> bool:
    known = session.connection().execute(_SUBMITTED, {"submission": submission}).scalar()
    if known not in (None, assignment.id):
        raise NotFound("This submission belongs to another item.")
    return known is not None


def _refuse_unless_current(study: Study, assignment: Assignment, message: Message) -> None:
    if message.version != assignment.version or assignment.state == AssignmentState.withdrawn:
        raise AlreadySubmitted(GIVEN)
    studies.refuse_unless_writable(study)


def _refuse_other_pen(assignment: Assignment, message: FinalMessage) -> None:
    if assignment.pen not in (None, message.pen) and message.base != assignment.draft_seq:
        raise OpenElsewhere(OPEN_ELSEWHERE)


def _finish(session: Session, assignment: Assignment, message: FinalMessage, state: AssignmentState) -> None:
    """Gives the assignment its final state, settles its place and keeps the submission's id."""
    held = assignment.state in (AssignmentState.reserved, AssignmentState.submitted, AssignmentState.ignored)
    if assignment.purpose == Purpose.main:
        if state == AssignmentState.skipped and held:
            assignments.free_place(session, assignment.item_id)
        elif state != AssignmentState.skipped and not held and not assignments.take_place(session, assignment.item_id):
            state = AssignmentState.surplus
    assignment.state = state
    assignment.active_seconds = _capped(assignment.reserved_at, message.active_seconds)
    assignment.submitted_at = now = clock.now()
    assignment.pen = None
    session.add(
        Submission(
            id=message.submission,
            assignment_id=assignment.id,
            version=message.version,
            pen=message.pen,
            received_at=now,
            active_seconds=assignment.active_seconds,
        )
    )
    assignment.version += 1
    session.flush()


def _clear(session: Session, assignment: Assignment) -> None:
    """Takes the rows of the former version away; their values are in the event about to be written."""
    for table in (Rating, Highlight):
        session.execute(delete(table).where(table.assignment_id == assignment.id))
    session.execute(update(Slot).where(Slot.assignment_id == assignment.id).values(set_aside=None))


def _write_ratings(session: Session, design: Design, assignment: Assignment, checked: Checked) -> None:
    rows = [_rating_row(design, assignment, rating) for rating in checked.ratings]
    connection = session.connection()
    if rows:
        connection.execute(insert(_rating), rows)
    explained = {(r.position, r.criterion): r for r in checked.ratings if r.reasons or r.text}
    if explained:
        keys = {row.id: key for key, row in design.criteria.items()}
        written = select(_rating.c.id, _rating.c.position, _rating.c.criterion_id)
        found = connection.execute(written.where(_rating.c.assignment_id == assignment.id)).all()
        by_place = {(row.position, keys[row.criterion_id]): row.id for row in found}
        connection.execute(insert(_explanation), [_explained(by_place[place], r) for place, r in explained.items()])
    for position, reason in checked.set_aside.items():
        slot = update(Slot).where(Slot.assignment_id == assignment.id, Slot.position == position)
        session.execute(slot.values(set_aside=reason))


def _explained(rating_id: int, rating: CheckedRating) -> dict[str, Any]:
    words = count_words(rating.text)
    return {"rating_id": rating_id, "reasons": list(rating.reasons), "text": rating.text, "words": words}


def _rating_row(design: Design, assignment: Assignment, rating: CheckedRating) -> dict[str, Any]:
    criterion = design.criteria[rating.criterion]
    return {
        "assignment_id": assignment.id,
        "position": rating.position,
        "criterion_id": criterion.id,
        "number": rating.number,
        "option_id": None if rating.option is None else criterion.options[rating.option],
        "missing": rating.missing,
    }


def _write_highlights(session: Session, assignment: Assignment, checked: Checked) -> None:
    """Rows with the quote cut from the stored text. Raises InvalidAnnotation for a span off the text."""
    if not checked.highlights:
        return
    wanted = select(Slot.position, Candidate.text, Candidate.turns).join(Candidate, Candidate.id == Slot.candidate_id)
    texts = {row.position: row for row in session.execute(wanted.where(Slot.assignment_id == assignment.id))}
    rows = []
    for position, span in checked.highlights:
        text = _text_of(texts[position], span.turn)
        if span.end > len(text):
            raise InvalidAnnotation(f"A highlight ends at {span.end}, but the text has {len(text)} characters.")
        place = {"assignment_id": assignment.id, "position": position, "turn": span.turn}
        rows.append(
            {
                **place,
                "start": span.start,
                "end": span.end,
                "label": span.label,
                "quote": text[span.start : span.end],
                "comment": span.comment.strip(),
            }
        )
    session.execute(insert(Highlight), rows)


def _text_of(candidate: Any, turn: int | None) -> str:
    if turn is None and candidate.text is not None:
        return candidate.text
    if turn is not None and candidate.turns is not None and turn < len(candidate.turns):
        return candidate.turns[turn][1]
    raise InvalidAnnotation("A highlight names a turn that is not there.")


def _logged(assignment: Assignment, checked: Checked) -> dict[str, Any]:
    """The same as `stored_answers`, of what has just been written."""
    return {
        "state": assignment.state,
        "version": assignment.version - 1,
        "ratings": [
            [r.position, r.criterion, r.number, r.option, r.missing, list(r.reasons), r.text] for r in checked.ratings
        ],
        "highlights": [
            [place, span.turn, span.start, span.end, span.label, span.comment.strip()]
            for place, span in checked.highlights
        ],
    }


def stored_answers(session: Session, assignment: Assignment) -> dict[str, Any]:
    """Ratings, explanations and highlights as they stand in the tables, for the event log."""
    here = {"assignment": assignment.id}
    connection = session.connection()
    ratings = connection.execute(_RATINGS, here).all()
    return {
        "state": assignment.state,
        "version": assignment.version - 1,
        "ratings": [[*rating[:5], *([[], ""] if rating.reasons is None else rating[5:])] for rating in ratings],
        "highlights": [list(span) for span in connection.execute(_SPANS, here)],
    }
