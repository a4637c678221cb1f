"""Second looks in a browser: keys walk the queue, one press decides, a click on a rating opens its item."""

from __future__ import annotations

import pytest
from helpers import browser
from helpers.ratings import submit
from helpers.studies import full_answers

from triptych.results import adjudication
from triptych.storage.models import Person, Study

chromium = browser.chromium


@pytest.fixture
def looks(tmp_path, make_study, forked):
    """(app, slug, id of the lead): two items, both rated alike by two annotators with a note."""

    def before(session) -> None:
        study, lead, people = make_study(session, items=2)
        session.get_one(Person, lead.person_id).passcode_hash = "set"
        for who in people:
            for _ in range(2):
                submit(session, study, who, full_answers(fluency=2) | {"note": "read this"})
        made.append((study.slug, study.id, lead.person_id))

    made: list[tuple[str, int, int]] = []
    with browser.running(tmp_path, before, forked) as app:
        yield app, *made[0]


def test_a_click_on_a_rating_marks_it_in_its_item(looks, chromium):
    app, slug, _, lead = looks
    context = chromium.new_context(viewport=browser.SIZE)
    page = browser.signed_in(context, app, lead).new_page()
    page.goto(f"{app.url}/ratings?study={slug}")
    grid = page.frame_locator("iframe").first
    row = grid.locator(".ag-center-cols-container .ag-row").first
    item = row.locator("[col-id=Item]").inner_text()
    row.locator("[col-id=Value]").click()
    page.wait_for_url("**/items?**")
    browser.expect(page.get_by_role("heading", name=item, exact=True)).to_be_visible()
    browser.expect(page.get_by_text("▶")).to_have_count(1)
    context.close()


def test_keys_walk_the_queue_and_accept(looks, chromium):
    app, slug, study_id, lead = looks
    context = chromium.new_context(viewport=browser.SIZE)
    page = browser.signed_in(context, app, lead).new_page()
    page.goto(f"{app.url}/items?study={slug}")
    steps = ((None, "item-1", "1 of 2"), ("j", "item-2", "2 of 2"), ("k", "item-1", "1 of 2"))
    for key, item, place in (*steps, ("Control+Enter", "item-2", "1 of 1")):
        if key:
            page.keyboard.press(key)
        browser.expect(page.get_by_role("heading", name=item, exact=True)).to_be_visible()
        browser.expect(page.get_by_text(place, exact=True)).to_be_visible()
        browser.settled(page)
    browser.expect(page.get_by_text("item-1 are recorded")).to_be_visible()
    with app.reading() as session:
        finals = adjudication.final_values(session, session.get_one(Study, study_id))
    assert [(item, len(final.values)) for item, final in finals.items()] == [("item-1", 6)]
    context.close()
