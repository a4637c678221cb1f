"""Tickets and logins: which person a signed-in browser belongs to, from signing in to signing out.

A ticket is a secret that is valid for 30 seconds, works once and becomes the login whose secret is in the cookie.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, delete, select, update
from sqlmodel import Session

from triptych import clock, settings
from triptych.errors import NotAllowed, SignedOut
from triptych.languages.language import _, message
from triptych.people import passcodes
from triptych.people.links import last_end
from triptych.storage.models import Login, Person, Role, Ticket, TicketKind
from triptych.study.persons import Who

TICKET_LIFE = timedelta(seconds=30)
LOGIN_LIFE = timedelta(days=14)
MAX_LOGINS = 10  # of one person; each has budgets of its own (`web.budgets`)
LEAD_IDLE_LIFE = timedelta(hours=12)  # a lead's login ends earlier if it is not used
USE_NOTED_EVERY = timedelta(minutes=10)
PASSCODE_LIFE = timedelta(minutes=15)  # within which a lead need not type it again
SIGNED_OUT = message("You are signed out. Sign in again; what you wrote is kept in this browser.")


def issue_ticket(
    session: Session, kind: TicketKind, life: timedelta, person_id: int | None, *, before: str = ""
) -> str:
    """The secret of a new ticket, which works once within this time, with the text `before` in front of it."""
    secret = passcodes.new_secret()
    hashed = passcodes.secret_hash(before + secret)
    session.add(Ticket(kind=kind, person_id=person_id, secret_hash=hashed, expires_at=clock.now() + life))
    session.flush()
    return secret


def usable_ticket(kind: TicketKind, secret: str) -> ColumnElement[bool]:
    """Whether a ticket has this kind and secret, and can still be used."""
    issued = (Ticket.secret_hash == passcodes.secret_hash(secret)) & (Ticket.kind == kind)
    return issued & Ticket.used_at.is_(None) & (Ticket.expires_at > clock.now())


def mark_used(session: Session, kind: TicketKind, secret: str) -> int | None:
    """Marks the ticket as used, in one statement so that only one request can; returns its person."""
    using = update(Ticket).where(usable_ticket(kind, secret)).values(used_at=clock.now()).returning(Ticket.person_id)
    used = session.execute(using.execution_options(synchronize_session=False)).first()
    if used is None:
        raise NotAllowed(_("This sign-in was used already or took too long. Please sign in again."))
    return used.person_id


def issue_sign_in_ticket(session: Session, person: Person, identity: str = "") -> str:
    """A secret that becomes a login once, within 30 seconds. It must have been checked who they are.

    identity: of the visitor, with single sign-on; on a shared computer the next one may click in a page that is still
    open. Raises NotAllowed if their passcode or identity was changed since.
    """
    refuse_if_changed(session, person)
    old = (Ticket.kind == TicketKind.sign_in) & (Ticket.expires_at < clock.now())
    session.execute(delete(Ticket).where(old))
    return issue_ticket(session, TicketKind.sign_in, TICKET_LIFE, person.id, before=f"{identity} ")


def refuse_if_changed(session: Session, person: Person) -> None:
    """Raises NotAllowed if the person's passcode or identity was changed since they were read; a change then waits."""
    ways_in = select(Person.passcode_hash, Person.identity).where(Person.id == person.id)
    if session.execute(ways_in.with_for_update(key_share=True)).first() != (person.passcode_hash, person.identity):
        raise NotAllowed(_("This way to sign in was changed a moment ago. Please sign in again."))


def use_ticket(session: Session, secret: str, identity: str = "") -> str:
    """Turns a ticket into a login; returns the login's secret, for the cookie. The person's oldest logins end if they
    have too many. Raises NotAllowed, also for a visitor of another identity than the ticket's.
    """
    sent = f"{identity} {secret}"
    issued_to = (
        select(Person).join(Ticket, Ticket.person_id == Person.id).where(usable_ticket(TicketKind.sign_in, sent))
    )
    locking = issued_to.with_for_update(key_share=True, of=Person).execution_options(populate_existing=True)
    person = session.scalars(locking).first()
    mark_used(session, TicketKind.sign_in, sent)
    if person is None or person.disabled_at is not None:
        raise NotAllowed(_("This account is disabled. Ask the lead of your study."))
    login_secret, now = passcodes.new_secret(), clock.now()
    hashed = passcodes.secret_hash(login_secret)
    end = now + (LEAD_IDLE_LIFE if person.role == Role.lead else LOGIN_LIFE)
    if person.role == Role.viewer:
        end = min(end, last_end(session, person.id) or now)
    session.add(Login(person_id=person.id, secret_hash=hashed, created_at=now, expires_at=end))
    session.flush()
    live = (Login.person_id == person.id) & Login.revoked_at.is_(None) & (Login.expires_at > now)
    latest = select(Login.id).where(live).order_by(Login.id.desc()).limit(MAX_LOGINS)
    session.execute(update(Login).where(live, Login.id.not_in(session.scalars(latest).all())).values(revoked_at=now))
    return login_secret


