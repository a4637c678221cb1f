"""What the ratings of a frame say, criterion by criterion: numbers, or the sentence why there is none.

A statistic that the data do not define stands here as its sentence (str), so that no screen ever shows a 0, a 1 or a
NaN in its place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import ParamSpec, TypeVar

import numpy as np
import pandas as pd

from triptych.errors import UndefinedStatistic
from triptych.results.frame.counted import counting
from triptych.results.frame.model import ABOUT_ITEM, Counted, Frame
from triptych.rubric.model import Criterion
from triptych.rubric.scales import Choice, Likert, NumberScale
from triptych.stats.coefficients import AgreementTable, agreement_table, band_note, category_note
from triptych.stats.descriptive import (
    MajorityShare,
    PositionMean,
    Shares,
    Summary,
    distribution,
    majority,
    position_means,
    shares,
    summary,
)
from triptych.stats.intervals import Interval, mean_interval
from triptych.stats.numbers import written

P = ParamSpec("P")
T = TypeVar("T")
MOST_POINTS = 21
RESAMPLES = 2000
APPROXIMATE = (
    "Intervals of single means are approximate: in simulations with five annotators or more they cover 90 to 98 %. "
    "Compare systems by their differences."
)


def or_words(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | str:
    """The statistic, or the sentence that says why it is not defined."""
    try:
        return function(*args, **kwargs)
    except UndefinedStatistic as error:
        return str(error)


@dataclass(frozen=True, eq=False)
class Ratings:
    """The n counted ratings of one criterion, as arrays (n,).

    number: what stands for the answer, NaN where there is none; option: its place in the rubric, -1 where a number was
    given or nothing; missing, explained: whether; item, annotator, reasons: codes of the frame's labels; system: blind
    code; position: -1 where not known; at: seconds since 1970 of the submission; rows: row numbers in the frame.
    """

    criterion: Criterion
    number: np.ndarray
    option: np.ndarray
    missing: np.ndarray
    explained: np.ndarray
    item: np.ndarray
    annotator: np.ndarray
    reasons: np.ndarray
    system: np.ndarray
    position: np.ndarray
    at: np.ndarray
    rows: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def units(self) -> np.ndarray:
        """(n,) codes of what two annotators can agree on: the candidate, or the item."""
        return self.item.astype(np.int64) * (int(self.system.max(initial=0)) + 1) + self.system

    def take(self, at: np.ndarray) -> Ratings:
        """Some of them: row numbers or truth values."""
        columns = (one.name for one in fields(self) if one.name != "criterion")
        return Ratings(self.criterion, *(getattr(self, name)[at] for name in columns))

    def of_system(self, code: int) -> Ratings:
        return self.take(np.flatnonzero(self.system == code))


@dataclass(frozen=True)
class SystemResult:
    """One system under one criterion (system 0: the item itself).

    summary and interval are about the number that stands for an answer: the point, 1 or 0 for chosen as best, 1 or 0
    for a positive option. counts: answers per point of the scale. shares: answers per option.
    """

    system: int
    n: int
    missing: int
    summary: Summary | str
    interval: Interval | str
    counts: tuple[int, ...]
    shares: Shares | str
    majority: MajorityShare | str


@dataclass(frozen=True)
class Agreement:
    """Between annotators, over units (a candidate or an item under this criterion) rated by two or more.

    table: all coefficients; answers that the rubric marks missing are missing in it. category: the same with them as
    categories of their own, at the nominal level, where there are such answers. apart: without the options that the
    rubric sets apart, where there are such answers. note, band: sentences for a reader, empty where there is nothing
    to say.
    """

    criterion: str
    level: str
    units: int
    table: AgreementTable | str
    category: AgreementTable | str | None
    apart: AgreementTable | str | None
    note: str
    band: str

    def value(self, key: str) -> float | str:
        return self.table if isinstance(self.table, str) else self.table[key].value

    @property
    def percent(self) -> float | str:
        return self.value("percent")

    @property
    def alpha(self) -> float | str:
        return self.value("alpha")

    @property
    def interval(self) -> tuple[float, float] | str:
        return self.table if isinstance(self.table, str) else self.table["alpha"].interval


@dataclass(frozen=True)
class ReasonCount:
    """How often a tag was given as a reason, per system; texts are the sentences annotators ticked."""

    tag: str
    texts: tuple[str, ...]
    systems: dict[int, int]
    total: int


@dataclass(frozen=True)
class CriterionResult:
    """All about one criterion. `share`: its numbers are shares of answers, `counts_as` says of which."""

    criterion: Criterion
    n: int
    missing: int
    share: bool
    counts_as: str
    points: tuple[float, ...]
    systems: tuple[SystemResult, ...]
    agreement: Agreement
    positions: tuple[PositionMean, ...] | str
    reasons: tuple[ReasonCount, ...]
    free_texts: int

    @property
    def ends(self) -> tuple[float, float]:
        return ends_of(self.criterion)

    @property
    def widest(self) -> float:
        """The largest difference that the scale allows."""
        low, high = self.ends
        return high - low


def ends_of(criterion: Criterion) -> tuple[float, float]:
    """Lowest and highest possible number."""
    scale = criterion.scale
    if isinstance(scale, Likert):
        return scale.values[0], scale.values[-1]
    return (scale.low, scale.high) if isinstance(scale, NumberScale) else (0.0, 1.0)


def criterion_ratings(frame: Frame, counted: Counted) -> tuple[Ratings, ...]:
    """The counted ratings of every criterion asked."""
    counts, of = counting(frame, counted), frame.ratings["criterion"]
    code, places = of.cat.codes.to_numpy(), {key: place for place, key in enumerate(of.cat.categories)}
    explained = (frame.ratings["explanation"] != "").to_numpy(dtype=bool)
    return tuple(
        _ratings(frame, criterion, np.flatnonzero(counts & (code == places.get(criterion.key, -1))), explained)
        for criterion in frame.rubric.asked(frame.round)
    )


def _ratings(frame: Frame, criterion: Criterion, rows: np.ndarray, explained: np.ndarray) -> Ratings:
    table = frame.ratings
    missing = table["missing"].to_numpy()[rows]
    option = _option_places(criterion, table["option"], rows)
    return Ratings(
        criterion=criterion,
        number=_numbers(criterion, table["value"].to_numpy()[rows], option, missing),
        option=option,
        missing=missing,
        explained=explained[rows],
        item=table["item"].cat.codes.to_numpy()[rows],
        annotator=table["annotator"].cat.codes.to_numpy()[rows],
        reasons=table["reasons"].cat.codes.to_numpy()[rows],
        system=table["system"].to_numpy()[rows],
        position=table["position"].to_numpy()[rows],
        at=table["submitted_at"].astype("int64").to_numpy()[rows] / 1e6,
        rows=rows,
    )


def _option_places(criterion: Criterion, options: pd.Series, rows: np.ndarray) -> np.ndarray:
    known = criterion.scale.values if isinstance(criterion.scale, Choice) else []
    place = {key: n for n, key in enumerate(known)}
    # the last entry serves the code -1, no option
    lookup = np.array([*(place.get(key, -1) for key in options.cat.categories), -1], dtype=np.int16)
    return lookup[options.cat.codes.to_numpy()[rows]]


def _numbers(criterion: Criterion, values: np.ndarray, option: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """(n,) the number that stands for each answer, NaN where there is none: missing, or options without an order."""
    scale = criterion.scale
    if not isinstance(scale, Choice):
        return values
    positive = np.array([*(float(one.positive) for one in scale.options), np.nan])
    if not np.nansum(positive):
        return np.full(len(values), np.nan)
    return np.where(missing, np.nan, positive[option])


def criterion_result(frame: Frame, ratings: Ratings) -> CriterionResult:
    """What one criterion's ratings say; `frame` tells the systems and the names of the reasons."""
    criterion, scale = ratings.criterion, ratings.criterion.scale
    per_slot = criterion.about == "candidate" or scale.kind == "best"
    return CriterionResult(
        criterion=criterion,
        n=int((~ratings.missing).sum()),
        missing=int(ratings.missing.sum()),
        share=scale.kind in ("best", "choice"),
        counts_as=_counts_as(criterion),
        points=_points(criterion),
        systems=tuple(
            _system_result(code, ratings.of_system(code)) for code in (frame.systems if per_slot else [ABOUT_ITEM])
        ),
        agreement=_agreement(ratings),
        positions=_positions(ratings),
        reasons=_reasons(ratings, frame.ratings["reasons"].cat.categories),
        free_texts=int(ratings.explained.sum()),
    )


