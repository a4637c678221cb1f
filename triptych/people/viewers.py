"""Viewers of a study: they see its results through an expiring personal link and cannot change anything. A viewer is a
separate person with this one seat; withdrawing it deletes them, with their name and their logins.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Select, select
from sqlmodel import Session

from triptych import clock
from triptych.errors import NotAllowed
from triptych.languages.language import _
from triptych.people import links, logins, roster
from triptych.storage import events
from triptych.storage.events import EventKind
from triptych.storage.models import Membership, Person, Role, Study, StudyState
from triptych.study import lifecycle
from triptych.study.persons import Who, delete_without_part
from triptych.study.settings import changed, settings_of, stored


def enrol_viewer(session: Session, study: Study, viewer: Person, actor: str) -> None:
    """Make a new person the study's viewer."""
    session.add(Membership(study_id=study.id, person_id=viewer.id, role=Role.viewer, joined_at=clock.now()))
    session.flush()
    events.record(session, study.id, EventKind.viewer_added, actor, subject=viewer.pseudonym)


def withdraw_seat(session: Session, study: Study, pseudonym: str, actor: str) -> int:
    """Ends a viewer's link and logins at once and deletes the person; returns how many people were deleted.

    Follow it with `erasure.wipe`, outside of the transaction. Raises NotFound.
    """
    membership, viewer = roster.find(session, study, pseudonym, Role.viewer)
    links.end_links(session, viewer.id)
    logins.end_logins(session, viewer.id)
    session.delete(membership)
    session.flush()
    deleted = delete_without_part(session, [viewer.id])
    events.record(session, study.id, EventKind.viewer_removed, actor, subject=pseudonym)
    return deleted


def let_read_explanations(session: Session, study: Study, allowed: bool, actor: str) -> None:
    """Set whether viewers may read annotators' texts."""
    study = lifecycle.lock(session, study.id)
    before = settings_of(study).viewers_read_explanations
    if before == allowed:
        return
    study.settings = stored(changed(study, viewers_read_explanations=allowed))
    session.flush()
    old, new = {"explanations": before}, {"explanations": allowed}
    events.record(session, study.id, EventKind.viewers_reading_changed, actor, old=old, new=new)


def refuse_both_sides(session: Session, who: Who, people: Collection[int]) -> None:
    """Raises NotAllowed if one of these people, who used this browser before, is on the other side of a study.

    A browser of somebody who still annotates a study cannot open its viewer's link, and its viewers cannot annotate it.
    """
    own, other = (Role.viewer, Role.annotator) if who.role == Role.viewer else (Role.annotator, Role.viewer)
    studies = _studies(own).where(Membership.person_id == who.person_id)
    opposite = _studies(other).where(Membership.person_id.in_(people), Membership.study_id.in_(studies))
    if session.scalars(opposite.limit(1)).first() is None:
        return
    if who.role == Role.viewer:
        raise NotAllowed(_("Somebody who annotates this study signed in with this browser. Annotators see no results."))
    raise NotAllowed(_("A viewer of this study signed in with this browser. Nobody who saw its results annotates it."))


def _studies(role: Role) -> Select[int]:
    """Ids of studies by the memberships of this role; for annotators only of those who may still annotate."""
    seats = select(Membership.study_id).join(Study, Study.id == Membership.study_id).where(Membership.role == role)
    if role == Role.viewer:
        return seats
    return seats.where(
        Study.state != StudyState.closed, Membership.withdrawn_at.is_(None), Membership.turned_away_at.is_(None)
    )
