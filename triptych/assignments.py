"""Who rates what, in which order: reservations, balanced slots, progress.

Joins slot → candidate → system to balance the order; `annotations` and `blinding` never do.
"""

from __future__ import annotations

import hashlib
import random
import secrets
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import permutations
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, bindparam, func, insert, literal, select, union_all, update
from sqlalchemy.orm import defer
from sqlmodel import Session

from triptych import clock, database, events, studies
from triptych.errors import NotFound
from triptych.models import (
    Assignment,
    AssignmentState,
    Candidate,
    Item,
    Membership,
    Origin,
    Purpose,
    Role,
    Slot,
    Study,
    StudyState,
)
from triptych.people import Who

TTL = timedelta(minutes=30)
ITEM_WEIGHT = 4
NOT_YOURS = "This item is not yours, or no longer there."
FINISHED = (AssignmentState.submitted, AssignmentState.surplus, AssignmentState.ignored)
SEEN = (*FINISHED, AssignmentState.skipped)


@dataclass(frozen=True, slots=True)
class Assigned:
    """An assignment as the database had it: the annotator's way reads this and leaves entities to rarer work."""

    id: int
    token: str
    study_id: int
    item_id: int
    person_id: int
    purpose: str
    state: str
    version: int
    draft: dict[str, Any] | None
    draft_seq: int
    pen: str | None
    active_seconds: float
    reserved_at: datetime
    submitted_at: datetime | None
    candidates: int


# prepared once: these run for every annotation, on the connection and past the object mapper
_assignment, _item_row = Assignment.__table__, Item.__table__
_study, _person, _item, _now = (bindparam(name) for name in ("study", "person", "item", "now"))
_candidates_of = select(func.count()).where(Slot.assignment_id == _assignment.c.id).scalar_subquery()
_ASSIGNED = select(
    *(_assignment.c[field.name] for field in fields(Assigned) if field.name != "candidates"), _candidates_of
)
_OWN = _ASSIGNED.where(_assignment.c.token == bindparam("token"), _assignment.c.person_id == _person)
_MEMBERSHIP = select(Membership.excluded_at).where(
    Membership.study_id == _study, Membership.person_id == _person, Membership.role == Role.annotator
)
_LOCKED_MEMBERSHIP = _MEMBERSHIP.with_for_update(key_share=True)
_mine_here = (Assignment.study_id == _study) & (Assignment.person_id == _person)
_STUDY_OF = (
    select(Study)
    .join(_assignment, _assignment.c.study_id == Study.id)
    .where(_assignment.c.token == bindparam("token"), _assignment.c.person_id == _person)
)
_UNFINISHED = _ASSIGNED.where(
    _mine_here, Assignment.state.in_([AssignmentState.reserved, AssignmentState.expired])
).order_by(Assignment.id.desc())
_due = select(_assignment.c.id).where(
    _assignment.c.study_id == _study,
    _assignment.c.state == AssignmentState.reserved,
    _assignment.c.expires_at < _now,
)
# on PostgreSQL somebody may be submitting one of them at this very moment: it is left alone
_GIVE_BACK = (
    update(_assignment)
    .where(_assignment.c.id.in_(_due.with_for_update(skip_locked=True)))
    .values(state=AssignmentState.expired)
    .returning(_assignment.c.item_id, _assignment.c.purpose)
)
_EXTEND = (
    update(_assignment)
    .where(_assignment.c.id == bindparam("assignment"))
    .values(state=AssignmentState.reserved, expires_at=bindparam("until"))
)
_RENEW = (
    update(_assignment)
    .where(
        _assignment.c.token == bindparam("own_token"),
        _assignment.c.person_id == _person,
        _assignment.c.state == AssignmentState.reserved,
    )
    .values(expires_at=bindparam("until"))
)
_TAKE = (
    update(_item_row)
    .where(_item_row.c.id == _item, _item_row.c.taken < _item_row.c.raters, ~_item_row.c.retired)
    .values(taken=_item_row.c.taken + 1)
)
_FREE = update(_item_row).where(_item_row.c.id == _item).values(taken=_item_row.c.taken - 1)
_RESERVE, _PLACE = insert(_assignment), insert(Slot.__table__)
# a list made once: asked per item, SQLite walks all her work for each item that she has seen
_SEEN_ITEMS = select(Assignment.item_id).where(_mine_here, Assignment.state != AssignmentState.expired)
_NEXT_TRAINING = (
    select(Item.id)
    .where(
        Item.study_id == _study,
        Item.purpose == Purpose.training,
        Item.id.not_in(_SEEN_ITEMS),
    )
    .order_by(Item.id)
    .limit(1)
)
_NEXT_ITEM = (
    select(Item.id)
    .where(
        Item.study_id == _study,
        Item.purpose == Purpose.main,
        ~Item.retired,
        Item.taken < Item.raters,
        Item.id.not_in(_SEEN_ITEMS),
    )
    .order_by(Item.priority, Item.taken, Item.rank)
    .limit(1)
)
# on PostgreSQL it passes over what somebody is taking at this very moment
_TAKE_NEXT = (
    update(_item_row)
    .where(_item_row.c.id == _NEXT_ITEM.with_for_update(skip_locked=True, key_share=True).scalar_subquery())
    .values(taken=_item_row.c.taken + 1)
    .returning(_item_row.c.id)
)
_DONE = select(func.count(), func.avg(Assignment.active_seconds)).where(
    _mine_here, Assignment.purpose == Purpose.main, Assignment.state.in_(SEEN)
)
_CANDIDATES = select(Candidate.id, Candidate.system_id).where(Candidate.item_id == _item).order_by(Candidate.system_id)
_shown = (
    select(Candidate.system_id, Slot.position, func.count())
    .join(Slot, Slot.candidate_id == Candidate.id)
    .join(Assignment, Assignment.id == Slot.assignment_id)
    .where(Assignment.state != AssignmentState.expired)
    .group_by(Candidate.system_id, Slot.position)
)
_SHOWN = union_all(
    _shown.where(_mine_here).add_columns(literal(1)), _shown.where(Assignment.item_id == _item).add_columns(literal(0))
)


