"""Second looks in a browser: keys walk the queue, one press decides, a click on a rating opens its item."""

from __future__ import annotations

import pytest
from helpers import browser
from helpers.ratings import resubmit, submit
from helpers.studies import full_answers
from sqlalchemy import select

from triptych.results import adjudication
from triptych.storage.models import Assignment, Item, Person, Study
from triptych.study.persons import Who

pytestmark = pytest.mark.long

chromium = browser.chromium


@pytest.fixture(scope="module")
def app(tmp_path_factory, forked):
    with browser.running(tmp_path_factory.mktemp("home"), start=forked) as app:
        yield app


@pytest.fixture(scope="module")
def context(chromium):
    return chromium.new_context(viewport=browser.SIZE)


@pytest.fixture
def looks(app, context, make_study):
    """(page of the lead, slug, id of the study): two items, both rated alike by two annotators with a note."""
    page = browser.afresh(context, app)
    with app.writing() as session:
        study, lead, people = make_study(session, items=2)
        session.get_one(Person, lead.person_id).passcode_hash = "set"
        for who in people:
            for _ in range(2):
                submit(session, study, who, full_answers(fluency=2) | {"note": "read this"})
        made = study.slug, study.id
    browser.signed_in(context, app, lead.person_id)
    return page, *made


def test_a_click_on_a_rating_marks_it_in_its_item(app, looks):
    page, slug, _ = looks
    page.goto(f"{app.url}/ratings?study={slug}")
    grid = page.frame_locator("iframe").first
    row = grid.locator(".ag-center-cols-container .ag-row").first
    item = row.locator("[col-id=Item]").inner_text()
    row.locator("[col-id=Value]").click()
    page.wait_for_url("**/items?**")
    browser.expect(page.get_by_role("heading", name=item, exact=True)).to_be_visible()
    browser.expect(page.get_by_text("▶")).to_have_count(1)


def test_keys_walk_the_queue_and_accept(app, looks):
    page, slug, study_id = looks
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


def test_a_reason_being_typed_survives_a_changed_answer(app, looks):
    page, slug, study_id = looks
    page.goto(f"{app.url}/items?study={slug}&look=item-1")
    reason = page.get_by_role("textbox", name="Why")
    reason.fill("read twice")
    with app.writing() as session:
        of_item = select(Assignment).join(Item, Item.id == Assignment.item_id).where(Item.external_id == "item-1")
        work = session.scalars(of_item.where(Assignment.study_id == study_id)).first()
        person = session.get_one(Person, work.person_id)
        who = Who(person.id, person.pseudonym, person.role, person.name, 0)
        resubmit(session, who, work, full_answers(fluency=3))
    page.get_by_text("All 2", exact=True).click()

    browser.expect(page.get_by_text("Leave the empty ones without a final value")).to_be_visible()
    browser.expect(reason).to_have_value("read twice")
