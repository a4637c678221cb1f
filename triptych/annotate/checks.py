"""Checks among the items (attention, gold, repeats), and what their answers are compared with.

When a check is due is a pure function of what an annotator has done: the same study, person and history give the same
check. Checks look like any other item to the annotator. Rates: docs/statistics.md, "Checks among the items".
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice, takewhile

from sqlalchemy import ColumnElement, select
from sqlmodel import Session

from triptych.rubric.model import Rubric
from triptych.rubric.scales import Choice, Likert, as_typed
from triptych.storage.answers import select_answers
from triptych.storage.models import (
    HIDDEN,
    Assignment,
    Item,
    Option,
    Purpose,
    Rating,
    Reference,
    Slot,
    StoredCriterion,
    Study,
)
from triptych.study.settings import Checks

# the first attention check comes after so many main items, so that it is the fifth to tenth item shown
FIRST_ATTENTION = (4, 7)


@dataclass(frozen=True, slots=True)
class Shown:
    """An item that the annotator has had, as far as the checks need it."""

    assignment: int
    item: int
    purpose: str
    repeatable: bool


@dataclass(frozen=True, slots=True)
class Check:
    """A check that is due: its item and, for a repeat, the assignment that it repeats."""

    purpose: Purpose
    item: int
    repeat_of: int | None = None


def due(
    rules: Checks, seed: str, history: Sequence[Shown], total: int, attention: Iterable[int], gold: Iterable[int]
) -> Check | None:
    """The check that comes next, or None for a main item.

    seed: derived from study and person. history: the annotator's main items and checks in the order they saw them.
    total: how many main items they may get. attention, gold: check items that they have not seen in this study.
    """
    if not history or history[-1].purpose in HIDDEN:
        return None
    waiting = {
        Purpose.attention: [Check(Purpose.attention, item) for item in attention],
        Purpose.gold: [Check(Purpose.gold, item) for item in gold],
        Purpose.repeat: _repeatable(rules, history),
    }
    for purpose, offered in waiting.items():
        if offered and _is_due(rules, seed, history, total, purpose):
            return min(offered, key=lambda check: (_draw(seed, check.purpose, check.item), check.item))
    return None


def _repeatable(rules: Checks, history: Sequence[Shown]) -> list[Check]:
    """Main annotations far enough back that have not been repeated yet."""
    far_enough = history[: max(len(history) - rules.repeat_distance + 1, 0)]
    repeated = {shown.item for shown in history if shown.purpose == Purpose.repeat}
    return [
        Check(Purpose.repeat, shown.item, shown.assignment)
        for shown in far_enough
        if shown.repeatable and shown.item not in repeated
    ]


def _is_due(rules: Checks, seed: str, history: Sequence[Shown], total: int, purpose: Purpose) -> bool:
    """Whether another check of this kind is due; the last one, which may have come late, must be long enough ago."""
    _, every = _blocks(rules, total, purpose)
    if not every:
        return False
    done = shown_checks = last = 0
    for shown in history:
        if shown.purpose == Purpose.main:
            done += 1
        elif shown.purpose == purpose:
            shown_checks, last = shown_checks + 1, done
    reached = sum(1 for _ in takewhile(lambda place: place <= done, _places(rules, seed, total, purpose)))
    return reached > shown_checks and (shown_checks == 0 or done - last >= every / 4)


def _blocks(rules: Checks, total: int, purpose: Purpose) -> tuple[float, float]:
    """(main items before the first block, main items per block); each block has one check. (0, 0): no checks."""
    match purpose:
        case Purpose.attention:
            return 0, rules.attention_every
        case Purpose.gold:
            return 0, rules.gold_every
        case _:
            repeats = _repeats(rules, total)
            return (rules.repeat_distance, (total - rules.repeat_distance) / repeats) if repeats else (0, 0)


def _repeats(rules: Checks, total: int) -> int:
    if not rules.repeat_percent:
        return 0
    repeats = max(rules.repeats_at_least, round(total * rules.repeat_percent / 100))
    return max(min(repeats, total - rules.repeat_distance), 0)


def _places(rules: Checks, seed: str, total: int, purpose: Purpose) -> Iterator[int]:
    """After how many main items each check is due: somewhere in the middle half of its block."""
    start, every = _blocks(rules, total, purpose)
    numbers = range(_repeats(rules, total)) if purpose == Purpose.repeat else count()
    for number in numbers:
        drawn = _draw(seed, purpose, f"place {number}")
        if number == 0 and purpose == Purpose.attention:
            low, high = (min(end, rules.attention_every) for end in FIRST_ATTENTION)
            yield low + int(drawn * (high - low + 1))
        else:
            yield max(int(start + every * (number + 0.25 + drawn / 2)), 1)


def _draw(seed: str, purpose: str, what: object) -> float:
    """A pseudo-random number from 0 to 1, always the same for the same arguments."""
    digest = hashlib.blake2b(f"{seed}|{purpose}|{what}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64


def expected(rules: Checks, seed: str, total: int, attention: int, gold: int) -> int:
    """The number of checks among `total` main items, given the available attention and gold items."""
    at_hand = {Purpose.attention: attention, Purpose.gold: gold}
    checks = _repeats(rules, total)
    for purpose, number in at_hand.items():
        if _blocks(rules, total, purpose)[1]:
            first = islice(_places(rules, seed, total, purpose), number)
            checks += sum(1 for _ in takewhile(lambda place: place <= total, first))
    return checks


# What an answer is compared with


def closeness(answer: float | str | None, accepted: str, close: float) -> str:
    """`same`, `close` (within the reference's own margin) or `different`.

    `accepted`: a number, or keys of options separated by `|`.
    """
    if answer is None:
        return "different"
    if isinstance(answer, str):
        return "same" if answer in accepted.split("|") else "different"
    if math.isclose(answer, float(accepted), rel_tol=1e-14):
        return "same"
    is_close = abs(answer - float(accepted)) <= close * (1 + 1e-6)  # 0.4 is 0.1 from 0.3
    return "close" if is_close else "different"


def in_words(rubric: Rubric, criterion: str, value: float | str | None) -> str:
    """A value, or several accepted values, as the screen names them."""
    if value is None:
        return "–"
    scale = rubric.criterion(criterion).scale
    if isinstance(scale, Choice):
        titles = {option.key: option.title for option in scale.options}
        return " or ".join(titles.get(key, key) for key in str(value).split("|"))
    title = ""
    if isinstance(scale, Likert):
        title = next((point.title for point in scale.points if point.value == float(value)), "")
    return as_typed(float(value)) + (f" – {title}" if title else "")


@dataclass(frozen=True, slots=True)
class Compared:
    """A reference and the annotator's answer; position: the slot that the annotator saw, None about the item."""

    assignment_id: int
    criterion: str
    position: int | None
    given: float | str | None
    accepted: str
    reason: str
    closeness: str


def not_retired(study: Study) -> ColumnElement[bool]:
    """Condition on Assignment: its item is not retired, as items are whose reference is wrong."""
    return Assignment.item_id.not_in(select(Item.id).where(Item.study_id == study.id, Item.retired))


def compared(session: Session, which: ColumnElement[bool]) -> list[Compared]:
    """Every reference of the assignments' items with the answer, in the order of criteria and references.

    which: a condition on Assignment. References number the candidates in the order of the items file, not in the order
    that the annotator saw.
    """
    slots: dict[int, list[int]] = defaultdict(list)
    placed = select(Slot.assignment_id, Slot.position).join(Assignment, Assignment.id == Slot.assignment_id)
    for assignment_id, position in session.execute(placed.where(which).order_by(Slot.candidate_id)):
        slots[assignment_id].append(position)
    answers = _answers_by_place(session, which)
    query = (
        select(Assignment.id, StoredCriterion.key, Reference)
        .join(Reference, Reference.item_id == Assignment.item_id)
        .join(StoredCriterion, StoredCriterion.id == Reference.criterion_id)
        .where(which)
        .order_by(Assignment.id, StoredCriterion.position, Reference.position)
    )
    comparisons = []
    for assignment_id, key, reference in session.execute(query):
        position = None if reference.position is None else slots[assignment_id][reference.position]
        answer = answers.get((assignment_id, position, reference.criterion_id))
        judged = closeness(answer, reference.accepted, reference.close)
        held_against = reference.accepted, reference.reason, judged
        comparisons.append(Compared(assignment_id, key, position, answer, *held_against))
    return comparisons


def _answers_by_place(session: Session, which: ColumnElement[bool]) -> dict[tuple[int, int | None, int], float | str]:
    """(assignment, slot, criterion) → the number or the option's key."""
    columns = Rating.assignment_id, Rating.position, Rating.criterion_id, Rating.number, Option.key
    ratings = select_answers(*columns).where(which)
    return {tuple(place): option if number is None else number for *place, number, option in session.execute(ratings)}
