"""The server is away: a quiet line says so, and nothing takes keys, clicks or the focus from the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from helpers import browser
from helpers.browser import expect, radio, saved, settled
from helpers.studies import SYSTEMS, add_person, join, open_study
from sqlmodel import select

from triptych import clock
from triptych.storage.models import Assignment, Login, Rating, Submission

pytestmark = [pytest.mark.browser, pytest.mark.long]
chromium = browser.chromium

SLUG = "offline"
HOST_CONFIG, HEALTH = "/_stcore/host-config", "/_stcore/health"
PEOPLE: dict[str, int] = {}
INERT = "document.querySelector('.tw')?.closest('[inert]') === null"
# how many submissions wait on this computer
HELD = """
(count) => Object.entries(localStorage).filter(([key, entry]) => key.startsWith('triptych:')
  && JSON.parse(entry).action).length === count
"""
FOCUS = "document.activeElement?.outerHTML"


def fill(session: Any) -> None:
    study, lead = open_study(session, SLUG)
    PEOPLE["lead"] = lead.person_id
    for name in ("Anna", "Ben", "Kim"):
        PEOPLE[name] = join(session, study, add_person(session, name)).person_id


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, forked: Any) -> Iterator[browser.App]:
    with browser.running(tmp_path_factory.mktemp("offline"), fill, forked) as app:
        yield app


@pytest.fixture(scope="module")
def context(chromium: Any) -> Any:
    return chromium.new_context(viewport=browser.SIZE)


def page_of(app: browser.App, context: Any, name: str) -> Any:
    page = browser.afresh(context, app)
    browser.signed_in(context, app, PEOPLE[name])
    return page


def failed_pings(page: Any) -> list[str]:
    """Grows by each request of this page by which Streamlit asks whether the server is back."""
    urls: list[str] = []
    page.on("requestfailed", lambda request: urls.append(request.url) if request.url.endswith(HEALTH) else None)
    return urls


def test_no_dialog_comes_where_streamlits_own_would(app, context, chromium):
    """The second page is the control: told what Streamlit itself says, it shows the dialog, else the hook has moved."""
    page = page_of(app, context, "Anna")
    control = page_of(app, chromium.new_context(viewport=browser.SIZE), "Ben")
    config = page.request.get(f"{app.url}{HOST_CONFIG}").json()
    assert config["blockErrorDialogs"] is True
    control.route(f"**{HOST_CONFIG}", lambda route: route.fulfill(json={**config, "blockErrorDialogs": False}))
    for each in (page, control):
        browser.open_workbench(each, app, SLUG)
        settled(each)
    token = browser.token(page)
    radio(page, "A:fluency", 1).click()
    focus = page.evaluate(FOCUS)
    pings, pings_of_control = failed_pings(page), failed_pings(control)

    app.kill()
    expect(control.get_by_role("dialog")).to_be_visible()
    pings_until_dialog = len(pings_of_control)
    while len(pings) <= pings_until_dialog:
        page.wait_for_event("requestfailed")

    assert page.get_by_role("dialog").count() == 0
    assert page.evaluate(INERT)
    assert page.evaluate(FOCUS) == focus
    page.keyboard.press("2")
    expect(radio(page, "A:fluency", 2)).to_be_checked()
    radio(page, "B:fluency", 3).click()
    expect(radio(page, "B:fluency", 3)).to_be_checked()
    expect(saved(page)).to_have_text("Working offline, 2 answers kept here")
    expect(page.locator(".triptych-line")).to_be_hidden()

    browser.answer_all(page)
    page.locator("[data-tw-submit]").click()
    expect(saved(page)).to_have_text("Working offline, this item will be submitted by itself")

    app.start_again()
    expect(page.locator(".tw")).not_to_have_attribute("data-token", token)
    expect(saved(page)).to_have_text("Saved ✓")
    with app.reading() as session:
        assignment = session.exec(select(Assignment).where(Assignment.token == token)).one()
        ratings = session.exec(select(Rating).where(Rating.assignment_id == assignment.id)).all()
        submissions = session.exec(select(Submission).where(Submission.assignment_id == assignment.id)).all()
        assert (len(ratings), len(submissions)) == (6, 1)
    control.context.close()


def test_what_was_submitted_offline_survives_its_tab(app, context):
    """Of the item on the desk and of an earlier one, to which the page does not return."""
    page = page_of(app, context, "Kim")
    first = browser.open_workbench(page, app, SLUG)
    browser.answer_all(page)
    browser.submit(page)

    page.locator("[data-tw-back]").click()
    expect(page.locator(".tw")).to_have_attribute("data-token", first)
    page.context.set_offline(True)
    radio(page, "A:fluency", 2).click()
    page.locator("[data-tw-submit]").click()
    page.wait_for_function(HELD, arg=1)
    page = in_a_new_tab(page)
    second = browser.open_workbench(page, app, SLUG)
    page.wait_for_function(HELD, arg=0)
    with app.reading() as session:
        again = session.exec(select(Assignment).where(Assignment.token == first)).one()
        assert (again.version, again.draft["ratings"]["A"]["fluency"]) == (3, 2)

    page.context.set_offline(True)
    browser.answer_all(page)
    page.locator("[data-tw-submit]").click()
    page.wait_for_function(HELD, arg=1)
    stored = page.evaluate("JSON.stringify(localStorage)")
    assert not [system for system in SYSTEMS if system in stored]
    page = in_a_new_tab(page)
    page.goto(f"{app.url}/annotate?study={SLUG}")
    expect(page.locator(".tw")).not_to_have_attribute("data-token", re.compile(f"^({first}|{second})$"))
    page.wait_for_function(HELD, arg=0)
    with app.reading() as session:
        assignment = session.exec(select(Assignment).where(Assignment.token == second)).one()
        ratings = session.exec(select(Rating).where(Rating.assignment_id == assignment.id)).all()
        submissions = session.exec(select(Submission).where(Submission.assignment_id == assignment.id)).all()
        assert (len(ratings), len(submissions)) == (6, 1)


def in_a_new_tab(page: Any) -> Any:
    """The tab is closed while it is offline; another one opens when the line is back."""
    context = page.context
    page.close(run_before_unload=False)
    context.set_offline(False)
    return context.new_page()


def test_a_leads_page_says_it_in_a_line(app, context):
    page = page_of(app, context, "lead")
    page.goto(f"{app.url}/studies")
    settled(page)
    line = page.locator(".triptych-line")
    expect(line).to_be_hidden()
    app.kill()
    expect(line).to_have_text(
        "The server cannot be reached. This page connects again by itself; until then its buttons do nothing."
    )
    expect(line).to_be_visible()
    app.start_again()
    expect(line).to_be_hidden()
    settled(page)


def test_a_restart_prolongs_no_login_of_an_absent_lead(app, context):
    page = page_of(app, context, "lead")
    page.goto(f"{app.url}/studies")
    settled(page)
    soon = clock.now() + timedelta(hours=1)
    with app.writing() as session:
        for login in session.exec(select(Login).where(Login.person_id == PEOPLE["lead"])):
            login.expires_at = soon
    app.kill()
    expect(page.locator(".triptych-line")).to_be_visible()
    app.start_again()
    expect(page.locator(".triptych-line")).to_be_hidden()
    settled(page)
    with app.reading() as session:
        ends = session.exec(select(Login.expires_at).where(Login.person_id == PEOPLE["lead"])).all()
    assert {*ends} == {soon}


def test_other_dialogs_of_streamlit_become_the_line(app, context):
    page = page_of(app, context, "lead")
    page.goto(f"{app.url}/studies")
    settled(page)
    page.evaluate("postMessage({ type: 'CLIENT_ERROR_DIALOG', error: 'Bad message format' })")
    expect(page.locator(".triptych-line")).to_contain_text("did not arrive whole")


def test_an_address_without_a_page_gets_a_sentence(app, context):
    page = page_of(app, context, "lead")
    page.goto(f"{app.url}/no_such_page")
    sentence = page.get_by_text("No page has this address")
    expect(sentence).to_be_visible()
    assert page.get_by_role("dialog").count() == 0
    page.get_by_role("link", name="New study").click()
    expect(sentence).to_have_count(0)
    for address in ("/studies", "/", ""):  # the browser reports the last two without a path
        page.goto(app.url + address)
        settled(page)
        expect(sentence).to_have_count(0)
