"""Recomputes every number of this report from ratings.csv and compares it with results.csv.

    python analysis.py

needs Python 3.10 or newer, NumPy and SciPy, and nothing else; it reads the files beside it. It ends with 0 if every
number is the same to the last printed digit, and names those that are not. How each number is made stands beside its
function. Intervals of agreement draw items anew with NumPy's default generator; another NumPy may draw other ones.
"""

from __future__ import annotations

import csv
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy import stats

SNAPSHOT = ""  # the hash of the snapshot that this report was made from
ENOUGH_ANNOTATORS, VARIANCE_FLOOR = 5, 0.25
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\0")
TINY = 1e-12


def written(value: float, style: str) -> str:
    """A number as the report prints it: two decimals, percentages whole, p with three decimals.

    Rounding goes through nine decimals, so that a last bit that differs between machines never shows.
    """
    value = round(value, 9) + 0.0
    if style == "count":
        return f"{value:.0f}"
    if style == "p":
        return "< 0.001" if value < 0.001 else f"{value:.3f}"
    if style in ("share", "points"):
        number = f"{100 * value:+.0f}" if style == "points" else f"{100 * value:.0f}"
        number = number.replace("-0", "0").replace("+0", "0") if float(number) == 0 else number
        return f"{number} points" if style == "points" else f"{number} %"
    number = f"{value:+.2f}" if style == "difference" else f"{value:.2f}"
    return "0.00" if float(number) == 0 else number


@dataclass(frozen=True)
class Criterion:
    """What codebook.json says of one criterion. options: key -> (positive, missing), for a choice."""

    key: str
    kind: str
    level: str
    about: str
    points: list[float]
    ends: tuple[float, float]
    options: dict[str, tuple[bool, bool]]

    @classmethod
    def read(cls, given: dict) -> Criterion:
        scale = given["scale"]
        points, ends = [], (0.0, 1.0)
        if scale["kind"] == "likert":
            points = [float(point["value"]) for point in scale["points"]]
            ends = (points[0], points[-1])
        if scale["kind"] == "number":
            ends, steps = (scale["low"], scale["high"]), round((scale["high"] - scale["low"]) / scale["step"])
            points = [round(ends[0] + n * scale["step"], 9) for n in range(steps + 1)] if steps < 21 else []
        options = {one["key"]: (one["positive"], one["missing"]) for one in scale.get("options", ())}
        return cls(given["key"], scale["kind"], scale["level"], given["about"], points, ends, options)

    @property
    def is_share(self) -> bool:
        return self.kind in ("best", "choice")

    @property
    def is_of_systems(self) -> bool:
        return self.about == "candidate" or self.kind == "best"

    @property
    def compares(self) -> bool:
        """Whether it can tell systems apart: options without a positive one have no order."""
        return self.is_of_systems and (not self.options or bool(self.positive))

    @property
    def positive(self) -> list[str]:
        return [key for key, (positive, _) in self.options.items() if positive]


@dataclass(frozen=True)
class Ratings:
    """Columns (n,) of the ratings of one criterion that count. number: NaN = none; system: "" = the item itself."""

    number: np.ndarray
    option: np.ndarray
    missing: np.ndarray
    item: np.ndarray
    annotator: np.ndarray
    system: np.ndarray
    position: np.ndarray

    @classmethod
    def read(cls, rows: list[dict[str, str]], criterion: Criterion) -> Ratings:
        numbers = [_number(row, criterion) for row in rows]
        names = ("item_id", "annotator", "system")
        labels = [np.array([row[name] for row in rows], dtype=object) for name in names]
        return cls(
            np.array(numbers, dtype=float),
            np.array([row["option"] for row in rows], dtype=object),
            np.array([row["missing"] == "1" for row in rows], dtype=bool),
            *labels,
            np.array([int(row["position"] or -1) for row in rows], dtype=int),
        )

    def of(self, kept: np.ndarray) -> Ratings:
        return Ratings(*(column[kept] for column in vars(self).values()))


