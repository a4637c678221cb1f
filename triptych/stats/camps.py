"""Whether annotators form camps: by their tastes for systems, or by who agrees with them.

Two tests can hint at camps that nobody declared. Both keep their level when annotators differ in severity; that neither
finds camps proves nothing. Severity, difficulty and, for agreement, tastes are removed from the ratings first. Declared
groups are compared by the differences of systems in each (analysis/groups.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, compress

import numpy as np

from .columns import Column, Floats, Label, codes, numbers, pair_codes
from .crossed import CrossedEffects
from .pairs import named
from .undefined import UndefinedStatistic

FEWEST_FOR_TASTES = 12
FEWEST_FOR_AGREEMENT, MOST_FOR_AGREEMENT = 5, 40
_ALL_SPLITS_UP_TO = 12  # annotators; more are split along two directions of their agreement
_SMALLEST_CAMP = 2
_SHARED = 5  # units below which two annotators' correlation is left out
PERMUTATIONS = 199
_FACTOR_ROUNDS = 20
_NULL_DRAWS = 999
_MOST_ACROSS = 0.8  # correlation across camps, as a share of that inside
_QUANTILES = (np.arange(50) + 0.5) / 50
_SMALLEST_POSSIBLE = 0.2  # for columns that have hardly a value in common
_LEAST_OF_GAP = 0.5  # between camps by taste, against others who rated the same responses
_SMALLEST_DIFFERENCE = 1e-9  # points, or correlations; smaller ones are rounding
_DECIMALS = 9


@dataclass(frozen=True)
class Camps:
    """The split of annotators that stands out most; p: how often a split as clear arises without camps.

    inside, across: mean correlation of two annotators of one camp and of different camps, as shares of the largest that
    their answers allow; None for tastes. p is 1 where they agree nearly as much across camps as inside: differences in
    severity alone can do that on a scale of few points.
    """

    first: tuple[Label, ...]
    second: tuple[Label, ...]
    p: float
    inside: float | None = None
    across: float | None = None


def profiles(
    fits: Sequence[CrossedEffects], annotators: Sequence[Label], systems: Sequence[Label], against_others: bool = False
) -> Floats:
    """(A, S x criteria) mean residual of each annotator for each system, 0 where they did not rate the system.

    fits: one for each criterion; annotators, systems: all labels, in the order of rows and columns. against_others:
    minus the mean residual of the others who rated the same response; responses that nobody else rated are left out.
    """
    columns, size = [], len(annotators) * len(systems)
    for fit in fits:
        person = np.array([annotators.index(label) for label in fit.annotators])[fit.rows.people]
        system = np.array([systems.index(label) for label in fit.systems])[fit.rows.systems]
        cell = person * len(systems) + system
        residuals, counted = fit.residuals, np.ones(len(cell), dtype=bool)
        if against_others:
            residuals, counted = _against_others(residuals, fit.rows.items * len(systems) + system)
        sums, counts = np.bincount(cell, residuals, size), np.bincount(cell, counted, size)
        columns.append((sums / np.maximum(counts, 1)).reshape(len(annotators), -1))
    return np.hstack(columns)


def _against_others(residuals: Floats, response: np.ndarray) -> tuple[Floats, np.ndarray]:
    """Each residual minus the mean of the others of the same response, or 0; and whether there are others."""
    raters = np.bincount(response)[response]
    others = (np.bincount(response, residuals)[response] - residuals) / np.maximum(raters - 1, 1)
    return np.where(raters > 1, residuals - others, 0.0), raters > 1


def camps_by_taste(profile: Floats, against_others: Floats, names: Sequence[Label]) -> Camps:
    """Two camps of annotators with opposite tastes for systems; both profiles: (A, q), one row per name.

    Scores on the first principal axis are split where the scatter inside the two camps is the smallest share of the
    total. Simulated normal scores show how small that share gets without camps. p is 1 where the camps are less than
    half as far apart against others who rated the same responses: then their items differ, and maybe not their tastes.
    Raises UndefinedStatistic below twelve annotators or where all tastes are equal.
    """
    if len(names) < FEWEST_FOR_TASTES:
        raise UndefinedStatistic(f"Not looked for: camps by taste need {FEWEST_FOR_TASTES} annotators or more.")
    centred = _centred(profile)
    axes = np.linalg.svd(centred, full_matrices=False)[2]
    scores = centred @ axes[0]
    within, cut = _tightest(scores[None, :])
    random = np.random.default_rng(0)
    # one after the other: all draws of 100,000 annotators would take gigabytes
    as_tight = sum(int(_tightest(random.normal(size=(1, len(scores))))[0][0] <= within[0]) for _ in range(_NULL_DRAWS))
    lower, upper = np.split(np.argsort(scores), [int(cut[0])])
    gap, same_responses = (of[upper].mean() - of[lower].mean() for of in (scores, against_others @ axes[0]))
    first, second = (tuple(names[at] for at in sorted(part.tolist())) for part in (lower, upper))
    p = (1 + as_tight) / (1 + _NULL_DRAWS) if same_responses > _LEAST_OF_GAP * gap else 1.0
    return Camps(first, second, p)


def camps_by_agreement(values: Column, items: Column, annotators: Column, systems: Column) -> Camps:
    """Two camps that agree inside and not across, on one criterion; columns as in CrossedEffects.build.

    Each annotator's mean for each system and their spread are removed from the ratings. What one common factor explains
    is removed from the correlations of pairs of annotators, so that neither severity, taste nor care makes a camp. The
    statistic is the mean remaining correlation inside camps minus that across, for the best split; p comes from
    permuting the ratings of each candidate among the annotators who rated it. Raises UndefinedStatistic below five
    annotators, above forty, or where too few candidates are shared.
    """
    ratings, item, annotator, system = numbers(values, items, annotators, systems)
    (person, names), code = named(annotator), codes(system)[0]
    if not FEWEST_FOR_AGREEMENT <= len(names) <= MOST_FOR_AGREEMENT:
        raise UndefinedStatistic(
            f"Not looked for: camps by agreement need {FEWEST_FOR_AGREEMENT} to {MOST_FOR_AGREEMENT} annotators."
        )
    table = _standardised(ratings, codes(item)[0], person, code)
    table = table[(~np.isnan(table)).sum(axis=1) > 1]
    table = table[np.lexsort(np.round(table, _DECIMALS).T)]  # so that draws do not depend on the order of candidates
    pairs = np.array(list(combinations(range(len(names)), 2)))
    observed = _correlations(table, pairs) if len(table) else np.full(len(pairs), np.nan)
    if np.isnan(observed).mean() > 0.5:
        raise UndefinedStatistic(f"Not defined: too few annotators share {_SHARED} candidates or more.")
    _, split = _best_split(observed, pairs, len(names))  # plain correlations are easier to read
    random = np.random.default_rng(0)
    drawn = [_correlations(_exchanged(table, random), pairs) for _ in range(PERMUTATIONS)]
    remaining = _beyond_one_factor(np.array([observed, *drawn]), pairs, len(names))
    best, *gaps = (_best_split(correlations, pairs, len(names))[0] for correlations in remaining)
    as_far = sum(gap >= best - _SMALLEST_DIFFERENCE for gap in gaps)
    together = split[pairs[:, 0]] == split[pairs[:, 1]]
    first, second = (tuple(compress(names, split == side)) for side in (True, False))
    inside, across = float(np.nanmean(observed[together])), float(np.nanmean(observed[~together]))
    p = (1 + as_far) / (1 + PERMUTATIONS) if across < _MOST_ACROSS * inside else 1.0
    return Camps(first, second, p, inside, across)


def _centred(profile: Floats) -> Floats:
    """The profiles minus the overall mean profile. Raises UndefinedStatistic where all are equal but for rounding."""
    centred: Floats = profile - profile.mean(axis=0)
    if not np.abs(centred).max() > _SMALLEST_DIFFERENCE:
        raise UndefinedStatistic("Not defined: no annotator's taste differs from the others'.")
    return centred


def _tightest(scores: Floats) -> tuple[Floats, np.ndarray]:
    """By row of scores (B, A): smallest share of scatter inside two camps of two or more; size of the lower camp."""
    ordered = np.sort(scores - scores.mean(axis=1, keepdims=True), axis=1)
    count = ordered.shape[1]
    lower = np.arange(_SMALLEST_CAMP, count - _SMALLEST_CAMP + 1)
    sums = np.cumsum(ordered, axis=1)[:, lower - 1]  # of the lower camp; the upper one's is its negative
    between = sums**2 * (1 / lower + 1 / (count - lower))
    within = 1 - between / (ordered**2).sum(axis=1, keepdims=True)
    return within.min(axis=1), lower[within.argmin(axis=1)]


def _standardised(ratings: Floats, item: np.ndarray, annotator: np.ndarray, system: np.ndarray) -> Floats:
    """(candidates, annotators) ratings minus the annotator's mean for the system, divided by their spread, or NaN."""
    taste = annotator * (system.max() + 1) + system
    centred = ratings - (np.bincount(taste, ratings) / np.maximum(np.bincount(taste), 1))[taste]
    spread = np.sqrt(np.bincount(annotator, centred**2) / np.bincount(annotator))
    candidate = pair_codes(item, system)[0]
    table = np.full((candidate.max() + 1, annotator.max() + 1), np.nan)
    steady = spread[annotator] > 1e-9
    table[candidate[steady], annotator[steady]] = (centred / np.maximum(spread[annotator], 1e-9))[steady]
    return table


