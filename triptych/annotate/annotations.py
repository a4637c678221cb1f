"""Storing what annotators give: drafts, submissions, skips. The browser is never trusted.

Nothing here knows a system or a candidate's id beyond the slot; texts are read only to check highlights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy import Boolean, Engine, Float, Row, bindparam, case, delete, exists, func, insert, or_, select, update
from sqlmodel import Session

from triptych import clock
from triptych.annotate import assignments
from triptych.annotate.assignments import Assigned, Nothing, reservation_life
from triptych.errors import AlreadySubmitted, InvalidAnnotation, NotFound, OpenElsewhere, StudyNotOpen
from triptych.people import accounts, passcodes
from triptych.rubric.answers import Checked, CheckedRating, Text, check_answers, check_draft, count_words, parse_answers
from triptych.rubric.model import Rubric
from triptych.storage import database, events
from triptych.storage.events import EventKind
from triptych.storage.models import (
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
from triptych.study import lifecycle
from triptych.study.lifecycle import Design
from triptych.study.persons import Who

MOST_REMEMBERED = 10_000
MOST = 2**31 - 2  # a submission adds one, and PostgreSQL counts no further
_rating, _explanation, _highlight = Rating.__table__, Explanation.__table__, Highlight.__table__
_assignment, _slot, _submission = Assignment.__table__, Slot.__table__, Submission.__table__
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
_ADJUDICATED = (
    select(Assignment.id)
    .where(Assignment.item_id == bindparam("item"), Assignment.purpose == Purpose.adjudication)
    .where(Assignment.state == AssignmentState.submitted)
)
OF_ANOTHER = "This submission belongs to another item."
OPEN_ELSEWHERE = "This item is open in another tab or on another computer."
GIVEN = "This item was submitted before."
DECIDED = "The lead has recorded final values for this item, so it cannot be changed any more."
NO_MORE = "You have no further items in this study, so this one could not be stored. Ask the lead about it."
PLAIN = r"^[\x20-\x7e]+$"


class Message(BaseModel):
    """What every message of the workbench carries."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    assignment: str = Field(max_length=64)
    version: int = Field(ge=1, le=MOST)
    pen: str = Field(min_length=8, max_length=64, pattern=PLAIN)
    active_seconds: float = Field(default=0, ge=0, le=10**7, allow_inf_nan=False)


class DraftMessage(Message):
    seq: int = Field(ge=1, le=MOST)
    base: int = Field(ge=0, le=MOST)
    take: bool = False
    draft: dict[str, Any]


class FinalMessage(Message):
    """What ends the work on an item; `base` is the last draft number the browser knows to be stored."""

    kind: str
    submission: str = Field(min_length=8, max_length=64, pattern=PLAIN)
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
    assignment: Assigned
    next: Assigned | Nothing


M = TypeVar("M", bound=Message)

