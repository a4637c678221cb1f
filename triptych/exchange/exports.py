"""A study's finished work as files for other programs: read once, in batches, while a zip is written.

This module joins the texts, the order on screen and all annotations of an item. Systems and speakers have the names of
`study.system_names`, so that exports of a blind study are blind too. The columns are in `formats`: `writers/tables.py`
and `ratings_csv.py`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Row, Select, SQLColumnExpression, and_, exists, func, select
from sqlalchemy.orm import aliased
from sqlmodel import Session

from triptych.errors import NotAllowed, NotFound
from triptych.exchange.underway import Underway
from triptych.formats.model import CandidateDraft, TurnDraft
from triptych.formats.ratings_csv import OF_HIGHLIGHT
from triptych.formats.writers import FORMATS
from triptych.formats.writers.codebook import documents
from triptych.formats.writers.model import (
    ExportOptions,
    Finished,
    FinishedAnnotation,
    FinishedHighlight,
    FinishedItem,
    FinishedRating,
    FinishedSlot,
    Selection,
)
from triptych.formats.writers.writing import zipped
from triptych.privacy.publication import notes_on_publishing
from triptych.results.frame.counted import kinds_by_default
from triptych.results.frame.csv_rows import export_highlights, export_ratings
from triptych.results.frame.loading import GIVEN_STATE
from triptych.results.frame.upkeep import late_work, leads_of
from triptych.storage import arrivals, events
from triptych.storage.answers import ANSWER, Answer, Columns, select_answers
from triptych.storage.models import (
    LAST_VERSION,
    SEEN,
    Assignment,
    Candidate,
    Event,
    Highlight,
    Item,
    JsonObject,
    Membership,
    Person,
    Purpose,
    Rating,
    Slot,
    StoredCriterion,
    Study,
    System,
    Turn,
    annotators_part,
)
from triptych.study import lifecycle, log
from triptych.study.system_names import speaker_titles, system_names

BATCH = 30  # items, since an annotation may hold hundreds of highlights
TEXTS = (".csv", ".json", ".jsonl", ".yaml", ".xml")
FIRST_LINES, LONGEST_LINE = 4, 300
LOGGED = [column.name for column in Event.__table__.columns if column.name not in ("id", "at")]

CandidateRow = tuple[int, str | None, list[list[str]] | None, int]  # item, text, turns, system
RatingRow = tuple[int, *Answer]  # after the assignment
SlotRow = tuple[int, int, bool, str | None, int]  # assignment, position, order_known, set_aside, system


def check_request(session: Session, study: Study, key: str, options: ExportOptions) -> None:
    """Raises NotFound for an unknown format or criterion, NotAllowed for an invalid margin."""
    if key not in FORMATS:
        raise NotFound(f"There is no format {key!r}; there are {', '.join(FORMATS)}.")
    if not (math.isfinite(options.margin) and options.margin >= 0):
        raise NotAllowed("The margin is a number of 0 or more, in units of the scale.")
    asked = [criterion.key for criterion in lifecycle.design_of(session, study).rubric.asked(study.round)]
    if options.criterion is not None and options.criterion not in asked:
        raise NotFound(f"The study has no criterion {options.criterion!r}; it has {', '.join(asked)}.")


def export_zip(
    session: Session, study: Study, key: str, options: ExportOptions, underway: Underway | None = None
) -> Generator[bytes, None, None]:
    """The study in one format, as the pieces of a zip file: the data, annotations.csv, codebook.json and README.md.

    The same state of the study gives the same bytes. underway: receives the progress. Raises as `check_request`,
    immediately.
    """
    check_request(session, study, key, options)
    finished, bar = read_finished(session, study), underway or Underway()
    notes = list(notes_on_publishing(session, study))
    files = documents(bar.counting(finished, *_counts(session, study)), FORMATS[key], options, notes)
    return bar.sending(zipped(bar.naming(files), f"{study.slug}-{key}"))


def _counts(session: Session, study: Study) -> tuple[int, int]:
    """(items, ratings): how many will be written."""
    items = session.scalar(select(func.count()).where(Item.study_id == study.id))
    given = select(func.count()).select_from(Rating).join(Assignment, Assignment.id == Rating.assignment_id)
    ratings = session.scalar(given.where(Assignment.study_id == study.id, Assignment.state.in_(SEEN)))
    return items or 0, ratings or 0


def first_lines(session: Session, study: Study, key: str, options: ExportOptions) -> Iterator[tuple[str, str]]:
    """(name, beginning) of each text file of an export, except the README, which needs the complete files' counts."""
    for file in documents(read_finished(session, study), FORMATS[key], options, []):
        if file.name.endswith(TEXTS):
            block = next(iter(file.blocks), b"").decode()
            yield file.name, "\n".join(line[:LONGEST_LINE] for line in block.splitlines()[:FIRST_LINES])


