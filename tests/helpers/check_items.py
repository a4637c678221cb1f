"""Check items (attention checks and gold items) of a study, and ratings of any item."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from sqlalchemy import select
from sqlmodel import Session

from helpers.studies import SYSTEMS
from triptych import clock
from triptych.formats.model import CandidateDraft, ItemDraft
from triptych.storage.models import (
    Assignment,
    AssignmentState,
    Candidate,
    Item,
    Purpose,
    Rating,
    Reference,
    Slot,
    StoredCriterion,
    Study,
)
from triptych.study.persons import Who


def check_item(number: int, purpose: str, reference: str) -> ItemDraft:
    """A check item as a file has it: three responses and what is agreed about them."""
    responses = tuple(CandidateDraft(system, f"{purpose} {number} {system[0]}", None) for system in SYSTEMS)
    meta = {"purpose": purpose, "reference": reference, "stars": "4"}
    return ItemDraft(f"{purpose}-{number}", f"Check {number}?", (), responses, meta, {}, number)


def criterion_ids(session: Session, study: Study) -> dict[str, int]:
    return dict(
        map(
            tuple,
            session.execute(
                select(StoredCriterion.key, StoredCriterion.id).where(StoredCriterion.study_id == study.id)
            ),
        )
    )


def add_check(
    session: Session, study: Study, purpose: Purpose, number: int, accepted: str = "3", close: float = 0
) -> Item:
    """A copy of the study's first item as a check: the fluency of the second candidate of its file is agreed."""
    first = session.scalars(select(Item).where(Item.study_id == study.id).order_by(Item.id)).first()
    assert first is not None
    name = f"{purpose}-{number}"
    item = Item(study_id=study.id, external_id=name, purpose=purpose, sha256="", rank=number, raters=1)
    session.add(item)
    session.flush()
    for candidate in session.scalars(
        select(Candidate).where(Candidate.item_id == first.id).order_by(Candidate.id)
    ).all():
        session.add(Candidate(item_id=item.id, system_id=candidate.system_id, text=candidate.text, sha256=""))
        session.flush()
    criterion = criterion_ids(session, study)["fluency"]
    session.add(
        Reference(item_id=item.id, position=1, criterion_id=criterion, accepted=accepted, close=close, reason="")
    )
    session.flush()
    return item


def rate(
    session: Session,
    study: Study,
    who: Who,
    item: Item,
    purpose: Purpose,
    fluency: Sequence[float],
    repeat_of: int | None = None,
    order: Sequence[int] = (2, 0, 1),
    **part: Any,
) -> Assignment:
    """A finished annotation of this person: fluency by candidate of the file, shown in some order."""
    done: dict[str, Any] = {
        "state": AssignmentState.submitted,
        "submitted_at": clock.now(),
        "active_seconds": 30.0,
    } | part
    done |= {"reserved_at": clock.now(), "expires_at": clock.now(), "purpose": purpose, "repeat_of": repeat_of}
    work = Assignment(token=uuid.uuid4().hex, study_id=study.id, item_id=item.id, person_id=who.person_id, **done)
    session.add(work)
    session.flush()
    candidates = session.scalars(select(Candidate.id).where(Candidate.item_id == item.id).order_by(Candidate.id)).all()
    criterion = criterion_ids(session, study)["fluency"]
    for position, candidate in enumerate(order):
        session.add(Slot(assignment_id=work.id, position=position, candidate_id=candidates[candidate]))
        session.flush()
        session.add(Rating(assignment_id=work.id, position=position, criterion_id=criterion, number=fluency[candidate]))
    session.flush()
    return work
