"""Every screen against the rules of axe-core, light and dark, wide and narrow: nothing critical and nothing serious."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from helpers import browser
from helpers.studies import ROOT, SMALL_RUBRIC, absent, add_person, draft_items, join
from sqlmodel import select

from triptych.people import accounts
from triptych.simulate import demo
from triptych.storage.models import Person, Study, StudyState
from triptych.study import lifecycle

pytestmark = pytest.mark.browser
chromium = browser.chromium
AXE = ROOT / "components" / "workbench" / "node_modules" / "axe-core" / "axe.min.js"
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
LOOKS = [("light", WIDE), ("dark", NARROW)]
if os.environ.get("TRIPTYCH_EVERY_LOOK"):  # twice as long; before a release
    LOOKS += [("dark", WIDE), ("light", NARROW)]
# with every rule of axe-core that is on by default; of the lesser ones only the order of headings
RUN = """
async () => {
  const { violations } = await axe.run({ resultTypes: ['violations'] });
  const grave = ({ id, impact }) => impact === 'critical' || impact === 'serious' || id === 'heading-order';
  return violations.filter(grave).flatMap(({ id, nodes }) => nodes.map(({ html, target, any, all, none }) => ({
    rule: id, html: html.slice(0, 300), target: target.flat(2).join(' '),
    why: [...any, ...all, ...none].map(({ message }) => message).join('; '),
  })));
}
"""
# a change of scheme fades colours, and a colour on its way has no contrast of its own
FADED = """
() => document.getAnimations().every(
  (each) => each.playState !== 'running' || each.effect.getComputedTiming().endTime === Infinity)
"""
# what is drawn last on screens that bring a component of their own
DRAWN_LAST = {"preview": ".tw[data-token]", "ratings": "iframe"}
SCREENS = ("studies", "new_study", "import_ratings", "account", "help")
SCREENS_OF_A_STUDY = (
    "preview",
    "dry_run",
    "planner",
    "people",
    "workbooks",
    "results",
    "quality",
    "items",
    "ratings",
    "report",
    "log",
)
DRAFT, DONE = "a-draft", "demo-replies-to-customer-reviews"
WITH_STEPS = "demo-emotional-support-conversations"  # before the first item


@dataclass
class Auditor:
    """Lists what axe-core finds on the screens that a page shows, in every look."""

    page: Any
    violations: list[str] = field(default_factory=list)

    def look(self, screen: str) -> None:
        for scheme, size in LOOKS:
            self.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            self.page.set_viewport_size(size)
            browser.settled(self.page)
            self.page.wait_for_function(FADED)
            for part in self.page.frames:
                part.evaluate(AXE.read_text(encoding="utf-8"))
            for violation in self.page.evaluate(RUN):
                self.violations.append(" | ".join((screen, scheme, str(size["width"]), *violation.values())))
        self.page.set_viewport_size(WIDE)
        browser.settled(self.page)

    def end(self) -> None:
        self.page.context.close()
        assert not self.violations, "\n".join(self.violations)


@pytest.fixture(scope="module")
def app(tmp_path_factory, forked) -> Iterator[browser.App]:
    if not AXE.exists():
        absent("axe-core (`make lint` installs it)")

    with browser.running(tmp_path_factory.mktemp("home"), start=forked) as started:
        demo.load_demo(started.engine)
        with started.writing() as session:
            lead = accounts.create_lead(session, "Ada", "correct horse battery")
            anna = add_person(session, "Anna")
            for study in session.exec(select(Study)).all():
                join(session, study, anna)
            plan = lifecycle.StudyPlan(title="A draft", seed="fixed")
            lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(3), lead.pseudonym, lead.id)
        yield started


@pytest.fixture
def auditor(app, chromium, request) -> Iterator[Auditor]:
    context = chromium.new_context(viewport=WIDE)
    context.set_default_timeout(browser.PATIENCE)
    if request.param is not None:
        with app.reading() as session:
            person = session.exec(select(Person.id).where(Person.name == request.param)).one()
        browser.signed_in(context, app, person)
    auditor = Auditor(context.new_page())
    yield auditor
    auditor.end()


def open_all_sections(page: Any) -> None:
    for section in page.get_by_test_id("stExpander").locator("summary").all():
        if section.locator("xpath=..").get_attribute("open") is None:
            section.click()
            browser.settled(page)


@pytest.mark.parametrize("auditor", [None], indirect=True)
def test_the_sign_in_page(app, auditor):
    auditor.page.goto(app.url)
    auditor.page.get_by_label("Your name", exact=True).wait_for()
    auditor.look("sign-in")


@pytest.mark.parametrize("auditor", ["Ada"], indirect=True)
def test_the_pages_of_a_lead(app, auditor):
    page = auditor.page
    for name in SCREENS:
        page.goto(f"{app.url}/{name}")
        browser.settled(page)
        auditor.look(name)


@pytest.mark.parametrize("auditor", ["Ada"], indirect=True)
@pytest.mark.parametrize("slug", [DRAFT, DONE])
def test_the_setup_with_every_section_open(app, auditor, slug):
    auditor.page.goto(f"{app.url}/setup?study={slug}")
    browser.settled(auditor.page)
    open_all_sections(auditor.page)
    auditor.look(f"setup of {slug}")


@pytest.mark.parametrize("auditor", ["Ada"], indirect=True)
@pytest.mark.parametrize("name", SCREENS_OF_A_STUDY)
def test_a_page_of_a_study(app, auditor, name):
    page = auditor.page
    page.goto(f"{app.url}/{name}?study={DONE}")
    browser.settled(page)
    if name in DRAWN_LAST:
        page.locator(DRAWN_LAST[name]).first.wait_for()
    auditor.look(name)
    for tab in page.get_by_test_id("stTab").all()[1:]:
        tab.click()
        auditor.look(f"{name}, {tab.inner_text().strip()}")


@pytest.mark.parametrize("auditor", ["Anna"], indirect=True)
def test_the_pages_of_an_annotator(app, auditor):
    page = auditor.page
    for name in ("my_work", "my_data"):
        page.goto(f"{app.url}/{name}")
        browser.settled(page)
        auditor.look(name)
    with app.reading() as session:
        studies = session.exec(select(Study.slug).where(Study.demo, Study.state == StudyState.open)).all()
    assert len(studies) == 3
    for slug in studies:
        page.goto(f"{app.url}/annotate?study={slug}")
        browser.settled(page)
        if slug == WITH_STEPS:
            auditor.look("consent")
            page.get_by_role("button", name="I agree").click()
            ready = page.get_by_label("I have read this")
            ready.wait_for()
            auditor.look("instructions")
            ready.check()
            page.get_by_role("button", name="Start", exact=True).click()
        page.wait_for_selector(browser.WORKBENCH)
        auditor.look(f"annotate {slug}")