# prepared once: these run for every draft or annotation
_at = _slot.c.assignment_id == _this_assignment
_FACTS = select(_assignment.c.note, _assignment.c.active_seconds, _assignment.c.submitted_at).where(
    _assignment.c.id == _this_assignment
)
_ASIDE = (
    select(_slot.c.position, _slot.c.set_aside).where(_at, _slot.c.set_aside.is_not(None)).order_by(_slot.c.position)
)
_TEXTS = (
    select(_slot.c.position, Candidate.text, Candidate.turns)
    .join(Candidate, Candidate.id == _slot.c.candidate_id)
    .where(_at)
)
_SET_ASIDE = update(_slot).where(_at, _slot.c.position == bindparam("place")).values(set_aside=bindparam("why"))
_RATING_IDS = select(_rating.c.position, _rating.c.criterion_id, _rating.c.id).where(
    _rating.c.assignment_id == _this_assignment
)
_RATING = ["assignment_id", "position", "criterion_id", "number", "option_id", "missing"]
_ADD_RATINGS, _ADD_EXPLANATIONS = insert(_rating), insert(_explanation)
_ADD_HIGHLIGHTS = insert(_highlight)
# no row for an id that another assignment has; parameters with the names of columns would be set in all of `_STORE`
_ADD_SUBMISSION = insert(_submission).from_select(
    [column.name for column in _submission.c],
    select(*(bindparam(f"kept_{column.name}", type_=column.type) for column in _submission.c)).where(
        ~exists().where(_submission.c.id == bindparam("kept_id", type_=_submission.c.id.type)).correlate(None)
    ),
)
_CLEAR = (
    delete(_rating).where(_rating.c.assignment_id == _this_assignment),
    delete(_highlight).where(_highlight.c.assignment_id == _this_assignment),
    update(_slot).where(_at).values(set_aside=None),
)
_FINISH = (
    update(_assignment)
    .where(_assignment.c.id == _this_assignment)
    .values(
        {
            name: bindparam(f"new_{name}")
            for name in (
                "state",
                "version",
                "draft",
                "draft_seq",
                "pen",
                "active_seconds",
                "submitted_at",
                "note",
                "reason",
            )
        }
    )
)
# PostgreSQL: what every annotation writes, in one statement
_given = database.rows_of(*(_rating.c[name] for name in _RATING))
_rated = insert(_rating).from_select(_RATING, select(*_given.c)).cte("rated")
_kept = _ADD_SUBMISSION.returning(_submission.c.id).cte("kept")
_STORE = select(func.count()).select_from(_kept).add_cte(_rated, _FINISH.cte("finished"))
_DRAFTED = (
    select(
        Assignment.id.label("assignment_id"),
        Assignment.version,
        Assignment.reserved_at,
        Study.id,
        Study.state,
        Study.round,
        Study.seed,
        Study.opened_at,
        Study.rubric_id,
        Study.settings,
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
_STORE_NEXT_DRAFT = _STORE_DRAFT.where(
    Assignment.reserved_at == bindparam("given_out"),
    Assignment.person_id == accounts.PERSON_OF_LOGIN,
    exists().where(Study.id == Assignment.study_id, Study.state != StudyState.closed),
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
    rubric = lifecycle.design_of(session, found).rubric
    drafted = _Drafted(
        found.assignment_id, rubric, found.round, found.candidates, found.reserved_at, reservation_life(found)
    )
    if run(_STORE_DRAFT, _draft_row(drafted, message)).rowcount == 1:
        _remember(message.assignment, drafted)
        return message.seq
    # somebody else may have written since it was read
    stored = assignments.by_token(session, who, message.assignment)
    if stored.version != message.version:
        return Refusal("submitted", GIVEN, receipt=run(_LAST_RECEIPT, {"assignment": stored.id}).scalar())
    if stored.pen == message.pen:
        return stored.draft_seq
    return Refusal("open_elsewhere", OPEN_ELSEWHERE, stored.draft, stored.draft_seq)


@dataclass(frozen=True, slots=True)
class _Drafted:
    """What a draft is checked against; an assignment that is given out anew has another time."""

    assignment: int
    rubric: Rubric
    round: str
    candidates: int
    reserved_at: datetime
    life: timedelta


_drafted: dict[str, _Drafted] = {}  # by token


def expect_drafts(study: Study, rubric: Rubric, given: Assigned) -> None:
    """Remembers what this annotator's drafts will be checked against: she has the item before her now."""
    life = reservation_life(study)
    _remember(given.token, _Drafted(given.id, rubric, study.round, given.candidates, given.reserved_at, life))


def _remember(token: str, drafted: _Drafted) -> None:
    if len(_drafted) >= MOST_REMEMBERED:
        _drafted.clear()
    _drafted[token] = drafted


def save_next_draft(engine: Engine, login_secret: str, message: DraftMessage) -> bool:
    """Stores one more draft of an assignment that this process knows, in one statement and a transaction of its own.

    False if it is not known here, or anything stands against it: then `save_draft` finds out what. An annotator at
    work saves a draft a second, so this is most of what she costs the server. Raises InvalidAnnotation, DatabaseAway.
    """
    drafted = _drafted.get(message.assignment)
    if drafted is None:
        return False
    who = {"secret": passcodes.secret_hash(login_secret), "now": clock.now(), "given_out": drafted.reserved_at}
    with database.one_statement(engine) as connection:
        return connection.execute(_STORE_NEXT_DRAFT, {**_draft_row(drafted, message), **who}).rowcount == 1


def _draft_row(drafted: _Drafted, message: DraftMessage) -> dict[str, Any]:
    """The values of a draft that fits the rubric. Raises InvalidAnnotation."""
    check_draft(drafted.rubric, drafted.round, drafted.candidates, message.draft)
    return {
        "assignment": drafted.assignment,
        "of": message.version,
        "base": message.base,
        "take": message.take,
        "new_draft": message.draft,
        "seq": message.seq,
        "new_pen": message.pen,
        "seconds": _capped(drafted.reserved_at, message.active_seconds),
        "until": clock.now() + drafted.life,
    }


def _capped(reserved_at: datetime, seconds: float) -> float:
    """Active seconds as the browser measured them, never more than the time since the item was given out."""
    return min(seconds, max((clock.now() - reserved_at).total_seconds(), 0))


def submit(session: Session, who: Who, message: SubmitMessage) -> Receipt:
    """Stores the whole annotation and reserves the next item, in the caller's transaction.

    The same submission id again gives the same receipt. Raises InvalidAnnotation, NotFound, AlreadySubmitted,
    OpenElsewhere, StudyNotOpen; then nothing has changed.
    """
    study, membership, assignment = _locked(session, who, message.assignment)
    assignment = _taken_in(session, study, membership, assignment, who, message)
    return Receipt(message.submission, assignment, assignments.current_of(session, study, who, membership))


def hand_in(session: Session, who: Who, message: SubmitMessage | SetAsideMessage) -> Assigned:
    """As `submit` and `set_aside_item`, for work that was not done on the workbench: no next item is reserved."""
    study, membership, assignment = _locked(session, who, message.assignment)
    return _taken_in(session, study, membership, assignment, who, message)


def _taken_in(
    session: Session,
    study: Study,
    membership: Row[Any],
    assignment: Assigned,
    who: Who,
    message: SubmitMessage | SetAsideMessage,
) -> Assigned:
    """The assignment with what the message ends it with; as it is, if this very submission was stored before."""
    if message.version != assignment.version and _is_repeat(session, assignment, message.submission):
        return assignment
    _refuse_unless_current(study, membership, assignment, message)
    _refuse_adjudicated(session, assignment)
    _refuse_other_pen(assignment, message)
    store = _store if isinstance(message, SubmitMessage) else _leave_out
    return store(session, study, assignment, who, message)


def _store(session: Session, study: Study, assignment: Assigned, who: Who, message: SubmitMessage) -> Assigned:
    design = lifecycle.design_of(session, study)
    answers = parse_answers(message.answers)
    checked = check_answers(design.rubric, study.round, assignment.candidates, answers)
    edited = assignment.submitted_at is not None
    old = stored_answers(session, assignment) if edited else None
    if edited:
        _clear(session, assignment)
    rated = replace(assignment, draft=message.answers, draft_seq=assignment.draft_seq + 1)
    ratings = [_rating_row(design, assignment, rating) for rating in checked.ratings]
    done = _finish(session, rated, message, AssignmentState.submitted, note=checked.note or None, ratings=ratings)
    _write_reasons(session, design, assignment, checked)
    _write_highlights(session, assignment, checked)
    kind = EventKind.annotation_edited if edited else EventKind(done.state)
    new = _logged(done, checked)
    events.record(session, study.id, kind, who.pseudonym, assignment_id=done.id, old=old, new=new)
    return done


def set_aside_item(session: Session, who: Who, message: SetAsideMessage) -> Receipt:
    """Skips the item (its place becomes free) or ignores it (counts as done), with a reason of the rubric.

    Raises InvalidAnnotation, NotFound, AlreadySubmitted, OpenElsewhere, StudyNotOpen.
    """
    study, membership, assignment = _locked(session, who, message.assignment)
    assignment = _taken_in(session, study, membership, assignment, who, message)
    return Receipt(message.submission, assignment, assignments.current_of(session, study, who, membership))


def _leave_out(session: Session, study: Study, assignment: Assigned, who: Who, message: SetAsideMessage) -> Assigned:
    rubric = lifecycle.design_of(session, study).rubric
    offer = rubric.skip if message.kind == "skip" else rubric.ignore_item
    if offer is None or message.reason not in [reason.key for reason in offer.reasons]:
        raise InvalidAnnotation(f"{message.reason!r} is no reason to {message.kind} an item of this study.")
    old = stored_answers(session, assignment) if assignment.submitted_at else None
    _clear(session, assignment)
    note = message.text.strip() or None
    state = AssignmentState.skipped if message.kind == "skip" else AssignmentState.ignored
    done = _finish(session, assignment, message, state, note=note, reason=message.reason)
    new = {"state": done.state, "reason": message.reason, "note": note}
    told = {"subject": message.reason, "old": old, "new": new}
    events.record(session, study.id, EventKind(state), who.pseudonym, assignment_id=done.id, **told)
    return done


def _locked(session: Session, who: Who, token: str) -> tuple[Study, Row[Any], Assigned]:
    """Study, her membership in it, and the assignment as it is once the membership is locked."""
    membership, found = assignments.locked(session, who, token)
    return session.get_one(Study, found.study_id), membership, found


def _is_repeat(session: Session, assignment: Assigned, submission: str) -> bool:
    return session.connection().execute(_SUBMITTED, {"submission": submission}).scalar() == assignment.id


def _refuse_unless_current(study: Study, membership: Row[Any], assignment: Assigned, message: Message) -> None:
    if membership.excluded_at is not None or membership.withdrawn_at is not None:
        raise StudyNotOpen(NO_MORE)
    if message.version != assignment.version or assignment.state == AssignmentState.withdrawn:
        raise AlreadySubmitted(GIVEN)
    if assignment.submitted_at is not None and assignment.purpose != Purpose.main:
        raise AlreadySubmitted(GIVEN)  # training, tests and checks are answered once
    lifecycle.refuse_unless_writable(study)


def _refuse_adjudicated(session: Session, assignment: Assigned) -> None:
    """What was submitted stays as it is once somebody has decided about it; only an edit asks."""
    if assignment.submitted_at is None or assignment.purpose != Purpose.main:
        return
    if session.connection().execute(_ADJUDICATED, {"item": assignment.item_id}).first() is not None:
        raise StudyNotOpen(DECIDED)


def _refuse_other_pen(assignment: Assigned, message: FinalMessage) -> None:
    if assignment.pen not in (None, message.pen) and message.base != assignment.draft_seq:
        raise OpenElsewhere(OPEN_ELSEWHERE)


def _finish(
    session: Session,
    assignment: Assigned,
    message: FinalMessage,
    state: AssignmentState,
    note: str | None,
    reason: str | None = None,
    ratings: Sequence[dict[str, Any]] = (),
) -> Assigned:
    """Gives the assignment its final state and its ratings, settles its place and keeps the submission's id."""
    done = replace(
        assignment,
        state=_settled(session, assignment, state),
        active_seconds=_capped(assignment.reserved_at, message.active_seconds),
        submitted_at=clock.now(),
        pen=None,
        version=assignment.version + 1,
    )
    changed = ("state", "version", "draft", "draft_seq", "pen", "active_seconds", "submitted_at")
    new = {f"new_{name}": getattr(done, name) for name in changed}
    finished = {"assignment": done.id, "new_note": note, "new_reason": reason, **new}
    kept = {
        "kept_id": message.submission,
        "kept_assignment_id": done.id,
        "kept_version": message.version,
        "kept_pen": message.pen,
        "kept_received_at": done.submitted_at,
        "kept_active_seconds": done.active_seconds,
    }
    if not _written(session, finished, kept, ratings):
        raise NotFound(OF_ANOTHER)
    return done


def _written(
    session: Session, finished: dict[str, Any], kept: dict[str, Any], ratings: Sequence[dict[str, Any]]
) -> bool:
    """Stores what every annotation leaves; False if its submission's id belongs to another."""
    run = session.connection().execute
    if not database.is_sqlite(session):
        return run(_STORE, {**finished, **kept, "rows": database.as_json(ratings)}).scalar() == 1
    if ratings:
        run(_ADD_RATINGS, ratings)
    run(_FINISH, finished)
    return run(_ADD_SUBMISSION, kept).rowcount == 1


def _settled(session: Session, assignment: Assigned, state: AssignmentState) -> AssignmentState:
    """Frees or takes the item's place as the new state asks for; without a free one the annotation is surplus."""
    held = assignment.state in (AssignmentState.reserved, AssignmentState.submitted, AssignmentState.ignored)
    if assignment.purpose != Purpose.main:
        return state
    if state == AssignmentState.skipped:
        if held:
            assignments.free_place(session, assignment.item_id)
        return state
    taken = held or assignments.take_place(session, assignment.item_id)
    return state if taken else AssignmentState.surplus


def _clear(session: Session, assignment: Assigned) -> None:
    """Takes the rows of the former version away; their values are in the event about to be written."""
    for statement in _CLEAR:
        session.connection().execute(statement, {"assignment": assignment.id})


def _write_reasons(session: Session, design: Design, assignment: Assigned, checked: Checked) -> None:
    """What was said about ratings, and why responses were set aside."""
    run = session.connection().execute
    explained = [rating for rating in checked.ratings if rating.reasons or rating.text]
    if explained:
        by_place = {
            (place, criterion): made for place, criterion, made in run(_RATING_IDS, {"assignment": assignment.id})
        }
        places = [by_place[rating.position, design.criteria[rating.criterion].id] for rating in explained]
        rows = [_explained(place, rating) for place, rating in zip(places, explained, strict=True)]
        database.add_rows(session, _ADD_EXPLANATIONS, rows)
    for position, reason in checked.set_aside.items():
        run(_SET_ASIDE, {"assignment": assignment.id, "place": position, "why": reason})


def _explained(rating_id: int, rating: CheckedRating) -> dict[str, Any]:
    words = count_words(rating.text)
    return {"rating_id": rating_id, "reasons": list(rating.reasons), "text": rating.text, "words": words}


def _rating_row(design: Design, assignment: Assigned, rating: CheckedRating) -> dict[str, Any]:
    criterion = design.criteria[rating.criterion]
    return {
        "assignment_id": assignment.id,
        "position": rating.position,
        "criterion_id": criterion.id,
        "number": rating.number,
        "option_id": None if rating.option is None else criterion.options[rating.option],
        "missing": rating.missing,
    }


def _write_highlights(session: Session, assignment: Assigned, checked: Checked) -> None:
    """Rows with the quote cut from the stored text. Raises InvalidAnnotation for a span off the text."""
    if not checked.highlights:
        return
    run = session.connection().execute
    texts = {row.position: row for row in run(_TEXTS, {"assignment": assignment.id})}
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
    database.add_rows(session, _ADD_HIGHLIGHTS, rows)


def _text_of(candidate: Any, turn: int | None) -> str:
    if turn is None and candidate.text is not None:
        return candidate.text
    if turn is not None and candidate.turns is not None and turn < len(candidate.turns):
        return candidate.turns[turn][1]
    raise InvalidAnnotation("A highlight names a turn that is not there.")


def _logged(assignment: Assigned, checked: Checked) -> dict[str, Any]:
    """The same as `stored_answers`, of what has just been written: `verifying` compares the two."""
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
        "set_aside": [list(pair) for pair in sorted(checked.set_aside.items())],
        "note": checked.note or None,
        "seconds": assignment.active_seconds,
        "at": assignment.submitted_at.isoformat(),
    }


def stored_answers(session: Session, assignment: Assigned) -> dict[str, Any]:
    """An annotation as it stands in the tables, for the event log."""
    here = {"assignment": assignment.id}
    connection = session.connection()
    ratings = connection.execute(_RATINGS, here).all()
    note, seconds, at = connection.execute(_FACTS, here).one()
    return {
        "state": assignment.state,
        "version": assignment.version - 1,
        "ratings": [[*rating[:5], *([[], ""] if rating.reasons is None else rating[5:])] for rating in ratings],
        "highlights": [list(span) for span in connection.execute(_SPANS, here)],
        "set_aside": [list(pair) for pair in connection.execute(_ASIDE, here)],
        "note": note,
        "seconds": seconds,
        "at": at.isoformat() if at else None,
    }
