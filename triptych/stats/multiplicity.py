"""Several tests at once: p-values adjusted over a family that was declared beforehand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.stats import false_discovery_control


@dataclass(frozen=True)
class Adjusted:
    """One test of a family: its p-value, and the same adjusted by Holm and by Benjamini and Hochberg.

    All three are None for a test that the data do not define.
    """

    p: float | None
    holm: float | None
    benjamini_hochberg: float | None


def adjusted(family: Iterable[float | None]) -> tuple[Adjusted, ...]:
    """The declared tests, by their p-values, in the order given.

    Holm keeps the chance of any false rejection in the family (Holm 1979, A Simple Sequentially Rejective Multiple
    Test Procedure); Benjamini and Hochberg (1995) keep the expected share of false ones among the rejections. A test
    without a p-value stays in the family as if p were 1: what was declared counts, not what happened to be defined.
    Raises ValueError when a p-value is outside 0 to 1.
    """
    tests = tuple(family)
    p = np.array([1.0 if value is None else value for value in tests], dtype=float)
    rows = zip(tests, _holm(p).tolist(), false_discovery_control(p).tolist() if len(p) else (), strict=True)
    return tuple(Adjusted(*row) if row[0] is not None else Adjusted(None, None, None) for row in rows)


def _holm(p: np.ndarray) -> np.ndarray:
    """(m,) p-values adjusted: running maximum of (m - rank) p in ascending order, at most 1."""
    order = np.argsort(p, kind="stable")
    stepped = np.minimum(np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order]), 1)
    out = np.empty_like(p)
    out[order] = stepped
    return out
