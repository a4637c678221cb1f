"""Reports stored at one event: made once, kept with the study, never changed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from typing import TYPE_CHECKING, TypeVar
from zipfile import ZipFile

from sqlalchemy import ColumnElement, SQLColumnExpression, func, select
from sqlmodel import Session

from triptych import clock
from triptych.errors import NotFound
from triptych.results.frame.model import Counted
from triptych.storage.models import JsonObject, Snapshot, Study
from triptych.study import lifecycle

T = TypeVar("T")
PAGE = "report.html"
# parts of a page as report.html.j2 writes them, in which every text is escaped
EXCLUSION = re.compile('(?<=<li dir="auto">)((?:annotator|judge) [^:<]*): [^<]*')
DECISIONS = re.compile('<section>\\s*<h2 dir="auto">Who decided final values</h2>.*?</section>', re.DOTALL)
LARGEST_PAGE = 20_000_000  # bytes; a report may be from a capsule made by someone else

if TYPE_CHECKING:
    from triptych.reports.build import Report


@dataclass(frozen=True)
class Frozen:
    """A stored report without its file; size in bytes."""

    sha256: str
    event_number: int
    event_hash: str
    scope: JsonObject
    made_at: datetime
    made_by: str
    size: int

    @property
    def counted(self) -> Counted:
        """The filters."""
        sets = {name: frozenset(self.scope[name]) for name in ("kinds", "annotators")}
        return Counted(**{**self.scope, **sets})


def keep(session: Session, study: Study, report: Report, actor: str) -> None:
    """Store a report with its study. The same state of a study has a single snapshot, however often it is made."""
    lifecycle.lock(session, study.id)
    same_report = select(Snapshot.id).where(Snapshot.study_id == study.id, Snapshot.sha256 == report.sha256)
    if session.scalars(same_report).first() is None:
        session.add(
            Snapshot(
                study_id=study.id,
                event_number=report.event_number,
                event_hash=report.event_hash,
                scope=report.scope,
                sha256=report.sha256,
                made_at=clock.now(),
                made_by=actor,
                file=report.zip,
            )
        )


def listed(session: Session, study: Study) -> list[Frozen]:
    """The study's snapshots, newest first."""
    columns = ("sha256", "event_number", "event_hash", "scope", "made_at", "made_by")
    query = select(*(getattr(Snapshot, name) for name in columns), func.length(Snapshot.file))
    of_study = query.where(Snapshot.study_id == study.id).order_by(Snapshot.id.desc())
    return [Frozen(*row) for row in session.execute(of_study)]


def newest(session: Session, study: Study) -> str:
    """The hash of the newest snapshot. Raises NotFound."""
    return _newest(session, study, Snapshot.sha256)


def known_hash(session: Session, study: Study, sha256: str) -> str:
    """The hash, if the study has this snapshot. Raises NotFound."""
    return _newest(session, study, Snapshot.sha256, Snapshot.sha256 == sha256)


def file_of(session: Session, study: Study, sha256: str) -> bytes:
    """The zip file of a snapshot. Raises NotFound."""
    return _newest(session, study, Snapshot.file, Snapshot.sha256 == sha256)


def page_of(session: Session, study: Study, sha256: str) -> str:
    """The HTML page of a snapshot. Raises NotFound."""
    with ZipFile(BytesIO(file_of(session, study, sha256))) as packed:
        page = next((info for info in packed.infolist() if info.filename.rpartition("/")[2] == PAGE), None)
        if page is None or page.file_size > LARGEST_PAGE:
            raise NotFound("The report has no page that can be shown here.")
        return packed.read(page).decode()


def without_reasons(page: str) -> str:
    """The page without leads' reasons for final values and for excluding annotators or judges: they may quote texts."""
    return EXCLUSION.sub(r"\1", DECISIONS.sub("", page))


def _newest(session: Session, study: Study, column: SQLColumnExpression[T], *which: ColumnElement[bool]) -> T:
    query = select(column).where(Snapshot.study_id == study.id, *which).order_by(Snapshot.id.desc()).limit(1)
    row = session.scalars(query).first()
    if row is None:
        raise NotFound("The study has no such report. Create one on the page Report.")
    return row
