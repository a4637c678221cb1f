"""Every number that a report prints, once: where it stands, its value, and how it is written.

All files of a report print from this list, so a number is the same everywhere; `recompute`, the script that goes with
the report, makes the list again from the ratings alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from triptych.analyses import StudyAnalysis
from triptych.analyses.contrasts import Contrast
from triptych.analysis.coefficients import AgreementTable
from triptych.analysis.comparison import Dominance, SignedRank
from triptych.analysis.descriptive import MajorityShare, Shares, Summary
from triptych.analysis.intervals import Estimate, Interval
from triptych.findings import Agreement, CriterionResult, SystemResult
from triptych.reports.recompute import written
from triptych.results import ABOUT_ITEM, LETTERS

HEADER = ("snapshot", "part", "criterion", "system", "baseline", "statistic", "value", "style", "printed")
WITHOUT_TABLE = ("percent", "alpha")
NO_ANSWER = "Not defined: every answer is marked missing."


@dataclass(frozen=True)
class Number:
    """One number of a report. value: None where it is not defined; `printed` then says why, in words.

    criterion: its key. system, baseline: names that may be written, or a place on screen. style: see `written`.
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


@dataclass(frozen=True)
class Book:
    """The numbers of one report, to be looked up by their place."""

    numbers: tuple[Number, ...]
    places: dict[tuple[str, ...], Number]

    @classmethod
    def of(cls, found: StudyAnalysis) -> Book:
        numbers = tuple(numbers_of(found))
        return cls(numbers, {(n.part, n.criterion, n.system, n.baseline, n.statistic): n for n in numbers})

    def get(self, part: str, criterion: str, statistic: str, system: str = "", baseline: str = "") -> Number | None:
        return self.places.get((part, criterion, system, baseline, statistic))

    def __getitem__(self, place: tuple[str, ...]) -> Number:
        """book[part, criterion, statistic, system, baseline]; the last two may be left out."""
        part, criterion, statistic, *names = place
        system, baseline = (*names, "", "")[:2]
        return self.places[part, criterion, system, baseline, statistic]


def numbers_of(found: StudyAnalysis) -> Iterator[Number]:
    """The whole list, in the order of results.csv."""
    yield from _counts(found)
    for result in found.criteria:
        yield from chain.from_iterable(_system(found, result, one) for one in result.systems)
        yield from _positions(result)
    for contrast in found.contrasts:
        yield from _contrast(found, contrast)
    for agreement in found.agreement:
        yield from _agreement(agreement)


def _counts(found: StudyAnalysis) -> Iterable[Number]:
    place = Place("study")
    counted = {
        "annotations": found.n_annotations,
        "ratings": found.n_ratings,
        "items": found.n_items,
        "annotators": found.n_annotators,
    }
    return (place.number(name, count, "count") for name, count in counted.items())


def name_of(found: StudyAnalysis, code: int) -> str:
    """A system's name that may be written; nothing for the item itself."""
    return "" if code == ABOUT_ITEM else found.names[code]


def _system(found: StudyAnalysis, result: CriterionResult, one: SystemResult) -> Iterator[Number]:
    place = Place("systems", result.criterion.key, name_of(found, one.system))
    style = "share" if result.share else "number"
    yield place.number("n", one.n, "count")
    yield place.number("missing", one.missing, "count")
    summary, defined = one.summary, isinstance(one.summary, Summary)
    yield place.number("mean", summary.mean if defined else summary, style)
    if not result.share:
        spread = summary.sd if defined else summary
        yield place.number("median", summary.median if defined else summary, "number")
        yield place.number("sd", "Not defined for a single rating." if spread is None else spread, "number")
    yield from place.limits("interval", one.interval, style)
    for point, count in zip(result.points, one.counts, strict=False):
        yield place.number(f"answers {point:g}", count, "count")
    if isinstance(one.shares, Shares):
        for option in one.shares.options:
            yield place.number(f"answers {option.option}", option.count, "count")
            yield place.number(f"share {option.option}", NO_ANSWER if option.share is None else option.share, "share")
    if isinstance(one.majority, MajorityShare):
        yield place.number("positive by majority", one.majority.positive, "count")
        yield place.number("no majority", one.majority.undecided, "count")
        yield place.number("items voted on", one.majority.items, "count")
        yield place.number("share positive by majority", one.majority.share, "share")


def _positions(result: CriterionResult) -> Iterator[Number]:
    style = "points" if result.share else "difference"
    for one in () if isinstance(result.positions, str) else result.positions:
        place = Place("order", result.criterion.key, f"Response {LETTERS[one.position]}")
        yield place.number("n", one.n, "count")
        yield place.number("from own mean", one.mean, style)


def _contrast(found: StudyAnalysis, one: Contrast) -> Iterator[Number]:
    place = Place("contrasts", one.criterion, name_of(found, one.system), name_of(found, one.baseline))
    style = "points" if one.share else "difference"
    difference = one.difference
    if not isinstance(difference, Estimate):
        yield place.number("difference", difference, style)
        return
    yield place.number("pairs", difference.n, "count")
    yield place.number("difference", difference.mean, style)
    yield from place.limits("these annotators", difference.these, style)
    yield from place.limits("annotators like these", difference.alike, style)
    undefined = difference.alike.sentence
    yield place.number("p", undefined if one.p is None else one.p, "p")
    yield place.number("p Holm", undefined if one.holm is None else one.holm, "p")
    if isinstance(one.dominance, Dominance):
        yield place.number("wins", one.dominance.wins, "count")
        yield place.number("ties", one.dominance.ties, "count")
        yield place.number("losses", one.dominance.losses, "count")
    ranks, defined = one.signed_rank, isinstance(one.signed_rank, SignedRank)
    yield place.number("signed-rank effect", ranks.effect if defined else ranks, "number")
    yield place.number("signed-rank p", ranks.p if defined else ranks, "p")


def _agreement(found: Agreement) -> Iterator[Number]:
    place = Place("agreement", found.criterion)
    yield place.number("units", found.units, "count")
    yield from _coefficients(place, found.table, WITHOUT_TABLE)
    if found.category is not None:
        yield from _coefficients(place, found.category, ("alpha",), "with missing as a category: ")


def _coefficients(
    place: Place, table: AgreementTable | str, wanted: tuple[str, ...], before: str = ""
) -> Iterator[Number]:
    """The coefficients wanted, or the words why there is no table. WITHOUT_TABLE stands for all that there are."""
    if isinstance(table, str):
        yield from (place.number(f"{before}{key}", table, "number") for key in wanted)
        return
    for one in table.coefficients:
        if one.key in wanted or wanted == WITHOUT_TABLE:
            style = "share" if one.key == "percent" else "number"
            yield place.number(f"{before}{one.key}", one.value, style)
            yield from place.limits(f"{before}{one.key}", one.interval, style)
