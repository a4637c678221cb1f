"""No input is lost or mixed up: reloads, cut networks, killed servers, two tabs, two people."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from helpers import browser
from helpers.browser import expect, radio, saved, token
from helpers.present import present
from helpers.studies import SMALL_RUBRIC, add_person, draft_items, join, open_study
from playwright.sync_api import Dialog, Error, Route
from sqlmodel import select

from triptych.people import links, logins
from triptych.privacy import withdrawal
from triptych.storage.models import Assignment, Highlight, Person, Rating, Submission
from triptych.study import lifecycle
from triptych.study.persons import Who

pytestmark = pytest.mark.browser
chromium = browser.chromium

SLUG, OTHER = "keeping", "other"
DRAFT, ACT = "**/desk/draft", "**/desk/act"
REJECTED = '[data-tw-question="A:verdict"] textarea'
APP = "document.querySelector('[data-testid=stApp]')"
LOCAL = "Object.keys(localStorage).filter((key) => key.startsWith('triptych:'))"


def fill(session: Any) -> None:
    """An open study and a draft of another; every test adds its own annotators."""
    _, lead = open_study(session, SLUG)
    plan = lifecycle.StudyPlan(title=OTHER, seed=OTHER)
    lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(1), lead.pseudonym, lead.person_id)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, forked: Any) -> Iterator[browser.App]:
    with browser.running(tmp_path_factory.mktemp("keeping"), fill, forked) as app:
        yield app


@pytest.fixture
def annotator(app: browser.App, request: pytest.FixtureRequest) -> Callable[..., int]:
    """Makes a new annotator of the study; returns their id."""

    def make(name: str = "Anna") -> int:
        with app.writing() as session:
            study = lifecycle.by_slug(session, SLUG)
            return join(session, study, add_person(session, f"{name} of {request.node.name}")).person_id

    return make


@pytest.fixture(scope="module")
def context(chromium: Any) -> Any:
    return chromium.new_context(viewport=browser.SIZE)


@pytest.fixture
def page(app: browser.App, context: Any, annotator: Callable[..., int]) -> Any:
    """A new annotator's first item, open in a browser that nobody used before."""
    page = browser.afresh(context, app)
    browser.signed_in(context, app, annotator())
    browser.open_workbench(page, app, SLUG)
    return page


def opened(context: Any, app: browser.App, host: str | None = None) -> Any:
    page = context.new_page()
    browser.open_workbench(page, app, SLUG, host)
    return page


def is_saved(page: Any) -> None:
    expect(saved(page)).to_have_attribute("data-state", "saved")


def stored(app: browser.App, name: str) -> Assignment:
    """The assignment of this token, as the server's database has it now."""
    with app.reading() as session:
        return session.exec(select(Assignment).where(Assignment.token == name)).one()


def count(app: browser.App, table: Any, name: str) -> int:
    query = select(table.id).where(table.assignment_id == stored(app, name).id)
    with app.reading() as session:
        return len(session.exec(query).all())


def reload(page: Any) -> None:
    page.reload()
    page.wait_for_selector(browser.WORKBENCH)


def test_a_reload_brings_back_ratings_text_and_highlights(app, page):
    radio(page, "A:fluency", 3).check()
    radio(page, "A:verdict", "reject").check()
    page.locator(REJECTED).fill("it says too much")
    browser.select_text(page, "B", 0, 6)
    page.locator('.tw-float [data-tw-label="bad"]').click()
    is_saved(page)
    reload(page)
    expect(radio(page, "A:fluency", 3)).to_be_checked()
    expect(radio(page, "A:verdict", "reject")).to_be_checked()
    expect(page.locator(REJECTED)).to_have_value("it says too much")
    expect(page.locator('[data-tw-text="B"] mark')).to_have_text("Answer")
    browser.answer_all(page)
    name = token(page)
    browser.submit(page)
    assert (count(app, Rating, name), count(app, Highlight, name)) == (6, 1)


