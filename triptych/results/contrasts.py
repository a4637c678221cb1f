"""Which system is better, and how sure: every two systems under every criterion, and the family they form."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from triptych.results.criterion import Ratings, or_words
from triptych.rubric.model import Criterion
from triptych.rubric.scales import Choice
from triptych.stats.comparison import Dominance, SideBySide, SignedRank, difference, dominance, signed_rank
from triptych.stats.intervals import Estimate
from triptych.stats.multiplicity import adjusted
from triptych.stats.preferences import Preferences, preferences
from triptych.stats.ranking import Ranking, ranking

CLEAR = 0.05
HOCHBERG = (
    "p (BH): the same tests adjusted after Benjamini and Hochberg (1995), which bounds the share of false differences "
    "among those found, not the chance of any."
)
ALWAYS_TOGETHER = "Not needed: with three systems or fewer it says no more than wins and losses do."


@dataclass(frozen=True)
class Contrast:
    """`system` minus `baseline` (blind codes, the later minus the earlier) under one criterion, in scale points.

    difference: the mean over (item, annotator) pairs with both intervals and the test; with `share` it is one of shares
    of answers, 0 to 1. p, holm, benjamini_hochberg: of the two-way clustered test, None where it is not defined;
    adjusted over the contrasts of the declared criteria, or, where it is exploratory, of all others. A sentence (str)
    stands where nothing is defined. table: the ratings it is made of.
    """

    criterion: str
    system: int
    baseline: int
    share: bool
    difference: Estimate | str
    table: SideBySide = field(repr=False, compare=False)
    p: float | None = None
    holm: float | None = None
    benjamini_hochberg: float | None = None
    exploratory: bool = False

    @cached_property
    def dominance(self) -> Dominance | str:
        """Wins, ties and losses of `system`."""
        return or_words(dominance, self.table, self.system, self.baseline)

    @cached_property
    def signed_rank(self) -> SignedRank | str:
        """The familiar test over items, which takes these annotators for all there are."""
        return or_words(signed_rank, self.table, self.system, self.baseline)

    @property
    def clear(self) -> bool:
        """Whether the adjusted test says that the systems differ, for annotators like these."""
        return self.holm is not None and self.holm < CLEAR

    @property
    def clear_here(self) -> bool:
        """Whether the interval for these annotators leaves 0 out."""
        if isinstance(self.difference, str) or self.difference.these.low is None:
            return False
        return self.difference.these.low > 0 or self.difference.these.high < 0

    @property
    def higher(self) -> int:
        """The system with the higher mean; 0 where they are level or nothing is known."""
        if isinstance(self.difference, str) or not self.difference.mean:
            return 0
        return self.system if self.difference.mean > 0 else self.baseline


@dataclass(frozen=True)
class RankingOf:
    """Three systems or more under one criterion: ranks over items, and strengths where they did not always meet."""

    criterion: str
    ranking: Ranking | str
    preferences: Preferences | str


@dataclass(frozen=True)
class Example:
    """An item behind a contrast: the mean difference there, over n annotators."""

    item: str
    difference: float
    n: int


def not_comparable(criterion: Criterion) -> str:
    """Why a criterion cannot tell systems apart; empty when it can."""
    if criterion.about == "item" and criterion.scale.kind != "best":
        return "Asked about the item, not about a system."
    if isinstance(criterion.scale, Choice) and not any(option.positive for option in criterion.scale.options):
        return "Not defined: the options have no order."
    return ""


def side_by_side(ratings: Ratings) -> SideBySide | str:
    """The criterion's ratings with what one annotator gave for one item in one row."""
    why = not_comparable(ratings.criterion)
    return why or or_words(SideBySide.build, ratings.number, ratings.item, ratings.annotator, ratings.system)


def contrasts(
    tables: dict[str, tuple[bool, SideBySide]], systems: Sequence[int], declared: Collection[str] = ()
) -> tuple[Contrast, ...]:
    """Every two systems under every criterion that can tell them apart.

    tables: by criterion, whether its numbers are shares, and its ratings side by side. declared: criteria that were
    named beforehand; their tests are one family, and the others, which are exploratory, another. Without any, all
    tests are one.
    """
    families: dict[bool, list[Contrast]] = {False: [], True: []}
    for criterion, (share, table) in tables.items():
        exploratory = bool(declared) and criterion not in declared
        for earlier, later in combinations(systems, 2):
            families[exploratory].append(_contrast(criterion, share, table, later, earlier, exploratory))
    found = [contrast for family in families.values() for contrast in _adjusted(family)]
    order = list(tables)
    return tuple(sorted(found, key=lambda contrast: order.index(contrast.criterion)))


