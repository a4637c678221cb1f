"""Every number of a study, from its ratings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..comparison import SideBySide
from ..correlation import Correlations
from ..diagnostics import Speed
from ..effects import PositionEffect, length_effect
from ..ordinal_model import OrdinalModel, ordinal_model
from ..spans import SpanAgreement
from ..undefined import Undefined, or_undefined
from .annotators import (
    AnnotatorLook,
    EffectsOf,
    PeopleOf,
    Repeated,
    WithSelf,
    Worker,
    effects_of,
    looks,
    people_of,
    position_of,
)
from .contrasts import Contrast, RankingOf, contrasts, rankings, side_by_side
from .judges import JudgeOf
from .pay import PayNumbers
from .ratings import Ratings
from .systems import Agreement, CriterionNumbers, criterion_numbers

MOST_FITTED = 20_000
TOO_MANY = Undefined(
    f"Not fitted: a report fits the ordinal mixed model to {MOST_FITTED:,} ratings at most; the results page fits it "
    "to more, in minutes."
)
NOT_READ = Undefined("Not defined: the texts were not read.")


@dataclass(frozen=True)
class OrdinalOf:
    """The cumulative-logit mixed model of one criterion."""

    criterion: str
    model: OrdinalModel | Undefined


@dataclass(frozen=True)
class LengthOf:
    """Whether longer candidates are rated higher under one criterion."""

    criterion: str
    correlations: Correlations | Undefined


@dataclass(frozen=True)
class BesideRatings:
    """Analyses of more than the ratings that count; empty where there is nothing to analyse."""

    with_self: tuple[WithSelf, ...] = ()
    repeated: dict[str, Repeated] = field(default_factory=dict)
    lengths: tuple[LengthOf, ...] = ()
    judges: tuple[JudgeOf, ...] = ()
    spans: tuple[SpanAgreement, ...] | Undefined = ()
    speeds: tuple[Speed, ...] | Undefined = NOT_READ
    pay: PayNumbers | None = None


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
        """Per criterion: what each system got, agreement, places."""
        return tuple(criterion_numbers(ratings, self.systems) for ratings in self.ratings)

    @property
    def agreement(self) -> tuple[Agreement, ...]:
        """Agreement on each criterion."""
        return tuple(result.agreement for result in self.criteria)

    @cached_property
    def not_compared(self) -> dict[str, str]:
        """Criteria that cannot tell systems apart, with the reason."""
        why = {ratings.variable.key: ratings.variable.not_comparable for ratings in self.ratings}
        return {key: undefined.reason for key, undefined in why.items() if undefined}

    @cached_property
    def tables(self) -> dict[str, tuple[bool, SideBySide]]:
        """The other criteria: whether their numbers are shares, and their ratings side by side."""
        tables = {ratings.variable.key: (ratings.variable.is_share, side_by_side(ratings)) for ratings in self.ratings}
        return {key: (share, table) for key, (share, table) in tables.items() if not isinstance(table, Undefined)}

    @cached_property
    def contrasts(self) -> tuple[Contrast, ...]:
        """Every two systems under every criterion that can tell them apart."""
        return contrasts(self.tables, self.systems, self.declared)

    @cached_property
    def people(self) -> tuple[PeopleOf, ...]:
        """Per criterion: alpha without each annotator, pairs of annotators, reliability."""
        return tuple(people_of(ratings, self.people_names) for ratings in self.ratings)

    @cached_property
    def positions(self) -> dict[str, PositionEffect | Undefined]:
        """By criterion: what the place on screen does."""
        return {ratings.variable.key: position_of(ratings) for ratings in self.ratings}

    @cached_property
    def effects(self) -> tuple[EffectsOf, ...]:
        """Per criterion: place on screen and order in time."""
        return tuple(
            effects_of(ratings, effect) for ratings, effect in zip(self.ratings, self.positions.values(), strict=True)
        )

    @cached_property
    def rankings(self) -> tuple[RankingOf, ...]:
        """Per criterion: Friedman's test with Nemenyi's pairs, and strengths in incomplete designs."""
        return tuple(rankings(self.tables, self.systems))

    @cached_property
    def annotators(self) -> tuple[AnnotatorLook, ...]:
        """What stands out about single annotators."""
        return tuple(looks(self.workers, self.ratings, self.people_names))

    @property
    def ordinal_models(self) -> tuple[OrdinalOf, ...]:
        """The ordinal model of each criterion that can tell systems apart, as a report prints it."""
        small = {key: len(self.ratings_of(key)) <= MOST_FITTED for key in self.tables}
        return tuple(OrdinalOf(key, self.ordinal_model_of(key) if small[key] else TOO_MANY) for key in self.tables)

    def ordinal_model_of(self, criterion: str) -> OrdinalModel | Undefined:
        """The ordinal model of one criterion: seconds for thousands of ratings, more for many systems."""
        if criterion not in self._models:
            ratings = self.ratings_of(criterion)
            self._models[criterion] = or_undefined(
                ordinal_model, ratings.number, ratings.item, ratings.annotator, ratings.system
            )
        return self._models[criterion]

    @cached_property
    def _models(self) -> dict[str, OrdinalModel | Undefined]:
        return {}


def length_of(ratings: Ratings, words: np.ndarray) -> LengthOf:
    """Whether longer candidates get higher ratings; words: (n,) of the candidate of each rating, NaN = no text."""
    has_text = ~np.isnan(words)
    columns = (column[has_text] for column in (ratings.number, ratings.item, ratings.system, words))
    return LengthOf(ratings.variable.key, or_undefined(length_effect, *columns))
