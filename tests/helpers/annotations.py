"""What an annotator's browser sends: submissions as messages and as JSON, and one complete annotation."""

from __future__ import annotations

from typing import Any

from sqlmodel import Session

from helpers.studies import full_answers
from triptych.annotate.annotations import SubmitMessage, submit
from triptych.annotate.assignments import Assigned, current
from triptych.people import logins
from triptych.storage.models import Assignment, Person, Study
from triptych.study.persons import Who

PEN, OTHER_PEN = "pen-of-tab-one", "pen-of-tab-two"


def submission(work: Assignment | Assigned, name: str = "submission-1", **changes: Any) -> SubmitMessage:
    """The message that submits complete answers for this assignment; `changes` replace its fields."""
    return SubmitMessage(**(_fields(work, name) | changes))


def submitting(view: Any, name: str, answers: dict[str, Any] | None = None) -> dict[str, Any]:
    """The action that the workbench sends for the item in this view."""
    return _fields(view.work, name) | {"answers": answers or full_answers(), "active_seconds": 3}


def _fields(work: Any, name: str) -> dict[str, Any]:
    return {
        "kind": "submit",
        "assignment": work.token,
        "version": work.version,
        "pen": PEN,
        "submission": name,
        "base": work.draft_seq,
        "answers": full_answers(),
        "active_seconds": 5,
    }


def annotate_with_everything(session: Session, study: Study, who: Who, note: str = "") -> None:
    """Submits an item with a highlight, a reason and a note beyond ASCII, and reserves the next one."""
    work = current(session, study, who)
    assert isinstance(work, Assigned)
    answers = full_answers()
    answers["ratings"]["A"]["verdict"] = "reject"
    answers["explanations"] = {"A": {"verdict": {"reject": {"reasons": ["wrong"], "text": "so it is 😀"}}}}
    answers["highlights"] = [{"slot": "A", "start": 0, "end": 6, "label": "good", "comment": "é", "unit": "words"}]
    message = SubmitMessage(
        assignment=work.token,
        version=1,
        pen="a pen of it",
        submission=f"submission of {work.token}",
        kind="submit",
        answers={**answers, "note": note},
    )
    submit(session, who, message)


def login_of(session: Session, who: Who) -> str:
    """The secret of a new login of this person."""
    ticket = logins.issue_sign_in_ticket(session, session.get_one(Person, who.person_id))
    return logins.use_ticket(session, ticket)
