"""Groups of annotators, such as experts and a crowd, whose agreement and tastes are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, func, select
from sqlmodel import Session

from triptych.errors import NotAllowed
from triptych.formats.model import MAX_GROUPS
from triptych.storage import arrivals, events
from triptych.storage.events import CAME_IN, EventKind
from triptych.storage.models import Assignment, Event, EventDetail, Person, Purpose, Study
from triptych.study import lifecycle
from triptych.study.persons import refuse_erased
from triptych.study.settings import changed, settings_of, stored


def set_group(session: Session, study: Study, pseudonyms: Sequence[str], group: str, actor: str) -> None:
    """Puts annotators into a group; an empty name removes them from their groups. Raises as `assign`."""
    assign(session, study, dict.fromkeys(pseudonyms, group.strip()), actor)


def assign(session: Session, study: Study, groups: Mapping[str, str], actor: str) -> None:
    """Sets the groups of annotators and logs it; groups: pseudonym → group, an empty name for no group.

    Groups describe people and are no part of the frozen design. Raises NotAllowed for a name that is too long, too many
    groups, or somebody who was erased.
    """
    study = lifecycle.lock(session, study.id)
    refuse_erased(session, study.id, groups)
    before = settings_of(study).annotator_groups
    after = {name: group for name, group in {**before, **groups}.items() if group}
    if after == before:
        return
    if len({*after.values()}) > max(MAX_GROUPS, len({*before.values()})):
        raise NotAllowed(f"Annotators can be in at most {MAX_GROUPS} groups.")
    study.settings = stored(changed(study, annotator_groups=after))
    session.flush()
    events.record(session, study.id, EventKind.annotators_grouped, actor, old=dict(before), new=dict(after))


@dataclass(frozen=True)
class LateGroups:
    """Annotators who are in another group, or in none, than when they first annotated.

    annotators: their number; at: when groups last changed; is_erased: whether an erasure deleted some earlier groups.
    """

    annotators: int
    at: datetime
    is_erased: bool


def late_groups(session: Session, study: Study) -> LateGroups | None:
    """Who was put into a group after their first annotation; None if all groups are older than the ratings in them."""
    events.write_pending(session)
    query = select(Event.number, Event.at, EventDetail.new).outerjoin(EventDetail, EventDetail.event_id == Event.id)
    query = query.where(Event.study_id == study.id, Event.kind == EventKind.annotators_grouped)
    changes = session.execute(query.order_by(Event.number)).all()
    if not changes:
        return None
    journey = arrivals.arrivals(session, study.id)
    groups = [(number, _named(arrivals.origin(journey, number), new)) for number, _, new in changes if new is not None]
    present, late = settings_of(study).annotator_groups, 0
    for name, first in first_annotations(session, study).items():
        at_first: dict[str, str] = next((of_all for number, of_all in reversed(groups) if number < first), {})
        late += at_first.get(name, "") != present.get(name, "")
    return LateGroups(late, changes[-1].at, len(groups) < len(changes)) if late else None


def _named(origin: arrivals.FormerNumbers, groups: Mapping[str, str]) -> dict[str, str]:
    """Logged groups by the pseudonyms that people have now."""
    return dict(zip(origin.present(groups), groups.values(), strict=True))


def first_annotations(session: Session, study: Study) -> dict[str, int]:
    """Pseudonym → the number of the event of their first annotation."""
    query = select(Person.pseudonym, func.min(Event.number)).join(Assignment, Assignment.person_id == Person.id)
    query = query.join(Event, Event.assignment_id == Assignment.id)
    query = query.where(Event.study_id == study.id, Event.kind.in_(CAME_IN), Assignment.purpose == Purpose.main)
    return dict(map(tuple, session.execute(query.group_by(Person.pseudonym))))


def forget(session: Session, study: Study, pseudonym: str, actor: str) -> None:
    """Removes an erased person from the study's groups, and deletes earlier values in the log that name them.

    Record their erasure afterwards: that event accounts for the deleted values.
    """
    study = lifecycle.lock(session, study.id)
    grouped = (Event.study_id == study.id) & (Event.kind == EventKind.annotators_grouped)
    query = select(Event.id, Event.number, EventDetail.old, EventDetail.new)
    query = query.join(EventDetail, EventDetail.event_id == Event.id).where(grouped)
    journey = arrivals.arrivals(session, study.id)
    naming = [
        event_id
        for event_id, number, old, new in session.execute(query)
        if pseudonym in _named(arrivals.origin(journey, number), {**(old or {}), **(new or {})})
    ]
    before = settings_of(study).annotator_groups
    after = {name: group for name, group in before.items() if name != pseudonym}
    if not naming and after == before:
        return
    deletion = delete(EventDetail).where(EventDetail.event_id.in_(naming))
    session.execute(deletion.execution_options(synchronize_session=False))
    study.settings = stored(changed(study, annotator_groups=after))
    session.flush()
    events.record(session, study.id, EventKind.annotators_grouped, actor, new=after)
