"""A lead's tasks in a browser: the actions that each takes, and the time spent waiting for the app."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from bench.chromium import launch_chromium
from bench.figures import Figure, at_most, observed
from bench.hands import AT_REST, QUIET_MS, Hands, KeyboardHands
from bench.options import Options
from bench.server import Server, running_app
from bench.surface import FLAGS, SIZE
from components.shell.places import PLACES, title_of

ITEMS = 22
PATIENCE_MS = 30_000
CRITERIA = {
    "Correctness": ("Is what it says true?", "Check every claim.", "Wrong", "Right"),
    "Completeness": ("Does it answer everything?", "Ignore what was not asked.", "Nothing", "Everything"),
    "Clarity": ("Can one follow it at once?", "Judge the wording only.", "Muddled", "Clear"),
    "Tone": ("How does it sound?", "Think of a visitor.", "Rude", "Friendly"),
    "Next step": ("Does one know what to do next?", "Look for a date or an address.", "No", "Yes"),
}
CONSENT = (
    "You rate answers of a help desk. Taking part is voluntary; you can stop at any time. Your name is not stored."
)
GUESTS = "Mika Berg, mika@example.org\nIra Holm, ira@example.org\nLou Vik, lou@example.org"
FINISHED, FINISHED_SLUG = "Demo: Next turns in a dialogue", "demo-next-turns-in-a-dialogue"
PATHS_OF_LINKS = """
() => [...document.querySelectorAll(".st-key-frame-places a, .st-key-heading a")]
  .map((link) => new URL(link.href).pathname.split("/").pop())
"""


def errands(options: Options, home: Path) -> list[Figure]:
    """Tasks with the mouse: the actions of each, and the waiting time of all."""
    figures, waited = [], 0.0
    with _screen(home) as (page, file, url):
        for errand in ERRANDS:
            hands = Hands(page)
            errand.way(hands, file)
            waited += hands.waited
            figures.append(at_most(errand.what, "actions", [hands.actions], errand.limit, note=errand.note))
        figures.append(anywhere(page, url))
    note = "from each action until the page is at rest, over all errands above; typing itself is not counted"
    return [*figures, at_most("waiting for the app in all errands", "s", [waited], 20, note=note)]


def by_keyboard(options: Options, home: Path) -> list[Figure]:
    """The same tasks with Tab, Enter, Space, arrows and letters only. Raises OutOfReach if an element cannot be
    reached.
    """
    presses = []
    with _screen(home) as (page, file, _):
        for errand in ERRANDS:
            hands = KeyboardHands(page)
            errand.way(hands, file)
            presses.append(hands.tabs)
    note = "Tab to every field and button of the errands, which are all reached; the sum over all errands"
    return [observed("errands with the keyboard alone", "times Tab", [sum(presses)], note=note)]


@contextmanager
def _screen(home: Path) -> Iterator[tuple[Page, Path, str]]:
    """A page on a new installation's list of studies, a file of items, and the server's address."""
    file = write_items(home / "answers.csv")
    with running_app(home, {"TRIPTYCH_DEMO": "1"}) as server, sync_playwright() as player:
        browser = launch_chromium(player, FLAGS)
        page = browser.new_page(viewport=SIZE)
        page.set_default_timeout(PATIENCE_MS)
        make_account(page, server)
        yield page, file, server.url
        browser.close()


def write_items(path: Path) -> Path:
    """Write answers of three systems to the questions of a help desk."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "question", "north", "south", "east"])
        for n in range(1, ITEMS + 1):
            answers = (f"Bring form {n} to room {n + place}; it is open until {place + 3}." for place in range(3))
            writer.writerow([f"q{n}", f"Where do I hand in form {n}?", *answers])
    return path


def make_account(page: Page, server: Server) -> None:
    page.goto(server.setup_link())
    page.get_by_label("Your name", exact=True).fill("Dr Lead")
    page.locator("input[type=password]").fill("a long passcode 42")
    page.get_by_role("button", name="Create the account").click()
    page.get_by_role("heading", name="Studies", exact=True).wait_for()


def own_questions(hands: Hands, file: Path) -> None:
    """Five criteria with names of both ends, one that asks for a reason at its worst point; consent; launch."""
    page = hands.page
    new_study(hands, "My own questions, written next", file, "Help desk")
    hands.click(page.locator('[data-rb-path="criteria.0.title"]'))
    for place, (title, words) in enumerate(CRITERIA.items()):
        if place:
            hands.click(page.get_by_role("button", name="Add a criterion"))
        _type_criterion(hands, place, (title, *words))
        if not place:
            hands.click(page.locator('[data-rb-path="criteria.0.scale.points.0.ask"]'))
    hands.see(page.locator(".rb-saved", has_text="Saved"))
    type_consent(hands)
    launch(hands)