class Nothing(StrEnum):
    """Why there is no item to annotate; each has a screen of its own."""

    not_open = "not open yet"
    paused = "paused"
    closed = "closed"
    excluded = "excluded"
    finished = "finished"
    nothing_free = "nothing free"


@dataclass(frozen=True)
class Progress:
    """How far one annotator is: items done and to do, and a guess of the minutes left (None: no base yet)."""

    done: int
    total: int
    minutes_left: int | None


def current(session: Session, study: Study, who: Who) -> Assigned | Nothing:
    """The annotator's reserved item, or the next one, reserved in the caller's transaction."""
    return current_of(session, study, who, locked_membership(session, study.id, who))


def locked_membership(session: Session, study_id: int, who: Who) -> Row[Any]:
    """Her membership, locked: what one person does in a study happens in turn, and nobody else waits for it.

    Every command of an annotator locks it first. Raises NotFound for somebody who is not in the study.
    """
    wanted = _MEMBERSHIP if database.is_sqlite(session) else _LOCKED_MEMBERSHIP
    found = session.connection().execute(wanted, {"study": study_id, "person": who.person_id}).first()
    if found is None:
        raise NotFound("You are not an annotator of this study.")
    return found


def current_of(session: Session, study: Study, who: Who, membership: Row[Any]) -> Assigned | Nothing:
    """As `current`, for a membership that this transaction has locked already."""
    barred = _barred(study, membership)
    mine = session.connection().execute(_UNFINISHED, {"study": study.id, "person": who.person_id})
    unfinished = [Assigned(*row) for row in mine]
    held = next((own for own in unfinished if own.state == AssignmentState.reserved), None)
    if held is not None and (barred is None or barred == Nothing.paused):
        return _taken_up(session, held)
    if barred is not None:
        return barred
    return _reserve_next(session, study, who, unfinished)


def _barred(study: Study, membership: Row[Any]) -> Nothing | None:
    """Why this person may get no new item now."""
    if membership.excluded_at is not None:
        return Nothing.excluded
    return {
        StudyState.draft: Nothing.not_open,
        StudyState.paused: Nothing.paused,
        StudyState.closed: Nothing.closed,
    }.get(StudyState(study.state))


def _reserve_next(session: Session, study: Study, who: Who, expired: Sequence[Assigned]) -> Assigned | Nothing:
    """Gives back what ran out, then takes the next item for this person, or says why there is none.

    `expired`: her own reservations that ran out before; one with work in it comes first, so nothing she wrote is lost.
    """
    give_back_expired(session, study)
    training = _next_training(session, study, who)
    if training is not None:
        return _reserve(session, study, who, training, Purpose.training, expired)
    begun = next((own for own in expired if own.purpose == Purpose.main and own.draft_seq > 0), None)
    if begun is not None and take_place(session, begun.item_id):
        return _taken_up(session, begun)
    if _has_reached_limit(session, study, who):
        return Nothing.finished
    item_id = _take_next(session, study, who)
    if item_id is not None:
        return _reserve(session, study, who, item_id, Purpose.main, expired)
    return _why_nothing(session, study, who)


def _taken_up(session: Session, own: Assigned) -> Assigned:
    """A reservation is extended; one that ran out is hers again, with the order she saw and her draft."""
    session.connection().execute(_EXTEND, {"assignment": own.id, "until": clock.now() + TTL})
    return replace(own, state=AssignmentState.reserved)


