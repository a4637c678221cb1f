"""The annotation surface in a real browser, alone: a static page, made-up views, a draft route that can fail."""

from __future__ import annotations

import http.server
import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from helpers import browser
from helpers.browser import SIZE, expect, radio, select_text
from helpers.studies import ROOT, absent

pytestmark = pytest.mark.browser
chromium = browser.chromium


class Server(http.server.ThreadingHTTPServer):
    """Serves the repository's files; answers drafts as configured and records them."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), partial(Handler, directory=str(ROOT)))
        self.tests = 0
        self.begin()

    def begin(self) -> None:
        """Forgets the test before."""
        self.tests += 1
        self.drafts: list[dict] = []
        self.renewals = 0
        self.refusal: tuple[int, dict] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def page(self, view: str) -> str:
        """The address names the test: what a page sends while it closes can arrive in the next one."""
        return f"{self.url}/tests/browser/workbench/harness.html?view={view}&test={self.tests}"


class Handler(http.server.SimpleHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"  # one connection for the dozens of files of a page
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "max-age=3600")
        super().end_headers()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        is_of_this_test = self.headers["Referer"].endswith(f"test={self.server.tests}")
        status, answer = self._answer(body) if is_of_this_test else (410, {})
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _answer(self, body: dict) -> tuple[int, dict]:
        if self.path.endswith("renew"):
            self.server.renewals += 1
            return 200, {"renewed": True}
        if self.headers["X-Triptych"] != "1":
            return 400, {"refused": "invalid", "message": "The header is missing."}
        if self.server.refusal and not body["take"]:
            return self.server.refusal
        self.server.drafts.append(body)
        return 200, {"stored": body["seq"]}


@pytest.fixture(scope="module")
def files() -> Iterator[Server]:
    """One server for the module, so that the browser has the dozens of scripts of a page compiled."""
    server = Server()
    # how often it checks whether to stop; with the default each test ends half a second later
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def server(files) -> Server:
    files.begin()
    return files


@pytest.fixture(scope="module")
def first_page(chromium):
    """One page for the module: a browser takes more than a second of processor time for another one.

    `open_view` empties its stores and resets the rest.
    """
    return chromium.new_context(viewport=SIZE).new_page()


@pytest.fixture
def open_view(chromium, first_page, server):
    """Opens a view of tests/browser/workbench/views.js; the test fails if the page raises an error.

    The first one is on the module's page; another one is in the context passed, or in a new one.
    """
    others: list[Any] = []
    used: list[Any] = []
    errors: list[Any] = []

    def open_(view: str = "reviews", width: int = SIZE["width"], height: int = SIZE["height"], context=None):
        if used or context:
            others.append(context or chromium.new_context())
        page = others[-1].new_page() if others else first_page
        used.append(page)
        page.set_viewport_size({"width": width, "height": height})
        page.on("pageerror", hear)
        page.goto(server.page(view))
        page.wait_for_function("window.ready")
        return page

    def hear(error):
        errors.append(str(error))

    yield open_
    for page in used:
        if page is not first_page:
            page.close()
    for context in others:
        if context is not first_page.context:
            context.close()
    first_page.unroute_all()
    first_page.goto(f"{server.url}/requirements.txt")  # its origin, and no script that stores again
    first_page.remove_listener("pageerror", hear)
    first_page.evaluate("localStorage.clear(); sessionStorage.clear()")
    assert errors == []


def answer_all(page) -> None:
    page.evaluate("""document.querySelectorAll('[data-tw-question]').forEach(
      (question) => question.querySelector('input[type=radio]').click())""")


def draft(page) -> dict:
    """The answers as submitted: the last submit's."""
    return page.evaluate("actions.filter((a) => a.value.kind === 'submit').at(-1).value.answers")


def actions(page, kind: str) -> list[dict]:
    return [action["value"] for action in page.evaluate("actions") if action["value"]["kind"] == kind]


def saved(page):
    return page.locator("[data-tw-saved]")


def focus_heading(page) -> None:
    page.locator("[data-tw-progress]").focus()