def _type_criterion(hands: Hands, place: int, words: tuple[str, ...]) -> None:
    """`words`: name, question, definition, and the names of the worst and the best point."""
    *about, worst, best = words
    hands.type(*about)
    for point, name in ((0, worst), (4, best)):
        hands.click(hands.page.locator(f'[data-rb-path="criteria.{place}.scale.points.{point}.title"]'))
        hands.type(name)


def new_study(hands: Hands, rubric: str, file: Path, title: str) -> None:
    page = hands.page
    hands.click(page.get_by_role("link", name="New study", exact=True))
    hands.choose(page.get_by_role("combobox", name="Rubric", exact=True), rubric)
    hands.pick(page.get_by_role("region", name=re.compile("^Items")).locator("button").first, file)
    hands.click(page.get_by_label("Title", exact=True))
    hands.type(title)
    hands.leave()
    hands.click(page.get_by_role("button", name="Create the study"))


def type_consent(hands: Hands) -> None:
    page = hands.page
    field = page.get_by_label("Consent", exact=True)
    if not field.is_visible():
        hands.click(page.get_by_role("button", name="Before the first item", exact=True).first)
    hands.click(field)
    hands.type(CONSENT)
    hands.leave()


def launch(hands: Hands) -> None:
    page = hands.page
    hands.click(page.get_by_role("button", name="Launch the study"))
    hands.see(page.get_by_text("This study is open."))


def shipped_questions(hands: Hands, file: Path) -> None:
    new_study(hands, "Replies to customer reviews", file, "Replies")
    type_consent(hands)
    launch(hands)


def three_people(hands: Hands, file: Path) -> None:
    page = hands.page
    hands.click(page.get_by_role("link", name="People", exact=True))
    hands.click(page.get_by_label("People to invite"))
    hands.type(GUESTS)
    hands.click(page.get_by_role("button", name="Make personal links"))
    hands.see(page.get_by_text("3 new personal links"))


def figure_of_a_paper(hands: Hands, file: Path) -> None:
    """From the list of studies to a saved drawing."""
    page = hands.page
    hands.click(page.get_by_role("link", name="Studies", exact=True))
    study = page.get_by_test_id("stVerticalBlock").filter(has=page.get_by_text(FINISHED, exact=True)).last
    hands.click(study.get_by_role("link", name="Results"))
    with page.expect_download() as saved:
        hands.click(page.locator(".st-key-first-screen .modebar-btn").first)
    drawing = saved.value.path().read_text()
    assert drawing.startswith("<svg"), "No drawing was saved."


def anywhere(page: Page, url: str) -> Figure:
    """The maximum number of clicks between two screens of a study; a link in view or below a place counts as one."""
    screens = {screen.path: title_of(place, screen) for place, of in PLACES.items() for screen in of}
    clicks = []
    for path, title in screens.items():
        page.goto(f"{url}/{path}?study={FINISHED_SLUG}")
        page.get_by_role("heading", level=1, name=title, exact=True).wait_for()
        page.evaluate(AT_REST, QUIET_MS)
        linked = set(page.evaluate(PATHS_OF_LINKS))
        clicks += [1 if other in linked else 2 for other in screens if other != path]
    note = f"{len(screens)} screens of a study, every pair"
    return at_most("from anywhere in a study to anywhere else in it", "clicks", [max(clicks)], 1, note=note)


@dataclass(frozen=True)
class Errand:
    """A task: its name, the maximum number of actions, and the function that performs it."""

    what: str
    limit: int
    way: Callable[[Hands, Path], None]
    note: str


ERRANDS = (
    Errand(
        "own rubric of five criteria to a launched study",
        59,
        own_questions,
        f"both ends of each scale named, a reason asked at one point, consent, {ITEMS} items; no YAML",
    ),
    Errand("three people invited", 7, three_people, "by name and address, in the study just launched"),
    Errand("shipped rubric and own file to a launched study", 19, shipped_questions, f"{ITEMS} items and consent"),
    Errand("finished study to a figure in a paper", 4, figure_of_a_paper, "from the list of studies to the SVG file"),
)
