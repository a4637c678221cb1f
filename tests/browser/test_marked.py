"""Highlights over their text, drawn in a real browser: the right characters, and never any markup."""

from __future__ import annotations

import pytest
from helpers import browser
from playwright.sync_api import Route

from components.results.marked import STYLE, drawn
from triptych.results.frame.highlights import HighlightedCandidate, HighlightedItem, Passage, Span
from triptych.rubric.model import HighlightLabel
from triptych.web.assets import files

pytestmark = pytest.mark.browser
chromium = browser.chromium

LABELS = (HighlightLabel(key="good", title="Good"), HighlightLabel(key="bad", title="<u>Bad</u>"))
SITE = "http://triptych.test/"
DRAW = """async (data) => {
  window.marked ??= await import('/texts/marked.js');
  window.marked.default({ parentElement: document.body, data });
}"""


def answer(route: Route) -> None:
    """The page, and the modules as they are shipped."""
    name = f"workbench/{route.request.url.removeprefix(SITE)}"
    if name in files():
        route.fulfill(body=files()[name], content_type="text/javascript")
    else:
        route.fulfill(body=f"<style>{STYLE}</style><body></body>", content_type="text/html; charset=utf-8")


@pytest.fixture
def draw(chromium):
    """draw(text, spans) → the page with the text under System 1 and a hostile context above it."""
    page = chromium.new_page()
    page.route("**/*", answer)
    page.goto(SITE)

    def drawing(text: str, *spans: Span, speaker: str = ""):
        candidate = HighlightedCandidate("System 1", (Passage(speaker, text, spans),))
        context = (Passage("<i>Guest</i>", "<img src=x onerror='document.title=1'>"),)
        item = HighlightedItem("item", context, (candidate,), LABELS, 0)
        page.evaluate(DRAW, drawn(item))
        return page

    yield drawing
    page.close()


def span(start: int, end: int, label: str = "good", who: str = "A-1", comment: str = "") -> Span:
    return Span(start, end, label, who, comment)


def marks(page) -> list[str]:
    return page.locator("mark").all_inner_texts()


@pytest.mark.long
def test_offsets_count_characters_even_after_emoji_and_accents(draw):
    text = "Dear 😀 guest 👩‍👩‍👧, caf\u0065\u0301 הוטל at six"
    start = text.index("הוטל")
    page = draw(text, span(start, start + 4), span(5, 6))
    assert marks(page) == ["😀", "הוטל"]
    assert page.locator(".tm-columns .tm-text").evaluate("e => e.textContent") == text


def test_overlapping_highlights_are_cut_and_name_all_annotators(draw):
    page = draw("one two three four", span(0, 7), span(4, 13, "bad", "A-2", "too <b>long</b>"))
    assert marks(page) == ["one ", "two", " three"]
    both = page.locator("mark").nth(1)
    assert both.get_attribute("title") == "A-1: Good\nA-2: <u>Bad</u> - too <b>long</b>"
    assert both.evaluate("e => e.style.boxShadow.split('rgb').length - 1") == 2


def test_texts_names_and_labels_never_become_markup(draw):
    page = draw("<script>document.title = 1</script>", span(0, 8), speaker="<b>me</b>")
    assert page.locator(".tm script, .tm img, .tm b, .tm i, .tm u").count() == 0
    assert page.title() == ""
    assert "<script>" in page.locator(".tm-columns").inner_text()


def test_another_item_replaces_the_first_one(draw):
    draw("first text", span(0, 5))
    page = draw("second text")
    assert marks(page) == []
    assert page.locator(".tm-columns .tm-text").all_inner_texts() == ["second text"]