@pytest.mark.long
def test_a_network_outage_is_reported_and_recovered(app, page, context):
    context.set_offline(True)
    radio(page, "A:fluency", 2).check()
    expect(saved(page)).to_have_text("Not saved yet, trying again")
    page.locator('[data-tw-question="B:fluency"] input').last.check()
    context.set_offline(False)
    is_saved(page)
    assert present(stored(app, token(page)).draft)["ratings"] == {"A": {"fluency": 2}, "B": {"fluency": 3}}


@pytest.mark.long
@pytest.mark.parametrize("instead", ["nothing", "a proxy's page"])
def test_a_draft_lost_on_its_way_survives_a_reload(app, page, instead):
    """Behind a single sign-on, a proxy answers with its sign-in page and status 200 once its own login has ended."""
    sign_in_page = {"body": "Sign in at the university", "content_type": "text/html"}
    page.route(DRAFT, lambda route: route.abort() if instead == "nothing" else route.fulfill(**sign_in_page))
    radio(page, "A:fluency", 2).check()
    expect(saved(page)).to_have_attribute("data-state", "waiting")
    page.unroute(DRAFT)
    reload(page)
    expect(radio(page, "A:fluency", 2)).to_be_checked()
    is_saved(page)
    assert present(stored(app, token(page)).draft)["ratings"] == {"A": {"fluency": 2}}
    assert page.evaluate(LOCAL) == []


@pytest.mark.long
def test_a_killed_server_keeps_drafts_and_submits_once(app, page):
    browser.answer_all(page)
    radio(page, "C:fluency", 3).check()
    is_saved(page)
    name = token(page)
    app.kill()
    radio(page, "B:fluency", 2).check()
    expect(saved(page)).to_have_attribute("data-state", "waiting")
    app.start_again()
    is_saved(page)
    draft = present(stored(app, name).draft)["ratings"]
    assert (draft["B"]["fluency"], draft["C"]["fluency"]) == (2, 3)
    browser.submit(page)
    done = stored(app, name)
    assert (done.state, done.version) == ("submitted", 2)
    assert (count(app, Submission, name), count(app, Rating, name)) == (1, 6)
    assert token(page) != name


@pytest.mark.long
def test_a_reload_after_a_kill_brings_the_draft_back(app, page):
    radio(page, "A:fluency", 3).check()
    is_saved(page)
    app.kill()
    app.start_again()
    reload(page)
    expect(radio(page, "A:fluency", 3)).to_be_checked()


@pytest.mark.long
def test_a_submit_lost_by_a_killed_server_is_repeated(app, page):
    browser.answer_all(page)
    is_saved(page)
    name = token(page)
    app.kill()
    page.locator("[data-tw-submit]").click()
    expect(page.locator("[data-tw-submit]")).to_have_text("Submitting…")
    app.start_again()
    expect(page.locator(".tw")).not_to_have_attribute("data-token", name)
    assert (count(app, Submission, name), count(app, Rating, name)) == (1, 6)


@pytest.mark.long
def test_a_second_tab_overwrites_nothing_unasked(app, page, context):
    other = opened(context, app)
    radio(page, "A:fluency", 1).check()
    is_saved(page)
    radio(other, "A:fluency", 3).check()
    expect(other.locator(".tw-notices")).to_contain_text("open in another tab")
    assert present(stored(app, token(page)).draft)["ratings"] == {"A": {"fluency": 1}}
    other.locator("[data-tw-take]").click()
    other.locator('[data-tw-both="there"]').click()
    expect(radio(other, "A:fluency", 1)).to_be_checked()
    radio(other, "B:fluency", 2).check()
    is_saved(other)
    radio(page, "A:fluency", 2).check()
    expect(page.locator(".tw-notices")).to_contain_text("open in another tab")
    assert present(stored(app, token(page)).draft)["ratings"] == {"A": {"fluency": 1}, "B": {"fluency": 2}}