def _number(row: dict[str, str], criterion: Criterion) -> float:
    """The number given; for a choice 1 if the option is positive, else 0; NaN where there is none."""
    if not criterion.options:
        return float(row["value"]) if row["value"] else np.nan
    if row["missing"] == "1" or not criterion.positive:
        return np.nan
    return float(row["option"] in criterion.positive)


def codes(*labels: np.ndarray) -> np.ndarray:
    """Codes 0, 1, 2, … (n,) of equal rows of labels."""
    joined = [json.dumps(row) for row in zip(*(column.tolist() for column in labels), strict=True)]
    return np.unique(joined, return_inverse=True)[1]


# --- means, their intervals, and the test ----------------------------------------------------------------------------


def cluster_variance(residuals: np.ndarray, groups: np.ndarray) -> float:
    """G / (G - 1) * sum over groups of (sum of residuals)^2 / n^2; nothing for one group."""
    count = groups.max() + 1
    return _squares(residuals, groups) * count / (count - 1) if count > 1 else 0.0


def _squares(residuals: np.ndarray, groups: np.ndarray) -> float:
    return float((np.bincount(groups, residuals) ** 2).sum() / len(residuals) ** 2)


def freedom(*groupings: np.ndarray) -> float:
    """The smallest effective number of groups, (sum of sizes)^2 / sum of squared sizes, less 1; at least 1."""
    sizes = [np.bincount(groups) for groups in groupings]
    return max(1.0, min(float(of.sum() ** 2 / (of**2).sum()) for of in sizes) - 1)


def estimate(values: np.ndarray, item: np.ndarray, annotator: np.ndarray) -> dict[str, float | None]:
    """Mean, limits for these annotators (by item) and for annotators like these (by item and annotator), p.

    Two-way: V_item + V_annotator - V_cell, at least a quarter of the larger; t with `freedom` degrees of freedom.
    """
    mean, residuals = float(values.mean()), values - values.mean()
    by_item, by_annotator = cluster_variance(residuals, item), cluster_variance(residuals, annotator)
    both = by_item + by_annotator - _squares(residuals, codes(item, annotator))
    both = max(both, VARIANCE_FLOOR * max(by_item, by_annotator))
    found: dict[str, float | None] = {"mean": mean, "p": None}
    found |= dict.fromkeys(("these low", "these high", "alike low", "alike high"))
    annotators, rounding = annotator.max() + 1, TINY * np.abs(values).max()
    if item.max() > 0 and by_item**0.5 > rounding:
        reach = stats.t.ppf(0.975, freedom(item)) * by_item**0.5
        found |= {"these low": mean - reach, "these high": mean + reach}
    if item.max() > 0 and both**0.5 > rounding and annotators >= ENOUGH_ANNOTATORS:
        degrees = freedom(item, annotator)
        reach = stats.t.ppf(0.975, degrees) * both**0.5
        found |= {"alike low": mean - reach, "alike high": mean + reach}
        found["p"] = float(2 * stats.t.sf(abs(mean) / both**0.5, degrees))
    return found


# --- numbers of one system -------------------------------------------------------------------------------------------


def systems(criterion: Criterion, ratings: Ratings, names: list[str]) -> Iterator[tuple]:
    """Counts, mean, median, spread, interval, answers and majority of every system."""
    for name in names if criterion.is_of_systems else [""]:
        mine = ratings.of(ratings.system == name)
        place = ("systems", criterion.key, name, "")
        yield (*place, "n", int((~mine.missing).sum()))
        yield (*place, "missing", int(mine.missing.sum()))
        values = mine.number[~np.isnan(mine.number)]
        yield (*place, "mean", values.mean() if len(values) else None)
        if not criterion.is_share:
            yield (*place, "median", np.median(values) if len(values) else None)
            yield (*place, "sd", values.std(ddof=1) if len(values) > 1 else None)
        low, high = headline(criterion, mine.of(~np.isnan(mine.number)))
        yield (*place, "interval low", low)
        yield (*place, "interval high", high)
        yield from ((*place, *found) for found in answers(criterion, mine))


