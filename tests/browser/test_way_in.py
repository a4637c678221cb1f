"""From a personal link to the first rating: nothing on the way that teaches nothing, and no more clicks than before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from helpers import browser
from helpers.browser import expect, radio, settled
from helpers.studies import open_study, personal_link

from triptych.storage.models import StudyState
from triptych.study import lifecycle
from triptych.study.settings import Consent, StudySettings, stored

pytestmark = pytest.mark.browser
chromium = browser.chromium

SLUG, LAPTOP = "way-in", {"width": 1280, "height": 720}
LINKS: dict[str, str] = {}
CLICKS = 4  # agree, tick, Start, and the first rating


def fill(session: Any) -> None:
    study, lead = open_study(session, SLUG)
    lifecycle.set_state(session, study, StudyState.paused, lead.pseudonym)
    study.settings = stored(StudySettings(consent=Consent(text="Do you agree?"), instructions="Take your time."))
    lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
    LINKS["Anna"] = personal_link(session, study, "Anna")


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, forked: Any) -> Iterator[browser.App]:
    with browser.running(tmp_path_factory.mktemp("way-in"), fill, forked) as app:
        yield app


def test_a_link_leads_past_the_instructions_to_the_first_rating(app, chromium):
    context = chromium.new_context(viewport=LAPTOP)
    context.add_init_script(
        "addEventListener('pointerdown', () =>"
        " sessionStorage.setItem('clicks', 1 + Number(sessionStorage.getItem('clicks'))), true)"
    )
    page = context.new_page()
    page.goto(f"{app.url}/?join={LINKS['Anna']}")
    page.get_by_role("button", name="I agree").click()
    start = page.get_by_role("button", name="Start", exact=True)
    expect(start).to_be_disabled()
    texts = page.locator(".tw-teach").inner_text()
    assert texts.index("Take your time.") < texts.index("Read the question, then rate each response.")
    assert "up to 4 items" in texts
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight") <= 2 * LAPTOP["height"]
    page.get_by_text("I have read this").click()
    start.click()
    radio(page, "A:fluency", 2).click()
    assert page.evaluate("Number(sessionStorage.getItem('clicks'))") <= CLICKS

    with app.writing() as session:
        study = lifecycle.by_slug(session, SLUG)
        study.settings = {**study.settings, "instructions": "Take even more time."}
    page.goto(f"{app.url}/annotate?study={SLUG}")
    settled(page)
    expect(page.get_by_text("The lead has changed the wording")).to_be_visible()
    expect(page.get_by_text("Take even more time.")).to_be_visible()
    page.get_by_text("I have read this").click()
    page.get_by_role("button", name="Continue", exact=True).click()
    expect(radio(page, "A:fluency", 2)).to_be_checked()
    page.keyboard.press("g")
    expect(page.locator("[data-tw-guidelines]")).to_contain_text("Take even more time.")
    context.close()
