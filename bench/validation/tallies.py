"""Counts of how often something happened in a batch of simulated studies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

RUNS, COSTLY_RUNS = 2000, 400
Counts = dict[str, tuple[list[int], int]]
"""By quantity: how often it happened (in each contrast), and in how many studies it could."""


class Simulation(Protocol):
    """A kind of study that is simulated in batches.

    part: its table on the page; batch: studies in a batch; most: sufficient number of runs.
    """

    @property
    def part(self) -> str: ...

    @property
    def most(self) -> int: ...

    @property
    def name(self) -> str: ...

    @property
    def batch(self) -> int: ...

    def measure(self, runs: int, random: np.random.Generator) -> Counts: ...


@dataclass
class Tally:
    """Counts of several batches together."""

    runs: int = 0
    happened: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    trials: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, runs: int, counts: Counts) -> None:
        self.runs += runs
        for key, (happened, trials) in counts.items():
            before = self.happened[key] or [0] * len(happened)
            self.happened[key] = [old + new for old, new in zip(before, happened, strict=True)]
            self.trials[key] += trials

    def percent(self, key: str) -> float | None:
        """Average over contrasts; None if it was not counted."""
        return 100 * float(np.mean(self.happened[key])) / self.trials[key] if self.trials[key] else None

    def worst(self, key: str) -> tuple[float, float] | None:
        """Percent of the contrast in which it happened most often, and its standard error."""
        if not self.trials[key]:
            return None
        share = max(self.happened[key]) / self.trials[key]
        return 100 * share, 100 * float(np.sqrt(share * (1 - share) / self.trials[key]))


def counted(rows: Iterable[Sequence[bool]]) -> tuple[list[int], int]:
    """The counts of rows of contrasts, one row per study, and the number of studies."""
    table = np.array([list(row) for row in rows], dtype=int)
    return table.sum(axis=0).tolist(), len(table)
