"""How likely a planned study is to show a difference, and what it costs.

Studies are simulated as they will be analysed: paired differences with a shift, tastes of items and of annotators,
and noise, tested by the cluster-robust t of intervals.py that results will use: for annotators like these, or with
fewer than five for these alone. One difference of a family of tests must pass the first step of Holm; where others of
the family are clear, its chance is higher. One point of 1,000 studies takes a fraction of a second, so that a lead can
move sliders.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from .components import Components
from .intervals import ENOUGH_ANNOTATORS, VARIANCE_FLOOR, degrees_of_freedom
from .rates import Rate, rate
from .undefined import Undefined, UndefinedStatistic

STUDIES = 1000
SOLVING = 400  # simulated studies behind each step towards a number of items
MOST_ITEMS = 2000
GOOD_CHANCE = 0.8
CLEARLY = 0.04
_CELLS_AT_ONCE = 2_000_000
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Plan:
    """Items, raters per item, annotators who share the work evenly.

    overlap: how many of the items have all the raters, the rest having one; None means all of them. tests: contrasts x
    criteria that p is adjusted over.
    """

    items: int
    raters: int
    annotators: int
    overlap: int | None = None
    tests: int = 1

    @property
    def annotations(self) -> int:
        """How often an annotator rates an item, all in all."""
        whole = self.items if self.overlap is None else min(self.overlap, self.items)
        return whole * self.raters + self.items - whole

    def assigned(self) -> tuple[np.ndarray, np.ndarray]:
        """Codes of items (n,), ascending, and of annotators (n,), who take turns."""
        whole = self.items if self.overlap is None else self.overlap
        item = np.repeat(np.arange(self.items), np.where(np.arange(self.items) < whole, self.raters, 1))
        return item, np.arange(len(item)) % self.annotators


@dataclass(frozen=True)
class Power:
    """Share of simulated studies with p below the level; the rate's interval is the uncertainty of the simulation."""

    plan: Plan
    shift: float
    rate: Rate
    sentence: str


@dataclass(frozen=True)
class Advice:
    """The plan, the plan with more annotators, and the plan with more items."""

    plan: Power
    more_annotators: Power
    more_items: Power
    sentence: str


@dataclass(frozen=True)
class Effort:
    """Hours of all annotators, of each, and what they cost in the currency of the pay."""

    hours: float
    hours_each: float
    cost: float


def power(
    plan: Plan, shift: float, components: Components, studies: int = STUDIES, level: float = 0.05, seed: int = 1
) -> Power:
    """Simulates `studies` studies in which one system is `shift` scale points better.

    The same seed draws the same studies, so neighbouring plans differ by more than chance. Raises
    UndefinedStatistic for a plan with fewer than two items or annotators, or more raters than annotators.
    """
    _refuse_impossible(plan)
    item, annotator = plan.assigned()
    hits = 0
    for differences in _batches(studies, item, annotator, shift, components, seed):
        hits += int(significant(differences, item, annotator, level / plan.tests).sum())
    share = rate(hits, studies)
    words = f"A difference of {shift:g} points would show in {_percent(share.share)} of such studies."
    if plan.annotators < ENOUGH_ANNOTATORS:
        words += (
            f" With {plan.annotators} annotators the results will speak for these annotators only; from "
            f"{ENOUGH_ANNOTATORS} on they can speak for annotators like them."
        )
    return Power(plan, shift, share, words)


def power_to_show_equal(
    plan: Plan, margin: float, components: Components, studies: int = STUDIES, level: float = 0.05, seed: int = 1
) -> Rate | Undefined:
    """How often systems without any difference are shown to be practically equal within +-margin, not adjusted.

    Undefined with fewer than five annotators. Raises as `power`.
    """
    _refuse_impossible(plan)
    if plan.annotators < ENOUGH_ANNOTATORS:
        return Undefined(f"Not defined: equality is tested from {ENOUGH_ANNOTATORS} annotators on.")
    item, annotator = plan.assigned()
    hits = 0
    for differences in _batches(studies, item, annotator, 0.0, components, seed):
        variance, freedom = _variance(differences, item, annotator)
        reach = float(stdtrit(freedom, 1 - level)) * np.sqrt(variance)
        hits += int((np.abs(differences.mean(axis=1)) + reach < margin).sum())
    return rate(hits, studies)


