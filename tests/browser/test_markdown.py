"""Markdown on the workbench: exact spans, nothing run or fetched, and the study's way from import to report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from helpers import browser
from helpers.browser import expect, select_text
from helpers.studies import ROOT, SMALL_RUBRIC, add_person, join
from playwright.sync_api import Route
from sqlalchemy import select

from triptych.formats.model import CandidateDraft, ItemDraft
from triptych.formats.texts.markdown import characters, is_formatted
from triptych.storage.models import Assignment, Highlight, Person, Role, StudyState
from triptych.study import lifecycle
from triptych.study.settings import Formats
from triptych.web.assets import files

pytestmark = pytest.mark.browser
chromium = browser.chromium

SITE = "http://triptych.test/"
OWN = ROOT / "tests" / "browser" / "markdown"
RANDOM_TEXTS = 250
MARKED = "Pay **now**: the *rent* &amp; more.\n\n- It is `cheap`\n- It saves $t^2$ time 😀"
PLAIN = "Two lines\nand **no** format."
LINK = "See [the guide](https://lab.test/guide) ![scan](https://lab.test/scan.png) <script>window.hit = 1</script>"


def answer(route: Route) -> None:
    """The page of the tests, and the modules as they are shipped."""
    name = route.request.url.removeprefix(SITE)
    own = OWN / name
    if name in files():
        route.fulfill(body=files()[name], content_type="text/css" if name.endswith("css") else "text/javascript")
    elif name and own.is_file():
        route.fulfill(body=own.read_bytes(), content_type="text/javascript")
    else:
        page = "<!doctype html><body><div id=box style='white-space: pre-wrap'></div></body>"
        route.fulfill(body=page, content_type="text/html; charset=utf-8")


@pytest.fixture(scope="module")
def texts(chromium) -> Iterator[Any]:
    """A page with the modules that draw texts, which records its requests and errors."""
    page = chromium.new_page()
    page.asked, page.errors = [], []
    page.on("request", lambda request: page.asked.append(request.url.removeprefix(SITE)))
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on("dialog", lambda dialog: (page.errors.append("dialog"), dialog.dismiss()))
    page.route("**/*", answer)
    page.goto(SITE)
    page.set_default_timeout(120_000)
    yield page
    page.close()


def test_selections_quote_the_raw_text_and_nothing_is_fetched(texts):
    """Written and random texts with all markup, selected at random and drawn again; hostile ones run nothing."""
    run = "async (count) => (await import('/spans.js')).run(document.querySelector('#box'), count)"
    report = texts.evaluate(run, RANDOM_TEXTS)
    assert report["failures"] == []
    assert (report["texts"], report["random"]) == (58, RANDOM_TEXTS)
    assert report["selections"] > 2000
    assert report["hostile"] >= 50
    foreign = [name for name in texts.asked if name and name not in files() and not (OWN / name).is_file()]
    assert (foreign, texts.errors) == ([], [])


def test_server_and_browser_see_the_same_characters(texts):
    module = "async () => (await import('/spans.js')).visibleCharacters(document.querySelector('#box'))"
    for text in texts.evaluate(module):
        drawn = [tuple(place) for place in text["characters"]]
        if text["name"] == "mathInQuote":  # the signs of a quote inside a formula
            drawn = [place for place in drawn if place in characters(text["raw"])]
        assert drawn == characters(text["raw"]), text["name"]


def test_server_and_browser_leave_the_same_texts_as_written(texts):
    hostile, too_large = texts.evaluate("async () => (await import('/spans.js')).hostileTexts()")
    assert all(is_formatted(text) for text in hostile)
    assert not any(is_formatted(text) for text in too_large)


def made(title: str, formats: Formats, *texts: str) -> Any:
    def make(session, lead, who):
        responses = tuple(CandidateDraft(f"system {n}", text) for n, text in enumerate(texts))
        item = ItemDraft("i1", "What **must** I do?", (), responses, {}, {}, 1)
        plan = lifecycle.StudyPlan(title=title, seed=title, formats=formats)
        study = lifecycle.create_study(session, plan, SMALL_RUBRIC, [item], lead.pseudonym, lead.person_id)
        lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
        join(session, study, who)

    return make


FORMATTED = Formats(context="markdown", responses="markdown")
STUDIES = (made("marked", FORMATTED, MARKED), made("plain", Formats(), PLAIN), made("links", FORMATTED, LINK))


@pytest.fixture(scope="module")
def app(tmp_path_factory, forked):
    def fill(session):
        lead, who = add_person(session, "lead", Role.lead), add_person(session, "ann")
        for make in STUDIES:
            make(session, lead, who)

    with browser.running(tmp_path_factory.mktemp("home"), fill, forked) as app:
        yield app


@pytest.fixture(scope="module")
def context(app, chromium):
    with app.reading() as session:
        (person_id,) = session.scalars(select(Person.id).where(Person.name == "ann"))
    context = browser.signed_in(chromium.new_context(viewport=browser.SIZE), app, person_id)
    yield context
    context.close()


def loaded(page: Any) -> set[str]:
    names = page.evaluate("performance.getEntriesByType('resource').map(({ name }) => name)")
    return {name.rpartition("/")[2] for name in names if "/workbench/markdown/" in name}


@pytest.mark.long
def test_marks_are_stored_as_raw_spans_and_drawn_again(app, context):
    page = context.new_page()
    browser.open_workbench(page, app, "marked")
    box = page.locator('[data-tw-text="A"]')
    assert box.evaluate("e => e.textContent").startswith("Pay now: the rent & more.It is cheap")
    assert "katex.js" in loaded(page)
    expect(page.locator(".tw-context strong")).to_have_text("must")
    page.locator('.tw-tools [data-tw-label="good"]').click()
    select_text(page, "A", 2, 18)  # "y now: the rent " → widened and trimmed
    expect(box.locator("mark")).to_have_count(4)
    shown = box.locator("mark").all_inner_texts()
    assert "".join(shown) == "y now: the rent"
    page.evaluate("""() => {
      const box = document.querySelector('[data-tw-text="A"]'), math = box.querySelector('math');
      const before = math.closest('.md-math').previousSibling;
      document.getSelection().setBaseAndExtent(before, before.length - 3, math, math.childNodes.length);
    }""")
    expect(box.locator("mark math")).to_have_count(1)
    fonts = box.locator("math").evaluate("(math) => getComputedStyle(math).fontFamily")
    assert "Cambria Math" in fonts, "a generic font may have no signs for roots"
    browser.answer_all(page)
    browser.saved(page).filter(has_text="Saved").wait_for()
    page.reload()
    page.wait_for_selector('[data-tw-text="A"] mark math')
    assert box.locator("mark").all_inner_texts()[:4] == shown
    with page.expect_response("**/desk/act"):
        page.locator("[data-tw-submit]").click()
    page.locator(".tw").wait_for(state="detached")
    with app.reading() as session:
        marks = session.scalars(select(Highlight).order_by(Highlight.start)).all()
        assert [mark.quote for mark in marks] == ["y **now**: the *rent", "es $t^2$"]
        assert all(MARKED[mark.start : mark.end] == mark.quote for mark in marks)
        views = select(Assignment.text_view).where(Assignment.submitted_at.is_not(None))
        assert session.scalars(views).all() == ["formatted"]
    page.close()


def test_a_plain_study_keeps_its_text_and_loads_no_parser(app, context):
    page = context.new_page()
    browser.open_workbench(page, app, "plain")
    box = page.locator('[data-tw-text="A"]')
    assert box.evaluate("e => [...e.childNodes].map((node) => [node.nodeType, node.data])") == [[3, PLAIN]]
    assert loaded(page) == set()
    page.close()


@pytest.mark.long
def test_links_and_images_are_text_with_their_address(app, context):
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    browser.open_workbench(page, app, "links")
    box = page.locator('[data-tw-text="A"]')
    assert box.locator("a, img, script, [href], [src]").count() == 0
    address = "e => getComputedStyle(e, '::after').content"
    assert "https://lab.test/guide" in box.locator(".md-link").evaluate(address)
    assert "https://lab.test/scan.png" in box.locator(".md-image").evaluate(address)
    assert "<script>" in box.inner_text()
    assert not [url for url in asked if "lab.test" in url or url.endswith("katex.js")]
    assert page.evaluate("window.hit") is None
    page.close()
