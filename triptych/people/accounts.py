"""People: how they sign in, who a signed-in browser belongs to, and how they leave.

Leads have a name and a passcode. Annotators use a name and a return code (open study), a personal link (invited) or an
id in the address (panel). All of these result in a ticket: a secret that is valid for 30 seconds, works once and
becomes the login whose secret is in the cookie. Every function works in the caller's transaction; those that hash, and
therefore must not, are in `people/signing_in`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import delete, select
from sqlmodel import Session

from triptych import clock
from triptych.errors import Conflict, NotAllowed, NotFound, StudyNotOpen
from triptych.languages.language import _, message
from triptych.people import passcodes, tokens
from triptych.people.links import end_links
from triptych.people.logins import end_logins, issue_ticket, mark_used, usable_ticket
from triptych.people.names import folded, read_name
from triptych.people.shared_accounts import OTHER_LEADS, may_join
from triptych.storage import events
from triptych.storage.database import wait_for_others
from triptych.storage.events import EventKind
from triptych.storage.models import (
    PREFIX,
    Access,
    Kind,
    Membership,
    Person,
    Role,
    Study,
    StudyState,
    Ticket,
    TicketKind,
)
from triptych.study.persons import Who
from triptych.study.settings import settings_of

SETUP_LIFE = timedelta(days=1)
NOT_OPEN = {
    StudyState.draft: message("Nobody can join this study now: it is not open yet."),
    StudyState.paused: message("Nobody can join this study now: its lead has paused it."),
    StudyState.closed: message("Nobody can join this study now: it is not open any more."),
}
WRONG_PASSCODE = message("This name and passcode do not match.")
WRONG_CODE = message("This name and return code do not match in this study.")


def new_person(session: Session, role: Role, **fields: Any) -> Person:
    """A row for a new person under a new pseudonym; `fields` are further columns."""
    person = Person(
        role=role, kind=Kind.human, pseudonym=_free_pseudonym(session, role), created_at=clock.now(), **fields
    )
    session.add(person)
    session.flush()
    return person


def _free_pseudonym(session: Session, role: Role) -> str:
    prefix = PREFIX[role]
    while True:
        pseudonym = f"{prefix}-{passcodes.random_signs(5)}"
        if session.scalars(select(Person.id).where(Person.pseudonym == pseudonym)).first() is None:
            return pseudonym


# Leads


def _leads(session: Session) -> Sequence[Person]:
    return session.scalars(select(Person).where(Person.role == Role.lead, Person.passcode_hash.is_not(None))).all()


def has_lead(session: Session) -> bool:
    """Whether there is a lead account, disabled or not."""
    return bool(_leads(session))


def create_lead(session: Session, name: str, passcode: str) -> Person:
    """A new lead account. Raises NotAllowed for an unusable name or passcode, Conflict for a taken name."""
    tidy = read_name(name)
    refuse_taken_lead(session, tidy)
    return new_person(session, Role.lead, name=tidy, passcode_hash=passcodes.hash_passcode(passcode))


def refuse_taken_lead(session: Session, name: str) -> None:
    """Raises Conflict if a lead, or somebody invited to be one, has this name: it is what leads sign in with."""
    wait_for_others(session, "names of leads")
    names = session.scalars(select(Person.name).where(Person.role == Role.lead, Person.name.is_not(None)))
    if folded(name) in map(folded, names):
        raise Conflict(f"There is already a lead called {name}. Choose another name.")


def _lead_called(session: Session, name: str) -> Person | None:
    """The lead whose account has this name, disabled or not."""
    return next((lead for lead in _leads(session) if folded(lead.name) == folded(name)), None)


def lead_called(session: Session, name: str) -> Person | None:
    """The lead who can sign in with this name; None if there is none or the account is disabled."""
    lead = _lead_called(session, name)
    return None if lead is None or lead.disabled_at is not None else lead


def lead_account(name: str | None) -> str:
    """The key for counting wrong passcodes for this lead's name, whether or not there is such a lead."""
    return f"lead:{folded(name)}"


def study_account(study_id: int, name: str | None) -> str:
    """The key for counting wrong return codes for this name in a study."""
    return f"study {study_id}:{folded(name)}"


