"""The log as leads read it: filtered, with the ids of items; a blind study's system names are withheld."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Select, func, or_, select
from sqlmodel import Session

from triptych.storage.models import Assignment, Event, EventDetail, Item, JsonObject, Study

# keys of the order of candidates, whose ids follow the uploaded file, and of hashes of names without a secret: those of
# all names that versions before 0.2.0 logged, and of names that are common words
TELLING = ("order", "systems_hash", "common_names")


@dataclass(frozen=True)
class EventFilters:
    """Which events to list; an empty part lets everything through.

    people: actors, or people that an event is about; item: the item's id; since: inclusive; until: exclusive.
    """

    kinds: frozenset[str] = frozenset()
    people: frozenset[str] = frozenset()
    item: str = ""
    assignment: int | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True)
class Entry:
    """An event as shown to a lead. withheld: there are values, but they would reveal which system is which."""

    event: Event
    item: str | None
    detail: EventDetail | None
    withheld: bool

    @property
    def old(self) -> JsonObject | None:
        return self.detail.old if self.detail else None

    @property
    def new(self) -> JsonObject | None:
        return self.detail.new if self.detail else None


def listed(
    session: Session, study: Study, filters: EventFilters, start: int = 0, count: int = 100
) -> tuple[list[Entry], int]:
    """Events that pass the filters, newest first, `count` from place `start` on; and how many pass in total."""
    matching = _with_values().where(*_passing(study, filters))
    page = matching.order_by(Event.number.desc()).offset(start).limit(count)
    entries = list(_entries(session, study, page))
    return entries, session.execute(select(func.count()).select_from(matching.subquery())).scalar_one()


def entries(session: Session, study: Study) -> Iterator[Entry]:
    """The whole log in order, read while it is iterated."""
    log = _with_values().where(Event.study_id == study.id).order_by(Event.number)
    return _entries(session, study, log.execution_options(yield_per=1000))


def _with_values() -> Select[Event, EventDetail, str]:
    """Events, their values and the id of the item that each is about."""
    return (
        select(Event, EventDetail, Item.external_id)
        .outerjoin(EventDetail, EventDetail.event_id == Event.id)
        .outerjoin(Assignment, Assignment.id == Event.assignment_id)
        .outerjoin(Item, Item.id == Assignment.item_id)
    )


def _passing(study: Study, filters: EventFilters) -> Iterator[ColumnElement[bool]]:
    yield Event.study_id == study.id
    if filters.kinds:
        yield Event.kind.in_(filters.kinds)
    if filters.people:
        yield or_(Event.actor.in_(filters.people), Event.subject.in_(filters.people))
    if filters.item:
        yield Item.external_id == filters.item
    if filters.assignment is not None:
        yield Event.assignment_id == filters.assignment
    if filters.since is not None:
        yield Event.at >= filters.since
    if filters.until is not None:
        yield Event.at < filters.until


def _entries(session: Session, study: Study, query: Select[Event, EventDetail, str]) -> Iterator[Entry]:
    is_blind = study.unblinded_at is None
    for event, detail, item in session.execute(query):
        withheld = bool(is_blind and detail and _tells_systems([detail.old, detail.new]))
        yield Entry(event, item, None if withheld else detail, withheld)


def occurring(session: Session, study: Study) -> tuple[list[str], list[str]]:
    """The kinds of events in the study's log, and all actors."""
    kinds = select(Event.kind).where(Event.study_id == study.id).distinct().order_by(Event.kind)
    actors = select(Event.actor).where(Event.study_id == study.id).distinct().order_by(Event.actor)
    return list(session.scalars(kinds)), list(session.scalars(actors))


def _tells_systems(value: object) -> bool:
    """Whether a logged value tells which systems there are, or which is which, by the keys that it has.

    Not by names that occur in it: whether an entry is withheld would confirm a guess that a lead wrote as a reason.
    """
    match value:
        case dict():
            return any(key in TELLING or _tells_systems(part) for key, part in value.items())
        case list():
            return any(map(_tells_systems, value))
        case _:
            return False
