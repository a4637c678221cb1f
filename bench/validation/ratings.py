"""Simulated ratings: a cumulative logit of item, annotator, system and their interactions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy import stats
from scipy.special import expit, logit

from triptych.stats.columns import Floats

from .designs import Assignment, Design

ITEM, SEVERITY, ITEM_TASTE, GROUP_TASTE = 1.0, 0.7, 0.7, 0.7  # standard deviations in logit
CUTS = {
    "ordinal": np.arange(-2.7, 2, 0.9),  # seven points, all in use
    "binary": np.zeros(1),
    "top": np.array([-6, -5, -4.2, -3.5, -2.8, -1.8]),  # seven points, four of five ratings on the highest
}
LOW = -1.5  # latent value below which about a quarter of the ratings lie


@dataclass(frozen=True)
class Studies:
    """One criterion of R studies of one assignment.

    ratings: (R, n), NaN where missing. means: (S,) of each system for annotators like these; means_here: (R, A, S) for
    the annotators of each study; both over ever more items.
    """

    ratings: Floats
    means: Floats
    means_here: Floats


def simulate(design: Design, rated: Assignment, effects: Floats, runs: int, random: np.random.Generator) -> Studies:
    """Simulate studies; `effects` (S,) are those of the systems in logit."""
    people = (runs, design.annotators)
    taste = design.taste * _tastes(design, (*people, design.systems), random)
    centre = random.normal(0, SEVERITY, (*people, 1)) + taste + effects
    item = random.normal(0, ITEM, (runs, design.items))
    liked = random.normal(0, ITEM_TASTE, (runs, design.items, design.systems))
    if design.group > 1:
        groups = random.normal(0, GROUP_TASTE, (runs, -(-design.items // design.group), design.systems))
        liked += groups[:, np.arange(design.items) // design.group]
    latent = centre[:, rated.annotators, rated.systems] + item[:, rated.items] + liked[:, rated.items, rated.systems]
    latent += logit(random.random(latent.shape))
    ratings = np.searchsorted(CUTS[design.scale], latent).astype(float)
    chance = random.random(latent.shape)
    if design.missing == "of hard items":
        ratings[(item[:, rated.items] < -0.7) & (chance < 0.5)] = np.nan
    elif design.missing == "if disliked":
        ratings[(taste[:, rated.annotators, rated.systems] < 0) & (chance < 0.5)] = np.nan
    elif design.missing.startswith("if low"):
        of = design.systems - 1 if "one system" in design.missing else rated.systems
        ratings[(latent < LOW) & (rated.systems == of) & (chance < 0.5)] = np.nan
    means = np.array([true_mean(design, effect) for effect in effects.tolist()])
    return Studies(ratings, means, expected(centre, _of_items(design), design.scale))


def _tastes(design: Design, shape: tuple[int, ...], random: np.random.Generator) -> Floats:
    """Tastes of SD 1; of camps, one likes the last system and one dislikes it."""
    if design.spread == "t3":
        return random.standard_t(3, shape) / np.sqrt(3)
    if design.spread == "camps":
        camps = np.zeros(shape)
        camps[..., -1] = random.choice([-1.0, 1.0], shape[:-1])
        return camps
    return random.normal(size=shape)


def _of_items(design: Design) -> float:
    return float(np.sqrt(ITEM**2 + ITEM_TASTE**2 + (GROUP_TASTE**2 if design.group > 1 else 0)))


@cache
def true_mean(design: Design, effect: float) -> float:
    """Mean rating of a system over all items and all annotators."""
    chances = (np.arange(400) + 0.5) / 400
    tastes = {"normal": stats.norm.ppf(chances), "t3": stats.t.ppf(chances, 3) / np.sqrt(3), "camps": [-1.0, 1.0]}
    centre = effect + design.taste * np.asarray(tastes[design.spread])
    return float(expected(centre, float(np.hypot(_of_items(design), SEVERITY)), design.scale).mean())


def expected(centre: Floats, spread: float, scale: str) -> Floats:
    """Mean rating for a latent value of centre + normal(0, spread) + logistic noise."""
    return np.interp(centre, *_curve(spread, scale))


@cache
def _curve(spread: float, scale: str) -> tuple[Floats, Floats]:
    """Latent values and the mean rating at each, by quadrature."""
    nodes, weights = hermegauss(21)
    places = np.linspace(-15, 15, 1201)
    means = np.zeros(places.shape)
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        means += weight * sum(expit(places + spread * node - cut) for cut in CUTS[scale])
    return places, means
