"""The People page, My data and the link of an invited lead, and the files with personal data."""

from __future__ import annotations

import asyncio
import hashlib
import json

import pytest
import streamlit as st
from helpers.asgi import sent
from helpers.downloads import get
from helpers.present import present
from helpers.ratings import append_scores, submit
from helpers.results_pages import words
from helpers.sign_in import app, be, field, press, shown, signs_in
from helpers.studies import ROOT, add_person, full_answers, join, sure
from helpers.study_pages import button, click_again_during, interrupt_once, labels, rendered_markdown
from sqlalchemy import select
from starlette.applications import Starlette
from streamlit.testing.v1 import AppTest

from components.people.participants_table import DUE_NOTE
from components.shell import state
from triptych import settings
from triptych.annotate import onboarding
from triptych.participants import mail
from triptych.people import accounts, invitations, joining, links, logins, roster, signing_in, viewers
from triptych.privacy import erasure
from triptych.storage import database, events, sqlite_files, wiping
from triptych.storage.events import EventKind
from triptych.storage.models import Event, EventDetail, Login, Person, Role, Setting, Study
from triptych.storage.unavailable import FULL, DatabaseUnavailable
from triptych.study import lifecycle
from triptych.study.persons import Who
from triptych.study.settings import changed, settings_of, stored
from triptych.web import personal
from triptych.web.session import web_engine

HOSTILE = "![x](http://evil.example/x.png) <b>bold</b>"
PASSCODE = "correct horse battery"


@pytest.fixture
def people_study(make_study):
    with database.writing(web_engine()) as session:
        study, lead, annotators = make_study(session, items=2, annotators=1, access="invited")
        session.get_one(Person, lead.person_id).passcode_hash = "set"
        return study, lead, annotators[0]


def roster_of(study) -> dict[str | None, roster.Member]:
    with database.reading(web_engine()) as session:
        return {member.name: member for member in roster.members_of(session, study)}


def choose(page: AppTest, study, *pseudonyms: str) -> AppTest:
    return page.multiselect(key=f"chosen-{study.slug}").set_value(list(pseudonyms)).run()


def choose_lead(page: AppTest, study, pseudonym: str) -> None:
    """Of *Remove a lead*, with the tick that they are meant."""
    page.selectbox(key=f"fellow-{study.slug}").set_value(pseudonym).run()
    page.checkbox(key=f"certain-remove-{study.slug}-{pseudonym}-sure").check()


def invite(page: AppTest, name: str, role: str = "annotator") -> str:
    """The secret of the link that the page shows."""
    if role == "lead":
        next(element for element in page.text_input if element.label == "Name").set_value(name)
        button(page, "Create a personal link").click()
    elif role == "viewer":
        next(element for element in page.text_input if element.label == "Name of the viewer").set_value(name)
        button(page, "Create a read-only link").click()
    else:
        page.text_area[0].set_value(name)
        button(page, "Make personal links").click()
    page.run()
    assert not page.exception
    return newest_secret(page)


def newest_secret(page: AppTest) -> str:
    """Of the link that is shown first."""
    return page.code[0].value.partition("?join=")[2]


def links_shown(page: AppTest) -> list[str]:
    return list(next(frame.value for frame in page.dataframe if "Link" in frame.value)["Link"])


def test_addresses_of_one_computer_come_with_the_command_for_others(visit, people_study):
    study, lead, _ = people_study
    texts = words(visit(lead, "people.py", study=study.slug))

    assert "These addresses work on this computer only." in texts
    assert "start it with .venv/bin/python -m triptych server run --address 0.0.0.0" in texts


def test_the_guide_says_what_pay_due_leaves_out():
    guide = " ".join((ROOT / "docs" / "guide-leads.md").read_text().split())
    assert DUE_NOTE.partition(". ")[2] in guide


@pytest.mark.parametrize("address", ["http://[::1", "http://\u2100/x"])
def test_an_address_that_cannot_be_read_ends_no_page(visit, people_study, monkeypatch, address):
    study, lead, _ = people_study
    monkeypatch.setattr(type(st.context), "url", address)

    assert "These addresses work on this computer only." in words(visit(lead, "people.py", study=study.slug))


