"""A draft in the browser: what is typed is stored, whatever happens to tab, line, server or another lead meanwhile."""

from __future__ import annotations

import re
from secrets import token_hex
from typing import Any

import pytest
from helpers import browser
from helpers.browser import expect, settled
from helpers.main_job import make_lead, saved_draft, uploader
from helpers.studies import ROOT, SMALL_RUBRIC, add_person, draft_items

from bench.server import running_app
from triptych import clock
from triptych.storage.models import Membership, Role, StudyState
from triptych.study import lifecycle
from triptych.study.settings import StudySettings, settings_of

pytestmark = [pytest.mark.browser, pytest.mark.long]
chromium = browser.chromium

Page = Any
LEADS: list[int] = []
MOST_ACTIONS = 20
# resolves with the number of messages that the browser sends for it
LEAVE_AND_CLICK = """
(button) => new Promise((done) => {
  let messages = 0;
  const { send } = WebSocket.prototype;
  WebSocket.prototype.send = function (data) {
    messages += 1;
    return send.call(this, data);
  };
  document.activeElement.blur();
  button.click();
  setTimeout(() => {
    WebSocket.prototype.send = send;
    done(messages);
  }, 50);
})
"""


@pytest.fixture(scope="module")
def app(tmp_path_factory, forked):
    def two_leads(session):
        anna, ben = (add_person(session, name, Role.lead) for name in ("anna", "ben"))
        LEADS[:] = [anna.person_id, ben.person_id]

    with browser.running(tmp_path_factory.mktemp("home"), two_leads, forked) as app:
        yield app


@pytest.fixture
def draft(app) -> str:
    """The short name of a draft of both leads."""
    with app.writing() as session:
        plan = lifecycle.StudyPlan(title=f"Study {token_hex(4)}", seed="fixed")
        study = lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(3), "P-anna", LEADS[0])
        session.add(Membership(study_id=study.id, person_id=LEADS[1], role=Role.lead, joined_at=clock.now()))
        return study.slug


def stored(app, slug: str) -> StudySettings:
    with app.reading() as session:
        return settings_of(lifecycle.by_slug(session, slug))


def open_setup(context: Any, app, slug: str, section: str = "Before the first item") -> Page:
    page, *_ = context.pages or [context.new_page()]
    page.goto(f"{app.url}/setup?study={slug}&section={section}")
    settled(page)
    return page


@pytest.fixture(scope="module")
def context(chromium):
    return chromium.new_context()


@pytest.fixture
def anna(app, context):
    browser.afresh(context, app)
    return browser.signed_in(context, app, LEADS[0])


def consent(page: Page) -> Any:
    return page.get_by_label("Consent", exact=True)


def test_typing_is_saved_while_the_focus_stays(app, anna, draft):
    page = open_setup(anna, app, draft)
    consent(page).click()
    page.keyboard.type("I agree")
    saved_draft(page)
    page.keyboard.type(" to this.")
    saved_draft(page)
    assert stored(app, draft).consent.text == "I agree to this."
    page.reload()
    page.get_by_role("button", name="Undo").click()
    expect(consent(page)).to_have_value("I agree")
    page.get_by_role("button", name="Redo").click()
    expect(consent(page)).to_have_value("I agree to this.")


@pytest.mark.parametrize("killed", [False, True], ids=["reload", "killed server"])
def test_a_reload_in_mid_typing_loses_nothing(app, anna, draft, killed):
    page = open_setup(anna, app, draft)
    consent(page).click()
    page.keyboard.type("Typed and not yet sent")
    if killed:
        app.kill()
        app.start_again()
    page.reload()
    expect(consent(page)).to_have_value("Typed and not yet sent")
    saved_draft(page)
    assert stored(app, draft).consent.text == "Typed and not yet sent"


def test_a_dropped_line_in_mid_typing_loses_nothing(app, anna, draft):
    page = open_setup(anna, app, draft)
    consent(page).click()
    page.keyboard.type("Typed as the line drops")
    anna.set_offline(True)
    page.close()
    anna.set_offline(False)
    page = open_setup(anna, app, draft)
    expect(consent(page)).to_have_value("Typed as the line drops")
    saved_draft(page)


def test_launch_right_after_typing_takes_what_was_typed(app, anna, draft):
    """As on a busy machine, where the field is left and the button clicked at once."""
    page = open_setup(anna, app, draft)
    consent(page).fill("I agree.")
    saved_draft(page)
    page.get_by_label(re.compile("^Content note")).fill("Sad texts.")
    messages = page.get_by_role("button", name="Launch the study").evaluate(LEAVE_AND_CLICK)
    assert messages == 1, "the server may drop the first of two messages that come together"
    expect(page.get_by_text("The study is open.")).to_be_visible()
    with app.reading() as session:
        assert lifecycle.by_slug(session, draft).state == StudyState.open
    assert stored(app, draft).content_note == "Sad texts."


def test_of_two_leads_the_later_one_sees_and_chooses(app, anna, chromium, draft):
    ben = browser.signed_in(chromium.new_context(), app, LEADS[1])
    first, second = open_setup(anna, app, draft), open_setup(ben, app, draft)
    consent(first).fill("Of Anna.")
    saved_draft(first)
    consent(second).fill("Of Ben.")
    line = re.compile(r"P-anna changed this at \d\d:\d\d\. It is now: Of Anna\.")
    expect(second.get_by_text(line)).to_be_visible()
    expect(consent(second)).to_have_value("Of Ben.")
    assert stored(app, draft).consent.text == "Of Anna."

    second.get_by_role("button", name="Save my version").click()
    saved_draft(second)
    assert stored(app, draft).consent.text == "Of Ben."
    first.get_by_label(re.compile("^Content note")).fill("Sad texts.")
    first.get_by_role("button", name="Take it").click()
    expect(consent(first)).to_have_value("Of Ben.")
    saved_draft(first)
    ben.close()


class Actions:
    """Counts what a person does: a click or one run of typing is one action."""

    def __init__(self) -> None:
        self.count = 0

    def click(self, place: Any) -> None:
        self.count += 1
        place.click()

    def type(self, place: Any, text: str) -> None:
        self.count += 1
        place.fill(text)

    def pick(self, place: Any, path: Any) -> None:
        self.count += 1
        place.set_input_files(path)


def test_shipped_rubric_and_own_file_are_launched_in_few_actions(tmp_path, context, forked):
    items = ROOT / "data" / "demo" / "dialogue_response.jsonl"
    with running_app(tmp_path / "home", start=forked) as server:
        page, act = browser.afresh(context, server), Actions()
        make_lead(page, server)
        page.goto(f"{server.url}/new_study")
        act.count += 2  # through the menu
        act.count += 2  # the box and its option
        browser.choose(page.get_by_label("Rubric", exact=True), "Next turns in a dialogue")
        act.pick(uploader(page, "Items"), items)
        expect(page.get_by_text("The file was read without errors")).to_be_visible()
        page.wait_for_selector(".tw[data-token]")  # the first items are drawn: nothing moves from here
        act.type(page.get_by_label("Title", exact=True), "Our models")
        act.click(page.get_by_role("button", name="Create the study"))
        act.click(page.get_by_role("button", name="Launch …"))
        act.click(page.get_by_role("button", name="Before the first item").first)
        settled(page)
        act.type(consent(page), "You rate responses. We store your ratings without your name.")
        saved_draft(page)
        act.click(page.get_by_role("button", name="Launch the study"))
        expect(page.get_by_text("The study is open.")).to_be_visible()
        assert act.count < MOST_ACTIONS
