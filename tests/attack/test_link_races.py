"""A link that is used at several places in one moment lets in one person, once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from helpers.studies import personal_link
from sqlalchemy import Engine, func, select

from triptych.errors import Conflict, ImportRefused, NotAllowed, NotFound
from triptych.people import accounts, invitations, links, logins, panels, passcodes, roster, signing_in, tokens
from triptych.scripting.calls import CALLS
from triptych.scripting.messages import PersonalLinks
from triptych.storage.database import reading, writing
from triptych.storage.events import EventKind
from triptych.storage.models import Access, Event, Login, Person, Role, Study, Token
from triptych.study import lifecycle
from triptych.web import api

TIMES = 6


def at_once(command: Callable[[int], Any]) -> list[Any]:
    """What the command returns, tried at the same moment; the class of the error for a refusal."""

    def outcome(number: int) -> Any:
        try:
            return command(number)
        except (Conflict, ImportRefused, NotAllowed, NotFound) as refusal:
            return type(refusal)

    with ThreadPoolExecutor(TIMES) as threads:
        return list(threads.map(outcome, range(TIMES)))


def people(engine: Engine, role: Role) -> int:
    with reading(engine) as session:
        return session.execute(select(func.count()).where(Person.role == role)).scalar_one()


def test_a_setup_link_used_at_once_makes_one_lead(engine):
    with writing(engine) as session:
        secret = accounts.issue_setup_ticket(session)

    made = at_once(lambda number: signing_in.first_lead(engine, secret, f"Ada {number}", "correct horse battery"))

    assert made.count(NotAllowed) == TIMES - 1
    assert people(engine, Role.lead) == 1


def test_a_name_taken_at_once_makes_one_lead(engine):
    together = Barrier(TIMES)

    def make(_: int) -> int:
        hashed = passcodes.hash_passcode("correct horse battery")
        together.wait()
        with writing(engine) as session:
            return accounts.create_lead(session, "Ada", hashed).id

    made = at_once(make)

    assert made.count(Conflict) == TIMES - 1
    assert people(engine, Role.lead) == 1


def test_a_lead_invited_at_once_by_several_studies_is_one(engine, make_study):
    """On PostgreSQL there were several leads of one name, of which only one could sign in."""
    with writing(engine) as session:
        studies = [session.get_one(Study, make_study(session, annotators=0)[0].id) for _ in range(TIMES)]
    before, together = people(engine, Role.lead), Barrier(TIMES)

    def invite(number: int) -> str:
        together.wait()
        with writing(engine) as session:
            return invitations.invite_one(session, studies[number], "Bea", "", Role.lead, "L").pseudonym

    made = at_once(invite)

    assert made.count(Conflict) + made.count(ImportRefused) == TIMES - 1
    assert people(engine, Role.lead) == before + 1


def test_a_personal_link_used_at_once_lets_one_in(engine, make_study):
    with writing(engine) as session:
        study = make_study(session, annotators=0)[0]
        secret = personal_link(session, session.get_one(Study, study.id), "Berta")
    before = people(engine, Role.annotator)

    def accept(_: int) -> int:
        with writing(engine) as session:
            return links.accept_invitation(session, secret).id

    assert len({*at_once(accept)} - {NotAllowed}) == 1
    assert people(engine, Role.annotator) == before


def test_a_leads_link_used_at_once_takes_one_passcode(engine, make_study, monkeypatch):
    """On PostgreSQL the last of them replaced the passcode of the first, who was already let in."""
    with writing(engine) as session:
        study = session.get_one(Study, make_study(session, annotators=0)[0].id)
        lead = accounts.new_person(session, Role.lead, name="Bea")
        roster.enrol_lead(session, study, lead, "a lead")
        secret = links.issue_link(session, study, lead.id)
    all_hashed = Barrier(TIMES)
    hashing = passcodes.hash_passcode

    def hash_together(passcode: str) -> str:
        hashed = hashing(passcode)
        if hashed != passcode:
            all_hashed.wait(30)
        return hashed

    monkeypatch.setattr(passcodes, "hash_passcode", hash_together)
    accepted = at_once(lambda number: signing_in.invited_lead(engine, secret, f"correct horse battery {number}").id)

    assert accepted.count(NotAllowed) == TIMES - 1


def test_a_ticket_used_at_once_opens_one_login(engine, make_study):
    with writing(engine) as session:
        annotator = make_study(session)[2][0]
        ticket = logins.issue_sign_in_ticket(session, session.get_one(Person, annotator.person_id))

    def use(_: int) -> str:
        with writing(engine) as session:
            return logins.use_ticket(session, ticket)

    assert at_once(use).count(NotAllowed) == TIMES - 1
    with reading(engine) as session:
        assert session.execute(select(func.count()).select_from(Login)).scalar_one() == 1


def test_a_token_revoked_at_once_is_logged_once(engine, make_study):
    with writing(engine) as session:
        study, lead, _ = make_study(session)
        tokens.make(session, lead, "a script", tokens.LIVES[0], [tokens.Scope.read])
        token = session.scalars(select(Token.id)).one()
    all_begun = Barrier(TIMES, timeout=30)

    def revoke(_: int) -> None:
        all_begun.wait()
        with writing(engine) as session:
            tokens.revoke(session, lead, token)

    assert at_once(revoke).count(NotFound) == TIMES - 1
    with reading(engine) as session:
        logged = select(func.count()).where(Event.study_id == study.id, Event.kind == EventKind.token_revoked)
        assert session.execute(logged).scalar_one() == 1


@pytest.mark.parametrize("made_for_another_study", [True, False])
def test_a_link_that_was_ended_opens_nothing(engine, make_study, made_for_another_study):
    with writing(engine) as session:
        study = make_study(session, annotators=0)[0]
        secret = personal_link(session, session.get_one(Study, study.id), "Berta")
        person = links.invited(session, secret)
        if made_for_another_study:
            links.end_links(session, person.id, session.get_one(Study, study.id))
        else:
            links.end_links(session, person.id)

    assert (
        at_once(lambda _: signing_in.invited_lead(engine, secret, "correct horse battery")).count(NotAllowed) == TIMES
    )


def test_a_request_sent_at_once_is_answered_alike(engine, make_study, monkeypatch):
    """On PostgreSQL the others were refused, as if the invitation had failed."""
    monkeypatch.setattr(api, "web_engine", lambda: engine)
    with writing(engine) as session:
        study = make_study(session, annotators=0)[0]
        accounts.create_lead(session, "Ada", "correct horse battery")
        roster.add_lead(session, study, "Ada", "P-lead")
    invite = next(call for call in CALLS if call.name == "invite")
    message = invite.request.model_validate({"study": study.slug, "people": [{"name": "Zoe"}]})
    together = Barrier(TIMES)

    def ask(_: int) -> str:
        together.wait()
        answer = api._run(invite, api.Proof("", "Ada"), message, "home k1", "digest")
        return PersonalLinks.model_validate(answer, from_attributes=True).people[0].pseudonym

    assert len({*at_once(ask)}) == 1
    assert people(engine, Role.annotator) == 1


def test_a_panel_id_arriving_at_once_is_one_person(engine, make_study):
    with writing(engine) as session:
        slug = make_study(session, annotators=0, access=Access.panel)[0].slug
    together = Barrier(TIMES)

    def arrive(_number: int) -> int:
        together.wait()
        with writing(engine) as session:
            study = lifecycle.by_slug(session, slug)
            return panels.join_from_panel(session, study, "prolific", "5f1", "s1").id

    assert len({*at_once(arrive)}) == 1
    assert people(engine, Role.annotator) == 1
