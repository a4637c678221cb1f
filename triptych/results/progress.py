"""Progress of a study and of each of its annotators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
from sqlalchemy import case, func, select
from sqlmodel import Session

from triptych import clock
from triptych.results.frame.counted import selected_work
from triptych.results.frame.model import Counted, Frame
from triptych.results.frame.upkeep import frame_of
from triptych.storage.models import (
    AssignmentState,
    Item,
    Membership,
    Person,
    PlannedItem,
    Purpose,
    Role,
    Study,
    StudyState,
)

PACE, MIN_PACE = timedelta(days=7), 3  # how far back the pace looks, and the annotations that it needs
FARTHEST = timedelta(days=3650)


@dataclass(frozen=True)
class AnnotatorProgress:
    """How many items one annotator has done, how many of these they skipped, and how many they have in all."""

    pseudonym: str
    done: int
    skipped: int
    total: int


@dataclass(frozen=True)
class Overview:
    """Progress of the study. expected: places of all items; done: places filled by a finished annotation.

    done_at: estimated time when the last place is filled, at the pace of recent days; None if there is no pace yet.
    """

    done: int
    expected: int
    items: int
    items_complete: int
    skipped: int
    ignored: int
    surplus: int
    minutes_left: int | None
    last_at: datetime | None
    done_at: datetime | None
    annotators: tuple[AnnotatorProgress, ...]


def overview(session: Session, study: Study, counted: Counted) -> Overview:
    """Progress of each annotator and overall; of the filters, only those about people apply.

    Time left: open places × active time per annotation that was not skipped, from three of these on.
    """
    frame, counted = frame_of(session, study), Counted(counted.kinds)
    main = (Item.study_id == study.id, Item.purpose == Purpose.main, ~Item.retired)
    # on the connection, since the ORM takes as long again for every item
    raters = dict(session.connection().execute(select(Item.external_id, Item.raters).where(*main)).all())
    expected = sum(raters.values())
    rows = selected_work(frame, counted)
    asked = np.array([raters.get(item, -1) for item in rows["item"].cat.categories])
    items = rows["item"].cat.codes.to_numpy()
    is_filled = rows["in_place"].to_numpy() & (asked[items] >= 0)
    filled, per_item = rows[is_filled], np.bincount(items[is_filled], minlength=len(asked))
    left = max(expected - len(filled), 0)
    states = _counts(rows["state"])
    return Overview(
        done=len(filled),
        expected=expected,
        items=len(raters),
        items_complete=int(np.count_nonzero((per_item > 0) & (per_item >= asked))),
        skipped=states[AssignmentState.skipped],
        ignored=states[AssignmentState.ignored],
        surplus=states[AssignmentState.surplus],
        minutes_left=_minutes_left(rows, left),
        last_at=None if rows.empty else rows["submitted_at"].max().to_pydatetime(),
        done_at=_done_at(filled["assigned_at"], left),
        annotators=_progress_rows(session, study, frame, counted, raters),
    )


def _minutes_left(rows: pd.DataFrame, places: int) -> int | None:
    """Active time for so many places, at the pace so far; workbooks and imported ratings have no active time."""
    seconds = rows["active_seconds"].clip(lower=0)
    timed = int(((seconds > 0) & (rows["state"] != AssignmentState.skipped)).sum())
    if not places:
        return 0
    return round(places * float(seconds.sum()) / timed / 60) if timed >= 3 else None


def _done_at(assigned: pd.Series, left: int) -> datetime | None:
    """When the last place will be filled; assigned: (n,) when filled places were assigned; left: open places."""
    now = clock.now()
    recent = assigned[assigned > now - PACE]
    if not left or len(recent) < MIN_PACE:
        return None
    spent = now - max(assigned.min().to_pydatetime(), now - PACE)
    return now + min(spent / len(recent) * left, FARTHEST)


def _progress_rows(
    session: Session, study: Study, frame: Frame, counted: Counted, items: Collection[str]
) -> tuple[AnnotatorProgress, ...]:
    """items: those that are not retired; of the others, only what somebody had done before is among their own."""
    members = (
        select(Person.pseudonym)
        .join(Membership, Membership.person_id == Person.id)
        .where(Membership.study_id == study.id, Membership.role == Role.annotator, Person.kind.in_(counted.kinds))
        .order_by(Membership.joined_at, Person.id)
    )
    of_annotator, state = frame.work["annotator"], frame.work["state"]
    done, skipped = _counts(of_annotator), _counts(of_annotator[state == AssignmentState.skipped])
    before = _counts(of_annotator[~frame.work["item"].isin(list(items))])
    planned, limit = _planned(session, study), study.settings.get("items_per_annotator") or study.item_count
    limit = 0 if study.state == StudyState.closed else limit  # no more annotations will come
    return tuple(
        AnnotatorProgress(name, done[name], skipped[name], max(min(limit, available), done[name]))
        for name in session.scalars(members)
        for available in [(planned.get(name, 0) if planned else len(items)) + before[name]]
    )


def _planned(session: Session, study: Study) -> dict[str, int]:
    """Annotator → number of their items that are not retired, in a study with an explicit plan; otherwise empty."""
    own = select(Person.pseudonym, func.sum(case((Item.retired, 0), else_=1))).select_from(PlannedItem)
    own = own.join(Person, Person.id == PlannedItem.person_id).join(Item, Item.id == PlannedItem.item_id)
    rows = session.execute(own.where(PlannedItem.study_id == study.id).group_by(Person.pseudonym))
    return {pseudonym: int(number) for pseudonym, number in rows}


def _counts(labels: pd.Series) -> Counter[str]:
    """How often each label occurs."""
    return Counter(labels.value_counts().to_dict())
