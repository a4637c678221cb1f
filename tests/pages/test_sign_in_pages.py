"""The sign-in pages and the router, run without a browser: who gets which pages, what they say, what they do."""

from __future__ import annotations

import re

import psycopg
import pytest
import streamlit as st
from helpers.present import present
from helpers.sign_in import app, arrival, be, field, press, shown, signs_in
from helpers.studies import add_person, personal_link
from helpers.study_pages import click_again_during
from sqlalchemy.exc import OperationalError

from components.shell import state
from triptych.people import accounts, joining, languages, links, logins, panels, signing_in
from triptych.storage.database import reading, writing
from triptych.storage.models import Access, Role, StudyState
from triptych.storage.unavailable import refuse_unavailable
from triptych.study import lifecycle
from triptych.web.session import web_engine

PASSCODE = "correct horse battery"


@pytest.fixture
def engine():
    return web_engine()


@pytest.fixture
def study(engine, make_study):
    with writing(engine) as session:
        return make_study(session, annotators=0)[0]


def test_a_stranger_sees_the_sign_in_page_only(study):
    test = app()

    assert [element.label for element in test.tabs] == ["Take part", "I have a return code", "Lead"]
    assert "Sign out" not in shown(test)


def test_an_annotator_gets_annotator_pages_and_no_lead_page(monkeypatch, engine):
    with writing(engine) as session:
        be(monkeypatch, add_person(session, "Anna"))
    test = app()

    assert test.title[0].value == "My work"
    with pytest.raises(ValueError, match="lead/results"):
        test.switch_page("lead/results.py").run()


def test_the_start_button_leads_to_the_annotate_page(monkeypatch, engine, make_study):
    with writing(engine) as session:
        _, _, (anna, _) = make_study(session)
        be(monkeypatch, anna)
    test = press(app(), "Start")

    assert not test.exception
    assert not test.title
    assert any("Question number" in element.proto.json for element in test.get("bidi_component"))


def test_an_annotator_reads_of_an_outage_in_their_language(monkeypatch, engine):
    with writing(engine) as session:
        anna = add_person(session, "Anna")
        languages.choose(session, anna, "de")
    be(monkeypatch, anna)
    test = app()

    def gone() -> None:
        refuse_unavailable(OperationalError("SELECT 1", {}, psycopg.OperationalError()))

    monkeypatch.setattr(state, "current_person", gone)
    assert "Die Datenbank antwortet im Moment nicht." in shown(test.run())


def test_a_lead_starts_with_their_studies(monkeypatch, engine):
    with writing(engine) as session:
        be(monkeypatch, add_person(session, "Ada", Role.lead))

    test = app()

    assert not test.exception
    assert not [element for element in test.title if element.value == "My work"]


# Set-up


def test_the_setup_link_makes_the_lead_account_and_signs_in(engine):
    with writing(engine) as session:
        secret = accounts.issue_setup_ticket(session)
    test = app(setup=secret)
    field(test, "Your name").input("Ada")
    field(test, "Choose a passcode").input(PASSCODE)
    press(test, "Create the account")

    with writing(engine) as session:
        assert present(signs_in(session, test)).role == Role.lead


def test_a_refused_passcode_is_explained_and_makes_no_account(engine):
    with writing(engine) as session:
        secret = accounts.issue_setup_ticket(session)
    test = app(setup=secret)
    field(test, "Your name").input("Ada")
    field(test, "Choose a passcode").input("short")

    assert "8 to 200 characters" in shown(press(test, "Create the account"))
    with reading(engine) as session:
        assert not accounts.has_lead(session)


@pytest.mark.parametrize("secret", ["", "guess"])
def test_without_the_link_there_is_no_form_for_an_account(secret):
    test = app(setup=secret)

    assert "no longer valid" in shown(test)
    assert not test.text_input


@pytest.mark.parametrize("way_in", ["setup", "join", "another's link"])
def test_below_a_path_links_of_the_way_in_stay_there(monkeypatch, engine, study, way_in):
    """Something else may answer at the root: behind JupyterHub, another person's app."""
    link = {way_in: "used"}
    if way_in == "another's link":
        with writing(engine) as session:
            link = {"join": personal_link(session, study, "Bert")}
            be(monkeypatch, add_person(session, "Anna"))
    monkeypatch.setattr(st, "get_option", {"server.baseUrlPath": "user/ada"}.get)

    assert {button.proto.url for button in app(**link).get("link_button")} == {"/user/ada/"}