@pytest.mark.long
def test_the_pure_modules_pass_their_own_tests():
    node = shutil.which("node")
    if node is None:
        absent("node")
    files = [str(path) for path in sorted((ROOT / "tests" / "browser" / "workbench").glob("*.test.mjs"))]
    run = subprocess.run([node, "--test", *files], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout[-4000:]


@pytest.mark.long
def test_nothing_is_answered_before_the_annotator_answers(open_view):
    page = open_view("conversation")
    assert page.locator("[data-tw-question] input:checked").count() == 0
    assert page.locator(".tw-range").get_attribute("aria-valuetext") == "not answered"


@pytest.mark.long
def test_a_rating_is_drawn_and_saved_at_once(open_view, server):
    page = open_view()
    radio(page, "A:fluency", 5).check()
    expect(saved(page)).to_have_attribute("data-state", "saved")
    assert server.drafts[-1]["draft"]["ratings"] == {"A": {"fluency": 5}}
    assert page.evaluate("actions") == []
    assert page.evaluate("Object.keys(localStorage).filter((k) => k.startsWith('triptych:'))") == []


def test_six_digits_in_quick_succession_are_six_ratings(open_view):
    page = open_view()
    focus_heading(page)
    page.keyboard.type("436217", delay=30)
    props = {
        q: page.locator(f'[data-tw-question="{q}"] input:checked').get_attribute("value")
        for q in ("A:relevance", "B:relevance", "C:relevance", "A:fluency", "B:fluency", "C:fluency")
    }
    assert list(props.values()) == ["4", "3", "6", "2", "1", "7"]
    expect(page.locator('.tw-current[data-tw-question="A:sentiment"]')).to_be_visible()


def test_a_digit_selects_a_point_and_a_stop_adds_half(open_view):
    page = open_view("conversation")
    focus_heading(page)
    page.keyboard.type("2.13.0", delay=10)
    shown = [
        page.locator(f'[data-tw-question="A:{key}"] input:checked').get_attribute("value")
        for key in ("fluency", "empathy", "identification", "comforting")
    ]
    assert shown == ["2.5", "1", "3", "0"]


@pytest.mark.parametrize(
    ("since", "left"),
    [
        (lambda page: page.evaluate("show(views.conversation({work: {token: 't-2', store_key: 's-2'}}))"), []),
        (lambda page: page.evaluate("show(views.training({work: {version: 2, store_key: 's-2'}}))"), ["2", "3", "0"]),
        (lambda page: page.keyboard.press("Control+z"), []),
    ],
    ids=["another item", "feedback", "undo"],
)
def test_a_full_stop_adds_half_to_the_last_digit_only(open_view, since, left):
    page = open_view("conversation")
    focus_heading(page)
    page.keyboard.type("2")
    since(page)
    focus_heading(page)
    page.keyboard.type(".")
    checked = page.locator("[data-tw-question] input:checked")
    assert [answer.get_attribute("value") for answer in checked.all()] == left


def test_keys_act_on_the_first_item_without_a_click(open_view):
    page = open_view()
    expect(page.locator("[data-tw-progress]")).to_be_focused()
    page.evaluate("""() => {
      unmount();
      document.body.append(Object.assign(document.createElement('input'), {id: 'elsewhere'}));
      document.getElementById('elsewhere').focus();
      show(data);
    }""")
    expect(page.locator("#elsewhere")).to_be_focused()


@pytest.mark.long
def test_keys_act_when_what_had_the_focus_is_gone(open_view):
    page = open_view("conversation")
    page.locator("[data-tw-note-toggle]").click()
    close = page.locator("[data-tw-banner-close]")
    close.focus()
    page.keyboard.press("Enter")
    expect(close).to_have_count(0)
    assert page.evaluate("document.activeElement === document.body")
    page.keyboard.press("2")
    assert page.locator("[data-tw-question] input:checked").count() == 1
    page.keyboard.press("?")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("1")
    assert page.locator("[data-tw-question] input:checked").count() == 1, "a dialog is open"


def test_digits_in_a_text_box_stay_text(open_view):
    page = open_view("dialogue")
    radio(page, "A:appropriate", "unknown").check()
    box = page.locator('[data-tw-question="A:appropriate"] textarea')
    box.press_sequentially("1 jk gu?")
    expect(box).to_have_value("1 jk gu?")
    expect(radio(page, "A:appropriate", "unknown")).to_be_checked()


def test_plain_letters_do_not_reach_the_page_around(open_view):
    page = open_view()
    page.evaluate("window.heard = []; document.addEventListener('keydown', (e) => heard.push(e.key))")
    focus_heading(page)
    page.keyboard.type("crjk3")
    assert page.evaluate("heard") == []


@pytest.mark.long
def test_keys_can_be_switched_off_and_stay_off(open_view):
    page = open_view()
    page.locator("[data-tw-keys]").click()
    page.locator("[data-tw-keys-on]").uncheck()
    page.keyboard.press("Escape")
    page.reload()
    page.wait_for_function("window.ready")
    focus_heading(page)
    page.keyboard.type("4")
    assert page.locator("[data-tw-question] input:checked").count() == 0


@pytest.mark.long
def test_j_and_k_move_between_questions_arrows_do_not(open_view):
    page = open_view()
    radio(page, "A:relevance", 3).check()
    page.keyboard.press("ArrowRight")
    expect(radio(page, "A:relevance", 4)).to_be_checked()
    page.keyboard.press("j")
    expect(page.locator('.tw-current[data-tw-question="B:relevance"]')).to_be_visible()
    page.keyboard.press("k")
    expect(page.locator('.tw-current[data-tw-question="A:relevance"]')).to_be_visible()
    radio(page, "A:relevance", 4).dispatch_event("keydown", {"key": "ت", "code": "KeyJ"})  # of a keyboard in Arabic
    expect(page.locator('.tw-current[data-tw-question="B:relevance"]')).to_be_visible()


def test_an_answer_can_be_cleared_and_restored(open_view):
    page = open_view()
    choice = radio(page, "B:fluency", 6)
    choice.check()
    page.keyboard.press("Delete")
    expect(choice).not_to_be_checked()
    page.keyboard.press("u")
    expect(choice).to_be_checked()
    choice.click()
    expect(choice).not_to_be_checked()
    page.locator("[data-tw-undo]").click()
    expect(choice).to_be_checked()


def test_a_double_click_leaves_the_answer(open_view):
    page = open_view()
    radio(page, "A:verdict", "accept").dblclick()
    expect(radio(page, "A:verdict", "accept")).to_be_checked()


def test_enter_in_an_input_method_answers_nothing(open_view):
    """Japanese and Chinese are typed in parts, each of which Enter ends."""
    page = open_view("cities")
    page.locator(".tw-search").focus()
    keyboard = page.context.new_cdp_session(page)
    keyboard.send("Input.imeSetComposition", {"text": "京", "selectionStart": 1, "selectionEnd": 1})
    expect(page.locator(".tw-picks .tw-option:visible")).to_have_text(["東京", "京都"])
    keyboard.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", "key": "Enter", "windowsVirtualKeyCode": 229})
    keyboard.send("Input.insertText", {"text": "京都"})
    expect(page.locator(".tw-picks .tw-option:visible")).to_have_text(["京都"])
    expect(page.locator(".tw-picks input:checked")).to_have_count(0)
    page.keyboard.press("Enter")
    expect(radio(page, "item:city", "c1")).to_be_checked()


def test_a_long_list_is_searched_without_accents_or_case(chromium, open_view):
    """With a browser in Turkish, where i is the small letter of İ only, a name in English was not found."""
    page = open_view("cities", context=chromium.new_context(locale="tr-TR"))
    for typed, title in (("izmir", "İzmir"), ("EVORA", "Évora"), ("évora", "Évora"), ("innsbruck", "Innsbruck")):
        page.locator(".tw-search").fill(typed)
        expect(page.locator(".tw-picks .tw-option:visible")).to_have_text([title])


@pytest.mark.parametrize("key", ["Enter", "ArrowRight", "ArrowLeft"])
def test_keys_move_a_slider_from_its_hidden_thumb(open_view, key):
    page = open_view("conversation")
    slider = page.locator(".tw-range")
    slider.focus()
    page.keyboard.press(key)
    expect(slider).to_have_attribute("aria-valuetext", "50 %")
    page.keyboard.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuetext", "55 %")
    page.keyboard.press("Delete")
    expect(slider).to_have_attribute("aria-valuetext", "not answered")


def test_digits_at_a_slider_type_its_number(open_view):
    page = open_view("conversation")
    page.locator(".tw-range").focus()
    page.keyboard.type("15")
    expect(page.locator(".tw-range")).to_have_attribute("aria-valuetext", "15 %")
    page.keyboard.press("Enter")
    expect(page.locator(".tw-number-box")).not_to_be_focused()
    page.locator(".tw-range").focus()
    page.keyboard.type("750")
    page.keyboard.press("Enter")
    expect(page.locator(".tw-number-box")).to_have_value("100")
    expect(page.locator(".tw-range")).to_be_focused()


def test_the_ends_of_a_slider_are_named_on_a_phone(open_view):
    page = open_view("conversation", width=390, height=844)
    page.locator(".tw-number").last.click()
    expect(page.locator(".tw-here").get_by_text("0 Easy – 100 % Hard")).to_be_visible()


def test_scales_with_named_ends_keep_their_places(open_view):
    """The ends stood in another line, of another height, while their question was the current one."""
    page = open_view("reviews")
    page.evaluate(
        """() => {
            const view = views.reviews({ work: { token: "t-2", store_key: "s-2" } });
            const points = view.rubric.criteria.flatMap(({ scale }) => scale.points?.slice(1, -1) ?? []);
            for (const point of points) point.title = "";
            show(view);
        }"""
    )
    expect(page.get_by_text("1 Not at all – 7 Completely").first).to_be_visible()
    expect(page.locator(".tw-descriptions")).to_have_count(0)
    places = "Array.from(document.querySelectorAll('.tw-cell'), (cell) => cell.getBoundingClientRect().top)"
    before = page.evaluate(places)
    page.keyboard.type("111")
    expect(page.locator('[data-tw-question="A:fluency"].tw-current')).to_be_visible()
    assert page.evaluate(places) == before


def test_no_number_is_submitted_that_was_not_shown(open_view):
    """Beyond an end, or between two steps, another number than the typed one counts."""
    page = open_view("conversation")
    page.evaluate(browser.ANSWER)
    box = page.locator(".tw-number-box")
    box.fill("750")
    page.keyboard.press("Control+Enter")
    expect(box).to_have_value("100")
    assert actions(page, "submit") == []
    page.keyboard.press("Control+Enter")
    assert 100 in [ratings.get("effort") for ratings in draft(page)["ratings"].values()]

    page.evaluate(
        "show(views.conversation({work: {token: 't-2', store_key: 's-2', receipt: actions.at(-1).value.submission}}))"
    )
    page.evaluate(browser.ANSWER)
    box.fill("١٥,0")  # as phones in Arabic type it
    page.keyboard.press("Control+Enter")
    assert 15 in [ratings.get("effort") for ratings in draft(page)["ratings"].values()]


def test_a_phone_can_type_a_number_below_zero(open_view):
    page = open_view("conversation")
    box = page.locator(".tw-number-box")
    expect(box).to_have_attribute("inputmode", "decimal")
    page.evaluate(
        """() => {
            const view = views.conversation({work: {token: "t-2"}});
            view.rubric.criteria.find(({scale}) => scale.kind === "number").scale.low = -100;
            show(view);
        }"""
    )
    expect(box).to_have_attribute("inputmode", "text")


def test_a_click_on_an_untouched_slider_is_an_answer(open_view):
    page = open_view("conversation")
    page.locator(".tw-range").click()
    expect(page.locator(".tw-range")).to_have_attribute("aria-valuetext", "50 %")


def test_scrolling_or_right_clicking_an_untouched_slider_is_no_answer(open_view):
    page = open_view("conversation")
    slider = page.locator(".tw-range")
    slider.dispatch_event("pointerdown", {"button": 0, "pointerType": "touch"})
    slider.dispatch_event("pointercancel", {"pointerType": "touch"})
    slider.click(button="right")
    page.evaluate("new Promise((resolve) => setTimeout(resolve))")  # behind what a release puts off
    expect(slider).to_have_attribute("aria-valuetext", "not answered")


def test_every_value_of_a_slider_can_be_clicked(open_view):
    page = open_view("conversation")
    slider = page.locator(".tw-range")
    seen = set()
    box = slider.bounding_box()
    for pixel in range(1, int(box["width"]), 4):
        page.mouse.click(box["x"] + pixel, box["y"] + box["height"] / 2)
        seen.add(slider.input_value())
    assert seen == {str(value) for value in range(0, 101, 5)}


def test_submit_names_what_is_missing_and_goes_there(open_view):
    page = open_view()
    answer_all(page)
    radio(page, "C:domain", 1).focus()
    page.keyboard.press("Delete")
    page.locator("[data-tw-submit]").click()
    expect(page.locator(".tw-problems")).to_contain_text("Domain accuracy, Response C is not answered")
    expect(radio(page, "C:domain", 1)).to_be_focused()
    assert actions(page, "submit") == []


def test_submit_carries_everything_and_is_repeated_until_its_receipt(open_view, chromium):
    page = open_view(context=chromium.new_context())  # its clock is set, and stays so
    page.clock.install()
    answer_all(page)
    radio(page, "B:fluency", 7).check()
    page.keyboard.press("Control+Enter")
    page.clock.run_for(6500)
    sent = actions(page, "submit")
    assert len(sent) == 3 and len({action["submission"] for action in sent}) == 1
    assert sent[0]["assignment"] == "t-1" and sent[0]["version"] == 1 and sent[0]["pen"]
    assert sent[0]["answers"]["ratings"]["B"]["fluency"] == 7
    page.evaluate("show({...data, work: {...data.work, receipt: actions.at(-1).value.submission}})")
    page.clock.run_for(10_000)
    assert len(actions(page, "submit")) == 3


def test_the_next_items_texts_start_at_the_top(open_view):
    page = open_view()
    page.evaluate("""void (window.long = ({item, ...view}) => ({...view, item: {...item,
      candidates: item.candidates.map((candidate) => ({...candidate, text: candidate.text.repeat(60)}))}}))""")
    places = "[...document.querySelectorAll('.tw-pane-body')].map((body) => body.scrollTop)"
    page.evaluate("show(long(views.reviews({work: {token: 't-0', store_key: 's-0'}})))")
    page.evaluate("document.querySelectorAll('.tw-pane-body').forEach((body) => (body.scrollTop = 30))")
    assert any(page.evaluate(places))
    answer_all(page)
    page.keyboard.press("Control+Enter")
    page.evaluate("""show(long(views.reviews({
      work: {token: 't-2', store_key: 's-2', receipt: actions.at(-1).value.submission, number: 8}})))""")
    expect(page.locator(".tw")).to_have_attribute("data-token", "t-2")
    assert not any(page.evaluate(places))


def test_the_next_item_starts_at_the_top_with_focus(open_view):
    page = open_view(height=500)
    answer_all(page)
    page.keyboard.press("Control+Enter")
    page.evaluate("""show(views.reviews({
      work: {token: 't-2', store_key: 's-2', receipt: actions.at(-1).value.submission, number: 8},
      progress: {done: 7, total: 40, minutes_left: null}}))""")
    expect(page.locator("[data-tw-progress]")).to_have_text("Item 8 of 40")
    expect(page.locator("[data-tw-progress]")).to_be_focused()
    assert page.evaluate("document.scrollingElement.scrollTop") == 0
    assert page.locator("[data-tw-question] input:checked").count() == 0
    assert page.locator(".tw").get_attribute("data-token") == "t-2"
    assert page.evaluate("Object.keys(localStorage).filter((k) => k.startsWith('triptych:'))") == []


NEXT = """show(views.reviews({
  work: {token: 't-2', store_key: 's-2', receipt: actions.at(-1).value.submission}}))"""


def test_the_next_item_reuses_the_elements_of_the_last(open_view):
    page = open_view()
    select_text(page, "A", 0, 10)
    page.locator('.tw-float [data-tw-label="odd"]').click()
    page.locator("[data-tw-guidelines-open]").click()
    answer_all(page)
    page.evaluate("document.querySelectorAll('.tw fieldset, .tw-foot').forEach((e) => (e.kept = true))")
    page.keyboard.press("Control+Enter")
    page.evaluate(NEXT)
    assert page.evaluate("[...document.querySelectorAll('.tw fieldset, .tw-foot')].every((e) => e.kept)")
    expect(page.locator(".tw mark")).to_have_count(0)
    expect(page.locator("[data-tw-guidelines]")).to_be_hidden()
    expect(page.locator(".tw-current")).to_have_count(1)
    expect(page.locator("[data-tw-answered]")).to_have_text("0 of 15 answered")


def test_explanations_do_not_carry_over_to_the_next_item(open_view):
    page = open_view("dialogue")
    ask = page.locator('[data-tw-question="A:appropriate"] .tw-ask')
    radio(page, "A:appropriate", "unknown").check()
    ask.locator("textarea").press_sequentially("only here")
    page.evaluate("show(views.dialogue({work: {token: 't-2', store_key: 's-2'}}))")
    expect(ask).to_be_hidden()
    radio(page, "A:appropriate", "unknown").check()
    expect(ask.locator("textarea")).to_have_value("")


def test_an_answer_given_after_the_submit_is_no_answer(open_view):
    page = open_view()
    answer_all(page)
    page.evaluate("""() => {
      document.querySelector('[data-tw-submit]').click();
      document.querySelector('[data-tw-question="A:fluency"] input[value="5"]').click();
    }""")
    page.evaluate("show({...data, notice: {kind: 'warning', text: 'The study is closed.'}})")
    expect(radio(page, "A:fluency", 1)).to_be_checked()


def test_a_refused_submit_shows_why_and_allows_another(open_view):
    page = open_view()
    answer_all(page)
    page.locator("[data-tw-submit]").click()
    expect(page.locator("[data-tw-submit]")).to_have_text("Submitting…")
    page.evaluate("show({...data, notice: {kind: 'warning', text: 'The study is closed.'}})")
    expect(page.locator("[data-tw-notice]")).to_contain_text("The study is closed.")
    expect(page.locator("[data-tw-submit]")).to_have_text("Submit")
    radio(page, "A:fluency", 2).check()
    expect(radio(page, "A:fluency", 2)).to_be_checked()


def test_a_closed_notice_stays_closed_after_a_rerun(open_view):
    page = open_view()
    notice = page.locator("[data-tw-notice]")
    page.evaluate("show({...data, notice: {kind: 'warning', text: 'The study is paused.'}})")
    notice.locator("[data-tw-banner-close]").click()
    page.evaluate("show({...data})")
    expect(notice).to_have_count(0)
    page.evaluate("show({...data, notice: {...data.notice}})")  # shown again
    expect(notice).to_have_count(1)


def test_a_rerun_keeps_answers_focus_and_open_text(open_view):
    page = open_view("dialogue")
    radio(page, "A:appropriate", "unknown").check()
    box = page.locator('[data-tw-question="A:appropriate"] textarea')
    box.fill("I cannot tell")
    page.evaluate("show(views.dialogue())")
    expect(box).to_be_focused()
    expect(box).to_have_value("I cannot tell")


def test_reasons_open_in_place_are_kept_per_option_and_counted(open_view):
    page = open_view("dialogue")
    radio(page, "B:contextual", "no").check()
    answered = page.locator("[data-tw-answered]")
    expect(answered).to_have_text(re.compile(r"^1 of \d+ answered, 1 reason missing$"))
    ask = page.locator('[data-tw-question="B:contextual"] .tw-ask')
    ask.locator("[data-tw-reason=r2]").check()
    expect(answered).to_have_text(re.compile(r"^1 of \d+ answered$"))
    ask.locator("textarea").fill("it says too much about soup")
    expect(ask.locator(".tw-count")).to_have_text("6 of 3–30 words")
    radio(page, "B:contextual", "yes").check()
    expect(ask).to_be_hidden()
    radio(page, "B:contextual", "no").check()
    expect(ask.locator("[data-tw-reason=r2]")).to_be_checked()
    expect(ask.locator("textarea")).to_have_value("it says too much about soup")


def test_best_takes_ties_and_none_of_them(open_view):
    page = open_view("succession")
    for question in ("relevance", "fluency"):
        for letter in "ABC":
            page.evaluate("(q) => document.querySelector(q).click()", f'[data-tw-question="{letter}:{question}"] input')
    page.locator(".tw-tab").last.click()
    best = page.locator('[data-tw-question="item:best"]')
    none_of_them = best.locator("[data-tw-none]")
    none_of_them.focus()
    page.keyboard.press("0")
    expect(none_of_them).to_be_checked()
    page.keyboard.press("0")
    expect(none_of_them).not_to_be_checked()
    page.keyboard.press("0")
    best.locator("input[value=C]").check()
    expect(none_of_them).not_to_be_checked()
    best.locator("input[value=A]").check()
    page.locator("[data-tw-submit]").click()
    assert draft(page)["ratings"]["item"]["best"] == ["A", "C"]


@pytest.mark.parametrize(
    ("start", "end", "quote"), [(0, 2, "Ça"), (7, 9, "👩‍👩‍👧‍👦"), (24, 26, "😀"), (27, 28, "e\u0301")]
)
def test_highlights_are_exact_in_code_points_and_split_no_grapheme(open_view, start, end, quote):
    page = open_view("scripts")
    select_text(page, "A", start, end)
    page.locator('.tw-float [data-tw-label="addresses"]').click()
    answer_all(page)
    page.keyboard.press("Control+Enter")
    [span] = draft(page)["highlights"]
    text = page.evaluate("data.item.candidates[0].text")
    assert text[span["start"] : span["end"]] == quote


def test_a_drag_over_right_to_left_text_marks_it(open_view):
    page = open_view("scripts")
    box = page.locator('[data-tw-text="B"]')
    box.dblclick(position={"x": box.bounding_box()["width"] - 12, "y": 10})
    page.locator('.tw-float [data-tw-label="odd"]').click()
    mark = page.locator('[data-tw-text="B"] mark')
    expect(mark).to_have_count(1)
    assert mark.text_content() == "תודה"


def drag(page: Any, box: str, start: int, end: int) -> None:
    """Selects these characters of a judged text with the mouse."""
    ends = page.evaluate(
        """([id, ...offsets]) => offsets.map((at) => {
          const range = document.createRange(), { firstChild } = document.querySelector(`[data-tw-text="${id}"]`);
          range.setStart(firstChild, at);
          const { left, top, height } = range.getBoundingClientRect();
          return [left, top + height / 2];
        })""",
        [box, start, end],
    )
    page.mouse.move(*ends[0])
    page.mouse.down()
    page.mouse.move(*ends[1], steps=3)
    page.mouse.up()


@pytest.mark.long
def test_the_pointer_marks_words_and_keys_mark_letters(open_view, server):
    page = open_view()
    page.evaluate(
        "show({ ...data, study: { ...data.study, mark_unit: 'words' }, work: { ...data.work, token: 'words' } })"
    )
    switch, addresses = (page.locator(f".tw-float {which}") for which in ("[data-tw-whole-words]", ".tw-chip >> nth=0"))
    painted = "[...(CSS.highlights.get('tw-to-mark') ?? [])].map(String)"
    drag(page, "A", 7, 14)  # "est, th"
    expect(switch).to_have_attribute("aria-pressed", "true")
    assert page.evaluate(painted) == ["guest, thank"]
    switch.click()
    assert page.evaluate(painted) == []
    switch.click()
    addresses.click()
    marks = page.locator('[data-tw-text="A"] mark')
    expect(marks).to_have_text(["guest, thank"])
    page.keyboard.press("Control+Home")
    page.keyboard.press("Shift+ArrowRight")
    expect(switch).to_be_visible()  # the browser reports a selection a moment after the key
    page.keyboard.press("2")
    expect(marks).to_have_text(["D", "guest, thank"])
    page.locator(".tw-tools [data-tw-whole-words]").click()
    drag(page, "B", 1, 3)
    addresses.click()
    expect(page.locator('[data-tw-text="B"] mark')).to_have_count(1)
    expect(saved(page)).to_have_attribute("data-state", "saved")
    spans = server.drafts[-1]["draft"]["highlights"]
    assert [(span["start"], span["end"], span["unit"]) for span in spans] == [
        *((5, 17, "words"), (0, 1, "letters"), (1, 3, "letters"))
    ]


def test_overlapping_highlights_are_both_kept_and_undone_one_by_one(open_view):
    page = open_view()
    for start, end, label in ((0, 10, "addresses"), (5, 20, "odd")):
        select_text(page, "A", start, end)
        page.locator(f'.tw-float [data-tw-label="{label}"]').click()
    expect(page.locator('[data-tw-text="A"] mark')).to_have_count(3)
    page.keyboard.press("u")
    expect(page.locator('[data-tw-text="A"] mark')).to_have_count(1)


def test_highlights_work_by_keyboard_alone(open_view):
    page = open_view()
    page.locator('[data-tw-text="A"]').focus()
    page.keyboard.press("Control+Home")
    page.keyboard.press("Control+Shift+ArrowRight")
    page.keyboard.press("h")
    page.keyboard.press("2")
    expect(page.locator('[data-tw-text="A"] mark')).to_have_text("Dear")
    page.keyboard.type("xyz")
    expect(page.locator('[data-tw-text="A"]')).to_contain_text("Dear guest, thank you")
    page.keyboard.press("Control+Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Delete")
    expect(page.locator('[data-tw-text="A"] mark')).to_have_count(0)


@pytest.mark.long
def test_evidence_is_marked_in_the_context_alone(open_view):
    page = open_view("evidence")
    offered = page.locator(".tw-float [data-tw-label]")
    select_text(page, "context", 0, 18)
    expect(offered).to_have_count(1)
    offered.click()
    marks = page.locator('[data-tw-text="context"] mark')
    expect(marks).to_have_text(["Lovely ", "breakfast", " 😀"])
    marks.first.click()
    assert page.locator(".tw-popover [data-tw-label]").count() == 1
    page.keyboard.press("Escape")
    select_text(page, "A", 0, 4)
    expect(offered).to_have_count(2)
    page.keyboard.press("h")
    page.keyboard.press("3")
    expect(page.get_by_text("Evidence is not for this text").last).to_be_visible()
    assert page.locator('[data-tw-text="A"] mark').count() == 0
    page.keyboard.press("c")
    expect(page.locator('[data-tw-text="context"]')).to_be_focused()
    page.keyboard.press("Control+End")
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("3")
    expect(marks).to_have_count(4)
    page.keyboard.press("u")
    expect(marks).to_have_count(3)
    expect(page.get_by_text("highlight in the context").last).to_be_visible()
    answer_all(page)
    page.keyboard.press("Control+Enter")
    [span] = draft(page)["highlights"]
    text = page.evaluate("data.item.context.text")
    assert (span["slot"], text[span["start"] : span["end"]]) == ("context", "Lovely **breakfast** 😀")


@pytest.mark.long
def test_evidence_in_a_dialogue_is_in_one_turn(open_view, server):
    page = open_view("evidence_in_turns", 390, 844)
    assert page.locator('[data-tw-text="A"]').get_attribute("contenteditable") is None
    page.keyboard.press("c")
    expect(page.locator('[data-tw-text="context:3"]')).to_be_focused()
    select_text(page, "context:1", 4, 14)
    page.locator(".tw-float [data-tw-label]").click()
    expect(page.locator('[data-tw-text="context:1"] mark')).to_have_text("on sunday")
    expect(saved(page)).to_have_attribute("data-state", "saved")
    [span] = server.drafts[-1]["draft"]["highlights"]
    assert (span["slot"], span["turn"], span["start"], span["end"], span["label"]) == ("context", 1, 5, 14, "evidence")


@pytest.mark.long
def test_a_highlight_is_relabelled_commented_and_removed_in_its_popover(open_view, server):
    page = open_view("conversation")
    select_text(page, "A:1", 0, 10)
    page.locator(".tw-float [data-tw-label=empathy]").click()
    page.locator('[data-tw-text="A:1"] mark').click()
    expect(page.locator(".tw-popover input")).to_have_attribute("maxlength", "10000")
    page.locator(".tw-popover input").fill("warm")
    page.keyboard.press("Escape")
    expect(page.locator(".tw-popover")).to_be_hidden()
    expect(saved(page)).to_have_attribute("data-state", "saved")
    assert server.drafts[-1]["draft"]["highlights"] == [
        {"slot": "A", "turn": 1, "start": 0, "end": 10, "label": "empathy", "comment": "warm", "unit": "letters"}
    ]
    page.locator('[data-tw-text="A:1"] mark').click()
    page.locator("[data-tw-unmark]").click()
    expect(page.locator('[data-tw-text="A:1"] mark')).to_have_count(0)


def test_escape_puts_an_armed_label_down(open_view):
    page = open_view()
    chip = page.locator('.tw-tools [data-tw-label="odd"]')
    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Escape")
    expect(chip).to_have_attribute("aria-pressed", "false")
    select_text(page, "A", 0, 4)
    expect(page.locator(".tw-float")).to_be_visible()
    assert page.locator("mark").count() == 0


def test_digits_tick_reasons_of_an_answer_given_by_key(open_view):
    page = open_view("dialogue")
    focus_heading(page)
    page.keyboard.type("11", delay=10)
    question = page.locator('[data-tw-question="A:appropriate"]')
    expect(question.locator("[data-tw-reason=r1]")).to_be_checked()
    expect(radio(page, "A:appropriate", "yes")).to_be_checked()


FOUND = "[...(CSS.highlights.get('tw-found') ?? [])].map((range) => range.toString().toLowerCase())"


def test_find_counts_hits_of_open_texts_only(open_view):
    page = open_view("succession")
    page.evaluate("""() => {
      const view = views.succession({ work: { token: 't-2', store_key: 's-2' } });
      for (const later of view.item.candidates.slice(1)) later.text = null;
      show(view);
    }""")
    texts = page.evaluate("[data.item.context.text, data.item.candidates[0].text]")
    page.keyboard.press("f")
    counts = page.locator("[data-tw-find-counts]")
    page.keyboard.type("THE")
    each = [text.lower().count("the") for text in texts]
    assert all(each)
    expect(counts).to_have_text(f"Review: {each[0]} · Response A: {each[1]}")
    assert page.evaluate(FOUND) == ["the"] * sum(each)
    page.keyboard.press("Shift+Enter")
    expect(counts).to_contain_text(f" · hit {sum(each)} of {sum(each)}")
    page.keyboard.press("Enter")
    expect(counts).to_contain_text(f" · hit 1 of {sum(each)}")
    page.keyboard.press("Escape")
    expect(counts).to_be_hidden()
    assert page.evaluate(FOUND) == []


@pytest.mark.long
def test_find_reaches_across_highlights_and_keeps_them(open_view):
    page = open_view()
    page.locator("[data-tw-view=single]").click()
    select_text(page, "A", 5, 10)
    page.locator('.tw-float [data-tw-label="odd"]').click()
    page.keyboard.press("f")
    page.keyboard.type("dear  guest, t")
    expect(page.locator("[data-tw-find-counts]")).to_have_text(
        "Review: 0 · Response A: 1 · Response B: 0 · Response C: 0"
    )
    assert page.evaluate(FOUND) == ["dear guest, t"]
    expect(page.locator('[data-tw-text="A"] mark')).to_have_text("guest")
    page.locator("[data-tw-find-words]").fill("our chef")
    page.keyboard.press("Enter")
    expect(page.locator('[data-tw-text="B"]')).to_be_visible()
    expect(page.locator("[data-tw-find-words]")).to_be_focused()
    page.evaluate("show(views.reviews({work: {token: 't-2', store_key: 's-2'}}))")
    expect(page.locator(".tw-find")).to_be_hidden()


TOP_TURN = """() => {
  const body = document.querySelector('.tw-context-body');
  const { top } = body.getBoundingClientRect();
  return [...body.querySelectorAll('.tw-turn')].findIndex((turn) => turn.getBoundingClientRect().bottom > top + 1);
}"""


@pytest.mark.long
def test_the_place_in_a_long_dialogue_is_kept(open_view):
    page = open_view("manyTurns")
    page.wait_for_function(f"({TOP_TURN})() > 1900")
    page.evaluate("document.querySelectorAll('.tw-context-body .tw-turn')[1200].scrollIntoView()")
    page.wait_for_function("JSON.parse(localStorage['triptych-places'] ?? '{}')['s-1']?.context?.[0] === 1200")
    page.reload()
    page.wait_for_function(f"window.ready && ({TOP_TURN})() === 1200")
    other = "show(views.manyTurns({work: {token: 't-2', store_key: 's-2'}}))"
    page.evaluate(other)
    page.wait_for_function(f"({TOP_TURN})() > 1900")
    page.evaluate("show(views.manyTurns())")
    page.wait_for_function(f"({TOP_TURN})() === 1200")


def test_texts_are_text_and_never_markup(open_view):
    page = open_view("scripts")
    expect(page.locator('[data-tw-text="A"]')).to_contain_text("<img src=x onerror=alert(1)>")
    assert page.locator(".tw img").count() == 0


def test_a_response_set_aside_needs_no_answers(open_view):
    page = open_view()
    page.locator('[data-tw-set-aside="B"]').click()
    page.locator('[data-tw-dialog="set-aside"] input').first.check()
    page.locator("[data-tw-dialog-ok]").click()
    for question in page.locator('[data-tw-question^="A:"], [data-tw-question^="C:"]').all():
        question.locator("input").first.check()
    page.locator("[data-tw-submit]").click()
    assert draft(page)["set_aside"] == {"B": "unsuitable"}


@pytest.mark.parametrize(("hook", "kind"), [("skip", "skip"), ("ignore", "ignore")])
def test_leaving_an_item_out_needs_a_reason(open_view, hook, kind):
    page = open_view()
    page.locator(f"[data-tw-{hook}]").click()
    page.locator("[data-tw-dialog-ok]").click()
    expect(page.locator(".tw-dialog-problem")).to_have_text("Please choose a reason.")
    page.locator(f'[data-tw-dialog="{hook}"] input[type=radio]').first.check()
    page.locator("[data-tw-dialog-ok]").click()
    [action] = actions(page, kind)
    assert action["reason"] in ("unclear", "nothing") and action["submission"] and action["assignment"] == "t-1"


@pytest.mark.parametrize("kind", ["skip", "ignore"])
def test_a_note_to_the_lead_is_sent_when_ignoring(open_view, kind):
    page = open_view()
    page.locator("[data-tw-lead-note]").click()
    page.locator('[data-tw-dialog="note"] textarea').fill("The link is broken.")
    page.locator("[data-tw-dialog-ok]").click()
    page.locator(f"[data-tw-{kind}]").click()
    page.locator(f'[data-tw-dialog="{kind}"] input[type=radio]').first.check()
    page.locator(f'[data-tw-dialog="{kind}"] textarea').fill("I cannot tell")
    page.locator("[data-tw-dialog-ok]").click()
    assert [action["text"] for action in actions(page, kind)] == ["I cannot tell\nThe link is broken."]


def test_back_leave_unchanged_and_stop_are_one_action_each(open_view):
    page = open_view()
    page.locator("[data-tw-back]").click()
    page.evaluate("""show(views.reviews({
      work: {token: 't-0', store_key: 's-0', state: 'submitted'}, draft: {ratings: {A: {fluency: 3}}}}))""")
    expect(page.locator("[data-tw-submit]")).to_have_text("Submit changes")
    expect(radio(page, "A:fluency", 3)).to_be_checked()
    page.locator("[data-tw-forward]").click()
    page.locator("[data-tw-stop]").click()
    page.wait_for_function("actions.some((a) => a.value.kind === 'stop')")
    assert [a["value"] for a in page.evaluate("actions")] == [
        {"kind": "back", "assignment": "t-1"},
        {"kind": "forward", "assignment": "t-0"},
        {"kind": "stop"},
    ]


def test_answering_a_response_opens_the_next_in_succession(open_view):
    page = open_view("succession")
    expect(page.locator('[data-tw-text="A"]')).to_be_visible()
    expect(page.locator('[data-tw-text="B"]')).to_be_hidden()
    page.locator(".tw-tab").nth(1).focus()
    page.keyboard.press("Enter")
    expect(page.locator(".tw-problems")).to_contain_text("Semantic relevance, Response A is not answered")
    page.keyboard.type("45")
    expect(page.locator("[data-tw-step='1'].tw-next")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator('[data-tw-text="B"]')).to_be_visible()
    page.locator(".tw-tab").first.click()
    expect(radio(page, "A:relevance", 4)).to_be_checked()
    page.locator("[data-tw-submit]").click()
    expect(page.locator('[data-tw-text="B"]')).to_be_visible()


@pytest.mark.parametrize(("view", "listed"), [("reviews", 1), ("dialogue", 0)])
def test_the_key_of_labels_is_listed_where_there_are_some(open_view, view, listed):
    page = open_view(view)
    page.locator("[data-tw-keys]").click()
    expect(page.get_by_text("H, then a digit")).to_have_count(listed)
    expect(page.get_by_text("into the text, to")).to_have_count(1)


def test_a_sample_is_quoted_as_its_language_does(open_view):
    sample = """async () => {
      const { use } = await import('/components/workbench/language.js');
      const { sampleLine } = await import('/components/workbench/teaching.js');
      use({ language: 'de', plurals: ['one', 'other'], texts: { '“{text}”': '„{text}“' } });
      return sampleLine('Sie passt.').textContent;
    }"""
    assert open_view().evaluate(sample) == "For example: „Sie passt.“"


@pytest.mark.long
def test_a_reason_leads_a_phone_to_the_next_response(open_view):
    """An answer that asks why does not go on by itself."""
    page = open_view("dialogue", 390, 844)
    below = page.locator(".tw-next")
    for criterion, answer in (("contextual", "yes"), ("listening", "l0"), ("appropriate", "no")):
        page.locator(".tw-tab").first.click()
        page.locator(f'.tw-number[data-tw-fold="{criterion}"]').click()
        radio(page, f"A:{criterion}", answer).check()
    expect(below).to_be_hidden()
    page.locator('[data-tw-question="A:appropriate"] .tw-reason').click()
    expect(below).to_be_in_viewport(ratio=1)
    below.click()
    expect(page.locator('[data-tw-text="B"]')).to_be_visible()
    expect(page.locator('.tw-current[data-tw-question="B:appropriate"]')).to_be_visible()


def test_a_tap_on_the_response_closes_the_drawer(open_view):
    page = open_view("dialogue", 390, 844)
    page.locator("[data-tw-context]").click()
    drawer = page.locator(".tw-context")
    expect(drawer).to_be_visible()
    panes = page.locator(".tw-panes").bounding_box()
    page.mouse.click(panes["x"] + 10, panes["y"] + panes["height"] - 10)
    expect(drawer).to_be_hidden()


def test_an_answered_question_is_ticked_on_a_phone(open_view):
    """A dashed border is the sign of a response that is still locked."""
    page = open_view("dialogue", 390, 844)
    number = page.locator('.tw-number[data-tw-fold="contextual"]')
    number.click()
    tick = "button => getComputedStyle(button, '::after').content"
    assert number.evaluate(tick) == "none"
    radio(page, "A:contextual", "yes").check()
    assert number.evaluate(tick) == '"✓"'


def test_answers_stay_in_view_below_long_descriptions(open_view):
    """A laptop's window at 200 %."""
    page = open_view("conversation", 640, 360)
    page.evaluate("""() => {
      const view = views.conversation({work: {token: 't-0'}, progress: {done: 0, total: 40, minutes_left: null}});
      for (const criterion of view.rubric.criteria) criterion.definition = 'What it means, at length. '.repeat(30);
      show(view);
    }""")
    expect(page.locator(".tw-here .tw-definition")).to_be_visible()
    expect(page.locator(".tw-current .tw-points")).to_be_in_viewport(ratio=0.95)


def test_no_button_goes_on_where_all_responses_are_shown(open_view):
    page = open_view("dialogue")
    expect(page.locator('[data-layout="dock"]')).to_be_visible()
    expect(page.locator(".tw-next")).to_be_hidden()


def test_a_phone_shows_submit_whole_beside_missing_reasons(open_view):
    page = open_view(width=390, height=844)
    line = (
        "() => { document.querySelector('[data-tw-answered]').textContent = '14 of 15 answered, 11 reasons missing' }"
    )
    page.evaluate(line)
    submit = page.locator("[data-tw-submit]")
    assert submit.evaluate("(button) => button.scrollWidth <= button.clientWidth")
    assert page.locator(".tw-foot").evaluate("(foot) => foot.scrollWidth <= foot.clientWidth")


def test_previous_and_next_go_on_from_the_button_below(open_view):
    page = open_view("succession")
    focus_heading(page)
    page.keyboard.type("45")
    below = page.locator(".tw-next")
    expect(below).to_be_focused()
    page.keyboard.press("j")
    expect(below).to_be_focused()
    page.keyboard.press("k")
    expect(page.locator('.tw-current[data-tw-question="A:fluency"]')).to_be_visible()


@pytest.mark.long
def test_an_unanswered_draft_is_sent_again_by_a_reload(open_view, server):
    page = open_view()
    page.route("**/desk/draft", lambda route: route.abort())
    radio(page, "A:fluency", 5).check()
    expect(saved(page)).to_have_attribute("data-state", "waiting")
    assert server.drafts == []
    page.unroute("**/desk/draft")
    page.reload()
    page.wait_for_function("window.ready")
    expect(radio(page, "A:fluency", 5)).to_be_checked()
    expect(saved(page)).to_have_attribute("data-state", "saved")
    assert server.drafts[-1]["draft"]["ratings"] == {"A": {"fluency": 5}}


def test_an_older_local_version_is_offered_and_not_taken(open_view, server):
    page = open_view()
    page.evaluate("""() => {
      const rated = (fluency) => ({ratings: {A: {fluency}}});
      localStorage.setItem('triptych:s-9:old', JSON.stringify({time: Date.now(), base: 1, seq: 2, draft: rated(2)}));
      show(views.reviews({work: {token: 't-9', store_key: 's-9', draft_seq: 4}, draft: rated(6)}));
    }""")
    expect(radio(page, "A:fluency", 6)).to_be_checked()
    page.locator("[data-tw-older=use]").click()
    expect(radio(page, "A:fluency", 2)).to_be_checked()


@pytest.mark.parametrize(("chosen", "fluency"), [("there", 1), ("here", 5)])
def test_answers_in_two_tabs_are_both_shown_to_choose_from(open_view, server, chosen, fluency):
    page = open_view()
    server.refusal = (
        409,
        {
            "refused": "open_elsewhere",
            "draft": {"ratings": {"A": {"fluency": 1}}},
            "draft_seq": 7,
            "message": "This item is open in another tab or computer.",
        },
    )
    radio(page, "A:fluency", 5).check()
    expect(page.locator(".tw-notices")).to_contain_text("open in another tab")
    page.locator("[data-tw-take]").click()
    row = page.get_by_role("row", name="Fluency, Response A")
    assert row.get_by_role("cell").all_inner_texts() == ["5 More than partially", "1 Not at all"]
    assert server.drafts == []
    page.locator(f'[data-tw-both="{chosen}"]').click()
    expect(radio(page, "A:fluency", fluency)).to_be_checked()
    expect(saved(page)).to_have_attribute("data-state", "saved")
    assert server.drafts[-1]["draft"]["ratings"] == {"A": {"fluency": fluency}}
    assert server.drafts[-1]["take"] is True and server.drafts[-1]["base"] == 7 and server.drafts[-1]["seq"] == 8


@pytest.mark.long
def test_an_invalid_draft_says_why_and_changes_are_sent(open_view, server):
    page = open_view()
    server.refusal = (400, {"refused": "invalid", "message": "That does not fit."})
    radio(page, "A:fluency", 5).check()
    expect(page.locator(".tw-notices")).to_contain_text("That does not fit.")
    expect(saved(page)).to_have_text("Not saved")
    server.refusal = None
    radio(page, "A:fluency", 4).check()
    expect(saved(page)).to_have_attribute("data-state", "saved")
    expect(page.locator(".tw-notices")).to_be_empty()
    assert server.drafts[-1]["draft"]["ratings"] == {"A": {"fluency": 4}}


def test_the_content_note_opens_and_closes_by_its_button(open_view):
    """Before the first item it is read with the instructions."""
    page = open_view("conversation")
    note, button = page.locator("[data-tw-content-note]"), page.locator("[data-tw-note-toggle]")
    expect(note).to_have_count(0)
    button.click()
    expect(note).to_contain_text("You may stop at any time")
    button.click()
    expect(note).to_have_count(0)


@pytest.mark.long
def test_each_tab_has_its_own_pen_across_reloads(open_view):
    page = open_view()
    pen = page.evaluate("sessionStorage.getItem('triptych-pen')")
    other = open_view(context=page.context)
    assert other.evaluate("sessionStorage.getItem('triptych-pen')") != pen
    page.reload()
    page.wait_for_function("window.ready")
    assert page.evaluate("sessionStorage.getItem('triptych-pen')") == pen


@pytest.mark.long
def test_signing_in_again_is_offered_without_taking_the_focus(open_view, server):
    page = open_view()
    server.refusal = (401, {"refused": "signed_out", "message": "You are signed out."})
    answer = radio(page, "A:fluency", 5)
    answer.focus()
    answer.check()
    again = page.get_by_role("button", name="Sign in")
    expect(again).to_be_visible()
    expect(answer).to_be_focused()
    server.refusal = None
    page.evaluate("window.isOld = true")
    again.click()
    page.wait_for_function("!window.isOld && window.ready")


def is_all_saved(page) -> bool:
    """What the page that signs out hears."""
    return page.evaluate("""() => new Promise((resolve) => window.dispatchEvent(
      new CustomEvent('triptych:sign-out', {detail: {waitUntil: (done) => done.then(resolve)}})))""")


@pytest.mark.long
def test_signing_out_waits_for_drafts_of_earlier_items(open_view, server):
    page = open_view()
    page.evaluate("() => { Storage.prototype.setItem = () => { throw new DOMException('', 'QuotaExceededError'); }; }")
    server.refusal = (401, {"refused": "signed_out", "message": "You are signed out."})
    radio(page, "A:fluency", 5).check()
    page.evaluate("show(views.reviews({work: {token: 't-2', store_key: 'one.c'}}))")
    assert is_all_saved(page) is False
    page.evaluate("unmount()")
    assert is_all_saved(page) is False


def test_signing_out_saves_first_and_leaves_nothing_on_the_computer(open_view, server):
    page = open_view()
    radio(page, "A:fluency", 5).check()
    assert is_all_saved(page) is True
    assert server.drafts[-1]["draft"]["ratings"]["A"]["fluency"] == 5
    assert page.evaluate("Object.keys(localStorage).filter((k) => k.startsWith('triptych:'))") == []


def test_signing_out_forgets_only_that_persons_drafts(open_view):
    page = open_view()
    sizes = page.evaluate("""() => {
      for (const key of ['one.a:pen', 'one.b:other', 'two.a:pen']) {
        localStorage.setItem(`triptych:${key}`, JSON.stringify({time: Date.now(), base: 0, seq: 1, draft: {}}));
      }
      show(views.reviews({work: {token: 't-2', store_key: 'one.c'}}));
      window.dispatchEvent(new CustomEvent('triptych:signed-out'));
      return Object.keys(localStorage).filter((key) => key.startsWith('triptych:'));
    }""")
    assert sizes == ["triptych:two.a:pen"]


@pytest.mark.long
def test_leaving_the_page_sends_what_is_unsent(open_view, server):
    page = open_view()
    radio(page, "A:fluency", 5).check()
    page.goto("about:blank")
    other = open_view()
    expect(saved(other)).to_have_attribute("data-state", "saved")
    assert server.drafts[-1]["draft"]["ratings"] == {"A": {"fluency": 5}}


def test_guidelines_open_next_to_the_task_at_the_criterion(open_view):
    page = open_view()
    page.locator('[data-tw-info="domain"]').first.click()
    expect(page.locator("[data-tw-guidelines]")).to_be_visible()
    expect(page.locator('[data-tw-guide="domain"]')).to_be_focused()
    expect(page.locator('[data-tw-text="A"]')).to_be_visible()
    page.keyboard.press("g")
    expect(page.locator("[data-tw-guidelines]")).to_be_hidden()


def test_guidelines_are_as_high_as_the_window_below_its_head(open_view):
    """Not only as high as a context above the responses."""
    page = open_view("dialogue", 1200, 720)
    expect(page.locator('[data-layout="dock"][data-context="top"]')).to_be_visible()
    page.locator("[data-tw-guidelines-open]").click()
    assert page.locator("[data-tw-guidelines]").bounding_box()["height"] > 500


def test_chinese_questions_are_not_slanted_in_the_guidelines(open_view):
    question = open_view("dialogue").locator(".tw-guide-question").first
    slant = "(e, code) => { e.lang = code; return getComputedStyle(e).fontStyle; }"
    assert [question.evaluate(slant, code) for code in ("zh", "de")] == ["normal", "italic"]


def test_guidelines_stay_open_from_item_to_item_if_wanted(open_view):
    page = open_view()
    page.keyboard.press("g")
    page.get_by_label("Keep open").check()
    answer_all(page)
    page.keyboard.press("Control+Enter")
    page.evaluate(NEXT)
    expect(page.locator("[data-tw-guidelines]")).to_be_visible()
    page.get_by_label("Keep open").uncheck()
    page.evaluate(NEXT.replace("t-2", "t-3"))
    expect(page.locator("[data-tw-guidelines]")).to_be_hidden()


def test_descriptions_are_shown_at_the_first_three_items(open_view):
    page = open_view()
    at_item = """(done) => show(views.reviews({
      work: {token: `t-${done}`, store_key: `s-${done}`}, progress: {done, total: 40, minutes_left: null}}))"""
    meaning = page.locator(".tw-here .tw-definition")
    page.evaluate(at_item, 2)
    expect(meaning).to_contain_text("Compare the content only")
    page.evaluate(at_item, 3)
    expect(meaning).to_be_hidden()
    expect(page.locator(".tw-here .tw-names")).to_contain_text("Completely")
    switch = page.locator("[data-tw-descriptions]")
    switch.click()
    expect(meaning).to_be_visible()
    expect(switch).to_have_attribute("aria-pressed", "true")
    page.evaluate(at_item, 4)
    expect(meaning).to_be_visible()
    page.keyboard.press("d")
    expect(meaning).to_be_hidden()


def test_the_scores_of_training_items_join_the_guidelines_after_training(open_view):
    page = open_view()
    page.evaluate("""() => {
      const view = views.reviews({ work: {token: 't-9', store_key: 's-9'} });
      view.rubric.training = [{ context: null, candidates: [{ letter: 'A', text: 'A reply.', turns: [] }],
        scores: [{ criterion: 'Fluency', slot: 'A', score: '6 – Almost', reason: 'One slip.' }] }];
      show(view);
    }""")
    page.keyboard.press("g")
    expect(page.locator("[data-tw-guidelines]")).to_contain_text("Training items with their scores")
    expect(page.locator("[data-tw-guidelines]")).to_contain_text("One slip.")


@pytest.mark.long
def test_a_second_click_or_key_submits_no_second_item(open_view):
    """The second click meets the next item, whose button is in the same place and which needs no answer."""
    page = open_view()
    page.evaluate("""() => {
      const optional = (number) => {
        const view = views.reviews({ work: { token: `t-${number}`, store_key: `s-${number}` } });
        for (const criterion of view.rubric.criteria) criterion.required = false;
        return view;
      };
      const enter = new KeyboardEvent("keydown", { key: "Enter", code: "Enter", ctrlKey: true, bubbles: true });
      window.seconds = [
        () => document.querySelector("[data-tw-submit]").click(),
        () => document.activeElement.dispatchEvent(enter),
      ];
      let number = 1;
      window.onAction = ({ kind }) => kind === "submit" && setTimeout(() => {
        show(optional(++number));
        window.shown = performance.now();
        seconds.shift()?.();
      });
      show(optional(1));
    }""")

    def submitted() -> list[str]:
        return [action["assignment"] for action in actions(page, "submit")]

    for number in (1, 2):
        radio(page, "A:fluency", 5).check()
        page.locator("[data-tw-submit]").click()
        page.wait_for_selector(f".tw[data-token=t-{number + 1}]")
        page.wait_for_function("performance.now() - shown > 500")
        assert submitted() == ["t-1", "t-2"][:number]

    page.locator("[data-tw-submit]").click()  # they mean to leave it without an answer
    assert submitted() == ["t-1", "t-2", "t-3"]


def test_training_feedback_shows_the_reference_and_goes_on(open_view):
    page = open_view("training")
    expect(page.locator("[data-tw-feedback]")).to_contain_text("Easy to read, with small slips.")
    assert page.locator("[data-tw-question] input:enabled").count() == 0
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator("[data-layout=phone]")).to_be_visible()
    reason = page.get_by_role("row", name="Fluency").get_by_role("cell").last
    assert reason.bounding_box()["width"] > 300
    page.locator("[data-tw-continue]").click()
    assert actions(page, "continue") == [{"kind": "continue", "assignment": "t-1"}]


