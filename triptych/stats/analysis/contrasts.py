"""Which system is better, and how sure: every two systems under every criterion, adjusted by families."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

from ..comparison import Dominance, SideBySide, SignedRank, difference, dominance, signed_rank
from ..intervals import Estimate
from ..multiplicity import adjusted
from ..preferences import Preferences, preferences
from ..ranking import Ranking, ranking
from ..undefined import Undefined, or_undefined
from .ratings import Ratings

CLEAR = 0.05
ALWAYS_TOGETHER = Undefined("Not needed: with three systems or fewer it says no more than wins and losses do.")


@dataclass(frozen=True)
class Contrast:
    """`system` minus `baseline` (blind codes, the later minus the earlier) under one criterion, in scale points.

    difference: the mean over (item, annotator) pairs with both intervals and the test; with `share` it is one of shares
    of answers, 0 to 1. p, holm, benjamini_hochberg: of the two-way clustered test, None where it is not defined;
    adjusted over the contrasts of the declared criteria, or, where it is exploratory, of all others. Undefined
    is there where nothing is defined. table: the ratings it is made of.
    """

    criterion: str
    system: int
    baseline: int
    share: bool
    difference: Estimate | Undefined
    table: SideBySide = field(repr=False, compare=False)
    p: float | None = None
    holm: float | None = None
    benjamini_hochberg: float | None = None
    exploratory: bool = False

    @cached_property
    def dominance(self) -> Dominance | Undefined:
        """Wins, ties and losses of `system`."""
        return or_undefined(dominance, self.table, self.system, self.baseline)

    @cached_property
    def signed_rank(self) -> SignedRank | Undefined:
        """The familiar test over items, which takes these annotators for all there are."""
        return or_undefined(signed_rank, self.table, self.system, self.baseline)

    @property
    def clear(self) -> bool:
        """Whether the adjusted test says that the systems differ, for annotators like these."""
        return self.holm is not None and self.holm < CLEAR

    @property
    def clear_here(self) -> bool:
        """Whether the interval for these annotators leaves 0 out."""
        these = None if isinstance(self.difference, Undefined) else self.difference.these
        if these is None or these.low is None or these.high is None:
            return False
        return these.low > 0 or these.high < 0

    @property
    def distance(self) -> float:
        """How far apart the two means are; 0 where nothing is known."""
        return 0.0 if isinstance(self.difference, Undefined) else abs(self.difference.mean)

    @property
    def higher(self) -> int:
        """The system with the higher mean; 0 where they are level or nothing is known."""
        if isinstance(self.difference, Undefined) or not self.difference.mean:
            return 0
        return self.system if self.difference.mean > 0 else self.baseline


@dataclass(frozen=True)
class RankingOf:
    """Three systems or more under one criterion: ranks over items, and strengths where they did not always meet."""

    criterion: str
    ranking: Ranking | Undefined
    preferences: Preferences | Undefined


def side_by_side(ratings: Ratings) -> SideBySide | Undefined:
    """The criterion's ratings with what one annotator gave for one item in one row."""
    if why := ratings.variable.not_comparable:
        return why
    return or_undefined(SideBySide.build, ratings.number, ratings.item, ratings.annotator, ratings.system)


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
    adjusted_contrasts = [contrast for family in families.values() for contrast in _adjusted(family)]
    order = list(tables)
    return tuple(sorted(adjusted_contrasts, key=lambda contrast: order.index(contrast.criterion)))


def _adjusted(family: Sequence[Contrast]) -> Iterator[Contrast]:
    for contrast, test in zip(family, adjusted((None, contrast.p) for contrast in family), strict=True):
        yield replace(contrast, holm=test.holm, benjamini_hochberg=test.benjamini_hochberg)


def _contrast(
    criterion: str, share: bool, table: SideBySide, system: int, baseline: int, exploratory: bool
) -> Contrast:
    estimate = or_undefined(difference, table, system, baseline)
    p = None if isinstance(estimate, Undefined) or estimate.test is None else estimate.test.p
    return Contrast(criterion, system, baseline, share, estimate, table, p, exploratory=exploratory)


def rankings(tables: dict[str, tuple[bool, SideBySide]], systems: Sequence[int]) -> Iterator[RankingOf]:
    """Ranks and strengths of three systems or more under each criterion."""
    for criterion, (_, table) in tables.items():
        strengths = or_undefined(preferences, table, systems) if len(systems) > 3 else ALWAYS_TOGETHER
        yield RankingOf(criterion, or_undefined(ranking, table, systems), strengths)
