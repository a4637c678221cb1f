"""What goes when somebody leaves: her words in a study and its log, and in the end all that says who she is.

Values stay where the consent says so, and the event chain holds: it covers digests of old and new values, not these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from sqlalchemy import delete, or_, select, update
from sqlmodel import Session

from triptych.people import accounts, passcodes
from triptych.rubric.model import Rubric
from triptych.storage.events import EventKind
from triptych.storage.models import (
    Assignment,
    AssignmentState,
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
    Study,
    Ticket,
)
from triptych.study import lifecycle

ABOUT_HER = (EventKind.consented, EventKind.withdrew)  # their values hold no text of anybody's
TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.+]+")


def forget_words(session: Session, study: Study, person: Person) -> None:
    """Every word that she wrote in this study, or that leads wrote about her there, in the tables and in the log."""
    _forget_texts(session, study, person)
    _forget_what_was_logged(session, study, person)
    hers = (Membership.study_id == study.id) & (Membership.person_id == person.id)
    session.execute(update(Membership).where(hers).values(excluded_reason=None))


def _forget_texts(session: Session, study: Study, person: Person) -> None:
    """Explanations, notes, comments and drafts; ready-made reasons are the rubric's words and stay."""
    work = (Assignment.study_id == study.id) & (Assignment.person_id == person.id)
    hers = select(Assignment.id).where(work)
    ratings = select(Rating.id).where(Rating.assignment_id.in_(hers))
    for statement in (
        update(Assignment).where(work).values(draft=None, note=None),
        update(Explanation).where(Explanation.rating_id.in_(ratings)).values(text="", words=0),
        update(Highlight).where(Highlight.assignment_id.in_(hers)).values(comment=""),
    ):
        session.execute(statement.execution_options(synchronize_session=False))


def _forget_what_was_logged(session: Session, study: Study, person: Person) -> None:
    """Deletes the values of her events that hold more than the rubric's own words, and what leads wrote about her.

    What she did as a lead, where she is one, is no part of it.
    """
    hers = select(Assignment.id).where(Assignment.study_id == study.id, Assignment.person_id == person.id)
    by_her = (Event.actor == person.pseudonym) & Event.assignment_id.is_not(None)
    wanted = (
        select(EventDetail, Event.kind, Event.assignment_id)
        .join(Event, Event.id == EventDetail.event_id)
        .where(Event.study_id == study.id)
        .where(or_(Event.assignment_id.in_(hers), Event.subject == person.pseudonym, by_her))
    )
    known = _words_of(lifecycle.design_of(session, study).rubric)
    told = [
        detail.event_id
        for detail, kind, assignment in session.execute(wanted)
        if kind not in ABOUT_HER and (assignment is None or _tells_more(known, [detail.old, detail.new]))
    ]
    gone = delete(EventDetail).where(EventDetail.event_id.in_(told))
    session.execute(gone.execution_options(synchronize_session=False))


def _words_of(rubric: Rubric) -> frozenset[str]:
    """Every text that a rubric or the program gives, and no annotator."""
    found = set(_texts(rubric.model_dump(mode="json")))
    return frozenset({*found, *AssignmentState, *Purpose, ""})


def _tells_more(known: frozenset[str], values: Any) -> bool:
    return any(text not in known and not TIME.fullmatch(text) for text in _texts(values))


def _texts(value: Any) -> Iterator[str]:
    """The texts in a value of JSON; names of fields are ours."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def forget_identity(session: Session, person: Person) -> None:
    """Name, address, ids of panels, links and logins; of an id a mark stays, so that nobody takes part twice."""
    parts = session.scalars(select(Membership.study_id).where(Membership.person_id == person.id)).all()
    ids = select(PanelIdentity.panel, PanelIdentity.external_id).where(PanelIdentity.person_id == person.id)
    known_as = session.execute(ids).all()
    for study_id in parts:
        passcodes.forget_failures(session, f"study {study_id}:{accounts.folded(person.name)}")
    for table in (PanelIdentity, Login, Ticket, Invitation):
        session.execute(delete(table).where(table.person_id == person.id))
    for panel, external_id in known_as:
        marks = [accounts.mark_of_panel_id(study_id, external_id) for study_id in parts]
        session.add_all(PanelIdentity(person_id=person.id, panel=panel, external_id=mark) for mark in marks)
    person.name = person.email = person.passcode_hash = None
    session.flush()


def is_done_here(session: Session, person: Person) -> bool:
    """Whether she has withdrawn from every study and has no account of a lead: nobody needs her name any more."""
    # whoever leaves two studies at the same moment: the later one sees that both are left
    session.execute(select(Person.id).where(Person.id == person.id).with_for_update(key_share=True))
    takes_part = select(Membership.id).where(Membership.person_id == person.id, Membership.withdrawn_at.is_(None))
    is_human = person.kind == Kind.human and person.role != Role.lead
    return is_human and session.scalars(takes_part.limit(1)).first() is None
