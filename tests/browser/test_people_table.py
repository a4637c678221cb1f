"""People in a browser: rows are ticked in the table, reminded, and what is shown can be used."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from helpers import browser
from helpers.ratings import submit
from helpers.studies import sure

from triptych.people import accounts, invitations, links, roster
from triptych.storage.models import Person
from triptych.study import lifecycle

pytestmark = pytest.mark.long

chromium = browser.chromium
ROW, HALF_A_ROW = 35, 17  # pixels of the table


@pytest.fixture(scope="module")
def app(tmp_path_factory, forked):
    with browser.running(tmp_path_factory.mktemp("home"), start=forked) as app:
        yield app


@pytest.fixture(scope="module")
def context(chromium):
    return chromium.new_context(timezone_id="Asia/Tokyo")


@pytest.fixture
def people(app, context, make_study):
    """(page of the lead, slug): an annotator with an annotation, and an invited one."""
    page = browser.afresh(context, app)
    with app.writing() as session:
        study, lead, (anna,) = make_study(session, annotators=1, access="invited")
        session.get_one(Person, lead.person_id).passcode_hash = "set"
        submit(session, study, anna)
        guests = invitations.read_list(session, study, b"Mika,mika@example.org,expert")
        invitations.invite_all(session, study, guests.guests, lead.pseudonym)
        slug = study.slug
    browser.signed_in(context, app, lead.person_id)
    return page, slug


@pytest.mark.parametrize("width", [1440, 390])
def test_a_ticked_person_is_reminded_and_written_to(app, people, width):
    page, slug = people
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{app.url}/people?study={slug}")
    browser.settled(page)
    browser.expect(page.get_by_text("Times are in Asia/Tokyo")).to_be_visible()
    table = page.get_by_test_id("stDataFrame").first
    table.scroll_into_view_if_needed()
    table.click(position={"x": HALF_A_ROW, "y": 2 * ROW + HALF_A_ROW})
    browser.expect(page.get_by_text("1 person selected")).to_be_visible()
    page.get_by_role("button", name="Remind").click()
    link = page.get_by_test_id("stCode").first
    browser.expect(link).to_contain_text("?join=")
    browser.expect(link).to_be_in_viewport()
    mailto = page.locator("a[href^='mailto:mika@example.org']").first.get_attribute("href")
    secret = link.inner_text().strip().partition("?join=")[2]
    assert f"?join={secret}" in unquote(mailto)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    with app.writing() as session:
        assert links.accept_invitation(session, secret).name == "Mika"


def test_a_tick_for_one_lead_is_for_no_other(app, people):
    page, slug = people
    page.set_viewport_size(browser.SIZE)
    with app.writing() as session:
        study = lifecycle.by_slug(session, slug)
        others = []
        for name in ("Cyd", "Dan"):
            other = accounts.create_lead(session, name, "correct horse battery")
            roster.add_lead(session, study, name, other.pseudonym)
            others.append(other.pseudonym)
    page.goto(f"{app.url}/people?study={slug}")
    page.get_by_role("button", name="Remove a lead").click()
    for pseudonym in others:
        browser.choose(page.get_by_role("combobox", name="Lead"), pseudonym)
        browser.expect(page.get_by_text(f"{pseudonym} leaves")).to_be_visible()
        sure_box = page.get_by_label("I am sure")
        browser.expect(sure_box).to_have_count(1)  # the box of the other lead goes a moment later
        browser.expect(sure_box).not_to_be_checked()
        page.get_by_text("I am sure").click()
        browser.expect(sure_box).to_be_checked()
    with app.writing() as session:
        roster.remove_lead(session, lifecycle.by_slug(session, slug), others[-1], sure("L"))
    page.get_by_role("button", name="Remove this lead").click()

    browser.expect(page.get_by_text("Your last click did nothing")).to_be_visible()
    browser.expect(page.get_by_role("button", name="Remove this lead")).to_have_count(0)
    with app.reading() as session:
        leads = [m.pseudonym for m in roster.members_of(session, lifecycle.by_slug(session, slug)) if m.role == "lead"]
    assert len(leads) == 2 and others[0] in leads
