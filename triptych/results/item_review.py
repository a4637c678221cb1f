"""One item across its annotators: everyone's answers, explanations and omissions, and the final value, if any."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sqlalchemy import Select, SQLColumnExpression, func, select
from sqlmodel import Session

from triptych.annotate import comments
from triptych.results import adjudication
from triptych.results.adjudication import FinalValue
from triptych.results.disagreement import Disagreement
from triptych.results.frame.counted import counted_ratings, people_counted
from triptych.results.frame.highlights import HighlightedItem, highlights_of_item, main_item
from triptych.results.frame.loading import GIVEN_STATE, select_work
from triptych.results.frame.model import ABOUT_ITEM, Counted, Frame
from triptych.rubric.model import Criterion, Rubric, SetAside
from triptych.rubric.scales import Best, Choice, as_typed
from triptych.storage.models import (
    SEEN,
    Assignment,
    AssignmentState,
    Candidate,
    Item,
    Person,
    Purpose,
    Slot,
    Study,
    System,
)

ITEM, FINAL, RESPONSE = "the item", "Final value", "Response"
FAR_SHARE = 0.25  # distance from the median, as a share of the scale, from which a value is far
UNSCORED = -1.0


@dataclass(frozen=True)
class ReviewLine:
    """An item in the list. score: mean distance of two annotators, None with fewer; notes: number of notes to the lead.

    final: state of the final value (recorded, asked for, or empty); comments: state of the comments (asked, answered,
    or empty); retired: why the lead took the item out.
    """

    item: str
    score: float | None
    rated: int
    skipped: int
    ignored: int
    notes: int
    final: str
    comments: str
    retired: str | None

    @property
    def is_open(self) -> bool:
        """Whether the item needs a decision: annotators differ or left a note, and there is no final value."""
        asks = bool(self.score) or self.skipped + self.ignored + self.notes > 0
        return asks and self.final != "recorded" and self.retired is None


@dataclass(frozen=True)
class GivenValue:
    """An annotator's value in the rubric's words; is_far: far from the median, or not the majority's choice."""

    annotator: str
    text: str
    is_far: bool


@dataclass(frozen=True)
class FinalQuestion:
    """A criterion, asked about a response or the item (code: blind code, 0 for the item), and the annotators' values.

    majority: the value that more than half and at least two annotators gave; median: median of the numbers if there is
    no majority.
    """

    code: int
    about: str
    criterion: Criterion
    values: tuple[GivenValue, ...]
    majority: float | str | None = None
    median: float | None = None

    @property
    def is_disputed(self) -> bool:
        """Whether there are values, but no value that a lead could accept without reading them."""
        return bool(self.values) and self.majority is None


@dataclass(frozen=True)
class ExplainedRating:
    """An annotator's explanation of one of their ratings; reasons: texts of the ticked reasons."""

    annotator: str
    system: str
    criterion: str
    value: str
    reasons: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Remark:
    """A note to the lead, or the reason why an annotator skipped or ignored the item or set a response aside."""

    annotator: str
    what: str
    text: str


@dataclass(frozen=True)
class Look:
    """One item across its annotators: texts with all highlights, a table of ratings, explanations and remarks.

    ratings: a row per response and annotator, the final value last; questions: the questions that a final value can
    answer, by criterion and then in the order of the texts. Responses are numbered in an order drawn for the item, so
    that no system is named or can be recognised from another item, even when the study is unblinded. Explanations
    are in this order too: rows of an imported study are in the order of systems in its file.
    """

    texts: HighlightedItem
    retired: str | None
    ratings: pd.DataFrame
    explained: tuple[ExplainedRating, ...]
    remarks: tuple[Remark, ...]
    final: FinalValue | None
    questions: tuple[FinalQuestion, ...]


def lines(session: Session, study: Study, disagreement: Disagreement, counted: Counted) -> list[ReviewLine]:
    """Every item, by decreasing disagreement; last, those with fewer than two annotators."""
    scores = {row.name: row.score for row in disagreement.items}
    finals = adjudication.final_values(session, study)
    counts, notes = _counts(session, study, counted)
    commented = _commented(session, study)
    main = select(Item.external_id, Item.retired, Item.retired_reason).order_by(Item.id)
    main = main.where(Item.study_id == study.id, Item.purpose == Purpose.main)
    every = [
        ReviewLine(
            item=item,
            score=scores.get(item),
            rated=counts[item, AssignmentState.submitted] + counts[item, AssignmentState.surplus],
            skipped=counts[item, AssignmentState.skipped],
            ignored=counts[item, AssignmentState.ignored],
            notes=notes[item],
            final="" if item not in finals else "asked for" if finals[item].waiting else "recorded",
            comments=commented.get(item, ""),
            retired=(reason or "no reason given") if retired else None,
        )
        for item, retired, reason in session.execute(main)
    ]
    return sorted(every, key=lambda line: line.score if line.score is not None else UNSCORED, reverse=True)


def _commented(session: Session, study: Study) -> dict[str, str]:
    """Item → state of its comments: asked, or answered if all annotators have answered."""
    waiting: dict[str, bool] = {}
    for thread in comments.threads(session, study):
        waiting[thread.item] = thread.is_waiting or waiting.get(thread.item, False)
    return {item: "asked" if waits else "answered" for item, waits in waiting.items()}


