"""The annotators of a study as rows for leads: phase, progress, pace, last activity, pay due, flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import case, func, select
from sqlmodel import Session

from triptych import clock
from triptych.annotate.reservations import reservation_life
from triptych.participants.pay_due import pay_due
from triptych.people.roster import Member
from triptych.results.frame.model import Frame
from triptych.results.progress import AnnotatorProgress, Overview
from triptych.storage.models import (
    BEFORE_WORK,
    FINISHED,
    Assignment,
    AssignmentState,
    EntryAttempt,
    Login,
    Membership,
    Origin,
    Person,
    Role,
    Study,
)
from triptych.study.settings import settings_of


class Phase(StrEnum):
    """How far a participant is; flags are separate."""

    invited = "Invited"
    opened = "Link opened"
    training = "In training"
    working = "Working"
    done = "Done"
    stopped = "Stopped"


@dataclass(frozen=True)
class Participant:
    """One annotator. why: the reason why they stopped; flags: sentences about what a lead should check.

    done, total: items; skipped: of those done; seconds: median active time of an item, None if unknown; due: pay for
    finished items, by currency.
    """

    member: Member
    group: str
    phase: Phase
    why: str
    flags: tuple[str, ...]
    done: int
    skipped: int
    total: int
    seconds: float | None
    seen_at: datetime | None
    due: Mapping[str, Decimal]

    @property
    def pseudonym(self) -> str:
        return self.member.pseudonym

    @property
    def is_flagged(self) -> bool:
        """Whether a lead should check them; never if they have stopped."""
        return bool(self.flags) and self.phase != Phase.stopped

    @property
    def state(self) -> str:
        """The state as one word, for lists."""
        return "Flagged" if self.is_flagged else self.phase


class _Signs(NamedTuple):
    """Of one person: when they last signed in and last got or submitted an item; until when they hold one; whether
    they began to work, or to train.
    """

    signed_in_at: datetime | None = None
    worked_at: datetime | None = None
    held_until: datetime | None = None
    works: bool = False
    trains: bool = False


def participants(
    session: Session,
    study: Study,
    members: Sequence[Member],
    frame: Frame,
    view: Overview,
    flags: Mapping[str, Sequence[str]],
) -> list[Participant]:
    """The annotators among the members, in the order of joining. flags: by pseudonym."""
    settings, signs = settings_of(study), _signs(session, study)
    due = pay_due(session, study)
    progress = {row.pseudonym: row for row in view.annotators}
    finished = frame.work[frame.work["state"].isin(FINISHED)]
    timed = finished[finished["active_seconds"] > 0]
    pace = timed["active_seconds"].groupby(timed["annotator"].astype(str)).median().to_dict()
    is_full = view.done >= view.expected > 0
    return [
        Participant(
            member,
            settings.annotator_groups.get(name, ""),
            _phase(member, progress.get(name), sign, is_full),
            _why(member),
            tuple(flags.get(name, ())),
            progress[name].done if name in progress else 0,
            progress[name].skipped if name in progress else 0,
            progress[name].total if name in progress else 0,
            pace.get(name),
            _seen_at(sign, study),
            due.get(name, {}),
        )
        for member in members
        if member.role == Role.annotator
        for name, sign in [(member.pseudonym, signs.get(member.pseudonym, _Signs()))]
    ]


def _signs(session: Session, study: Study) -> dict[str, _Signs]:
    """Pseudonym → signs of activity."""
    part = (Membership.study_id == study.id) & (Membership.role == Role.annotator)
    own = (Assignment.study_id == study.id) & (Assignment.person_id == Person.id)
    on_web = Assignment.origin == Origin.web
    held = on_web & (Assignment.state == AssignmentState.reserved)
    begun = Assignment.purpose.in_(BEFORE_WORK)
    since = (Login.person_id == Person.id) & (Login.created_at >= Membership.joined_at)
    signed_in = select(func.max(Login.created_at)).where(since).correlate(Person, Membership).scalar_subquery()
    tried = select(func.count(EntryAttempt.id)).where(EntryAttempt.membership_id == Membership.id)
    query = (
        select(
            Person.pseudonym,
            signed_in,
            func.max(func.coalesce(Assignment.submitted_at, case((on_web, Assignment.reserved_at)))),
            func.max(case((held, Assignment.expires_at))),
            func.coalesce(func.sum(case((begun, 0), else_=1)).filter(Assignment.id.is_not(None)), 0),
            func.coalesce(func.sum(case((begun, 1), else_=0)), 0) + tried.correlate(Membership).scalar_subquery(),
        )
        .select_from(Membership)
        .join(Person, Person.id == Membership.person_id)
        .outerjoin(Assignment, own)
        .where(part)
        .group_by(Person.id, Person.pseudonym, Membership.id, Membership.joined_at)
    )
    return {
        name: _Signs(signed_in_at, worked_at, held_until, bool(works), bool(trains))
        for name, signed_in_at, worked_at, held_until, works, trains in session.execute(query)
    }


def _seen_at(signs: _Signs, study: Study) -> datetime | None:
    """The last activity: signing in, getting or submitting an item, or saving, which extends a reservation."""
    # the reservation may have been made while the setting was another one
    held = signs.held_until and min(clock.now(), signs.held_until - reservation_life(study))
    return max((at for at in (signs.signed_in_at, signs.worked_at, held) if at), default=None)


def _phase(member: Member, progress: AnnotatorProgress | None, signs: _Signs, is_full: bool) -> Phase:
    done, total = (progress.done, progress.total) if progress else (0, 0)
    if _why(member):
        return Phase.stopped
    if done and (done >= total or is_full):
        return Phase.done
    if signs.works:
        return Phase.working
    if signs.trains:
        return Phase.training
    return Phase.opened if signs.signed_in_at or member.consented_at else Phase.invited


def _why(member: Member) -> str:
    """Why a person stopped; "" if they have not."""
    if member.state == "excluded":
        return f"excluded: {member.excluded_reason}"
    return "" if member.state == "active" else member.state
