"""The analysis of a study: every number that a page or a report prints, of one frame and one set of filters.

A section is computed when it is first read and then kept, so that a page pays for what it shows; a report reads all
of them. Whatever the data do not define is a sentence in the place of the number.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from triptych.results.annotators import AnnotatorLook, EffectsOf, PeopleOf, effects_of, looks, people_of, position_of
from triptych.results.contrasts import (
    Contrast,
    Example,
    RankingOf,
    contrasts,
    examples,
    family_of,
    not_comparable,
    rankings,
    side_by_side,
)
from triptych.results.criterion import (
    Agreement,
    CriterionResult,
    Ratings,
    criterion_ratings,
    criterion_result,
    or_words,
)
from triptych.results.disagreement import Disagreement, disagreement
from triptych.results.frame.counted import counted_ratings, counted_work, mostly_ignored
from triptych.results.frame.model import Counted, Frame, StudyName
from triptych.results.judges import metrics_in
from triptych.results.texts import Texts
from triptych.results.warnings import Finding, NotRun, all_findings, all_not_run, findings, not_run
from triptych.stats.columns import codes
from triptych.stats.comparison import SideBySide
from triptych.stats.correlation import Correlations
from triptych.stats.effects import PositionEffect, length_effect
from triptych.stats.ordinal_model import OrdinalModel, ordinal_model
from triptych.stats.spans import SpanAgreement, span_agreement
from triptych.storage.models import RATED

KEPT = 8
MOST_FITTED = 20_000
TOO_MANY = (
    f"Not fitted: a report fits the ordinal mixed model to {MOST_FITTED:,} ratings at most; the results page fits it "
    "to more, in minutes."
)


@dataclass(frozen=True)
class OrdinalOf:
    """The cumulative-logit mixed model of one criterion."""

    criterion: str
    model: OrdinalModel | str


@dataclass(frozen=True)
class LengthOf:
    """Whether longer candidates are rated higher under one criterion."""

    criterion: str
    correlations: Correlations | str


@dataclass(frozen=True, eq=False)
class StudyAnalysis:
    """All numbers of a study under one set of filters.

    frame, scope: what they are made of; names: blind code → what a reader calls a system. Criteria stand as their
    keys, systems as blind codes.
    """

    frame: Frame
    scope: Counted
    names: dict[int, str]

    def name(self, system: int) -> str:
        return self.names.get(system, "The item")

    def title(self, criterion: str) -> str:
        return next(one.criterion.title for one in self.ratings if one.criterion.key == criterion)

    @cached_property
    def ratings(self) -> tuple[Ratings, ...]:
        """The ratings that count, by criterion."""
        return criterion_ratings(self.frame, self.scope)

    @cached_property
    def counted_frame(self) -> Frame:
        """The frame with nothing in it but the ratings that count, as a list of ratings needs it."""
        return replace(self.frame, ratings=counted_ratings(self.frame, self.scope))

    def ratings_of(self, criterion: str) -> Ratings:
        return next(one for one in self.ratings if one.criterion.key == criterion)

    @cached_property
    def work(self) -> pd.DataFrame:
        """The annotations with ratings that count."""
        work = counted_work(self.frame, self.scope)
        return work[work["state"].isin(RATED)]

    @cached_property
    def kinds(self) -> list[str]:
        """Kinds of the people whose annotations count."""
        return sorted(self.work["kind"].unique())

    @property
    def n_annotations(self) -> int:
        return len(self.work)

    @cached_property
    def n_ratings(self) -> int:
        """Ratings that are not missing."""
        return sum(int((~one.missing).sum()) for one in self.ratings)

    @cached_property
    def n_items(self) -> int:
        return self._distinct("item")

    @cached_property
    def n_annotators(self) -> int:
        return self._distinct("annotator")

    def _distinct(self, column: str) -> int:
        return len(np.unique(np.concatenate([np.unique(getattr(one, column)) for one in self.ratings])))

    @property
    def item_names(self) -> pd.Index:
        """Labels of the item codes in the ratings."""
        return self.frame.ratings["item"].cat.categories

    @property
    def annotator_names(self) -> pd.Index:
        """Labels of the annotator codes in the ratings."""
        return self.frame.ratings["annotator"].cat.categories

    @cached_property
    def criteria(self) -> tuple[CriterionResult, ...]:
        """Per criterion: what each system got, agreement, places, reasons."""
        return tuple(criterion_result(self.frame, one) for one in self.ratings)

    @cached_property
    def judged(self) -> tuple[CriterionResult, ...]:
        """The criteria that annotators were asked: all but metrics, which judges alone gave."""
        metrics = metrics_in(self.frame, self.ratings)
        return tuple(one for one in self.criteria if one.criterion.key not in metrics)

    @property
    def agreement(self) -> tuple[Agreement, ...]:
        """Agreement on each criterion."""
        return tuple(one.agreement for one in self.criteria)

    @cached_property
    def not_compared(self) -> dict[str, str]:
        """Criteria that cannot tell systems apart, with the reason."""
        why = {one.criterion.key: not_comparable(one.criterion) for one in self.ratings}
        return {key: words for key, words in why.items() if words}

    @cached_property
    def tables(self) -> dict[str, tuple[bool, SideBySide]]:
        """The other criteria: whether their numbers are shares, and their ratings side by side."""
        found = {
            one.criterion.key: (one.criterion.scale.kind in ("best", "choice"), side_by_side(one))
            for one in self.ratings
        }
        return {key: pair for key, pair in found.items() if not isinstance(pair[1], str)}

    def rater_names(self, criterion: str) -> list[str]:
        """Labels of the annotator codes in the table of a criterion."""
        one = self.ratings_of(criterion)
        _, distinct = codes(one.annotator[~np.isnan(one.number)])
        return self.annotator_names[distinct].tolist()

    @cached_property
    def contrasts(self) -> tuple[Contrast, ...]:
        """Every two systems under every criterion that can tell them apart."""
        return contrasts(self.tables, self.frame.systems, self.frame.settings.preregistration.family)

    def contrasts_of(self, criterion: str) -> tuple[Contrast, ...]:
        return tuple(one for one in self.contrasts if one.criterion == criterion)

    @property
    def family(self) -> str:
        """Which tests the adjusted p-values are adjusted over."""
        titles = {key: self.title(key) for key in self.tables}
        return family_of(self.contrasts, titles, bool(self.frame.settings.preregistration.family))

    @cached_property
    def other_way(self) -> tuple[Contrast, ...] | None:
        """The contrasts with excluded annotators where they are left out, or the reverse; None if there are none."""
        if not self.frame.work["excluded"].any():
            return None
        return self._contrasts_under(replace(self.scope, with_excluded=not self.scope.with_excluded))

    @cached_property
    def ignored_other_way(self) -> tuple[Contrast, ...] | None:
        """The same with items that most annotators ignored."""
        if not mostly_ignored(self.frame, self.scope):
            return None
        return self._contrasts_under(replace(self.scope, with_ignored=not self.scope.with_ignored))

    def _contrasts_under(self, other: Counted) -> tuple[Contrast, ...]:
        return StudyAnalysis(self.frame, other, self.names).contrasts

    def examples(self, contrast: Contrast) -> tuple[Example, ...]:
        """Items that speak for and against a contrast."""
        return examples(self.ratings_of(contrast.criterion), self.item_names, contrast)

    @cached_property
    def people(self) -> tuple[PeopleOf, ...]:
        """Per criterion: alpha without each annotator, pairs of annotators, reliability."""
        return tuple(people_of(one, self.annotator_names) for one in self.ratings)

    @cached_property
    def positions(self) -> dict[str, PositionEffect | str]:
        """By criterion: what the place on screen does."""
        return {one.criterion.key: position_of(one) for one in self.ratings}

    @cached_property
    def effects(self) -> tuple[EffectsOf, ...]:
        """Per criterion: place on screen and order in time."""
        return tuple(effects_of(one, found) for one, found in zip(self.ratings, self.positions.values(), strict=True))

    @cached_property
    def rankings(self) -> tuple[RankingOf, ...]:
        """Per criterion: Friedman's test with Nemenyi's pairs, and strengths in incomplete designs."""
        return tuple(rankings(self.tables, self.frame.systems))

    @cached_property
    def annotators(self) -> tuple[AnnotatorLook, ...]:
        """What stands out about single annotators."""
        return tuple(looks(self.frame, self.scope, self.ratings, self.annotator_names.tolist()))

    @cached_property
    def disagreement(self) -> Disagreement:
        """By item and by annotator."""
        return disagreement(self.ratings, self.item_names, self.annotator_names)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What would change the conclusion, first things first, as far as it is known at once."""
        return findings(self)

    @cached_property
    def all_findings(self) -> tuple[Finding, ...]:
        """The same with what only a look at every annotator and every place tells: seconds for 100,000 ratings."""
        return all_findings(self)

    @cached_property
    def not_run(self) -> tuple[NotRun, ...]:
        """Checks that these data do not allow."""
        return not_run(self)

    @cached_property
    def all_not_run(self) -> tuple[NotRun, ...]:
        """The same with the ordinal model, which takes seconds."""
        return all_not_run(self)

    @property
    def ordinal_models(self) -> tuple[OrdinalOf, ...]:
        """The ordinal model of each criterion that can tell systems apart, as a report prints it."""
        small = {key: len(self.ratings_of(key)) <= MOST_FITTED for key in self.tables}
        return tuple(OrdinalOf(key, self.ordinal_model_of(key) if small[key] else TOO_MANY) for key in self.tables)

    def ordinal_model_of(self, criterion: str) -> OrdinalModel | str:
        """The ordinal model of one criterion: seconds for thousands of ratings, more for many systems."""
        if criterion not in self._models:
            one = self.ratings_of(criterion)
            self._models[criterion] = or_words(ordinal_model, one.number, one.item, one.annotator, one.system)
        return self._models[criterion]

    @cached_property
    def _models(self) -> dict[str, OrdinalModel | str]:
        return {}