def _correlations(table: Floats, pairs: np.ndarray) -> Floats:
    """(pairs,) correlations of two annotators' columns over the rows that both have, as shares of the largest possible.

    NaN below five such rows.
    """
    rated = ~np.isnan(table)
    filled = np.where(rated, table, 0.0)
    products, shared = filled.T @ filled, rated.T.astype(float) @ rated
    squares = (filled**2).T @ rated  # [i, j]: squares of i's ratings in rows that j rated
    scale = np.sqrt(squares * squares.T)
    matrix = np.divide(products, scale, out=np.full(products.shape, np.nan), where=(scale > 0) & (shared >= _SHARED))
    correlations: Floats = (matrix / _largest_possible(table))[pairs[:, 0], pairs[:, 1]]
    return correlations


def _largest_possible(table: Floats) -> Floats:
    """(annotators, annotators) correlation of two columns if both had their values in the same order.

    The ends of a scale cut off other differences of a lenient annotator than of a severe one, so even if they see the
    same in every response, their correlation is below that of two lenient ones.
    """
    last = np.maximum((~np.isnan(table)).sum(axis=0) - 1, 0)
    ordered = np.nan_to_num(np.sort(table, axis=0))  # NaN is last
    place = _QUANTILES[:, None] * last
    below = place.astype(int)
    lower, upper = (np.take_along_axis(ordered, np.minimum(row, last), axis=0) for row in (below, below + 1))
    quantiles = lower + (upper - lower) * (place - below)
    length = np.maximum(np.sqrt((quantiles**2).sum(axis=0)), 1e-9)
    possible: Floats = np.maximum((quantiles.T @ quantiles) / np.outer(length, length), _SMALLEST_POSSIBLE)
    return possible


