"""Agreement, proportional odds and camps, by the functions that the app calls."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from scipy.special import logit

from triptych.stats.agreement import Level
from triptych.stats.camps import camps_by_agreement, camps_by_taste, group_difference, profiles
from triptych.stats.coefficients import AgreementTable, agreement_table
from triptych.stats.columns import Floats
from triptych.stats.crossed import CrossedEffects
from triptych.stats.proportional_odds import proportional_odds
from triptych.stats.undefined import Undefined, or_undefined

from .designs import Design, assignment
from .differences import SHIFT
from .ratings import ITEM, ITEM_TASTE, SEVERITY, simulate
from .tallies import COSTLY_RUNS, RUNS, Counts, Simulation, counted

COEFFICIENTS = ("percent", "alpha", "ac", "fleiss")
SEVERITIES = np.array([-0.7, 0.0, 0.7])  # of the annotators, who stay the same
POINTS = {
    "five points": np.array([-2.0, -0.8, 0.6, 2.0]),
    "yes/no": np.zeros(1),
    "top": np.array([-4.5, -3.5, -2.8, -1.8]),
}
ITEMS_OF_TRUTH = 200_000


@dataclass(frozen=True)
class AgreementCoverage:
    """Coverage of the intervals of agreement; three annotators rate all responses of all items.

    own: SD in logit of what an annotator thinks of an item beyond what others do; uneven: noise differs by item.
    """

    items: int
    responses: int
    own: float
    uneven: bool = False
    scale: str = "five points"
    part: str = "agreement"
    most: int = RUNS

    @property
    def name(self) -> str:
        return f"{self.items} × {self.responses}, own {self.own:g}{', uneven' * self.uneven}, {self.scale}"

    @property
    def batch(self) -> int:
        return 100

    def measure(self, runs: int, random: np.random.Generator) -> Counts:
        truth = _truth(self.own, self.uneven, self.scale)
        tables = [self._table(self.items, self.responses, random) for _ in range(runs)]
        return {key: counted([_covers(table, key, truth[key])] for table in tables) for key in COEFFICIENTS}

    def _table(self, items: int, responses: int, random: np.random.Generator) -> AgreementTable:
        level: Level = "nominal" if self.scale == "yes/no" else "ordinal"
        latent = (
            random.normal(0, ITEM, (items, 1, 1)) + random.normal(0, ITEM_TASTE, (items, responses, 1)) + SEVERITIES
        )
        latent = latent + self.own * random.normal(size=(items, 1, len(SEVERITIES)))
        noise = np.exp(random.normal(0, 0.5, (items, 1, 1))) if self.uneven else 1.0
        latent = latent + noise * logit(random.random(latent.shape))
        cuts = POINTS[self.scale]
        unit = np.repeat(np.arange(items * responses), len(SEVERITIES))
        values = np.searchsorted(cuts, latent.ravel())
        return agreement_table(unit, values, level, range(len(cuts) + 1), unit // (responses * len(SEVERITIES)))


@cache
def _truth(own: float, uneven: bool, scale: str) -> dict[str, float]:
    """Coefficients of these annotators over very many items."""
    many = AgreementCoverage(0, 0, own, uneven, scale)
    table = many._table(ITEMS_OF_TRUTH, 3, np.random.default_rng(7))
    values = {key: table[key].value for key in COEFFICIENTS}
    return {key: value for key, value in values.items() if not isinstance(value, Undefined)}


def _covers(table: AgreementTable, key: str, truth: float) -> bool:
    interval = table[key].interval
    return isinstance(interval, Undefined) or interval[0] <= truth <= interval[1]


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
                pairs = () if isinstance(odds, Undefined) else odds.differences
                tests = [of.estimate.test for of in pairs if not shift or of.system == self.design.systems - 1]
                fallback = [None] * (self.design.systems - 1 if shift else self.design.tests)
                rows.append([test is not None and test.p < 0.05 for test in tests or fallback])
            counts[key] = counted(rows)
        return counts


@dataclass(frozen=True)
class CampsSaid:
    """How often camps are reported, by declared groups, by taste and by agreement.

    apart: what the camps do. "none": every annotator has tastes of their own; "tastes": two camps are 2 logits apart on
    one system; "agreement": each camp has its own view of every response, of SD 1 logit.
    """

    items: int
    raters: int
    annotators: int
    apart: Literal["none", "tastes", "agreement"]
    taste: float = 0.3
    part: str = "camps"
    most: int = COSTLY_RUNS

    @property
    def name(self) -> str:
        return f"{self.items} × {self.raters} of {self.annotators}, {self.apart}, taste {self.taste:g}"

    @property
    def batch(self) -> int:
        return 10

    def measure(self, runs: int, random: np.random.Generator) -> Counts:
        rows = [self._study(random) for _ in range(runs)]
        keys = sorted({key for row in rows for key in row})
        return {key: counted([row[key]] for row in rows if key in row) for key in keys}

    def _study(self, random: np.random.Generator) -> dict[str, bool]:
        design = Design(self.items, self.raters, self.annotators)
        rated = assignment(design, random)
        camp = np.arange(self.annotators) % 2
        severity = random.normal(0, SEVERITY, self.annotators)
        fits, values = [], np.empty(0)
        for _ in range(4):
            taste = self.taste * random.normal(size=(self.annotators, 3))
            if self.apart == "tastes":
                taste[:, 2] += 2 * camp
            seen = random.normal(0, ITEM_TASTE, (2, self.items, 3)) + random.normal(0, ITEM, (self.items, 1))
            own = random.normal(0, 1, (2, self.items, 3)) if self.apart == "agreement" else np.zeros((2, self.items, 3))
            side = camp[rated.annotators]
            latent = severity[rated.annotators] + taste[rated.annotators, rated.systems]
            latent += seen[0, rated.items, rated.systems] + own[side, rated.items, rated.systems]
            latent += logit(random.random(latent.shape))
            values = np.searchsorted(np.arange(-2.7, 2, 0.9), latent).astype(float)
            fits.append(CrossedEffects.build(values, rated.items, rated.annotators, rated.systems))
        people = list(range(self.annotators))
        profile: Floats = profiles(fits, people, [0, 1, 2])
        by_taste = or_undefined(camps_by_taste, profile, people)
        columns = (values, rated.items, rated.annotators, rated.systems)
        by_agreement = or_undefined(camps_by_agreement, *columns)
        hints = {"by taste": by_taste, "by agreement": by_agreement}
        reported = {key: hint.p < 0.05 for key, hint in hints.items() if not isinstance(hint, Undefined)}
        return {"declared": group_difference(profile, camp) < 0.05} | reported


SIMULATIONS: tuple[Simulation, ...] = (
    *(
        AgreementCoverage(*size, own, uneven)
        for size in ((50, 3), (100, 3), (32, 13))
        for own, uneven in ((0.0, False), (0.7, False), (0.7, True))
    ),
    AgreementCoverage(50, 3, 0.7, scale="yes/no"),
    AgreementCoverage(100, 3, 0.7, scale="yes/no"),
    AgreementCoverage(50, 3, 0.7, scale="top"),
    *(OddsLevel(Design(40, 8, 8, systems=2, taste=taste)) for taste in (0.0, 0.3, 0.6)),
    *(OddsLevel(Design(40, 3, 12, systems=2, taste=taste)) for taste in (0.0, 0.6)),
    OddsLevel(Design(60, 3, 8, shown=2)),
    OddsLevel(Design(120, 3, 12, shown=2, unequal=True, taste=0.6)),
    OddsLevel(Design(100, 1, 10, systems=2, singles=True)),
    OddsLevel(Design(50, 5, 5, scale="binary")),
    OddsLevel(Design(50, 5, 5, scale="top")),
    *(CampsSaid(60, 3, 12, "none", taste) for taste in (0.0, 0.6)),
    CampsSaid(100, 8, 8, "none"),
    CampsSaid(60, 3, 12, "tastes"),
    CampsSaid(100, 8, 8, "agreement"),
    CampsSaid(100, 3, 20, "none"),
    CampsSaid(100, 3, 20, "tastes"),
)
