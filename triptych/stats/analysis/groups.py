"""Groups of annotators: agreement and differences of systems inside each, and whether the groups differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from ..camps import Camps, camps_by_agreement, camps_by_taste, profiles
from ..columns import Label
from ..crossed import CrossedEffects
from ..undefined import Undefined, or_undefined
from .collection import CLEAR
from .contrasts import ComparedRatings, TestedDifference, cut_difference, tested
from .ratings import Ratings
from .systems import Agreement, agreement_of

HINT = 0.05  # adjusted p below which camps are hinted at
FEWEST_POINTS, COMPLETE = 5, 0.9  # of a scale, and share of the responses in sets, for camps by agreement
NOT_YET = Undefined("Not defined: nothing is estimated yet.")
TASTES = ""  # in the place of a criterion: camps by taste are about all criteria together


@dataclass(frozen=True)
class GroupAgreement:
    """One group under one criterion: its annotators with ratings, and agreement among them alone."""

    group: str
    criterion: str
    annotators: int
    agreement: Agreement


@dataclass(frozen=True, kw_only=True)
class GroupDifference(TestedDifference):
    """`system` minus `baseline` in one group of annotators; with `other`, minus the same difference in that group.

    The tests inside groups are one family, those between groups another.
    """

    group: str
    other: str = ""

    @property
    def place(self) -> str:
        """The group or groups, as in "expert" or "expert against crowd"."""
        return f"{self.group} against {self.other}" if self.other else self.group


@dataclass(frozen=True)
class Hint:
    """Camps that nobody declared.

    criterion: the one on which annotators agree more inside their camps than across, or TASTES. p: adjusted
    (Bonferroni) over all camps that were looked for.
    """

    criterion: str
    camps: Camps
    p: float


def of_groups(every: Sequence[Ratings], names: Sequence[str], groups: Mapping[str, str]) -> Iterator[GroupAgreement]:
    """Agreement inside each declared group; names: labels of the annotator codes; groups: label → group."""
    group_of = np.array([groups.get(name, "") for name in names], dtype=object)
    for ratings in every:
        of_rating = group_of[ratings.annotator]
        for group in sorted(set(groups.values())):
            own = ratings.take(np.flatnonzero(of_rating == group))
            annotators = len(np.unique(own.annotator))
            yield GroupAgreement(group, ratings.variable.key, annotators, agreement_of(own))


def group_differences(
    every: Sequence[Ratings],
    names: Sequence[str],
    systems: Sequence[int],
    groups: Mapping[str, str],
    bound: float = CLEAR,
) -> tuple[GroupDifference, ...]:
    """Every two systems under each of these criteria, in each group and between every two groups.

    names: labels of the annotator codes; groups: label → group; bound: as in `contrasts`.
    """
    named = sorted(set(groups.values()))
    inside: list[GroupDifference] = []
    between: list[GroupDifference] = []
    for ratings in every:
        fit, width = _fit_by_group(ratings, names, groups), ratings.variable.width
        for earlier, later in combinations(systems, 2):
            of = GroupDifference(
                criterion=ratings.variable.key,
                system=later,
                baseline=earlier,
                share=ratings.variable.is_share,
                difference=NOT_YET,
                bound=bound,
                group="",
            )
            inside += [_estimated(replace(of, group=group), fit, width) for group in named]
            pairs = [replace(of, group=one, other=two) for one, two in combinations(named, 2)]
            between += [_estimated(pair, fit, 2 * width) for pair in pairs]
    return (*tested(inside), *tested(between))


def _fit_by_group(ratings: Ratings, names: Sequence[str], groups: Mapping[str, str]) -> CrossedEffects | Undefined:
    """One fit of all groups; each group has item and system effects of its own, as if it were fitted alone.

    Systems are labelled (group, system). Errors are clustered by item over all groups, because the peculiarities of an
    item's responses affect all groups.
    """
    group_of = np.array([groups.get(name, "") for name in names], dtype=object)
    grouped = ratings.take(np.flatnonzero(group_of[ratings.annotator] != ""))
    of_rating = group_of[grouped.annotator]
    items, systems = (_labels(of_rating, column) for column in (grouped.item, grouped.system))
    return or_undefined(CrossedEffects.build, grouped.beyond_chance, items, grouped.annotator, systems, grouped.group)


def _labels(groups: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """(n,) labels, each a tuple (group, code)."""
    labels = np.empty(len(groups), dtype=object)
    labels[:] = list(zip(groups.tolist(), codes.tolist(), strict=True))
    return labels


def _estimated(difference: GroupDifference, fit: CrossedEffects | Undefined, widest: float) -> GroupDifference:
    if isinstance(fit, Undefined):
        return replace(difference, difference=fit)
    pair, other = (
        ((group, difference.system), (group, difference.baseline)) for group in (difference.group, difference.other)
    )
    of = or_undefined(fit.between, pair, other) if difference.other else or_undefined(fit.difference, *pair)
    return replace(difference, difference=of if isinstance(of, Undefined) else cut_difference(widest, of))


def hints(
    every: Sequence[Ratings], compared: Mapping[str, ComparedRatings], names: Sequence[str], systems: Sequence[int]
) -> tuple[Hint, ...]:
    """Camps of annotators that stand out although no groups were declared, the clearest first."""
    looked: list[tuple[str, Camps]] = []
    for ratings in every:
        if ratings.variable.key not in compared or not _has_simulated_kind(ratings):
            continue
        columns = (ratings.number, ratings.item, ratings.annotator, ratings.system)
        camps = or_undefined(camps_by_agreement, *columns)
        if not isinstance(camps, Undefined):
            looked.append((ratings.variable.key, camps))
    tastes = or_undefined(camps_by_taste, *_profiles(compared, names, systems))
    looked += [] if isinstance(tastes, Undefined) else [(TASTES, tastes)]
    adjusted = [Hint(criterion, camps, min(1.0, len(looked) * camps.p)) for criterion, camps in looked]
    return tuple(sorted((hint for hint in adjusted if hint.p < HINT), key=lambda hint: hint.p))


def _has_simulated_kind(ratings: Ratings) -> bool:
    """Whether the test by agreement keeps its level: five points or more, and nearly all responses of an item rated.

    With yes/no answers, *best* or incomplete sets, studies without camps had hints too often.
    """
    if ratings.variable.is_share or 0 < len(ratings.variable.points) < FEWEST_POINTS:
        return False
    rated = ~np.isnan(ratings.number)
    item = ratings.item[rated]
    firsts = [np.unique(of[rated], return_index=True)[1] for of in (ratings.units, ratings.sets)]
    responses, sets = (np.bincount(item[first], minlength=int(item.max(initial=0)) + 1) for first in firsts)
    return len(item) >= COMPLETE * int(responses @ sets)


def _profiles(
    compared: Mapping[str, ComparedRatings], names: Sequence[str], systems: Sequence[int]
) -> tuple[np.ndarray, np.ndarray, list[Label]]:
    """Both profiles of all annotators who are in a criterion's fit, and their codes."""
    fits = [of.effects for of in compared.values() if isinstance(of.effects, CrossedEffects)]
    rated = [code for code in range(len(names)) if any(code in fit.annotators for fit in fits)]
    if not fits or not rated:
        return np.zeros((0, 0)), np.zeros((0, 0)), []
    profile, against_others = (profiles(fits, rated, list(systems), against) for against in (False, True))
    return profile, against_others, list(rated)