def read_finished(session: Session, study: Study, blind: bool = False) -> Finished:
    """The study for writers; items, ratings, highlights and events are read while they are iterated.

    blind: its items name no system even after the unblinding.
    """
    rubric = lifecycle.design_of(session, study).rubric
    names, titles = system_names(session, study, blind), speaker_titles(rubric, study, blind)
    late = late_work(session, study, leads_of(session, study))
    main = and_(Item.study_id == study.id, Item.purpose == Purpose.main)
    per_item = select(func.count()).select_from(Candidate).join(Item).where(main).group_by(Candidate.item_id)
    in_main = select(System.blind_code).join(Candidate).join(Item).where(main).distinct().order_by(System.blind_code)
    return Finished(
        slug=study.slug,
        title=study.title,
        series=study.series,
        round=study.round,
        state=study.state,
        raters_per_item=study.raters_per_item,
        design_hash=study.design_hash,
        event_number=study.event_number,
        event_hash=study.event_hash,
        blind=blind or study.unblinded_at is None,
        rubric=rubric,
        systems={code: names[code] for code in session.scalars(in_main)},
        annotators=tuple(sorted(session.scalars(_annotators(study)))),
        most_candidates=session.scalar(select(func.max(per_item.subquery().c[0]))) or 0,
        has_turns=bool(session.scalar(select(exists(select(Turn.id).join(Item).where(main))))),
        has_conversations=_has_conversations(session, main),
        counted_kinds=kinds_by_default(study),
        items=partial(_items, session, study, _VisibleNames(names, titles, late)),
        ratings=partial(export_ratings, session, study),
        highlights=partial(export_highlights, session, study),
        events=partial(_events, session, study),
    )


def _annotators(study: Study) -> Select[str]:
    """Pseudonyms of everyone who finished something in the study."""
    done = select(Person.pseudonym).join(Assignment, Assignment.person_id == Person.id)
    return done.where(Assignment.study_id == study.id, Assignment.state.in_(SEEN)).distinct()


def _has_conversations(session: Session, main: ColumnElement[bool]) -> bool:
    # a JSON column may contain the JSON value null, which is not NULL in SQL
    without_text = select(Candidate.turns).join(Item).where(main, Candidate.text.is_(None))
    return any(session.scalars(without_text.execution_options(yield_per=BATCH)))


class _VisibleNames(NamedTuple):
    """systems: blind code → name; speakers: name in the file → title; late: work of leads after unblinding."""

    systems: dict[int, str]
    speakers: dict[str, str]
    late: frozenset[int]


def _items(session: Session, study: Study, shown: _VisibleNames, selection: Selection) -> Iterator[FinishedItem]:
    """Items with their candidates and annotations, read in batches, in the order of import."""
    query = select(Item.id).where(Item.study_id == study.id, *_selected(study, selection))
    ids = session.scalars(query.order_by(Item.id)).all()
    for start in range(0, len(ids), BATCH):
        batch = select(Item).where(Item.id.in_(ids[start : start + BATCH])).order_by(Item.id)
        yield from _complete(session, session.scalars(batch).all(), shown, selection)


