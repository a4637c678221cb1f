"""Systems against each other: differences, wins, signed ranks, and p adjusted over all of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from scipy import stats

from triptych.reports.recompute.basics import Criterion, Ratings, codes
from triptych.reports.recompute.systems import estimate, limits_of


def side_by_side(ratings: Ratings) -> dict[tuple[str, str], dict[str, float]]:
    """(item, annotator) -> system -> what she gave it; a candidate that she rated twice has the mean."""
    cells: dict[tuple[str, str], dict[str, list[float]]] = {}
    ratings = ratings.of(~np.isnan(ratings.number))
    columns = (ratings.item, ratings.annotator, ratings.system, ratings.number)
    for item, annotator, system, number in zip(*columns, strict=True):
        cells.setdefault((item, annotator), {}).setdefault(system, []).append(number)
    return {key: {s: round(float(np.mean(v)), 9) for s, v in given.items()} for key, given in cells.items()}


def contrasts(criterion: Criterion, ratings: Ratings, names: list[str]) -> Iterator[tuple]:
    """Every two systems over the (item, annotator) pairs that have both: difference, wins, signed ranks."""
    means = side_by_side(ratings)
    for baseline, system in combinations(names, 2):
        pairs = {
            key: (given[system], given[baseline]) for key, given in means.items() if {system, baseline} <= {*given}
        }
        place = ("contrasts", criterion.key, system, baseline)
        yield from ((*place, *found) for found in contrast(pairs))


def contrast(pairs: dict[tuple[str, str], tuple[float, float]]) -> Iterator[tuple[str, float | None]]:
    """pairs: (item, annotator) -> rating of the system, rating of the baseline."""
    if not pairs:
        yield "difference", None
        return
    item = codes(np.array([item for item, _ in pairs], dtype=object))
    annotator = codes(np.array([annotator for _, annotator in pairs], dtype=object))
    ratings = np.array(list(pairs.values()))
    differences = ratings[:, 0] - ratings[:, 1]
    found = estimate(differences, item, annotator)
    yield "pairs", len(differences)
    yield "difference", found["mean"]
    for name, whom in (("these annotators", "these"), ("annotators like these", "alike")):
        yield f"{name} low", found[f"{whom} low"]
        yield f"{name} high", found[f"{whom} high"]
    yield "p", found["p"]
    yield "wins", int((differences > 0).sum())
    yield "ties", int((differences == 0).sum())
    yield "losses", int((differences < 0).sum())
    signs = np.sign(differences)
    low, high = limits_of(signs, item, annotator, (-1, 1))
    yield from (("win minus loss", signs.mean()), ("win minus loss low", low), ("win minus loss high", high))
    yield from signed_ranks(ratings, item)


def signed_ranks(ratings: np.ndarray, item: np.ndarray) -> Iterator[tuple[str, float | None]]:
    """Wilcoxon's test on the mean difference of each item; up to 13 items that differ by all possible signs."""
    means = [np.round(np.bincount(item, column) / np.bincount(item), 9) for column in ratings.T]
    changes = np.round(means[0] - means[1], 9)
    changes = changes[changes != 0]
    if not len(changes):
        yield from (("signed-rank effect", None), ("signed-rank p", None))
        return
    ranks = stats.rankdata(np.abs(changes))
    above, below = ranks[changes > 0].sum(), ranks[changes < 0].sum()
    yield "signed-rank effect", (above - below) / (above + below)
    if len(changes) > 13:
        yield "signed-rank p", float(stats.wilcoxon(changes).pvalue)
        return
    signs = (np.arange(2 ** len(changes))[:, None] >> np.arange(len(changes))) & 1
    as_extreme = (signs @ ranks <= min(above, below) + 1e-9).mean()
    yield "signed-rank p", min(1.0, 2 * float(as_extreme))


def families(rows: list[tuple], declared: list[str]) -> Iterator[tuple]:
    """p adjusted over the contrasts of the declared criteria, then over those of all others; over all if none is."""
    for family in (True, False):
        yield from adjusted([row for row in rows if (row[1] in declared) is family])


def adjusted(rows: list[tuple]) -> Iterator[tuple]:
    """p adjusted over one family (Holm 1979; Benjamini and Hochberg 1995); a contrast without a p has p = 1 in it."""
    places = [row[:4] for row in rows if row[4] == "difference"]
    known = {row[:4]: row[5] for row in rows if row[4] == "p"}
    p = np.array([1.0 if known.get(place) is None else known[place] for place in places])
    ascending, count = np.argsort(p, kind="stable"), np.arange(len(p))
    holm, hochberg = np.empty_like(p), np.empty_like(p)
    holm[ascending] = np.minimum(np.maximum.accumulate((len(p) - count) * p[ascending]), 1)
    hochberg[ascending] = np.minimum.accumulate((len(p) / (count + 1) * p[ascending])[::-1])[::-1]
    for name, found in (("p Holm", holm), ("p Benjamini-Hochberg", hochberg)):
        for place, value in zip(places, found.tolist(), strict=True):
            if place in known:
                yield (*place, name, None if known[place] is None else value)
