"""The members of a study for its leads, and leads' actions: links, accounts, other leads.

Names appear on the page People only; everywhere else a person appears by pseudonym.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import and_, func, select
from sqlmodel import Session

from triptych import clock
from triptych.errors import Conflict, NotAllowed, NotFound
from triptych.people import accounts, links, logins, shared_accounts, tokens
from triptych.storage import events
from triptych.storage.events import EventKind
from triptych.storage.models import Invitation, Kind, Membership, PanelIdentity, Person, Role, Study
from triptych.study import lifecycle
from triptych.study.persons import Certainty, Who, delete_without_part, erased_people
from triptych.study.settings import settings_of


@dataclass(frozen=True)
class Member:
    """One person's part in a study. `consent`: agreed, outdated (the text has changed since) or none."""

    pseudonym: str
    role: str
    kind: str
    name: str | None
    email: str | None
    panel_id: str | None
    joined_at: datetime
    consent: str
    consented_at: datetime | None
    turned_away_as: str | None
    withdrawn_at: datetime | None
    excluded_at: datetime | None
    excluded_reason: str | None
    disabled: bool
    erased: bool
    link_until: datetime | None
    can_sign_in: bool

    @property
    def state(self) -> str:
        """One word for the list: active, withdrawn, excluded and so on."""
        if self.erased:
            return "erased"
        if self.disabled:
            return "disabled"
        if self.withdrawn_at:
            return "withdrawn"
        if self.excluded_at:
            return "excluded"
        if self.turned_away_as:
            return self.turned_away_as.replace("_", " ")
        return "active" if self.role == Role.annotator or self.can_sign_in else "invited"


def members_of(session: Session, study: Study) -> list[Member]:
    """Everybody in the study: leads first, then in the order of joining."""
    live = and_(
        Invitation.study_id == study.id,
        Invitation.person_id == Person.id,
        Invitation.revoked_at.is_(None),
        Invitation.expires_at > clock.now(),
    )
    link_until = select(func.max(Invitation.expires_at)).where(live).scalar_subquery()
    panel_id = select(func.min(PanelIdentity.external_id)).where(PanelIdentity.person_id == Person.id)
    query = (
        select(Membership, Person, link_until, panel_id.scalar_subquery())
        .join(Person, Person.id == Membership.person_id)
        .where(Membership.study_id == study.id)
        .order_by(Membership.role.desc(), Membership.joined_at, Person.id)
    )
    version, erased = settings_of(study).consent.version, erased_people(session, study.id)
    members = []
    for membership, person, until, panel in session.execute(query):
        named = is_named(study, membership)
        agreed = "agreed" if membership.consent_version == version else "outdated"
        member = Member(
            pseudonym=person.pseudonym,
            role=membership.role,
            kind=person.kind,
            name=person.name if named else None,
            email=person.email if named else None,
            panel_id=panel if named else None,
            joined_at=membership.joined_at,
            consent=agreed if membership.consented_at else "none",
            consented_at=membership.consented_at,
            turned_away_as=membership.turned_away_as,
            withdrawn_at=membership.withdrawn_at,
            excluded_at=membership.excluded_at,
            excluded_reason=membership.excluded_reason,
            disabled=person.disabled_at is not None,
            erased=person.pseudonym in erased,
            link_until=until,
            can_sign_in=person.passcode_hash is not None,
        )
        members.append(member)
    return members


def is_named(study: Study, membership: Membership) -> bool:
    """Whether leads of the study see the person's name, address and panel id.

    Not after a withdrawal, even if another study knows them, and not in a demo study, which all leads of an
    installation lead and the annotators of any may try.
    """
    return membership.withdrawn_at is None and not study.demo