@pytest.mark.long
def test_a_second_tab_cannot_submit_over_what_the_first_stored(app, page, context):
    other = opened(context, app)
    browser.answer_all(page)
    is_saved(page)
    before = stored(app, token(page)).draft
    other.route(DRAFT, lambda route: route.abort())
    browser.answer_all(other)
    radio(other, "A:fluency", 3).check()
    other.locator("[data-tw-submit]").click()
    expect(other.locator(".tw-notices")).to_contain_text("open in another tab")
    now = stored(app, token(page))
    assert (now.state, now.draft) == ("reserved", before)


@pytest.mark.long
def test_a_submit_refused_for_another_tab_can_continue_here(app, page, context):
    browser.answer_all(page)
    is_saved(page)
    other = opened(context, app)
    radio(other, "A:fluency", 3).check()
    is_saved(other)
    page.locator("[data-tw-submit]").click()
    page.locator("[data-tw-take]").click()
    expect(radio(page, "A:fluency", 3)).to_be_checked()
    expect(page.locator(".tw-banner")).to_have_count(0)
    is_saved(page)
    name = token(page)
    browser.submit(page)
    done = stored(app, name)
    assert (done.state, present(done.draft)["ratings"]["A"]["fluency"]) == ("submitted", 3)


@pytest.mark.long
def test_a_late_answer_opens_no_other_item(app, chromium, annotator):
    """The next item came, with "Saved": what was changed meanwhile stayed on this computer without a message."""
    context = chromium.new_context(viewport=browser.SIZE)
    page = browser.signed_in(context, app, annotator()).new_page()
    page.clock.install()
    name, held = browser.open_workbench(page, app, SLUG), list[Any]()
    browser.answer_all(page)
    is_saved(page)
    for path in (ACT, DRAFT):
        page.route(path, lambda route: held.append(route))
    page.locator("[data-tw-submit]").click()
    page.clock.fast_forward(11_000)
    page.get_by_role("button", name="Continue editing").click()
    radio(page, "A:fluency", 3).check()
    with page.expect_response(ACT):
        for route in held:
            route.continue_()
        page.unroute_all()
    expect(page.locator(".tw-notices")).to_contain_text("This item was submitted before")
    assert token(page) == name
    expect(radio(page, "A:fluency", 3)).to_be_checked()
    assert (stored(app, name).version, count(app, Submission, name)) == (2, 1)
    context.close()


@pytest.mark.long
def test_the_last_item_can_be_changed_after_the_end(app, page):
    all_done = page.get_by_role("heading", name="All done")
    for _ in range(4):
        browser.answer_all(page)
        name = token(page)
        browser.submit(page)
    page.get_by_role("button", name="Back to my last item").click()
    expect(page.locator("[data-tw-submit]")).to_have_text("Submit changes")
    assert token(page) == name
    page.locator("[data-tw-forward]").click()
    expect(all_done).to_be_visible()
    page.get_by_role("button", name="Back to my last item").click()
    radio(page, "A:fluency", 3).check()
    page.route(ACT, without_answers, times=1)
    page.locator("[data-tw-submit]").click()
    expect(page.locator("[data-tw-notice]")).to_contain_text("is not answered")
    page.locator("[data-tw-submit]").click()
    expect(all_done).to_be_visible()
    done = stored(app, name)
    assert (done.version, present(done.draft)["ratings"]["A"]["fluency"]) == (3, 3)


def without_answers(route: Any) -> None:
    """Sends a submission on as the server would refuse it."""
    sent = route.request.post_data_json
    route.continue_(post_data={**sent, "action": {**sent["action"], "answers": {}}})


