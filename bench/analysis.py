"""How long the statistics of agreement and of comparisons take, without a server."""

from __future__ import annotations

import multiprocessing
import os
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations
from pathlib import Path
from statistics import median
from unittest.mock import patch

import krippendorff
import numpy as np

from bench.figures import Figure, at_least, at_most
from bench.options import Options
from triptych.stats.agreement import krippendorff_alpha
from triptych.stats.coefficients import agreement_table
from triptych.stats.crossed import CrossedEffects
from triptych.stats.icc import reliability
from triptych.stats.leave_one_out import without_each
from triptych.stats.pairs import annotator_pairs

CRITERIA, POINTS, RATERS, ANNOTATORS = 5, 7, 3, 60


def analysis(options: Options, home: Path) -> list[Figure]:
    """Agreement on five criteria with 100,000 ratings each, and the speed of alpha of 10^6 ratings against
    `krippendorff`.
    """
    criteria = [ratings(100_000, seed) for seed in range(CRITERIA)]
    scale = np.arange(1, POINTS + 1)
    rounds = options.rounds(10)
    note = f"{CRITERIA} criteria × 100,000 ratings on {POINTS} points, {RATERS} of {ANNOTATORS} annotators per unit"

    def tables() -> None:
        for units, _, values in criteria:
            agreement_table(units, values, "ordinal", scale)

    def people() -> None:
        for units, annotators, values in criteria:
            without_each(units, annotators, values, "ordinal", scale)
            annotator_pairs(units, annotators, values, "ordinal", scale)
            reliability(units, annotators, values)

    return [
        at_most(
            "agreement: all coefficients",
            "ms",
            milliseconds(tables, rounds),
            300,
            note=f"{note}; percent, two alphas, AC2 and Fleiss' kappa, each with its interval",
        ),
        at_most(
            "agreement: annotators",
            "ms",
            milliseconds(people, rounds),
            1000,
            note=f"{note}; alpha without each annotator, all pairs of annotators, three forms of ICC",
        ),
        against_package(max(rounds // 3, 2)),
    ]


def against_package(rounds: int) -> Figure:
    """The package's time divided by ours, in alternation, for ordinal alpha of 10^6 ratings."""
    units, annotators, values = ratings(1_000_000, 9)
    table = np.full((ANNOTATORS, units[-1] + 1), np.nan)
    table[annotators, units] = values
    ratios, ours = [], []
    for _ in range(rounds):
        (theirs,) = milliseconds(lambda: krippendorff.alpha(table, level_of_measurement="ordinal"), 1)
        ours += milliseconds(lambda: krippendorff_alpha(units, values, "ordinal"), 1)
        ratios.append(theirs / ours[-1])
    note = (
        f"ordinal alpha of 1,000,000 ratings in long form ({median(ours):.0f} ms) against `krippendorff`, which takes "
        f"a table with a row for each of {ANNOTATORS} annotators"
    )
    return at_least("alpha: times as fast as the package", "×", ratios, 20, note=note)


def comparisons(options: Options, home: Path) -> list[Figure]:
    """All pairs of systems compared in two incomplete designs, and the memory of the larger one."""
    small, large = (20_000, 300, 5, 10), (70_000, 500, 14, 14)
    # idle threads of the linear algebra count as busy, so a separate process runs with a single one
    own_process = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
    with patch.dict(os.environ, OPENBLAS_NUM_THREADS="1"), own_process as core:
        quick = [core.submit(compared, *small).result() for _ in range(options.rounds(3))]
        slow = [core.submit(compared, *large).result() for _ in range(options.rounds(2))]
        peak = core.submit(peak_megabytes).result()
    words = "{:,} items, {} annotators, {} systems, {} ratings of each item: every two systems, both tests"
    return [
        at_most("comparisons: 200,000 ratings", "s", quick, 1, note=words.format(*small)),
        at_most("comparisons: 980,000 ratings", "s", slow, 7, note=words.format(*large)),
        at_most("comparisons: memory", "MB", [peak], 1000, note="the maximum of this process, including the ratings"),
    ]


def compared(items: int, annotators: int, systems: int, per_item: int) -> float:
    """Processor seconds for all pairs of systems; an item's annotators and the systems that they see are drawn at
    random.
    """
    random = np.random.default_rng(3)
    item, place = np.repeat(np.arange(items), per_item), np.tile(np.arange(per_item), items)
    annotator = (random.integers(0, annotators, items)[item] + place % 3) % annotators
    system = (random.integers(0, systems, items)[item] + place) % systems
    value = np.clip(np.round(4 + random.normal(size=items)[item] + random.normal(size=len(item))), 1, POINTS)
    began = time.process_time()
    effects = CrossedEffects.build(value, item, annotator, system)
    for baseline, of in combinations(range(systems), 2):
        effects.difference(of, baseline)
    return time.process_time() - began


def peak_megabytes() -> float:
    """The maximum resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def ratings(count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Units, annotators and values (count,) of a study in which three of sixty annotators rate each unit."""
    random = np.random.default_rng(seed)
    units = np.arange(count) // RATERS
    annotators = (units + 7 * (np.arange(count) % RATERS)) % ANNOTATORS
    truth = random.normal(size=units[-1] + 1)[units]
    values = np.clip(np.round((POINTS + 1) / 2 + truth + random.normal(size=count)), 1, POINTS)
    return units, annotators, values


def milliseconds(act: Callable[[], object], rounds: int) -> list[float]:
    """Milliseconds of each round."""
    durations = []
    for _ in range(rounds):
        began = time.perf_counter()
        act()
        durations.append(1000 * (time.perf_counter() - began))
    return durations