def test_a_preview_never_says_that_something_is_saved(open_view):
    page = open_view("preview")
    expect(page.locator("[data-tw-saved]")).to_have_text("Preview: nothing is saved")
    page.locator("[data-tw-question] input[type=radio]").first.check()
    expect(page.locator("[data-tw-answered]")).to_contain_text("1 of")
    expect(page.locator("[data-tw-saved]")).to_have_text("Preview: nothing is saved")


# the surface lays itself out again before a frame is painted
LAID_OUT = "() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))"


@pytest.mark.long
@pytest.mark.parametrize("view", ["reviews", "dialogue", "conversation", "succession", "training"])
def test_nothing_is_wider_than_the_window(open_view, view):
    page = open_view(view)
    for width in (1440, 1024, 899, 390):
        page.set_viewport_size({"width": width, "height": SIZE["height"]})
        page.evaluate(LAID_OUT)
        assert page.evaluate("[innerWidth, document.documentElement.scrollWidth <= innerWidth]") == [width, True]


@pytest.mark.parametrize(
    ("heading", "state"),
    [("Training item 1 of 2", "Saved ✓"), ("Élément d'entraînement 12 sur 14", "Enregistré ✓")],
)
def test_saved_is_one_line_on_a_phone(open_view, heading, state):
    page = open_view(width=390, height=844)
    page.locator(".tw-heading").evaluate("(heading, text) => { heading.textContent = text; }", heading)
    saved(page).evaluate("(line, text) => { line.textContent = text; }", state)
    assert saved(page).evaluate("(line) => line.offsetHeight < 20 && line.scrollWidth <= line.offsetWidth")
    assert page.locator(".tw-head").evaluate("(head) => head.offsetHeight") < 2 * 44  # one row of buttons


