"""Joining a study as an annotator: by a name, from a list of guests, or with an account; and consenting to it."""

from __future__ import annotations

from sqlalchemy import select
from sqlmodel import Session

from triptych import clock
from triptych.errors import Conflict, NotAllowed, NotFound, StudyNotOpen
from triptych.languages.language import _, message
from triptych.people import passcodes, roster
from triptych.people.accounts import new_person
from triptych.people.links import end_links
from triptych.people.logins import end_logins
from triptych.people.membership import HAS_LEFT
from triptych.people.names import folded, read_name
from triptych.people.shared_accounts import OTHER_LEADS, may_join
from triptych.storage import events
from triptych.storage.events import EventKind
from triptych.storage.models import Access, Membership, Person, Role, Study, StudyState
from triptych.study import lifecycle
from triptych.study.persons import Who
from triptych.study.settings import settings_of

NOT_OPEN = {
    StudyState.draft: message("Nobody can join this study now: it is not open yet."),
    StudyState.paused: message("Nobody can join this study now: its lead has paused it."),
    StudyState.closed: message("Nobody can join this study now: it is not open any more."),
}


def is_member(session: Session, study: Study, person_id: int | None) -> bool:
    """Whether the person annotates the study; also after a withdrawal."""
    in_study = (Membership.study_id == study.id) & (Membership.role == Role.annotator)
    membership = select(Membership.id).where(in_study, Membership.person_id == person_id)
    return session.scalars(membership).first() is not None


def enrol(session: Session, study: Study, person_id: int, pseudonym: str) -> None:
    """Makes the person an annotator of the study, once."""
    if not is_member(session, study, person_id):
        session.add(Membership(study_id=study.id, person_id=person_id, joined_at=clock.now()))
        session.flush()
        events.record(session, study.id, EventKind.joined, pseudonym, subject=pseudonym)


def called(session: Session, study: Study, name: str) -> list[Person]:
    """The study's annotators with this name; never a lead who annotates, so no code or link opens a lead's account."""
    return [person for person, _membership in _members_called(session, study, name)]


def _members_called(session: Session, study: Study, name: str) -> list[tuple[Person, Membership]]:
    part = (Membership.study_id == study.id) & (Membership.role == Role.annotator)
    annotators = select(Person, Membership).join(Membership, Membership.person_id == Person.id).where(part)
    rows = session.execute(annotators.where(Person.role == Role.annotator, Person.name.is_not(None)))
    return [(person, membership) for person, membership in rows if folded(person.name) == folded(name)]


def refuse_unless_open(study: Study) -> None:
    """Raises StudyNotOpen."""
    if study.state != StudyState.open:
        raise StudyNotOpen(_(NOT_OPEN[study.state]))


def refuse_unless_for_all(study: Study) -> None:
    """Raises StudyNotOpen, and NotAllowed for a study that is not public."""
    refuse_unless_open(study)
    if study.access != Access.open:
        raise NotAllowed(_("This study is not open to everybody. Use the link that you were sent."))


def join_open_study(
    session: Session, study: Study, name: str, code: passcodes.ReturnCode | None = None
) -> tuple[Person, str]:
    """A new annotator and their return code, which is shown once and never stored; `code` was made before.

    Raises NotAllowed if the study is not open to everybody or the name unusable, StudyNotOpen, and Conflict if
    somebody in the study has this name.
    """
    refuse_unless_for_all(study)
    tidy = read_name(name)
    lifecycle.lock(session, study.id)  # so that two people with one name cannot join at the same time
    if called(session, study, tidy):
        raise Conflict(
            _(
                "Somebody called {name} takes part in this study already. If that is you, sign in with your return "
                "code; otherwise choose another name, for example with a number or an initial.",
                name=tidy,
            )
        )
    code = code or passcodes.new_return_code()
    person = new_person(session, Role.annotator, name=tidy, passcode_hash=code.hashed)
    enrol(session, study, person.id, person.pseudonym)
    return person, code.text


def studies_to_return_to(session: Session) -> list[Study]:
    """Studies that a return code opens, closed ones last: their annotators can still read what is stored about them."""
    launched = (Study.state != StudyState.draft) & (Study.access == Access.open)
    is_closed = Study.state == StudyState.closed
    return list(session.scalars(select(Study).where(launched).order_by(is_closed, Study.demo, Study.id.desc())))


def join(session: Session, study: Study, who: Who) -> Study:
    """Makes somebody who is signed in an annotator of a study that is open to everybody; returns the study.

    Raises NotAllowed if it is not, or for an account that other leads may open, NotFound for a viewer, StudyNotOpen.
    """
    if who.role == Role.viewer:
        raise NotFound(_("A viewer looks at results and cannot annotate."))
    refuse_unless_for_all(study)
    lifecycle.lock(session, study.id)
    if not may_join(session, study, who):
        raise NotAllowed(_(OTHER_LEADS, study=study.title))
    if who.role == Role.annotator and not study.demo:
        _leave_links_of_demo_studies(session, who)
    enrol(session, study, who.person_id, who.pseudonym)
    return study


def _leave_links_of_demo_studies(session: Session, who: Who) -> None:
    """End the links and other logins of somebody who came by a demo study: any lead may have made and used them."""
    in_demo = Membership.study_id.in_(select(Study.id).where(Study.demo)) & (Membership.person_id == who.person_id)
    if session.scalars(select(Membership.id).where(in_demo)).first() is not None:
        end_links(session, who.person_id)
        end_logins(session, who.person_id, but=who.login_id)


def annotator_called(session: Session, study: Study, name: str) -> Person:
    """The study's annotator with this name, created if there is none whose name its leads see.

    Raises NotAllowed for an unusable name.
    """
    tidy = read_name(name)
    lifecycle.lock(session, study.id)
    members = _members_called(session, study, tidy)
    person = next((person for person, membership in members if roster.is_named(study, membership)), None)
    person = person or new_person(session, Role.annotator, name=tidy)
    enrol(session, study, person.id, person.pseudonym)
    return person


def consent(session: Session, study: Study, who: Who, version: str) -> None:
    """Records that the annotator agreed to the consent text of this version, and when.

    The event keeps what the text promised for the case of a withdrawal, and what may be published. Raises NotFound for
    somebody who is not in the study, NotAllowed after they withdrew or were turned away, Conflict if the text has
    changed since they read it, StudyNotOpen.
    """
    of_person = (Membership.study_id == study.id) & (Membership.person_id == who.person_id)
    query = select(Membership).where(of_person, Membership.role == Role.annotator).with_for_update(key_share=True)
    membership = session.scalars(query.execution_options(populate_existing=True)).first()
    if membership is None:
        raise NotFound(_("You are not an annotator of this study."))
    if membership.withdrawn_at is not None:
        raise NotAllowed(_("You have withdrawn from this study."))
    if membership.turned_away_as:
        raise NotAllowed(_(HAS_LEFT))
    lifecycle.refuse_unless_writable(study)
    text = settings_of(study).consent
    if version != text.version:
        raise Conflict(_("The consent text was changed a moment ago. Please read it again."))
    membership.consent_version, membership.consented_at = version, clock.now()
    session.flush()
    promised = {"after_withdrawal": text.after_withdrawal, "sharing": text.sharing}
    new = {"version": version, "at": membership.consented_at.isoformat(), **promised}
    events.record(session, study.id, EventKind.consented, who.pseudonym, subject=who.pseudonym, new=new)
