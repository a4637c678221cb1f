"""One tidy frame of ratings per study, and which of its ratings the numbers count."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

import pandas as pd

from triptych.results.frame.collection import Planned
from triptych.rubric.model import Rubric
from triptych.stats.numbers import joined_words
from triptych.storage.models import JsonObject, Kind, Study
from triptych.study.lifecycle import Design
from triptych.study.settings import StudySettings

ABOUT_ITEM = 0  # as in stats.analysis.ratings, which imports SciPy
UNKNOWN_POSITION = -1
MOST_VALUES = 30

StudyName: TypeAlias = tuple[int, str, str]


@dataclass(frozen=True, eq=False)
class Frame:
    """All finished main work of one study, as of one event.

    work: one row per assignment: assignment, annotator, kind, item, state (submitted, surplus, ignored, skipped),
    excluded, active_seconds, assigned_at, submitted_at (UTC; of the last change), in_place (it fills a place while its
    annotator is not excluded).
    ratings: one row per rating: the other columns of its work, and system (blind code; 0 about the item), position
    (0, 1, 2; -1 not known or about the item), criterion, value (NaN where an option was chosen or it is missing),
    option, missing, reasons (their keys, joined by commas), explanation. Labels are categories. The order of the
    rows means nothing.
    meta: item id → its fields in the items file. leads: pseudonyms of all who lead or led the study. name: its key in
    caches. settings: the study's settings, some of them about the analysis. planned: the planned collection. late:
    assignments that leads handed in or changed after unblinding. watched: whether this is the reduced frame that a
    viewer sees, see `participants.watching`. called: pseudonym → the name that the frame has instead, in the frame of a
    viewer or an archive.
    """

    design: Design
    round: str
    number: int
    work: pd.DataFrame
    ratings: pd.DataFrame
    meta: dict[str, JsonObject]
    leads: frozenset[str]
    unblinded_at: datetime | None
    name: StudyName
    settings: StudySettings = StudySettings()
    planned: Planned = Planned()
    late: frozenset[int] = frozenset()
    watched: bool = False
    called: Mapping[str, str] = field(default_factory=dict)

    @property
    def rubric(self) -> Rubric:
        return self.design.rubric

    @property
    def systems(self) -> list[int]:
        """Blind codes of the systems that have a rating."""
        return sorted(code for code in self.ratings["system"].unique().tolist() if code != ABOUT_ITEM)

    @property
    def kinds(self) -> list[str]:
        """Kinds of the people whose work is in the frame."""
        return sorted(self.work["kind"].unique().tolist())

    @property
    def fields(self) -> dict[str, list[str]]:
        """Field → its values, for fields of the items that a filter can use: not the same for all items, nor unique."""
        values: dict[str, set[str]] = defaultdict(set)
        for meta in self.meta.values():
            for name, value in meta.items():
                if isinstance(value, str | int | float | bool):
                    values[name].add(str(value))
        most = min(MOST_VALUES, max(len(self.meta) - 1, 1))
        return {name: sorted(distinct) for name, distinct in sorted(values.items()) if 1 < len(distinct) <= most}

    def after_unblinding(self, rows: pd.DataFrame) -> pd.Series:
        """Which rows (of work or ratings) somebody submitted after unblinding who leads or led the study."""
        return rows["assignment"].isin(self.late)


@dataclass(frozen=True)
class Counted:
    """The filters of the results: which ratings all numbers count.

    kinds: kinds of people. with_ignored: include items that most raters ignored. with_excluded: include excluded
    annotators. annotators: only ratings by these, empty for all. field, value: only items whose field in the items file
    has this value.
    """

    kinds: frozenset[str] = frozenset({Kind.human.value})
    with_ignored: bool = False
    with_excluded: bool = False
    annotators: frozenset[str] = frozenset()
    field: str = ""
    value: str = ""

    @property
    def sentence(self) -> str:
        """The filters in words, as a report prints them."""
        parts = [f"Ratings by {joined_words(sorted(self.kinds)) or 'no'} annotators"]
        if self.annotators:
            parts.append(f"only by {', '.join(sorted(self.annotators))}")
        if self.field:
            parts.append(f"only items with {self.field} = {self.value}")
        parts.append(f"{'with' if self.with_excluded else 'without'} those of excluded annotators")
        parts.append(f"{'with' if self.with_ignored else 'without'} items that most annotators ignored")
        return "; ".join(parts) + "."


def name_of(study: Study) -> StudyName:
    return study.id, study.seed, study.created_at.isoformat()
