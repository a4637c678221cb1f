"""A single sign-on, with nginx, its shipped files and a real browser."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from helpers import browser
from helpers.browser import expect
from stack import FILES, SECRET, Proxy

from bench.server import free_port, running_app
from bench.world import build_world
from triptych.people import identities
from triptych.storage import database

pytestmark = [pytest.mark.deploy, pytest.mark.browser]

CHROMIUM_COOKIES = {"name": "university", "httpOnly": True, "secure": True}
CONTINUE = re.compile("Continue as lead.?@uni.example")  # a sign of no width keeps the address from becoming a link
chromium = browser.chromium


class University(BaseHTTPRequestHandler):
    """What nginx asks, as oauth2-proxy documents it: the identity of somebody who signed in there, or 401."""

    def do_GET(self) -> None:
        crumb = SimpleCookie(self.headers.get("Cookie", "")).get("university")
        identity = crumb.value if crumb else ""
        self.send_response(200 if self.path != "/oauth2/auth" else 202 if identity else 401)
        if identity:
            self.send_header("X-Auth-Request-User", identity)
        page = b"" if self.path == "/oauth2/auth" else b"Sign in at the university"
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, format: str, *args: object) -> None:
        pass


@dataclass
class GuardedProxy(Proxy):
    """nginx with the shipped files for a single sign-on, included as docs/deploying.md says."""

    university: int = 0

    def site(self) -> str:
        text = super().site()
        for name in ("single-sign-on.conf", "single-sign-on-headers.conf"):
            line, own = f"# include /etc/triptych/{name};", f"include {self.folder}/{name};"
            assert text.count(line) == 1
            text = text.replace(line, own)
            shipped = (FILES / name).read_text()
            for there, here in {
                "127.0.0.1:4180": f"127.0.0.1:{self.university}",
                "change-me": SECRET[::-1],
                "/etc/triptych/": f"{self.folder}/",
            }.items():
                shipped = shipped.replace(there, here)
            (self.folder / name).write_text(shipped)
        return text


@pytest.fixture(scope="module")
def site(tmp_path_factory, forked) -> Iterator[GuardedProxy]:
    home: Path = tmp_path_factory.mktemp("guarded")
    build_world(home, items=3)
    engine = database.open_engine(f"sqlite:///{home / 'triptych.db'}")
    with database.writing(engine) as session:
        identities.give(session, "Bench", "lead@uni.example")
    engine.dispose()
    with ExitStack() as stack:
        university = ThreadingHTTPServer(("127.0.0.1", 0), University)
        threading.Thread(target=university.serve_forever, daemon=True).start()
        stack.callback(university.server_close)
        stack.callback(university.shutdown)
        port = free_port()
        proxy = GuardedProxy(tmp_path_factory.mktemp("nginx"), (port, port), university=university.server_port)
        settings = {
            "TRIPTYCH_ADDRESS": proxy.url,
            "TRIPTYCH_PROXIES": "127.0.0.1",
            "TRIPTYCH_IDENTITY_HEADER": "X-Remote-User",
            "TRIPTYCH_IDENTITY_SECRET": SECRET[::-1],
        }
        stack.enter_context(running_app(home, settings, port, start=forked))
        stack.enter_context(proxy.running())
        yield proxy


def come_as(context, site: GuardedProxy, identity: str) -> None:
    context.add_cookies([{**CHROMIUM_COOKIES, "value": identity, "url": site.url, "sameSite": "None"}])


def test_people_come_in_by_one_click(site, chromium):
    context = chromium.new_context(ignore_https_errors=True)
    page = context.new_page()
    page.goto(site.url)
    expect(page.get_by_text("Sign in at the university")).to_be_visible()

    come_as(context, site, "nobody@uni.example")
    page.goto(site.url)
    expect(page.get_by_text("Nobody has this identity here yet")).to_be_visible()
    expect(page.get_by_role("tab", name="Lead")).to_be_visible()

    come_as(context, site, "lead@uni.example")
    page.goto(site.url)
    page.get_by_role("button", name=CONTINUE).click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()

    come_as(context, site, "nobody@uni.example")
    page.reload()
    expect(page.get_by_text("Nobody has this identity here yet")).to_be_visible()
    context.close()


@pytest.fixture
def page_of_lead(site, chromium):
    """Of a lead who came in through the single sign-on."""
    context = chromium.new_context(ignore_https_errors=True)
    page = context.new_page()
    come_as(context, site, "lead@uni.example")
    page.goto(site.url)
    page.get_by_role("button", name=CONTINUE).click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    yield page
    context.close()


def test_signing_out_works_after_leaving_the_single_sign_on(site, page_of_lead):
    """nginx answered with the university's page, which passed for a sign-out: the login went on in other tabs."""
    page_of_lead.context.clear_cookies(name="university")
    page_of_lead.get_by_role("button", name="Sign out").click()
    expect(page_of_lead.get_by_text("Sign in at the university")).to_be_visible()

    come_as(page_of_lead.context, site, "lead@uni.example")
    page_of_lead.goto(site.url)
    expect(page_of_lead.get_by_role("button", name=CONTINUE)).to_be_visible()


def test_a_page_of_a_proxy_is_no_sign_out(page_of_lead):
    of_proxy = {"body": "Sign in at the university", "content_type": "text/html"}
    page_of_lead.route("**/auth/sign-out", lambda route: route.fulfill(**of_proxy))
    page_of_lead.get_by_role("button", name="Sign out").click()
    expect(page_of_lead.get_by_role("button", name="Not signed out: no answer. Try again")).to_be_visible()
