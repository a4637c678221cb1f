"""Checked answers as rows of the tables. Quotes are cut from the stored text."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Select, bindparam, select
from sqlmodel import Session

from triptych.errors import InvalidAnnotation
from triptych.rubric.answers import CheckedAnswers, count_words
from triptych.storage.models import Assignment, Candidate, Item, Slot, Turn
from triptych.storage.writes import AnswerRows, Explained
from triptych.study.lifecycle import Design

# Limit for an annotation's highlights: quotes are stored, and a message of 15 KB can mark a long text 200 times.
# The larger of the two counts.
MOST_QUOTED = 100_000  # characters
TIMES_QUOTED = 5  # times the characters of the item's texts
_Text = tuple[str | None, Sequence[Sequence[str]] | None]  # a text, or turns (speaker, text)


def answer_rows(session: Session, design: Design, assignment_id: int, checked: CheckedAnswers) -> AnswerRows:
    """The rows of the checked answers. Raises InvalidAnnotation for a highlight that does not fit its text."""
    ratings, explanations = [], []
    for rating in checked.ratings:
        row = rating_row(design, rating.position, rating)
        ratings.append(row)
        if rating.reasons or rating.text:
            place = (rating.position, row["criterion_id"])
            explanations.append(Explained(place, rating.reasons, rating.text, count_words(rating.text)))
    highlights = highlight_rows(session, assignment_id, checked.highlights)
    return AnswerRows(ratings, explanations, highlights, checked.set_aside)


def rating_row(design: Design, position: int | None, rating: Any) -> dict[str, Any]:
    """The columns of one rating below its assignment; rating: has criterion, number, option and missing."""
    criterion = design.criteria[rating.criterion]
    option_id = None if rating.option is None else criterion.options[rating.option]
    values = {"number": rating.number, "option_id": option_id, "missing": rating.missing}
    return {"position": position, "criterion_id": criterion.id, **values}


def highlight_rows(
    session: Session, assignment_id: int, marks: Collection[tuple[int | None, Any]]
) -> list[dict[str, object]]:
    """Rows of the marks (position, span), each with its quote cut from the stored text.

    Raises InvalidAnnotation for a span outside its text, and for spans that together are many times as long as the
    texts.
    """
    if not marks:
        return []
    shown = session.connection().execute(_shown(), {"assignment": assignment_id})
    texts: dict[int | None, _Text] = {position: (text, turns) for position, text, turns in shown}
    if any(position is None for position, _ in marks):
        texts[None] = context_of(session, assignment_id)
    if sum(span.end - span.start for _, span in marks) > max(MOST_QUOTED, TIMES_QUOTED * _characters(texts)):
        raise InvalidAnnotation(f"The highlights mark the texts of this item more than {TIMES_QUOTED} times over.")
    rows = []
    for position, span in marks:
        text = _text_of(*texts[position], span.turn)
        if span.end > len(text):
            raise InvalidAnnotation(f"A highlight ends at {span.end}, but the text has {len(text)} characters.")
        place = {"position": position, "turn": span.turn, "start": span.start, "end": span.end}
        words = {"label": span.label, "quote": text[span.start : span.end], "comment": span.comment.strip()}
        rows.append({**place, **words, "unit": span.unit})
    return rows


def context_of(session: Session, assignment_id: int) -> tuple[str | None, list[tuple[str, str]]]:
    """The text of the item's context, if it has one, and its turns (speaker, text)."""
    run = session.connection().execute
    turns = [(row.speaker, row.text) for row in run(_turns(), {"assignment": assignment_id})]
    return run(_context(), {"assignment": assignment_id}).scalar_one() or None, turns


def _characters(texts: Mapping[int | None, _Text]) -> int:
    return sum(len(text or "") + sum(len(words) for _, words in turns or ()) for text, turns in texts.values())


@cache  # see `storage.writes`
def _shown() -> Select[int, str | None, list[list[str]] | None]:
    query = select(Slot.position, Candidate.text, Candidate.turns).join(Candidate, Candidate.id == Slot.candidate_id)
    return query.where(Slot.assignment_id == bindparam("assignment"))


@cache
def _context() -> Select[str]:
    query = select(Item.context).join(Assignment, Assignment.item_id == Item.id)
    return query.where(Assignment.id == bindparam("assignment"))


@cache
def _turns() -> Select[str, str]:
    query = select(Turn.speaker, Turn.text).join(Assignment, Assignment.item_id == Turn.item_id)
    return query.where(Assignment.id == bindparam("assignment")).order_by(Turn.position)


def _text_of(text: str | None, turns: Sequence[Sequence[str]] | None, turn: int | None) -> str:
    if turn is None and text is not None:
        return text
    if turn is not None and turns is not None and turn < len(turns):
        return turns[turn][1]
    raise InvalidAnnotation("A highlight names a turn that is not there.")
