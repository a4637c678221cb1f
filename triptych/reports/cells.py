"""What the tables of a report are made of: cells, the notes under them, and sentences where a number is missing."""

from __future__ import annotations

from dataclasses import dataclass, field

from triptych.reports.numbers import Book
from triptych.stats.analysis.statistics import Number

NONE = "–"


@dataclass(frozen=True)
class Cell:
    """The text of a cell; `raised` is set as superscript."""

    text: str
    raised: str = ""


@dataclass(frozen=True)
class Table:
    """name: of its file. notes: sentences under the table; those that cells point at begin with their sign.

    prose: the last column holds sentences, which want to be broken into lines. appendix: what only a paper's appendix
    has room for.
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
    """Reasons why numbers are not defined: a sign in the cell, the reason under the table, each once."""

    words: list[str] = field(default_factory=list)

    def cell(self, number: Number | None, interval: tuple[Number, Number] | None = None, raised: str = "") -> Cell:
        """The number with its interval, if it has one."""
        if number is None:
            return Cell(NONE)
        if number.value is None:
            return Cell(NONE, self.sign(number.printed))
        if interval is None:
            return Cell(number.printed, raised)
        low, high = interval
        if low.value is None:
            return Cell(number.printed, ",".join(filter(None, (raised, self.sign(low.printed)))))
        return Cell(f"{number.printed} [{low.printed}, {high.printed}]", raised)

    def sign(self, words: str) -> str:
        if words not in self.words:
            self.words.append(words)
        return str(self.words.index(words) + 1)

    def sentences(self) -> tuple[str, ...]:
        return tuple(f"{n}: {words}" for n, words in enumerate(self.words, 1))


def limits(book: Book, part: str, criterion: str, name: str, *places: str) -> tuple[Number, Number] | None:
    """Both ends of an interval; None where the list has none."""
    low = book.get(part, criterion, f"{name} low", *places)
    return None if low is None else (low, book[part, criterion, f"{name} high", *places])
