"""The step from a draft to an open study."""

from __future__ import annotations

from sqlmodel import Session

from triptych import linter, pairing, studies
from triptych.errors import Conflict
from triptych.storage.models import Study, StudyState


def launch(session: Session, study: Study, actor: str) -> None:
    """Freezes the design and opens the study.

    Raises Conflict for a study that was launched before and while a finding of the linter stands in the way.
    """
    study = studies.lock(session, study.id)
    if study.state != StudyState.draft:
        raise Conflict("This study was launched already. Pausing and closing are on its own page.")
    if study.item_count == 0:
        raise Conflict("This study has no items yet. Add a file of items first.")
    blocking = [finding for finding in linter.lint_study(session, study) if finding.blocking]
    if blocking:
        raise Conflict(f"The study cannot be launched yet: {blocking[0].text}")
    pairing.apply_overlap(session, study)
    studies.set_state(session, study, StudyState.open, actor)
