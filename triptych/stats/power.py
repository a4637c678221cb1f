"""How likely a planned study is to show a difference, and what it costs.

The planned test is that of crossed.py, with the weights that it gives the ratings of the plan. Ratings contain tastes
of items (and of groups of items) and of annotators for a system, and noise; together they determine the variance of
each difference. The mean of its clustered variances comes from residuals of simulated ratings; they scatter like
chi-squares with the test's degrees of freedom. One system is better than all others under one criterion; its
differences must be clear after Holm's adjustment over all tests of the study. docs/validation.md compares the chances
with simulated studies whose results are analysed in full.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations

import numpy as np
from scipy.special import stdtrit

from .columns import pair_codes
from .components import Components
from .crossed import NOT_LINKED, CrossedEffects, absorbed_by, normal_equations
from .intervals import ENOUGH_ANNOTATORS, one_way, variance_floor
from .numbers import counted, written
from .undefined import Undefined, UndefinedStatistic

DRAWS = 4000  # simulated studies
RESIDUALS = 500_000  # simulated ratings that show how much of their scatter remains in a design's residuals
MAX_AT_ONCE = 2_000_000  # simulated numbers that are computed together
MAX_ITEMS, MAX_ANNOTATORS = 2000, 300
GOOD_CHANCE = 0.8
LEVEL = 0.05
NOT_SPREAD = "Not defined: too few ratings per annotator, so only one item or annotator links the systems."
CLEARLY = 0.04
_NULL = 1e-9
STEP = 1.5  # factor for items or annotators, to show how much more of them helps


@dataclass(frozen=True)
class Plan:
    """Items, raters per item, annotators who share the work evenly.

    overlap: how many items have `raters` raters, while all other items have one; None means all items. criteria: number
    of criteria that decide. shown: how many systems an annotation holds, 0 for all; with 1 each response is rated alone
    by its own `raters`. group: number of related items, such as the turns of a dialogue.
    """

    items: int
    raters: int
    annotators: int
    overlap: int | None = None
    systems: int = 2
    criteria: int = 1
    shown: int = 0
    group: int = 1

    @property
    def tests(self) -> int:
        """Number of tests that p is adjusted over: pairs of systems x criteria."""
        return self.systems * (self.systems - 1) // 2 * self.criteria

    @property
    def annotations(self) -> int:
        """Number of annotations of the whole plan."""
        overlap = self.items if self.overlap is None else min(self.overlap, self.items)
        return (overlap * self.raters + self.items - overlap) * (self.systems if self.shown == 1 else 1)

    def assigned(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(n,) codes of item, annotator and system of each rating; annotators with the least work come next."""
        random = np.random.default_rng(1)
        whole = self.items if self.overlap is None else self.overlap
        each = np.where(np.arange(self.items) < whole, self.raters, 1)
        responses = self.systems if self.shown == 1 else 1
        unit = random.permutation(self.items * responses)
        each = each[unit // responses]
        item, annotator = np.repeat(unit // responses, each), _taking_turns(each, self.annotators, random)
        if self.shown == 1:
            return item, annotator, np.repeat(unit % responses, each)
        shown = self.shown or self.systems
        system = np.argsort(random.random((len(item), self.systems)), axis=1)[:, :shown]
        return np.repeat(item, shown), np.repeat(annotator, shown), system.ravel()


def _taking_turns(raters: np.ndarray, annotators: int, random: np.random.Generator) -> np.ndarray:
    """Codes of the annotators of each unit, one unit after another; raters: number of raters of each unit."""
    load, chosen = np.zeros(annotators), []
    for count in raters.tolist():
        chosen.append(np.argsort(load + random.random(annotators))[:count])
        load[chosen[-1]] += 1
    return np.concatenate(chosen)


@dataclass(frozen=True)
class Advice:
    """The power of a plan. words: it as a sentence; sentence: whether more annotators or more items help more."""

    plan: Plan
    shift: float
    share: float
    words: str
    sentence: str


@dataclass(frozen=True)
class Effort:
    """Hours of all annotators together and of each one; cost in the currency of the pay."""

    hours: float
    hours_each: float
    cost: float


@dataclass(frozen=True, eq=False)
class _PlanVariances:
    """Variances of the test for a plan's ratings, whose tastes and noise have a variance of 1 each.

    true: (4, S - 1, S - 1) covariances of the differences between the last system and each other one, by source: tastes
    of items, tastes of annotators, noise, tastes of groups of items. expected: (3, 4, S - 1, S - 1) mean of the test's
    estimates of these covariances, clustered by item (or group), by annotator, and by both. freedom: degrees of freedom
    by item and by annotator.
    """

    true: np.ndarray
    expected: np.ndarray
    freedom: tuple[float, float]


@lru_cache(maxsize=256)
def _layout(plan: Plan) -> _PlanVariances:
    item, annotator, system = plan.assigned()
    effects = CrossedEffects.build(np.zeros(len(item)), item, annotator, system, item // plan.group)
    rows, last = effects.rows, plan.systems - 1
    for other in range(last):
        if not effects.linked(last, other):
            raise UndefinedStatistic(NOT_LINKED)
    weights = (effects.weights[:, [last]] - effects.weights[:, :last]).T
    sources = [rows.items, rows.annotators, np.arange(len(rows.items)), rows.groups]
    sources = [pair_codes(of, rows.systems)[0] for of in sources]
    clusterings = rows.groups, rows.annotators, rows.group_cells
    one_ways = [[one_way(row, row**2, of) for row in weights] for of in clusterings[:2]]
    counts, freedom = np.mean([[way[1:] for way in ways] for ways in one_ways], axis=1).T
    if counts.min() < 2:
        raise UndefinedStatistic(NOT_SPREAD)
    absorbed = float(np.mean([absorbed_by(row, rows) for row in weights]))
    expected = _expected(weights, rows.items, rows.annotators, rows.systems, sources, clusterings)
    expected *= np.array([*counts / (counts - 1), 1])[:, None, None, None] * (1 + absorbed)
    true = np.stack([_products(weights, of) for of in sources])
    return _PlanVariances(true, expected, (float(freedom[0]), float(freedom[1])))


def _products(scores: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """(k, k) sums of products of the cluster sums of k rows of scores (k, n)."""
    sums = np.stack([np.bincount(clusters, row) for row in scores])
    product: np.ndarray = sums @ sums.T
    return product


def _expected(
    weights: np.ndarray,
    items: np.ndarray,
    annotators: np.ndarray,
    systems: np.ndarray,
    sources: Sequence[np.ndarray],
    clusterings: Sequence[np.ndarray],
) -> np.ndarray:
    """(3, 4, k, k) mean clustered covariances over draws of each source.

    Residuals have less variance than the errors they estimate, much less in incomplete designs.
    """
    random, n = np.random.default_rng(1), len(items)
    draws = int(np.clip(RESIDUALS // n, 10, 100))
    pieces = np.array_split(np.arange(draws), min(draws, -(-len(weights) * draws * n // MAX_AT_ONCE)))
    residual = _residual_maker(items, annotators, systems)
    result = np.zeros((len(clusterings), len(sources), len(weights), len(weights)))
    for place, source in enumerate(sources):
        residuals = residual(random.standard_normal((draws, source.max() + 1))[:, source])
        for piece in pieces:
            scores = (weights[:, None] * residuals[piece]).reshape(len(weights), -1)
            for way, clusters in enumerate(clusterings):
                studies = (np.arange(len(piece))[:, None] * (clusters.max() + 1) + clusters).ravel()
                result[way, place] += _products(scores, studies) / draws
    return result


def _residual_maker(
    items: np.ndarray, annotators: np.ndarray, systems: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """A function that removes item, annotator and system effects from rows of ratings (R, n) sorted by item.

    No array is larger than R x n: a plan may have half a million ratings by hundreds of annotators.
    """
    starts, sizes, count = np.unique(items, return_index=True)[1], np.bincount(items), int(systems.max()) + 1
    dummies, normal = normal_equations(items, annotators, systems, count)
    size, vectors = np.linalg.eigh(normal)
    used = size > _NULL * size.max()
    inverse = (vectors[:, used] / size[used]) @ vectors[:, used].T

    def beyond_items(rows: np.ndarray) -> np.ndarray:
        means = np.add.reduceat(rows, starts, axis=1) / sizes
        centred: np.ndarray = rows - means[:, items]
        return centred

    def residuals(rows: np.ndarray) -> np.ndarray:
        rows = beyond_items(rows)
        effects = (dummies.T @ rows.T).T @ inverse
        rest: np.ndarray = rows - beyond_items(effects[:, systems] + effects[:, count + annotators])
        return rest

    return residuals


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Differences (draws, pairs) of simulated studies and their standard errors; the last system's pairs come first."""

    differences: np.ndarray
    errors: np.ndarray
    freedom: float


def _drawn(plan: Plan, shift: float, components: Components) -> _Drawn:
    """Simulated studies of the plan; below five annotators the shift is the one among these annotators alone."""
    layout, few = _layout(replace(plan, criteria=1)), plan.annotators < ENOUGH_ANNOTATORS
    # a difference has the tastes and the noise of two ratings
    sizes = np.array([components.item, components.annotator, components.residual, components.group]) ** 2 / 2
    if plan.group == 1:
        sizes += [sizes[3], 0, 0, -sizes[3]]
    pairs = _pairs(plan.systems)
    expected = np.einsum("pj,wsjk,pk,s->wp", pairs, layout.expected, pairs, sizes, optimize=True)
    random = np.random.default_rng(1)
    normal = random.standard_normal((DRAWS, plan.systems - 1))
    scatter = [random.chisquare(freedom, (DRAWS, 1)) / freedom for freedom in layout.freedom]
    by_item, by_annotator = expected[0] * scatter[0], expected[1] * scatter[1]
    freedom, variance = layout.freedom[0], by_item
    if few:
        sizes[1] = 0
    else:
        freedom, both = min(layout.freedom), by_item + by_annotator - expected[2]
        floor = variance_floor(layout.freedom[0] + 1)
        variance = np.maximum(both, floor * np.maximum(by_item, by_annotator))
    differences = (shift + normal @ _root(np.einsum("sjk,s->jk", layout.true, sizes)).T) @ pairs.T
    return _Drawn(differences, np.sqrt(variance), freedom)


def _root(covariance: np.ndarray) -> np.ndarray:
    """A square root of the covariance matrix; eigenvalues below 0, from rounding, count as 0."""
    size, vectors = np.linalg.eigh(covariance)
    root: np.ndarray = vectors * np.sqrt(np.maximum(size, 0))
    return root


@lru_cache(maxsize=64)
def _pairs(systems: int) -> np.ndarray:
    """(pairs, systems - 1) each pair as a sum of differences from the last system; the last system's pairs first."""
    from_last = np.eye(systems - 1)
    rest = [from_last[second] - from_last[first] for first, second in combinations(range(systems - 1), 2)]
    return np.vstack([from_last, *(row[None] for row in rest)])


def power(plan: Plan, shift: float, components: Components) -> float:
    """The chance that a system that is `shift` scale points better than all others is clearly above one of them.

    With a negative shift, clearly below. The draws are the same in every call, so that plans can be compared. Raises
    UndefinedStatistic for an impossible plan, such as one with fewer than two items or annotators, or with more raters
    than annotators.
    """
    _refuse_impossible(plan)
    drawn = _drawn(plan, shift, components)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.nan_to_num(np.abs(drawn.differences) / drawn.errors)
    ordered = -np.sort(-t, axis=1)
    critical = stdtrit(drawn.freedom, 1 - LEVEL / 2 / (plan.tests - np.arange(t.shape[1])))
    clear = np.logical_and.accumulate(ordered > critical, axis=1).sum(axis=1)  # Holm, from the smallest p on
    smallest = np.where(clear > 0, ordered[np.arange(len(t)), np.maximum(clear, 1) - 1], np.inf)
    of_its_sign = np.copysign(1, shift) * drawn.differences > 0
    return float(((t >= smallest[:, None]) & of_its_sign)[:, : plan.systems - 1].mean())


def power_to_show_equal(plan: Plan, margin: float, components: Components) -> float | Undefined:
    """The chance that two equal systems are shown to be practically equal within +-margin, unadjusted.

    Undefined with fewer than five annotators. Raises as `power`.
    """
    _refuse_impossible(plan)
    if plan.annotators < ENOUGH_ANNOTATORS:
        return Undefined(f"Not defined: equality is tested from {ENOUGH_ANNOTATORS} annotators on.")
    drawn = _drawn(plan, 0.0, components)
    reach = float(stdtrit(drawn.freedom, 1 - LEVEL)) * drawn.errors
    return float((np.abs(drawn.differences) + reach < margin).mean())


def items_needed(plan: Plan, shift: float, components: Components) -> int | Undefined:
    """The fewest items with which the plan shows the shift with GOOD_CHANCE, at most a twentieth too many.

    Undefined above MAX_ITEMS items. Raises as `power`.
    """
    least = max(1, -(-plan.annotators // plan.raters))
    without_overlap = replace(plan, overlap=None)
    items = _fewest(lambda items: power(replace(without_overlap, items=items), shift, components), least, MAX_ITEMS)
    reason = f"Not reached with {MAX_ITEMS:,} items: more annotators are needed, or a larger difference."
    return items or Undefined(reason)


def annotators_needed(plan: Plan, shift: float, components: Components) -> int | Undefined:
    """The fewest annotators, five or more and at most a twentieth too many, who show the shift with GOOD_CHANCE.

    The number of annotations does not change. Undefined where as many annotators as can share them are too few. Raises
    as `power`.
    """
    most = min(MAX_ANNOTATORS, plan.annotations // 2)
    least = max(ENOUGH_ANNOTATORS, plan.raters)
    if most < least:
        return Undefined(f"Not defined: {plan.annotations} annotations are too few for {least} annotators.")
    people = _fewest(lambda people: power(replace(plan, annotators=people), shift, components), least, most)
    return people or Undefined(f"Not reached with {most} annotators: more items are needed, or a larger difference.")


def _fewest(chance_of: Callable[[int], float], least: int, most: int) -> int | None:
    """The smallest number with GOOD_CHANCE, at most a twentieth too large; None where even `most` has less."""
    if chance_of(most) < GOOD_CHANCE:
        return None
    low, high = least - 1, most
    while high - low > max(1, low // 20):
        middle = (low + high) // 2
        reached = middle >= 2 and chance_of(middle) >= GOOD_CHANCE
        low, high = (low, middle) if reached else (middle, high)
    return high


def what_more_buys(plan: Plan, shift: float, components: Components) -> Advice:
    """Whether more annotators who share the same work, or more items help a plan more; each is increased by half.

    Raises as `power`.
    """
    people, items = more(plan.annotators), more(plan.items)
    plans = plan, replace(plan, annotators=min(people, plan.annotations)), replace(plan, items=items)
    shares = [power(option, shift, components) for option in plans]
    words = f"A difference of {shift:g} would show in {written(shares[0], 'share')} of such studies."
    if plan.annotators < ENOUGH_ANNOTATORS:
        words += (
            f" With {plan.annotators} annotators the results will apply to these annotators only; with "
            f"{ENOUGH_ANNOTATORS} or more they can be generalised to annotators like them."
        )
    return Advice(plan, shift, shares[0], words, _advice(plans, shares))


def more(count: int) -> int:
    """One and a half times the count, at least one more."""
    return max(count + 1, round(STEP * count))


def effort(plan: Plan, seconds: float, pay_per_hour: float) -> Effort:
    """Hours and cost from the mean active seconds of an annotation.

    Raises UndefinedStatistic when the seconds or the pay are not positive numbers.
    """
    if not (0 < seconds < np.inf and 0 <= pay_per_hour < np.inf):
        raise UndefinedStatistic("Not defined: seconds per annotation and pay must be known and not negative.")
    hours = plan.annotations * seconds / 3600
    return Effort(hours, hours / plan.annotators, hours * pay_per_hour)


def _advice(plans: Sequence[Plan], shares: Sequence[float]) -> str:
    """Which of the two helps more, or that neither does; given the plan, with more annotators, and with more items."""
    plan, wider, longer = plans
    now, with_people, with_items = (written(share, "share") for share in shares)
    instead = f"{wider.annotators} annotators in place of {plan.annotators}"
    people = f"{instead} would take the chance from {now} to {with_people}"
    cost = longer.annotations - plan.annotations
    things = f"{longer.items} items in place of {plan.items}, for {cost:,} more annotations, to {with_items}"
    gains = shares[1] - shares[0], shares[2] - shares[0]
    if max(gains) < CLEARLY:
        extra = counted(wider.annotators - plan.annotators, "more annotator")
        added = counted(longer.items - plan.items, "more item")
        return f"Neither {extra} nor {added} would change the chance of {now} much."
    if gains[0] > gains[1] + CLEARLY:
        return f"More annotators help more than more items: {people}; {things}."
    if gains[1] > gains[0] + CLEARLY:
        return f"More items help more than more annotators: {people}; {things}."
    return f"More annotators and more items help about equally: {people}; {things}."


def _refuse_impossible(plan: Plan) -> None:
    reasons = {
        "a plan needs two items or more": plan.items < 2,
        "a plan needs two annotators or more": plan.annotators < 2,
        "every item needs a rater": plan.raters < 1,
        "there must be two systems and a criterion": plan.systems < 2 or plan.criteria < 1,
        f"{plan.raters} raters per item need {plan.raters} annotators": plan.raters > plan.annotators,
        "the overlap cannot be negative or exceed the items": not 0 <= (plan.overlap or 0) <= plan.items,
        "every annotator needs an item": plan.annotations < plan.annotators,
        f"an annotation holds 1 to {plan.systems} systems": not 0 <= plan.shown <= plan.systems,
        "there must be two groups of items": plan.group < 1 or plan.items <= plan.group,
    }
    for reason, holds in reasons.items():
        if holds:
            raise UndefinedStatistic(f"Not defined: {reason}.")
