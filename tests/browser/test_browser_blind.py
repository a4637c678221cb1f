"""Blindness in bytes: planted names must not reach an annotator's browser by any way, and do reach the lead's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from helpers import browser
from helpers.studies import SMALL_RUBRIC, add_person, join, sure
from sqlalchemy import text

from triptych.formats import read_items
from triptych.storage.models import Role, StudyState
from triptych.study import lifecycle

pytestmark = pytest.mark.browser
chromium = browser.chromium

SYSTEMS = ("zqx-marmoset-7f31", "zqx-okapi-b2d8", "zqx-tapir-90ce")
ITEM_IDS = ("ext-wvok-4411", "ext-wvok-4412", "ext-wvok-4413", "ext-wvok-4414")
META = ("meta-hujx-origin", "meta-hujx-values")
TAGS = ("tag_grmf_error", "tag_grmf_tone")
FILE = "vault-pqzz-final.json"
CANDIDATE_BASE = 77_310_049_200
OTHER_NAME = "Ykva Planted-Otherperson"
PLANTED = (*SYSTEMS, *ITEM_IDS, *META, *TAGS, "vault-pqzz", OTHER_NAME)
# words of the lead's pages and of their files, which nobody else has a reason to receive
LEADS_ONLY = ("lead/", "new_study.py", "Every rating", "Ratings as CSV", "Show the system names", "For annotators")
LEAD_PAGES = ("studies", "study", "results", "ratings", "new_study")

RUBRIC = SMALL_RUBRIC.replace("tag: error", f"tag: {TAGS[0]}").replace("tag: tone", f"tag: {TAGS[1]}")
RUBRIC += "guidelines: [{title: How to read, text: Read everything twice.}]\n"


@dataclass
class World:
    """Ids and addresses of what was planted."""

    annotator: int = 0
    lead: int = 0
    slugs: dict[str, str] = field(default_factory=dict)

    def fill(self, session: Any) -> None:
        """Two studies with the same planted names, one per presentation, with high ids of candidates."""
        lead = add_person(session, "lead", Role.lead)
        annotator = add_person(session, "annotator")
        self.lead, self.annotator = lead.person_id, annotator.person_id
        for presentation in ("side_by_side", "succession"):
            plan = lifecycle.StudyPlan(title=f"Study {presentation}", presentation=presentation, seed="blind")
            made = lifecycle.create_from_file(session, plan, RUBRIC, read_items(items(), FILE), lead)
            session.execute(text("UPDATE candidate SET id = id + :base WHERE id < :base"), {"base": CANDIDATE_BASE})
            lifecycle.set_state(session, made, StudyState.open, lead.pseudonym)
            join(session, made, annotator)
            join(session, made, add_person(session, f"{OTHER_NAME} of {presentation}"))
            self.slugs[presentation] = made.slug


def items() -> bytes:
    """Four items whose texts name nothing that is planted."""
    texts = {system: f"A plain answer with {n} commas." for n, system in enumerate(SYSTEMS)}
    return json.dumps(
        [
            {"item_id": name, "context": "A plain question?", "candidates": texts, "meta": {META[0]: META[1]}}
            for name in ITEM_IDS
        ]
    ).encode()


def spellings(planted: str) -> list[bytes]:
    """The bytes under which a name could travel."""
    return [planted.encode(), planted.encode("utf-16-le"), planted.replace("-", "%2D").encode()]


def spellings_of_number(number: int) -> list[bytes]:
    """Decimal, as in JSON; eight bytes, as in Arrow; seven bits a byte, as in Protobuf."""
    varint, rest = b"", number
    while rest:
        varint += bytes([rest & 0x7F | (0x80 if rest > 0x7F else 0)])
        rest >>= 7
    return [str(number).encode(), number.to_bytes(8, "little"), varint]


STORED = "JSON.stringify([{...localStorage}, {...sessionStorage}, location.href, document.title])"


class Tap:
    """Everything that reaches the pages of one browser context."""

    def __init__(self, context: Any) -> None:
        self.heard: list[tuple[str, bytes]] = []
        self.context = context
        context.on("page", self._listen)
        context.on("requestfinished", self._body)

    def _listen(self, page: Any) -> None:
        page.on("websocket", lambda socket: socket.on("framereceived", self._frame))

    def _frame(self, payload: str | bytes) -> None:
        self.heard.append(("frame", payload.encode() if isinstance(payload, str) else payload))

    def _body(self, request: Any) -> None:
        response = request.response()
        if response is None or "/static/" in request.url or "/component/" in request.url:
            return  # files of Streamlit and of the grid, the same for everybody
        self.heard.append((f"headers of {request.url}", json.dumps(response.headers_array()).encode()))
        if response.ok and response.status != 204:
            self.heard.append((request.url, response.body()))

    def look(self, page: Any) -> None:
        """Notes what the page holds now: source, address, title, storage."""
        stored = page.evaluate(STORED)
        self.heard += [("source", page.content().encode()), ("storage and address", stored.encode())]
        self.heard.append(("cookies", json.dumps([c["name"] for c in self.context.cookies()]).encode()))

    def leaks(self, *planted: str) -> set[str]:
        """Which of these names came through, with the way they took."""
        forms = {name: spellings(name) for name in planted}
        return {
            f"{name} in {way}"
            for name, spelt in forms.items()
            for way, data in self.heard
            if any(form in data for form in spelt)
        }

    def numbers_found(self, first: int, count: int) -> set[int]:
        forms = {n: spellings_of_number(n) for n in range(first, first + count)}
        return {n for n, bs in forms.items() for _, data in self.heard if any(b in data for b in bs)}

    @property
    def frames(self) -> int:
        return sum(way == "frame" for way, _ in self.heard)


@pytest.fixture(scope="module")
def world() -> World:
    return World()


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, world: World, forked: Any) -> Iterator[browser.App]:
    with browser.running(tmp_path_factory.mktemp("blind"), world.fill, forked) as app:
        yield app


def new_tap(chromium: Any, app: browser.App, person: int | None = None) -> tuple[Tap, Any]:
    context = chromium.new_context(viewport=browser.SIZE)
    tap = Tap(context)
    if person is not None:
        browser.signed_in(context, app, person)
    return tap, context.new_page()


def assert_blind(tap: Tap) -> None:
    assert tap.frames, "the tap heard nothing"
    assert tap.leaks(*PLANTED) == set()
    assert tap.numbers_found(CANDIDATE_BASE, 2 * len(ITEM_IDS) * len(SYSTEMS) + 50) == set()


@pytest.mark.long
def test_first_visitors_of_a_fresh_server_get_no_lead_page(app, world, chromium):
    """Before a first session has run, Streamlit itself would run the file that the address names."""
    for person in (None, world.annotator):
        app.kill()
        app.start_again()
        tap, page = new_tap(chromium, app, person)
        for path in LEAD_PAGES if person else LEAD_PAGES[:2]:
            page.goto(f"{app.url}/{path}?study={world.slugs['succession']}")
            browser.settled(page)
            tap.look(page)
        assert_blind(tap)
        assert tap.leaks(*LEADS_ONLY) == set()
        page.context.close()


@pytest.mark.parametrize("path", ["export/{}/ratings.csv", "export/{}/highlights.csv"])
def test_an_export_answers_its_lead_only(app, world, chromium, path):
    address = f"{app.url}/{path.format(world.slugs['succession'])}"
    for person, status in ((None, 401), (world.annotator, 403), (world.lead, 200)):
        context = chromium.new_context()
        if person:
            browser.signed_in(context, app, person)
        answer = context.request.get(address)
        assert answer.status == status
        assert status == 200 or not any(name in answer.text() for name in PLANTED)
        context.close()


def give_back_and_skip(tap: Tap, page: Any) -> None:
    """Every action of the workbench that is not a submit, with a look after each."""
    page.locator("[data-tw-guidelines-open]").click()
    tap.look(page)
    open_other_item(page, "back")
    tap.look(page)
    open_other_item(page, "forward")
    leave_out(page, "skip")
    tap.look(page)


def open_other_item(page: Any, hook: str) -> None:
    before = browser.token(page)
    page.locator(f"[data-tw-{hook}]").click()
    wait_for_another_item(page, before)


def leave_out(page: Any, hook: str) -> None:
    before = browser.token(page)
    page.locator(f"[data-tw-{hook}]").click()
    page.locator(f'[data-tw-dialog="{hook}"] input[type=radio]').first.check()
    page.locator("[data-tw-dialog-ok]").click()
    wait_for_another_item(page, before)


def wait_for_another_item(page: Any, before: str) -> None:
    page.wait_for_function("t => document.querySelector('.tw')?.dataset.token !== t", arg=before)


def annotate_to_the_end(tap: Tap, page: Any) -> None:
    """Submits one item with a highlight and a reason, goes back, skips, ignores, and submits the rest."""
    browser.select_text(page, "A", 2, 7)
    page.locator('.tw-float [data-tw-label="good"]').click()
    browser.radio(page, "A:verdict", "reject").check()
    page.locator('[data-tw-question="A:verdict"] [data-tw-reason="wrong"]').check()
    browser.answer_all(page)
    browser.expect(browser.saved(page)).to_have_attribute("data-state", "saved")
    tap.look(page)
    browser.submit(page)
    give_back_and_skip(tap, page)
    leave_out(page, "ignore")
    browser.answer_all(page)
    browser.submit(page)
    browser.expect(page.get_by_role("heading", name="All done")).to_be_visible()
    tap.look(page)


@pytest.mark.parametrize("presentation", ["side_by_side", "succession"])
def test_no_planted_name_reaches_an_annotator_by_any_way(app, world, chromium, presentation):
    tap, page = new_tap(chromium, app, world.annotator)
    browser.open_workbench(page, app, world.slugs[presentation])
    annotate_to_the_end(tap, page)
    page.get_by_role("button", name="My work").click()
    page.get_by_text("What I have done").first.click()
    browser.settled(page)
    tap.look(page)
    assert_blind(tap)
    assert tap.leaks(*LEADS_ONLY) == set()
    page.context.close()


@pytest.mark.long
def test_the_sign_in_page_names_nothing(app, chromium):
    tap, page = new_tap(chromium, app)
    page.goto(app.url)
    browser.settled(page)
    tap.look(page)
    assert_blind(tap)
    page.context.close()


def visit_as_lead(app: browser.App, world: World, chromium: Any) -> set[str]:
    tap, page = new_tap(chromium, app, world.lead)
    for path in ("results", "ratings"):
        page.goto(f"{app.url}/{path}?study={world.slugs['side_by_side']}")
        browser.settled(page)
        tap.look(page)
    browser.expect(page.frame_locator("iframe").first.locator(".ag-row").first).to_be_attached()
    page.context.close()
    return {line.split(" in ")[0] for line in tap.leaks(*PLANTED)}


def test_the_lead_sees_the_names_after_unblinding_and_not_before(app, world, chromium):
    """The positive control: the same tap finds the same names where they may be."""
    before = visit_as_lead(app, world, chromium)
    assert before & set(ITEM_IDS)
    assert not before & set(SYSTEMS)
    with app.writing() as session:
        study = lifecycle.by_slug(session, world.slugs["side_by_side"])
        lifecycle.unblind(session, study, sure("lead"))
    assert set(SYSTEMS) <= visit_as_lead(app, world, chromium)
