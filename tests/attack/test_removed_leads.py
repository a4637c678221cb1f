"""An action of a lead that is under way when they are removed from the study is not stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from helpers.studies import sure
from sqlalchemy import Engine, select
from sqlmodel import Session

from triptych.errors import NotAllowed, NotFound
from triptych.people import accounts, invitations, joining, links, roster, tokens, viewers
from triptych.privacy import deletion
from triptych.storage.database import reading, writing
from triptych.storage.models import Event, Membership, Role, Study, StudyState
from triptych.study import lifecycle
from triptych.study.duplicate import duplicate
from triptych.study.persons import Who


def two_leads(session: Session, make_study: Any, **plan: Any) -> tuple[Study, Who, Who]:
    """A study, the lead who stays and the lead who will be removed, with pseudonyms as the app makes them."""
    study, _, _ = make_study(session, annotators=0, **plan)
    people = [accounts.new_person(session, Role.lead, name=name, passcode_hash="h") for name in ("Ada", "Bea")]
    for person in people:
        roster.enrol_lead(session, study, person, "the program")
    staying, leaving = (Who(p.id, p.pseudonym, p.role, p.name, 0) for p in people)
    return study, staying, leaving


def remove(engine: Engine, study: Study, staying: Who, leaving: Who) -> None:
    with writing(engine) as session:
        roster.remove_lead(session, study, leaving.pseudonym, sure(staying))


def invite(session: Session, study: Study, who: Who) -> Any:
    return invitations.invite_one(session, study, "Anna", "", Role.annotator, who.pseudonym)


def pause(session: Session, study: Study, who: Who) -> Any:
    return lifecycle.set_state(session, study, StudyState.paused, who.pseudonym)


def unblind(session: Session, study: Study, who: Who) -> Any:
    return lifecycle.unblind(session, study, sure(who))


def show_texts(session: Session, study: Study, who: Who) -> Any:
    return viewers.let_read_explanations(session, study, True, who.pseudonym)


ACTIONS = (invite, pause, unblind, show_texts)


@pytest.mark.parametrize("act", ACTIONS)
def test_no_action_is_stored_after_the_removal(engine, make_study, act: Callable[..., Any]):
    """A page looks at who leads the study in an earlier transaction than the action of a click on it."""
    with writing(engine) as session:
        study, staying, leaving = two_leads(session, make_study)
    with reading(engine) as session:
        seen = lifecycle.led_by(session, leaving, study.slug)
    remove(engine, study, staying, leaving)

    with pytest.raises(NotFound, match="no longer lead"), writing(engine) as session:
        act(session, seen, leaving)

    with reading(engine) as session:
        log = select(Event.actor).where(Event.study_id == study.id).order_by(Event.number.desc())
        assert session.scalars(log).first() == staying.pseudonym


def test_no_draft_is_deleted_after_the_removal(engine, make_study):
    with writing(engine) as session:
        study, staying, leaving = two_leads(session, make_study)
        draft = duplicate(session, study, "A draft", staying)
        roster.add_lead(session, draft, leaving.name or "", staying.pseudonym)
    remove(engine, draft, staying, leaving)

    with pytest.raises(NotFound), writing(engine) as session:
        deletion.delete_draft(session, draft, leaving)

    with reading(engine) as session:
        assert lifecycle.by_slug(session, draft.slug).title == "A draft"


def test_nobody_joins_a_draft_that_is_deleted_meanwhile(postgres_engine, make_study):
    """On SQLite the deletion waits, since only one transaction writes at a time."""
    with writing(postgres_engine) as session:
        study, lead, _ = make_study(session, annotators=0)
        draft = duplicate(session, study, "A draft", lead)

    with pytest.raises(NotFound, match="was deleted a moment ago"), writing(postgres_engine) as session:
        seen = lifecycle.led_by(session, lead, draft.slug)
        with writing(postgres_engine) as other:
            deletion.delete_draft(other, draft, lead)
        joining.annotator_called(session, seen, "Anna")


def test_no_action_begun_before_the_removal_is_stored_after_it(postgres_engine, make_study):
    """On SQLite the removal waits for the action, since only one transaction writes at a time."""
    with writing(postgres_engine) as session:
        study, staying, leaving = two_leads(session, make_study)
        anna = joining.annotator_called(session, study, "Anna")

    with pytest.raises(NotFound, match="no longer lead"), writing(postgres_engine) as session:
        link = roster.new_link(
            session, lifecycle.led_by(session, leaving, study.slug), anna.pseudonym, leaving.pseudonym
        )
        remove(postgres_engine, study, staying, leaving)

    with pytest.raises(NotAllowed), reading(postgres_engine) as session:
        links.invited(session, link)


def test_leads_remove_themselves_with_their_tokens(engine, make_study):
    with writing(engine) as session:
        study, _, leaving = two_leads(session, make_study)
        tokens.make(session, leaving, "script", tokens.LIVES[0], [tokens.Scope.read], study)

    remove(engine, study, leaving, leaving)

    with reading(engine) as session:
        seats = select(Membership.id).where(Membership.person_id == leaving.person_id)
        assert session.scalars(seats).first() is None


def test_every_lead_acts_in_a_demo_study(engine, make_study):
    with writing(engine) as session:
        study, _, _ = make_study(session, demo=True)
        _, _, lead = two_leads(session, make_study, title="Another")
        pause(session, lifecycle.led_by(session, lead, study.slug), lead)

    with reading(engine) as session:
        assert lifecycle.by_slug(session, study.slug).state == StudyState.paused
