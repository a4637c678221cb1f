"""One setting of a study at a time: stored unless someone else has changed it in the meantime; undone from the log.

A setting has a path: a column of the study, or names in `settings.StudySettings` joined by dots (`consent.text`). Its
value is JSON. In a draft each change is an event with the previous value, and undoing it writes that value again; after
launch a change is an amendment.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlmodel import Session

from triptych.errors import Conflict, NotAllowed
from triptych.storage import events, rows
from triptych.storage.events import EventKind
from triptych.storage.models import Event, EventDetail, Item, Study, StudyState
from triptych.study import design, lifecycle
from triptych.study.design import COLUMNS, Parts
from triptych.study.settings import settings_of

OF_ONE_SETTING = (EventKind.setting_changed, EventKind.setting_undone, EventKind.setting_redone)
# column → other rows that it changes
FURTHER_TABLES = {"raters_per_item": (Item.__table__,), "round": rows.DESIGN}
MAPPINGS = ("preregistration.margins",)  # settings with names chosen by the lead; a name without a value is removed


class Overtaken(Conflict):
    """Somebody else changed the setting after it was read."""


@dataclass(frozen=True)
class Change:
    """A changed setting in a draft; the path is shorter where a command changed several settings together."""

    path: str
    old: Any
    new: Any
    actor: str
    at: datetime
    kind: str


@dataclass(frozen=True)
class History:
    """The next changes that a lead can undo and redo in a draft, and when they last changed a setting."""

    undo: Change | None = None
    redo: Change | None = None
    saved_at: datetime | None = None


def value_of(study: Study, path: str) -> Any:
    """The stored value of the setting at this path; None where there is none."""
    return getattr(study, path) if path in COLUMNS else _at(_all_settings(study), path.split("."))


def _all_settings(study: Study) -> dict[str, Any]:
    return settings_of(study).model_dump(mode="json")


def _at(settings: dict[str, Any], names: Iterable[str]) -> Any:
    value: Any = settings
    for name in names:
        value = value.get(name)
    return value


def write(
    session: Session,
    study: Study,
    path: str,
    value: Any,
    seen: Any,
    actor: str,
    reason: str = "",
    kind: EventKind = EventKind.setting_changed,
) -> Any:
    """Stores a setting and returns the stored value.

    seen: the value that the lead saw when changing it. Raises Overtaken if the stored value is now neither that nor the
    new one; otherwise raises as `design.amend`.
    """
    if path == "raters_per_item":
        design.lock_items(session, study)
    study = lifecycle.lock(session, study.id)
    before = value_of(study, path)
    if before not in (seen, value):
        raise Overtaken("Someone else has changed this in the meantime.")
    parts = _parts(study, path, value)
    if study.state != StudyState.draft:
        design.amend(session, study, parts, reason, actor)
        return value_of(study, path)
    design.write(session, study, parts, reason, actor)
    after = value_of(study, path)
    if after != before:
        further = rows.read(session.connection(), FURTHER_TABLES.get(path, ()), rows.of_study(study.id))
        events.record(session, study.id, kind, actor, old={path: before}, new={path: after}, rows=further)
    return after


def _parts(study: Study, path: str, value: Any) -> Parts:
    if path in COLUMNS:
        return Parts(**{path: value})
    settings = _all_settings(study)
    *names, last = path.split(".")
    place = _at(settings, names)
    place[last] = value
    if value is None and ".".join(names) in MAPPINGS:
        del place[last]
    top = names[0] if names else last
    return Parts(settings={top: settings[top]})


def changes(session: Session, study: Study) -> list[Change]:
    """All changes of settings of a draft, oldest first; empty after launch."""
    if study.state != StudyState.draft:
        return []
    events.write_pending(session)
    kinds = (*OF_ONE_SETTING, EventKind.design_changed)
    query = select(Event.actor, Event.at, Event.kind, EventDetail.old, EventDetail.new).join(EventDetail)
    logged = session.execute(query.where(Event.study_id == study.id, Event.kind.in_(kinds)).order_by(Event.number))
    return [
        Change(path, (old or {}).get(path), value, actor, at, kind)
        for actor, at, kind, old, new in logged
        for path, value in (new or {}).items()
    ]


def material_number(session: Session, study: Study) -> int:
    """The number of the last event other than a changed setting: items and texts have not changed since."""
    query = select(func.max(Event.number)).where(Event.study_id == study.id, Event.kind.not_in(OF_ONE_SETTING))
    return session.execute(query).scalar_one() or 0


def last_change(log: Iterable[Change], path: str) -> Change | None:
    """The last change of this setting."""
    return next((change for change in reversed(list(log)) if f"{path}.".startswith(f"{change.path}.")), None)


def history(log: Iterable[Change], actor: str) -> History:
    """The changes this lead can undo and redo, except settings that somebody else has changed since."""
    done: list[Change] = []
    undone: list[Change] = []
    saved_at = None
    for change in log:
        if change.actor != actor or change.kind not in OF_ONE_SETTING:
            for stack in (done, undone):
                stack[:] = [own for own in stack if not f"{own.path}.".startswith(f"{change.path}.")]
        elif change.kind == EventKind.setting_undone:
            undone.append(_taken(done, change))
        elif change.kind == EventKind.setting_redone:
            done.append(_taken(undone, change))
        else:
            done.append(change)
            undone.clear()
        saved_at = change.at if change.actor == actor else saved_at
    return History(done[-1] if done else None, undone[-1] if undone else None, saved_at)


def _taken(stack: list[Change], repeated: Change) -> Change:
    """Removes the last change of the same setting from the stack and returns it."""
    place = max(place for place, change in enumerate(stack) if change.path == repeated.path)
    return stack.pop(place)


def undo(session: Session, study: Study, actor: str) -> str:
    """Undoes the lead's last change; returns the setting's path. Raises NotAllowed, Overtaken."""
    change = history(changes(session, study), actor).undo
    if change is None:
        raise NotAllowed("There is nothing to undo.")
    write(session, study, change.path, change.old, change.new, actor, kind=EventKind.setting_undone)
    return change.path


def redo(session: Session, study: Study, actor: str) -> str:
    """Redoes the change that the lead undid last; returns the setting's path. Raises NotAllowed, Overtaken."""
    change = history(changes(session, study), actor).redo
    if change is None:
        raise NotAllowed("There is nothing to redo.")
    write(session, study, change.path, change.new, change.old, actor, kind=EventKind.setting_redone)
    return change.path
