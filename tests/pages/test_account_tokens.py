"""Tokens on the page Account: shown once, listed, revoked; one that unblinds asks for the passcode and one study."""

from __future__ import annotations

import pytest
from helpers.results_pages import words
from helpers.sign_in import press
from helpers.study_pages import click_again_during, labels
from sqlalchemy import select

from triptych.people import accounts, logins, roster, tokens
from triptych.storage.database import reading, writing
from triptych.storage.models import Token
from triptych.study.persons import Who
from triptych.web.session import web_engine

PASSCODE = "correct horse battery"


@pytest.fixture
def ada(make_study) -> Who:
    with writing(web_engine()) as session:
        study, _, _ = make_study(session)
        lead = accounts.create_lead(session, "Ada", PASSCODE)
        roster.enrol_lead(session, study, lead, lead.pseudonym)
        who = logins.who_is(session, logins.use_ticket(session, logins.issue_sign_in_ticket(session, lead)))
    assert who is not None
    return who


def stored() -> list[Token]:
    with reading(web_engine()) as session:
        return list(session.scalars(select(Token)))


def shown(page) -> list[str]:
    return [code.value for code in page.code if code.value.startswith(tokens.PREFIX)]


def test_a_token_is_shown_once_listed_and_revoked(visit, ada):
    page = visit(ada, "account.py")
    next(box for box in page.text_input if box.label == "What it is for").input("Nightly judge")
    next(box for box in page.checkbox if box.label == "May write").check()
    press(page, "Make the token")
    (token,) = shown(page)

    assert [(made.name, made.may_write, made.may_unblind) for made in stored()] == [("Nightly judge", True, False)]
    assert tokens.secret_of(token)
    assert page.dataframe[0].value["Last used"].tolist() == ["never"]
    assert shown(visit(ada, "account.py")) == []

    page.selectbox(key="revoked").set_value(stored()[0].id).run()
    press(page, "Revoke it")
    assert ["revoked" in message.value for message in page.success] == [True]
    assert stored() == []


def test_a_token_without_a_name_is_refused_in_words(visit, ada):
    page = visit(ada, "account.py")
    press(page, "Make the token")

    assert any("1 to 60 characters" in message.value for message in page.error)
    assert stored() == shown(page) == []


def test_a_dismissed_token_is_shown_no_more(visit, ada):
    page = visit(ada, "account.py")
    next(box for box in page.text_input if box.label == "What it is for").input("Nightly judge")
    press(page, "Make the token")
    press(page, "Dismiss this token")

    assert shown(page) == []
    assert len(stored()) == 1


def test_a_second_click_makes_no_other_token_and_hides_none(visit, ada, monkeypatch):
    page = visit(ada, "account.py")
    next(box for box in page.text_input if box.label == "What it is for").input("Nightly judge")
    click_again_during(monkeypatch, tokens, "make")
    press(page, "Make the token")

    assert len(stored()) == len(shown(page)) == 1


def test_nothing_appears_above_the_button_that_makes_a_token(visit, ada):
    """The second click of a double click would meet *Dismiss this token*, or *Revoke a token*."""
    page = visit(ada, "account.py")
    next(box for box in page.text_input if box.label == "What it is for").input("Nightly judge")
    press(page, "Make the token")

    buttons = labels(page)
    assert buttons.index("Make the token") < buttons.index("Dismiss this token")


def test_the_box_says_where_the_token_is(visit, ada):
    """It stays open over the token; on a phone it hides it."""
    page = visit(ada, "account.py")
    assert "Your token appears once, below this box." in words(page)
    next(box for box in page.text_input if box.label == "What it is for").input("Nightly judge")
    press(page, "Make the token")

    assert "Your new token is shown below this box." in words(page)


def test_the_consequence_of_a_new_passcode_is_announced(visit, ada):
    assert "A new passcode signs you out in every other browser" in words(visit(ada, "account.py"))


def test_one_that_unblinds_asks_for_passcode_and_study(visit, ada, monkeypatch):
    monkeypatch.setattr(logins, "passcode_is_fresh", lambda session, who, typed_at: False)
    page = visit(ada, "account.py")
    next(box for box in page.text_input if box.label == "What it is for").input("Unblinding")
    next(box for box in page.checkbox if box.label == "May unblind").check().run()
    study = next(box for box in page.selectbox if box.label == "Study")
    assert study.options == ["A small study"]
    press(page, "Make the token")
    assert "This is not your passcode." in words(page).replace("\\", "")
    assert stored() == []

    next(box for box in page.text_input if box.label.startswith("Your passcode")).input(PASSCODE)
    press(page, "Make the token")
    assert [(made.may_unblind, made.study_id is None) for made in stored()] == [(True, False)]
