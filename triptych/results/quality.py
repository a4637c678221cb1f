"""How annotators work: results of checks and entry tests, and diagnostics. This module only flags: excluding someone is
a lead's separate decision (`exclusions`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlmodel import Session

from triptych.annotate.checks import compared, not_retired
from triptych.results.annotators import repeated, speed_flag, speeds_of
from triptych.results.frame.counted import kinds_by_default
from triptych.results.frame.model import Counted, Frame
from triptych.results.frame.upkeep import twice_rated
from triptych.results.study_analysis import StudyAnalysis, analyse
from triptych.results.texts import texts_of
from triptych.stats.analysis.annotators import AnnotatorLook, Repeated
from triptych.stats.diagnostics import GOLD_SHARE, FlaggedRate, Speed, gold_accuracy
from triptych.stats.numbers import written
from triptych.stats.undefined import Undefined, or_undefined
from triptych.storage.models import (
    BEFORE_WORK,
    CHECK_PURPOSES,
    RATED,
    SEEN,
    Assignment,
    EntryAttempt,
    Membership,
    Person,
    Purpose,
    Role,
    Study,
)
from triptych.study.system_names import system_names

MAX_RATINGS = 30_000  # up to this number, annotators' diagnostics are computed while a lead waits
FAILED_ATTENTION = 2
SKIPPED_CHECKS = 2


@dataclass(frozen=True)
class Standing:
    """One annotator of a study: results of checks, and whether they were excluded, when and why.

    attention, attention_failed: attention checks shown, and how many were not answered as instructed. gold: accuracy on
    gold items. skipped: attention and gold checks that they skipped or ignored, which count as not answered.
    attempts: tries at the entry test. before_work: active seconds of training and entry test, which pay per item does
    not cover.
    """

    annotator: str
    attention: int = 0
    attention_failed: int = 0
    gold: FlaggedRate | Undefined = Undefined("No gold item yet.")
    skipped: int = 0
    attempts: tuple[EntryAttempt, ...] = ()
    before_work: float = 0
    excluded_at: datetime | None = None
    excluded_reason: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether the annotator has done nothing since joining."""
        has_checks = self.attention or isinstance(self.gold, FlaggedRate)
        return not (has_checks or self.attempts or self.excluded_at)

    @property
    def flags(self) -> Iterator[str]:
        """A sentence for each check that raises a flag."""
        if self.attention_failed >= FAILED_ATTENTION:
            yield f"{self.attention_failed} of {self.attention} attention checks failed."
        if isinstance(self.gold, FlaggedRate) and self.gold.flagged:
            rate = self.gold.rate
            yield f"{rate.hits} of {rate.n} gold items as agreed, {written(rate.high, 'share')} at best."
        if self.skipped >= SKIPPED_CHECKS:
            gold = self.gold.rate.n if isinstance(self.gold, FlaggedRate) else 0
            yield f"{self.skipped} of {self.attention + gold} checks skipped."


@dataclass(frozen=True)
class Line:
    """All diagnostics of one annotator; look, speed and repeated are None where there are no data yet."""

    standing: Standing
    look: AnnotatorLook | None
    speed: Speed | None
    repeated: Repeated | None

    @property
    def flags(self) -> tuple[str, ...]:
        """A sentence for each flag; none of them excludes anyone."""
        from_look = self.look.flags if self.look else ()
        from_speed = speed_flag(self.speed) if self.speed else ""
        return tuple(filter(None, (*from_look, from_speed, *self.standing.flags)))


def standings(session: Session, study: Study, kinds: Collection[str]) -> tuple[Standing, ...]:
    """Every annotator of these kinds, in the order in which they joined."""
    shown, met, skipped = _checked(session, study)
    attempts = _attempts(session, study)
    before = _before_work(session, study)
    annotators = (
        select(Membership.person_id, Person.pseudonym, Membership.excluded_at, Membership.excluded_reason)
        .join(Person, Person.id == Membership.person_id)
        .where(Membership.study_id == study.id, Membership.role == Role.annotator, Person.kind.in_(list(kinds)))
        .order_by(Membership.joined_at, Membership.id)
    )
    return tuple(
        Standing(
            name,
            shown[person, Purpose.attention],
            shown[person, Purpose.attention] - met[person, Purpose.attention],
            or_undefined(gold_accuracy, met[person, Purpose.gold], shown[person, Purpose.gold]),
            skipped[person],
            attempts.get(person, ()),
            before.get(person, 0),
            at,
            reason or "",
        )
        for person, name, at, reason in session.execute(annotators)
    )


