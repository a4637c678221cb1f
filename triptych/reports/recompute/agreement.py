"""Agreement between annotators, and of annotators with themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from triptych.reports.recompute.basics import TINY, Criterion, Ratings, codes

AS_CATEGORY, SET_APART = "with missing as a category: ", "without options set apart: "
MOST_POINTS = 101


@dataclass(frozen=True)
class Units:
    """How often units received each value: counts (P, V) of the P different units with two ratings or more, how many
    units are like that (P,), units with one rating by its value (V,), and the values (V,)."""

    counts: np.ndarray
    alike: np.ndarray
    alone: np.ndarray
    values: np.ndarray

    @classmethod
    def of(cls, unit: np.ndarray, code: np.ndarray, values: np.ndarray) -> Units | None:
        """unit, code: (n,) of each rating. None where no unit has two ratings."""
        counts = np.zeros((unit.max(initial=-1) + 1, len(values)))
        np.add.at(counts, (unit, code), 1)
        paired = counts.sum(axis=1) > 1
        if not paired.any():
            return None
        sizes = counts[paired].sum(axis=1)
        if len(values) <= max(21, sizes.max()):
            found, alike = np.unique(counts[paired], axis=0, return_counts=True)
        else:
            found, alike = _by_sorted_values(counts[paired], int(sizes.max()))
        return cls(found, alike, counts[~paired].sum(axis=0), values)

    def draws(self, resamples: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Units drawn with replacement, as how many of each kind (b, P) and of each single value (b, V)."""
        random = np.random.default_rng(0)
        piece = max(1, 4_000_000 // max(self.counts.shape))
        for start in range(0, resamples, piece):
            size = min(piece, resamples - start)
            yield tuple(_drawn(weights, size, random) for weights in (self.alike, self.alone))


def _drawn(weights: np.ndarray, size: int, random: np.random.Generator) -> np.ndarray:
    total = int(weights.sum())
    if not total:
        return np.zeros((size, len(weights)))
    return random.multinomial(total, weights / total, size=size).astype(float)


def _by_sorted_values(counts: np.ndarray, longest: int) -> tuple[np.ndarray, np.ndarray]:
    """The different rows in the order of their values written out, smallest first, and how often each stands."""
    content = np.zeros((len(counts), longest), dtype=int)
    for row, given in zip(content, counts.astype(int), strict=True):
        listed = np.repeat(np.arange(len(given)), given) + 1
        row[: len(listed)] = listed
    _, first, alike = np.unique(content, axis=0, return_index=True, return_counts=True)
    return counts[first], alike


def agreement(criterion: Criterion, ratings: Ratings, resamples: int) -> Iterator[tuple]:
    """Percent agreement, Krippendorff's alpha, Gwet's AC1 or AC2 and Fleiss' kappa, each with its interval.

    A unit is an item with its system. Options that count as missing are left out, then taken as categories of their
    own at the nominal level; options set apart are counted, then left out.
    """
    place, chosen = ("agreement", criterion.key, "", ""), set(ratings.option.tolist())
    places = {key: at for at, key in enumerate(criterion.options)}
    answered = answers_that_count(criterion)
    unit = codes(ratings.item, ratings.system)
    found = measured(ratings, unit, answered, criterion.points, criterion.level, resamples)
    yield from ((*place, *one) for one in found)
    if (places.keys() - answered.keys()) & chosen:
        found = measured(ratings, unit, places, [], "nominal", resamples)
        yield from ((*place, f"{AS_CATEGORY}{name}", value) for name, value in found if name.startswith("alpha"))
    if criterion.apart & chosen:
        kept = {key: at for key, at in answered.items() if key not in criterion.apart}
        found = measured(ratings, unit, kept, [], criterion.level, resamples)
        yield from ((*place, f"{SET_APART}{name}", value) for name, value in found)


def with_self(criterion: Criterion, ratings: Ratings, resamples: int) -> Iterator[tuple]:
    """The same of what annotators rated twice; a unit is an annotator with an item and its system."""
    unit = codes(ratings.annotator, ratings.item, ratings.system)
    found = measured(ratings, unit, answers_that_count(criterion), criterion.points, criterion.level, resamples)
    yield from (("repeats", criterion.key, "", "", *one) for one in found)


def answers_that_count(criterion: Criterion) -> dict[str, int]:
    """Options that are not marked missing, with their places; none where the scale has no options."""
    return {key: at for at, (key, (_, missing)) in enumerate(criterion.options.items()) if not missing}


def coded(ratings: Ratings, options: dict[str, int], points: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """(n,) what agreement is about, NaN = missing, and the possible values in order; without points those given.

    options: those that count, with their places, which then stand for them.
    """
    values, domain = ratings.number, np.array(points)
    if options or (ratings.option != "").any():
        values = np.array([options.get(option, np.nan) for option in ratings.option], dtype=float)
        domain = np.array(list(options.values()), dtype=float)
    return values, domain if len(domain) else np.unique(values[~np.isnan(values)])


def nearest(values: np.ndarray, domain: np.ndarray) -> np.ndarray:
    """(n,) the place of each value in its domain."""
    return np.abs(values[:, None] - domain).argmin(axis=1) if len(domain) else np.zeros(0, dtype=int)


def measured(
    ratings: Ratings, unit: np.ndarray, options: dict[str, int], points: list[float], level: str, resamples: int
) -> list[tuple[str, float | None]]:
    """Units with two ratings, then every coefficient; unit: (n,) codes; options and points as in `coded`."""
    values, domain = coded(ratings, options, points)
    kept = ~np.isnan(values)
    units = Units.of(unit[kept], nearest(values[kept], domain), domain)
    if units is None:
        return [("units", 0), ("percent", None), ("alpha", None)]
    found: list[tuple[str, float | None]] = [("units", int(units.alike.sum()))]
    varied = (units.alike @ units.counts > 0).sum() > 1
    for name, coefficient in COEFFICIENTS.items():
        if name == "alpha_interval" and level != "ordinal":
            continue
        defined = name == "percent" or (varied and (name.startswith("alpha") or len(domain) <= MOST_POINTS))
        found += _with_limits(name, coefficient if defined else None, units, level, resamples)
    return found


def _with_limits(
    name: str, coefficient: Callable | None, units: Units, level: str, resamples: int
) -> Iterator[tuple[str, float | None]]:
    """The value, and the 2.5 and 97.5 % points of its resamples unless too many are undefined or all are alike."""
    if coefficient is None:
        yield from ((name, None), (f"{name} low", None), (f"{name} high", None))
        return
    yield name, coefficient(units, units.alike[None, :].astype(float), units.alone[None, :], level)[0]
    limits: tuple[float | None, float | None] = (None, None)
    if units.alike.sum() > 1:
        drawn = np.concatenate([coefficient(units, *draw, level) for draw in units.draws(resamples)])
        defined = drawn[~np.isnan(drawn)]
        if len(drawn) - len(defined) <= (1 - 0.95) * len(drawn):
            low, high = np.quantile(defined, [(1 - 0.95) / 2, (1 + 0.95) / 2])
            limits = (None, None) if high - low <= TINY else (low, high)
    yield f"{name} low", limits[0]
    yield f"{name} high", limits[1]


def percent(units: Units, weights: np.ndarray, alone: np.ndarray, level: str) -> np.ndarray:
    """Mean over units of sum_c n_c (n_c - 1) / (m (m - 1))."""
    return weighted(units, weights, np.eye(len(units.values)))


def weighted(units: Units, weights: np.ndarray, closeness: np.ndarray) -> np.ndarray:
    sizes = units.counts.sum(axis=1)
    alike = (units.counts * (units.counts @ closeness)).sum(axis=1) - sizes
    return weights @ (alike / (sizes * (sizes - 1))) / weights.sum(axis=1)


def alpha(units: Units, weights: np.ndarray, alone: np.ndarray, level: str) -> np.ndarray:
    """Krippendorff's alpha: 1 - (n - 1) sum o_ck d_ck / sum n_c n_k d_ck over the coincidences o (2011)."""
    sizes = units.counts.sum(axis=1)
    margins, n = weights @ units.counts, weights @ sizes
    if level == "ordinal":
        return np.array([_ordinal(units, weights[at], margins[at], n[at]) for at in range(len(n))])
    apart = 1 - np.eye(len(units.values))
    if level == "interval":
        apart = np.subtract.outer(units.values, units.values) ** 2
    inside = (units.counts @ apart * units.counts).sum(axis=1) / (sizes - 1)
    expected = (margins @ apart * margins).sum(axis=1)
    return 1 - ratio((n - 1) * (weights @ inside), expected)


def _ordinal(units: Units, weights: np.ndarray, margins: np.ndarray, n: float) -> float:
    """Two values lie as far apart as the ratings from the one to the other, each end counted half."""
    rank = np.cumsum(margins) - margins / 2
    apart = np.subtract.outer(rank, rank) ** 2
    inside = (units.counts @ apart * units.counts).sum(axis=1) / (units.counts.sum(axis=1) - 1)
    return float(1 - ratio((n - 1) * (weights @ inside), margins @ apart @ margins))


def gwet(units: Units, weights: np.ndarray, alone: np.ndarray, level: str) -> np.ndarray:
    """Gwet's AC1 (nominal), AC2 with ordinal or quadratic weights: pe = sum(w) / (q (q - 1)) sum_c pi_c (1 - pi_c)."""
    q, alike = len(units.values), closeness(units.values, level)
    pi = _shares(units, weights, alone)
    return beyond(weighted(units, weights, alike), alike.sum() / (q * (q - 1)) * (pi * (1 - pi)).sum(axis=1))


def fleiss(units: Units, weights: np.ndarray, alone: np.ndarray, level: str) -> np.ndarray:
    """Fleiss' kappa, generalised to missing ratings: pe = sum_c pi_c^2."""
    pi = _shares(units, weights, alone)
    return beyond(percent(units, weights, alone, level), (pi**2).sum(axis=1))


def closeness(values: np.ndarray, level: str) -> np.ndarray:
    q, place = len(values), np.arange(len(values))
    if level == "nominal":
        return np.eye(q)
    if level == "interval":
        return 1 - (np.subtract.outer(values, values) / np.ptp(values)) ** 2
    apart = np.abs(np.subtract.outer(place, place))
    return 1 - apart * (apart + 1) / (q * (q - 1))


def _shares(units: Units, weights: np.ndarray, alone: np.ndarray) -> np.ndarray:
    """Share of each value in a unit, averaged over all units, also those rated once."""
    shares = units.counts / units.counts.sum(axis=1, keepdims=True)
    return (weights @ shares + alone) / (weights.sum(axis=1) + alone.sum(axis=1))[:, None]


def beyond(found: np.ndarray, chance: np.ndarray) -> np.ndarray:
    beyond = np.where(1 - chance > TINY, ratio(found - chance, 1 - chance), np.nan)
    return np.minimum(beyond, 1)


def ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    above, below = np.asarray(above, dtype=float), np.asarray(below, dtype=float)
    return np.divide(above, below, out=np.full(below.shape, np.nan), where=below > 0)


COEFFICIENTS = {
    "percent": percent,
    "alpha": alpha,
    "alpha_interval": lambda units, weights, alone, level: alpha(units, weights, alone, "interval"),
    "ac": gwet,
    "fleiss": fleiss,
}
