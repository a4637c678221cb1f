"""The cookies: who sends a request, signing in with a ticket, signing out, and which browser this is.

The session cookie holds the signed secret of a login, so that a forged value costs no query. HttpOnly: scripts of a
page cannot read it. On https, a prefix of its name keeps other hosts and plain http from setting it. Requests that
change something need a header of our own, which another site cannot send without a preflight request; this also works
on plain http, where browsers send no Sec-Fetch-Site.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from functools import lru_cache

from itsdangerous import BadData, Signer
from sqlalchemy import Engine
from starlette.requests import Request
from starlette.responses import JSONResponse

from triptych import settings
from triptych.errors import NotAllowed
from triptych.languages import language
from triptych.languages.language import _
from triptych.people import logins, passcodes, viewers
from triptych.people.signing_in import UNKNOWN, Browser
from triptych.storage import database, schema
from triptych.storage.database import reading, writing
from triptych.study.persons import Who
from triptych.web import budgets
from triptych.web.origins import prefix_of

COOKIE = "triptych_session"
BROWSER_COOKIE = "triptych_browser"
BROWSER_SECONDS = 365 * 24 * 3600
MAX_PEOPLE_OF_BROWSER = 20  # the latest ones, on a shared computer of a lab
BROWSER = re.compile(r"([0-9A-Z]{16})((?:-[0-9]{1,18})*)")
HEADER, HEADER_VALUE = "x-triptych", "1"
BOUND = ":"  # in a cookie, before the hash of the identity that it was set for
MAX_TICKET_LENGTH = 200
MAX_COOKIE_LENGTH = 1000
_opening = threading.Lock()
_place = {"path": "/"}  # where browsers reach the app


@lru_cache(maxsize=8)
def _opened(url: str) -> Engine:
    engine = database.open_engine(url)
    schema.migrate(engine)
    return engine


def web_engine() -> Engine:
    """This process's engine on the configured database, which has this program's schema."""
    with _opening:
        return _opened(settings.database_url())


def serve_below(base_path: str | None) -> None:
    """Set the path of the cookies from now on: Streamlit's server.baseUrlPath."""
    _place["path"] = prefix_of(base_path) or "/"


def cookie_name(name: str, https: bool) -> str:
    """The cookie's name in the browser; on https with a prefix that makes browsers check who sets it."""
    if not https:
        return name
    return f"__Host-{name}" if _place["path"] == "/" else f"__Secure-{name}"


def cookie_in(cookies: Mapping[str, str], https: bool) -> str | None:
    """The session cookie of a request that came by https, or by http."""
    return cookies.get(cookie_name(COOKIE, https))


def _signer(secret: str, salt: str) -> Signer:
    return Signer(secret, salt=salt.replace("_", "."))


def _unsigned(cookie: str | None, salt: str = COOKIE) -> str | None:
    """The signed value; None for a longer one, which is not ours and must not be cached."""
    return _checked(cookie, settings.cookie_secret(), salt) if cookie and len(cookie) <= MAX_COOKIE_LENGTH else None


@lru_cache(maxsize=1024)  # a browser sends the same cookies with every request
def _checked(cookie: str, secret: str, salt: str) -> str | None:
    try:
        return _signer(secret, salt).unsign(cookie).decode()
    except (BadData, UnicodeError):
        return None


def cookie_value(login_secret: str, identity: str = "") -> str:
    """The content of the cookie for a login; it is invalid for visitors with another identity."""
    bound = f"{BOUND}{passcodes.secret_hash(identity)}" if identity else ""
    return _signer(settings.cookie_secret(), COOKIE).sign(login_secret + bound).decode()


def stored_name(pseudonym: str, slug: str) -> str:
    """Names a person's unsaved input about a study in their browser; earlier users of it cannot guess the name."""
    return _signer(settings.cookie_secret(), "stored").sign(f"{pseudonym}-{slug}").decode()


def login_secret(cookie: str | None) -> str | None:
    """The login's secret in a cookie with a valid signature; None for anything else."""
    secret, bound, _ = (_unsigned(cookie) or "").partition(BOUND)
    return secret if secret and (not bound or settings.identity_header()) else None


def holds_for(cookies: Mapping[str, str], identity: str) -> bool:
    """Whether every valid session cookie was set for a visitor of this identity, or without one if it is empty."""
    held = [cookie_in(cookies, https) for https in (True, False)]
    bounds = [(_unsigned(cookie) or "").partition(BOUND)[2] for cookie in held if login_secret(cookie)]
    return all(bound == (passcodes.secret_hash(identity) if identity else "") for bound in bounds)


