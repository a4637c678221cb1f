"""Logins and their cookies: an ended login loses its sockets, and no other host sets or reads the cookies of https."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from helpers.attackers import Answer, ask, cookie, handshake, is_closed, open_socket
from psycopg.errors import QueryCanceled
from sqlalchemy import Engine, select
from sqlalchemy.exc import OperationalError
from sqlmodel import Session
from starlette.types import Message

from bench.client import our_headers
from bench.server import Server, running_app
from bench.world import World, build_world
from triptych.people import invitations, links, logins, viewers
from triptych.people.signing_in import UNKNOWN
from triptych.storage import database
from triptych.storage.models import Person, Role, Study
from triptych.web import session as cookies
from triptych.web import sockets
from triptych.web.session import BROWSER_COOKIE, COOKIE, browser_in, cookie_name

SECRET = "the cookie secret of servers that tests start"


@dataclass(frozen=True)
class Served:
    server: Server
    world: World
    engine: Engine

    @property
    def url(self) -> str:
        return self.server.url

    def ticket(self) -> str:
        with database.writing(self.engine) as session:
            lead = session.scalars(select(Person).where(Person.role == Role.lead)).one()
            return logins.issue_sign_in_ticket(session, lead)

    def sign_in(self, **headers: str) -> Answer:
        sent = {**our_headers(self.url), "X-Triptych-Ticket": self.ticket(), "Content-Length": "0", **headers}
        return ask(self.url, "POST", "/auth/ticket", sent)


@pytest.fixture(scope="module")
def served(tmp_path_factory, forked) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("logins")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRIPTYCH_SECRET", SECRET)
        world = build_world(home, items=5, annotators=2)
    engine = database.open_engine(f"sqlite:///{home / 'triptych.db'}")
    ways = {"TRIPTYCH_PROXIES": "127.0.0.1", "TRIPTYCH_SECRET": SECRET}
    with running_app(home, ways, start=forked) as server:
        yield Served(server, world, engine)
    engine.dispose()


@pytest.mark.long
def test_a_revoked_login_loses_its_open_sockets(served):
    mine = {**cookie(served.world.cookies[0]), "Origin": served.url}
    others = {**cookie(served.world.cookies[1]), "Origin": served.url}
    with open_socket(served.url, mine) as ended, open_socket(served.url, others) as going_on:
        with database.writing(served.engine) as session:
            person = session.scalars(select(Person).where(Person.name == "Annotator 0")).one()
            logins.end_logins(session, person.id)
        assert is_closed(ended)
        going_on.settimeout(0.1)
        with pytest.raises(TimeoutError):
            while going_on.recv(65536):
                pass


@pytest.mark.long
def test_a_login_in_a_second_cookie_header_ends_too(served):
    """The gate took such a socket for a stranger's, and Streamlit for its owner's: it outlived the login."""
    mine = {"Cookie": f"{COOKIE}={session_value(served)}"}
    with open_socket(served.url, [("Cookie", "seen=1"), *mine.items(), ("Origin", served.url)]) as tab:
        ask(served.url, "POST", "/auth/sign-out", {**mine, **our_headers(served.url), "Content-Length": "0"})
        assert is_closed(tab)


@pytest.mark.long
def test_signing_out_closes_the_sockets_of_other_tabs(served):
    mine = {"Cookie": f"{COOKIE}={session_value(served)}"}
    with open_socket(served.url, {**mine, "Origin": served.url}) as tab:
        ask(served.url, "POST", "/auth/sign-out", {**mine, **our_headers(served.url), "Content-Length": "0"})
        assert is_closed(tab)


def test_withdrawing_a_seat_closes_the_viewers_open_pages(served):
    with database.writing(served.engine) as session:
        study = session.scalars(select(Study)).one()
        link = invitations.invite_one(session, study, "Hana", "", Role.viewer, "L").secret
        viewer = links.invited(session, link).pseudonym
    mine = {"Cookie": f"{COOKIE}={session_value(served, viewer)}", "Origin": served.url}
    with open_socket(served.url, mine) as page:
        with database.writing(served.engine) as session:
            viewers.withdraw_seat(session, session.get_one(Study, study.id), viewer, "L")
        assert is_closed(page)


def session_value(served: Served, pseudonym: str = "") -> str:
    """The cookie of this person, or of the lead."""
    whose = Person.pseudonym == pseudonym if pseudonym else Person.role == Role.lead
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRIPTYCH_SECRET", SECRET)
        with database.writing(served.engine) as session:
            person = session.scalars(select(Person).where(whose)).one()
            login = logins.use_ticket(session, logins.issue_sign_in_ticket(session, person))
        return cookies.cookie_value(login)


def test_an_ended_login_opens_sockets_as_a_stranger_only(served):
    value = session_value(served)
    mine = {"Cookie": f"{COOKIE}={value}"}
    ask(served.url, "POST", "/auth/sign-out", {**mine, **our_headers(served.url), "Content-Length": "0"})

    assert handshake(served.url, {**mine, "Origin": served.url}).status == 101


def test_over_https_the_cookies_have_the_prefix_that_browsers_check(served):
    secure = served.url.replace("http:", "https:")
    answer = served.sign_in(**{"X-Forwarded-Proto": "https", "Origin": secure})

    assert answer.status == 200
    last = answer.headers["set-cookie"]  # of several, the last
    assert last.startswith("__Host-triptych_")
    assert "; secure" in last.lower()
    assert "; path=/;" in f"{last.lower()};"
    assert "domain" not in last.lower()


def test_over_https_a_cookie_without_the_prefix_counts_nothing(served):
    """A page of another port or of plain http can set that one, and so sign a visitor in as somebody else."""
    secure = {"X-Forwarded-Proto": "https", **our_headers(served.url), "Origin": served.url.replace("http:", "https:")}
    value = session_value(served)
    answers = [
        ask(served.url, "POST", "/desk/draft", {**secure, "Cookie": f"{name}={value}"}, b"{}").status
        for name in (COOKIE, f"__Secure-{COOKIE}", f"__Host-{COOKIE}")
    ]

    assert answers == [401, 401, 400]


def test_sockets_are_closed_although_a_check_failed(monkeypatch):
    """After one query that PostgreSQL cancelled, the process looked for no ended logins any more."""
    outcomes: list[object] = [set(), OperationalError("SELECT", {}, QueryCanceled())]
    closed = asyncio.Event()

    def look(_logins: list[str]) -> object:
        outcome = outcomes.pop()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def app(*_parts: object) -> None:
        await closed.wait()

    async def receive() -> Message:
        return {}

    async def send(message: Message) -> None:
        closed.set()

    async def is_closed_in_the_end() -> bool:
        of_logins = sockets.LoginSockets()
        serving = asyncio.create_task(of_logins.serve(app, "a login", {}, sockets.OpenSocket(receive, send)))
        while of_logins._watch is None:
            await asyncio.sleep(0)
        await asyncio.wait({serving, of_logins._watch}, return_when=asyncio.FIRST_COMPLETED)
        return closed.is_set()

    monkeypatch.setattr(sockets, "CHECK_SECONDS", 0)
    monkeypatch.setattr(sockets, "live_logins", look)
    assert asyncio.run(is_closed_in_the_end())


@pytest.mark.parametrize(
    "https, base_path, name",
    [(True, "", "__Host-x"), (True, "/lab/", "__Secure-x"), (False, "", "x"), (False, "a", "x")],
)
def test_cookie_names_say_what_browsers_check(https, base_path, name):
    cookies.serve_below(base_path)
    try:
        assert cookie_name("x", https) == name
    finally:
        cookies.serve_below("")


def test_long_cookies_of_strangers_are_not_remembered():
    """What was checked is kept, and a thousand cookies of 60 KB are 60 MB."""
    before = cookies._checked.cache_info().misses

    assert cookies.login_secret("x" * 60_000) is None
    assert cookies._checked.cache_info().misses == before


def test_a_persons_oldest_logins_end(sqlite_engine, make_study):
    """Each of them has a budget of messages, so that many logins of one annotator stalled the app."""
    with database.writing(sqlite_engine) as session:
        people = [session.get_one(Person, who.person_id) for who in make_study(session)[2]]
        anna, berta = ([_signed_in(session, person) for _ in range(12)] for person in people)

        assert logins.live_logins(session, [*anna, *berta]) == {*anna[2:], *berta[2:]}


def _signed_in(session: Session, person: Person) -> str:
    return logins.use_ticket(session, logins.issue_sign_in_ticket(session, person))


@pytest.mark.parametrize("value", ["", "x", "AAAAAAAAAAAAAAAA-1", "AAAAAAAAAAAAAAAA-1.forged"])
def test_no_browser_makes_itself_known(value):
    assert browser_in({BROWSER_COOKIE: value}, https=False) == UNKNOWN


def test_a_browser_is_known_to_the_accounts_it_opened(monkeypatch):
    monkeypatch.setenv("TRIPTYCH_SECRET", SECRET)
    jar: dict[str, str] = {}
    for person_id in (7, 8, 7):
        jar[BROWSER_COOKIE] = cookies._browser_value(browser_in(jar, https=False), person_id)

    assert browser_in(jar, https=False).people == (8, 7)
    assert browser_in({BROWSER_COOKIE: cookies.cookie_value("A" * 16 + "-7")}, https=False) == UNKNOWN


@pytest.mark.long
def test_the_start_says_what_plain_http_means(served):
    assert "This is plain http" in served.server.output()
