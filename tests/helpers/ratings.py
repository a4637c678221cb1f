"""What several test files share: ratings."""

from __future__ import annotations

import uuid

import pandas as pd
from sqlalchemy import select

from helpers.studies import full_answers
from triptych import clock
from triptych.annotate import annotations, assignments
from triptych.annotate.annotations import SetAsideMessage, SubmitMessage
from triptych.results.frame.model import Frame
from triptych.storage import events
from triptych.storage.models import Assignment, Membership

BEST_RUBRIC = """
key: best
title: Best
summary: Which is best, and how good is the question.
instructions: Pick.
criteria:
  - {key: winner, title: Winner, definition: The best one., about: item, scale: {kind: best}}
  - {key: worth, title: Worth, definition: Of the item., about: item, scale: {kind: number, low: 0, high: 1, step: 0.1}}
"""


def submit(session, study, who, answers=None, seconds=30.0):
    """Submits the annotator's current item; returns the assignment."""
    work = assignments.current(session, study, who)
    resubmit(session, who, work, answers or full_answers(), seconds)
    return work


def resubmit(session, who, work, answers, seconds=30.0):
    work = session.get(Assignment, work.id, populate_existing=True)
    work.reserved_at = clock.now().replace(year=2020)
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
    annotations.submit(session, who, message)


def first_work(session, who):
    mine = select(Assignment).where(Assignment.person_id == who.person_id)
    return session.scalars(mine.order_by(Assignment.id)).first()


def set_aside(session, study, who, kind, reason):
    work = assignments.current(session, study, who)
    message = SetAsideMessage(
        kind=kind,
        assignment=work.token,
        version=work.version,
        pen="pen-of-a-tab",
        submission=uuid.uuid4().hex,
        reason=reason,
    )
    annotations.set_aside_item(session, who, message)
    return work


def exclude(session, study, who, out=True):
    wanted = select(Membership).where(Membership.study_id == study.id, Membership.person_id == who.person_id)
    session.scalars(wanted).one().excluded_at = clock.now() if out else None
    session.flush()
    events.record(
        session, study.id, "annotator excluded" if out else "annotator reinstated", "P-lead", subject=who.pseudonym
    )


def as_plain(rows: pd.DataFrame) -> list[tuple]:
    """Rows as text, in one order, whatever the categories are."""
    return sorted(map(tuple, rows.reindex(columns=sorted(rows.columns)).astype(str).to_numpy().tolist()))


def same(one: Frame, other: Frame) -> bool:
    return all(as_plain(getattr(one, part)) == as_plain(getattr(other, part)) for part in ("work", "ratings")) and list(
        one.ratings.dtypes.index
    ) == list(other.ratings.dtypes.index)
