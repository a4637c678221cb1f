"""Going back to a backup opens nothing that was closed since: no login, token, link, passcode or account."""

from __future__ import annotations

from datetime import timedelta

import pytest
from helpers.studies import add_person, join, personal_link, sure

from triptych.errors import NotAllowed
from triptych.operations import backup
from triptych.people import identities, invitations, links, logins, passcodes, roster, tokens, viewers
from triptych.people.tokens import Scope
from triptych.privacy import erasure
from triptych.storage.database import open_engine, reading, writing
from triptych.storage.models import Person, Role, Study

OLD, NEW = "the passcode that leaked", "the passcode since then"


@pytest.fixture
def lab(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, lead, people = make_study(session)
        for who in (lead, *people):
            session.get_one(Person, who.person_id).passcode_hash = passcodes.hash_passcode(OLD)
    return study, lead, people


def person(session, who) -> Person:
    return session.get_one(Person, who.person_id)


def signed_in(session, who) -> str:
    return logins.use_ticket(session, logins.issue_sign_in_ticket(session, person(session, who)))


def link_opens(session, secret: str) -> bool:
    try:
        links.invited(session, secret)
    except NotAllowed:
        return False
    return True


def test_nothing_that_ended_since_a_backup_opens_after_it(sqlite_engine, lab):
    study, lead, people = lab
    with writing(sqlite_engine) as session:
        study = session.get_one(Study, study.id)
        secrets = [signed_in(session, who) for who in (lead, people[0])]
        identities.give(session, people[0].pseudonym, "passed.on@uni.example")
        identities.give(session, people[1].pseudonym, "taken.away@uni.example")
        token = tokens.make(session, lead, "nightly", timedelta(days=1), [Scope.read])
        ticket = logins.issue_sign_in_ticket(session, person(session, lead))
        kept, ended = (personal_link(session, study, name) for name in ("stays", "leaves"))
        invited = [
            invitations.invite_one(session, study, name, "", Role(name), lead.pseudonym) for name in ("viewer", "lead")
        ]
    made = backup.make(sqlite_engine)
    with writing(sqlite_engine) as session:
        study = session.get_one(Study, study.id)
        logins.end_logins(session, lead.person_id)  # and tickets
        links.end_links(session, links.invited(session, ended).id)
        viewers.withdraw_seat(session, study, invited[0].pseudonym, lead.pseudonym)
        roster.remove_lead(session, study, invited[1].pseudonym, sure(lead))
        for who in people[:2]:
            identities.give(session, who.pseudonym, None)
        identities.give(session, lead.pseudonym, "passed.on@uni.example")
        roster.disable(session, study, people[1].pseudonym, lead)
        person(session, lead).passcode_hash = new = passcodes.hash_passcode(NEW)

    done = backup.restore_as(sqlite_engine, made.name, sure(lead))

    with reading(sqlite_engine) as session:
        assert not logins.live_logins(session, secrets)
        assert tokens.bearer(session, tokens.secret_of(token) or "") is None
        opening = [link_opens(session, secret) for secret in (kept, ended, *(guest.secret for guest in invited))]
        assert opening == [True, False, False, False]
        assert person(session, people[1]).disabled_at
        assert person(session, people[0]).disabled_at is None
        assert person(session, lead).passcode_hash == new
        assert [known.pseudonym for known in identities.everybody(session)] == [lead.pseudonym]
    with writing(sqlite_engine) as session, pytest.raises(NotAllowed):
        logins.use_ticket(session, ticket)
    assert set(done.again) == {guest.pseudonym for guest in invited}


def test_on_a_new_machine_links_and_passcodes_work(sqlite_engine, lab, tmp_path):
    study, lead, _ = lab
    with writing(sqlite_engine) as session:
        link = personal_link(session, session.get_one(Study, study.id), "stays")
        login = signed_in(session, lead)
        stored = person(session, lead).passcode_hash
    made = backup.make(sqlite_engine)
    fresh = open_engine(f"sqlite:///{tmp_path / 'fresh.db'}")

    done = backup.restore(fresh, made.path, "command line", alone=True)

    with reading(fresh) as session:
        assert link_opens(session, link)
        assert not logins.live_logins(session, [login])
        assert person(session, lead).passcode_hash == stored
    assert done.again == ()
    fresh.dispose()


@pytest.mark.long
def test_nothing_that_ended_opens_after_two_restores(sqlite_engine, lab):
    """A backup made too early knew neither the people nor the links that had ended, and the next restore brought both
    back.
    """
    study, lead, _ = lab
    too_early = backup.make(sqlite_engine)
    with writing(sqlite_engine) as session:
        study = session.get_one(Study, study.id)
        leaver, disabled = (join(session, study, add_person(session, name)) for name in ("leaver", "disabled"))
        for who in (leaver, disabled):
            person(session, who).passcode_hash = passcodes.hash_passcode(OLD)
            identities.give(session, who.pseudonym, f"{who.name}@uni.example")
        ended = personal_link(session, study, "leaves")
    right = backup.make(sqlite_engine)
    with writing(sqlite_engine) as session:
        study = session.get_one(Study, study.id)
        links.end_links(session, links.invited(session, ended).id)
        roster.disable(session, study, disabled.pseudonym, lead)
        person(session, disabled).passcode_hash = new = passcodes.hash_passcode(NEW)
        erasure.erase(session, study, leaver.pseudonym, sure(lead))

    backups = (too_early, right, too_early, right)
    restored = [backup.restore_as(sqlite_engine, made.name, sure(lead)) for made in backups]

    assert [done.again for done in restored] == [(), (leaver.pseudonym,)] * 2
    with reading(sqlite_engine) as session:
        assert not link_opens(session, ended)
        assert person(session, disabled).disabled_at
        assert person(session, disabled).passcode_hash == new
        assert person(session, leaver).passcode_hash is None
        assert not identities.everybody(session)
