"""Who a visitor is: only a configured proxy says it, in one way, and a cookie counts for nobody else."""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import Iterator
from dataclasses import dataclass
from http.cookies import SimpleCookie

import pytest
from helpers.attackers import Answer, Sent, ask, cookie, handshake, is_closed, open_socket, refusals
from sqlalchemy import select
from sqlmodel import Session

from bench.client import our_headers
from bench.server import Server, running_app
from bench.world import World, build_world
from triptych import settings
from triptych.errors import Conflict, NotAllowed, NotFound, TriptychError
from triptych.people import accounts, identities, logins
from triptych.settings import UnsafeSettings
from triptych.storage import database
from triptych.storage.models import Login, Person, Role
from triptych.study.persons import Who
from triptych.web import origins
from triptych.web.gate import Gate

SECRET = "q8Zt3LwN0xVbR5uYcK7mPd2HsJ9fEa4gTi6oXv1W"  # made for this test
ON = {
    "TRIPTYCH_IDENTITY_HEADER": "X-Remote-User",
    "TRIPTYCH_IDENTITY_SECRET": SECRET,
    "TRIPTYCH_PROXIES": "127.0.0.1, 10.0.0.0/24",
}
PROVED = (b"x-triptych-proxy", SECRET.encode())
ADA = (b"x-remote-user", b"ada@uni.example")


@pytest.fixture
def on(monkeypatch):
    for name, value in ON.items():
        monkeypatch.setenv(name, value)


def arrives(*headers: tuple[bytes, bytes], peer: str = "10.0.0.7", kind: str = "http") -> list[tuple[bytes, bytes]]:
    """The headers that the app behind the gate gets; none if the request is refused."""
    seen: list[tuple[bytes, bytes]] = []

    async def app(scope, receive, send):
        seen.extend(scope["headers"])

    async def nothing(*_):
        return {"type": "websocket.disconnect"}

    scheme = "ws" if kind == "websocket" else "http"
    sent = [(b"host", b"127.0.0.1"), (b"origin", b"http://127.0.0.1"), *headers]
    scope = {"type": kind, "scheme": scheme, "method": "GET", "path": "/", "client": (peer, 1), "headers": sent}
    asyncio.run(Gate(app)(scope, nothing, nothing))
    return seen


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_a_configured_proxy_says_who_it_is(on, kind):
    seen = arrives(ADA, PROVED, kind=kind)

    assert ADA in seen
    assert SECRET.encode() not in dict(seen).values()


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    "headers, peer",
    [
        ([ADA, PROVED], "192.0.2.1"),
        ([ADA, PROVED, (b"x-forwarded-for", b"10.0.0.7")], "192.0.2.1"),
        ([ADA, PROVED], ""),
        ([ADA], "10.0.0.7"),
        ([ADA, (PROVED[0], b"")], "10.0.0.7"),
        ([ADA, (PROVED[0], SECRET.lower().encode())], "10.0.0.7"),
        ([ADA, PROVED, PROVED], "10.0.0.7"),
        ([ADA, ADA, PROVED], "10.0.0.7"),
        ([ADA, (b"X-Remote-User", b"bob"), PROVED], "10.0.0.7"),
        ([(ADA[0], b""), PROVED], "10.0.0.7"),
        ([(ADA[0], b"ada, bob"), PROVED], "10.0.0.7"),
        ([(ADA[0], b"ada bob"), PROVED], "10.0.0.7"),
        ([(ADA[0], b"ada\x00"), PROVED], "10.0.0.7"),
        ([(ADA[0], b"ada\n"), PROVED], "10.0.0.7"),
        ([(ADA[0], b"ad\xc3\xa1"), PROVED], "10.0.0.7"),
        ([(ADA[0], b"a" * 201), PROVED], "10.0.0.7"),
    ],
)
def test_anything_else_that_says_it_is_refused(on, headers, peer, kind):
    assert arrives(*headers, peer=peer, kind=kind) == []


def test_without_the_setting_the_header_means_nothing(monkeypatch):
    for name in ON:
        monkeypatch.delenv(name, raising=False)

    assert ADA in arrives(ADA, PROVED, peer="192.0.2.1")
    assert settings.identity_header() == ""


