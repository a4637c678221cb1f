"""How an annotator's items ended, as they see it. For a check the first answer counts, but they see their latest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import func, select, tuple_
from sqlmodel import Session

from triptych.rubric.model import Rubric
from triptych.storage.events import EventKind
from triptych.storage.models import Assignment, AssignmentState, Event, EventDetail, JsonObject

LATER = "later"  # key of the answers in the event of a check that was answered again


class ItemState(StrEnum):
    """How an item appears to its annotator."""

    open = "open"
    rated = "rated"
    ignored = "ignored"
    skipped = "skipped"


STATES = {AssignmentState.ignored: ItemState.ignored, AssignmentState.skipped: ItemState.skipped}


def as_given(state: AssignmentState, reason: str | None) -> AssignmentState:
    """The state as shown to the annotator, never `surplus`: as only main items have places, it would reveal checks."""
    if state != AssignmentState.surplus:
        return state
    return AssignmentState.ignored if reason else AssignmentState.submitted


@dataclass(frozen=True)
class HowItEnded:
    """How one item ended; reason: key of the reason for leaving it out, empty if it was rated."""

    state: ItemState
    reason: str
    note: str
    at: datetime | None
    seconds: float

    def reason_in(self, rubric: Rubric) -> str:
        """The reason as shown on the screen."""
        offer = {ItemState.ignored: rubric.ignore_item, ItemState.skipped: rubric.skip}.get(self.state)
        titles = {reason.key: reason.title for reason in offer.reasons} if offer else {}
        return titles.get(self.reason, self.reason)


def outcomes_of(session: Session, assignment_ids: Sequence[int]) -> dict[int, HowItEnded]:
    """Assignment → how it ended, for assignments that were submitted or left out."""
    names = Assignment.state, Assignment.reason, Assignment.note, Assignment.submitted_at, Assignment.active_seconds
    rows = session.execute(select(Assignment.id, *names).where(Assignment.id.in_(assignment_ids)))
    outcomes = {number: _outcome(as_given(state, reason), reason, *facts) for number, state, reason, *facts in rows}
    later = answered_again(session, assignment_ids)
    return outcomes | {number: how_it_ended(new) for number, new in later.items()}


def how_it_ended(new: JsonObject) -> HowItEnded:
    """The outcome in the logged values of a check that was answered again."""
    at = datetime.fromisoformat(new["at"])
    return _outcome(AssignmentState(new["state"]), new.get("reason"), new.get("note"), at, new["seconds"])


def _outcome(
    state: AssignmentState, reason: str | None, note: str | None, at: datetime | None, seconds: float
) -> HowItEnded:
    return HowItEnded(STATES.get(state, ItemState.rated), reason or "", note or "", at, seconds)


def answered_again(session: Session, assignment_ids: Sequence[int]) -> dict[int, JsonObject]:
    """Assignment → the logged values of the latest answer, for checks that were answered again and are not erased."""
    again = Event.assignment_id.in_(assignment_ids) & (Event.kind == EventKind.check_answered_again)
    # ids need not follow time, and the log does not contain them
    last = select(Event.study_id, func.max(Event.number)).where(again).group_by(Event.study_id, Event.assignment_id)
    details = select(Event.assignment_id, EventDetail.new).join(EventDetail, EventDetail.event_id == Event.id)
    query = details.where(tuple_(Event.study_id, Event.number).in_(last))
    later: dict[int, JsonObject] = {number: (new or {}).get(LATER, {}) for number, new in session.execute(query)}
    return {number: new for number, new in later.items() if new}
