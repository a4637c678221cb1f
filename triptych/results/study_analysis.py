"""The analysis of a study: every number that a page or a report prints, for one frame and one set of filters. A section
is computed when first read and then cached, so that a page computes only what it shows; a report reads all of them.
Where the data do not define a number, a sentence says why.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import pandas as pd

from triptych.formats.model import MAX_GROUPS
from triptych.results.annotators import workers
from triptych.results.criterion import CriterionResult, StudyRatings, criterion_ratings, criterion_result
from triptych.results.disagreement import Disagreement, disagreement
from triptych.results.evidence import Example, examples, family_of
from triptych.results.frame.collection import collection
from triptych.results.frame.counted import counted_ratings, counted_work, mostly_ignored
from triptych.results.frame.model import Counted, Frame, StudyName
from triptych.results.judges import metrics_in
from triptych.results.texts import Texts, words_of
from triptych.stats.analysis.annotators import Worker
from triptych.stats.analysis.collection import NOT_TESTED, Collected
from triptych.stats.analysis.contrasts import Contrast
from triptych.stats.analysis.study import StudyNumbers, length_of
from triptych.stats.correlation import Correlations
from triptych.stats.numbers import joined_words, written
from triptych.stats.spans import SpanAgreement, span_agreement
from triptych.stats.undefined import Undefined, or_undefined
from triptych.storage.models import Kind

MAX_ANALYSES = 8  # per study
INTERIM_ESTIMATES = "Interim: estimates without tests until collection is over, as decided before launch."
UNDECLARED_SLICE = "Estimates without tests: these items are a slice by a field that was not declared before launch."
CHOSEN_ANNOTATORS = (
    "Estimates without tests: these are the ratings of annotators that a filter selects, who may have been chosen by "
    "how they rated."
)


@dataclass(frozen=True, eq=False)
class StudyAnalysis(StudyNumbers):
    """All numbers of a study under one set of filters.

    frame, scope: the data and filters that they are computed from; names: blind code → the system's name for readers.
    Criteria are identified by their keys, systems by blind codes.
    """

    frame: Frame
    scope: Counted
    names: dict[int, str]

    def name(self, system: int) -> str:
        return self.names.get(system, "The item")

    def renamed(self, names: dict[int, str]) -> StudyAnalysis:
        """The same numbers, with other names of the systems."""
        other = copy(self)  # not `replace`, which would compute them again
        vars(other)["names"] = names
        return other

    def title(self, criterion: str) -> str:
        """Raises KeyError for a criterion that the rubric does not have."""
        return {ratings.variable.key: ratings.variable.title for ratings in self.ratings}[criterion]

    @property
    def titles(self) -> dict[str, str]:
        """Key → title of every criterion with results."""
        return {result.criterion.key: result.criterion.title for result in self.criteria}

    @cached_property
    def ratings(self) -> tuple[StudyRatings, ...]:
        """The ratings that count, by criterion."""
        return criterion_ratings(self.frame, self.scope)

    def ratings_of(self, criterion: str) -> StudyRatings:
        return next(ratings for ratings in self.ratings if ratings.variable.key == criterion)

    @property
    def systems(self) -> list[int]:
        return self.frame.systems

    @cached_property
    def people_names(self) -> list[str]:
        return self.frame.ratings["annotator"].cat.categories.tolist()

    @property
    def declared(self) -> Collection[str]:
        return self.frame.settings.preregistration.family

    @property
    def margins(self) -> Mapping[str, float]:
        return self.frame.settings.preregistration.margins

    @cached_property
    def groups(self) -> Mapping[str, str]:
        """Annotator → their group; empty if all whose ratings count are in the same group, or there are too many groups
        to compare, as in studies of earlier versions.
        """
        groups = self.frame.settings.annotator_groups
        has_several = len({groups.get(worker.annotator) for worker in self.workers}) > 1
        return groups if has_several and len({*groups.values()}) <= MAX_GROUPS else {}

    @cached_property
    def collection(self) -> Collected:
        """Collection of the whole study, whatever the filters; the bound of the tests depends on them.

        Under filters that may have been chosen by the ratings, nothing is tested. The values of all declared fields
        share the bound (Bonferroni), as each of them can be selected.
        """
        declaration = self.frame.settings.preregistration
        collected = collection(self.frame.planned, self.frame.work, declaration)
        return replace(collected, bound=0 if self._undeclared else collected.bound / self._values)

    @property
    def _undeclared(self) -> str:
        """Why nothing is tested under these filters; empty if they were declared before launch, or select nothing."""
        field = self.scope.field
        if field and field not in self.frame.settings.preregistration.slices:
            return UNDECLARED_SLICE
        return CHOSEN_ANNOTATORS if self.scope.annotators else ""

    @cached_property
    def declared_fields(self) -> dict[str, list[str]]:
        """Declared field of the items → its values, each of which the filters can select."""
        slices = self.frame.settings.preregistration.slices
        return {field: values for field, values in self.frame.fields.items() if field in slices}

    @property
    def _values(self) -> int:
        """How many values the filters can select, if they select the items by one; otherwise 1."""
        return max(sum(map(len, self.declared_fields.values())), 1) if self.scope.field else 1

    @property
    def untested(self) -> str:
        """Why estimates are shown without tests; empty where differences are tested."""
        if self._undeclared:
            return self._undeclared
        return INTERIM_ESTIMATES if self.collection.untested else ""

    @cached_property
    def workers(self) -> list[Worker]:
        return list(workers(self.frame, self.scope))

    @cached_property
    def counted_frame(self) -> Frame:
        """The frame reduced to the ratings that count, for the list of ratings."""
        return replace(self.frame, ratings=counted_ratings(self.frame, self.scope))

    @cached_property
    def work(self) -> pd.DataFrame:
        """The annotations with ratings that count."""
        return counted_work(self.frame, self.scope)

    @cached_property
    def kinds(self) -> list[str]:
        """Kinds of the people whose annotations count."""
        return sorted(self.work["kind"].unique())

    @property
    def n_judges(self) -> int:
        """How many of the annotators are judge models."""
        return sum(worker.kind == Kind.judge for worker in self.workers)

    @property
    def item_names(self) -> pd.Index:
        """Labels of the item codes in the ratings."""
        return self.frame.ratings["item"].cat.categories

    @cached_property
    def criteria(self) -> tuple[CriterionResult, ...]:
        """Per criterion: results of each system, agreement, positions, reasons."""
        return tuple(criterion_result(self.frame, ratings) for ratings in self.ratings)

    @cached_property
    def judged(self) -> tuple[CriterionResult, ...]:
        """The criteria that annotators were asked: all except metrics, which only judges scored."""
        metrics = metrics_in(self.frame, self.ratings)
        return tuple(result for result in self.criteria if result.criterion.key not in metrics)

    def contrasts_of(self, criterion: str) -> tuple[Contrast, ...]:
        return tuple(contrast for contrast in self.contrasts if contrast.criterion == criterion)

    @property
    def family(self) -> str:
        """Which tests the adjusted p-values are adjusted over."""
        if self._undeclared:
            return self._undeclared
        if self.collection.untested:
            return NOT_TESTED
        titles = {key: self.title(key) for key in self.compared}
        family = family_of(self.contrasts, titles, bool(self.declared))
        if self._values == 1 or not any(contrast.p_holm is not None for contrast in self.contrasts):
            return family
        fields = joined_words([*self.declared_fields])
        shared = f"The items are those of one of {self._values} values of {fields}, which share the bound: "
        bound = written(self.collection.bound, "bound")
        return f"{family} {shared}a difference is clear with an adjusted p below {bound}."

    @cached_property
    def other_way(self) -> StudyAnalysis | None:
        """The analysis with excluded annotators if the filters leave them out, or without them if not.

        None if nobody was excluded.
        """
        if not self.frame.work["excluded"].any():
            return None
        return self._under(replace(self.scope, with_excluded=not self.scope.with_excluded))

    @cached_property
    def ignored_other_way(self) -> StudyAnalysis | None:
        """Like `other_way`, for items that most annotators ignored."""
        if not mostly_ignored(self.frame, self.scope):
            return None
        return self._under(replace(self.scope, with_ignored=not self.scope.with_ignored))

    def _under(self, other: Counted) -> StudyAnalysis:
        return StudyAnalysis(self.frame, other, self.names)

    def examples(self, contrast: Contrast) -> tuple[Example, ...]:
        """Items that support or contradict a contrast."""
        return examples(self.ratings_of(contrast.criterion), self.item_names, contrast)

    @cached_property
    def disagreement(self) -> Disagreement:
        """Disagreement by item and by annotator."""
        return disagreement(self.ratings, self.item_names, self.people_names)


_analyses: dict[StudyName, tuple[Frame, dict[Counted, StudyAnalysis]]] = {}
_lock = threading.Lock()


def analyse(frame: Frame, scope: Counted, names: dict[int, str]) -> StudyAnalysis:
    """The analysis of a frame under these filters, cached until the study's frame changes."""
    with _lock:
        of, analyses = _analyses.get(frame.name, (None, {}))
        if of is not frame:
            _analyses[frame.name] = frame, (analyses := {})
        analysis = analyses.get(scope)
        if analysis is None or analysis.names != names:
            if len(analyses) >= MAX_ANALYSES:
                del analyses[next(iter(analyses))]
            analysis = analyses[scope] = StudyAnalysis(frame, scope, names)
        return analysis


def lengths(analysis: StudyAnalysis, texts: Texts) -> dict[str, Correlations | Undefined]:
    """Per criterion that can tell systems apart: do longer candidates get higher ratings?"""
    if texts.pieces.empty:
        why = Undefined("Not defined: the candidates have no text.")
        return dict.fromkeys(analysis.compared, why)
    words = words_of(analysis.frame.ratings, texts.words)
    compared = map(analysis.ratings_of, analysis.compared)
    return {ratings.variable.key: length_of(ratings, words[ratings.rows]) for ratings in compared}


def spans(readings: pd.DataFrame) -> tuple[SpanAgreement, ...] | Undefined:
    """Agreement on highlights; readings: rows from `results.texts.readings_of`."""
    columns = ("text", "length", "annotator", "start", "end", "label", "place")
    return or_undefined(span_agreement, *(readings[name] for name in columns))