def headline(criterion: Criterion, ratings: Ratings) -> tuple[float | None, float | None]:
    """The interval printed beside a mean: for annotators like these from five on; cut at the ends of the scale."""
    if not len(ratings.number):
        return None, None
    annotator = codes(ratings.annotator)
    found = estimate(ratings.number, codes(ratings.item), annotator)
    whom = "alike" if annotator.max() + 1 >= ENOUGH_ANNOTATORS else "these"
    low, high = found[f"{whom} low"], found[f"{whom} high"]
    return (None, None) if low is None else (max(low, criterion.ends[0]), min(high, criterion.ends[1]))


def answers(criterion: Criterion, ratings: Ratings) -> Iterator[tuple[str, float | None]]:
    """How often each point or option was given; options out of the answers that are not missing."""
    values = ratings.number[~np.isnan(ratings.number)]
    for point in criterion.points:
        yield f"answers {point:g}", int(np.isclose(values, point, rtol=0, atol=1e-9).sum())
    chosen = ratings.option[ratings.option != ""]
    unanswered = [key for key, (_, missing) in criterion.options.items() if missing]
    answered = int(sum(option not in unanswered for option in chosen))
    for key in criterion.options if len(chosen) else ():
        count, of = int((chosen == key).sum()), len(chosen) if key in unanswered else answered
        yield f"answers {key}", count
        yield f"share {key}", count / of if of else None
    if criterion.positive and answered:
        yield from majority(criterion, ratings.of(~ratings.missing))


def majority(criterion: Criterion, ratings: Ratings) -> Iterator[tuple[str, float]]:
    """Items of which more than half of the raters chose a positive option; an item without a majority is undecided."""
    item = codes(ratings.item)
    share = np.bincount(item, ratings.number) / np.bincount(item)
    yield "positive by majority", int((share > 0.5).sum())
    yield "no majority", int((share == 0.5).sum())
    yield "items voted on", len(share)
    yield "share positive by majority", float((share > 0.5).mean())


def order(criterion: Criterion, ratings: Ratings) -> Iterator[tuple]:
    """Mean of (rating - mean of its system) at each place on screen, over the ratings whose place is known."""
    if not criterion.is_of_systems:
        return
    known = ratings.of(~np.isnan(ratings.number) & (ratings.position >= 0))
    if not len(known.number):
        return
    system = codes(known.system)
    deviation = known.number - (np.bincount(system, known.number) / np.bincount(system))[system]
    for place in sorted(set(known.position.tolist())):
        here = known.position == place
        yield "order", criterion.key, f"Response {'ABCDEF'[place]}", "", "n", int(here.sum())
        yield "order", criterion.key, f"Response {'ABCDEF'[place]}", "", "from own mean", deviation[here].mean()


# --- systems against each other --------------------------------------------------------------------------------------


def contrasts(criterion: Criterion, ratings: Ratings, names: list[str]) -> Iterator[tuple]:
    """Every two systems over the (item, annotator) pairs that have both: difference, wins, signed ranks."""
    ratings = ratings.of(~np.isnan(ratings.number))
    cells: dict[tuple[str, str], dict[str, list[float]]] = {}
    for item, annotator, system, number in zip(
        ratings.item, ratings.annotator, ratings.system, ratings.number, strict=True
    ):
        cells.setdefault((item, annotator), {}).setdefault(system, []).append(number)
    means = {key: {s: round(float(np.mean(v)), 9) for s, v in given.items()} for key, given in cells.items()}
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


def holm(rows: list[tuple]) -> Iterator[tuple]:
    """p adjusted over all contrasts of the report (Holm 1979); a contrast without a p counts as one with p = 1."""
    declared = [row[:4] for row in rows if row[4] == "difference"]
    known = {row[:4]: row[5] for row in rows if row[4] == "p"}
    p = np.array([1.0 if known.get(place) is None else known[place] for place in declared])
    ascending = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[ascending] = np.minimum(np.maximum.accumulate((len(p) - np.arange(len(p))) * p[ascending]), 1)
    for place, value in zip(declared, adjusted.tolist(), strict=True):
        if place in known:
            yield (*place, "p Holm", None if known[place] is None else value)


