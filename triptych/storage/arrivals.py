"""Studies imported from another database: their rows have other numbers here, and people may have other pseudonyms.
Earlier log entries do not change, since the hashes cover them. The arrival event records the offset of the numbers and
who was renamed, so that each earlier event can be read, and hashed, as it was logged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from sqlalchemy import Table, select
from sqlmodel import Session

from triptych.storage.models import Event, EventDetail

KIND = "study arrived"
OF_NUMBERED = ("id", "assignment_id")  # columns that foreign keys refer to and that contain row numbers


@dataclass(frozen=True)
class FormerNumbers:
    """How an earlier event was logged. shift: increase of row numbers since; former: pseudonym now → then."""

    shift: int = 0
    former: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def _now(self) -> Mapping[str, str]:
        return {then: name for name, then in self.former.items()}

    def present(self, pseudonyms: Iterable[str]) -> list[str]:
        """These pseudonyms of then as they are now."""
        return [self._now.get(pseudonym, pseudonym) for pseudonym in pseudonyms]

    def moved(self, number: Any) -> Any:
        """A row number of then as it is now; anything else, such as None or a key, is unchanged."""
        return number + self.shift if isinstance(number, int) else number

    def as_logged(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of an event as they were when it was hashed."""
        number = event["assignment_id"]
        return {
            **event,
            "study_id": event["study_id"] - self.shift,
            "assignment_id": None if number is None else number - self.shift,
            "actor": self.former.get(event["actor"], event["actor"]),
            "subject": self.former.get(event["subject"], event["subject"]),
        }


HERE = FormerNumbers()


@dataclass(frozen=True)
class StudyArrival:
    """One arrival. number: its event; slug: the study's earlier short name; renamed: pseudonym before → after."""

    number: int
    slug: str
    shift: int
    renamed: Mapping[str, str]


def arrivals(session: Session, study_id: int) -> list[StudyArrival]:
    """The arrivals of a study in order; empty for a study created in this database."""
    query = select(Event.number, EventDetail.new).join(EventDetail, EventDetail.event_id == Event.id)
    rows = session.execute(query.where(Event.study_id == study_id, Event.kind == KIND).order_by(Event.number))
    return [StudyArrival(number, new["slug"], new["shift"], new["renamed"]) for number, new in rows if new]


def origin(journey: Iterable[StudyArrival], number: int) -> FormerNumbers:
    """How the event of this number was logged, in the database where it happened."""
    shift, former = 0, dict[str, str]()
    for arrival in journey:
        if arrival.number > number:
            shift += arrival.shift
            before = {after: name for name, after in arrival.renamed.items()}
            # people renamed earlier are looked up by their former name; the others are renamed for the first time
            chained = {after: former.pop(name, name) for after, name in before.items()}
            former |= chained
    return FormerNumbers(shift, former) if shift or former else HERE


@cache
def numbers_in(table: Table) -> tuple[str, ...]:
    """Names of the columns that contain row numbers, which increase when a study arrives.

    Not that of the rubric, which may be here already. In a log, people are named instead.
    """
    own = ["id"] if table.autoincrement_column is not None else []
    pointing = [
        key.parent.name
        for key in table.foreign_keys
        if key.column.name in OF_NUMBERED and key.column.table.name != "rubric"
    ]
    return tuple(dict.fromkeys(own + pointing))
