"""The ordinal mixed model: published fit, likelihood by brute force, known parameters, invariances, refusals."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import norm

from triptych.analysis.ordinal_model import fit_ordinal, ordinal_model
from triptych.errors import UndefinedStatistic

WINE = json.loads((Path(__file__).parent / "oracles" / "clmm_wine.json").read_text())
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

    found = minimize(minus_log_joint, np.zeros(sum(sizes)), options={"gtol": 1e-7})
    steps = np.eye(sum(sizes)) * 1e-3
    curvature = [
        [
            minus_log_joint(found.x + a + b)
            - minus_log_joint(found.x + a - b)
            - minus_log_joint(found.x - a + b)
            + minus_log_joint(found.x - a - b)
            for a in steps
        ]
        for b in steps
    ]
    return -found.fun - np.linalg.slogdet(np.array(curvature) / 4e-6)[1] / 2


def test_the_published_fit_of_the_wine_data_is_reproduced():
    categories, design, judge, _ = wine()
    fit, published = fit_ordinal(categories, design, [judge]), WINE["published"]
    assert fit.effects == pytest.approx(published["effects"], abs=1e-3)
    assert np.sqrt(np.diag(fit.covariance)) == pytest.approx(published["errors"], abs=1e-3)
    assert fit.thresholds == pytest.approx(published["thresholds"], abs=1e-3)
    assert fit.spreads[0] ** 2 == pytest.approx(published["judge_variance"], abs=1e-3)
    assert fit.log_likelihood == pytest.approx(published["log_likelihood"], abs=5e-3)


def test_a_group_without_scatter_changes_nothing():
    categories, design, judge, bottle = wine()
    alone, beside = fit_ordinal(categories, design, [judge]), fit_ordinal(categories, design, [judge, bottle])
    assert beside.spreads[1] == pytest.approx(0, abs=1e-3)
    assert beside.effects == pytest.approx(alone.effects, abs=1e-4)
    assert beside.covariance == pytest.approx(alone.covariance, abs=1e-4)


def test_the_order_of_the_groups_changes_nothing():
    categories, design, judge, bottle = wine()
    one, other = fit_ordinal(categories, design, [judge, bottle]), fit_ordinal(categories, design, [bottle, judge])
    assert one.spreads == pytest.approx(other.spreads[::-1], abs=1e-4)
    assert one.log_likelihood == pytest.approx(other.log_likelihood, abs=1e-6)


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

    integrals = [quad(joint, -8, 8, args=(judge == one,), epsabs=0, epsrel=1e-8)[0] for one in range(9)]
    assert fit.log_likelihood == pytest.approx(np.log(integrals).sum(), abs=0.05)


def test_known_parameters_are_recovered():
    random = np.random.default_rng(5)
    fits = [ordinal_model(*study(random, items=40, annotators=10)) for _ in range(8)]
    by_pair = np.array([[one.estimate for one in fit.differences] for fit in fits])
    errors = np.array([[one.error for one in fit.differences] for fit in fits])
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
    named = {(one.system, one.baseline): one for one in fitted.differences}
    assert set(named) == {(1, 0), (2, 0), (2, 1)}
    assert named[2, 1].estimate == pytest.approx(named[2, 0].estimate - named[1, 0].estimate)
    for one in fitted.differences:
        assert (one.low, one.high) == pytest.approx(
            (one.estimate - 1.959964 * one.error, one.estimate + 1.959964 * one.error)
        )
        assert one.p == pytest.approx(2 * norm.sf(abs(one.estimate / one.error)))
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
    values, *labels = ([*column, column[0]] for column in small)
    values[-1] = math.nan
    assert ordinal_model(values, *labels) == fitted


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
def test_too_little_for_the_model_is_said_in_words(columns, values, words):
    with pytest.raises(UndefinedStatistic, match=words):
        ordinal_model(values(len(columns[0])), *columns)


def test_a_fit_that_does_not_converge_is_said_in_words():
    item, annotator, system = grid(items=20)
    values = np.where(system == 1, 5, np.random.default_rng(0).integers(1, 5, len(item)))
    with pytest.raises(UndefinedStatistic, match="did not converge"):
        ordinal_model(values, item, annotator, system)
