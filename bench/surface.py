"""The workbench in a real Chromium: the cost of a click, whether keys get lost, and the time to the next item."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, Playwright, ViewportSize, sync_playwright

from bench.chromium import launch_chromium
from bench.figures import Figure, at_least, at_most
from bench.options import Options
from bench.server import running_app
from bench.world import World, build_world

FLAGS = ["--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
SIZE: ViewportSize = {"width": 1440, "height": 900}
USABLE = ".tw [data-tw-submit]"
KEYS = "142671"
PRESS = 60  # ms between pressing and releasing a mouse button; the click event follows the release

# Times of the page's own clock: from the input event to the first moment after the frame that shows its effect.
CLOCK = """
() => {
  const painted = () => new Promise((done) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => done(performance.now());
    channel.port2.postMessage(0);
  }));
  const root = () => document.querySelector('.tw');
  window.benchClicks = [];
  window.benchNext = [];
  window.benchErrors = [];
  addEventListener('error', (event) => window.benchErrors.push(String(event.message)));
  addEventListener('click', (event) => {
    if (event.target.matches('[data-tw-question] input')) {
      painted().then((now) => window.benchClicks.push(now - event.timeStamp));
    }
    if (event.target.closest('[data-tw-submit]')) {
      const before = root().dataset.token;
      const look = new MutationObserver(() => {
        if (!root() || root().dataset.token === before) return;
        look.disconnect();
        painted().then((now) => window.benchNext.push(now - event.timeStamp));
      });
      look.observe(document.body, { subtree: true, childList: true, attributes: true });
    }
  }, true);
}
"""
ANSWER_ALL = """
(places) => [...document.querySelectorAll('[data-tw-question]')].forEach((question, n) => {
  const inputs = [...question.querySelectorAll('input[type=radio]')];
  inputs[places[n] % inputs.length].click();
})
"""
RATED = """
() => [...document.querySelectorAll('[data-tw-question]')].map((question) => {
  const chosen = question.querySelector('input:checked');
  return [question.dataset.twQuestion, chosen ? chosen.value : null];
})
"""


@contextmanager
def signed_in(player: Playwright, world: World, url: str, number: int = 0) -> Iterator[Page]:
    """An empty page of a browser with the annotator's cookie."""
    browser = launch_chromium(player, FLAGS)
    try:
        context = browser.new_context(viewport=SIZE)
        context.add_cookies([{"name": n, "value": v, "url": url} for n, v in world.cookies[number].items()])
        yield context.new_page()
    finally:
        browser.close()


@contextmanager
def annotating(options: Options, home: Path) -> Iterator[tuple[Page, list[str]]]:
    """A page with a usable workbench, and the list of websocket frames that it has sent since."""
    world = build_world(home)
    with running_app(home) as server, sync_playwright() as player, signed_in(player, world, server.url) as page:
        sent: list[str] = []
        page.on("websocket", lambda socket: socket.on("framesent", lambda _: sent.append(socket.url)))
        page.goto(f"{server.url}/annotate?study={world.slug}")
        page.wait_for_selector(USABLE)
        page.evaluate(CLOCK)
        page.wait_for_timeout(500)
        sent.clear()
        yield page, sent


def click(options: Options, home: Path) -> list[Figure]:
    """The time from a click on a rating to its frame, and the websocket frames sent meanwhile."""
    with annotating(options, home) as (page, sent):
        questions = page.locator("[data-tw-question]")
        count = questions.count()
        for n in range(options.rounds(60)):
            inputs = questions.nth(n % count).locator("input[type=radio]")
            inputs.nth((n // count + n) % inputs.count()).click(force=True, delay=PRESS)
        page.wait_for_timeout(1500)
        taken, frames = page.evaluate("window.benchClicks"), len(sent)
    note = f"{count} questions on the page; from the click event to the frame that shows it"
    runs = "websocket messages of the page during these clicks"
    return [
        at_most("click on a rating → shown", "ms", taken, 20, by="p95", note=note),
        at_most("script runs caused by clicks", "", [frames], 0, note=runs),
    ]


def keys(options: Options, home: Path) -> list[Figure]:
    """Six number keys 30 ms apart give six right ratings."""
    right = []
    with annotating(options, home) as (page, _):
        for _ in range(options.rounds(10)):
            page.locator("[data-tw-question] input").first.focus()
            page.keyboard.type(KEYS, delay=30)
            page.wait_for_selector("[data-tw-saved][data-state=saved]")
            right.append(_right_keys(page))
            _answer_and_submit(page)
    note = "keys 1 4 2 6 7 1 on six seven-point questions, checked on the page once the draft is saved"
    return [at_least("six keys 30 ms apart: right ratings", "of 6", right, 6, note=note)]


def _right_keys(page: Page) -> int:
    return sum(answer == pressed for (_, answer), pressed in zip(page.evaluate(RATED), KEYS, strict=False))


def _answer_and_submit(page: Page) -> None:
    token = page.locator(".tw").get_attribute("data-token")
    page.evaluate(ANSWER_ALL, [n % 2 for n in range(15)])
    page.wait_for_timeout(600)
    page.locator("[data-tw-submit]").click(delay=PRESS)
    page.wait_for_function("token => document.querySelector('.tw')?.dataset.token !== token", arg=token)
    page.wait_for_timeout(150)


def submit(options: Options, home: Path) -> list[Figure]:
    """The time from a click on Submit to the next item on screen."""
    with annotating(options, home) as (page, _):
        for _ in range(options.rounds(40) + 1):
            _answer_and_submit(page)
        waited = page.evaluate("window.benchNext")[1:]
    note = "5 criteria × 3 responses, side by side; from the click event to the frame that shows the next item"
    return [at_most("submit → next item shown", "ms", waited, 60, note=note)]