def test_a_long_state_fits_the_head_of_a_phone(open_view):
    page = open_view(width=390, height=844)
    text = "Working offline, this item will be submitted by itself"
    saved(page).evaluate("(line, text) => { line.textContent = text; }", text)
    expect(saved(page)).to_have_attribute("data-state", "saved")
    assert page.locator(".tw-head").evaluate("(head) => head.offsetHeight") < 2 * 44


# what is right of the end of its row, and tabs under what is done with the response in hand
PLACED_WRONG = """() => {
  const box = (element) => element.getBoundingClientRect();
  const shown = (selector) => [...document.querySelectorAll(selector)].filter((e) => e.checkVisibility());
  const tabs = shown('.tw-tab'), end = box(document.querySelector('.tw-panes')).right;
  const others = shown('.tw-shown .tw-letter > :not(.tw-letter-name, :empty)').map(box);
  const hits = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  return tabs.filter((tab) => box(tab).right > end + 1 || others.some((other) => hits(box(tab), other)))
    .map((tab) => tab.textContent);
}"""


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 720)])
def test_eight_responses_are_rated_by_tabs_that_fit(open_view, width, height):
    page = open_view("eight", width=width, height=height)
    assert page.locator(".tw-tab:visible").count() == 9
    assert page.evaluate(PLACED_WRONG) == []
    assert page.evaluate(TARGETS, 24) == []
    browser.answer_all(page)
    page.locator(".tw-tab").last.click()
    assert page.locator(".tw-pane:visible").count() == 8
    assert page.locator(".tw-row:visible").count() == 1
    expect(page.locator("[data-tw-answered]")).to_have_text("17 of 17 answered")
    assert page.evaluate(PLACED_WRONG) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_three_short_responses_and_five_criteria_fit_a_laptop(open_view):
    page = open_view()
    assert page.evaluate("document.documentElement.scrollHeight") <= 900


