"""Logs that a lead or viewer opened results, because results may influence when collection stops."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import select
from sqlmodel import Session

from triptych import clock
from triptych.storage import events
from triptych.storage.events import EventKind
from triptych.storage.models import Event, Study
from triptych.study import lifecycle


def log_look(session: Session, study: Study, filled: int, planned: int, actor: str) -> None:
    """Logs that somebody opened results with verdicts, at most once a day; filled, planned: numbers of annotations."""
    study = lifecycle.lock(session, study.id)
    events.write_pending(session)
    midnight = datetime.combine(clock.now().date(), datetime.min.time(), UTC)
    today = select(Event.id).where(
        Event.study_id == study.id,
        Event.kind == EventKind.results_opened,
        Event.actor == actor,
        Event.at >= midnight,
        Event.at < midnight + timedelta(days=1),  # later ones are of a clock that was ahead
    )
    if session.scalars(today.limit(1)).first() is None:
        new = {"annotations": filled, "planned": planned}
        events.record(session, study.id, EventKind.results_opened, actor, new=new)
