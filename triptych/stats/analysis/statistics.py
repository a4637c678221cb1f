"""The printed statistics: one table per kind of result, which lists, tables and pages read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..coefficients import AgreementTable
from ..diagnostics import AnnotatorAgreement
from ..equivalence import Equivalence
from ..intervals import Estimate, Interval
from ..numbers import written
from ..undefined import Undefined
from .annotators import AnnotatorLook
from .collection import Collected
from .contrasts import Contrast
from .systems import within

VALUE = "value"  # a share where the criterion's numbers are shares, else a number
CHANGE = "change"  # percentage points where they are shares, else a difference
MARGIN, BEYOND = "margin", "beyond"  # sizes without a sign
SHARE_STYLES = {VALUE: "share", CHANGE: "points", MARGIN: "margin points", BEYOND: "beyond points"}
POINT_STYLES = {VALUE: "number", CHANGE: "difference"}
Limits = tuple[float, float] | Undefined
NO_TESTS = Undefined("Not tested: nothing is tested before collection is over, or under these filters.")


@dataclass(frozen=True)
class Number:
    """One number of a report. value: None where it is not defined; `printed` then says why, in words.

    criterion: the criterion's key. system, baseline: printable names of systems, a position on screen, pseudonyms of
    annotators, or the criterion of a metric.
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

    name: the name in results.csv; style: see `written`, or VALUE, CHANGE, MARGIN or BEYOND; of, limits: how to get the
    value and its interval from the result, either an attribute path or a function; a value of None is not printed;
    title: heading of the column in tables, where statistics with the same title share a cell; of_points: printed only
    where the criterion's numbers are not shares.
    """

    name: str
    style: str
    of: str | Callable[[Any], object] | None
    title: str = ""
    limits: str | Callable[[Any], object] | None = None
    of_points: bool = False

    def value(self, result: object) -> float | Undefined | None:
        value: float | Undefined | None = _read(self.of, result)
        return value

    def interval(self, result: object) -> Limits | None:
        """Both limits, or the reason why there are none; None for a statistic without an interval."""
        interval: Interval | Limits | None = _read(self.limits, result)
        if not isinstance(interval, Interval):
            return interval
        if interval.low is None or interval.high is None:
            return Undefined(interval.sentence)
        return interval.low, interval.high

    def style_of(self, share: bool) -> str:
        return (SHARE_STYLES if share else POINT_STYLES).get(self.style, self.style)


def _read(path: str | Callable[[Any], object] | None, result: object) -> Any:
    """The value at the path; an Undefined on the way is the value of everything below it."""
    if not isinstance(path, str):
        return path(result) if path else None
    for name in path.split("."):
        if result is None or isinstance(result, Undefined):
            break
        result = getattr(result, name)
    return result


@dataclass(frozen=True)
class Place:
    """Part, criterion and systems that numbers belong to. share: whether the criterion's numbers are shares."""

    part: str
    criterion: str = ""
    system: str = ""
    baseline: str = ""
    share: bool = field(default=False, compare=False)

    def number(self, statistic: str, value: float | Undefined, style: str) -> Number:
        """A number of this place; value: the number, or the reason why there is none."""
        where = (self.part, self.criterion, self.system, self.baseline, statistic)
        if isinstance(value, Undefined):
            return Number(*where, None, style, value.reason)
        return Number(*where, float(value), style, written(value, style))

    def all(self, statistics: tuple[Statistic, ...], result: object, before: str = "") -> Iterator[Number]:
        """Every statistic of a result; before: prefix of the statistics' names."""
        for statistic in statistics:
            if statistic.of_points and self.share:
                continue
            name, style = f"{before}{statistic.name}", statistic.style_of(self.share)
            if (value := statistic.value(result)) is not None:
                yield self.number(name, value, style)
            if (limits := statistic.interval(result)) is not None:
                low, high = (limits, limits) if isinstance(limits, Undefined) else limits
                yield self.number(f"{name} low", low, style)
                yield self.number(f"{name} high", high, style)

    def all_or_why(self, statistics: tuple[Statistic, ...], result: object, name: str) -> Iterator[Number]:
        """Every statistic of a result; for an undefined result only the statistic `name`, with the reason."""
        if isinstance(result, Undefined):
            style = next(statistic.style_of(self.share) for statistic in statistics if statistic.name == name)
            yield self.number(name, result, style)
        else:
            yield from self.all(statistics, result)


