"""The conclusion of a large study: computed by a background thread, and shown until the next one is complete. Each
process has at most one such thread per study, and one of them computes at a time. It reads a consistent state of the
database in its own session, and its result names the last event included. It continues if the page is left.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Engine, select
from sqlmodel import Session

from triptych import clock
from triptych.errors import TriptychError
from triptych.results.caveats import caveats
from triptych.results.frame.model import Counted, Frame, StudyName, name_of
from triptych.results.frame.upkeep import frame_of
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.warnings import Finding
from triptych.storage import database
from triptych.storage.events import EventKind
from triptych.storage.models import Event, Study
from triptych.study.system_names import system_names

LARGE = 30_000  # ratings up to which a page computes while it is drawn
MAX_KEPT = 3  # conclusions per study, each with its numbers
PAUSE = 4  # pause before the study's next conclusion, as a multiple of the time that the last one took
HEAD_START = 1.0  # seconds before the thread begins, so that the page that started it is drawn first
RETRY_SECONDS = 60.0  # pause after a conclusion that failed
FAILED = "The results could not be computed. The server's log shows the reason; the next attempt is in a minute."
# annotations, arrivals and comments since: an earlier conclusion is still true up to its last event
NEWS = (
    EventKind.annotation_edited,
    EventKind.commented,
    EventKind.consent_refused,
    EventKind.entry_test_failed,
    EventKind.ignored,
    EventKind.joined,
    EventKind.skipped,
    EventKind.submitted,
    EventKind.surplus,
)
# after any other kind of event, such as an exclusion, an erasure or an amendment, earlier conclusions are not shown
HARMLESS = (
    *NEWS,
    EventKind.check_answered_again,
    EventKind.consented,
    EventKind.entry_test_passed,
    EventKind.entry_test_started,
    EventKind.instructions_read,
    EventKind.invited,
    EventKind.link_issued,
    EventKind.reminded,
    EventKind.reserved,
    EventKind.results_opened,
    EventKind.token_made,
    EventKind.viewer_added,
    EventKind.workbook_made,
)
STEPS: dict[str, Callable[[StudyAnalysis], object]] = {
    "means, intervals and agreement": lambda analysis: analysis.criteria,
    "differences between systems": lambda analysis: analysis.contrasts,
    "places on the screen": lambda analysis: analysis.positions,
    "annotators": lambda analysis: analysis.annotators,
}
READING, TRUST = "ratings", "what can be trusted"
TOTAL_STEPS = len(STEPS) + 2
log = logging.getLogger("triptych.results.conclusion")


@dataclass(frozen=True, eq=False)
class Conclusion:
    """The content of a study's first screen as of one event.

    hash: of that event, whose number is the frame's; at: when it was computed.
    """

    analysis: StudyAnalysis
    findings: tuple[Finding, ...]
    hash: str
    at: datetime

    @property
    def number(self) -> int:
        return self.analysis.frame.number

    @property
    def annotations(self) -> int:
        return len(self.analysis.work)

    @property
    def last_at(self) -> datetime:
        """When the last annotation that counts was submitted."""
        last: datetime = self.analysis.work["submitted_at"].max().to_pydatetime()
        return last


@dataclass(frozen=True)
class StepAtWork:
    """Progress of the thread; step: what is computed now; done: its number among TOTAL_STEPS."""

    step: str
    done: int


@dataclass(frozen=True)
class Latest:
    """conclusion: the last complete one that may be shown; current: whether nothing came in since that it counts.

    progress: progress of the thread at work on this study, if there is one; failure: why there is no newer conclusion.
    """

    conclusion: Conclusion | None
    current: bool
    progress: StepAtWork | None
    failure: str = ""


Source = Callable[[Session, Study], Frame]
Asked = tuple[Source, Counted]


class _Shelf:
    """The state of one study: its conclusions, the thread at work, when the next conclusion may begin."""

    def __init__(self) -> None:
        self.conclusions: dict[Asked, Conclusion] = {}
        self.thread: threading.Thread | None = None
        self.progress: StepAtWork | None = None
        self.begins_at = 0.0
        self.failure = ""


_shelves: dict[StudyName, _Shelf] = {}
_lock = threading.Lock()
_turn = threading.Lock()  # of the thread that computes: several at once keep pages of others waiting for seconds


def latest(session: Session, study: Study, counted: Counted, source: Source = frame_of) -> Latest:
    """The last conclusion under these filters; starts the next one if news came in since and no thread is running.

    source: returns the frame that the conclusion is computed from.
    """
    asked, name = (source, counted), name_of(study)
    with _lock:
        shelf = _shelves.setdefault(name, _Shelf())
        conclusion = shelf.conclusions.get(asked)
    if conclusion and not _may_be_shown(session, study, conclusion):
        with _lock:
            shelf.conclusions.pop(asked, None)
        conclusion = None
    current = conclusion is not None and not _came_in(session, study, conclusion, Event.kind.in_(NEWS))
    with _lock:
        is_due = time.monotonic() >= shelf.begins_at or (conclusion is None and not shelf.failure)
        if not current and shelf.thread is None and is_due:
            shelf.progress, shelf.failure = StepAtWork(READING, 0), ""
            work = (session.get_bind().engine, study.id, shelf, asked)
            shelf.thread = threading.Timer(HEAD_START, _conclude, work)
            shelf.thread.name, shelf.thread.daemon = "conclusion", True
            shelf.thread.start()
        return Latest(conclusion, current, shelf.progress, shelf.failure)


def _may_be_shown(session: Session, study: Study, conclusion: Conclusion) -> bool:
    """Whether the study's log still contains the conclusion's last event, and only harmless ones came in since."""
    last = select(Event.hash).where(Event.study_id == study.id, Event.number == conclusion.number)
    if session.scalars(last).first() != conclusion.hash:
        return False  # another state of the study was restored
    return not _came_in(session, study, conclusion, Event.kind.not_in(HARMLESS))


def _came_in(session: Session, study: Study, conclusion: Conclusion, which: ColumnElement[bool]) -> bool:
    """Whether an event that meets this condition came after the conclusion."""
    since = select(Event.id).where(Event.study_id == study.id, Event.number > conclusion.number, which)
    return session.scalars(since.limit(1)).first() is not None


def _conclude(engine: Engine, study_id: int, shelf: _Shelf, asked: Asked) -> None:
    """In the thread: one conclusion, or the reason why there is none."""
    conclusion, failure = None, ""
    with _turn:
        began = time.monotonic()
        try:
            conclusion = _conclusion(engine, study_id, shelf, asked)
        except TriptychError as error:
            failure = str(error)
        except Exception:
            log.exception("The conclusion of study %d could not be computed.", study_id)
            failure = FAILED
        ended = time.monotonic()
    with _lock:
        if conclusion:
            shelf.conclusions.pop(asked, None)
            shelf.conclusions[asked] = conclusion
            while len(shelf.conclusions) > MAX_KEPT:
                del shelf.conclusions[next(iter(shelf.conclusions))]
        shelf.begins_at = ended + (RETRY_SECONDS if failure else PAUSE * (ended - began))
        shelf.thread, shelf.progress, shelf.failure = None, None, failure


def _conclusion(engine: Engine, study_id: int, shelf: _Shelf, asked: Asked) -> Conclusion | None:
    """None if the study or its log changed while it was read; the page then asks again."""
    source, counted = asked
    with database.reading(engine) as session:
        database.see_one_state(session)
        study = session.get(Study, study_id)
        if study is None:
            return None
        frame = source(session, study)
        head = select(Event.number, Event.hash).where(Event.study_id == study.id).order_by(Event.number.desc())
        number, chained = session.execute(head.limit(1)).first() or (0, "")
        if frame.number != number:
            return None
        analysis = StudyAnalysis(frame, counted, system_names(session, study))
        for place, (step, compute) in enumerate(STEPS.items(), 1):
            shelf.progress = StepAtWork(step, place)
            compute(analysis)
        shelf.progress = StepAtWork(TRUST, TOTAL_STEPS - 1)
        findings = caveats(session, study, analysis)
    return Conclusion(analysis, findings, chained, clock.now())
