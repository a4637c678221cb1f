"""Items, ratings and highlights of a study in pages; systems have the names that leads may see at the time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import select
from sqlmodel import Session

from triptych.scripting.asking import Asker, study_of
from triptych.scripting.messages import TablePage, TableRows
from triptych.storage.database import see_one_state
from triptych.storage.models import Item, Purpose, Study
from triptych.study import lifecycle
from triptych.study.system_names import speaker_titles, system_names

ITEM_COLUMNS = ("item_id", "context", "system", "text", "meta", "extra_texts")


def items(session: Session, asker: Asker, page: TablePage) -> TableRows:
    """Items and their candidates, one row per candidate."""
    from triptych.exchange.exports import with_texts
    from triptych.formats.writers import task

    study = _study_of(session, asker, page)
    names, titles = system_names(session, study), speaker_titles(lifecycle.design_of(session, study).rubric, study)
    shown = (Item.study_id == study.id) & (Item.purpose == Purpose.main) & ~Item.retired & (Item.id > page.number)
    following = session.scalars(select(Item).where(shown).order_by(Item.id).limit(page.limit + 1)).all()
    rows = [
        # a conversation has one line per turn
        [item.item_id, task.context(item)[0], candidate.system, task.flat(candidate)[0], item.meta, item.extra_texts]
        for item in with_texts(session, following[: page.limit], names, titles)
        for candidate in item.candidates
    ]
    after = str(following[page.limit - 1].id) if len(following) > page.limit else None
    return TableRows(columns=list(ITEM_COLUMNS), rows=rows, next=after)


def ratings(session: Session, asker: Asker, page: TablePage) -> TableRows:
    """Ratings, one row per value; annotations are never split across pages."""
    from triptych.formats.ratings_csv import RATINGS_HEADER
    from triptych.results.frame.csv_rows import annotations_after, export_ratings

    study = _study_of(session, asker, page)
    part, has_more = annotations_after(session, study, page.number, page.limit)
    return _table(RATINGS_HEADER, export_ratings(session, study, part), part, has_more)


def highlights(session: Session, asker: Asker, page: TablePage) -> TableRows:
    """Highlights, one row each."""
    from triptych.formats.ratings_csv import HIGHLIGHTS_HEADER
    from triptych.results.frame.csv_rows import export_highlights, highlights_after

    study = _study_of(session, asker, page)
    part, has_more = highlights_after(session, study, page.number, page.limit)
    return _table(HIGHLIGHTS_HEADER, export_highlights(session, study, part), part, has_more)


def _study_of(session: Session, asker: Asker, page: TablePage) -> Study:
    """The study of the table, of which all queries then see one state."""
    see_one_state(session)
    return study_of(session, asker, page.study)


def _table(header: Sequence[str], rows: Iterable[Sequence[object]], part: range, has_more: bool) -> TableRows:
    return TableRows(
        columns=list(header), rows=[list(row) for row in rows], next=str(part.stop - 1) if has_more else None
    )
