"""Storing annotations: submissions and skips (drafts: `drafts`). Every message is checked here before it is written.

Nothing here knows a system or a candidate's id beyond the slot; texts are read only to check highlights.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy import func, select
from sqlmodel import Session

from triptych import clock
from triptych.annotate import assignments, progress, reservations
from triptych.annotate.answer_rows import answer_rows
from triptych.annotate.assignments import NoItem
from triptych.annotate.logged import LoggedAnnotation
from triptych.annotate.outcomes import LATER, ItemState, outcomes_of
from triptych.annotate.reservations import Assigned
from triptych.errors import (
    AlreadySubmitted,
    InvalidAnnotation,
    NotFound,
    OpenElsewhere,
    StudyNotOpen,
    first_mistake,
)
from triptych.languages import language
from triptych.languages.language import _, message
from triptych.people.membership import AnnotatorMembership
from triptych.rubric.answers import Arrangement, Text, check_answers, parse_answers
from triptych.storage import events, writes
from triptych.storage.events import EventKind
from triptych.storage.models import (
    HIDDEN,
    SEEN,
    WORK,
    Assignment,
    AssignmentState,
    JsonObject,
    Purpose,
    Study,
    Submission,
    TextView,
)
from triptych.storage.rows import written
from triptych.storage.writes import AnswerRows
from triptych.study import lifecycle
from triptych.study.persons import Who
from triptych.study.settings import formats_of, settings_of

MOST_VERSIONS = 100  # of an item; the log keeps each of them
MAX_COUNT = 2**30  # half of PostgreSQL's largest integer, since each submission adds one
OF_ANOTHER = message("This submission belongs to another item.")
OPEN_ELSEWHERE = message("This item is open in another tab or on another computer.")
ALREADY_SUBMITTED = message("This item was submitted before.")
DECIDED = message("The lead has recorded final values for this item, so it cannot be changed any more.")
OFTEN = message("This item was changed too often, so it cannot be changed any more. Ask the lead about it.")
NO_MORE = message("You have no further items in this study, so this one could not be stored. Ask the lead about it.")
FINAL_COLUMNS = ("state", "version", "draft", "draft_seq", "pen", "active_seconds", "submitted_at", "arrangement")
LATER_COLUMNS = ("version", "draft", "draft_seq", "pen")  # of a check that is answered again
PLAIN = r"^[\x20-\x7e]+$"
SET_ASIDE_AS = {"skip": AssignmentState.skipped, "ignore": AssignmentState.ignored}


class Message(BaseModel):
    """Fields of every message from the workbench."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    assignment: str = Field(max_length=64)
    version: int = Field(ge=1, le=MAX_COUNT)
    pen: str = Field(min_length=8, max_length=64, pattern=PLAIN)
    active_seconds: float = Field(default=0, ge=0, le=10**7, allow_inf_nan=False)


class FinalMessage(Message):
    """A message that ends the work on an item; base: number of the last draft that the browser knows is stored.

    text_view: how Markdown was shown, if known. language: language of the page.
    """

    text_view: TextView | None = None
    language: str | None = Field(default=None, max_length=8)
    submission: str = Field(min_length=8, max_length=64, pattern=PLAIN)
    base: int = Field(default=0, ge=0, le=MAX_COUNT)


class SubmitMessage(FinalMessage):
    """arrangement: how the responses were shown at submission; None where only one way is possible."""

    kind: Literal["submit"]
    answers: JsonObject
    arrangement: Arrangement | None = None


class SetAsideMessage(FinalMessage):
    """Skip or ignore the item, with a reason."""

    kind: Literal["skip", "ignore"]
    reason: str = Field(max_length=40)
    text: Text = ""


@dataclass(frozen=True)
class Receipt:
    """Confirms a submission; the same submission always gets the same receipt. next: the annotator's next item."""

    submission: str
    assignment: Assigned
    next: Assigned | NoItem


M = TypeVar("M", bound=Message)


def read_message(kind: type[M], data: object) -> M:
    """The message, typed. Raises InvalidAnnotation and changes nothing."""
    try:
        return kind.model_validate(data, strict=False)
    except ValidationError as error:
        raise InvalidAnnotation(f"The message does not fit at {first_mistake(error, 'its whole')}.") from error


