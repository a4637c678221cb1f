"""The numbers of the results page and of reports, each in a row with its interval."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlmodel import Session

from triptych.reports.further import further_of
from triptych.reports.numbers import Book
from triptych.results.frame.counted import kinds_by_default
from triptych.results.frame.model import Counted
from triptych.results.frame.upkeep import frame_of
from triptych.results.pay import meter_of
from triptych.results.study_analysis import StudyAnalysis, analyse
from triptych.scripting.messages import Results
from triptych.stats.analysis.collection import Collected
from triptych.stats.analysis.statistics import Number
from triptych.storage.models import Study
from triptych.study.settings import settings_of
from triptych.study.system_names import system_names

COLUMNS = ("part", "criterion", "system", "baseline", "statistic", "value", "low", "high", "text")
LOW, HIGH = " low", " high"


@dataclass(frozen=True)
class ReadNumbers:
    """The numbers, and how far collection was when they were read; None where there is no rating to look at."""

    results: Results
    collection: Collected | None


def read(session: Session, study: Study) -> ReadNumbers:
    """The numbers of the results page and of a report made now, with the default filters."""
    frame = frame_of(session, study)
    analysis = analyse(frame, Counted(kinds_by_default(study)), system_names(session, study))
    rows: list[list[str | float | None]] = []
    collection = None
    if not frame.ratings.empty:
        collection = analysis.collection
        pay = meter_of(settings_of(study).pay, frame, analysis.scope.kinds)
        further = further_of(session, study, analysis, pay)
        rows = with_intervals(Book.of(analysis, further.numbers).numbers)
    blind = study.unblinded_at is None
    return ReadNumbers(Results(event_number=frame.number, blind=blind, columns=list(COLUMNS), rows=rows), collection)


def listed(analysis: StudyAnalysis) -> list[list[str | float | None]]:
    """The numbers of an analysis alone."""
    return with_intervals(Book.of(analysis).numbers)


def with_intervals(numbers: Iterable[Number]) -> list[list[str | float | None]]:
    """A row for each number; the ends of an interval are in the row of what they are about."""
    by_place = {number.place: number for number in numbers}
    ends = {(*place[:4], f"{place[4]}{end}") for place in by_place for end in (LOW, HIGH) if not place[4].endswith(end)}
    rows: list[list[str | float | None]] = []
    for place, number in by_place.items():
        if place in ends and (*place[:4], place[4].removesuffix(LOW).removesuffix(HIGH)) in by_place:
            continue
        low, high = (by_place.get((*place[:4], f"{place[4]}{end}")) for end in (LOW, HIGH))
        interval = [None if end is None else end.value for end in (low, high)]
        rows.append([*place, number.value, *interval, number.printed])
    return rows
