"""Two versions of a criterion's ratings: as given, and with the final values that were decided in their place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..descriptive import summary
from ..undefined import Undefined, or_undefined
from .ratings import ABOUT_ITEM, Ratings


@dataclass(frozen=True)
class FinalMeans:
    """One system under one criterion, 0 for the item itself; share: whether the means are shares.

    decided: responses with a final value. changed: ratings of these that had another value, or none.
    given, final: mean of the ratings as given, and with the final value in place of every rating of those responses.
    """

    criterion: str
    system: int
    share: bool
    decided: int
    changed: int
    given: float | Undefined
    final: float | Undefined


def final_means(ratings: Ratings, final: Ratings, decided: np.ndarray, systems: list[int]) -> Iterator[FinalMeans]:
    """Of every system, where anything was decided. final: the same n ratings in the other version; decided: (n,)."""
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
            _mean(ratings.number[rows]),
            _mean(final.number[rows]),
        )


def _mean(numbers: np.ndarray) -> float | Undefined:
    described = or_undefined(summary, numbers)
    return described if isinstance(described, Undefined) else described.mean