def _counts_as(criterion: Criterion) -> str:
    """What a share is a share of."""
    scale = criterion.scale
    if isinstance(scale, Choice):
        return " or ".join(option.title for option in scale.options if option.positive)
    return "Chosen as best" if scale.kind == "best" else ""


def _points(criterion: Criterion) -> tuple[float, ...]:
    """Points to count answers on; a scale with very many has none."""
    scale = criterion.scale
    if isinstance(scale, Likert):
        return tuple(scale.values)
    if not isinstance(scale, NumberScale):
        return ()
    steps = round((scale.high - scale.low) / scale.step)
    return tuple(round(scale.low + n * scale.step, 9) for n in range(steps + 1)) if steps < MOST_POINTS else ()


def _system_result(code: int, ratings: Ratings) -> SystemResult:
    criterion, points = ratings.criterion, _points(ratings.criterion)
    counts = or_words(distribution, ratings.number, points) if points else ()
    interval = or_words(mean_interval, ratings.number, ratings.item, ratings.annotator)
    return SystemResult(
        system=code,
        n=int((~ratings.missing).sum()),
        missing=int(ratings.missing.sum()),
        summary=or_words(summary, ratings.number),
        interval=within(ends_of(criterion), interval),
        counts=() if isinstance(counts, str) else tuple(int(count) for count in counts),
        shares=_shares(ratings),
        majority=_majority(ratings),
    )