TARGETS = """(high) => [...document.querySelectorAll(
    '.tw :is(button, a, .tw-cell, .tw-option, .tw-reason, input:not(label *))')]
  .filter((e) => e.checkVisibility()).map((e) => [e.className, e.getBoundingClientRect()])
  .filter(([, r]) => r.width < 24 || r.height < high).map(([name, r]) => [name, r.width, r.height])"""


@pytest.mark.long
def test_targets_are_large_enough_for_pointer_and_finger(open_view, chromium):
    mouse = open_view("conversation")
    assert mouse.evaluate(TARGETS, 24) == []
    mouse.set_viewport_size({"width": 390, "height": 844})
    expect(mouse.locator(".tw")).to_have_attribute("data-layout", "phone")
    assert mouse.evaluate(TARGETS, 24) == []
    touch = open_view("dialogue", context=chromium.new_context(has_touch=True, is_mobile=True), width=1024)
    assert touch.evaluate("matchMedia('(pointer: coarse)').matches")
    touch.locator("[data-tw-find]").evaluate("(find) => find.click()")
    radio(touch, "A:appropriate", "yes").check()
    assert touch.evaluate(TARGETS, 44) == []
    touch.set_viewport_size({"width": 390, "height": 844})
    expect(touch.locator(".tw")).to_have_attribute("data-layout", "phone")
    assert touch.evaluate(TARGETS, 44) == []