def test_without_a_lead_the_page_names_the_setup_link():
    assert "the terminal printed" in shown(app())


# Leads


def test_a_lead_signs_in_with_name_and_passcode(engine):
    with writing(engine) as session:
        lead = accounts.create_lead(session, "Ada", PASSCODE)
    test = app()
    field(test, "Name").input("Ada")
    field(test, "Passcode").input(PASSCODE)
    press(test, "Sign in")

    with writing(engine) as session:
        assert present(signs_in(session, test)).person_id == lead.id


def test_wrong_passcode_and_unknown_name_get_the_same_message(engine):
    with writing(engine) as session:
        accounts.create_lead(session, "Ada", PASSCODE)
    test = app()
    for name in ("Ada", "Eve"):
        field(test, "Name").input(name)
        field(test, "Passcode").input("wrong wrong")
        assert signing_in.WRONG_PASSCODE in shown(press(test, "Sign in"))
        assert arrival(test) is None


# Annotators


def test_a_newcomer_sees_their_return_code_once(engine, study):
    test = app()
    field(test, "Your name").input("Anna")
    press(test, "Start")
    code = present(present(arrival(test)).return_code)

    assert code in shown(test)
    with writing(engine) as session:
        who = present(signs_in(session, test))
    again = signing_in.returning(engine, study, "Anna", code)
    assert who.person_id == again.id


def test_a_newcomer_who_clicks_twice_sees_their_return_code(study, monkeypatch):
    test = app()
    field(test, "Your name").input("Anna")
    click_again_during(monkeypatch, signing_in, "newcomer")
    press(test, "Start")

    assert "Somebody called Anna" not in shown(test)
    assert present(present(arrival(test)).return_code) in shown(test)


def test_the_study_that_people_choose_opens_after_signing_in(engine, make_study, study):
    with writing(engine) as session:
        make_study(session, title="Another study")
    test = app()
    choice = next(box for box in test.selectbox if box.key == "join_study")
    choice.select(study.slug)
    field(test, "Your name").input("Anna")
    press(test, "Start")
    first = present(arrival(test))

    test = app()
    next(box for box in test.selectbox if box.key == "return_study").select(study.slug)
    field(test, "Your name in this study").input("Anna")
    field(test, "Return code").input(present(first.return_code))
    press(test, "Continue")
    assert [first.study, present(arrival(test)).study] == [study.slug, study.slug]


@pytest.mark.parametrize(
    ("now", "message"),
    [
        ({"state": StudyState.closed}, "not open any more"),
        ({"state": StudyState.paused}, "its lead has paused it"),
        ({"access": Access.invited}, "not open to everybody"),
        ({"slug": "elsewhere"}, "There is no study called 'a-small-study'"),
    ],
)
def test_the_link_of_a_closed_study_leads_into_no_other(engine, make_study, study, now, message):
    with writing(engine) as session:
        make_study(session, annotators=0, title="Demo: another one")
        here = lifecycle.by_slug(session, study.slug)
        for name, value in now.items():
            setattr(here, name, value)
    test = app(study=study.slug)

    assert message in shown(test)
    assert "another one" not in shown(test)
    assert "Start" not in [element.label for element in test.button]


def test_the_link_of_an_open_study_offers_this_study_only(engine, make_study, study):
    with writing(engine) as session:
        other = make_study(session, annotators=0, title="Another one")[0]
    offered = [box.options for box in app().selectbox if box.label == "Study"]
    assert offered == [[other.title, study.title]] * 2

    test = app(study=study.slug)
    assert [box.label for box in test.selectbox] == ["Language"]
    field(test, "Your name").input("Anna")
    press(test, "Start")
    with writing(engine) as session:
        who = present(signs_in(session, test))
        assert [joined.slug for joined in lifecycle.for_annotator(session, who.person_id)] == [study.slug]


@pytest.mark.parametrize("now", [StudyState.paused, StudyState.closed])
def test_members_can_return_to_a_paused_or_closed_study(engine, study, now):
    with writing(engine) as session:
        joining.join_open_study(session, study, "Anna")
        lifecycle.by_slug(session, study.slug).state = now
    assert field(app(study=study.slug), "Return code")