def items_needed(plan: Plan, shift: float, components: Components, chance: float = GOOD_CHANCE) -> int | Undefined:
    """The fewest items, to a twentieth, with which the plan shows the shift with this chance; annotators as they are.

    Undefined above MOST_ITEMS items: more annotators are needed then. Raises as `power`.
    """
    low, high = max(1, plan.raters and -(-plan.annotators // plan.raters)), MOST_ITEMS
    whole = replace(plan, overlap=None)
    if power(replace(whole, items=high), shift, components, SOLVING).rate.share < chance:
        return Undefined(f"Not reached with {MOST_ITEMS:,} items: more annotators are needed, or a larger difference.")
    while high - low > max(1, low // 20):
        middle = (low + high) // 2
        enough = middle >= 2 and power(replace(whole, items=middle), shift, components, SOLVING).rate.share >= chance
        low, high = (low, middle) if enough else (middle, high)
    return high


def _batches(
    studies: int, item: np.ndarray, annotator: np.ndarray, shift: float, components: Components, seed: int
) -> Iterator[np.ndarray]:
    """(S, n) paired differences of all studies, a part at a time."""
    random = np.random.default_rng(seed)
    while studies:
        batch = min(studies, max(1, _CELLS_AT_ONCE // len(item)))
        yield _draw(batch, item, annotator, shift, components, random)
        studies -= batch


def significant(differences: np.ndarray, items: np.ndarray, annotators: np.ndarray, level: float = 0.05) -> np.ndarray:
    """(S,) whether the verdict's test of intervals.py rejects a mean of 0 in each of S studies of one design.

    differences: (S, n); items: (n,) codes 0..I-1, ascending; annotators: (n,) codes 0..A-1, once beside an item.
    """
    variance, freedom = _variance(differences, items, annotators)
    critical = float(stdtrit(freedom, 1 - level / 2))
    varied = variance > (_ROUNDING * np.abs(differences).max(axis=1)) ** 2
    rejected: NDArray[np.bool_] = varied & (np.abs(differences.mean(axis=1)) > critical * np.sqrt(variance))
    return rejected


def _variance(differences: np.ndarray, items: np.ndarray, annotators: np.ndarray) -> tuple[np.ndarray, float]:
    """(S,) variances of the means and their degrees of freedom; by item alone with fewer than five annotators."""
    n, mean = differences.shape[1], differences.mean(axis=1)
    counts = int(items[-1]) + 1, int(annotators.max()) + 1
    residuals = differences - mean[:, None]
    per_item = np.add.reduceat(residuals, np.searchsorted(items, np.arange(counts[0])), axis=1)
    per_annotator = residuals @ np.eye(counts[1], dtype=differences.dtype)[annotators]
    by_item, by_annotator, cell = (_squares(sums) / n**2 for sums in (per_item, per_annotator, residuals))
    if counts[1] < ENOUGH_ANNOTATORS:
        return by_item * counts[0] / (counts[0] - 1), degrees_of_freedom(items)
    by_item, by_annotator = by_item * counts[0] / (counts[0] - 1), by_annotator * counts[1] / (counts[1] - 1)
    variance = np.maximum(by_item + by_annotator - cell, VARIANCE_FLOOR * np.maximum(by_item, by_annotator))
    return variance, degrees_of_freedom(items, annotators)


def what_more_buys(plan: Plan, shift: float, components: Components, studies: int = STUDIES, seed: int = 1) -> Advice:
    """Whether a few more annotators or more items would help a plan more, for the same number of annotations.

    More annotators: a quarter more, at least two, who share the work. More items: each with one rater less; where
    items have one rater already, a quarter more items and annotations. Raises as `power`.
    """
    wider = replace(plan, annotators=plan.annotators + max(2, round(plan.annotators / 4)))
    now, more_annotators, more_items = (
        power(option, shift, components, studies, seed=seed) for option in (plan, wider, _more_items(plan))
    )
    return Advice(now, more_annotators, more_items, _advice(now, more_annotators, more_items))


def effort(plan: Plan, seconds: float, pay_per_hour: float, extra_hours_each: float = 0.0) -> Effort:
    """Hours and cost from the median active seconds of an annotation; extra: training, reading the guideline.

    Raises UndefinedStatistic when the seconds or the pay are not positive numbers.
    """
    if not (0 < seconds < np.inf and 0 <= pay_per_hour < np.inf and 0 <= extra_hours_each < np.inf):
        raise UndefinedStatistic(
            "Not defined: seconds per annotation, pay and extra hours must be known and not negative."
        )
    hours = plan.annotations * seconds / 3600 + plan.annotators * extra_hours_each
    return Effort(hours, hours / plan.annotators, hours * pay_per_hour)


def _draw(
    studies: int,
    item: np.ndarray,
    annotator: np.ndarray,
    shift: float,
    components: Components,
    random: np.random.Generator,
) -> np.ndarray:
    """(studies, n) paired differences; single precision, which is ample for a share of studies."""
    normal = [
        random.standard_normal((studies, count), dtype=np.float32) for count in (item[-1] + 1, annotator.max() + 1)
    ]
    if annotator.max() + 1 < ENOUGH_ANNOTATORS:  # the shift is then what these annotators have on average
        normal[1] -= normal[1].mean(axis=1, keepdims=True)
    differences = random.standard_normal((studies, len(item)), dtype=np.float32)
    differences *= np.float32(components.residual)
    differences += np.float32(components.item) * normal[0][:, item]
    differences += np.float32(components.annotator) * normal[1][:, annotator]
    return differences + np.float32(shift)


def _squares(sums: np.ndarray) -> np.ndarray:
    squares: NDArray[np.float32] = np.einsum("sg,sg->s", sums, sums)
    return squares


def _more_items(plan: Plan) -> Plan:
    if plan.raters == 1 or plan.overlap == 0:
        return replace(plan, items=plan.items + max(1, plan.items // 4))
    if plan.overlap is None:
        return replace(plan, items=plan.annotations // (plan.raters - 1), raters=plan.raters - 1)
    return replace(plan, items=plan.items + plan.overlap, raters=plan.raters - 1)


def _advice(plan: Power, wider: Power, longer: Power) -> str:
    """Which of the two helps more, or that neither does."""
    extra = wider.plan.annotators - plan.plan.annotators
    cost = longer.plan.annotations - plan.plan.annotations
    price = "for as many annotations" if cost <= 0 else f"for {cost} more annotations"
    now, with_people, with_items = (_percent(option.rate.share) for option in (plan, wider, longer))
    people = f"{extra} more annotators would raise the chance from {now} to {with_people}"
    things = f"{longer.plan.items} items in place of {plan.plan.items}, {price}, to {with_items}"
    gains = wider.rate.share - plan.rate.share, longer.rate.share - plan.rate.share
    if max(gains) < CLEARLY:
        return f"Neither {extra} more annotators nor more items would change the chance of {now} much."
    if gains[0] > gains[1] + CLEARLY:
        return f"A few more annotators buy more than more items: {people}; {things}."
    if gains[1] > gains[0] + CLEARLY:
        return f"More items buy more than a few more annotators: {people}; {things}."
    return f"More annotators and more items buy about the same: {people}; {things}."


def _refuse_impossible(plan: Plan) -> None:
    reasons = {
        "a plan needs two items or more": plan.items < 2,
        "a plan needs two annotators or more": plan.annotators < 2,
        "every item needs a rater": plan.raters < 1,
        "there must be a test": plan.tests < 1,
        f"{plan.raters} raters per item need {plan.raters} annotators": plan.raters > plan.annotators,
        "the overlap cannot be negative or exceed the items": not 0 <= (plan.overlap or 0) <= plan.items,
        "every annotator needs an item": plan.annotations < plan.annotators,
    }
    for reason, holds in reasons.items():
        if holds:
            raise UndefinedStatistic(f"Not defined: {reason}.")


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
