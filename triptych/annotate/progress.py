"""An annotator's progress: items done and to do, and an estimate of the time left."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from sqlalchemy import ColumnElement, Select, bindparam, exists, func, select
from sqlmodel import Session

from triptych.annotate import checks, entry_test
from triptych.annotate.reservations import own_assignments, seen_items
from triptych.storage.models import (
    LAST_VERSION,
    SEEN,
    WORK,
    Assignment,
    AssignmentState,
    Item,
    PlannedItem,
    Purpose,
    Study,
    Submission,
    has_value,
)
from triptych.study.persons import Who
from triptych.study.settings import settings_of

MIN_TIMED_ITEMS = 3  # fewer are not enough to estimate the time per item


@dataclass(frozen=True)
class Progress:
    """One annotator's progress; minutes_left: an estimate, None while there are too few timed items.

    planned: items that they should rate; `total` is larger if they have skipped some.
    """

    done: int
    total: int
    minutes_left: int | None
    planned: int = 0


def of_work(session: Session, study: Study, who: Who) -> Progress:
    """Progress over the items of the work. Hidden checks count like other items, so that nobody can recognise them.

    The time left is estimated from the mean of the person's active seconds, from three items on.
    """
    row = session.connection().execute(_counts(), {"study": study.id, "person": who.person_id}).one()
    done, mean_seconds, has_plan, own_planned, retired, attention, gold = row
    total = _item_limit(study, has_plan, own_planned, retired)
    rules = settings_of(study).checks
    if attention or gold or rules.repeat_percent:
        total += checks.expected(rules, check_seed(study, who), total, attention, gold)
    planned, total = total, max(total, done)
    is_timed = done >= MIN_TIMED_ITEMS
    minutes_left = round((total - done) * mean_seconds / 60) if is_timed and mean_seconds else None
    return Progress(done, total, minutes_left, planned)


def main_items(session: Session, study: Study, who: Who) -> int:
    """How many main items this person gets at most."""
    query = select(*_planned())
    has_plan, own_planned, retired = session.execute(query, {"study": study.id, "person": who.person_id}).one()
    return _item_limit(study, has_plan, own_planned, retired)


def _item_limit(study: Study, has_plan: bool, own_planned: int, retired: int) -> int:
    available = own_planned if has_plan else study.item_count - retired
    limit = settings_of(study).items_per_annotator
    return available if limit is None else min(limit, available)


@cache  # see `storage.writes`
def _counts() -> Select[int, float | None, bool, int, int, int, int]:
    is_done = has_value(Assignment.purpose, *WORK) & has_value(Assignment.state, *SEEN)
    # a check that was answered again keeps the time of its first answer
    is_last = (Submission.assignment_id == Assignment.id) & (Submission.version == LAST_VERSION)
    counted = func.count(), func.avg(func.coalesce(Submission.active_seconds, Assignment.active_seconds))
    query = select(*counted, *_planned(), _checks(Purpose.attention), _checks(Purpose.gold)).select_from(Assignment)
    return query.outerjoin(Submission, is_last).where(own_assignments(), is_done)


def _planned() -> tuple[ColumnElement[bool], ColumnElement[int], ColumnElement[int]]:
    """Whether the study has an explicit plan, how many of its items are this person's, and how many items of the study
    were retired before this person had them, which the plan's number leaves out.
    """
    in_study = PlannedItem.study_id == bindparam("study")
    is_gone = Item.retired & Item.id.not_in(seen_items().correlate(None))
    own = select(func.count()).join_from(PlannedItem, Item, Item.id == PlannedItem.item_id)
    own = own.where(in_study, PlannedItem.person_id == bindparam("person"), ~is_gone)
    of_study = (Item.study_id == bindparam("study")) & has_value(Item.purpose, Purpose.main)
    gone = select(func.count()).select_from(Item).where(of_study, is_gone)
    return exists().where(in_study), own.scalar_subquery(), gone.scalar_subquery()


def _checks(purpose: Purpose) -> ColumnElement[int]:
    """How many items this person had as such checks or can get: neither retired ones nor those of their entry test."""
    is_check = (Item.study_id == bindparam("study")) & has_value(Item.purpose, purpose)
    is_own = own_assignments() & has_value(Assignment.purpose, purpose)
    had = select(Assignment.item_id).where(is_own, ~has_value(Assignment.state, AssignmentState.expired))
    can_come = ~Item.retired & Item.id.not_in(seen_items().correlate(None))
    return select(func.count()).where(is_check, Item.id.in_(had.correlate(None)) | can_come).scalar_subquery()


def check_seed(study: Study, who: Who) -> str:
    """The seed that determines where this person gets checks, the same on every call."""
    return f"{study.seed}|{who.pseudonym}"


def of_test(session: Session, study: Study, who: Who) -> Progress:
    """Progress over the gold items of the person's entry test."""
    done, asked = entry_test.gold_progress(session, study, who)
    return Progress(done, max(asked, done), None)


def of_training(session: Session, study: Study, who: Who) -> Progress:
    """Progress over the study's training items."""
    own = (Assignment.study_id == study.id) & (Assignment.person_id == who.person_id)
    finished = (Assignment.item_id == Item.id) & own & Assignment.submitted_at.is_not(None)
    counts = select(func.count(Assignment.id), func.count(Item.id)).select_from(Item).outerjoin(Assignment, finished)
    of_training = (Item.study_id == study.id) & (Item.purpose == Purpose.training)
    done, asked = session.execute(counts.where(of_training)).one()
    return Progress(done, asked, None)
