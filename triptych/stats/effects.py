"""Unwanted effects: of the place on the screen and of the order in time.

Balanced orders make place and system independent, so an effect of the place adds noise to a comparison, not bias; it
is shown in scale points so that a reader can see whether it matters. Variances are clustered by item and by annotator
as in intervals.py; below five annotators by item alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.special import fdtrc
from scipy.stats import rankdata

from .columns import Column, centred, codes, numbers, pair_codes
from .intervals import ENOUGH_ANNOTATORS, Estimate, Interval, degrees_of_freedom, estimate, variance_floor
from .numbers import p_words, signed_words
from .rates import Rate, rate
from .undefined import UndefinedStatistic

_ROUNDING = 1e-12
_FEWEST_IN_ORDER = 5


@dataclass(frozen=True)
class PositionEffect:
    """Shifts by position and the test that all of them are 0.

    shifts: of ratings there from the mean of all positions, in scale points; ascending by position, they sum to 0.
    statistic: Wald's, referred to F with `freedom` as Hotelling's T squared is. annotations: how many were used.
    """

    shifts: dict[int, Interval]
    statistic: float
    freedom: tuple[int, float]
    p: float
    annotations: int
    sentence: str


@dataclass(frozen=True)
class OrderEffect:
    """Common change from first to last annotation in scale points, over n annotations."""

    change: Estimate
    sentence: str


def position_effect(
    values: Column, items: Column, annotators: Column, positions: Column, systems: Column, share: bool = False
) -> PositionEffect:
    """Do ratings depend on the position? Least squares on position and system within each annotation.

    values: (n,) numbers, positions: (n,) 0, 1, 2 ..., NaN or negative = not known; a row without either is left
    out. items, annotators, systems: (n,) labels. share: a mean of the values is a share of answers. Covariance of
    the shifts: V_item + V_annotator - V_cell (Cameron, Gelbach & Miller 2011) with the floor of `clustered`; T
    squared with the freedom of intervals.degrees_of_freedom, below five annotators of items alone. Raises
    UndefinedStatistic when there are fewer than two positions, too few clusters, no variation, or positions and systems
    whose effects cannot be separated.
    """
    ratings, item, annotator, place, system = _placed(values, items, annotators, positions, systems)
    distinct, place = np.unique(place, return_inverse=True)
    count = len(distinct)
    if count < 2:
        raise UndefinedStatistic("Not defined: there are no ratings at two known positions.")
    cells, named = pair_codes(item, annotator)[0], codes(system)
    # Sum-to-zero columns, so that a coefficient is a shift from the mean of all positions.
    columns = np.eye(count)[place][:, :-1] - (place == count - 1)[:, None]
    others = np.eye(len(named[1]))[named[0]][:, 1:]
    columns, others, response = (centred(part, cells) for part in (columns, others, ratings[:, None]))
    columns, response = (part - others @ np.linalg.lstsq(others, part)[0] for part in (columns, response))
    largest = float(np.abs(ratings).max())
    coefficients, scores = _least_squares(columns, response, largest)
    spread = np.vstack([np.eye(count - 1), -np.ones(count - 1)])
    shifts, influence = spread @ coefficients, len(ratings) * scores @ spread.T
    estimates = [estimate(shift + column, item, annotator) for shift, column in zip(shifts, influence.T, strict=True)]
    statistic, freedom, p = _all_zero(coefficients, scores, largest, item, annotator, cells)
    return PositionEffect(
        {int(at): shift.headline for at, shift in zip(distinct, estimates, strict=True)},
        statistic,
        freedom,
        p,
        int(cells.max()) + 1,
        f"Largest shift {_change(max(shifts, key=abs), share)}; {p_words(p)}. {estimates[0].headline.sentence}",
    )


def _least_squares(columns: np.ndarray, response: np.ndarray, largest: float) -> tuple[np.ndarray, np.ndarray]:
    """(k,) coefficients and their (n, k) scores; largest: the largest rating, to tell rounding from variation.

    Raises UndefinedStatistic.
    """
    squares = columns.T @ columns
    if np.linalg.eigvalsh(squares)[0] <= _ROUNDING * len(columns):
        raise UndefinedStatistic(
            "Not defined: the effects of position and system cannot be separated in these ratings."
        )
    coefficients = np.linalg.solve(squares, columns.T @ response)[:, 0]
    residuals = response[:, 0] - columns @ coefficients
    if np.abs(residuals).max() <= _ROUNDING * max(1.0, largest):
        raise UndefinedStatistic("Not defined: the ratings vary only with position and system.")
    return coefficients, np.linalg.solve(squares, (columns * residuals[:, None]).T).T


def best_by_position(values: Column, items: Column, annotators: Column, positions: Column) -> dict[int, Rate]:
    """How often the strictly best candidate was at each position; columns as in position_effect.

    An annotation counts when it has a rating at every position that occurs and one rating above all others. Raises
    UndefinedStatistic when no annotation counts.
    """
    ratings, item, annotator, place, _ = _placed(values, items, annotators, positions, items)
    distinct, place = np.unique(place, return_inverse=True)
    cells, first = pair_codes(item, annotator)
    table = np.full((len(first), len(distinct)), np.nan)
    table[cells, place] = ratings
    complete = table[~np.isnan(table).any(axis=1)]
    if complete.shape[1] < 2:
        raise UndefinedStatistic("Not defined: there are no ratings at two known positions.")
    best = complete == complete.max(axis=1, keepdims=True, initial=-np.inf)
    counts = best[best.sum(axis=1) == 1].sum(axis=0)
    total = int(counts.sum())
    if not total:
        raise UndefinedStatistic("Not defined: no annotator rated one candidate above all others of its item.")
    return {int(at): rate(int(count), total) for at, count in zip(distinct, counts, strict=True)}


def order_effect(
    values: Column, items: Column, annotators: Column, systems: Column, order: Column, share: bool = False
) -> OrderEffect:
    """Do annotators rate higher or lower as they go on? order: (n,) any numbers that ascend in time per annotator.

    The other columns as in position_effect. Each annotation counts with its mean of (rating - mean of its system). Its
    place among the annotator's annotations runs from 0 (first) to 1 (last); annotations with the same time share the
    mean place. The common change is the least squares slope within annotators, its variance clustered by item and
    annotator. Annotators with fewer than five annotations are left out. Raises UndefinedStatistic when nobody is left
    or nothing varies.
    """
    ratings, when, item, annotator, named = numbers(values, order, items, annotators, systems)
    when, ratings, item, annotator, named = numbers(when, ratings, item, annotator, named)
    system = codes(named)[0]
    residual, item, annotator, place = _in_order(centred(ratings, system), when, item, annotator)
    x, y = (centred(column, annotator) for column in (place, residual))
    if np.abs(x).max() <= _ROUNDING:
        raise UndefinedStatistic("Not defined: no annotator's annotations differ in time.")
    if np.abs(y).max() <= _ROUNDING * max(1.0, np.abs(ratings).max()):
        raise UndefinedStatistic("Not defined: no annotator's ratings vary from one annotation to the next.")
    change = float((x @ y) / (x @ x))
    influence = x * (y - change * x) / (x**2).mean()
    common = estimate(change + influence, item, annotator)
    words = f"Ratings changed by {_change(change, share)} from the first to the last annotation."
    return OrderEffect(common, f"{words} {common.headline.sentence}")


def _change(size: float, share: bool) -> str:
    return signed_words(size, share) + ("" if share else " points")


def _placed(
    values: Column, items: Column, annotators: Column, positions: Column, systems: Column
) -> tuple[np.ndarray, ...]:
    """Values, item codes, annotator codes, positions and systems of the rows whose value and position are known."""
    ratings, place, item, annotator, system = numbers(values, positions, items, annotators, systems)
    place, ratings, item, annotator, system = numbers(place, ratings, item, annotator, system)
    placed = place >= 0
    return (
        ratings[placed],
        codes(item[placed])[0],
        codes(annotator[placed])[0],
        place[placed].astype(int),
        system[placed],
    )


def _all_zero(
    coefficients: np.ndarray,
    scores: np.ndarray,
    largest: float,
    item: np.ndarray,
    annotator: np.ndarray,
    cells: np.ndarray,
) -> tuple[float, tuple[int, float], float]:
    """Wald's statistic of all coefficients, its degrees of freedom as F, and p; scores: (n, q); largest: as above."""
    covariance, freedom = _clustered(scores, item, annotator, cells)
    q, rounding = len(coefficients), max(_ROUNDING * np.trace(covariance), (_ROUNDING * largest) ** 2)
    if freedom < q or np.linalg.eigvalsh(covariance)[0] <= rounding:
        raise UndefinedStatistic(f"Not defined: too few items or annotators to judge {q + 1} positions.")
    statistic = float(coefficients @ np.linalg.solve(covariance, coefficients))
    remaining = freedom - q + 1
    return statistic, (q, remaining), float(fdtrc(q, remaining, statistic * remaining / (freedom * q)))


