"""The web layer on a real server: cookies, tickets, who may send what, headers, assets, health."""

from __future__ import annotations

import errno
import http.client
import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from http.cookies import SimpleCookie
from pathlib import Path

import pytest
from helpers.present import present
from starlette.requests import Request

from bench.server import Server, running_app
from triptych import settings
from triptych.people import accounts, logins
from triptych.storage import database
from triptych.storage.database import reading, writing
from triptych.study.persons import Who
from triptych.web import assets, headers, session

SECRET = "a secret of this test"
PASSCODE = "correct horse battery"


@dataclass
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def cookie(self):
        return SimpleCookie(self.headers.get("Set-Cookie", "")).get(session.COOKIE)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def server(home, forked) -> Iterator[Server]:
    with running_app(home, {"TRIPTYCH_SECRET": SECRET, "TRIPTYCH_PROXIES": "127.0.0.1"}, start=forked) as started:
        yield started


@pytest.fixture(scope="module")
def data(server, home):
    engine = database.open_engine(f"sqlite:///{home / 'triptych.db'}")
    yield engine
    engine.dispose()


def send(server: Server, method: str, path: str, **sent: str) -> Answer:
    """One request of our own page, on a connection of its own; `sent` are headers, underscores for dashes."""
    sent = {"Origin": server.url, **sent}
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=20)
    try:
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in sent.items()})
        answer = connection.getresponse()
        return Answer(answer.status, answer.headers, answer.read())
    finally:
        connection.close()


@pytest.fixture
def lead(data):
    with writing(data) as transaction:
        return accounts.create_lead(transaction, f"Ada {os.urandom(4).hex()}", PASSCODE)


def ticket_for(data, person) -> str:
    with writing(data) as transaction:
        return logins.issue_sign_in_ticket(transaction, person)


def sign_in(server, data, person, **more: str) -> Answer:
    return send(server, "POST", "/auth/ticket", X_Triptych="1", X_Triptych_Ticket=ticket_for(data, person), **more)


