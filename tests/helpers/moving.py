"""What several test files share: moving."""

from __future__ import annotations

from helpers.studies import full_answers
from triptych.annotate import annotations
from triptych.annotate.annotations import SubmitMessage
from triptych.annotate.assignments import current


def annotate(session, study, who, note: str = "") -> None:
    """One submitted item with a highlight, a reason and a note beyond ASCII, and the next one reserved."""
    item = current(session, study, who)
    answers = full_answers()
    answers["ratings"]["A"]["verdict"] = "reject"
    answers["explanations"] = {"A": {"verdict": {"reject": {"reasons": ["wrong"], "text": "so it is 😀"}}}}
    answers["highlights"] = [{"slot": "A", "start": 0, "end": 6, "label": "good", "comment": "é"}]
    message = SubmitMessage(
        assignment=item.token,
        version=1,
        pen="a pen of it",
        submission=f"submission of {item.token}",
        kind="submit",
        answers={**answers, "note": note},
    )
    annotations.submit(session, who, message)
