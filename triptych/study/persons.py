"""The signed-in person, deleting people who are in no study, and writing nothing about those who were erased."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import delete, exists, select
from sqlmodel import Session

from triptych.errors import NotAllowed
from triptych.storage import wiping
from triptych.storage.events import EventKind
from triptych.storage.models import Event, Membership, Person, Role


@dataclass(frozen=True)
class Who:
    """The person a signed-in browser belongs to. Nobody but this person may see the name."""

    person_id: int
    pseudonym: str
    role: str
    name: str | None
    login_id: int


@dataclass(frozen=True)
class Certainty:
    """Proof that a lead confirmed an act that cannot be undone, by giving their passcode recently.

    Only `people.signing_in` creates it, so that no code path to such an act can skip the question.
    """

    who: Who


def delete_without_part(session: Session, person_ids: Collection[int]) -> int:
    """Delete the people among these who are in no study, with their names, except leads who can sign in.

    Returns how many.
    """
    no_account = (Person.role == Role.annotator) | Person.passcode_hash.is_(None)
    in_no_study = ~exists().where(Membership.person_id == Person.id)
    without_part = delete(Person).where(Person.id.in_(person_ids), no_account, in_no_study)
    deleted = len(session.scalars(without_part.returning(Person.id)).all())
    if deleted:
        wiping.note_due_wipe(session)
    return deleted


def erased_people(session: Session, study_id: int) -> frozenset[str]:
    """Pseudonyms of everybody in the study who was erased."""
    query = select(Event.subject).where(Event.study_id == study_id, Event.kind == EventKind.person_erased)
    return frozenset(session.scalars(query))


def refuse_erased(session: Session, study_id: int, pseudonyms: Collection[str]) -> None:
    """Raises NotAllowed if somebody of these was erased: no later erasure would delete what is written about them."""
    erased = sorted(erased_people(session, study_id) & {*pseudonyms})
    if erased:
        raise NotAllowed(f"{erased[0]} was erased, so nothing more is stored about them.")