@pytest.mark.long
def test_the_next_person_on_a_computer_sees_no_old_draft(app, page, context, annotator):
    name = token(page)
    radio(page, "A:fluency", 3).check()
    is_saved(page)
    context.set_offline(True)
    radio(page, "A:verdict", "reject").check()
    page.locator(REJECTED).fill("Annas words")
    expect(saved(page)).to_have_attribute("data-state", "waiting")
    page.close()
    context.set_offline(False)
    browser.signed_in(context, app, annotator("Berta"))
    sent: list[str] = []

    def hear(request: Any) -> None:
        sent.append(request.post_data or "")

    context.on("request", hear)
    second = opened(context, app)
    assert token(second) != name
    assert second.locator("[data-tw-question] input:checked").count() == 0
    radio(second, "A:fluency", 1).check()
    is_saved(second)
    browser.answer_all(second)
    own_token = token(second)
    browser.submit(second)
    context.remove_listener("request", hear)
    assert not any(name in body or "Annas words" in body for body in sent)
    assert "Annas words" not in second.content()
    assert present(stored(app, own_token).draft)["ratings"]["A"]["fluency"] == 1
    # the closed page may still have sent the rest, in its own name
    assert present(stored(app, name).draft)["ratings"]["A"]["fluency"] == 3


@pytest.fixture
def unsent(app, page):
    """A tab whose browser has a draft that the server does not have."""
    page.route(DRAFT, lambda route: route.abort())
    radio(page, "A:fluency", 3).check()
    expect(saved(page)).to_have_attribute("data-state", "waiting")
    return page


def join_another(app: browser.App, page: Any) -> Who:
    """The person in this tab, who keeps their login when they withdraw from one study."""
    with app.writing() as session:
        person = session.get_one(Person, stored(app, token(page)).person_id)
        who = Who(person.id, person.pseudonym, person.role, person.name, 0)
        return join(session, lifecycle.by_slug(session, OTHER), who)


@pytest.mark.long
@pytest.mark.parametrize("stays", [False, True], ids=["whose login ends", "who stays signed in"])
def test_who_withdraws_leaves_no_unsent_draft_behind(app, unsent, stays):
    if stays:
        join_another(app, unsent)
    unsent.goto(f"{app.url}/my_data")
    unsent.evaluate("localStorage.setItem('triptych:somebody.else:pen', '{}')")
    assert len(unsent.evaluate(LOCAL)) == 2
    unsent.get_by_role("button", name="Withdraw from this study").click()
    unsent.get_by_text("I want to withdraw").click()
    unsent.get_by_role("button", name="Withdraw now").click()
    unsent.wait_for_function(f"() => {LOCAL}.join() === 'triptych:somebody.else:pen'")


def test_who_was_withdrawn_finds_no_unsent_draft(app, unsent):
    who = join_another(app, unsent)
    with app.writing() as session:
        withdrawal.withdraw(session, lifecycle.by_slug(session, SLUG), who.pseudonym, "P-lead")
    unsent.reload()
    expect(unsent.get_by_role("heading", name="You have withdrawn")).to_be_visible()
    unsent.wait_for_function(f"() => {LOCAL}.length === 0")


def test_signing_out_in_one_tab_closes_the_others(app, page, context):
    """The item stayed: what the next person answered there was stored as the earlier one's, when they came back."""
    other = context.new_page()
    other.goto(app.url)
    browser.sign_out(other)
    expect(page.get_by_role("tab", name="Take part")).to_be_visible()
    expect(page.locator(".tw")).to_have_count(0)


def with_link_of(person_id, app, context):
    """A new tab that opens a personal link."""
    with app.writing() as session:
        secret = links.issue_link(session, lifecycle.by_slug(session, SLUG), person_id)
    tab = context.new_page()
    tab.goto(f"{app.url}/?join={secret}")
    return tab


@pytest.mark.long
def test_another_persons_link_closes_the_tabs_before(app, page, context, annotator):
    other = with_link_of(annotator("Ben"), app, context)
    name = token(page)
    other.get_by_role("button", name="Open it as the person it was made for").click()
    other.wait_for_selector(browser.WORKBENCH)
    expect(page.locator(".tw")).not_to_have_attribute("data-token", name)
    assert token(page) == token(other)


