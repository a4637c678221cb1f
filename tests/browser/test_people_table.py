"""People in a browser: rows are ticked in the table, reminded, and what is shown can be used."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from helpers import browser
from helpers.ratings import submit

from triptych.people import accounts, invitations
from triptych.storage.models import Person

chromium = browser.chromium
ROW, HALF_A_ROW = 35, 17  # pixels of the table


@pytest.fixture
def people(tmp_path, make_study, forked):
    def before(session) -> None:
        study, lead, (anna,) = make_study(session, annotators=1, access="invited")
        session.get_one(Person, lead.person_id).passcode_hash = "set"
        submit(session, study, anna)
        guests = invitations.read_list(session, study, b"Mika,mika@example.org,expert")
        invitations.invite_all(session, study, guests.guests, lead.pseudonym)
        made.append((study.slug, lead.person_id))

    made: list[tuple[str, int]] = []
    with browser.running(tmp_path, before, forked) as app:
        yield app, *made[0]


@pytest.mark.parametrize("width", [1440, 390])
def test_a_ticked_person_is_reminded_and_written_to(people, chromium, width):
    app, slug, lead = people
    context = chromium.new_context(viewport={"width": width, "height": 900}, timezone_id="Asia/Tokyo")
    page = browser.signed_in(context, app, lead).new_page()
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
        assert accounts.accept_invitation(session, secret).name == "Mika"
    context.close()
