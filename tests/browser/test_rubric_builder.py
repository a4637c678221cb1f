"""A rubric built by clicks and typing, without YAML: five criteria, one with a conditional reason."""

from __future__ import annotations

import re

import pytest
from helpers import browser
from helpers.browser import expect
from helpers.studies import draft_items

from bench.hands import Hands
from triptych.people import accounts, roster
from triptych.rubric.files import EMPTY_RUBRIC, read_sheet
from triptych.storage import database
from triptych.storage.models import StudyState
from triptych.study import design, lifecycle

pytestmark = [pytest.mark.browser, pytest.mark.long]
chromium = browser.chromium
MOST_ACTIONS = 12
IN_TAB = "Object.keys(sessionStorage).filter((key) => key.includes('rubric'))"
FORBIDDEN = """
Object.defineProperty(window, "sessionStorage", { get() { throw new DOMException("forbidden", "SecurityError"); } })
"""
QUESTIONS = {
    "Correctness": ("Is what it says true?", "Check every claim."),
    "Completeness": ("Does it answer everything?", "Ignore what was not asked."),
    "Clarity": ("Can one follow it at once?", "Judge the wording only."),
    "Tone": ("How does it sound?", "Think of a visitor."),
    "Next step": ("Does one know what to do next?", "Look for a date or an address."),
}


@pytest.fixture(scope="module")
def app(tmp_path_factory, forked):
    with browser.running(tmp_path_factory.mktemp("home"), start=forked) as app:
        yield app


@pytest.fixture
def draft(app, request):
    with database.writing(app.engine) as session:
        lead = accounts.create_lead(session, request.node.name[:40], "a long passcode of a lead")
        plan = lifecycle.StudyPlan(title="Help desk", seed="fixed")
        return lead.id, lifecycle.create_study(session, plan, EMPTY_RUBRIC, draft_items(3), lead.pseudonym, lead.id)


def field(page, path):
    return page.locator(f'[data-rb-path="{path}"]')


def stored(app, study):
    with database.reading(app.engine) as session:
        return read_sheet(lifecycle.rubric_text(session, lifecycle.by_slug(session, study.slug)))


@pytest.fixture(scope="module")
def context(chromium):
    return chromium.new_context()


@pytest.fixture
def page(app, draft, context):
    lead_id, study = draft
    page = browser.afresh(context, app)
    browser.signed_in(context, app, lead_id)
    page.goto(f"{app.url}/design?study={study.slug}&section=Rubric")
    expect(page.locator(".rb .tw-criterion-title").first).to_have_text("Quality")
    return page


def test_a_rubric_is_built_where_session_storage_is_forbidden(app, draft, context):
    lead_id, study = draft
    browser.afresh(context, app)
    page = browser.signed_in(context, app, lead_id).new_page()  # of its own, as the script stays
    page.add_init_script(FORBIDDEN)
    page.goto(f"{app.url}/design?study={study.slug}&section=Rubric")
    title = page.locator('[data-rb-path="criteria.0.title"]')
    title.fill("Größe réelle")
    expect(page.locator(".rb .tw-criterion-title").first).to_have_text("Größe réelle")
    expect(page.locator(".rb-saved")).to_contain_text("Saved")
    assert stored(app, study).rubric.criteria[0].key == "grosse_reelle"


def test_five_criteria_are_built_without_yaml(app, draft, page):
    hands, study = Hands(page), draft[1]
    titles = list(QUESTIONS)
    hands.click(page.locator('[data-rb-path="criteria.0.title"]'))
    hands.type(titles[0], *QUESTIONS[titles[0]])
    first = page.locator('.rb-row[data-rb-path="criteria.0.scale.points.0"]')
    hands.click(first.get_by_label("Ask why"))
    for title in titles[1:]:
        hands.click(page.get_by_role("button", name="Add a criterion"))
        hands.type(title, *QUESTIONS[title])
    expect(page.locator(".rb .tw-criterion-title")).to_have_text(titles)
    expect(page.locator(".rb-saved")).to_contain_text("Saved")

    rubric = stored(app, study).rubric
    assert rubric is not None
    assert [criterion.title for criterion in rubric.criteria] == titles
    assert [criterion.key for criterion in rubric.criteria] == [title.lower().replace(" ", "_") for title in titles]
    assert rubric.criteria[0].scale.ask_for(1.0).free_text == "required"
    assert hands.actions <= MOST_ACTIONS


