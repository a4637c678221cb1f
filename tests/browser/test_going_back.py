"""The list of one's items in the workbench: any item opens, and changes in both directions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from helpers import browser
from helpers.browser import expect, radio
from helpers.studies import add_person, join, open_study

pytestmark = pytest.mark.browser
chromium = browser.chromium

SLUG = "going-back"
PEOPLE: dict[str, int] = {}


def fill(session: Any) -> None:
    study, _ = open_study(session, SLUG)
    PEOPLE["Anna"] = join(session, study, add_person(session, "Anna")).person_id


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, forked: Any) -> Iterator[browser.App]:
    with browser.running(tmp_path_factory.mktemp("going-back"), fill, forked) as app:
        yield app


def open_item(page: Any, number: int) -> None:
    page.get_by_role("button", name="My items").click()
    page.get_by_role("button", name=f"Open item {number}", exact=True).click()
    expect(page.locator("[data-tw-progress]")).to_have_text(f"Item {number} of 4")


def test_an_item_is_ignored_and_rated_again_from_the_list(app, chromium):
    page = browser.signed_in(chromium.new_context(viewport=browser.SIZE), app, PEOPLE["Anna"]).new_page()
    browser.open_workbench(page, app, SLUG)
    for _ in range(2):
        browser.answer_all(page)
        browser.submit(page)
    open_item(page, 1)
    expect(page.locator("[data-tw-outcome]")).to_have_text("Rated")
    expect(page.locator("[data-tw-back]")).to_have_count(0)
    page.locator("[data-tw-ignore]").click()
    page.get_by_label("It asks nothing").check()
    page.get_by_role("button", name="Ignore this item").click()
    expect(page.locator("[data-tw-progress]")).to_have_text("Item 3 of 4")

    page.get_by_role("button", name="My items").click()
    rows = page.locator(".tw-items tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.last).to_contain_text("Ignored: It asks nothing")
    expect(rows.last).to_contain_text("today")
    expect(rows.first).to_contain_text("on the screen")
    expect(page.get_by_role("dialog")).to_contain_text("Up to 1 more")
    page.keyboard.press("Escape")
    open_item(page, 1)
    expect(page.locator("[data-tw-outcome]")).to_have_text("Ignored: It asks nothing")
    expect(radio(page, "A:fluency", 1)).to_be_checked()
    radio(page, "A:fluency", 3).click()
    page.locator("[data-tw-submit]").click()
    expect(page.locator("[data-tw-progress]")).to_have_text("Item 3 of 4")
    open_item(page, 1)
    expect(page.locator("[data-tw-outcome]")).to_have_text("Rated")
    expect(radio(page, "A:fluency", 3)).to_be_checked()
    for width, scheme in ((1280, "light"), (390, "dark")):
        page.set_viewport_size({"width": width, "height": 720})
        page.emulate_media(color_scheme=scheme)
        if width == 390:
            page.get_by_role("button", name="Menu").click()
        page.get_by_role("button", name="My items").click()
        box = page.get_by_role("dialog").bounding_box()
        assert box["width"] <= width
        page.keyboard.press("Escape")
    page.context.close()
