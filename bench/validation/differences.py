"""Level, coverage and power of differences between systems, and why their variance has a floor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np

from triptych.stats.analysis.collection import CLEAR
from triptych.stats.intervals import ENOUGH_ANNOTATORS, VARIANCE_FLOOR, mean_interval
from triptych.stats.undefined import Undefined

from .designs import DESIGNS, Design, assignment
from .fits import Drawn, Tested, holds
from .ratings import Studies
from .tallies import RUNS, Counts, Simulation, counted

SHIFT = 0.5  # logit; the true difference for coverage and power
FLOORS = (0.0, VARIANCE_FLOOR, 1.0)


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
            "level here": counted([below(of.contrast.p_here) for of in study] for study in studies),
        }
        if self.judged:
            counts["level"] = counted([below(of.contrast.p) for of in study] for study in studies)
        elif not self.design.taste:
            counts["level"] = counts["level here"]
        return counts

    def _of_shift(self, drawn: Drawn, simulated: Sequence[Studies]) -> Counts:
        last = self.design.systems - 1
        studies = [[of for of in study if of.contrast.system == last] for study in drawn.analysed(simulated)]
        counts = {
            "these": counted([of.covered_here for of in study] for study in studies),
            "power": counted([below(of.contrast.p_holm) for of in study] for study in studies),
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
        """Whether the study's results are about annotators like these, not only about these annotators."""
        return self.design.annotators >= ENOUGH_ANNOTATORS


def below(p: float | None) -> bool:
    return p is not None and p < CLEAR


@dataclass(frozen=True)
class Floors:
    """Level of the test if the two-way variance is at least 0, a quarter, or all of the larger one-way variance."""

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
            with patch("triptych.stats.intervals.VARIANCE_FLOOR", floor):
                tests = [fit.difference(1, 0).test for fit in fits if not isinstance(fit, Undefined)]
            counts[f"{floor:g}"] = counted([test is not None and test.p < CLEAR] for test in tests)
        return counts


SIMULATIONS: tuple[Simulation, ...] = (
    *(Differences(design, part) for part, designs in DESIGNS.items() for design in designs),
    *(Floors(Design(*shape, systems=2, taste=taste)) for shape in ((50, 3, 5), (150, 1, 5)) for taste in (0.0, 0.6)),
)
