"""The frame of a lead's pages in a browser: which study a tab is about, where one is, and what stays in view."""

from __future__ import annotations

import pytest
from helpers import browser
from helpers.browser import chromium, expect  # noqa: F401  (chromium is a fixture)
from helpers.studies import SMALL_RUBRIC, draft_items
from sqlmodel import select

from triptych.people import accounts
from triptych.storage.models import Person, Study, StudyState
from triptych.study import lifecycle

pytestmark = [pytest.mark.browser, pytest.mark.long]
PASSCODE = "correct horse battery"
FIRST, SECOND = "a-first-study", "a-second-study"
LONG_TITLE = "Answers of three assistants to the questions of patients, rated by nurses"
CURRENT = "[...document.querySelectorAll('a[aria-current=page]')].map((link) => link.textContent.trim())"
AT = "(names) => JSON.stringify(" + CURRENT + ") === JSON.stringify(names)"
WHOLE_ROWS = """
[...document.querySelectorAll(".st-key-frame-places, .st-key-frame-beyond")]
  .every((row) => row.scrollWidth <= row.clientWidth)
"""
SCROLLED = "document.querySelector('[data-testid=stMain]').scrollTo(0, 400)"


@pytest.fixture(scope="module")
def app(tmp_path_factory, forked):
    def two_studies(session) -> None:
        lead = accounts.create_lead(session, "Ada", PASSCODE)
        for title in ("A first study", "A second study", LONG_TITLE):
            plan = lifecycle.StudyPlan(title=title, seed="fixed")
            study = lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(3), lead.pseudonym, lead.id)
            lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)

    with browser.running(tmp_path_factory.mktemp("home"), two_studies, forked) as started:
        yield started


@pytest.fixture(scope="module")
def context(chromium):
    return chromium.new_context()


@pytest.fixture
def stranger(app, context):
    page = browser.afresh(context, app)
    page.set_viewport_size(browser.SIZE)
    return page


@pytest.fixture
def page(app, stranger):
    """The log of the first study, as its lead sees it."""
    with app.reading() as session:
        lead = session.exec(select(Person.id).where(Person.name == "Ada")).one()
    browser.signed_in(stranger.context, app, lead)
    stranger.goto(f"{app.url}/log?study={FIRST}")
    expect(stranger.get_by_role("heading", level=1)).to_have_text("Log")
    return stranger


def is_at(page, title: str, *names: str, study: str = FIRST) -> None:
    """The page with this heading, its links marked, its tab and address naming the study."""
    expect(page.get_by_role("heading", level=1)).to_have_text([title])
    page.wait_for_function(AT, arg=list(names or (title,)))
    name = study.replace("-", " ").capitalize()
    expect(page).to_have_title(f"{title} · {name} · Triptych")
    assert page.url.endswith(f"?study={study}")


def go_to(page, name: str) -> None:
    page.get_by_role("link", name=name, exact=True).last.click()  # of the place before, one may still be there


def test_the_study_survives_sign_in_menu_reload_and_deep_link(app, stranger):
    page = stranger
    page.goto(f"{app.url}/log?study={FIRST}")
    page.get_by_role("tab", name="Lead").click()
    page.get_by_label("Name", exact=True).fill("Ada")
    page.get_by_label("Passcode", exact=True).fill(PASSCODE)
    page.get_by_role("button", name="Sign in").click()
    is_at(page, "Log")
    go_to(page, "Results")
    is_at(page, "Results", "Results", "Systems")
    go_to(page, "Quality")
    is_at(page, "Quality", "Results", "Quality")
    page.reload()
    is_at(page, "Quality", "Results", "Quality")
    page.go_back()
    is_at(page, "Results", "Results", "Systems")
    page.get_by_role("link", name="Items", exact=True).hover()
    go_to(page, "Ratings")
    is_at(page, "Ratings", "Items", "Ratings")
    for former in ("study", "overview", "design"):
        page.goto(f"{app.url}/{former}?study={FIRST}")
        is_at(page, "Setup", "Setup", "Design")


def test_two_studies_in_two_tabs_never_mix(app, page):
    other = page.context.new_page()
    other.goto(f"{app.url}/items?study={SECOND}")
    is_at(other, "Items", "Items", "Second looks", study=SECOND)
    for place in ("People", "Report"):
        go_to(page, place)
        go_to(other, place)
        names = ("People", "Who takes part") if place == "People" else ("Report",)
        is_at(page, place, *names)
        is_at(other, place, *names, study=SECOND)
    page.reload()
    is_at(page, "Report")
    page.goto(f"{app.url}/results")
    expect(page.get_by_role("heading", level=1)).to_have_text(["Studies"])


def test_a_long_title_is_readable_in_full(app, page):
    with app.reading() as session:
        slug = session.exec(select(Study.slug).where(Study.title == LONG_TITLE)).one()
    page.goto(f"{app.url}/log?study={slug}")
    box = page.locator(".st-key-frame-bar [class*=st-key-study-]")
    expect(box).to_have_attribute("title", LONG_TITLE)
    browser.settled(page)
    assert LONG_TITLE in box.aria_snapshot()


def test_the_frame_stays_in_view_and_leaves_nothing_sideways(page):
    for size in (browser.SIZE, {"width": 390, "height": 844}):
        page.set_viewport_size(size)
        go_to(page, "Setup")
        is_at(page, "Setup", "Setup", "Design")
        browser.settled(page)
        page.evaluate(SCROLLED)
        expect(page.get_by_role("navigation", name="A first study")).to_be_in_viewport(ratio=1)
        assert page.evaluate("document.documentElement.scrollWidth") == size["width"]
        assert page.evaluate(WHOLE_ROWS)
        go_to(page, "Log")
        is_at(page, "Log")


def test_a_changed_passcode_keeps_this_browser_signed_in(app, page):
    go_to(page, "Account")
    for label, text in (("Present passcode", PASSCODE), ("New passcode", PASSCODE), ("New passcode again", PASSCODE)):
        page.get_by_label(label, exact=True).fill(text)
    page.get_by_role("button", name="Change the passcode").click()
    browser.settled(page)
    expect(page.get_by_role("heading", level=1)).to_have_text(["Account"])
    expect(page.get_by_label("Present passcode", exact=True)).to_be_empty()


def test_closing_a_study_opens_no_other_box(app, page):
    page.goto(f"{app.url}/setup?study={SECOND}")
    page.get_by_role("button", name="Close", exact=True).click()
    page.get_by_text("I am sure").click()
    page.get_by_role("button", name="Close the study").click()
    expect(page.get_by_text("This study is closed")).to_be_visible()
    browser.settled(page)
    expect(page.get_by_text("The copy's title")).to_have_count(0)
