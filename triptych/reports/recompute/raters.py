"""Annotators one by one and two by two: reliability, alpha without each, every pair, each with herself."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import combinations

import numpy as np

from triptych.reports.recompute.agreement import (
    MOST_POINTS,
    Units,
    alpha,
    answers_that_count,
    beyond,
    closeness,
    coded,
    nearest,
)
from triptych.reports.recompute.basics import TINY, Criterion, Ratings, codes

RELIABLE = 0.8
FORMS = ("ICC(1)", "ICC(A)", "ICC(C)")


def raters(criterion: Criterion, ratings: Ratings) -> Iterator[tuple]:
    """All about the annotators under one criterion; a unit is an item with its system."""
    known = ratings.of(~np.isnan(ratings.number))
    unit, annotator = codes(known.item, known.system), codes(known.annotator)
    yield from (("reliability", criterion.key, "", "", *one) for one in reliability(known.number, unit, annotator))
    values, domain = coded(ratings, answers_that_count(criterion), criterion.points)
    kept = ~np.isnan(values)
    given = ratings.of(kept)
    unit = codes(given.item, given.system)
    paired = np.bincount(unit)[unit] > 1 if len(unit) else np.zeros(0, dtype=bool)
    if not criterion.options and not criterion.points:
        domain = np.unique(values[kept][paired])
    value = nearest(values[kept][paired], domain)
    yield from without_each(criterion, given.annotator, unit[paired], value, given.annotator[paired], domain)
    yield from pairs(criterion, unit[paired], value, given.annotator[paired], domain)


def reliability(values: np.ndarray, unit: np.ndarray, annotator: np.ndarray) -> Iterator[tuple[str, float | None]]:
    """Intraclass correlations (Shrout and Fleiss 1979) of one rating and of the mean of k, and raters for 0.8.

    ICC(1) from the mean squares between and within units, also where units have different numbers of ratings; ICC(A)
    (absolute agreement) and ICC(C) (consistency) from those of rows, columns and the rest, where the table is complete.
    """
    sizes = np.bincount(unit)
    if len(values) == len(sizes) or len(sizes) < 2 or np.ptp(values) <= 1e-10 * np.abs(values).max():
        yield from (("ICC(1) single", None), ("ICC(1) mean", None), ("ICC(1) needed", None))
        return
    values = (values - values.mean()) / np.abs(values - values.mean()).max()
    units, people = len(sizes), int(annotator.max()) + 1
    k = (sizes.sum() - (sizes**2).sum() / sizes.sum()) / (units - 1)
    yield from (("units", units), ("annotators", people), ("ratings per unit", k))
    means = np.bincount(unit, values) / sizes
    between = (sizes * (means - values.mean()) ** 2).sum() / (units - 1)
    within = ((values - means[unit]) ** 2).sum() / (len(values) - units)
    yield from correlation_of(FORMS[0], between - within, between + (k - 1) * within, between)
    cells = np.zeros((units, people))
    np.add.at(cells, (unit, annotator), 1)
    if people < 2 or not (cells == 1).all():
        yield from ((f"{form} {what}", None) for form in FORMS[1:] for what in ("single", "mean", "needed"))
        return
    table = np.zeros((units, people))
    table[unit, annotator] = values
    row, column = people * table.mean(axis=1).var(ddof=1), units * table.mean(axis=0).var(ddof=1)
    rest = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0, keepdims=True) + table.mean()
    error = (rest**2).sum() / ((units - 1) * (people - 1))
    severity, common = (column - error) / units, row + (people - 1) * error
    yield from correlation_of(FORMS[1], row - error, common + people * severity, row + severity)
    yield from correlation_of(FORMS[2], row - error, common, row)


def correlation_of(form: str, signal: float, of_one: float, of_mean: float) -> Iterator[tuple[str, float | None]]:
    """Signal over the variance of one rating and of the mean; raters for 0.8 by Spearman and Brown."""
    single = signal / of_one if of_one > TINY else None
    yield f"{form} single", single
    yield f"{form} mean", signal / of_mean if single is not None and of_mean > TINY else None
    never = single is None or round(single, 9) <= 0
    needed = None if never else RELIABLE * (1 - single) / (single * (1 - RELIABLE))
    yield f"{form} needed", None if needed is None else max(1, math.ceil(needed - 1e-9))


def without_each(
    criterion: Criterion,
    everybody: np.ndarray,
    unit: np.ndarray,
    value: np.ndarray,
    who: np.ndarray,
    domain: np.ndarray,
) -> Iterator[tuple]:
    """Krippendorff's alpha of the ratings that are left without one annotator, over what two others rated."""
    counts = np.zeros((unit.max(initial=-1) + 1, len(domain)))
    np.add.at(counts, (unit, value), 1)
    all_of_them = alpha_of(counts, domain, criterion.level)[1]
    if all_of_them is None:
        yield "without annotator", criterion.key, "", "", "alpha", None
        return
    for name in sorted(set(everybody.tolist())):
        hers, rest = who == name, counts.copy()
        np.subtract.at(rest, (unit[hers], value[hers]), 1)
        units, left = alpha_of(rest, domain, criterion.level)
        place = ("without annotator", criterion.key, name, "")
        yield (*place, "units", units)
        yield (*place, "alpha", left)
        yield (*place, "change", None if left is None else left - all_of_them)


