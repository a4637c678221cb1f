"""Two versions of a criterion's ratings: as given, and with the final values that were decided in their place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..descriptive import summary
from ..undefined import Undefined, or_undefined
from .ratings import ABOUT_ITEM, NO_ORDER, Ratings


@dataclass(frozen=True)
class FinalMeans:
    """The mean of one system under one criterion, without and with final values.

    system: 0 for the item itself. share: whether the means are shares. decided: number of responses with a final
    value. changed: ratings of these responses with another value than the final one, or none. given: mean of the
    ratings as given; final: mean with the final value in place of every rating of the decided responses.
    """

    criterion: str
    system: int
    share: bool
    decided: int
    changed: int
    given: float | Undefined
    final: float | Undefined


def final_means(ratings: Ratings, final: Ratings, decided: np.ndarray, systems: list[int]) -> Iterator[FinalMeans]:
    """The means of every system with a decided response.

    final: the same n ratings with final values; decided: (n,) whether the rating's response has a final value.
    """
    if not decided.any():
        return
    for code in systems if ratings.variable.per_response else [ABOUT_ITEM]:
        rows = ratings.system == code
        changed = decided & rows & ((ratings.number != final.number) | (ratings.option != final.option))
        changed &= ~(np.isnan(ratings.number) & np.isnan(final.number) & (ratings.option == final.option))
        yield FinalMeans(
            ratings.variable.key,
            code,
            ratings.variable.is_share,
            len(np.unique(ratings.item[decided & rows])),
            int(changed.sum()),
            _mean(ratings, rows),
            _mean(final, rows),
        )


def _mean(ratings: Ratings, rows: np.ndarray) -> float | Undefined:
    if not ratings.variable.has_numbers:
        return NO_ORDER
    described = or_undefined(summary, ratings.number[rows])
    return described if isinstance(described, Undefined) else described.mean
