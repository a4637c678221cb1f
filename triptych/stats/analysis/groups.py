"""Groups of annotators: agreement inside each against all together, and whether their tastes differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..camps import Camps, camps_by_agreement, camps_by_taste, group_difference, profiles
from ..columns import Label
from ..crossed import CrossedEffects
from ..undefined import Undefined, or_undefined
from .contrasts import ComparedRatings
from .ratings import Ratings
from .systems import Agreement, agreement_of

HINT = 0.05  # adjusted p below which camps are hinted at
TASTES = ""  # in the place of a criterion: camps by taste are about all criteria together


@dataclass(frozen=True)
class GroupAgreement:
    """One group under one criterion: its annotators with ratings, and agreement among them alone."""

    group: str
    criterion: str
    annotators: int
    agreement: Agreement


@dataclass(frozen=True)
class Hint:
    """Camps that nobody declared. criterion: where they agree inside and not across, or TASTES.

    p: adjusted (Bonferroni) over all hints that were looked for.
    """

    criterion: str
    camps: Camps
    p: float


def of_groups(every: Sequence[Ratings], names: Sequence[str], groups: Mapping[str, str]) -> Iterator[GroupAgreement]:
    """Agreement inside each declared group; names: labels of the annotator codes; groups: label → group."""
    group_of = np.array([groups.get(name, "") for name in names], dtype=object)
    for ratings in every:
        of_rating = group_of[ratings.annotator] if len(ratings) else np.zeros(0, dtype=object)
        for group in sorted(set(groups.values())):
            own = ratings.take(np.flatnonzero(of_rating == group))
            annotators = len(np.unique(own.annotator))
            yield GroupAgreement(group, ratings.variable.key, annotators, agreement_of(own))


def tastes_differ(
    compared: Mapping[str, ComparedRatings], names: Sequence[str], systems: Sequence[int], groups: Mapping[str, str]
) -> float | Undefined:
    """p that declared groups differ in which systems they prefer, over all criteria, by permuting labels."""
    profile, rated = _profiles(compared, names, systems)
    labels = np.array([groups.get(names[int(str(code))], "") for code in rated], dtype=object)
    grouped = labels != ""
    if not grouped.any():
        return Undefined("Not defined: no annotator of a group rated two systems.")
    return or_undefined(group_difference, profile[grouped], labels[grouped])


def hints(
    every: Sequence[Ratings], compared: Mapping[str, ComparedRatings], names: Sequence[str], systems: Sequence[int]
) -> tuple[Hint, ...]:
    """Camps of annotators that stand out where no groups were declared, the clearest first."""
    looked: list[tuple[str, Camps]] = []
    for ratings in every:
        columns = (ratings.number, ratings.item, ratings.annotator, ratings.system)
        camps = or_undefined(camps_by_agreement, *columns)
        if ratings.variable.key in compared and not isinstance(camps, Undefined):
            looked.append((ratings.variable.key, camps))
    profile, rated = _profiles(compared, names, systems)
    tastes = or_undefined(camps_by_taste, profile, rated)
    looked += [] if isinstance(tastes, Undefined) else [(TASTES, tastes)]
    adjusted = [Hint(criterion, camps, min(1.0, len(looked) * camps.p)) for criterion, camps in looked]
    return tuple(sorted((hint for hint in adjusted if hint.p < HINT), key=lambda hint: hint.p))


def _profiles(
    compared: Mapping[str, ComparedRatings], names: Sequence[str], systems: Sequence[int]
) -> tuple[np.ndarray, list[Label]]:
    """Profiles of the annotators in any fit, and their codes."""
    fits = [of.effects for of in compared.values() if isinstance(of.effects, CrossedEffects)]
    rated = [code for code in range(len(names)) if any(code in fit.annotators for fit in fits)]
    if not fits or not rated:
        return np.zeros((0, 0)), []
    return profiles(fits, rated, list(systems)), list(rated)
