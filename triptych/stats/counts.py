"""Ratings as counts, from which every coefficient of agreement is computed and resampled.

A unit is what two annotators can agree on: one candidate (or one item) under one criterion. How much a unit
adds to agreement depends only on which values it received how often, its pattern; three ratings on seven
points make at most 84 patterns. So ratings are first compressed to patterns, and every coefficient is made
of sums over patterns, for the ratings themselves and for the same without each item at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import stdtrit

from .columns import CONFIDENCE, Column, Floats, codes, numbers
from .undefined import UndefinedStatistic

NOT_PAIRED = "No item was rated by two annotators."
NO_VARIATION = "Not defined: no variation (every rating is the same)."
NEARLY_CONSTANT = "No interval: almost every rating is the same."
ONE_DISSENT = "No interval: annotators disagree on one item only."
ONE_AGREEMENT = "No interval: without one of the items, annotators agree on nothing."
ONE_VALUE = "No interval: annotators agree on fewer than two units on any but the most common answer."
RARELY_OTHERS = "No interval: on fewer than two units did two annotators choose anything but the most common answer."
TOO_FEW = "An interval needs at least two items rated by two annotators."
ALL_ALIKE = "No interval: agreement is the same on all items, so there is no variation."
_LARGEST_KEY = 2**62
CELLS_AT_ONCE = 4_000_000
_MOST_PARTS = 400  # items up to this number are left out one at a time, more items in this many parts
_FEW_POINTS = 21  # 0-10 in halves
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Draw:
    """b tables of counts: weights (b, P) units of each pattern; alone (b, V) units with a single rating, by value."""

    weights: np.ndarray
    alone: np.ndarray


@dataclass(frozen=True)
class UnitCounts:
    """How often each unit received each value, equal units merged into patterns.

    counts: (P, V) ratings of value v in a unit of pattern p, at least two per unit; weights: (P,) units of that
    pattern; alone: (V,) units with a single rating, which agree with nobody but show how common a value is;
    values: (V,) the points of the scale in order, or the values that occur, ascending. by_item: (I, P + V) the columns
    of weights and alone, for each item; None if no interval is needed.
    """

    counts: csr_array
    weights: np.ndarray
    alone: np.ndarray
    values: np.ndarray
    by_item: csr_array | None = None

    @classmethod
    def build(
        cls, units: Column, values: Column, scale: Column | None = None, items: Column | None = None
    ) -> UnitCounts:
        """Count n ratings: units (n,) labels, values (n,) numbers with NaN = missing, scale (V,) in order.

        items: (n,) the item (or group of items) of the unit; without them, there is no interval. The patterns are
        ordered by content, so neither the order of the rows nor the names of the units matter. Raises
        UndefinedStatistic when no unit has two ratings or a value is not on the scale.
        """
        numeric, labels, owners = numbers(values, units, units if items is None else items)
        value, domain = value_codes(numeric, scale)
        unit, paired = paired_units(labels)
        alone = np.bincount(value[~paired], minlength=len(domain))
        counts, pattern = patterns(unit, value[paired], len(domain))
        if items is None:
            return cls(counts, np.bincount(pattern), alone, domain)
        item = _unit_codes(owners)
        first = np.unique(unit, return_index=True)[1]
        row = np.concatenate([item[paired][first], item[~paired]])
        column = np.concatenate([pattern, counts.shape[0] + value[~paired]])
        present = np.unique(row, return_inverse=True)[1]
        by_item = csr_array((np.ones(len(row)), (present, column)), shape=(present.max() + 1, sum(counts.shape)))
        return cls(counts, np.bincount(pattern), alone, domain, by_item)

    @cached_property
    def sizes(self) -> np.ndarray:
        """(P,) ratings per unit of each pattern, at least two."""
        sizes: Floats = self.counts.sum(axis=1)
        return sizes

    @cached_property
    def used(self) -> np.ndarray:
        """(V,) whether a unit with two or more ratings received the value."""
        used: NDArray[np.bool_] = self.weights @ self.counts > 0
        return used

    @property
    def units(self) -> int:
        """Units with two or more ratings."""
        return int(self.weights.sum())

    def varied(self) -> UnitCounts:
        """The table itself; raises UndefinedStatistic when all its paired ratings are one value."""
        if np.count_nonzero(self.used) < 2:
            raise UndefinedStatistic(NO_VARIATION)
        return self

    def refuse_rare(self, level: str) -> None:
        """Raises UndefinedStatistic where almost all agreement is on one value: how far annotators agree on the others
        is a guess then.

        On nominal scales two units need agreement on another value, on other scales two ratings other than the most
        common one, which need not be the same: two annotators rarely choose the same point of a long scale.
        """
        if level == "nominal":
            agreed = self.weights @ (self.counts >= 2).astype(float)
            if agreed.sum() - agreed.max(initial=0) < 2:
                raise UndefinedStatistic(ONE_VALUE)
            return
        common = int(np.argmax(self.weights @ self.counts))
        others = self.sizes - self.counts[:, [common]].toarray().ravel()
        if self.weights[others >= 2].sum() < 2:
            raise UndefinedStatistic(RARELY_OTHERS)

    def spread(self, numeric: np.ndarray) -> np.ndarray:
        """(P,) sum of squared deviations from the unit's mean, value v counted as numeric[v]."""
        rows = np.repeat(np.arange(len(self.sizes)), np.diff(self.counts.indptr))
        means = self.counts @ numeric / self.sizes
        squares = (numeric[self.counts.indices] - means[rows]) ** 2
        return np.bincount(rows, self.counts.data * squares, minlength=len(self.sizes))

    def observed(self) -> Draw:
        """The ratings themselves, as a draw of one."""
        return Draw(self.weights[None, :].astype(float), self.alone[None, :].astype(float))

    @cached_property
    def parts(self) -> csr_array:
        """(m, P + V) counts of each part that is left out: an item with a unit rated twice or, of many items, several.

        Which items share a part is drawn with a fixed seed and depends on the items' ratings, not on their order.
        """
        if self.by_item is None:
            raise ValueError("These counts do not say which item a unit belongs to.")
        random = np.random.default_rng(0)
        paired = self.by_item[self.by_item[:, : len(self.weights)].sum(axis=1) > 0]
        if paired.shape[0] <= _MOST_PARTS:
            return paired
        content = np.argsort(paired @ random.random(paired.shape[1]), kind="stable")
        part = np.arange(len(content)) % _MOST_PARTS
        rows = (np.ones(len(content)), (part, content[random.permutation(len(content))]))
        return csr_array(csr_array(rows, shape=(_MOST_PARTS, len(content))) @ paired)

    def left_out(self) -> Iterator[Draw]:
        """The table without each part of the items, in pieces that fit the memory."""
        piece = max(1, CELLS_AT_ONCE // max(self.counts.shape))
        for start in range(0, self.parts.shape[0], piece):
            remaining = np.concatenate([self.weights, self.alone]) - self.parts[start : start + piece].toarray()
            yield Draw(*np.split(remaining, [len(self.weights)], axis=1))


Statistic: TypeAlias = Callable[[UnitCounts, Draw], np.ndarray]
"""(b,) one coefficient for each table of a draw; NaN, which is never shown, where it is not defined."""


def jackknife_interval(table: UnitCounts, statistic: Statistic, lowest: float = -1) -> tuple[float, float]:
    """Limits (low, high) of a coefficient between `lowest` and 1, from its values without each item.

    Items are left out whole, as their units are related. The interval is computed on Fisher's z scale, where the
    coefficient is nearly normal, and has one degree of freedom less than items (Quenouille 1956; docs/validation.md
    shows the coverage). It applies to these annotators. Raises UndefinedStatistic where one item decides or nothing
    varies.
    """
    if table.parts.shape[0] < 2:
        raise UndefinedStatistic(TOO_FEW)
    without = np.concatenate([statistic(table, draw) for draw in table.left_out()])
    return limits_from(float(statistic(table, table.observed())[0]), without, lowest)


def limits_from(value: float, without: np.ndarray, lowest: float = -1) -> tuple[float, float]:
    """Limits of a coefficient from its values (m,) without each of m items; see jackknife_interval."""
    count = len(without)
    without = np.sort(without)  # so that sums do not depend on the order of the items
    if np.isnan(without).any():
        raise UndefinedStatistic(NEARLY_CONSTANT)
    if np.ptp(without) <= _ROUNDING:
        raise UndefinedStatistic(ALL_ALIKE)
    if without.max() >= 1 - _ROUNDING:
        raise UndefinedStatistic(ONE_DISSENT)
    if min(value, without.min()) <= lowest + _ROUNDING:
        raise UndefinedStatistic(ONE_AGREEMENT)
    middle, half = (1 + lowest) / 2, (1 - lowest) / 2
    centre, centres = (np.arctanh((of - middle) / half) for of in (value, without))
    error = np.sqrt((count - 1) / count * ((centres - centres.mean()) ** 2).sum())
    reach = stdtrit(count - 1, (1 + CONFIDENCE) / 2) * error
    low, high = np.tanh([centre - reach, centre + reach]) * half + middle
    return float(low), float(high)


def paired_units(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(m,) unit codes 0..U-1 of the rows whose unit has two rows or more, and (n,) whether each row is one of them.

    labels: (n,). Raises UndefinedStatistic when there is no such unit.
    """
    unit = _unit_codes(labels)
    paired = np.bincount(unit) > 1
    if not paired.any():
        raise UndefinedStatistic(NOT_PAIRED)
    if paired.all():
        return unit, np.ones(len(unit), dtype=bool)
    in_pair = paired[unit]
    return (np.cumsum(paired) - 1)[unit[in_pair]], in_pair


def value_codes(values: np.ndarray, scale: Column | None) -> tuple[np.ndarray, np.ndarray]:
    """Codes 0..V-1 (n,) of the values in the order of the scale, and the V points (without a scale, V values)."""
    distinct, code = np.unique(values, return_inverse=True)
    if scale is not None:
        return _places(distinct, scale)[code], np.asarray(scale, dtype=float)
    return code, distinct


def patterns(unit: np.ndarray, value: np.ndarray, points: int) -> tuple[csr_array, np.ndarray]:
    """Counts (P, points) of the P different contents of units, and (U,) the pattern of each unit.

    unit, value: (n,) codes; every unit 0..U-1 has at least one rating.
    """
    distinct, pattern = np.unique(_row_keys(_content(unit, value, points)), return_inverse=True)
    example = np.empty(len(distinct), dtype=np.int64)
    example[pattern] = np.arange(len(pattern))
    shows = np.zeros(len(pattern), dtype=bool)
    shows[example] = True
    shown = np.flatnonzero(shows[unit])
    cells = (np.ones(len(shown)), (pattern[unit[shown]], value[shown]))
    return csr_array(cells, shape=(len(distinct), points)), pattern


def _unit_codes(labels: np.ndarray) -> np.ndarray:
    """Codes (n,) of labels, possibly with gaps: integers in a small range are used as codes directly."""
    if len(labels) and np.issubdtype(labels.dtype, np.signedinteger):
        low, high = int(labels.min()), int(labels.max())
        if high - low < 2 * len(labels):
            code: NDArray[np.int64] = np.subtract(labels, low, dtype=np.int64)
            return code
    return codes(labels)[0]


def _places(values: np.ndarray, scale: Column) -> np.ndarray:
    """Place of each value on the scale, 0 first."""
    place_of = {float(point): place for place, point in enumerate(scale)}
    strange = sorted(set(values.tolist()) - place_of.keys())
    if strange:
        raise UndefinedStatistic(f"Not defined: the value {strange[0]:g} is not a point of the scale.")
    return np.array([place_of[value] for value in values.tolist()], dtype=np.int64)


def _content(unit: np.ndarray, value: np.ndarray, points: int) -> np.ndarray:
    """A (K, U) table of the ratings of U units: counts per value or, on a scale with many values, sorted values."""
    sizes = np.bincount(unit)
    if points <= max(_FEW_POINTS, sizes.max()):
        cells = np.bincount(value * len(sizes) + unit, minlength=points * len(sizes))
        return cells.reshape(points, len(sizes))
    unit, value = np.divmod(np.sort(unit * points + value), points)
    place = np.arange(len(unit)) - (np.cumsum(sizes) - sizes)[unit]
    table = np.zeros((sizes.max(), len(sizes)), dtype=np.int64)
    table[place, unit] = value + 1
    return table


def _row_keys(table: np.ndarray) -> np.ndarray:
    """One number per column of a (K, U) table: equal for equal columns, in lexicographic order."""
    key, span = np.zeros(table.shape[1], dtype=np.int64), 1
    for row in table:
        width = int(row.max()) + 1
        if span * width > _LARGEST_KEY:
            key = np.unique(key, return_inverse=True)[1]
            span = int(key.max()) + 1
        key, span = key * width + row, span * width
    return key