def test_the_return_code_brings_an_annotator_back(engine, study):
    with writing(engine) as session:
        person, code = joining.join_open_study(session, study, "Anna")
    test = app()
    field(test, "Your name in this study").input("Anna")
    field(test, "Return code").input(code)
    press(test, "Continue")

    with writing(engine) as session:
        assert present(signs_in(session, test)).person_id == person.id


def test_a_name_that_looks_like_markdown_is_shown_literally(engine, study):
    name = "![x](https://evil.example/x.png) <b>"
    with writing(engine) as session:
        joining.join_open_study(session, study, name)
    test = app()
    field(test, "Your name").input(name)
    press(test, "Start")

    assert "\\!\\[x\\]\\(https\\:" in test.error[0].value
    assert name in shown(test)


def test_a_personal_link_signs_in_its_person(engine, study):
    with writing(engine) as session:
        secret = personal_link(session, study, "Anna")
        person = links.accept_invitation(session, secret)
    test = app(join=secret)

    with writing(engine) as session:
        assert present(signs_in(session, test)).person_id == person.id


def test_a_link_that_is_not_valid_says_so():
    test = app(join="guess")

    assert "not valid" in shown(test)
    assert arrival(test) is None


def test_a_personal_link_asks_before_signing_a_lead_out(monkeypatch, engine, study):
    with writing(engine) as session:
        secret = personal_link(session, study, "Anna")
        be(monkeypatch, add_person(session, "Ada", Role.lead))
    test = app(join=secret)

    assert arrival(test) is None
    assert arrival(press(test, "Open it as the person it was made for"))


def test_a_panel_address_signs_in_its_participant(engine, study):
    with writing(engine) as session:
        here = lifecycle.by_slug(session, study.slug)
        here.access = Access.panel
    test = app(study=study.slug, PROLIFIC_PID="5f1", SESSION_ID="s")

    with writing(engine) as session:
        who = present(signs_in(session, test))
        person = panels.join_from_panel(session, lifecycle.by_slug(session, study.slug), "prolific", "5f1", "s")
        assert who.person_id == person.id
        assert who.name is None


def test_a_panel_newcomer_sees_that_the_study_is_not_open(engine, study):
    with writing(engine) as session:
        here = lifecycle.by_slug(session, study.slug)
        here.access, here.state = Access.panel, StudyState.closed
    test = app(study=study.slug, PROLIFIC_PID="5f1")

    assert "not open" in shown(test)
    assert arrival(test) is None


# Words


@pytest.mark.parametrize(
    "text", ["a_b*c*", "[x](y)", "# x", "1. x", "$x$", "<b>&amp;", ":red[x]", "~~x~~", "|a|", "`x`"]
)
def test_plain_text_leaves_no_mark_unescaped(text):
    left = state.plain(text)
    while "\\" in left:
        before, _, after = left.partition("\\")
        assert not set(before) & set("_*[]()#.$<>&;:~|`")
        left = after[1:]
    assert not set(left) & set("_*[]()#.$<>&;:~|`")


def test_an_icon_name_does_not_become_an_icon():
    assert ":smile:" not in state.plain(":smile:").replace("\\", "")


def test_too_many_sign_ins_are_answered_with_a_time(engine, monkeypatch):
    with writing(engine) as session:
        accounts.create_lead(session, "Ada", PASSCODE)
    monkeypatch.setenv("TRIPTYCH_BUDGETS", "sign_ins=2/0.01")
    monkeypatch.setattr(type(st.context), "ip_address", None)
    test = app()
    for number in range(3):
        field(test, "Name").input("Ada")
        field(test, "Passcode").input(PASSCODE if number == 2 else "a guess of a stranger")
        press(test, "Sign in")

    assert arrival(test) is None
    assert re.search(r"Try again in \d+ seconds\.", shown(test))


def test_opening_a_page_prolongs_a_leads_login(monkeypatch, engine, move_clock):
    """Nobody who works every day is signed out after twelve hours."""
    with writing(engine) as session:
        ada = accounts.create_lead(session, "Ada", PASSCODE)
        secret = logins.use_ticket(session, logins.issue_sign_in_ticket(session, ada))
        be(monkeypatch, logins.who_is(session, secret))
    for _ in range(2):
        move_clock(hours=11)
        app()

    with reading(engine) as session:
        assert logins.who_is(session, secret)
