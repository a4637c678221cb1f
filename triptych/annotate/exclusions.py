"""Excluding an annotator from the results, reinstating them, readmitting people who were turned away. Nothing is
deleted.

Only places of people who are not excluded count towards an item's raters: an exclusion reopens theirs, and a
reinstated annotator finds some of them filled, so that their annotations there are surplus.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select, update
from sqlmodel import Session

from triptych import clock
from triptych.annotate import entry_test, reservations
from triptych.errors import Conflict, NotAllowed
from triptych.people import roster
from triptych.storage import events
from triptych.storage.events import EventKind
from triptych.storage.models import IN_PLACE, Assignment, AssignmentState, Purpose, Study
from triptych.storage.writes import update_row
from triptych.study.persons import refuse_erased

LONGEST_REASON = 500


def exclude(session: Session, study: Study, pseudonym: str, reason: str, actor: str) -> None:
    """Leaves the annotator out of the results and reopens their places; their drafts are kept.

    Raises NotFound, NotAllowed without a reason or for somebody erased, Conflict if they are excluded already.
    """
    neat = read_reason(reason)
    membership, person = roster.find(session, study, pseudonym)
    refuse_erased(session, study.id, [pseudonym])
    if membership.excluded_at is not None:
        raise Conflict(f"{pseudonym} is already excluded.")
    membership.excluded_at, membership.excluded_reason = clock.now(), neat
    session.flush()
    given_up = give_up_reservations(session, study, person.id, AssignmentState.expired)
    finished = (item_id for _, item_id in in_place(session, study, person.id))
    reservations.free_places(session, [*given_up, *finished])
    events.record(session, study.id, EventKind.annotator_excluded, actor, subject=pseudonym, new={"reason": neat})


def reinstate(session: Session, study: Study, pseudonym: str, reason: str, actor: str) -> None:
    """Reinstates the annotator; where their place has been filled meanwhile, their annotation is surplus.

    Raises NotFound, NotAllowed without a reason or for somebody erased, Conflict if they are not excluded.
    """
    neat = read_reason(reason)
    membership, person = roster.find(session, study, pseudonym)
    refuse_erased(session, study.id, [pseudonym])
    if membership.excluded_at is None:
        raise Conflict(f"{pseudonym} is not excluded.")
    old = {"reason": membership.excluded_reason}
    membership.excluded_at = membership.excluded_reason = None
    session.flush()
    for assignment_id, item_id in in_place(session, study, person.id):
        if not reservations.take_place(session, item_id, for_done_work=True):
            update_row(session, Assignment, assignment_id, {"state": AssignmentState.surplus})
    events.record(
        session, study.id, EventKind.annotator_reinstated, actor, subject=pseudonym, old=old, new={"reason": neat}
    )


def let_in(session: Session, study: Study, pseudonym: str, reason: str, actor: str) -> None:
    """Readmit a person who was turned away: waives a failed entry test, asks again for a refused consent.

    Raises NotFound, NotAllowed without a reason, Conflict for somebody who was not turned away or has withdrawn.
    """
    neat = read_reason(reason)
    membership, _ = roster.find(session, study, pseudonym)
    turned_away_as = membership.turned_away_as
    if turned_away_as is None or membership.withdrawn_at is not None:
        raise Conflict(f"{pseudonym} was not turned away, or has withdrawn.")
    membership.turned_away_at = membership.turned_away_as = None
    session.flush()
    failed = turned_away_as == entry_test.FAILED
    kind = EventKind.entry_test_waived if failed else EventKind.consent_asked_again
    events.record(session, study.id, kind, actor, subject=pseudonym, new={"reason": neat})


def read_reason(reason: str, shown_in: str = "every report") -> str:
    """The reason, stripped; shown_in: where readers find it besides the log. Raises NotAllowed."""
    neat = reason.strip()
    if not neat or len(neat) > LONGEST_REASON:
        raise NotAllowed(
            f"Give a reason, in 1 to {LONGEST_REASON} characters: it appears in the log and in {shown_in}."
        )
    return neat


def in_place(session: Session, study: Study, person_id: int) -> Sequence[tuple[int, int]]:
    """(assignment, item) of finished main work that fills a place while its annotator is not excluded.

    Ordered by item, so that concurrent changes of places cannot deadlock.
    """
    query = select(Assignment.id, Assignment.item_id).where(
        Assignment.study_id == study.id,
        Assignment.person_id == person_id,
        Assignment.purpose == Purpose.main,
        Assignment.state.in_(IN_PLACE),
        reservations.takes_places(study),
    )
    return [(row.id, row.item_id) for row in session.execute(query.order_by(Assignment.item_id))]


def give_up_reservations(session: Session, study: Study, person_id: int, state: AssignmentState) -> list[int]:
    """End the person's open reservations, keeping drafts; returns the items whose places the caller frees."""
    own = (Assignment.study_id == study.id) & (Assignment.person_id == person_id)
    return reservations.end(session, own & (Assignment.state == AssignmentState.reserved), state)


def forget_unfinished(session: Session, study: Study, person_id: int) -> None:
    """Deletes drafts that were never submitted; the new version makes the server refuse a draft on its way."""
    ended = (AssignmentState.withdrawn, AssignmentState.expired)
    own_work = (Assignment.study_id == study.id) & (Assignment.person_id == person_id)
    forgetting = update(Assignment).where(own_work, Assignment.state.in_(ended))
    forgetting = forgetting.values(draft=None, version=Assignment.version + 1)
    session.execute(forgetting.execution_options(synchronize_session=False))
