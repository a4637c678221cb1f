"""Who asks too much is told when to come back, and nobody else notices."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from helpers.attackers import ask, cookie, handshake, open_socket
from helpers.present import present
from helpers.results_pages import ROUTER
from sqlalchemy import select
from starlette.types import Receive, Scope
from streamlit.testing.v1 import AppTest

from bench.client import PageFailed, PageSession, our_headers
from bench.server import Server, running_app, start_server, wait_until
from bench.world import World, build_world
from components.shell import state
from triptych.people import logins, passcodes
from triptych.storage import database
from triptych.storage.models import Login, Person, Role
from triptych.storage.unavailable import DatabaseBusy
from triptych.study.persons import Who
from triptych.web import budgets, gate, messages
from triptych.web.gate import Gate
from triptych.web.session import COOKIE, cookie_value, login_secret

STOP = b"\x38\x01"  # a message of Streamlit, in protobuf's encoding
SMALL = (
    "handshakes=5/0.01 sign_ins=4/0.01 anonymous_sockets=3 requests=5/0.01 body_bytes=1000000/1 personal_data=3/0.01"
)


@pytest.fixture(scope="module")
def served(tmp_path_factory, forked) -> Iterator[tuple[Server, World]]:
    """With small budgets, and a proxy that gives each test an address of its own."""
    home = tmp_path_factory.mktemp("budgets")
    world = build_world(home, items=5, annotators=3)
    settings = {"TRIPTYCH_BUDGETS": SMALL, "TRIPTYCH_PROXIES": "127.0.0.1"}
    with running_app(home, settings, start=forked) as server:
        yield server, world


def own(server: Server, address: str) -> dict[str, str]:
    """What a page of ours sends that a visitor with this address has open."""
    return {"Origin": server.url, "X-Forwarded-For": address, "X-Triptych": "1"}


def is_refused_until_later(answer) -> bool:
    assert answer.status in (101, 200, 400, 403, 429)
    if answer.status == 429:
        assert int(answer.headers["retry-after"]) > 1
        assert f"in {answer.headers['retry-after']} seconds" in answer.body
    return answer.status == 429


def test_handshakes_have_a_budget_per_address_and_per_account(served):
    server, world = served
    answers = [handshake(server.url, own(server, "192.0.2.1")) for _ in range(7)]

    assert [is_refused_until_later(answer) for answer in answers] == [False] * 5 + [True] * 2
    assert handshake(server.url, {**own(server, "192.0.2.1"), **cookie(world.lead)}).status == 101
    assert handshake(server.url, own(server, "192.0.2.2")).status == 101


def test_a_visitor_with_a_whole_ipv6_network_is_one_visitor(served):
    server, _ = served
    answers = [handshake(server.url, own(server, f"2001:db8::{n}")) for n in range(6)]

    assert answers[-1].status == 429
    assert handshake(server.url, own(server, "2001:db8:0:1::1")).status == 101


def test_addresses_that_a_visitor_forwards_do_not_count(served):
    """The proxy puts the address it sees after what a visitor sent."""
    server, _ = served
    answers = [handshake(server.url, own(server, f"198.51.100.{n}, 192.0.2.3")) for n in range(6)]

    assert answers[-1].status == 429


def test_strangers_have_so_many_open_sockets_at_a_time(served):
    server, world = served
    headers = own(server, "192.0.2.4")
    with ExitStack() as sockets:
        for _ in range(2):
            sockets.enter_context(open_socket(server.url, headers))
        with open_socket(server.url, headers):
            assert is_refused_until_later(handshake(server.url, headers))
        wait_until(lambda: handshake(server.url, {**headers, "X-Forwarded-For": "192.0.2.5"}).status, server, "answer")


@pytest.fixture
def twice_signed_in(tmp_path) -> tuple[World, dict[str, str]]:
    """A study, and the cookies of another login of its first annotator."""
    world = build_world(tmp_path, items=5, annotators=2)
    engine = database.open_engine(f"sqlite:///{tmp_path / 'triptych.db'}")
    with database.writing(engine) as session:
        own_login = select(Login.person_id).where(Login.secret_hash == passcodes.secret_hash(_login(world.cookies[0])))
        person = session.get_one(Person, session.scalars(own_login).one())
        other_login = logins.use_ticket(session, logins.issue_sign_in_ticket(session, person))
    engine.dispose()
    return world, {**world.cookies[0], COOKIE: cookie_value(other_login)}


@pytest.mark.long
def test_a_person_has_so_many_open_sockets_at_a_time(twice_signed_in, tmp_path, forked):
    """Each takes memory and four open files, and those of a login had no limit but how fast they were opened."""
    world, again = twice_signed_in
    settings = {"TRIPTYCH_BUDGETS": "account_sockets=3"}
    with running_app(tmp_path, settings, start=forked) as server, ExitStack() as sockets:
        origin = {"Origin": server.url}
        for _ in range(3):
            sockets.enter_context(open_socket(server.url, {**origin, **cookie(world.cookies[0])}))
        assert is_refused_until_later(handshake(server.url, {**origin, **cookie(again)}))
        assert handshake(server.url, {**origin, **cookie(world.cookies[1])}).status == 101


@pytest.mark.long
def test_accounts_at_an_address_have_so_many_open_sockets(tmp_path, forked):
    """A stranger who joined an open study fifty times used up the files that the server may open."""
    world = build_world(tmp_path, items=5, annotators=2)
    settings = {"TRIPTYCH_BUDGETS": "address_sockets=3"}
    with running_app(tmp_path, settings, start=forked) as server, ExitStack() as sockets:
        first, second, lead = ({"Origin": server.url, **cookie(each)} for each in (*world.cookies, world.lead))
        for opener in (first, first, second):
            sockets.enter_context(open_socket(server.url, opener))

        assert is_refused_until_later(handshake(server.url, second))
        assert handshake(server.url, lead).status == 101


@pytest.mark.long
def test_handshakes_of_all_logins_of_a_person_count_together(twice_signed_in, tmp_path, forked):
    """Each login had a budget of its own, also one that had ended."""
    world, again = twice_signed_in
    with running_app(tmp_path, {"TRIPTYCH_BUDGETS": "handshakes=2/0.01"}, start=forked) as server:
        answers = [
            handshake(server.url, {"Origin": server.url} | cookie(who)) for who in (world.cookies[0], again, again)
        ]

    assert [is_refused_until_later(answer) for answer in answers] == [False, False, True]


def _login(cookies: dict[str, str]) -> str:
    return present(login_secret(cookies[COOKIE]))


def test_messages_of_all_logins_of_a_person_count_together(sqlite_engine, make_study, monkeypatch):
    """Each login had a budget of its own, and nobody counted the logins."""
    with database.writing(sqlite_engine) as session:
        annotator = make_study(session)[2][0]
        person = session.get_one(Person, annotator.person_id)
        secrets = [logins.use_ticket(session, logins.issue_sign_in_ticket(session, person)) for _ in range(2)]
    counted: list[str] = []

    def queue(_: budgets.Spending, key: str, amount: float = 1) -> float:
        counted.append(key)
        return 0.0

    monkeypatch.setattr(budgets.Spending, "queue", queue)

    async def page(_: Any, receive: Receive, __: Any) -> None:
        await receive()

    async def message(*_: Any) -> Any:
        return {"type": "websocket.receive", "bytes": b"\x38\x01"}

    for login in secrets:
        headers = [(b"host", b"127.0.0.1"), (b"origin", b"http://127.0.0.1")]
        headers.append((b"cookie", f"{COOKIE}={cookie_value(login)}".encode()))
        scope = {"type": "websocket", "scheme": "ws", "path": "/", "client": ("192.0.2.1", 1), "headers": headers}
        asyncio.run(Gate(page)(scope, message, message))

    assert set(counted) == {budgets.key_of_person(annotator.person_id), "accounts at address 192.0.2.1"}
    assert len(counted) == 4


def test_strangers_of_few_addresses_keep_no_newcomer_waiting(monkeypatch):
    """All strangers' messages were in one queue: a newcomer's came after hundreds of them."""
    spendings = {name: budgets.Spending(budgets.Budget(1000, 1000)) for name in budgets.USUAL}
    spendings["all_anonymous_messages"] = budgets.Spending(budgets.Budget(2, 500))
    monkeypatch.setattr(budgets, "spending", spendings.__getitem__)
    served: list[str] = []

    async def page(scope: Scope, receive: Receive, _: Any) -> None:
        await receive()
        served.append(scope["client"][0])

    async def message(*_: Any) -> Any:
        return {"type": "websocket.receive", "bytes": b"\x38\x01"}

    async def visits() -> None:
        gate = Gate(page)
        headers = [(b"host", b"127.0.0.1"), (b"origin", b"http://127.0.0.1")]
        scope = {"type": "websocket", "scheme": "ws", "path": "/", "headers": headers}
        strangers = [{**scope, "client": (f"192.0.2.{number % 4}", 1)} for number in range(200)]
        tasks = [asyncio.create_task(gate(stranger, message, message)) for stranger in strangers]
        while len(served) < 10:
            await asyncio.sleep(0)
        await gate({**scope, "client": ("198.51.100.1", 1)}, message, message)
        for task in tasks:
            task.cancel()

    asyncio.run(visits())

    assert served.index("198.51.100.1") < 50


def test_tickets_of_an_address_have_a_budget(served):
    server, _ = served
    headers = {**own(server, "192.0.2.6"), "X-Triptych-Ticket": "guessed"}
    answers = [ask(server.url, "POST", "/auth/ticket", headers) for _ in range(6)]

    assert [is_refused_until_later(answer) for answer in answers] == [False] * 4 + [True] * 2


def test_a_line_end_after_the_address_saves_no_budget(served):
    """A route also answers to its path with a line end; the gate compared the whole."""
    server, _ = served
    headers = {**own(server, "192.0.2.7"), "X-Triptych-Ticket": "guessed"}
    answers = [ask(server.url, "POST", "/auth/ticket%0a", headers) for _ in range(6)]

    assert [is_refused_until_later(answer) for answer in answers] == [False] * 4 + [True] * 2


def test_messages_of_an_account_have_a_budget_of_their_own(served):
    server, world = served

    def post(number: int) -> int:
        headers = {**our_headers(server.url), **cookie(world.cookies[number])}
        answer = ask(server.url, "POST", "/desk/draft", headers, b"{}")
        return 429 if is_refused_until_later(answer) else answer.status

    assert [post(0) for _ in range(7)] == [400] * 5 + [429] * 2
    assert post(1) == 400


def test_bytes_of_an_account_have_a_budget(served):
    server, world = served
    headers = {**our_headers(server.url), **cookie(world.cookies[2])}
    bodies = [b"[" * 250_000] * 5

    statuses = [ask(server.url, "POST", "/desk/draft", headers, body).status for body in bodies]

    assert statuses == [400, 400, 400, 400, 429]


def test_personal_data_of_an_account_have_a_budget(served):
    server, world = served
    answers = [ask(server.url, "GET", "/my-data.json", cookie(world.cookies[1])) for _ in range(5)]

    assert [is_refused_until_later(answer) for answer in answers] == [False] * 3 + [True] * 2
    assert ask(server.url, "GET", "/my-data.csv", cookie(world.cookies[2])).status == 200


@pytest.mark.long
def test_forwarded_addresses_of_a_stranger_open_no_new_budgets(tmp_path, forked):
    with running_app(tmp_path, {"TRIPTYCH_BUDGETS": SMALL}, start=forked) as server:
        answers = [handshake(server.url, own(server, f"192.0.2.{n}")) for n in range(7)]

    assert answers[-1].status == 429


@pytest.mark.parametrize(
    ("is_lead", "content", "handed_on"),
    [(False, STOP, 2), (False, b"\x5a\x03\x2a\x01f", 10), (False, b"\x5a\x05\x2a\x01f\x2a\x00", 2), (True, STOP, 40)],
)
def test_accounts_at_an_address_hand_on_few_messages(monkeypatch, is_lead, content, handed_on):
    """Ten accounts of a stranger in an open study, with forty tabs each, kept everybody waiting for 20 s: the event
    loop started a thread for each message while all of them used the processor and the database. A message that runs a
    fragment counts a fifth.
    """
    spendings = {name: budgets.Spending(budgets.Budget(2, 0.001)) for name in budgets.USUAL}
    spendings["handshakes"] = budgets.Spending(budgets.Budget(1000, 1000))
    monkeypatch.setattr(budgets, "spending", spendings.__getitem__)
    monkeypatch.setattr(gate, "login_secret", lambda cookie: cookie)
    served: list[str] = []

    async def person_of(cookie: str) -> tuple[str, bool]:
        return cookie, is_lead

    async def page(scope: Scope, receive: Receive, _: Any) -> None:
        await receive()
        served.append(scope["client"][0])

    async def message(*_: Any) -> Any:
        return {"type": "websocket.receive", "bytes": content}

    async def visits() -> None:
        entrance = Gate(page)

        async def visit(account: int, address: str) -> None:
            headers = [(b"host", b"127.0.0.1"), (b"origin", b"http://127.0.0.1")]
            headers.append((b"cookie", f"{COOKIE}=account-{account}".encode()))
            scope = {"type": "websocket", "scheme": "ws", "path": "/", "headers": headers, "client": (address, 1)}
            await entrance(scope, message, message)

        tasks = [asyncio.create_task(visit(number % 20, "192.0.2.1")) for number in range(40)]
        for _ in range(200):
            await asyncio.sleep(0)
        await visit(20, "198.51.100.1")
        for task in tasks:
            task.cancel()

    monkeypatch.setattr(gate, "_person", person_of)
    asyncio.run(visits())

    assert served.count("192.0.2.1") == handed_on
    assert served.count("198.51.100.1") == 1


@pytest.mark.parametrize("people", [1, 40], ids=["one", "many"])
@pytest.mark.parametrize("has_account", [False, True], ids=["strangers", "annotators"])
def test_others_are_served_between_the_messages_of_many_tabs(monkeypatch, has_account, people):
    """A form of many fields from each tab of twenty, then of three hundred accounts, kept all waiting for seconds."""
    read: list[bytes] = []

    def kind_of(content: bytes) -> int:
        read.append(content)
        return messages.STOP

    async def person_of(_: str) -> tuple[str, bool]:
        return f"account {next(numbers) % people}", False

    async def page(_: Scope, receive: Receive, __: Any) -> None:
        await receive()

    async def message(*_: Any) -> Any:
        return {"type": "websocket.receive", "bytes": STOP}

    async def read_at_once() -> int:
        entrance, most = Gate(page), 0
        headers = [(b"host", b"127.0.0.1"), (b"origin", b"http://127.0.0.1"), (b"cookie", f"{COOKIE}=x".encode())]
        scope = {"type": "websocket", "scheme": "ws", "path": "/", "headers": headers}
        hosts = ["192.0.2.1" if has_account else f"192.0.2.{tab % people}" for tab in range(40)]
        tabs = [asyncio.create_task(entrance(scope | {"client": (host, 1)}, message, message)) for host in hosts]
        while len(read) < len(tabs):
            before = len(read)
            await asyncio.sleep(0)
            most = max(most, len(read) - before)
        for tab in tabs:
            tab.cancel()
        return most

    numbers = itertools.count()
    monkeypatch.setattr(gate, "login_secret", lambda cookie: cookie if has_account else None)
    monkeypatch.setattr(gate, "_person", person_of)
    monkeypatch.setattr(messages, "kind_of", kind_of)
    fast = dict.fromkeys(budgets.USUAL, budgets.Spending(budgets.Budget(1e6, 1e6)))
    monkeypatch.setattr(budgets, "spending", fast.__getitem__)

    assert asyncio.run(read_at_once()) == 1


def test_pages_run_again_by_themselves_as_their_address_may(monkeypatch):
    """At a hundred pages a second, twenty accounts with forty tabs each kept everybody waiting for half a minute."""
    addresses, runs = iter(["192.0.2.1", "192.0.2.1", "198.51.100.1"]), []
    here = budgets.Spending(budgets.Budget(1, 0.001))
    monkeypatch.setattr(budgets, "spending", {"address_messages": here}.__getitem__)
    monkeypatch.setattr(state, "_address", lambda: next(addresses))
    monkeypatch.setattr(state, "will_run_by_itself", lambda: None)
    monkeypatch.setattr(state.st, "rerun", lambda scope: runs.append(scope))

    counts = []
    for _ in range(3):
        state.run_again_by_itself()
        counts.append(len(runs))

    assert counts == [1, 1, 2]  # another tab at the first address has to wait


@contextmanager
def timed() -> Iterator[list[float]]:
    took: list[float] = []
    began = time.monotonic()
    yield took
    took.append(time.monotonic() - began)


@pytest.mark.long
def test_strangers_messages_are_handed_on_no_faster_than_their_budget(tmp_path, forked):
    """People who are signed in are not slowed down by them."""
    world = build_world(tmp_path, items=5)

    async def runs(server: Server, cookies: dict[str, str], times: int) -> float:
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(cookies=cookies, cookie_jar=jar) as http:
            page = PageSession(http, server.url)
            await page.open()
            with timed() as took:
                for _ in range(times):
                    await page.run()
            await page.close()
        return took[0]

    settings = {"TRIPTYCH_BUDGETS": "anonymous_socket_messages=3/2 account_messages=1000/1000"}
    with running_app(tmp_path, settings, start=forked) as server:
        slow = asyncio.run(runs(server, {}, 6))
        quick = asyncio.run(runs(server, world.cookies[0], 6))

    assert slow >= 1  # three at once, then two a second
    assert quick < slow


@pytest.mark.long
def test_fifty_annotators_behind_one_address_sign_in_within_a_minute(tmp_path, forked):
    """Each with two pages' sockets, before and after, and one ticket."""
    world = build_world(tmp_path, items=5, annotators=50)
    engine = database.open_engine(f"sqlite:///{tmp_path / 'triptych.db'}")
    with database.writing(engine) as session:
        people = session.scalars(select(Person).where(Person.role == Role.annotator)).all()
        tickets = [logins.issue_sign_in_ticket(session, person) for person in people]
    engine.dispose()
    with running_app(tmp_path, start=forked) as server:
        statuses = []
        for ticket, cookies in zip(tickets, world.cookies, strict=True):
            statuses.append(handshake(server.url, {"Origin": server.url}).status)
            headers = {**our_headers(server.url), "X-Triptych-Ticket": ticket}
            statuses.append(ask(server.url, "POST", "/auth/ticket", headers).status)
            statuses.append(handshake(server.url, {"Origin": server.url, **cookie(cookies)}).status)

    assert set(statuses) == {101, 200}


