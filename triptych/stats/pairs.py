"""Pairs of annotators: how often they agree, and how far apart they rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .chance import Weighting, kappas, weight_table
from .columns import Column, Label, codes, numbers
from .counts import NO_VARIATION, paired_units, value_codes
from .undefined import Undefined, UndefinedStatistic, or_undefined

RATED_TWICE = "Not defined: an annotator rated an item twice; keep one of the two ratings."
NO_CORRELATION = "Not defined: one of the two annotators gave the same rating everywhere."
MOST_PAIRS, MOST_PAIRED_RATINGS = 100_000, 20_000_000  # what takes some seconds and some hundred MB
TOO_MANY = f"Not defined: more than {MOST_PAIRS:,} pairs of annotators."
_ROUNDING = 1e-12


@dataclass(frozen=True)
class AnnotatorPair:
    """Two annotators, over the n units that both rated.

    percent: share of units with the same rating; kappa: Cohen's; pearson: correlation; mae: mean absolute
    difference in scale points.
    """

    first: Label
    second: Label
    n: int
    percent: float
    kappa: float | Undefined
    pearson: float | Undefined
    mae: float


@dataclass(frozen=True)
class PairMeans:
    """Means over pairs of annotators; Undefined where no pair has the number."""

    pairs: int
    kappa: float | Undefined
    pearson: float | Undefined
    mae: float


def annotator_pairs(
    units: Column,
    annotators: Column,
    values: Column,
    weights: Weighting = "identity",
    scale: Column | None = None,
) -> tuple[AnnotatorPair, ...]:
    """Every pair of annotators with a unit in common, in the order of their names.

    units, annotators: (n,) labels; values: (n,) numbers, NaN = missing; weights, scale: for Cohen's kappa, as in
    `chance`. Raises UndefinedStatistic when no unit was rated by two annotators, one annotator rated a unit twice,
    or there are more pairs than can be compared.
    """
    ratings, labels, raters = numbers(values, units, annotators)
    rater, names = named(raters)
    unit, shared = paired_units(labels)
    ratings, rater = ratings[shared], rater[shared]
    if len(np.unique(unit * len(names) + rater)) < len(unit):
        raise UndefinedStatistic(RATED_TWICE)
    sizes = np.bincount(unit)
    if (sizes * (sizes - 1) // 2).sum() > MOST_PAIRED_RATINGS:
        raise UndefinedStatistic(TOO_MANY)
    first, second = together(unit)
    turned = rater[first] > rater[second]
    first, second = np.where(turned, second, first), np.where(turned, first, second)
    key, pair = np.unique(rater[first] * len(names) + rater[second], return_inverse=True)
    if len(key) > MOST_PAIRS:
        raise UndefinedStatistic(TOO_MANY)
    n = np.bincount(pair)
    value, domain = value_codes(ratings, scale)
    columns = (
        [names[code // len(names)] for code in key.tolist()],
        [names[code % len(names)] for code in key.tolist()],
        n.tolist(),
        (np.bincount(pair, value[first] == value[second]) / n).tolist(),
        _kappas(pair, value[first], value[second], weights, domain),
        _correlations(pair, ratings[first], ratings[second]),
        (np.bincount(pair, np.abs(ratings[first] - ratings[second])) / n).tolist(),
    )
    return tuple(map(AnnotatorPair, *columns))


def pair_means(pairs: Sequence[AnnotatorPair]) -> PairMeans:
    """Plain means over pairs; a pair counts once however many units it shares. Needs at least one pair."""
    return PairMeans(
        len(pairs),
        _mean([pair.kappa for pair in pairs]),
        _mean([pair.pearson for pair in pairs]),
        float(np.mean([pair.mae for pair in pairs])),
    )


def named(labels: np.ndarray) -> tuple[np.ndarray, list[Label]]:
    """Codes (n,) of labels in the order of their names, and the names."""
    code, distinct = codes(labels)
    names, place = np.unique(distinct, return_inverse=True)
    return place[code], names.tolist()


def together(groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(first, second) row numbers (K,) of every pair of rows of the same group; groups: (n,) codes."""
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups)
    after = np.repeat(np.cumsum(sizes), sizes) - np.arange(len(order)) - 1  # rows of the group after this one
    first = np.repeat(np.arange(len(order)), after)
    step = np.arange(len(first)) - np.repeat(np.cumsum(after) - after, after)
    return order[first], order[first + step + 1]


def _kappas(
    pair: np.ndarray, first: np.ndarray, second: np.ndarray, weights: Weighting, domain: np.ndarray
) -> list[float | Undefined]:
    table = or_undefined(weight_table, weights, domain)
    if isinstance(table, Undefined):
        return [table] * (int(pair.max()) + 1)
    return _or_reason(kappas(pair, first, second, table), NO_VARIATION)


def _correlations(pair: np.ndarray, first: np.ndarray, second: np.ndarray) -> list[float | Undefined]:
    """Pearson's correlation of each pair, or the words why there is none."""
    n = np.bincount(pair)
    largest = max(np.abs(first).max(), np.abs(second).max()) or 1.0
    x, y = (column / largest - (np.bincount(pair, column / largest) / n)[pair] for column in (first, second))
    spread = np.sqrt(np.bincount(pair, x * x) / n), np.sqrt(np.bincount(pair, y * y) / n)
    defined = (spread[0] > _ROUNDING) & (spread[1] > _ROUNDING)
    correlations = np.full(len(n), np.nan)
    np.divide(np.bincount(pair, x * y) / n, spread[0] * spread[1], out=correlations, where=defined)
    return _or_reason(np.clip(correlations, -1, 1), NO_CORRELATION)


def _or_reason(numbers: np.ndarray, words: str) -> list[float | Undefined]:
    return [Undefined(words) if np.isnan(number) else number for number in numbers.tolist()]


def _mean(values: list[float | Undefined]) -> float | Undefined:
    """Mean of the defined values; if none is defined, the first value's reason."""
    defined = [value for value in values if not isinstance(value, Undefined)]
    return float(np.mean(defined)) if defined else values[0]
