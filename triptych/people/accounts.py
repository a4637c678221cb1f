"""Accounts: people under their pseudonyms, leads with a name and a passcode, and the link for the first lead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import delete, select
from sqlmodel import Session

from triptych import clock
from triptych.errors import Conflict, NotAllowed
from triptych.people import passcodes, tokens
from triptych.people.logins import end_logins, issue_ticket, mark_used, usable_ticket
from triptych.people.names import folded, read_name
from triptych.storage.database import wait_for_others
from triptych.storage.models import PREFIX, Kind, Person, Role, Ticket, TicketKind

SETUP_LIFE = timedelta(days=1)


def new_person(session: Session, role: Role, **fields: Any) -> Person:
    """A row for a new person under a new pseudonym; `fields` are further columns."""

    def is_taken(pseudonym: str) -> bool:
        return session.scalars(select(Person.id).where(Person.pseudonym == pseudonym)).first() is not None

    pseudonym = free_pseudonym(PREFIX[role], is_taken)
    person = Person(role=role, kind=Kind.human, pseudonym=pseudonym, created_at=clock.now(), **fields)
    session.add(person)
    session.flush()
    return person


def free_pseudonym(prefix: str, is_taken: Callable[[str], bool]) -> str:
    """A random pseudonym that is not taken."""
    while is_taken(pseudonym := f"{prefix}-{passcodes.random_signs(5)}"):
        pass
    return pseudonym


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