def _or_no_test(name: str, population: str) -> Callable[[Contrast], float | Undefined]:
    """Getter of a p-value; without a test, the reason in the sentence of the interval for the same annotators."""

    def take(contrast: Contrast) -> float | Undefined:
        if not contrast.bound:
            return NO_TESTS
        value = getattr(contrast, name)
        return Undefined(getattr(contrast.difference, population).sentence) if value is None else value

    return take


def _headline_p(estimate: Estimate) -> float | Undefined:
    test = estimate.test or estimate.test_here
    return test.p if test else Undefined(estimate.headline.sentence)


def _coefficient(key: str, name: str) -> Callable[[AgreementTable | Undefined], object]:
    """Getter of a coefficient; without a table of agreement, only the first and the main one print the reason."""

    def take(table: AgreementTable | Undefined) -> object:
        if isinstance(table, Undefined):
            return table if name == "value" and key in ("percent", "alpha") else None
        return next((getattr(each, name) for each in table.coefficients if each.key == key), None)

    return take


def _with_others(name: str) -> Callable[[AnnotatorLook], object]:
    """Getter of a number of an annotator's agreement with the others, if that is defined."""

    def take(look: AnnotatorLook) -> object:
        agreement = look.agreement
        if isinstance(agreement, AnnotatorAgreement) and agreement.value is not None:
            others = Undefined("Not defined: no other annotator has such a correlation.")
            return others if getattr(agreement, name) is None else getattr(agreement, name)
        if name != "value":
            return None
        return agreement if isinstance(agreement, Undefined) else Undefined(agreement.sentence)

    return take


def _equal_limits(contrast: Contrast) -> Limits | None:
    tested = contrast.equivalence
    return (tested.low, tested.high) if isinstance(tested, Equivalence) else None


def _bound(study: Any) -> float | Undefined:
    collected: Collected = study.collection
    return NO_TESTS if collected.untested else collected.bound


