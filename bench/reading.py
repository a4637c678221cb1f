"""The share of texts that annotators see while they answer each question of the shipped rubrics, in five windows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, ViewportSize, sync_playwright

from bench.chromium import launch_chromium
from bench.figures import Figure, at_least, at_most
from bench.options import Options
from bench.server import running_app
from bench.surface import FLAGS, USABLE
from bench.world import World, build_shipped

# for each window the minimum share of a text in view, in %: nine tenths of the share in this layout's design for
# similar texts
WINDOWS: dict[tuple[int, int], dict[str, int]] = {
    (1280, 720): {"rrgen": 90, "dialogue_response": 90, "mental_health_qa": 59, "esc_dialogue": 41},
    (1366, 768): {"rrgen": 90, "dialogue_response": 90, "mental_health_qa": 80, "esc_dialogue": 45},
    (1440, 900): {"rrgen": 90, "dialogue_response": 90, "mental_health_qa": 90, "esc_dialogue": 54},
    (1920, 1080): {"rrgen": 90, "dialogue_response": 90, "mental_health_qa": 90, "esc_dialogue": 66},
    (390, 844): {"rrgen": 90, "dialogue_response": 90, "mental_health_qa": 90, "esc_dialogue": 27},
}
MAX_ACTIONS = {"rrgen": 18, "dialogue_response": 27, "mental_health_qa": 16, "esc_dialogue": 7}  # by mouse, one item
PHONE = 700  # px
WORDS = "the last sentence comes from nowhere"
# shares of what is shown; `letters` in a full line of the widest text, computed from a sample of running English
SEEN = """
() => {
  const shown = (element) => element && element.getClientRects().length > 0;
  const share = (inner, outer) => {
    const [a, b] = [inner.getBoundingClientRect(), outer.getBoundingClientRect()];
    const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    return a.height ? Math.round(100 * Math.max(0, height) / a.height) : 100;
  };
  const board = document.querySelector('.tw-board');
  const bodies = [...board.querySelectorAll('.tw-pane-body')].filter(shown);
  const text = bodies[0].querySelector('.tw-judged');
  const style = getComputedStyle(text);
  const pen = document.createElement('canvas').getContext('2d');
  pen.font = `${style.fontSize} ${style.fontFamily}`;
  const sample = 'The quick answer is that most people read a line of fifty or sixty letters with ease.';
  const letter = pen.measureText(sample).width / sample.length;
  const widest = Math.max(...[...bodies[0].querySelectorAll('.tw-judged')].map((box) => box.clientWidth));
  const rows = board.querySelector('.tw-rows');
  return {
    shares: bodies.map((body) => share(body.querySelector('.tw-response'), body)),
    letters: Math.floor((widest - (text.classList.contains('tw-bubble') ? 20 : 0)) / letter),
    lines: Math.floor(bodies[0].clientHeight / parseFloat(style.lineHeight)),
    row: share(board.querySelector('.tw-row.tw-here'), rows),
    layout: document.querySelector('.tw').dataset.layout, folds: board.classList.contains('tw-folding'),
  };
}
"""
# the next question as an annotator would answer it: the first open one on screen
NEXT = """
() => {
  const shown = (element) => element.getClientRects().length > 0;
  const open = [...document.querySelectorAll('.tw-q:not([data-answered])')];
  const { layout } = document.querySelector('.tw').dataset;
  const { step } = document.querySelector('.tw-board').dataset;
  const ofStep = open.filter((question) => layout === 'dock' || question.dataset.slot === step);
  const question = ofStep.find(shown) ?? ofStep[0];
  if (!question) return open.length ? { next: true } : null;
  const all = [...document.querySelectorAll('.tw-q')];
  return {
    id: question.dataset.twQuestion, place: all.indexOf(question), shown: shown(question),
    row: question.closest('.tw-row').dataset.twRow,
  };
}
"""
SCROLLED = """
() => [...document.querySelectorAll('.tw-rows, .tw-pane-body, html')].reduce((sum, box) => sum + box.scrollTop, 0)
"""


class Reading:
    """One item answered by pointer, and what was in view at each question."""

    def __init__(self, page: Page, touch: bool) -> None:
        self.page, self.touch = page, touch
        self.actions, self.scrolled = 0, 0.0
        self.seen: list[dict[str, Any]] = []

    def press(self, target: Locator) -> None:
        before = self.page.evaluate(SCROLLED)
        target.scroll_into_view_if_needed()
        self.scrolled += abs(self.page.evaluate(SCROLLED) - before)
        target.tap() if self.touch else target.click()
        self.actions += 1

    def answer(self) -> None:
        """Answer every question, and count the click on Submit without making it."""
        while asked := self.page.evaluate(NEXT):
            if "next" in asked:
                step = self.page.locator(".tw-board").get_attribute("data-step")
                self.press(self.page.locator(".tw-next"))
                self.page.locator(f".tw-board:not([data-step='{step}'])").wait_for(state="attached")
            elif not asked["shown"]:
                self.press(self.page.locator(f"[data-tw-fold='{asked['row']}']:visible"))
            else:
                self._answer(self.page.locator(f"[data-tw-question='{asked['id']}']"), asked["place"])
        self.actions += 1

    def _answer(self, question: Locator, place: int) -> None:
        options = question.locator("label:visible")
        self.press(options.nth(place * 3 % options.count()))
        self.seen.append(self.page.evaluate(SEEN))
        ask = question.locator(".tw-ask")
        if not ask.is_visible():
            return
        reasons = ask.locator(".tw-reason")
        if reasons.count():
            self.press(reasons.first)
        if ask.get_by_label("required").count():
            self.press(ask.locator("textarea"))
            self.page.keyboard.type(WORDS)


def reading(options: Options, home: Path) -> list[Figure]:
    """Texts in view, the active row in view, scrolling and actions, in each study's own presentation."""
    windows = dict(list(WINDOWS.items())[::4]) if options.quick else WINDOWS
    shipped = build_shipped(home, len(windows))
    runs: dict[str, list[Reading]] = {key: [] for key in shipped}
    figures = []
    with running_app(home) as server, sync_playwright() as player:
        browser = launch_chromium(player, FLAGS)
        for number, ((width, height), least) in enumerate(windows.items()):
            for key, world in shipped.items():
                size: ViewportSize = {"width": width, "height": height}
                touch = width < PHONE
                context = browser.new_context(viewport=size, has_touch=touch, is_mobile=touch)
                context.add_cookies(
                    [{"name": name, "value": value, "url": server.url} for name, value in world.cookies[number].items()]
                )
                run = _read(Reading(context.new_page(), touch), world, server.url)
                context.close()
                runs[key].append(run)
                figures.append(_in_view(key, size, run, least[key]))
        browser.close()
    return figures + [figure for key, of_key in runs.items() for figure in _by_rubric(key, of_key)]


