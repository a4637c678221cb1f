"""One item across its annotators: what each gave, said and left out, beside the final value, if there is one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd
from sqlalchemy import func, select
from sqlmodel import Session

from triptych.results import adjudication
from triptych.results.adjudication import ABOUT_ITEM, FinalValue
from triptych.results.disagreement import Disagreement
from triptych.results.frame.counted import counted_ratings, people_counted
from triptych.results.frame.highlights import HighlightedItem, highlights_of_item
from triptych.results.frame.loading import GIVEN_STATE, membership_of
from triptych.results.frame.model import Counted, Frame
from triptych.rubric.model import Criterion, Rubric
from triptych.rubric.scales import Choice
from triptych.storage.models import (
    SEEN,
    Assignment,
    AssignmentState,
    Candidate,
    Item,
    Membership,
    Person,
    Purpose,
    Slot,
    Study,
    System,
)
from triptych.study.system_names import system_names

ITEM, FINAL = "the item", "Final value"
UNSCORED = -1.0


@dataclass(frozen=True)
class ReviewLine:
    """An item in the list. score: mean distance of two annotators, None without two; notes: to the lead.

    final: recorded, asked for, or empty; retired: why the lead took it out.
    """

    item: str
    score: float | None
    rated: int
    skipped: int
    ignored: int
    notes: int
    final: str
    retired: str | None


@dataclass(frozen=True)
class ExplainedRating:
    """What an annotator wrote about one of their ratings; reasons: their texts."""

    annotator: str
    system: str
    criterion: str
    value: str
    reasons: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Remark:
    """A note to the lead, or why an annotator skipped or ignored the item or set a response aside."""

    annotator: str
    what: str
    text: str


@dataclass(frozen=True)
class Look:
    """All about one item: texts with everybody's highlights, a table annotator × criterion, what was said.

    ratings: a row per response and annotator, the final value last; asked: what a final value can be given for.
    """

    texts: HighlightedItem
    retired: str | None
    ratings: pd.DataFrame
    explained: tuple[ExplainedRating, ...]
    remarks: tuple[Remark, ...]
    final: FinalValue | None
    systems: dict[int, str]


def lines(session: Session, study: Study, disagreement: Disagreement, counted: Counted) -> list[ReviewLine]:
    """Every item, those with the greatest disagreement first, then those that nobody can disagree about yet."""
    scores = {row.item: row.score for row in disagreement.items}
    finals = adjudication.final_values(session, study)
    counts, notes = _counts(session, study, counted)
    main = select(Item.external_id, Item.retired, Item.retired_reason).where(*_main(study)).order_by(Item.id)
    every = [
        ReviewLine(
            item=item,
            score=scores.get(item),
            rated=counts[item, AssignmentState.submitted] + counts[item, AssignmentState.surplus],
            skipped=counts[item, AssignmentState.skipped],
            ignored=counts[item, AssignmentState.ignored],
            notes=notes[item],
            final="" if item not in finals else "asked for" if finals[item].waiting else "recorded",
            retired=(reason or "no reason given") if retired else None,
        )
        for item, retired, reason in session.execute(main)
    ]
    return sorted(every, key=lambda line: line.score if line.score is not None else UNSCORED, reverse=True)


def _main(study: Study) -> tuple[Any, ...]:
    return Item.study_id == study.id, Item.purpose == Purpose.main


def _counts(session: Session, study: Study, counted: Counted) -> tuple[Counter[tuple[str, str]], Counter[str]]:
    """(item, state) → annotations that count; item → how many carry a note."""
    state = GIVEN_STATE.label("given")  # grouped by its name: PostgreSQL takes two parameters for two values
    statement = (
        _work(study, counted, Item.external_id, state, func.count(), func.count(Assignment.note))
        .group_by(Item.external_id, "given")
        .order_by(Item.external_id)
    )
    counts: Counter[tuple[str, str]] = Counter()
    notes: Counter[str] = Counter()
    for item, state, count, with_note in session.execute(statement):
        counts[item, state] += count
        notes[item] += with_note
    return counts, notes


def _work(study: Study, counted: Counted, *columns: Any) -> Any:
    return (
        select(*columns)
        .select_from(Assignment)
        .join(Item, Item.id == Assignment.item_id)
        .join(Person, Person.id == Assignment.person_id)
        .outerjoin(Membership, membership_of())
        .where(Assignment.study_id == study.id, Assignment.purpose == Purpose.main, Assignment.state.in_(SEEN))
        .where(*people_counted(counted))
    )


def look(session: Session, study: Study, frame: Frame, item: str, counted: Counted) -> Look:
    """One item. Raises NotFound."""
    texts = highlights_of_item(session, study, item, counted)
    result = session.execute(
        select(Item.id, Item.retired, Item.retired_reason).where(*_main(study), Item.external_id == item)
    )
    item_id, retired, reason = result.one()
    names, final = system_names(session, study), adjudication.final_values(session, study, item).get(item)
    codes = select(System.blind_code).join(Candidate, Candidate.system_id == System.id)
    here = {code: names[code] for code in sorted(session.scalars(codes.where(Candidate.item_id == item_id)))}
    rows = counted_ratings(frame, counted_all(counted))
    rows = rows[rows["item"] == item].sort_values(["system", "annotator"])
    return Look(
        texts=texts,
        retired=(reason or "no reason given") if retired else None,
        ratings=_table(frame, rows, here, final),
        explained=tuple(_explained(frame, rows, here)),
        remarks=tuple(_remarks(session, study, frame.rubric, item, counted, here)),
        final=final,
        systems=here,
    )


def counted_all(counted: Counted) -> Counted:
    """The same, of every item: a lead who opens one that most ignored wants to read it."""
    return Counted(counted.kinds, True, counted.with_excluded, counted.annotators)


def _table(frame: Frame, rows: pd.DataFrame, names: dict[int, str], final: FinalValue | None) -> pd.DataFrame:
    """Response, annotator, then a column per criterion."""
    asked = frame.rubric.asked(frame.round)
    cells: dict[tuple[int, str], dict[str, str]] = defaultdict(dict)
    for row in rows.itertuples(index=False):
        cells[row.system, row.annotator][row.criterion] = spoken(frame.rubric, row.criterion, value_of(row))
    for (code, criterion), value in (final.values if final else {}).items():
        cells[code, FINAL][criterion] = spoken(frame.rubric, criterion, value)
    ordered = sorted(cells, key=lambda cell: (cell[0], cell[1] == FINAL, cell[1]))
    return pd.DataFrame(
        [
            {
                "Response": names.get(code, ITEM),
                "Annotator": annotator,
                **{criterion.title: cells[code, annotator].get(criterion.key, "") for criterion in asked},
            }
            for code, annotator in ordered
        ],
        columns=["Response", "Annotator", *(criterion.title for criterion in asked)],
    )


def value_of(row: Any) -> float | str | None:
    """The value of a row of the frame; None where it is missing without an option."""
    if isinstance(row.option, str):
        return row.option
    return None if pd.isna(row.value) else row.value


def spoken(rubric: Rubric, key: str, value: float | str | None) -> str:
    """A value as the rubric names it."""
    if value is None:
        return "not rated"
    scale = next(criterion.scale for criterion in rubric.criteria if criterion.key == key)
    if isinstance(scale, Choice):
        return next((option.title for option in scale.options if option.key == value), str(value))
    return f"{value:g}"


def _explained(frame: Frame, rows: pd.DataFrame, names: dict[int, str]) -> Iterator[ExplainedRating]:
    criteria = {criterion.key: criterion for criterion in frame.rubric.criteria}
    explained = rows[(rows["explanation"] != "") | (rows["reasons"] != "")]
    for row in explained.itertuples(index=False):
        titles = _reasons(criteria[row.criterion])
        yield ExplainedRating(
            annotator=row.annotator,
            system=names.get(row.system, ITEM),
            criterion=criteria[row.criterion].title,
            value=spoken(frame.rubric, row.criterion, value_of(row)),
            reasons=tuple(titles.get(key, key) for key in row.reasons.split(",") if key),
            text=row.explanation,
        )


def _reasons(criterion: Criterion) -> dict[str, str]:
    """Key → text of every ready-made reason of a criterion."""
    parts = getattr(criterion.scale, "options", ()) or getattr(criterion.scale, "points", ())
    return {reason.key: reason.text for part in parts if part.ask for reason in part.ask.reasons}


def _remarks(
    session: Session, study: Study, rubric: Rubric, item: str, counted: Counted, names: dict[int, str]
) -> Iterator[Remark]:
    columns = (Assignment.id, Person.pseudonym, GIVEN_STATE.label("state"), Assignment.reason, Assignment.note)
    work = session.execute(
        _work(study, counted, *columns).where(Item.external_id == item).order_by(Assignment.submitted_at)
    ).all()
    aside = _set_aside(session, [row.id for row in work])
    offers = {AssignmentState.skipped: rubric.skip, AssignmentState.ignored: rubric.ignore_item}
    for row in work:
        if row.state in offers:
            yield Remark(row.pseudonym, row.state, _titled(offers[row.state], row.reason))
        for code, reason in aside[row.id]:
            yield Remark(row.pseudonym, f"set {names[code]} aside", _titled(rubric.set_aside_response, reason))
        if row.note:
            yield Remark(row.pseudonym, "note to the lead", row.note)


def _set_aside(session: Session, ids: list[int]) -> dict[int, list[tuple[int, str]]]:
    statement = (
        select(Slot.assignment_id, System.blind_code, Slot.set_aside)
        .join(Candidate, Candidate.id == Slot.candidate_id)
        .join(System, System.id == Candidate.system_id)
        .where(Slot.assignment_id.in_(ids), Slot.set_aside.is_not(None))
        .order_by(System.blind_code)
    )
    result: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for assignment_id, code, reason in session.execute(statement):
        result[assignment_id].append((code, reason))
    return result


def _titled(offer: Any, key: str | None) -> str:
    """The title of a reason that the rubric offers."""
    reasons = {reason.key: reason.title for reason in offer.reasons} if offer else {}
    return reasons.get(key, key or "")


def about(criterion: Criterion, systems: dict[int, str]) -> dict[int, str]:
    """For what a criterion has final values: blind code → name, or the item as a whole."""
    return systems if criterion.per_response else {ABOUT_ITEM: ITEM}