@pytest.mark.parametrize(("width", "height"), [(720, 450), (640, 360)])
def test_text_and_question_fit_a_window_at_200_percent(open_view, width, height):
    page = open_view("reviews", width=width, height=height)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.documentElement.scrollHeight") <= height
    places = [
        page.locator(name).bounding_box() for name in (".tw-current", "[data-tw-submit]", ".tw-shown .tw-pane-body")
    ]
    assert all(place["y"] >= 0 and place["y"] + place["height"] <= height for place in places)
    assert places[2]["height"] >= 60  # two lines of text at least


@pytest.mark.long
def test_forced_colours_show_answers_highlights_and_question(open_view):
    page = open_view()
    page.emulate_media(forced_colors="active", reduced_motion="reduce")
    select_text(page, "A", 0, 4)
    page.locator('.tw-float [data-tw-label="odd"]').click()
    radio(page, "A:relevance", 4).click()
    page.locator('.tw-tools [data-tw-label="odd"]').click()
    colour = "(element) => getComputedStyle(element).backgroundColor"
    for marked, plain in (
        ('[data-tw-text="A"] mark', '[data-tw-text="A"]'),
        ('[data-tw-question="A:relevance"] input:checked + .tw-mark', '[data-tw-question="B:relevance"] .tw-mark'),
        ('.tw-tools [aria-pressed="true"]', '.tw-tools [aria-pressed="false"]'),
        (".tw-bar-done", ".tw-bar"),
    ):
        assert page.locator(marked).first.evaluate(colour) != page.locator(plain).first.evaluate(colour), marked
    expect(page.locator(".tw-current")).to_have_css("outline-style", "solid")
    page.keyboard.press("g")
    expect(page.locator(".tw-guidelines")).to_have_css("animation-name", "none")
    page.emulate_media(forced_colors="none", reduced_motion="no-preference")