def capped_seconds(reserved_at: datetime, seconds: float) -> float:
    """Active seconds as the browser measured them, never more than the time since the item was given out."""
    return min(seconds, max((clock.now() - reserved_at).total_seconds(), 0))


def _seconds(session: Session, assignment: Assigned, message: FinalMessage) -> float:
    """Active seconds of the annotation that this message ends.

    An edit adds at most the time since the person's last submission, and what edits added is not claimed for the item
    that was open meanwhile. Otherwise the same hour could be claimed for each of many items.
    """
    if assignment.submitted_at is None:
        edits = _edited_since(session, assignment) if assignment.has_edited else timedelta()
        return capped_seconds(assignment.reserved_at + edits, message.active_seconds)
    claimed = capped_seconds(assignment.reserved_at, message.active_seconds)
    own = (Assignment.study_id == assignment.study_id) & (Assignment.person_id == assignment.person_id)
    theirs = select(func.max(Submission.received_at)).join(Assignment, Assignment.id == Submission.assignment_id)
    last = session.execute(theirs.where(own)).scalar_one() or assignment.submitted_at
    before = outcomes_of(session, [assignment.id])[assignment.id].seconds
    return min(claimed, before + capped_seconds(last, claimed))


def _edited_since(session: Session, assignment: Assigned) -> timedelta:
    """The time that the person's edits of other items added since this one was given out."""
    query = (
        select(Submission.assignment_id, Submission.received_at, Submission.active_seconds)
        .join(Assignment, Assignment.id == Submission.assignment_id)
        .where(Assignment.person_id == assignment.person_id, Assignment.study_id == assignment.study_id)
        .order_by(Submission.assignment_id, Submission.version)
    )
    added, before = 0.0, dict[int, float]()
    for item, received_at, seconds in session.execute(query):
        if item in before and received_at > assignment.reserved_at:
            added += max(seconds - before[item], 0)
        before[item] = seconds
    return timedelta(seconds=added)


def submit(session: Session, who: Who, message: SubmitMessage | SetAsideMessage) -> Receipt:
    """Stores a finished annotation and reserves the next item, in the caller's transaction.

    An item that is skipped (its place becomes free) or ignored (it counts as done) has a reason of the rubric. Sending
    the same submission twice returns the same receipt. Raises InvalidAnnotation, NotFound, AlreadySubmitted,
    OpenElsewhere or StudyNotOpen; then nothing has changed.
    """
    membership, assignment = assignments.locked(session, who, message.assignment)
    finished = _finish(session, who, membership, assignment, message)
    study = session.get_one(Study, assignment.study_id)
    return Receipt(message.submission, finished, assignments.current_of(session, study, who, membership))


def hand_in(session: Session, who: Who, message: SubmitMessage | SetAsideMessage) -> Assigned:
    """Like `submit`, for work done outside the workbench: no next item is reserved."""
    membership, assignment = assignments.locked(session, who, message.assignment)
    return _finish(session, who, membership, assignment, message)


def _finish(
    session: Session,
    who: Who,
    membership: AnnotatorMembership,
    assignment: Assigned,
    message: SubmitMessage | SetAsideMessage,
) -> Assigned:
    """The finished assignment; unchanged if this very submission was stored before."""
    if message.version != assignment.version and _was_stored(session, assignment, message.submission):
        return assignment
    study = session.get_one(Study, assignment.study_id)
    _require_open(session, study, membership, assignment, message)
    if message.kind != "skip" and assignment.purpose in WORK and assignment.state != AssignmentState.reserved:
        _refuse_beyond_limit(session, study, who, assignment)
    if isinstance(message, SubmitMessage):
        return _store_answers(session, study, assignment, who, message)
    return _store_set_aside(session, study, assignment, who, message)


def _was_stored(session: Session, assignment: Assigned, submission: str) -> bool:
    query = select(Submission.assignment_id).where(Submission.id == submission)
    return session.execute(query).scalar() == assignment.id