def test_moves_undo_and_mistakes_reach_form_yaml_and_preview(app, draft, page):
    study = draft[1]
    page.locator('[data-rb-path="criteria.0.scale.points.0"]').get_by_label("Ask why").check()
    page.get_by_role("button", name="Add a criterion").click()
    expect(page.locator(".rb-mistakes li")).to_have_text(
        ["ShowCriterion 2, Name: is empty; write it.", "ShowCriterion 2, Definition: is empty; write it."]
    )
    assert not page.locator('[data-rb-path="criteria.1.scale.points.0"]').get_by_label("Ask why").is_checked()
    page.keyboard.type("Tone")
    expect(page.locator(".rb-mistakes")).to_contain_text("Criterion “Tone”, Definition: is empty; write it.")
    expect(page.locator(".rb .tw-criterion-title")).to_have_text(["Quality"])  # the last rubric without mistakes
    page.locator('[data-rb-path="criteria.1.definition"]').fill("How it sounds.")
    expect(page.locator(".rb .tw-criterion-title")).to_have_text(["Quality", "Tone"])
    expect(page.get_by_text("nobody has written another yet")).to_have_count(0)

    page.get_by_role("button", name="Move up: Tone").press("Enter")
    expect(page.locator(".rb .tw-criterion-title")).to_have_text(["Tone", "Quality"])
    page.locator(".rb-button", has_text="Undo").click()
    expect(page.locator(".rb .tw-criterion-title")).to_have_text(["Quality", "Tone"])
    page.reload()
    page.locator(".rb-button", has_text="Redo").click()
    expect(page.locator(".rb .tw-criterion-title")).to_have_text(["Tone", "Quality"])

    page.get_by_role("button", name="YAML", exact=True).click()
    text = page.get_by_label("The rubric as YAML")
    text.fill(text.input_value().replace("kind: likert", "kind: likart", 1))
    expect(page.locator(".rb-mistakes")).to_contain_text("Did you mean likert?")
    expect(page.locator(".rb-lines .rb-bad")).to_have_count(1)
    page.get_by_role("button", name="Write “likert”").click()
    expect(page.locator(".rb-mistakes li")).to_have_count(0)
    expect(page.locator(".rb-saved")).to_contain_text("Saved")
    assert [criterion["title"] for criterion in stored(app, study).value["criteria"]] == ["Tone", "Quality"]


def test_a_second_lead_is_shown_what_changed(app, draft, page):
    study = draft[1]
    with database.writing(app.engine) as session:
        parts = design.Parts(rubric_yaml=EMPTY_RUBRIC.replace("Poor", "Theirs"))
        design.amend(session, lifecycle.by_slug(session, study.slug), parts, "", "other")
    page.locator('[data-rb-path="criteria.0.title"]').fill("Mine")
    expect(page.locator(".rb-notice")).to_contain_text("Somebody else changed this rubric")
    page.get_by_role("button", name="Show their version").click()
    expect(page.locator('[data-rb-path="criteria.0.scale.points.0.title"]')).to_have_value("Theirs")


@pytest.mark.parametrize("next_person", ["nobody", "another lead"])
def test_the_next_person_finds_no_rubric(app, draft, page, context, next_person):
    """It has the right answers of an entry test."""
    assert len(page.evaluate(IN_TAB)) == 1
    if next_person == "nobody":
        browser.sign_out(page)
        expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    else:
        with app.writing() as session:
            other = accounts.create_lead(session, "Bea", "a long passcode of a lead").id
        browser.signed_in(context, app, other)
        page.goto(app.url)
        browser.settled(page)
    assert page.evaluate(IN_TAB) == []


