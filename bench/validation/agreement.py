"""Coverage of the intervals of agreement coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import logit

from triptych.stats.agreement import Level
from triptych.stats.coefficients import AgreementTable, agreement_table
from triptych.stats.undefined import Undefined

from .ratings import ITEM, ITEM_TASTE
from .tallies import RUNS, Counts, Simulation, counted

COEFFICIENTS = ("percent", "alpha", "ac", "fleiss")
SEVERITIES = np.array([-0.7, 0.0, 0.7])  # of the annotators, who are the same in all studies
POINTS = {
    "five points": np.array([-2.0, -0.8, 0.6, 2.0]),
    "yes/no": np.zeros(1),
    "top": np.array([-4.5, -3.5, -2.8, -1.8]),
}
ITEMS_OF_TRUTH = 200_000


@dataclass(frozen=True)
class AgreementCoverage:
    """Coverage of the intervals of agreement; three annotators rate all responses of all items.

    own: SD in logit of an annotator's own view of an item; uneven: whether the noise differs by item.
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
    """The coefficients of these annotators over very many items."""
    many = AgreementCoverage(0, 0, own, uneven, scale)
    table = many._table(ITEMS_OF_TRUTH, 3, np.random.default_rng(7))
    values = {key: table[key].value for key in COEFFICIENTS}
    return {key: value for key, value in values.items() if not isinstance(value, Undefined)}


def _covers(table: AgreementTable, key: str, truth: float) -> bool:
    interval = table[key].interval
    return isinstance(interval, Undefined) or interval[0] <= truth <= interval[1]


SIMULATIONS: tuple[Simulation, ...] = (
    *(
        AgreementCoverage(*size, own, uneven)
        for size in ((50, 3), (100, 3), (32, 13))
        for own, uneven in ((0.0, False), (0.7, False), (0.7, True))
    ),
    AgreementCoverage(50, 3, 0.7, scale="yes/no"),
    AgreementCoverage(100, 3, 0.7, scale="yes/no"),
    AgreementCoverage(50, 3, 0.7, scale="top"),
)
