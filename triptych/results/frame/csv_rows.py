"""Every rating and highlight as rows of the long CSV files, streamed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter

from sqlalchemy import ColumnElement, Row, Select, SQLColumnExpression, and_, select, true
from sqlmodel import Session

from triptych.formats.long_csv import Cell
from triptych.formats.ratings_csv import OF_HIGHLIGHT
from triptych.results.frame.highlights import highlights_of
from triptych.results.frame.loading import select_work
from triptych.rubric.answers import count_words
from triptych.storage.answers import ANSWER, Answer, Columns, select_answers
from triptych.storage.models import (
    LAST_VERSION,
    RATED,
    Assignment,
    AssignmentState,
    Candidate,
    Highlight,
    Item,
    Membership,
    Person,
    Rating,
    Slot,
    StoredCriterion,
    Study,
    System,
)
from triptych.study.system_names import system_names

RatingRow = tuple[int, bool | None, int | None, *Answer]  # assignment, order_known, system


def export_ratings(session: Session, study: Study, part: range | None = None) -> Iterator[tuple[Cell, ...]]:
    """Every stored rating of every purpose, as rows of the long CSV, in a stable order, streamed.

    part: limits the rows to the annotations with these numbers, see `annotations_after`. Data shared by all ratings of
    an annotation are read once, separately; on PostgreSQL, call `database.see_one_state` first.
    """
    names = system_names(session, study)
    rated = Assignment.state.in_(RATED) & _among(Assignment.id, part)
    work = iter(_streamed(session, _work_of(study).where(rated)))
    ratings = _ratings_of(study).where(rated).order_by(Assignment.id, StoredCriterion.position, Rating.position)
    for number, answers in groupby(_streamed(session, ratings), itemgetter(0)):
        annotation = next(row for row in work if row.id == number)
        yield from _rows(study, names, annotation, answers)


def _rows(
    study: Study, names: dict[int, str], work: Row[*tuple[object, ...]], answers: Iterable[Row[*RatingRow]]
) -> Iterator[tuple[Cell, ...]]:
    """The ratings of one annotation in the order of RATINGS_HEADER; names: blind code → printable name."""
    before = (study.slug, study.round, work.design_hash, work.pseudonym, work.kind, work.external_id)
    after = (
        work.purpose,
        work.repeat_of,
        int(work.state == AssignmentState.surplus),
        work.version,
        work.submitted_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        round(work.active_seconds, 1),
        int(work.excluded_at is not None),
        work.excluded_reason,
    )
    for _, order_known, system, position, criterion, number, option, missing, reasons, text in answers:
        name = None if system is None else names.get(system)
        place = position if order_known else None
        why = (";".join(reasons or ()), text or "", count_words(text or ""))
        yield (*before, name, place, criterion, number, option, int(missing), *why, *after)


def annotations_after(session: Session, study: Study, number: int, count: int) -> tuple[range, bool]:
    """The numbers of the next `count` rated annotations after `number`, and whether there are more after these."""
    rated = (Assignment.study_id == study.id) & Assignment.state.in_(RATED)
    return _next_numbers(session, select(Assignment.id).where(rated), Assignment.id, number, count)


def highlights_after(session: Session, study: Study, number: int, count: int) -> tuple[range, bool]:
    """Like `annotations_after`, for annotations with highlights."""
    return _next_numbers(session, highlights_of(study, Highlight.id), Highlight.id, number, count)


def _next_numbers(
    session: Session, query: Select[int], column: SQLColumnExpression[int], number: int, count: int
) -> tuple[range, bool]:
    following = session.scalars(query.where(column > number).order_by(column).limit(count + 1)).all()
    last = following[:count][-1] if following else number
    return range(number + 1, last + 1), len(following) > count


def _among(column: SQLColumnExpression[int], part: range | None) -> ColumnElement[bool]:
    return true() if part is None else (column >= part.start) & (column < part.stop)


def _work_of(study: Study) -> Select[*tuple[object, ...]]:
    """Every annotation of the study, in the order of their numbers."""
    original = select(Assignment.id, Item.external_id).join(Item, Item.id == Assignment.item_id).subquery()
    work = select_work(
        Assignment.id,
        Assignment.design_hash,
        Person.pseudonym,
        Person.kind,
        Item.external_id,
        Assignment.purpose,
        original.c.external_id.label("repeat_of"),
        Assignment.state,
        LAST_VERSION.label("version"),
        Assignment.submitted_at,
        Assignment.active_seconds,
        Membership.excluded_at,
        Membership.excluded_reason,
    )
    with_original = work.outerjoin(original, original.c.id == Assignment.repeat_of)
    return with_original.where(Assignment.study_id == study.id).order_by(Assignment.id)


def _ratings_of(study: Study) -> Select[*RatingRow]:
    """Every rating of the study with its system."""
    return (
        select_answers(Rating.assignment_id, Slot.order_known, System.blind_code, *ANSWER)
        .outerjoin(Slot, and_(Slot.assignment_id == Rating.assignment_id, Slot.position == Rating.position))
        .outerjoin(Candidate, Candidate.id == Slot.candidate_id)
        .outerjoin(System, System.id == Candidate.system_id)
        .where(Assignment.study_id == study.id)
    )


def export_highlights(session: Session, study: Study, part: range | None = None) -> Iterator[tuple[Cell, ...]]:
    """Every highlight of the main annotations, as rows of the highlights CSV, streamed; part: as `export_ratings`."""
    names = system_names(session, study)
    own = (getattr(Highlight, name) for name in ("position", *OF_HIGHLIGHT))
    statement = (
        highlights_of(study, Person.pseudonym, Item.external_id, System.blind_code, Slot.order_known, *own)
        .outerjoin(System, System.id == Candidate.system_id)
        .where(_among(Highlight.id, part))
        .order_by(Highlight.id)
    )
    return (
        (annotator, item, names.get(system), position if order_known else None, *mark)
        for annotator, item, system, order_known, position, *mark in _streamed(session, statement)
    )


def _streamed(session: Session, statement: Select[*Columns]) -> Iterable[Row[*Columns]]:
    """Rows, streamed; read on the connection, because the ORM would double the time."""
    return session.connection().execute(statement.execution_options(yield_per=2000))
