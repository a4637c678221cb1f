"""Results that are viewed while ratings arrive."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from triptych.stats.analysis.collection import CLEAR, INTERIM
from triptych.stats.undefined import UndefinedStatistic

from .designs import Assignment, Design, assignment
from .fits import Drawn
from .tallies import RUNS, Counts, Simulation


@dataclass(frozen=True)
class Looks:
    """Results are viewed at equal steps while ratings arrive, in a random order of annotations."""

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
            bound = CLEAR if look == self.looks else INTERIM
            seen = [replace(of, ratings=of.ratings[:, part]) for of in studies]
            for run, study in enumerate(drawn.analysed(seen)):
                early[run] |= any(of.false_clear(bound) for of in study)
                usual[run] |= any(of.false_clear() for of in study)
        return {"rule": ([int(early.sum())], runs), "no rule": ([int(usual.sum())], runs)}


def _shuffled(rated: Assignment, random: np.random.Generator) -> Assignment:
    """The same ratings with the annotations in a random order."""
    annotation = rated.items * (rated.annotators.max() + 1) + rated.annotators
    order = np.argsort(random.permutation(annotation.max() + 1)[annotation], kind="stable")
    return Assignment(rated.items[order], rated.annotators[order], rated.systems[order])


DESIGNS = (
    *(Design(100, 3, 8, shown=2, taste=taste) for taste in (0.0, 0.6)),
    Design(100, 3, 20, taste=0.6),
    Design(60, 3, 5, systems=2, taste=0.6),
    Design(60, 3, 8, shown=2, criteria=4),
    Design(50, 3, 3, criteria=4, taste=0),
)
SIMULATIONS: tuple[Simulation, ...] = (*(Looks(design, looks) for design in DESIGNS for looks in (5, 11)),)
