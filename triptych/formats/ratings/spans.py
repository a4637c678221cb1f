"""Locates highlights in texts: in code points, the end exclusive, whatever the other program counts.

Offsets are accepted if the text there equals the quote. Otherwise the usual mistakes are tried: the other unit
(UTF-16 or code points) and an inclusive end; then the quote itself, if it occurs in the text exactly once.
A highlight that is not found has a quote and no offsets.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triptych.formats.model import Findings
from triptych.formats.ratings.model import Content, ImportedHighlight

LAST_OF_ONE_UNIT = 0xFFFF  # characters behind this one are two units of UTF-16
MAX_SEARCHED = 10**10  # characters in all
TURN_COST = 100  # characters that could be searched in the time a turn takes
COPY_COST = 100  # for a character of a highlight without a quote, which is copied
TOO_MUCH = (
    "the highlights up to here cover too much text, or their quotes are searched in too much of it. Give offsets that "
    "fit their quotes."
)
MENDED = {
    "units": "{n} highlight(s) were counted in other units than their format specifies; their quotes determined the "
    "position.",
    "end": "{n} highlight(s) end at their last character instead of after it; their quotes determined the position.",
    "quote": "{n} highlight(s) were at the wrong position; their quotes occur in the text exactly once and determined "
    "it.",
}

_Texts = list[tuple[int | None, str]]


class PlacedSpan(NamedTuple):
    """Code points, end exclusive; null offsets where the quote is not in the text."""

    turn: int | None
    start: int | None
    end: int | None
    quote: str


class Placing:
    """Places highlights in their texts. What is derived from a whole text is computed once, and searches have a limit:
    a few bytes name a highlight in a text of megabytes.
    """

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.searched = 0
        self._units = cache(partial(Offsets, utf16=True))

    def place(self, highlight: ImportedHighlight, content: Content | None) -> PlacedSpan:
        """The highlight's place in its text; corrections of offsets are counted in `findings`."""
        quote = highlight.quote or ""
        turns = len(content) if isinstance(content, tuple) and highlight.turn is None else 1
        if not self._may_search(TURN_COST * turns, highlight.row):
            return PlacedSpan(None, None, None, quote)
        texts = _texts(highlight, content)
        for turn, text in texts:
            for mistake, start, end in self._guesses(highlight, text):
                if 0 <= start < end <= len(text) and _has_quote(text, start, end, highlight.quote):
                    if mistake:
                        self.findings.tally(MENDED[mistake])
                    if not quote and not self._may_search(COPY_COST * (end - start), highlight.row):
                        break
                    return PlacedSpan(turn, start, end, quote or text[start:end])
        place = self._only_place(quote, texts, highlight.row) if quote else None
        if place is None:
            return PlacedSpan(None, None, None, quote)
        self.findings.tally(MENDED["quote"])
        turn, start = place
        return PlacedSpan(turn, start, start + len(quote), quote)

    def _guesses(self, highlight: ImportedHighlight, text: str) -> Iterator[tuple[str, int, int]]:
        """(mistake to correct, start, end) of each place where the highlight may be."""
        if highlight.start is None or highlight.end is None:
            return
        plain = units = (highlight.start, highlight.end)
        if not text.isascii():
            units = self._units(text).from_utf16(highlight.start), self._units(text).from_utf16(highlight.end)
        first, other = (units, plain) if highlight.utf16 else (plain, units)
        yield "", *first
        if highlight.quote is not None:
            yield "units", *other
            yield "end", first[0], first[1] + 1

    def _only_place(self, quote: str, texts: _Texts, row: int) -> tuple[int | None, int] | None:
        """(turn, start) of a quote; None if it occurs nowhere, or more than once."""
        if not self._may_search(sum(len(text) for _, text in texts), row):
            return None
        place = None
        for turn, text in texts:
            start = text.find(quote)
            if start >= 0 and (place is not None or text.find(quote, start + len(quote)) >= 0):
                return None
            place = (turn, start) if start >= 0 else place
        return place

    def _may_search(self, characters: int, row: int) -> bool:
        """Whether so many characters are below the limit; the first time they are not is an error."""
        was_below = self.searched <= MAX_SEARCHED
        self.searched += characters
        if was_below and self.searched > MAX_SEARCHED:
            self.findings.error(TOO_MUCH, row)
        return self.searched <= MAX_SEARCHED


def _texts(highlight: ImportedHighlight, content: Content | None) -> _Texts:
    """The texts that the highlight may be in, with their turns."""
    if content is None:
        return []
    if isinstance(content, str):
        return [(None, content)]
    if highlight.turn is None:
        return [(n, turn.text) for n, turn in enumerate(content)]
    return [(highlight.turn, content[highlight.turn].text)] if 0 <= highlight.turn < len(content) else []


def _has_quote(text: str, start: int, end: int, quote: str | None) -> bool:
    return quote is None or (len(quote) == end - start and text.startswith(quote, start))


class Offsets:
    """Offsets that another program counts in a text: UTF-16 units, or characters without line breaks, as on pages that
    write these as tags (Potato; in UTF-16 units, Pearmut).
    """

    def __init__(self, text: str, utf16: bool = False, lines: bool = True) -> None:
        self.text, self.utf16, self.lines = text, utf16, lines

    @cached_property
    def _ends(self) -> NDArray[np.int32]:
        """(n,): the offset after each character."""
        signs = np.frombuffer(self.text.encode("utf-32-le", "surrogatepass"), np.uint32)
        counts = np.ones(len(signs), dtype=np.int8)
        if self.utf16:
            counts += signs > LAST_OF_ONE_UNIT
        if not self.lines:
            counts -= signs == ord("\n")
        return np.cumsum(counts, dtype=np.int32)

    @property
    def total(self) -> int:
        return int(self._ends[-1]) if self.text else 0

    def span(self, start: int | None, end: int | None) -> tuple[int, int] | None:
        """(start, end) in code points; None if they are outside the text."""
        if start is None or end is None or not 0 <= start < end <= self.total:
            return None
        return self._place(start), self._place(end - 1) + 1

    def from_utf16(self, offset: int) -> int:
        """The code point at an offset, also if it is inside a character; an offset outside the text as it is."""
        return self._place(offset) if 0 <= offset <= self.total else offset

    def _place(self, offset: int) -> int:
        return int(np.searchsorted(self._ends, offset, side="right"))
