"""The parts of a report's tables: cells, notes, and reasons for missing numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from triptych.reports.numbers import Book
from triptych.stats.analysis.statistics import Number, Statistic, columns

NONE = "–"


@dataclass(frozen=True)
class Cell:
    """The text of a cell; `raised` is set as superscript."""

    text: str
    raised: str = ""


@dataclass(frozen=True)
class Table:
    """name: of its file. notes: sentences under the table; those for cells begin with the cells' sign.

    prose: whether the last column has sentences, which need line breaks. appendix: whether it is too long for the main
    part of a paper.
    """

    name: str
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    prose: bool = False
    appendix: bool = False


@dataclass
class Notes:
    """Reasons for undefined numbers: a sign in the cell, and each reason once under the table."""

    words: list[str] = field(default_factory=list)

    def cell(self, number: Number | None, interval: tuple[Number, Number] | None = None, raised: str = "") -> Cell:
        """The number with its interval, if it has one, or only the interval."""
        if number is not None and number.value is None:
            return Cell(NONE, self.sign(number.printed))
        if interval is None:
            return Cell(NONE) if number is None else Cell(number.printed, raised)
        low, high = interval
        if low.value is None:
            return Cell(number.printed if number else NONE, ",".join(filter(None, (raised, self.sign(low.printed)))))
        if number is None:
            return Cell(f"{low.printed} to {high.printed}", raised)
        return Cell(f"{number.printed} [{low.printed}, {high.printed}]", raised)

    def sign(self, words: str) -> str:
        if words not in self.words:
            self.words.append(words)
        return str(self.words.index(words) + 1)

    def sentences(self) -> tuple[str, ...]:
        return tuple(f"{n}: {words}" for n, words in enumerate(self.words, 1))


def limits(book: Book, part: str, criterion: str, name: str, *places: str) -> tuple[Number, Number] | None:
    """Both ends of an interval; None if the list does not contain it."""
    low = book.get(part, criterion, f"{name} low", *places)
    return None if low is None else (low, book[part, criterion, f"{name} high", *places])


def number_cells(
    book: Book, notes: Notes, statistics: Iterable[Statistic], place: tuple[str, str], *names: str, before: str = ""
) -> Iterator[Cell]:
    """A cell for each column of the statistics at a place: (part, criterion), then names such as a system's."""
    for shared in columns(statistics).values():
        yield _shared_cell(book, notes, [f"{before}{statistic.name}" for statistic in shared], place, *names)


def _shared_cell(book: Book, notes: Notes, statistics: Sequence[str], place: tuple[str, str], *names: str) -> Cell:
    """The cell of one column; if the place has no such number, with the criterion's number."""
    numbers = [book.get(*place, name, *names) or book.get(*place, name) for name in statistics]
    if len(numbers) == 1:
        return notes.cell(numbers[0], limits(book, *place, statistics[0], *names))
    undefined = next((number for number in numbers if number is None or number.value is None), numbers[0])
    if undefined is None or undefined.value is None:
        return notes.cell(undefined)
    return Cell(" / ".join(number.printed for number in numbers if number))
