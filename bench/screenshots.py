"""`make screenshots`: pictures of every screen of a running app with the demo studies, light and dark, wide and narrow.

All go to docs/screenshots/all/, which is not in the repository; those in README and guides are stored next to it.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, Page, StorageState, ViewportSize, expect, sync_playwright

from bench.chromium import launch_chromium
from bench.server import ROOT, Server, running_app
from bench.surface import FLAGS

PICTURES = ROOT / "docs" / "screenshots"
Scheme = Literal["light", "dark"]
PATIENCE = 120_000  # ms; enough for a busy machine
WIDE: ViewportSize = {"width": 1440, "height": 900}
NARROW: ViewportSize = {"width": 390, "height": 844}
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
LOOKS = [(scheme, size) for scheme in SCHEMES for size in (WIDE, NARROW)]
SHIPPED_PICTURES = {
    "annotate": "annotate-reviews-light-1440",
    "annotate-phone": "annotate-posts-light-390",
    "guidelines": "guidelines-light-1440",
    "new-study": "new-study-light-1440",
    "rubric": "rubric-light-1440",
    "launch": "draft-launch-light-1440",
    "people": "people-light-1440",
    "results": "results-light-1440",
    "items": "items-light-1440",
}
DEMOS = {
    "reviews": "demo-replies-to-customer-reviews",
    "dialogue": "demo-next-turns-in-a-dialogue",
    "conversations": "demo-emotional-support-conversations",
    "posts": "demo-answers-to-mental-health-questions",
}
OPEN_DEMOS = {short: study for short, study in DEMOS.items() if short != "dialogue"}
# name → whether to take another picture of the whole page
PAGES_OF_A_STUDY = {
    "setup": True,
    "preview": False,
    "dry_run": False,
    "people": True,
    "workbooks": False,
    "log": False,
    "planner": True,
    "results": True,
    "quality": True,
    "items": True,
    "ratings": False,
    "report": True,
}
# the element that is drawn last, for pages with a component of their own
DRAWN_LAST = {"preview": ".tw[data-token]", "ratings": "iframe"}
DRAFT = "Next turns, a first try"
# unchanged for half a second: between two runs, and while a component is loading, the page is briefly unchanged, too
STILL = """
() => {
  const still = document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning'
    && !document.querySelector('[data-testid=stSkeleton], [data-stale=true]')
    && (document.querySelector('[data-tw-saved]')?.dataset.state ?? 'saved') === 'saved';
  window.stillSince = still ? window.stillSince ?? performance.now() : null;
  return still && performance.now() - window.stillSince > 500;
}
"""
SOME_ANSWERS = """
(limit) => [...document.querySelectorAll('.tw [data-tw-question]')].slice(0, limit).forEach((question, n) => {
  const inputs = [...question.querySelectorAll('input[type=radio]')];
  if (inputs.length && !inputs.some((input) => input.checked)) inputs[(n * 5 + 1) % inputs.length].click();
})
"""


class Photographer:
    """Takes pictures of a page in every theme and width."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.look = ""

    def take(self, page: Page, name: str, whole: bool = False) -> None:
        stand_still(page)
        page.evaluate("document.fonts.ready")
        size = page.viewport_size
        assert size is not None  # every page here has a fixed size
        if whole:
            height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
            page.set_viewport_size({"width": size["width"], "height": min(height + 40, 6000)})
            stand_still(page)
        page.screenshot(path=self.folder / f"{name}-{self.look}.png")
        page.set_viewport_size(size)


def stand_still(page: Page) -> None:
    page.evaluate("window.stillSince = null")
    page.wait_for_function(STILL)


