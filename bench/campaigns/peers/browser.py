"""One annotator in a real Chromium: the same clicks and the same clock for every tool.

The clock starts at the browser's event and stops after the frame that shows its effect. Times are stored in the session
storage, because some tools load a new page for every item.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from playwright.sync_api import Error, Page, sync_playwright

from bench.campaigns.peers.tool import NotMeasured, Project, Screen, Tool
from bench.chromium import launch_chromium
from bench.surface import FLAGS, PRESS, SIZE

FIRST, NEXT, CLICKS = "bench-first", "bench-next", "bench-clicks"
PATIENCE = 60_000  # ms
CLOCK = """
(() => {
  const clock = () => performance.timeOrigin + performance.now();
  const painted = () => new Promise((done) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => done(clock());
    channel.port2.postMessage(0);
  }));
  const shown = () => { try { return SHOWN; } catch { return null; } };
  const once = async (holds) => { while (!holds()) await painted(); return painted(); };
  const keep = (name, value) => {
    sessionStorage[name] = JSON.stringify([...JSON.parse(sessionStorage[name] ?? '[]'), value]);
  };
  const arrival = () => {
    const { item, when } = JSON.parse(sessionStorage['bench-waiting']);
    once(() => shown() !== null && String(shown()) !== item).then((now) => {
      delete sessionStorage['bench-waiting'];
      keep('bench-next', now - when);
    });
  };
  once(() => shown() !== null).then((now) => keep('bench-first', now - performance.timeOrigin));
  if (sessionStorage['bench-waiting']) arrival();
  let clicked = null;
  addEventListener('click', (event) => {
    if (event.target.closest(SCREEN.submit)) {
      const when = performance.timeOrigin + event.timeStamp;
      sessionStorage['bench-waiting'] = JSON.stringify({ item: String(shown()), when });
      arrival();
      return;
    }
    const option = event.target.closest(SCREEN.question) && event.target.closest(SCREEN.option);
    if (!option || option === clicked) return;
    clicked = option;
    const began = event.timeStamp;
    const options = () => document.querySelectorAll(`:is(${SCREEN.question}) :is(${SCREEN.option})`);
    const place = [...options()].indexOf(option);  // a tool may put a new element there
    const chosen = () => options()[place].matches(SCREEN.chosen) || options()[place].querySelector(SCREEN.chosen);
    once(chosen).then((now) => keep('bench-clicks', now - performance.timeOrigin - began));
  }, true);
})();
"""

TRANSFERRED = """
() => [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
  .reduce((sum, entry) => sum + entry.transferSize, 0)
"""


@dataclass(frozen=True)
class Seen:
    """Milliseconds from each click to its frame, and from each submit to the frame with the next item."""

    clicks: list[float]
    next: list[float]


def first_load(tool: Tool, project: Project, cookies: Mapping[str, str]) -> float:
    """Milliseconds from the navigation until the page is usable. Raises NotMeasured."""
    with _opened(tool, project, cookies) as (page, _):
        return _stored_numbers(page, FIRST)[0]


def first_bytes(tool: Tool, project: Project, cookies: Mapping[str, str]) -> float:
    """Bytes received over HTTP, including headers and compressed, until the page was usable."""
    with _opened(tool, project, cookies) as (page, _):
        return page.evaluate(TRANSFERRED)


def look(tool: Tool, project: Project, cookies: Mapping[str, str], items: int) -> Seen:
    """Rate `items` items with the mouse, after one for warm-up. Raises NotMeasured."""
    with _opened(tool, project, cookies) as (page, screen):
        _rate(page, screen)
        page.evaluate("names => names.forEach((name) => sessionStorage.removeItem(name))", [CLICKS, NEXT])
        for _ in range(items):
            _rate(page, screen)
        return Seen(_stored_numbers(page, CLICKS), _stored_numbers(page, NEXT))


@contextmanager
def _opened(tool: Tool, project: Project, cookies: Mapping[str, str]) -> Iterator[tuple[Page, Screen]]:
    """The annotation page in a browser with an empty cache, ready for rating."""
    screen = tool.screen(project)
    with sync_playwright() as player:
        browser = launch_chromium(player, FLAGS)
        try:
            context = browser.new_context(viewport=SIZE)
            context.add_cookies([{"name": n, "value": v, "url": project.url} for n, v in cookies.items()])
            page = context.new_page()
            page.add_init_script(_clock(screen))
            page.goto(screen.address, wait_until="commit")
            page.wait_for_function("name => sessionStorage[name]", arg=FIRST, timeout=PATIENCE)
            yield page, screen
        except Error as error:
            raise NotMeasured(f"the page did not go along: {error.message.splitlines()[0]}") from error
        finally:
            browser.close()


def _clock(screen: Screen) -> str:
    return CLOCK.replace("SHOWN", screen.shown).replace("SCREEN", json.dumps(asdict(screen)))


def _stored_numbers(page: Page, name: str) -> list[float]:
    return json.loads(page.evaluate("name => sessionStorage[name] ?? '[]'", name))


def _rate(page: Page, screen: Screen) -> None:
    """Choose the second option of every question and submit; returns when the next item is shown."""
    before = len(_stored_numbers(page, NEXT))
    page.wait_for_timeout(500)
    questions = page.locator(screen.question)
    for n in range(questions.count()):
        questions.nth(n).locator(screen.option).nth(1).click(delay=PRESS)
    page.wait_for_timeout(600)
    page.locator(screen.submit).first.click(delay=PRESS)
    page.wait_for_function(
        "([name, count]) => JSON.parse(sessionStorage[name] ?? '[]').length > count",
        arg=[NEXT, before],
        timeout=PATIENCE,
    )