def test_rings_of_answers_have_a_contrast_of_three(open_view):
    page = open_view("dialogue")
    for theme in ("light", "dark"):
        page.evaluate("(theme) => (document.body.className = theme)", theme)
        contrasts = page.evaluate("""() => {
          const pen = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d');
          const luminance = (...colours) => {
            for (const colour of colours) { pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1); }
            const [r, g, b] = [...pen.getImageData(0, 0, 1, 1).data].map((c) => c / 255)
              .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const style = (selector) => getComputedStyle(document.querySelector(selector));
          const paper = style('.tw').backgroundColor;
          const option = style('.tw-q:not(.tw-current) .tw-option');
          const ring = luminance(option.borderTopColor);
          const grounds = [[paper], [option.backgroundColor], [paper, style('.tw-current').backgroundColor]];
          return grounds.map((ground) => luminance(...ground))
            .map((ground) => (Math.max(ground, ring) + 0.05) / (Math.min(ground, ring) + 0.05));
        }""")
        assert min(contrasts) >= 3, theme


def test_a_narrow_window_keeps_the_answers(open_view):
    page = open_view()
    radio(page, "B:fluency", 4).check()
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator(".tw")).to_have_attribute("data-layout", "phone")
    expect(radio(page, "B:fluency", 4)).to_be_checked()


