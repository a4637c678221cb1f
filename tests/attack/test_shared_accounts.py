"""Leads can sign in as annotators of their study, and no account of theirs reaches a study that others lead."""

from __future__ import annotations

import hmac
from typing import Any

import pytest
from helpers.studies import add_person, sure
from sqlalchemy import select
from sqlmodel import Session

from triptych.errors import NotAllowed
from triptych.people import invitations, joining, links, logins, panels, places, roster, shared_accounts
from triptych.privacy import personal_data
from triptych.storage.database import writing
from triptych.storage.models import Access, Login, PanelIdentity, Person, Role, Study
from triptych.study import lifecycle
from triptych.study.persons import Who
from triptych.study.settings import PanelAddress


@pytest.fixture
def session(sqlite_engine):
    with writing(sqlite_engine) as session:
        yield session


def make_both(session: Session, make_study: Any, access: Access) -> tuple[tuple[Study, Who], tuple[Study, Who]]:
    """Two studies of different leads."""
    mine, me, _ = make_study(session, annotators=0, title="Mine", access=access)
    theirs, lead, _ = make_study(session, annotators=0, title="Theirs", access=access)
    return (mine, me), (theirs, lead)


def signed_in(session: Session, person: Person) -> Who:
    login = logins.use_ticket(session, logins.issue_sign_in_ticket(session, person))
    who = logins.who_is(session, login)
    assert who is not None
    return who


def lead_too(session: Session, study: Study, who: Who) -> None:
    roster.enrol_lead(session, study, session.get_one(Person, who.person_id), who.pseudonym)


def studies_of(session: Session, person: Person) -> set[str]:
    return {study.title for study in lifecycle.for_annotator(session, person.id)}


def test_an_account_joins_no_study_of_other_leads(session, make_study):
    """A lead who kept somebody's link could read and rate as them in every study that they joined later."""
    (mine, me), (theirs, lead) = make_both(session, make_study, Access.open)
    [invited] = invitations.invite_all(session, mine, [invitations.Guest(1, "Anna", None, Role.annotator)], "L")
    anna = links.accept_invitation(session, invited.secret)
    who = signed_in(session, anna)

    with pytest.raises(NotAllowed, match="other leads"):
        joining.join(session, theirs, who)
    lead_too(session, mine, lead)
    lead_too(session, theirs, me)
    joining.join(session, theirs, who)

    assert studies_of(session, anna) == {"Mine", "Theirs"}


def test_an_account_of_a_demo_study_leaves_its_links_behind(session, make_study):
    """Any lead may invite people to a demo study."""
    (demo, _), (theirs, _) = make_both(session, make_study, Access.open)
    demo.demo = True
    anna = joining.annotator_called(session, demo, "Anna")
    link = links.issue_link(session, demo, anna.id)
    anothers, own = (signed_in(session, links.accept_invitation(session, link)) for _ in range(2))
    joining.join(session, theirs, own)

    with pytest.raises(NotAllowed, match="not valid"):
        links.accept_invitation(session, link)
    live = select(Login.id).where(Login.person_id == anna.id, Login.revoked_at.is_(None))
    assert session.scalars(live).all() == [own.login_id] != [anothers.login_id]


@pytest.mark.parametrize("issue", [roster.new_link, invitations.renew, invitations.remind])
def test_no_lead_gets_a_link_into_studies_of_others(session, make_study, issue):
    """Accounts in two studies exist from earlier versions, and a demo study is of all leads."""
    (mine, me), (theirs, lead) = make_both(session, make_study, Access.invited)
    anna = joining.annotator_called(session, mine, "Anna")
    joining.enrol(session, theirs, anna.id, anna.pseudonym)
    people = anna.pseudonym if issue is roster.new_link else [anna.pseudonym]

    with pytest.raises(NotAllowed, match="a study that you do not lead"):
        issue(session, mine, people, me.pseudonym)
    lead_too(session, theirs, me)
    assert issue(session, mine, people, me.pseudonym)


def test_no_panel_has_the_name_of_another_studys_ids(session, make_study):
    """Such a study kept this id's owner out of the other one, at each visit."""
    (mine, _), (theirs, _) = make_both(session, make_study, Access.panel)
    panels.join_from_panel(session, mine, "prolific", "5f1", "s1")
    panels.join_from_panel(session, mine, f"prolific ({theirs.slug})", "5f1", "s1")

    person = panels.join_from_panel(session, theirs, "prolific", "5f1", "s2")

    assert studies_of(session, person) == {"Theirs"}
    with pytest.raises(ValueError, match="pattern"):
        PanelAddress(name=f"prolific\n{theirs.slug}")


def test_a_panels_id_opens_no_account_of_other_leads(session, make_study):
    """Without a proof in its own address, a study opened the account of any id in a study that demands a signature."""
    (mine, _), (theirs, _) = make_both(session, make_study, Access.panel)
    signature = make_signed(session, theirs, "5f1")
    first = panels.join_from_panel(session, theirs, "prolific", "5f1", "s1", signature)

    pretended = panels.join_from_panel(session, mine, "prolific", "5f1", "s2")

    assert studies_of(session, pretended) == {"Mine"}
    assert panels.join_from_panel(session, mine, "prolific", "5f1", "s3").id == pretended.id
    assert panels.panel_person(session, mine, "5f1") == pretended.id
    assert panels.join_from_panel(session, theirs, "prolific", "5f1", "s4", signature).id == first.id
    [own] = personal_data.of_member(session, mine, pretended.pseudonym)["panel_ids"]
    assert (own["id"], own["session"]) == ("5f1", "s3")


