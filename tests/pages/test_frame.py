"""The frame above a lead's pages: which study it names, and where its links lead."""

from __future__ import annotations

import re

import pytest
from helpers.present import present
from helpers.studies import SMALL_RUBRIC, add_person, draft_items, sure
from helpers.study_pages import ROUTER, SECRET_TEXT, stored
from streamlit.testing.v1 import AppTest

from components.shell import addresses, guides, places, state, tour
from components.shell.places import PLACES
from triptych.simulate import demo
from triptych.storage import database
from triptych.storage.models import Role, StudyState
from triptych.study import lifecycle
from triptych.web.session import web_engine

SCREENS = [screen for screens in PLACES.values() for screen in screens]
TITLES = [places.title_of(place, screen) for place, screens in PLACES.items() for screen in screens]


@pytest.fixture
def leads(make_study, monkeypatch):
    """(their study, themselves); the browser is signed in as the lead."""
    with database.writing(web_engine()) as session:
        study, lead, _ = make_study(session, items=2, title=SECRET_TEXT)
    monkeypatch.setattr(state, "current_person", lambda: lead)
    return study, lead


def visit(page: str, **query: str) -> AppTest:
    app = AppTest.from_file(str(ROUTER), default_timeout=30).run()
    app.switch_page(str(ROUTER.parent / page))
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def links(app: AppTest) -> dict[str, str]:
    """Label → address of every link to a page."""
    protos = [element.proto for element in app.get("page_link")]
    return {proto.label: f"{proto.page}?{proto.query_string}".rstrip("?") for proto in protos}


def header(app: AppTest) -> str:
    return app.text[0].value


@pytest.mark.long
@pytest.mark.parametrize(("screen", "title"), [*zip(SCREENS, TITLES, strict=True)], ids=TITLES)
def test_every_screen_has_the_frame_and_one_heading(leads, screen, title):
    study, _ = leads
    app = visit(screen.page, study=study.slug)

    assert [element.value for element in app.title] == [title]
    assert header(app) == "Open · 0 of 6 annotations · Blind"
    to = links(app)
    for place, screens in PLACES.items():
        assert to[place] == f"{screens[0].path}?study={study.slug}"
    assert len(PLACES) <= 7
    assert {"Studies", "New study", "My work", "Account", "Help"} <= set(to)
    assert {each.path for each in SCREENS} <= {address.partition("?")[0] for address in to.values()}


def test_the_frame_says_that_a_study_is_unblinded(leads):
    study, lead = leads
    with database.writing(web_engine()) as session:
        lifecycle.unblind(session, lifecycle.by_slug(session, study.slug), sure(lead))
    assert header(visit("lead/log.py", study=study.slug)).endswith("Unblinded")


def test_without_a_study_the_only_one_opens(leads):
    study, _ = leads
    app = visit("lead/results.py")
    assert app.query_params["study"] == study.slug
    assert links(app)["Setup"] == f"setup?study={study.slug}"


@pytest.mark.long
def test_without_a_study_the_list_of_several_opens(leads):
    demo.load_demo(web_engine())
    app = visit("lead/results.py")
    assert [element.value for element in app.title] == ["Studies"]
    assert "study" not in app.query_params


@pytest.mark.long
def test_the_box_changes_the_address_and_drops_its_filters(leads):
    demo.load_demo(web_engine())
    study, _ = leads
    app = visit("lead/log.py", study=study.slug, item="3")
    box = app.selectbox(key=f"study-{study.slug}")
    other = next(each.slug for each in stored() if each.demo)
    box.set_value(other).run()
    assert not app.exception
    assert dict(app.query_params) == {"study": other}
    assert links(app)["Results"] == f"results?study={other}"


def test_two_studies_of_one_title_stay_apart(leads, make_study):
    _, lead = leads
    with database.writing(web_engine()) as session:
        plan = lifecycle.StudyPlan(title=SECRET_TEXT, seed="fixed")
        other = lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(2), "L-1", lead.person_id)
    app = visit("lead/log.py", study=other.slug)
    app.run()  # now the browser sends what the box shows
    assert app.query_params["study"] == other.slug


@pytest.mark.long
def test_the_tour_goes_through_five_pages_of_the_finished_demo(leads):
    demo.load_demo(web_engine())
    slug = next(each.slug for each in stored() if each.demo and each.state == "closed")
    entry = f"results?study={slug}&tour=1"
    for page in ("lead/studies.py", "lead/help.py"):
        assert entry in links(visit(page)).values()

    for place, stop in enumerate(tour.STOPS, 1):
        app = visit(stop.page, study=slug, tour=str(place))
        text = "\n".join(element.value for element in app.markdown)
        assert f"Tour, stop {place} of 5" in text
        assert stop.task in text
        following = links(app).get("Next", "")
        assert following.endswith(f"tour={place + 1}") == (place < len(tour.STOPS))


