"""A real browser on a real server: what the browser tests share.

A module uses it as

    import browser
    chromium = browser.chromium                       # the fixture, under its name

    @pytest.fixture(scope="module")
    def app(tmp_path_factory):
        with browser.running(tmp_path_factory.mktemp("home")) as app:
            yield app

    def test_…(app, chromium):
        page = browser.signed_in(chromium.new_context(), app, person_id).new_page()
        page.goto(f"{app.url}/annotate?study=…")
        browser.answer_all(page)
        browser.submit(page)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine
from sqlmodel import Session

from bench.chromium import find_chromium, launch_chromium
from bench.server import Server, free_port, is_healthy, start_server, wait_until
from helpers.studies import absent
from triptych.people import logins
from triptych.people.signing_in import UNKNOWN
from triptych.storage import database, schema
from triptych.storage.models import Person
from triptych.web import session as cookies
from triptych.web.session import COOKIE, cookie_value

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect

SECRET = "the cookie secret of servers that tests start"
UNTRUSTED_HOST = "lab.test"  # leads to this computer, but the browser does not take it for a secure context
FLAGS = [
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # one process for all pages of a context: the next page finds the app's scripts compiled, a third of its cost
    "--process-per-site",
    "--disable-site-isolation-trials",
    "--js-flags=--no-opt --no-maglev",  # no page lives long enough to earn back what its optimized code costs
    f"--host-resolver-rules=MAP {UNTRUSTED_HOST} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
SIZE = {"width": 1440, "height": 900}
WORKBENCH = ".tw [data-tw-submit], .tw [data-tw-continue]"
STILL_FOR = 250
PATIENCE = 20_000  # for a busy machine; every wait is for an event, not for time
TRIES = 5

# What Streamlit shows before a page pulses, which is 60 pictures a second without a graphics card.
NO_PULSE = """
const sheet = new CSSStyleSheet();
sheet.replaceSync('[data-testid="stSkeleton"] { animation: none !important; }');
document.adoptedStyleSheets.push(sheet);
"""
# Idle and connected, nothing greyed out or on its way, for a quarter of a second without a break.
STILL = """
(quiet) => {
  const app = document.querySelector('[data-testid="stApp"]');
  const main = document.querySelector('[data-testid="stMain"]');
  const still = app?.dataset.testScriptState === 'notRunning' && app.dataset.testConnectionState === 'CONNECTED'
    && main?.querySelector('[data-testid="stElementContainer"]')
    && !document.querySelector('[data-testid="stSkeleton"], [data-stale="true"]');
  if (!still) { delete window.stillSince; return false; }
  window.stillSince ??= performance.now();
  return performance.now() - window.stillSince >= quiet;
}
"""
ANSWER = """
() => {
  for (const question of document.querySelectorAll('.tw [data-tw-question]')) {
    if (question.disabled || question.querySelector('input:checked')) continue;
    question.querySelector('input[type=radio], input[type=checkbox]')?.click();
    const slider = question.querySelector('input[type=range].tw-unset');
    if (slider) { slider.value = slider.min; slider.dispatchEvent(new Event('input', { bubbles: true })); }
  }
}
"""


def stop_pulse(context: Any) -> None:
    context.add_init_script(NO_PULSE)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """One Chromium for the module (a Playwright Browser); skips, or fails in CI, where there is none.

    `lab.test` leads to 127.0.0.1 as a plain-http host that is no secure context; every other name leads nowhere.
    """
    if find_chromium() is None:
        absent("Chromium")
    with playwright.sync_playwright() as player:
        started = launch_chromium(player, FLAGS)
        started.on("context", stop_pulse)
        expect.set_options(timeout=PATIENCE)
        yield started
        expect.set_options(timeout=5000)
        started.close()


@dataclass
class App:
    """A running server and its database, which tests may read and write."""

    home: Path
    server: Server
    engine: Engine
    start: Callable[..., Any] | None = None

    @property
    def url(self) -> str:
        return self.server.url

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """A transaction on the server's database; keep it short."""
        with database.writing(self.engine) as session:
            yield session

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A fresh look at the server's database."""
        with database.reading(self.engine) as session:
            yield session

    def kill(self) -> None:
        """`kill -9`: the server has no time to clean up."""
        self.server.kill()

    def start_again(self) -> None:
        """A new process on the same port and the same data."""
        port = int(self.url.rpartition(":")[2])
        self.server = start_server(self.home, environment(port), port, self.start)
        wait_until(lambda: is_healthy(self.url), self.server, "answer")


def environment(port: int) -> dict[str, str]:
    """What a server of a browser test is told: its secret, and that it may be called by another name too."""
    return {"TRIPTYCH_SECRET": SECRET, "TRIPTYCH_ADDRESS": f"http://127.0.0.1:{port} http://{UNTRUSTED_HOST}"}


@contextmanager
def running(home: Path, before: Any = None, start: Callable[..., Any] | None = None) -> Iterator[App]:
    """A server with its data in `home`, without demo studies; `before(session)` fills the database first.

    `start` is the fixture `forked` where nothing is tested about how a server starts.
    """
    engine = database.open_engine(f"sqlite:///{home / 'triptych.db'}")
    schema.migrate(engine)
    if before is not None:
        with database.writing(engine) as session:
            before(session)
    port = free_port()
    app = App(home, start_server(home, environment(port), port, start), engine, start)
    try:
        wait_until(lambda: is_healthy(app.url), app.server, "answer")
        yield app
    finally:
        app.server.stop()
        engine.dispose()


