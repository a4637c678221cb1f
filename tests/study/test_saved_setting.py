"""One setting at a time: two leads never overwrite each other, and the log takes a change back."""

from __future__ import annotations

import pytest
from helpers.studies import SMALL_RUBRIC, add_person, draft_items
from sqlalchemy import select

from triptych.errors import Conflict, NotAllowed
from triptych.operations.verify import verify
from triptych.storage import database, events
from triptych.storage.models import Item, Role
from triptych.study import launch, lifecycle, saved_setting
from triptych.study.settings import settings_of

ANNA, BEN = "P-anna", "P-ben"


@pytest.fixture
def session(engine):
    with database.writing(engine) as session:
        yield session


@pytest.fixture
def draft(session):
    lead = add_person(session, "lead", Role.lead)
    plan = lifecycle.StudyPlan(title="A study", seed="fixed")
    return lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(3), lead.pseudonym, lead.person_id)


def write(session, study, path, value, actor=ANNA, seen=None, **more):
    seen = saved_setting.value_of(study, path) if seen is None else seen
    return saved_setting.write(session, study, path, value, seen, actor, **more)


def history(session, study, actor=ANNA):
    return saved_setting.history(saved_setting.changes(session, study), actor)


@pytest.mark.long
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("title", "Another"),
        ("round", "pilot"),
        ("raters_per_item", 5),
        ("consent.text", "I agree."),
        ("pay.per_item", "0.35"),
        ("items_per_annotator", 4),
        ("ethics.stored_until", "2030-01-31"),
        ("recruitment.eligibility", ["over 18"]),
        ("preregistration.margins.fluency", 0.3),
    ],
)
def test_undo_and_redo_write_a_setting_and_verify(session, draft, path, value):
    before = saved_setting.value_of(draft, path)
    assert write(session, draft, path, value) == value
    assert saved_setting.undo(session, draft, ANNA) == path
    assert saved_setting.value_of(draft, path) == before
    assert saved_setting.redo(session, draft, ANNA) == path
    assert saved_setting.value_of(draft, path) == value
    with pytest.raises(NotAllowed, match="nothing to redo"):
        saved_setting.redo(session, draft, ANNA)
    session.flush()
    assert verify(session, draft).holds


def test_the_annotators_of_every_item_follow_the_setting(session, draft):
    write(session, draft, "raters_per_item", 5)
    assert set(session.scalars(select(Item.raters).where(Item.study_id == draft.id))) == {5}


def test_what_another_lead_changed_is_not_overwritten(session, draft):
    write(session, draft, "consent.text", "Of Ben.", BEN)
    with pytest.raises(saved_setting.Overtaken):
        write(session, draft, "consent.text", "Of Anna.", seen="")
    assert settings_of(draft).consent.text == "Of Ben."
    log = saved_setting.changes(session, draft)
    change = saved_setting.last_change(log, "consent.text")
    assert change is not None and (change.actor, change.new) == (BEN, "Of Ben.")
    assert write(session, draft, "consent.after_withdrawal", "delete") == "delete"
    assert write(session, draft, "consent.text", "Of Anna.", seen="Of Ben.") == "Of Anna."


def test_undo_takes_back_own_changes_only(session, draft):
    write(session, draft, "contact", "a@lab.example")
    write(session, draft, "content_note", "Sad texts.")
    write(session, draft, "content_note", "Very sad texts.", BEN)
    assert saved_setting.undo(session, draft, ANNA) == "contact"
    assert settings_of(draft).content_note == "Very sad texts."
    with pytest.raises(NotAllowed, match="nothing to undo"):
        saved_setting.undo(session, draft, ANNA)


def test_a_new_change_ends_what_can_be_redone(session, draft):
    for text in ("1", "2", "3"):
        write(session, draft, "contact", text)
    saved_setting.undo(session, draft, ANNA)
    saved_setting.undo(session, draft, ANNA)
    assert settings_of(draft).contact == "1"
    write(session, draft, "contact", "4")
    assert history(session, draft).redo is None
    saved_setting.undo(session, draft, ANNA)
    assert settings_of(draft).contact == "1"


def test_a_setting_that_stays_as_it_is_records_nothing(session, draft):
    number = events.last_number(session, draft.id)
    write(session, draft, "contact", "")
    write(session, draft, "title", " A study ")
    assert events.last_number(session, draft.id) == number


def test_a_setting_after_launch_is_an_amendment_or_fixed(session, draft):
    write(session, draft, "consent.not_needed", "Staff test it.")
    launch.launch(session, draft, ANNA, launch.check(session, draft))
    with pytest.raises(NotAllowed, match="reason"):
        write(session, draft, "contact", "a@lab.example")
    write(session, draft, "contact", "a@lab.example", reason="asked for")
    with pytest.raises(Conflict, match="round"):
        write(session, draft, "round", "pilot", reason="why not")
    assert history(session, draft).undo is None