def later_end(session: Session, who: Who) -> datetime | None:
    """When a lead's login should end after this use; None if that was updated recently."""
    login = session.get(Login, who.login_id)
    if who.role != Role.lead or login is None:
        return None
    end = min(clock.now() + LEAD_IDLE_LIFE, login.created_at + LOGIN_LIFE)
    return end if abs(end - login.expires_at) > USE_NOTED_EVERY else None


def prolong(session: Session, who: Who, end: datetime) -> None:
    """Extend a login that has not ended, see `later_end`."""
    live = (Login.id == who.login_id) & Login.revoked_at.is_(None) & (Login.expires_at > clock.now())
    session.execute(update(Login).where(live).values(expires_at=end))


def passcode_is_fresh(session: Session, who: Who, typed_at: datetime | None) -> bool:
    """Whether the lead gave their passcode less than 15 minutes ago: at `typed_at`, or when this login began.

    Where there is single sign-on, a login may have begun without it. A time far in the future, from a clock that was
    wrong, does not count.
    """
    login = None if settings.identity_header() else session.get(Login, who.login_id)
    times = [typed_at, login.created_at if login else None]
    return any(time is not None and abs(clock.now() - time) < PASSCODE_LIFE for time in times)


def live_logins(session: Session, login_secrets: Collection[str]) -> set[str]:
    """The subset of these logins that is still valid."""
    by_hash = {passcodes.secret_hash(secret): secret for secret in login_secrets}
    live = _live_login().with_only_columns(Login.secret_hash).where(Login.secret_hash.in_(by_hash))
    return {by_hash[hashed] for hashed in session.scalars(live, {"now": clock.now()})}


def who_is(session: Session, login_secret: str) -> Who | None:
    """The person this login belongs to; None if it is unknown, revoked, expired, or the person is disabled."""
    parameters = {"secret": passcodes.secret_hash(login_secret), "now": clock.now()}
    row = session.connection().execute(select_who(), parameters).first()
    return None if row is None else Who(*row)


@cache  # used by every page run and every command of an annotator, see `storage.writes`
def select_who() -> Select[*tuple[Any, ...]]:
    """The columns of `Who`, in its order, of the login with the hash `:secret` at `:now`."""
    return signed_in_person().add_columns(Person.pseudonym, Person.role, Person.name, Login.id)


def signed_in_person() -> Select[int]:
    """The id of the person whose login has the hash `:secret` at `:now`."""
    return _live_login().where(Login.secret_hash == bindparam("secret"))


def _live_login() -> Select[int]:
    """Persons with their logins that have not ended at `:now`."""
    return (
        select(Person.id)
        .join(Login, Login.person_id == Person.id)
        .where(Login.revoked_at.is_(None), Login.expires_at > bindparam("now"), Person.disabled_at.is_(None))
    )


def signed_in(session: Session, login_secret: str | None) -> Who:
    """As `who_is`, for a request that needs a login. Raises SignedOut."""
    who = who_is(session, login_secret) if login_secret else None
    if who is None:
        raise SignedOut(_(SIGNED_OUT))
    return who


def sign_out(session: Session, who: Who) -> None:
    """Ends this login, in every tab of its browser."""
    session.execute(update(Login).where(Login.id == who.login_id).values(revoked_at=clock.now()))


def end_logins(session: Session, person_id: int, *, but: int | None = None) -> None:
    """Signs the person out everywhere, at once, except with the login `but`; unused tickets stop working."""
    _wait_for_sign_ins(session, person_id)
    others = (Login.person_id == person_id) & (Login.id != (but or 0)) & Login.revoked_at.is_(None)
    session.execute(update(Login).where(others).values(revoked_at=clock.now()))
    session.execute(delete(Ticket).where(Ticket.person_id == person_id, Ticket.used_at.is_(None)))


def refuse_if_ended(session: Session, who: Who) -> None:
    """Raises SignedOut if the login was ended since it was read. `end_logins` then waits for this transaction."""
    _wait_for_sign_ins(session, who.person_id)
    ended = select(Login.id).where(Login.id == who.login_id, Login.revoked_at.is_not(None))
    if session.scalars(ended).first() is not None:
        raise SignedOut(_(SIGNED_OUT))


def _wait_for_sign_ins(session: Session, person_id: int) -> None:
    """Locks the person, as each step of a sign-in does; otherwise PostgreSQL would not show what that is storing."""
    session.execute(select(Person.id).where(Person.id == person_id).with_for_update(key_share=True))
