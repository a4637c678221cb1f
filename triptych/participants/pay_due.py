"""Pay due: each finished item, with checks and repeats, at the pay that was set when it was first handed in.

It stays due when somebody withdraws and their ratings are deleted.
"""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal

from sqlalchemy import func, select
from sqlmodel import Session

from triptych.storage.events import HANDED_IN, EventKind
from triptych.storage.models import FINISHED, WORK, Assignment, AssignmentState, Event, Kind, Person, Study, Submission
from triptych.study import design
from triptych.study.settings import settings_of


def pay_due(session: Session, study: Study) -> dict[str, dict[str, Decimal]]:
    """Pseudonym → currency → amount, for people with any pay due; there is none for a judge model."""
    earlier = design.earlier_pays(session, study)
    pays, times = [pay for _, pay in earlier] + [settings_of(study).pay], [at for at, _ in earlier]
    paid = (Assignment.study_id == study.id) & Assignment.purpose.in_(WORK)
    # that a deleted item was skipped is in the log only
    last = select(Event.kind).where(Event.assignment_id == Assignment.id, Event.kind.in_(HANDED_IN))
    last = last.order_by(Event.number.desc()).limit(1)
    deleted = (Assignment.state == AssignmentState.withdrawn) & Assignment.submitted_at.is_not(None)
    deleted &= last.scalar_subquery().is_distinct_from(EventKind.skipped)
    paid &= (Assignment.state.in_(FINISHED) | deleted) & (Person.kind == Kind.human)
    items = select(Person.pseudonym, func.count()).join(Assignment, Assignment.person_id == Person.id).where(paid)
    own = select(func.min(Submission.received_at)).where(Submission.assignment_id == Assignment.id)
    first = func.coalesce(own.scalar_subquery(), Assignment.submitted_at)  # of imported work there is no submission
    due: dict[str, dict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    for pay, since, until in zip(pays, [None, *times], [*times, None], strict=True):
        if pay.per_item:
            bounds = [] if since is None else [first >= since]
            bounds += [] if until is None else [first < until]
            for name, count in session.execute(items.where(*bounds).group_by(Person.pseudonym)):
                due[name][pay.currency] += pay.per_item * count
    return due
