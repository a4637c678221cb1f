"""A share of a count, with its interval."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.stats import binomtest

from .columns import CONFIDENCE
from .undefined import UndefinedStatistic


@dataclass(frozen=True)
class Rate:
    """hits out of n, with Wilson's interval."""

    hits: int
    n: int
    share: float
    low: float
    high: float


def rate(hits: int, n: int) -> Rate:
    """hits / n with Wilson's interval. Raises UndefinedStatistic when n is 0, ValueError unless 0 <= hits <= n."""
    if not n:
        raise UndefinedStatistic("Not defined: there is nothing to count yet.")
    ends = binomtest(hits, n).proportion_ci(CONFIDENCE, method="wilson")
    return Rate(hits, n, hits / n, float(ends.low), float(ends.high))