_kept: dict[StudyName, tuple[Frame, dict[Counted, StudyAnalysis]]] = {}
_lock = threading.Lock()


def analyse(frame: Frame, scope: Counted, names: dict[int, str]) -> StudyAnalysis:
    """The analysis of a frame under these filters; kept until the study's frame changes."""
    with _lock:
        of, analyses = _kept.get(frame.name, (None, {}))
        if of is not frame:
            _kept[frame.name] = frame, (analyses := {})
        found = analyses.get(scope)
        if found is None or found.names != names:
            if len(analyses) >= KEPT:
                del analyses[next(iter(analyses))]
            found = analyses[scope] = StudyAnalysis(frame, scope, names)
        return found


def lengths(one: StudyAnalysis, texts: Texts) -> tuple[LengthOf, ...]:
    """Per criterion that can tell systems apart: do longer candidates get higher ratings?"""
    if texts.pieces.empty:
        why = "Not defined: the candidates have no text."
        return tuple(LengthOf(key, why) for key in one.tables)
    words = texts.words
    return tuple(_length(one, one.ratings_of(key), words) for key in one.tables)


def _length(one: StudyAnalysis, ratings: Ratings, words: pd.Series) -> LengthOf:
    place = pd.MultiIndex.from_arrays([one.item_names[ratings.item], ratings.system])
    length = words.reindex(place).to_numpy(dtype=float)
    known = ~np.isnan(length)
    columns = (column[known] for column in (ratings.number, ratings.item, ratings.system, length))
    return LengthOf(ratings.criterion.key, or_words(length_effect, *columns))


def spans(readings: pd.DataFrame) -> tuple[SpanAgreement, ...] | str:
    """Agreement on highlights, of rows as triptych.results.texts.readings_of gives them."""
    columns = ("text", "length", "annotator", "start", "end", "label")
    return or_words(span_agreement, *(readings[name] for name in columns))