@pytest.mark.long
def test_the_table_says_when_people_agreed_and_to_which_text(visit, people_study):
    study, lead, annotator = people_study
    with database.writing(web_engine()) as session:
        here = session.get_one(Study, study.id)
        here.settings = stored(changed(here, consent={"text": "I agree."}))
    (before,) = visit(lead, "people.py", study=study.slug).dataframe[0].value["Consent"]
    with database.writing(web_engine()) as session:
        here = session.get_one(Study, study.id)
        joining.consent(session, here, annotator, settings_of(here).consent.version)
    (after,) = visit(lead, "people.py", study=study.slug).dataframe[0].value["Consent"]
    with database.writing(web_engine()) as session:
        here = session.get_one(Study, study.id)
        here.settings = stored(changed(here, consent={"text": "I agree to more."}))
    (outdated,) = visit(lead, "people.py", study=study.slug).dataframe[0].value["Consent"]

    assert (before, outdated) == ("not yet", f"{after} to an earlier text")


def test_a_failed_mail_and_an_empty_study_are_said(visit, make_study):
    with database.writing(web_engine()) as session:
        study, lead, _ = make_study(session, annotators=0)
        session.add(Setting(key=mail.failure_key(study.id), value="the mail server cannot be reached"))
    page = visit(lead, "people.py", study=study.slug)
    assert "was not sent to every lead: the mail server cannot be reached." in page.warning[0].value.replace("\\", "")
    assert "Nobody has joined yet. Invite people below." in [text.value for text in page.text]


@pytest.mark.long
def test_a_list_is_previewed_before_each_person_gets_a_link(visit, people_study):
    study, lead, _ = people_study
    page = visit(lead, "people.py", study=study.slug)
    data = f"name;e-mail;role\n{HOSTILE};a@b.example;\nBen;;lead\n".encode()
    page.file_uploader[0].upload("list.csv", data).run()
    assert HOSTILE in words(page)
    assert len(roster_of(study)) == 2

    button(page, "Invite 2 people").click().run()

    roster_rows = roster_of(study)
    assert (roster_rows[HOSTILE].email, roster_rows[HOSTILE].role, roster_rows["Ben"].role) == (
        "a@b.example",
        "annotator",
        "lead",
    )
    assert "evil" not in rendered_markdown(page)
    table = next(frame.value for frame in page.dataframe if "Link" in frame.value)
    with database.writing(web_engine()) as session:
        assert links.accept_invitation(session, table["Link"][0].partition("?join=")[2]).name == HOSTILE


@pytest.mark.long
def test_an_interrupted_invitation_is_sent_and_its_form_emptied(visit, people_study, monkeypatch):
    study, lead, _ = people_study
    page = visit(lead, "people.py", study=study.slug)
    interrupt_once(monkeypatch)

    assert invite(page, "Mia")

    assert "Mia" in roster_of(study)
    assert page.text_area[0].value == ""


def let_read(study, allowed: bool, lead: Who) -> None:
    with database.writing(web_engine()) as session:
        viewers.let_read_explanations(session, study, allowed, lead.pseudonym)


def readings(study) -> list[bool]:
    """Whether viewers may read explanations, after each change."""
    with database.reading(web_engine()) as session:
        events.write_pending(session)
        logged = select(EventDetail.new).join(Event).where(Event.kind == EventKind.viewers_reading_changed)
        return [present(new)["explanations"] for new in session.scalars(logged.order_by(Event.number))]


@pytest.mark.long
def test_two_states_of_one_toggle_do_not_alternate(visit, people_study):
    """A browser can send the states of a toggle that was drawn and of one that is being drawn."""
    study, lead, _ = people_study
    page = visit(lead, "people.py", study=study.slug)
    first = page.toggle[0]
    first.set_value(True).run()
    second = page.toggle[0]

    page.session_state[first.key] = True
    page.session_state[second.key] = False
    page.run(timeout=10)

    assert not page.exception
    assert readings(study) == [True]
    assert page.toggle[0].value


