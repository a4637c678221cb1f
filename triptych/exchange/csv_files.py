"""The CSV files of a study: its ratings, its highlights, and the comments of leads and annotators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sqlmodel import Session

from triptych.annotate import comments
from triptych.formats.long_csv import Cell, write_csv
from triptych.formats.ratings_csv import HIGHLIGHTS_HEADER, RATINGS_HEADER
from triptych.formats.writers.writing import in_blocks
from triptych.results.frame.csv_rows import export_highlights, export_ratings
from triptych.storage.models import Study

COMMENTS_HEADER = ("item_id", "annotator", "written_by", "role", "written_at", "text")


def _comments(session: Session, study: Study) -> Iterator[tuple[str, ...]]:
    """A row per comment: the annotation it is about, who wrote it and when; the oldest of each annotation first."""
    for thread in comments.threads(session, study):
        for comment in thread.comments:
            role = "lead" if comment.from_lead else "annotator"
            yield thread.item, thread.annotator, comment.author, role, comment.at.isoformat(), comment.text


# name → header, and the function that reads the rows
CSV_FILES: dict[str, tuple[Sequence[str], Callable[[Session, Study], Iterator[Sequence[Cell]]]]] = {
    "ratings": (RATINGS_HEADER, export_ratings),
    "highlights": (HIGHLIGHTS_HEADER, export_highlights),
    "comments": (COMMENTS_HEADER, _comments),
}


def csv_file(session: Session, study: Study, name: str) -> Iterator[bytes]:
    """One of CSV_FILES, in pieces."""
    header, rows_of = CSV_FILES[name]
    return in_blocks(write_csv(rows_of(session, study), header))
