"""The step from a draft to an open study."""

from __future__ import annotations

from collections.abc import Sequence

from sqlmodel import Session

from triptych.errors import Conflict
from triptych.storage.models import Study, StudyState
from triptych.study import checklist, lifecycle, pairing
from triptych.study.checklist import CheckPoint


def check(session: Session, study: Study) -> str:
    """The hash of the last event of a draft that may be launched as it is.

    It reads all texts, which takes seconds, so call it before the transaction that launches. Raises Conflict for a
    study that was launched before or has too many responses, and while a line of the checklist stops it.
    """
    study = lifecycle.by_slug(session, study.slug)
    last_event = study.event_hash
    _refuse_launched(study)
    lifecycle.refuse_many_responses(session, study)
    _refuse_stopped(checklist.points(session, study, findings=[]))
    _refuse_stopped(checklist.points(session, study))
    return last_event


def launch(session: Session, study: Study, actor: str, checked: str | None) -> None:
    """Freeze the design and open the study.

    checked: what `check` returned. Raises Conflict for a study that was launched before, or changed since the check.
    """
    study = lifecycle.lock(session, study.id)
    _refuse_launched(study)
    if study.event_hash != checked:
        raise Conflict("This study was changed a moment ago. Launch it again.")
    pairing.apply_overlap(session, study)
    lifecycle.set_state(session, study, StudyState.open, actor)


def _refuse_launched(study: Study) -> None:
    if study.state != StudyState.draft:
        raise Conflict("This study is already launched. Pause or close it under Setup.")


def _refuse_stopped(points: Sequence[CheckPoint]) -> None:
    stopping = next((point for point in points if point.stops), None)
    if stopping:
        raise Conflict(f"The study cannot be launched yet. {stopping.text} {stopping.advice}")
