"""The signed-in person, and deleting people who are in no study."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import delete, exists
from sqlmodel import Session

from triptych.storage import wiping
from triptych.storage.models import Membership, Person, Role


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
