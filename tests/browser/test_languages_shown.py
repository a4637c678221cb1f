"""An annotator whose browser asks for Arabic: pages from right to left, the same keys, the language kept and stored."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from helpers import browser
from helpers.browser import expect
from helpers.studies import add_person, join, open_study
from sqlalchemy import select

from triptych.storage.models import Assignment, Person

pytestmark = pytest.mark.browser
chromium = browser.chromium

SLUG = "languages-shown"
# with this code, whose first half has no letter
LEFT_TO_RIGHT = """
(code) => {
  const text = document.createTextNode("1234-ABCD");
  code.replaceChildren(text);
  const place = (at) => {
    const range = document.createRange();
    range.setStart(text, at);
    range.setEnd(text, at + 1);
    return range.getBoundingClientRect().left;
  };
  return place(0) < place(8);
}
"""
PEOPLE: dict[str, int] = {}


def fill(session: Any) -> None:
    study, _ = open_study(session, SLUG)
    for name in ("Amal", "Badr"):
        PEOPLE[name] = join(session, study, add_person(session, name)).person_id


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, forked: Any) -> Iterator[browser.App]:
    with browser.running(tmp_path_factory.mktemp(SLUG), fill, forked) as app:
        yield app


@pytest.fixture(scope="module")
def context(chromium: Any) -> Any:
    return chromium.new_context(viewport=browser.SIZE, locale="ar-EG")


@pytest.fixture
def page(app: browser.App, context: Any) -> Any:
    """A stranger's, whose browser asks for Arabic."""
    return browser.afresh(context, app)


@pytest.mark.long
def test_arabic_is_mirrored_answered_by_keys_and_stored(app, page):
    browser.signed_in(page.context, app, PEOPLE["Amal"])
    browser.open_workbench(page, app, SLUG)
    expect(page.locator("[data-tw-progress]")).to_have_text("العنصر 1 من 4")
    assert page.evaluate("[document.documentElement.lang, document.documentElement.dir]") == ["ar", "rtl"]
    places = [page.locator(f'.tw-pane[data-slot="{letter}"]').bounding_box()["x"] for letter in "ABC"]
    assert places == sorted(places, reverse=True), "the first response is on the right"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    english = page.locator(".tw [lang=en]").all_inner_texts()
    assert {"Fluency", "How well the response reads.", "Poor", "Accept"} <= set(english), "the rubric is not translated"
    assert not [text for text in english if re.search("[\u0600-\u06ff]", text)]
    assert page.locator("[data-tw-submit]").evaluate("(button) => button.closest('[lang]').lang") == "ar"

    page.locator('[data-tw-question="A:fluency"] input').first.focus()
    page.keyboard.press("2")
    expect(browser.radio(page, "A:fluency", 2)).to_be_checked()
    browser.answer_all(page)
    browser.submit(page)
    with app.reading() as session:
        submitted = select(Assignment.language).where(Assignment.submitted_at.is_not(None))
        assert session.scalars(submitted).all() == ["ar"]

    page.goto(app.url)
    browser.choose(page.get_by_role("combobox"), "Deutsch")
    expect(page.get_by_role("heading", name="Meine Arbeit")).to_be_visible()
    assert page.evaluate("document.documentElement.dir") == "ltr"
    with app.reading() as session:
        assert session.get_one(Person, PEOPLE["Amal"]).language == "de"
    browser.open_workbench(page, app, SLUG)
    expect(page.locator("[data-tw-submit]")).to_have_text("Abschicken")


@pytest.mark.long
def test_a_return_code_is_read_from_the_left_in_arabic(app, page):
    page.goto(f"{app.url}/?study={SLUG}")
    page.get_by_role("textbox").first.fill("Dalia")
    page.get_by_role("button", name="ابدأ").click()
    code = page.get_by_test_id("stCode").locator("code")
    expect(code).to_have_text(re.compile("^[0-9A-Z]{4}-[0-9A-Z]{4}$"))
    assert code.evaluate(LEFT_TO_RIGHT)


@pytest.mark.long
def test_a_date_is_read_from_the_left_in_arabic(app, page):
    browser.signed_in(page.context, app, PEOPLE["Badr"])
    page.goto(f"{app.url}/my_data")
    joined = page.get_by_test_id("stCaptionContainer").locator("p").filter(has_text="UTC").first
    assert "\u2066" in joined.inner_text() and joined.inner_text().endswith("UTC\u2069")


@pytest.mark.long
def test_my_work_in_arabic_suits_a_finger_and_the_window(app, chromium):
    size = {"width": 390, "height": 844}
    phone = chromium.new_context(viewport=size, locale="ar-EG", has_touch=True, is_mobile=True)
    page = browser.signed_in(phone, app, PEOPLE["Badr"]).new_page()
    page.goto(app.url)
    browser.settled(page)
    buttons = page.locator('[data-testid="stButton"] button, .triptych-account-out')
    assert min(buttons.evaluate_all("all => all.map((button) => button.offsetHeight)")) >= 44
    logo = page.locator('[data-testid="stHeaderLogo"]:visible').bounding_box()
    menu = page.locator('[data-testid="stExpandSidebarButton"]').bounding_box()
    assert menu["x"] + menu["width"] <= logo["x"] < logo["x"] + logo["width"] < size["width"]
    phone.close()
