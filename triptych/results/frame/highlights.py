"""The texts of items with annotators' highlights."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, SQLColumnExpression, and_, func, select
from sqlmodel import Session

from triptych.errors import NotFound
from triptych.formats.texts.text_format import Format
from triptych.results.frame.counted import counted_items, people_counted
from triptych.results.frame.model import Counted
from triptych.results.frame.upkeep import frame_of
from triptych.rubric.model import HighlightLabel
from triptych.storage.models import (
    RATED,
    Assignment,
    Base,
    Candidate,
    Highlight,
    Item,
    Membership,
    Person,
    Purpose,
    Slot,
    Study,
    System,
    Turn,
    annotators_part,
)
from triptych.study import lifecycle
from triptych.study.settings import formats_of
from triptych.study.system_names import speaker_titles, system_names


@dataclass(frozen=True)
class Span:
    """One annotator's highlight: code points, end exclusive."""

    start: int
    end: int
    label: str
    annotator: str
    comment: str


Spans = dict[tuple[int | None, int | None], list[Span]]  # (candidate, None for the context; turn) → its highlights


@dataclass(frozen=True)
class Passage:
    """A text, or one turn of a dialogue, with its highlights."""

    speaker: str
    text: str
    spans: tuple[Span, ...] = ()
    format: Format = "plain"


@dataclass(frozen=True)
class HighlightedCandidate:
    system: str
    passages: tuple[Passage, ...]


@dataclass(frozen=True)
class HighlightedItem:
    """One item with everybody's highlights; quotes that are not in the text (imports) are only counted."""

    external_id: str
    context: tuple[Passage, ...]
    candidates: tuple[HighlightedCandidate, ...]
    labels: tuple[HighlightLabel, ...]
    unaligned: int


def main_item(session: Session, study: Study, external_id: str) -> Item:
    """An item to rate, also if it was retired. Raises NotFound."""
    main = select(Item).where(Item.study_id == study.id, Item.external_id == external_id, Item.purpose == Purpose.main)
    item = session.scalars(main).first()
    if item is None:
        raise NotFound(f"The study has no item {external_id!r}.")
    return item


def highlight_counts(session: Session, study: Study, counted: Counted) -> dict[str, int]:
    """Item → number of its highlights, most highlighted first."""
    statement = (
        highlights_of(study, Item.external_id, func.count())
        .where(*people_counted(counted))
        .group_by(Item.external_id)
        .order_by(func.count().desc(), Item.external_id)
    )
    shown = counted_items(frame_of(session, study), counted)
    return {item: count for item, count in session.execute(statement) if item in shown}


def highlights_of(study: Study, *columns: SQLColumnExpression[object] | type[Base]) -> Select[*tuple[Any, ...]]:
    """Highlights of main annotations with their assignment, person and item, and the candidate if it is in one."""
    return (
        select(*columns)
        .select_from(Highlight)
        .join(Assignment, Assignment.id == Highlight.assignment_id)
        .join(Person, Person.id == Assignment.person_id)
        .join(Item, Item.id == Assignment.item_id)
        .outerjoin(Slot, and_(Slot.assignment_id == Highlight.assignment_id, Slot.position == Highlight.position))
        .outerjoin(Candidate, Candidate.id == Slot.candidate_id)
        .outerjoin(Membership, annotators_part())
        .where(
            Assignment.study_id == study.id,
            Assignment.purpose == Purpose.main,
            Assignment.state.in_(RATED),
        )
    )


def highlights_of_item(session: Session, study: Study, external_id: str, counted: Counted) -> HighlightedItem:
    """An item's texts, each with the highlights of all counted annotators. Raises NotFound."""
    item = main_item(session, study, external_id)
    spans: Spans = defaultdict(list)
    unaligned = 0
    marks = highlights_of(study, Candidate.id, Person.pseudonym, Highlight).where(Item.id == item.id)
    marks = marks.where(*people_counted(counted)).order_by(Highlight.start, Highlight.id)
    for candidate_id, annotator, mark in session.execute(marks):
        if mark.start is None or mark.end is None:
            unaligned += 1
            continue
        spans[candidate_id, mark.turn].append(Span(mark.start, mark.end, mark.label, annotator, mark.comment))
    names = system_names(session, study)
    candidates = (
        select(Candidate, System.blind_code)
        .join(System, System.id == Candidate.system_id)
        .where(Candidate.item_id == item.id)
        .order_by(System.blind_code)
    )
    formats, rubric = formats_of(study), lifecycle.design_of(session, study).rubric
    titles = speaker_titles(rubric, study)
    return HighlightedItem(
        external_id,
        _context(session, item, titles, spans, formats.context),
        tuple(
            HighlightedCandidate(names[code], _passages(candidate, titles, spans, formats.responses))
            for candidate, code in session.execute(candidates)
        ),
        rubric.highlights,
        unaligned,
    )


def _context(
    session: Session, item: Item, titles: Mapping[str, str], spans: Spans, shown_as: Format
) -> tuple[Passage, ...]:
    query = select(Turn.position, Turn.speaker, Turn.text).where(Turn.item_id == item.id).order_by(Turn.position)
    spoken = _spoken(session.execute(query), titles, None, spans, shown_as)
    return (Passage("", item.context, tuple(spans[None, None]), shown_as), *spoken) if item.context else spoken


def _passages(candidate: Candidate, titles: Mapping[str, str], spans: Spans, shown_as: Format) -> tuple[Passage, ...]:
    if candidate.turns:
        turns = ((number, speaker, text) for number, (speaker, text) in enumerate(candidate.turns))
        return _spoken(turns, titles, candidate.id, spans, shown_as)
    return (Passage("", candidate.text or "", tuple(spans[candidate.id, None]), shown_as),)


def _spoken(
    turns: Iterable[tuple[int, str, str]], titles: Mapping[str, str], place: int | None, spans: Spans, shown_as: Format
) -> tuple[Passage, ...]:
    """Turns (position, speaker, text) of a candidate, or of the context if place is None."""
    return tuple(Passage(titles.get(who, who), text, tuple(spans[place, n]), shown_as) for n, who, text in turns)
