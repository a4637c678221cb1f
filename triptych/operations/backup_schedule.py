"""Scheduled backups while the app runs: how often, how many are kept, and when the last one was made.

The schedule is stored in the database, so a restart changes nothing. Every process checks whether a backup is due; the
one that updates the time of the last backup makes it.
"""

from __future__ import annotations

import json
import logging
import re
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy import Engine, insert, update
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session

from triptych import clock
from triptych.errors import NotAllowed, TriptychError
from triptych.operations.lasting import FAILED, LAST, MAX_KEPT, SCHEDULE, SCHEDULED, Schedule, schedule_settings
from triptych.storage.database import reading, writing
from triptych.storage.models import Setting
from triptych.storage.repeating import repeated

if TYPE_CHECKING:
    from triptych.operations.backup import Backup

LOOK_SECONDS = 300.0
NAME = "scheduled"  # prefix of these backups' names
OURS = re.compile(rf"{NAME}-\d{{8}}-\d{{6}}-\d{{6}}\.(db|dump)")  # no other backup is ever deleted
LONGEST_INTERVAL = 24 * 365  # hours
RETRY_HOURS = 1  # delay after a backup that failed or never ended
log = logging.getLogger("triptych.backup")


@dataclass(frozen=True)
class ScheduleState:
    """The schedule, the time from which the next backup is counted, and the last one's error, "" if it succeeded."""

    schedule: Schedule
    last: datetime | None
    failure: str

    @property
    def due(self) -> datetime | None:
        """When the next backup is due, possibly in the past; None without a schedule."""
        if not self.schedule.every_hours:
            return None
        if self.last is None or self.last > clock.now():  # the clock was wrong then, perhaps by years
            return datetime.min.replace(tzinfo=UTC)
        return self.last + timedelta(hours=self.schedule.every_hours)


def state_of(session: Session) -> ScheduleState:
    stored = schedule_settings(session)
    last = datetime.fromisoformat(stored[LAST]) if LAST in stored else None
    schedule = SCHEDULED.validate_json(stored.get(SCHEDULE, "{}"))
    hours = min(schedule.every_hours, LONGEST_INTERVAL)  # earlier versions stored any number
    return ScheduleState(replace(schedule, every_hours=hours), last, stored.get(FAILED, ""))


def set_schedule(session: Session, schedule: Schedule) -> None:
    """Store the schedule of the installation. Raises NotAllowed for numbers out of range."""
    if not 0 <= schedule.every_hours <= LONGEST_INTERVAL or not 1 <= schedule.kept <= MAX_KEPT:
        raise NotAllowed(f"Keep 1 to {MAX_KEPT} backups, and make one at least every {LONGEST_INTERVAL:,} hours.")
    session.merge(Setting(key=SCHEDULE, value=json.dumps(asdict(schedule))))


def back_up_if_due(engine: Engine) -> None:
    """Make a backup if it is due and no other process has begun it, and delete those beyond the number to keep."""
    with reading(engine) as session:
        state = state_of(session)
    began = clock.now()
    if state.due is None or began < state.due or not _begin(engine, state):
        return
    from triptych.operations import backup  # imports pandas, which a server without backups need not load

    failure = ""
    try:
        made = backup.make(engine, NAME)
    except (TriptychError, OSError) as error:
        failure = str(error)
        log.warning("The scheduled backup failed.", exc_info=error)
    else:
        log.info("A scheduled backup was made, %d bytes.", made.size)
        _delete_oldest(made, state.schedule.kept)
    with writing(engine) as session:
        session.merge(Setting(key=FAILED, value=failure))
        session.merge(Setting(key=LAST, value=_last_for_retry(state.schedule) if failure else began.isoformat()))


def _last_for_retry(schedule: Schedule) -> str:
    """The time of the last backup with which the next one is due after RETRY_HOURS."""
    return (clock.now() - timedelta(hours=schedule.every_hours - RETRY_HOURS)).isoformat()


def _begin(engine: Engine, state: ScheduleState) -> bool:
    """Whether this process is the one to make the backup. If it is killed meanwhile, another is soon due."""
    last = _last_for_retry(state.schedule)
    try:
        with writing(engine) as session:
            if state.last is None:
                session.execute(insert(Setting).values(key=LAST, value=last))
                return True
            unchanged = (Setting.key == LAST) & (Setting.value == state.last.isoformat())
            moving = update(Setting).where(unchanged).values(value=last).returning(Setting.key)
            return session.scalars(moving).first() is not None
    except IntegrityError:
        return False


def _delete_oldest(made: Backup, count: int) -> None:
    """Delete the oldest backups, but never the one just made, even if the clock was wrong before.

    Nor those of which nobody knows whether they are of this database.
    """
    from triptych.operations import backup

    own = [old for old in backup.listed() if OURS.fullmatch(old.name) and old.database]
    others = [old for old in own if old.name != made.name]
    for old in others[count - 1 :]:
        try:
            backup.delete(old)
        except OSError as error:
            log.warning("The old backup %s cannot be deleted.", old.name, exc_info=error)


def scheduled(engine: Engine) -> AbstractContextManager[None]:
    """Make backups when they are due, until the end of the context."""
    return repeated(partial(back_up_if_due, engine), "Scheduled backups", LOOK_SECONDS, log)