@pytest.mark.long
def test_a_toggle_shows_what_another_lead_stored(visit, people_study):
    study, lead, _ = people_study
    page = visit(lead, "people.py", study=study.slug)
    page.toggle[0].set_value(True).run()
    let_read(study, False, lead)
    assert not page.run().toggle[0].value

    page.toggle[0].set_value(True).run()

    assert page.toggle[0].value
    assert readings(study) == [True, False, True]


def test_a_toggle_stores_nothing_after_signing_out(visit, people_study, monkeypatch):
    study, lead, _ = people_study
    page = visit(lead, "people.py", study=study.slug)
    be(monkeypatch, None)

    page.toggle[0].set_value(True).run()

    assert readings(study) == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("role", "command"), [("annotator", "invite_all"), ("lead", "invite_one"), ("viewer", "invite_one")]
)
def test_a_second_click_makes_no_other_link_and_hides_none(visit, people_study, monkeypatch, role, command):
    study, lead, _ = people_study
    page = visit(lead, "people.py", study=study.slug)
    click_again_during(monkeypatch, invitations, command)

    secret = invite(page, "Mia", role)

    with database.reading(web_engine()) as session:
        assert present(links.invited(session, secret)).name == "Mia"
        assert len([member for member in roster.members_of(session, study) if member.name == "Mia"]) == 1
    assert "Nobody will be invited" not in words(page)


@pytest.fixture
def ready(visit, people_study):
    """The page with one annotator and one invited lead chosen."""
    study, lead, anna = people_study
    with database.writing(web_engine()) as session:
        dora = invitations.invite_one(session, study, "Dora", "", Role.lead, lead.pseudonym)
    page = choose(visit(lead, "people.py", study=study.slug), study, anna.pseudonym)
    return page.selectbox(key=f"waiting-{study.slug}").set_value(dora.pseudonym).run()


LINK_BUTTONS = {
    "Invite one more": (invitations, "invite_all"),
    "Remind": (invitations, "remind"),
    "Replace their links": (invitations, "renew"),
    "Create a new link": (roster, "new_link"),
}


@pytest.mark.long
@pytest.mark.parametrize("label", LINK_BUTTONS)
def test_a_double_click_makes_one_link(ready, monkeypatch, label):
    click_again_during(monkeypatch, *LINK_BUTTONS[label])
    button(ready, label).click().run()

    assert ready.header[0].value == "1 new personal link"


@pytest.mark.long
def test_a_second_click_soon_after_the_first_is_ignored(ready, monkeypatch):
    monkeypatch.setattr(state, "DOUBLE_CLICK_SECONDS", 600)
    button(ready, "Remind").click().run()
    button(ready, "Remind").click().run()

    assert ready.header[0].value == "1 new personal link"


@pytest.mark.long
def test_a_later_click_on_the_same_button_acts_again(ready, monkeypatch):
    monkeypatch.setattr(state, "DOUBLE_CLICK_SECONDS", 0)  # as if half a second had passed
    button(ready, "Remind").click().run()
    button(ready, "Remind").click().run()

    assert ready.header[0].value == "2 new personal links"


@pytest.mark.parametrize("label", ["Create a personal link", "Create a read-only link"])
def test_a_refused_invitation_says_why(visit, people_study, label):
    study, lead, _ = people_study
    page = visit(lead, "people.py", study=study.slug)
    for address in [box for box in page.text_input if box.label.startswith("E-mail address")]:
        address.set_value("eva")
    button(page, label).click().run()

    assert "eva" in page.error[0].value


def test_a_refused_click_can_be_repeated_at_once(visit, people_study, monkeypatch):
    monkeypatch.setattr(state, "DOUBLE_CLICK_SECONDS", 600)
    study, lead, _ = people_study
    page = visit(lead, "people.py", study=study.slug)
    button(page, "Create a personal link").click().run()
    assert page.error

    assert invite(page, "Mia", "lead")


