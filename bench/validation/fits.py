"""Simulated studies, fitted and compared by the functions that the app uses."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from unittest.mock import patch

import numpy as np

from triptych.stats import columns, crossed
from triptych.stats.analysis.collection import CLEAR
from triptych.stats.analysis.contrasts import ComparedRatings, Contrast, contrasts
from triptych.stats.columns import Floats
from triptych.stats.comparison import SideBySide
from triptych.stats.crossed import CrossedEffects, Difference
from triptych.stats.intervals import Interval
from triptych.stats.undefined import Undefined, or_undefined

from .designs import Assignment, Codes, Design
from .ratings import Studies, simulate

NO_CODES = np.empty(0, dtype=int)
NO_TABLE = SideBySide(np.empty((0, 2)), NO_CODES, NO_CODES, NO_CODES, ())  # statistics of pairs

Fit = CrossedEffects | Undefined


@contextmanager
def without_repeated_work() -> Iterator[None]:
    """Within this context, an assignment's cells are computed once for all studies, and Benjamini-Hochberg p values are
    skipped.
    """
    recent: deque[tuple[Codes, Codes, tuple[Codes, Codes]]] = deque(maxlen=4)
    find = columns.pair_codes

    def cells(first: Codes, second: Codes) -> tuple[Codes, Codes]:
        for of_first, of_second, result in recent:
            if of_first is first and of_second is second:
                return result
        recent.append((first, second, find(first, second)))
        return recent[-1][2]

    with (
        patch.object(crossed, "pair_codes", cells),
        patch("triptych.stats.multiplicity.false_discovery_control", np.asarray),
    ):
        yield


class Refit:
    """Fits many studies of one assignment. The weights depend only on who rated what, so they are computed once.

    `fits` gives the same results as CrossedEffects.build; `check` compares them for the first study of every batch.
    """

    def __init__(self, rated: Assignment, groups: Codes) -> None:
        self.rated, self.groups = rated, groups
        place = np.arange(len(rated.items), dtype=float)
        self.fit = CrossedEffects.build(place, rated.items, rated.annotators, rated.systems, groups)
        self.order = np.rint(self.fit.rows.values + place.mean()).astype(np.int64)

    @cached_property
    def _basis(self) -> Floats:
        """(n, q) orthonormal columns that span the effects of annotators and systems beyond items."""
        rows = self.fit.rows
        dummies = np.hstack([np.eye(of.max() + 1)[of] for of in (rows.annotators, rows.systems)])
        dummies = self._beyond_items(dummies.T).T
        size, vectors = np.linalg.eigh(dummies.T @ dummies)
        used = size > 1e-9 * size.max()
        return dummies @ (vectors[:, used] / np.sqrt(size[used]))

    def _beyond_items(self, values: Floats) -> Floats:
        """(R, n) values minus the mean of each item; rows are sorted by item."""
        starts = np.unique(self.fit.rows.items, return_index=True)[1]
        means = np.add.reduceat(values, starts, axis=1) / np.bincount(self.fit.rows.items)
        return values - means[:, self.fit.rows.items]

    def fits(self, ratings: Floats) -> Iterator[Fit]:
        """One fit for each row of ratings (R, n)."""
        if np.isnan(ratings).any():
            rated = self.rated
            for values in ratings:
                yield or_undefined(
                    CrossedEffects.build, values, rated.items, rated.annotators, rated.systems, self.groups
                )
            return
        values = (ratings - ratings.mean(axis=1, keepdims=True))[:, self.order]
        residuals = self._beyond_items(values)
        residuals = residuals - (residuals @ self._basis) @ self._basis.T
        residuals[np.abs(residuals) < 1e-9 * np.abs(values).max(axis=1, keepdims=True)] = 0
        for study, own in zip(values, residuals, strict=True):
            yield replace(self.fit, rows=replace(self.fit.rows, values=study), residuals=own)

    def check(self, ratings: Floats) -> None:
        """Raises AssertionError if the first study's fit differs from the app's."""
        built = CrossedEffects.build(
            ratings[0], self.rated.items, self.rated.annotators, self.rated.systems, self.groups
        )
        fit = next(self.fits(ratings[:1]))
        assert not isinstance(fit, Undefined)
        np.testing.assert_allclose(fit.residuals, built.residuals, atol=1e-7)
        first, last = self.rated.systems.min(), self.rated.systems.max()
        if built.linked(last, first):
            expected, obtained = built.difference(last, first), fit.difference(last, first)
            np.testing.assert_allclose(_numbers(obtained), _numbers(expected), rtol=1e-6, atol=1e-8)


def _numbers(difference: Difference) -> list[float]:
    tests = (difference.test, difference.test_here)
    return [difference.mean, *(number for test in tests if test for number in (test.t, test.p, test.freedom))]


@dataclass(frozen=True)
class Tested:
    """A contrast and its true difference: for annotators like these, and for these annotators over ever more items."""

    contrast: Contrast
    alike: float
    here: float

    @property
    def covered(self) -> bool:
        difference = self.contrast.difference
        return isinstance(difference, Undefined) or holds(difference.alike, self.alike)

    @property
    def covered_here(self) -> bool:
        difference = self.contrast.difference
        return isinstance(difference, Undefined) or holds(difference.these, self.here)

    def false_here(self, bound: float = CLEAR) -> bool:
        """Whether the study states for its own annotators that a system is higher when it is not."""
        holm, difference = self.contrast.holm_here, self.contrast.difference
        if holm is None or holm >= bound or isinstance(difference, Undefined):
            return False
        return abs(self.here) < 1e-9 or self.here * difference.mean < 0

    def false_clear(self, bound: float = CLEAR) -> bool:
        """Whether the verdict states a difference that annotators like these do not have; else as `false_here`."""
        holm = self.contrast.holm
        return self.false_here(bound) if holm is None else holm < bound


@dataclass(frozen=True)
class Drawn:
    """One assignment of a design, ready to be simulated and fitted."""

    design: Design
    refit: Refit

    @classmethod
    def of(cls, design: Design, rated: Assignment) -> Drawn:
        return cls(design, Refit(rated, rated.items // design.group if design.by_group else rated.items))

    def simulated(self, shift: float, runs: int, random: np.random.Generator) -> list[Studies]:
        """The studies of each criterion; `shift` is the last system's advantage in logit."""
        effects = np.zeros(self.design.systems)
        effects[-1] = shift
        return [simulate(self.design, self.refit.rated, effects, runs, random) for _ in range(self.design.criteria)]

    def analysed(self, studies: Sequence[Studies]) -> Iterator[list[Tested]]:
        """The contrasts of each study."""
        fits = zip(*(self.refit.fits(of.ratings) for of in studies), strict=True)
        for run, of_criteria in enumerate(fits):
            criteria = {
                f"{place}": ComparedRatings(False, np.inf, fit, NO_TABLE) for place, fit in enumerate(of_criteria)
            }
            here = [_means_here(fit, of.means_here[run]) for fit, of in zip(of_criteria, studies, strict=True)]
            yield [
                Tested(contrast, _minus(studies[0].means, contrast), _minus(here[int(contrast.criterion)], contrast))
                for contrast in contrasts(criteria, range(self.design.systems))
            ]


def _means_here(fit: Fit, means: Floats) -> Floats:
    """(S,) the weighted means of a fit, computed from the annotators' own means (A, S)."""
    if isinstance(fit, Undefined):
        return np.zeros(means.shape[1])
    people = np.array(fit.annotators)[fit.rows.people]
    systems = np.array(fit.systems)[fit.rows.systems]
    of = np.zeros(means.shape[1])
    of[list(fit.systems)] = means[people, systems] @ fit.weights
    return of


def _minus(means: Floats, contrast: Contrast) -> float:
    return float(means[contrast.system] - means[contrast.baseline])


def holds(interval: Interval, truth: float) -> bool:
    """Whether the interval contains the truth; a refused interval counts as containing it."""
    return interval.low is None or interval.high is None or interval.low <= truth <= interval.high
