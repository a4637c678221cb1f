"""The data of a report: the ratings and annotations behind its numbers, without annotators' own texts.

Explanations, comments, and the reasons of imports in annotators' own words are left out, so that a stored report never
contains what somebody may want erased; exports contain them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from triptych.formats.long_csv import Cell
from triptych.formats.writers.writing import spreadsheet
from triptych.privacy import scrub
from triptych.reports.cells import Table
from triptych.reports.further import beside
from triptych.reports.html import readable
from triptych.reports.numbers import HEADER, Book
from triptych.results.adjudication import FinalValue
from triptych.results.criterion import group_names
from triptych.results.frame.counted import counting
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.texts import WHOLE, words_of

MOMENT = "%Y-%m-%dT%H:%M:%S.%fZ"
# column → function that gets its cell from a row of a table of the frame, with the columns that this module adds
Columns = dict[str, Callable[[Any], Cell]]
WHOSE: Columns = {
    "annotation": lambda row: row.assignment,
    "annotator": lambda row: row.annotator,
    "annotator_kind": lambda row: row.kind,
    "item_id": lambda row: row.item,
}
TIMES: Columns = {
    "assigned_at": lambda row: row.assigned_at.strftime(MOMENT),
    "submitted_at": lambda row: row.submitted_at.strftime(MOMENT),
    "active_seconds": lambda row: round(row.active_seconds, 1),
}
RATINGS: Columns = {
    **WHOSE,
    "system": lambda row: row.system_name,
    "position": lambda row: int(row.position) if row.position >= 0 else None,
    "criterion": lambda row: row.criterion,
    "value": lambda row: None if pd.isna(row.value) else float(row.value),
    "option": lambda row: row.option if isinstance(row.option, str) else None,
    "missing": lambda row: int(row.missing),
    "reasons": lambda row: row.reasons,
    "surplus": lambda row: int(row.state == "surplus"),
    "excluded": lambda row: int(row.excluded),
    "counted": lambda row: int(row.counted),
    "beside": lambda row: int(row.beside),
    "item_group": lambda row: row.item_group,
    "final_value": lambda row: None if isinstance(row.final, str) else row.final,
    "final_option": lambda row: row.final if isinstance(row.final, str) else None,
    "words": lambda row: None if pd.isna(row.words) else int(row.words),
    **TIMES,
}
ANNOTATIONS: Columns = {
    **WHOSE,
    "state": lambda row: row.state,
    "excluded": lambda row: int(row.excluded),
    "after_unblinding": lambda row: int(row.late),
    "counted": lambda row: int(row.counted),
    "words_to_read": lambda row: row.words_to_read,
    **TIMES,
}
RATINGS_HEADER, ANNOTATIONS_HEADER = tuple(RATINGS), tuple(ANNOTATIONS)
HIGHLIGHTS_HEADER = ("item_id", "system", "turn", "characters", "annotator", "start", "end", "label")


def rating_rows(
    analysis: StudyAnalysis, words: pd.Series | None = None, finals: Mapping[str, FinalValue] | None = None
) -> Iterator[tuple[Cell, ...]]:
    """All ratings of the frame in a stable order, with a mark whether they count in this report.

    words: length of each candidate, by (item, system). finals: item → its final values.
    """
    rows, groups = analysis.frame.ratings, group_names(analysis.frame)
    rubric_words = scrub.words_of(analysis.frame.rubric)
    order = [criterion.key for criterion in analysis.frame.rubric.asked(analysis.frame.round)]
    values = {(item, *of): value for item, final in (finals or {}).items() for of, value in final.values.items()}
    labels = {
        "system_name": [analysis.names.get(code) for code in rows["system"]],
        "item_group": [groups[item] for item in rows["item"]],
        "final": [values.get(of) for of in zip(rows["item"], rows["system"], rows["criterion"], strict=True)],
    }
    rows = rows.assign(
        counted=counting(analysis.frame, analysis.scope),
        beside=beside(analysis),
        words=np.nan if words is None else words_of(rows, words),
        place=[order.index(key) for key in rows["criterion"]],
        reasons=[";".join(key for key in keys.split(",") if key in rubric_words) for keys in rows["reasons"]],
        **{name: pd.Series(column, rows.index, dtype=object) for name, column in labels.items()},
    )
    return _cells(rows.sort_values(["assignment", "place", "position", "system"]), RATINGS)


def annotation_rows(analysis: StudyAnalysis, reading: Mapping[int, int]) -> Iterator[tuple[Cell, ...]]:
    """All finished annotations of the main work, with a mark whether their ratings count in this report.

    reading: the number of words to read for each annotation.
    """
    work = analysis.frame.work
    counted = work["assignment"].isin(analysis.work["assignment"])
    words = pd.Series([reading.get(number) for number in work["assignment"]], work.index, dtype=object)
    rows = work.assign(late=analysis.frame.after_unblinding(work), counted=counted, words_to_read=words)
    return _cells(rows.sort_values("assignment"), ANNOTATIONS)


def _cells(rows: pd.DataFrame, columns: Columns) -> Iterator[tuple[Cell, ...]]:
    return (tuple(cell(row) for cell in columns.values()) for row in rows.itertuples())


def highlight_rows(analysis: StudyAnalysis, readings: pd.DataFrame | None) -> Iterator[tuple[Cell, ...]]:
    """Readings of texts by annotators who count, with their highlights; a reading without highlights has no start."""
    if readings is None:
        return
    for row in readings.sort_values(["item", "system", "turn", "annotator", "start", "end", "label"]).itertuples():
        ends = (None, None) if pd.isna(row.start) else (int(row.start), int(row.end))
        turn = None if row.turn == WHOLE else row.turn
        system = None if row.place == "context" else analysis.names[row.system]
        yield row.item, system, turn, row.length, row.annotator, *ends, row.label or None


def number_rows(book: Book, sha256: str) -> Iterator[tuple[Cell, ...]]:
    """The rows of results.csv, in the order of HEADER."""
    for number in book.numbers:
        where = (number.part, number.criterion, number.system, number.baseline, number.statistic)
        value = int(number.value) if number.style == "count" and number.value is not None else number.value
        yield (sha256, *where, value, number.style, number.printed)


def workbook(tables: Sequence[Table], book: Book, sha256: str) -> bytes:
    """One sheet per table, as printed, and one with every number."""
    sheets: dict[str, list[Sequence[Cell]]] = {}
    for table in tables:
        cells = ([cell.text for cell in row] for row in table.rows)
        sheets[table.name[:31]] = [table.header, *cells, *([note] for note in table.notes)]
    sheets["numbers"] = [HEADER, *number_rows(book, sha256)]
    return spreadsheet({name: map(_readable, rows) for name, rows in sheets.items()})


def _readable(row: Sequence[Cell]) -> list[Cell]:
    return [readable(cell) if isinstance(cell, str) else cell for cell in row]