def make_signed(session: Session, study: Study, participant: str) -> str:
    """Make a panel study demand a signature of each id; returns this participant's."""
    study.settings = {"panel": {"proof": "signature"}}
    session.flush()
    return hmac.digest(places.key_of(study).encode(), participant.encode(), "sha256").hex()


def test_a_demo_study_makes_no_participant_of_another(session, make_study):
    """A lead, or anybody if it is on a panel, could make the account and keep a login before its owner arrived."""
    (demo, _), (theirs, _) = make_both(session, make_study, Access.panel)
    demo.demo = True
    signature = make_signed(session, theirs, "5f1")
    pretended = panels.join_from_panel(session, demo, "prolific", "5f1", "s1")

    owner = panels.join_from_panel(session, theirs, "prolific", "5f1", "s2", signature)

    assert (studies_of(session, pretended), studies_of(session, owner)) == ({"Mine"}, {"Theirs"})


@pytest.mark.parametrize("first", ["mine", "theirs"])
def test_a_study_handed_over_opens_no_participants_account(session, make_study, first):
    """Its former lead arrives in it with any id, which needs no proof, or did before its owner did elsewhere."""
    (mine, me), (theirs, lead) = make_both(session, make_study, Access.panel)
    signature = make_signed(session, theirs, "5f1")
    if first == "mine":
        panels.join_from_panel(session, mine, "prolific", "5f1", "s1")
    lead_too(session, mine, lead)
    roster.remove_lead(session, mine, me.pseudonym, sure(me))
    owner = panels.join_from_panel(session, theirs, "prolific", "5f1", "s2", signature)

    pretended = panels.join_from_panel(session, mine, "prolific", "5f1", "s3")

    assert (studies_of(session, pretended), studies_of(session, owner)) == ({"Mine"}, {"Theirs"})


def share(session: Session, make_study: Any, access: Access) -> tuple[tuple[Study, Who], tuple[Study, Who]]:
    """Two studies of the same two leads, so that an account may be in both."""
    (mine, me), (theirs, lead) = make_both(session, make_study, access)
    lead_too(session, mine, lead)
    lead_too(session, theirs, me)
    return (mine, me), (theirs, lead)


@pytest.mark.parametrize("change", ["another lead here", "a lead less there"])
def test_a_link_opens_no_study_whose_leads_differ_since(session, make_study, change):
    """The leads of its study may have kept it, or issue a further one."""
    (mine, me), (theirs, lead) = share(session, make_study, Access.invited)
    anna = joining.annotator_called(session, mine, "Anna")
    joining.enrol(session, theirs, anna.id, anna.pseudonym)
    link = roster.new_link(session, mine, anna.pseudonym, lead.pseudonym)
    assert not shared_accounts.shut_out(session, mine)
    if change == "another lead here":
        lead_too(session, mine, add_person(session, "new", Role.lead))
    else:
        roster.remove_lead(session, theirs, me.pseudonym, sure(lead))

    with pytest.raises(NotAllowed, match="a study with other leads"):
        links.accept_invitation(session, link)
    with pytest.raises(NotAllowed, match="the same people lead both"):
        roster.new_link(session, mine, anna.pseudonym, lead.pseudonym)
    assert (shared_accounts.shut_out(session, mine), shared_accounts.shut_out(session, theirs)) == ({anna.id}, set())
    assert links.accept_invitation(session, roster.new_link(session, theirs, anna.pseudonym, lead.pseudonym))


def test_a_panel_opens_no_study_whose_leads_differ_since(session, make_study):
    """Ids were shared by studies of the same leads, and a lead stands for the panel: they know its ids and the key."""
    (mine, _), (theirs, _) = share(session, make_study, Access.panel)
    first = add_person(session, "first")
    session.add(PanelIdentity(person_id=first.person_id, panel="prolific", external_id="5f1"))
    for study in (mine, theirs):
        joining.enrol(session, study, first.person_id, first.pseudonym)
    assert panels.join_from_panel(session, mine, "prolific", "5f1", "s1").id == first.person_id
    lead_too(session, mine, add_person(session, "new", Role.lead))

    with pytest.raises(NotAllowed, match="a study with other leads"):
        panels.join_from_panel(session, mine, "prolific", "5f1", "s3")
    assert panels.join_from_panel(session, theirs, "prolific", "5f1", "s4").id == first.person_id


def test_a_demo_link_opens_no_study_of_others(session, make_study):
    """Any lead may have issued it before the account joined the other study."""
    (demo, _), (theirs, _) = make_both(session, make_study, Access.open)
    anna = joining.annotator_called(session, demo, "Anna")
    link = links.issue_link(session, demo, anna.id)
    demo.demo = True
    joining.enrol(session, theirs, anna.id, anna.pseudonym)

    with pytest.raises(NotAllowed, match="a study with other leads"):
        links.accept_invitation(session, link)