def give_back_expired(session: Session, study: Study) -> None:
    """Places whose reservation ran out become free; drafts stay with their assignment."""
    given = session.connection().execute(_GIVE_BACK, {"study": study.id, "now": clock.now()}).all()
    for item_id, purpose in sorted(map(tuple, given)):  # in one order, so that nobody waits in a circle
        if purpose == Purpose.main:
            free_place(session, item_id)


def take_place(session: Session, item_id: int) -> bool:
    """Counts one more place of the item, if one is free; the database refuses one too many whoever races."""
    return session.connection().execute(_TAKE, {"item": item_id}).rowcount == 1


def free_place(session: Session, item_id: int) -> None:
    session.connection().execute(_FREE, {"item": item_id})


def _mine(study: Study, who: Who, *states: AssignmentState) -> Select[tuple[int]]:
    wanted = select(Assignment.item_id).where(Assignment.study_id == study.id, Assignment.person_id == who.person_id)
    return wanted.where(Assignment.state.in_(states)) if states else wanted


def _next_training(session: Session, study: Study, who: Who) -> int | None:
    if not studies.design_of(session, study).rubric.training:
        return None
    return session.connection().execute(_NEXT_TRAINING, {"study": study.id, "person": who.person_id}).scalar()


def _has_reached_limit(session: Session, study: Study, who: Who) -> bool:
    limit = study.settings.get("items_per_annotator")
    if limit is None:
        return False
    done = select(func.count()).select_from(_mine(study, who, *FINISHED).where(_is_main()).subquery())
    return session.execute(done).scalar_one() >= limit


def _is_main() -> ColumnElement[bool]:
    return Assignment.purpose == Purpose.main


def _take_next(session: Session, study: Study, who: Who) -> int | None:
    """By priority (0 first), then fewest taken, then the study's random rank; never one she has seen."""
    return session.connection().execute(_TAKE_NEXT, {"study": study.id, "person": who.person_id}).scalar()


def _why_nothing(session: Session, study: Study, who: Who) -> Nothing:
    """Items that others hold right now may come free again; otherwise she is through."""
    held = select(Assignment.item_id).where(
        Assignment.study_id == study.id,
        Assignment.state == AssignmentState.reserved,
        _is_main(),
        Assignment.person_id != who.person_id,
        Assignment.item_id.not_in(_mine(study, who)),
    )
    mine = {"study": study.id, "person": who.person_id}
    # on PostgreSQL the search passed over what somebody is reserving at this very moment
    passed_over = session.connection().execute(_NEXT_ITEM, mine).first() is not None
    waiting = passed_over or session.scalars(held.limit(1)).first() is not None
    return Nothing.nothing_free if waiting else Nothing.finished


def _reserve(
    session: Session, study: Study, who: Who, item_id: int, purpose: Purpose, expired: Sequence[Assigned]
) -> Assigned:
    """A new assignment with its slots; one of hers that ran out on this item is taken up again as it was."""
    before = next((own for own in expired if own.item_id == item_id), None)
    if before is not None:
        return _taken_up(session, before)
    order = _order(session, study, who, item_id, _candidates(session, item_id))
    assigned = _inserted(session, study, who, item_id, purpose, len(order))
    slots = [
        {"assignment_id": assigned.id, "position": n, "candidate_id": c, "order_known": True}
        for n, c in enumerate(order)
    ]
    session.connection().execute(_PLACE, slots)
    events.record(
        session,
        study.id,
        "reserved",
        who.pseudonym,
        assignment_id=assigned.id,
        new={"item": item_id, "order": list(order), "purpose": purpose},
    )
    return assigned


def _inserted(session: Session, study: Study, who: Who, item_id: int, purpose: Purpose, candidates: int) -> Assigned:
    now = clock.now()
    known = {
        "token": secrets.token_urlsafe(12),
        "study_id": study.id,
        "item_id": item_id,
        "person_id": who.person_id,
        "purpose": purpose,
        "state": AssignmentState.reserved,
        "version": 1,
        "draft_seq": 0,
        "active_seconds": 0.0,
        "reserved_at": now,
    }
    row = {**known, "origin": Origin.web, "expires_at": now + TTL, "design_hash": study.design_hash}
    made = session.connection().execute(_RESERVE, row).inserted_primary_key[0]
    return Assigned(id=made, draft=None, pen=None, submitted_at=None, candidates=candidates, **known)


def _candidates(session: Session, item_id: int) -> list[tuple[int, int]]:
    """(candidate, system) of an item, by system."""
    return [(row.id, row.system_id) for row in session.connection().execute(_CANDIDATES, {"item": item_id})]


