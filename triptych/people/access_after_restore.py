"""After a backup is restored, every login, token, link, passcode and account that was closed since stays closed."""

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

    accounts: the hash of the passcode, since when it is disabled, and the identity of single sign-on, by pseudonym.
    """

    ended: frozenset[str] = frozenset()
    accounts: Mapping[str, tuple[str | None, datetime | None, str | None]] = field(default_factory=dict)


def ways_in(session: Session) -> WaysIn:
    """Everyone's current access."""
    ended = session.scalars(select(Invitation.secret_hash).where(Invitation.revoked_at.is_not(None)))
    accounts = session.execute(select(Person.pseudonym, Person.passcode_hash, Person.disabled_at, Person.identity))
    return WaysIn(
        frozenset(ended), {row.pseudonym: (row.passcode_hash, row.disabled_at, row.identity) for row in accounts}
    )


def keep_closed(session: Session, since: WaysIn, gone: Collection[str]) -> None:
    """After a restore, keep access revoked that was revoked since the backup. Everyone has to sign in again, and all
    tokens are deleted. Links that ended since remain ended, as do all links of people who are `gone`, by pseudonym;
    people who are in both have the passcode that they chose last and the identity given to them last, and disabled
    accounts stay so. People who are in the earlier one only have no identity: it may be somebody else's since.
    """
    for table in (Login, Ticket, Token):
        session.execute(delete(table))
    people = session.scalars(select(Person)).all()
    accounts = {
        person.pseudonym: (person.passcode_hash, person.disabled_at, None if since.accounts else person.identity)
        for person in people
    } | dict(since.accounts)
    session.execute(update(Person).values(identity=None))  # no two may have the same one in between
    for person in people:
        person.passcode_hash, person.disabled_at, person.identity = accounts[person.pseudonym]
    session.flush()
    theirs = Invitation.person_id.in_(select(Person.id).where(Person.pseudonym.in_(gone)))
    for which in (theirs, Invitation.secret_hash.in_(since.ended)):
        live = which & Invitation.revoked_at.is_(None)
        session.execute(update(Invitation).where(live).values(revoked_at=clock.now()))