def test_a_click_left_unread_is_forgotten_on_another_page(visit, people_study):
    study, lead, _ = people_study
    page = visit(lead, "people.py", study=study.slug)
    next(element for element in page.text_input if element.label.startswith("Name they")).set_value("Nobody")
    page.session_state["clicks"] = frozenset({f"add-lead-{study.slug}-0"})
    page.switch_page(str(ROOT / "pages" / "lead" / "studies.py")).run()
    page.switch_page(str(ROOT / "pages" / "lead" / "people.py")).run()

    assert not page.error


def test_list_errors_name_rows_and_invite_no_one(visit, people_study):
    study, lead, anna = people_study
    page = visit(lead, "people.py", study=study.slug)
    rows = ["name,email,role", "Eva,eva", "eva,", ",,lead", f"{anna.name},", "Tom,,boss", "Uwe,,,,x"]
    page.file_uploader[0].upload("list.csv", "\n".join(rows).encode()).run()

    text = words(page)
    for row in (2, 3, 4, 5, 6, 7):
        assert f"Row {row}" in text
    assert f"Already takes part, as {anna.pseudonym}" in text
    assert not [label for label in labels(page) if label.startswith("Invite ") and label.endswith("people")]


@pytest.mark.long
def test_a_lead_issues_a_new_link_disables_and_enables(visit, people_study):
    study, lead, _ = people_study
    page = visit(lead, "people.py", study=study.slug)
    first = invite(page, "Cleo")
    cleo = roster_of(study)["Cleo"].pseudonym
    choose(page, study, cleo)
    button(page, "Replace their links").click().run()
    second = newest_secret(page)
    with database.writing(web_engine()) as session:
        person = links.accept_invitation(session, second)
        login = logins.use_ticket(session, logins.issue_sign_in_ticket(session, person))
        with pytest.raises(accounts.NotAllowed):
            links.accept_invitation(session, first)

    button(page, "Disable").click().run()
    with database.reading(web_engine()) as session:
        assert logins.who_is(session, login) is None
    assert "disabled" in words(page)
    button(page, "Enable").click().run()
    assert roster_of(study)["Cleo"].state == "active"


@pytest.mark.long
def test_a_lead_lets_in_who_left_the_study_by_mistake(visit, people_study):
    study, lead, anna = people_study
    with database.writing(web_engine()) as session:
        here = session.get_one(Study, study.id)
        here.settings = stored(changed(here, consent={"text": "Agree?"}))
        onboarding.refuse(session, here, anna)
    page = choose(visit(lead, "people.py", study=study.slug), study, anna.pseudonym)
    assert "screened out" in words(page)
    button(page, f"Let {anna.pseudonym} in").click().run()
    assert "Give a reason" in words(page)
    page.text_input(key=f"why-{anna.pseudonym}").set_value("the wrong button")
    button(page, f"Let {anna.pseudonym} in").click().run()

    assert not page.exception
    assert roster_of(study)[anna.name].state == "active"
    assert f"Let {anna.pseudonym} in" not in labels(page)


@pytest.mark.long
def test_withdrawing_and_erasing_ask_first_and_say_what_happens(visit, people_study):
    study, lead, anna = people_study
    with database.writing(web_engine()) as session:
        submit(session, study, anna)
    page = choose(visit(lead, "people.py", study=study.slug), study, anna.pseudonym)
    withdraw, erase = f"Withdraw {anna.pseudonym}", f"Erase {anna.pseudonym}"
    assert button(page, withdraw).disabled
    assert f"1 annotation of {anna.pseudonym} in this study." in words(page)
    button(page, erase).click().run()
    assert roster_of(study)[anna.name].state == "active"
    assert "Their ratings are kept and marked as surplus" in words(page)

    page.checkbox(key=f"Withdraw-{anna.pseudonym}-sure").check().run()
    button(page, withdraw).click().run()
    assert roster_of(study)[None].state == "withdrawn"
    assert not in_the_file(anna)
    page.checkbox(key=f"certain-erase-{anna.pseudonym}-sure").check()
    button(page, erase).click().run()

    assert roster_of(study)[None].state == "erased"
    assert anna.name not in words(page).replace(anna.pseudonym, "")
    assert "No backup, capsule or report" in words(page)


