"""The cumulative-logit mixed model: a second look at the differences of systems that takes ratings as ordered only.

logit P(rating <= point j) = threshold_j - eta,  eta = effect of the system + intercepts of item, annotator and
annotator x system, each intercept normal around 0 (Christensen, ordinal: Regression Models for Ordinal Data). The
intercepts are integrated out by the Laplace approximation. The Wald test of this model rejects too often with few
annotators, so it is shown next to the paired difference as a sensitivity line and is refused below eight of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.special import expit, logit, ndtr, ndtri

from .columns import Column, Floats, Label, codes, numbers
from .undefined import UndefinedStatistic

FEWEST_ANNOTATORS = 8
MOST_VALUES = 21
_STEEPEST = 1e-3
_FLATTEST = 1e-3
_LEVEL = 1e-8
_STEP = 1e-4
_MODE = 1e-10


@dataclass(frozen=True)
class OrdinalFit:
    """Maximum of the Laplace likelihood of K categories, p fixed effects and G groups of intercepts.

    thresholds: (K-1,) ascending. effects: (p,) logits. covariance: (p, p) of the effects, from the Hessian of the
    whole likelihood. spreads: (G,) standard deviations of the intercepts, in logits.
    """

    thresholds: np.ndarray
    effects: np.ndarray
    covariance: np.ndarray
    spreads: np.ndarray
    log_likelihood: float


@dataclass(frozen=True)
class LogitDifference:
    """`system` minus `baseline` in logits: positive means higher ratings; Wald error, interval and p."""

    system: Label
    baseline: Label
    estimate: float
    error: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class OrdinalModel:
    """All pairs of systems, and how far items, annotators and their tastes for systems scatter (SD in logits).

    points: the values that occur, ascending; thresholds: one less than points.
    """

    differences: tuple[LogitDifference, ...]
    points: tuple[float, ...]
    thresholds: tuple[float, ...]
    item: float
    annotator: float
    annotator_by_system: float
    log_likelihood: float
    n: int
    items: int
    annotators: int
    sentence: str


def ordinal_model(
    values: Column, items: Column, annotators: Column, systems: Column, confidence: float = 0.95
) -> OrdinalModel:
    """Fits rating ~ system + (1 | item) + (1 | annotator) + (1 | annotator x system).

    values: (n,) numbers, of which only the order counts, NaN = missing and dropped; the others (n,) labels, the
    systems sortable. Raises UndefinedStatistic below eight annotators, two items, two systems or two different
    values, above 21 different values, and when the fit does not converge.
    """
    ratings, item, annotator, named = numbers(values, items, annotators, systems)
    points, category = np.unique(ratings, return_inverse=True)
    names, system = np.unique(named, return_inverse=True)
    item, annotator = codes(item)[0], codes(annotator)[0]
    n_items, n_annotators = int(item.max(initial=-1)) + 1, int(annotator.max(initial=-1)) + 1
    _refuse_small(n_items, n_annotators, len(names), len(points))
    design = (system[:, None] == np.arange(1, len(names))).astype(float)
    groups = (item, annotator, codes(annotator * len(names) + system)[0])
    fit = fit_ordinal(category, design, groups)
    spreads: tuple[float, float, float] = tuple(fit.spreads.tolist())
    return OrdinalModel(
        _differences(fit, names.tolist(), confidence),
        tuple(points.tolist()),
        tuple(fit.thresholds.tolist()),
        *spreads,
        fit.log_likelihood,
        len(ratings),
        n_items,
        n_annotators,
        f"Ordinal mixed model: the same ratings taken as ordered only, with {n_annotators} annotators. A second look, "
        "in logits; the paired difference stays the headline.",
    )


def fit_ordinal(categories: np.ndarray, design: np.ndarray, groups: Sequence[np.ndarray]) -> OrdinalFit:
    """Fits the model to categories (n,) 0..K-1 (each of them occurs), design (n, p) and G codes (n,) 0..L-1.

    BFGS on the analytic gradient, then Newton on the numeric Hessian until the gradient vanishes. Raises
    UndefinedStatistic when it does not vanish or the maximum is flat, as with a system that has only top ratings.
    """
    likelihood = _Laplace(categories, design, groups)
    # Far from the maximum a step may overflow; what counts is the gradient in the end, which is looked at.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        parameters = minimize(
            likelihood, likelihood.start(), jac=True, method="BFGS", options={"gtol": 1e-4, "maxiter": 200}
        ).x
        parameters, gradient, hessian = _polish(likelihood, parameters)
    curvature = np.linalg.eigvalsh(hessian)[0] if np.isfinite(hessian).all() else -np.inf
    if not np.abs(gradient).max() < _STEEPEST or curvature < _FLATTEST:
        raise UndefinedStatistic(
            "Not defined: the ordinal mixed model did not converge. The ratings may be too few for it, or a system "
            "may have ratings at one end of the scale only."
        )
    thresholds, effects, spreads = likelihood.split(parameters)
    at = slice(len(thresholds), len(thresholds) + len(effects))
    covariance = np.linalg.inv(hessian)[at, at]
    return OrdinalFit(thresholds, effects, covariance, np.abs(spreads), -float(likelihood(parameters)[0]))


class _Laplace:
    """Minus the Laplace log-likelihood, with gradient, of (threshold, log gaps, effects, spreads).

    Intercepts are spread x u with u standard normal, so a spread of 0 is an ordinary point: the likelihood is
    even in it and the Hessian stays regular. `mode` keeps the last maximum over u as the next start. The Hessian
    over u has a diagonal block, the group with the most levels, which is eliminated; the rest is dense.
    """

    def __init__(self, categories: np.ndarray, design: np.ndarray, groups: Sequence[np.ndarray]) -> None:
        self.categories, self.design = categories, design
        self.top = int(categories.max()) + 1
        sizes = [int(group.max()) + 1 for group in groups]
        self.order = np.argsort(sizes, kind="stable")[::-1]
        self.block, self.size = groups[self.order[0]], sizes[self.order[0]]
        *offsets, self.dense = np.cumsum([0, *(sizes[at] for at in self.order[1:])]).tolist()
        self.rest = [groups[at] + offset for at, offset in zip(self.order[1:], offsets, strict=True)]
        self.columns = [self.block, *(group + self.size for group in self.rest)]
        self.mode = np.zeros(self.size + self.dense)

    def start(self) -> np.ndarray:
        """Thresholds of the shares alone, no effects, spreads of one half."""
        shares = np.cumsum(np.bincount(self.categories))[:-1] / len(self.categories)
        thresholds = logit(shares)
        effects, spreads = np.zeros(self.design.shape[1]), np.full(len(self.columns), 0.5)
        return np.concatenate([thresholds[:1], np.log(np.diff(thresholds)), effects, spreads])

    def split(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Thresholds (K-1,), effects (p,), spreads (G,)."""
        cuts, effects, spreads = np.split(parameters, [self.top - 1, self.top - 1 + self.design.shape[1]])
        return np.cumsum(np.concatenate([cuts[:1], np.exp(cuts[1:])])), effects, spreads

    def __call__(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        thresholds, effects, spreads = self.split(parameters)
        ends = np.concatenate([[-np.inf], thresholds, [np.inf]])
        upper, lower = ends[self.categories + 1], ends[self.categories]
        scales = spreads[self.order]
        modes = self._modes(upper - self.design @ effects, lower - self.design @ effects, scales)
        if modes is None:
            return np.inf, np.zeros_like(parameters)
        upper, lower, system = modes
        value = _minus_log(upper, lower) + 0.5 * self.mode @ self.mode + 0.5 * system.log_determinant
        return float(value), self._gradient(parameters, upper, lower, scales, system)

    def _modes(
        self, upper: np.ndarray, lower: np.ndarray, scales: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, _Blocks] | None:
        """Newton to the maximum over u; the distances of the ends from eta there, and the Hessian. None: not found."""
        mode = self.mode if np.isfinite(self.mode).all() else np.zeros_like(self.mode)
        height = np.inf
        for _ in range(100):
            eta = self._spread(mode, scales)
            above, below = expit(upper - eta), expit(lower - eta)
            system = self._blocks(above * (1 - above) + below * (1 - below), scales)
            slope = mode - self._gather(above + below - 1, scales)
            if system is None:
                return None
            if np.abs(slope).max() < _MODE * (1 + np.abs(mode).max()):
                self.mode = mode
                return upper - eta, lower - eta, system
            step = system.solve(slope)
            if height == np.inf:
                height = self._height(mode, upper, lower, scales)
            mode, height = self._downhill(mode, step, height, upper, lower, scales)
        return None

    def _downhill(
        self,
        mode: np.ndarray,
        step: np.ndarray,
        height: float,
        upper: np.ndarray,
        lower: np.ndarray,
        scales: np.ndarray,
    ) -> tuple[np.ndarray, float]:
        """The Newton step, halved until it leads down."""
        share = 1.0
        while share > 1e-6:
            tried = mode - share * step
            reached = self._height(tried, upper, lower, scales)
            if reached <= height + 1e-12 * abs(height):
                return tried, reached
            share /= 2
        return tried, reached

    def _height(self, mode: np.ndarray, upper: np.ndarray, lower: np.ndarray, scales: np.ndarray) -> float:
        eta = self._spread(mode, scales)
        return _minus_log(upper - eta, lower - eta) + 0.5 * float(mode @ mode)

    def _spread(self, mode: np.ndarray, scales: np.ndarray) -> np.ndarray:
        """(n,) sum of the intercepts of each rating."""
        total: Floats = np.zeros(len(self.categories))
        for scale, column in zip(scales, self.columns, strict=True):
            total += scale * mode[column]
        return total

    def _gather(self, per_rating: np.ndarray, scales: np.ndarray) -> np.ndarray:
        """(q,) sums per intercept, times its spread."""
        total = np.zeros(len(self.mode))
        for scale, column in zip(scales, self.columns, strict=True):
            total += scale * np.bincount(column, per_rating, minlength=len(total))
        return total

    def _blocks(self, weights: np.ndarray, scales: np.ndarray) -> _Blocks | None:
        """Z' W Z + 1 in blocks; None when it is not finite or rounding has made it indefinite."""
        diagonal = 1 + scales[0] ** 2 * np.bincount(self.block, weights, minlength=self.size)
        cross, corner = np.zeros(self.size * self.dense), np.zeros(self.dense**2)
        for scale, group in zip(scales[1:], self.rest, strict=True):
            at = self.block * self.dense + group
            cross += scales[0] * scale * np.bincount(at, weights, minlength=len(cross))
            for other, second in zip(scales[1:], self.rest, strict=True):
                corner += scale * other * np.bincount(group * self.dense + second, weights, minlength=len(corner))
        corner = corner.reshape(self.dense, self.dense) + np.eye(self.dense)
        try:
            return _Blocks(diagonal, cross.reshape(self.size, self.dense), corner)
        except (np.linalg.LinAlgError, ValueError):
            return None

    def _gradient(
        self, parameters: np.ndarray, upper: np.ndarray, lower: np.ndarray, scales: np.ndarray, system: _Blocks
    ) -> np.ndarray:
        """Through the mode as well: it moves with the parameters and the determinant moves with it."""
        above, below = expit(upper), expit(lower)
        dense_above, dense_below = above * (1 - above), below * (1 - below)
        bent_above, bent_below = dense_above * (1 - 2 * above), dense_below * (1 - 2 * below)
        shares = system.inverse_rows(self.block, self.rest, scales)
        leverage = scales @ shares
        pull = system.solve(-0.5 * self._gather(leverage * (bent_above + bent_below), scales))
        moved = self._spread(pull, scales)
        gap = np.where(np.isinf(upper - lower), 0.0, 1 / np.expm1(upper - lower))
        by_upper = above - 1 - gap + 0.5 * leverage * bent_above + moved * dense_above
        by_lower = below + gap + 0.5 * leverage * bent_below + moved * dense_below
        by_eta = -(by_upper + by_lower)
        weights, slope = dense_above + dense_below, above + below - 1
        by_scale = [
            by_eta @ self.mode[column] + weights @ share + slope @ pull[column]
            for column, share in zip(self.columns, shares, strict=True)
        ]
        by_spread = np.empty(len(scales))
        by_spread[self.order] = by_scale
        cuts = np.bincount(self.categories, by_upper, self.top)[:-1] + np.bincount(self.categories, by_lower)[1:]
        from_here = np.cumsum(cuts[::-1])[::-1]
        gaps = np.exp(parameters[1 : self.top - 1])
        return np.concatenate([from_here[:1], from_here[1:] * gaps, self.design.T @ by_eta, by_spread])


class _Blocks:
    """A positive definite matrix [[diagonal, cross], [cross', corner]], solved by eliminating its diagonal block."""

    def __init__(self, diagonal: np.ndarray, cross: np.ndarray, corner: np.ndarray) -> None:
        self.diagonal, self.ratio = diagonal, cross / diagonal[:, None]
        self.rest = corner - cross.T @ self.ratio
        self.factor = cho_factor(self.rest, lower=True) if len(corner) else None
        self.log_determinant = float(np.log(diagonal).sum())
        if self.factor is not None:
            self.log_determinant += 2 * float(np.log(np.diag(self.factor[0])).sum())

    def solve(self, right: np.ndarray) -> np.ndarray:
        """(q,) solution for one right-hand side."""
        first, second = np.split(right, [len(self.diagonal)])
        second = second - self.ratio.T @ first
        if self.factor is not None:
            second = cho_solve(self.factor, second)
        return np.concatenate([first / self.diagonal - self.ratio @ second, second])

    def inverse_rows(self, block: np.ndarray, rest: Sequence[np.ndarray], scales: np.ndarray) -> np.ndarray:
        """(G, n): of inverse @ z, z the row of a rating, the entries where z is not 0."""
        # Not cho_solve with many right-hand sides: its threads wait for each other on a busy machine.
        inverse = np.linalg.inv(self.rest)
        across = self.ratio @ inverse
        own = (1 / self.diagonal + (across * self.ratio).sum(axis=1))[block]
        rows = [scales[0] * own - sum(s * across[block, g] for s, g in zip(scales[1:], rest, strict=True))]
        for group in rest:
            within = sum(s * inverse[group, g] for s, g in zip(scales[1:], rest, strict=True))
            rows.append(within - scales[0] * across[block, group])
        return np.array(rows)


def _minus_log(upper: np.ndarray, lower: np.ndarray) -> float:
    """-sum log(F(upper) - F(lower)), F logistic, without cancellation in the tails."""
    gap = np.log(-np.expm1(lower - upper))
    return float((np.logaddexp(0, -upper) + np.logaddexp(0, lower) - gap).sum())


def _polish(likelihood: _Laplace, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Up to five Newton steps; parameters, gradient and Hessian at the end of them."""
    gradient, hessian = likelihood(parameters)[1], _hessian(likelihood, parameters)
    for _ in range(5):
        if np.abs(gradient).max() < _LEVEL or not np.isfinite(hessian).all():
            break
        values, vectors = np.linalg.eigh(hessian)
        # A direction without curvature leads nowhere; it is left alone here and found out afterwards.
        bent = np.where(values > _FLATTEST, values, np.inf)
        parameters = parameters - vectors @ ((vectors.T @ gradient) / bent)
        gradient, hessian = likelihood(parameters)[1], _hessian(likelihood, parameters)
    return parameters, gradient, hessian


def _hessian(likelihood: _Laplace, parameters: np.ndarray) -> np.ndarray:
    """Central differences of the gradient."""
    steps = np.eye(len(parameters)) * _STEP
    rows = [likelihood(parameters + step)[1] - likelihood(parameters - step)[1] for step in steps]
    hessian = np.array(rows) / (2 * _STEP)
    return (hessian + hessian.T) / 2


def _differences(fit: OrdinalFit, names: list[Label], confidence: float) -> tuple[LogitDifference, ...]:
    """Every later system minus every earlier one; the first is the zero of the effects."""
    effects = np.concatenate([[0.0], fit.effects])
    covariance = np.pad(fit.covariance, ((1, 0), (1, 0)))
    reach = float(ndtri((1 + confidence) / 2))
    rows = []
    for first, second in combinations(range(len(names)), 2):
        estimate = float(effects[second] - effects[first])
        spread = covariance[first, first] + covariance[second, second] - 2 * covariance[first, second]
        error = float(np.sqrt(spread))
        ends = (estimate - reach * error, estimate + reach * error)
        p = float(2 * ndtr(-abs(estimate) / error))
        rows.append(LogitDifference(names[second], names[first], estimate, error, *ends, p))
    return tuple(rows)


def _refuse_small(items: int, annotators: int, systems: int, values: int) -> None:
    """Raise when there is too little for the model to be more than decoration."""
    reasons = {
        f"it needs {FEWEST_ANNOTATORS} annotators or more, and there {_are(annotators)}": annotators
        < FEWEST_ANNOTATORS,
        f"it needs two items or more, and there {_are(items)}": items < 2,
        f"it needs two systems or more, and there {_are(systems)}": systems < 2,
        "all ratings are equal, so there is no variation": values == 1,
        f"there are more than {MOST_VALUES} different ratings, too many for a scale of points": values > MOST_VALUES,
    }
    for reason, holds in reasons.items():
        if holds:
            raise UndefinedStatistic(f"Not defined: {reason}.")


def _are(count: int) -> str:
    return "is 1" if count == 1 else f"are {count}"
