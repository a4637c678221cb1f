"""Finished ratings from elsewhere become one study: items, systems, people, assignments, ratings, highlights, events.

Everything is written in bulk and in the caller's transaction, so there is the whole study or none. People get
pseudonyms like everyone else; names from the files are stored only in the people table. If the order on screen is
unknown, the slots record that. Each annotation is a separate event, as if it had been submitted here.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from sqlalchemy import ColumnElement, bindparam, select, update
from sqlmodel import Session

from triptych import clock
from triptych.annotate.answer_rows import rating_row
from triptych.annotate.logged import LoggedAnnotation, LoggedHighlight
from triptych.errors import ImportRefused
from triptych.formats.model import ItemFile
from triptych.formats.ratings.assemble import Asked, Assembled, ItemWork, ReadRating, own_rubric
from triptych.formats.ratings.model import UNKNOWN_SYSTEM, FinishedRatings, ImportedRating
from triptych.formats.ratings.proposal import ProposedCriterion, as_yaml, judge_of, propose
from triptych.formats.ratings.scores import apart, with_scores
from triptych.formats.ratings_csv import OF_HIGHLIGHT
from triptych.people import accounts
from triptych.rubric.answers import CheckedRating, count_words
from triptych.rubric.files import parse_rubric
from triptych.storage import events
from triptych.storage.events import EventKind
from triptych.storage.models import (
    SUBMITTED_ONCE,
    Access,
    Assignment,
    AssignmentState,
    Candidate,
    Explanation,
    Highlight,
    Item,
    JsonObject,
    Kind,
    Membership,
    Origin,
    Person,
    Purpose,
    Rating,
    Slot,
    Study,
    StudyState,
    System,
)
from triptych.storage.rows import inserted
from triptych.storage.writes import add_numbered, add_rows
from triptych.study import lifecycle
from triptych.study.annotator_groups import set_group
from triptych.study.lifecycle import MOST_RATERS, StudyPlan
from triptych.study.persons import Who

ASKED_FOR_SCORES = (
    "Annotators would be asked for {titles}, which only judges scored. Close the study, or leave these scores out."
)
ITEMS_ONLY = "{names}: these are items without ratings. Create a new study from them, or add the file with the ratings."
MAX_NAMED = 500  # items listed in one query
PREFIXES: dict[str, str] = {Kind.human: "A", Kind.judge: "J", Kind.simulated: "S"}
Slots = dict[int, list[dict[str, object]]]  # assignment → its rows
ORIGINS: dict[str, Origin] = {Kind.human: Origin.imported, Kind.judge: Origin.judge, Kind.simulated: Origin.simulated}


def proposed(files: Sequence[FinishedRatings]) -> tuple[ProposedCriterion, ...]:
    """The criteria that the values of all files together suggest. Raises ImportRefused where there are no ratings."""
    if files and all(file.items and not (file.ratings or file.highlights) for file in files):
        raise ImportRefused(ITEMS_ONLY.format(names=", ".join(file.name for file in files)))
    return propose(_ratings(files))


def asked_as_proposed(title: str, files: Sequence[FinishedRatings], criteria: Sequence[ProposedCriterion]) -> Asked:
    """How to read the files with a proposed rubric. Raises ImportRefused if nothing is left of them, InvalidRubric if
    the lead's changes do not form a rubric.
    """
    yaml = as_yaml(title, criteria, _labels(files))
    names = {criterion.name: None if criterion.use == "leave out" else criterion.key for criterion in criteria}
    missing = {criterion.key: frozenset(criterion.missing) for criterion in criteria if criterion.numbers}
    by_people = {rating.criterion for rating in _ratings(files) if not judge_of(rating)}
    judged_only = [criterion for criterion in criteria if by_people and criterion.name not in by_people]
    scores = {criterion.key for criterion in judged_only if names[criterion.name]}
    rubric = parse_rubric(yaml, "the proposed rubric")
    return Asked(rubric, yaml, names, missing, apart(criteria), frozenset(scores))


def _labels(files: Sequence[FinishedRatings]) -> dict[str, str]:
    """Label → where it is marked: in the context, if ratings name systems but none of the label's rows does."""
    name_systems = any(rating.system not in (None, UNKNOWN_SYSTEM) for rating in _ratings(files))
    marks = [mark for file in files for mark in file.highlights]
    in_responses = {mark.label for mark in marks if mark.system is not None or not name_systems}
    return {mark.label: "candidate" if mark.label in in_responses else "context" for mark in marks}