def alpha_of(counts: np.ndarray, domain: np.ndarray, level: str) -> tuple[int, float | None]:
    """Units with two ratings of all those in counts (U, V), and alpha; None where it is not defined."""
    paired = counts[counts.sum(axis=1) > 1]
    if (paired.sum(axis=0) > 0).sum() < 2:
        return len(paired), None
    units = Units(paired, np.ones(len(paired)), np.zeros(len(domain)), domain)
    return len(paired), float(alpha(units, units.alike[None, :], units.alone[None, :], level)[0])


def pairs(
    criterion: Criterion, unit: np.ndarray, value: np.ndarray, who: np.ndarray, domain: np.ndarray
) -> Iterator[tuple]:
    """Every two annotators over the units that both rated, and the means over the pairs."""
    given: dict[str, dict[int, int]] = {}
    for name, at, code in zip(who.tolist(), unit.tolist(), value.tolist(), strict=True):
        given.setdefault(name, {})[at] = code
    found: dict[str, list[float | None]] = {}
    for first, second in combinations(sorted(given), 2):
        shared = sorted(given[first].keys() & given[second].keys())
        if shared:
            both = np.array([[given[name][at] for at in shared] for name in (first, second)])
            for statistic, number in pair(criterion, both, domain):
                found.setdefault(statistic, []).append(number)
                yield "annotator pairs", criterion.key, first, second, statistic, number
    yield "annotator pairs", criterion.key, "", "", "pairs", len(found.get("n", ()))
    for statistic in PAIRWISE[criterion.level == "nominal"]:
        known = [number for number in found.get(statistic, ()) if number is not None]
        yield "annotator pairs", criterion.key, "", "", f"mean {statistic}", np.mean(known) if known else None


PAIRWISE = (("kappa", "correlation", "distance"), ("kappa",))


def pair(criterion: Criterion, both: np.ndarray, domain: np.ndarray) -> Iterator[tuple[str, float | None]]:
    """Two annotators; both: (2, n) codes of what they gave. Cohen's kappa is weighted by the level of the scale."""
    yield "n", both.shape[1]
    yield "the same", (both[0] == both[1]).mean()
    yield "kappa", cohen(both, domain, criterion.level)
    if criterion.level == "nominal":
        return
    x, y = domain[both]
    varied = np.ptp(x) > 0 and np.ptp(y) > 0
    yield "correlation", np.corrcoef(x, y)[0, 1] if varied else None
    yield "distance", np.abs(x - y).mean()


def cohen(both: np.ndarray, domain: np.ndarray, level: str) -> float | None:
    """(pa - pe) / (1 - pe) with pe from each annotator's own shares (Cohen 1960, 1968)."""
    if len(domain) > MOST_POINTS:
        return None
    alike = closeness(domain, level) if len(domain) > 1 else np.eye(len(domain))
    shares = [np.bincount(codes_of, minlength=len(domain)) / both.shape[1] for codes_of in both]
    kappa = beyond(np.array([alike[both[0], both[1]].mean()]), np.array([shares[0] @ alike @ shares[1]]))[0]
    return None if np.isnan(kappa) else float(kappa)


def each_with_self(every: Iterable[tuple[Criterion, Ratings]]) -> Iterator[tuple]:
    """By annotator, over all criteria: how often the second rating was the first one, and how far apart on average.

    The distance is a share of the scale's width; two different options are a whole width apart.
    """
    apart: dict[str, list[float]] = {}
    for criterion, ratings in every:
        values, _ = coded(ratings, answers_that_count(criterion), criterion.points)
        width = 1.0 if criterion.is_share else criterion.ends[1] - criterion.ends[0]
        twice: dict[tuple[str, str, str], list[float]] = {}
        for at in np.flatnonzero(~np.isnan(values)).tolist():
            key = (ratings.annotator[at], ratings.item[at], ratings.system[at])
            twice.setdefault(key, []).append(float(values[at]))
        for (annotator, _, _), (first, *later) in twice.items():
            distance = [float(first != value) if criterion.is_share else abs(value - first) / width for value in later]
            apart.setdefault(annotator, []).extend(distance)
    for annotator, distances in apart.items():
        if distances:
            yield "repeats", "", annotator, "", "n", len(distances)
            yield "repeats", "", annotator, "", "the same", float(np.mean(np.array(distances) == 0))
            yield "repeats", "", annotator, "", "apart", float(np.mean(distances))
