"""Groups of annotators, such as experts and a crowd, whose agreement and tastes are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import delete, select
from sqlmodel import Session

from triptych.storage import events
from triptych.storage.events import EventKind
from triptych.storage.models import Event, EventDetail, Study
from triptych.study import lifecycle
from triptych.study.settings import changed, settings_of, stored


def set_group(session: Session, study: Study, pseudonyms: Sequence[str], group: str, actor: str) -> None:
    """Puts annotators into a group; an empty name removes them from their groups. Raises as `assign`."""
    assign(session, study, dict.fromkeys(pseudonyms, group.strip()), actor)


def assign(session: Session, study: Study, groups: Mapping[str, str], actor: str) -> None:
    """Sets the groups of annotators and logs it; groups: pseudonym → group, an empty name for no group.

    Groups describe people and are no part of the frozen design. Raises NotAllowed for a name that is too long.
    """
    study = lifecycle.lock(session, study.id)
    before = settings_of(study).annotator_groups
    after = {name: group for name, group in {**before, **groups}.items() if group}
    if after == before:
        return
    study.settings = stored(changed(study, annotator_groups=after))
    session.flush()
    events.record(session, study.id, EventKind.annotators_grouped, actor, old=dict(before), new=dict(after))


def forget(session: Session, study: Study, pseudonym: str, actor: str) -> None:
    """Removes an erased person from the study's groups, and deletes earlier values in the log that name them.

    Record their erasure afterwards: that event accounts for the deleted values.
    """
    study = lifecycle.lock(session, study.id)
    grouped = (Event.study_id == study.id) & (Event.kind == EventKind.annotators_grouped)
    query = select(EventDetail).join(Event, Event.id == EventDetail.event_id).where(grouped)
    naming = [d.event_id for d in session.scalars(query) if pseudonym in {*(d.old or {}), *(d.new or {})}]
    before = settings_of(study).annotator_groups
    after = {name: group for name, group in before.items() if name != pseudonym}
    if not naming and after == before:
        return
    deletion = delete(EventDetail).where(EventDetail.event_id.in_(naming))
    session.execute(deletion.execution_options(synchronize_session=False))
    study.settings = stored(changed(study, annotator_groups=after))
    session.flush()
    events.record(session, study.id, EventKind.annotators_grouped, actor, new=after)
