"""The first screen of the results in a browser: it fits a laptop, and a phone shows it without sideways scrolling."""

from __future__ import annotations

import pytest
from helpers import browser
from helpers.browser import chromium, expect  # noqa: F401  (chromium is a fixture)
from helpers.frames import likert_rubric
from helpers.ratings import assigned, resubmit
from helpers.studies import add_person, join

from triptych import clock
from triptych.formats.model import CandidateDraft, ItemDraft
from triptych.people import accounts
from triptych.storage.models import StudyState
from triptych.study import lifecycle

pytestmark = [pytest.mark.browser, pytest.mark.long]
LETTERS = "ABCDEF"
STUDIES = {"two-systems": 2, "five-systems": 5, "twelve-systems": 12}
PHONE = {"width": 390, "height": 844}
CUT = """
() => [...document.querySelectorAll('.st-key-cards h3')].filter((heading) => {
  const next = heading.closest('.stElementContainer').nextElementSibling.getBoundingClientRect();
  const words = document.createRange();
  words.selectNodeContents(heading);
  return words.getBoundingClientRect().bottom > next.top + 2;
}).length
"""


def shown(names: list[str], item: int) -> list[str]:
    """The systems of an item: all, or every second one where they are too many to be compared at once."""
    return names if len(names) <= len(LETTERS) else names[item % 2 :: 2]


def study_of(session, lead, title: str, systems: int) -> None:
    """Five people rate four items under three criteria; at most six systems meet on an item."""
    names = [f"a-model-{n:02}-with-quite-a-long-name" for n in range(systems)]
    items = [
        ItemDraft(
            external_id=f"item-{n}",
            context_text=f"Question {n}?",
            context_turns=(),
            candidates=tuple(
                CandidateDraft(name, f"Answer {n} {name}", None)
                for name in (names[n % 2 :: 2] if systems > 6 else names)
            ),
            meta={},
            extra_texts={},
            row=n,
        )
        for n in range(1, 5)
    ]
    plan = lifecycle.StudyPlan(title=title, seed="fixed", raters_per_item=5)
    study = lifecycle.create_study(session, plan, likert_rubric(3), items, lead.pseudonym, lead.id)
    lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
    study.unblinded_at = clock.now()
    for person in range(5):
        who = join(session, study, add_person(session, f"{title} {person}"))
        for turn in range(2):
            work = assigned(session, study, who)
            letters = LETTERS[: min(systems, 6)]
            values = {letter: 1 + (place * 2 + person + turn) % 7 for place, letter in enumerate(letters)}
            ratings = {letter: dict.fromkeys(("c1", "c2", "c3"), value) for letter, value in values.items()}
            resubmit(session, who, work, {"ratings": ratings})


@pytest.fixture(scope="module")
def app(tmp_path_factory, forked):
    leads = []

    def studies(session) -> None:
        lead = accounts.create_lead(session, "Ada", "correct horse battery")
        leads.append(lead.id)
        for title, systems in STUDIES.items():
            study_of(session, lead, title.replace("-", " ").capitalize(), systems)

    with browser.running(tmp_path_factory.mktemp("home"), studies, forked) as started:
        yield started, leads[0]


@pytest.fixture(scope="module")
def context(chromium):
    return chromium.new_context()


@pytest.mark.parametrize("slug", STUDIES)
@pytest.mark.parametrize("size", [browser.SIZE, PHONE], ids=["laptop", "phone"])
def test_the_first_screen_fits(app, context, slug, size):
    server, lead = app
    page = browser.afresh(context, server)
    page.set_viewport_size(size)
    browser.signed_in(context, server, lead)
    page.goto(f"{server.url}/results?study={slug}")
    expect(page.get_by_role("heading", name="What to do next")).to_be_visible()
    expect(page.locator(".st-key-first-screen .js-plotly-plot")).to_be_visible()
    browser.settled(page)
    for heading in ("Can it be trusted?", "Progress"):
        expect(page.get_by_role("heading", name=heading)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == size["width"]
    assert page.evaluate(CUT) == 0
    if size is browser.SIZE:
        box = page.locator(".st-key-first-screen").bounding_box()
        assert box["y"] + box["height"] <= size["height"]


def test_a_link_works_at_once_while_data_is_open(app, context):
    """A popover that asks for a run when it closes would draw the same page again instead."""
    server, lead = app
    page = browser.afresh(context, server)
    page.set_viewport_size(browser.SIZE)
    browser.signed_in(context, server, lead)
    page.goto(f"{server.url}/results?study=two-systems")
    browser.settled(page)
    page.get_by_role("button", name="Data").click()
    expect(page.get_by_test_id("stDataFrame")).to_be_visible()
    browser.settled(page)
    page.get_by_role("link", name="Items", exact=True).click()
    expect(page.get_by_role("heading", name="Items", level=1)).to_be_visible()
