"""Scheduled backups while the app runs: how often, how many are kept, and when the last one was made.

The schedule is stored in the database, so a restart changes nothing. Every process checks whether a backup is due; the
one that updates the time of the last backup makes it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy import Engine, delete, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session

from triptych import clock
from triptych.errors import NotAllowed, TriptychError
from triptych.storage.database import reading, writing
from triptych.storage.models import Setting
from triptych.storage.repeating import repeated

if TYPE_CHECKING:
    from triptych.operations.backup import Backup

LOOK_SECONDS = 300.0
NAME = "scheduled"  # that the files of these backups begin with; no other is ever deleted
MAX_KEPT = 365
RETRY_HOURS = 1  # after one that failed
SCHEDULE, LAST, FAILED = "backup schedule", "backup last", "backup failed"  # keys of settings
log = logging.getLogger("triptych.backup")


@dataclass(frozen=True)
class Schedule:
    """every_hours: between two backups, 0 for none; kept: how many there are before the oldest is deleted."""

    every_hours: int = 0
    kept: int = 7


@dataclass(frozen=True)
class ScheduleState:
    """The schedule, from when the next backup is counted, and why the last one failed, empty if it did not."""

    schedule: Schedule
    last: datetime | None
    failure: str

    @property
    def due(self) -> datetime | None:
        """When the next one is due; None without a schedule, a time in the past for at once."""
        if not self.schedule.every_hours:
            return None
        if self.last is None or self.last > clock.now():  # the clock was ahead, perhaps by years
            return datetime.min.replace(tzinfo=UTC)
        return self.last + timedelta(hours=self.schedule.every_hours)


def state_of(session: Session) -> ScheduleState:
    keys = Setting.key.in_([SCHEDULE, LAST, FAILED])
    stored = dict(map(tuple, session.execute(select(Setting.key, Setting.value).where(keys))))
    last = datetime.fromisoformat(stored[LAST]) if LAST in stored else None
    return ScheduleState(Schedule(**json.loads(stored.get(SCHEDULE, "{}"))), last, stored.get(FAILED, ""))


def set_schedule(session: Session, schedule: Schedule) -> None:
    """Stores the schedule of the installation. Raises NotAllowed for numbers that make no schedule."""
    if schedule.every_hours < 0 or not 1 <= schedule.kept <= MAX_KEPT:
        raise NotAllowed(f"Keep 1 to {MAX_KEPT} backups, and make one every so many hours.")
    session.execute(delete(Setting).where(Setting.key == SCHEDULE))
    value = json.dumps({"every_hours": schedule.every_hours, "kept": schedule.kept})
    session.execute(insert(Setting).values(key=SCHEDULE, value=value))


def back_up_if_due(engine: Engine) -> None:
    """Makes the backup that is due, if no other process has begun it, and deletes those beyond the number kept."""
    with reading(engine) as session:
        state = state_of(session)
    if state.due is None or clock.now() < state.due or not _begin(engine, state.last):
        return
    from triptych.operations import backup  # it takes pandas, which a server that makes none need not load

    failure = ""
    try:
        made = backup.make(engine, NAME)
        log.info("A scheduled backup was made, %d bytes.", made.size)
        _delete_oldest(made, state.schedule.kept)
    except (TriptychError, OSError) as error:
        failure = str(error)
        log.warning("The scheduled backup failed.", exc_info=error)
    with writing(engine) as session:
        session.execute(delete(Setting).where(Setting.key == FAILED))
        if failure:
            session.execute(insert(Setting).values(key=FAILED, value=failure))
            again = clock.now() - timedelta(hours=state.schedule.every_hours - RETRY_HOURS)
            session.execute(update(Setting).where(Setting.key == LAST).values(value=again.isoformat()))


def _begin(engine: Engine, last: datetime | None) -> bool:
    """Whether this process is the one that makes it."""
    now = clock.now().isoformat()
    try:
        with writing(engine) as session:
            if last is None:
                session.execute(insert(Setting).values(key=LAST, value=now))
                return True
            unchanged = (Setting.key == LAST) & (Setting.value == last.isoformat())
            moving = update(Setting).where(unchanged).values(value=now).returning(Setting.key)
            return session.scalars(moving).first() is not None
    except IntegrityError:
        return False


def _delete_oldest(made: Backup, count: int) -> None:
    """Always keeps the one just made, even if the clock was wrong when others were made."""
    from triptych.operations import backup

    others = [old for old in backup.listed() if old.name.startswith(f"{NAME}-") and old.name != made.name]
    for old in others[count - 1 :]:
        backup.delete(old)


@contextmanager
def scheduled(engine: Engine) -> Iterator[None]:
    """Backups are made when they are due, as long as the block runs."""
    with repeated(partial(back_up_if_due, engine), "Scheduled backups", LOOK_SECONDS, log):
        yield
