"""Which system is better, and how sure: every two systems under every criterion, adjusted by families."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import TypeVar

from ..columns import Label
from ..comparison import Dominance, SideBySide, SignedRank, dominance, signed_rank
from ..crossed import CrossedEffects, Difference
from ..equivalence import Equivalence, equivalence
from ..multiplicity import adjusted
from ..undefined import Undefined, or_undefined
from .collection import CLEAR
from .ratings import Ratings
from .systems import cut

NO_MARGINS: Mapping[str, float] = {}
MOST_REFITTED = 3_000_000  # ratings times annotators, about a second

T = TypeVar("T", bound="TestedDifference")


@dataclass(frozen=True)
class ComparedRatings:
    """The ratings of one criterion in the forms that comparisons of systems need.

    share: whether the criterion's numbers are shares; widest: the largest difference that the scale allows; effects:
    the fit that differences come from; table: one row per annotator and item, for statistics of pairs; refitted: cache
    of fits without one annotator, to be emptied when all pairs are known; turned: cache of the results of `turned_by`,
    by pair of systems.
    """

    share: bool
    widest: float
    effects: CrossedEffects | Undefined
    table: SideBySide
    refitted: dict[Label, CrossedEffects | Undefined] = field(default_factory=dict, compare=False)
    turned: dict[tuple[int, int], tuple[Label, ...]] = field(default_factory=dict, compare=False)

    def turned_by(self, contrast: Contrast) -> tuple[Label, ...]:
        """Annotators whose removal reverses the sign of the difference; empty where the fits would take too long."""
        pair = contrast.system, contrast.baseline
        if pair not in self.turned:
            self.turned[pair] = tuple(self._turned_by(contrast))
        return self.turned[pair]

    def _turned_by(self, contrast: Contrast) -> Iterator[Label]:
        pair = contrast.system, contrast.baseline
        if isinstance(self.effects, Undefined) or isinstance(contrast.difference, Undefined):
            return
        candidates = self.effects.may_turn(*pair)
        if self.effects.used * len(candidates) > MOST_REFITTED:
            return
        for who in candidates:
            rest = self.refitted.get(who)
            if rest is None:
                rest = self.refitted[who] = or_undefined(self.effects.without, who)
            without = rest if isinstance(rest, Undefined) else or_undefined(rest.difference, *pair)
            if not isinstance(without, Undefined) and without.mean * contrast.difference.mean < 0:
                yield who


@dataclass(frozen=True, kw_only=True)
class TestedDifference:
    """`system` minus `baseline` (blind codes, the later minus the earlier) under one criterion, in scale points.

    difference: the difference of the two system effects, with both intervals and tests; with `share`, a difference of
    shares of answers, 0 to 1. p, holm, benjamini_hochberg: p-values of the test for annotators like these, None where
    it is not defined; p_here, holm_here: p-values of the test for these annotators alone. Both tests are adjusted over
    a family of tests. bound: an adjusted p below it is clear; 0 where nothing is tested yet.
    """

    criterion: str
    system: int
    baseline: int
    share: bool
    difference: Difference | Undefined
    p: float | None = None
    p_here: float | None = None
    holm: float | None = None
    holm_here: float | None = None
    benjamini_hochberg: float | None = None
    bound: float = CLEAR

    @property
    def clear(self) -> bool:
        """Whether the adjusted test for annotators like these finds a difference."""
        return self.holm is not None and self.holm < self.bound

    @property
    def clear_here(self) -> bool:
        """Whether the adjusted test for these annotators finds a difference."""
        return self.holm_here is not None and self.holm_here < self.bound

    @property
    def p_holm(self) -> float | None:
        """Adjusted p of the verdict's test: for annotators like these, else for these; None where neither is."""
        return self.holm_here if self.p is None else self.holm

    @property
    def is_tested(self) -> bool:
        """Whether there is a test: for annotators like these, for these, or both."""
        return self.p_holm is not None

    @property
    def distance(self) -> float:
        """Size of the difference; 0 where nothing is known."""
        return 0.0 if isinstance(self.difference, Undefined) else abs(self.difference.mean)

    @property
    def higher(self) -> int:
        """The system with the higher mean; 0 where the means are equal or unknown."""
        if isinstance(self.difference, Undefined) or not self.difference.mean:
            return 0
        return self.system if self.difference.mean > 0 else self.baseline

    @property
    def lower(self) -> int:
        """The system with the lower mean; 0 where the means are equal or unknown."""
        return self.higher and (self.baseline if self.higher == self.system else self.system)