def _require_open(
    session: Session, study: Study, membership: AnnotatorMembership, assignment: Assigned, message: FinalMessage
) -> None:
    """Raises StudyNotOpen, AlreadySubmitted or OpenElsewhere if the assignment cannot be finished with this message."""
    is_edit = assignment.submitted_at is not None
    if is_edit and assignment.purpose not in WORK:
        raise AlreadySubmitted(_(ALREADY_SUBMITTED))  # training and tests are answered once
    if membership.has_left:
        raise StudyNotOpen(_(NO_MORE))
    if message.version != assignment.version or assignment.state == AssignmentState.withdrawn:
        raise AlreadySubmitted(_(ALREADY_SUBMITTED))
    lifecycle.refuse_unless_writable(study)
    if message.version > MOST_VERSIONS:
        raise StudyNotOpen(_(OFTEN))
    if is_edit and _is_adjudicated(session, assignment):
        raise StudyNotOpen(_(DECIDED))
    if assignment.pen not in (None, message.pen) and message.base != assignment.draft_seq:
        raise OpenElsewhere(_(OPEN_ELSEWHERE))


def _refuse_beyond_limit(session: Session, study: Study, who: Who, assignment: Assigned) -> None:
    """Raises StudyNotOpen if the item was skipped, or its reservation had expired, and its annotator has as many others
    as the study allows for one.

    Checks count as they look to their annotator, so that a refusal reveals none.
    """
    limit = settings_of(study).items_per_annotator
    is_done = assignment.submitted_at is not None
    if limit is None or (is_done and outcomes_of(session, [assignment.id])[assignment.id].state != ItemState.skipped):
        return
    own = (Assignment.study_id == study.id) & (Assignment.person_id == who.person_id)
    shown = own & Assignment.purpose.in_(WORK) & Assignment.state.in_(SEEN)
    outcomes = outcomes_of(session, session.scalars(select(Assignment.id).where(shown)).all())
    kept = sum(outcome.state != ItemState.skipped for outcome in outcomes.values())
    if kept >= progress.of_work(session, study, who).planned:
        raise StudyNotOpen(_(NO_MORE))


def _is_adjudicated(session: Session, assignment: Assigned) -> bool:
    """Whether the item has final values."""
    query = select(Assignment.id).where(
        Assignment.item_id == assignment.item_id,
        Assignment.purpose == Purpose.adjudication,
        Assignment.state == AssignmentState.submitted,
    )
    return session.execute(query).first() is not None


def _store_answers(session: Session, study: Study, assignment: Assigned, who: Who, message: SubmitMessage) -> Assigned:
    design = lifecycle.design_of(session, study)
    checked = check_answers(design.rubric, study.round, assignment.candidates, parse_answers(message.answers))
    rows = answer_rows(session, design, assignment.id, checked)  # also checks that highlights fit their texts
    previous = _logged_before(session, assignment)
    finished = replace(
        _settled(session, assignment, message, AssignmentState.submitted),
        draft=message.answers,
        draft_seq=assignment.draft_seq + 1,
        arrangement=_arrangement(study, assignment, message),
    )
    new = LoggedAnnotation.of(finished, checked).to_json()
    if _is_settled_check(assignment):
        return _note_later(session, study, assignment, finished, who, message, new)
    columns = {"note": checked.note or None, "reason": None, **_columns(finished, FINAL_COLUMNS, study, message)}
    carried = _store_final(session, finished, message, columns, rows, first=previous is None)
    kind = EventKind(finished.state) if previous is None else EventKind.annotation_edited
    events.record(
        session, study.id, kind, who.pseudonym, assignment_id=finished.id, old=previous, new=new, rows=carried
    )
    return finished


def _store_set_aside(
    session: Session, study: Study, assignment: Assigned, who: Who, message: SetAsideMessage
) -> Assigned:
    rubric = lifecycle.design_of(session, study).rubric
    offer = {"skip": rubric.skip, "ignore": rubric.ignore_item}[message.kind]
    if offer is None or message.reason not in [reason.key for reason in offer.reasons]:
        raise InvalidAnnotation(f"{message.reason!r} is no reason to {message.kind} an item of this study.")
    state = SET_ASIDE_AS[message.kind]
    previous, note, reason = _logged_before(session, assignment), message.text.strip() or None, message.reason
    finished = _settled(session, assignment, message, state)
    new = LoggedAnnotation(state=finished.state, reason=reason, note=note).to_json()
    if _is_settled_check(assignment):
        new |= {"seconds": finished.active_seconds, "at": clock.now().isoformat()}
        return _note_later(session, study, assignment, finished, who, message, new)
    columns = {"note": note, "reason": reason, **_columns(finished, FINAL_COLUMNS, study, message)}
    carried = _store_final(session, finished, message, columns, AnswerRows(), first=previous is None)
    record = partial(events.record, session, study.id, EventKind(state), who.pseudonym, assignment_id=finished.id)
    record(subject=reason, old=previous, new=new, rows=carried)
    return finished


