"""The annotator's desk: what lies on it now, and what each action of the workbench does to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlmodel import Session

from triptych.annotate import assignments, drafts
from triptych.annotate.annotations import Receipt, SetAsideMessage, SubmitMessage, read_message, set_aside_item, submit
from triptych.annotate.assignments import Nothing
from triptych.annotate.blinding import Notice, View, view
from triptych.annotate.reservations import Assigned
from triptych.annotate.training import feedback
from triptych.errors import InvalidAnnotation, NotFound
from triptych.storage.models import Purpose, Study
from triptych.study import lifecycle
from triptych.study.persons import Who

STEPS = {"back": -1, "forward": 1}


@dataclass(frozen=True)
class Desk:
    """Either the blinded view of an item, or why there is none.

    `showing` is the token of an earlier item the annotator went back to, or of a training item with its feedback;
    None means the current item.
    """

    view: View | None = None
    nothing: Nothing | None = None
    showing: str | None = None


def lay(
    session: Session,
    study: Study,
    who: Who,
    *,
    showing: str | None = None,
    receipt: str | None = None,
    notice: str | None = None,
) -> Desk:
    """The desk as it is now; reserves an item if the annotator holds none."""
    if showing is None:
        work = assignments.current(session, study, who)
    else:
        work = assignments.by_token(session, who, showing)
        if work.study_id != study.id:
            raise NotFound(assignments.NOT_YOURS)
    return _desk(session, study, who, work, showing=showing, receipt=receipt, notice=notice)


def _desk(
    session: Session,
    study: Study,
    who: Who,
    work: Assigned | Nothing,
    *,
    showing: str | None = None,
    receipt: str | None = None,
    notice: str | None = None,
) -> Desk:
    if isinstance(work, Nothing):
        return Desk(nothing=work)
    rubric = lifecycle.design_of(session, study).rubric
    drafts.expect(study, rubric, work)
    trained = work.purpose == Purpose.training and work.submitted_at is not None
    seen = view(
        session,
        study,
        rubric,
        work,
        who,
        receipt=receipt,
        feedback=feedback(session, rubric, work) if trained else None,
        notice=Notice(kind="warning", text=notice) if notice else None,
    )
    return Desk(view=seen, showing=showing)


def act(session: Session, study: Study, who: Who, action: Any) -> Desk:
    """Does what the workbench asks for and returns the desk after it.

    Raises InvalidAnnotation, NotFound, AlreadySubmitted, OpenElsewhere, StudyNotOpen; then nothing has changed.
    """
    kind = action.get("kind") if isinstance(action, dict) else None
    if not isinstance(kind, str):
        raise InvalidAnnotation("The workbench sent no action.")
    if kind == "submit":
        return _after(session, study, who, submit(session, who, read_message(SubmitMessage, action)))
    if kind in ("skip", "ignore"):
        return _after(session, study, who, set_aside_item(session, who, read_message(SetAsideMessage, action)))
    if kind in STEPS:
        work = assignments.neighbour(session, study, who, str(action.get("assignment")), STEPS[kind])
        return lay(session, study, who, showing=work.token if work else None)
    if kind == "continue":
        return lay(session, study, who)
    raise InvalidAnnotation("The workbench asked for something that does not exist.")


def _after(session: Session, study: Study, who: Who, receipt: Receipt) -> Desk:
    """A training item stays on the desk with its feedback; otherwise the next one comes."""
    done = receipt.assignment
    if done.purpose == Purpose.training:
        return _desk(session, study, who, done, showing=done.token, receipt=receipt.submission)
    return _desk(session, study, who, receipt.next, receipt=receipt.submission)