@pytest.mark.parametrize("stop", ["1", "9", "x"])
def test_no_stop_of_the_tour_appears_elsewhere(leads, stop):
    study, _ = leads
    assert "End the tour" not in links(visit("lead/results.py", study=study.slug, tour=stop))


@pytest.mark.long
def test_pages_about_ratings_lead_on_while_there_is_none(make_study, monkeypatch):
    with database.writing(web_engine()) as session:
        lead = add_person(session, "lead", Role.lead)
        plan = lifecycle.StudyPlan(title="A draft", seed="fixed")
        draft = lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(2), "L-1", lead.person_id)
        open_study = lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(2), "L-1", lead.person_id)
        lifecycle.set_state(session, open_study, StudyState.open, "L-1")
    monkeypatch.setattr(state, "current_person", lambda: lead)
    for study, sentence, place in ((draft, "Launch the study", "Setup"), (open_study, "Invite annotators", "People")):
        for page in ("quality", "items", "ratings", "report"):
            app = visit(f"lead/{page}.py", study=study.slug)
            assert sentence in app.info[0].value
            assert f"Go to {place}" in links(app)
            assert not [button for button in app.button if button.label.startswith("Accept")]
        app = visit("lead/results.py", study=study.slug)
        assert [element.value for element in app.header] == ["There is no rating yet"]
        assert any(sentence in element.value for element in app.text)


@pytest.mark.parametrize("path", sorted(places.FORMER))
def test_a_former_address_leads_on(path):
    assert path not in {screen.path for screen in SCREENS}
    assert places.FORMER[path] in {screen.page for screen in SCREENS}


@pytest.mark.long
def test_pages_beyond_a_study_name_none(leads):
    for page, title in (
        ("studies", "Studies"),
        ("new_study", "New study"),
        ("account", "Account"),
        ("planner", "Planner"),
    ):
        app = visit(f"lead/{page}.py")
        assert [element.value for element in app.title] == [title]
        assert "Setup" not in links(app) or page == "studies"
        assert links(app)["Studies"] == "studies"


# Help


def test_every_section_of_a_screen_is_in_the_guide():
    assert {screen.section for screen in SCREENS} <= set(guides.sections("guide-leads"))


@pytest.mark.parametrize("guide", guides.GUIDES)
def test_a_guide_has_no_image_and_no_dead_link(guide):
    for heading, text in guides.sections(guide).values():
        assert heading
        assert "![" not in text
        for address in re.findall(r"\]\(([^)]+)\)", text):
            assert address.startswith(("https://", "help?guide="))
            name, section = present(
                re.fullmatch(r"(?:https:.*|help\?guide=([\w-]+)(?:&section=([\w-]+))?)", address)
            ).groups()
            assert name is None or section is None or section in guides.sections(name)


def test_help_opens_at_the_section_about_the_page(leads):
    study, _ = leads
    about = links(visit("lead/quality.py", study=study.slug))["About this page"]
    assert about == f"help?study={study.slug}&guide=guide-leads&section=while-it-runs"

    app = visit("lead/help.py", study=study.slug, guide="guide-leads", section="while-it-runs")
    assert app.header[0].value == "While it runs"
    assert header(app).startswith("Open")
    assert visit("lead/help.py", guide="nothing", section="of the kind").header[0].value == "The first account"


# Account


@pytest.fixture
def typed(leads, monkeypatch):
    """typed(present, new, again): what the page says."""
    monkeypatch.setattr(state, "current_person", lambda: leads[1])

    def change(*passcodes: str) -> AppTest:
        app = visit("lead/account.py")
        for field, text in zip(app.text_input[:3], passcodes, strict=True):
            field.set_value(text)
        next(button for button in app.button if button.label == "Change the passcode").click().run()
        return app

    return change


def test_a_new_passcode_needs_the_present_one(typed):
    assert "differ" in typed("a", "correct horse battery", "correct horse batter").error[0].value
    assert "not your passcode" in typed("a", "correct horse battery", "correct horse battery").error[0].value


def test_links_for_others_begin_with_the_configured_address(monkeypatch):
    assert addresses.app_address() == "http://localhost"
    monkeypatch.setenv("TRIPTYCH_ADDRESS", "https://annotate.example.org http://lab7.example:8080")
    assert addresses.app_address() == "https://annotate.example.org"