def in_the_file(who: Who) -> bool:
    """Whether a byte of the name is in the database; the pseudonyms of tests hold the name."""
    content = database.sqlite_path(str(web_engine().url)).read_bytes()
    return present(who.name).encode() in content.replace(who.pseudonym.encode(), b"")


def test_a_judge_can_be_neither_withdrawn_nor_erased(visit, people_study):
    study, lead, _ = people_study
    with database.writing(web_engine()) as session:
        judge = append_scores(session, study, lead, "big-model")

    page = choose(visit(lead, "people.py", study=study.slug), study, judge)

    assert f"Withdraw {judge}" not in words(page)
    assert not [label for label in labels(page) if label.startswith(("Withdraw", "Erase"))]


@pytest.mark.long
def test_an_invited_leads_link_works_once(monkeypatch, visit, people_study):
    study, lead, _ = people_study
    page = visit(lead, "people.py", study=study.slug)
    secret = invite(page, "Dora", "lead")
    with database.writing(web_engine()) as session, pytest.raises(accounts.NotAllowed):
        links.accept_invitation(session, secret)  # a link alone never signs a lead in
    monkeypatch.setattr(state, "current_person", lambda: None)
    opened = app(join=secret)
    field(opened, "Choose a passcode").input("short")
    assert "8 to 200" in shown(press(opened, "Create the account"))
    field(opened, "Choose a passcode").input(PASSCODE)
    press(opened, "Create the account")

    with database.writing(web_engine()) as session:
        dora = present(signs_in(session, opened))
        assert lifecycle.led_by(session, dora, study.slug)
    assert signing_in.lead(web_engine(), "dora", PASSCODE).id == dora.person_id
    with database.writing(web_engine()) as session, pytest.raises(accounts.NotAllowed):
        links.accept_as_lead(session, secret, "another passcode")


@pytest.mark.long
def test_an_invited_lead_who_lost_the_link_gets_another(visit, people_study):
    study, lead, _ = people_study
    page = visit(lead, "people.py", study=study.slug)
    assert "Create a new link" not in labels(page)
    first = invite(page, "Dora", "lead")
    page.selectbox(key=f"waiting-{study.slug}").set_value(roster_of(study)["Dora"].pseudonym).run()
    button(page, "Create a new link").click().run()
    assert not page.exception
    second = page.code[0].value.partition("?join=")[2]

    with database.writing(web_engine()) as session:
        with pytest.raises(accounts.NotAllowed):
            links.invited(session, first)
        links.accept_as_lead(session, second, PASSCODE)
    page.run()
    assert "Create a new link" not in labels(page)


@pytest.mark.long
def test_removing_an_invited_lead_leaves_no_name_in_the_files(visit, people_study):
    study, lead, _ = people_study
    page = visit(lead, "people.py", study=study.slug)
    invite(page, "Theodora", "lead")
    choose_lead(page, study, roster_of(study)["Theodora"].pseudonym)
    button(page, "Remove this lead").click().run()

    assert "Theodora" not in roster_of(study)
    assert b"Theodora" not in database.sqlite_path(str(web_engine().url)).read_bytes()


@pytest.mark.long
def test_a_lead_learns_that_erased_bytes_are_cleared_later(visit, people_study, monkeypatch):
    study, lead, _ = people_study
    page = visit(lead, "people.py", study=study.slug)
    invite(page, "Theodora", "lead")
    choose_lead(page, study, roster_of(study)["Theodora"].pseudonym)
    monkeypatch.setattr(wiping, "wipe", lambda *_: wiping.Wiped.later)

    button(page, "Remove this lead").click().run()

    assert any("will leave them within minutes" in info.value for info in page.info)


