"""The gate: one ASGI layer in front of everything that the server serves, including Streamlit's routes and sockets.

A request must name this server (421: a foreign page could have rebound another name), and a socket or a request that
can change something must come from a page of the same origin (403). Uploads are for signed-in leads. Sockets, sign-ins
and messages have budgets (429).

A request with a script's token is authorised by the token alone, as if it had no cookie. Only a configured proxy may
state a visitor's identity; a cookie that was set for another identity is then ignored. The gate makes no DNS query.
docs/security.md explains the rules.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import (
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
    nullcontext,
    suppress,
)
from functools import cached_property, partial
from typing import NamedTuple
from weakref import WeakValueDictionary

import uvicorn.config
from starlette.concurrency import run_in_threadpool
from starlette.formparsers import MultiPartParser
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from triptych import settings
from triptych.people import identities, passcodes, tokens
from triptych.scripting import home
from triptych.scripting.address import BASE
from triptych.storage.models import Role
from triptych.storage.unavailable import DatabaseUnavailable
from triptych.web import budgets, messages, origins
from triptych.web.budgets import HeldUploads, Spending, Uploads
from triptych.web.origins import Reach
from triptych.web.session import cookie_in, holds_for, login_secret, who_holds
from triptych.web.sockets import LoginSockets, OpenSocket

UNCHANGING = {"GET", "HEAD", "OPTIONS"}
HEALTH = {"/healthz", "/readyz", "/_stcore/health"}
PROOF = b"x-triptych-proxy"
UPLOADS = "/_stcore/upload_file/"
SIGN_IN = "/auth/ticket"
ENDING = {SIGN_IN, "/auth/sign-out"}  # these end the login in a cookie, for any visitor
LOGIN = b"x-triptych-login"  # identifies the owner of a session to Streamlit, see .streamlit/config.toml
HELD_SECONDS = 60.0
SOCKET_SECONDS = 60.0  # time before an address with too many open sockets may try again
GONE_SECONDS = 2.0
Pace = Callable[[bytes], Awaitable[None]]  # a wait for a budget, before a message of this content
log = logging.getLogger("triptych.web")


class Refused(Exception):
    """The request is refused: status, a reason for programs, a message for people, seconds to wait."""

    def __init__(self, status: int, reason: str, sentence: str, wait: float = 0) -> None:
        super().__init__(sentence)
        self.status, self.reason, self.sentence, self.wait = status, reason, sentence, wait


class RequestHeaders(NamedTuple):
    """The headers that the gate needs. Cookie headers are merged, as later readers do; other duplicates are joined,
    which makes hosts and origins invalid.
    """

    host: str
    origin: str
    cookie: str
    x_forwarded_for: str
    x_forwarded_proto: str
    content_length: str
    transfer_encoding: str
    authorization: str


NAMES = [name.replace("_", "-").encode() for name in RequestHeaders._fields]


def request_headers(headers: list[tuple[bytes, bytes]]) -> RequestHeaders:
    """The headers that the gate needs; empty if they were not sent."""
    sent: dict[bytes, str] = dict.fromkeys(NAMES, "")
    for name, value in headers:
        if name in sent:
            between = "; " if name == b"cookie" else ", "
            sent[name] += (between if sent[name] else "") + value.decode("latin-1")
    return RequestHeaders(*sent.values())


def leave_forwarded_headers_to_the_gate() -> None:
    """Turn off uvicorn's own handling, which trusts every program on this computer and has no switch in `streamlit
    run`.
    """
    setattr(uvicorn.config, "ProxyHeadersMiddleware", lambda app, **_: app)  # noqa: B010 (mypy forbids assigning to a class)


def keep_uploads_in_memory() -> None:
    """Keep uploads out of temporary files: other people's texts would stay on the disk, which may also be full.

    Streamlit reads the whole file into memory anyway.
    """
    MultiPartParser.spool_max_size = 0  # the size above which a file is used; 0 for never


class Gate:
    """ASGI middleware; `base_path` is Streamlit's server.baseUrlPath, `uploads` returns the uploads that it holds."""

    def __init__(self, app: ASGIApp, base_path: str = "", uploads: Callable[[], Uploads] = dict) -> None:
        self.app = app
        self.held = HeldUploads(uploads)
        self.prefix = origins.prefix_of(base_path)
        self.health = HEALTH | {f"{self.prefix}{path}" for path in HEALTH}
        self.open_sockets: Counter[str] = Counter()
        self.turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # see _turns_of and _wait_in_turn
        self.of_logins = LoginSockets()
        self.texts = messages.HeldTexts()

    @cached_property
    def reach(self) -> Reach:
        return origins.configured()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        arrival = request_headers(scope["headers"])
        peer = _address(scope)
        scope = self._as_the_browser_sees_it(scope, arrival)
        is_script = self._is_script(scope, arrival)
        try:
            scope, identity = self._identified(scope, peer)
            is_ending = scope["path"].removeprefix(self.prefix) in ENDING
            if is_script or not (is_ending or self._is_theirs(arrival, identity)):
                scope, arrival = _without_cookies(scope), arrival._replace(cookie="")
            self._check_name(scope, arrival)
            if scope["type"] == "websocket":
                scope = self._from_our_page(scope, arrival)
                return await self._open(scope, arrival, receive, send)
            if is_script or scope["method"] not in UNCHANGING:
                scope = self._from_our_page(scope, arrival)
                with await self._checked_body(scope, arrival):
                    return await self.app(scope, receive, send)
        except Refused as refusal:
            return await _answer(refusal, scope, receive, send)
        return await self.app(scope, receive, send)

    def _is_script(self, scope: Scope, arrival: RequestHeaders) -> bool:
        """Whether the request has a token or calls the API. An Authorization header that a proxy adds for browsers is
        no token.
        """
        brings_token = any(prefix in arrival.authorization for prefix in (tokens.PREFIX, home.PREFIX))
        return brings_token or scope["path"].removeprefix(self.prefix).startswith(f"{BASE}/")

    def _as_the_browser_sees_it(self, scope: Scope, arrival: RequestHeaders) -> Scope:
        """The scope with the browser's scheme and address, if a configured proxy forwards them."""
        peer = _address(scope)
        if not self.reach.trusts(peer):
            return scope
        says_scheme = arrival.x_forwarded_proto in origins.USUAL_PORTS
        scheme = _for_type(arrival.x_forwarded_proto, scope) if says_scheme else scope["scheme"]
        return {**scope, "scheme": scheme, "client": (origins.sender(peer, arrival.x_forwarded_for, self.reach), 0)}

    def _identified(self, scope: Scope, peer: str) -> tuple[Scope, str]:
        """The scope without the proxy's secret, and the visitor's identity; "" if the proxy sends none.

        Raises Refused if anyone else states an identity, or if the header is ambiguous.
        """
        if not self.reach.identity_header:
            return scope, ""
        values = [value for name, value in scope["headers"] if name.lower() == self.reach.identity_header]
        proofs = [value for name, value in scope["headers"] if name.lower() == PROOF]
        headers = [(name, value) for name, value in scope["headers"] if name.lower() != PROOF]
        if values and not (self.reach.trusts(peer) and self._is_secret(proofs)):
            sentence = (
                f"This request claims an identity. Only a proxy in {settings.PROXIES} may do so, if it sends "
                f"{settings.IDENTITY_SECRET} in the header {PROOF.decode()}."
            )
            raise Refused(403, "identity", sentence)
        if values and (len(values) > 1 or not identities.IDENTITY.fullmatch(values[0].decode("latin-1"))):
            sentence = (
                f"The proxy's identity header cannot be read. It must send one header with {identities.CHARACTERS}."
            )
            raise Refused(403, "identity", sentence)
        return {**scope, "headers": headers}, values[0].decode() if values else ""

    def _is_theirs(self, arrival: RequestHeaders, identity: str) -> bool:
        """Whether all session cookies of the request were set for this identity; true without single sign-on."""
        return not self.reach.identity_header or holds_for(cookie_parser(arrival.cookie), identity)

    def _is_secret(self, proofs: list[bytes]) -> bool:
        return len(proofs) == 1 and hmac.compare_digest(proofs[0], self.reach.identity_secret)

    def _check_name(self, scope: Scope, arrival: RequestHeaders) -> None:
        """Raises Refused if the Host is not a name of this server."""
        authority = origins.authority_of(arrival.host)
        host = authority.host if authority else ""
        if scope["path"] in self.health or host in self.reach.names or origins.needs_no_lookup(host):
            return
        if not authority:
            raise Refused(421, "host", "The request has no readable host name.")
        if host not in origins.own_names():
            called = origins.origin_of(_scheme(scope), authority)
            sentence = f"This server does not use the name {host}. If it is yours, {self._to_set(called)}"
            raise Refused(421, "host", sentence)

    def _check_origin(self, scope: Scope, arrival: RequestHeaders) -> None:
        """Raises Refused unless the request comes from a page of this server, or from a program without a cookie."""
        if not arrival.origin and not arrival.cookie and scope["type"] != "websocket":
            return
        authority = origins.authority_of(arrival.host)
        called = origins.origin_of(_scheme(scope), authority) if authority else None
        origin = origins.read_origin(arrival.origin)
        if origin is not None and (origin == called or origin in self.reach.origins):
            return
        if origin is None:
            sentence = f"Only pages of {called or 'this server'} may send this. The request has no origin."
        else:
            sentence = (
                f"Only pages of {called or 'this server'} may send this; it came from a page of {origin}. If that is "
                f"your own address of this server, {self._to_set(origin)}"
            )
        raise Refused(403, "foreign", sentence)

    def _to_set(self, origin: str) -> str:
        addresses = ",".join([*self.reach.origins, origin])
        return f"set {settings.ADDRESS}={addresses} and start the server again."

    def _from_our_page(self, scope: Scope, arrival: RequestHeaders) -> Scope:
        """The scope with scheme and host of the requesting page, since a proxy may have changed both. If host and
        origin differ, Streamlit would send a request to the internet. Raises Refused.
        """
        self._check_origin(scope, arrival)
        origin = origins.read_origin(arrival.origin)
        if origin is None:
            return scope
        scheme, _, host = origin.partition("://")
        changed = {b"host": host.encode(), b"origin": origin.encode()}
        headers = [(name, changed.get(name, value)) for name, value in scope["headers"]]
        return {**scope, "scheme": _for_type(scheme, scope), "headers": headers}

    async def _checked_body(self, scope: Scope, arrival: RequestHeaders) -> AbstractContextManager[None]:
        """What counts the body while it is received. Raises Refused for uploads by anybody but leads, and for too many
        sign-ins, before the body is read.

        A body without a stated length would bypass the budget; browsers and our own client always state it.
        """
        if arrival.transfer_encoding:
            raise Refused(411, "length", "Requests must have a Content-Length.")
        if scope["path"].removeprefix(self.prefix).startswith(SIGN_IN):  # its route also matches a line end after it
            _take("sign_ins", f"ticket {budgets.key_of(None, _address(scope))}")
        if UPLOADS not in scope["path"]:
            return nullcontext()
        cookie = _cookie(scope, arrival)
        try:
            lead = await _lead(cookie)
        except DatabaseUnavailable as error:
            raise Refused(503, "away", str(error), wait=3) from error
        if lead is None:
            raise Refused(403, "lead", "Only a signed-in lead may upload files.")
        length = int(arrival.content_length or 0)
        session = scope["path"].partition(UPLOADS)[2].partition("/")[0]
        if length and not self.held.have_room(lead, length):  # a deletion, which has no body, makes room
            raise Refused(429, "held", "Your open pages hold too many uploads. Close some of them.", HELD_SECONDS)
        _take("body_bytes", lead, length)
        return self.held.under_way(lead, session, length)

    async def _open(self, scope: Scope, arrival: RequestHeaders, receive: Receive, send: Send) -> None:
        """Serve a socket within its budgets. Raises Refused."""
        cookie = _cookie(scope, arrival)
        login = login_secret(cookie)
        person, is_lead = await _person(cookie) if login else (None, False)
        address = budgets.key_of(None, _address(scope))
        key = person or address
        _take("handshakes", key)
        # in an open study, all accounts at an address may be one stranger's
        accounts_key = budgets.key_of_accounts(_address(scope)) if person and not is_lead else ""
        turn = partial(self._turns_of, [key, accounts_key, "all"])
        receive = messages.judged(receive, turn, partial(_is_lead, cookie))
        login = login if person else None
        scope = _of_login(scope, login)
        if is_lead and (long_ones := (scope.get("extensions") or {}).get(messages.LONG)):
            long_ones["take"]()
        if login and person:
            pace: list[Pace] = [partial(_wait_for, budgets.spending("account_messages"), person)]
            others: AbstractContextManager[None] = nullcontext()
            if accounts_key:
                here = partial(self._wait_in_turn, person, budgets.spending("address_messages"), accounts_key)
                pace.append(lambda content: here(messages.share_of(content)))
                others = self._one_more("address_sockets", accounts_key)
            with others, self._one_more("account_sockets", person), self.texts.counted(receive, person) as receive:
                return await self.of_logins.serve(self.app, login, scope, OpenSocket(_paced(receive, pace), send))
        own = Spending(budgets.all_budgets()["anonymous_socket_messages"])
        pace = [partial(_wait_for, own, ""), partial(_wait_for, budgets.spending("anonymous_messages"), key)]
        pace.append(lambda _: self._wait_in_turn(key, budgets.spending("all_anonymous_messages"), "", 1))
        with self._one_more("anonymous_sockets", key):
            socket = OpenSocket(_paced(receive, pace), send)
            return await self.app(scope, socket.receive, socket.send)

    async def _wait_in_turn(self, key: str, spending: Spending, shared: str, amount: float) -> None:
        """Wait for a budget that all addresses, or all accounts at an address, share, with one message of each at a
        time: others wait for a message of each, not for all messages of a few.
        """
        async with self._turn(key):
            await asyncio.sleep(spending.queue(shared, amount))

    @asynccontextmanager
    async def _turns_of(self, keys: Sequence[str]) -> AsyncIterator[None]:
        """A turn among the sockets of the first key, then of the next; others are served before it begins."""
        async with AsyncExitStack() as turns:
            for key in filter(None, keys):
                await turns.enter_async_context(self._turn(key))
            await asyncio.sleep(0)
            yield

    def _turn(self, key: str) -> asyncio.Lock:
        return self.turns.setdefault(key, asyncio.Lock())

    @contextmanager
    def _one_more(self, budget: str, key: str) -> Iterator[None]:
        """Count an open socket. Raises Refused if there are too many: each costs memory and four open files."""
        if self.open_sockets[key] >= budgets.all_budgets()[budget].at_once:
            raise Refused(429, "budget", budgets.later(SOCKET_SECONDS), SOCKET_SECONDS)
        self.open_sockets[key] += 1
        try:
            yield
        finally:
            self.open_sockets[key] -= 1
            if not self.open_sockets[key]:
                del self.open_sockets[key]


def _without_cookies(scope: Scope) -> Scope:
    return {**scope, "headers": [(name, value) for name, value in scope["headers"] if name != b"cookie"]}


def _of_login(scope: Scope, login: str | None) -> Scope:
    """Add the header that names the login, so that Streamlit resumes a session only for the same login.

    A reconnecting browser sends the name of its session. Without the header, callbacks and fragments of its last page
    would run without checking who is signed in, even after a sign-out or for the next person at this computer.
    """
    headers = [(name, value) for name, value in scope["headers"] if name != LOGIN]
    return {**scope, "headers": [*headers, (LOGIN, passcodes.secret_hash(login).encode() if login else b"")]}


async def _wait_for(spending: Spending, key: str, _: bytes) -> None:
    await asyncio.sleep(spending.queue(key))


def _paced(receive: Receive, pace: Sequence[Pace]) -> Receive:
    """`receive`, delaying messages until every budget in `pace` allows them."""

    async def receive_in_time() -> Message:
        message = await receive()
        if message["type"] == "websocket.receive":
            # shared budgets last, so that messages delayed by their own budget do not arrive in one burst
            for wait in pace:
                await wait(message.get("bytes") or b"")
        return message

    return receive_in_time


def _take(name: str, key: str, amount: float = 1) -> None:
    wait = budgets.spending(name).take(key, amount)
    if wait:
        raise Refused(429, "budget", budgets.later(wait), wait)


async def _lead(cookie: str | None) -> str | None:
    """A key for the lead signed in by this cookie; None for anybody else. Raises DatabaseUnavailable."""
    who = await run_in_threadpool(who_holds, cookie) if login_secret(cookie) else None
    return budgets.key_of_person(who.person_id) if who and who.role == Role.lead else None


async def _is_lead(cookie: str | None) -> bool:
    """Whether this cookie belongs to a signed-in lead. Raises DatabaseUnavailable."""
    return await _lead(cookie) is not None


async def _person(cookie: str | None) -> tuple[str | None, bool]:
    """A key for the person signed in by this cookie, and whether they are a lead. No key if it is invalid; the login's
    while the database is unavailable.
    """
    try:
        who = await run_in_threadpool(who_holds, cookie)
    except DatabaseUnavailable:
        return budgets.key_of(login_secret(cookie), ""), False
    return (budgets.key_of_person(who.person_id), who.role == Role.lead) if who else (None, False)


def _cookie(scope: Scope, arrival: RequestHeaders) -> str | None:
    return cookie_in(cookie_parser(arrival.cookie), _scheme(scope) == "https")


def _for_type(scheme: str, scope: Scope) -> str:
    """A scheme, http or https, as a socket's scope calls it if this is a socket."""
    return scheme.replace("http", "ws") if scope["type"] == "websocket" else scheme


def _scheme(scope: Scope) -> str:
    return "https" if scope["scheme"] in ("https", "wss") else "http"


def _address(scope: Scope) -> str:
    return str((scope.get("client") or ("", 0))[0])


async def _answer(refusal: Refused, scope: Scope, receive: Receive, send: Send) -> None:
    """Send the refusal, also to a handshake, and log one line; the rest of a body is not read."""
    if refusal.status in (403, 421) and not budgets.spending("refusal_lines").take("lines"):
        log.warning("Refused with %d: %s", refusal.status, refusal.sentence)
    headers = {"Cache-Control": "no-store", "Connection": "close"}
    if refusal.wait:
        headers["Retry-After"] = str(budgets.seconds(refusal.wait))
    body = {"refused": refusal.reason, "message": refusal.sentence}
    await JSONResponse(body, refusal.status, headers)(scope, receive, send)
    if scope["type"] == "websocket":
        await _until_gone(receive)


async def _until_gone(receive: Receive) -> None:
    """Wait until a refused handshake's connection ends: uvicorn treats an earlier return as an error."""
    with suppress(TimeoutError):
        async with asyncio.timeout(GONE_SECONDS):
            for _ in ("connect", "disconnect, by our answer", "disconnect, as it is gone"):
                await receive()
