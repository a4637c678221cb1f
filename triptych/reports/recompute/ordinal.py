"""Systems against each other by the ordinal mixed model, which takes ratings as ordered only."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from scipy import optimize, stats

from triptych.reports.recompute.basics import Criterion, Ratings, codes

FEWEST_PEOPLE, MOST_CATEGORIES, MOST_FITTED = 8, 21, 20_000
SPREADS = ("SD of items", "SD of annotators", "SD of tastes")
FAR = 500.0


def ordinal(criterion: Criterion, ratings: Ratings, names: list[str]) -> Iterator[tuple]:
    """Differences of systems in logits, and how far items, annotators and their tastes scatter.

    logit P(rating <= point j) = threshold_j - effect of the system - intercepts of the item, of the annotator and of
    the annotator with the system, each normal around 0 (Christensen, ordinal: Regression Models for Ordinal Data).
    """
    known = ratings.of(~np.isnan(ratings.number))
    present = [name for name in names if name in known.system]
    points, category = np.unique(known.number, return_inverse=True)
    groups = [codes(known.item), codes(known.annotator), codes(known.annotator, known.system)]
    items, annotators, _ = ((group.max(initial=-1) + 1) for group in groups)
    enough = annotators >= FEWEST_PEOPLE and min(items, len(present), len(points)) > 1
    found = None
    if enough and len(points) <= MOST_CATEGORIES and len(ratings.number) <= MOST_FITTED:
        design = (known.system[:, None] == np.array(present[1:], dtype=object)).astype(float)
        found = Intercepts(category, design, groups).fitted()
    place = ("ordinal", criterion.key)
    if found is None:
        yield (*place, "", "", "difference", None)
        return
    effects, covariance, spreads = found
    yield from compared(place, present, effects, covariance)
    for name, spread in zip(SPREADS, spreads, strict=True):
        yield (*place, "", "", name, spread)


def compared(place: tuple[str, str], names: list[str], effects: np.ndarray, covariance: np.ndarray) -> Iterator[tuple]:
    """Every two systems, with Wald intervals and p; the first system is the zero of the effects."""
    effects, covariance = np.concatenate([[0.0], effects]), np.pad(covariance, ((1, 0), (1, 0)))
    for first, second in combinations(range(len(names)), 2):
        where, apart = (*place, names[second], names[first]), effects[second] - effects[first]
        shared = covariance[first, first] + covariance[second, second] - 2 * covariance[first, second]
        reach = stats.norm.ppf(0.975) * shared**0.5
        yield (*where, "difference", apart)
        yield from ((*where, "difference low", apart - reach), (*where, "difference high", apart + reach))
        yield (*where, "p", 2 * stats.norm.sf(abs(apart) / shared**0.5))


class Intercepts:
    """The likelihood with the intercepts integrated out by the Laplace approximation, and its maximum.

    Parameters: the first threshold, logs of the gaps to the next ones, effects, a spread for each group of intercepts.
    Intercepts are spread times u with u standard normal, and are looked for by Newton's steps.
    """

    def __init__(self, category: np.ndarray, design: np.ndarray, groups: list[np.ndarray]) -> None:
        self.category, self.design, self.count = category, design, int(category.max()) + 1
        sizes = [int(group.max()) + 1 for group in groups]
        # the largest group first: in it the second derivatives are a diagonal, which is eliminated
        self.order = sorted(range(len(groups)), key=lambda at: -sizes[at])
        starts = np.cumsum([0, *(sizes[at] for at in self.order)]).tolist()
        self.columns = [groups[at] + start for at, start in zip(self.order, starts, strict=False)]
        self.size, self.largest = starts[-1], starts[1]
        self.u = np.zeros(self.size)

    def fitted(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Effects, their covariance, spreads; None where the likelihood has no maximum."""
        shares = np.cumsum(np.bincount(self.category))[:-1] / len(self.category)
        cuts = np.log(shares / (1 - shares))
        at = np.concatenate([cuts[:1], np.log(np.diff(cuts)), np.zeros(self.design.shape[1]), [0.5] * len(self.order)])
        with np.errstate(all="ignore"):
            options = {"gtol": 1e-4, "maxiter": 200}
            at = optimize.minimize(self.value_and_slope, at, jac=True, method="BFGS", options=options).x
            slope, curvature = self.value_and_slope(at)[1], self.curvature(at)
            for _ in range(5):
                if np.abs(slope).max() < 1e-8 or not np.isfinite(curvature).all():
                    break
                values, vectors = np.linalg.eigh(curvature)
                at = at - vectors @ ((vectors.T @ slope) / np.where(values > 1e-3, values, np.inf))
                slope, curvature = self.value_and_slope(at)[1], self.curvature(at)
        flat = not np.isfinite(curvature).all() or np.linalg.eigvalsh(curvature)[0] < 1e-3
        if flat or not np.abs(slope).max() < 1e-3:
            return None
        effects = slice(self.count - 1, self.count - 1 + self.design.shape[1])
        return at[effects], np.linalg.inv(curvature)[effects, effects], np.abs(at[effects.stop :])

    def curvature(self, at: np.ndarray) -> np.ndarray:
        """Second derivatives, by differences of the first."""
        steps = np.eye(len(at)) * 1e-4
        rows = [self.value_and_slope(at + step)[1] - self.value_and_slope(at - step)[1] for step in steps]
        return (np.array(rows) + np.array(rows).T) / 4e-4

    def value_and_slope(self, at: np.ndarray) -> tuple[float, np.ndarray]:
        """Minus the logarithm of the likelihood, and its first derivatives."""
        cuts, effects, spreads = np.split(at, [self.count - 1, self.count - 1 + self.design.shape[1]])
        ends = np.concatenate([[-FAR], np.cumsum(np.concatenate([cuts[:1], np.exp(cuts[1:])])), [FAR]])
        apart, spreads = self.design @ effects, spreads[self.order]
        upper, lower = ends[self.category + 1] - apart, ends[self.category] - apart
        if not self.climb(upper, lower, spreads):
            return np.inf, np.zeros(len(at))
        value = self.height(self.u, upper, lower, spreads)
        felt = self.felt(self.u, spreads)
        size, by_upper, by_lower, by_spread = self.derivatives(upper - felt, lower - felt, spreads)
        # of the thresholds between the categories, then of the first one and of each gap, which moves all after it
        moved = np.bincount(self.category, by_upper, self.count)[:-1] + np.bincount(self.category, by_lower)[1:]
        after = np.cumsum(moved[::-1])[::-1] * np.concatenate([[1.0], np.exp(cuts[1:])])
        slope = np.concatenate([after, -self.design.T @ (by_upper + by_lower), by_spread[np.argsort(self.order)]])
        return value + 0.5 * size, slope

    def climb(self, upper: np.ndarray, lower: np.ndarray, spreads: np.ndarray) -> bool:
        """Moves u to the largest joint density, by Newton's steps, halved until they lead up; whether it got there."""
        self.u = self.u if np.isfinite(self.u).all() else np.zeros(self.size)
        for _ in range(100):
            felt = self.felt(self.u, spreads)
            above, below = chance(upper - felt), chance(lower - felt)
            slope = self.u - self.gathered(above + below - 1, spreads)
            if np.abs(slope).max() < 1e-10 * (1 + np.abs(self.u).max()):
                return True
            step = Bends(self, above * (1 - above) + below * (1 - below), spreads).solved(slope)
            before = self.height(self.u, upper, lower, spreads)
            for share in 0.5 ** np.arange(20):
                if self.height(self.u - share * step, upper, lower, spreads) <= before + 1e-12 * abs(before):
                    break
            self.u = self.u - share * step
            if not np.isfinite(self.u).all():
                return False
        return False

    def derivatives(self, upper: np.ndarray, lower: np.ndarray, spreads: np.ndarray) -> tuple:
        """Logarithm of the determinant of the bends; derivatives in both ends of each rating, (n,), and in the spreads.

        All at the top, which moves with them.
        """
        above, below = chance(upper), chance(lower)
        rise, fall = above * (1 - above), below * (1 - below)
        bends = Bends(self, rise + fall, spreads)
        groups = range(len(spreads))
        shares = np.array([sum(spreads[g] * bends.inverse(k, g) for g in groups) for k in groups])
        leverage, gap = spreads @ shares, 1 / np.expm1(upper - lower)
        turned = rise * (1 - 2 * above), fall * (1 - 2 * below)
        pulled = bends.solved(self.gathered(-0.5 * leverage * (turned[0] + turned[1]), spreads))
        along = self.felt(pulled, spreads)
        by_upper = above - 1 - gap + 0.5 * leverage * turned[0] + along * rise
        by_lower = below + gap + 0.5 * leverage * turned[1] + along * fall
        by_spread = [
            -(by_upper + by_lower) @ self.u[column] + (rise + fall) @ share + (above + below - 1) @ pulled[column]
            for column, share in zip(self.columns, shares, strict=True)
        ]
        return bends.log_determinant, by_upper, by_lower, np.array(by_spread)

    def height(self, u: np.ndarray, upper: np.ndarray, lower: np.ndarray, spreads: np.ndarray) -> float:
        """Minus the logarithm of P(ratings | u) times the normal density of u, but for its constant."""
        felt = self.felt(u, spreads)
        upper, lower = upper - felt, lower - felt
        chances = np.log1p(np.exp(-upper)) + np.log1p(np.exp(lower)) - np.log(-np.expm1(lower - upper))
        return float(chances.sum() + u @ u / 2)

    def felt(self, u: np.ndarray, spreads: np.ndarray) -> np.ndarray:
        """(n,) sum of the intercepts of each rating."""
        return sum(spread * u[column] for spread, column in zip(spreads, self.columns, strict=True))

    def gathered(self, given: np.ndarray, spreads: np.ndarray) -> np.ndarray:
        """(q,) sums over the ratings of each intercept, times its spread."""
        pairs = zip(spreads, self.columns, strict=True)
        return sum(spread * np.bincount(column, given, self.size) for spread, column in pairs)