@pytest.mark.long
def test_a_lead_learns_that_erased_bytes_could_not_be_cleared(visit, people_study, monkeypatch):
    """The file is rewritten, for which a full disk has no room."""
    study, lead, _ = people_study
    page = visit(lead, "people.py", study=study.slug)
    invite(page, "Theodora", "lead")
    choose_lead(page, study, roster_of(study)["Theodora"].pseudonym)

    def full(*_: object) -> None:
        raise DatabaseUnavailable(FULL)

    with monkeypatch.context() as disk:
        disk.setattr(wiping, "wipe", full)
        button(page, "Remove this lead").click().run()
    assert "Theodora" not in roster_of(study)
    assert any("the erased bytes are still in it" in warning.value for warning in page.warning)

    button(page, "Clear").click().run()
    assert not any("erased bytes" in warning.value for warning in page.warning)
    assert b"Theodora" not in database.sqlite_path(str(web_engine().url)).read_bytes()


@pytest.mark.long
def test_the_last_lead_of_a_study_cannot_be_removed(visit, people_study):
    study, lead, _ = people_study
    with database.writing(web_engine()) as session:
        other = accounts.create_lead(session, "Rosa", PASSCODE)
    page = visit(lead, "people.py", study=study.slug)
    assert "Remove this lead" not in labels(page)
    for name, message in (("Nobody", "There is no lead account"), ("rosa", "")):
        next(element for element in page.text_input if element.label.startswith("Name they")).set_value(name)
        button(page, "Add").click().run()
        assert [message in state_message for state_message in map(str, (element.value for element in page.error))] == [
            True
        ][: bool(message)]
    choose_lead(page, study, lead.pseudonym)
    button(page, "Remove this lead").click().run()

    assert [member.pseudonym for member in roster_of(study).values() if member.role == Role.lead] == [other.pseudonym]
    with database.writing(web_engine()) as session, pytest.raises(accounts.NotAllowed, match="at least one lead"):
        roster.remove_lead(session, study, other.pseudonym, sure("x"))


@pytest.mark.long
def test_all_links_made_stay_until_they_are_dismissed(visit, people_study):
    study, lead, anna = people_study
    page = visit(lead, "people.py", study=study.slug)
    made = {invite(page, "Mia"), invite(page, "Noa, n@x.example, expert")}
    choose(page, study, anna.pseudonym)
    button(page, "Remind").click().run()
    made.add(newest_secret(page))

    assert {link.partition("?join=")[2] for link in links_shown(page)} == made
    mail = next(code.value for code in page.code if code.value.startswith("Reminder: "))
    assert newest_secret(page) in mail
    csv = next(code.value for code in page.code if code.value.startswith("name,email,role,group"))
    assert all(secret in csv for secret in made)
    assert "n@x.example,annotator,expert" in csv
    button(page, "Dismiss these links").click().run()
    assert not [code.value for code in page.code if "join=" in code.value]


@pytest.mark.long
def test_groups_exclusions_and_ended_links_of_several_people(visit, people_study):
    study, lead, anna = people_study
    page = visit(lead, "people.py", study=study.slug)
    secret = invite(page, "Mia")
    mia = roster_of(study)["Mia"].pseudonym
    choose(page, study, anna.pseudonym, mia)
    field(page, "Group").set_value("crowd")
    button(page, "Save the group").click().run()
    button(page, "End their links").click().run()
    with database.writing(web_engine()) as session:
        groups = settings_of(session.get_one(Study, study.id)).annotator_groups
        with pytest.raises(accounts.NotAllowed):
            links.accept_invitation(session, secret)
    assert groups == {anna.pseudonym: "crowd", mia: "crowd"}

    field(page, "Why").set_value("a test")
    button(page, "Exclude 2 people").click().run()
    assert {roster_of(study)[name].state for name in (anna.name, "Mia")} == {"excluded"}
    assert "excluded: a test" in words(page)
    assert "Remind" not in labels(page)
    field(page, "Why").set_value("over")
    button(page, "Reinstate 2 people").click().run()
    assert {roster_of(study)[name].state for name in (anna.name, "Mia")} == {"active"}