def identity_in(headers: Mapping[str, str]) -> str:
    """The visitor's identity in the proxy's header, checked by the gate; empty without single sign-on."""
    name = settings.identity_header()
    return headers.get(name, "") if name else ""


def browser_in(cookies: Mapping[str, str], https: bool) -> Browser:
    """Which browser sends a request, and who signed in with it before; UNKNOWN without a valid cookie."""
    match = BROWSER.fullmatch(_unsigned(cookies.get(cookie_name(BROWSER_COOKIE, https)), BROWSER_COOKIE) or "")
    return Browser(match[1], tuple(map(int, match[2].split("-")[1:]))) if match else UNKNOWN


def _browser_value(browser: Browser, person_id: int) -> str:
    """The content of the browser's cookie after this person has signed in."""
    people = [*(other for other in browser.people if other != person_id), person_id][-MAX_PEOPLE_OF_BROWSER:]
    written = "-".join([browser.id or passcodes.random_signs(16), *map(str, people)])
    return _signer(settings.cookie_secret(), BROWSER_COOKIE).sign(written).decode()


def who_holds(cookie: str | None) -> Who | None:
    """The person whose login is in a cookie. Not cached: a revoked login ends at once."""
    secret = login_secret(cookie)
    if secret is None:
        return None
    with reading(web_engine()) as session:
        return logins.who_is(session, secret)


def current_login(request: Request) -> Who | None:
    """The person who sends this request; None where another site does, which would see whether a file comes."""
    if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return None
    return who_holds(cookie_in(request.cookies, is_https(request)))


def key_of_address(request: Request) -> str:
    """The key under which budgets count everybody at the visitor's address, as determined by the gate."""
    return budgets.key_of(None, request.client.host if request.client else "")


def is_https(request: Request) -> bool:
    """Whether the browser used https, as determined by the gate."""
    return request.scope.get("scheme") == "https"


def wait_to_sign_in(cookie: str | None, address: str) -> float:
    """Seconds until this visitor may try to sign in, 0 for now; counts each attempt.

    A browser that was signed in before has its own count, so that strangers at its address cannot use it up.
    """
    return budgets.spending("sign_ins").take(budgets.key_of(login_secret(cookie), address))


def is_our_own(request: Request) -> bool:
    """Whether the request comes from one of our own pages and not from another site."""
    site = request.headers.get("sec-fetch-site", "same-origin")
    return site == "same-origin" and request.headers.get(HEADER) == HEADER_VALUE


def _answer(status: int, message: str) -> JSONResponse:
    return JSONResponse({"message": message}, status_code=status, headers={"Cache-Control": "no-store"})


def use_ticket(request: Request) -> JSONResponse:
    """Redeem a ticket and set the cookie; anyone signed in on this browser before is signed out."""
    language.use(language.accepted(request.headers.get("accept-language")))
    if not is_our_own(request):
        return _answer(403, _("This request does not come from a Triptych page."))
    ticket = request.headers.get("x-triptych-ticket", "")[:MAX_TICKET_LENGTH]
    previous, identity = current_login(request), identity_in(request.headers)
    try:
        with writing(web_engine()) as session:
            secret = logins.use_ticket(session, ticket, identity)
            who = logins.signed_in(session, secret)
            viewers.refuse_both_sides(session, who, browser_in(request.cookies, is_https(request)).people)
            if previous is not None:
                logins.sign_out(session, previous)
    except NotAllowed as refusal:
        return _answer(403, str(refusal))
    answer = _answer(200, "Signed in.")
    https = is_https(request)
    browser = _browser_value(browser_in(request.cookies, https), who.person_id)
    cookie = cookie_value(secret, identity)
    _set(answer, COOKIE, cookie, int(logins.LOGIN_LIFE.total_seconds()), https)
    _set(answer, BROWSER_COOKIE, browser, BROWSER_SECONDS, https)
    return answer


def _set(answer: JSONResponse, name: str, value: str, seconds: int, https: bool) -> None:
    """Set a cookie; with `seconds` 0, remove it."""
    name, path = cookie_name(name, https), _place["path"]
    answer.set_cookie(name, value, max_age=seconds, httponly=True, samesite="lax", secure=https, path=path)


def sign_out(request: Request) -> JSONResponse:
    """Revoke the login and remove the cookie."""
    if not is_our_own(request):
        return _answer(403, _("This request does not come from a Triptych page."))
    who = current_login(request)
    if who is not None:
        with writing(web_engine()) as session:
            logins.sign_out(session, who)
    answer = _answer(200, "Signed out.")
    _set(answer, COOKIE, "", 0, is_https(request))
    return answer
