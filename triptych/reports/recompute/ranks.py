"""Three systems or more: ranks over items (Friedman, Nemenyi), and strengths where they did not always meet."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from scipy import stats

from triptych.reports.recompute.basics import Criterion, Ratings
from triptych.reports.recompute.comparisons import side_by_side

DRAWS, STEPS = 1000, 60
TINY_STEP, NO_TIES = 1e-10, -np.inf


def ranks(criterion: Criterion, ratings: Ratings, names: list[str]) -> Iterator[tuple]:
    """Friedman's test from three systems on, strengths from four on."""
    means = side_by_side(ratings)
    if len(names) > 2:
        yield from (("ranks", criterion.key, *one) for one in friedman(means, names))
    if len(names) > 3:
        yield from (("strengths", criterion.key, *one) for one in bradley_terry(means, names))


def friedman(means: dict[tuple[str, str], dict[str, float]], names: list[str]) -> Iterator[tuple]:
    """Systems ranked on each item by their mean over the annotators who rated all of them; 1 is the highest.

    Nemenyi: q = |difference of mean ranks| / sqrt(K (K + 1) / (12 items)) against the studentised range.
    """
    complete: dict[str, list[list[float]]] = {}
    for (item, _), given in means.items():
        if given.keys() >= set(names):
            complete.setdefault(item, []).append([given[name] for name in names])
    table = np.array([np.round(np.mean(rows, axis=0), 9) for rows in complete.values()])
    if len(table) < 2 or (table == table[:, :1]).all():
        yield "", "", "Friedman p", None
        return
    found, count = stats.friedmanchisquare(*table.T), len(names)
    yield "", "", "items", len(table)
    yield "", "", "Friedman chi-square", float(found.statistic)
    yield "", "", "Friedman p", float(found.pvalue)
    mean_ranks = stats.rankdata(-table, axis=1).mean(axis=0)
    yield from ((name, "", "mean rank", rank) for name, rank in zip(names, mean_ranks.tolist(), strict=True))
    first, second = np.array(list(combinations(range(count), 2))).T
    gaps = mean_ranks[first] - mean_ranks[second]
    q = np.abs(gaps) / np.sqrt(count * (count + 1) / (12 * len(table)))
    p = np.clip(stats.studentized_range.sf(q, count, np.inf), 0, 1)
    for one, other, gap, chance in zip(first, second, gaps.tolist(), p.tolist(), strict=True):
        yield names[one], names[other], "difference of ranks", gap
        yield names[one], names[other], "Nemenyi p", chance


def bradley_terry(means: dict[tuple[str, str], dict[str, float]], names: list[str]) -> Iterator[tuple]:
    """Strengths s and ties v of the largest likelihood (Davidson 1970), intervals by drawing items anew.

    Of two systems i, j: i is higher, j is higher, level, with chances in the proportion e^s_i : e^s_j :
    v e^((s_i + s_j) / 2).
    """
    counts = outcomes(means, names)
    total = counts.sum(axis=0, keepdims=True)
    if not finite(total, len(names))[0]:
        yield "", "", "strength", None
        return
    strengths, ties = fitted(total, len(names))
    met = counts[counts.any(axis=(1, 2))]
    higher, lower, level = total[0].sum(axis=0)
    yield "", "", "pairs", int(higher + lower + level)
    yield "", "", "level", int(level)
    yield "", "", "items", len(met)
    yield "", "", "ties", float(ties[0])
    drawn = redrawn(met, len(names))
    for at, name in enumerate(names):
        yield name, "", "strength", float(strengths[0, at])
        low, high = (None, None) if drawn is None else np.quantile(drawn[:, at], [(1 - 0.95) / 2, (1 + 0.95) / 2])
        yield name, "", "strength error", None if drawn is None else drawn[:, at].std(ddof=1)
        yield from ((name, "", "strength low", low), (name, "", "strength high", high))