@dataclass(frozen=True, kw_only=True)
class Contrast(TestedDifference):
    """Two systems under one criterion, over all annotators.

    The tests are adjusted over the contrasts of all declared criteria or, for an exploratory contrast, of all other
    criteria. table: the ratings compared. margin: systems that differ by less count as practically equal; None where
    no margin was set beforehand.
    """

    table: SideBySide = field(repr=False, compare=False)
    exploratory: bool = False
    margin: float | None = None

    @cached_property
    def dominance(self) -> Dominance | Undefined:
        """Wins, ties and losses of `system`."""
        return or_undefined(dominance, self.table, self.system, self.baseline)

    @cached_property
    def signed_rank(self) -> SignedRank | Undefined:
        """The familiar test over items, which treats these annotators as the whole population."""
        return or_undefined(signed_rank, self.table, self.system, self.baseline)

    @cached_property
    def equivalence(self) -> Equivalence | Undefined | None:
        """Whether the systems are practically equal, unadjusted; None without a margin, or while nothing is tested."""
        if self.margin is None or not self.bound or isinstance(self.difference, Undefined):
            return None
        return or_undefined(equivalence, self.difference, self.margin, self.bound)

    @property
    def equal(self) -> bool:
        """Whether the systems are practically equal within the margin."""
        return isinstance(self.equivalence, Equivalence) and self.equivalence.equal


def compared(ratings: Ratings) -> ComparedRatings | Undefined:
    """The criterion's ratings in the form that comparisons need, or why they cannot compare systems."""
    if why := ratings.variable.not_comparable:
        return why
    columns = (ratings.item, ratings.annotator, ratings.system, ratings.group)
    table = or_undefined(SideBySide.build, ratings.number, *columns)
    if isinstance(table, Undefined):
        return table
    effects = or_undefined(CrossedEffects.build, ratings.beyond_chance, *columns)
    return ComparedRatings(ratings.variable.is_share, ratings.variable.width, effects, table)


def contrasts(
    criteria: dict[str, ComparedRatings],
    systems: Sequence[int],
    declared: Collection[str] = (),
    bound: float = CLEAR,
    margins: Mapping[str, float] = NO_MARGINS,
) -> tuple[Contrast, ...]:
    """All pairs of systems under every criterion that can compare them.

    declared: criteria that were named beforehand. Their tests are one family, those of the other, exploratory criteria
    another; without declared criteria, all tests are one family. bound: an adjusted p below it is clear; with 0 nothing
    is tested. margins: by criterion, the difference up to which systems count as practically equal.
    """
    families: dict[bool, list[Contrast]] = {False: [], True: []}
    for criterion, of in criteria.items():
        exploratory = bool(declared) and criterion not in declared
        for earlier, later in combinations(systems, 2):
            contrast = Contrast(
                criterion=criterion,
                system=later,
                baseline=earlier,
                share=of.share,
                difference=_difference(of, later, earlier),
                table=of.table,
                exploratory=exploratory,
                bound=bound,
                margin=margins.get(criterion),
            )
            families[exploratory].append(contrast)
    adjusted_contrasts = [contrast for family in families.values() for contrast in tested(family)]
    order = list(criteria)
    return tuple(sorted(adjusted_contrasts, key=lambda contrast: order.index(contrast.criterion)))


def _difference(ratings: ComparedRatings, system: int, baseline: int) -> Difference | Undefined:
    """The difference and its intervals, cut at the largest difference that the scale allows."""
    if isinstance(ratings.effects, Undefined):
        return ratings.effects
    difference = or_undefined(ratings.effects.difference, system, baseline)
    if isinstance(difference, Undefined):
        return difference
    return cut_difference(ratings.widest, difference)


def cut_difference(widest: float, difference: Difference) -> Difference:
    """The difference and its intervals, truncated at the largest possible one.

    Least squares add differences up: if A is 3 points above B in some items and B 3 above C in others, A is 6 above C.
    """
    ends, mean = (-widest, widest), min(max(difference.mean, -widest), widest)
    these, alike = (replace(cut(ends, each), mean=mean) for each in (difference.these, difference.alike))
    return replace(difference, mean=mean, these=these, alike=alike)


def tested(family: Sequence[T]) -> Iterator[T]:
    """Differences with their tests, adjusted over all of them; without a bound nothing is tested."""
    tests = [_tests(difference) for difference in family]
    alike, these = map(adjusted, zip(*tests, strict=True)) if tests else ((), ())
    for difference, test, test_here in zip(family, alike, these, strict=True):
        yield replace(
            difference,
            p=test.p,
            p_here=test_here.p,
            holm=test.holm,
            benjamini_hochberg=test.benjamini_hochberg,
            holm_here=test_here.holm,
        )


def _tests(tested_difference: TestedDifference) -> tuple[float | None, float | None]:
    """(p for annotators like these, p for these annotators); None where there is no test."""
    if isinstance(tested_difference.difference, Undefined) or not tested_difference.bound:
        return None, None
    test, test_here = tested_difference.difference.test, tested_difference.difference.test_here
    return test.p if test else None, test_here.p if test_here else None