def find(session: Session, study: Study, pseudonym: str, role: Role = Role.annotator) -> tuple[Membership, Person]:
    """A member and their person; the membership is locked, so that none of their commands runs meanwhile.

    Raises NotFound.
    """
    query = (
        select(Membership, Person)
        .join(Person, Person.id == Membership.person_id)
        .where(Membership.study_id == study.id, Membership.role == role, Person.pseudonym == pseudonym)
        .with_for_update(of=Membership, key_share=True)
        .execution_options(populate_existing=True)
    )
    row = session.execute(query).first()
    if row is None:
        raise NotFound(f"{pseudonym} is not a {role} of this study.")
    return row[0], row[1]


# Accounts


def disable(session: Session, study: Study, pseudonym: str, who: Who) -> None:
    """Ends the person's logins at once; links and codes are refused until the account is enabled.

    Raises NotFound, and NotAllowed for a lead and for somebody in a study that this lead does not lead.
    """
    _, person = find(session, study, pseudonym)
    refuse_if_shared(session, study, person, who.pseudonym)
    if person.disabled_at is not None:
        return
    person.disabled_at = clock.now()
    logins.end_logins(session, person.id)
    session.flush()
    events.record(session, study.id, EventKind.account_disabled, who.pseudonym, subject=pseudonym)


def enable(session: Session, study: Study, pseudonym: str, who: Who) -> None:
    """Lets a disabled person come in again. Raises as `disable`, and NotAllowed for somebody who was erased."""
    _, person = find(session, study, pseudonym)
    refuse_if_shared(session, study, person, who.pseudonym)
    if is_erased(session, study, pseudonym):
        raise NotAllowed(f"{pseudonym} was erased; there is no account left to enable.")
    if person.disabled_at is None:
        return
    person.disabled_at = None
    session.flush()
    events.record(session, study.id, EventKind.account_enabled, who.pseudonym, subject=pseudonym)


def is_erased(session: Session, study: Study, pseudonym: str) -> bool:
    """Whether the person's name and texts were erased."""
    return pseudonym in erased_people(session, study.id)


def refuse_if_shared(session: Session, study: Study, person: Person, actor: str) -> None:
    """Raises NotAllowed for an account that is not this lead's of the study: a lead's, or one in others' studies."""
    if person.role == Role.lead:
        raise NotAllowed(f"{person.pseudonym} has a lead account, which no other lead can change.")
    refuse_if_elsewhere(session, study, person, actor)


def refuse_if_elsewhere(session: Session, study: Study, person: Person, actor: str) -> None:
    """Raises NotAllowed for somebody who also takes part in a study that this lead of the study does not lead."""
    led = select(Membership.study_id).join(Person, Person.id == Membership.person_id)
    led = led.where(Person.pseudonym == actor, Membership.role == Role.lead)
    others = (
        select(Membership.id)
        .join(Study, Study.id == Membership.study_id)
        .where(Membership.person_id == person.id, ~Study.demo)
        .where(Membership.study_id != study.id, Membership.study_id.not_in(led))
    )
    if session.scalars(others.limit(1)).first() is not None:
        raise NotAllowed(
            f"{person.pseudonym} also takes part in a study that you do not lead, so you cannot change this account or "
            f"open it with a link. In your study you can exclude or withdraw this person."
        )


def new_link(session: Session, study: Study, pseudonym: str, actor: str) -> str:
    """The secret of a new personal link for somebody in the study; their earlier ones stop working.

    Raises NotFound, and NotAllowed as `refuse_link`.
    """
    membership, person = _anybody(session, study, pseudonym)
    refuse_link(session, study, membership, person, actor)
    secret = links.issue_link(session, study, person.id)
    events.record(session, study.id, EventKind.link_issued, actor, subject=pseudonym)
    return secret


