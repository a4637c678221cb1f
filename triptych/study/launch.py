"""The step from a draft to an open study."""

from __future__ import annotations

from sqlmodel import Session

from triptych.errors import Conflict
from triptych.storage.models import Study, StudyState
from triptych.study import lifecycle, lint, pairing


def launch(session: Session, study: Study, actor: str) -> None:
    """Freezes the design and opens the study.

    Raises Conflict for a study that was launched before and while a finding of the linter stands in the way.
    """
    study = lifecycle.lock(session, study.id)
    if study.state != StudyState.draft:
        raise Conflict("This study was launched already. Pausing and closing are on its own page.")
    if study.item_count == 0:
        raise Conflict("This study has no items yet. Add a file of items first.")
    blocking = [finding for finding in lint.lint_study(session, study) if finding.blocking]
    if blocking:
        raise Conflict(f"The study cannot be launched yet: {blocking[0].text}")
    pairing.apply_overlap(session, study)
    lifecycle.set_state(session, study, StudyState.open, actor)