def standings_counted(session: Session, study: Study, analysis: StudyAnalysis) -> list[tuple[str, Standing]]:
    """Annotators whose ratings count, as the frame calls them, and their standings."""
    every, called = standings(session, study, analysis.scope.kinds), analysis.frame.called
    named = [(called.get(standing.annotator, standing.annotator), standing) for standing in every]
    workers = {worker.annotator for worker in analysis.workers}
    return [(name, standing) for name, standing in named if name in workers]


def _checked(session: Session, study: Study) -> tuple[Counter[tuple[int, str]], Counter[tuple[int, str]], Counter[int]]:
    """(person, purpose) → checks shown, and checks answered as agreed; person → checks skipped or ignored.

    Retired ones count for nobody.
    """
    done = (Assignment.study_id == study.id) & Assignment.purpose.in_(CHECK_PURPOSES) & Assignment.state.in_(SEEN)
    done &= not_retired(study)
    as_agreed: dict[int, list[bool]] = defaultdict(list)
    for comparison in compared(session, done & Assignment.state.in_(RATED)):
        as_agreed[comparison.assignment_id].append(comparison.closeness != "different")
    shown, met, skipped = Counter[tuple[int, str]](), Counter[tuple[int, str]](), Counter[int]()
    checks = select(Assignment.id, Assignment.person_id, Assignment.purpose, Assignment.state).where(done)
    for assignment, person, purpose, state in session.execute(checks):
        shown[person, purpose] += 1
        met[person, purpose] += state in RATED and _is_met(purpose, as_agreed[assignment])
        skipped[person] += state not in RATED
    return shown, met, skipped


def _is_met(purpose: str, as_agreed: Sequence[bool]) -> bool:
    """Whether a check was answered as agreed.

    An attention check says what to answer, so every answer must match. Even careful people sometimes leave the ranges
    of gold items, so 70 % of the answers must match, as in a calibration.
    """
    least = 1 if purpose == Purpose.attention else GOLD_SHARE
    return sum(as_agreed) >= least * len(as_agreed)


def _attempts(session: Session, study: Study) -> dict[int, tuple[EntryAttempt, ...]]:
    statement = (
        select(Membership.person_id, EntryAttempt)
        .join(EntryAttempt, EntryAttempt.membership_id == Membership.id)
        .where(Membership.study_id == study.id)
        .order_by(EntryAttempt.number)
    )
    attempts: dict[int, tuple[EntryAttempt, ...]] = {}
    for person, attempt in session.execute(statement):
        attempts[person] = (*attempts.get(person, ()), attempt)
    return attempts


def _before_work(session: Session, study: Study) -> dict[int, float]:
    statement = (
        select(Assignment.person_id, func.sum(Assignment.active_seconds))
        .where(Assignment.study_id == study.id, Assignment.purpose.in_(BEFORE_WORK))
        .group_by(Assignment.person_id)
    )
    return {person: float(seconds) for person, seconds in session.execute(statement)}


def lines_of(
    session: Session, study: Study, analysis: StudyAnalysis, everybody: StudyAnalysis, twice: Frame
) -> list[Line]:
    """A line per annotator with data; flagged ones first, excluded ones last.

    analysis, everybody: the analyses without and with excluded annotators; twice: from `twice_rated`. Annotators who
    count are compared with each other, so that excluded ones do not make others look worse; excluded annotators are
    compared with everybody.
    """
    people, repeats = standings(session, study, analysis.scope.kinds), repeated(twice, everybody.scope)
    looks = {look.annotator: look for look in analysis.annotators}
    if any(standing.excluded_at for standing in people):
        looks |= {look.annotator: look for look in everybody.annotators if look.excluded}
    speeds = speeds_of(analysis.frame, everybody.scope, texts_of(session, study))
    speed = {} if isinstance(speeds, Undefined) else {row.annotator: row for row in speeds}
    every = [
        Line(row, looks.get(row.annotator), speed.get(row.annotator), repeats.get(row.annotator)) for row in people
    ]
    seen = [line for line in every if line.look or not line.standing.is_empty]
    return sorted(
        seen, key=lambda line: (line.standing.excluded_at is not None, not line.flags, line.standing.annotator)
    )


def flags_of(session: Session, study: Study, frame: Frame) -> dict[str, tuple[str, ...]]:
    """Pseudonym → a sentence for each flag; in a large study, only for flags of checks."""
    kinds = kinds_by_default(study)
    if len(frame.ratings) > MAX_RATINGS:
        return {row.annotator: tuple(row.flags) for row in standings(session, study, kinds)}
    names, twice = system_names(session, study), twice_rated(session, study, frame)
    analysis, everybody = (analyse(frame, Counted(kinds, with_excluded=excluded), names) for excluded in (False, True))
    return {line.standing.annotator: line.flags for line in lines_of(session, study, analysis, everybody, twice)}
