"""Withdrawing from a study, by the annotator or by a lead on their behalf.

The ratings are kept or deleted, as promised by the consent text that the annotator agreed to. Their texts are deleted
either way, and so is their name unless they take part in another study. They get no further item, and their places
are free again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sqlalchemy import delete, func, select, update
from sqlmodel import Session

from triptych import clock
from triptych.annotate import exclusions, reservations
from triptych.errors import Conflict, NotAllowed, NotFound
from triptych.people import links, roster
from triptych.privacy import scrub
from triptych.storage import events
from triptych.storage.events import EventKind
from triptych.storage.models import (
    Assignment,
    AssignmentState,
    EntryAttempt,
    Event,
    EventDetail,
    Highlight,
    Item,
    Kind,
    Membership,
    Person,
    Purpose,
    Rating,
    Role,
    Slot,
    Study,
    StudyState,
    Workbook,
)
from triptych.storage.writes import update_row
from triptych.study import design
from triptych.study.persons import Who
from triptych.study.settings import Consent, settings_of


def withdraw(session: Session, study: Study, pseudonym: str, actor: str) -> str:
    """End the person's part in the study; returns what happened to the ratings, "keep" or "delete".

    Kept ratings become surplus: their places are free, but results still include them. In a closed study they keep
    their places, which nobody else can take. Call `erasure.wipe` afterwards, outside the transaction. Raises NotFound,
    NotAllowed for a judge, whose scores a lead could delete otherwise, Conflict if they have withdrawn before.
    """
    membership, person = roster.find(session, study, pseudonym)
    if person.kind == Kind.judge:
        raise NotAllowed(f"{pseudonym} is a judge model, and its scores are kept. Exclude it with a reason instead.")
    if membership.withdrawn_at is not None:
        raise Conflict(f"{pseudonym} has already withdrawn from this study.")
    promised = what_was_promised(session, study, membership, pseudonym)
    given_up = exclusions.give_up_reservations(session, study, person.id, AssignmentState.withdrawn)
    exclusions.forget_unfinished(session, study, person.id)
    frees_places = promised == "delete" or study.state != StudyState.closed
    finished = _give_up_finished(session, study, membership) if frees_places else []
    reservations.free_places(session, given_up if membership.excluded_at else [*given_up, *finished])
    if promised == "delete":
        _delete_work(session, study, membership, pseudonym)
    _end_the_rest(session, study, membership)
    membership.withdrawn_at = clock.now()
    session.flush()
    scrub.forget_words(session, study, person)
    if scrub.is_done_here(session, person):
        scrub.forget_identity(session, person)
    new: dict[str, str | int] = {"ratings": promised}
    if promised == "delete" and study.state == StudyState.closed:
        new["filled_places"] = _planned_among(session, study, finished)  # these were in: collection stays over
    events.record(session, study.id, EventKind.withdrew, actor, subject=pseudonym, new=new)
    return promised


def withdraw_myself(session: Session, study: Study, who: Who) -> str:
    """As `withdraw`, for the signed-in annotator."""
    return withdraw(session, study, who.pseudonym, who.pseudonym)


def what_was_promised(session: Session, study: Study, membership: Membership, pseudonym: str) -> str:
    """ "keep" or "delete", by the consent text that the annotator last agreed to; otherwise as set at launch."""
    current = settings_of(study).consent
    if membership.consent_version is None:
        return _set_at_launch(session, study)
    if membership.consent_version == current.version:
        return current.after_withdrawal
    consents = (
        select(EventDetail.new)
        .join(Event, Event.id == EventDetail.event_id)
        .where(Event.study_id == study.id, Event.kind == EventKind.consented, Event.subject == pseudonym)
        .order_by(Event.number.desc())
    )
    last = session.scalars(consents.limit(1)).first() or {}
    return last.get("after_withdrawal", current.after_withdrawal)


def _set_at_launch(session: Session, study: Study) -> str:
    """What the study said before its first amendment: later, results may be known, and a lead can withdraw people."""
    amendments = (
        select(EventDetail.old)
        .join(Event, Event.id == EventDetail.event_id)
        .where(Event.study_id == study.id, Event.kind == EventKind.design_amended)
        .order_by(Event.number)
    )
    earlier = (old["consent"] or {} for old in session.scalars(amendments) if old and "consent" in old)
    # the log, like the study, stores what differs from the default
    consent = next((Consent.model_validate(stored) for stored in earlier), settings_of(study).consent)
    return consent.after_withdrawal


def promised_to(session: Session, study: Study, pseudonym: str) -> str:
    """What happens to this annotator's ratings if they withdraw: "keep" or "delete". Raises NotFound."""
    return what_was_promised(session, study, annotator(session, study, pseudonym), pseudonym)