@pytest.mark.long
def test_a_selected_row_is_forgotten_where_rows_change(visit, people_study):
    study, lead, anna = people_study
    page = visit(lead, "people.py", study=study.slug)
    key = selection_key_of(page, study)
    page.session_state[key] = {"selection": {"rows": [0], "columns": [], "cells": []}}
    page.run()
    assert f"1 person selected: {anna.pseudonym}" in words(page)
    invite(page, "Mia")
    assert selection_key_of(page, study) != key
    assert "selected:" not in words(page)


def selection_key_of(page: AppTest, study) -> str:
    with database.reading(web_engine()) as session:
        here = session.get_one(Study, study.id)
        names = [m.pseudonym for m in roster.members_of(session, here) if m.role == Role.annotator]
    order = hashlib.sha256(" ".join(names).encode()).hexdigest()[:12]
    return f"people-{study.slug}-{order}"


@pytest.mark.long
def test_people_are_filtered_by_state_and_by_words(visit, people_study):
    study, lead, anna = people_study
    page = visit(lead, "people.py", study=study.slug)
    invite(page, "Mia, m@x.example")
    assert shown_people(page) == [anna.name, "Mia"]
    page.text_input(key=f"find-{study.slug}").set_value("x.EXAMPLE").run()
    assert shown_people(page) == ["Mia"]
    with database.writing(web_engine()) as session:
        submit(session, study, anna, seconds=59.7)
    page.text_input(key=f"find-{study.slug}").set_value("").run()
    page.button_group(key=f"state-{study.slug}").set_value("Working").run()
    assert shown_people(page) == [anna.name]
    assert next(frame.value for frame in page.dataframe if "Pace" in frame.value)["Pace"].tolist() == ["1:00"]


def shown_people(page: AppTest) -> list[str]:
    return list(next(frame.value for frame in page.dataframe if "Pace" in frame.value)["Name"])


@pytest.mark.long
def test_one_more_is_invited_while_places_are_open(visit, people_study):
    study, lead, anna = people_study
    page = visit(lead, "people.py", study=study.slug)
    button(page, "Invite one more").click().run()
    assert not page.exception
    with database.writing(web_engine()) as session:
        person = links.accept_invitation(session, newest_secret(page))
        assert person.name is None


def delete_copies(page) -> None:
    next(box for box in page.checkbox if box.label == "I am sure").check()
    button(page, "Delete these copies").click().run()


@pytest.mark.long
def test_only_copies_that_the_lead_saw_are_deleted(visit, make_study, people_study):
    """A click belongs to the list that was drawn: somebody may withdraw while a lead reads it."""
    study, lead, gone = people_study
    folder = settings.local_folder() / "backups"
    folder.mkdir(mode=0o700)
    with database.writing(web_engine()) as session:
        later = join(session, session.get_one(Study, study.id), add_person(session, "later"))
    in_use = database.sqlite_path(settings.database_url())
    sqlite_files.copy_sqlite(in_use, folder / "first.db")
    with database.writing(web_engine()) as session:
        erasure.erase(session, study, gone.pseudonym, sure(lead))
    sqlite_files.copy_sqlite(in_use, folder / "second.db")
    page = visit(lead, "people.py", study=study.slug)
    with database.writing(web_engine()) as session:
        erasure.erase(session, study, later.pseudonym, sure(lead))

    delete_copies(page)
    assert sorted(path.name for path in folder.glob("*.db")) == ["first.db", "second.db"]
    delete_copies(page)
    assert not page.exception
    assert list(folder.glob("*.db")) == []


@pytest.mark.parametrize(("items", "places"), [(1, "The one place is"), (2, "All 2 places are")])
def test_the_page_says_when_the_study_is_done(visit, make_study, items, places):
    with database.writing(web_engine()) as session:
        study, lead, (anna,) = make_study(session, items=items, annotators=1, raters_per_item=1)
        for _ in range(items):
            submit(session, study, anna)
    page = visit(lead, "people.py", study=study.slug)
    assert [message.value for message in page.success] == [
        state.plain(f"{places} filled: the study is complete and can be closed.")
    ]
    assert "Invite one more" not in labels(page)