STUDY = (
    Statistic("annotations", "count", "n_annotations"),
    Statistic("ratings", "count", "n_ratings"),
    Statistic("items", "count", "n_items"),
    Statistic("annotators", "count", "n_annotators"),
    Statistic("planned annotations", "count", "collection.planned"),
    Statistic("planned annotations in", "count", "collection.filled"),
    Statistic("looks before the end", "count", "collection.looks"),
    Statistic("clear below", "bound", _bound),
)
SYSTEM = (
    Statistic("n", "count", "n", "n"),
    Statistic("missing", "count", "missing", "Missing"),
    Statistic("mean", VALUE, "summary.mean", "Mean or share"),
    Statistic("median", "number", "summary.median", "Median", of_points=True),
    Statistic("sd", "number", "summary.sd", "SD", of_points=True),
    Statistic("alpha", "number", "alpha.value", "Alpha", "alpha.interval"),
    Statistic("interval", VALUE, None, limits="interval"),
    Statistic("mean of ratings", "thousandths", "summary.mean"),
    Statistic("mean of item means", "thousandths", "of_items.mean"),
    Statistic("sd of item means", "thousandths", "of_items.sd"),
)
FINAL_VALUES = (
    Statistic("mean as given", VALUE, "given", "As given"),
    Statistic("mean with final values", VALUE, "final", "With final values"),
    Statistic("responses decided", "count", "decided", "Decided"),
    Statistic("ratings changed", "count", "changed", "Ratings changed"),
)
MAJORITY = (
    Statistic("positive by majority", "count", "positive", "Positive"),
    Statistic("no majority", "count", "undecided", "No majority"),
    Statistic("items voted on", "count", "items", "Items"),
    Statistic("share positive by majority", "share", "share", "Share positive"),
)
POSITION = (Statistic("n", "count", "n"), Statistic("from own mean", CHANGE, "mean"))
DIFFERENCE = (
    Statistic("ratings", "count", "difference.n"),
    Statistic("ratings used", "share", "difference.share_used", "Ratings used"),
    Statistic("items", "count", "difference.items", "Items"),
    Statistic("difference", CHANGE, "difference.mean", "Difference"),
    Statistic("these annotators", CHANGE, None, "These annotators", "difference.these"),
    Statistic("annotators like these", CHANGE, None, "Annotators like these", "difference.alike"),
    Statistic("p", "p", _or_no_test("p", "alike"), "p"),
    Statistic("p Holm", "p", _or_no_test("holm", "alike"), "p (Holm)"),
    Statistic("p Benjamini-Hochberg", "p", _or_no_test("benjamini_hochberg", "alike"), "p (BH)"),
    Statistic("p these annotators", "p", _or_no_test("p_here", "these"), "p, these annotators"),
    Statistic("p Holm these annotators", "p", _or_no_test("holm_here", "these"), "p (Holm), these annotators"),
)
WINS = tuple(
    Statistic(name, "count", f"dominance.{name}", "Wins / ties / losses") for name in ("wins", "ties", "losses")
)
BALANCE = Statistic(
    "win minus loss",
    "number",
    "dominance.estimate.headline.mean",
    "P(win) − P(loss)",
    lambda contrast: within((-1, 1), _read("dominance.estimate.headline", contrast)),
)
RANK_BISERIAL = Statistic("signed-rank effect", "number", "signed_rank.effect", "Rank-biserial")
SIGNED_RANK = Statistic("signed-rank p", "p", "signed_rank.p", "p (signed ranks)")
EQUIVALENCE = (
    Statistic("margin", MARGIN, lambda contrast: None if contrast.equivalence is None else contrast.margin),
    Statistic("equivalence interval", CHANGE, None, limits=_equal_limits),
    Statistic("excluded beyond", BEYOND, "equivalence.excluded"),
    Statistic("p equivalence", "p", "equivalence.p"),
)
CONTRAST = (*DIFFERENCE, *EQUIVALENCE, *WINS, BALANCE, RANK_BISERIAL, SIGNED_RANK)
UNITS = Statistic("units", "count", lambda table: 0 if isinstance(table, Undefined) else table.units, "Units")
COEFFICIENTS = tuple(
    Statistic(
        key,
        "share" if key == "percent" else "number",
        _coefficient(key, "value"),
        title,
        _coefficient(key, "interval"),
    )
    for key, title in {
        "percent": "Percent",
        "alpha": "Alpha",
        "alpha_interval": "Alpha (interval)",
        "ac": "Gwet's AC",
        "fleiss": "Fleiss' kappa",
    }.items()
)
ALPHA = tuple(statistic for statistic in COEFFICIENTS if statistic.name == "alpha")
AGREEMENT = (UNITS, *COEFFICIENTS)
FORMS = tuple(
    Statistic(f"{form} {name}", style, f"{attribute}.{name}", title)
    for form, attribute, needed in (
        ("ICC(1)", "one_way", "Needed"),
        ("ICC(A)", "absolute", ""),
        ("ICC(C)", "consistency", ""),
    )
    for name, style, title in (("single", "number", form), ("mean", "number", form), ("needed", "count", needed))
)
ONE_WAY = FORMS[:3]
RELIABILITY = (
    Statistic("units", "count", "units", "Units"),
    Statistic("annotators", "count", "annotators", "Annotators"),
    Statistic("ratings per unit", "number", "k", "k"),
    *FORMS,
)
WITHOUT = (
    Statistic("units", "count", "units", "Units"),
    Statistic("alpha", "number", "alpha", "Alpha"),
    Statistic("change", "difference", "change", "Change"),
)
NOMINAL_PAIR = (
    Statistic("n", "count", "n", "Both rated"),
    Statistic("the same", "share", "percent", "The same"),
    Statistic("kappa", "number", "kappa", "Cohen's kappa"),
)
PAIR = (
    *NOMINAL_PAIR,
    Statistic("correlation", "number", "pearson", "Correlation"),
    Statistic("distance", "number", "mae", "Mean distance"),
)
NOMINAL_PAIRS = (Statistic("mean kappa", "number", "kappa", "Kappa"),)
PAIRS = (
    *NOMINAL_PAIRS,
    Statistic("mean correlation", "number", "pearson", "Correlation"),
    Statistic("mean distance", "number", "mae", "Mean distance"),
)
RANKING = (
    Statistic("items", "count", "items", "Items"),
    Statistic("Friedman chi-square", "number", "statistic", "Friedman's chi-square"),
    Statistic("Friedman p", "p", "p", "p"),
)
RANK_DIFFERENCE = (
    Statistic("difference of ranks", "difference", "difference", "Difference of ranks"),
    Statistic("Nemenyi p", "p", "p", "p (Nemenyi)"),
)
STRENGTHS = (
    Statistic("pairs", "count", "n", "Pairs"),
    Statistic("level", "count", "level", "Of them level"),
    Statistic("items", "count", "items"),
    Statistic("ties", "number", "ties", "Ties (v)"),
)
STRENGTH = (
    Statistic("strength", "difference", "value", "Strength (log)", "interval"),
    Statistic("strength error", "number", "error"),
)
ORDINAL_DIFFERENCE = (
    Statistic("difference", "difference", "estimate.mean", "Difference (logits)", limits="estimate.headline"),
    Statistic("p", "p", lambda pair: _headline_p(pair.estimate), "p"),
)


