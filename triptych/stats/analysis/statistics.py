"""What is printed of each result: one table of statistics per kind, which lists, tables and pages read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from ..intervals import Interval
from ..numbers import written
from ..undefined import Undefined

VALUE = "value"  # a share where the criterion's numbers are shares, else a number
CHANGE = "change"  # percentage points where they are shares, else a difference
SHARE_STYLES = {VALUE: "share", CHANGE: "points"}
POINT_STYLES = {VALUE: "number", CHANGE: "difference"}


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

    @property
    def place(self) -> tuple[str, str, str, str, str]:
        return self.part, self.criterion, self.system, self.baseline, self.statistic


@dataclass(frozen=True)
class Statistic:
    """One statistic of a result.

    name: in results.csv; style: see `written`, or VALUE or CHANGE; title: the head of its column, for those that a
    table of results shows; of: takes it from the result, None = not printed; limits: takes its interval, if it has one.
    """

    name: str
    style: str
    of: Callable[[Any], Any]
    title: str = ""
    limits: Callable[[Any], Any] | None = None


def part(result: str, name: str) -> Callable[[Any], Any]:
    """Takes a number from a part of a result, or the words why there is no such part."""

    def take(whole: Any) -> Any:
        value = getattr(whole, result)
        return value if isinstance(value, Undefined) else getattr(value, name)

    return take


@dataclass(frozen=True)
class Place:
    """The place of numbers. share: whether the numbers of the criterion are shares."""

    part: str
    criterion: str = ""
    system: str = ""
    baseline: str = ""
    share: bool = field(default=False, compare=False)

    def number(self, statistic: str, value: float | Undefined, style: str) -> Number:
        """value: a number, or the words why there is none."""
        where = (self.part, self.criterion, self.system, self.baseline, statistic)
        style = (SHARE_STYLES if self.share else POINT_STYLES).get(style, style)
        if isinstance(value, Undefined):
            return Number(*where, None, style, value.reason)
        return Number(*where, float(value), style, written(value, style))

    def limits(self, name: str, interval: Interval | tuple[float, float] | Undefined, style: str) -> Iterator[Number]:
        """Both ends of an interval, or twice the words why there is none."""
        low: float | Undefined
        high: float | Undefined
        if isinstance(interval, Interval):
            low = Undefined(interval.sentence) if interval.low is None else interval.low
            high = Undefined(interval.sentence) if interval.high is None else interval.high
        else:
            low, high = (interval, interval) if isinstance(interval, Undefined) else interval
        yield self.number(f"{name} low", low, style)
        yield self.number(f"{name} high", high, style)

    def all(self, statistics: tuple[Statistic, ...], result: Any, before: str = "") -> Iterator[Number]:
        """Every statistic of a result; `before` goes before their names."""
        for statistic in statistics:
            value = statistic.of(result)
            if value is None:
                continue
            yield self.number(f"{before}{statistic.name}", value, statistic.style)
            if statistic.limits:
                yield from self.limits(f"{before}{statistic.name}", statistic.limits(result), statistic.style)

    def all_or_why(self, statistics: tuple[Statistic, ...], result: Any, name: str) -> Iterator[Number]:
        """Every statistic of a result; of one that is not defined the words, in the place of the statistic `name`."""
        if isinstance(result, Undefined):
            style = next(statistic.style for statistic in statistics if statistic.name == name)
            yield self.number(name, result, style)
        else:
            yield from self.all(statistics, result)


def _plain(style: str, **attributes: str) -> tuple[Statistic, ...]:
    """Statistics of one style that are attributes of the result, by their names."""
    named = ((name.replace("_", " "), attribute) for name, attribute in attributes.items())
    return tuple(Statistic(name, style, attrgetter(attribute)) for name, attribute in named)


def _spread(result: Any) -> float | Undefined:
    if isinstance(result.summary, Undefined):
        return result.summary
    return Undefined("Not defined for a single rating.") if result.summary.sd is None else result.summary.sd


def _or_no_test(name: str) -> Callable[[Any], Any]:
    def take(contrast: Any) -> Any:
        value = getattr(contrast, name)
        return Undefined(contrast.difference.alike.sentence) if value is None else value

    return take


def _missing(look: Any) -> float | Undefined:
    return look.missing if isinstance(look.missing, Undefined) else look.missing.rate.share


STUDY = _plain("count", annotations="n_annotations", ratings="n_ratings", items="n_items", annotators="n_annotators")
SYSTEM = (
    Statistic("n", "count", attrgetter("n"), "n"),
    Statistic("missing", "count", attrgetter("missing"), "Missing"),
    Statistic("mean", VALUE, part("summary", "mean"), "Mean or share"),
    Statistic("median", "number", part("summary", "median"), "Median"),
    Statistic("sd", "number", _spread, "SD"),
    Statistic("alpha", "number", attrgetter("alpha.value"), "Alpha", attrgetter("alpha.interval")),
)
OF_POINTS = ("median", "sd")  # of SYSTEM, only where numbers are no shares
MAJORITY = (
    *_plain("count", positive_by_majority="positive", no_majority="undecided", items_voted_on="items"),
    *_plain("share", share_positive_by_majority="share"),
)
POSITION = (Statistic("n", "count", attrgetter("n")), Statistic("from own mean", CHANGE, attrgetter("mean")))
CONTRAST = (
    Statistic("pairs", "count", attrgetter("difference.n")),
    Statistic("difference", CHANGE, attrgetter("difference.mean"), "Difference"),
)
TESTS = (
    Statistic("p", "p", _or_no_test("p"), "p"),
    Statistic("p Holm", "p", _or_no_test("holm"), "p (Holm)"),
    Statistic("p Benjamini-Hochberg", "p", _or_no_test("benjamini_hochberg"), "p (BH)"),
)
DOMINANCE = _plain("count", wins="wins", ties="ties", losses="losses")
SIGNED_RANK = (
    Statistic("signed-rank effect", "number", part("signed_rank", "effect")),
    Statistic("signed-rank p", "p", part("signed_rank", "p"), "p (signed ranks)"),
)
RELIABILITY = (*_plain("count", units="units", annotators="annotators"), *_plain("number", ratings_per_unit="k"))
WITHOUT = (
    *_plain("count", units="units"),
    *_plain("number", alpha="alpha"),
    *_plain("difference", change="change"),
)
PAIR = (Statistic("n", "count", attrgetter("n")), Statistic("the same", "share", attrgetter("percent")))
RANKING = (
    *_plain("count", items="items"),
    Statistic("Friedman chi-square", "number", attrgetter("statistic")),
    Statistic("Friedman p", "p", attrgetter("p")),
)
RANK_DIFFERENCE = (
    *_plain("difference", difference_of_ranks="difference"),
    Statistic("Nemenyi p", "p", attrgetter("p")),
)
STRENGTHS = (*_plain("count", pairs="n", level="level", items="items"), *_plain("number", ties="ties"))
ORDINAL_DIFFERENCE = (
    Statistic("difference", "difference", attrgetter("estimate"), limits=attrgetter("low", "high")),
    Statistic("p", "p", attrgetter("p")),
)
ORDINAL_SPREADS = (
    Statistic("SD of items", "number", attrgetter("item")),
    Statistic("SD of annotators", "number", attrgetter("annotator")),
    Statistic("SD of tastes", "number", attrgetter("annotator_by_system")),
)
KENDALL = Statistic("Kendall", "difference", attrgetter("kendall.value"), limits=attrgetter("kendall.interval"))
PEARSON = Statistic("Pearson", "difference", attrgetter("pearson.value"), limits=attrgetter("pearson.interval"))
WITHIN_ITEMS = (KENDALL, PEARSON, *_plain("count", pairs="pairs", items="items"))
OF_SYSTEMS = (KENDALL, PEARSON, *_plain("count", systems="systems", items="items"))
REPEATED = (
    Statistic("n", "count", attrgetter("same.n")),
    Statistic("the same", "share", attrgetter("same.share")),
    Statistic("apart", "share", attrgetter("apart")),
)
STAND_IN = (
    *_plain("number", epsilon="epsilon"),
    *_plain("share", winning_rate="winning_rate", advantage="advantage"),
)
STAND_IN_PAIR = (
    *_plain("count", items="n"),
    *_plain("share", judge_wins="judge_wins", annotator_wins="annotator_wins"),
    *_plain("p", p="p", p_corrected="corrected"),
)
POSITION_EFFECT = (
    *_plain("count", annotations="annotations"),
    Statistic("Wald", "number", attrgetter("statistic")),
    Statistic("p", "p", attrgetter("p")),
)
ORDER_EFFECT = (
    Statistic("first to last", "difference", attrgetter("change.mean"), limits=attrgetter("change.headline")),
)
LOOK = (
    Statistic("severity", "points", part("severity", "difference")),
    Statistic("all equal", "share", part("equal", "share")),
    Statistic(
        "missing",
        "share",
        lambda look: look.missing if isinstance(look.missing, Undefined) else look.missing.rate.share,
    ),
)
DRIFT = (
    *_plain("number", drift="excursion", drift_at_most="bound"),
    *_plain("count", turn_after="turn"),
    *_plain("points", before_the_turn="before", after_the_turn="after"),
)
SPEED = (
    *_plain("count", timed="n"),
    *_plain("number", seconds="median"),
    *_plain("count", too_fast_to_read="unread"),
)
SPANS = (
    *_plain("count", texts="texts", spans="spans", pairs="pairs"),
    Statistic("F1, same passage", "number", attrgetter("exact"), "F1, same passage"),
    Statistic("F1, overlapping", "number", attrgetter("overlapping"), "F1, overlapping"),
    Statistic("alpha over characters", "number", attrgetter("alpha"), "Alpha over characters"),
)
PAY = (
    *_plain("count", annotators="annotators"),
    Statistic("seconds per item, median", "number", attrgetter("seconds")),
    Statistic("per hour, lowest", "number", attrgetter("lowest")),
    Statistic("per hour, median", "number", attrgetter("median")),
)