def test_dark_and_light_follow_the_theme(open_view):
    page = open_view()
    swatch, submit = page.locator(".tw-swatch").first, page.locator("[data-tw-submit]")
    expect(swatch).to_have_css("background-color", "rgb(180, 83, 9)")
    expect(submit).to_have_css("color", "color(srgb-linear 1 1 1)")
    page.evaluate("document.body.className = 'dark'")
    expect(swatch).to_have_css("background-color", "rgb(240, 179, 90)")
    expect(submit).to_have_css("color", "color(srgb-linear 0 0 0)")


@pytest.mark.parametrize("view", ["long", "manyTurns"])
def test_very_long_contexts_are_shown_whole(open_view, view):
    page = open_view(view)
    shown = page.evaluate("document.querySelector('.tw-context').textContent.length")
    context = page.evaluate("(data.item.context.text ?? '') + data.item.context.turns.map((t) => t.text).join('')")
    assert shown >= len(context) * 0.97
    assert page.evaluate("document.querySelectorAll('.tw-context *').length") < 9000


def test_unmounting_removes_the_surface_and_its_listeners(open_view):
    page = open_view()
    page.evaluate("unmount()")
    assert page.locator(".tw").count() == 0
    page.keyboard.press("Control+Enter")
    assert page.evaluate("actions") == []