def _correlations(more: dict[str, str], before: str = "", shown: str = "") -> tuple[Statistic, ...]:
    """Statistics of correlations and of the counts behind them.

    before: prefix of the names; shown: prefix of the titles; more: name → title of further counts.
    """
    return (
        Statistic(f"{before}Kendall", "difference", "kendall.value", f"{shown}Kendall", "kendall.interval"),
        Statistic(f"{before}Pearson", "difference", "pearson.value", f"{shown}Pearson", "pearson.interval"),
        *(Statistic(f"{before}{name}", "count", name, title) for name, title in more.items()),
    )


LENGTH = _correlations({"pairs": "Pairs", "items": "Items"})
WITHIN_ITEMS = _correlations({"pairs": "", "items": ""}, "within items ", "Within items: ")
OF_SYSTEMS = _correlations({"systems": "", "items": ""}, "of systems ", "Of systems: ")
REPEATED = (
    Statistic("n", "count", "same.n", "Rated twice"),
    Statistic("the same", "share", "same.share", "The same"),
    Statistic("apart", "share", "apart", "Apart"),
)
SHARED = (Statistic("shared", "count", "shared", "Shared"),)
STAND_IN = (
    Statistic("epsilon", "number", "epsilon", "Epsilon"),
    Statistic("winning rate", "share", "winning_rate", "Winning rate"),
    Statistic("constant winning rate", "share", "constant_rate", "Constant answer"),
    Statistic("advantage", "share", "advantage", "Advantage"),
)
STAND_IN_PAIR = (
    Statistic("items", "count", "n", "Items"),
    Statistic("judge wins", "share", "judge_wins", "Judge wins"),
    Statistic("annotator wins", "share", "annotator_wins", "Annotator wins"),
    Statistic("p", "p", "p", "p"),
    Statistic("p corrected", "p", "corrected", "p (corrected)"),
)
POSITION_EFFECT = (
    Statistic("annotations", "count", "annotations", "Annotations"),
    Statistic("Wald", "number", "statistic", "Wald"),
    Statistic("p", "p", "p", "p of the place"),
)
ORDER_EFFECT = (Statistic("first to last", CHANGE, "change.mean", "First to last", "change.headline"),)
AT_PLACE = (
    Statistic("shift", CHANGE, "shift.mean", "Shift", lambda at: at.shift if isinstance(at.shift, Interval) else None),
    Statistic("best", "share", "best.share", "Best there"),
)
LOOK = (
    Statistic("annotations", "count", "annotations", "Annotations"),
    Statistic("correlation", "number", _with_others("value"), "With the others", _with_others("interval")),
    Statistic("half of the others", "number", _with_others("others")),
    Statistic("severity", "of scale", "severity.difference", "Severity"),
    Statistic("all equal", "share", "equal.share", "All equal"),
    Statistic("missing", "share", "missing.rate.share", "Missing"),
)
DRIFT = (
    Statistic("drift", "number", "excursion", "Drift"),
    Statistic("drift at most", "number", "bound", "At most"),
    Statistic("turn after", "count", "turn"),
    Statistic("before the turn", "of scale", "before"),
    Statistic("after the turn", "of scale", "after"),
)
SPEED = (
    Statistic("timed", "count", "n"),
    Statistic("seconds", "seconds", "median", "Seconds"),
    Statistic("too fast to read", "count", "unread", "Too fast"),
)
SPANS = (
    Statistic("texts", "count", "texts", "Texts read twice"),
    Statistic("spans", "count", "spans", "Highlights"),
    Statistic("pairs", "count", "pairs", "Pairs"),
    Statistic("F1, same passage", "number", "exact", "F1, same passage"),
    Statistic("F1, overlapping", "number", "overlapping", "F1, overlapping"),
    Statistic("alpha over characters", "number", "alpha", "Alpha over characters"),
)
PAY = (
    Statistic("annotators", "count", "annotators"),
    Statistic("seconds per item, median", "seconds", "seconds"),
    Statistic("per hour, lowest", "number", "lowest"),
    Statistic("per hour, median", "number", "median"),
)


def columns(statistics: Iterable[Statistic]) -> dict[str, list[Statistic]]:
    """Title → the statistics that share a column, for those with a title."""
    by_title: dict[str, list[Statistic]] = {}
    for statistic in statistics:
        if statistic.title:
            by_title.setdefault(statistic.title, []).append(statistic)
    return by_title
