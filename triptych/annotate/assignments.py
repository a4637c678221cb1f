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

from sqlalchemy import (
    ColumnElement,
    Row,
    Select,
    bindparam,
    exists,
    func,
    insert,
    literal,
    literal_column,
    or_,
    select,
    true,
    union_all,
    update,
)
from sqlalchemy.orm import defer
from sqlmodel import Session

from triptych import clock
from triptych.annotate import checks, entry_test, onboarding
from triptych.annotate.checks import HIDDEN, Shown
from triptych.errors import NotFound
from triptych.people.accounts import WHO, signed_in
from triptych.people.membership import FACTS, locked_membership, membership_of
from triptych.people.passcodes import secret_hash
from triptych.storage import database, events
from triptych.storage.events import EventKind
from triptych.storage.models import (
    FINISHED,
    RATED,
    SEEN,
    Assignment,
    AssignmentState,
    Candidate,
    Item,
    Membership,
    Origin,
    PlannedItem,
    Purpose,
    Role,
    Slot,
    Study,
    StudyState,
)
from triptych.study import lifecycle
from triptych.study.persons import Who
from triptych.study.settings import settings_of

WORKBOOK_LIFE = timedelta(days=3650)  # a workbook lies with its annotator until it is cancelled
ITEM_WEIGHT = 4
NOT_YOURS = "This item is not yours, or no longer there."


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
# her membership first, then the assignment as it is once she has that: on PostgreSQL a plain join would give it as it
# was before another tab of hers was done
_membership = (
    select(*FACTS, _assignment.c.id.label("assignment_id"))
    .join(
        _assignment, (_assignment.c.study_id == Membership.study_id) & (_assignment.c.person_id == Membership.person_id)
    )
    .where(_assignment.c.token == bindparam("token"), Membership.person_id == _person)
    .where(Membership.role == Role.annotator)
    .with_for_update(key_share=True, of=Membership)
    .cte("locked")
)
_LOCKED_OWN = (
    select(*_membership.c)  # first: the row's id is the membership's
    .join(_assignment, _assignment.c.id == _membership.c.assignment_id)
    .add_columns(*_ASSIGNED.selected_columns)
    .with_for_update(key_share=True, of=_assignment)
)
_mine_here = (Assignment.study_id == _study) & (Assignment.person_id == _person)
_STUDY_OF = (
    select(Study)
    .join(_assignment, _assignment.c.study_id == Study.id)
    .where(_assignment.c.token == bindparam("token"), _assignment.c.person_id == _person)
)
_her = WHO.cte("signed_in")
_ASKED = (
    select(Study, *_her.c)
    .join(_assignment, _assignment.c.study_id == Study.id)
    .join(_her, _her.c.id == _assignment.c.person_id)
    .where(_assignment.c.token == bindparam("token"))
)
_UNFINISHED = _ASSIGNED.where(
    _mine_here,
    Assignment.state.in_([AssignmentState.reserved, AssignmentState.expired]),
    Assignment.submitted_at.is_(None),  # follows from the state; the index knows it, so nothing finished is looked at
    Assignment.origin != Origin.workbook,
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
_slot = Slot.__table__
_RESERVE, _PLACE = insert(_assignment), insert(_slot)
# PostgreSQL: both in one statement
_NOT_YET = {"id", "submitted_at", "reason", "note", "draft", "pen"}
_RESERVED = [column.name for column in _assignment.c if column.name not in _NOT_YET]
_made = (
    insert(_assignment)
    .values({name: bindparam(f"new_{name}") for name in _RESERVED})
    .returning(_assignment.c.id)
    .cte("made")
)
_placed = database.rows_of(_slot.c.position, _slot.c.candidate_id)
_RESERVE_AND_PLACE = (
    insert(_slot)
    .from_select(
        ["assignment_id", "position", "candidate_id", "order_known"],
        select(_made.c.id, _placed.c.position, _placed.c.candidate_id, true()).select_from(_made.join(_placed, true())),
    )
    .returning(_slot.c.assignment_id)
)
# in the text of the statement: PostgreSQL plans for any value of a parameter, and then takes every purpose to be as
# frequent as any other, and LIMIT 1 for a part of the table; so it would read all items, or plan anew each time
_IS = {purpose: Item.purpose == literal_column(f"'{purpose.value}'") for purpose in Purpose}
_ONE = literal_column("1")
# a list made once: asked per item, SQLite walks all her work for each item that she has seen
_SEEN_ITEMS = select(Assignment.item_id).where(_mine_here, Assignment.state != AssignmentState.expired)
_free = (
    Item.study_id == _study,
    _IS[Purpose.main],
    ~Item.retired,
    Item.taken < Item.raters,
    Item.id.not_in(_SEEN_ITEMS),
)
_NEXT_ITEM = select(Item.id).where(*_free).order_by(Item.priority, Item.taken, Item.rank).limit(_ONE)
_my_plan = (PlannedItem.study_id == _study) & (PlannedItem.person_id == _person)
_NEXT_PLANNED = (
    select(Item.id)
    .join(PlannedItem, PlannedItem.item_id == Item.id)
    .where(_my_plan, *_free)
    .order_by(PlannedItem.rank, PlannedItem.id)
    .limit(_ONE)
)


def _taking(wanted: Select[tuple[int]]) -> Any:
    """Takes a place of the item found; on PostgreSQL it passes over what somebody is taking at this very moment."""
    found = wanted.with_for_update(skip_locked=True, key_share=True, of=Item).scalar_subquery()
    return (
        update(_item_row).where(_item_row.c.id == found).values(taken=_item_row.c.taken + 1).returning(_item_row.c.id)
    )


_TAKE_NEXT, _TAKE_PLANNED = _taking(_NEXT_ITEM), _taking(_NEXT_PLANNED)


def _number_of(purpose: Purpose) -> Any:
    wanted = select(func.count()).where(Item.study_id == _study, _IS[purpose], ~Item.retired)
    return wanted.scalar_subquery().label(purpose.value)


# spelled out: a list would be written into the statement anew each time
_counted = or_(*(Assignment.purpose == purpose for purpose in (Purpose.main, *HIDDEN)))
_seen = or_(*(Assignment.state == state for state in SEEN))
_DONE = select(
    func.count().label("done"),
    func.avg(Assignment.active_seconds).label("mean_seconds"),
    exists().where(PlannedItem.study_id == _study).label("planned"),
    select(func.count()).where(_my_plan).scalar_subquery().label("own"),
    _number_of(Purpose.attention),
    _number_of(Purpose.gold),
).where(_mine_here, _counted, _seen)
_HISTORY = (
    select(Assignment.id, Assignment.item_id, Assignment.purpose, Assignment.state, Item.retired)
    .join(Item, Item.id == Assignment.item_id)
    .where(_mine_here, _counted, _seen)
    .order_by(Assignment.id)
)
_UNSEEN_CHECKS = (
    select(Item.purpose, Item.id)
    .where(Item.study_id == _study, Item.purpose.in_([Purpose.attention, Purpose.gold]), ~Item.retired)
    .where(Item.id.not_in(_SEEN_ITEMS))
)
_OWN_PLANNED = select(func.count()).where(_my_plan)
_FIRST_ORDER = select(Slot.candidate_id).where(Slot.assignment_id == bindparam("assignment")).order_by(Slot.position)
_shown = (
    select(Candidate.system_id, Slot.position, func.count())
    .join(Slot, Slot.candidate_id == Candidate.id)
    .join(Assignment, Assignment.id == Slot.assignment_id)
    .where(Assignment.state != AssignmentState.expired)
    .group_by(Candidate.system_id, Slot.position)
)
# one statement, whose rows are (system, candidate, 0) for each candidate of the item, and (system, position, how often
# it was shown there) to her and with this item
_CANDIDATE, _TO_HER, _WITH_ITEM = range(3)
_CANDIDATES_SHOWN = union_all(
    select(Candidate.system_id, Candidate.id, literal(0), literal(_CANDIDATE).label("kind")).where(
        Candidate.item_id == _item
    ),
    _shown.where(_mine_here).add_columns(literal(_TO_HER)),
    _shown.where(Assignment.item_id == _item).add_columns(literal(_WITH_ITEM)),
)


class Nothing(StrEnum):
    """Why there is no item to annotate; each has a screen of its own."""

    not_open = "not open yet"
    paused = "paused"
    closed = "closed"
    excluded = "excluded"
    withdrawn = "withdrawn"
    screened_out = onboarding.SCREENED_OUT
    failed_test = entry_test.FAILED
    entry = "entry"  # a step of the way in comes first: see triptych.entry
    finished = "finished"
    none_left = "none left"
    nothing_free = "nothing free"


NOT_OPEN = {
    StudyState.draft: Nothing.not_open,
    StudyState.paused: Nothing.paused,
    StudyState.closed: Nothing.closed,
}


@dataclass(frozen=True)
class Progress:
    """How far one annotator is: items done and to do, and a guess of the minutes left (None: no base yet)."""

    done: int
    total: int
    minutes_left: int | None


def current(session: Session, study: Study, who: Who) -> Assigned | Nothing:
    """The annotator's reserved item, or the next one, reserved in the caller's transaction."""
    return current_of(session, study, who, locked_membership(session, study.id, who))


def current_of(session: Session, study: Study, who: Who, membership: Row[Any]) -> Assigned | Nothing:
    """As `current`, for a membership that this transaction has locked already."""
    barred = _barred(study, membership)
    mine = session.connection().execute(_UNFINISHED, {"study": study.id, "person": who.person_id})
    unfinished = [Assigned(*row) for row in mine]
    held = next((own for own in unfinished if own.state == AssignmentState.reserved), None)
    if held is not None and _takes_hers(study, barred):
        return _taken_up(session, study, held)
    if barred is not None:
        return barred
    return _reserve_next(session, study, who, membership, unfinished)


def _barred(study: Study, membership: Row[Any]) -> Nothing | None:
    """Why this person may get no new item now."""
    if membership.excluded_at is not None:
        return Nothing.excluded
    if membership.withdrawn_at is not None:
        return Nothing.withdrawn
    if membership.turned_away_as:
        return Nothing(membership.turned_away_as)
    if study.state != StudyState.open:
        return NOT_OPEN[study.state]
    return Nothing.entry if onboarding.unread(study, membership) else None


def _takes_hers(study: Study, barred: Nothing | None) -> bool:
    """Whether she may go on with what she has begun or submitted, also where nothing new is given out."""
    return barred is None or (barred == Nothing.paused and lifecycle.still_takes_work(study))


def _reserve_next(
    session: Session, study: Study, who: Who, membership: Row[Any], expired: Sequence[Assigned]
) -> Assigned | Nothing:
    """Gives back what ran out, then takes the next item for this person, or says why there is none.

    `expired`: her own reservations that ran out before; one with work in it comes first, so nothing she wrote is lost.
    """
    if membership.due:
        give_back_expired(session, study)
    first = _before_work(session, study, who, membership, expired)
    if first is not None:
        return first
    asked = next((own for own in expired if own.purpose == Purpose.adjudication), None)
    if asked is not None:
        return _taken_up(session, study, asked)
    begun = next((own for own in expired if own.purpose == Purpose.main and own.draft_seq > 0), None)
    if begun is not None and take_place(session, begun.item_id):
        return _taken_up(session, study, begun)
    check = _next_check(session, study, who, membership)
    if check is not None:
        kept = {"repeat_of": check.repeat_of} if check.repeat_of else {}
        return _reserve(session, study, who, check.item, check.purpose, expired, **kept)
    if _has_reached_limit(session, study, who):
        return Nothing.finished
    item_id = _take_next(session, study, who, planned=membership.planned)
    if item_id is not None:
        return _reserve(session, study, who, item_id, Purpose.main, expired)
    return _why_nothing(session, study, who, planned=membership.planned)


def _before_work(
    session: Session, study: Study, who: Who, membership: Row[Any], expired: Sequence[Assigned]
) -> Assigned | Nothing | None:
    """Training and entry test; None once they are behind her."""
    training = onboarding.next_training(session, study, who)
    if training is not None:
        return _reserve(session, study, who, training, Purpose.training, expired)
    test = entry_test.outstanding(session, study, membership, who)
    if test is None:
        return None
    gold = entry_test.next_gold(session, study, who, membership, test)
    return Nothing.entry if gold is None else _reserve(session, study, who, gold, Purpose.entry_test, expired)


def _next_check(session: Session, study: Study, who: Who, membership: Row[Any]) -> checks.Check | None:
    """The check that is due, where the study has any."""
    rules = settings_of(study).checks
    if not membership.checked and not rules.repeat_percent:
        return None
    mine = {"study": study.id, "person": who.person_id}
    run = session.connection().execute
    history = [
        Shown(own, item, purpose, purpose == Purpose.main and state in RATED and not retired)
        for own, item, purpose, state, retired in run(_HISTORY, mine)
    ]
    unseen = run(_UNSEEN_CHECKS, mine).all()
    total = _main_items(study, run(_OWN_PLANNED, mine).scalar() if membership.planned else None)
    return checks.due(
        rules,
        _seed(study, who),
        history,
        total,
        [item for purpose, item in unseen if purpose == Purpose.attention],
        [item for purpose, item in unseen if purpose == Purpose.gold],
    )


def _seed(study: Study, who: Who) -> str:
    return f"{study.seed}|{who.pseudonym}"


def _main_items(study: Study, own_planned: int | None) -> int:
    """How many main items she gets at most; `own_planned`: of an explicit plan, None without one."""
    there = study.item_count if own_planned is None else own_planned
    limit = settings_of(study).items_per_annotator
    return there if limit is None else min(limit, there)


def reservation_life(study: Any) -> timedelta:
    """How long an item is kept for somebody who does nothing; `study`: whatever has the study's settings."""
    return timedelta(minutes=settings_of(study).reservation_minutes)


def _taken_up(session: Session, study: Study, own: Assigned) -> Assigned:
    """A reservation is extended; one that ran out is hers again, with the order she saw and her draft."""
    until = clock.now() + reservation_life(study)
    session.connection().execute(_EXTEND, {"assignment": own.id, "until": until})
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


def _has_reached_limit(session: Session, study: Study, who: Who) -> bool:
    limit = settings_of(study).items_per_annotator
    if limit is None:
        return False
    done = select(func.count()).select_from(_mine(study, who, *FINISHED).where(_is_main()).subquery())
    return session.execute(done).scalar_one() >= limit


def _is_main() -> ColumnElement[bool]:
    return Assignment.purpose == Purpose.main


def _take_next(session: Session, study: Study, who: Who, *, planned: bool) -> int | None:
    """By priority (0 first), then fewest taken, then the study's random rank; never one she has seen.

    `planned`: the study has an explicit plan, and she gets the items of her own part of it, in its order.
    """
    mine = {"study": study.id, "person": who.person_id}
    return session.connection().execute(_TAKE_PLANNED if planned else _TAKE_NEXT, mine).scalar()


def _why_nothing(session: Session, study: Study, who: Who, *, planned: bool) -> Nothing:
    """Items that others hold right now may come free again; otherwise she is through, or came too late for any."""
    held = select(Assignment.item_id).where(
        Assignment.study_id == study.id,
        Assignment.state == AssignmentState.reserved,
        Assignment.origin != Origin.workbook,  # nobody waits weeks for a workbook
        _is_main(),
        Assignment.person_id != who.person_id,
        Assignment.item_id.not_in(_mine(study, who)),
    )
    mine = {"study": study.id, "person": who.person_id}
    if planned:
        held = held.where(Assignment.item_id.in_(select(PlannedItem.item_id).where(_my_plan)))
    # on PostgreSQL the search passed over what somebody is reserving at this very moment
    passed_over = session.connection().execute(_NEXT_PLANNED if planned else _NEXT_ITEM, mine).first() is not None
    waiting = passed_over or session.scalars(held.limit(1), mine).first() is not None
    if waiting:
        return Nothing.nothing_free
    here = _mine(study, who).where(_is_main(), Assignment.state != AssignmentState.expired)
    begun = session.scalars(here.limit(1)).first() is not None
    return Nothing.finished if begun else Nothing.none_left


def _reserve(
    session: Session,
    study: Study,
    who: Who,
    item_id: int,
    purpose: Purpose,
    expired: Sequence[Assigned],
    **kept: Any,
) -> Assigned:
    """A new assignment with its slots; one of hers that ran out on this item is taken up again as it was.

    `kept`: columns of the new row that differ from those of a reservation on the web.
    """
    before = next((own for own in expired if (own.item_id, own.purpose) == (item_id, purpose)), None)
    if before is not None:
        return _taken_up(session, study, before)
    order = _order(session, study, who, item_id, kept.get("repeat_of"))
    assigned = _inserted(session, study, who, item_id, purpose, order, **kept)
    new = {"item": item_id, "order": list(order), "purpose": purpose}
    events.record(session, study.id, EventKind.reserved, who.pseudonym, assignment_id=assigned.id, new=new)
    return assigned


def _inserted(
    session: Session, study: Study, who: Who, item_id: int, purpose: Purpose, order: Sequence[int], **kept: Any
) -> Assigned:
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
    of_the_web = {"origin": Origin.web, "expires_at": now + reservation_life(study), "design_hash": study.design_hash}
    row = {**known, "repeat_of": None, "workbook_id": None, **of_the_web, **kept}
    made = _written(session, row, [{"position": n, "candidate_id": c} for n, c in enumerate(order)])
    return Assigned(id=made, draft=None, pen=None, submitted_at=None, candidates=len(order), **known)


def _written(session: Session, row: dict[str, Any], slots: list[dict[str, Any]]) -> int:
    """Stores an assignment and its slots; returns its id."""
    run = session.connection().execute
    if database.is_sqlite(session):
        made = run(_RESERVE, row).inserted_primary_key[0]
        run(_PLACE, [{"assignment_id": made, "order_known": True, **slot} for slot in slots])
        return made
    new = {f"new_{name}": value for name, value in row.items()}
    return run(_RESERVE_AND_PLACE, {**new, "rows": database.as_json(slots)}).scalars().first()


def reserve_for_workbook(session: Session, study: Study, who: Who, count: int, workbook_id: int) -> list[Assigned]:
    """The next items, at most `count`, as the web would give them out, kept until the workbook is cancelled.

    Her membership must be locked. A reservation of hers that ran out on the web comes into the workbook as it was.
    """
    give_back_expired(session, study)
    until, planned = clock.now() + WORKBOOK_LIFE, membership_of(session, study, who).planned
    mine = session.connection().execute(_UNFINISHED, {"study": study.id, "person": who.person_id})
    ran_out = {
        row.item_id: Assigned(*row)
        for row in mine
        if (row.state, row.purpose) == (AssignmentState.expired, Purpose.main)
    }
    kept = {"origin": Origin.workbook, "workbook_id": workbook_id, "expires_at": until}
    taken: list[Assigned] = []
    while len(taken) < count and (item_id := _take_next(session, study, who, planned=planned)) is not None:
        before = ran_out.get(item_id)
        if before is None:
            taken.append(_reserve(session, study, who, item_id, Purpose.main, (), **kept))
            continue
        again = update(_assignment).where(_assignment.c.id == before.id)
        session.connection().execute(again.values(state=AssignmentState.reserved, **kept))
        taken.append(before)
    return taken


def free_workbook(session: Session, workbook_id: int) -> int:
    """Frees the places that a workbook still holds; returns how many. On the web its items are as if never taken."""
    held = (_assignment.c.workbook_id == workbook_id) & (_assignment.c.state == AssignmentState.reserved)
    freed = update(_assignment).where(held).returning(_assignment.c.item_id)
    gone = freed.values(state=AssignmentState.expired, origin=Origin.web, workbook_id=None)
    items = sorted(session.connection().execute(gone).scalars())
    for item_id in items:
        free_place(session, item_id)
    return len(items)


def _order(session: Session, study: Study, who: Who, item_id: int, repeat_of: int | None) -> tuple[int, ...]:
    """Candidate ids in the order of their slots; a repeat comes in another order than the first time."""
    run = session.connection().execute
    here = {"study": study.id, "person": who.person_id, "item": item_id}
    found = run(_CANDIDATES_SHOWN, here).all()
    candidates = sorted(row[:2] for row in found if row.kind == _CANDIDATE)
    places = {candidate: place for place, (_, candidate) in enumerate(candidates)}
    first = run(_FIRST_ORDER, {"assignment": repeat_of}).scalars() if repeat_of else ()
    order = balanced_order(
        [system for system, _ in candidates],
        *(Counter({row[:2]: row[2] for row in found if row.kind == kind}) for kind in (_TO_HER, _WITH_ITEM)),
        f"{study.seed}|{who.pseudonym}|{item_id}",
        other_than=tuple(places[candidate] for candidate in first),
    )
    return tuple(candidates[place][1] for place in order)


def balanced_order(
    systems: Sequence[int],
    person_counts: Counter[tuple[int, int]],
    item_counts: Counter[tuple[int, int]],
    seed: str,
    other_than: tuple[int, ...] = (),
) -> tuple[int, ...]:
    """The order that keeps system × position counts most even, for the annotator and (weight 4) for the item.

    `systems`: one per candidate; the counts: (system, position) → times shown there; `other_than`: the order that it
    is not to be where there is a choice. Returns, per position, the place of the candidate in `systems`. Minimisation
    after Pocock & Simon (1975); ties by blake2b of the seed.
    """
    orders = [order for order in _orders(len(systems), seed) if order != other_than]
    return min(
        orders or [other_than],
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
    mine = {"token": token, "person": who.person_id}
    study = session.scalars(_STUDY_OF, mine).first()
    if study is None:
        return False
    renewed = {"own_token": token, "person": who.person_id, "until": clock.now() + reservation_life(study)}
    return session.connection().execute(_RENEW, renewed).rowcount == 1


def by_token(session: Session, who: Who, token: str) -> Assigned:
    """This person's assignment, as the database has it now. Raises NotFound for any other."""
    found = session.connection().execute(_OWN, {"token": token, "person": who.person_id}).first()
    if found is None:
        raise NotFound(NOT_YOURS)
    return Assigned(*found)


def locked(session: Session, who: Who, token: str) -> tuple[Row[Any], Assigned]:
    """Her membership, locked, and this assignment of hers as it is then. Raises NotFound for any other."""
    here = {"token": token, "person": who.person_id, "now": clock.now()}
    found = session.connection().execute(_LOCKED_OWN, here).first()
    if found is None:
        raise NotFound(NOT_YOURS)
    return found, Assigned(*found[len(_membership.c) :])


def asked_by(session: Session, login_secret: str | None, token: str) -> tuple[Who, Study]:
    """Whose login it is, and the study that this assignment of hers belongs to. Raises SignedOut, NotFound."""
    given = {"secret": secret_hash(login_secret or ""), "now": clock.now(), "token": token}
    found = session.execute(_ASKED, given).first()
    if found is None:
        signed_in(session, login_secret)
        raise NotFound(NOT_YOURS)
    study, *who = found
    return Who(*who), study


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


def changeable(session: Session, study: Study, who: Who, token: str | None = None) -> str | None:
    """The token of what she submitted last, or this one of hers, if she may still go back to it; otherwise None."""
    if not _takes_hers(study, _barred(study, membership_of(session, study, who))):
        return None
    found = neighbour(session, study, who, token, 0) if token else neighbour(session, study, who, "", -1)
    return found.token if found else None


def _is_editable(work: Assignment) -> bool:
    return work.purpose == Purpose.main and work.state != AssignmentState.skipped


def progress(session: Session, study: Study, who: Who) -> Progress:
    """Counted over the items of the work, hidden checks like any other; nobody sees from it which is which.

    Time from the mean of her own active seconds, from three items on.
    """
    found = session.connection().execute(_DONE, {"study": study.id, "person": who.person_id}).one()
    total = _main_items(study, found.own if found.planned else None)
    rules = settings_of(study).checks
    if found.attention or found.gold or rules.repeat_percent:
        total += checks.expected(rules, _seed(study, who), total, found.attention, found.gold)
    total = max(total, found.done)
    known = found.done >= 3 and found.mean_seconds
    return Progress(found.done, total, round((total - found.done) * found.mean_seconds / 60) if known else None)


def progress_in_test(session: Session, study: Study, who: Who) -> Progress:
    """Counted over the gold items of her entry test."""
    done, asked = entry_test.gold_progress(session, study, who)
    return Progress(done, max(asked, done), None)


def progress_in_training(session: Session, study: Study, who: Who) -> Progress:
    """Counted over the study's training items."""
    return Progress(*onboarding.training_progress(session, study, who), None)
