"""Level and power of proportional odds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from triptych.stats.proportional_odds import proportional_odds
from triptych.stats.undefined import Undefined, or_undefined

from .designs import Design, assignment
from .differences import SHIFT
from .ratings import simulate
from .tallies import COSTLY_RUNS, Counts, Simulation, counted


@dataclass(frozen=True)
class OddsLevel:
    """Level and power of proportional odds."""

    design: Design
    part: str = "proportional odds"
    most: int = COSTLY_RUNS

    @property
    def name(self) -> str:
        return f"{self.design.name}, taste {self.design.taste:g}, {self.design.scale}"

    @property
    def batch(self) -> int:
        return 20

    def measure(self, runs: int, random: np.random.Generator) -> Counts:
        rated = assignment(self.design, random)
        counts: Counts = {}
        for key, shift in (("level", 0.0), ("power", SHIFT)):
            effects = np.zeros(self.design.systems)
            effects[-1] = shift
            rows = []
            for values in simulate(self.design, rated, effects, runs, random).ratings:
                odds = or_undefined(proportional_odds, values, rated.items, rated.annotators, rated.systems)
                pairs = () if isinstance(odds, Undefined) else odds
                tests = [of.estimate.test for of in pairs if not shift or of.system == self.design.systems - 1]
                fallback = [None] * (self.design.systems - 1 if shift else self.design.tests)
                rows.append([test is not None and test.p < 0.05 for test in tests or fallback])
            counts[key] = counted(rows)
        return counts


SIMULATIONS: tuple[Simulation, ...] = (
    *(OddsLevel(Design(40, 8, 8, systems=2, taste=taste)) for taste in (0.0, 0.3, 0.6)),
    *(OddsLevel(Design(40, 3, 12, systems=2, taste=taste)) for taste in (0.0, 0.6)),
    OddsLevel(Design(60, 3, 8, shown=2)),
    OddsLevel(Design(120, 3, 12, shown=2, unequal=True, taste=0.6)),
    OddsLevel(Design(100, 1, 10, systems=2, singles=True)),
    OddsLevel(Design(100, 3, 20, newcomer=4, taste=0.6)),
    OddsLevel(Design(50, 5, 5, scale="binary")),
    OddsLevel(Design(50, 5, 5, scale="top")),
)
