"""A server that has just been started for the first time, seen by a stranger's browser."""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from urllib.error import HTTPError
from urllib.request import urlopen

import aiohttp
import pytest
from helpers import browser
from helpers.browser import chromium, expect  # noqa: F401  (chromium is a fixture)
from helpers.present import present
from helpers.studies import ROOT, personal_link

from bench.client import PageSession
from bench.server import ServerFailed, free_port, running_app, start_server, wait_until
from triptych.people import accounts
from triptych.storage import database
from triptych.storage.database import reading, writing
from triptych.storage.models import Access
from triptych.study import lifecycle
from triptych.web.session import COOKIE

pytestmark = [pytest.mark.browser, pytest.mark.long]
LEAD_PAGES = sorted(path.stem for path in (ROOT / "pages" / "lead").glob("*.py"))
PASSCODE = "correct horse battery"
SIGN_OUT = "Sign out"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def server(home):
    port = free_port()
    with running_app(home, {"TRIPTYCH_ADDRESS": f"http://127.0.0.1:{port} http://lab.test"}, port) as started:
        yield started


@pytest.fixture(scope="module")
def data(server, home):
    engine = database.open_engine(f"sqlite:///{home / 'triptych.db'}")
    yield engine
    engine.dispose()


@pytest.fixture(scope="module")
def context(chromium):
    return chromium.new_context()


@pytest.fixture
def page(server, context):
    return browser.afresh(context, server)


def frames_of(page) -> list[bytes]:
    """Collects every WebSocket frame that reaches the page from now on."""
    seen: list[bytes] = []

    def keep(frame) -> None:
        seen.append(frame.encode() if isinstance(frame, str) else frame)

    page.on("websocket", lambda socket: socket.on("framereceived", keep))
    return seen


async def titles(url: str, names: list[str], cookies: dict[str, str]) -> dict[str, list[str]]:
    """Address → the title that its page shows to the owner of these cookies, asked without a browser."""
    shown = {}
    async with aiohttp.ClientSession(cookies=cookies, cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
        for name in names:
            page = PageSession(http, url, name)
            await page.open()
            shown[name] = [element.heading.body for element in page.find("heading") if element.heading.tag == "h1"]
            await page.close()
    return shown


def session_of(page) -> dict | None:
    return next((cookie for cookie in page.context.cookies() if cookie["name"] == COOKIE), None)


def test_a_lead_page_shows_strangers_the_sign_in_page(page, tmp_path, forked):
    # a new server: the hole that this guards against closes with the first visit of any page
    with running_app(tmp_path / "home", start=forked) as fresh:
        frames = frames_of(page)
        page.goto(f"{fresh.url}/results")
        expect(page.get_by_role("tab", name="Take part")).to_be_visible()
        page.close()

        assert frames
        assert not [frame for frame in frames if b"pages/lead" in frame or b"lead/studies" in frame]


@pytest.mark.parametrize("path", ["pages/lead/{}.py", "lead/{}.py", "lead/{}", "app/static/pages/lead/{}.py"])
@pytest.mark.parametrize("name", LEAD_PAGES)
def test_no_source_file_is_served(server, path, name):
    try:
        with urlopen(f"{server.url}/{path.format(name)}", timeout=20) as answer:
            body = answer.read()
    except HTTPError as refusal:
        body = refusal.read()

    assert b"state.require" not in body


def test_the_setup_link_makes_the_lead_once(server, page):
    link = server.setup_link()
    page.goto(link)
    page.get_by_label("Your name").fill("Ada")
    page.get_by_label(re.compile("Choose a passcode")).fill(PASSCODE)
    page.get_by_role("button", name="Create the account").click()
    expect(page.get_by_role("button", name=SIGN_OUT)).to_be_visible()

    assert page.url == f"{server.url}/"
    assert present(session_of(page))["httpOnly"]
    assert COOKIE not in page.evaluate("document.cookie")
    page.reload()
    expect(page.get_by_role("button", name=SIGN_OUT)).to_be_visible()

    stranger = browser.afresh(page.context, server)
    stranger.goto(link)
    expect(stranger.get_by_text("no longer valid")).to_be_visible()
    expect(stranger.get_by_role("textbox")).to_have_count(0)


def test_signing_out_ends_the_other_tab_and_removes_the_cookie(server, data, page):
    with writing(data) as session:
        accounts.create_lead(session, "Bea", PASSCODE)
    page.goto(server.url)
    page.get_by_role("tab", name="Lead").click()
    page.get_by_label("Name", exact=True).fill("Bea")
    page.get_by_label("Passcode", exact=True).fill(PASSCODE)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name=SIGN_OUT)).to_be_visible()
    other = page.context.new_page()
    other.goto(server.url)
    other.get_by_role("button", name=SIGN_OUT).click()
    expect(other.get_by_role("tab", name="Lead")).to_be_visible()

    assert session_of(page) is None
    expect(page.get_by_role("tab", name="Lead")).to_be_visible()  # without a click


