"""What several test files share: annotations."""

from __future__ import annotations

from helpers.studies import full_answers
from triptych.annotate.annotations import SubmitMessage
from triptych.storage.models import (
    Assignment,
)

PEN, OTHER_PEN = "pen-of-tab-one", "pen-of-tab-two"


def submission(assignment: Assignment, name: str = "submission-1", **change) -> SubmitMessage:
    message = {
        "kind": "submit",
        "assignment": assignment.token,
        "version": assignment.version,
        "pen": PEN,
        "submission": name,
        "base": assignment.draft_seq,
        "answers": full_answers(),
        "active_seconds": 5,
    }
    return SubmitMessage(**(message | change))