def holder(data, answer: Answer) -> Who | None:
    """Who the cookie of an answer signs in."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRIPTYCH_SECRET", SECRET)
        secret = session.login_secret(answer.cookie.value)
    with reading(data) as transaction:
        return logins.who_is(transaction, present(secret))


def test_a_ticket_becomes_a_cookie_that_no_script_can_read(server, data, lead):
    answer = sign_in(server, data, lead)

    assert answer.status == 200
    assert holder(data, answer).person_id == lead.id
    assert answer.cookie["httponly"]
    assert answer.cookie["samesite"] == "lax"
    assert answer.cookie["max-age"] == str(14 * 24 * 3600)
    assert answer.cookie["path"] == "/"
    assert not answer.cookie["secure"]
    assert answer.headers["Cache-Control"] == "no-store"


def test_behind_https_the_cookie_is_secure(server, data, lead):
    origin = server.url.replace("http", "https")
    answer = sign_in(server, data, lead, X_Forwarded_Proto="https", Origin=origin)

    assert answer.cookie is None  # of the name on plain http
    assert "__Host-triptych_session=" in answer.headers["Set-Cookie"]
    assert "Secure" in answer.headers["Set-Cookie"]


def test_a_ticket_is_taken_once(server, data, lead):
    ticket = ticket_for(data, lead)
    answers = [send(server, "POST", "/auth/ticket", X_Triptych="1", X_Triptych_Ticket=ticket) for _ in range(2)]

    assert [answer.status for answer in answers] == [200, 403]
    assert answers[1].cookie is None


@pytest.mark.parametrize(
    "path", ["/auth/ticket", "/auth/sign-out", "/desk/draft", "/desk/renew", "/desk/act", "/desk/items"]
)
@pytest.mark.parametrize(
    "foreign",
    [
        {},
        {"X_Triptych": "0"},
        *({"X_Triptych": "1", "Sec_Fetch_Site": site} for site in ("cross-site", "same-site", "none")),
    ],
)
def test_a_request_from_another_site_changes_nothing(server, data, lead, path, foreign):
    ticket = ticket_for(data, lead)
    answer = send(server, "POST", path, X_Triptych_Ticket=ticket, **foreign)

    assert answer.status == 403
    assert answer.cookie is None
    assert send(server, "POST", "/auth/ticket", X_Triptych="1", X_Triptych_Ticket=ticket).status == 200


def test_a_link_can_neither_sign_in_nor_out(server, data, lead):
    signed_in = sign_in(server, data, lead)
    cookie = f"{session.COOKIE}={signed_in.cookie.value}"
    answers = [
        send(server, "GET", "/auth/ticket", X_Triptych="1", X_Triptych_Ticket=ticket_for(data, lead)),
        send(server, "GET", "/auth/sign-out", X_Triptych="1", Cookie=cookie),
    ]

    assert [answer.cookie for answer in answers] == [None, None]
    assert holder(data, signed_in).person_id == lead.id


def test_signing_out_revokes_the_login_and_removes_the_cookie(server, data, lead):
    signed_in = sign_in(server, data, lead)
    cookie = f"{session.COOKIE}={signed_in.cookie.value}"
    answer = send(server, "POST", "/auth/sign-out", X_Triptych="1", Cookie=cookie)

    assert answer.status == 200
    assert answer.cookie["max-age"] == "0"
    assert holder(data, signed_in) is None


def test_signing_out_twice_or_without_a_login_is_no_error(server):
    assert send(server, "POST", "/auth/sign-out", X_Triptych="1").status == 200


def test_signing_in_as_another_person_ends_the_previous_login(server, data, lead):
    first = sign_in(server, data, lead)
    with writing(data) as transaction:
        other = accounts.create_lead(transaction, "Somebody else", PASSCODE)
    second = sign_in(server, data, other, Cookie=f"{session.COOKIE}={first.cookie.value}")

    assert holder(data, first) is None
    assert holder(data, second).person_id == other.id


def test_who_is_not_signed_in_stores_no_draft(server):
    answer = send(server, "POST", "/desk/renew", X_Triptych="1", Content_Type="application/json", Content_Length="0")

    assert answer.status in (400, 401)
    assert b"stored" not in answer.body


def test_every_answer_carries_the_security_headers(server):
    for path in ("/", "/healthz", "/_stcore/health", "/assets/none/x.js", "/nowhere"):
        answer = send(server, "GET", path)
        rules = answer.headers["Content-Security-Policy"]

        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "same-origin"
        assert answer.headers["X-Frame-Options"] == "SAMEORIGIN"
        assert "default-src 'self'" in rules
        assert "unsafe-eval" not in rules
        assert "'unsafe-inline'" not in rules.split("script-src")[1].split(";")[0]


def test_the_policy_lets_sockets_reach_the_own_host_only(server):
    host = server.url.removeprefix("http://")
    rules = send(server, "GET", "/").headers["Content-Security-Policy"]

    assert f"connect-src 'self' ws://{host} wss://{host};" in rules


def test_a_hostile_host_name_adds_nothing_to_the_policy():
    assert "evil" not in headers.policy("", "a; script-src evil.example")
    assert "ws://[::1]:8501" in headers.policy("", "[::1]:8501")


def test_the_policy_names_the_inline_scripts_by_their_hash():
    # printf x | openssl dgst -sha256 -binary | base64
    expected = "'sha256-LXEWQrcmsEQBYnyp+6wy9chTD7GQPMTbAiWHF5IaSIE='"
    assert headers.inline_hashes("<script>x</script><script src='y'></script>") == expected


@pytest.mark.parametrize(
    "path",
    [
        "/_stcore/metrics",
        "/_stcore/agent/openapi.json",
        "/_stcore/agent/mcp",
        "/auth/login",
        "/auth/logout",
        "/oauth2callback",
    ],
)
def test_streamlits_numbers_agent_interface_and_sign_in_are_closed(server, path):
    assert send(server, "GET", path).status == 404


def test_the_workbench_address_may_be_cached_for_ever(server):
    answer = send(server, "GET", f"/assets/{assets.version()}/workbench/workbench.js")

    assert answer.status == 200
    assert "javascript" in answer.headers["Content-Type"]
    assert "immutable" in answer.headers["Cache-Control"]


DEV_FILES = ("package.json", "package-lock.json", "tsconfig.json", "types.d.ts", "node_modules/typescript/lib/tsc.js")
UNSERVED = ("{}/__init__.py", "{}/../state.py", "{}/..%2fstate.py", "other/workbench.js", "")


@pytest.mark.parametrize("path", [*UNSERVED, *(f"{{}}/{name}" for name in DEV_FILES)])
def test_nothing_but_scripts_and_styles_of_this_version_is_served(server, path):
    answer = send(server, "GET", "/assets/" + path.format(assets.version()))

    assert answer.status in (400, 404)
    assert b"import" not in answer.body


def test_health_says_that_the_process_answers(server):
    assert json.loads(send(server, "GET", "/healthz").body) == {"status": "ok"}


def test_the_cookie_secret_is_made_once_and_private(tmp_path, monkeypatch):
    monkeypatch.delenv("TRIPTYCH_SECRET", raising=False)
    first, second = settings.cookie_secret(), settings.cookie_secret()

    assert first == second
    assert len(first) >= 48
    assert stat.S_IMODE((tmp_path / "cookie.secret").stat().st_mode) == 0o600


def test_a_file_system_without_hard_links_holds_the_secret(tmp_path, monkeypatch):
    monkeypatch.delenv("TRIPTYCH_SECRET", raising=False)

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refuse)

    assert settings.cookie_secret() == (tmp_path / "cookie.secret").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["cookie.secret"]


@pytest.mark.parametrize("value", ["", "x", "a.b", "ü", "x" * 5000, "secret.AAAA"])
def test_a_cookie_signed_elsewhere_is_not_signed_in(value, monkeypatch):
    monkeypatch.setenv("TRIPTYCH_SECRET", SECRET)

    assert session.login_secret(value) is None


def test_a_cookie_survives_a_restart_but_not_another_secret(monkeypatch):
    monkeypatch.setenv("TRIPTYCH_SECRET", SECRET)
    value = session.cookie_value("login secret")
    assert session.login_secret(value) == "login secret"

    monkeypatch.setenv("TRIPTYCH_SECRET", "another")
    assert session.login_secret(value) is None


@pytest.mark.long
def test_old_browsers_without_fetch_metadata_need_the_header():
    def request(**sent: str) -> Request:
        raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in sent.items()]
        return Request({"type": "http", "headers": raw})

    assert session.is_our_own(request(x_triptych="1"))
    assert not session.is_our_own(request())