@pytest.mark.long
@pytest.mark.parametrize(
    "name, words",
    [
        ("TRIPTYCH_BUDGETS", "sign_ins=many"),
        ("TRIPTYCH_BUDGETS", "coffees=5/1"),
        ("TRIPTYCH_BUDGETS", "sign_ins=0/1"),
        ("TRIPTYCH_ADDRESS", "annotate.example.org"),
        ("TRIPTYCH_ADDRESS", "https://annotate.example.org/below"),
        ("TRIPTYCH_PROXIES", "nginx"),
    ],
)
def test_an_unreadable_setting_stops_the_start_with_its_name(tmp_path, forked, name, words):
    server = start_server(Path(tmp_path), {name: words}, start=forked)
    try:
        server.process.wait(60)
    finally:
        server.kill()

    assert f"{name}: {words.split('=')[0]!r}"[:-1] in server.output()
    assert "Traceback" not in server.output()


@pytest.mark.long
def test_a_page_whose_socket_was_refused_says_so(served):
    """The client of load tests fails, as a browser that tries again later does."""
    server, _ = served

    async def open_page() -> None:
        async with aiohttp.ClientSession(headers={"X-Forwarded-For": "192.0.2.9"}) as http:
            for _ in range(6):
                page = PageSession(http, server.url)
                await page.open()
                await page.close()

    with pytest.raises((PageFailed, aiohttp.WSServerHandshakeError)):
        asyncio.run(open_page())