def test_newcomers_over_http_get_a_code_and_no_lead_page(server, data, page, make_study):
    with writing(data) as session:
        study = make_study(session, annotators=0)[0]
    here = server.url.replace("127.0.0.1", "lab.test")
    page.goto(f"{here}/?study={study.slug}")
    page.get_by_label("Your name", exact=True).fill("Anna")
    page.get_by_role("button", name="Start").click()
    page.get_by_role("button", name="I have noted it").click()
    expect(page.get_by_role("button", name=SIGN_OUT)).to_be_visible()

    assert page.evaluate("window.isSecureContext") is False
    page.goto(f"{here}/studies")
    expect(page.get_by_role("heading", name="My work")).to_be_visible()
    cookies = {cookie["name"]: cookie["value"] for cookie in page.context.cookies()}
    with ThreadPoolExecutor(1) as pool:  # this thread has the event loop of the browser
        shown = pool.submit(asyncio.run, titles(server.url, LEAD_PAGES, cookies)).result()
    assert shown == dict.fromkeys(LEAD_PAGES, ["My work"])


def test_a_personal_link_leaves_no_secret_in_the_history(server, data, page, make_study):
    with writing(data) as session:
        study = make_study(session, annotators=0)[0]
        lifecycle.by_slug(session, study.slug).access = Access.invited
        secret = personal_link(session, study, "Berta")
    page.goto("about:blank")
    page.goto(f"{server.url}/?join={secret}")
    expect(page.get_by_role("button", name=SIGN_OUT)).to_be_visible()

    page.wait_for_url(lambda url: secret not in url)
    page.go_back()
    assert secret not in page.url


def test_a_panel_participant_stays_signed_in_without_their_id(server, data, page, make_study):
    with writing(data) as session:
        study = make_study(session, annotators=0)[0]
        lifecycle.by_slug(session, study.slug).access = Access.panel
    page.goto(f"{server.url}/?study={study.slug}&PROLIFIC_PID=5f1abc&SESSION_ID=s&STUDY_ID=x")
    expect(page.get_by_role("button", name=SIGN_OUT)).to_be_visible()

    page.wait_for_url(f"{server.url}/annotate?study={study.slug}")
    page.reload()
    expect(page.get_by_role("button", name=SIGN_OUT)).to_be_visible()


def test_a_login_survives_a_restart_of_the_server(tmp_path, page, forked):
    first = start_server(tmp_path / "home", start=forked)
    wait_until(lambda: "?setup=" in first.output(), first, "print a set-up link")
    page.goto(first.setup_link())
    page.get_by_label("Your name").fill("Ada")
    page.get_by_label(re.compile("Choose a passcode")).fill(PASSCODE)
    page.get_by_role("button", name="Create the account").click()
    expect(page.get_by_role("button", name=SIGN_OUT)).to_be_visible()
    first.stop()
    port = int(first.url.rpartition(":")[2])
    with running_app(tmp_path / "home", port=port, start=forked) as again:
        page.goto(again.url)
        expect(page.get_by_role("button", name=SIGN_OUT)).to_be_visible()


def test_the_pages_break_no_rule_of_their_own_security_policy(server, page):
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(server.url)
    page.wait_for_selector("[data-testid=stTab]")

    assert complaints == []
    assert not [url for url in asked if not url.startswith((server.url, "data:", "blob:"))]


def test_a_second_server_on_one_database_is_refused(server, home, forked):
    with pytest.raises(ServerFailed, match="Another Triptych is using"), running_app(home, start=forked):
        pass


def test_the_database_of_a_fresh_server_has_no_account(tmp_path, forked):
    with running_app(tmp_path / "home", start=forked) as fresh:
        assert "?setup=" in fresh.setup_link()
        engine = database.open_engine(f"sqlite:///{tmp_path / 'home' / 'triptych.db'}")
        with reading(engine) as session:
            assert not accounts.has_lead(session)
        engine.dispose()
