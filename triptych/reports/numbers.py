"""The numbers of a report by place; tables and texts print from this list, figures draw what it is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from triptych.results.study_analysis import StudyAnalysis
from triptych.stats.analysis.listing import Listing
from triptych.stats.analysis.statistics import Number
from triptych.stats.analysis.study import BesideRatings

HEADER = ("snapshot", "part", "criterion", "system", "baseline", "statistic", "value", "style", "printed")


@dataclass(frozen=True)
class Book:
    """The numbers of one report, in the order of results.csv and by place."""

    numbers: tuple[Number, ...]

    @classmethod
    def of(cls, analysis: StudyAnalysis, beside: BesideRatings | None = None) -> Book:
        return cls(tuple(Listing(analysis, analysis.names, beside or BesideRatings()).numbers()))

    @cached_property
    def places(self) -> dict[tuple[str, ...], Number]:
        return {number.place: number for number in self.numbers}

    def get(self, part: str, criterion: str, statistic: str, system: str = "", baseline: str = "") -> Number | None:
        return self.places.get((part, criterion, system, baseline, statistic))

    def __getitem__(self, place: tuple[str, ...]) -> Number:
        """book[part, criterion, statistic, system, baseline]; the last two may be omitted."""
        part, criterion, statistic, *names = place
        system, baseline = (*names, "", "")[:2]
        return self.places[part, criterion, system, baseline, statistic]

    def defined(self, part: str, statistic: str, criterion: str = "") -> bool:
        """Whether a statistic is defined anywhere, or anywhere under one criterion."""
        return any(number.value is not None for number in self._of(part, statistic, criterion))

    def reasons(self, part: str, statistic: str, criterion: str = "") -> tuple[str, ...]:
        """The reasons why a statistic is undefined in some places, each once."""
        undefined = (number for number in self._of(part, statistic, criterion) if number.value is None)
        return tuple(dict.fromkeys(number.printed for number in undefined))

    def _of(self, part: str, statistic: str, criterion: str) -> Iterator[Number]:
        return (
            number
            for number in self.numbers
            if (number.part, number.statistic) == (part, statistic) and criterion in ("", number.criterion)
        )