def _adjusted(family: Sequence[Contrast]) -> Iterator[Contrast]:
    for one, test in zip(family, adjusted((None, one.p) for one in family), strict=True):
        yield replace(one, holm=test.holm, benjamini_hochberg=test.benjamini_hochberg)


def _contrast(
    criterion: str, share: bool, table: SideBySide, system: int, baseline: int, exploratory: bool
) -> Contrast:
    found = or_words(difference, table, system, baseline)
    p = None if isinstance(found, str) or found.test is None else found.test.p
    return Contrast(criterion, system, baseline, share, found, table, p, exploratory=exploratory)


def family_of(found: Sequence[Contrast], titles: dict[str, str], declared: bool) -> str:
    """Which tests the adjusted p-values are adjusted over.

    titles: of the criteria; declared: whether some were named beforehand.
    """
    if not found:
        return "No test: there are not two systems to compare."
    first, rest = ([contrast for contrast in found if contrast.exploratory is side] for side in (False, True))
    if not declared:
        return f"p is adjusted by Holm over all {len(found)} tests: {_counted(first)}."
    others = f"{len(rest)} {'test is' if len(rest) == 1 else 'tests are'} exploratory and adjusted by themselves"
    others += f": {_counted(rest)} ({_named(rest, titles)})." if rest else ""
    if not first:
        return f"No declared criterion compares systems. {others}"
    words = f"p is adjusted by Holm over the tests declared before launch: {_counted(first)} ({_named(first, titles)})."
    return f"{words} {others}" if rest else words


def _counted(tests: Sequence[Contrast]) -> str:
    """As in: 3 pairs of systems × 2 criteria."""
    criteria = len({contrast.criterion for contrast in tests})
    pairs = len(tests) // criteria
    words = f"{pairs} {'pair' if pairs == 1 else 'pairs'} of systems × {criteria} "
    return words + ("criterion" if criteria == 1 else "criteria")


def _named(tests: Sequence[Contrast], titles: dict[str, str]) -> str:
    return ", ".join(dict.fromkeys(titles[contrast.criterion] for contrast in tests))


def rankings(tables: dict[str, tuple[bool, SideBySide]], systems: Sequence[int]) -> Iterator[RankingOf]:
    """Ranks and strengths of three systems or more under each criterion."""
    for criterion, (_, table) in tables.items():
        strengths = or_words(preferences, table, systems) if len(systems) > 3 else ALWAYS_TOGETHER
        yield RankingOf(criterion, or_words(ranking, table, systems), strengths)


def turned_by_one(table: SideBySide, contrast: Contrast) -> Iterator[int]:
    """Codes of annotators without whom the sign of the mean difference would be the other one."""
    if isinstance(contrast.difference, str):
        return
    sides = table.of((contrast.system, contrast.baseline))
    both = ~np.isnan(sides).any(axis=1)
    differences, annotator = sides[both, 0] - sides[both, 1], table.annotators[both]
    sums, sizes = np.bincount(annotator, differences), np.bincount(annotator)
    rest = differences.sum() - sums
    turned = (sizes > 0) & (sizes < len(differences)) & (rest * contrast.difference.mean < 0)
    yield from np.flatnonzero(turned).tolist()


def foremost(contrasts: Sequence[Contrast], most: int) -> list[Contrast]:
    """Those with a difference; of more than `most` the clearest ones."""
    known = [one for one in contrasts if not isinstance(one.difference, str)]
    if len(known) > most:
        known.sort(
            key=lambda one: (
                not one.clear,
                not one.clear_here,
                1 if one.p is None else one.p,
                -abs(one.difference.mean),
            )
        )
    return known[:most]


def examples(ratings: Ratings, items: Iterable[str], contrast: Contrast, most: int = 10) -> tuple[Example, ...]:
    """Items that speak most for what the contrast says on the whole, then those most against; `items`: the labels."""
    found = or_words(SideBySide.build, ratings.number, ratings.item, ratings.annotator, ratings.system)
    if isinstance(found, str):
        return ()
    sides = found.of((contrast.system, contrast.baseline))
    both = ~np.isnan(sides).any(axis=1)
    _, first = np.unique(ratings.item[~np.isnan(ratings.number)], return_index=True)
    labels = ratings.item[~np.isnan(ratings.number)][np.sort(first)]
    item, n = found.items[both], np.bincount(found.items[both], minlength=len(labels))
    sums = np.bincount(item, sides[both, 0] - sides[both, 1], minlength=len(labels))
    seen = np.flatnonzero(n)
    means = sums[seen] / n[seen]
    toward = -1 if contrast.higher == contrast.baseline else 1
    order = seen[np.argsort(-toward * means, kind="stable")]
    chosen = order if len(order) <= 2 * most else np.concatenate([order[:most], order[-most:]])
    names = list(items)
    return tuple(Example(names[labels[at]], float(sums[at] / n[at]), int(n[at])) for at in chosen)
