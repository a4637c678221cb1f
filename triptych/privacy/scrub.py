"""Deletes data of a person who leaves: their texts in a study and its log, and finally everything that identifies them.

Ratings are kept if the consent says so. The event chain stays valid: it covers digests of values, not the values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlalchemy import delete, or_, select, update
from sqlmodel import Session

from triptych.annotate.annotations import MAX_COUNT
from triptych.people import accounts, panels, passcodes
from triptych.rubric.model import Rubric
from triptych.storage import wiping
from triptych.storage.events import HANDED_IN, EventKind
from triptych.storage.models import (
    Assignment,
    AssignmentState,
    Comment,
    Event,
    EventDetail,
    Explanation,
    Highlight,
    Invitation,
    Kind,
    Login,
    Membership,
    PanelIdentity,
    Person,
    Purpose,
    Rating,
    Role,
    StoredAnswer,
    Study,
    Ticket,
    Token,
)
from triptych.study import lifecycle

WITHOUT_TEXTS = (EventKind.consented, EventKind.withdrew)  # events whose values contain no text by a person
# what a lead does with an assignment that an annotator may hold before or afterwards
BY_LEADS = (
    EventKind.final_value_asked_for,
    EventKind.final_value_changed,
    EventKind.final_value_recorded,
    EventKind.final_value_taken_back,
)
# what an annotator does with an assignment, which may be handed to somebody else afterwards
BY_ANNOTATORS = tuple(kind for kind in HANDED_IN if kind is not EventKind.imported)
IDENTIFYING = ("name", "email", "passcode_hash", "language", "identity")  # columns of a person
TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.+]+")


def forget_words(session: Session, study: Study, person: Person) -> None:
    """Delete every text by this person, or by leads about them, from the study's tables and log."""
    rubric_words = words_of(lifecycle.design_of(session, study).rubric)
    _forget_texts(session, study, person, rubric_words)
    _forget_what_was_logged(session, study, person, rubric_words)
    part = (Membership.study_id == study.id) & (Membership.person_id == person.id)
    session.execute(update(Membership).where(part).values(excluded_reason=None))
    wiping.note_due_wipe(session)


def _forget_texts(session: Session, study: Study, person: Person, rubric_words: frozenset[str]) -> None:
    """Delete explanations, notes, drafts and comments of both sides; ready-made reasons are the rubric's words and
    stay. Imported ones may be the person's own, and so is a quote that is not in the text.
    """
    work = (Assignment.study_id == study.id) & (Assignment.person_id == person.id)
    own_work = select(Assignment.id).where(work)
    ratings = select(Rating.id).where(Rating.assignment_id.in_(own_work))
    for explanation in session.scalars(select(Explanation).where(Explanation.rating_id.in_(ratings))):
        explanation.reasons = [reason for reason in explanation.reasons if reason in rubric_words]
    session.flush()
    for statement in (
        # no draft that is still being sent has a higher number
        update(Assignment).where(work).values(draft=None, draft_seq=MAX_COUNT, note=None),
        update(Explanation).where(Explanation.rating_id.in_(ratings)).values(text="", words=0),
        update(Highlight).where(Highlight.assignment_id.in_(own_work)).values(comment=""),
        update(Highlight).where(Highlight.assignment_id.in_(own_work), Highlight.start.is_(None)).values(quote=""),
        delete(Comment).where(Comment.assignment_id.in_(own_work)),
    ):
        session.execute(statement.execution_options(synchronize_session=False))


def _forget_what_was_logged(session: Session, study: Study, person: Person, rubric_words: frozenset[str]) -> None:
    """Delete the values of this person's events that contain more than the rubric's words, and leads' texts about them.

    Events of the person's work as a lead are kept.
    """
    own_work = select(Assignment.id).where(Assignment.study_id == study.id, Assignment.person_id == person.id)
    about_work = Event.assignment_id.in_(own_work) & Event.kind.not_in(BY_LEADS)
    by_person = (Event.actor == person.pseudonym) & Event.kind.in_(BY_ANNOTATORS)
    query = (
        select(EventDetail.event_id, EventDetail.old, EventDetail.new, Event.kind, Event.assignment_id)
        .join(Event, Event.id == EventDetail.event_id)
        .where(Event.study_id == study.id)
        .where(or_(about_work, Event.subject == person.pseudonym, by_person))
        .execution_options(yield_per=100)  # all values together may be long
    )
    event_ids = [
        event_id
        for event_id, old, new, kind, assignment in session.execute(query)
        if kind not in WITHOUT_TEXTS and (assignment is None or _holds_other_text(rubric_words, [old, new]))
    ]
    deletion = delete(EventDetail).where(EventDetail.event_id.in_(event_ids))
    session.execute(deletion.execution_options(synchronize_session=False))


def words_of(rubric: Rubric) -> frozenset[str]:
    """All texts that come from the rubric or the app, not from an annotator."""
    texts = set(_texts(rubric.model_dump(mode="json")))
    return frozenset({*texts, *AssignmentState, *Purpose, ""})


def _holds_other_text(rubric_words: frozenset[str], values: object) -> bool:
    return any(text not in rubric_words and not TIME.fullmatch(text) for text in _texts(values))


def _texts(value: object) -> Iterator[str]:
    """The texts in a JSON value, except names of fields."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def forget_identity(session: Session, person: Person) -> None:
    """Delete name, address, identities, links and logins; the hash of a panel id is kept, to recognise a return."""
    parts = session.scalars(select(Membership.study_id).where(Membership.person_id == person.id)).all()
    ids = select(PanelIdentity.panel, PanelIdentity.external_id).where(PanelIdentity.person_id == person.id)
    identities = session.execute(ids).all()
    for study_id in parts:
        passcodes.forget_tries(session, accounts.study_account(study_id, person.name))
    for table in (PanelIdentity, Login, Ticket, Token, StoredAnswer, Invitation):
        session.execute(delete(table).where(table.person_id == person.id))
    for panel, external_id in identities:
        marks = [panels.mark_of_panel_id(study_id, external_id) for study_id in parts]
        session.add_all(PanelIdentity(person_id=person.id, panel=panel, external_id=mark) for mark in marks)
    for column in IDENTIFYING:
        setattr(person, column, None)
    session.flush()


def is_done_here(session: Session, person: Person) -> bool:
    """Whether the person has withdrawn from every study and has no lead account."""
    # locks the person, so that the later of two simultaneous withdrawals sees the other
    session.execute(select(Person.id).where(Person.id == person.id).with_for_update(key_share=True))
    takes_part = select(Membership.id).where(Membership.person_id == person.id, Membership.withdrawn_at.is_(None))
    is_human = person.kind == Kind.human and person.role != Role.lead
    return is_human and session.scalars(takes_part.limit(1)).first() is None
