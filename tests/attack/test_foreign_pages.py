"""A page that is not ours: it opens no socket and changes nothing with the cookie of the person who looks at it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from helpers.attackers import Answer, ask, cookie, handshake, refusals

from bench.server import Server, running_app
from bench.world import World, build_world

OWN_NAME = "annotate.example.org"
CHANGING = [
    ("POST", "/auth/ticket"),
    ("POST", "/auth/sign-out"),
    ("POST", "/desk/draft"),
    ("POST", "/lead/rubric"),
    ("POST", "/desk/renew"),
    ("POST", "/desk/act"),
    ("POST", "/desk/items"),
    ("PUT", "/_stcore/upload_file/session/file"),
    ("DELETE", "/_stcore/upload_file/session/file"),
    ("POST", "/"),
    ("PATCH", "/anything"),
    ("PROPFIND", "/healthz"),
]


@dataclass(frozen=True)
class Served:
    server: Server
    world: World

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def port(self) -> str:
        return self.url.rpartition(":")[2]

    @property
    def lead(self) -> dict[str, str]:
        return cookie(self.world.lead)

    def shake(self, **headers: str) -> Answer:
        return handshake(self.url, {**self.lead, **headers})


@pytest.fixture(scope="module")
def served(tmp_path_factory, forked) -> Iterator[Served]:
    """Without any setting but more lines in the log, as `make run` starts it."""
    home = tmp_path_factory.mktemp("foreign")
    world = build_world(home, items=5)
    with running_app(home, {"TRIPTYCH_BUDGETS": "refusal_lines=10000"}, start=forked) as server:
        yield Served(server, world)


FOREIGN = [
    "http://127.0.0.1:8888",
    "http://localhost:3000",
    "http://127.0.0.1",
    "https://127.0.0.1:{port}",
    "http://localhost:{port}",
    "http://127.0.0.1.evil.example:{port}",
    "http://evil.example",
    "http://127.0.0.1:{port}.evil.example",
    "http://evil.example@127.0.0.1:{port}",
    "http://127.0.0.1:{port}/",
    "http://127.0.0.1:0{port}0",
    "file://",
    "null",
    "",
    "chrome-extension://abcdefgh",
    "http://[::1]:{port}",
    "http://127.0.0.1:{port}, http://evil.example",
    "http://127.0.0.1:{port}\xe9",
]


@pytest.mark.parametrize("origin", FOREIGN)
def test_a_foreign_page_opens_no_socket_with_the_leads_cookie(served, origin):
    before = len(refusals(served.server))
    answer = served.shake(Origin=origin.format(port=served.port))

    assert answer.status == 403
    assert len(refusals(served.server)) == before + 1
    assert "without completing" not in served.server.output()


def test_two_origins_in_two_headers_are_none(served):
    headers = [*served.lead.items(), ("Origin", served.url), ("Origin", "http://evil.example")]

    assert handshake(served.url, headers).status in (400, 403)
    assert handshake(served.url, list(reversed(headers))).status in (400, 403)
    assert ask(served.url, "POST", "/auth/sign-out", [*headers, ("X-Triptych", "1")]).status == 403


def test_a_socket_without_cookie_or_origin_is_not_opened_either(served):
    assert handshake(served.url).status == 403


def test_sockets_elsewhere_are_judged_by_the_same_rule(served):
    assert handshake(served.url, {"Origin": "http://evil.example"}, "/nowhere").status == 403


@pytest.mark.parametrize("method, path", CHANGING)
@pytest.mark.parametrize("origin", ["http://127.0.0.1:8888", "null", ""])
def test_no_request_with_a_cookie_acts_without_our_origin(served, method, path, origin):
    sent = {**served.lead, "Origin": origin, "X-Triptych": "1", "Content-Length": "2"}
    answer = ask(served.url, method, path, sent, b"{}")

    assert answer.status == 403
    assert "refused" in answer.body


def test_a_foreign_page_without_cookies_is_refused_too(served):
    assert ask(served.url, "POST", "/auth/ticket", {"Origin": "http://evil.example", "X-Triptych": "1"}).status == 403


def test_a_program_with_a_token_alone_needs_no_origin(served):
    sent = {"Authorization": "Bearer of-a-script", "X-Triptych": "1"}

    assert "foreign" not in ask(served.url, "POST", "/desk/draft", sent, b"{}").body


@pytest.mark.parametrize("path", ["/", "/export/bench/ratings.csv", "/_stcore/health", "/_stcore/host-config"])
def test_no_answer_lets_a_foreign_page_read_it(served, path):
    answer = ask(served.url, "GET", path, {**served.lead, "Origin": "http://127.0.0.1:8888"})

    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("path", ["/export/bench/ratings.csv", "/my-data.json"])
@pytest.mark.parametrize("site, status", [("cross-site", 401), ("same-site", 401), ("same-origin", 200), ("none", 200)])
def test_no_foreign_page_learns_whether_a_file_comes(served, path, site, status):
    """A window that it opens stays blank where a file comes, which shows who is signed in and what they lead."""
    sent = {**served.lead, "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}

    assert ask(served.url, "GET", path, sent).status == status


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:{port}", "localhost:{port}", "127.0.0.1:9999", "localhost", "[::1]:8080", "10.2.3.4", "a.localhost"],
)
def test_our_page_opens_sockets_under_every_address_of_this_computer(served, host):
    """Mapped ports and tunnels show in Host and Origin alike."""
    here = host.format(port=served.port)

    assert served.shake(Host=here, Origin=f"http://{here}").status == 101


def test_our_own_page_opens_a_socket_under_this_machines_name(served):
    import socket

    name = socket.gethostname()

    assert served.shake(Host=f"{name}:{served.port}", Origin=f"http://{name.lower()}:{served.port}").status == 101


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "localhost.evil.example", "127.0.0.1.evil.example", "0x7f.1", ""]
)
@pytest.mark.parametrize("path", ["/", "/export/bench/ratings.csv", "/_stcore/host-config", "/assets/x"])
def test_a_name_that_leads_here_by_rebinding_is_misdirected(served, host, path):
    headers = [*served.lead.items(), ("Host", host.format(port=served.port))]

    assert ask(served.url, "GET", path, headers).status == 421


def test_a_rebound_name_opens_no_socket_for_its_own_page(served):
    assert served.shake(Host="evil.example", Origin="http://evil.example").status == 421


def test_two_hosts_in_one_request_are_none(served):
    headers = [("Host", served.url.removeprefix("http://")), ("Host", "evil.example")]

    assert ask(served.url, "GET", "/", headers).status in (400, 421)


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/_stcore/health"])
def test_the_health_routes_answer_under_any_name(served, path):
    assert ask(served.url, "GET", path, {"Host": "container-7:8501"}).status == 200


def test_a_refusal_and_its_log_line_say_what_to_set(served):
    by_name = ask(served.url, "GET", "/", {"Host": f"lab.example:{served.port}"})
    by_origin = served.shake(Host=f"127.0.0.1:{served.port}", Origin="https://lab.example")

    assert f"set TRIPTYCH_ADDRESS=http://lab.example:{served.port} and" in by_name.body
    assert "set TRIPTYCH_ADDRESS=https://lab.example and" in by_origin.body
    log = served.server.output()
    for answer in (by_name, by_origin):
        assert answer.body.partition('"message":"')[2].removesuffix('"}') in log


def test_what_an_attacker_writes_into_a_host_is_not_repeated(served):
    answer = ask(served.url, "GET", "/", {"Host": "evil<script>\x1b[31m"})

    assert answer.status in (400, 421)
    assert "script" not in answer.body
    assert "\x1b" not in served.server.output()


@pytest.mark.parametrize("name, value", [("X-Forwarded-Proto", "https"), ("X-Forwarded-Host", "evil.example")])
def test_forwarded_headers_of_an_unconfigured_proxy_do_not_count(served, name, value):
    ticket = ask(served.url, "POST", "/auth/sign-out", {"X-Triptych": "1", name: value})

    assert ticket.status == 200
    assert "secure" not in ticket.headers["set-cookie"].lower()
    assert served.shake(**{name: value}, Origin=served.url.replace("http", "https")).status == 403


@pytest.fixture(scope="module")
def behind(tmp_path_factory, forked) -> Iterator[Served]:
    """Behind a proxy on this computer, under a public name."""
    home = tmp_path_factory.mktemp("behind")
    world = build_world(home, items=5)
    ways = {"TRIPTYCH_ADDRESS": f"https://{OWN_NAME}, http://lab7.example:8080/", "TRIPTYCH_PROXIES": "127.0.0.1"}
    with running_app(home, ways, start=forked) as server:
        yield Served(server, world)


@pytest.mark.parametrize(
    "host, proto, origin",
    [
        (OWN_NAME, "https", f"https://{OWN_NAME}"),
        (OWN_NAME, "https", f"https://{OWN_NAME.upper()}"),
        (OWN_NAME, "", f"https://{OWN_NAME}"),
        ("127.0.0.1:8501", "", f"https://{OWN_NAME}"),
        ("lab7.example:8080", "http", "http://lab7.example:8080"),
        ("lab7.example:9000", "http", "http://lab7.example:9000"),
        ("10.1.2.3", "https", "https://10.1.2.3"),
        ("10.1.2.3:443", "https", "https://10.1.2.3"),
        ("LAB7.example.:80", "http", "http://lab7.example"),
    ],
)
def test_configured_addresses_and_proxies_open_sockets(behind, host, proto, origin):
    assert behind.shake(Host=host, Origin=origin, **{"X-Forwarded-Proto": proto}).status == 101


@pytest.mark.parametrize(
    "host, proto, origin",
    [
        ("10.1.2.3", "https", "http://10.1.2.3"),
        ("10.1.2.3", "", "https://10.1.2.3"),
        ("10.1.2.3", "https, http", "https://10.1.2.3"),
        ("lab7.example:8080", "", "http://lab7.example"),
        (OWN_NAME, "https", "http://evil.example"),
    ],
)
def test_and_nothing_else_does(behind, host, proto, origin):
    assert behind.shake(Host=host, Origin=origin, **{"X-Forwarded-Proto": proto}).status == 403


def test_the_cookie_is_secure_where_the_configured_proxy_says_https(behind):
    answers = [
        ask(behind.url, "POST", "/auth/sign-out", {"X-Triptych": "1", "X-Forwarded-Proto": proto})
        for proto in ("https", "http")
    ]

    assert ["secure" in answer.headers["set-cookie"].lower() for answer in answers] == [True, False]


def test_the_cookie_is_secure_where_the_configured_address_is_https(behind):
    sent = {"X-Triptych": "1", "Origin": f"https://{OWN_NAME}"}

    assert "secure" in ask(behind.url, "POST", "/auth/sign-out", sent).headers["set-cookie"].lower()
