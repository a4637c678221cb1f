"""One number of a report and where it stands: how it is looked up, and how it is written."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from triptych.results.frame.model import ABOUT_ITEM
from triptych.results.study_analysis import StudyAnalysis
from triptych.stats.coefficients import AgreementTable
from triptych.stats.intervals import Interval
from triptych.stats.numbers import written

WITHOUT_TABLE = ("percent", "alpha")


@dataclass(frozen=True)
class Number:
    """One number of a report. value: None where it is not defined; `printed` then says why, in words.

    criterion: its key. system, baseline: names that may be written, a place on screen, pseudonyms of annotators, or the
    criterion of a metric.
    style: see `written`.
    """

    part: str
    criterion: str
    system: str
    baseline: str
    statistic: str
    value: float | None
    style: str
    printed: str


@dataclass(frozen=True)
class Place:
    """Where numbers stand."""

    part: str
    criterion: str = ""
    system: str = ""
    baseline: str = ""

    def number(self, statistic: str, value: float | str, style: str) -> Number:
        """value: a number, or the words why there is none."""
        where = (self.part, self.criterion, self.system, self.baseline, statistic)
        if isinstance(value, str):
            return Number(*where, None, style, value)
        return Number(*where, float(value), style, written(value, style))

    def limits(self, name: str, found: Interval | tuple[float, float] | str, style: str) -> Iterator[Number]:
        """Both ends of an interval, or twice the words why there is none."""
        low: float | str
        if isinstance(found, Interval):
            low, high = (found.sentence,) * 2 if found.low is None else (found.low, found.high)
        else:
            low, high = (found,) * 2 if isinstance(found, str) else found
        yield self.number(f"{name} low", low, style)
        yield self.number(f"{name} high", high, style)

    def coefficients(
        self, table: AgreementTable | str, before: str = "", only: Collection[str] = ()
    ) -> Iterator[Number]:
        """Coefficients of agreement, all or some, or the words why there is no table."""
        if isinstance(table, str):
            yield from (self.number(f"{before}{key}", table, "number") for key in only or WITHOUT_TABLE)
            return
        for one in table.coefficients:
            if not only or one.key in only:
                style = "share" if one.key == "percent" else "number"
                yield self.number(f"{before}{one.key}", one.value, style)
                yield from self.limits(f"{before}{one.key}", one.interval, style)

    def counted(self, table: AgreementTable | str, before: str = "") -> Iterator[Number]:
        """The units behind a table of agreement, then all its coefficients."""
        yield self.number(f"{before}units", 0 if isinstance(table, str) else table.units, "count")
        yield from self.coefficients(table, before)


def name_of(found: StudyAnalysis, code: int) -> str:
    """A system's name that may be written; nothing for the item itself."""
    return "" if code == ABOUT_ITEM else found.names[code]
