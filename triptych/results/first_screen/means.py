"""Counts and means of the ratings so far, without intervals or tests: a large study shows them at once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from triptych.results.criterion import criterion_ratings, spoken_number
from triptych.results.frame.model import Counted, Frame


def means(frame: Frame, counted: Counted, names: Mapping[int, str]) -> pd.DataFrame:
    """A row per criterion about responses and system: the ratings that count and their mean, or a share of answers."""
    rows = []
    for ratings in criterion_ratings(frame, counted):
        has_number = ~np.isnan(ratings.number)
        system = ratings.system[has_number]
        count, total = np.bincount(system), np.bincount(system, ratings.number[has_number])
        for code in np.flatnonzero(count).tolist() if ratings.variable.per_response else ():
            mean = spoken_number(total[code] / count[code], ratings.variable.is_share)
            rows.append((ratings.variable.title, names.get(code, ""), int(count[code]), mean))
    return pd.DataFrame(rows, columns=["Criterion", "System", "Ratings", "Mean or share"])
