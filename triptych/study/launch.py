"""The step from a draft to an open study."""

from __future__ import annotations

from sqlmodel import Session

from triptych.errors import Conflict
from triptych.storage.models import Study, StudyState
from triptych.study import lifecycle, lint, pairing


def launch(session: Session, study: Study, actor: str) -> None:
    """Freeze the design and open the study.

    Raises Conflict for a study that was launched before, and while a finding of the linter blocks the launch.
    """
    study = lifecycle.lock(session, study.id)
    if study.state != StudyState.draft:
        raise Conflict("This study is already launched. Pause or close it on the page Overview.")
    if study.item_count == 0:
        raise Conflict("This study has no items yet. Add a file of items first.")
    blocking = [finding for finding in lint.lint_study(session, study) if finding.blocking]
    if blocking:
        raise Conflict(f"The study cannot be launched yet: {blocking[0].text}")
    pairing.apply_overlap(session, study)
    lifecycle.set_state(session, study, StudyState.open, actor)