def _order(
    session: Session, study: Study, who: Who, item_id: int, candidates: Sequence[tuple[int, int]]
) -> tuple[int, ...]:
    """Candidate ids in the order of their slots."""
    here = {"study": study.id, "person": who.person_id, "item": item_id}
    shown = session.connection().execute(_SHOWN, here).all()
    order = balanced_order(
        [system for _, system in candidates],
        Counter({(system, place): n for system, place, n, to_her in shown if to_her}),
        Counter({(system, place): n for system, place, n, to_her in shown if not to_her}),
        f"{study.seed}|{who.pseudonym}|{item_id}",
    )
    return tuple(candidates[place][0] for place in order)


def balanced_order(
    systems: Sequence[int], person_counts: Counter[tuple[int, int]], item_counts: Counter[tuple[int, int]], seed: str
) -> tuple[int, ...]:
    """The order that keeps system × position counts most even, for the annotator and (weight 4) for the item.

    `systems`: one per candidate; the counts: (system, position) → times shown there. Returns, per position, the
    place of the candidate in `systems`. Minimisation after Pocock & Simon (1975); ties by blake2b of the seed.
    """
    return min(
        _orders(len(systems), seed),
        key=lambda order: (_cost(order, systems, person_counts, item_counts), tie(seed, order)),
    )


def _orders(m: int, seed: str) -> Iterable[tuple[int, ...]]:
    """All orders of up to four candidates; above, 24 drawn by the seed."""
    if m <= 4:
        return permutations(range(m))
    drawn = random.Random(seed)  # noqa: S311 (an order, no secret)
    return [tuple(drawn.sample(range(m), m)) for _ in range(24)]


def _cost(
    order: Sequence[int],
    systems: Sequence[int],
    person_counts: Counter[tuple[int, int]],
    item_counts: Counter[tuple[int, int]],
) -> int:
    """Growth of the sums of squared counts: (n + 1)² − n² = 2n + 1, without the constant."""
    cells = [(systems[place], position) for position, place in enumerate(order)]
    return sum(person_counts[cell] + ITEM_WEIGHT * item_counts[cell] for cell in cells)


def tie(seed: str, order: Sequence[int]) -> bytes:
    return hashlib.blake2b(f"{seed}|{list(order)}".encode(), digest_size=8).digest()


def renew(session: Session, who: Who, token: str) -> bool:
    """Extends a live reservation of this person; False if it ran out."""
    mine = {"own_token": token, "person": who.person_id, "until": clock.now() + TTL}
    return session.connection().execute(_RENEW, mine).rowcount == 1


def by_token(session: Session, who: Who, token: str) -> Assigned:
    """This person's assignment, as the database has it now. Raises NotFound for any other."""
    found = session.connection().execute(_OWN, {"token": token, "person": who.person_id}).first()
    if found is None:
        raise NotFound(NOT_YOURS)
    return Assigned(*found)


def study_of(session: Session, who: Who, token: str) -> Study:
    """The study that this person's assignment belongs to. Raises NotFound for any other token."""
    found = session.scalars(_STUDY_OF, {"token": token, "person": who.person_id}).first()
    if found is None:
        raise NotFound(NOT_YOURS)
    return found


def own_work(session: Session, study: Study, who: Who) -> list[Assignment]:
    """Everything this person has finished or skipped in the study, oldest first."""
    mine = select(Assignment).where(
        Assignment.study_id == study.id, Assignment.person_id == who.person_id, Assignment.state.in_(SEEN)
    )
    # drafts may be long, and hardly any of them is looked at
    ordered = mine.order_by(Assignment.submitted_at, Assignment.id).options(defer(Assignment.draft))
    return list(session.scalars(ordered))


def neighbour(session: Session, study: Study, who: Who, token: str, step: int) -> Assignment | None:
    """Her annotation before (-1) or after (+1) this one; None past the newest, itself at the oldest."""
    done = [work for work in own_work(session, study, who) if work.state in SEEN and _is_editable(work)]
    tokens = [work.token for work in done]
    place = (tokens.index(token) if token in tokens else len(done)) + step
    if not done or place >= len(done):
        return None
    return done[max(place, 0)]


def _is_editable(work: Assignment) -> bool:
    return work.purpose == Purpose.main and work.state != AssignmentState.skipped


def progress(session: Session, study: Study, who: Who) -> Progress:
    """Counted over the main items; time from the mean of her own active seconds, from three items on."""
    done, mean_seconds = session.connection().execute(_DONE, {"study": study.id, "person": who.person_id}).one()
    limit = study.settings.get("items_per_annotator")
    total = max(min(study.item_count, limit or study.item_count), done)
    known = done >= 3 and mean_seconds
    return Progress(done, total, round((total - done) * mean_seconds / 60) if known else None)
