"""Items, ratings and highlights of a study in pages; systems have the names that leads may see at the time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import select
from sqlmodel import Session

from triptych.scripting.messages import TableRows
from triptych.storage.models import Candidate, Item, Purpose, Study, System, Turn
from triptych.study import lifecycle
from triptych.study.system_names import speaker_titles, system_names

ITEM_COLUMNS = ("item_id", "context", "system", "text", "meta", "extra_texts")


def items(session: Session, study: Study, number: int, count: int) -> TableRows:
    """One row per candidate of the items that annotators rate; a conversation has one line per turn."""
    names, titles = system_names(session, study), speaker_titles(lifecycle.design_of(session, study).rubric, study)
    shown = (Item.study_id == study.id) & (Item.purpose == Purpose.main) & ~Item.retired & (Item.id > number)
    page = session.scalars(select(Item).where(shown).order_by(Item.id).limit(count + 1)).all()
    of_page = [item.id for item in page[:count]]
    turns = _turns(session, of_page, titles)
    candidates = (
        select(Candidate.item_id, System.blind_code, Candidate.text, Candidate.turns)
        .join(System, System.id == Candidate.system_id)
        .where(Candidate.item_id.in_(of_page))
        .order_by(System.blind_code)  # the order in the file would reveal the systems
    )
    by_item = defaultdict(list)
    for item_id, code, text, spoken in session.execute(candidates):
        by_item[item_id].append([names[code], lines(spoken, titles) if spoken else text or ""])
    rows = [
        [item.external_id, turns.get(item.id, item.context), *candidate, item.meta, item.extra_texts]
        for item in page[:count]
        for candidate in by_item[item.id]
    ]
    return TableRows(columns=list(ITEM_COLUMNS), rows=rows, next=str(of_page[-1]) if len(page) > count else None)


def _turns(session: Session, item_ids: Sequence[int], titles: Mapping[str, str]) -> dict[int, str]:
    query = select(Turn.item_id, Turn.speaker, Turn.text).where(Turn.item_id.in_(item_ids)).order_by(Turn.position)
    spoken = defaultdict(list)
    for item_id, speaker, text in session.execute(query):
        spoken[item_id].append((speaker, text))
    return {item_id: lines(turns, titles) for item_id, turns in spoken.items()}


def lines(turns: Iterable[Sequence[str]], titles: Mapping[str, str]) -> str:
    """A conversation as text, one line per turn. titles: speakers → what they are called instead."""
    return "\n".join(f"{titles.get(speaker, speaker)}: {text}" for speaker, text in turns)


def ratings(session: Session, study: Study, number: int, count: int) -> TableRows:
    """All ratings of the next `count` annotations, with the columns of ratings.csv."""
    from triptych.formats.ratings_csv import RATINGS_HEADER
    from triptych.results.frame.csv_rows import annotations_after, export_ratings

    part, has_more = annotations_after(session, study, number, count)
    return _table(RATINGS_HEADER, export_ratings(session, study, part), part, has_more)


def highlights(session: Session, study: Study, number: int, count: int) -> TableRows:
    """The next `count` highlights, with the columns of highlights.csv."""
    from triptych.formats.ratings_csv import HIGHLIGHTS_HEADER
    from triptych.results.frame.csv_rows import export_highlights, highlights_after

    part, has_more = highlights_after(session, study, number, count)
    return _table(HIGHLIGHTS_HEADER, export_highlights(session, study, part), part, has_more)


def _table(header: Sequence[str], rows: Iterable[Sequence[Any]], part: range, has_more: bool) -> TableRows:
    return TableRows(
        columns=list(header), rows=[list(row) for row in rows], next=str(part.stop - 1) if has_more else None
    )
