"""What places on screen and time do to ratings."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import linalg, stats

from triptych.reports.recompute.basics import TINY, Criterion, Ratings, codes
from triptych.reports.recompute.systems import ENOUGH_ANNOTATORS, VARIANCE_FLOOR, freedom, limits_of

ENOUGH_TO_ORDER = 5


def effects(criterion: Criterion, ratings: Ratings) -> Iterator[tuple]:
    """All about places and time under one criterion; nothing is defined where it cannot tell systems apart."""
    place = ("effects", criterion.key, "", "")
    known = ratings.of(~np.isnan(ratings.number)) if criterion.compares else ratings.of(np.zeros(0, dtype=int))
    placed = known.of(known.position >= 0)
    found, best = places(placed), best_places(placed)
    if found:
        yield (*place, "annotations", found["annotations"])
        yield (*place, "Wald", found["Wald"])
    yield (*place, "p", found["p"] if found else None)
    shifts = found["shifts"] if found else {}
    for at in sorted({*shifts, *best}):
        here = ("effects", criterion.key, f"Response {'ABCDEF'[at]}", "")
        shift, ends = shifts.get(at, (None, None))
        yield (*here, "shift", shift)
        if ends:
            yield from ((*here, "shift low", ends[0]), (*here, "shift high", ends[1]))
        yield (*here, "best", best.get(at))
    change = first_to_last(known) if criterion.compares and one_after_the_other(ratings) else None
    yield (*place, "first to last", change[0] if change else None)
    if change:
        yield from ((*place, "first to last low", change[1][0]), (*place, "first to last high", change[1][1]))


def places(placed: Ratings) -> dict | None:
    """Least squares of ratings on places and systems within each annotation; shifts of the places sum to 0.

    Wald's statistic of all shifts with a covariance clustered by item and annotator, referred to F as Hotelling's T
    squared is.
    """
    distinct, at = np.unique(placed.position, return_inverse=True)
    if len(distinct) < 2:
        return None
    item, annotator, system = codes(placed.item), codes(placed.annotator), codes(placed.system)
    annotation = codes(placed.item, placed.annotator)
    last = len(distinct) - 1
    columns = np.eye(len(distinct))[at][:, :last] - (at == last)[:, None]
    others = apart_from_mean(np.eye(system.max() + 1)[system][:, 1:], annotation)
    columns, numbers = apart_from_mean(columns, annotation), apart_from_mean(placed.number[:, None], annotation)
    columns, numbers = (part - others @ np.linalg.lstsq(others, part, rcond=None)[0] for part in (columns, numbers))
    squares = columns.T @ columns
    if np.linalg.eigvalsh(squares)[0] <= TINY * len(at):
        return None
    coefficients = np.linalg.solve(squares, columns.T @ numbers)[:, 0]
    rest = numbers[:, 0] - columns @ coefficients
    if np.abs(rest).max() <= TINY * max(1.0, np.abs(placed.number).max()):
        return None
    scores = (columns * rest[:, None]) @ np.linalg.inv(squares)
    tested = no_shift(coefficients, scores, item, annotator)
    if tested is None:
        return None
    to_places = np.vstack([np.eye(last), -np.ones(last)])
    shifts = {
        int(place): (shift, limits_of(shift + len(at) * scores @ row, item, annotator))
        for place, shift, row in zip(distinct, to_places @ coefficients, to_places, strict=True)
    }
    return {"annotations": annotation.max() + 1, "Wald": tested[0], "p": tested[1], "shifts": shifts}


def apart_from_mean(columns: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """(n, q) columns minus their mean in each group."""
    means = np.zeros((groups.max() + 1, columns.shape[1]))
    np.add.at(means, groups, columns)
    return columns - (means / np.bincount(groups)[:, None])[groups]


def no_shift(
    coefficients: np.ndarray, scores: np.ndarray, item: np.ndarray, annotator: np.ndarray
) -> tuple[float, float] | None:
    """Wald's statistic and p; the covariance is V_item + V_annotator - V_cell, below five annotators V_item.

    In every direction it is at least a quarter of the larger one of V_item and V_annotator.
    """
    by_item, by_annotator = corrected(scores, item), corrected(scores, annotator)
    degrees, covariance = freedom(item), by_item
    if annotator.max() + 1 >= ENOUGH_ANNOTATORS:
        degrees, covariance = freedom(item, annotator), max(by_item, by_annotator, key=np.trace)
        if np.linalg.eigvalsh(covariance)[0] > TINY * np.trace(covariance):
            both = by_item + by_annotator - summed(scores, codes(item, annotator))
            ratios, vectors = linalg.eigh(both, covariance)
            half = covariance @ vectors
            covariance = (half * np.maximum(ratios, VARIANCE_FLOOR)) @ half.T
    count = len(coefficients)
    if degrees < count or np.linalg.eigvalsh(covariance)[0] <= TINY * np.trace(covariance):
        return None
    statistic = float(coefficients @ np.linalg.solve(covariance, coefficients))
    rest = degrees - count + 1
    return statistic, float(stats.f.sf(statistic * rest / (degrees * count), count, rest))


def corrected(scores: np.ndarray, groups: np.ndarray) -> np.ndarray:
    count = groups.max() + 1
    return summed(scores, groups) * count / max(count - 1, 1)


def summed(scores: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """The sum over groups of s s', s the sum of the scores in a group."""
    sums = np.zeros((groups.max() + 1, scores.shape[1]))
    np.add.at(sums, groups, scores)
    return sums.T @ sums


