"""The app in a frame of another site, in a real browser that keeps no cookies of third parties."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from helpers.browser import FLAGS, PATIENCE, expect, playwright
from helpers.studies import absent
from stack import Proxy

from bench.chromium import find_chromium, launch_chromium
from bench.server import Server, running_app

pytestmark = [pytest.mark.deploy, pytest.mark.browser]
SITE, OTHER = "https://space.test", "https://other.test"
SITES = [
    "--test-third-party-cookie-phaseout",
    "--disable-features=LocalNetworkAccessChecks",  # else no public page may frame one of this computer
]


@pytest.fixture(scope="module")
def served(tmp_path_factory, forked) -> Iterator[tuple[Proxy, Server]]:
    """A server that one site may frame, behind the shipped nginx."""
    proxy = Proxy(tmp_path_factory.mktemp("nginx"), ())
    settings = {"TRIPTYCH_ADDRESS": proxy.url, "TRIPTYCH_PROXIES": "127.0.0.1", "TRIPTYCH_FRAMED_BY": SITE}
    with running_app(tmp_path_factory.mktemp("framed"), settings, start=forked) as server:
        port = int(server.url.rpartition(":")[2])
        proxy.ports = (port, port)
        with proxy.running():
            yield proxy, server


@pytest.fixture
def page():
    if find_chromium() is None:
        absent("Chromium")
    with playwright.sync_playwright() as player:
        chromium = launch_chromium(player, [*FLAGS, *SITES])
        expect.set_options(timeout=PATIENCE)
        yield chromium.new_context(ignore_https_errors=True).new_page()
        expect.set_options(timeout=5000)
        chromium.close()


def frame(page, site: str, address: str):
    """The app in a frame of a page of this site."""
    body = f"<h1>A site</h1><iframe src='{address}' width=1400 height=800></iframe>"
    page.route(f"{site}/**", lambda route: route.fulfill(content_type="text/html", body=body))
    page.goto(f"{site}/")
    return page.frame_locator("iframe")


def test_somebody_signs_in_and_stays_so_in_a_frame(served, page):
    proxy, server = served
    link = server.setup_link()
    app = frame(page, SITE, f"{proxy.url}/?{link.partition('?')[2]}")
    app.get_by_label("Your name").fill("Ada")
    app.locator("input[type=password]").fill("a passcode in a frame")
    app.get_by_role("button", name="Create the account").click()
    expect(app.get_by_role("heading", name="Studies")).to_be_visible()

    app = frame(page, SITE, proxy.url)
    expect(app.get_by_role("heading", name="Studies")).to_be_visible()
    page.goto(proxy.url)  # by itself: the frame's sign-in does not count here
    expect(page.locator("input[type=password]")).to_be_visible()


def test_a_site_without_leave_shows_no_frame(served, page):
    proxy, _ = served
    with page.expect_console_message(lambda message: "frame-ancestors" in message.text):
        frame(page, OTHER, proxy.url)
    assert page.frames[1].url.startswith("chrome-error:")
