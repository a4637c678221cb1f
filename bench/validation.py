"""`python -m bench.validation [--quick] [--write-docs]`: do the tests and intervals keep what they promise?

Simulates studies whose truth is known, asks triptych.stats as the app does, and counts how often the test rejects
without a difference and how often the intervals hold the true difference. With --write-docs the tables become
docs/validation.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import expit, logit, stdtrit

from bench.figures import table
from bench.server import ROOT
from triptych.stats.comparison import SideBySide, difference, dominance, signed_rank
from triptych.stats.intervals import ENOUGH_ANNOTATORS, Estimate, Interval, cluster_variance, mean_interval
from triptych.stats.undefined import UndefinedStatistic

DOCS = ROOT / "docs" / "validation.md"
RUNS = 2000
LEVEL, COVERAGE = (2, 8), (92, 98)
SHIFT = 0.5  # logit, the true difference that coverage is counted with
ITEM, SEVERITY, ITEM_TASTE = 1.0, 0.7, 0.7  # standard deviations in logit
SCALES = {
    "ordinal": np.arange(-2.7, 2, 0.9),  # seven points, all in use
    "binary": np.zeros(1),
    "skewed": np.array([-6, -5, -4.2, -3.5, -2.8, -1.8]),  # seven points, four of five ratings on the highest
}
FLOORS = (0.0, 0.25, 1.0)


@dataclass(frozen=True)
class Design:
    """A study of two systems.

    raters per item are chosen from all annotators so that each gets equally many items or, with `unequal`, the second
    half, the third a third of what the first gets and so on, as far as the raters per item allow.
    taste: standard deviation in logit of what an annotator thinks of a system beyond what others do.
    """

    items: int
    raters: int
    annotators: int
    taste: float
    unequal: bool = False


SHAPES = ((50, 3, 3), (50, 3, 5), (150, 1, 5), (20, 3, 6), (60, 2, 8), (100, 3, 10), (150, 1, 15))
EQUAL = tuple(Design(*shape, taste) for shape, taste in product(SHAPES, (0.0, 0.3, 0.6)))
UNEQUAL_SHAPES = ((150, 1, 5), (60, 2, 8), (100, 3, 10), (150, 1, 15))
UNEQUAL = tuple(Design(*shape, taste, unequal=True) for shape, taste in product(UNEQUAL_SHAPES, (0.0, 0.6)))


@dataclass(frozen=True)
class Studies:
    """Simulated studies of one design: ratings (R, n, 2), what is true, and who rated what (n,) each.

    base: mean of the first system; alike: difference for annotators like these; these: (R,) difference for the
    annotators of each study.
    """

    ratings: np.ndarray
    items: np.ndarray
    annotators: np.ndarray
    base: float
    alike: float
    these: np.ndarray

    def tables(self) -> Iterator[SideBySide]:
        for ratings in self.ratings:
            yield SideBySide(ratings, self.items, self.annotators, ("base", "new"))


@dataclass(frozen=True)
class Held:
    """How often, in percent of the runs; None where the app gives no such test or interval at all.

    level: rejections without a difference by the two-way test, by the interval for these annotators (does it leave
    out 0?), by the signed-rank test, by the two-way test on wins and losses. coverage: the true difference lies in
    the interval; coverage_mean: the true mean of one system in the interval around it. absent: studies without an
    interval, in words, which count as holding.
    """

    design: Design
    scale: str
    level: float | None
    level_item: float
    level_signed_rank: float
    level_dominance: float | None
    coverage: float | None
    coverage_these: float
    coverage_mean: float | None
    absent: float

    @property
    def keeps_promise(self) -> bool:
        """Whether level and coverage are in the promised range; nothing is promised below five annotators."""
        level, coverage = self.level, self.coverage
        return level is None or coverage is None or (_within(level, LEVEL) and _within(coverage, COVERAGE))


def assignment(design: Design, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Items and annotators (n,) of the ratings."""
    if design.unequal:
        chances = -np.log(np.arange(1, design.annotators + 1))
        keys = chances + random.gumbel(size=(design.items, design.annotators))
        people = np.argsort(-keys, axis=1)[:, : design.raters]
        return np.repeat(np.arange(design.items), design.raters), people.ravel()
    load = np.zeros(design.annotators)
    people = np.empty((design.items, design.raters), dtype=np.int64)
    for item in range(design.items):
        people[item] = np.lexsort((random.random(design.annotators), load))[: design.raters]
        load[people[item]] += 1
    return np.repeat(np.arange(design.items), design.raters), people.ravel()