def within(ends: tuple[float, float], interval: Interval | str) -> Interval | str:
    """Cuts an interval at the ends of the scale, beyond which no mean can lie."""
    if isinstance(interval, str) or interval.low is None or interval.high is None:
        return interval
    return replace(interval, low=max(interval.low, ends[0]), high=min(interval.high, ends[1]))


def _shares(ratings: Ratings) -> Shares | str:
    scale = ratings.criterion.scale
    if not isinstance(scale, Choice):
        return "This scale has points, not options."
    names = np.array([*scale.values, None], dtype=object)
    missing = [option.key for option in scale.options if option.missing]
    return or_words(shares, names[ratings.option], scale.values, missing)


def _majority(ratings: Ratings) -> MajorityShare | str:
    """Items that most of their raters found positive; answers marked missing are no votes."""
    if not isinstance(ratings.criterion.scale, Choice) or not _counts_as(ratings.criterion):
        return "No option of this criterion is marked positive."
    votes = np.where(np.isnan(ratings.number), None, np.where(ratings.number == 1, "positive", "other"))
    return or_words(majority, ratings.item, votes, "positive")


def _agreement(ratings: Ratings) -> Agreement:
    criterion, level = ratings.criterion, ratings.criterion.scale.level.value
    values, scale = agreement_values(ratings)
    units = ratings.units
    table = or_words(agreement_table, units, values, level, scale, RESAMPLES)
    known = isinstance(table, AgreementTable)
    category, note = _with_categories(ratings, units, values)
    limits = table["alpha"].interval if known else ""
    return Agreement(
        criterion=criterion.key,
        level=level,
        units=table.units if known else 0,
        table=table,
        category=category,
        apart=_set_apart(ratings, units),
        note=note,
        band="" if isinstance(limits, str) else band_note(limits),
    )


def agreement_values(ratings: Ratings) -> tuple[np.ndarray, list[float] | None]:
    """(n,) numbers that agreement is about, NaN = missing, and the points of the scale in order, if it has points."""
    scale = ratings.criterion.scale
    if not isinstance(scale, Choice):
        return ratings.number, list(_points(ratings.criterion)) or None
    return _among_options(ratings, [place for place, option in enumerate(scale.options) if not option.missing])


def _among_options(ratings: Ratings, places: list[int]) -> tuple[np.ndarray, list[float]]:
    """(n,) the places of the options chosen, NaN for any but these, and these."""
    return np.where(np.isin(ratings.option, places), ratings.option.astype(float), np.nan), list(map(float, places))


def _set_apart(ratings: Ratings, units: np.ndarray) -> AgreementTable | str | None:
    """Agreement without the options that the rubric sets apart; None where nobody chose one."""
    scale = ratings.criterion.scale
    options = list(enumerate(scale.options)) if isinstance(scale, Choice) else []
    if not np.isin(ratings.option, [place for place, option in options if option.apart]).any():
        return None
    kept = [place for place, option in options if not option.missing and not option.apart]
    values, places = _among_options(ratings, kept)
    return or_words(agreement_table, units, values, scale.level.value, places, RESAMPLES)


def titles_apart(criterion: Criterion) -> str:
    """The options that the rubric sets apart, as a reader knows them."""
    options = criterion.scale.options if isinstance(criterion.scale, Choice) else ()
    return " or ".join(f"“{option.title}”" for option in options if option.apart)


