"""What each system got: means with their intervals, answers, majorities, places on screen."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import stats

from triptych.reports.recompute.basics import TINY, Criterion, Ratings, codes

ENOUGH_ANNOTATORS, VARIANCE_FLOOR = 5, 0.25


def cluster_variance(residuals: np.ndarray, groups: np.ndarray) -> float:
    """G / (G - 1) * sum over groups of (sum of residuals)^2 / n^2; nothing for one group."""
    count = groups.max() + 1
    return _squares(residuals, groups) * count / (count - 1) if count > 1 else 0.0


def _squares(residuals: np.ndarray, groups: np.ndarray) -> float:
    return float((np.bincount(groups, residuals) ** 2).sum() / len(residuals) ** 2)


def freedom(*groupings: np.ndarray) -> float:
    """The smallest effective number of groups, (sum of sizes)^2 / sum of squared sizes, less 1; at least 1."""
    sizes = [np.bincount(groups) for groups in groupings]
    return max(1.0, min(float(of.sum() ** 2 / (of**2).sum()) for of in sizes) - 1)


def estimate(values: np.ndarray, item: np.ndarray, annotator: np.ndarray) -> dict[str, float | None]:
    """Mean, limits for these annotators (by item) and for annotators like these (by item and annotator), p.

    Two-way: V_item + V_annotator - V_cell, at least a quarter of the larger; t with `freedom` degrees of freedom.
    """
    mean, residuals = float(values.mean()), values - values.mean()
    by_item, by_annotator = cluster_variance(residuals, item), cluster_variance(residuals, annotator)
    both = by_item + by_annotator - _squares(residuals, codes(item, annotator))
    both = max(both, VARIANCE_FLOOR * max(by_item, by_annotator))
    found: dict[str, float | None] = {"mean": mean, "p": None}
    found |= dict.fromkeys(("these low", "these high", "alike low", "alike high"))
    annotators, rounding = annotator.max() + 1, TINY * np.abs(values).max()
    if item.max() > 0 and by_item**0.5 > rounding:
        reach = stats.t.ppf(0.975, freedom(item)) * by_item**0.5
        found |= {"these low": mean - reach, "these high": mean + reach}
    if item.max() > 0 and both**0.5 > rounding and annotators >= ENOUGH_ANNOTATORS:
        degrees = freedom(item, annotator)
        reach = stats.t.ppf(0.975, degrees) * both**0.5
        found |= {"alike low": mean - reach, "alike high": mean + reach}
        found["p"] = float(2 * stats.t.sf(abs(mean) / both**0.5, degrees))
    return found


def systems(criterion: Criterion, ratings: Ratings, names: list[str]) -> Iterator[tuple]:
    """Counts, mean, median, spread, interval, answers and majority of every system."""
    for name in names if criterion.is_of_systems else [""]:
        mine = ratings.of(ratings.system == name)
        place = ("systems", criterion.key, name, "")
        yield (*place, "n", int((~mine.missing).sum()))
        yield (*place, "missing", int(mine.missing.sum()))
        values = mine.number[~np.isnan(mine.number)]
        yield (*place, "mean", values.mean() if len(values) else None)
        if not criterion.is_share:
            yield (*place, "median", np.median(values) if len(values) else None)
            yield (*place, "sd", values.std(ddof=1) if len(values) > 1 else None)
        low, high = headline(criterion, mine.of(~np.isnan(mine.number)))
        yield (*place, "interval low", low)
        yield (*place, "interval high", high)
        yield from ((*place, *found) for found in answers(criterion, mine))


def headline(criterion: Criterion, ratings: Ratings) -> tuple[float | None, float | None]:
    """The interval printed beside a mean, cut at the ends of the scale."""
    if not len(ratings.number):
        return None, None
    return limits_of(ratings.number, codes(ratings.item), codes(ratings.annotator), criterion.ends)


def limits_of(
    values: np.ndarray, item: np.ndarray, annotator: np.ndarray, ends: tuple[float, float] = (-np.inf, np.inf)
) -> tuple[float | None, float | None]:
    """Of a mean: for annotators like these from five annotators on, else for these; cut at the ends."""
    found = estimate(values, item, annotator)
    whom = "alike" if annotator.max() + 1 >= ENOUGH_ANNOTATORS else "these"
    low, high = found[f"{whom} low"], found[f"{whom} high"]
    return (None, None) if low is None else (max(low, ends[0]), min(high, ends[1]))


def answers(criterion: Criterion, ratings: Ratings) -> Iterator[tuple[str, float | None]]:
    """How often each point or option was given; options out of the answers that are not missing."""
    values = ratings.number[~np.isnan(ratings.number)]
    for point in criterion.points:
        yield f"answers {point:g}", int(np.isclose(values, point, rtol=0, atol=1e-9).sum())
    chosen = ratings.option[ratings.option != ""]
    unanswered = [key for key, (_, missing) in criterion.options.items() if missing]
    answered = int(sum(option not in unanswered for option in chosen))
    for key in criterion.options if len(chosen) else ():
        count, of = int((chosen == key).sum()), len(chosen) if key in unanswered else answered
        yield f"answers {key}", count
        yield f"share {key}", count / of if of else None
    if criterion.positive and answered:
        yield from majority(criterion, ratings.of(~ratings.missing))


def majority(criterion: Criterion, ratings: Ratings) -> Iterator[tuple[str, float]]:
    """Items of which more than half of the raters chose a positive option; an item without a majority is undecided."""
    item = codes(ratings.item)
    share = np.bincount(item, ratings.number) / np.bincount(item)
    yield "positive by majority", int((share > 0.5).sum())
    yield "no majority", int((share == 0.5).sum())
    yield "items voted on", len(share)
    yield "share positive by majority", float((share > 0.5).mean())


def order(criterion: Criterion, ratings: Ratings) -> Iterator[tuple]:
    """Mean of (rating - mean of its system) at each place on screen, over the ratings whose place is known."""
    if not criterion.is_of_systems:
        return
    known = ratings.of(~np.isnan(ratings.number) & (ratings.position >= 0))
    if not len(known.number):
        return
    system = codes(known.system)
    deviation = known.number - (np.bincount(system, known.number) / np.bincount(system))[system]
    for place in sorted(set(known.position.tolist())):
        here = known.position == place
        yield "order", criterion.key, f"Response {'ABCDEF'[place]}", "", "n", int(here.sum())
        yield "order", criterion.key, f"Response {'ABCDEF'[place]}", "", "from own mean", deviation[here].mean()