def reset_passcode(session: Session, name: str, passcode: str) -> Person:
    """Gives a lead a new passcode, signs them out everywhere and revokes their tokens.

    Raises NotAllowed if there is no such lead.
    """
    lead = _lead_called(session, name)
    if lead is None:
        raise NotAllowed(f"There is no lead called {name.strip()!r}.")
    lead.passcode_hash = passcodes.hash_passcode(passcode)
    passcodes.forget_tries(session, lead_account(lead.name))
    end_logins(session, lead.id)
    tokens.revoke_all(session, lead)
    return lead


def issue_setup_ticket(session: Session) -> str:
    """The secret of the one-time link for the first lead account; earlier links stop working.

    Raises NotAllowed if there is a lead already.
    """
    if has_lead(session):
        raise NotAllowed("This server already has a lead account. Sign in with its name and passcode.")
    session.execute(delete(Ticket).where(Ticket.kind == TicketKind.setup, Ticket.used_at.is_(None)))
    return issue_ticket(session, TicketKind.setup, SETUP_LIFE, None)


def check_setup_ticket(session: Session, secret: str) -> None:
    """Raises NotAllowed if the set-up link cannot be used to create the first lead account."""
    tickets = select(Ticket.id).where(usable_ticket(TicketKind.setup, secret))
    if has_lead(session) or session.scalars(tickets).first() is None:
        raise NotAllowed(
            "This set-up link was used, or is no longer valid. A restart prints a new one if none was used."
        )


def use_setup_ticket(session: Session, secret: str, name: str, passcode: str) -> Person:
    """Create the first lead account. Raises NotAllowed for an invalid link, a bad name or passcode."""
    check_setup_ticket(session, secret)
    lead = create_lead(session, name, passcode)
    mark_used(session, TicketKind.setup, secret)
    return lead


# Tickets and logins


# Annotators


def is_member(session: Session, study: Study, person_id: int | None) -> bool:
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
    members = select(Membership.person_id).where(Membership.study_id == study.id, Membership.role == Role.annotator)
    annotators = select(Person).where(Person.id.in_(members), Person.role == Role.annotator, Person.name.is_not(None))
    named = session.scalars(annotators)
    return [person for person in named if folded(person.name) == folded(name)]


def lock_for_joining(session: Session, study: Study) -> None:
    """Lock the study, so that two people with one name, or one person twice, cannot join at the same time.

    Raises NotFound if it was deleted meanwhile.
    """
    events.locked_study(session, study.id)


def refuse_unless_open(study: Study) -> None:
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
    lock_for_joining(session, study)
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
    lock_for_joining(session, study)
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


def annotator_called(session: Session, study: Study, name: str, email: str | None = None) -> Person:
    """The study's annotator with this name, created if there is none.

    Raises NotAllowed for an unusable name, Conflict if the name belongs to somebody with another e-mail address.
    """
    tidy = read_name(name)
    lock_for_joining(session, study)
    person = next(iter(called(session, study, tidy)), None)
    if person and email and person.email and folded(person.email) != folded(email):
        raise Conflict(
            f"There is another {tidy} in this study, with a different e-mail address. Add a surname or an initial."
        )
    person = person or new_person(session, Role.annotator, name=tidy)
    person.email = email or person.email
    enrol(session, study, person.id, person.pseudonym)
    return person


def consent(session: Session, study: Study, who: Who, version: str) -> None:
    """Records that the annotator agreed to the consent text of this version, and when.

    The event keeps what the text promised for the case of a withdrawal, and what may be published. Raises NotFound for
    somebody who is not in the study, NotAllowed after they withdrew, Conflict if the text has changed since they read
    it.
    """
    of_person = (Membership.study_id == study.id) & (Membership.person_id == who.person_id)
    query = select(Membership).where(of_person, Membership.role == Role.annotator).with_for_update(key_share=True)
    membership = session.scalars(query.execution_options(populate_existing=True)).first()
    if membership is None:
        raise NotFound(_("You are not an annotator of this study."))
    if membership.withdrawn_at is not None:
        raise NotAllowed(_("You have withdrawn from this study."))
    text = settings_of(study).consent
    if version != text.version:
        raise Conflict(_("The consent text was changed a moment ago. Please read it again."))
    membership.consent_version, membership.consented_at = version, clock.now()
    session.flush()
    promised = {"after_withdrawal": text.after_withdrawal, "sharing": text.sharing}
    new = {"version": version, "at": membership.consented_at.isoformat(), **promised}
    events.record(session, study.id, EventKind.consented, who.pseudonym, subject=who.pseudonym, new=new)