@pytest.mark.long
def test_a_sign_out_opens_no_waiting_link(app, page, context, annotator):
    """The tab connected again, found nobody signed in, and signed the browser in as the person of the link."""
    other = with_link_of(annotator("Ben"), app, context)
    expect(other.get_by_text("This link is for somebody else")).to_be_visible()
    browser.sign_out(page)
    expect(other.get_by_text("You were signed out")).to_be_visible()
    other.get_by_role("button", name="Open it as the person it was made for").click()
    other.wait_for_selector(browser.WORKBENCH)


@pytest.mark.long
def test_answers_after_a_login_ended_stay_on_the_computer(app, page, context):
    radio(page, "A:fluency", 3).check()
    is_saved(page)
    with app.writing() as session:
        logins.end_logins(session, stored(app, token(page)).person_id)
    radio(page, "B:fluency", 1).check()
    expect(page.locator(".tw-notices")).to_contain_text("You are signed out")
    expect(saved(page)).to_have_attribute("data-state", "waiting")
    name = token(page)
    browser.answer_all(page)
    page.locator("[data-tw-submit]").click()
    expect(page.get_by_role("tab", name="Take part")).to_be_visible()
    expect(page.get_by_text("You were signed out")).to_be_visible()
    now = stored(app, name)
    assert (now.state, present(now.draft)["ratings"]) == ("reserved", {"A": {"fluency": 3}})
    browser.signed_in(context, app, now.person_id)
    browser.open_workbench(page, app, SLUG)
    expect(radio(page, "B:fluency", 1)).to_be_checked()
    is_saved(page)


@pytest.mark.long
def test_signing_out_sends_drafts_and_clears_the_browser(app, page):
    name = token(page)
    page.evaluate("document.querySelector('[data-tw-question=\"A:fluency\"] input').click()")
    browser.sign_out(page)
    expect(page.get_by_role("tab", name="Take part")).to_be_visible()
    assert present(stored(app, name).draft)["ratings"] == {"A": {"fluency": 1}}
    assert page.evaluate(LOCAL) == []


@pytest.mark.long
def test_cancelling_a_sign_out_keeps_unsent_answers(app, page):
    page.route(DRAFT, lambda route: route.abort())
    radio(page, "A:fluency", 2).check()
    expect(saved(page)).to_have_attribute("data-state", "waiting")
    with page.expect_event("dialog") as asked:
        page.once("dialog", lambda dialog: dialog.dismiss())
        browser.sign_out(page)
    assert "have not reached the server" in asked.value.message
    page.unroute(DRAFT)
    radio(page, "B:fluency", 3).check()
    is_saved(page)
    assert present(stored(app, token(page)).draft)["ratings"] == {"A": {"fluency": 2}, "B": {"fluency": 3}}


FULL = "() => { Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }; }"


@pytest.mark.long
def test_a_tab_with_answers_only_here_asks_before_it_closes(app, page, context):
    """The screen said that they were saved on this computer, and the tab closed without a question."""
    page.evaluate(FULL)
    page.route(DRAFT, lambda route: route.abort())
    radio(page, "A:fluency", 2).check()
    expect(saved(page)).to_have_attribute("data-state", "waiting")
    with page.expect_event("dialog") as asked:
        page.once("dialog", lambda dialog: dialog.dismiss())
        page.close(run_before_unload=True)
    assert asked.value.type == "beforeunload"
    page.unroute(DRAFT)
    is_saved(page)
    page.reload()  # what is stored closes without a question
    page.wait_for_selector(browser.WORKBENCH)
    expect(radio(page, "A:fluency", 2)).to_be_checked()


@pytest.mark.long
def test_answers_only_here_are_not_called_kept_after_a_login(app, page):
    page.evaluate(FULL)
    with app.writing() as session:
        logins.end_logins(session, stored(app, token(page)).person_id)
    radio(page, "A:fluency", 2).check()
    expect(page.locator(".tw-notices")).to_contain_text("only this page has them")
    expect(page.locator(".tw-notices").get_by_role("button", name="Sign in")).to_be_visible()