def _read(run: Reading, world: World, url: str) -> Reading:
    run.page.goto(f"{url}/annotate?study={world.slug}")
    run.page.wait_for_selector(USABLE)
    for control in run.page.locator("[data-tw-banner-close]").all():
        control.click()
    if run.page.locator("[data-tw-descriptions][aria-pressed=true]").count():
        run.page.locator(".tw-heading").focus()
        run.page.keyboard.press("d")
    run.seen.append(run.page.evaluate(SEEN))
    run.answer()
    return run


def _in_view(key: str, size: ViewportSize, run: Reading, least: int) -> Figure:
    first = run.seen[0]
    folds = ", folds" if first["folds"] else ""
    note = (
        f"{first['layout']}{folds}, {first['letters']} letters a line, {first['lines']} lines; "
        f"at the first question {' / '.join(map(str, first['shares']))} % of the responses shown; "
        "the target applies to the lowest share of any response at any question"
    )
    what = f"{key} at {size['width']} × {size['height']}: text in view"
    return at_least(what, "%", [min(min(seen["shares"]) for seen in run.seen)], least, note=note)


def _by_rubric(key: str, runs: list[Reading]) -> list[Figure]:
    rows = [min(seen["row"] for seen in run.seen) for run in runs]
    desk = [run.actions for run in runs if not run.touch]
    note = "one value per window, by pointer"
    return [
        at_least(f"{key}: active row in view", "%", [min(rows)], 94, note=note),
        at_most(f"{key}: scrolling needed to answer", "px", [max(run.scrolled for run in runs)], 17, note=note),
        at_most(f"{key}: actions for one item", "", [max(desk)], MAX_ACTIONS[key], note="clicks, including Submit"),
    ]
