"""Items, ratings and highlights of a study in pages; systems have the names that leads may see at the time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import select
from sqlmodel import Session

from triptych.scripting.messages import TableRows
from triptych.storage.models import Item, Purpose, Study
from triptych.study import lifecycle
from triptych.study.system_names import speaker_titles, system_names

ITEM_COLUMNS = ("item_id", "context", "system", "text", "meta", "extra_texts")


def items(session: Session, study: Study, number: int, count: int) -> TableRows:
    """One row per candidate of the items that annotators rate; a conversation has one line per turn."""
    from triptych.exchange.exports import with_texts
    from triptych.formats.writers import task

    names, titles = system_names(session, study), speaker_titles(lifecycle.design_of(session, study).rubric, study)
    shown = (Item.study_id == study.id) & (Item.purpose == Purpose.main) & ~Item.retired & (Item.id > number)
    page = session.scalars(select(Item).where(shown).order_by(Item.id).limit(count + 1)).all()
    rows = [
        [item.item_id, task.context(item)[0], candidate.system, task.flat(candidate)[0], item.meta, item.extra_texts]
        for item in with_texts(session, page[:count], names, titles)
        for candidate in item.candidates
    ]
    following = str(page[count - 1].id) if len(page) > count else None
    return TableRows(columns=list(ITEM_COLUMNS), rows=rows, next=following)


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


def _table(header: Sequence[str], rows: Iterable[Sequence[object]], part: range, has_more: bool) -> TableRows:
    return TableRows(
        columns=list(header), rows=[list(row) for row in rows], next=str(part.stop - 1) if has_more else None
    )
