"""The identities that a single sign-on in front of the app uses for people; an administrator assigns them. A name,
address or pseudonym chosen by a user is never treated as an identity.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlalchemy import select
from sqlmodel import Session

from triptych.errors import Conflict, NotAllowed, NotFound
from triptych.languages.language import message
from triptych.people import accounts, logins
from triptych.storage.models import Kind, Person, Role

IDENTITY = re.compile(r"[!-+\--~]{1,200}")  # no comma or space: a proxy may join two with them
CHARACTERS = "1 to 200 printable ASCII characters, without commas and spaces"
UNKNOWN = message(
    "Your organisation signs you in as {identity}. Nobody has this identity here yet: ask the lead of your study."
)


def identified(session: Session, identity: str) -> Person | None:
    """The person with this identity; None if there is none or the account is disabled."""
    return session.scalars(select(Person).where(Person.identity == identity, Person.disabled_at.is_(None))).first()


def everybody(session: Session) -> Sequence[Person]:
    """All who have an identity."""
    return session.scalars(select(Person).where(Person.identity.is_not(None)).order_by(Person.pseudonym)).all()


def give(session: Session, called: str, identity: str | None) -> Person:
    """Assign this identity to a person, by pseudonym or a lead's name; None removes the current one.

    A change signs them out. Raises NotFound; NotAllowed for an identity that no request can contain, or for somebody
    who can only come by a link; Conflict if it belongs to somebody else.
    """
    by_pseudonym = session.scalars(select(Person).where(Person.pseudonym == called)).first()
    person = by_pseudonym or accounts.lead_called(session, called)
    if person is None:
        raise NotFound(f"There is no person with the pseudonym {called!r}, and no lead of this name.")
    is_invited_lead = person.role == Role.lead and person.passcode_hash is None
    if person.kind != Kind.human or person.role == Role.viewer or is_invited_lead:
        raise NotAllowed(f"{person.pseudonym} has no account: only annotators and leads with a passcode do.")
    if identity is not None:
        _refuse_unusable(session, person, identity)
    if person.identity not in (None, identity):
        logins.end_logins(session, person.id)
    person.identity = identity
    session.flush()
    return person


def _refuse_unusable(session: Session, person: Person, identity: str) -> None:
    if not IDENTITY.fullmatch(identity):
        raise NotAllowed(f"An identity has {CHARACTERS}.")
    of_others = select(Person.pseudonym).where(Person.identity == identity, Person.id != person.id)
    other = session.scalars(of_others).first()
    if other:
        raise Conflict(f"{other} has this identity. Remove it from them first.")