# --- agreement -------------------------------------------------------------------------------------------------------


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
    """Percent agreement, Krippendorff's alpha, Gwet's AC1 or AC2 and Fleiss' kappa, each with its interval."""
    places = {key: place for place, key in enumerate(criterion.options)}
    answered = {key: place for key, place in places.items() if not criterion.options[key][1]}
    found = measured(ratings, answered, criterion.points, criterion.level, resamples)
    yield from (("agreement", criterion.key, "", "", *one) for one in found)
    if (places.keys() - answered.keys()) & set(ratings.option.tolist()):
        found = measured(ratings, places, [], "nominal", resamples)
        for name, value in found:
            if name.startswith("alpha"):
                yield "agreement", criterion.key, "", "", f"with missing as a category: {name}", value


def measured(
    ratings: Ratings, options: dict[str, int], points: list[float], level: str, resamples: int
) -> Iterator[tuple[str, float | None]]:
    """options: those that count, with their places; points: of the scale, in order. A unit: an item with its system."""
    values, domain = ratings.number, np.array(points)
    if options:
        values = np.array([options.get(option, np.nan) for option in ratings.option], dtype=float)
        domain = np.array(list(options.values()), dtype=float)
    kept = ~np.isnan(values)
    domain = domain if len(domain) else np.unique(values[kept])
    code = np.abs(values[kept][:, None] - domain).argmin(axis=1) if len(domain) else np.zeros(0, dtype=int)
    units = Units.of(codes(ratings.item[kept], ratings.system[kept]), code, domain)
    yield "units", 0 if units is None else int(units.alike.sum())
    if units is None:
        yield from (("percent", None), ("alpha", None))
        return
    varied = (units.alike @ units.counts > 0).sum() > 1
    for name, coefficient in COEFFICIENTS.items():
        if name == "alpha_interval" and level != "ordinal":
            continue
        defined = name == "percent" or (varied and (name.startswith("alpha") or len(domain) <= 101))
        yield from _with_limits(name, coefficient if defined else None, units, level, resamples)


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
    return _weighted(units, weights, np.eye(len(units.values)))


def _weighted(units: Units, weights: np.ndarray, closeness: np.ndarray) -> np.ndarray:
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
    return 1 - _ratio((n - 1) * (weights @ inside), expected)


def _ordinal(units: Units, weights: np.ndarray, margins: np.ndarray, n: float) -> float:
    """Two values lie as far apart as the ratings from the one to the other, each end counted half."""
    rank = np.cumsum(margins) - margins / 2
    apart = np.subtract.outer(rank, rank) ** 2
    inside = (units.counts @ apart * units.counts).sum(axis=1) / (units.counts.sum(axis=1) - 1)
    return float(1 - _ratio((n - 1) * (weights @ inside), margins @ apart @ margins))


def gwet(units: Units, weights: np.ndarray, alone: np.ndarray, level: str) -> np.ndarray:
    """Gwet's AC1 (nominal), AC2 with ordinal or quadratic weights: pe = sum(w) / (q (q - 1)) sum_c pi_c (1 - pi_c)."""
    q, closeness = len(units.values), _closeness(units.values, level)
    pi = _shares(units, weights, alone)
    return _beyond(_weighted(units, weights, closeness), closeness.sum() / (q * (q - 1)) * (pi * (1 - pi)).sum(axis=1))


def fleiss(units: Units, weights: np.ndarray, alone: np.ndarray, level: str) -> np.ndarray:
    """Fleiss' kappa, generalised to missing ratings: pe = sum_c pi_c^2."""
    pi = _shares(units, weights, alone)
    return _beyond(percent(units, weights, alone, level), (pi**2).sum(axis=1))


