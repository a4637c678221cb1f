"""Places that no present annotator can fill: everybody who may still work has rated or skipped the item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Select, func, select
from sqlmodel import Session

from triptych.people.membership import select_at_work
from triptych.results.verdicts import MAX_LISTED
from triptych.stats.numbers import counted, first_words
from triptych.storage.models import (
    FINISHED,
    Assignment,
    AssignmentState,
    Item,
    Kind,
    Membership,
    Person,
    PlannedItem,
    Purpose,
    Role,
    Study,
    StudyState,
)
from triptych.study.settings import settings_of


@dataclass(frozen=True)
class Unfilled:
    """items: ids of items with places that no present annotator can fill; places: number of these places; missing:
    largest number of annotators that one item still needs; present: annotators who may still get items."""

    items: tuple[str, ...]
    places: int
    missing: int
    present: int

    @property
    def sentence(self) -> str:
        """Which items cannot be filled, why, and what to do."""
        them = "the item" if len(self.items) == 1 else "the items"
        everybody = "the one annotator" if self.present == 1 else f"all {self.present} annotators"
        why = (
            f"{everybody} who may still work {'has' if self.present == 1 else 'have'} rated or skipped {them}, or "
            f"{'has' if self.present == 1 else 'have'} another part of the plan"
            if self.present
            else "every annotator is done, has stopped or was left out"
        )
        return (
            f"{counted(self.places, 'missing annotation')} of {counted(len(self.items), 'item')} "
            f"({first_words(self.items, MAX_LISTED, ', ')}) cannot be made by current annotators: {why}. Invite "
            f"{counted(self.missing, 'more annotator')}, or retire {them} under Setup, Items."
        )


def unfilled(session: Session, study: Study) -> Unfilled | None:
    """The places of an open study that no present annotator can fill; None if there are none."""
    if study.state != StudyState.open:
        return None
    annotators = select(Membership.id).join(Person, Person.id == Membership.person_id)
    annotators = annotators.where(Membership.study_id == study.id, Membership.role == Role.annotator)
    if session.scalars(annotators.where(Person.kind == Kind.human).limit(1)).first() is None:
        return None
    able = {*session.scalars(_may_work(study))}
    free = (Item.study_id == study.id, Item.purpose == Purpose.main, ~Item.retired, Item.taken < Item.raters)
    query = select(Item.id, Item.external_id, Item.raters - Item.taken).where(*free).order_by(Item.id)
    items = session.execute(query).all()
    could = _fillable(session, study, able, [item for item, _, _ in items])
    rows = [(name, places) for item, name, places in items if item not in could]
    if not rows:
        return None
    open_places = [places for _, places in rows]
    return Unfilled(tuple(name for name, _ in rows), sum(open_places), max(open_places), len(able))


def _fillable(session: Session, study: Study, able: set[int], items: Sequence[int]) -> set[int]:
    """The items that at least one of the `able` people may get and has not seen.

    Two short reads: a query that searches such a person for each item takes half a minute for a million ratings.
    """
    assigned = select(Assignment.item_id, Assignment.person_id)
    assigned = assigned.where(Assignment.study_id == study.id, Assignment.state != AssignmentState.expired)
    seen = {*session.execute(assigned)}
    pairs = select(PlannedItem.item_id, PlannedItem.person_id).where(PlannedItem.study_id == study.id)
    plan = {*session.execute(pairs)}
    if plan:
        return {item for item, person in plan - seen if person in able}
    people = Counter(item for item, person in seen if person in able)
    return {item for item in items if people[item] < len(able)}


def _may_work(study: Study) -> Select[int]:
    """The annotators of the study who may still be given items."""
    able = select_at_work(study, Person.id)
    limit = settings_of(study).items_per_annotator
    if limit is None:
        return able
    done = select(func.count()).where(
        Assignment.study_id == study.id,
        Assignment.person_id == Person.id,
        Assignment.purpose == Purpose.main,
        Assignment.state.in_(FINISHED),
    )
    return able.where(done.correlate(Person).scalar_subquery() < limit)