def asked_by(rubric_yaml: str, files: Sequence[FinishedRatings]) -> Asked:
    """How to read the files with an existing rubric; criteria are added for judges' scores without a fitting scale.

    Raises InvalidRubric.
    """
    names = list(dict.fromkeys(rating.criterion for rating in _ratings(files)))
    return with_scores(own_rubric(parse_rubric(rubric_yaml), rubric_yaml, names), _ratings(files))


def _ratings(files: Sequence[FinishedRatings]) -> Iterator[ImportedRating]:
    return (rating for file in files for rating in file.ratings)


def import_ratings(
    session: Session, plan: StudyPlan, ratings: Assembled, who: Who, *, stays_open: bool = False
) -> Study:
    """Creates the study with its ratings: closed or, with `stays_open`, open for further annotators.

    Raises NotAllowed for anybody but a lead or an invalid plan, and ImportRefused if there is an error, or if the study
    should stay open but lacks texts or has criteria that only a judge can answer; Conflict for too many responses.
    """
    if not ratings.ok:
        raise ImportRefused("There are still errors, so nothing was imported. Correct them and upload the files again.")
    if stays_open and not ratings.has_texts:
        raise ImportRefused(
            "Without the texts nobody can continue annotating. Add a file of items, or close the study."
        )
    if stays_open and ratings.asked.scores:
        scores = [criterion for criterion in ratings.asked.rubric.criteria if criterion.key in ratings.asked.scores]
        titles = [criterion.title for criterion in scores]
        raise ImportRefused(ASKED_FOR_SCORES.format(titles=", ".join(titles)))
    if not stays_open:
        most = max(_raters(ratings).values(), default=1)
        plan = replace(plan, access=Access.invited, raters_per_item=min(max(most, 1), MOST_RATERS))
    items = ItemFile("ratings", ratings.items)
    study = lifecycle.create_from_file(session, plan, ratings.asked.yaml, items, who)
    if stays_open:
        lifecycle.refuse_many_responses(session, study)
    write(session, study, ratings, who.pseudonym, stays_open=stays_open)
    return study


def write(session: Session, study: Study, ratings: Assembled, actor: str, *, stays_open: bool = False) -> None:
    """Writes ratings without errors into the draft that was created from their items, and launches it."""
    writer = WorkWriter(session, study, ratings, study.raters_per_item if stays_open else 0)
    writer.give_places()  # places are part of the design that the launch hashes
    lifecycle.set_state(session, study, StudyState.open, actor)
    writer.write(actor)
    if not stays_open:
        lifecycle.set_state(session, study, StudyState.closed, actor)


def _raters(ratings: Assembled, kind: Kind = Kind.human) -> Counter[str]:
    """Item → number of annotators of this kind who rated it, without excluded ones and repeats."""
    people = (work for work in ratings.works if work.kind == kind and work.annotator not in ratings.excluded)
    return Counter(work.item for work in people if not work.of)


@dataclass(frozen=True)
class _Row:
    """One annotation with its columns and the ids for its rows; positions: system → place, None → None for the item."""

    work: ItemWork
    columns: Mapping[str, object]
    assignment_id: int
    person: Person
    positions: Mapping[str | None, int | None]


