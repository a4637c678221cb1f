"""Groups of annotators, such as experts and a crowd, whose agreement and tastes are compared."""

from __future__ import annotations

from collections.abc import Sequence

from sqlmodel import Session

from triptych.storage import events
from triptych.storage.events import EventKind
from triptych.storage.models import Study
from triptych.study import lifecycle
from triptych.study.settings import changed, settings_of, stored


def set_group(session: Session, study: Study, pseudonyms: Sequence[str], group: str, actor: str) -> None:
    """Puts annotators into a group, or with an empty name out of theirs, and logs it.

    Groups describe people and are no part of the frozen design. Raises NotAllowed for a name that is too long.
    """
    study = lifecycle.lock(session, study.id)
    before = settings_of(study).annotator_groups
    rest = {name: old for name, old in before.items() if name not in pseudonyms}
    after = rest | dict.fromkeys(pseudonyms, group.strip()) if group.strip() else rest
    if after == before:
        return
    study.settings = stored(changed(study, annotator_groups=after))
    session.flush()
    events.record(session, study.id, EventKind.annotators_grouped, actor, old=dict(before), new=dict(after))