@pytest.mark.parametrize(
    "change, word",
    [
        ({"TRIPTYCH_PROXIES": ""}, "TRIPTYCH_PROXIES"),
        ({"TRIPTYCH_IDENTITY_SECRET": ""}, "TRIPTYCH_IDENTITY_SECRET"),
        ({"TRIPTYCH_IDENTITY_SECRET": "short"}, "TRIPTYCH_IDENTITY_SECRET"),
        ({"TRIPTYCH_IDENTITY_HEADER": "Cookie"}, "'Cookie'"),
        ({"TRIPTYCH_IDENTITY_HEADER": "X-Forwarded-For"}, "'X-Forwarded-For'"),
        ({"TRIPTYCH_IDENTITY_HEADER": "Sec-WebSocket-Key"}, "'Sec-WebSocket-Key'"),
        ({"TRIPTYCH_IDENTITY_HEADER": "X-Triptych-Proxy"}, "'X-Triptych-Proxy'"),
        ({"TRIPTYCH_IDENTITY_HEADER": "X_Remote_User"}, "'X_Remote_User'"),
        ({"TRIPTYCH_IDENTITY_HEADER": "X-Remote User"}, "'X-Remote User'"),
    ],
)
def test_half_a_setting_does_not_start(on, monkeypatch, change, word):
    for name, value in change.items():
        monkeypatch.setenv(name, value)

    with pytest.raises(UnsafeSettings, match=word):
        origins.configured()


@pytest.fixture
def session(sqlite_engine) -> Iterator[Session]:
    with database.writing(sqlite_engine) as session:
        yield session


@pytest.fixture
def people(session) -> list[Person]:
    """A lead, an annotator who calls themselves like the lead's identity, an invited lead and a viewer."""
    roles = [(Role.lead, "Ada", "x"), (Role.annotator, "ada@uni.example", None)]
    roles += [(Role.lead, "Invited", None), (Role.viewer, "Looks on", None)]
    return [accounts.new_person(session, role, name=name, passcode_hash=stored) for role, name, stored in roles]


def test_no_name_that_somebody_chose_is_an_identity(session, people):
    lead, annotator, *_ = people
    annotator.email = "ada@uni.example"
    for identity in ("Ada", "ada@uni.example", lead.pseudonym):
        assert identities.identified(session, identity) is None

    identities.give(session, lead.pseudonym, "ada@uni.example")

    assert identities.identified(session, "ada@uni.example") == lead
    assert identities.identified(session, "Ada@uni.example") is None


def test_an_identity_belongs_to_one_person_with_an_account(session, people):
    lead, annotator, invited, viewer = people
    identities.give(session, "Ada", "ada")
    refused: list[tuple[str, str, type[TriptychError]]] = [
        (annotator.pseudonym, "ada", Conflict),
        (annotator.pseudonym, "a b", NotAllowed),
        (annotator.pseudonym, "", NotAllowed),
        (invited.pseudonym, "eve", NotAllowed),
        (viewer.pseudonym, "eve", NotAllowed),
        ("Nobody", "eve", NotFound),
    ]
    for called, identity, error in refused:
        with pytest.raises(error):
            identities.give(session, called, identity)

    assert identities.everybody(session) == [lead]


def test_taking_an_identity_away_signs_them_out(session, people):
    lead = people[0]
    identities.give(session, lead.pseudonym, "ada")
    secret = logins.use_ticket(session, logins.issue_sign_in_ticket(session, lead))
    assert logins.live_logins(session, [secret])

    identities.give(session, lead.pseudonym, None)

    assert not logins.live_logins(session, [secret])


def test_a_sign_in_counts_as_no_typed_passcode(session, people, monkeypatch):
    lead = people[0]
    logins.use_ticket(session, logins.issue_sign_in_ticket(session, lead))
    login = session.scalars(select(Login)).one()
    who = Who(lead.id, lead.pseudonym, lead.role, lead.name, login.id)
    assert logins.passcode_is_fresh(session, who, None)

    monkeypatch.setenv("TRIPTYCH_IDENTITY_HEADER", "X-Remote-User")

    assert not logins.passcode_is_fresh(session, who, None)
    assert logins.passcode_is_fresh(session, who, login.created_at)


@dataclass(frozen=True)
class Served:
    server: Server
    world: World
    lead: int

    def asks(self, method: str, path: str, headers: Sent = ()) -> Answer:
        sent = {**our_headers(self.server.url), **dict(headers)}
        return ask(self.server.url, method, path, sent, b"{}" if method == "POST" else b"")


