"""The order in which every response was shown, as a file from which the orders can be made again.

An order follows from the orders before it (`order.balanced_order`) and, among equally good ones, from the
study's seed. While a study is blind the seed stays out: with it anybody could tell which system has which number.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain

from sqlalchemy import select
from sqlmodel import Session

from triptych.annotate.order import balanced_order
from triptych.formats.long_csv import Cell
from triptych.formats.writers.writing import as_json
from triptych.storage.models import Assignment, AssignmentState, Candidate, Item, Person, Slot, Study, System

HEADER = (
    "assignment",
    "annotator",
    "item_id",
    "purpose",
    "state",
    "reserved_at",
    "shown",
    "order_known",
    "made_again",
    "tie_seed",
    "by_number",
)


@dataclass(frozen=True)
class Shown:
    """One assignment: the systems by slot, as numbers of their rows and as blind codes, and what an order needs."""

    number: int
    annotator: str
    item_number: int
    item_id: str
    purpose: str
    state: str
    reserved_at: datetime
    expires_at: datetime
    systems: tuple[int, ...]
    order_known: bool

    @property
    def cells(self) -> list[tuple[int, int]]:
        """(system, slot)."""
        return [(system, place) for place, system in enumerate(self.systems)]


def assignment_rows(session: Session, study: Study, names: dict[int, str]) -> Iterator[tuple[Cell, ...]]:
    """One row per assignment, in the order in which they were made.

    shown: the systems in the order on screen. made_again: whether `replayed` gives the same order. tie_seed,
    by_number: what it needs, after the unblinding only: the seed of ties, and the systems in the order of their rows.
    """
    every = shown_in(session, study)
    codes = dict(map(tuple, session.execute(select(System.id, System.blind_code).where(System.study_id == study.id))))
    orders = replayed(every, study.seed)
    for one, order in zip(every, orders, strict=True):
        listed = as_json([names[codes[system]] for system in one.systems])
        known = (_tie_seed(study.seed, one), as_json([names[codes[system]] for system in sorted(one.systems)]))
        yield (
            one.number,
            one.annotator,
            one.item_id,
            one.purpose,
            one.state,
            one.reserved_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
            listed,
            int(one.order_known),
            None if order is None else int(order == one.systems),
            *(known if study.unblinded_at else (None, None)),
        )


@dataclass
class _Before:
    """What was shown before, by (system, slot): what counts for good, and reservations that ran out since."""

    counts: Counter[tuple[int, int]] = field(default_factory=Counter)
    ran_out: list[Shown] = field(default_factory=list)

    def add(self, one: Shown) -> None:
        if one.state == AssignmentState.expired:
            self.ran_out.append(one)
        else:
            self.counts.update(one.cells)

    def at(self, moment: datetime) -> Counter[tuple[int, int]]:
        """As it was counted then: a reservation that had not run out yet counted too."""
        live = (one.cells for one in self.ran_out if one.expires_at >= moment)
        return self.counts + Counter(chain.from_iterable(live))


def replayed(every: Iterable[Shown], seed: str) -> Iterator[tuple[int, ...] | None]:
    """The systems by slot of each assignment, made again from those before it; None where they were not known."""
    by_annotator: dict[str, _Before] = defaultdict(_Before)
    by_item: dict[int, _Before] = defaultdict(_Before)
    for one in every:
        hers, here = by_annotator[one.annotator], by_item[one.item_number]
        yield _order(one, hers, here, seed) if one.order_known else None
        hers.add(one)
        here.add(one)


def _order(one: Shown, hers: _Before, here: _Before, seed: str) -> tuple[int, ...]:
    systems, at = sorted(one.systems), one.reserved_at
    order = balanced_order(systems, hers.at(at), here.at(at), _tie_seed(seed, one))
    return tuple(systems[place] for place in order)


def _tie_seed(seed: str, one: Shown) -> str:
    return f"{seed}|{one.annotator}|{one.item_number}"


def shown_in(session: Session, study: Study) -> list[Shown]:
    """Every assignment of the study, in the order in which they were made."""
    slots = (
        select(Slot.assignment_id, Candidate.system_id, Slot.order_known)
        .join(Candidate, Candidate.id == Slot.candidate_id)
        .join(Assignment, Assignment.id == Slot.assignment_id)
        .where(Assignment.study_id == study.id)
        .order_by(Slot.assignment_id, Slot.position)
    )
    systems: dict[int, list[int]] = {}
    known: dict[int, bool] = {}
    for assignment, system, order_known in session.execute(slots):
        systems.setdefault(assignment, []).append(system)
        known[assignment] = known.get(assignment, True) and order_known
    made = (
        select(
            Assignment.id,
            Person.pseudonym,
            Item.id,
            Item.external_id,
            Assignment.purpose,
            Assignment.state,
            Assignment.reserved_at,
            Assignment.expires_at,
        )
        .join(Person, Person.id == Assignment.person_id)
        .join(Item, Item.id == Assignment.item_id)
        .where(Assignment.study_id == study.id)
        .order_by(Assignment.id)
    )
    return [Shown(*row, tuple(systems.get(row[0], ())), known.get(row[0], False)) for row in session.execute(made)]