def _counts(session: Session, study: Study, counted: Counted) -> tuple[Counter[tuple[str, str]], Counter[str]]:
    """(item, state) → number of annotations that count; item → number of them with a note."""
    # grouped by the label's name: PostgreSQL would treat two parameters as different expressions
    state = GIVEN_STATE.label("given")
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


def _work(study: Study, counted: Counted, *columns: SQLColumnExpression[object]) -> Select[*tuple[Any, ...]]:
    main = Assignment.study_id == study.id, Assignment.purpose == Purpose.main
    return select_work(*columns).where(*main, Assignment.state.in_(SEEN), *people_counted(counted))


def look(session: Session, study: Study, frame: Frame, item: str, counted: Counted) -> Look:
    """One item. Raises NotFound."""
    texts = highlights_of_item(session, study, item, counted)
    row = main_item(session, study, item)
    final = adjudication.final_values(session, study, item).get(item)
    codes = select(System.blind_code).join(Candidate, Candidate.system_id == System.id)
    by_code = sorted(session.scalars(codes.where(Candidate.item_id == row.id)))
    here, named = _numbered(by_code, f"{study.seed}|look|{row.id}"), dict(zip(by_code, texts.candidates, strict=True))
    place = {name: number for number, name in enumerate((ITEM, *here.values()))}
    rows = counted_ratings(frame, counted_all(counted))
    rows = rows[rows["item"] == item].sort_values("annotator")
    return Look(
        texts=replace(texts, candidates=tuple(replace(named[code], system=name) for code, name in here.items())),
        retired=(row.retired_reason or "no reason given") if row.retired else None,
        ratings=_table(frame, rows, here, final),
        explained=tuple(sorted(_explained(frame, rows, here), key=lambda each: (each.annotator, place[each.system]))),
        remarks=tuple(_remarks(session, study, frame.rubric, item, counted, here)),
        final=final,
        questions=tuple(questions(frame, rows, here)),
    )


def _numbered(codes: Sequence[int], seed: str) -> dict[int, str]:
    """Blind code → Response 1, 2, …, in an order drawn for the item."""
    order = list(codes)
    random.Random(seed).shuffle(order)  # noqa: S311 (an order, no secret)
    return {code: f"{RESPONSE} {place}" for place, code in enumerate(order, 1)}


def questions(frame: Frame, rows: pd.DataFrame, here: dict[int, str]) -> Iterator[FinalQuestion]:
    """Every question about an item; rows: its ratings; here: blind code → name of the response on this page."""
    values: dict[tuple[int, str], list[tuple[str, float | str]]] = defaultdict(list)
    for row in rows.itertuples(index=False):
        value = value_of(row)
        if value is not None:
            values[row.system, row.criterion].append((row.annotator, value))
    for criterion in frame.rubric.asked(frame.round):
        for code, name in (here if criterion.per_response else {ABOUT_ITEM: ITEM}).items():
            yield _question(frame.rubric, criterion, code, name, values[code, criterion.key])


def _question(
    rubric: Rubric, criterion: Criterion, code: int, name: str, answers: list[tuple[str, float | str]]
) -> FinalQuestion:
    counts = Counter(value for _, value in answers)
    often, times = counts.most_common(1)[0] if counts else (None, 0)
    majority = often if times > 1 and 2 * times > len(answers) else None
    ordered = not isinstance(criterion.scale, Choice | Best)
    median = float(np.median([value for _, value in answers])) if ordered and answers else None
    low, high = criterion.scale.ends

    def is_far(value: float | str) -> bool:
        if median is None:
            return majority is not None and value != majority
        return abs(float(value) - median) > FAR_SHARE * (high - low)

    shown = (GivenValue(name, spoken(rubric, criterion.key, value), is_far(value)) for name, value in answers)
    return FinalQuestion(code, name, criterion, tuple(shown), majority, None if majority is not None else median)


def counted_all(counted: Counted) -> Counted:
    """These filters, but with ignored items: a lead who opens an item that most ignored wants to read it."""
    return Counted(counted.kinds, True, counted.with_excluded, counted.annotators)


def _table(frame: Frame, rows: pd.DataFrame, names: dict[int, str], final: FinalValue | None) -> pd.DataFrame:
    """Response, annotator, then a column per criterion."""
    asked = frame.rubric.asked(frame.round)
    cells: dict[tuple[int, str], dict[str, str]] = defaultdict(dict)
    for row in rows.itertuples(index=False):
        cells[row.system, row.annotator][row.criterion] = spoken(frame.rubric, row.criterion, value_of(row))
    for (code, criterion), value in (final.values if final else {}).items():
        cells[code, FINAL][criterion] = spoken(frame.rubric, criterion, value)
    place = {code: n for n, code in enumerate((ABOUT_ITEM, *names))}
    ordered = sorted(cells, key=lambda cell: (place[cell[0]], cell[1] == FINAL, cell[1]))
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
    if isinstance(scale, Best):
        return "best" if value else "not best"
    return as_typed(float(value))


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
    return {reason.key: reason.text for ask in criterion.scale.asks.values() for reason in ask.reasons}


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
        .order_by(Slot.position)
    )
    result: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for assignment_id, code, reason in session.execute(statement):
        result[assignment_id].append((code, reason))
    return result


def _titled(offer: SetAside | None, key: str | None) -> str:
    """The title of a reason that the rubric offers."""
    reasons: dict[str | None, str] = {reason.key: reason.title for reason in offer.reasons} if offer else {}
    return reasons.get(key, key or "")