class WorkWriter:
    """Writes one import, table by table. names: blind code → the system's name in the files, if not its real name."""

    def __init__(
        self,
        session: Session,
        study: Study,
        ratings: Assembled,
        raters: int = 0,
        names: Mapping[int, str] | None = None,
    ) -> None:
        self.session, self.study, self.ratings, self.raters, self.names = session, study, ratings, raters, names
        self.now = clock.now()
        self.design = lifecycle.design_of(session, study)

    def write(self, actor: str) -> None:
        people = self._people()
        rows, slots = self._work(people)
        excluded = sorted(person.pseudonym for (_, name), person in people.items() if name in self.ratings.excluded)
        joined = sorted(person.pseudonym for person in people.values())
        new = self.ratings.counts() | {"files": self.ratings.files, "joined": joined, "excluded": excluded}
        new |= {"left_out": dict(self.ratings.left_out)} if self.ratings.left_out else {}
        record = partial(events.record, self.session, self.study.id)
        record(EventKind.ratings_imported, actor, new=new | {"stays_open": bool(self.raters)})
        self._record(rows, slots, actor)
        # logged after the ratings that they come with, so they count as set late: they may be made from these
        groups = self.ratings.annotator_groups
        for group in dict.fromkeys(groups.values()):
            members = [person.pseudonym for (_, name), person in people.items() if groups.get(name) == group]
            set_group(self.session, self.study, members, group, actor)

    def append(self, people: Mapping[tuple[str, str], Person], actor: str) -> None:
        """Writes annotations of people who are in the study already."""
        self._record(*self._work(people), actor)

    def _work(self, people: Mapping[tuple[str, str], Person]) -> tuple[list[_Row], Slots]:
        """Writes all annotations and returns them with the rows of their slots."""
        rows = self._assignments(people, self._items())
        slots = self._slots(rows)
        self._ratings(rows)
        self._highlights(rows)
        return rows, slots

    def _record(self, rows: Sequence[_Row], slots: Slots, actor: str) -> None:
        """An event for each annotation, as if it had been submitted here."""
        for row in rows:
            number = row.assignment_id
            carried = inserted(Assignment, [{"id": number, **row.columns}], row.person.pseudonym)
            carried |= inserted(Slot, slots[number])
            new = _logged(row)
            events.record(
                self.session, self.study.id, EventKind.imported, actor, assignment_id=number, new=new, rows=carried
            )

    def _items(self) -> dict[str, int]:
        rows = self.session.execute(select(Item.external_id, Item.id).where(*self._main()))
        return {row.external_id: row.id for row in rows}

    def _main(self) -> list[ColumnElement[bool]]:
        """Conditions for the study's main items; if the ratings name few items, only for these."""
        named = {item.external_id for item in self.ratings.items}
        few = [Item.external_id.in_(named)] if len(named) <= MAX_NAMED else []
        return [Item.study_id == self.study.id, Item.purpose == Purpose.main, *few]

    def _people(self) -> dict[tuple[str, str], Person]:
        """(kind, name) → a new person of this study."""
        taken = set(self.session.scalars(select(Person.pseudonym)))
        people = {}
        for kind, name in self.ratings.annotators:
            pseudonym = accounts.free_pseudonym(PREFIXES[kind], taken.__contains__)
            taken.add(pseudonym)
            people[kind, name] = Person(kind=Kind(kind), pseudonym=pseudonym, name=name, created_at=self.now)
        self.session.add_all(people.values())
        self.session.flush()
        self.session.add_all(self._membership(person, name) for (_, name), person in people.items())
        self.session.flush()
        return people

    def _membership(self, person: Person, name: str) -> Membership:
        membership = Membership(study_id=self.study.id, person_id=person.id, joined_at=self.now)
        if name in self.ratings.excluded:
            membership.excluded_at = self.now
            membership.excluded_reason = self.ratings.excluded[name] or "excluded before"
        return membership

    def _assignments(self, people: Mapping[tuple[str, str], Person], items: Mapping[str, int]) -> list[_Row]:
        """Writes the main annotations in the order of their times, then the repeats, which refer to them."""
        works = sorted((work for work in self.ratings.works if not work.of), key=lambda work: work.at or self.now)
        repeats = [work for work in self.ratings.works if work.of]
        rows: list[_Row] = []
        for part in (works, repeats):
            main = {(row.work.kind, row.work.annotator, row.work.item): row.assignment_id for row in rows}
            owners = [people[work.kind, work.annotator] for work in part]
            columns = [
                self._assignment(work, person, items[work.item], main.get((work.kind, work.annotator, work.item)))
                for work, person in zip(part, owners, strict=True)
            ]
            ids = add_numbered(self.session, Assignment, columns)
            rows += map(_Row, part, columns, ids, owners, map(_positions, part))
        return rows

    def _assignment(self, work: ItemWork, person: Person, item_id: int, repeat_of: int | None) -> dict[str, object]:
        at = work.at or self.now
        return {
            "token": secrets.token_urlsafe(12),
            "study_id": self.study.id,
            "item_id": item_id,
            "person_id": person.id,
            "purpose": Purpose.repeat if repeat_of else Purpose.main,
            "repeat_of": repeat_of,
            "origin": ORIGINS[work.kind],
            "state": AssignmentState.submitted,
            "reserved_at": at,
            "expires_at": at,
            "submitted_at": at,
            "active_seconds": work.seconds,
            "note": "\n".join(work.notes) or None,
            "draft_seq": 0,
            "version": SUBMITTED_ONCE,
            "design_hash": self.study.design_hash,
        }

    def _slots(self, rows: Sequence[_Row]) -> Slots:
        query = (
            select(Item.external_id, System.name, System.blind_code, Candidate.id)
            .join(Candidate, Candidate.item_id == Item.id)
            .join(System, System.id == Candidate.system_id)
            .where(*self._main())
        )
        candidates = {
            (item, name if self.names is None else self.names[code]): number
            for item, name, code, number in self.session.execute(query)
        }
        slots: Slots = {
            row.assignment_id: [
                {
                    "assignment_id": row.assignment_id,
                    "position": row.positions[system],
                    "candidate_id": candidates[row.work.item, system],
                    "order_known": position is not None,
                }
                for system, position in row.work.systems.items()
            ]
            for row in rows
        }
        add_rows(self.session, Slot, list(chain.from_iterable(slots.values())))
        return slots

    def _ratings(self, rows: Sequence[_Row]) -> None:
        pairs = [(row, rating) for row in rows for rating in row.work.ratings]
        values = [
            {"assignment_id": row.assignment_id} | rating_row(self.design, row.positions[rating.system], rating)
            for row, rating in pairs
        ]
        ids = add_numbered(self.session, Rating, values)
        rated = zip(ids, (rating for _, rating in pairs), strict=True)
        add_rows(
            self.session, Explanation, [_explanation(*pair) for pair in rated if pair[1].explanation or pair[1].reasons]
        )

    def _highlights(self, rows: Sequence[_Row]) -> None:
        marks = [
            {"assignment_id": row.assignment_id, "position": row.positions[mark.system]}
            | {name: getattr(mark, name) for name in OF_HIGHLIGHT}
            for row in rows
            for mark in row.work.highlights
        ]
        add_rows(self.session, Highlight, marks)

    def give_places(self) -> None:
        """Sets the places of items: one for each person who rated it, more if the study stays open; judges take none.

        In a demo study, simulated annotators take places too.
        """
        raters = _raters(self.ratings, Kind.simulated if self.study.demo else Kind.human)
        filling = update(Item.__table__).where(Item.id == bindparam("item"))
        self.session.connection().execute(
            filling.values(raters=bindparam("places"), taken=bindparam("filled")),
            [
                {"item": number, "places": max(raters[name], self.raters), "filled": raters[name]}
                for name, number in self._items().items()
            ],
        )


