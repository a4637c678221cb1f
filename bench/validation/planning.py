"""The planner's probability of showing a difference, against studies that are simulated and analysed as results are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from triptych.stats.components import Components, Pilot
from triptych.stats.power import Plan, power, power_to_show_equal
from triptych.stats.undefined import Undefined

from .designs import Design, assignment
from .differences import SHIFT, below
from .equivalence import MARGIN, shown_equal
from .fits import Drawn
from .ratings import simulate, true_mean
from .tallies import Counts, Simulation, counted

RUNS_HERE = 400
PILOTS, PILOT_ITEMS, PILOT_RATERS, PILOT_PEOPLE = 6, 600, 8, 60  # large enough for precise variances


@dataclass(frozen=True)
class Planned:
    """How often a true difference is clear after Holm, or no difference is shown as equal, in one design."""

    design: Design
    shift: float = SHIFT
    part: str = "planner"
    most: int = RUNS_HERE

    @property
    def name(self) -> str:
        return f"{self.design.name}, taste {self.design.taste:g}, {self.shift:g} logit"

    @property
    def batch(self) -> int:
        return 50

    def measure(self, runs: int, random: np.random.Generator) -> Counts:
        drawn = Drawn.of(self.design, assignment(self.design, random))
        last = self.design.systems - 1
        null = drawn.simulated(0.0, runs, random)
        # the systems differ on one criterion only, as the planner assumes
        studies = drawn.analysed([*drawn.simulated(self.shift, runs, random)[:1], *null[1:]])
        clear = [
            [below(of.contrast.p_holm) for of in study if (of.contrast.criterion, of.contrast.system) == ("0", last)]
            for study in studies
        ]
        fits = drawn.refit.fits(null[0].ratings)
        return {"clear": counted(clear), "equal": counted([shown_equal(fit, self.points(MARGIN))] for fit in fits)}

    def points(self, logit: float) -> float:
        """A difference in logit as points of the scale."""
        return true_mean(self.design, logit) - true_mean(self.design, 0)

    @property
    def plan(self) -> Plan:
        of = self.design
        shown = 1 if of.singles else of.shown
        return Plan(of.items, of.raters, of.annotators, None, of.systems, of.criteria, shown, of.group)

    def predicted(self) -> dict[str, float | Undefined]:
        """The planner's probabilities in percent, from the variances of a large pilot."""
        scatter = _scatter(self.design, self.shift)
        chance = power(self.plan, self.points(self.shift), scatter)
        equal = power_to_show_equal(self.plan, self.points(MARGIN), scatter)
        return {"clear": 100 * chance, "equal": equal if isinstance(equal, Undefined) else 100 * equal}


@cache
def _scatter(design: Design, shift: float) -> Components:
    random = np.random.default_rng(5)
    pilot = replace(design, items=PILOT_ITEMS, raters=PILOT_RATERS, annotators=PILOT_PEOPLE, systems=2, criteria=1)
    pilot = replace(pilot, shown=0, singles=False)
    rated, squares = assignment(pilot, random), []
    cell = rated.items * PILOT_PEOPLE + rated.annotators
    first, last = (np.flatnonzero(rated.systems == system) for system in (0, 1))
    first, last = first[np.argsort(cell[first])], last[np.argsort(cell[last])]
    items, annotators = rated.items[first], rated.annotators[first]
    for _ in range(PILOTS):
        ratings = simulate(pilot, rated, np.array([0.0, shift]), 1, random).ratings[0]
        groups = items // design.group if design.group > 1 else None
        of = Pilot.build(ratings[last] - ratings[first], items, annotators, groups).components()
        squares.append(np.square([of.item, of.annotator, of.residual, of.group]))
    return Components(*np.sqrt(np.mean(squares, axis=0)).tolist())


SIMULATIONS: tuple[Simulation, ...] = (
    *(
        Planned(design, shift)
        for design, shift in (
            (Design(50, 5, 5), 1.5),
            (Design(100, 3, 10), 1.0),
            (Design(100, 3, 30), 0.8),
            (Design(40, 4, 12, systems=5, criteria=4), 1.3),
            (Design(60, 3, 8, shown=2), 1.2),
            (Design(200, 1, 20, systems=6, shown=3), 1.2),
            (Design(150, 1, 10, singles=True), 1.2),
            (Design(100, 2, 30, singles=True), 0.9),
            (Design(100, 10, 10, group=5, by_group=True), 1.0),
            (Design(300, 5, 60, shown=2, group=5, by_group=True), 0.6),
            (Design(50, 3, 3, criteria=4, taste=0.0), 0.9),
            (Design(60, 2, 4, criteria=4, singles=True, taste=0.0), 1.0),
        )
    ),
)
