"""The way in as the annotator sees it: each step on the work page, and the ways it can end."""

from __future__ import annotations

import json

import pytest
from helpers.entry import CODES, QUESTIONS
from helpers.sign_in import be, press, shown
from helpers.studies import ROOT, SMALL_RUBRIC, add_person, draft_items, join
from sqlalchemy import select
from streamlit.runtime.scriptrunner import RerunData, RerunException
from streamlit.runtime.state import SafeSessionState
from streamlit.runtime.state.session_state import WStates
from streamlit.testing.v1 import AppTest

from components.annotator import endings
from components.shell import state
from triptych.annotate import onboarding
from triptych.storage import database
from triptych.storage.models import Access, Study, StudyState, TestAnswer
from triptych.study import lifecycle
from triptych.study.settings import Consent, EntryRules, PanelAddress, StudySettings, stored
from triptych.web.session import web_engine

HOSTILE = "![x](http://evil.example/x.png) <b>bold</b>"


@pytest.fixture
def visit(monkeypatch):
    """visit(access, settings) → the page of an annotator in a study with an entry test."""

    def visiting(access=Access.open, **settings) -> AppTest:
        with database.writing(web_engine()) as session:
            rubric = SMALL_RUBRIC + QUESTIONS.replace("Because of b.", f"'{HOSTILE}'")
            study = lifecycle.create_study(
                session, lifecycle.StudyPlan(title="Answers"), rubric, draft_items(2), "lead"
            )
            study.access, study.settings = access, stored(StudySettings(codes=CODES, **settings))
            lifecycle.set_state(session, study, StudyState.open, "lead")
            who = join(session, study, add_person(session, "ann"))
        be(monkeypatch, who)
        app = AppTest.from_file(str(ROOT / "pages" / "annotator" / "annotate.py"), default_timeout=30)
        app.query_params["study"] = study.slug
        return app.run()

    return visiting


def answer(app: AppTest, place: int, option: str) -> AppTest:
    return app.radio[place].set_value(option).run()


def stored_answers() -> list[str]:
    with database.reading(web_engine()) as session:
        return list(session.scalars(select(TestAnswer.option).order_by(TestAnswer.id)))


def read_the_instructions(app: AppTest) -> None:
    """As the component's Start does, which AppTest does not run."""
    with database.writing(web_engine()) as session:
        study = session.scalars(select(Study)).one()
        who = state.current_person()
        assert who is not None
        onboarding.read_instructions(session, study, who, onboarding.wording_of(study))
    app.run()


def test_an_annotator_passes_every_step_to_the_work(visit):
    app = visit(
        consent=Consent(text=f"Stop whenever you like. {HOSTILE}"), instructions="Take your time.", contact="Ada"
    )
    assert f"Stop whenever you like. {HOSTILE}" in [text.value for text in app.text]
    assert "Answers" in [header.value for header in app.header]

    press(app, "I agree")
    drawn = [element.proto.json for element in app.get("bidi_component")]
    page = json.loads(json.loads(next(text for text in drawn if "Take your time." in text)))
    assert [text["text"] for text in page["own"]] == ["Take your time."]
    assert (page["contact"], page["rubric"]["instructions"]) == ("Ada", "Read the question, then rate each response.")
    read_the_instructions(app)
    assert "Read this first." in shown(app)
    press(app, "Start the test")
    assert "Read this first." not in shown(app)
    answer(app, 0, "b")
    press(app, "Hand in")
    assert "Question 2: no answer yet" in shown(app)
    answer(app, 1, "a")
    assert stored_answers() == ["b", "a"]
    app = app.run()  # as after a reload: the choice is shown
    assert [radio.value for radio in app.radio] == ["b", "a"]
    press(app, "Hand in")
    assert [title.value for title in app.title] == ["Test passed"]
    press(app, "Start with the items")
    assert not app.title, "the workbench has the page to itself"
    markdown = "\n".join(str(element.value) for kind in ("markdown", "caption") for element in app.get(kind))
    assert "evil.example" not in markdown


def test_declining_consent_shows_a_code_and_a_way_back(visit):
    app = visit(consent=Consent(text="Agree?"), panel=PanelAddress(return_url="https://p.example/x?cc={code}"))

    press(app, "Leave the study")

    assert [title.value for title in app.title] == ["You are not taking part"]
    assert [code.value for code in app.code] == ["OUT1"]
    assert [link.proto.url for link in app.get("link_button")] == ["https://p.example/x?cc=OUT1"]


def test_declining_a_consent_text_promises_no_deletion(visit):
    """Who declined a changed text read that only their refusal is stored, while all their ratings stay."""
    app = visit(consent=Consent(text="Agree?"))

    assert "Only the fact" not in shown(app)
    assert "anything you submitted before. Under *My data* you can read this and withdraw." in shown(app)
    press(app, "Leave the study")
    assert "Under *My data* you can read what is stored about you, and withdraw." in shown(app)


def test_failing_shows_the_reasons_and_a_code(visit):
    app = visit(Access.invited, entry=EntryRules(attempts=2))
    for attempt in (1, 2):
        press(app, "Start the test" if attempt == 1 else "Try again")
        answer(app, 0, "a")
        answer(app, 1, "a")
        press(app, "Hand in")
        if attempt == 1:
            assert "1 of 2 right, 50 %; 100 % were needed." in shown(app)
            assert "Right answer" not in shown(app)

    assert [title.value for title in app.title] == ["Thank you for taking the test"]
    assert [code.value for code in app.code] == ["FAIL1"]
    assert any("1 of 2 right, 50 %" in element.value for element in app.markdown)
    assert "Right answer: Beta" in shown(app)
    assert state.plain(HOSTILE) in [caption.value for caption in app.caption]


@pytest.fixture
def impatient(monkeypatch):
    """The browser has sent another click whenever a callback runs: the callback ends where Streamlit lets it."""
    running = []

    def calling(states, widget):
        running.append(widget)
        try:
            called(states, widget)
        finally:
            running.pop()

    def reading(values, key):
        if running:
            raise RerunException(RerunData())
        return read(values, key)

    called, read = WStates.call_callback, SafeSessionState.__getitem__
    monkeypatch.setattr(WStates, "call_callback", calling)
    monkeypatch.setattr(SafeSessionState, "__getitem__", reading)


def test_answers_chosen_faster_than_the_page_draws_are_all_kept(visit, impatient):
    app = press(visit(), "Start the test")
    app.radio[0].set_value("a")
    answer(app, 1, "b")
    assert stored_answers() == ["a", "b"]


@pytest.mark.parametrize(
    ("now", "title", "looks_again"), [(StudyState.paused, "Paused", True), (StudyState.closed, "Closed", False)]
)
def test_the_screen_of_a_pause_looks_again_by_itself(visit, monkeypatch, now, title, looks_again):
    followed = []
    monkeypatch.setattr(endings, "follow", lambda *of: followed.append(of))
    app = visit()
    with database.writing(web_engine()) as session:
        lifecycle.set_state(session, session.scalars(select(Study)).one(), now, "lead")

    assert [element.value for element in app.run().title] == [title]
    assert bool(followed) == looks_again
