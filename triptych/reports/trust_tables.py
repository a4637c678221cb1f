"""The tables of what may bias ratings: places, time, annotators, highlights."""

from __future__ import annotations

from collections.abc import Iterator

from triptych.reports.appendix_tables import appendix_table, table_of_part
from triptych.reports.cells import Cell, Notes, Table, limits
from triptych.reports.numbers import Book
from triptych.results.study_analysis import StudyAnalysis


def trust_tables(analysis: StudyAnalysis, book: Book) -> Iterator[Table]:
    """All of them; one that nothing was found for has no rows."""
    titles = {result.criterion.key: result.criterion.title for result in analysis.criteria}
    labels = {label.key: label.title for label in analysis.frame.rubric.highlights}
    yield _effects(book, titles)
    yield _shifts(book, titles)
    yield _annotators(book)
    yield _highlights(book, {"": "Any label", **labels})


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
        "annotator's first annotation to their last, with the 95 % interval for annotators like these where there are "
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
        "that an annotator rated above all others was there.",
    )


def _annotators(book: Book) -> Table:
    columns = {
        "Annotations": "annotations",
        "With the others": "correlation",
        "Severity": "severity",
        "All equal": "all equal",
        "Missing": "missing",
        "Seconds": "seconds",
        "Too fast": "too fast to read",
        "Drift": "drift",
        "At most": "drift at most",
    }
    about = (
        "Over all criteria. With the others: correlation with their mean, with 95 % intervals. Severity: own rating "
        "minus the mean of the others, in % of the scale; no misconduct. All equal: annotations with the same rating "
        "throughout. Missing: answers that are marked so. Seconds: the median per annotation. Too fast: annotations "
        "that took too little time to read. Drift: the largest excursion from the others in time, and how large it is "
        "at most in 99 % of random orders. Nobody is left out by any of this."
    )
    return _by_name(book, "annotators", ("annotators", "Annotators one by one"), "Annotator", {}, columns, about)


def _highlights(book: Book, titles: dict[str, str]) -> Table:
    about = (
        "F1 of two annotators over the texts that both read, highlights matched one to one where they are the same "
        "passage, or where they overlap; the mean over pairs of annotators. Alpha asks of every character whether it "
        "is marked."
    )
    columns = {
        "Texts read twice": "texts",
        "Highlights": "spans",
        "Pairs": "pairs",
        "F1, same passage": "F1, same passage",
        "F1, overlapping": "F1, overlapping",
        "Alpha over characters": "alpha over characters",
    }
    return _by_name(book, "highlights", ("highlights", "Highlights"), "Label", titles, columns, about)


def _by_name(
    book: Book,
    part: str,
    names: tuple[str, str],
    heading: str,
    titles: dict[str, str],
    columns: dict[str, str],
    about: str,
) -> Table:
    """A row for each name of a part that has no criteria.

    names: of the table, and its title; heading, titles: of the names; columns: heading -> statistic.
    """
    notes = Notes()
    rows = [
        (
            Cell(titles.get(name, name)),
            *(
                notes.cell(book.get(part, "", statistic, name), limits(book, part, "", statistic, name))
                for statistic in columns.values()
            ),
        )
        for name in dict.fromkeys(number.system for number in book.numbers if number.part == part)
    ]
    return appendix_table(*names, (heading, *columns), rows, about, notes)