def _selected(study: Study, selection: Selection) -> Iterator[ColumnElement[bool]]:
    if selection.main_only:
        yield Item.purpose == Purpose.main
    if selection.annotator is not None:
        of_person = select(Assignment.item_id).join(Person, Person.id == Assignment.person_id)
        yield Item.id.in_(of_person.where(Assignment.study_id == study.id, *_work(selection)))


def _work(selection: Selection) -> list[ColumnElement[bool]]:
    """Conditions on the selected assignments, for a query that joins Person to Assignment."""
    conditions: list[ColumnElement[bool]] = [Assignment.state.in_(SEEN)]
    if selection.main_only:
        conditions.append(Assignment.purpose == Purpose.main)
    if selection.annotator is not None:
        conditions.append(Person.pseudonym == selection.annotator)
    return conditions


def _complete(
    session: Session, batch: Sequence[Item], shown: _VisibleNames, selection: Selection
) -> Iterator[FinishedItem]:
    ids = [item.id for item in batch]

    def of_work(query: Select[int, *Columns]) -> dict[int, list[Row[int, *Columns]]]:
        by_people = query.join(Person, Person.id == Assignment.person_id).where(*_work(selection))
        return _grouped(session, by_people, Assignment.item_id, ids)

    work, slots = of_work(_annotations(shown.late)), of_work(_slots())
    ratings, marks = of_work(_ratings()), of_work(_highlights())
    for number, item in zip(ids, with_texts(session, batch, shown.systems, shown.speakers), strict=True):
        annotations = (
            _annotation(row, shown.systems, slots[row.number], ratings[row.number], marks[row.number])
            for row in work[number]
        )
        yield replace(item, annotations=tuple(annotations))


def with_texts(
    session: Session, batch: Sequence[Item], names: dict[int, str], titles: dict[str, str]
) -> Iterator[FinishedItem]:
    """The items with their candidates, without annotations. names, titles: as in `_VisibleNames`."""
    ids = [item.id for item in batch]
    turns = _grouped(session, select(Turn.item_id, Turn.speaker, Turn.text).order_by(Turn.position), Turn.item_id, ids)
    candidates = _grouped(session, _candidates(), Candidate.item_id, ids)
    for item in batch:
        yield FinishedItem(
            item_id=item.external_id,
            purpose=item.purpose,
            context=item.context,
            turns=_turns(((row.speaker, row.text) for row in turns[item.id]), titles),
            meta=item.meta,
            extra_texts=item.extra_texts,
            retired=item.retired,
            candidates=tuple(_candidate(row, names, titles) for row in candidates[item.id]),
            annotations=(),
        )


def _grouped(
    session: Session, query: Select[int, *Columns], key: SQLColumnExpression[int], ids: Sequence[int]
) -> dict[int, list[Row[int, *Columns]]]:
    """Rows grouped by their first column."""
    groups = defaultdict(list)
    for row in session.execute(query.where(key.in_(ids))) if ids else ():
        groups[row[0]].append(row)
    return groups


def _candidates() -> Select[*CandidateRow]:
    with_system = select(Candidate.item_id, Candidate.text, Candidate.turns, System.blind_code)
    return with_system.join(System, System.id == Candidate.system_id).order_by(System.blind_code)


def _candidate(row: Row[*CandidateRow], names: dict[int, str], titles: dict[str, str]) -> CandidateDraft:
    return CandidateDraft(names[row.blind_code], row.text, _turns(row.turns or (), titles))


def _turns(spoken: Iterable[tuple[str, str]], titles: dict[str, str]) -> tuple[TurnDraft, ...]:
    return tuple(TurnDraft(titles.get(speaker, speaker), text) for speaker, text in spoken)