def simulate(design: Design, scale: str, shift: float, runs: int, seed: int) -> Studies:
    """Ratings by a cumulative logit: item, severity, tastes of items and annotators for a system, noise."""
    random = np.random.default_rng(seed)
    items, annotators = assignment(design, random)
    severity = random.normal(0, SEVERITY, (runs, design.annotators))
    common = random.normal(0, ITEM, (runs, design.items))[:, items]
    centre = np.empty((runs, design.annotators, 2))
    ratings = np.empty((runs, len(items), 2))
    for system in (0, 1):
        centre[:, :, system] = severity + random.normal(0, design.taste, severity.shape) + system * shift
        liked = random.normal(0, ITEM_TASTE, (runs, design.items))[:, items]
        noise = logit(random.random((runs, len(items))))
        latent = centre[:, annotators, system] + common + liked + noise
        ratings[:, :, system] = np.searchsorted(SCALES[scale], latent)
    share = np.bincount(annotators, minlength=design.annotators) / len(annotators)
    from_items = np.hypot(ITEM, ITEM_TASTE)
    these = np.diff(expected(centre, from_items, scale), axis=2)[:, :, 0] @ share
    spread = np.sqrt(from_items**2 + SEVERITY**2 + design.taste**2)
    base, new = expected(np.array([0.0, shift]), spread, scale).tolist()
    return Studies(ratings, items, annotators, base, new - base, these)


def expected(centre: np.ndarray, spread: float, scale: str) -> np.ndarray:
    """Mean rating where the latent value is centre + normal(0, spread) + logistic noise, by quadrature."""
    nodes, weights = hermegauss(21)
    reached = np.zeros(np.shape(centre))
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        reached += weight * sum(expit(centre + spread * node - cut) for cut in SCALES[scale])
    return reached


def rejects(interval: Interval) -> bool:
    return interval.low is not None and not holds(interval, 0)


def holds(interval: Interval, truth: float) -> bool:
    """An interval that is refused in words misleads nobody."""
    return interval.low is None or interval.high is None or interval.low <= truth <= interval.high


