"""Every screen against the rules of axe-core, light and dark, wide and narrow: nothing critical and nothing serious."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from helpers import browser, busy
from helpers.browser import expect
from helpers.studies import ROOT, SMALL_RUBRIC, absent, add_person, draft_items, join
from sqlmodel import select

from bench.errands import write_items
from components.shell.places import PLACES, title_of
from triptych.annotate import comments
from triptych.people import accounts, invitations, links
from triptych.people.invitations import Guest
from triptych.simulate import demo
from triptych.storage.models import Login, Person, Role, Study, StudyState
from triptych.study import lifecycle

pytestmark = pytest.mark.browser
chromium = browser.chromium
AXE = ROOT / "components" / "workbench" / "node_modules" / "axe-core" / "axe.min.js"
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
LOOKS = [("light", WIDE), ("dark", NARROW)]
if os.environ.get("TRIPTYCH_EVERY_LOOK"):  # twice as long; before a release
    LOOKS += [("dark", WIDE), ("light", NARROW)]
# of annotators, in another language; and a laptop's window at 200 %
LOOKS_IN_ARABIC = [("dark", WIDE), ("light", NARROW), ("light", {"width": 720, "height": 450})]
# with every rule of axe-core that is on by default; of the lesser ones only the order of headings
RUN = """
async () => {
  const { violations } = await axe.run({ resultTypes: ['violations'], preload: false });
  const grave = ({ id, impact }) => impact === 'critical' || impact === 'serious' || id === 'heading-order';
  return violations.filter(grave).flatMap(({ id, nodes }) => nodes.map(({ html, target, any, all, none }) => ({
    rule: id, html: html.slice(0, 300), target: target.flat(2).join(' '),
    why: [...any, ...all, ...none].map(({ message }) => message).join('; '),
  })));
}
"""
# a change of scheme comes a while after it was asked for and fades colours; one on its way has no contrast of its own
FADED = """
(scheme) => {
  const [red] = getComputedStyle(document.querySelector('[data-testid="stApp"]')).backgroundColor.match(/\\d+/g);
  return red < 128 === (scheme === 'dark') && document.getAnimations().every(
    (each) => each.playState !== 'running' || each.effect.getComputedTiming().endTime === Infinity);
}
"""
# what is drawn last on screens that bring a component of their own
DRAWN_LAST = {"preview": ".tw[data-token]", "ratings": "iframe"}
SCREENS = {"studies": "Studies", "account": "Account", "help": "Help"}
SCREENS_OF_A_STUDY = {screen.path: title_of(place, screen) for place, of in PLACES.items() for screen in of}
DRAFT, DONE = "a-draft", "demo-replies-to-customer-reviews"
BUSY = "a-busy-study"
MARKED = "passages-of-evidence"
EVIDENCE = "title: Good passage}, {key: evidence, title: Evidence, marked_in: context}"
WITH_STEPS = "demo-emotional-support-conversations"  # before the first item


@dataclass
class Auditor:
    """Lists what axe-core finds on the screens that a page shows, in every look; the last look stays for the next."""

    page: Any
    looks: list[Any] = field(default_factory=lambda: [*LOOKS])
    violations: list[str] = field(default_factory=list)

    def look(self, screen: str) -> None:
        for scheme, size in self.looks:
            self.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            self.page.set_viewport_size(size)
            browser.settled(self.page)
            self.page.wait_for_function(FADED, arg=scheme)
            for violation in self.page.evaluate(RUN):
                self.violations.append(" | ".join((screen, scheme, str(size["width"]), *violation.values())))
        self.looks.reverse()

    def follow(self, path: str, title: str) -> None:
        """To another screen of the study, without the seconds of a new visit."""
        link = f'.st-key-frame-places a[href*="{path}?"], .st-key-heading a[href*="{path}?"]'
        self.page.locator(link).first.evaluate("(link) => link.click()")
        expect(self.page.get_by_role("heading", level=1, name=title, exact=True)).to_be_visible()
        browser.settled(self.page)

    def end(self) -> None:
        assert not self.violations, "\n".join(self.violations)


@pytest.fixture(scope="module")
def app(tmp_path_factory, forked) -> Iterator[browser.App]:
    """The demo studies and a draft, led by Ada; a busy study with a viewer, groups and comments, led by `lead`."""
    if not AXE.exists():
        absent("axe-core (`make lint` installs it)")

    with browser.running(tmp_path_factory.mktemp("home"), start=forked) as started:
        with started.writing() as session:
            study = busy.fill(session)
            invitations.invite_all(session, study, [Guest(1, "Ira", "expert", Role.annotator)], "L")
            links.accept_invitation(
                session, invitations.invite_one(session, study, "Hana", "", Role.viewer, "L").secret
            )
        demo.load_demo(started.engine)
        with started.writing() as session:
            lead = accounts.create_lead(session, "Ada", "correct horse battery")
            people = [add_person(session, name) for name in ("Anna", "Amal")]
            session.get_one(Person, people[1].person_id).language = "ar"
            for study in session.exec(select(Study).where(Study.demo)).all():
                for person in people:
                    join(session, study, person)
            plan = lifecycle.StudyPlan(title="Passages of evidence", seed="fixed", mark_unit="words")
            rubric = SMALL_RUBRIC.replace("title: Good passage}", EVIDENCE)
            study = lifecycle.create_study(session, plan, rubric, draft_items(1), lead.pseudonym, lead.id)
            lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
            join(session, study, people[0])
            plan = lifecycle.StudyPlan(title="A draft", seed="fixed")
            lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(3), lead.pseudonym, lead.id)
        yield started


@pytest.fixture(scope="module")
def page(app, chromium) -> Any:
    context = chromium.new_context(viewport=WIDE)
    context.set_default_timeout(browser.PATIENCE)
    context.add_init_script(path=AXE)
    return context.new_page()


@pytest.fixture
def auditor(app, page, request) -> Iterator[Auditor]:
    """Of the one page, signed in as the person whose name is the parameter; None: nobody."""
    page.context.clear_cookies()
    if request.param is not None:
        with app.reading() as session:
            person = session.exec(select(Person.id).where(Person.name == request.param)).one()
        browser.signed_in(page.context, app, person)
    page.set_viewport_size(WIDE)
    auditor = Auditor(page)
    yield auditor
    auditor.end()


def open_all_sections(page: Any) -> None:
    for section in page.get_by_test_id("stExpander").locator("summary").all():
        if section.locator("xpath=..").get_attribute("open") is None:
            section.click()
            browser.settled(page)


@pytest.mark.long
@pytest.mark.parametrize("auditor", [None], indirect=True)
def test_the_sign_in_page(app, auditor):
    auditor.page.goto(app.url)
    auditor.page.get_by_label("Your name", exact=True).wait_for()
    expect(auditor.page.get_by_role("button", name="Fullscreen")).to_have_count(0)  # of the logo
    auditor.look("sign-in")


@pytest.mark.long
@pytest.mark.parametrize("auditor", ["Ada"], indirect=True)
def test_the_pages_beside_the_studies(app, auditor):
    page = auditor.page
    for name, title in SCREENS.items():
        page.goto(f"{app.url}/{name}")
        expect(page.get_by_role("heading", level=1, name=title, exact=True)).to_be_visible()
        auditor.look(name)


@pytest.mark.long
@pytest.mark.parametrize("auditor", ["Ada"], indirect=True)
@pytest.mark.parametrize(("name", "label"), [("new_study", "Items"), ("import_ratings", "Ratings")])
def test_what_a_file_holds(app, auditor, name, label, tmp_path):
    ratings = ROOT / "data" / "demo" / "mental_health_qa_ratings.csv"
    file = write_items(tmp_path / "items.csv") if label == "Items" else ratings
    page = auditor.page
    page.goto(f"{app.url}/{name}")
    page.get_by_role("region", name=re.compile(f"^{label}")).locator("input[type=file]").set_input_files(file)
    expect(page.get_by_text(re.compile("^What the .* columns or fields are$"))).to_be_visible()
    open_all_sections(page)
    auditor.look(name)


@pytest.mark.long
@pytest.mark.parametrize("auditor", ["Ada"], indirect=True)
@pytest.mark.parametrize("slug", [DRAFT, DONE])
def test_the_setup_with_every_section_open(app, auditor, slug):
    auditor.page.goto(f"{app.url}/setup?study={slug}")
    browser.settled(auditor.page)
    open_all_sections(auditor.page)
    auditor.look(f"setup of {slug}")


@pytest.mark.long
@pytest.mark.parametrize("auditor", ["lead"], indirect=True)
def test_every_screen_of_a_busy_study(app, auditor):
    page = auditor.page
    page.goto(f"{app.url}/log?study={BUSY}")
    for name, title in SCREENS_OF_A_STUDY.items():
        auditor.follow(name, title)
        if name in DRAWN_LAST:
            page.locator(DRAWN_LAST[name]).first.wait_for()
        auditor.look(name)


@pytest.mark.long
@pytest.mark.parametrize("auditor", ["lead"], indirect=True)
def test_what_is_opened_on_screens_of_a_busy_study(app, auditor):
    page = auditor.page
    with app.writing() as session:
        item = comments.threads(session, lifecycle.by_slug(session, BUSY))[0].item
        for login in session.exec(select(Login)).all():
            login.created_at -= timedelta(hours=1)  # long enough ago to be asked for the passcode again
    page.goto(f"{app.url}/items?study={BUSY}&look={item}")
    expect(page.get_by_text("Why not 3?").first).to_be_visible()
    auditor.look("items, comments")
    auditor.follow("people", "People")
    page.get_by_role("button", name="Invite one more").click()
    page.get_by_text("1 new personal link").wait_for()
    auditor.look("people, a new link")
    auditor.follow("results", "Results")
    page.get_by_role("button", name=re.compile("^Unblind")).click()
    expect(page.get_by_label(re.compile("^Your passcode"))).to_be_visible()
    auditor.look("results, a passcode asked")
    auditor.follow("report", "Report")
    page.get_by_role("button", name="Make a report").click()
    page.get_by_text("Read it here").click(timeout=3 * browser.PATIENCE)  # a report takes long on a busy machine
    page.frame_locator("iframe").get_by_role("heading", name="Results").wait_for()
    auditor.look("report, read in its frame")


@pytest.mark.long
@pytest.mark.parametrize("auditor", ["Ada"], indirect=True)
def test_every_tab_of_results(app, auditor):
    page = auditor.page
    page.goto(f"{app.url}/results?study={DONE}")
    browser.settled(page)
    for tab in page.get_by_test_id("stTab").all():
        browser.open_tab(tab)
        auditor.look(f"results, {tab.inner_text().strip()}")


@pytest.mark.long
@pytest.mark.parametrize("auditor", ["Hana"], indirect=True)
def test_the_pages_of_a_viewer(app, auditor):
    page = auditor.page
    for name in ("results", "items", "report"):
        page.goto(f"{app.url}/{name}")
        expect(page.get_by_role("heading", level=1, name=name.capitalize(), exact=True)).to_be_visible()
        auditor.look(f"viewer, {name}")


@pytest.mark.parametrize(("auditor", "language"), [("Anna", "en"), ("Amal", "ar")], indirect=["auditor"])
def test_the_pages_of_an_annotator(app, auditor, language):
    page = auditor.page
    if language == "ar":
        auditor.looks = [*LOOKS_IN_ARABIC]
    for name in ("my_work", "my_data"):
        page.goto(f"{app.url}/{name}")
        browser.settled(page)
        auditor.look(name)
    assert page.evaluate("document.documentElement.lang") == language
    with app.reading() as session:
        studies = session.exec(select(Study.slug).where(Study.demo, Study.state == StudyState.open)).all()
    assert len(studies) == 3
    for slug in studies:
        page.goto(f"{app.url}/annotate?study={slug}")
        browser.settled(page)
        if slug == WITH_STEPS:
            auditor.look("consent")
            page.get_by_test_id("stBaseButton-primary").click()
            ready = page.locator("[data-tw-read]")
            ready.wait_for()
            auditor.look("instructions")
            ready.check()
            page.locator("[data-tw-start]").click()
        page.wait_for_selector(browser.WORKBENCH)
        page.locator("[data-tw-find]").evaluate("(find) => find.click()")
        auditor.look(f"annotate {slug}")


@pytest.mark.long
@pytest.mark.parametrize("auditor", ["Anna"], indirect=True)
def test_evidence_in_the_context_and_the_list_of_languages(app, auditor):
    page = auditor.page
    browser.open_workbench(page, app, MARKED)
    words = page.locator(".tw-tools").get_by_role("button", name="Words")
    expect(words).to_have_attribute("aria-pressed", "true")
    words.click()
    browser.select_text(page, "context", 0, 8)
    page.locator('.tw-float [data-tw-label="evidence"]').click()
    page.locator('[data-tw-text="context"] mark').click()
    expect(page.locator(".tw-popover")).to_be_visible()
    auditor.look("annotate, evidence marked by letters")
    page.goto(f"{app.url}/my_work")
    browser.settled(page)  # a page that is drawn again closes the list
    browser.in_list(page.get_by_role("combobox"), "Deutsch", lambda entry, patience: entry.wait_for(timeout=patience))
    auditor.look("my_work, the list of languages")
