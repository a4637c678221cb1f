"""Whether a difference is practically zero: two one-sided tests against a margin that was set beforehand.

Schuirmann 1987, A Comparison of the Two One-Sided Tests Procedure and the Power Approach; the tests are those of
annotators like these (intervals.py), so there are none with fewer than five annotators.
"""

from __future__ import annotations

from dataclasses import dataclass

from scipy.special import stdtr, stdtrit

from .intervals import Estimate
from .undefined import UndefinedStatistic

LEVEL = 0.05


@dataclass(frozen=True)
class Equivalence:
    """Test of a difference against +-margin, both in the same unit.

    low, high: the 90 % interval that corresponds to the tests (confidence 1 - 2 x level); p: the larger of the two
    one-sided p-values. equal: whether both tests reject, so that the interval is within +-margin.
    """

    margin: float
    low: float
    high: float
    p: float
    equal: bool

    @property
    def excluded(self) -> float:
        """The smallest margin for which the test succeeds: larger differences in either direction are excluded."""
        return max(-self.low, self.high)


def equivalence(estimate: Estimate, margin: float, level: float = LEVEL) -> Equivalence:
    """Test whether the true difference is within +-margin, at `level` for each side.

    Raises UndefinedStatistic where the estimate has no test for annotators like these, ValueError for a margin that is
    not above 0.
    """
    if not margin > 0:
        raise ValueError("A margin must be above 0.")
    if estimate.test is None:
        raise UndefinedStatistic(estimate.alike.sentence)
    error, freedom = estimate.test.error, estimate.test.freedom
    reach = float(stdtrit(freedom, 1 - level) * error)
    p = float(stdtr(freedom, -(margin - abs(estimate.mean)) / error))
    return Equivalence(margin, estimate.mean - reach, estimate.mean + reach, p, p < level)
