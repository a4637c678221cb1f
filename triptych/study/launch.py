"""The step from a draft to an open study."""

from __future__ import annotations

from sqlmodel import Session

from triptych.errors import Conflict
from triptych.storage.models import Study, StudyState
from triptych.study import checklist, lifecycle, pairing


def launch(session: Session, study: Study, actor: str) -> None:
    """Freeze the design and open the study.

    Raises Conflict for a study that was launched before, and while a line of the checklist stops it.
    """
    study = lifecycle.lock(session, study.id)
    if study.state != StudyState.draft:
        raise Conflict("This study is already launched. Pause or close it under Setup.")
    stopping = [point for point in checklist.points(session, study) if point.stops]
    if stopping:
        raise Conflict(f"The study cannot be launched yet. {stopping[0].text} {stopping[0].advice}")
    pairing.apply_overlap(session, study)
    lifecycle.set_state(session, study, StudyState.open, actor)
