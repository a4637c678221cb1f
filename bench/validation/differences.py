"""Differences between systems: level, coverage, power, equivalence and looks, by the functions that the app calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from unittest.mock import patch

import numpy as np

from triptych.stats.analysis.contrasts import CLEAR, ComparedRatings, Contrast, contrasts
from triptych.stats.columns import Floats
from triptych.stats.comparison import SideBySide
from triptych.stats.crossed import CrossedEffects, Difference
from triptych.stats.intervals import ENOUGH_ANNOTATORS, VARIANCE_FLOOR, Interval, mean_interval
from triptych.stats.undefined import Undefined, UndefinedStatistic, or_undefined

from .designs import Assignment, Codes, Design, assignment
from .ratings import Studies, simulate, true_mean
from .tallies import RUNS, Counts, Simulation, counted

SHIFT = 0.5  # logit, the true difference that coverage and power are counted with
MARGIN = 1.0  # logit, the true difference that is the margin of equivalence
EARLY = 0.001  # Holm p below which a difference is clear before the planned ratings are in
FLOORS = (0.0, VARIANCE_FLOOR, 1.0)
NO_TABLE = SideBySide(np.empty((0, 2)), np.empty(0, dtype=int), np.empty(0, dtype=int), ())  # statistics of pairs

Fit = CrossedEffects | Undefined


class Refit:
    """Fits many studies of one assignment: the weights depend on who rated what, and are computed once.

    `fits` equals CrossedEffects.build, which its first study of every batch is compared with.
    """

    def __init__(self, rated: Assignment, groups: Codes) -> None:
        self.rated, self.groups = rated, groups
        place = np.arange(len(rated.items), dtype=float)
        self.fit = CrossedEffects.build(place, rated.items, rated.annotators, rated.systems, groups)
        self.order = np.rint(self.fit.rows.values + place.mean()).astype(np.int64)

    @cached_property
    def _basis(self) -> Floats:
        """(n, q) orthonormal columns that span what annotators and systems explain beyond items."""
        rows = self.fit.rows
        dummies = np.hstack([np.eye(of.max() + 1)[of] for of in (rows.annotators, rows.systems)])
        dummies = self._beyond_items(dummies.T).T
        size, vectors = np.linalg.eigh(dummies.T @ dummies)
        used = size > 1e-9 * size.max()
        return dummies @ (vectors[:, used] / np.sqrt(size[used]))

    def _beyond_items(self, values: Floats) -> Floats:
        """(R, n) without the mean of each item; rows are sorted by item."""
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
        """Raises AssertionError where the first study is not fitted as the app fits it."""
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
    """A contrast and the true difference, for annotators like these and for these, over ever more items."""

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
        """Whether the study says of its own annotators that a system is higher which is not."""
        holm, difference = self.contrast.holm_here, self.contrast.difference
        if holm is None or holm >= bound or isinstance(difference, Undefined):
            return False
        return abs(self.here) < 1e-9 or self.here * difference.mean < 0

    def false_clear(self, bound: float = CLEAR) -> bool:
        """Whether the verdict says so, where annotators like these find no difference."""
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
        """One for each criterion; `shift` is what the last system has more than the others, in logit."""
        effects = np.zeros(self.design.systems)
        effects[-1] = shift
        return [simulate(self.design, self.refit.rated, effects, runs, random) for _ in range(self.design.criteria)]

    def analysed(self, studies: Sequence[Studies]) -> Iterator[list[Tested]]:
        """The contrasts of each study."""
        fits = zip(*(self.refit.fits(of.ratings) for of in studies), strict=True)
        for run, of_criteria in enumerate(fits):
            criteria = {f"{place}": ComparedRatings(False, fit, NO_TABLE) for place, fit in enumerate(of_criteria)}
            here = [_means_here(fit, of.means_here[run]) for fit, of in zip(of_criteria, studies, strict=True)]
            yield [
                Tested(contrast, _minus(studies[0].means, contrast), _minus(here[int(contrast.criterion)], contrast))
                for contrast in contrasts(criteria, range(self.design.systems))
            ]


def _means_here(fit: Fit, means: Floats) -> Floats:
    """(S,) what the weights of a fit make of the annotators' own means (A, S)."""
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
    """An interval that is refused in words misleads nobody."""
    return interval.low is None or interval.high is None or interval.low <= truth <= interval.high


