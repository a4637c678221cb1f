"""Who rates what together: the lines of a plan, connected parts, a proposal, and the overlap subset.

Rules: docs/statistics.md, "Who rates what".
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import ceil

from sqlalchemy import ColumnElement, select, update
from sqlmodel import Session

from triptych.errors import Conflict
from triptych.storage.models import Item, Person, PlannedItem, Purpose, Study
from triptych.study import lifecycle
from triptych.study.settings import settings_of

FIRST = -1
# items per block: enough for several annotators at work, few enough for early pairs of ratings
FINISHED_TOGETHER = 10
CAP = 1.3


@dataclass(frozen=True)
class PlanLine:
    """One annotator is to rate one item. rank: its place among their items, from 1; row: row of the file, or 0."""

    annotator: str
    item_id: str
    rank: int | None = None
    row: int = 0


# Connected parts, and a proposal


class _Union:
    """Which items and annotators are connected (union–find)."""

    def __init__(self) -> None:
        self.above: dict[object, object] = {}

    def find(self, member: object) -> object:
        self.above.setdefault(member, member)
        while self.above[member] != member:
            self.above[member] = member = self.above[self.above[member]]
        return member

    def join(self, member: object, other: object) -> None:
        self.above[self.find(member)] = self.find(other)


def connected(lines: Sequence[PlanLine]) -> list[tuple[str, ...]]:
    """The annotators of each part of a plan that shares no item with the others, the part with most items first.

    One part: all can be compared.
    """
    union = _Union()
    for line in lines:
        union.join(("annotator", line.annotator), ("item", line.item_id))
    annotators, items = defaultdict(set), defaultdict(set)
    for line in lines:
        root = union.find(("item", line.item_id))
        annotators[root].add(line.annotator)
        items[root].add(line.item_id)
    return [part for _, part in sorted((-len(items[root]), tuple(sorted(annotators[root]))) for root in items)]


def proposed(raters: Mapping[str, int], annotators: Sequence[str], cap: int | None, seed: str) -> list[PlanLine]:
    """A balanced plan: workloads and pairs of annotators as even as possible, everybody in the overlap, all connected.

    raters: item → its number of annotators; items with most annotators come first in everybody's order. cap: largest
    number of items for one annotator, None for 1.3 times the mean. If the cap leaves too few places, some items get
    fewer annotators.
    """
    drawn = random.Random(seed)  # noqa: S311 (an order, no secret)
    people = sorted(annotators)
    drawn.shuffle(people)
    items = sorted(raters)
    drawn.shuffle(items)
    items.sort(key=lambda item: -raters[item])
    total = sum(min(number, len(people)) for number in raters.values())
    most = min(cap or total, ceil(CAP * total / len(people))) if people else 0
    load: Counter[str] = Counter()
    pairs: Counter[frozenset[str]] = Counter()
    union = _Union()
    lines = []
    for item in items:
        team: list[str] = []
        for _ in range(min(raters[item], len(people))):
            free = [person for person in people if person not in team and load[person] < most]
            if not free:
                break
            chosen = min(free, key=lambda person: _cost(person, team, load, pairs, union))
            team.append(chosen)
            load[chosen] += 1
            lines.append(PlanLine(chosen, item, load[chosen]))
            union.join(chosen, team[0])
        pairs.update(frozenset(pair) for pair in combinations(team, 2))
    return sorted(lines, key=lambda line: (line.annotator, line.rank))


def _cost(person: str, team: Sequence[str], load: Counter[str], pairs: Counter[frozenset[str]], union: _Union) -> tuple:
    """Sort key: people not yet connected to the team first, then the least busy, then those in the rarest pairs."""
    together = [pairs[frozenset((person, other))] for other in team]
    apart = bool(team) and union.find(person) != union.find(team[0])
    return (not apart, load[person], sum(together), max(together, default=0))


# Stored


def lines_of(session: Session, study: Study) -> list[PlanLine]:
    """The study's plan by annotator and rank; empty where items are given out automatically."""
    query = (
        select(Person.pseudonym, Item.external_id, PlannedItem.rank)
        .join(Person, Person.id == PlannedItem.person_id)
        .join(Item, Item.id == PlannedItem.item_id)
        .where(PlannedItem.study_id == study.id)
        .order_by(PlannedItem.rank, PlannedItem.id)
    )
    # the log has a hash of these lines, and databases sort texts differently
    return sorted((PlanLine(*row) for row in session.execute(query)), key=lambda line: line.annotator)


# The subset that more annotators rate


def apply_overlap(session: Session, study: Study) -> None:
    """Give a random subset of the main items more annotators, and priority over the others. The same study always gets
    the same subset. Raises Conflict once the study was opened: assigned raters cannot be taken away.
    """
    study = lifecycle.lock(session, study.id)
    if study.opened_at is not None:
        raise Conflict("The overlap subset is drawn before launch; it cannot change afterwards.")
    give_places(session, study, subset_of(session, study))


def give_places(session: Session, study: Study, subset: Sequence[str]) -> None:
    """Store how many annotators each main item gets, and its priority; unknown ids are ignored. If items are to be
    finished first, they are grouped in blocks: all places of a block are taken before the next begins.
    """
    query = update(Item).where(Item.study_id == study.id, Item.purpose == Purpose.main)
    session.execute(query.values(raters=study.raters_per_item, priority=0))
    if settings_of(study).item_order == "finish":
        in_order = session.scalars(select(Item.id).where(*_live(study)).order_by(Item.rank)).all()
        blocks = [{"id": item_id, "priority": place // FINISHED_TOGETHER} for place, item_id in enumerate(in_order)]
        session.execute(update(Item), blocks)
    for start in range(0, len(subset), 500):
        rows = query.where(Item.external_id.in_(subset[start : start + 500]))
        session.execute(rows.values(raters=_raters_of_subset(study), priority=FIRST))
    session.expire_all()


def subset_of(session: Session, study: Study) -> list[str]:
    """The main items of the subset as a launch would draw it now."""
    return _overlapping(study, list(session.scalars(select(Item.external_id).where(*_live(study)))))


def raters_of(session: Session, study: Study) -> dict[str, int]:
    """Main item → its number of annotators; for a draft, the number after the launch."""
    query = select(Item.external_id, Item.raters).where(*_live(study)).order_by(Item.id)
    raters = dict(map(tuple, session.execute(query)))
    if study.opened_at is not None:
        return raters
    subset = _overlapping(study, list(raters))
    return dict.fromkeys(raters, study.raters_per_item) | dict.fromkeys(subset, _raters_of_subset(study))


def _live(study: Study) -> tuple[ColumnElement[bool], ...]:
    return Item.study_id == study.id, Item.purpose == Purpose.main, ~Item.retired


def _raters_of_subset(study: Study) -> int:
    return max(settings_of(study).overlap.raters, study.raters_per_item)


def _overlapping(study: Study, ids: Sequence[str]) -> list[str]:
    """The items of the subset, drawn with the study's seed, independent of the items' order."""
    number = settings_of(study).overlap.items
    return sorted(ids, key=lambda name: hashlib.blake2b(f"{study.seed}|overlap|{name}".encode()).digest())[:number]
