"""Every number of a study, from its ratings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..camps import Camps
from ..coefficients import AgreementTable
from ..correlation import Correlations, segment_correlation
from ..diagnostics import Speed
from ..effects import PositionEffect
from ..pairs import PairMeans
from ..preferences import Preferences, preferences
from ..proportional_odds import LogitDifference, proportional_odds
from ..ranking import Ranking, ranking
from ..spans import SpanAgreement
from ..undefined import Undefined, or_undefined
from .annotators import (
    AnnotatorLook,
    EffectsOf,
    PeopleOf,
    Repeated,
    Worker,
    effects_of,
    looks,
    pairs_over_criteria,
    people_of,
    position_of,
)
from .collection import Collected
from .contrasts import ComparedRatings, Contrast, compared, contrasts
from .final_values import FinalMeans
from .groups import GroupAgreement, GroupDifference, Hint, group_differences, hints, of_groups
from .judges import JudgeOf
from .pay import PayNumbers
from .ratings import Ratings
from .systems import Agreement, CriterionNumbers, criterion_numbers

ALWAYS_TOGETHER = Undefined("Not needed: with three systems or fewer it says no more than wins and losses do.")
UNEQUAL_SETS = Undefined("Not defined: systems were shown in sets of different size.")
NOT_READ = Undefined("Not defined: the texts were not read.")


@dataclass(frozen=True)
class BesideRatings:
    """Analyses of more than the ratings that count; empty where there is nothing to analyse.

    with_self: by criterion, how far annotators agree with themselves on what they unknowingly rated twice. lengths: by
    criterion, whether longer candidates are rated higher.
    """

    with_self: dict[str, AgreementTable | Undefined] = field(default_factory=dict)
    repeated: dict[str, Repeated] = field(default_factory=dict)
    lengths: dict[str, Correlations | Undefined] = field(default_factory=dict)
    judges: tuple[JudgeOf, ...] = ()
    spans: tuple[SpanAgreement, ...] | Undefined = ()
    speeds: tuple[Speed, ...] | Undefined = NOT_READ
    pay: PayNumbers | None = None
    finals: tuple[FinalMeans, ...] = ()


class StudyNumbers(ABC):
    """All numbers that follow from the ratings of a study.

    A section is computed when it is first read and then cached. Criteria appear as their keys, systems as their
    numbers in the ratings.
    """

    @property
    @abstractmethod
    def ratings(self) -> Sequence[Ratings]:
        """The ratings that count, by criterion."""

    @property
    @abstractmethod
    def systems(self) -> list[int]:
        """Numbers of the systems, ascending."""

    @property
    @abstractmethod
    def people_names(self) -> list[str]:
        """Labels of the annotator codes in the ratings."""

    @property
    @abstractmethod
    def declared(self) -> Collection[str]:
        """Criteria whose tests were declared beforehand."""

    @property
    @abstractmethod
    def margins(self) -> Mapping[str, float]:
        """By criterion, the difference up to which systems count as practically equal, if one was set beforehand."""

    @property
    @abstractmethod
    def groups(self) -> Mapping[str, str]:
        """Annotator → the group that the lead gave them, for those who have one."""

    @property
    @abstractmethod
    def collection(self) -> Collected:
        """Whether data collection was complete, and how strict the tests are until then."""

    @property
    @abstractmethod
    def workers(self) -> list[Worker]:
        """Everybody whose ratings count."""

    @cached_property
    def n_annotations(self) -> int:
        return sum(worker.annotations for worker in self.workers)

    @cached_property
    def n_ratings(self) -> int:
        """Ratings that are not missing."""
        return sum(int((~ratings.missing).sum()) for ratings in self.ratings)

    @cached_property
    def n_items(self) -> int:
        return self._distinct("item")

    @cached_property
    def n_annotators(self) -> int:
        return self._distinct("annotator")

    def _distinct(self, column: str) -> int:
        return len(np.unique(np.concatenate([np.unique(getattr(ratings, column)) for ratings in self.ratings])))

    def ratings_of(self, criterion: str) -> Ratings:
        return next(ratings for ratings in self.ratings if ratings.variable.key == criterion)

    @cached_property
    def criteria(self) -> Sequence[CriterionNumbers]:
        """Per criterion: results of each system, agreement, positions."""
        return tuple(criterion_numbers(ratings, self.systems) for ratings in self.ratings)

    @property
    def agreement(self) -> tuple[Agreement, ...]:
        """Agreement on each criterion."""
        return tuple(result.agreement for result in self.criteria)

    @cached_property
    def not_compared(self) -> dict[str, str]:
        """Criteria that cannot compare systems, with the reason."""
        why = {ratings.variable.key: ratings.variable.not_comparable for ratings in self.ratings}
        return {key: undefined.reason for key, undefined in why.items() if undefined}

    @cached_property
    def compared(self) -> dict[str, ComparedRatings]:
        """The ratings of the criteria that can compare systems."""
        criteria = {ratings.variable.key: compared(ratings) for ratings in self.ratings}
        return {key: of for key, of in criteria.items() if not isinstance(of, Undefined)}

    @cached_property
    def contrasts(self) -> tuple[Contrast, ...]:
        """Every two systems under every criterion that can tell them apart."""
        return contrasts(self.compared, self.systems, self.declared, self.collection.bound, self.margins)

    @cached_property
    def group_agreement(self) -> tuple[GroupAgreement, ...]:
        """Agreement inside each declared group of annotators, per criterion."""
        return tuple(of_groups(self.ratings, self.people_names, self.groups))

    @cached_property
    def group_differences(self) -> tuple[GroupDifference, ...]:
        """Differences of systems in each declared group, and between every two groups."""
        if not self.groups:
            return ()
        comparable = [self.ratings_of(key) for key in self.compared]
        return group_differences(comparable, self.people_names, self.systems, self.groups, self.collection.bound)

    @cached_property
    def camps(self) -> tuple[Hint, ...]:
        """Hints at camps that are not the declared groups."""
        noticed = hints(self.ratings, self.compared, self.people_names, self.systems)
        return tuple(hint for hint in noticed if not self._are_groups(hint.camps))

    def _are_groups(self, camps: Camps) -> bool:
        """Whether each of the two camps is one declared group."""
        first, second = (
            {self.groups.get(self.people_names[code]) for code in side} for side in (camps.first, camps.second)
        )
        return len(first) == len(second) == 1 and first != second

    @cached_property
    def people(self) -> tuple[PeopleOf, ...]:
        """Per criterion: alpha without each annotator, pairs of annotators, reliability."""
        return tuple(people_of(ratings, self.people_names) for ratings in self.ratings)

    @cached_property
    def pairs_over_criteria(self) -> PairMeans | Undefined | None:
        """Means over pairs of annotators, all criteria together; None unless several have the same scale of points."""
        return pairs_over_criteria(self.ratings, self.people_names)

    @cached_property
    def positions(self) -> dict[str, PositionEffect | Undefined]:
        """By criterion: the effect of the position on screen."""
        return {ratings.variable.key: position_of(ratings) for ratings in self.ratings}

    @cached_property
    def effects(self) -> tuple[EffectsOf, ...]:
        """Per criterion: effects of the position on screen and of time."""
        return tuple(
            effects_of(ratings, effect) for ratings, effect in zip(self.ratings, self.positions.values(), strict=True)
        )

    @cached_property
    def ranks(self) -> dict[str, Ranking | Undefined]:
        """By criterion that can compare systems: Friedman's test with Nemenyi's pairs."""
        return {key: or_undefined(ranking, of.table, self.systems) for key, of in self.compared.items()}

    @cached_property
    def strengths(self) -> dict[str, Preferences | Undefined]:
        """By criterion that can compare systems: strengths, for incomplete designs."""
        if len(self.systems) <= 3:
            return dict.fromkeys(self.compared, ALWAYS_TOGETHER)
        return {key: or_undefined(preferences, of.table, self.systems) for key, of in self.compared.items()}

    @cached_property
    def annotators(self) -> tuple[AnnotatorLook, ...]:
        """Diagnostics of individual annotators."""
        return tuple(looks(self.workers, self.ratings, self.people_names))

    @cached_property
    def ordinal_models(self) -> dict[str, tuple[LogitDifference, ...] | Undefined]:
        """Proportional odds under each criterion that can compare systems."""
        return {key: self._ordinal_model(self.ratings_of(key)) for key in self.compared}

    def _ordinal_model(self, ratings: Ratings) -> tuple[LogitDifference, ...] | Undefined:
        if ratings.variable.kind == "best":
            sizes = np.unique(ratings.sets[~np.isnan(ratings.number)], return_counts=True)[1]
            if len(np.unique(sizes)) > 1:
                return UNEQUAL_SETS
        columns = (ratings.number, ratings.item, ratings.annotator, ratings.system, ratings.group)
        return or_undefined(proportional_odds, *columns)


def length_of(ratings: Ratings, words: np.ndarray) -> Correlations | Undefined:
    """Whether longer candidates of an item get higher ratings; words: (n,) length of each one, NaN = no text."""
    has_text = ~np.isnan(words)
    columns = (column[has_text] for column in (ratings.number, ratings.item, ratings.system, words, ratings.group))
    return or_undefined(segment_correlation, *columns)
