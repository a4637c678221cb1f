"""The data of a report: the ratings and annotations behind its numbers, without annotators' own texts.

Explanations and comments are left out, so that a stored report never contains what somebody may want erased; exports
contain them.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from openpyxl import Workbook

from triptych.formats.long_csv import Cell, safe_text
from triptych.reports.cells import Table
from triptych.reports.further import beside
from triptych.reports.html import readable
from triptych.reports.numbers import HEADER, Book
from triptych.results.adjudication import FinalValue
from triptych.results.criterion import group_names
from triptych.results.frame.counted import counting
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.texts import WHOLE, words_of

RATINGS_HEADER = (
    "annotation",
    "annotator",
    "annotator_kind",
    "item_id",
    "system",
    "position",
    "criterion",
    "value",
    "option",
    "missing",
    "reasons",
    "surplus",
    "excluded",
    "counted",
    "beside",
    "item_group",
    "final_value",
    "final_option",
    "words",
    "assigned_at",
    "submitted_at",
    "active_seconds",
)
ANNOTATIONS_HEADER = (
    "annotation",
    "annotator",
    "annotator_kind",
    "item_id",
    "state",
    "excluded",
    "after_unblinding",
    "counted",
    "words_to_read",
    "assigned_at",
    "submitted_at",
    "active_seconds",
)
HIGHLIGHTS_HEADER = ("item_id", "system", "turn", "characters", "annotator", "start", "end", "label")


def rating_rows(
    analysis: StudyAnalysis, words: pd.Series | None = None, finals: Mapping[str, FinalValue] | None = None
) -> Iterator[tuple[Cell, ...]]:
    """All ratings of the frame in a stable order, with a mark whether they count in this report.

    words: length of each candidate, by (item, system). finals: item → its final values.
    """
    counted = counting(analysis.frame, analysis.scope)
    lengths = np.nan if words is None else words_of(analysis.frame.ratings, words)
    groups = group_names(analysis.frame)
    ratings = analysis.frame.ratings.assign(counted=counted, beside=beside(analysis), words=lengths)
    order = [criterion.key for criterion in analysis.frame.rubric.asked(analysis.frame.round)]
    ratings = ratings.assign(place=[order.index(key) for key in ratings["criterion"]])
    for row in ratings.sort_values(["assignment", "place", "position", "system"]).itertuples():
        yield (
            *_work(row),
            analysis.names.get(row.system),
            int(row.position) if row.position >= 0 else None,
            row.criterion,
            None if pd.isna(row.value) else float(row.value),
            row.option if isinstance(row.option, str) else None,
            int(row.missing),
            row.reasons.replace(",", ";"),
            int(row.state == "surplus"),
            int(row.excluded),
            int(row.counted),
            int(row.beside),
            groups[row.item],
            *_final(row, finals or {}),
            None if pd.isna(row.words) else int(row.words),
            *_time(row),
        )


def annotation_rows(analysis: StudyAnalysis, reading: Mapping[int, int]) -> Iterator[tuple[Cell, ...]]:
    """All finished annotations of the main work, with a mark whether their ratings count in this report.

    reading: the number of words to read for each annotation.
    """
    counted, work = set(analysis.work["assignment"].tolist()), analysis.frame.work
    for row in work.assign(late=analysis.frame.after_unblinding(work)).sort_values("assignment").itertuples():
        marks = row.excluded, row.late, row.assignment in counted
        yield (*_work(row), row.state, *map(int, marks), reading.get(row.assignment), *_time(row))


def highlight_rows(analysis: StudyAnalysis, readings: pd.DataFrame | None) -> Iterator[tuple[Cell, ...]]:
    """Readings of texts by annotators who count, with their highlights; a reading without highlights has no start."""
    if readings is None:
        return
    for row in readings.sort_values(["item", "system", "turn", "annotator", "start", "end", "label"]).itertuples():
        ends = (None, None) if pd.isna(row.start) else (int(row.start), int(row.end))
        turn = None if row.turn == WHOLE else row.turn
        system = None if row.place == "context" else analysis.names[row.system]
        yield row.item, system, turn, row.length, row.annotator, *ends, row.label or None


def _final(row: Any, finals: Mapping[str, FinalValue]) -> tuple[Cell, ...]:
    """The final number and option of a rating."""
    final = finals.get(row.item)
    value = final.values.get((row.system, row.criterion)) if final else None
    return (None, value) if isinstance(value, str) else (value, None)


def _work(row: Any) -> tuple[Cell, ...]:
    return row.assignment, row.annotator, row.kind, row.item


def _time(row: Any) -> tuple[Cell, ...]:
    times = (at.strftime("%Y-%m-%dT%H:%M:%S.%fZ") for at in (row.assigned_at, row.submitted_at))
    return *times, round(row.active_seconds, 1)


def number_rows(book: Book, sha256: str) -> Iterator[tuple[Cell, ...]]:
    """The rows of results.csv, in the order of HEADER."""
    for number in book.numbers:
        where = (number.part, number.criterion, number.system, number.baseline, number.statistic)
        value = int(number.value) if number.style == "count" and number.value is not None else number.value
        yield (sha256, *where, value, number.style, number.printed)


def workbook(tables: Sequence[Table], book: Book, sha256: str) -> bytes:
    """One sheet per table, as printed, and one with every number; no cell that a spreadsheet takes for a formula."""
    made = Workbook(write_only=True)
    for table in tables:
        sheet = made.create_sheet(table.name[:31])
        for row in (table.header, *([cell.text for cell in row] for row in table.rows), *([n] for n in table.notes)):
            sheet.append([_text(words) for words in row])
    sheet = made.create_sheet("numbers")
    sheet.append(list(HEADER))
    for numbers in number_rows(book, sha256):
        sheet.append([_text(cell) if isinstance(cell, str) else cell for cell in numbers])
    file = io.BytesIO()
    made.save(file)
    return file.getvalue()


def _text(words: str) -> str:
    return safe_text(readable(words))
