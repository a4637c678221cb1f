"""How well a model that rated the same candidates agrees with the annotators: alternative annotator test and
correlations. A judge answers a criterion as annotators do. Scores that only judges gave are a metric, on a separate
scale: it may relate to any criterion, so it is correlated with each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from ..correlation import Correlations, segment_correlation, system_correlation
from ..crossed import CrossedEffects
from ..judge import AltTest, Measure, alt_test
from ..undefined import Undefined, or_undefined
from .contrasts import TestedDifference, tested
from .ratings import Ratings

NO_ORDER = Undefined("Not defined: options without a number cannot be correlated.")
OWN_SCALE = Undefined("Not tested as a replacement: no annotator rated on the scale of these scores.")


@dataclass(frozen=True)
class JudgeOf:
    """One judge under one criterion.

    scores: the criterion of the judge's scores, either the same criterion or a metric. stand_in: may the judge replace
    an annotator? within_items, of_systems: correlations of the judge's scores with the annotators' ratings. shared:
    candidates rated by the judge and at least one annotator.
    """

    judge: str
    criterion: str
    scores: str
    shared: int
    stand_in: AltTest | Undefined
    within_items: Correlations | Undefined
    of_systems: Correlations | Undefined

    @property
    def is_metric(self) -> bool:
        return self.scores != self.criterion


def judges(
    people: Sequence[Ratings], scores: Sequence[Ratings], names: Sequence[str], epsilon: float
) -> Iterator[JudgeOf]:
    """Every judge compared with people's ratings, by criterion.

    people: the annotators' ratings, by criterion; scores: the judges' ratings, by criterion; names: labels of the
    annotator codes; epsilon: how much worse than an annotator a judge may be, because it is cheap.
    """
    judges_present = {names[code] for ratings in scores for code in np.unique(ratings.annotator).tolist()}
    codes = {name: code for code, name in enumerate(names)}
    by_criterion = {ratings.variable.key: ratings for ratings in people}
    for judge in sorted(judges_present):
        for ratings in scores:
            of_judge = ratings.take(np.flatnonzero(ratings.annotator == codes[judge]))
            if len(of_judge):
                yield from _beside(judge, by_criterion, of_judge, np.asarray(names, dtype=object), epsilon)


def judge_differences(
    people: Sequence[Ratings], scores: Sequence[Ratings], names: Sequence[str], bound: float
) -> list[tuple[str, TestedDifference]]:
    """Judge, and how much larger its difference of two systems is than that of the annotators on the same candidates.

    All tests are one family. bound: as in `contrasts`; the others as in `judges`.
    """
    judges_named, differences = [], []
    for ratings, every in zip(people, scores, strict=True):
        for code in np.unique(every.annotator).tolist() if len(ratings) and not ratings.variable.not_comparable else ():
            fit = _fit_beyond(ratings, every.take(every.annotator == code))
            for earlier, later in combinations(np.unique(ratings.system).tolist(), 2):
                judges_named.append(names[code])
                difference = fit if isinstance(fit, Undefined) else or_undefined(fit.difference, later, earlier)
                of, share = ratings.variable.key, ratings.variable.is_share
                tested_pair = TestedDifference(
                    criterion=of, system=later, baseline=earlier, share=share, difference=difference, bound=bound
                )
                differences.append(tested_pair)
    return list(zip(judges_named, tested(differences), strict=True))


def _fit_beyond(ratings: Ratings, scores: Ratings) -> CrossedEffects | Undefined:
    """The fit of a judge's scores minus the ratings; of *best*, only where both chose among as many candidates."""
    apart = _where_rated(ratings, scores, scores.number) - ratings.number
    if ratings.variable.kind == "best":
        place = np.unique(ratings.sets, return_inverse=True)[1]
        sizes = np.bincount(place, ~np.isnan(ratings.number))[place]
        judged = np.bincount(scores.item, ~np.isnan(scores.number), int(ratings.item.max()) + 1)[ratings.item]
        apart[sizes != judged] = np.nan
    of = replace(ratings, number=apart)
    return or_undefined(CrossedEffects.build, of.beyond_chance, of.item, of.annotator, of.system, of.group)