def test_the_page_counts_accounts_that_its_links_refuse(visit, make_study, people_study):
    """A lead who is added to one of two studies of the same annotators could open their accounts."""
    study, lead, anna = people_study
    with database.writing(web_engine()) as session:
        other, _, _ = make_study(session, access="invited", title="Another")
        join(session, other, anna)
    page = visit(lead, "people.py", study=study.slug)
    (warning,) = [message.value for message in page.warning if "Let the same people lead" in message.value]
    assert "do not let in 1 annotator" in warning


def test_an_annotator_reads_what_is_stored_and_withdraws(monkeypatch, people_study):
    study, _, anna = people_study
    with database.writing(web_engine()) as session:
        submit(session, study, anna, full_answers())
        here = lifecycle.by_slug(session, study.slug)
        here.settings = stored(changed(here, consent={"text": "Agree?", "after_withdrawal": "delete"}))
    monkeypatch.setattr(state, "current_person", lambda: anna)
    page = AppTest.from_file(str(ROOT / "pages" / "router.py"), default_timeout=30).run()
    page.switch_page(str(ROOT / "pages" / "annotator" / "my_data.py")).run()
    assert "1 item with ratings · 0 highlights" in words(page)
    assert "All your work in this study is removed" in words(page)

    page.checkbox(key=f"withdraw-{study.slug}-sure").check().run()
    button(page, "Withdraw now").click().run()

    assert "0 items with ratings" in words(page)
    assert "You withdrew" in words(page)
    assert not in_the_file(anna)
    with database.reading(web_engine()) as session:
        assert events.since(session, study.id, 0)[-1].actor == anna.pseudonym


def test_personal_data_files_go_to_the_person_and_their_leads(monkeypatch, make_study, people_study):
    study, lead, anna = people_study
    with database.writing(web_engine()) as session:
        other, its_lead, (ben, *_) = make_study(session)
        join(session, other, anna)
    routes = Starlette(routes=personal.PERSONAL_ROUTES)

    def ask(who: Who | None, path: str):
        monkeypatch.setattr(personal, "current_login", lambda request: who)
        return asyncio.run(get(routes, path))

    file = f"/people/{study.slug}/{anna.pseudonym}.json"
    answers = {name: ask(who, file).status_code for name, who in (("nobody", None), ("ben", ben), ("anna", anna))}
    assert answers == {"nobody": 401, "ben": 403, "anna": 403}
    assert ask(its_lead, file).status_code == 404
    assert ask(lead, file.replace(anna.pseudonym, ben.pseudonym)).status_code == 404
    content = ask(lead, file)
    assert (content.status_code, other.title in content.text) == (200, other.title == study.title)
    assert ask(None, "/my-data.csv").status_code == 401
    assert ask(anna, "/my-data.exe").status_code == 404
    assert ask(anna, "/my-data.csv").text.startswith("\ufeffstudy,item")


def test_a_login_by_a_link_reads_no_identity(monkeypatch, people_study):
    """A lead opened a link that they had made for an annotator, and read their identity in *My data*."""
    _, _, anna = people_study
    with database.writing(web_engine()) as session:
        session.get_one(Person, anna.person_id).identity = "anna@uni.example"
    monkeypatch.setenv("TRIPTYCH_IDENTITY_HEADER", "X-Remote-User")
    monkeypatch.setattr(personal, "current_login", lambda request: anna)

    def identity(came_with: str) -> str:
        headers = [(b"x-remote-user", came_with.encode())]
        routes = Starlette(routes=personal.PERSONAL_ROUTES)
        _, content = asyncio.run(sent(routes, "GET", "/my-data.json", headers))
        return json.loads(content)["identity"]

    assert identity("anna@uni.example") == "anna@uni.example"
    assert identity("") == identity("lead@uni.example") == personal.HIDDEN_IDENTITY


def test_an_erased_person_cannot_sign_in_from_another_tab(people_study):
    study, lead, anna = people_study
    with database.writing(web_engine()) as session:
        person = session.get_one(Person, anna.person_id)
        logins.use_ticket(session, logins.issue_sign_in_ticket(session, person))
        erasure.erase(session, study, anna.pseudonym, sure(lead))
        assert session.scalars(select(Login)).all() == []