@dataclass(frozen=True)
class Differences:
    """Level, coverage and power in one design."""

    design: Design
    part: str
    most: int = RUNS

    @property
    def name(self) -> str:
        return f"{self.design.name}, taste {self.design.taste:g}, {self.design.scale}"

    @property
    def batch(self) -> int:
        return 100 if self.design.tests <= 20 else 20

    def measure(self, runs: int, random: np.random.Generator) -> Counts:
        drawn = Drawn.of(self.design, assignment(self.design, random))
        null = drawn.simulated(0, runs, random)
        if not np.isnan(null[0].ratings).any():
            drawn.refit.check(null[0].ratings)
        return self._of_null(list(drawn.analysed(null))) | self._of_shift(drawn, drawn.simulated(SHIFT, runs, random))

    def _of_null(self, studies: Sequence[Sequence[Tested]]) -> Counts:
        counts = {
            "any": counted([any(of.false_clear() for of in study)] for study in studies),
            "any here": counted([any(of.false_here() for of in study)] for study in studies),
            "level here": counted([_below(of.contrast.p_here) for of in study] for study in studies),
        }
        if self.judged:
            counts["level"] = counted([_below(of.contrast.p) for of in study] for study in studies)
        elif not self.design.taste:
            counts["level"] = counts["level here"]
        return counts

    def _of_shift(self, drawn: Drawn, simulated: Sequence[Studies]) -> Counts:
        last = self.design.systems - 1
        studies = [[of for of in study if of.contrast.system == last] for study in drawn.analysed(simulated)]
        counts = {
            "these": counted([of.covered_here for of in study] for study in studies),
            "power": counted([_below(of.contrast.p_holm) for of in study] for study in studies),
        }
        if self.judged:
            counts["coverage"] = counted([of.covered for of in study] for study in studies)
        if self.judged and self.design.group == 1 and not self.design.missing:
            first = drawn.refit.rated.systems == 0
            items, annotators = drawn.refit.rated.items[first], drawn.refit.rated.annotators[first]
            of = simulated[0]
            counts["one mean"] = counted(
                [holds(mean_interval(values[first], items, annotators), of.means[0])] for values in of.ratings
            )
        return counts

    @property
    def judged(self) -> bool:
        """Whether the study speaks for annotators like these."""
        return self.design.annotators >= ENOUGH_ANNOTATORS


def _below(p: float | None) -> bool:
    return p is not None and p < CLEAR


@dataclass(frozen=True)
class Equivalence:
    """Two one-sided tests: how often two systems are called practically equal."""

    design: Design
    part: str = "equivalence"
    most: int = RUNS

    @property
    def name(self) -> str:
        return f"{self.design.name}, taste {self.design.taste:g}"

    @property
    def margin(self) -> float:
        """In points of the scale."""
        return true_mean(self.design, MARGIN) - true_mean(self.design, 0)

    @property
    def batch(self) -> int:
        return 100

    def measure(self, runs: int, random: np.random.Generator) -> Counts:
        drawn = Drawn.of(self.design, assignment(self.design, random))
        counts = {}
        for key, shift in (("at the margin", MARGIN), ("without a difference", 0.0)):
            fits = drawn.refit.fits(drawn.simulated(shift, runs, random)[0].ratings)
            counts[key] = counted([_equal(fit, self.margin)] for fit in fits)
        return counts


def _equal(fit: Fit, margin: float) -> bool:
    """Whether the 90 % interval of the last system minus the first is inside the margin."""
    if isinstance(fit, Undefined):
        return False
    interval = fit.difference(max(fit.systems), 0, confidence=0.9).alike
    return interval.low is not None and interval.high is not None and -margin < interval.low <= interval.high < margin


