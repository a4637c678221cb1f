"""Submitting, changing and leaving out items directly, excluding people, comparing frames."""

from __future__ import annotations

import uuid
from typing import Any

import pandas as pd
import pytest
from sqlalchemy import Engine, select
from sqlmodel import Session

from helpers.studies import full_answers
from triptych import clock
from triptych.annotate import annotations as annotating
from triptych.annotate import assignments, onboarding
from triptych.annotate.annotations import SetAsideMessage, SubmitMessage
from triptych.annotate.assignments import Assigned, NoItem
from triptych.exchange import judge_scores
from triptych.exchange.judge_scores import JudgeScore
from triptych.operations import verify
from triptych.results.frame.model import Frame
from triptych.results.frame.upkeep import frame_of
from triptych.storage import events
from triptych.storage.database import writing
from triptych.storage.models import Assignment, Membership, Study
from triptych.study.persons import Who
from triptych.study.system_names import system_names

BEST_RUBRIC = """
key: best
title: Best
summary: Which is best, and how good is the question.
instructions: Pick.
criteria:
  - {key: winner, title: Winner, definition: The best one., about: item, scale: {kind: best}}
  - {key: worth, title: Worth, definition: Of the item., about: item, scale: {kind: number, low: 0, high: 1, step: 0.1}}
"""


def submit(session: Session, study: Study, who: Who, answers: Any = None, seconds: float = 30.0) -> Assigned:
    """Submits the annotator's current item; returns the assignment."""
    work = assigned(session, study, who)
    resubmit(session, who, work, answers or full_answers(), seconds)
    return work


def submit_during_a_check(monkeypatch: pytest.MonkeyPatch, engine: Engine, study: Study, who: Who) -> None:
    """Lets the annotator submit an item each time when `verify` has read the log, before it reads the rows."""
    fold = verify.fold

    def fold_and_submit(chain: Any) -> Any:
        folded = fold(chain)
        with writing(engine) as session:
            submit(session, session.get_one(Study, study.id), who)
        return folded

    monkeypatch.setattr(verify, "fold", fold_and_submit)


def append_scores(session: Session, study: Study, lead: Who, judge: str, value: int = 2) -> str:
    """Gives every response this fluency, as a judge model does; returns the judge's pseudonym."""
    items, systems = frame_of(session, study).meta, system_names(session, study).values()
    scores = [JudgeScore(str(item), system, "fluency", value) for item in items for system in systems]
    checked = judge_scores.check(session, study, judge, scores)
    return judge_scores.append(session, study, checked, lead.pseudonym).judge


def assigned(session: Session, study: Study, who: Who) -> Assigned:
    """The annotator's current item, once they have read the instructions."""
    work = assignments.current(session, study, who)
    if work == NoItem.entry:
        onboarding.read_instructions(session, study, who, onboarding.wording_of(study))
        work = assignments.current(session, study, who)
    assert isinstance(work, Assigned), work
    return work


def resubmit(session: Session, who: Who, work: Assigned | Assignment, answers: Any, seconds: float = 30.0) -> None:
    """Submits this assignment, whether or not it was submitted before."""
    work = session.get_one(Assignment, work.id, populate_existing=True)
    began = work.reserved_at
    work.reserved_at = clock.now().replace(year=2020)  # long enough ago for any number of seconds
    session.flush()
    message = SubmitMessage(
        kind="submit",
        assignment=work.token,
        version=work.version,
        pen="pen-of-a-tab",
        base=work.draft_seq,
        submission=uuid.uuid4().hex,
        answers=answers,
        active_seconds=seconds,
    )
    annotating.submit(session, who, message)
    work.reserved_at = began
    session.flush()


def first_work(session: Session, who: Who) -> Assignment:
    """The first assignment of this person."""
    work = select(Assignment).where(Assignment.person_id == who.person_id).order_by(Assignment.id)
    return session.scalars(work.limit(1)).one()


def set_aside(session: Session, study: Study, who: Who, kind: Any, reason: str) -> Assigned:
    """Leaves the current item out, for a reason; returns the assignment."""
    work = assigned(session, study, who)
    message = SetAsideMessage(
        kind=kind,
        assignment=work.token,
        version=work.version,
        pen="pen-of-a-tab",
        submission=uuid.uuid4().hex,
        reason=reason,
    )
    annotating.submit(session, who, message)
    return work


def exclude(session: Session, study: Study, who: Who, out: bool = True) -> None:
    """Excludes the annotator, or reinstates them."""
    membership = select(Membership).where(Membership.study_id == study.id, Membership.person_id == who.person_id)
    session.scalars(membership).one().excluded_at = clock.now() if out else None
    session.flush()
    kind = events.EventKind.annotator_excluded if out else events.EventKind.annotator_reinstated
    events.record(session, study.id, kind, "P-lead", subject=who.pseudonym)


def as_plain(rows: pd.DataFrame) -> list[tuple]:
    """Rows as text, in one order, whatever the categories are."""
    return sorted(map(tuple, rows.reindex(columns=sorted(rows.columns)).astype(str).to_numpy().tolist()))


def same(frame: Frame, other: Frame) -> bool:
    """Whether both hold the same work and ratings, in columns of the same names."""
    return all(
        as_plain(getattr(frame, part)) == as_plain(getattr(other, part)) for part in ("work", "ratings")
    ) and list(frame.ratings.dtypes.index) == list(other.ratings.dtypes.index)