class Bends:
    """Second derivatives in u: a diagonal for the largest group, beside it the others (cross), and the others."""

    def __init__(self, of: Intercepts, weights: np.ndarray, spreads: np.ndarray) -> None:
        first, width = of.columns[0], of.size - of.largest
        rest = [(spread, column - of.largest) for spread, column in zip(spreads[1:], of.columns[1:], strict=True)]
        self.columns, self.diagonal = of.columns, 1 + spreads[0] ** 2 * np.bincount(first, weights, of.largest)
        cross, corner = np.zeros(of.largest * width), np.eye(width).ravel()
        for spread, column in rest:
            cross += spreads[0] * spread * np.bincount(first * width + column, weights, len(cross))
            for other, second in rest:
                corner += spread * other * np.bincount(column * width + second, weights, len(corner))
        cross = cross.reshape(of.largest, width)
        self.ratio = cross / self.diagonal[:, None]
        left = corner.reshape(width, width) - cross.T @ self.ratio
        self.log_determinant = float(np.log(self.diagonal).sum() + np.linalg.slogdet(left)[1])
        self.corner = np.linalg.inv(left) if np.isfinite(left).all() else np.full_like(left, np.nan)
        self.across = self.ratio @ self.corner

    def solved(self, right: np.ndarray) -> np.ndarray:
        """(q,) the bends' inverse times the right-hand side."""
        first, second = np.split(right, [len(self.diagonal)])
        second = self.corner @ (second - self.ratio.T @ first)
        return np.concatenate([first / self.diagonal - self.ratio @ second, second])

    def inverse(self, one: int, other: int) -> np.ndarray:
        """(n,) the inverse between each rating's intercepts in two groups."""
        first, size = self.columns[0], len(self.diagonal)
        if one == other == 0:
            return (1 / self.diagonal + (self.across * self.ratio).sum(axis=1))[first]
        if 0 in (one, other):
            return -self.across[first, self.columns[max(one, other)] - size]
        return self.corner[self.columns[one] - size, self.columns[other] - size]


def chance(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))
