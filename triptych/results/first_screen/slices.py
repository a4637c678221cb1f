"""One criterion on parts of the items: estimates for every value of a field, tests where the field was declared."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from triptych.results.frame.counted import field_value
from triptych.results.study_analysis import StudyAnalysis
from triptych.stats.analysis.contrasts import Contrast, compared, contrasts
from triptych.stats.analysis.systems import SystemResult, system_result
from triptych.stats.undefined import Undefined


@dataclass(frozen=True)
class Slice:
    """Items with one value of a field. contrasts: adjusted over all its values; empty unless the field was declared."""

    value: str
    items: int
    systems: tuple[SystemResult, ...]
    contrasts: tuple[Contrast, ...]


def slices(analysis: StudyAnalysis, criterion: str, field: str) -> tuple[Slice, ...]:
    """The counted ratings of a criterion by the values of a field of the items file, in the field's order.

    All declared fields share the bound of the tests (Bonferroni).
    """
    ratings, frame = analysis.ratings_of(criterion), analysis.frame
    values = np.array([field_value(frame, item, field) for item in analysis.item_names], dtype=object)
    of_rating = values[ratings.item]
    parts = {value: ratings.take(np.flatnonzero(of_rating == value)) for value in frame.fields.get(field, [])}
    parts = {value: part for value, part in parts.items() if len(part)}
    tested: tuple[Contrast, ...] = ()
    if field in analysis.declared_fields:
        sides = {value: compared(part) for value, part in parts.items()}
        defined = {value: of for value, of in sides.items() if not isinstance(of, Undefined)}
        tested = contrasts(defined, analysis.systems, (), analysis.collection.bound / len(analysis.declared_fields))
    return tuple(
        Slice(
            value,
            len(np.unique(part.item)),
            tuple(system_result(code, part.of_system(code)) for code in analysis.systems),
            tuple(replace(contrast, criterion=criterion) for contrast in tested if contrast.criterion == value),
        )
        for value, part in parts.items()
    )
