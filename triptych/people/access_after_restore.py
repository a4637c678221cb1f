"""Keeps access revoked after a backup is restored: logins, tokens, links, passcodes and accounts."""

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
    """The current access of everyone. ended: hashes of personal links that no longer work.

    accounts: pseudonym → hash of the passcode, time since when it is disabled, identity of single sign-on.
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
    """After a restore, revoke what was revoked since the backup. Everyone has to sign in again, and all tokens are
    deleted.

    Links that ended since stay ended, as do all links of people in `gone` (pseudonyms). People who are in both states
    have their newest passcode and identity, and disabled accounts stay disabled. People who are only in the backup lose
    their identity, which may belong to somebody else since.
    """
    for table in (Login, Ticket, Token):
        session.execute(delete(table))
    people = session.scalars(select(Person)).all()
    accounts = {
        person.pseudonym: (person.passcode_hash, person.disabled_at, None if since.accounts else person.identity)
        for person in people
    } | dict(since.accounts)
    session.execute(update(Person).values(identity=None))  # no two people may have the same identity at any time
    for person in people:
        person.passcode_hash, person.disabled_at, person.identity = accounts[person.pseudonym]
    session.flush()
    theirs = Invitation.person_id.in_(select(Person.id).where(Person.pseudonym.in_(gone)))
    for which in (theirs, Invitation.secret_hash.in_(since.ended)):
        live = which & Invitation.revoked_at.is_(None)
        session.execute(update(Invitation).where(live).values(revoked_at=clock.now()))
