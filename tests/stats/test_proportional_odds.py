"""Proportional odds: another program's fit, a sandwich written from the scores, invariances, refusals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.present import present
from scipy.optimize import approx_fprime
from scipy.special import expit

from triptych.stats.proportional_odds import PRIOR_SD, LogitDifference, proportional_odds
from triptych.stats.undefined import UndefinedStatistic

ORACLE = json.loads((Path(__file__).parents[1] / "oracles" / "proportional_odds.json").read_text(encoding="utf-8"))

Columns = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def study(seed: int, effects: Sequence[float] = (0, 0.5, 1), items: int = 12, annotators: int = 6) -> Columns:
    """Values 1 to 5, items, annotators, systems; every annotation holds two systems."""
    random = np.random.default_rng(seed)
    rows = [
        (item, annotator, int(system))
        for item in range(items)
        for annotator in range(annotators)
        for system in random.choice(len(effects), 2, replace=False)
    ]
    item, annotator, system = np.array(rows).T
    latent = random.normal(0, 1, items)[item] + random.normal(0, 0.7, annotators)[annotator]
    latent = latent + np.array(effects)[system] + random.logistic(size=len(rows))
    return np.digitize(latent, [-1.5, -0.5, 0.8, 2]) + 1.0, item, annotator, system


def means(model: tuple[LogitDifference, ...]) -> list[float]:
    return [difference.estimate.mean for difference in model]


@pytest.mark.parametrize("design", ORACLE["sets"])
def test_equals_another_program_without_prior(design: dict[str, Any]) -> None:
    item, annotator, system, category = zip(*design["rows"], strict=True)
    model = proportional_odds(category, item, annotator, system, prior_sd=np.inf)
    against_first = [pair.estimate.mean for pair in model if pair.baseline == 0]
    assert against_first == pytest.approx(design["effects"], abs=1e-5)


def log_likelihoods(parameters: np.ndarray, values: np.ndarray, columns: np.ndarray, cuts: int) -> np.ndarray:
    """(n,) of each rating, from (thresholds, effects)."""
    ends = np.concatenate([[-np.inf], parameters[:cuts], [np.inf]])
    eta = columns @ parameters[cuts:]
    return np.log(expit(ends[values + 1] - eta) - expit(ends[values] - eta))


@pytest.mark.parametrize("size", [1, 3])
def test_errors_equal_a_sandwich_of_the_scores(size: int) -> None:
    """size: of the groups of items whose errors are related."""
    ratings, item, annotator, system = study(3)
    group = item // size
    values, cuts = np.unique(ratings, return_inverse=True)[1], 4
    columns = np.hstack([np.eye(12)[item], np.eye(6)[annotator], np.eye(3)[system][:, 1:]])
    penalty = np.diag([0.0] * cuts + [PRIOR_SD**-2] * 18 + [0.0] * 2)

    def gradient(parameters: np.ndarray) -> np.ndarray:
        scores = approx_fprime(parameters, log_likelihoods, 1e-7, values, columns, cuts)
        return scores.sum(axis=0) - penalty @ parameters

    def information(parameters: np.ndarray) -> np.ndarray:
        """Expected, summed over what each rating might have been."""
        total = penalty.copy()
        for point in range(cuts + 1):
            each = np.full(len(values), point)
            scores = approx_fprime(parameters, log_likelihoods, 1e-7, each, columns, cuts)
            total += scores.T @ (scores * np.exp(log_likelihoods(parameters, each, columns, cuts))[:, None])
        return total

    parameters = np.concatenate([[-1.5, -0.5, 0.8, 2], np.zeros(20)])
    for _ in range(12):
        parameters = parameters + np.linalg.solve(information(parameters), gradient(parameters))
    scores = approx_fprime(parameters, log_likelihoods, 1e-7, values, columns, cuts)
    influence = scores @ np.linalg.inv(information(parameters))[:, -1]  # of the third system

    def clustered(codes: np.ndarray) -> float:
        sums = np.bincount(codes, influence)
        return float(sums @ sums)

    count = 12 // size
    by_group, by_annotator = clustered(group) * count / (count - 1), clustered(annotator) * 6 / 5
    both = by_group + by_annotator - clustered(group * 6 + annotator)
    expected = np.sqrt([by_group, max(both, 0.75 * max(by_group, by_annotator))])

    estimate = proportional_odds(ratings, item, annotator, system, group)[1].estimate
    assert estimate.items == count
    assert estimate.mean == pytest.approx(parameters[-1], abs=1e-4)
    assert estimate.test is not None
    assert estimate.test_here is not None
    errors = [estimate.mean / estimate.test_here.t, estimate.mean / estimate.test.t]
    assert errors == pytest.approx(expected, rel=1e-3)


def test_only_the_order_of_values_counts() -> None:
    ratings, item, annotator, system = study(5)
    stretched = proportional_odds(ratings**3, item, annotator, system)
    assert means(stretched) == pytest.approx(means(proportional_odds(ratings, item, annotator, system)))


def test_reversed_values_reverse_every_difference() -> None:
    ratings, item, annotator, system = study(8)
    reversed_means = means(proportional_odds(-ratings, item, annotator, system))
    assert reversed_means == pytest.approx(
        [-mean for mean in means(proportional_odds(ratings, item, annotator, system))], abs=1e-6
    )


def test_items_and_annotators_may_change_places() -> None:
    ratings, item, annotator, system = study(13)
    turned = proportional_odds(ratings, annotator, item, system)
    assert means(turned) == pytest.approx(means(proportional_odds(ratings, item, annotator, system)), abs=1e-6)


def test_large_effects_are_found() -> None:
    ratings, item, annotator, system = study(21, effects=(0, 2), items=150, annotators=12)
    estimate = proportional_odds(ratings, item, annotator, system)[0].estimate
    assert estimate.headline.low is not None
    assert estimate.headline.low > 1
    assert estimate.mean == pytest.approx(2, abs=0.5)


def test_newcomers_with_one_system_add_few_degrees_of_freedom() -> None:
    """Nine further annotators of the third system alone made its p too small: only three had rated another."""
    ratings, item, annotator, system = study(5, items=40, annotators=12)
    rated = (annotator < 3) | (system == 2)
    model = proportional_odds(*(column[rated] for column in (ratings, item, annotator, system)))
    freedom = [present(pair.estimate.test).freedom for pair in model]
    assert max(freedom) < 5
    complete = proportional_odds(ratings, item, annotator, system)
    assert min(present(pair.estimate.test).freedom for pair in complete) > 9


@pytest.mark.parametrize("seed", range(5))
def test_systems_with_equal_ratings_have_no_interval(seed: int) -> None:
    """Their difference and its error were rounding, and p was the ratio of both."""
    ratings, item, annotator, system = study(seed, items=20)
    again = np.flatnonzero(system == 2)  # as a further system
    ratings, item, annotator = (np.concatenate([column, column[again]]) for column in (ratings, item, annotator))
    system = np.concatenate([system, np.full(len(again), 3)])

    estimate = proportional_odds(ratings, item, annotator, system)[-1].estimate

    assert (estimate.mean, estimate.test, estimate.headline.low) == (0, None, None)


def test_item_of_one_value_stays_finite() -> None:
    ratings, item, annotator, system = study(34)
    ratings[item == 0] = 5
    assert np.isfinite(means(proportional_odds(ratings, item, annotator, system))).all()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda columns: (np.where(columns[3] == 2, 5.0, np.minimum(columns[0], 4)), *columns[1:]), "one end"),
        (lambda columns: (np.ones(len(columns[0])), *columns[1:]), "all ratings are equal"),
        (lambda columns: (np.arange(len(columns[0])), *columns[1:]), "more than 21"),
        (lambda columns: (columns[0], np.zeros(len(columns[0])), *columns[2:]), "two items"),
        (lambda columns: (*columns[:3], np.zeros(len(columns[0]))), "two systems"),
        (lambda columns: (np.full(len(columns[0]), np.nan), *columns[1:]), "two items"),
    ],
)
def test_what_cannot_be_fitted_has_a_sentence(change: Any, reason: str) -> None:
    with pytest.raises(UndefinedStatistic, match=reason):
        proportional_odds(*change(study(2)))


def test_a_system_on_one_item_has_no_interval_in_logits() -> None:
    ratings, item, annotator, system = study(5)
    rated = (system < 2) | (item == 3)
    first, third, _ = proportional_odds(*(column[rated] for column in (ratings, item, annotator, system)))
    assert first.estimate.test is not None
    assert (third.estimate.items, third.estimate.test, third.estimate.test_here) == (1, None, None)


@pytest.mark.parametrize("nested", ["items", "annotators"])
def test_systems_that_nothing_links_have_no_difference(nested: str) -> None:
    """Effects of items take up the difference; without any, most studies had a small p."""
    ratings, item, annotator, system = study(3)
    own = (item if nested == "items" else annotator) % 3 == system
    with pytest.raises(UndefinedStatistic, match="link these two systems"):
        proportional_odds(*(column[own] for column in (ratings, item, annotator, system)))


def test_only_linked_systems_are_compared() -> None:
    ratings, item, annotator, system = study(3)
    apart = (system == 2) == (item < 4)  # the third system has items of its own
    model = proportional_odds(*(column[apart] for column in (ratings, item, annotator, system)))
    assert [(pair.system, pair.baseline) for pair in model] == [(1, 0)]