def _clustered(
    scores: np.ndarray, item: np.ndarray, annotator: np.ndarray, cells: np.ndarray
) -> tuple[np.ndarray, float]:
    """Covariance of coefficients from their scores, and degrees of freedom; intervals.clustered is the case of one."""
    per_item, items = _outer(scores, item)
    per_annotator, annotators = _outer(scores, annotator)
    by_item = per_item * items / max(items - 1, 1)
    if annotators < ENOUGH_ANNOTATORS:
        return by_item, degrees_of_freedom(item)
    by_annotator = per_annotator * annotators / (annotators - 1)
    both = by_item + by_annotator - _outer(scores, cells)[0]
    larger = max(by_item, by_annotator, key=np.trace)
    if np.linalg.eigvalsh(larger)[0] <= _ROUNDING * np.trace(larger):
        return larger, degrees_of_freedom(item, annotator)
    # in every direction, the variance is at least this share of that of the larger matrix
    floor = variance_floor(degrees_of_freedom(item) + 1)
    ratios, vectors = eigh(both, larger)
    half = larger @ vectors
    return (half * np.maximum(ratios, floor)) @ half.T, degrees_of_freedom(item, annotator)


def _outer(scores: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, int]:
    """(q, q) sum over groups of s s', where s is the sum of the scores in a group; and the number of groups."""
    sums = np.stack([np.bincount(groups, column) for column in scores.T], axis=1)
    return sums.T @ sums, len(sums)


def _in_order(
    deviation: np.ndarray, when: np.ndarray, item: np.ndarray, annotator: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Mean deviation, item and annotator codes, and place in time from 0 to 1, by annotation.

    Annotators with too few annotations are left out.
    """
    (item, _), (annotator, labels) = codes(item), codes(annotator)
    cell, first = pair_codes(item, annotator)
    residual = np.bincount(cell, deviation) / np.bincount(cell)
    item, annotator, time = item[first], annotator[first], np.full(len(first), np.inf)
    np.minimum.at(time, cell, when)
    has_enough = np.bincount(annotator, minlength=len(labels)) >= _FEWEST_IN_ORDER
    if not has_enough.any():
        raise UndefinedStatistic(f"Not defined: nobody has {_FEWEST_IN_ORDER} annotations whose order is known.")
    counted = has_enough[annotator]
    residual, time, item, annotator = residual[counted], time[counted], item[counted], annotator[counted]
    annotator, present = codes(annotator)
    place = np.empty(len(time))
    for code in range(len(present)):  # annotations with the same time share their mean place
        place[annotator == code] = rankdata(time[annotator == code]) - 1
    return residual, codes(item)[0], annotator, place / (np.bincount(annotator) - 1)[annotator]
