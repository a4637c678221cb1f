"""Disagreement: how far apart the ratings of one candidate are, by item and by annotator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from triptych.stats.analysis.ratings import Ratings


@dataclass(frozen=True)
class Distances:
    """How far apart ratings are, from 0 (always the same) to 1 (opposite ends of the scale).

    Of an item: the mean distance of two of its annotators. Of an annotator: the distance from the mean of the others,
    of options the share of others who chose another one. n: ratings of units that two annotators rated; criteria: key →
    distance, for criteria with such ratings; score: mean over these criteria.
    """

    name: str
    n: int
    score: float
    criteria: dict[str, float]


@dataclass(frozen=True)
class Disagreement:
    """Disagreement by item and by annotator.

    items: all that two annotators rated, the highest scores first; annotators: all, the farthest from the others first.
    """

    items: tuple[Distances, ...]
    annotators: tuple[Distances, ...]


def disagreement(every: Sequence[Ratings], items: Sequence[str], people: Sequence[str]) -> Disagreement:
    """Disagreement over all criteria; items, people: labels of the item and annotator codes in the ratings."""
    shared = {ratings.variable.key: _shared(ratings) for ratings in every}
    shared = {key: table for key, table in shared.items() if len(table)}
    spreads = {key: table.groupby(["item", "unit"])["spread"].mean().abs() for key, table in shared.items()}
    of_items = {key: spread.groupby("item").mean() for key, spread in spreads.items()}
    of_people = {key: table.groupby("annotator")["distance"].mean() for key, table in shared.items()}
    counts = {name: [table[name].value_counts() for table in shared.values()] for name in ("item", "annotator")}
    return Disagreement(
        tuple(_ranked(of_items, counts["item"], items)),
        tuple(_ranked(of_people, counts["annotator"], people)),
    )


def _ranked(scores: dict[str, pd.Series], counts: list[pd.Series], names: Sequence[str]) -> Iterator[Distances]:
    """Highest mean first; scores, counts: by code, for each criterion; names: labels of the codes."""
    if not scores:
        return
    table, total = pd.DataFrame(scores).sort_index(), pd.concat(counts).groupby(level=0).sum()
    means = table.mean(axis=1).round(12).sort_values(ascending=False, kind="stable")  # so that equal ones stay in order
    rows = table.to_dict("index")
    for at, mean in means.items():
        criteria = {key: score for key, score in rows[at].items() if score == score}
        yield Distances(names[at], int(total[at]), float(mean), criteria)


def _shared(ratings: Ratings) -> pd.DataFrame:
    """Ratings of units that two annotators rated, by item, annotator and unit.

    distance: of the rating from the mean of the unit's others (options: share of the others that differ). spread: its
    mean over a unit is the mean distance of two of its ratings: a sum over ranks i of (2 i - m - 1) x_i, for options
    the same as the distances.
    """
    low, high = ratings.variable.ends
    ordered = ratings.variable.kind != "choice"  # the number of an option only says whether it is positive
    value = (ratings.number - low) / (high - low) if ordered else ratings.categories[0]
    columns = {"item": ratings.item, "annotator": ratings.annotator, "unit": ratings.units, "value": value}
    table = pd.DataFrame(columns).dropna()
    table = table[table.groupby("unit")["unit"].transform("size") > 1]
    by_unit = table.groupby("unit")["value"]
    size = by_unit.transform("size")
    if ordered:
        others = (by_unit.transform("sum") - table["value"]) / (size - 1)
        weight = 2 * by_unit.rank(method="first") - size - 1
        return table.assign(distance=(table["value"] - others).abs(), spread=2 * weight * table["value"] / (size - 1))
    alike = table.groupby(["unit", "value"])["value"].transform("size")
    distance = (size - alike) / (size - 1)
    return table.assign(distance=distance, spread=distance)
