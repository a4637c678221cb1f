"""How often two systems are called practically equal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from triptych.stats.equivalence import equivalence
from triptych.stats.undefined import Undefined, or_undefined

from .designs import Design, assignment
from .fits import Drawn, Fit
from .ratings import true_mean
from .tallies import RUNS, Counts, Simulation, counted

MARGIN = 1.0  # logit; the margin, which is also the true difference


@dataclass(frozen=True)
class Equivalence:
    """Two one-sided tests: how often two systems are called practically equal."""

    design: Design
    part: str = "equivalence"
    most: int = RUNS

    @property
    def name(self) -> str:
        scale = "" if self.design.scale == "ordinal" else f", {self.design.scale}"
        return f"{self.design.name}, taste {self.design.taste:g}{scale}"

    @property
    def margin(self) -> float:
        """The margin in points of the scale."""
        return true_mean(self.design, MARGIN) - true_mean(self.design, 0)

    @property
    def batch(self) -> int:
        return 100

    def measure(self, runs: int, random: np.random.Generator) -> Counts:
        drawn = Drawn.of(self.design, assignment(self.design, random))
        counts = {}
        for key, shift in (("at the margin", MARGIN), ("without a difference", 0.0)):
            fits = drawn.refit.fits(drawn.simulated(shift, runs, random)[0].ratings)
            counts[key] = counted([shown_equal(fit, self.margin)] for fit in fits)
        return counts


def shown_equal(fit: Fit, margin: float) -> bool:
    """Whether both one-sided tests show that the last system minus the first is within the margin."""
    if isinstance(fit, Undefined):
        return False
    result = or_undefined(equivalence, fit.difference(max(fit.systems), 0), margin)
    return not isinstance(result, Undefined) and result.equal


DESIGNS = (
    *(Design(50, 5, 5, taste=taste) for taste in (0.0, 0.6)),
    *(Design(100, 10, 10, taste=taste) for taste in (0.0, 0.6)),
    *(Design(60, 3, 8, shown=2, taste=taste) for taste in (0.0, 0.6)),
    *(Design(120, 3, 12, shown=2, unequal=True, taste=taste) for taste in (0.0, 0.6)),
    *(Design(50, 5, 5, scale="top", taste=taste) for taste in (0.0, 0.6)),
    *(Design(100, 10, 10, scale="top", taste=taste) for taste in (0.0, 0.6)),
    Design(150, 1, 10, singles=True),
    Design(300, 5, 300, shown=2),
)
SIMULATIONS: tuple[Simulation, ...] = (*(Equivalence(design) for design in DESIGNS),)
