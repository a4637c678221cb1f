"""Accounts in studies of different leads: an account opens no study to people who do not lead it.

The leads of a study can sign in as its annotators, with a personal link or as a panel. An account in studies of several
leads would let each of them read and rate in the others' studies.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import select
from sqlalchemy.orm import aliased
from sqlmodel import Session

from triptych.languages.language import message
from triptych.storage.models import Membership, Person, Role, Study
from triptych.study.persons import Who

OTHER_LEADS = message(
    "Your account belongs to a study with other leads. To take part in {study}, sign out and start it under your name."
)
OPENS_OTHERS = message(
    "Your account is also in a study with other leads, so this link does not open it. Ask the lead of your study."
)


def may_join(session: Session, study: Study, who: Who) -> bool:
    """Whether this account may be used in the study, too: no lead of another study could have opened it."""
    return who.role == Role.lead or study.demo or not has_other_leads(session, study, who.person_id)


def has_other_leads(session: Session, study: Study, person_id: int) -> bool:
    """Whether the person annotates a study that is not led by the same people, demo studies aside."""
    leads = _leads_by_study(session, study, person_id)
    return any(those != leads[study.id] for those in leads.values())


def opens_studies_of_others(session: Session, study: Study, person_id: int) -> bool:
    """Whether a lead of the study does not lead another study that the person annotates, demo studies aside.

    Leads can change after the person joined, and the leads of the study can sign in as the person.
    """
    leads = _leads_by_study(session, study, person_id)
    if study.demo:
        leads[study.id] = set(session.scalars(select(Person.id).where(Person.role == Role.lead)))
    return any(leads[study.id] - those for those in leads.values())


def shut_out(session: Session, study: Study) -> set[int]:
    """Ids of the study's annotators whose accounts its links do not open, see `opens_studies_of_others`."""
    here, there = aliased(Membership), aliased(Membership)
    annotating = (here.role == Role.annotator) & (there.role == Role.annotator) & here.withdrawn_at.is_(None)
    shared = select(there.study_id, there.person_id).join(here, here.person_id == there.person_id)
    shared = shared.join(Study, Study.id == there.study_id).where(annotating, here.study_id == study.id, ~Study.demo)
    studies = session.execute(shared).all()
    leads = _leads_of(session, {study.id, *(other for other, _ in studies)})
    return {person_id for other, person_id in studies if leads[study.id] - leads[other]}


def _leads_by_study(session: Session, study: Study, person_id: int) -> dict[int, set[int]]:
    """Ids of the leads of the study and of those that the person annotates, demo studies aside."""
    annotating = (Membership.person_id == person_id) & (Membership.role == Role.annotator)
    own = select(Study.id).join(Membership, Membership.study_id == Study.id).where(annotating, ~Study.demo)
    return _leads_of(session, {study.id, *session.scalars(own)})


def _leads_of(session: Session, studies: Collection[int]) -> dict[int, set[int]]:
    leads: dict[int, set[int]] = {study_id: set() for study_id in studies}
    leading = select(Membership.study_id, Membership.person_id).where(Membership.role == Role.lead)
    for study_id, lead_id in session.execute(leading.where(Membership.study_id.in_(studies))):
        leads[study_id].add(lead_id)
    return leads