def _with_categories(
    ratings: Ratings, units: np.ndarray, values: np.ndarray
) -> tuple[AgreementTable | str | None, str]:
    """Nominal agreement with the answers marked missing as categories of their own, and whether that matters."""
    scale = ratings.criterion.scale
    asked = [option.title for option in scale.options if option.missing] if isinstance(scale, Choice) else []
    if not asked or not (np.isnan(values) & (ratings.option >= 0)).any():
        return None, ""
    every = np.where(ratings.option >= 0, ratings.option.astype(float), np.nan)
    category = or_words(agreement_table, units, every, "nominal", list(range(len(scale.options))), RESAMPLES)
    left_out = or_words(agreement_table, units, values, "nominal", None, 2)
    alphas = [found if isinstance(found, str) else found["alpha"].value for found in (left_out, category)]
    return category, category_note(*alphas, " or ".join(asked), scale.level.value)


def _positions(ratings: Ratings) -> tuple[PositionMean, ...] | str:
    criterion = ratings.criterion
    if criterion.about == "item" and criterion.scale.kind != "best":
        return "Asked about the item, which has no position."
    if isinstance(criterion.scale, Choice) and not _counts_as(criterion):
        return "Not defined: the options have no order."
    return or_words(position_means, ratings.number, ratings.position, ratings.system)


def _reasons(ratings: Ratings, ticked: pd.Index) -> tuple[ReasonCount, ...]:
    """Ticked reasons by the tag that annotators never see, most frequent first."""
    texts: dict[str, dict[str, None]] = {}
    counts: dict[str, Counter[int]] = {}
    for keys, answer, system, count in _ticked(ratings, ticked):
        ask = ratings.criterion.scale.ask_for(answer)
        for reason in ask.reasons if ask else ():
            if reason.key in keys:
                counts.setdefault(reason.tag, Counter())[system] += count
                texts.setdefault(reason.tag, {})[reason.text] = None
    found = [ReasonCount(tag, tuple(texts[tag]), dict(count), count.total()) for tag, count in counts.items()]
    return tuple(sorted(found, key=lambda reason: (-reason.total, reason.tag)))


def _ticked(ratings: Ratings, ticked: pd.Index) -> Iterator[tuple[list[str], str | float, int, int]]:
    """(keys of reasons, answer, system, how often) for all that occurs together."""
    given = ratings.take(np.flatnonzero((ticked != "")[ratings.reasons])) if len(ratings) else ratings
    scale = ratings.criterion.scale
    answers = given.option if isinstance(scale, Choice) else given.number
    rows = pd.DataFrame({"reasons": given.reasons, "answer": answers, "system": given.system})
    for (reasons, answer, system), count in rows.value_counts(sort=False).items():
        answered = scale.values[int(answer)] if isinstance(scale, Choice) else answer
        yield ticked[reasons].split(","), answered, int(system), int(count)


def headline(result: CriterionResult, names: dict[int, str]) -> str:
    """The finding in one sentence: what stands highest and lowest, with intervals; no claim that they differ."""
    results = [one for one in result.systems if isinstance(one.interval, Interval)]
    known = [(one.interval, names.get(one.system, "The item")) for one in results]
    if not known:
        return "There is no rating yet." if not result.n else "These options have no order; see the shares."
    known.sort(key=lambda pair: -pair[0].mean)
    high, low = known[0], known[-1]
    if len(known) == 1:
        return f"{high[1]}: {spoken(high[0], result.share)}."
    if high[0].mean == low[0].mean:
        return f"All systems stand at {spoken_number(high[0].mean, result.share)}."
    return f"Highest: {high[1]}, {spoken(high[0], result.share)}. Lowest: {low[1]}, {spoken(low[0], result.share)}."


def spoken_number(number: float, share: bool) -> str:
    return written(number, "share" if share else "number")


def spoken(interval: Interval, share: bool) -> str:
    """A mean with its interval, or without one where there is none."""
    mean = spoken_number(interval.mean, share)
    if interval.low is None or interval.high is None:
        return mean
    return f"{mean} ({spoken_number(interval.low, share)} to {spoken_number(interval.high, share)})"


def interval_note(*results: CriterionResult) -> str:
    """Whom the intervals of criteria speak for, each sentence once, and how far to trust them."""
    intervals = [one.interval for result in results for one in result.systems if isinstance(one.interval, Interval)]
    said = dict.fromkeys(interval.sentence for interval in intervals)
    return " ".join([*said, *([APPROXIMATE] if any(interval.low is not None for interval in intervals) else [])])
