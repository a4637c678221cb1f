"""What several test files share: quality."""

from __future__ import annotations

import uuid

from sqlalchemy import select

from triptych import clock
from triptych.storage.models import (
    Assignment,
    AssignmentState,
    Candidate,
    Criterion,
    Item,
    Purpose,
    Rating,
    Reference,
    Slot,
)


def criterion_ids(session, study) -> dict[str, int]:
    return dict(map(tuple, session.execute(select(Criterion.key, Criterion.id).where(Criterion.study_id == study.id))))


def add_check(session, study, purpose: Purpose, n: int, accepted: str = "3", close: float = 0) -> Item:
    """A copy of the study's first item as a check: the fluency of the second candidate of its file is agreed."""
    first = session.scalars(select(Item).where(Item.study_id == study.id).order_by(Item.id)).first()
    given = {"external_id": f"{purpose}-{n}", "purpose": purpose, "sha256": "", "rank": n, "raters": 1}
    item = Item(study_id=study.id, **given)
    session.add(item)
    session.flush()
    for one in session.scalars(select(Candidate).where(Candidate.item_id == first.id).order_by(Candidate.id)).all():
        session.add(Candidate(item_id=item.id, system_id=one.system_id, text=one.text, sha256=""))
        session.flush()
    criterion = criterion_ids(session, study)["fluency"]
    session.add(
        Reference(item_id=item.id, position=1, criterion_id=criterion, accepted=accepted, close=close, reason="")
    )
    session.flush()
    return item


def rate(session, study, who, item, purpose, fluency, repeat_of=None, order=(2, 0, 1), **part) -> Assignment:
    """A finished annotation of her own: fluency by candidate of the file, shown in some order."""
    done = {"state": AssignmentState.submitted, "submitted_at": clock.now(), "active_seconds": 30.0} | part
    times = {"reserved_at": clock.now(), "expires_at": clock.now()}
    made = Assignment(
        token=uuid.uuid4().hex, study_id=study.id, item_id=item.id, person_id=who.person_id, **done, **times
    )
    made.purpose, made.repeat_of = purpose, repeat_of
    session.add(made)
    session.flush()
    candidates = session.scalars(select(Candidate.id).where(Candidate.item_id == item.id).order_by(Candidate.id)).all()
    criterion = criterion_ids(session, study)["fluency"]
    for position, candidate in enumerate(order):
        session.add(Slot(assignment_id=made.id, position=position, candidate_id=candidates[candidate]))
        session.flush()
        session.add(Rating(assignment_id=made.id, position=position, criterion_id=criterion, number=fluency[candidate]))
    session.flush()
    return made
