"""How often camps of annotators are reported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import logit

from triptych.stats.camps import camps_by_agreement, camps_by_taste, profiles
from triptych.stats.crossed import CrossedEffects
from triptych.stats.undefined import Undefined, or_undefined

from .designs import Design, assignment
from .ratings import CUTS, ITEM, ITEM_TASTE, SEVERITY
from .tallies import COSTLY_RUNS, Counts, Simulation, counted


@dataclass(frozen=True)
class CampsReported:
    """How often camps are reported: by taste and by agreement.

    apart: how the camps differ. "none": all annotators have independent tastes; "tastes": two camps are 2 logits apart
    on one system; "agreement": each camp has its own view of every response, of SD 1 logit.
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
            values = np.searchsorted(CUTS["ordinal"], latent).astype(float)
            fits.append(CrossedEffects.build(values, rated.items, rated.annotators, rated.systems))
        people = list(range(self.annotators))
        table, against_others = (profiles(fits, people, [0, 1, 2], against) for against in (False, True))
        by_taste = or_undefined(camps_by_taste, table, against_others, people)
        columns = (values, rated.items, rated.annotators, rated.systems)
        by_agreement = or_undefined(camps_by_agreement, *columns)
        hints = {"by taste": by_taste, "by agreement": by_agreement}
        return {key: hint.p < 0.05 for key, hint in hints.items() if not isinstance(hint, Undefined)}


SIMULATIONS: tuple[Simulation, ...] = (
    *(CampsReported(60, 3, 12, "none", taste) for taste in (0.0, 0.6)),
    CampsReported(100, 8, 8, "none"),
    CampsReported(60, 3, 12, "tastes"),
    CampsReported(100, 8, 8, "agreement"),
    CampsReported(100, 3, 20, "none"),
    CampsReported(100, 3, 20, "tastes"),
)