@contextmanager
def looking(browser: Browser, scheme: Scheme, size: ViewportSize, state: StorageState | None = None) -> Iterator[Page]:
    context = browser.new_context(viewport=size, color_scheme=scheme, storage_state=state, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    yield context.new_page()
    context.close()


def begin(page: Page, server: Server, study: str, name: str) -> None:
    """Join a demo study under a name."""
    page.goto(f"{server.url}/?study={study}")
    page.get_by_label("Your name", exact=True).fill(name)
    page.get_by_role("button", name="Start").click()
    page.get_by_role("button", name=re.compile("noted")).click()
    if study == DEMOS["conversations"]:
        page.get_by_role("button", name="I agree").click()
    page.get_by_label("I have read this").check()
    page.get_by_role("button", name="Start", exact=True).click()
    page.locator(".tw[data-token]").wait_for()
    page.mouse.move(0, 0)  # so that nothing is hovered


def annotators_screens(
    browser: Browser, server: Server, camera: Photographer, scheme: Scheme, size: ViewportSize
) -> None:
    for short, study in OPEN_DEMOS.items():
        with looking(browser, scheme, size) as page:
            begin(page, server, study, f"Kim {camera.look} {short}")
            page.evaluate(SOME_ANSWERS, 7)
            camera.take(page, f"annotate-{short}")
            if short == "reviews":
                page.locator("[data-tw-guidelines-open]").click()
                camera.take(page, "guidelines")
                page.goto(server.url)
                expect(page.get_by_role("heading", name="My work")).to_be_visible()
                camera.take(page, "my-work")
                page.goto(f"{server.url}/my_data")
                expect(page.get_by_role("heading", name="My data")).to_be_visible()
                camera.take(page, "my-data")
            if short == "conversations":
                page.evaluate(SOME_ANSWERS, 99)
                page.locator("[data-tw-submit]").click()
                page.locator("[data-tw-continue]").wait_for()
                camera.take(page, "training-feedback")


def leads_screens(page: Page, server: Server, camera: Photographer) -> None:
    page.goto(server.url)
    expect(page.get_by_role("heading", name="Studies", exact=True)).to_be_visible()
    camera.take(page, "studies")
    new_study(page, server, camera)
    page.goto(f"{server.url}/import_ratings")
    expect(page.get_by_role("heading", name="Import ratings")).to_be_visible()
    camera.take(page, "import-ratings")
    for name, whole in PAGES_OF_A_STUDY.items():
        page.goto(f"{server.url}/{name}?study={DEMOS['reviews']}")
        page.get_by_test_id("stElementContainer").nth(3).wait_for()
        if name in DRAWN_LAST:
            page.locator(DRAWN_LAST[name]).first.wait_for()
        camera.take(page, name)
        if whole:
            camera.take(page, f"{name}-whole", whole)
        if name in ("results", "setup", "log"):
            sections(page, camera, name)
        if name == "dry_run":
            page.get_by_role("button", name=re.compile("Run$")).click()
            page.get_by_test_id("stDataFrame").first.wait_for()
            camera.take(page, "dry-run-report", whole=True)


def new_study(page: Page, server: Server, camera: Photographer) -> None:
    """The form, and in the first theme and width the draft that it creates."""
    page.goto(f"{server.url}/new_study")
    region = page.get_by_role("region", name=re.compile("^Items"))
    region.locator("input[type=file]").set_input_files(ROOT / "data" / "demo" / "dialogue_response.jsonl")
    create = page.get_by_role("button", name="Create the study")
    expect(create).to_be_visible()
    camera.take(page, "new-study", whole=True)
    if camera.look == "light-1440":
        page.get_by_role("textbox", name="Title").fill(DRAFT)
        page.keyboard.press("Tab")
        stand_still(page)
        create.click()
        expect(page.get_by_role("heading", name="New study")).to_be_hidden()
    setup = f"{server.url}/setup?study={re.sub(r'[^a-z]+', '-', DRAFT.lower())}&section="
    page.goto(f"{setup}Rubric")
    page.locator(".rb .tw-criterion-title").first.wait_for()
    camera.take(page, "rubric")
    page.goto(f"{setup}Launch")
    expect(page.get_by_role("button", name="Launch the study")).to_be_visible()
    camera.take(page, "draft-launch", whole=True)


def sections(page: Page, camera: Photographer, of: str) -> None:
    """A picture of each tab of a page."""
    for tab in page.get_by_test_id("stTab").all():
        name = tab.inner_text().strip()
        tab.click()
        expect(tab).to_have_attribute("aria-selected", "true")
        camera.take(page, f"{of}-{re.sub(r'[^a-z]+', '-', name.lower())}", whole=True)


def everyones_screens(page: Page, server: Server, camera: Photographer) -> None:
    page.goto(server.url)
    page.get_by_label("Your name", exact=True).wait_for()
    camera.take(page, "sign-in")


def set_up(browser: Browser, server: Server, picture: Callable[[Page], None]) -> StorageState:
    """Create the lead account; returns the browser's signed-in state."""
    with looking(browser, "light", WIDE) as page:
        page.goto(server.setup_link())
        page.get_by_label("Your name", exact=True).fill("Dr Lead")
        picture(page)
        page.locator("input[type=password]").fill("a long passcode 42")
        page.get_by_role("button", name="Create the account").click()
        expect(page.get_by_role("heading", name="Studies", exact=True)).to_be_visible()
        return page.context.storage_state()


def keep(source: Path, target: Path) -> None:
    """Save a copy with 128 colours, wide pictures at two thirds of their size: a third of the bytes with no visible
    difference.
    """
    with Image.open(source) as picture:
        factor = 2 / 3 if picture.width > 1000 else 1
        small = picture.convert("RGB").resize((round(picture.width * factor), round(picture.height * factor)))
        small.quantize(128).save(target, optimize=True)


def main() -> int:
    argparse.ArgumentParser(prog="python -m bench.screenshots", description=__doc__).parse_args()
    folder = PICTURES / "all"
    folder.mkdir(parents=True, exist_ok=True)
    camera = Photographer(folder)
    expect.set_options(PATIENCE)
    with (
        tempfile.TemporaryDirectory() as home,
        running_app(Path(home), {"TRIPTYCH_DEMO": "1"}) as server,
        sync_playwright() as player,
    ):
        browser = launch_chromium(player, FLAGS)
        camera.look = "light-1440"
        lead = set_up(browser, server, lambda page: camera.take(page, "set-up"))
        for scheme, size in LOOKS:
            camera.look = f"{scheme}-{size['width']}"
            with looking(browser, scheme, size) as page:
                everyones_screens(page, server, camera)
            annotators_screens(browser, server, camera, scheme, size)
            with looking(browser, scheme, size, lead) as page:
                leads_screens(page, server, camera)
    for name, source in SHIPPED_PICTURES.items():
        keep(folder / f"{source}.png", PICTURES / f"{name}.png")
    print(f"{len(list(folder.glob('*.png')))} pictures in {folder.relative_to(ROOT)}, {len(SHIPPED_PICTURES)} kept.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
