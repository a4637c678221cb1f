"""The session cookie: who sends a request, signing in with a ticket, signing out.

The cookie holds the secret of a login, signed, so that a forged value costs no query. HttpOnly: no script of a page can
read it. Requests that change something need a header of our own, which another site cannot send without a preflight
request; that also holds on plain http, where browsers send no Sec-Fetch-Site.
"""

from __future__ import annotations

import threading
from functools import lru_cache

from itsdangerous import BadData, Signer
from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from triptych import settings
from triptych.errors import NotAllowed
from triptych.people import accounts
from triptych.storage import database
from triptych.storage.database import reading, writing
from triptych.study.persons import Who
from triptych.web import budgets

COOKIE = "triptych_session"
HEADER, HEADER_VALUE = "x-triptych", "1"
MAX_TICKET_LENGTH = 200
_opening = threading.Lock()


@lru_cache(maxsize=8)
def _opened(url: str) -> Engine:
    engine = database.open_engine(url)
    database.migrate(engine)
    return engine


def web_engine() -> Engine:
    """This process's one engine on the configured database, at this program's schema."""
    with _opening:
        return _opened(settings.database_url())


def _signer() -> Signer:
    return Signer(settings.cookie_secret(), salt="triptych.session")


def cookie_value(login_secret: str) -> str:
    """What the cookie holds for a login."""
    return _signer().sign(login_secret).decode()


def login_secret(cookie: str | None) -> str | None:
    """The login's secret in a cookie that we signed; None for anything else."""
    try:
        return _signer().unsign(cookie or "").decode()
    except (BadData, UnicodeError):
        return None


def who_holds(cookie: str | None) -> Who | None:
    """The person a cookie belongs to, looked up in the database every time: a revoked login ends at once."""
    secret = login_secret(cookie)
    if secret is None:
        return None
    with reading(web_engine()) as session:
        return accounts.who_is(session, secret)


def current_login(request: Request) -> Who | None:
    """The person who sends this request."""
    return who_holds(request.cookies.get(COOKIE))


def wait_to_sign_in(cookie: str | None, address: str) -> float:
    """Seconds until this visitor may try to sign in, 0 for now; each try counts.

    A browser that was signed in has a count of its own, so that strangers at its address cannot use it up.
    """
    return budgets.spending("sign_ins").take(budgets.key_of(login_secret(cookie), address))


def is_our_own(request: Request) -> bool:
    """Whether the request comes from one of our own pages and not from another site."""
    site = request.headers.get("sec-fetch-site", "same-origin")
    return site == "same-origin" and request.headers.get(HEADER) == HEADER_VALUE


def _answer(status: int, message: str) -> JSONResponse:
    return JSONResponse({"message": message}, status_code=status, headers={"Cache-Control": "no-store"})


async def use_ticket(request: Request) -> JSONResponse:
    """Take a ticket and set the cookie; anyone signed in on this browser before is signed out."""
    if not is_our_own(request):
        return _answer(403, "This request does not come from a Triptych page.")
    ticket = request.headers.get("x-triptych-ticket", "")[:MAX_TICKET_LENGTH]
    return await run_in_threadpool(_sign_in, request, ticket)


def _sign_in(request: Request, ticket: str) -> JSONResponse:
    previous = current_login(request)
    try:
        with writing(web_engine()) as session:
            secret = accounts.use_ticket(session, ticket)
            if previous is not None:
                accounts.sign_out(session, previous)
    except NotAllowed as refusal:
        return _answer(403, str(refusal))
    answer = _answer(200, "Signed in.")
    max_age = int(accounts.LOGIN_LIFE.total_seconds())
    secure = request.url.scheme == "https"  # as the gate knows it
    answer.set_cookie(
        COOKIE, cookie_value(secret), max_age=max_age, httponly=True, samesite="lax", secure=secure, path="/"
    )
    return answer


async def sign_out(request: Request) -> JSONResponse:
    """Revoke the login and remove the cookie."""
    if not is_our_own(request):
        return _answer(403, "This request does not come from a Triptych page.")
    return await run_in_threadpool(_sign_out, request)


def _sign_out(request: Request) -> JSONResponse:
    who = current_login(request)
    if who is not None:
        with writing(web_engine()) as session:
            accounts.sign_out(session, who)
    answer = _answer(200, "Signed out.")
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="lax", secure=request.url.scheme == "https")
    return answer


SESSION_ROUTES = [
    Route("/auth/ticket", use_ticket, methods=["POST"]),
    Route("/auth/sign-out", sign_out, methods=["POST"]),
]