def measure(design: Design, scale: str, runs: int) -> Held:
    """Level from studies without a difference, coverage from studies with one."""
    null = list(simulate(design, scale, 0, runs, seed=1).tables())
    level = [difference(study, "new", "base") for study in null]
    won = [dominance(study, "new", "base").estimate for study in null[: runs // 4]]
    studies = simulate(design, scale, SHIFT, runs, seed=2)
    covered = [difference(study, "new", "base") for study in studies.tables()]
    means = (mean_interval(study[:, 0], studies.items, studies.annotators) for study in studies.ratings[: runs // 4])
    judged = design.annotators >= ENOUGH_ANNOTATORS
    return Held(
        design,
        scale,
        level=_percent(map(significant, level)) if judged else None,
        level_item=_percent(rejects(comparison.these) for comparison in level),
        level_signed_rank=_percent(map(signed_rank_rejects, null[: runs // 4])),
        level_dominance=_percent(map(significant, won)) if judged else None,
        coverage=_percent(holds(comparison.alike, studies.alike) for comparison in covered) if judged else None,
        coverage_these=_percent(
            holds(comparison.these, truth) for comparison, truth in zip(covered, studies.these.tolist(), strict=True)
        ),
        coverage_mean=_percent(holds(interval, studies.base) for interval in means) if judged else None,
        absent=_percent(comparison.headline.low is None for comparison in covered),
    )


def significant(estimate: Estimate) -> bool:
    return estimate.test is not None and estimate.test.p < 0.05


def signed_rank_rejects(comparison: SideBySide) -> bool:
    try:
        return signed_rank(comparison, "new", "base").p < 0.05
    except UndefinedStatistic:
        return False


def floors(design: Design, scale: str, runs: int) -> list[float]:
    """Level of the two-way test with V at least 0, a quarter of, or all of the larger one-way variance."""
    rejected = np.zeros(len(FLOORS))
    critical = stdtrit(min(design.items, design.annotators) - 1, 0.975)
    for study in simulate(design, scale, 0, runs, seed=1).tables():
        pairs = study.pairs("new", "base")
        mean = pairs.differences.mean()
        residuals = pairs.differences - mean
        variance = cluster_variance(residuals, pairs.items, pairs.annotators)
        largest = max(variance.item, variance.annotator)
        raw = variance.item + variance.annotator - (residuals**2).sum() / len(residuals) ** 2
        rejected += [abs(mean) > critical * np.sqrt(max(raw, floor * largest)) for floor in FLOORS]
    return (100 * rejected / runs).tolist()


def _percent(happened: Iterable[bool]) -> float:
    return 100 * float(np.mean(list(happened)))


def _within(percent: float, limits: tuple[int, int]) -> bool:
    return limits[0] <= percent <= limits[1]


INTRODUCTION = """# Do the tests and intervals keep what they promise?

Written by `python -m bench.validation --write-docs`; no figure is typed by hand. Each line is {runs} simulated studies
without a difference (for the level of a nominal 5 % test) and as many with a true difference of {shift} logit (for the
coverage of a nominal 95 % interval), analysed by the functions that the app calls. With {runs} runs a figure near 5 or
95 is uncertain by about {error:.1f} points either way.

Two systems are rated side by side. A rating is a cumulative logit of item (SD {item}), severity of the annotator
(SD {severity}), taste of the item for the system (SD {item_taste}), taste of the annotator for the system (SD 0, 0.3,
0.6) and logistic noise, cut into seven points in use throughout (*ordinal*), two (*binary*), or seven with four of
five ratings on the highest (*skewed*). *50 × 3 of 5* means 50 items, 3 ratings of each, 5 annotators in all, who
rate equally many; *unequal*: the second rates about half, the third a third of what the first rates, and so on.

- **two-way**: the headline test and interval, for annotators like these. Level should lie within {low} to {high} %,
  coverage within {least} to {most} %. Below five annotators there is neither, by design.
- **win − loss**: the same test on wins and losses alone; a quarter of the runs.
- **one mean**: coverage of the two-way interval around the mean of one system; a quarter of the runs.
- **these**: the interval for these annotators. Its coverage is of the difference these annotators would find on ever
  more items; *level* is how often it would reject for annotators in general, for which it is not meant.
- **signed-rank**: Wilcoxon's test on item means, for comparison; a quarter of the runs.
"""
HEADING = (
    "Design",
    "Taste SD",
    "Scale",
    "two-way level",
    "win − loss level",
    "two-way coverage",
    "one mean coverage",
    "these coverage",
    "these level",
    "signed-rank level",
    "",
)
FLOOR_TEXT = """## Why the variance has a floor

The two-way variance V_item + V_annotator − V_cell can come out negative, or positive and next to nothing. The app
takes at least a quarter of the larger of V_item and V_annotator, that is half of the larger standard error. Level of
the test in percent with five annotators:
"""


def page(held: Sequence[Held], floored: Sequence[tuple[Design, str, list[float]]], runs: int) -> str:
    """The whole page."""
    introduction = INTRODUCTION.format(
        runs=f"{runs:,}",
        shift=SHIFT,
        error=196 * np.sqrt(0.05 * 0.95 / runs),
        item=ITEM,
        severity=SEVERITY,
        item_taste=ITEM_TASTE,
        low=LEVEL[0],
        high=LEVEL[1],
        least=COVERAGE[0],
        most=COVERAGE[1],
    )
    rows = [
        [_named(design), f"{design.taste:g}", scale, *map(_figure, percents)] for design, scale, percents in floored
    ]
    heading = ("Design", "Taste SD", "Scale", "no floor", "a quarter (the app)", "the larger itself")
    parts = [introduction, table([_row(line) for line in held], HEADING), "", "## What does not hold", ""]
    return "\n".join([*parts, *_failings(held), "", FLOOR_TEXT, table(rows, heading)]) + "\n"


def _failings(held: Sequence[Held]) -> list[str]:
    """What the table says against the methods, in sentences."""
    judged = [line for line in held if line.level is not None]
    failed = [line for line in judged if not line.keeps_promise]
    lines = [f"- Of {len(judged)} lines with five annotators or more, {len(failed)} miss the two-way promise."]
    lines += [
        f"  - {_named(line.design)}, taste SD {line.design.taste:g}, {line.scale}: "
        f"level {_figure(line.level)} %, coverage {_figure(line.coverage)} %."
        for line in failed
    ]
    these = [line.coverage_these for line in held]
    strongest = max(line.design.taste for line in held)
    tasteful = [line for line in held if line.design.taste == strongest]
    item, ranks = [line.level_item for line in tasteful], [line.level_signed_rank for line in tasteful]
    return [
        *lines,
        f"- The interval for these annotators covers the difference among these annotators in {_range(these)} % of the "
        "studies.",
        "- Neither it nor the signed-rank test on item means says anything about other annotators. Used for that, "
        f"they reject {_range(item)} % and {_range(ranks)} % of the time at taste SD {strongest:g}.",
        "- With few annotators the two-way test has little power: its t has as many degrees of freedom as the "
        "smaller effective number of items or annotators − 1, and in many lines it rejects less than 5 %.",
        _means(judged),
        f"- Up to {max(line.absent for line in held):.1f} % of the studies of a line are so uniform that there is no "
        "interval. They count as covered and as not rejected.",
        "- Where annotators rated unequally, the degrees of freedom give more weight to those who rated most. The test "
        "then errs by rejecting too rarely rather than too often.",
        "- Not simulated: tastes with heavy tails, and annotators who rate fewer items because of what they think.",
    ]


def _means(judged: Sequence[Held]) -> str:
    """How the interval around one system's mean does, scale by scale."""
    percents_by_scale = {
        scale: [line.coverage_mean for line in judged if line.scale == scale and line.coverage_mean is not None]
        for scale in SCALES
    }
    ranges = ", ".join(f"{_range(percents)} % ({scale})" for scale, percents in percents_by_scale.items() if percents)
    return (
        f"- The interval around the mean of one system covers {ranges}. It has no promised coverage: near an end of "
        "the scale, or where annotators rated unequally, it can be too short. Differences between systems are not "
        "affected."
    )


def _range(percents: Sequence[float]) -> str:
    return f"{min(percents):.1f} to {max(percents):.1f}"


def _row(line: Held) -> list[str]:
    coverage = (line.coverage, line.coverage_mean, line.coverage_these)
    figures = (line.level, line.level_dominance, *coverage, line.level_item, line.level_signed_rank)
    verdict = "" if line.level is None else "kept" if line.keeps_promise else "MISSED"
    return [_named(line.design), f"{line.design.taste:g}", line.scale, *map(_figure, figures), verdict]


def _named(design: Design) -> str:
    return f"{design.items} × {design.raters} of {design.annotators}{', unequal' * design.unequal}"


def _figure(percent: float | None) -> str:
    return "–" if percent is None else f"{percent:.1f}"


def main() -> int:
    """Prints the page; 1 if a promise was missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.validation", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the runs, to see that everything runs")
    parser.add_argument("--write-docs", action="store_true", help="write docs/validation.md")
    chosen = parser.parse_args()
    runs = RUNS // 10 if chosen.quick else RUNS
    held = []
    for design, scale in product(EQUAL + UNEQUAL, SCALES):
        print(f"{_named(design)}, taste SD {design.taste:g}, {scale} …", file=sys.stderr, flush=True)
        held.append(measure(design, scale, runs))
    few = [(design, scale) for design, scale in product(EQUAL, SCALES) if design.annotators == ENOUGH_ANNOTATORS]
    written = page(held, [(design, scale, floors(design, scale, runs)) for design, scale in few], runs)
    print(written)
    if chosen.write_docs:
        DOCS.write_text(written)
    return 0 if all(line.keeps_promise for line in held) else 1


if __name__ == "__main__":
    sys.exit(main())