def session_cookie(app: App, person_id: int) -> str:
    """The value of the session cookie of a new login of this person."""
    with app.writing() as session:
        ticket = logins.issue_sign_in_ticket(session, session.get_one(Person, person_id))
        secret = logins.use_ticket(session, ticket)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRIPTYCH_SECRET", SECRET)
        return cookie_value(secret)


def signed_in(context: Any, app: App, person_id: int, host: str | None = None) -> Any:
    """Signs the browser context in as this person, as the sign-in page does; returns the context.

    The browser forgets the login before, the server does not. `host` is another name of the server, for example
    UNTRUSTED_HOST.
    """
    url = app.url if host is None else app.url.replace("127.0.0.1", host)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRIPTYCH_SECRET", SECRET)
        known = cookies._browser_value(UNKNOWN, person_id)
    for name, value in {COOKIE: session_cookie(app, person_id), cookies.BROWSER_COOKIE: known}.items():
        context.add_cookies([{"name": name, "value": value, "url": url, "httpOnly": True, "sameSite": "Lax"}])
    return context


def afresh(context: Any, app: App | Server) -> Any:
    """A page of the context, in the state of a new one: signed out, online, nothing stored or routed.

    Another context or page costs the browser seconds of processor time at its first visit, this one nearly nothing.
    What a test listens to on the context, it removes itself.
    """
    page, *others = context.pages or [context.new_page()]
    for other in others:
        other.close()
    context.set_offline(False)
    page.unroute_all()
    page.goto(f"{app.url}/healthz")  # of the same origin, without a script that could store anything again
    page.evaluate("localStorage.clear(); sessionStorage.clear()")
    context.clear_cookies()
    page.goto("about:blank")
    return page


def settled(page: Any) -> None:
    """Waits until Streamlit has drawn the page: connected, no run under way, nothing stale."""
    page.wait_for_function(STILL, arg=STILL_FOR, polling=50)


def open_workbench(page: Any, app: App, study: str, host: str | None = None) -> str:
    """Opens the annotate page of the study (its slug) and waits for an item; returns the item's token."""
    url = app.url if host is None else app.url.replace("127.0.0.1", host)
    page.goto(f"{url}/annotate?study={study}")
    page.wait_for_selector(WORKBENCH)
    return token(page)


def token(page: Any) -> str:
    """The token of the assignment that is on the workbench."""
    return page.locator(".tw").get_attribute("data-token")


def choose(box: Any, option: str) -> None:
    """Chooses an option of a select box, by the box's locator."""
    in_list(box, option, lambda entry, patience: entry.click(timeout=patience))


def in_list(box: Any, option: str, use: Callable[[Any, float], Any]) -> None:
    """Opens the list of a select box for `use` of an option; again where a page that moved or ran again closed it."""
    for _ in range(TRIES):
        box.press("ArrowDown")  # a list that is open stays so; a click would close it
        with suppress(playwright.TimeoutError):
            use(box.page.get_by_role("option", name=option).first, PATIENCE / TRIES)
            return
    raise AssertionError(f"The list of {box} never stayed open.")


def open_tab(tab: Any) -> None:
    """Selects a tab of the page; again where the click was lost as the page moved or ran again."""
    for _ in range(TRIES):
        tab.click()
        with suppress(AssertionError):
            expect(tab).to_have_attribute("aria-selected", "true", timeout=PATIENCE / TRIES)
            return
    raise AssertionError(f"{tab} was never selected.")


def radio(page: Any, question: str, value: object) -> Any:
    """The locator of one answer: `question` is "A:fluency" or "item:best", `value` a point or an option's key."""
    return page.locator(f'[data-tw-question="{question}"] input[value="{value}"]')


def answer_all(page: Any) -> None:
    """Gives every open question its first answer, in both presentations; what is answered stays."""
    page.wait_for_selector(WORKBENCH)
    page.evaluate(ANSWER)


def submit(page: Any) -> None:
    """Submits the item and waits until another one, feedback or an end screen has taken its place."""
    before = token(page)
    page.locator("[data-tw-submit]").click()
    gone = "t => document.querySelector('.tw')?.dataset.token !== t || document.querySelector('[data-tw-continue]')"
    page.wait_for_function(gone, arg=before)


def sign_out(page: Any) -> None:
    """Uses *Sign out*, on *Annotate* in the workbench's menu."""
    if page.locator("[data-tw-menu]").count():
        page.locator("[data-tw-menu]").click()
    page.get_by_role("button", name="Sign out").click()


def saved(page: Any) -> Any:
    """The locator of the header's "Saved ✓"; its data-state is saved, saving or waiting (Not saved yet)."""
    return page.locator("[data-tw-saved]")


def select_text(page: Any, box: str, start: int, end: int) -> None:
    """Selects characters start to end of a judged text; `box` is "A", or "A:1" for a turn of a conversation."""
    page.evaluate(
        """([id, from, to]) => {
          const box = document.querySelector(`[data-tw-text="${id}"]`);
          const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
          const nodes = [];
          while (walker.nextNode()) nodes.push(walker.currentNode);
          const place = (offset) => {
            for (const node of nodes) { if (offset <= node.length) return [node, offset]; offset -= node.length; }
          };
          box.focus();
          document.getSelection().setBaseAndExtent(...place(from), ...place(to));
        }""",
        [box, start, end],
    )