def best_places(placed: Ratings) -> dict[int, float]:
    """How often the one response rated above all others stood at each place, where there is a rating at all of them."""
    distinct, at = np.unique(placed.position, return_inverse=True)
    if len(distinct) < 2:
        return {}
    annotation = codes(placed.item, placed.annotator)
    table = np.full((annotation.max() + 1, len(distinct)), np.nan)
    table[annotation, at] = placed.number
    table = table[~np.isnan(table).any(axis=1)]
    best = table == table.max(axis=1, keepdims=True, initial=-np.inf)
    strict = best[best.sum(axis=1) == 1]
    return dict(zip(distinct.tolist(), strict.mean(axis=0).tolist(), strict=True)) if len(strict) else {}


def one_after_the_other(*every: Ratings) -> bool:
    """Whether more than half of the annotations carry a time of their own."""
    pairs: dict[str, set[tuple]] = {"item": set(), "at": set()}
    for ratings in every:
        for name, found in pairs.items():
            found.update(zip(ratings.annotator.tolist(), getattr(ratings, name).tolist(), strict=True))
    return 2 * len(pairs["at"]) > len(pairs["item"])


def first_to_last(known: Ratings) -> tuple[float, tuple[float | None, float | None]] | None:
    """Slope of (rating - mean of its system), averaged per annotation, on its place in time, 0 first and 1 last.

    Least squares within annotators who have five annotations; those of one time share the mean of their places.
    """
    if not len(known.number):
        return None
    system, annotation = codes(known.system), codes(known.item, known.annotator)
    deviation = known.number - (np.bincount(system, known.number) / np.bincount(system))[system]
    mean = np.bincount(annotation, deviation) / np.bincount(annotation)
    first = np.unique(annotation, return_index=True)[1]
    at = np.full(len(first), np.inf)
    np.minimum.at(at, annotation, known.at)
    item, annotator = codes(known.item[first]), codes(known.annotator[first])
    enough = np.bincount(annotator)[annotator] >= ENOUGH_TO_ORDER
    if not enough.any():
        return None
    mean, at, item, annotator = mean[enough], at[enough], codes(item[enough]), codes(annotator[enough])
    place = np.empty(len(at))
    for one in range(annotator.max() + 1):
        mine = annotator == one
        place[mine] = (stats.rankdata(at[mine]) - 1) / (mine.sum() - 1)
    x, y = (apart_from_mean(column[:, None], annotator)[:, 0] for column in (place, mean))
    if np.abs(x).max() <= TINY or np.abs(y).max() <= TINY * max(1.0, np.abs(known.number).max()):
        return None
    change = float((x @ y) / (x @ x))
    return change, limits_of(change + x * (y - change * x) / (x**2).mean(), item, annotator)