@pytest.mark.parametrize(
    ("role", "counted"),
    [
        (Role.lead, ["account_runs"]),
        (Role.viewer, ["account_runs"]),
        (Role.annotator, ["account_runs", "address_runs"]),
    ],
)
def test_runs_of_pages_are_counted(monkeypatch, role, counted):
    """A hundred open tabs of one lead stalled everybody for seconds, within the budgets of messages; so did eighty
    accounts that a stranger had made in an open study.
    """
    monkeypatch.setattr(state, "current_person", lambda: Who(1, "P-1", role, None, 0))
    few, names = budgets.few_at_once, []

    @contextmanager
    def noted(budget: str, key: str) -> Iterator[None]:
        with few(budget, key):
            if key.startswith(("person", "address")):
                names.append(budget)
            yield

    monkeypatch.setattr(budgets, "few_at_once", noted)
    AppTest.from_file(str(ROUTER), default_timeout=30).run()
    assert names == counted


@pytest.mark.parametrize("kind", ["reading", "writing"])
def test_callbacks_from_an_address_hold_few_connections(monkeypatch, kind):
    """Callbacks run before the page's turn: those of sixty tabs held all connections while they waited to write."""
    monkeypatch.setattr(budgets, "LONGEST_TURN", 0.1)
    rest_refused = threading.Event()

    def hold(_: object) -> Iterator[None]:
        rest_refused.wait(5)
        yield

    hold.__name__ = kind
    monkeypatch.setattr(database, kind, contextmanager(hold))

    def is_busy(_: int) -> bool:
        try:
            with getattr(state, kind)(), getattr(state, kind)():
                return False
        except DatabaseBusy:
            return True

    with ThreadPoolExecutor(10) as threads:
        answers = [threads.submit(is_busy, number) for number in range(10)]
        refused = [answer.result() for answer in islice(as_completed(answers, timeout=30), 8)]
        rest_refused.set()
    assert all(refused)


def test_a_page_in_its_turn_waits_for_no_further_place(monkeypatch):
    """Two sessions of one page, or a command within it, would wait for each other."""
    monkeypatch.setattr(budgets, "LONGEST_TURN", 0.1)
    who = Who(1, "P-1", Role.annotator, None, 0)
    with ExitStack() as places:
        for _ in range(2):
            places.enter_context(budgets.few_at_once("address_runs", "reading address 127.0.0.1"))
        with pytest.raises(DatabaseBusy), state.reading():
            pytest.fail("three at a time")
        with state.turn_of(who), state.reading(), state.reading():
            pass


@pytest.mark.long
def test_a_run_waits_for_others_no_longer_than_a_message(monkeypatch):
    """Of fifty people at an address whose database did not answer, the last waited for minutes."""
    monkeypatch.setattr(budgets, "LONGEST_TURN", 0.1)
    with ExitStack() as runs:
        for _ in range(2):
            runs.enter_context(budgets.few_at_once("address_runs", "192.0.2.1"))
        with pytest.raises(DatabaseBusy), budgets.few_at_once("address_runs", "192.0.2.1"):
            pytest.fail("three at a time")
    with budgets.few_at_once("address_runs", "192.0.2.1"):
        pass