def refuse_link(session: Session, study: Study, membership: Membership, person: Person, actor: str) -> None:
    """Raises NotAllowed for a disabled account, a judge, somebody who withdrew, a lead with a passcode, and somebody in
    a study that this lead, or another lead of this study, does not lead.
    """
    pseudonym = person.pseudonym
    if person.kind != Kind.human or membership.withdrawn_at is not None:
        raise NotAllowed(f"{pseudonym} no longer takes part in the study, or is not a person who can open a link.")
    if person.disabled_at is not None:
        raise NotAllowed(f"{pseudonym} is disabled. Enable the account first.")
    if person.role == Role.lead and person.passcode_hash is not None:
        raise NotAllowed(f"{pseudonym} signs in with a name and a passcode and needs no link.")
    refuse_if_elsewhere(session, study, person, actor)
    if shared_accounts.opens_studies_of_others(session, study, person.id):
        raise NotAllowed(
            f"{pseudonym} also takes part in a study that other leads of this study do not lead, and a link opens both "
            f"studies. It can be created while the same people lead both."
        )


def end_link(session: Session, study: Study, pseudonym: str, actor: str) -> None:
    """The person's links to the study stop working; somebody who is signed in stays so. Raises NotFound."""
    _, person = _anybody(session, study, pseudonym)
    links.end_links(session, person.id, study)
    events.record(session, study.id, EventKind.link_ended, actor, subject=pseudonym)


def _anybody(session: Session, study: Study, pseudonym: str) -> tuple[Membership, Person]:
    try:
        return find(session, study, pseudonym)
    except NotFound:
        return find(session, study, pseudonym, Role.lead)


# Leads


def add_lead(session: Session, study: Study, name: str, actor: str) -> str:
    """Makes somebody who has a lead account a lead of this study; returns the pseudonym.

    Raises NotFound if no lead has this name, Conflict if they lead the study already.
    """
    study = lifecycle.lock(session, study.id)
    lead = accounts.lead_called(session, name)
    if lead is None:
        raise NotFound(f"There is no lead account called {name.strip()!r}. Invite this person as a lead instead.")
    enrol_lead(session, study, lead, actor)
    return lead.pseudonym


def enrol_lead(session: Session, study: Study, lead: Person, actor: str) -> None:
    """Adds a lead to the study. Raises Conflict if they lead it already."""
    if lead.id in _leads(session, study):
        raise Conflict(f"{lead.name} already leads this study.")
    session.add(Membership(study_id=study.id, person_id=lead.id, role=Role.lead, joined_at=clock.now()))
    session.flush()
    events.record(session, study.id, EventKind.lead_added, actor, subject=lead.pseudonym)


def remove_lead(session: Session, study: Study, pseudonym: str, certainty: Certainty) -> int:
    """Removes a lead from the study. The account stays, unless the invitation to it was never accepted.

    Returns how many people were deleted with it: after one, follow it with `erasure.wipe`, outside of the transaction.
    Raises NotFound, NotAllowed for the last lead.
    """
    membership, person = find(session, study, pseudonym, Role.lead)
    study = lifecycle.lock(session, study.id)
    if person.id in _leads(session, study, able=True) and len(_leads(session, study, able=True)) == 1:
        raise NotAllowed("A study needs at least one lead who can sign in. Add another one first.")
    links.end_links(session, person.id, study)
    tokens.revoke_all(session, person, study)
    session.delete(membership)
    session.flush()
    deleted = delete_without_part(session, [person.id])  # the name is free again for a new invitation
    events.record(session, study.id, EventKind.lead_removed, certainty.who.pseudonym, subject=pseudonym)
    return deleted


def leads_everything(session: Session, person_id: int) -> bool:
    """Whether this lead leads every study of the database except the demo studies, so that no other lead loses work."""
    led = select(Membership.study_id).where(Membership.person_id == person_id, Membership.role == Role.lead)
    others = select(Study.id).where(~Study.demo, Study.id.not_in(led)).limit(1)
    return session.scalars(others).first() is None


def _leads(session: Session, study: Study, able: bool = False) -> Sequence[int]:
    """Ids of the study's leads; `able`: only of those who can sign in."""
    query = select(Person.id).join(Membership, Membership.person_id == Person.id)
    query = query.where(Membership.study_id == study.id, Membership.role == Role.lead)
    if able:
        query = query.where(Person.disabled_at.is_(None), Person.passcode_hash.is_not(None))
    return session.scalars(query).all()
