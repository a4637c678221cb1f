"""An act happens to those it was meant for, or not at all, when a list changes between its drawing and a click."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.ratings import submit
from helpers.results_pages import words
from helpers.sign_in import app, arrival, field, press, shown
from helpers.studies import sure
from helpers.study_pages import button
from streamlit.testing.v1 import AppTest

from components.shell.state import key_of
from triptych.annotate import comments, workbooks
from triptych.operations import backup
from triptych.people import accounts, invitations, joining, logins, roster, tokens, viewers
from triptych.people.tokens import Scope
from triptych.privacy import withdrawal
from triptych.results import adjudication
from triptych.storage.database import reading, writing
from triptych.storage.models import Role, Study, StudyState
from triptych.study import lifecycle
from triptych.study.persons import Who
from triptych.web.session import web_engine

PASSCODE = "correct horse battery"
DID_NOTHING = "Your last click did nothing"


@pytest.fixture
def lab(make_study):
    """(study, lead, annotators); the study has a second lead, Dan, and a third, Cyd."""
    with writing(web_engine()) as session:
        study, lead, people = make_study(session, items=2, annotators=3, access="invited")
        for name in ("Cyd", "Dan"):
            accounts.create_lead(session, name, PASSCODE)
            roster.add_lead(session, study, name, lead.pseudonym)
        return study, lead, people


def members(study: Study, role: Role) -> dict[str | None, roster.Member]:
    with reading(web_engine()) as session:
        return {member.name: member for member in roster.members_of(session, study) if member.role == role}


def click(page: AppTest, label: str) -> AppTest:
    button(page, label).click().run()
    assert not page.exception
    return page


def box(page: AppTest, label: str) -> Any:
    return next(box for box in page.selectbox if box.label == label)


def tick(page: AppTest) -> None:
    next(box for box in page.checkbox if box.label == "I am sure").check()


def toasts(page: AppTest) -> str:
    return "\n".join(toast.value for toast in page.toast)


def test_nobody_is_removed_instead_of_a_lead_who_left(visit, lab):
    study, lead, _ = lab
    page = visit(lead, "people.py", study=study.slug)
    dan = members(study, Role.lead)["Dan"].pseudonym
    box(page, "Lead").set_value(dan).run()
    tick(page)
    with writing(web_engine()) as session:
        roster.remove_lead(session, study, dan, sure(lead))
    click(page, "Remove this lead")

    assert lead.pseudonym in [member.pseudonym for member in members(study, Role.lead).values()]
    assert "Cyd" in members(study, Role.lead)
    assert DID_NOTHING in toasts(page)
    assert box(page, "Lead").value is None


@pytest.mark.long
def test_no_seat_is_withdrawn_instead_of_one_withdrawn_before(visit, lab):
    study, lead, _ = lab
    with writing(web_engine()) as session:
        for name in ("One", "Two"):
            invitations.invite_one(session, study, name, "", Role.viewer, lead.pseudonym, 30)
    page = visit(lead, "people.py", study=study.slug)
    two = members(study, Role.viewer)["Two"].pseudonym
    box(page, "Viewer").set_value(two).run()
    with writing(web_engine()) as session:
        viewers.withdraw_seat(session, study, two, lead.pseudonym)
    click(page, "Withdraw this seat")
    assert list(members(study, Role.viewer)) == ["One"]
    assert DID_NOTHING in toasts(page)

    box(page, "Viewer").set_value(members(study, Role.viewer)["One"].pseudonym).run()
    assert list(members(study, Role.viewer)) == ["One"]
    assert not toasts(page)


def select_row(page: AppTest, study: Study, row: int) -> None:
    """In the table of annotators."""
    shown_now = key_of(f"people-{study.slug}", [member.pseudonym for member in members(study, Role.annotator).values()])
    page.session_state[shown_now] = {"selection": {"rows": [row], "columns": [], "cells": []}}
    page.run()


@pytest.mark.long
def test_a_click_that_found_nobody_selected_hits_nobody_later(visit, lab):
    study, lead, _ = lab

    def invite(name: str) -> None:
        with writing(web_engine()) as session:
            invitations.invite_one(session, study, name, "", Role.annotator, lead.pseudonym)

    invite("One")
    page = visit(lead, "people.py", study=study.slug)
    one = len(members(study, Role.annotator)) - 1
    select_row(page, study, one)
    invite("Two")  # the table has other rows now, so none of them is selected
    click(page, "End their links")
    assert "selected:" not in words(page)
    answer = toasts(page)

    for row in (one, one + 1):
        select_row(page, study, row)
        assert "1 person selected" in words(page)
    assert all(members(study, Role.annotator)[name].link_until for name in ("One", "Two"))
    assert DID_NOTHING in answer


@pytest.mark.long
def test_a_comment_for_somebody_who_left_reaches_nobody(visit, lab):
    study, lead, people = lab
    with writing(web_engine()) as session:
        for who in people:
            submit(session, study, who)
            submit(session, study, who)
    page = visit(lead, "items.py", study=study.slug)
    last = max(who.pseudonym for who in people)
    box(page, "Annotator").set_value(last)
    (text,) = [area for area in page.text_area if area.label == "Comment"]
    text.set_value(f"Dear {last}, why?")
    with writing(web_engine()) as session:
        roster.disable(session, study, last, lead)
    click(page, "Send")
    assert "Choose an annotator first" in words(page)
    assert [area.value for area in page.text_area if area.label == "Comment"] == [f"Dear {last}, why?"]
    click(page, "Send")

    with reading(web_engine()) as session:
        assert comments.threads(session, study, page.header[0].value.replace("\\", "")) == []


@pytest.mark.long
def test_nobody_is_asked_instead_of_somebody_who_has_the_item(visit, lab):
    study, lead, people = lab
    with writing(web_engine()) as session:
        submit(session, study, people[0])
        submit(session, study, people[0])
    page = visit(lead, "items.py", study=study.slug)
    asked = max(people[1:], key=lambda who: who.pseudonym)
    box(page, "Let another annotator decide").set_value(asked.pseudonym)
    with writing(web_engine()) as session:
        submit(session, study, asked)
        submit(session, study, asked)
    click(page, "Assign as their next item")

    assert "Choose an annotator first" in words(page)
    with reading(web_engine()) as session:
        assert adjudication.final_values(session, study) == {}


def test_nobody_gets_the_workbook_of_somebody_who_left(visit, lab):
    study, lead, people = lab
    page = visit(lead, "workbooks.py", study=study.slug)
    last = max(who.pseudonym for who in people)
    box(page, "Annotator").set_value(last).run()
    with writing(web_engine()) as session:
        withdrawal.withdraw(session, study, last, lead.pseudonym)
    click(page, "Make a workbook")

    with reading(web_engine()) as session:
        assert workbooks.listed(session, study) == []
    assert DID_NOTHING in toasts(page)


def test_no_backup_is_restored_instead_of_a_deleted_one(visit, lab):
    study, lead, _ = lab
    first, second = backup.make(web_engine()), backup.make(web_engine())
    page = visit(lead, "backups.py", study=study.slug)
    box(page, "Backup").set_value(first.name).run()
    tick(page)
    backup.delete(first)
    click(page, "Restore this backup")

    assert not page.success
    assert backup.listed() == [second]  # a restore would have backed up the state before it


@pytest.mark.long
def test_only_copies_that_were_listed_are_deleted(visit, lab):
    study, lead, (anna, ben, _) = lab

    def leave(who: Who) -> None:
        with writing(web_engine()) as session:
            withdrawal.withdraw(session, study, who.pseudonym, lead.pseudonym)

    backup.make(web_engine())
    leave(anna)
    backup.make(web_engine())
    page = visit(lead, "people.py", study=study.slug)
    leave(ben)
    tick(page)
    click(page, "Delete these copies")

    assert len(backup.listed()) == 2
    assert DID_NOTHING in toasts(page)


@pytest.fixture
def ada(lab) -> Who:
    """A lead of the study and of another, who may sign in."""
    study, lead, _ = lab
    with writing(web_engine()) as session:
        ada = accounts.create_lead(session, "Ada", PASSCODE)
        roster.enrol_lead(session, study, ada, lead.pseudonym)
        who = logins.who_is(session, logins.use_ticket(session, logins.issue_sign_in_ticket(session, ada)))
    assert who is not None
    return who


def test_no_token_is_revoked_instead_of_one_revoked_before(visit, ada):
    with writing(web_engine()) as session:
        for name in ("One", "Two"):
            tokens.make(session, ada, name, tokens.LIVES[0], {Scope.read}, None)
        newer, older = [token.id for token, _title in tokens.of_person(session, ada.person_id)]
    page = visit(ada, "account.py")
    box(page, "Token").set_value(older).run()
    with writing(web_engine()) as session:
        tokens.revoke(session, ada, older)
    click(page, "Revoke it")

    with reading(web_engine()) as session:
        assert [token.id for token, _title in tokens.of_person(session, ada.person_id)] == [newer]


def test_a_token_is_made_for_the_chosen_study_only(visit, ada, lab):
    study, _, _ = lab
    page = visit(ada, "account.py")
    next(text for text in page.text_input if text.label == "What it is for").set_value("Nightly judge")
    box(page, "Studies").set_value(study.slug).run()
    with writing(web_engine()) as session:
        roster.remove_lead(session, study, ada.pseudonym, sure(ada))
    click(page, "Make the token")

    with reading(web_engine()) as session:
        assert tokens.of_person(session, ada.person_id) == []


@pytest.fixture
def two_open(make_study) -> tuple[Study, Study]:
    with writing(web_engine()) as session:
        return tuple(make_study(session, annotators=0, title=title)[0] for title in ("Anna's", "Zoe's"))


def pause(study: Study) -> None:
    with writing(web_engine()) as session:
        lifecycle.set_state(session, lifecycle.by_slug(session, study.slug), StudyState.paused, "L")


def go_on(study: Study) -> None:
    with writing(web_engine()) as session:
        lifecycle.set_state(session, lifecycle.by_slug(session, study.slug), StudyState.open, "L")


def test_nobody_joins_another_study_than_the_chosen_one(make_study, two_open):
    chosen, _ = two_open
    with writing(web_engine()) as session:
        make_study(session, annotators=0, title="Third")
    test = app()
    field(test, "Your name").input("Mika")
    press(test, "Start")
    assert "Choose a study first" in shown(test)
    test.selectbox(key="join_study").select(chosen.slug)
    pause(chosen)
    press(test, "Start")

    assert arrival(test) is None
    assert "Choose a study first" in shown(test)
    assert field(test, "Your name").value == "Mika"


def test_nobody_joins_the_one_study_that_is_left(two_open):
    chosen, other = two_open
    test = app()
    test.selectbox(key="join_study").select(chosen.slug)
    field(test, "Your name").input("Mika")
    pause(chosen)
    press(test, "Start")
    assert arrival(test) is None
    assert DID_NOTHING in toasts(test)
    assert field(test, "Your name").value == "Mika"

    pause(other)
    go_on(chosen)
    press(test, "Start")  # below the title of `other`
    assert arrival(test) is None
    press(test, "Start")
    assert getattr(arrival(test), "study", None) == chosen.slug


def test_a_study_that_is_renamed_stays_chosen(two_open):
    chosen, _ = two_open
    with writing(web_engine()) as session:
        _, code = joining.join_open_study(session, chosen, "Mika")
    test = app()
    test.selectbox(key="return_study").select(chosen.slug)
    field(test, "Your name in this study").input("Mika")
    field(test, "Return code").input(code)
    with writing(web_engine()) as session:
        lifecycle.by_slug(session, chosen.slug).title = "Renamed"
    press(test, "Continue")
    assert getattr(arrival(test), "study", None) == chosen.slug
