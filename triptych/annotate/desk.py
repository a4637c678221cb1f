"""The annotator's desk: its current item, and the effect of each action of the workbench."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlmodel import Session

from triptych.annotate import assignments, comments, drafts
from triptych.annotate.annotations import SET_ASIDE_AS, Receipt, SetAsideMessage, SubmitMessage, read_message, submit
from triptych.annotate.assignments import NoItem, by_token
from triptych.annotate.blinding import Feedback, FeedbackRow, Notice, View, view
from triptych.annotate.checks import compared, in_words
from triptych.annotate.reservations import Assigned
from triptych.errors import InvalidAnnotation
from triptych.languages import language
from triptych.languages.language import _, message
from triptych.rubric.model import LETTERS, Rubric
from triptych.storage.models import Assignment, Purpose, Study
from triptych.study import lifecycle
from triptych.study.persons import Who

ASKED = message("A lead asks about this item: “{question}” You can answer under My work.")
STEPS = {"back": -1, "forward": 1}
FINAL: dict[str, type[SubmitMessage | SetAsideMessage]] = {
    "submit": SubmitMessage,
    **dict.fromkeys(SET_ASIDE_AS, SetAsideMessage),
}


@dataclass(frozen=True)
class Desk:
    """Either the blinded view of an item, or why there is none.

    showing: token of an earlier item that the annotator went back to, or of a training item with its feedback; None
    for the current item.
    """

    view: View | None = None
    nothing: NoItem | None = None
    showing: str | None = None


def lay(
    session: Session,
    study: Study,
    who: Who,
    *,
    showing: str | None = None,
    notice: str | None = None,
) -> Desk:
    """The current desk; reserves an item if the annotator has none."""
    own = assignments.current(session, study, who) if showing is None else by_token(session, study, who, showing)
    return _desk(session, study, who, own, showing=showing, notice=notice)


def _desk(
    session: Session,
    study: Study,
    who: Who,
    work: Assigned | NoItem,
    *,
    showing: str | None = None,
    receipt: str | None = None,
    notice: str | None = None,
    answers: object = None,
) -> Desk:
    if isinstance(work, NoItem):
        return Desk(nothing=work)
    rubric = lifecycle.design_of(session, study).rubric
    drafts.expect(study, rubric, work)
    trained = work.purpose == Purpose.training and work.submitted_at is not None
    question = comments.open_question(session, work.id) if work.submitted_at is not None else None
    shown_notice = Notice(kind="warning", text=notice) if notice else None
    if question and not notice:
        shown_notice = Notice(kind="info", text=_(ASKED, question=question))
    seen = view(
        session,
        study,
        rubric,
        work,
        who,
        receipt=receipt,
        feedback=_feedback(session, rubric.in_language(language.used()), work) if trained else None,
        notice=shown_notice,
        answers=answers,
    )
    return Desk(view=seen, showing=showing)


def _feedback(session: Session, rubric: Rubric, assignment: Assigned) -> Feedback:
    """The answers on a training item next to each reference and its reason, never "right" or "wrong"."""
    return Feedback(
        rows=tuple(
            FeedbackRow(
                criterion=comparison.criterion,
                slot=None if comparison.position is None else LETTERS[comparison.position],
                given=in_words(rubric, comparison.criterion, comparison.given),
                reference=in_words(rubric, comparison.criterion, comparison.accepted),
                verdict=comparison.closeness,
                reason=comparison.reason,
            )
            for comparison in compared(session, Assignment.id == assignment.id)
        )
    )


def act(session: Session, study: Study, who: Who, action: Any) -> Desk:
    """Perform the workbench's action and return the resulting desk.

    Raises InvalidAnnotation, NotFound, AlreadySubmitted, OpenElsewhere, StudyNotOpen; then nothing has changed.
    """
    kind = action.get("kind") if isinstance(action, dict) else None
    if not isinstance(kind, str):
        raise InvalidAnnotation("The workbench sent no action.")
    if kind in FINAL:
        return _after(session, study, who, submit(session, who, read_message(FINAL[kind], action)))
    if kind in STEPS:
        return lay(
            session,
            study,
            who,
            showing=assignments.neighbour(session, study, who, str(action.get("assignment")), STEPS[kind]),
        )
    if kind == "open":
        item = by_token(session, study, who, str(action.get("item")))
        return lay(session, study, who, showing=item.token if item.submitted_at else None)
    if kind == "continue":
        return lay(session, study, who)
    if kind == "next_response":  # in succession: the responses that may be read after these answers
        own = by_token(session, study, who, str(action.get("assignment")))
        return _desk(session, study, who, own, answers=action.get("answers"))
    raise InvalidAnnotation("The workbench asked for something that does not exist.")


def _after(session: Session, study: Study, who: Who, receipt: Receipt) -> Desk:
    """The desk after a submission: a training item stays, with its feedback; otherwise the next item."""
    done = receipt.assignment
    if done.purpose == Purpose.training:
        return _desk(session, study, who, done, showing=done.token, receipt=receipt.submission)
    return _desk(session, study, who, receipt.next, receipt=receipt.submission)
