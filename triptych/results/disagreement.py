"""Who disagrees, and where: how far apart the ratings of one candidate lie, by item and by annotator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from triptych.stats.analysis.ratings import Ratings
from triptych.stats.columns import codes

SHOWN = 200


@dataclass(frozen=True)
class ItemDisagreement:
    """How far apart two annotators of an item lie on average, 0 (always the same) to 1 (from end to end).

    score: mean over criteria; criteria: by key, those under which two annotators rated it; ratings: how many.
    """

    item: str
    ratings: int
    score: float
    criteria: dict[str, float]


@dataclass(frozen=True)
class AnnotatorDistance:
    """How far an annotator lies from the mean of the others (of options: how many of them chose another one).

    criteria: by key, as a share of the scale, 0 to 1; n: ratings that others gave too.
    """

    annotator: str
    n: int
    criteria: dict[str, float]


@dataclass(frozen=True)
class Disagreement:
    """The items with the highest scores, of how many that two annotators rated, and every annotator, farthest first."""

    items: tuple[ItemDisagreement, ...]
    of: int
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
    """Over all criteria; items, people: labels of the codes in the ratings."""
    shared = {ratings.variable.key: _shared(ratings) for ratings in every}
    shared = {key: one for key, one in shared.items() if len(one.unit)}
    scores, counts = np.zeros((2, len(shared), len(items)))
    distances, given = np.zeros((2, len(shared), len(people)))
    for row, one in enumerate(shared.values()):
        _, first = np.unique(one.unit, return_index=True)
        scores[row] = _mean(_spread(one), one.item[first], len(items))
        counts[row] = np.bincount(one.item, minlength=len(items))
        distances[row] = _mean(_distance(one), one.annotator, len(people))
        given[row] = np.bincount(one.annotator, minlength=len(people))
    keys = list(shared)
    return Disagreement(
        tuple(
            ItemDisagreement(items[at], n, mean, parts) for at, n, mean, parts in _ranked(scores, counts, keys)[:SHOWN]
        ),
        int((counts.sum(axis=0) > 0).sum()),
        tuple(AnnotatorDistance(people[at], n, parts) for at, n, _, parts in _ranked(distances, given, keys)),
    )


def _ranked(scores: np.ndarray, counts: np.ndarray, keys: list[str]) -> list[tuple[int, int, float, dict[str, float]]]:
    """(place, count, mean, by key) of the columns that have a count, highest mean first; scores, counts: (C, G)."""
    has = counts > 0
    total = counts.sum(axis=0)
    means = np.where(has, scores, 0).sum(axis=0) / np.maximum(has.sum(axis=0), 1)
    order = np.argsort(-means, kind="stable")
    order = order[total[order] > 0][: max(SHOWN, len(keys))]
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
    ordered = not np.isnan(ratings.number).all()
    value = (ratings.number - low) / (high - low) if ordered else ratings.categories[0]
    known = np.flatnonzero(~np.isnan(value))
    unit = codes(ratings.units[known])[0]
    twice = np.bincount(unit)[unit] > 1 if len(unit) else np.zeros(0, dtype=bool)
    kept = known[twice]
    return _Shared(value[kept], codes(unit[twice])[0], ratings.item[kept], ratings.annotator[kept], ordered)


def _spread(one: _Shared) -> np.ndarray:
    """(U,) mean distance of two ratings of a unit: sum over ranks i of (2 i - m + 1) x_i over the number of pairs."""
    sizes = np.bincount(one.unit)
    pairs = sizes * (sizes - 1) / 2
    if not one.ordered:
        same = _alike(one) - 1
        return 1 - np.bincount(one.unit, same) / 2 / pairs
    order = np.lexsort((one.value, one.unit))
    rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    weight = 2 * rank - np.repeat(sizes, sizes) + 1
    return np.abs(np.bincount(one.unit[order], weight * one.value[order])) / pairs


def _distance(one: _Shared) -> np.ndarray:
    """(n,) distance of each rating from the others of its unit."""
    sizes = np.bincount(one.unit)[one.unit]
    if not one.ordered:
        return (sizes - _alike(one)) / (sizes - 1)
    others = (np.bincount(one.unit, one.value)[one.unit] - one.value) / (sizes - 1)
    return np.abs(one.value - others)


def _alike(one: _Shared) -> np.ndarray:
    """(n,) how many ratings of the unit have the same value, itself among them."""
    _, key = np.unique(np.column_stack([one.unit, one.value]), axis=0, return_inverse=True)
    return np.bincount(key.ravel())[key.ravel()]


def _mean(values: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
    """(count,) mean of the values in each group, 0 where there is none."""
    sizes = np.bincount(groups, minlength=count)
    return np.bincount(groups, values, minlength=count) / np.maximum(sizes, 1)