def _beyond_one_factor(correlations: Floats, pairs: np.ndarray, count: int) -> Floats:
    """(draws, pairs) correlations minus the product of two annotators' loadings; loadings are fitted one at a time."""
    first, second = pairs.T
    matrix, defined = np.zeros((2, len(correlations), count, count))
    matrix[:, first, second] = matrix[:, second, first] = np.nan_to_num(correlations)
    defined[:, first, second] = defined[:, second, first] = ~np.isnan(correlations)
    start = np.sqrt(np.maximum(np.nanmean(correlations, axis=1, keepdims=True), 0.01))
    loadings = np.repeat(start, count, axis=1)
    for _ in range(_FACTOR_ROUNDS):
        for annotator in range(count):
            explained = (matrix[:, annotator] * loadings).sum(axis=1)
            squares = (defined[:, annotator] * loadings**2).sum(axis=1)
            loadings[:, annotator] = explained / np.maximum(squares, 1e-9)
        loadings = np.clip(loadings, -1, 1)
    remaining: Floats = correlations - loadings[:, first] * loadings[:, second]
    return remaining


def _exchanged(table: Floats, random: np.random.Generator) -> Floats:
    """The table with the ratings of each row permuted among the annotators who have one."""
    rated = ~np.isnan(table)
    keys = np.where(rated, random.random(table.shape), 2.0)
    shuffled = np.take_along_axis(table, np.argsort(keys, axis=1), axis=1)
    exchanged = np.full(table.shape, np.nan)
    exchanged[rated] = shuffled[~np.isnan(shuffled)]
    return exchanged


def _best_split(correlations: Floats, pairs: np.ndarray, count: int) -> tuple[float, np.ndarray]:
    """The largest gap (mean correlation inside minus mean across) and, for its split, who is on the first side."""
    sides = _all_splits(count) if count <= _ALL_SPLITS_UP_TO else _splits_along_axes(correlations, pairs, count)
    defined = ~np.isnan(correlations)
    together = (sides[:, pairs[:, 0]] == sides[:, pairs[:, 1]])[:, defined].astype(float)
    inside, across = together.sum(axis=1), (1 - together).sum(axis=1)
    sums, total_sum = together @ correlations[defined], correlations[defined].sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = sums / inside - (total_sum - sums) / across
    gap[across == 0] = np.nan  # by rounding, it may be infinite
    best = int(np.nanargmax(gap))
    return float(gap[best]), sides[best]


def _all_splits(count: int) -> np.ndarray:
    """(splits, count) every split with two or more on either side; the first annotator is on the first side."""
    number = np.arange(2 ** (count - 1))
    sides = np.column_stack([np.ones(len(number), dtype=bool), (number[:, None] >> np.arange(count - 1)) & 1 == 1])
    size = sides.sum(axis=1)
    large_enough: np.ndarray = sides[(size >= _SMALLEST_CAMP) & (size <= count - _SMALLEST_CAMP)]
    return large_enough


def _splits_along_axes(correlations: Floats, pairs: np.ndarray, count: int) -> np.ndarray:
    """(splits, count) cuts along the two directions in which the table of correlations varies most.

    The first annotator is on the first side, whatever sign the directions have.
    """
    matrix = np.zeros((count, count))
    matrix[pairs[:, 0], pairs[:, 1]] = np.nan_to_num(correlations - np.nanmean(correlations))
    vectors: Floats = np.linalg.eigh(matrix + matrix.T)[1][:, [0, 1, -2, -1]]
    order = np.argsort(np.argsort(vectors, axis=0), axis=0)
    cuts = np.arange(_SMALLEST_CAMP, count - _SMALLEST_CAMP + 1)
    sides = np.concatenate([place[None, :] < cuts[:, None] for place in order.T])
    with_first: np.ndarray = sides == sides[:, :1]
    return with_first