def _annotations(late: frozenset[int]) -> Select[int, *tuple[object, ...]]:
    first, first_item = aliased(Assignment), aliased(Item)
    return (
        select(
            Assignment.item_id,
            Assignment.id.label("number"),
            Person.pseudonym.label("annotator"),
            Person.kind,
            Assignment.purpose,
            first_item.external_id.label("repeat_of"),
            GIVEN_STATE.label("state"),
            Assignment.reason,
            LAST_VERSION.label("version"),
            Assignment.submitted_at,
            Assignment.active_seconds,
            Assignment.text_view,
            Assignment.language,
            Assignment.arrangement,
            Membership.excluded_at.is_not(None).label("excluded"),
            Membership.excluded_reason.label("exclusion_reason"),
            Assignment.id.in_(late).label("after_unblinding"),
        )
        .select_from(Assignment)
        .outerjoin(Membership, annotators_part())
        .outerjoin(first, first.id == Assignment.repeat_of)
        .outerjoin(first_item, first_item.id == first.item_id)
        .order_by(Assignment.id)
    )


def _annotation(
    row: Any, names: dict[int, str], slots: Iterable[SlotRow], ratings: Iterable[RatingRow], marks: Iterable[Any]
) -> FinishedAnnotation:
    """An annotation from its own row and those of its slots, ratings and highlights."""
    rated: dict[int | None, list[FinishedRating]] = defaultdict(list)
    marked: dict[int | None, list[FinishedHighlight]] = defaultdict(list)
    for _, position, key, number, option, missing, reasons, text in ratings:
        rated[position].append(FinishedRating(key, number, option, missing, tuple(reasons or ()), text or ""))
    for _, position, *mark in marks:
        marked[position].append(FinishedHighlight(*mark))
    of_responses = (
        FinishedSlot(at if order_known else None, names[code], set_aside, tuple(rated[at]), tuple(marked[at]))
        for _, at, order_known, set_aside, code in slots
    )
    facts = {name: value for name, value in row._mapping.items() if name != "item_id"}
    of_item = tuple(rated[None]), tuple(marked[None])
    return FinishedAnnotation(**facts, slots=tuple(of_responses), about_item=of_item[0], in_context=of_item[1])


def _slots() -> Select[*SlotRow]:
    return (
        select(Slot.assignment_id, Slot.position, Slot.order_known, Slot.set_aside, System.blind_code)
        .join(Candidate, Candidate.id == Slot.candidate_id)
        .join(System, System.id == Candidate.system_id)
        .join(Assignment, Assignment.id == Slot.assignment_id)
        .order_by(Slot.position)
    )


def _ratings() -> Select[*RatingRow]:
    return select_answers(Rating.assignment_id, *ANSWER).order_by(StoredCriterion.position)


def _highlights() -> Select[int, *tuple[Any, ...]]:
    own = (getattr(Highlight, name) for name in ("assignment_id", "position", *OF_HIGHLIGHT))
    return select(*own).join(Assignment, Assignment.id == Highlight.assignment_id).order_by(Highlight.id)


def _events(session: Session, study: Study) -> Iterator[JsonObject]:
    """The log in order, with the fields that are hashed; values that reveal systems are withheld in a blind study."""
    journey = arrivals.arrivals(session, study.id)
    for entry in log.entries(session, study):
        # not `model_dump`, whose order of fields is another one in each process
        logged = {name: getattr(entry.event, name) for name in LOGGED}
        yield {
            **arrivals.origin(journey, entry.event.number).as_logged(logged),
            "at": entry.event.at.isoformat(),
            "item_id": entry.item,
            "salt": entry.detail.salt if entry.detail else None,
            "old": entry.old,
            "new": entry.new,
            "rows_sha256": events.rows_digest(entry.detail.rows) if entry.detail else None,
            "withheld": entry.withheld,
        }
