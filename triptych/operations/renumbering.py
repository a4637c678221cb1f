"""Maps the state rebuilt from an imported log to the row numbers and pseudonyms of this database."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from triptych.operations.folded import ErasedEvent, FoldedAnswer, FoldedStudy, FoldedWork
from triptych.storage.arrivals import StudyArrival, numbers_in
from triptych.storage.rows import TABLES, Row

NAMES = ("person_id", "pseudonym", "author")  # columns in which a log names people


def of_study(study: FoldedStudy, arrival: StudyArrival) -> FoldedStudy:
    """The whole study with mapped numbers and names; an annotation referenced in several places is mapped once."""
    works: dict[int, FoldedWork] = {}

    def moved(work: FoldedWork) -> FoldedWork:
        if id(work) not in works:
            works[id(work)] = _of_work(work, arrival)
        return works[id(work)]

    tables: dict[str, dict[int, Row]] = defaultdict(dict)
    for name, stated in study.tables.items():
        tables[name] = {_number(number, arrival): of_row(name, row, arrival) for number, row in stated.items()}
    return replace(
        study,
        tables=tables,
        works={_number(number, arrival): moved(work) for number, work in study.works.items()},
        erased={_number(number, arrival) for number in study.erased},
        gone={number: _of_gone(gone, arrival) for number, gone in study.gone.items()},
        restated=[(_number(n, arrival), moved(before), moved(after)) for n, before, after in study.restated],
        replaced=[
            (name, there and of_row(name, there, arrival), here and of_row(name, here, arrival))
            for name, there, here in study.replaced
        ],
    )


def of_row(table: str, row: Row, arrival: StudyArrival) -> Row:
    """A copy of a row of the log, which may have only some of its table's columns."""
    moved = dict(row)
    for column in numbers_in(TABLES[table]):
        if column in moved:
            moved[column] = _number(moved[column], arrival)
    for column in NAMES:
        if column in moved:
            moved[column] = arrival.renamed.get(moved[column], moved[column])
    return moved


def _number(number: Any, arrival: StudyArrival) -> Any:
    """A row number, shifted; anything else, such as None or a key, is unchanged."""
    return number + arrival.shift if isinstance(number, int) else number


def _of_work(work: FoldedWork, arrival: StudyArrival) -> FoldedWork:
    return replace(
        work,
        row=of_row("assignment", work.row, arrival),
        slots={place: of_row("slot", slot, arrival) for place, slot in work.slots.items()},
        submissions=work.submissions
        and {name: of_row("submission", row, arrival) for name, row in work.submissions.items()},
        answers=work.answers and _of_answers(work.answers, arrival),
    )


def _of_answers(answers: Iterable[FoldedAnswer], arrival: StudyArrival) -> list[FoldedAnswer]:
    return [
        answer._replace(
            criterion_id=_number(answer.criterion_id, arrival), option_id=_number(answer.option_id, arrival)
        )
        for answer in answers
    ]


def _of_gone(gone: ErasedEvent, arrival: StudyArrival) -> ErasedEvent:
    people = frozenset(arrival.renamed.get(name, name) for name in gone.people)
    return replace(gone, assignment_id=_number(gone.assignment_id, arrival), people=people)
