"""The tables of what may stand between ratings and the truth: places on screen, time, annotators one by one."""

from __future__ import annotations

from collections.abc import Iterator

from triptych.analyses import StudyAnalysis
from triptych.reports.appendix_tables import appendix_table, table_of_part
from triptych.reports.cells import Cell, Notes, Table, limits
from triptych.reports.numbers import Book


def trust_tables(found: StudyAnalysis, book: Book) -> Iterator[Table]:
    """All of them; one that nothing was found for has no rows."""
    titles = {result.criterion.key: result.criterion.title for result in found.criteria}
    yield from (made(book, titles) for made in MADE)


def _effects(book: Book, titles: dict[str, str]) -> Table:
    columns = {"p of the place": "p", "Wald": "Wald", "Annotations": "annotations", "First to last": "first to last"}
    return table_of_part(
        book,
        titles,
        "effects",
        ("effects", "Place on screen and time"),
        columns,
        "Do ratings depend on the place on screen? Least squares on places and systems within annotations; Wald's test "
        "that no place shifts them, clustered by item and annotator. First to last: change in scale points from an "
        "annotator's first annotation to her last, with the 95 % interval for annotators like these where there are "
        "five or more, else for these.",
    )


def _shifts(book: Book, titles: dict[str, str]) -> Table:
    return table_of_part(
        book,
        titles,
        "effects",
        ("shifts", "Places on screen"),
        {"Place": "", "Shift": "shift", "Best there": "best"},
        "Shift from the mean of all places, in scale points, with 95 % intervals as above; how often the one response "
        "that an annotator rated above all others stood there.",
    )


def _annotators(book: Book, titles: dict[str, str]) -> Table:
    notes = Notes()
    columns = {
        "Annotations": "annotations",
        "With the others": "correlation",
        "Severity": "severity",
        "All equal": "all equal",
        "Missing": "missing",
        "Drift": "drift",
        "At most": "drift at most",
    }
    names = dict.fromkeys(one.system for one in book.numbers if one.part == "annotators")
    rows = [
        (
            Cell(name),
            *(
                notes.cell(book.get("annotators", "", statistic, name), limits(book, "annotators", "", statistic, name))
                for statistic in columns.values()
            ),
        )
        for name in names
    ]
    about = (
        "Over all criteria. With the others: correlation with their mean, with 95 % intervals. Severity: own rating "
        "minus the mean of the others, in % of the scale; no misconduct. All equal: annotations with the same rating "
        "throughout. Missing: answers that are marked so. Drift: the largest excursion from the others in time, and "
        "how large it is at most in 99 % of random orders. Nobody is left out by any of this."
    )
    return appendix_table("annotators", "Annotators one by one", ("Annotator", *columns), rows, about, notes)


MADE = (_effects, _shifts, _annotators)
