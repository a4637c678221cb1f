"""Level of the test that groups of annotators see different distances between two systems."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from triptych.stats.analysis.collection import CLEAR
from triptych.stats.analysis.groups import GroupDifference, group_differences
from triptych.stats.analysis.ratings import Ratings, Variable
from triptych.stats.columns import Floats
from triptych.stats.intervals import ENOUGH_ANNOTATORS

from .designs import Assignment, Design, assignment
from .ratings import simulate
from .tallies import Counts, Simulation, counted

SYSTEMS = 3
GROUP_RUNS = 1000


@dataclass(frozen=True)
class BetweenGroups:
    """Two groups of annotators that do not differ. raters: per item; annotators: in each group.

    own_items: whether each group rates items of its own, as many as `items`.
    """

    items: int
    raters: tuple[int, int]
    annotators: tuple[int, int]
    taste: float = 0.3
    unequal: bool = False
    own_items: bool = False
    part: str = "groups"
    most: int = GROUP_RUNS

    @property
    def name(self) -> str:
        sides = [f"{r} of {a}" for r, a in zip(self.raters, self.annotators, strict=True)]
        more = ", unequal" * self.unequal + ", own items" * self.own_items
        return f"{self.items} × {' and '.join(sides)}{more}, taste {self.taste:g}"

    @property
    def batch(self) -> int:
        return 50

    def measure(self, runs: int, random: np.random.Generator) -> Counts:
        both = sum(self.annotators)
        of_group = [
            assignment(Design(self.items, raters, annotators, SYSTEMS, unequal=self.unequal), random)
            for raters, annotators in zip(self.raters, self.annotators, strict=True)
        ]
        rated = Assignment(
            np.concatenate([of_group[0].items, of_group[1].items + self.items * self.own_items]),
            np.concatenate([of_group[0].annotators, of_group[1].annotators + self.annotators[0]]),
            np.concatenate([of.systems for of in of_group]),
        )
        design = Design(self.items * (1 + self.own_items), sum(self.raters), both, SYSTEMS, self.taste)
        studies = simulate(design, rated, np.zeros(SYSTEMS), runs, random).ratings
        groups = {str(who): "first" if who < self.annotators[0] else "second" for who in range(both)}
        tests = [self._between(_ratings(values, rated), groups) for values in studies]
        counts: Counts = {}
        if not self.taste:  # otherwise these annotators do differ
            counts["level here"] = counted([_below(of.p_here) for of in study] for study in tests)
            counts["any here"] = counted([any(of.clear_here for of in study)] for study in tests)
        if min(self.annotators) >= ENOUGH_ANNOTATORS:
            counts["level"] = counted([_below(of.p) for of in study] for study in tests)
            counts["any"] = counted([any(of.clear for of in study)] for study in tests)
        return counts

    @staticmethod
    def _between(ratings: Ratings, groups: dict[str, str]) -> list[GroupDifference]:
        systems = list(range(1, SYSTEMS + 1))
        return [of for of in group_differences([ratings], list(groups), systems, groups) if of.other]


def _ratings(values: Floats, rated: Assignment) -> Ratings:
    """The ratings of one study in the form that the app analyses."""
    n = len(values)
    variable = Variable("c", "C", "likert", "ordinal", "candidate", tuple(map(float, range(7))), (0, 6))
    nothing = np.full(n, -1)
    return Ratings(
        variable,
        values,
        nothing,
        np.zeros(n, dtype=bool),
        rated.items,
        rated.items,
        rated.annotators,
        rated.systems + 1,
        nothing,
        np.arange(n, dtype=float),
    )


def _below(p: float | None) -> bool:
    return p is not None and p < CLEAR


SIMULATIONS: tuple[Simulation, ...] = (
    *(BetweenGroups(50, (5, 5), (5, 5), taste) for taste in (0.0, 0.6)),
    *(BetweenGroups(60, (2, 3), (6, 20), taste) for taste in (0.0, 0.3, 0.6)),
    BetweenGroups(100, (3, 3), (12, 12), 0.6, unequal=True),
    BetweenGroups(60, (3, 5), (3, 5), 0.0),
    BetweenGroups(60, (1, 10), (5, 20)),
    BetweenGroups(20, (30, 30), (30, 30), own_items=True),
)