def _is_settled_check(assignment: Assigned) -> bool:
    """Whether the assignment is a check that was answered before; only the first answer counts."""
    return assignment.purpose in HIDDEN and assignment.submitted_at is not None


def _note_later(
    session: Session,
    study: Study,
    assignment: Assigned,
    answered: Assigned,
    who: Who,
    message: SubmitMessage | SetAsideMessage,
    logged: JsonObject,
) -> Assigned:
    """Record a later answer to a check: only the log and the annotator's own screen show it, the first one counts."""
    columns = _columns(answered, LATER_COLUMNS, study, message)
    carried = _store_final(session, answered, message, columns, AnswerRows(), first=True)
    kind, new = EventKind.check_answered_again, {LATER: logged}
    events.record(session, study.id, kind, who.pseudonym, assignment_id=answered.id, new=new, rows=carried)
    events.write_pending(session)  # the choice of the next item reads it
    return replace(assignment, **{name: getattr(answered, name) for name in LATER_COLUMNS})


def _columns(answered: Assigned, names: Iterable[str], study: Study, message: FinalMessage) -> dict[str, object]:
    """These columns of the assignment, and those about the page that the annotation was made on."""
    return {
        **{name: getattr(answered, name) for name in names},
        "text_view": message.text_view if formats_of(study).markdown else TextView.written,
        "language": message.language if message.language in language.codes() else None,
    }


def _arrangement(study: Study, assignment: Assigned, message: SubmitMessage) -> str | None:
    """How the responses were shown, as the page states it; None for a statement that the study's design rules out.

    Side by side rules out nothing: a small screen has no room for it.
    """
    if study.presentation != "side_by_side" or assignment.candidates < 2:
        return None
    ruled_out = "side_by_side" if settings_of(study).arrangement == "one_at_a_time" else None
    return message.arrangement if message.arrangement != ruled_out else None


def _submission(finished: Assigned, message: FinalMessage) -> dict[str, object]:
    return {
        "id": message.submission,
        "assignment_id": finished.id,
        "version": message.version,
        "pen": message.pen,
        "received_at": finished.submitted_at,
        "active_seconds": finished.active_seconds,
    }


def _logged_before(session: Session, assignment: Assigned) -> JsonObject | None:
    """The annotation that an edit is about to replace, for the event log; None before the first submission."""
    return LoggedAnnotation.stored(session, assignment.id).to_json() if assignment.submitted_at else None


def _settled(session: Session, assignment: Assigned, message: FinalMessage, state: AssignmentState) -> Assigned:
    """The assignment after this message; its place on the item is taken or freed to match the new state."""
    return replace(
        assignment,
        state=_settle_place(session, assignment, state),
        active_seconds=_seconds(session, assignment, message),
        submitted_at=clock.now(),
        pen=None,
        version=assignment.version + 1,
    )


def _settle_place(session: Session, assignment: Assigned, state: AssignmentState) -> AssignmentState:
    """The final state: an annotation whose item has no place left is surplus."""
    if assignment.purpose != Purpose.main:
        return state
    in_place = assignment.state in (AssignmentState.reserved, AssignmentState.submitted, AssignmentState.ignored)
    if state == AssignmentState.skipped:
        if in_place:
            reservations.free_place(session, assignment.item_id)
        return state
    has_place = in_place or reservations.take_place(session, assignment.item_id, for_done_work=True)
    return state if has_place else AssignmentState.surplus


def _store_final(
    session: Session,
    finished: Assigned,
    message: FinalMessage,
    columns: dict[str, object],
    rows: AnswerRows,
    *,
    first: bool,
) -> JsonObject:
    """Stores answers, these columns and the submission's id; returns the rows for the log.

    Raises NotFound if the submission's id belongs to another item.
    """
    submission = _submission(finished, message)
    if not writes.store_annotation(session, finished.id, columns, submission, rows, first=first):
        raise NotFound(_(OF_ANOTHER))
    return written(Assignment, [{"id": finished.id, **columns}]) | written(Submission, [submission])
