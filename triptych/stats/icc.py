"""Intraclass correlations: the share of the variance of ratings that is between items.

Three forms, after Shrout & Fleiss 1979 and McGraw & Wong 1996, each for a single rating and for the mean of k:

- ICC(1), one-way: each item may have its own annotators, whose severity counts as error. Also for incomplete data.
- ICC(A), two-way, absolute agreement: the same annotators everywhere; differences in severity count as error.
- ICC(C), two-way, consistency: as A, but differences in severity do not count.

They read the ratings as numbers with equal steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .columns import Column, codes, numbers
from .counts import NO_VARIATION, NOT_PAIRED
from .undefined import Undefined, UndefinedStatistic, or_undefined

INCOMPLETE = Undefined("Not defined: not every annotator rated every item once. See the one-way form.")
TARGET = 0.8  # reliability of a mean that is enough
_ONE_ITEM = "Not defined: there is only one item."
_NO_DIFFERENCE = Undefined("Not defined: the items do not differ more than by chance.")
_NEVER = "No number of annotators is enough: single ratings do not distinguish the items."
_ALIKE = 1e-10  # of the largest rating
_ROUNDING = 1e-12  # values are in [-1, 1], so smaller mean squares, or differences of them, count as 0


@dataclass(frozen=True)
class Intraclass:
    """One form: reliability of a single rating and of the mean of k; needed: annotators per item for TARGET."""

    single: float
    mean: float | Undefined
    needed: int | Undefined


@dataclass(frozen=True)
class Reliability:
    """The three forms over `units` units and `annotators` annotators.

    k: ratings per unit, as in Intraclass.mean; (N - sum n_i^2 / N) / (units - 1) where units have different numbers.
    absolute and consistency are Undefined unless every annotator rated every unit once.
    """

    units: int
    annotators: int
    k: float
    one_way: Intraclass | Undefined
    absolute: Intraclass | Undefined
    consistency: Intraclass | Undefined


def reliability(units: Column, annotators: Column, values: Column) -> Reliability:
    """ICC(1), ICC(A) and ICC(C) by analysis of variance, and how many raters an item needs.

    units, annotators: (n,) labels; values: (n,) numbers, NaN = missing. On incomplete data there is ICC(1) only,
    by one-way analysis with unequal n (Donner 1986): units rated once count for the variance between units.
    Raises UndefinedStatistic: fewer than two units, none rated twice, no variation.
    """
    ratings, labels, raters = numbers(values, units, annotators)
    (unit, items), (rater, people) = codes(labels), codes(raters)
    if len(ratings) == len(items):
        raise UndefinedStatistic(NOT_PAIRED)
    if len(items) < 2:
        raise UndefinedStatistic(_ONE_ITEM)
    centred = ratings - ratings.mean()
    if np.ptp(ratings) <= _ALIKE * np.abs(ratings).max():
        raise UndefinedStatistic(NO_VARIATION)
    centred /= np.abs(centred).max()
    sizes = np.bincount(unit)
    cells = np.bincount(unit * len(people) + rater, minlength=len(items) * len(people))
    complete = len(people) > 1 and bool((cells == 1).all())
    k = float((sizes.sum() - (sizes**2).sum() / sizes.sum()) / (len(items) - 1))
    absolute: Intraclass | Undefined = INCOMPLETE
    consistency: Intraclass | Undefined = INCOMPLETE
    if complete:
        table = np.empty((len(items), len(people)))
        table[unit, rater] = centred
        absolute, consistency = _two_way(table)
    one_way = _one_way(centred, unit, sizes, k)
    return Reliability(len(items), len(people), k, one_way, absolute, consistency)


def raters_needed(single: float) -> int:
    """Ratings per item whose mean has the reliability TARGET, k = TARGET (1 - r) / (r (1 - TARGET)), rounded up.

    single: reliability r of one rating. Raises UndefinedStatistic when r is not above 0. Source:
    Spearman 1910, Brown 1910.
    """
    if round(single, 9) <= 0:
        raise UndefinedStatistic(_NEVER)
    return max(1, math.ceil(TARGET * (1 - single) / (single * (1 - TARGET)) - 1e-9))


def _one_way(values: np.ndarray, unit: np.ndarray, sizes: np.ndarray, k: float) -> Intraclass | Undefined:
    """MSB between units, MSW within: (MSB - MSW) / (MSB + (k - 1) MSW) and (MSB - MSW) / MSB."""
    means = np.bincount(unit, values) / sizes
    between = float((sizes * (means - values.mean()) ** 2).sum() / (len(sizes) - 1))
    within = float(((values - means[unit]) ** 2).sum() / (len(values) - len(sizes)))
    return _form(between - within, between + (k - 1) * within, between)


def _two_way(table: np.ndarray) -> tuple[Intraclass | Undefined, Intraclass | Undefined]:
    """Absolute agreement and consistency from mean squares of rows, columns and residuals; table (U, A)."""
    units, raters = table.shape
    rows, columns = table.mean(axis=1), table.mean(axis=0)
    row = float(raters * rows.var(ddof=1))
    column = float(units * columns.var(ddof=1))
    residuals = table - rows[:, None] - columns[None, :] + table.mean()
    error = float((residuals**2).sum() / ((units - 1) * (raters - 1)))
    severity = (column - error) / units
    common = row + (raters - 1) * error
    absolute = _form(row - error, common + raters * severity, row + severity)
    return absolute, _form(row - error, common, row)


def _form(signal: float, of_one: float, of_mean: float) -> Intraclass | Undefined:
    """signal / of_one and signal / of_mean (variances of a single rating and of the mean); Undefined if of_one is 0."""
    if of_one <= _ROUNDING:
        return _NO_DIFFERENCE
    single = signal / of_one
    mean: float | Undefined = signal / of_mean if of_mean > _ROUNDING else _NO_DIFFERENCE
    return Intraclass(single, mean, or_undefined(raters_needed, single))