def test_a_sign_out_in_another_tab_ends_the_form(app, draft, page, context):
    """The form's preview passed for an open item, so the rubric stayed on screen for the next person."""
    other = context.new_page()
    other.goto(app.url)
    browser.settled(other)
    browser.sign_out(other)
    expect(page.locator(".triptych-account")).to_have_count(0)
    expect(page.locator(".rb")).to_have_count(0)


def test_a_sign_out_in_another_tab_deletes_the_rubric(app, draft, page, context):
    assert len(page.evaluate(IN_TAB)) == 1
    other = context.new_page()
    other.goto(app.url)
    browser.settled(other)
    browser.sign_out(other)
    expect(other.locator(".triptych-account")).to_have_count(0)
    page.wait_for_function(f"() => {IN_TAB}.length === 0")


def test_an_open_form_stores_nothing_as_the_next_persons(app, draft, page, context):
    study = draft[1]
    with app.writing() as session:
        other = accounts.create_lead(session, "Cleo", "a long passcode of a lead")
        roster.enrol_lead(session, lifecycle.by_slug(session, study.slug), other, "P-1")
        other_id = other.id
    browser.signed_in(context, app, other_id)  # as in another tab
    page.locator('[data-rb-path="criteria.0.title"]').fill("Typed by the one before")
    expect(page.locator(".rb-notice")).to_contain_text("This form belongs to another person")
    assert stored(app, study).rubric.criteria[0].title == "Quality"


def test_a_launched_rubric_stays_out_of_the_tab(app, draft, page):
    study = draft[1]
    with app.writing() as session:
        lifecycle.set_state(session, lifecycle.by_slug(session, study.slug), StudyState.open, "L-1")
    assert len(page.evaluate(IN_TAB)) == 1
    page.reload()
    expect(page.get_by_text("Fixed since launch")).to_be_visible()
    assert page.evaluate(IN_TAB) == []


def test_every_control_of_the_schema_is_drawn(app, draft, page):
    """Starts from each shipped rubric: what it holds is shown without an error of the page."""
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    firsts = {"esc_dialogue": "Informativeness", "dialogue_response": "Appropriateness", "rrgen": "Semantic relevance"}
    for name, first in firsts.items():
        page.get_by_label("Start from another rubric").select_option(f"shipped/{name}")
        expect(page.locator(".rb-name").first).to_have_text(first)
        page.evaluate("for (const fold of document.querySelectorAll('.rb details')) fold.open = true")
    assert not errors


def test_the_right_answer_follows_the_names_of_answers(page):
    """It kept the name and short name that an answer had when the list was drawn."""
    page.get_by_label("Entry test").check()
    question = "entry_test.questions.0"
    field(page, "entry_test.title").fill("Before you begin")
    page.get_by_role("button", name="question", exact=True).click()
    field(page, f"{question}.text").fill("What counts?")
    field(page, f"{question}.reason").fill("Length helps nobody.")
    field(page, f"{question}.options.0.title").fill("Length")
    page.get_by_role("button", name="Add an answer").click()
    page.keyboard.type("Help")
    field(page, f"{question}.answer").select_option(label="Help")
    field(page, f"{question}.options.1.title").fill("Helpfulness")
    expect(field(page, f"{question}.answer").locator("option:checked")).to_have_text("Helpfulness")
    page.get_by_role("button", name="YAML", exact=True).click()
    keys = re.compile("key: question\n.*answer: helpfulness\n", re.DOTALL)
    expect(page.get_by_label("The rubric as YAML")).to_have_value(keys)
    expect(page.locator(".rb-mistakes li")).to_have_count(0)


def test_show_unfolds_the_field_of_a_mistake(page):
    more = page.locator(".rb-body > .rb-more > summary")
    more.click()
    field(page, "criteria.0.key").fill("")
    more.click()
    page.get_by_role("button", name="Show").click()
    expect(field(page, "criteria.0.key")).to_be_focused()
