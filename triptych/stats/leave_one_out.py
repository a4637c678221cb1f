"""What agreement would be without one annotator: finds the one who reads the rubric differently."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, vstack

from .agreement import Level, alphas
from .columns import Column, Label, codes, numbers
from .counts import (
    CELLS_AT_ONCE,
    NO_VARIATION,
    NOT_PAIRED,
    Draw,
    UnitCounts,
    paired_units,
    patterns,
    value_codes,
)
from .pairs import named
from .undefined import Undefined


@dataclass(frozen=True)
class WithoutAnnotator:
    """Alpha without one annotator, over the `units` units that still have two ratings; change = alpha - alpha of all.

    alpha and change are Undefined where the other annotators' ratings define no alpha.
    """

    annotator: Label
    units: int
    alpha: float | Undefined
    change: float | Undefined


def without_each(
    units: Column, annotators: Column, values: Column, level: Level, scale: Column | None = None
) -> tuple[WithoutAnnotator, ...]:
    """Krippendorff's alpha without each annotator: the greatest rise first, undefined last.

    Arguments as in krippendorff_alpha, annotators: (n,) labels. Nothing is counted again: the units that someone
    rated leave their pattern and enter the pattern without their ratings. Raises UndefinedStatistic when
    alpha of all annotators is not defined.
    """
    ratings, labels, raters = numbers(values, units, annotators)
    unit, shown = paired_units(labels)
    rater, names = named(raters)
    value, domain = value_codes(ratings, scale)
    reduced = _Reduced.build(unit, rater[shown], value[shown], domain, len(names))
    everyone = float(alphas(reduced.table.varied(), reduced.table.observed(), level)[0])
    pieces = [_without(names, start, reduced.table, draw, level, everyone) for start, draw in reduced.draws()]
    rows = [row for piece in pieces for row in piece]
    return tuple(sorted(rows, key=lambda row: (True, 0) if isinstance(row.change, Undefined) else (False, -row.change)))


@dataclass(frozen=True)
class _Reduced:
    """All patterns of units, including those that only arise when an annotator is left out.

    leaving, entering: (people, patterns) units that leave or enter each pattern when that annotator is left out.
    """

    table: UnitCounts
    leaving: csr_array
    entering: csr_array

    @classmethod
    def build(cls, unit: np.ndarray, rater: np.ndarray, value: np.ndarray, domain: np.ndarray, people: int) -> _Reduced:
        """unit, rater, value: (n,) codes; every unit has two ratings or more."""
        counts, pattern = patterns(unit, value, len(domain))
        own_share, unit_rater = codes(unit * people + rater)
        own_counts, own_pattern = patterns(own_share, value, len(domain))
        of_unit, of_rater = pattern[unit_rater // people], unit_rater % people
        key, combination = np.unique(of_unit * own_counts.shape[0] + own_pattern, return_inverse=True)
        remaining = counts[key // own_counts.shape[0]] - own_counts[key % own_counts.shape[0]]
        usable = remaining.sum(axis=1) > 1
        place = np.where(usable, np.cumsum(usable) - 1, -1)[combination]
        enters = place >= 0
        old, new = counts.shape[0], int(usable.sum())
        weights = np.concatenate([np.bincount(pattern), np.zeros(new, dtype=np.int64)])
        table = UnitCounts(csr_array(vstack([counts, remaining[usable]])), weights, np.zeros(len(domain)), domain)
        leaving = csr_array((np.ones(len(unit_rater)), (of_rater, of_unit)), shape=(people, old + new))
        entering = csr_array(
            (np.ones(int(enters.sum())), (of_rater[enters], old + place[enters])), shape=(people, old + new)
        )
        return cls(table, leaving, entering)

    def draws(self) -> Iterator[tuple[int, Draw]]:
        """(code of the first annotator, Draw with one row per annotator left out), in pieces that fit the memory."""
        people, width = self.leaving.shape
        piece = max(1, CELLS_AT_ONCE // max(width, len(self.table.values)))
        for start in range(0, people, piece):
            rows = slice(start, start + piece)
            weights = self.table.weights + self.entering[rows].toarray() - self.leaving[rows].toarray()
            yield start, Draw(weights, np.zeros((len(weights), len(self.table.values))))


def _without(
    names: list[Label], start: int, table: UnitCounts, draw: Draw, level: Level, everyone: float
) -> Iterator[WithoutAnnotator]:
    remaining = draw.weights.sum(axis=1)
    rated = remaining > 0
    coefficients = np.full(len(remaining), np.nan)
    coefficients[rated] = alphas(table, Draw(draw.weights[rated], draw.alone[rated]), level)
    for at, (alpha, units) in enumerate(zip(coefficients.tolist(), remaining.astype(int).tolist(), strict=True)):
        words = Undefined(NO_VARIATION if units else NOT_PAIRED)
        numbers = (words, words) if np.isnan(alpha) else (alpha, alpha - everyone)
        yield WithoutAnnotator(names[start + at], units, *numbers)
