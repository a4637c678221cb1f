"""The evidence behind contrasts: the family of tests, and the items behind a difference."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from triptych.stats.analysis.contrasts import Contrast
from triptych.stats.analysis.ratings import Ratings
from triptych.stats.columns import codes
from triptych.stats.undefined import Undefined

MOST_SHOWN = 10  # examples for a contrast, and against it
NO_TEST = "No tests: none of the differences can be tested."
HOCHBERG = (
    "p (BH): the same tests adjusted by the method of Benjamini and Hochberg (1995), which bounds the share of false "
    "differences among those found, not the chance of any."
)


@dataclass(frozen=True)
class Example:
    """An item behind a contrast: the mean difference there, over n annotators."""

    item: str
    difference: float
    n: int


def family_of(contrasts: Sequence[Contrast], titles: dict[str, str], declared: bool) -> str:
    """Which tests the adjusted p-values are adjusted over.

    titles: key → title of each criterion; declared: whether some criteria were named beforehand.
    """
    if not contrasts:
        return "No test: there are not two systems to compare."
    if len(contrasts) == 1:
        return "There is a single test, so its p is not adjusted." if contrasts[0].p_holm is not None else NO_TEST
    untested = sum(contrast.p_holm is None for contrast in contrasts)
    if untested == len(contrasts):
        return NO_TEST
    family = _family_of(contrasts, titles, declared)
    if not untested:
        return family
    words = "is not defined and counts" if untested == 1 else "are not defined and count"
    return f"{family} {untested} of them {words} as p = 1."


def _family_of(contrasts: Sequence[Contrast], titles: dict[str, str], declared: bool) -> str:
    main, rest = ([contrast for contrast in contrasts if contrast.exploratory is side] for side in (False, True))
    if not declared:
        return f"p is adjusted by Holm over all {len(contrasts)} tests: {_counted(main)}."
    others = f"{len(rest)} {'test is' if len(rest) == 1 else 'tests are'} exploratory and adjusted separately"
    others += f": {_counted(rest)} ({_named(rest, titles)})." if rest else ""
    if not main:
        return f"None of the tests declared before launch compares systems. {others}"
    words = f"p is adjusted by Holm over the tests declared before launch: {_counted(main)} ({_named(main, titles)})."
    return f"{words} {others}" if rest else words


def _counted(tests: Sequence[Contrast]) -> str:
    """The number of tests, as in "3 pairs of systems × 2 criteria"."""
    criteria = len({contrast.criterion for contrast in tests})
    pairs = len(tests) // criteria
    words = f"{pairs} {'pair' if pairs == 1 else 'pairs'} of systems × {criteria} "
    return words + ("criterion" if criteria == 1 else "criteria")


def _named(tests: Sequence[Contrast], titles: dict[str, str]) -> str:
    return ", ".join(dict.fromkeys(titles[contrast.criterion] for contrast in tests))


def foremost(contrasts: Sequence[Contrast], most: int) -> list[Contrast]:
    """The contrasts with a difference, at most `most`, the clearest first."""
    defined = [contrast for contrast in contrasts if not isinstance(contrast.difference, Undefined)]
    if len(defined) > most:
        defined.sort(key=_clarity)
    return defined[:most]


def _clarity(contrast: Contrast) -> tuple[bool, bool, float, float]:
    """Sort key that puts the clearest contrast first."""
    return not contrast.clear, not contrast.clear_here, 1 if contrast.p is None else contrast.p, -contrast.distance


def examples(ratings: Ratings, items: Iterable[str], contrast: Contrast) -> tuple[Example, ...]:
    """Items that support the overall contrast most, then those most against it; items: labels of the item codes."""
    table, labels, names = contrast.table, codes(ratings.item[~np.isnan(ratings.number)])[1], list(items)
    sides = table.of((contrast.system, contrast.baseline))
    both = ~np.isnan(sides).any(axis=1)
    by_item = pd.Series(sides[both, 0] - sides[both, 1]).groupby(table.items[both]).agg(["mean", "size"])
    ordered = by_item.sort_values("mean", ascending=contrast.higher == contrast.baseline, kind="stable")
    chosen = ordered if len(ordered) <= 2 * MOST_SHOWN else pd.concat([ordered[:MOST_SHOWN], ordered[-MOST_SHOWN:]])
    return tuple(Example(names[labels[at]], float(mean), int(n)) for at, mean, n in chosen.itertuples())
