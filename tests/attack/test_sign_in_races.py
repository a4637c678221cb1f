"""What ends logins also ends a sign-in, or a token, that another transaction of PostgreSQL is storing just then."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from helpers.postgres_databases import wait_for_a_lock
from helpers.present import present
from sqlalchemy import Engine, func, select
from sqlmodel import Session

from triptych.errors import NotAllowed, SignedOut
from triptych.people import accounts, identities, logins, roster, tokens
from triptych.storage.database import reading, writing
from triptych.storage.events import EventKind
from triptych.storage.models import Event, Login, Person, Token
from triptych.study.persons import Who

BEFORE, AFTER = "correct horse battery", "another long passcode"


def while_open(engine: Engine, first: Callable[[Session], Any], second: Callable[[Session], Any]) -> Any:
    """What `second` returns in its transaction, which begins before that of `first` is stored."""

    def run() -> Any:
        with writing(engine) as session:
            return second(session)

    with ThreadPoolExecutor(1) as pool:
        with writing(engine) as session:
            first(session)
            session.flush()
            other = pool.submit(run)
            wait_for_a_lock(session, other)
        return other.result()


@pytest.fixture
def ada(postgres_engine, make_study) -> Who:
    """The lead of a study, as they are signed in, with a passcode and an identity."""
    with writing(postgres_engine) as session:
        study, other, _ = make_study(session)
        accounts.create_lead(session, "Ada", BEFORE).identity = "ada"
        roster.add_lead(session, study, "Ada", other.pseudonym)
        return present(logins.who_is(session, sign_in(session)))


def issue(session: Session) -> str:
    return logins.issue_sign_in_ticket(session, session.scalars(select(Person).where(Person.name == "Ada")).one())


def sign_in(session: Session) -> str:
    return logins.use_ticket(session, issue(session))


def change_passcode(session: Session) -> None:
    accounts.reset_passcode(session, "Ada", AFTER)


def remove_identity(session: Session) -> None:
    identities.give(session, "Ada", None)


def live_logins(session: Session) -> int:
    return session.scalars(select(func.count()).select_from(Login).where(Login.revoked_at.is_(None))).one()


@pytest.mark.parametrize("end", [change_passcode, remove_identity])
def test_what_ends_logins_ends_a_sign_in_under_way(postgres_engine, ada, end):
    with writing(postgres_engine) as session:
        ticket = issue(session)

    while_open(postgres_engine, lambda session: logins.use_ticket(session, ticket), end)

    with reading(postgres_engine) as session:
        assert live_logins(session) == 0


@pytest.mark.parametrize("end", [change_passcode, remove_identity])
def test_a_ticket_issued_meanwhile_ends_with_the_logins(postgres_engine, ada, end):
    tickets: list[str] = []

    while_open(postgres_engine, lambda session: tickets.append(issue(session)), end)

    with pytest.raises(NotAllowed), writing(postgres_engine) as session:
        logins.use_ticket(session, tickets[0])


@pytest.mark.parametrize("end", [change_passcode, remove_identity])
def test_no_ticket_is_issued_for_what_ended_meanwhile(postgres_engine, ada, end):
    with reading(postgres_engine) as session:
        person = accounts.lead_called(session, "Ada")

    with pytest.raises(NotAllowed):
        while_open(postgres_engine, end, lambda session: logins.issue_sign_in_ticket(session, present(person)))


def test_tickets_used_at_once_leave_ten_logins(postgres_engine, ada):
    with writing(postgres_engine) as session:
        for _ in range(logins.MAX_LOGINS):
            sign_in(session)
        first, second = issue(session), issue(session)

    def use(ticket: str) -> Callable[[Session], str]:
        return lambda session: logins.use_ticket(session, ticket)

    while_open(postgres_engine, use(first), use(second))

    with reading(postgres_engine) as session:
        assert live_logins(session) == logins.MAX_LOGINS


def test_a_token_revoked_meanwhile_keeps_no_passcode_from_changing(postgres_engine, ada):
    """Who made and revoked tokens all the time in a lead's open session could keep the lead from ending it."""
    with writing(postgres_engine) as session:
        make_token(session, ada)
        token = session.scalars(select(Token.id)).one()

    while_open(postgres_engine, lambda session: tokens.revoke(session, ada, token), change_passcode)

    with reading(postgres_engine) as session:
        assert live_logins(session) == 0
        revoked = select(func.count()).select_from(Event).where(Event.kind == EventKind.token_revoked)
        assert session.scalars(revoked).one() == 1


def test_a_token_made_meanwhile_ends_with_the_passcode(postgres_engine, ada):
    while_open(postgres_engine, lambda session: make_token(session, ada), change_passcode)

    with reading(postgres_engine) as session:
        assert session.scalars(select(Token.id)).all() == []


def test_an_ended_login_makes_no_token(postgres_engine, ada):
    with pytest.raises(SignedOut):
        while_open(postgres_engine, change_passcode, lambda session: make_token(session, ada))


def make_token(session: Session, who: Who) -> None:
    tokens.make(session, who, "a script", tokens.LIVES[-1], [tokens.Scope.read, tokens.Scope.write])
