"""Three systems or more ranked within items: Friedman's test, and Nemenyi's test for each pair.

Both rank the systems on each item by their mean rating, so they apply to these annotators only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import stats

from .columns import Label
from .comparison import SideBySide
from .undefined import UndefinedStatistic


@dataclass(frozen=True)
class RankDifference:
    """Mean rank of `system` minus mean rank of `baseline`, and Nemenyi's p, which holds for all pairs at once."""

    system: Label
    baseline: Label
    difference: float
    p: float


@dataclass(frozen=True)
class Ranking:
    """Friedman's test over items and Nemenyi's comparisons.

    mean_ranks are in the order of `systems`; the highest rating has rank 1, equal ratings share their ranks.
    """

    systems: tuple[Label, ...]
    mean_ranks: tuple[float, ...]
    items: int
    statistic: float
    p: float
    differences: tuple[RankDifference, ...]


def ranking(table: SideBySide, systems: Sequence[Label]) -> Ranking:
    """Ranks K >= 3 systems on every item where an annotator rated all of them.

    Friedman's chi-square has K - 1 degrees of freedom and is corrected for ties (scipy). Nemenyi:
    q = |difference of mean ranks| / sqrt(K (K + 1) / (12 items)) against the studentised range (Demsar 2006,
    Statistical Comparisons of Classifiers over Multiple Data Sets, section 3.2.2, whose critical values are divided
    by sqrt(2)). Raises UndefinedStatistic for fewer than three systems, fewer than two such items, or when all
    systems have equal ratings on every item.
    """
    if len(systems) < 3:
        raise UndefinedStatistic("Not defined: a ranking over items compares three systems or more.")
    means = table.item_means(systems)
    if len(means) < 2:
        raise UndefinedStatistic("Not defined: fewer than two items where an annotator rated all systems.")
    if (means == means[:, :1]).all():
        raise UndefinedStatistic("Not defined: the systems are equal on every item.")
    friedman = stats.friedmanchisquare(*means.T)
    mean_ranks = stats.rankdata(-means, axis=1).mean(axis=0)
    return Ranking(
        tuple(systems),
        tuple(mean_ranks.tolist()),
        len(means),
        float(friedman.statistic),
        float(friedman.pvalue),
        _nemenyi(systems, mean_ranks, len(means)),
    )


def _nemenyi(systems: Sequence[Label], mean_ranks: np.ndarray, items: int) -> tuple[RankDifference, ...]:
    count = len(systems)
    first, second = np.array(list(combinations(range(count), 2))).T
    gaps = mean_ranks[first] - mean_ranks[second]
    p = stats.studentized_range.sf(np.abs(gaps) / np.sqrt(count * (count + 1) / (12 * items)), count, np.inf)
    return tuple(
        RankDifference(systems[row], systems[column], gap, min(max(chance, 0.0), 1.0))
        for row, column, gap, chance in zip(first, second, gaps.tolist(), p.tolist(), strict=True)
    )
