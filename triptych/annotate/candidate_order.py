"""The order in which an item's candidates are shown: each system about equally often at each position.

Joins slot → candidate → system to balance the order; `annotations` and `blinding` never do.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import permutations

from sqlalchemy import CompoundSelect, bindparam, func, literal, select, union_all
from sqlmodel import Session

from triptych.storage.models import Assignment, AssignmentState, Candidate, Slot, Study, has_value
from triptych.study.persons import Who

ITEM_WEIGHT = 4
# Times that an annotator may see a system more often at one place than at another before that counts. Without it,
# someone who recognises a system in one item could tell its place in the next.
SLACK = 1
CANDIDATE, TO_PERSON, WITH_ITEM = range(3)  # kinds of rows


def candidate_order(session: Session, study: Study, who: Who, item_id: int, repeat_of: int | None) -> tuple[int, ...]:
    """Candidate ids in the order of their slots; repeat_of: the assignment whose order a repeat must differ from."""
    run = session.connection().execute
    rows = run(_shown(), {"study": study.id, "person": who.person_id, "item": item_id}).all()
    candidates = sorted((row.system_id, row.place) for row in rows if row.kind == CANDIDATE)
    places = {candidate: place for place, (_, candidate) in enumerate(candidates)}
    first_order: Sequence[int] = ()
    if repeat_of is not None:
        slots = select(Slot.candidate_id).where(Slot.assignment_id == repeat_of).order_by(Slot.position)
        first_order = run(slots).scalars().all()
    order = balanced_order(
        [system for system, _ in candidates],
        Counter({(row.system_id, row.place): row.times for row in rows if row.kind == TO_PERSON}),
        Counter({(row.system_id, row.place): row.times for row in rows if row.kind == WITH_ITEM}),
        f"{study.seed}|{who.pseudonym}|{item_id}",
        other_than=tuple(places[candidate] for candidate in first_order),
    )
    return tuple(candidates[place][1] for place in order)


@cache  # see `storage.writes`
def _shown() -> CompoundSelect[int, int, int, int]:
    """Rows (system, place, times, kind).

    Kind CANDIDATE: place is the candidate's id. Other kinds: how often the system was shown at position `place`, to
    this person or with this item.
    """
    candidates = select(
        Candidate.system_id, Candidate.id.label("place"), literal(0).label("times"), literal(CANDIDATE).label("kind")
    ).where(Candidate.item_id == bindparam("item"))
    shown = (
        select(Candidate.system_id, Slot.position, func.count())
        .join(Slot, Slot.candidate_id == Candidate.id)
        .join(Assignment, Assignment.id == Slot.assignment_id)
        .where(~has_value(Assignment.state, AssignmentState.expired))
        .group_by(Candidate.system_id, Slot.position)
    )
    to_person = (Assignment.study_id == bindparam("study")) & (Assignment.person_id == bindparam("person"))
    return union_all(
        candidates,
        shown.where(to_person).add_columns(literal(TO_PERSON)),
        shown.where(Assignment.item_id == bindparam("item")).add_columns(literal(WITH_ITEM)),
    )


def balanced_order(
    systems: Sequence[int],
    person_counts: Counter[tuple[int, int]],
    item_counts: Counter[tuple[int, int]],
    seed: str,
    other_than: tuple[int, ...] = (),
    slack: int = SLACK,
) -> tuple[int, ...]:
    """The order that keeps system × position counts most even, for the annotator and (weight 4) for the item.

    systems: one per candidate; person_counts, item_counts: (system, position) → times shown there; other_than: an order
    to avoid if there is another; slack: see SLACK, 0 before version 0.2.0. Returns, per position, the index of the
    candidate in `systems`. Minimisation after Pocock & Simon (1975), for the annotator beyond an imbalance that is
    allowed (Soares & Wu 1983, the big stick design); ties are broken by blake2b of the seed.
    """
    orders = [order for order in _orders(len(systems), seed) if order != other_than]
    ahead = _ahead(systems, person_counts, slack)
    return min(orders or [other_than], key=lambda order: (_cost(order, systems, ahead, item_counts), tie(seed, order)))


def _ahead(systems: Sequence[int], counts: Counter[tuple[int, int]], slack: int) -> Counter[tuple[int, int]]:
    """(system, position) → how much more often than at its rarest position it was shown there, beyond `slack`."""
    places = range(len(systems))
    least = {system: min(counts[system, place] for place in places) for system in systems}
    return Counter(
        {
            (system, place): max(counts[system, place] - least[system] - slack, 0)
            for system in systems
            for place in places
        }
    )


def _orders(count: int, seed: str) -> Iterable[tuple[int, ...]]:
    """All orders of up to four candidates; with more candidates, 24 orders drawn with the seed."""
    if count <= 4:
        return permutations(range(count))
    drawn = random.Random(seed)  # noqa: S311 (an order, no secret)
    return [tuple(drawn.sample(range(count), count)) for _ in range(24)]


def _cost(
    order: Sequence[int], systems: Sequence[int], ahead: Counter[tuple[int, int]], item_counts: Counter[tuple[int, int]]
) -> int:
    """Growth of the sums of squared counts: (n + 1)² − n² = 2n + 1, without the constant."""
    cells = [(systems[place], position) for position, place in enumerate(order)]
    return sum(ahead[cell] + ITEM_WEIGHT * item_counts[cell] for cell in cells)


def tie(seed: str, order: Sequence[int]) -> bytes:
    return hashlib.blake2b(f"{seed}|{list(order)}".encode(), digest_size=8).digest()
