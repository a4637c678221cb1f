"""The display order of all responses, as a file from which the orders can be recomputed.

An order depends on earlier orders (`order.balanced_order`) and, among equally good ones, on the study's seed. While a
study is blind, the seed is omitted: it would let anyone work out which system has which number.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, groupby
from operator import attrgetter

from sqlalchemy import select
from sqlmodel import Session

from triptych.annotate.candidate_order import SLACK, balanced_order
from triptych.formats.long_csv import Cell
from triptych.formats.writers.writing import as_json
from triptych.storage.models import Assignment, AssignmentState, Candidate, Item, Person, Slot, Study, System

NO_SLACK = 0  # of assignments made before version 0.2.0
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
class ShownAssignment:
    """One assignment: the systems by slot, as row numbers and blind codes, and the data that determined the order."""

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
        """Pairs (system, slot)."""
        return [(system, place) for place, system in enumerate(self.systems)]


def assignment_rows(session: Session, study: Study, names: dict[int, str]) -> Iterator[tuple[Cell, ...]]:
    """One row per assignment, in the order in which they were made.

    shown: the systems in display order. made_again: whether `replayed` gives the same order. tie_seed, by_number: its
    inputs, only after unblinding: the seed for ties, and the systems in the order of their rows.
    """
    every = shown_in(session, study)
    codes = session.execute(select(System.id, System.blind_code).where(System.study_id == study.id))
    called = {system: names[code] for system, code in codes}
    for assignment, order in zip(every, replayed(every, study.seed), strict=True):
        by_number = as_json([called[system] for system in sorted(assignment.systems)])
        yield (
            assignment.number,
            assignment.annotator,
            assignment.item_id,
            assignment.purpose,
            assignment.state,
            assignment.reserved_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
            as_json([called[system] for system in assignment.systems]),
            int(assignment.order_known),
            None if order is None else int(order == assignment.systems),
            *((_tie_seed(study.seed, assignment), by_number) if study.unblinded_at else (None, None)),
        )


@dataclass
class _ShownBefore:
    """Counts of earlier orders by (system, slot): permanent ones, and those of reservations that have expired since."""

    counts: Counter[tuple[int, int]] = field(default_factory=Counter)
    ran_out: list[ShownAssignment] = field(default_factory=list)

    def add(self, assignment: ShownAssignment) -> None:
        if assignment.state == AssignmentState.expired:
            self.ran_out.append(assignment)
        else:
            self.counts.update(assignment.cells)

    def at(self, moment: datetime) -> Counter[tuple[int, int]]:
        """The counts at this moment, including reservations that had not expired then."""
        live = (assignment.cells for assignment in self.ran_out if assignment.expires_at >= moment)
        return self.counts + Counter(chain.from_iterable(live))


def replayed(every: Iterable[ShownAssignment], seed: str) -> Iterator[tuple[int, ...] | None]:
    """The systems by slot of each assignment, recomputed from earlier ones; None if its order is unknown."""
    by_annotator: dict[str, _ShownBefore] = defaultdict(_ShownBefore)
    by_item: dict[int, _ShownBefore] = defaultdict(_ShownBefore)
    for assignment in every:
        by_person, here = by_annotator[assignment.annotator], by_item[assignment.item_number]
        yield _order(assignment, by_person, here, seed) if assignment.order_known else None
        by_person.add(assignment)
        here.add(assignment)


def _order(assignment: ShownAssignment, by_person: _ShownBefore, here: _ShownBefore, seed: str) -> tuple[int, ...]:
    """The order by today's rule, or the one that was shown if the rule before version 0.2.0 gives it."""
    systems, at = sorted(assignment.systems), assignment.reserved_at
    counts, tie_seed = (by_person.at(at), here.at(at)), _tie_seed(seed, assignment)
    orders = [balanced_order(systems, *counts, tie_seed, slack=slack) for slack in (SLACK, NO_SLACK)]
    today, before = (tuple(systems[place] for place in order) for order in orders)
    return before if before == assignment.systems else today


def _tie_seed(seed: str, assignment: ShownAssignment) -> str:
    return f"{seed}|{assignment.annotator}|{assignment.item_number}"


def shown_in(session: Session, study: Study) -> list[ShownAssignment]:
    """Every assignment of the study, in the order in which they were made."""
    slots = (
        select(Slot.assignment_id, Candidate.system_id, Slot.order_known)
        .join(Candidate, Candidate.id == Slot.candidate_id)
        .join(Assignment, Assignment.id == Slot.assignment_id)
        .where(Assignment.study_id == study.id)
        .order_by(Slot.assignment_id, Slot.position)
    )
    shown = {number: list(rows) for number, rows in groupby(session.execute(slots), attrgetter("assignment_id"))}
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
    return [
        ShownAssignment(*(*row, tuple(of.system_id for of in own), bool(own) and all(of.order_known for of in own)))
        for row in session.execute(made)
        for own in [shown.get(row[0], [])]
    ]