@pytest.mark.long
def test_a_submission_that_is_only_here_is_not_called_saved(app, page):
    page.evaluate(FULL)
    browser.answer_all(page)
    page.route(ACT, lambda route: route.abort())
    page.locator("[data-tw-submit]").click()
    expect(page.locator(".tw-notices")).to_contain_text("Keep this page open")
    page.unroute(ACT)
    expect(page.locator(".tw-notices")).not_to_contain_text("Keep this page open")


@pytest.mark.long
def test_signing_out_with_answers_only_here_asks_once(app, page):
    """They were lost without a question, since only answers in the browser's storage were asked about."""
    page.evaluate(FULL)
    page.route(DRAFT, lambda route: route.abort())
    radio(page, "A:fluency", 2).check()
    expect(saved(page)).to_have_attribute("data-state", "waiting")
    asked: list[str] = []

    def accept(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.accept()

    page.on("dialog", accept)
    browser.sign_out(page)
    expect(page.get_by_role("tab", name="Take part")).to_be_visible()
    page.remove_listener("dialog", accept)
    (question,) = asked
    assert "have not reached the server" in question


@pytest.mark.long
def test_a_sign_out_closes_a_tab_whatever_only_it_has(app, page, context):
    """It asked, and stayed for the next person if they cancelled."""
    page.evaluate(FULL)
    page.route(DRAFT, lambda route: route.abort())
    radio(page, "A:fluency", 2).check()
    expect(saved(page)).to_have_attribute("data-state", "waiting")

    def stay(dialog: Dialog) -> None:
        dialog.dismiss()

    page.on("dialog", stay)
    other = context.new_page()
    other.goto(app.url)
    browser.sign_out(other)
    expect(page.get_by_role("tab", name="Take part")).to_be_visible()
    page.remove_listener("dialog", stay)


@pytest.mark.long
def test_signing_out_anyway_leaves_nothing_on_the_computer(app, page):
    page.route(DRAFT, lambda route: route.abort())
    radio(page, "A:verdict", "reject").check()
    page.locator(REJECTED).fill("words of their own")
    expect(saved(page)).to_have_attribute("data-state", "waiting")
    page.once("dialog", lambda dialog: dialog.accept())
    browser.sign_out(page)
    expect(page.get_by_role("tab", name="Take part")).to_be_visible()
    assert page.evaluate(LOCAL) == []


class Line:
    """A page's websockets to the server, which can be cut while its requests still get through."""

    def __init__(self, page: Any) -> None:
        self.cut = False
        self.open: list[Any] = []
        page.route_web_socket("**/_stcore/stream", self._dial)

    def _dial(self, socket: Any) -> None:
        if self.cut:
            socket.close()
            return
        socket.connect_to_server()
        self.open.append(socket)

    def drop(self) -> None:
        self.cut = True
        for socket in self.open:
            socket.close()


@pytest.fixture
def lined(app: browser.App, context: Any, annotator: Callable[..., int]) -> tuple[Any, Line]:
    """A page whose websocket can be cut, for an annotator who has yet to open their first item."""
    browser.afresh(context, app)
    browser.signed_in(context, app, annotator())
    page = context.new_page()
    return page, Line(page)


@pytest.mark.long
def test_answers_written_offline_survive_leaving_the_page(app, lined):
    page, line = lined
    name = browser.open_workbench(page, app, SLUG)
    line.drop()
    page.get_by_role("button", name="Stop for today").click()  # Streamlit's own links are off meanwhile
    page.route(DRAFT, lambda route: route.abort())
    radio(page, "A:verdict", "reject").check()
    page.locator(REJECTED).fill("written in a tunnel")
    expect(saved(page)).to_have_attribute("data-state", "waiting")
    line.cut = False
    expect(page.get_by_role("heading", name="My work")).to_be_visible()
    with page.expect_response(DRAFT):
        page.unroute(DRAFT)
    assert present(stored(app, name).draft)["explanations"]["A"]["verdict"]["reject"]["text"] == "written in a tunnel"
    page.wait_for_function(f"() => {LOCAL}.length === 0")


@pytest.mark.long
def test_a_page_drawn_twice_mounts_one_workbench(app, lined):
    page, line = lined
    held: list[Any] = []
    page.route("**/assets/*/workbench/workbench.js", lambda route: held.append(route))
    page.goto(f"{app.url}/annotate?study={SLUG}")
    browser.settled(page)
    line.open[0].close()
    page.wait_for_function(f"() => {APP}.dataset.testConnectionState !== 'CONNECTED'")
    browser.settled(page)
    assert (len(line.open), len(held), page.locator(".tw").count()) == (2, 1, 0)
    held[0].continue_()
    radio(page, "A:fluency", 3).check()
    is_saved(page)
    browser.answer_all(page)
    name = token(page)
    browser.submit(page)
    assert (page.locator(".tw").count(), count(app, Submission, name)) == (1, 1)


@pytest.mark.long
def test_an_interrupted_sign_out_asks_again_about_drafts(app, page):
    out, again = "**/auth/sign-out", page.get_by_role("button", name="Not signed out: no answer. Try again")
    page.route(out, lambda route: route.abort())
    browser.sign_out(page)
    expect(again).to_be_enabled()
    radio(page, "A:fluency", 3).check()
    is_saved(page)

    def lose_answer(route: Route) -> None:
        route.fetch()
        with suppress(Error):  # on a busy machine, Playwright ends the request before
            route.abort()

    page.unroute(out)
    page.route(out, lose_answer)
    page.locator("[data-tw-menu]").click()
    with page.expect_event("requestfailed", lambda request: request.url.endswith("/auth/sign-out")):
        again.click()
    radio(page, "B:fluency", 2).check()
    expect(page.locator(".tw-notices")).to_contain_text("You are signed out")
    page.locator("[data-tw-menu]").click()
    with page.expect_event("dialog") as asked:
        page.once("dialog", lambda dialog: dialog.dismiss())
        again.click()
    assert "have not reached the server" in asked.value.message
    assert len(page.evaluate(LOCAL)) == 1
    page.unroute(out)
    page.once("dialog", lambda dialog: dialog.accept())
    again.click()
    expect(page.get_by_role("tab", name="Take part")).to_be_visible()
    assert page.evaluate(LOCAL) == []


@pytest.mark.long
def test_six_keys_in_quick_succession_are_six_right_ratings(app, page):
    expect(page.locator("[data-tw-progress]")).to_be_focused()
    page.keyboard.type("321132", delay=30)
    is_saved(page)
    questions = [q.get_attribute("data-tw-question") for q in page.locator("[data-tw-question]").all()]
    ratings = present(stored(app, token(page)).draft)["ratings"]
    expected = dict(zip(questions, "321132", strict=True))
    keys = ["accept", "reject", "unsure"]
    for question, digit in expected.items():
        slot, criterion = question.split(":")
        assert ratings[slot][criterion] == (int(digit) if criterion == "fluency" else keys[int(digit) - 1])


@pytest.mark.long
def test_a_plain_http_address_of_the_lab_works(app, chromium, annotator):
    """Browsers withhold crypto.randomUUID and more where a page is no secure context."""
    context = chromium.new_context(viewport=browser.SIZE)
    browser.signed_in(context, app, annotator(), browser.UNTRUSTED_HOST)
    page = opened(context, app, browser.UNTRUSTED_HOST)
    assert page.evaluate("[window.isSecureContext, typeof crypto.randomUUID]") == [False, "undefined"]
    browser.answer_all(page)
    is_saved(page)
    name = token(page)
    browser.submit(page)
    assert stored(app, name).state == "submitted"
