"""Deleting whole studies, with the people who take part in no other study afterwards."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, select
from sqlmodel import Session

from triptych.errors import Conflict
from triptych.privacy import scrub
from triptych.storage import events, wiping
from triptych.storage.models import Membership, Person, Study, StudyState
from triptych.study import lifecycle
from triptych.study.persons import Who, delete_without_part


def delete_draft(session: Session, study: Study, who: Who) -> int:
    """Deletes a draft and all people who are in no other study; returns how many people.

    Follow it with `erasure.wipe`, outside of the transaction. Raises Conflict for a study that was ever open, NotFound
    for a lead who was removed meanwhile: no log is left that could refuse it.
    """
    study = lifecycle.led_by(session, who, lifecycle.lock(session, study.id).slug)
    if study.state != StudyState.draft:
        raise Conflict("Only a draft can be deleted: a launched study is kept, with its ratings.")
    events.write_pending(session)  # at the commit, the study of these events would no longer exist
    people_gone = _delete(session, [study.id])
    session.expunge(study)
    return people_gone


def delete_demo(session: Session) -> int:
    """Deletes every demo study and all people who are in no other study; returns how many studies.

    Follow it with `erasure.wipe`, outside of the transaction.
    """
    ids = list(session.scalars(select(Study.id).where(Study.demo)))
    _delete(session, ids)
    return len(ids)


def _delete(session: Session, ids: Sequence[int]) -> int:
    """Deletes studies with all their rows, and people who are then in no study; returns how many people.

    People who have withdrawn from all studies that remain lose their name, as if they had withdrawn from these last.
    """
    parts = select(Membership.person_id, Membership.withdrawn_at).where(Membership.study_id.in_(ids))
    members = session.execute(parts).all()
    session.execute(delete(Study).where(Study.id.in_(ids)))
    deleted = delete_without_part(session, [person_id for person_id, _ in members])
    taking_part = [person_id for person_id, withdrawn_at in members if withdrawn_at is None]
    for person in session.scalars(select(Person).where(Person.id.in_(taking_part))).all():
        if scrub.is_done_here(session, person):
            scrub.forget_identity(session, person)
            wiping.note_due_wipe(session)
    return deleted