@pytest.fixture(scope="module")
def served(tmp_path_factory, forked) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("single-sign-on")
    world = build_world(home, items=3)
    engine = database.open_engine(f"sqlite:///{home / 'triptych.db'}")
    with database.writing(engine) as session:
        lead = identities.give(session, "Bench", "ada@uni.example").id
    with running_app(home, ON, start=forked) as server:
        yield Served(server, world, lead)
    engine.dispose()


def ticket(served: Served, identity: str) -> str:
    engine = database.open_engine(f"sqlite:///{served.world.home / 'triptych.db'}")
    with database.writing(engine) as session:
        secret = logins.issue_sign_in_ticket(session, session.get_one(Person, served.lead), identity)
    engine.dispose()
    return secret


def by_proxy(identity: str) -> dict[str, str]:
    return {"X-Remote-User": identity, "X-Triptych-Proxy": SECRET}


def redeem(served: Served, ticket: str, says: dict[str, str]) -> tuple[int, dict[str, str]]:
    """The answer's status, and the Cookie header of a visitor about whose identity the proxy says this."""
    connection = http.client.HTTPConnection(served.server.url.removeprefix("http://"), timeout=20)
    sent = {**our_headers(served.server.url), **says, "X-Triptych-Ticket": ticket}
    connection.request("POST", "/auth/ticket", headers=sent)
    answer = connection.getresponse()
    crumbs = [SimpleCookie(line) for line in answer.headers.get_all("Set-Cookie", [])]
    connection.close()
    return answer.status, cookie({name: crumb.value for jar in crumbs for name, crumb in jar.items()})


@pytest.mark.long
def test_a_ticket_counts_only_for_the_identity_of_its_page(served):
    """A page still open on a shared computer: the next visitor clicked *Continue as ada@uni.example*."""
    of_ada = ticket(served, "ada@uni.example")

    assert redeem(served, of_ada, by_proxy("eve@uni.example"))[0] == 403
    assert redeem(served, of_ada, {})[0] == 403
    assert redeem(served, f"ada@uni.example {of_ada}", {})[0] == 403
    assert redeem(served, of_ada, by_proxy("ada@uni.example"))[0] == 200


def test_pages_sockets_and_routes_agree_on_whose_cookie_counts(served):
    """The same cookie from its own visitor, from somebody else, and past the single sign-on."""
    status, own = redeem(served, ticket(served, "ada@uni.example"), by_proxy("ada@uni.example"))
    assert status == 200
    file = f"/export/{served.world.slug}/ratings.csv"
    visitors = [by_proxy("ada@uni.example"), by_proxy("eve@uni.example"), {}]

    assert [served.asks("GET", file, {**own, **visitor}).status for visitor in visitors] == [200, 401, 401]
    drafts = [served.asks("POST", "/desk/draft", {**own, **visitor}).status for visitor in visitors]
    assert drafts == [400, 401, 401]  # read, and found to be empty; or from nobody
    # a cookie that was set without single sign-on is no way past it
    plain = cookie(served.world.lead)
    assert served.asks("GET", file, plain).status == 200
    assert served.asks("GET", file, {**plain, **visitors[0]}).status == 401


@pytest.mark.long
@pytest.mark.parametrize("ends", ["Sign out", "Continue as"])
def test_a_login_ends_although_the_proxy_names_somebody_else(served, ends):
    """The page said "Signed out." while the previous person's other tabs stayed open to the next one."""
    says = by_proxy("ada@uni.example")
    status, own = redeem(served, ticket(served, "ada@uni.example"), says)
    assert status == 200
    with open_socket(served.server.url, {**own, **says, "Origin": served.server.url}) as tab:
        others = {**own, **by_proxy("eve@uni.example")}
        if ends == "Sign out":
            served.asks("POST", "/auth/sign-out", others)
        else:
            assert redeem(served, ticket(served, "eve@uni.example"), others)[0] == 200
        assert is_closed(tab)


@pytest.mark.long
def test_a_claim_is_refused_logged_and_not_repeated(served):
    before = len(refusals(served.server))
    claim = {"X-Remote-User": "ada@uni.example", "Origin": served.server.url}

    assert ask(served.server.url, "GET", "/", claim).status == 403
    assert handshake(served.server.url, claim).status == 403
    lines = refusals(served.server)[before:]
    assert len(lines) == 2
    assert all("TRIPTYCH_PROXIES" in line and "ada@" not in line for line in lines)
    assert SECRET not in served.server.output()
