"""The ordinal mixed model: published fits, likelihoods by brute force, known parameters, invariances, refusals."""

from __future__ import annotations

import json
import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.polynomial.hermite import hermgauss
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit, gammaln, logsumexp
from scipy.stats import norm

from triptych.stats.ordinal_model import fit_ordinal, ordinal_model
from triptych.stats.undefined import UndefinedStatistic

ORACLES = Path(__file__).parents[1] / "oracles"
WINE = json.loads((ORACLES / "clmm_wine.json").read_text())
OTHERS = json.loads((ORACLES / "mixed_models.json").read_text())
POINTS = [-2, -1, 0, 1, 2, 3]


def wine() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Categories, warm and contact, judges, bottles."""
    ratings = np.array(WINE["ratings"])
    design = np.tile(np.column_stack([WINE["warm"], WINE["contact"]]).astype(float), (9, 1))
    return ratings.ravel() - 1, design, np.repeat(np.arange(9), 8), np.tile(np.arange(8), 9)


def study(random, effects=(0, 0.5, 1), items=50, annotators=10, raters=3, spreads=(1, 0.7, 0.4)):
    """Values 1 to 7, items, annotators, systems of a study drawn from the model."""
    item = np.repeat(np.arange(items), raters * len(effects))
    who = np.argsort(random.random((items, annotators)), axis=1)[:, :raters].ravel()
    annotator, system = np.repeat(who, len(effects)), np.tile(np.arange(len(effects)), items * raters)
    eta = np.array(effects)[system] + random.normal(0, spreads[0], items)[item]
    eta = eta + random.normal(0, spreads[1], annotators)[annotator]
    eta = eta + random.normal(0, spreads[2], (annotators, len(effects)))[annotator, system]
    return np.digitize(eta + random.logistic(size=len(eta)), POINTS) + 1.0, item, annotator, system


def probabilities(fit, categories, eta):
    ends = np.concatenate([[-np.inf], fit.thresholds, [np.inf]])
    return expit(ends[categories + 1] - eta) - expit(ends[categories] - eta)


def laplace_by_brute_force(fit, categories, design, groups) -> float:
    """The Laplace log-likelihood at the parameters of a fit: one dense problem, its curvature by differences."""
    sizes = [group.max() + 1 for group in groups]
    rows = [np.eye(size)[group] * spread for size, group, spread in zip(sizes, groups, fit.spreads, strict=True)]
    effects = np.column_stack(rows)

    def minus_log_joint(u):
        return -np.log(probabilities(fit, categories, design @ fit.effects + effects @ u)).sum() + u @ u / 2

    result = minimize(minus_log_joint, np.zeros(sum(sizes)), options={"gtol": 1e-7})
    steps = np.eye(sum(sizes)) * 1e-3
    curvature = [
        [
            minus_log_joint(result.x + a + b)
            - minus_log_joint(result.x + a - b)
            - minus_log_joint(result.x - a + b)
            + minus_log_joint(result.x - a - b)
            for a in steps
        ]
        for b in steps
    ]
    return -result.fun - np.linalg.slogdet(np.array(curvature) / 4e-6)[1] / 2


def test_the_published_fit_of_the_wine_data_is_reproduced():
    categories, design, judge, _ = wine()
    fit, published = fit_ordinal(categories, design, [judge]), WINE["published"]
    assert fit.effects == pytest.approx(published["effects"], abs=1e-3)
    assert np.sqrt(np.diag(fit.covariance)) == pytest.approx(published["errors"], abs=1e-3)
    assert fit.thresholds == pytest.approx(published["thresholds"], abs=1e-3)
    assert fit.spreads[0] ** 2 == pytest.approx(published["judge_variance"], abs=1e-3)
    assert fit.log_likelihood == pytest.approx(published["log_likelihood"], abs=5e-3)


def test_the_published_fit_of_the_cattle_is_reproduced():
    data, published = OTHERS["cbpp"], OTHERS["cbpp"]["published"]
    ill, size = np.array(data["ill"]), np.array(data["size"])
    periods = [[1, 2, 3, 4]] * len(data["herds"])
    period = np.concatenate([given[:count] for given, count in zip(periods, data["herds"], strict=True)])
    each = np.repeat(np.arange(len(size)), size)
    categories = (np.arange(len(each)) - np.repeat(np.cumsum(size) - size, size) < ill[each]).astype(int)
    herd = np.repeat(np.arange(len(data["herds"])), data["herds"])[each]
    fit = fit_ordinal(categories, (period[each][:, None] == [2, 3, 4]).astype(float), [herd])
    assert -fit.thresholds[0] == pytest.approx(published["intercept"], abs=1e-3)
    assert fit.effects == pytest.approx(published["effects"], abs=1e-3)
    assert fit.spreads[0] == pytest.approx(published["herd_sd"], abs=1e-3)
    ways = (gammaln(size + 1) - gammaln(ill + 1) - gammaln(size - ill + 1)).sum()
    assert fit.log_likelihood + ways == pytest.approx(published["log_likelihood"], abs=5e-3)


def test_the_published_fit_of_two_crossed_groups_is_reproduced():
    data, published = OTHERS["salamander"], OTHERS["salamander"]["published"]
    categories = np.array([int(each) for rows in data["mated"] for row in rows for each in row])
    male = np.concatenate([np.ravel(data["males"]) - 1 + 20 * n for n in range(3)])
    female = np.repeat(np.arange(60), 6)
    cross = 2 * (female % 20 > 9) + (male % 20 > 9)
    fit = fit_ordinal(categories, (cross[:, None] == [1, 2, 3]).astype(float), [female, male])
    crosses = np.concatenate([[0.0], fit.effects]) - fit.thresholds[0]
    assert crosses == pytest.approx(published["crosses"], abs=1e-3)
    assert fit.spreads**2 == pytest.approx(published["variances"], abs=1e-3)


def test_intercepts_without_scatter_leave_the_published_fit():
    categories, design, _, bottle = wine()
    fit, published = fit_ordinal(categories, design, [bottle]), OTHERS["wine"]["published"]
    assert fit.spreads[0] == pytest.approx(0, abs=1e-3)
    assert fit.effects == pytest.approx(published["effects"], abs=1e-3)
    assert np.sqrt(np.diag(fit.covariance)) == pytest.approx(published["errors"], abs=1e-3)
    assert fit.thresholds == pytest.approx(published["thresholds"], abs=1e-3)
    assert fit.log_likelihood == pytest.approx(published["log_likelihood"], abs=5e-3)


def integrated(parameters, categories, design, groups, nodes: int = 15) -> float:
    """Log-likelihood by Gauss-Hermite quadrature, of thresholds, effects and the spreads of one or two groups.

    Every value of the second group's intercepts is tried; the first group's are then independent.
    """
    top, count = categories.max(), len(groups)
    spreads = parameters[len(parameters) - count :]
    ends = np.concatenate([[-np.inf], parameters[:top], [np.inf]])
    points, weights = hermgauss(nodes)
    points, logs = points * np.sqrt(2), np.log(weights) - np.log(weights).max()
    logs = logs - np.log(np.exp(logs).sum())
    sizes = [group.max() + 1 for group in groups]
    tried = np.array(list(product(range(nodes), repeat=sizes[1]))) if count > 1 else np.zeros((1, 0), dtype=int)
    eta = (design @ parameters[top : len(parameters) - count])[:, None, None] + spreads[0] * points[:, None]
    if count > 1:
        eta = eta + spreads[1] * points[tried[:, groups[1]]].T[:, None, :]
    upper, lower = ends[categories + 1][:, None, None], ends[categories][:, None, None]
    chances = np.log(np.maximum(expit(upper - eta) - expit(lower - eta), 1e-300))
    joint = np.zeros((sizes[0], *chances.shape[1:]))
    np.add.at(joint, groups[0], chances)
    of_items = logsumexp(joint + logs[:, None], axis=1).sum(axis=0)
    return float(logsumexp(of_items + logs[tried].sum(axis=1)))


def packed(fit) -> np.ndarray:
    return np.concatenate([fit.thresholds, fit.effects, fit.spreads])


def test_laplace_understates_two_ratings_per_group_as_published():
    """The hardest case: two ratings for each intercept. Quadrature finds what was printed; Laplace falls 8 % short."""
    data, published = OTHERS["insomnia"], OTHERS["insomnia"]["published"]
    counts = np.array([data["placebo"], data["active"]])
    treated, before, after = (np.repeat(axis.ravel(), counts.ravel()) for axis in np.indices(counts.shape))
    categories, treated = np.concatenate([before, after]), np.tile(treated, 2)
    patient, later = np.tile(np.arange(len(before)), 2), np.repeat([0, 1], len(before))
    design = np.column_stack([treated, later, treated * later]).astype(float)
    fit = fit_ordinal(categories, design, [patient])
    given = categories, design, [patient]
    exact = minimize(lambda at: -integrated(at, *given, nodes=25), packed(fit), method="BFGS", options={"gtol": 1e-2}).x
    assert -exact[3:6] == pytest.approx(published["effects"], abs=0.01)
    assert exact[6] == pytest.approx(published["patient_sd"], abs=0.02)
    assert fit.spreads[0] / exact[6] == pytest.approx(0.92, abs=0.01)
    assert -fit.effects == pytest.approx(published["effects"], abs=0.04)
    assert np.sqrt(np.diag(fit.covariance)) == pytest.approx(published["errors"], abs=0.02)


@pytest.mark.parametrize("seed", [2, 9])
def test_the_laplace_error_with_crossed_groups_is_small(seed):
    """How far the effect would move from the Laplace maximum by one Newton step on the integral itself.

    Over a dozen seeds it is 0.1 to 0.3 % of a standard error, and 5 % where items scatter by two logits.
    """
    random = np.random.default_rng(seed)
    values, item, annotator, system = study(random, (0, 1), items=10, annotators=3, raters=3, spreads=(1, 0.7, 0))
    categories = np.unique(values, return_inverse=True)[1]
    given = categories, (system[:, None] == [1]).astype(float), [item, annotator]
    fit = fit_ordinal(*given)
    at, place = packed(fit), len(fit.thresholds)
    exact, error = integrated(at, *given, nodes=11), np.sqrt(fit.covariance[0, 0])
    step = 0.02 * error * (np.arange(len(at)) == place)
    ahead, behind = (integrated(at + sign * step, *given, nodes=11) for sign in (1, -1))
    slope, bend = (ahead - behind) / (2 * step[place]), (ahead - 2 * exact + behind) / step[place] ** 2
    assert fit.log_likelihood == pytest.approx(exact, abs=0.15)
    assert abs(slope / bend) < 0.01 * error


def test_a_group_without_scatter_changes_nothing():
    categories, design, judge, bottle = wine()
    alone, beside = fit_ordinal(categories, design, [judge]), fit_ordinal(categories, design, [judge, bottle])
    assert beside.spreads[1] == pytest.approx(0, abs=1e-3)
    assert beside.effects == pytest.approx(alone.effects, abs=1e-4)
    assert beside.covariance == pytest.approx(alone.covariance, abs=1e-4)


def test_the_order_of_the_groups_changes_nothing():
    categories, design, judge, bottle = wine()
    each, other = fit_ordinal(categories, design, [judge, bottle]), fit_ordinal(categories, design, [bottle, judge])
    assert each.spreads == pytest.approx(other.spreads[::-1], abs=1e-4)
    assert each.log_likelihood == pytest.approx(other.log_likelihood, abs=1e-6)


def test_the_likelihood_of_crossed_groups_is_that_of_brute_force():
    random = np.random.default_rng(3)
    values, item, annotator, system = study(random, items=6, annotators=4, raters=3)
    categories = np.unique(values, return_inverse=True)[1]
    design, groups = (system[:, None] == [1, 2]).astype(float), [item, annotator, annotator * 3 + system]
    fit = fit_ordinal(categories, design, groups)
    assert fit.log_likelihood == pytest.approx(laplace_by_brute_force(fit, categories, design, groups), abs=1e-4)


def test_the_laplace_approximation_is_close_to_the_integral_itself():
    categories, design, judge, _ = wine()
    fit = fit_ordinal(categories, design, [judge])

    def joint(u, rows):
        eta = design[rows] @ fit.effects + fit.spreads[0] * u
        return probabilities(fit, categories[rows], eta).prod() * norm.pdf(u)

    integrals = [quad(joint, -8, 8, args=(judge == each,), epsabs=0, epsrel=1e-8)[0] for each in range(9)]
    assert fit.log_likelihood == pytest.approx(np.log(integrals).sum(), abs=0.05)


def test_known_parameters_are_recovered():
    random = np.random.default_rng(5)
    fits = [ordinal_model(*study(random, items=40, annotators=10)) for _ in range(8)]
    by_pair = np.array([[each.estimate for each in fit.differences] for fit in fits])
    errors = np.array([[each.error for each in fit.differences] for fit in fits])
    assert by_pair.mean(axis=0) == pytest.approx([0.5, 1, 0.5], abs=0.25)
    assert by_pair.std(axis=0).mean() == pytest.approx(errors.mean(), rel=0.6)
    spreads = np.array([(fit.item, fit.annotator, fit.annotator_by_system) for fit in fits])
    assert spreads.mean(axis=0) == pytest.approx([1, 0.7, 0.4], abs=0.2)
    assert np.mean([fit.thresholds for fit in fits], axis=0) == pytest.approx(POINTS, abs=0.5)


@pytest.fixture(scope="module")
def small():
    return study(np.random.default_rng(1), items=20, annotators=8)


@pytest.fixture(scope="module")
def fitted(small):
    return ordinal_model(*small)


def test_differences_name_both_systems_and_agree_with_each_other(fitted):
    named = {(each.system, each.baseline): each for each in fitted.differences}
    assert set(named) == {(1, 0), (2, 0), (2, 1)}
    assert named[2, 1].estimate == pytest.approx(named[2, 0].estimate - named[1, 0].estimate)
    for each in fitted.differences:
        assert (each.low, each.high) == pytest.approx(
            (each.estimate - 1.959964 * each.error, each.estimate + 1.959964 * each.error)
        )
        assert each.p == pytest.approx(2 * norm.sf(abs(each.estimate / each.error)))
    assert "8 annotators" in fitted.sentence


def test_neither_row_order_nor_names_of_items_and_annotators_matter(small, fitted):
    order = np.random.default_rng(2).permutation(len(small[0]))
    values, item, annotator, system = (column[order] for column in small)
    moved = ordinal_model(values, [f"item {-n}" for n in item], annotator * -7, system)
    assert moved.differences[0].estimate == pytest.approx(fitted.differences[0].estimate, abs=1e-4)
    assert moved.differences[0].error == pytest.approx(fitted.differences[0].error, abs=1e-4)
    assert moved.log_likelihood == pytest.approx(fitted.log_likelihood, abs=1e-6)


def test_only_the_order_of_the_values_counts(small, fitted):
    stretched = ordinal_model(np.exp(small[0]), *small[1:])
    assert stretched.differences == fitted.differences
    assert stretched.points == tuple(np.exp(fitted.points))


def test_turning_the_scale_round_mirrors_the_differences(small, fitted):
    turned = ordinal_model(8 - small[0], *small[1:])
    for there, here in zip(turned.differences, fitted.differences, strict=True):
        assert there.estimate == pytest.approx(-here.estimate, abs=1e-4)


def test_missing_ratings_are_left_out(small, fitted):
    values, items, annotators, systems = ([*column, column[0]] for column in small)
    values[-1] = math.nan
    assert ordinal_model(values, items, annotators, systems) == fitted


def grid(items=10, annotators=8, systems=2):
    """Items, annotators, systems of a complete study."""
    return [axis.ravel() for axis in np.meshgrid(range(items), range(annotators), range(systems), indexing="ij")]


@pytest.mark.parametrize(
    ("columns", "values", "words"),
    [
        (grid(annotators=7), lambda n: np.arange(n) % 5, "needs 8 annotators or more, and there are 7"),
        (grid(items=1), lambda n: np.arange(n) % 5, "needs two items or more, and there is 1"),
        (grid(systems=1), lambda n: np.arange(n) % 5, "needs two systems or more, and there is 1"),
        (grid(), lambda n: np.full(n, 3.0), "all ratings are equal"),
        (grid(), lambda n: np.arange(n) % 30, "more than 21 different ratings"),
        (grid(), lambda n: np.full(n, math.nan), "there are 0"),
    ],
)
def test_too_few_ratings_for_the_model_give_a_reason(columns, values, words):
    with pytest.raises(UndefinedStatistic, match=words):
        ordinal_model(values(len(columns[0])), *columns)


def test_a_fit_that_does_not_converge_gives_a_reason():
    item, annotator, system = grid(items=20)
    values = np.where(system == 1, 5, np.random.default_rng(0).integers(1, 5, len(item)))
    with pytest.raises(UndefinedStatistic, match="did not converge"):
        ordinal_model(values, item, annotator, system)