def _positions(work: ItemWork) -> dict[str | None, int | None]:
    """System → position: from the file or, where it gives none, a remaining one. None → None, for the item."""
    taken = {position for position in work.systems.values() if position is not None}
    free = (position for position in range(len(work.systems) + len(taken)) if position not in taken)
    places: dict[str | None, int | None] = {None: None}
    places.update((system, next(free) if place is None else place) for system, place in work.systems.items())
    return places


def _explanation(rating_id: int, rating: ReadRating) -> dict[str, object]:
    words = count_words(rating.explanation)
    return {"rating_id": rating_id, "reasons": list(rating.reasons), "text": rating.explanation, "words": words}


def _logged(row: _Row) -> JsonObject:
    """The values for the event log."""
    ratings, highlights = [], []
    for r in row.work.ratings:
        value = r.criterion, r.number, r.option, r.missing
        ratings.append(CheckedRating(row.positions[r.system], *value, r.reasons, r.explanation))
    for mark in row.work.highlights:
        words = mark.label, mark.comment, mark.quote if mark.start is None else None, mark.unit
        highlights.append(LoggedHighlight(row.positions[mark.system], mark.turn, mark.start, mark.end, *words))
    parts = {"ratings": tuple(ratings), "highlights": tuple(highlights)}
    return LoggedAnnotation(state=AssignmentState.submitted, version=1, **parts).to_json()
