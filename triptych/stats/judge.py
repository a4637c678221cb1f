"""Can a judge (a model that rates) replace an annotator? The alternative annotator test.

Calderon, Reichart & Dror 2025, The Alternative Annotator Test for LLM-as-a-Judge (ACL): each annotator is left out in
turn, and judge and annotator are compared in how well they agree with the others. The judge passes if it does as well
as at least half of the annotators, given the advantage epsilon for being cheap and quick; and, beyond the paper, as
more of them than the same answer to everything does: noise of annotators lets that pass, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import stdtr
from scipy.stats import false_discovery_control

from .columns import Column, Floats, Label, codes, numbers
from .numbers import written
from .undefined import UndefinedStatistic

FEWEST_ANNOTATORS = 3
FEWEST_ITEMS = 30
EPSILON = {"expert": 0.2, "skilled": 0.15, "crowd": 0.1}
LEVEL = 0.05
PASSES = 0.5
_ROUNDING = 1e-12

Measure = Literal["accuracy", "rmse"]
AnnotatorWins = tuple[Label, Floats, Floats]  # annotator, judge's wins and annotator's wins, by item


@dataclass(frozen=True)
class Comparison:
    """The judge compared with one annotator over n items (or groups of items).

    judge_wins, annotator_wins: share of them where that side agrees with the other annotators at least as well as the
    opponent; they add up to more than 1 when there are ties. p: one-sided, of annotator_wins - judge_wins < epsilon;
    corrected: by Benjamini & Yekutieli; won: the judge does as well as this annotator.
    """

    annotator: Label
    judge_wins: float
    annotator_wins: float
    p: float
    corrected: float
    won: bool
    n: int


@dataclass(frozen=True)
class AltTest:
    """winning_rate (omega): share of annotators won against; advantage (rho): mean of judge_wins.

    constant_rate: the winning rate of the best constant answer, which that of the judge must exceed; comparisons:
    without annotators who have too few items; the others are still compared with their ratings.
    """

    winning_rate: float
    constant_rate: float
    advantage: float
    passes: bool
    comparisons: tuple[Comparison, ...]
    epsilon: float
    measure: Measure
    sentence: str


def alt_test(
    values: Column,
    units: Column,
    items: Column,
    annotators: Column,
    judged: Column,
    measure: Measure = "rmse",
    epsilon: float = EPSILON["skilled"],
    constant: Column | None = None,
) -> AltTest:
    """Compares the judge with each annotator on the units that both they and somebody else rated.

    values: (n,) numbers (codes of options with measure "accuracy"), NaN = missing; units, items, annotators: (n,)
    labels of what was rated, of its item (or group of items with related errors), and of who rated; judged: (n,) the
    judge's value for the unit of the row, NaN = none. Score of a value v against the others h: share of h = v
    (accuracy) or -sqrt(mean (v - h)^2) (rmse); ties win for both. Units of one item are not independent, so the t-test
    runs over means of items; with one unit per item it is the paper's test. epsilon: 0.2 for experts, 0.15 for skilled
    people, 0.1 for a crowd. constant: (n,) the same answer to everything, where that is not the same value for every
    unit; otherwise the value that agrees best with the ratings. Raises UndefinedStatistic unless three annotators have
    thirty shared items each, and the judge's values for them differ.
    """
    ratings, *columns = numbers(values, judged, units, items, annotators, judged if constant is None else constant)
    judge, ratings, unit, item, named, same = numbers(columns[0], ratings, *columns[1:])
    annotator, labels = codes(named)
    if len(labels) < FEWEST_ANNOTATORS:
        raise UndefinedStatistic(
            f"Not defined: the judge is compared with at least {FEWEST_ANNOTATORS} annotators, and {len(labels)} "
            "rated what it rated."
        )
    unit = codes(unit)[0]
    own = _score(ratings, ratings, unit, annotator, measure)
    scored = ~np.isnan(own)

    def wins(candidate: np.ndarray) -> list[AnnotatorWins]:
        score = _score(candidate, ratings, unit, annotator, measure)
        # Scores are compared after rounding: the same mean summed in another order must tie.
        largest = float(np.nanmax(np.abs([score, own]), initial=0)) or 1.0
        return list(_wins(np.round((score - own) / largest, 9), item, annotator, labels.tolist()))

    comparisons = _compared(wins(judge), epsilon)
    if not np.ptp(judge[scored]):
        raise UndefinedStatistic("Not defined: the judge gave the same answer to everything that annotators rated.")
    of_constant = _compared(wins(_constant(ratings[scored], measure) if constant is None else same), epsilon)
    return _test(comparisons, of_constant, measure, epsilon)


def _wins(ahead: np.ndarray, items: np.ndarray, annotators: np.ndarray, labels: list[Label]) -> Iterator[AnnotatorWins]:
    """ahead: (n,) how much better the candidate's value scores than the annotator's own, NaN if nobody else rated."""
    for at, label in enumerate(labels):
        own_rows = ~np.isnan(ahead) & (annotators == at)
        place = codes(items[own_rows])[0]
        sizes = np.bincount(place)
        yield label, *(np.bincount(place, won[own_rows]) / sizes for won in (ahead >= 0, ahead <= 0))


def _constant(values: np.ndarray, measure: Measure) -> np.ndarray:
    """The answer that agrees best with all of (n,) values: the most frequent one, or the nearest one to their mean."""
    given, counts = np.unique(values, return_counts=True)
    place = counts.argmax() if measure == "accuracy" else np.abs(given - values.mean()).argmin()
    return np.full(1, given[place])


def _score(
    candidate: np.ndarray, values: np.ndarray, units: np.ndarray, annotators: np.ndarray, measure: Measure
) -> np.ndarray:
    """(n,) how well `candidate`, in place of each row's own value, agrees with the other annotators' on the unit."""
    order = np.argsort(units, kind="stable")
    total, raters = np.zeros(len(values)), np.zeros(len(values))
    starts = np.searchsorted(units[order], units)
    for step in range(int(np.bincount(units).max(initial=0))):
        row = np.minimum(starts + step, len(values) - 1)
        other = order[row]
        counts = (units[other] == units) & (annotators[other] != annotators) & (starts + step < len(values))
        distance = candidate - values[other]
        total += counts * (np.abs(distance) <= _ROUNDING if measure == "accuracy" else distance**2)
        raters += counts
    mean: Floats = np.divide(total, raters, out=np.full(len(values), np.nan), where=raters > 0)
    return mean if measure == "accuracy" else -np.sqrt(mean)


def _compared(rows: list[AnnotatorWins], epsilon: float) -> tuple[Comparison, ...]:
    """One-sided t-tests of the annotators with enough items, and their correction."""
    compared = [(label, judge, annotator) for label, judge, annotator in rows if len(judge) >= FEWEST_ITEMS]
    if len(compared) < FEWEST_ANNOTATORS:
        most = max(len(judge) for _, judge, _ in rows)
        raise UndefinedStatistic(
            f"Not defined: {FEWEST_ANNOTATORS} annotators must each share {FEWEST_ITEMS} items (or groups of items) "
            f"with the judge and another annotator; {len(compared)} do, and the most that anyone shares is {most}."
        )
    ps = [_below(annotator - judge, epsilon) for _, judge, annotator in compared]
    corrected = false_discovery_control(ps, method="by").tolist()
    return tuple(
        Comparison(label, float(judge.mean()), float(annotator.mean()), p, adjusted, adjusted <= LEVEL, len(judge))
        for (label, judge, annotator), p, adjusted in zip(compared, ps, corrected, strict=True)
    )


def _test(
    comparisons: tuple[Comparison, ...],
    of_constant: tuple[Comparison, ...],
    measure: Measure,
    epsilon: float,
) -> AltTest:
    """Winning rates of the judge and of a constant answer, and advantage."""
    won, won_by_constant = (sum(each.won for each in side) for side in (comparisons, of_constant))
    total = len(comparisons)
    advantage = float(np.mean([comparison.judge_wins for comparison in comparisons]))
    passes = won / total >= PASSES and won > won_by_constant
    words = (
        f"The judge {'may' if passes else 'may not'} replace an annotator: it does as well as {won} of {total} "
        f"(needed: half of them, and more than a constant answer, which does as well as {won_by_constant}), and agrees "
        f"with the others at least as well as an annotator {written(advantage, 'share')} of the time."
    )
    rates = won / total, won_by_constant / total
    return AltTest(*rates, advantage, passes, comparisons, epsilon, measure, words)


def _below(differences: np.ndarray, bound: float) -> float:
    """One-sided p of the t-test that the mean of (items,) differences is below the bound."""
    n, gap = len(differences), float(differences.mean()) - bound
    error = float(differences.std(ddof=1)) / np.sqrt(n)
    if error <= _ROUNDING:
        return 0.0 if gap < 0 else 1.0
    return float(stdtr(n - 1, gap / error))