def _beside(
    judge: str, people: dict[str, Ratings], scores: Ratings, names: np.ndarray, epsilon: float
) -> Iterator[JudgeOf]:
    """A judge's scores compared with people's ratings of the same criterion; a metric, of all comparable criteria."""
    if len(same := people[scores.variable.key]):
        yield _as_annotator(judge, same, scores, names, epsilon)
    elif not scores.variable.not_comparable:
        compared = (rated for rated in people.values() if len(rated) and not rated.variable.not_comparable)
        for rated in compared:
            judged = _where_rated(rated, scores, scores.number)
            yield _judge_of(judge, rated, scores, rated.number, judged, OWN_SCALE)


def _as_annotator(judge: str, ratings: Ratings, scores: Ratings, names: np.ndarray, epsilon: float) -> JudgeOf:
    values, judged = _values(ratings), _where_rated(ratings, scores, _values(scores))
    measure: Measure = "rmse" if _is_number(ratings) else "accuracy"
    same = _same_best(ratings) if ratings.variable.kind == "best" else None
    columns = (values, ratings.units, ratings.group, names[ratings.annotator], judged)
    stand_in = or_undefined(alt_test, *columns, measure, epsilon, same)
    return _judge_of(judge, ratings, scores, values, judged, stand_in)


def _judge_of(
    judge: str,
    ratings: Ratings,
    scores: Ratings,
    values: np.ndarray,
    judged: np.ndarray,
    stand_in: AltTest | Undefined,
) -> JudgeOf:
    """values: as in `_values`; judged: the judge's number for each of them. A metric is correlated with any ratings."""
    keys, columns = (ratings.variable.key, scores.variable.key), (ratings.item, ratings.system, judged, ratings.group)
    within, of_systems = (
        or_undefined(statistic, ratings.number, *columns) if _is_number(ratings) or stand_in is OWN_SCALE else NO_ORDER
        for statistic in (segment_correlation, system_correlation)
    )
    return JudgeOf(judge, *keys, _shared(ratings, values, judged), stand_in, within, of_systems)


def _same_best(ratings: Ratings) -> np.ndarray:
    """(n,) the most frequent answer of *best*, given to everything: always the same system, or none of them."""
    rated = ratings.take(~np.isnan(ratings.number))
    chosen = np.bincount(rated.system, rated.number, minlength=1)
    none = np.bincount(np.unique(rated.sets, return_inverse=True)[1], rated.number) == 0
    always = chosen.argmax() if chosen.max() >= none.sum() else -1
    same: np.ndarray = (ratings.system == always).astype(float)
    return same


def _where_rated(ratings: Ratings, scores: Ratings, numbers: np.ndarray) -> np.ndarray:
    """(n,) the judge's number for the unit of each rating, NaN = none; numbers: one for each of the scores."""
    places = zip(scores.item.tolist(), scores.system.tolist(), strict=True)
    judged: dict[tuple[int, int], float] = {}
    for place, number in zip(places, numbers.tolist(), strict=True):
        judged.setdefault(place, number)
    rated = zip(ratings.item.tolist(), ratings.system.tolist(), strict=True)
    return np.array([judged.get(place, np.nan) for place in rated], dtype=float)


def _shared(ratings: Ratings, values: np.ndarray, judged: np.ndarray) -> int:
    """How many units have a rating and a judge's score."""
    return len(np.unique(ratings.units[~np.isnan(judged) & ~np.isnan(values)]))


def _is_number(ratings: Ratings) -> bool:
    return ratings.variable.level != "nominal"


def _values(ratings: Ratings) -> np.ndarray:
    """(n,) numbers, or codes of the options where they have no order; NaN = missing."""
    return ratings.number if _is_number(ratings) else ratings.categories[0]
