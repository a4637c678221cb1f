"""The comments of leads and annotators as rows of a CSV file."""

from __future__ import annotations

from collections.abc import Iterator

from sqlmodel import Session

from triptych.annotate import comments
from triptych.storage.models import Study

COMMENTS_HEADER = ("item_id", "annotator", "written_by", "role", "written_at", "text")


def export_comments(session: Session, study: Study) -> Iterator[tuple[str, ...]]:
    """A row per comment: the annotation it is about, who wrote it and when; the oldest of each annotation first."""
    for thread in comments.threads(session, study):
        for comment in thread.comments:
            role = "lead" if comment.from_lead else "annotator"
            yield thread.item, thread.annotator, comment.author, role, comment.at.isoformat(), comment.text
