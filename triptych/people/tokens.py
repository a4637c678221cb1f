"""Tokens for leads' scripts: created, shown once, stored as a hash, used, listed and revoked. A token acts for its lead
in all their studies or in one: it can read and, depending on its scopes, write and unblind. It is signed, so that a
forged one costs no query, and it ends with the passcode under which it was created.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from itsdangerous import BadData, Signer
from sqlalchemy import ColumnElement, delete, select, update
from sqlmodel import Session

from triptych import clock, settings
from triptych.errors import NotAllowed, NotFound
from triptych.people import logins, passcodes
from triptych.storage import events
from triptych.storage.events import EventKind
from triptych.storage.models import Membership, Person, Role, Study, Token
from triptych.study import lifecycle
from triptych.study.persons import Certainty, Who

PREFIX = "triptych_"  # lets people and secret scanners recognise it
MAX_CHARACTERS = 200
MAX_NAME_CHARACTERS = 60
MAX_TOKENS = 20  # of one lead
NO_SUCH = "You have no such token, or it has already been revoked."
LIVES = (timedelta(days=1), timedelta(days=7), timedelta(days=30), timedelta(days=90), timedelta(days=365))
USE_NOTED_EVERY = timedelta(minutes=1)


class Scope(StrEnum):
    """What a token may do."""

    read = "read"
    write = "write"
    unblind = "unblind"


@dataclass(frozen=True)
class Bearer:
    """The rights of a valid token. study_id: the only study that it is for; None for all studies of the lead."""

    who: Who
    scopes: frozenset[Scope]
    study_id: int | None
    token_id: int
    expires_at: datetime
    used_at: datetime | None


def make(
    session: Session,
    who: Who,
    name: str,
    life: timedelta,
    scopes: Collection[Scope],
    study: Study | None = None,
    certainty: Certainty | None = None,
) -> str:
    """A new token of this lead, which is shown once and not stored.

    Raises NotAllowed for a name, life or number of tokens that is not possible, and for one that unblinds without the
    lead's passcode (`certainty`) or for more than one study, SignedOut for a login that was ended meanwhile.
    """
    name = " ".join(name.split())
    if not name or len(name) > MAX_NAME_CHARACTERS or not name.isprintable():
        raise NotAllowed(f"A token needs a name of 1 to {MAX_NAME_CHARACTERS} characters that says what it is for.")
    if life not in LIVES:
        raise NotAllowed("Choose one of the offered periods of validity.")
    if who.role != Role.lead:
        raise NotAllowed("Only leads can create tokens.")
    if Scope.unblind in scopes and (certainty is None or certainty.who != who):
        raise NotAllowed("Creating a token that may unblind requires your passcode.")
    if Scope.unblind in scopes and study is None:
        raise NotAllowed("A token that may unblind applies to one study. Choose it.")
    logins.refuse_if_ended(session, who)
    if len(session.scalars(select(Token.id).where(Token.person_id == who.person_id)).all()) >= MAX_TOKENS:
        raise NotAllowed(f"You have {MAX_TOKENS} tokens. Revoke one that you no longer need.")
    secret, now = passcodes.new_secret(), clock.now()
    token = Token(
        person_id=who.person_id,
        study_id=study.id if study else None,
        name=name,
        secret_hash=passcodes.secret_hash(secret),
        may_write=Scope.write in scopes,
        may_unblind=Scope.unblind in scopes,
        created_at=now,
        expires_at=now + life,
    )
    session.add(token)
    session.flush()
    _record(session, who, token, EventKind.token_made, _locked_studies(session, who, token))
    return PREFIX + _signer().sign(secret).decode()


def secret_of(text: str) -> str | None:
    """The secret in a token with a valid signature of this installation; None for anything else."""
    if not text.startswith(PREFIX) or len(text) > MAX_CHARACTERS:
        return None
    try:
        return _signer().unsign(text.removeprefix(PREFIX)).decode()
    except (BadData, UnicodeError):
        return None


def _signer() -> Signer:
    return Signer(settings.cookie_secret(), salt="triptych.token")


def bearer(session: Session, secret: str) -> Bearer | None:
    """The token's lead and rights; None if it is unknown, revoked or expired, or its lead is disabled."""
    live = (Token.secret_hash == passcodes.secret_hash(secret)) & (Token.expires_at > clock.now())
    able = Person.disabled_at.is_(None) & (Person.role == Role.lead)
    query = select(Token, Person).join(Person, Person.id == Token.person_id).where(live, able)
    row = session.execute(query).first()
    if row is None:
        return None
    token, person = row
    who = Who(person.id, person.pseudonym, person.role, person.name, 0)
    return Bearer(who, frozenset(scopes_of(token)), token.study_id, token.id, token.expires_at, token.used_at)


