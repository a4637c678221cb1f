"""What the ratings of a frame say, criterion by criterion: numbers, or the sentence why there is none.

A statistic that the data do not define stands here as its sentence (str), so that no screen ever shows a 0, a 1 or a
NaN in its place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ParamSpec, TypeVar

import numpy as np
import pandas as pd

from triptych.analysis.agreement import alpha_interval, krippendorff_alpha, percent_agreement
from triptych.analysis.descriptive import (
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
from triptych.analysis.intervals import Interval, mean_interval
from triptych.errors import UndefinedStatistic
from triptych.results import ABOUT_ITEM, Counted, Frame, counted_ratings
from triptych.rubric import Choice, Criterion, Likert, Number

P = ParamSpec("P")
T = TypeVar("T")
MOST_POINTS = 21
RESAMPLES = 1000


def or_words(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | str:
    """The statistic, or the sentence that says why it is not defined."""
    try:
        return function(*args, **kwargs)
    except UndefinedStatistic as error:
        return str(error)


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
    """Between annotators, over units (a candidate or an item under this criterion) rated by two or more."""

    level: str
    units: int
    percent: float | str
    alpha: float | str
    interval: tuple[float, float] | str


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


def ends_of(criterion: Criterion) -> tuple[float, float]:
    """Lowest and highest possible number."""
    scale = criterion.scale
    if isinstance(scale, Likert):
        return scale.values[0], scale.values[-1]
    return (scale.low, scale.high) if isinstance(scale, Number) else (0.0, 1.0)


@lru_cache(maxsize=2)
def criterion_results(frame: Frame, counted: Counted = Counted()) -> tuple[CriterionResult, ...]:  # noqa: B008 (frozen)
    """Results of every criterion asked; kept until the frame changes, as a redraw asks for the same again."""
    rows = counted_ratings(frame, counted)
    groups = dict(tuple(rows.groupby("criterion", observed=True)))
    return tuple(
        _criterion_result(criterion, groups.get(criterion.key, rows[:0]), frame.systems)
        for criterion in frame.rubric.asked(frame.round)
    )


def _criterion_result(criterion: Criterion, rows: pd.DataFrame, systems: list[int]) -> CriterionResult:
    numbers = numeric(criterion, rows)
    scale = criterion.scale
    per_slot = criterion.about == "candidate" or scale.kind == "best"
    codes = systems if per_slot else [ABOUT_ITEM]
    return CriterionResult(
        criterion=criterion,
        n=int((~rows["missing"]).sum()),
        missing=int(rows["missing"].sum()),
        share=scale.kind in ("best", "choice"),
        counts_as=_counts_as(criterion),
        points=_points(criterion),
        systems=tuple(_system_result(criterion, code, rows.take(at), numbers[at]) for code, at in _places(rows, codes)),
        agreement=_agreement(criterion, rows, numbers),
        positions=_positions(criterion, rows, numbers),
        reasons=_reasons(criterion, rows),
        free_texts=int((rows["explanation"] != "").sum()),
    )


def _places(rows: pd.DataFrame, codes: list[int]) -> list[tuple[int, np.ndarray]]:
    system = rows["system"].to_numpy()
    return [(code, np.flatnonzero(system == code)) for code in codes]


def numeric(criterion: Criterion, rows: pd.DataFrame) -> np.ndarray:
    """(n,) the number that stands for each answer, NaN where there is none: missing, or options without an order."""
    scale = criterion.scale
    if not isinstance(scale, Choice):
        return rows["value"].to_numpy(dtype=float)
    positive = [option.key for option in scale.options if option.positive]
    if not positive:
        return np.full(len(rows), np.nan)
    chosen = rows["option"].isin(positive).to_numpy(dtype=float)
    return np.where(rows["missing"], np.nan, chosen)


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
    if not isinstance(scale, Number):
        return ()
    steps = round((scale.high - scale.low) / scale.step)
    return tuple(round(scale.low + n * scale.step, 9) for n in range(steps + 1)) if steps < MOST_POINTS else ()


def _system_result(criterion: Criterion, code: int, rows: pd.DataFrame, numbers: np.ndarray) -> SystemResult:
    points = _points(criterion)
    counts = or_words(distribution, numbers, points) if points else ()
    return SystemResult(
        system=code,
        n=int((~rows["missing"]).sum()),
        missing=int(rows["missing"].sum()),
        summary=or_words(summary, numbers),
        interval=_within(ends_of(criterion), or_words(mean_interval, numbers, *_clusters(rows))),
        counts=() if isinstance(counts, str) else tuple(int(count) for count in counts),
        shares=_shares(criterion, rows),
        majority=_majority(criterion, rows),
    )


def _clusters(rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    return rows["item"].cat.codes.to_numpy(), rows["annotator"].cat.codes.to_numpy()


def _within(ends: tuple[float, float], interval: Interval | str) -> Interval | str:
    """Cuts an interval at the ends of the scale, beyond which no mean can lie."""
    if isinstance(interval, str) or interval.low is None or interval.high is None:
        return interval
    return replace(interval, low=max(interval.low, ends[0]), high=min(interval.high, ends[1]))


def _options(rows: pd.DataFrame) -> np.ndarray:
    return rows["option"].astype(object).to_numpy()


def _shares(criterion: Criterion, rows: pd.DataFrame) -> Shares | str:
    if not isinstance(criterion.scale, Choice):
        return "This scale has points, not options."
    missing = [option.key for option in criterion.scale.options if option.missing]
    return or_words(shares, _options(rows), criterion.scale.values, missing)


def _majority(criterion: Criterion, rows: pd.DataFrame) -> MajorityShare | str:
    """Items that most of their raters found positive; answers marked missing are no votes."""
    scale = criterion.scale
    positive = [option.key for option in scale.options if option.positive] if isinstance(scale, Choice) else []
    if not positive:
        return "No option of this criterion is marked positive."
    answered = rows[~rows["missing"]]
    voted = answered["option"].astype(object).where(~answered["option"].isin(positive), positive[0])
    return or_words(majority, answered["item"].astype(str), voted.to_numpy(), positive[0])


def _agreement(criterion: Criterion, rows: pd.DataFrame, numbers: np.ndarray) -> Agreement:
    scale = criterion.scale
    values, order = numbers, list(_points(criterion)) or None
    if isinstance(scale, Choice):
        place = {option.key: float(n) for n, option in enumerate(scale.options) if not option.missing}
        values = np.array([place.get(option, np.nan) for option in _options(rows)], dtype=float)
        order = list(place.values())
    units = rows["item"].cat.codes.to_numpy(dtype=np.int64) * 10_000 + rows["system"].to_numpy()
    _, sizes = np.unique(units[~np.isnan(values)], return_counts=True)
    return Agreement(
        level=scale.level.value,
        units=int((sizes > 1).sum()),
        percent=or_words(percent_agreement, units, values),
        alpha=or_words(krippendorff_alpha, units, values, scale.level.value, order),
        interval=or_words(alpha_interval, units, values, scale.level.value, RESAMPLES, scale=order),
    )


def _positions(criterion: Criterion, rows: pd.DataFrame, numbers: np.ndarray) -> tuple[PositionMean, ...] | str:
    if criterion.about == "item" and criterion.scale.kind != "best":
        return "Asked about the item, which has no position."
    if isinstance(criterion.scale, Choice) and not _counts_as(criterion):
        return "Not defined: the options have no order."
    return or_words(position_means, numbers, rows["position"].to_numpy(dtype=float), rows["system"].to_numpy())


def _reasons(criterion: Criterion, rows: pd.DataFrame) -> tuple[ReasonCount, ...]:
    """Ticked reasons by the tag that annotators never see, most frequent first."""
    given = rows[rows["reasons"].str.len() > 0]
    texts: dict[str, dict[str, None]] = {}
    counts: dict[str, Counter[int]] = {}
    for value, option, system, ticked in zip(
        given["value"], given["option"].astype(object), given["system"].tolist(), given["reasons"], strict=True
    ):
        ask = criterion.scale.ask_for(option if isinstance(option, str) else value)
        for reason in ask.reasons if ask else ():
            if reason.key in ticked:
                counts.setdefault(reason.tag, Counter())[system] += 1
                texts.setdefault(reason.tag, {})[reason.text] = None
    found = [ReasonCount(tag, tuple(texts[tag]), dict(count), count.total()) for tag, count in counts.items()]
    return tuple(sorted(found, key=lambda reason: (-reason.total, reason.tag)))


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
    return f"{100 * number:.0f} %" if share else f"{number:.2f}"


def spoken(interval: Interval, share: bool) -> str:
    """A mean with its interval, or without one where there is none."""
    mean = spoken_number(interval.mean, share)
    if interval.low is None or interval.high is None:
        return mean
    return f"{mean} ({spoken_number(interval.low, share)} to {spoken_number(interval.high, share)})"


def interval_note(result: CriterionResult) -> str:
    """Whom the intervals of a criterion speak for: each sentence once."""
    said = dict.fromkeys(one.interval.sentence for one in result.systems if isinstance(one.interval, Interval))
    return " ".join(said)
