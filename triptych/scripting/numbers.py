"""The numbers of the results page and of reports, one row each, with intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlmodel import Session

from triptych.reports.further import further_of
from triptych.reports.numbers import Book
from triptych.results.frame.collection import collection
from triptych.results.frame.counted import kinds_by_default
from triptych.results.frame.model import Counted
from triptych.results.frame.upkeep import frame_of
from triptych.results.pay import meter_of
from triptych.results.study_analysis import analyse
from triptych.scripting.messages import Results
from triptych.stats.analysis.collection import Collected
from triptych.stats.analysis.statistics import Number
from triptych.storage.models import Study
from triptych.study.settings import settings_of
from triptych.study.system_names import system_names

COLUMNS = ("part", "criterion", "system", "baseline", "statistic", "value", "low", "high", "text")
LOW, HIGH = " low", " high"
MEAN, INTERVAL_OF_MEAN = "mean", "interval"
# named intervals, and the statistic that each is about
ESTIMATES = dict.fromkeys(("these annotators", "annotators like these", "equivalence interval"), "difference")
Row = list[str | float | None]
Numbers = dict[tuple[str, ...], Number]


def collected(session: Session, study: Study) -> Collected | None:
    """The state of collection, which the log records when results are opened; None if there is no rating."""
    frame = frame_of(session, study)
    return None if frame.ratings.empty else collection(frame.planned, frame.work, frame.settings.preregistration)


def read(session: Session, study: Study) -> Results:
    """The numbers of the results page and of a report made now, with the default filters."""
    frame = frame_of(session, study)
    analysis = analyse(frame, Counted(kinds_by_default(study)), system_names(session, study))
    rows: list[Row] = []
    if not frame.ratings.empty:
        pay = meter_of(settings_of(study).pay, frame, analysis.scope.kinds)
        further = further_of(session, study, analysis, pay)
        rows = with_intervals(Book.of(analysis, further.numbers).numbers)
    blind = study.unblinded_at is None
    return Results(event_number=frame.number, blind=blind, columns=list(COLUMNS), rows=rows)


def with_intervals(numbers: Iterable[Number]) -> list[Row]:
    """A row for each number, with the ends of its interval; a named interval has a row of its own."""
    by_place: Numbers = {number.place: number for number in numbers}
    rows: list[Row] = []
    for (*where, name), number in by_place.items():
        stem = name.removesuffix(LOW).removesuffix(HIGH)
        low, high = _ends(by_place, where, stem)
        if name == stem or not (low and high):
            if name == MEAN and not low:
                low, high = _ends(by_place, where, INTERVAL_OF_MEAN)
            rows.append([*where, name, number.value, _value(low), _value(high), number.printed])
        elif name.endswith(LOW) and (*where, stem) not in by_place and not _is_in_row_of_mean(stem, low):
            estimate = by_place.get((*where, ESTIMATES.get(stem, "")))
            text = low.printed if low.value is None else f"{low.printed} to {high.printed}"
            rows.append([*where, stem, _value(estimate), low.value, high.value, text])
    return rows


def _ends(by_place: Numbers, where: Sequence[str], statistic: str) -> tuple[Number | None, Number | None]:
    return by_place.get((*where, f"{statistic}{LOW}")), by_place.get((*where, f"{statistic}{HIGH}"))


def _value(number: Number | None) -> float | None:
    return None if number is None else number.value


def _is_in_row_of_mean(statistic: str, low: Number) -> bool:
    """Whether the mean's row shows this interval; an undefined one has a row of its own that gives the reason."""
    return statistic == INTERVAL_OF_MEAN and low.value is not None