def annotator(session: Session, study: Study, pseudonym: str) -> Membership:
    """An annotator's membership in the study, for reading. Raises NotFound."""
    query = select(Membership).join(Person, Person.id == Membership.person_id)
    query = query.where(Membership.study_id == study.id, Membership.role == Role.annotator)
    membership = session.scalars(query.where(Person.pseudonym == pseudonym)).first()
    if membership is None:
        raise NotFound(f"{pseudonym} is not an annotator of this study.")
    return membership


def _give_up_finished(session: Session, study: Study, membership: Membership) -> list[int]:
    """Make finished work surplus; returns the items whose places it filled, or would without the person's exclusion."""
    finished = exclusions.in_place(session, study, membership.person_id)
    for assignment_id, _ in finished:
        update_row(session, Assignment, assignment_id, {"state": AssignmentState.surplus})
    return [item_id for _, item_id in finished]


def _planned_among(session: Session, study: Study, items: Sequence[int]) -> int:
    """How many of these places count as planned: not those of items taken out before anybody opened results."""
    looked = select(func.min(Event.number)).where(Event.study_id == study.id, Event.kind == EventKind.results_opened)
    first_look = session.scalars(looked).one() or math.inf
    late = {item for item, number in design.taken_out(session, study).items() if number > first_look}
    of_study = Item.study_id == study.id, Item.retired
    left_out = {*session.scalars(select(Item.id).where(*of_study, Item.external_id.not_in(late)))}
    return sum(item not in left_out for item in items)


def _delete_work(session: Session, study: Study, membership: Membership, pseudonym: str) -> None:
    """Delete their work in this study and its values in the log, also final values that they were asked for.

    Final values that they decided as a lead, without an order on screen, belong to the study and are kept. Times and
    events stay, as pay is due for what was finished.
    """
    own = (Assignment.study_id == study.id) & (Assignment.person_id == membership.person_id)
    rated = Assignment.purpose != Purpose.adjudication
    own_work = own & (rated | Assignment.id.in_(select(Slot.assignment_id).where(Slot.order_known)))
    ids = select(Assignment.id).where(own_work)
    about_work = Event.assignment_id.in_(select(Assignment.id).where(own & rated)) & (Event.kind != EventKind.reserved)
    by_person = (Event.actor == pseudonym) & Event.kind.in_(scrub.BY_ANNOTATORS)
    logged = select(Event.id).where(Event.study_id == study.id, about_work | by_person)
    for statement in (
        delete(EventDetail).where(EventDetail.event_id.in_(logged)),
        delete(Rating).where(Rating.assignment_id.in_(ids)),
        delete(Highlight).where(Highlight.assignment_id.in_(ids)),
        update(Slot).where(Slot.assignment_id.in_(ids)).values(set_aside=None),
        delete(EntryAttempt).where(EntryAttempt.membership_id == membership.id),
        update(Assignment)
        .where(own_work)
        .values(state=AssignmentState.withdrawn, draft=None, note=None, reason=None, version=Assignment.version + 1),
    ):
        session.execute(statement.execution_options(synchronize_session=False))


def _end_the_rest(session: Session, study: Study, membership: Membership) -> None:
    """Revoke links and cancel open workbooks."""
    links.end_links(session, membership.person_id, study)
    out = (
        (Workbook.study_id == study.id)
        & (Workbook.person_id == membership.person_id)
        & Workbook.returned_at.is_(None)
        & Workbook.cancelled_at.is_(None)
    )
    cancelling = update(Workbook).where(out).values(cancelled_at=clock.now())
    session.execute(cancelling.execution_options(synchronize_session=False))