def is_to_be_noted(bearer: Bearer) -> bool:
    """Whether the stored time of the last use is out of date."""
    return bearer.used_at is None or clock.now() - bearer.used_at > USE_NOTED_EVERY


def note_use(session: Session, bearer: Bearer) -> None:
    session.execute(update(Token).where(Token.id == bearer.token_id).values(used_at=clock.now()))


def of_person(session: Session, person_id: int) -> list[tuple[Token, str | None]]:
    """The tokens of a lead, newest first, expired ones too, each with the title of its only study; None for all."""
    query = select(Token, Study.title).outerjoin(Study, Study.id == Token.study_id)
    own = query.where(Token.person_id == person_id).order_by(Token.id.desc())
    return [(token, title) for token, title in session.execute(own)]


def revoke(session: Session, who: Who, token_id: int) -> None:
    """Delete the token, which stops working at once. Raises NotFound for anything but a token of this lead."""
    own = (Token.id == token_id) & (Token.person_id == who.person_id)
    token = session.scalars(select(Token).where(own)).first()
    if token is None or not _end(session, who, token):
        raise NotFound(NO_SUCH)


def revoke_all(session: Session, lead: Person, study: Study | None = None) -> None:
    """Ends all tokens of a lead, or those that are for one study."""
    which: ColumnElement[bool] = Token.person_id == lead.id
    if study is not None:
        which &= Token.study_id == study.id
    who = Who(lead.id, lead.pseudonym, lead.role, lead.name, 0)
    for token in session.scalars(select(Token).where(which)).all():
        _end(session, who, token)


def _end(session: Session, who: Who, token: Token) -> bool:
    """Delete the token; False if on PostgreSQL it was revoked since it was read, while this waited for its studies."""
    studies = _locked_studies(session, who, token)
    if not session.scalars(delete(Token).where(Token.id == token.id).returning(Token.id)).all():
        return False
    _record(session, who, token, EventKind.token_revoked, studies)
    return True


def scopes_of(token: Token) -> tuple[Scope, ...]:
    """What the token may do."""
    further = [(token.may_write, Scope.write), (token.may_unblind, Scope.unblind)]
    return (Scope.read, *(scope for may, scope in further if may))


def _locked_studies(session: Session, who: Who, token: Token) -> list[int]:
    """The studies that the token reaches, locked."""
    led = select(Membership.study_id).where(Membership.person_id == who.person_id, Membership.role == Role.lead)
    ids = [token.study_id] if token.study_id is not None else sorted(session.scalars(led))
    return [lifecycle.lock(session, study_id).id for study_id in ids]


def _record(session: Session, who: Who, token: Token, kind: EventKind, studies: Sequence[int]) -> None:
    values = {"name": token.name, "scopes": list(scopes_of(token)), "expires_at": token.expires_at.isoformat()}
    old, new = (None, values) if kind == EventKind.token_made else (values, None)
    for study_id in studies:
        events.record(session, study_id, kind, who.pseudonym, old=old, new=new)