def outcomes(means: dict[tuple[str, str], dict[str, float]], names: list[str]) -> np.ndarray:
    """(items, pairs, 3) how often the first of two systems was higher, lower, level with one annotator."""
    item = {name: at for at, name in enumerate(dict.fromkeys(item for item, _ in means))}
    found = np.zeros((len(item), len(names) * (len(names) - 1) // 2, 3))
    for (name, _), given in means.items():
        for at, (one, other) in enumerate(combinations(names, 2)):
            if one in given and other in given:
                sign = np.sign(given[one] - given[other])
                found[item[name], at, {1: 0, -1: 1, 0: 2}[int(sign)]] += 1
    return found


def finite(counts: np.ndarray, systems_of: int) -> np.ndarray:
    """(B,) whether the likelihood has a largest value: wins (-1) and ties (+1) lead from everyone to everyone, and some
    circle of them is negative (shortest ways by Floyd and Warshall)."""
    far = np.full((len(counts), systems_of, systems_of), np.inf)
    for at, (one, other) in enumerate(combinations(range(systems_of), 2)):
        tied = np.where(counts[:, at, 2] > 0, 1.0, np.inf)
        far[:, one, other] = np.where(counts[:, at, 0] > 0, -1.0, tied)
        far[:, other, one] = np.where(counts[:, at, 1] > 0, -1.0, tied)
    for by in range(systems_of):
        far = np.minimum(far, far[:, :, by, None] + far[:, by, None, :])
    return np.isfinite(far).all(axis=(1, 2)) & (np.einsum("bii->bi", far) < 0).any(axis=1)


def fitted(counts: np.ndarray, systems_of: int) -> tuple[np.ndarray, np.ndarray]:
    """Strengths (B, K) with mean 0, NaN where they do not settle, and v (B,): Newton's method on a choice of three.

    Each outcome has a row of features, so that the log of its chance is features @ (s, log v) up to a constant.
    """
    two = np.array(list(combinations(range(systems_of), 2)))
    features = np.zeros((len(two), 3, systems_of + 1))
    rows = np.arange(len(two))
    features[rows, 0, two[:, 0]] = features[rows, 1, two[:, 1]] = features[:, 2, systems_of] = 1
    features[rows, 2, two[:, 0]] = features[rows, 2, two[:, 1]] = 0.5
    level = counts[:, :, 2].any()
    found, settled = np.zeros((len(counts), systems_of + 1)), np.zeros(len(counts), dtype=bool)
    apart = np.zeros((systems_of + 1, systems_of + 1))
    apart[:systems_of, :systems_of] = 1  # strengths are known up to a constant; this moves no difference
    apart[systems_of, systems_of] = 0 if level else 1
    for _ in range(STEPS):
        score, information = slopes(counts, found, features, level)
        settled |= np.abs(score).max(axis=1) <= 1e-10 * counts.sum(axis=(1, 2))
        if settled.all():
            break
        step = np.linalg.solve(information[~settled] + apart, score[~settled, :, None])[:, :, 0]
        found[~settled] += step * np.minimum(1, 2 / np.maximum(np.abs(step).max(axis=1), TINY_STEP))[:, None]
    found[~settled] = np.nan
    strengths = found[:, :systems_of]
    return strengths - strengths.mean(axis=1, keepdims=True), np.exp(found[:, systems_of]) if level else found[:, -1]


def slopes(counts: np.ndarray, found: np.ndarray, features: np.ndarray, level: bool) -> tuple[np.ndarray, np.ndarray]:
    """First (B, K + 1) and minus second (B, K + 1, K + 1) derivatives of the log-likelihood."""
    height = np.einsum("pok,bk->bpo", features, found)
    height[:, :, 2] = height[:, :, 2] if level else NO_TIES
    chance = np.exp(height - height.max(axis=2, keepdims=True))
    chance /= chance.sum(axis=2, keepdims=True)
    met = counts.sum(axis=2)
    score = np.einsum("bpo,pok->bk", counts - met[:, :, None] * chance, features)
    mean = np.einsum("bpo,pok->bpk", chance, features)
    of_two = (features[:, :, :, None] * features[:, :, None, :]).reshape(-1, features.shape[2] ** 2)
    squares = ((met[:, :, None] * chance).reshape(len(met), -1) @ of_two).reshape(len(met), *2 * features.shape[2:])
    return score, squares - (mean * met[:, :, None]).swapaxes(1, 2) @ mean


def redrawn(met: np.ndarray, systems_of: int) -> np.ndarray | None:
    """Strengths of items drawn with replacement, equal items merged; None for one item, or where too few have any."""
    if len(met) < 2:
        return None
    by_outcome = met.swapaxes(1, 2).reshape(len(met), -1)
    patterns, weights = np.unique(by_outcome, axis=0, return_counts=True)
    drawn = np.random.default_rng(0).multinomial(len(met), weights / len(met), size=DRAWS).astype(float)
    counts = (drawn @ patterns).reshape(DRAWS, 3, -1).swapaxes(1, 2)
    strengths, _ = fitted(counts[finite(counts, systems_of)], systems_of)
    strengths = strengths[~np.isnan(strengths).any(axis=1)]
    return None if DRAWS - len(strengths) > (1 - 0.95) * DRAWS else strengths