def _closeness(values: np.ndarray, level: str) -> np.ndarray:
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


def _beyond(found: np.ndarray, chance: np.ndarray) -> np.ndarray:
    beyond = np.where(1 - chance > TINY, _ratio(found - chance, 1 - chance), np.nan)
    return np.minimum(beyond, 1)


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    above, below = np.asarray(above, dtype=float), np.asarray(below, dtype=float)
    return np.divide(above, below, out=np.full(below.shape, np.nan), where=below > 0)


COEFFICIENTS = {
    "percent": percent,
    "alpha": alpha,
    "alpha_interval": lambda units, weights, alone, level: alpha(units, weights, alone, "interval"),
    "ac": gwet,
    "fleiss": fleiss,
}


# --- the whole report, and the comparison ----------------------------------------------------------------------------


def recomputed(folder: Path) -> Iterator[tuple]:
    """(part, criterion, system, baseline, statistic, value or None) of every number of the report."""
    codebook = json.loads((folder / "codebook.json").read_text(encoding="utf-8"))
    everything = read_rows(folder / "ratings.csv")
    rows = [row for row in everything if row["counted"] == "1"]
    work = [row for row in read_rows(folder / "annotations.csv") if row["counted"] == "1"]
    yield "study", "", "", "", "annotations", len(work)
    yield "study", "", "", "", "ratings", sum(row["missing"] == "0" for row in rows)
    yield "study", "", "", "", "items", len({row["item_id"] for row in rows})
    yield "study", "", "", "", "annotators", len({row["annotator"] for row in rows})
    seen = {row["system"] for row in everything}
    names = [name for name in codebook["study"]["systems"] if name in seen]
    compared: list[tuple] = []
    for criterion in map(Criterion.read, codebook["criteria"]):
        ratings = Ratings.read([row for row in rows if row["criterion"] == criterion.key], criterion)
        yield from systems(criterion, ratings, names)
        yield from order(criterion, ratings)
        yield from agreement(criterion, ratings, codebook["resamples"])
        if criterion.compares:
            compared += contrasts(criterion, ratings, names)
    yield from compared
    yield from holm(compared)


def read_rows(path: Path) -> list[dict[str, str]]:
    """Rows of a CSV file; a ' that keeps spreadsheets from seeing a formula is taken off again."""
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: _restored(cell) for name, cell in row.items()} for row in csv.DictReader(file)]


def _restored(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(FORMULA) else cell


def differences(folder: Path) -> Iterator[str]:
    """A sentence for every number that is not as printed, and for files that do not belong together."""
    snapshot = (folder / "snapshot.json").read_bytes()
    if hashlib.sha256(snapshot).hexdigest() != SNAPSHOT:
        yield "snapshot.json is not the file of this snapshot."
    for name, digest in json.loads(snapshot)["files"].items():
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest:
            yield f"{name} is not the file of this snapshot."
    names = ("part", "criterion", "system", "baseline", "statistic")
    printed = {tuple(row[name] for name in names): row for row in read_rows(folder / "results.csv")}
    found = {row[:5]: row[5] for row in recomputed(folder)}
    yield from (f"{place} is not in the report." for place in found.keys() - printed.keys())
    yield from (f"{place} is not recomputed." for place in printed.keys() - found.keys())
    for place in printed.keys() & found.keys():
        row, value = printed[place], found[place]
        defined = value is not None and not np.isnan(value)
        if row["snapshot"] != SNAPSHOT:
            yield f"{place} is of another snapshot."
        if (written(float(value), row["style"]) if defined else None) != (row["printed"] if row["value"] else None):
            yield f"{place}: the report says {row['printed']}, the ratings give {value}."


def main(folder: Path) -> int:
    wrong = sorted(differences(folder))
    count = len(read_rows(folder / "results.csv"))
    said = [*wrong, f"{count} numbers, {len(wrong)} differences. Snapshot {SNAPSHOT[:12]}."]
    sys.stdout.write("\n".join(said) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parent))
