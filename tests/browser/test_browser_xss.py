"""Texts from files and from people are shown literally: nothing in them runs, is drawn or calls another host.

The browser ignores the content security policy, so that the tests are about the pages themselves.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from helpers import browser
from helpers.studies import SMALL_RUBRIC, add_person, join, sure
from sqlmodel import select

from triptych.annotate import annotations, desk
from triptych.annotate.annotations import SubmitMessage, read_message
from triptych.formats.model import CandidateDraft, ItemDraft, TurnDraft
from triptych.storage.models import Person, Role, StudyState
from triptych.study import lifecycle

pytestmark = pytest.mark.browser
chromium = browser.chromium

EVIL = "https://evil.test"
PAYLOADS = (
    "<script>__xss('script')</script>",
    "</script><script>__xss('closed script')</script>",
    "<ScRiPt src=https://evil.test/s.js></sCrIpT>",
    "<img src=x onerror=__xss('img')>",
    "<img src=https://evil.test/pixel.png>",
    '"><img src=x onerror="__xss(`attribute`)">',
    "'-__xss('quote')-'",
    "<svg onload=__xss('svg')>",
    "<svg><script>__xss('svg script')</script></svg>",
    "<svg><image href=https://evil.test/i.svg></svg>",
    "<svg><animate onbegin=__xss('animate') attributeName=x dur=1s>",
    "<math><mtext></mtext><img src onerror=__xss('math')></math>",
    "<body onload=__xss('body')>",
    "<iframe srcdoc='<script>parent.__xss(1)</script>'></iframe>",
    "<iframe src=javascript:parent.__xss(1)></iframe>",
    "<object data=https://evil.test/o></object><embed src=https://evil.test/e>",
    "<video><source onerror=__xss('video')></video>",
    "<audio src=x onerror=__xss('audio')>",
    "<details open ontoggle=__xss('details')>",
    "<input autofocus onfocus=__xss('focus')>",
    "<form action=https://evil.test><button>Go</button></form>",
    "<a href=javascript:__xss('link')>link</a>",
    "<link rel=stylesheet href=https://evil.test/c.css>",
    "<base href=https://evil.test/>",
    "<meta http-equiv=refresh content='0;url=https://evil.test'>",
    "<style>@import url(https://evil.test/c.css);*{display:none}</style>",
    "<p style='background:url(https://evil.test/b.png)'>x</p>",
    "};body{background:url(https://evil.test/d.png)}/*",
    "![pixel](https://evil.test/m.png)",
    "[![x](https://evil.test/n.png)](javascript:__xss('md'))",
    "[link](javascript:__xss('markdown'))",
    "<https://evil.test/auto> www.evil.test https://evil.test/bare",
    "# Heading **bold** `code` ~~gone~~ | a | b |",
    ":material/skull: :skull: :red[red] :blue-background[b] :small[s]",
    "$\\href{javascript:__xss(1)}{x}$ and $$\\frac{1}{2}$$",
    "&lt;img src=x onerror=__xss('entity')&gt; &#60;script&#62;",
    "javascript:__xss('url')//data:text/html,<script>__xss(1)</script>",
    "${__xss('template')} {{__xss('mustache')}} <%= __xss(1) %>",
    "right\u202eot tfel\u202c \u2066isolate\u2069 \u200fmark\u200e",
    "zero\u200bwidth \u2060joiner e\u0301 👩‍👩‍👧 ＜script＞__xss(1)＜/script＞",
    '=HYPERLINK("https://evil.test","x") +cmd|calc @SUM(1)',
    "[[1]]: https://evil.test/ref 'title' [^1] <!-- --> <![CDATA[<script>__xss(1)</script>]]>",
    "https://evil.test/alone",
    "www.evil.test/alone",
    "mailto:alone@evil.test",
)
# what a form shows: its words and what stands in its fields
TEXTS_AND_VALUES = "e => [e.textContent, ...[...e.querySelectorAll('input, textarea')].map((field) => field.value)]"
BOUQUET = "\n\n".join(PAYLOADS)
SHORT = tuple(payload[:80] for payload in PAYLOADS)

FLAG = "window.xssCalls = []; window.__xss = (what) => window.xssCalls.push(String(what));"
INTRUDERS = """
() => {
  const bad = [...window.xssCalls];
  // a link of our own may carry a name in its query, percent-encoded
  const ours = (name, value) => name === 'href' && new URL(value, location.href).origin === location.origin;
  for (const element of document.querySelectorAll('*')) {
    for (const { name, value } of element.attributes) {
      if (/^on/i.test(name) && value.includes('__xss')) bad.push(`${element.tagName} ${name}`);
      if (/^(src|href|xlink:href|action|data|srcdoc|background)$/i.test(name)
          && /evil\\.test|^\\s*javascript:|__xss/i.test(value) && !ours(name, value)) {
        bad.push(`${element.tagName} ${name}=${value}`);
      }
      if (name === 'style' && value.includes('evil.test')) bad.push(`${element.tagName} style`);
    }
  }
  if (document.querySelector('.katex')) bad.push('a formula');
  for (const icon of document.querySelectorAll('[data-testid="stIconMaterial"]')) {
    if (icon.textContent.includes('skull')) bad.push('an icon');
  }
  return bad;
}
"""


def cycle(count: int, start: int) -> tuple[str, ...]:
    return tuple(PAYLOADS[(start + n) % len(PAYLOADS)] for n in range(count))


def criterion(number: int) -> dict[str, Any]:
    """A question whose every word is hostile; seven of them use all payloads as titles."""
    points = [{"value": n + 1, "title": t, "definition": t} for n, t in enumerate(cycle(5, 5 * number))]
    options: list[dict[str, Any]] = [
        {"key": f"o{n}", "title": t, "definition": t} for n, t in enumerate(cycle(3, 7 * number + 3))
    ]
    reasons = [{"key": f"r{n}", "text": t, "tag": f"t{n}"} for n, t in enumerate(cycle(2, 3 * number))]
    options[0]["ask"] = {"reasons": reasons, "free_text": "optional"}
    example = {"text": BOUQUET, "rating": PAYLOADS[number], "reason": BOUQUET}
    return {
        "key": f"c{number}",
        "title": " ".join(cycle(6, 6 * number)),
        "question": PAYLOADS[number + 10],
        "definition": BOUQUET,
        "note": PAYLOADS[number + 20],
        "scale": {"kind": "choice", "options": options} if number % 2 else {"kind": "likert", "points": points},
        "examples": [{"context": [{"speaker": PAYLOADS[number], "text": BOUQUET}], "candidates": [example]}],
    }


def rubric() -> str:
    """Every text of a rubric, hostile."""
    reasons = [{"key": f"k{n}", "title": title} for n, title in enumerate(cycle(4, 12))]
    return json.dumps(  # JSON is YAML
        {
            "key": "hostile",
            "title": PAYLOADS[3],
            "summary": BOUQUET,
            "source": BOUQUET,
            "content_note": BOUQUET,
            "instructions": BOUQUET,
            "guidelines": [{"title": title, "text": BOUQUET} for title in cycle(3, 30)],
            "context": {"title": PAYLOADS[28], "show": list(SHORT), "extra_texts": list(SHORT)},
            "speakers": [{"names": ["A"], "title": PAYLOADS[29], "side": "right"}],
            "criteria": [criterion(number) for number in range(7)],
            "explanation": {"min_words": 1, "max_words": 1000},
            "highlights": [{"key": f"h{n}", "title": t, "definition": t} for n, t in enumerate(cycle(9, 20))],
            "skip": {"title": PAYLOADS[4], "reasons": reasons},
            "ignore_item": {"title": PAYLOADS[5], "reasons": reasons},
            "set_aside_response": {"title": PAYLOADS[6], "reasons": reasons},
        },
        ensure_ascii=False,
    )


def items() -> list[ItemDraft]:
    """As many items as it takes to give every payload to a system as its name."""
    every = dict.fromkeys(SHORT, BOUQUET)
    turns = tuple(TurnDraft(speaker, speaker) for speaker in PAYLOADS)
    drafts = []
    for n in range(len(PAYLOADS) // 3):
        names = PAYLOADS[3 * n : 3 * n + 3]
        texts = [(BOUQUET, None), (PAYLOADS[n], None), (None, (TurnDraft("A", BOUQUET), *turns[:6]))]
        candidates = tuple(CandidateDraft(name, *text) for name, text in zip(names, texts, strict=True))
        drafts.append(ItemDraft(" ".join(names), BOUQUET, turns, candidates, every, every, n))
    return drafts


@dataclass
class World:
    lead: int = 0
    slug: str = ""
    people: list[int] = field(default_factory=list)

    def fill(self, session: Any) -> None:
        """One study with hostile everything and annotations in it; one more study per payload as its title."""
        lead = add_person(session, f"lead {SHORT[0]}", Role.lead)
        self.lead = lead.person_id
        for title in PAYLOADS[1:]:
            lifecycle.create_study(
                session, lifecycle.StudyPlan(title=title), SMALL_RUBRIC, items()[:1], "seed", self.lead
            )
        plan = lifecycle.StudyPlan(title=PAYLOADS[0], seed="xss", presentation="side_by_side")
        study = lifecycle.create_study(session, plan, rubric(), items(), lead.pseudonym, self.lead)
        lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
        self.slug = study.slug
        for name in SHORT:
            join(session, study, add_person(session, name))
        annotator = join(session, study, add_person(session, "writer"))
        for _ in items():
            self._annotate(session, study, annotator)
        lifecycle.unblind(session, study, sure(lead))

    @staticmethod
    def _annotate(session: Any, study: Any, who: Any) -> None:
        view = desk.lay(session, study, who).view
        turn = None if view.item.candidates[0].text else 0
        explained = {f"c{n}": {"o0": {"reasons": ["r0", "r1"], "text": BOUQUET}} for n in (1, 3, 5)}
        answers = {
            "ratings": {slot: {f"c{n}": "o0" if n % 2 else 3 for n in range(7)} for slot in "ABC"},
            "explanations": dict.fromkeys("ABC", explained),
            "highlights": [{"slot": "A", "turn": turn, "start": 0, "end": 9, "label": "h0", "comment": BOUQUET}],
            "note": BOUQUET,
        }
        message = {"kind": "submit", "assignment": view.work.token, "version": 1, "pen": "a pen of tests"}
        message |= {"submission": f"by {view.work.token}", "answers": answers}
        annotations.submit(session, who, read_message(SubmitMessage, message))


class Watch:
    """What the pages of one context did that no text may make them do."""

    def __init__(self, context: Any, own: str) -> None:
        self.wrong: list[str] = []
        self.host = urlsplit(own).netloc
        self.context = context
        context.add_init_script(FLAG)
        context.on("request", self._request)
        context.on("page", lambda page: page.on("dialog", self._dialog))

    def _request(self, request: Any) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob", "about") and parts.netloc != self.host:
            self.wrong.append(f"asked for {request.url}")

    def _dialog(self, dialog: Any) -> None:
        self.wrong.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def look(self, page: Any) -> None:
        """Looks through every frame of the page as it is now."""
        for frame in page.frames:
            self.wrong += [f"{page.url}: {intruder}" for intruder in frame.evaluate(INTRUDERS)]


@pytest.fixture(scope="module")
def world() -> World:
    return World()


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, world: World, forked: Any) -> Iterator[browser.App]:
    with browser.running(tmp_path_factory.mktemp("xss"), world.fill, forked) as app:
        yield app


@pytest.fixture(scope="module")
def watch(app: browser.App, chromium: Any) -> Watch:
    """A browser context whose content security policy is switched off."""
    return Watch(chromium.new_context(viewport=browser.SIZE, bypass_csp=True), app.url)


@pytest.fixture
def watched(app: browser.App, watch: Watch) -> Iterator[tuple[Watch, Any]]:
    """A page of that context, nobody signed in; at the end nothing may have happened on it."""
    page = browser.afresh(watch.context, app)
    watch.wrong.clear()
    yield watch, page
    watch.look(page)
    assert watch.wrong == []


def missing(page: Any, selector: str, payloads: tuple[str, ...] = PAYLOADS) -> list[str]:
    """The payloads that no element shows literally; invisible joiners and breaks are ignored."""
    flat = visible(" ".join(page.locator(selector).all_text_contents()))
    return [payload for payload in payloads if visible(payload) not in flat]


def visible(words: str) -> str:
    return " ".join(words.replace("\u2060", "").split())


@pytest.mark.long
def test_the_watch_itself_sees_scripts_requests_and_links(app, chromium):
    context = chromium.new_context(bypass_csp=True)
    watch = Watch(context, app.url)
    page = context.new_page()
    page.goto(f"{app.url}/healthz")
    markup = "<img src=https://evil.test/a.png onerror=__xss(1)><a href=javascript:1>x</a>"
    page.evaluate("markup => { document.body.innerHTML = markup; }", markup)
    page.wait_for_function("() => window.xssCalls.length")
    watch.look(page)
    assert any(line.startswith("asked for https://evil.test") for line in watch.wrong)
    assert {line.split(": ", 1)[1] for line in watch.wrong if ": " in line} >= {"1", "A href=javascript:1"}
    context.close()


def test_the_workbench_shows_imported_and_rubric_texts_literally(app, world, watched):
    watch, page = watched
    with app.reading() as session:
        reader = session.exec(select(Person.id).where(Person.name == SHORT[7])).one()
    browser.signed_in(page.context, app, reader)
    browser.open_workbench(page, app, world.slug)
    page.locator("[data-tw-guidelines-open]").click()
    page.locator("[data-tw-note-toggle]").click()
    for place in (".tw-context", ".tw-main", "[data-tw-guidelines]", ".tw-notices"):
        assert missing(page, place) == [], place
    for hook in ("skip", "ignore"):
        page.locator(f"[data-tw-{hook}]").click()
        assert missing(page, "[data-tw-dialog]", cycle(4, 12)) == []
        page.locator("[data-tw-dialog-close]").click()
    page.locator("[data-tw-guidelines-close]").click()
    page.locator('[data-tw-view="dock"]').click()  # or only what belongs to the first response could be pointed at
    for tipped in page.locator("[data-tw-tip]").all()[:12]:
        tipped.hover()
    watch.look(page)


def come_in(page: Any, app: browser.App, world: World, name: str) -> None:
    """Joins the open study by a name typed on the sign-in page."""
    page.goto(f"{app.url}/?study={world.slug}")
    page.get_by_label("Your name", exact=True).fill(name)
    page.get_by_role("button", name="Start").click()
    page.get_by_role("button", name="I have noted it. Start").click()
    page.get_by_label("I have read this").check()
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_selector("[data-tw-text]")


def type_everything(page: Any) -> None:
    """An explanation, a note to the lead and a comment of a highlight, all hostile, on the item that is open."""
    slot = page.locator("[data-tw-text]").first.get_attribute("data-tw-text")
    browser.select_text(page, slot, 0, 9)
    page.locator(".tw-float [data-tw-label]").first.click()
    page.locator(f'[data-tw-text="{slot}"] mark').first.click()
    page.locator(".tw-popover input").fill(" ".join(PAYLOADS[:6]))
    page.keyboard.press("Escape")
    page.locator('.tw-fold[data-tw-fold="c1"]').evaluate("row => row.click()")  # rows that do not fit are folded
    browser.radio(page, "A:c1", "o0").check()
    page.locator('[data-tw-question="A:c1"] textarea').fill(BOUQUET)
    page.locator("[data-tw-lead-note]").click()
    page.locator('[data-tw-dialog="note"] textarea').fill(BOUQUET)
    page.locator("[data-tw-dialog-ok]").click()
    browser.answer_all(page)
    for ask in page.locator(".tw-ask:not([hidden])").all():
        ask.locator("[data-tw-reason]").first.evaluate("box => box.click()")  # its row may be folded
    browser.expect(browser.saved(page)).to_have_attribute("data-state", "saved")


@pytest.mark.long
def test_typed_names_explanations_notes_and_comments_come_back_as_text(app, world, watched):
    watch, page = watched
    come_in(page, app, world, "<img src=x onerror=__xss('name')>")
    type_everything(page)
    watch.look(page)
    page.reload()
    page.wait_for_selector(browser.WORKBENCH)
    assert page.locator('[data-tw-question="A:c1"] textarea').input_value() == BOUQUET
    browser.submit(page)
    page.locator("[data-tw-back]").click()
    browser.expect(page.locator("[data-tw-forward]")).to_be_visible()
    watch.look(page)
    page.goto(app.url)
    browser.settled(page)
    watch.look(page)


@pytest.mark.long
def test_the_list_of_studies_shows_titles_literally(app, world, watched):
    watch, page = watched
    browser.signed_in(page.context, app, world.lead)
    page.goto(app.url)
    browser.settled(page)
    assert missing(page, '[data-testid="stText"]') == []
    watch.look(page)


@pytest.mark.long
def test_study_pages_show_rubric_and_people_as_plain_text(app, world, watched):
    watch, page = watched
    browser.signed_in(page.context, app, world.lead)
    page.goto(f"{app.url}/setup?study={world.slug}&section=Rubric")
    page.locator(".rb .tw-criterion-title").first.wait_for()
    browser.settled(page)
    shown = visible(" ".join(page.locator(".rb").evaluate(TEXTS_AND_VALUES)))
    assert [payload for payload in PAYLOADS if visible(payload) not in shown] == []
    watch.look(page)
    page.goto(f"{app.url}/people?study={world.slug}")
    page.get_by_label("People to invite").fill("![n](https://evil.test/name.png)")
    page.get_by_role("button", name="Make personal links").click()
    browser.expect(page.get_by_text("![n](https://evil.test/name.png)").first).to_be_visible()
    watch.look(page)


@pytest.mark.long
def test_results_draw_titles_systems_and_reasons_as_text(app, world, watched):
    watch, page = watched
    browser.signed_in(page.context, app, world.lead)
    page.goto(f"{app.url}/results?study={world.slug}")
    page.get_by_role("heading", name="Can it be trusted?").wait_for()
    browser.settled(page)
    titles = tuple(" ".join(cycle(6, 6 * number)) for number in range(7))
    assert missing(page, '[data-testid="stHeading"]', titles) == []
    watch.look(page)
    for tab in page.get_by_test_id("stTab").all()[1:]:
        browser.open_tab(tab)
        browser.settled(page)
        watch.look(page)


@pytest.mark.long
def test_the_ratings_grid_shows_explanations_as_text(app, world, watched):
    watch, page = watched
    browser.signed_in(page.context, app, world.lead)
    page.goto(f"{app.url}/ratings?study={world.slug}")
    grid = page.frame_locator("iframe").first
    browser.expect(grid.locator(".ag-row").first).to_be_visible()
    browser.expect(grid.get_by_text(PAYLOADS[0]).first).to_be_attached()
    browser.in_list(page.get_by_label("System"), "", lambda option, patience: option.wait_for(timeout=patience))
    watch.look(page)


@pytest.mark.long
@pytest.mark.parametrize(
    "path", ["study", "design", "preview", "items", "quality", "report", "log", "people", "workbooks", "dry_run"]
)
def test_every_page_of_a_study_shows_hostile_texts_literally(app, world, watched, path):
    """With each of its tabs, and what folds out."""
    watch, page = watched
    browser.signed_in(page.context, app, world.lead)
    page.goto(f"{app.url}/{path}?study={world.slug}")
    browser.settled(page)
    watch.look(page)
    for tab in page.get_by_test_id("stTab").all():
        browser.open_tab(tab)
        browser.settled(page)
        for summary in page.locator("details:not([open]) > summary:visible").all()[:5]:
            summary.click()
        watch.look(page)
    assert page.get_by_test_id("stException").count() == 0


@pytest.mark.long
def test_no_table_offers_a_file_that_a_spreadsheet_runs(app, world, watched):
    """Streamlit's own CSV of a table holds formulas as they were typed; our exports mark them."""
    _, page = watched
    browser.signed_in(page.context, app, world.lead)
    page.goto(f"{app.url}/log?study={world.slug}")
    page.get_by_test_id("stDataFrame").first.hover()
    browser.expect(page.get_by_role("button", name="Fullscreen").first).to_be_visible()

    browser.expect(page.get_by_role("button", name="Download as CSV")).to_have_count(0)
