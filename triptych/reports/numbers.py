"""Every number that a report prints, once: where it stands, its value, and how it is written.

All files of a report print from this list, so a number is the same everywhere; `recompute`, the script that goes with
the report, makes the list again from the ratings alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from triptych.reports.appendix import appendix
from triptych.reports.further import NOTHING, Further
from triptych.reports.places import Number, Place, name_of
from triptych.reports.recompute.agreement import AS_CATEGORY, SET_APART
from triptych.reports.trust import trust
from triptych.results.contrasts import Contrast
from triptych.results.criterion import Agreement, CriterionResult, SystemResult, within
from triptych.results.pay import PayMeter
from triptych.results.study_analysis import StudyAnalysis
from triptych.rubric.answers import LETTERS
from triptych.stats.comparison import Dominance, SignedRank
from triptych.stats.descriptive import MajorityShare, Shares, Summary
from triptych.stats.intervals import Estimate

HEADER = ("snapshot", "part", "criterion", "system", "baseline", "statistic", "value", "style", "printed")
NO_ANSWER = "Not defined: every answer is marked missing."


@dataclass(frozen=True)
class Book:
    """The numbers of one report, to be looked up by their place."""

    numbers: tuple[Number, ...]
    places: dict[tuple[str, ...], Number]

    @classmethod
    def of(cls, found: StudyAnalysis, pay: PayMeter | str = "", further: Further = NOTHING) -> Book:
        numbers = (
            *numbers_of(found),
            *appendix(found, further),
            *trust(found, further),
            *(() if isinstance(pay, str) else _pay(pay)),
        )
        return cls(numbers, {(n.part, n.criterion, n.system, n.baseline, n.statistic): n for n in numbers})

    def get(self, part: str, criterion: str, statistic: str, system: str = "", baseline: str = "") -> Number | None:
        return self.places.get((part, criterion, system, baseline, statistic))

    def __getitem__(self, place: tuple[str, ...]) -> Number:
        """book[part, criterion, statistic, system, baseline]; the last two may be left out."""
        part, criterion, statistic, *names = place
        system, baseline = (*names, "", "")[:2]
        return self.places[part, criterion, system, baseline, statistic]


def numbers_of(found: StudyAnalysis) -> Iterator[Number]:
    """What the tables of a paper print, in the order of results.csv; the appendix comes after it."""
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


def _pay(found: PayMeter) -> Iterator[Number]:
    """What the work pays, over everybody of the kinds that count."""
    place = Place("pay")
    yield place.number("annotators", len(found.annotators), "count")
    yield place.number("seconds per item, median", found.seconds, "number")
    yield place.number("per hour, lowest", found.quantiles["Lowest"], "number")
    yield place.number("per hour, median", found.quantiles["Median"], "number")


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
    hochberg = one.benjamini_hochberg
    yield place.number("p Benjamini-Hochberg", undefined if hochberg is None else hochberg, "p")
    if isinstance(one.dominance, Dominance):
        yield place.number("wins", one.dominance.wins, "count")
        yield place.number("ties", one.dominance.ties, "count")
        yield place.number("losses", one.dominance.losses, "count")
        balance = one.dominance.estimate.headline
        yield place.number("win minus loss", balance.mean, "number")
        yield from place.limits("win minus loss", within((-1, 1), balance), "number")
    ranks, defined = one.signed_rank, isinstance(one.signed_rank, SignedRank)
    yield place.number("signed-rank effect", ranks.effect if defined else ranks, "number")
    yield place.number("signed-rank p", ranks.p if defined else ranks, "p")


def _agreement(found: Agreement) -> Iterator[Number]:
    place = Place("agreement", found.criterion)
    yield from place.counted(found.table)
    if found.category is not None:
        yield from place.coefficients(found.category, AS_CATEGORY, only=("alpha",))
    if found.apart is not None:
        yield from place.counted(found.apart, SET_APART)
