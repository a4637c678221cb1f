"""Disagreement: how far apart the ratings of one candidate are, by item and by annotator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from triptych.stats.analysis.ratings import Ratings
from triptych.stats.columns import codes


@dataclass(frozen=True)
class ItemDisagreement:
    """Mean distance of two annotators of an item, from 0 (always the same) to 1 (opposite ends of the scale).

    criteria: key → mean distance, for criteria with ratings by two annotators; score: mean over these criteria;
    ratings: number of ratings.
    """

    item: str
    ratings: int
    score: float
    criteria: dict[str, float]


@dataclass(frozen=True)
class AnnotatorDistance:
    """Distance of an annotator from the mean of the others (for options: the share of others who chose another one).

    criteria: key → distance as a share of the scale, 0 to 1; n: ratings of units that others rated too.
    """

    annotator: str
    n: int
    criteria: dict[str, float]


@dataclass(frozen=True)
class Disagreement:
    """Disagreement by item and by annotator.

    items: all that two annotators rated, the highest scores first; annotators: all, the farthest from the others first.
    """

    items: tuple[ItemDisagreement, ...]
    annotators: tuple[AnnotatorDistance, ...]


@dataclass(frozen=True)
class _Shared:
    """Ratings of units that two annotators rated: value (n,) in 0..1 or a code of an option; unit (n,) codes."""

    value: np.ndarray
    unit: np.ndarray
    item: np.ndarray
    annotator: np.ndarray
    ordered: bool


def disagreement(every: Sequence[Ratings], items: Sequence[str], people: Sequence[str]) -> Disagreement:
    """Disagreement over all criteria; items, people: labels of the item and annotator codes in the ratings."""
    shared = {ratings.variable.key: _shared(ratings) for ratings in every}
    shared = {key: shared_ratings for key, shared_ratings in shared.items() if len(shared_ratings.unit)}
    scores, counts = np.zeros((2, len(shared), len(items)))
    distances, rated_by = np.zeros((2, len(shared), len(people)))
    for row, shared_ratings in enumerate(shared.values()):
        _, first = np.unique(shared_ratings.unit, return_index=True)
        scores[row] = _mean(_spread(shared_ratings), shared_ratings.item[first], len(items))
        counts[row] = np.bincount(shared_ratings.item, minlength=len(items))
        distances[row] = _mean(_distance(shared_ratings), shared_ratings.annotator, len(people))
        rated_by[row] = np.bincount(shared_ratings.annotator, minlength=len(people))
    keys = list(shared)
    return Disagreement(
        tuple(ItemDisagreement(items[at], n, mean, parts) for at, n, mean, parts in _ranked(scores, counts, keys)),
        tuple(AnnotatorDistance(people[at], n, parts) for at, n, _, parts in _ranked(distances, rated_by, keys)),
    )


def _ranked(scores: np.ndarray, counts: np.ndarray, keys: list[str]) -> list[tuple[int, int, float, dict[str, float]]]:
    """(column, count, mean, key → score) of the columns with a count, highest mean first; scores, counts: (C, G)."""
    has = counts > 0
    total = counts.sum(axis=0)
    means = np.where(has, scores, 0).sum(axis=0) / np.maximum(has.sum(axis=0), 1)
    order = np.argsort(-means, kind="stable")
    order = order[total[order] > 0]
    return [
        (
            at,
            int(total[at]),
            float(means[at]),
            {key: float(scores[row, at]) for row, key in enumerate(keys) if has[row, at]},
        )
        for at in order.tolist()
    ]


def _shared(ratings: Ratings) -> _Shared:
    low, high = ratings.variable.ends
    ordered = ratings.variable.kind != "choice"  # the number of an option only says whether it is positive
    value = (ratings.number - low) / (high - low) if ordered else ratings.categories[0]
    rated = np.flatnonzero(~np.isnan(value))
    unit = codes(ratings.units[rated])[0]
    twice = np.bincount(unit)[unit] > 1 if len(unit) else np.zeros(0, dtype=bool)
    rows = rated[twice]
    return _Shared(value[rows], codes(unit[twice])[0], ratings.item[rows], ratings.annotator[rows], ordered)


def _spread(ratings: _Shared) -> np.ndarray:
    """(U,) mean distance of two ratings of a unit: sum over ranks i of (2 i - m + 1) x_i over the number of pairs."""
    sizes = np.bincount(ratings.unit)
    pairs = sizes * (sizes - 1) / 2
    if not ratings.ordered:
        same = _alike(ratings) - 1
        return 1 - np.bincount(ratings.unit, same) / 2 / pairs
    order = np.lexsort((ratings.value, ratings.unit))
    rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    weight = 2 * rank - np.repeat(sizes, sizes) + 1
    return np.abs(np.bincount(ratings.unit[order], weight * ratings.value[order])) / pairs


def _distance(ratings: _Shared) -> np.ndarray:
    """(n,) distance of each rating from the mean of the unit's other ratings (options: share of others that differ)."""
    sizes = np.bincount(ratings.unit)[ratings.unit]
    if not ratings.ordered:
        return (sizes - _alike(ratings)) / (sizes - 1)
    others = (np.bincount(ratings.unit, ratings.value)[ratings.unit] - ratings.value) / (sizes - 1)
    return np.abs(ratings.value - others)


def _alike(ratings: _Shared) -> np.ndarray:
    """(n,) how many ratings of the unit have the same value, including the rating itself."""
    _, key = np.unique(np.column_stack([ratings.unit, ratings.value]), axis=0, return_inverse=True)
    return np.bincount(key.ravel())[key.ravel()]


def _mean(values: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
    """(count,) mean of the values in each group, 0 where there is none."""
    sizes = np.bincount(groups, minlength=count)
    return np.bincount(groups, values, minlength=count) / np.maximum(sizes, 1)
