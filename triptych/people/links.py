"""Personal links: the secrets in them, the people that they open, and when they end."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import select, update
from sqlmodel import Session

from triptych import clock
from triptych.errors import NotAllowed
from triptych.languages.language import _
from triptych.people import passcodes
from triptych.people.shared_accounts import OPENS_OTHERS, opens_studies_of_others
from triptych.storage.models import Invitation, Person, Role, Study

INVITATION_LIFE = timedelta(days=90)


def issue_link(
    session: Session, study: Study, person_id: int, *, replaces: bool = True, life: timedelta = INVITATION_LIFE
) -> str:
    """The secret of a new personal link to the study.

    replaces: whether the person's earlier links stop working now, or when the new one is first used.
    """
    if replaces:
        end_links(session, person_id, study)
    secret = passcodes.new_secret()
    hashed, end = passcodes.secret_hash(secret), clock.now() + life
    session.add(Invitation(study_id=study.id, person_id=person_id, secret_hash=hashed, expires_at=end))
    session.flush()
    return secret


def end_links(session: Session, person_id: int, study: Study | None = None) -> None:
    """The person's personal links stop working, those to one study or all of them."""
    live = (Invitation.person_id == person_id) & Invitation.revoked_at.is_(None)
    live = live if study is None else live & (Invitation.study_id == study.id)
    session.execute(update(Invitation).where(live).values(revoked_at=clock.now()))


def last_end(session: Session, person_id: int) -> datetime | None:
    """When the last of the person's personal links expires; None without a valid one."""
    live = (Invitation.person_id == person_id) & Invitation.revoked_at.is_(None)
    return session.scalars(select(Invitation.expires_at).where(live).order_by(Invitation.expires_at.desc())).first()


def invited(session: Session, secret: str) -> Person:
    """The person a personal link was made for. Raises NotAllowed if it is unknown, expired or replaced."""
    query = (
        select(Person)
        .join(Invitation, Invitation.person_id == Person.id)
        .where(Invitation.secret_hash == passcodes.secret_hash(secret), Invitation.revoked_at.is_(None))
        .where(Invitation.expires_at > clock.now(), Person.disabled_at.is_(None))
    )
    person = session.scalars(query).first()
    if person is None:
        raise NotAllowed(_("This personal link is not valid, or no longer. Ask the lead of your study for a new one."))
    return person


def invited_to(session: Session, secret: str) -> Study:
    """The study that a personal link leads to. Raises NotAllowed as `invited` does."""
    invited(session, secret)
    link = Invitation.secret_hash == passcodes.secret_hash(secret)
    return session.scalars(select(Study).join(Invitation, Invitation.study_id == Study.id).where(link)).one()


def accept_invitation(session: Session, secret: str) -> Person:
    """The annotator or viewer of a personal link; their earlier links to the study stop working.

    Raises NotAllowed as `invited` does, for a link of a lead, and for an account in studies of other leads.
    """
    person = invited(session, secret)
    if person.role == Role.lead:
        raise NotAllowed("This link is for a lead, who chooses a passcode first.")
    used = select(Invitation, Study).join(Study, Study.id == Invitation.study_id)
    link, study = session.execute(used.where(Invitation.secret_hash == passcodes.secret_hash(secret))).one()
    if opens_studies_of_others(session, study, person.id):
        raise NotAllowed(_(OPENS_OTHERS))
    same = (Invitation.person_id == link.person_id) & (Invitation.study_id == link.study_id)
    earlier = same & (Invitation.id < link.id) & Invitation.revoked_at.is_(None)
    session.execute(update(Invitation).where(earlier).values(revoked_at=clock.now()))
    return person


def accept_as_lead(session: Session, secret: str, passcode: str) -> Person:
    """The lead a link was made for, with the passcode they chose; the link works once.

    Raises NotAllowed for a link that is not valid or not for a lead, and for an unusable passcode.
    """
    # locked, since on PostgreSQL another use of the link may set a passcode in the meantime
    query = select(Person).where(Person.id == invited(session, secret).id).with_for_update()
    person = session.scalars(query.execution_options(populate_existing=True)).first()
    if person is None or person.role != Role.lead or person.passcode_hash is not None:
        raise NotAllowed("This link does not create a lead account.")
    person.passcode_hash = passcodes.hash_passcode(passcode)
    end_links(session, person.id)
    return person
