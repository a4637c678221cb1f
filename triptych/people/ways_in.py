"""What was closed stays closed when the database becomes an earlier one: logins, tokens, links, passcodes, accounts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import delete, select, update
from sqlmodel import Session

from triptych import clock
from triptych.storage.models import Invitation, Login, Person, Ticket, Token


@dataclass(frozen=True)
class WaysIn:
    """ended: hashes of the personal links that no longer open anything.

    accounts: the hash of the passcode, and since when it is disabled, by pseudonym.
    """

    ended: frozenset[str] = frozenset()
    accounts: Mapping[str, tuple[str | None, datetime | None]] = field(default_factory=dict)


def ways_in(session: Session) -> WaysIn:
    """How people come in now."""
    ended = session.scalars(select(Invitation.secret_hash).where(Invitation.revoked_at.is_not(None)))
    accounts = session.execute(select(Person.pseudonym, Person.passcode_hash, Person.disabled_at))
    return WaysIn(frozenset(ended), {pseudonym: (passcode, disabled) for pseudonym, passcode, disabled in accounts})


def keep_closed(session: Session, since: WaysIn, gone: Collection[str]) -> None:
    """Lets the database of this session, which is an earlier one, open nothing that was closed since.

    Everybody signs in again, and no token is left. Links that ended since stay so, as do all links of people who are
    `gone`, by pseudonym; people who are in both have the passcode that they chose last, and disabled accounts stay so.
    """
    for table in (Login, Ticket, Token):
        session.execute(delete(table))
    for person in session.scalars(select(Person)):
        before = (person.passcode_hash, person.disabled_at)
        person.passcode_hash, person.disabled_at = since.accounts.get(person.pseudonym, before)
    session.flush()
    theirs = Invitation.person_id.in_(select(Person.id).where(Person.pseudonym.in_(gone)))
    for which in (theirs, Invitation.secret_hash.in_(since.ended)):
        live = which & Invitation.revoked_at.is_(None)
        session.execute(update(Invitation).where(live).values(revoked_at=clock.now()))
