"""Text typed into *Setup* is stored once, by the tab in which it is typed, and never dropped without a choice."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from helpers import browser
from helpers.browser import expect
from helpers.studies import SMALL_RUBRIC, draft_items

from triptych.people import accounts
from triptych.study import lifecycle, saved_setting
from triptych.web.session import stored_name

pytestmark = [pytest.mark.browser, pytest.mark.long]
chromium = browser.chromium

SECTION = "section=Before+the+first+item"
CONSENT = "consent.text"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, forked: Any) -> Iterator[browser.App]:
    with browser.running(tmp_path_factory.mktemp("settings"), start=forked) as app:
        yield app


@pytest.fixture(scope="module")
def context(chromium: Any) -> Any:
    return chromium.new_context(viewport=browser.SIZE)


@pytest.fixture
def draft(app: browser.App, context: Any, request: pytest.FixtureRequest) -> tuple[Any, str, str]:
    """(the browser of a lead, the address of the texts of their draft, the lead's pseudonym and the draft's name)."""
    browser.afresh(context, app)
    with app.writing() as session:
        lead = accounts.create_lead(session, request.node.name, "a passcode of twelve letters")
        plan = lifecycle.StudyPlan(title=request.node.name)
        study = lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(2), lead.pseudonym, lead.id)
        names, person = f"{lead.pseudonym}:{study.slug}", lead.id
    browser.signed_in(context, app, person)
    return context, f"{app.url}/setup?study={names.partition(':')[2]}&{SECTION}", names


def opened(context: Any, address: str) -> tuple[Any, Any]:
    """(a tab, its field of the consent text)"""
    tab = context.new_page()
    tab.goto(address)
    field = tab.get_by_label("Consent", exact=True)
    expect(field).to_be_visible()
    browser.settled(tab)
    return tab, field


def stored(app: browser.App, names: str) -> Any:
    with app.reading() as session:
        return saved_setting.value_of(lifecycle.by_slug(session, names.partition(":")[2]), CONSENT)


def test_a_second_tab_stores_nothing_half_typed(app, draft):
    context, address, names = draft
    opened(context, address)
    tab, field = opened(context, address)

    field.press_sequentially("I agree to take part in it.", delay=120)

    expect(tab.locator(".triptych-saved")).to_have_text(re.compile("^Saved"))
    expect(tab.get_by_text("changed this")).to_have_count(0)
    assert stored(app, names) == "I agree to take part in it."


def test_an_undecided_text_is_offered_by_the_next_tab(app, draft):
    context, address, names = draft
    with app.writing() as session:
        study = lifecycle.by_slug(session, names.partition(":")[2])
        saved_setting.write(session, study, CONSENT, "of the other lead", "", names.partition(":")[0])
    tab, _ = opened(context, address)
    entry = {"text": "of this lead", "seen": "", "sent": [], "session": "of a closed tab", "at": 0}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRIPTYCH_SECRET", browser.SECRET)
        name = stored_name(*names.split(":"))
    tab.evaluate("(item) => localStorage.setItem(...item)", [f"triptych-setup:{name}", json.dumps({CONSENT: entry})])
    for _ in range(2):
        expect(tab.get_by_text("changed this")).to_be_visible()
        expect(tab.get_by_label("Consent", exact=True)).to_have_value("of this lead")
        tab.close()
        tab, _ = opened(context, address)
    tab.get_by_role("button", name="Save my version").click()
    expect(tab.locator(".triptych-saved")).to_have_text(re.compile("^Saved"))
    assert stored(app, names) == "of this lead"


def test_what_earlier_users_of_the_browser_planted_stays_unread(app, draft):
    """Pseudonym and short name are no secret: a text under them was stored as the lead's."""
    context, address, names = draft
    tab, _ = opened(context, address)
    planted = json.dumps({CONSENT: {"text": "planted", "seen": "", "sent": [], "session": "another", "at": 0}})
    tab.evaluate("(item) => localStorage.setItem(...item)", [f"triptych-setup:{names}", planted])
    tab.close()
    tab, field = opened(context, address)
    field.fill("of this lead")
    expect(tab.locator(".triptych-saved")).to_have_text(re.compile("^Saved"))
    assert stored(app, names) == "of this lead"
    assert tab.evaluate("(name) => localStorage.getItem(name)", f"triptych-setup:{names}") == planted


def test_a_tab_after_a_restart_replaces_nothing_unasked(app, draft):
    context, address, names = draft
    tab, field = opened(context, address)
    field.fill("of this lead")
    expect(tab.locator(".triptych-saved")).to_have_text(re.compile("^Saved"))
    app.kill()
    with app.writing() as session:
        study = lifecycle.by_slug(session, names.partition(":")[2])
        saved_setting.write(session, study, CONSENT, "of the other lead", "of this lead", names.partition(":")[0])
    app.start_again()

    expect(tab.get_by_text("It is now: of the other lead")).to_be_visible()
    field.press("End")
    field.press_sequentially(", changed")
    expect(tab.get_by_role("button", name="Save my version")).to_be_visible()
    assert stored(app, names) == "of the other lead"
    tab.get_by_role("button", name="Save my version").click()
    expect(tab.get_by_text("It is now: of the other lead")).to_have_count(0)
    assert stored(app, names) == "of this lead, changed"


def test_text_typed_before_a_restart_is_stored(app, draft):
    context, address, names = draft
    tab, field = opened(context, address)
    field.fill("of this lead")
    app.kill()
    app.start_again()

    expect(tab.locator(".triptych-saved")).to_have_text(re.compile("^Saved"))
    assert stored(app, names) == "of this lead"