@dataclass(frozen=True)
class Looks:
    """Results that are opened at equal steps while ratings come in, in a random order of annotations."""

    design: Design
    looks: int
    part: str = "looks"
    most: int = RUNS

    @property
    def name(self) -> str:
        return f"{self.design.name}, taste {self.design.taste:g}, {self.looks} looks"

    @property
    def batch(self) -> int:
        return 50 if self.design.tests <= 3 else 20

    def measure(self, runs: int, random: np.random.Generator) -> Counts:
        rated = _shuffled(assignment(self.design, random), random)
        whole = Drawn.of(self.design, rated)
        studies = whole.simulated(0, runs, random)
        early, usual = np.zeros(runs, dtype=bool), np.zeros(runs, dtype=bool)
        for look in range(1, self.looks + 1):
            part = slice(len(rated.items) * look // self.looks)
            try:
                drawn = Drawn.of(self.design, rated[part])
            except UndefinedStatistic:
                continue
            bound = CLEAR if look == self.looks else EARLY
            seen = [replace(of, ratings=of.ratings[:, part]) for of in studies]
            for run, study in enumerate(drawn.analysed(seen)):
                early[run] |= any(of.false_clear(bound) for of in study)
                usual[run] |= any(of.false_clear() for of in study)
        return {"rule": ([int(early.sum())], runs), "no rule": ([int(usual.sum())], runs)}


def _shuffled(rated: Assignment, random: np.random.Generator) -> Assignment:
    """The same with annotations in a random order."""
    annotation = rated.items * (rated.annotators.max() + 1) + rated.annotators
    order = np.argsort(random.permutation(annotation.max() + 1)[annotation], kind="stable")
    return Assignment(rated.items[order], rated.annotators[order], rated.systems[order])


@dataclass(frozen=True)
class Floors:
    """Level of the test with the two-way variance at least 0, a quarter of, or all of the larger one-way variance."""

    design: Design
    part: str = "floors"
    most: int = RUNS

    @property
    def name(self) -> str:
        return f"{self.design.name}, taste {self.design.taste:g}"

    @property
    def batch(self) -> int:
        return 100

    def measure(self, runs: int, random: np.random.Generator) -> Counts:
        drawn = Drawn.of(self.design, assignment(self.design, random))
        fits = list(drawn.refit.fits(drawn.simulated(0, runs, random)[0].ratings))
        counts = {}
        for floor in FLOORS:
            with patch("triptych.stats.crossed.VARIANCE_FLOOR", floor):
                tests = [fit.difference(1, 0).test for fit in fits if not isinstance(fit, Undefined)]
            counts[f"{floor:g}"] = counted([test is not None and test.p < CLEAR] for test in tests)
        return counts


_EQUIVALENT = (
    *(Design(50, 5, 5, taste=taste) for taste in (0.0, 0.6)),
    *(Design(100, 10, 10, taste=taste) for taste in (0.0, 0.6)),
    *(Design(60, 3, 8, shown=2, taste=taste) for taste in (0.0, 0.6)),
    *(Design(120, 3, 12, shown=2, unequal=True, taste=taste) for taste in (0.0, 0.6)),
    Design(150, 1, 10, singles=True),
    Design(300, 5, 300, shown=2),
)
_LOOKED_AT = (
    *(Design(100, 3, 8, shown=2, systems=2 + 1, taste=taste) for taste in (0.0, 0.6)),
    Design(100, 3, 20, taste=0.6),
    Design(60, 3, 5, systems=2, taste=0.6),
    Design(60, 3, 8, shown=2, criteria=4),
    Design(50, 3, 3, criteria=4, taste=0),
)
SIMULATIONS: tuple[Simulation, ...] = (
    *(Equivalence(design) for design in _EQUIVALENT),
    *(Looks(design, looks) for design in _LOOKED_AT for looks in (5, 11)),
    *(Floors(Design(*shape, systems=2, taste=taste)) for shape in ((50, 3, 5), (150, 1, 5)) for taste in (0.0, 0.6)),
)
