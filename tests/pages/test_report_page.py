"""The page Report: the questions of one datasheet are answered on two pages at the same time."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.ratings import submit
from helpers.studies import ROOT, full_answers
from streamlit.testing.v1 import AppTest

from components.shell import state
from triptych.storage.database import reading, writing
from triptych.study import heds_answers, lifecycle
from triptych.study.heds_answers import Answer, Sheet
from triptych.web.session import web_engine

pytestmark = pytest.mark.long

OF_ADA, OF_BOB = ("1.1.2", ""), ("1.3.1.2", "")


@pytest.fixture
def pages(make_study, visit):
    """(study, the page Report twice), both drawn before either saves."""
    with writing(web_engine()) as session:
        study, lead, people = make_study(session, items=1)
        submit(session, study, people[0], full_answers())
    return study, *(visit(lead, "report.py", study=study.slug) for _ in range(2))


def question(page: AppTest, place: tuple[str, str]) -> Any:
    return next(field for field in page.text_input if field.label.startswith(f"{place[0]} "))


def save(page: AppTest) -> AppTest:
    next(button for button in page.button if button.label == "Save these answers").click().run()
    assert not page.exception
    return page


def stored(study) -> Sheet:
    with reading(web_engine()) as session:
        return heds_answers.stored(lifecycle.by_slug(session, study.slug).settings.get("heds", {}))


def test_answers_of_two_pages_are_both_stored(pages, monkeypatch):
    monkeypatch.setattr(state, "DOUBLE_CLICK_SECONDS", 0)  # Bob saves twice, faster than a person
    study, ada, bob = pages
    question(ada, OF_ADA).set_value("of Ada")
    save(ada)
    question(bob, OF_BOB).set_value("of Bob")
    save(bob)

    assert stored(study) == {OF_ADA: Answer(text="of Ada"), OF_BOB: Answer(text="of Bob")}

    question(bob, OF_BOB).set_value("")
    save(bob)

    assert stored(study) == {OF_ADA: Answer(text="of Ada")}


def test_an_answer_replaces_anothers_only_after_a_warning(pages):
    study, ada, bob = pages
    question(ada, OF_ADA).set_value("of Ada")
    save(ada)
    question(bob, OF_ADA).set_value("of Bob")
    save(bob)

    assert stored(study) == {OF_ADA: Answer(text="of Ada")}
    assert "of Ada" in bob.error[0].value
    assert question(bob, OF_ADA).value == "of Bob"

    save(bob)

    assert stored(study) == {OF_ADA: Answer(text="of Bob")}


def test_a_form_drawn_again_begins_with_the_stored_answers(pages):
    study, ada, bob = pages
    question(ada, OF_ADA).set_value("of Ada")
    save(ada)
    for name in ("log", "report"):
        bob.switch_page(str(ROOT / "pages" / "lead" / f"{name}.py")).run()
    question(bob, OF_ADA).set_value("of Bob")
    save(bob)

    assert not bob.error
    assert stored(study) == {OF_ADA: Answer(text="of Bob")}
