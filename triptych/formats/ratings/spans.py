"""Locates highlights in texts: in code points, the end exclusive, whatever the other program counts.

Offsets are accepted if the text there equals the quote. Otherwise the usual mistakes are tried: the other unit
(UTF-16 or code points) and an inclusive end; then the quote itself, if it occurs in the text exactly once.
A highlight that is not found has a quote and no offsets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from triptych.formats.model import Findings
from triptych.formats.ratings.model import Content, ImportedHighlight

MENDED = {
    "units": "{n} highlight(s) were counted in other units than their format specifies; their quotes determined the "
    "position.",
    "end": "{n} highlight(s) end at their last character instead of after it; their quotes determined the position.",
    "quote": "{n} highlight(s) were at the wrong position; their quotes occur in the text exactly once and determined "
    "it.",
}


@dataclass(frozen=True, slots=True)
class PlacedSpan:
    """Code points, end exclusive; null offsets where the quote is not in the text."""

    turn: int | None
    start: int | None
    end: int | None
    quote: str


def place(highlight: ImportedHighlight, content: Content | None, findings: Findings) -> PlacedSpan:
    """The highlight's place in its text; corrections of offsets are counted in `findings`."""
    texts = _texts(highlight, content)
    for turn, text in texts:
        for mistake, start, end in _guesses(highlight, text):
            if 0 <= start < end <= len(text) and highlight.quote in (None, text[start:end]):
                if mistake:
                    findings.tally(MENDED[mistake])
                return PlacedSpan(turn, start, end, text[start:end])
    quote = highlight.quote or ""
    occurrences = [(turn, text) for turn, text in texts for _ in range(text.count(quote))] if quote else []
    if len(occurrences) == 1:
        turn, text = occurrences[0]
        findings.tally(MENDED["quote"])
        return PlacedSpan(turn, start := text.find(quote), start + len(quote), quote)
    return PlacedSpan(None, None, None, quote)


def _texts(highlight: ImportedHighlight, content: Content | None) -> list[tuple[int | None, str]]:
    """The texts that the highlight may be in, with their turns."""
    if content is None:
        return []
    if isinstance(content, str):
        return [(None, content)]
    return [(n, turn.text) for n, turn in enumerate(content) if highlight.turn in (None, n)]


def _guesses(highlight: ImportedHighlight, text: str) -> Iterator[tuple[str, int, int]]:
    """(mistake to correct, start, end) of each place where the highlight may be."""
    if highlight.start is None or highlight.end is None:
        return
    plain = (highlight.start, highlight.end)
    units = (from_utf16(text, highlight.start), from_utf16(text, highlight.end))
    first, other = (units, plain) if highlight.utf16 else (plain, units)
    yield "", *first
    if highlight.quote is not None:
        yield "units", *other
        yield "end", first[0], first[1] + 1


def counted_without_lines(text: str, start: int | None, end: int | None, utf16: bool = False) -> tuple[int, int] | None:
    """(start, end) in code points, from offsets that do not count line breaks; None if they are outside the text.

    Pages that write a line break as a tag count like this: in code points (Potato) or in UTF-16 units (Pearmut).
    """
    if start is None or end is None:
        return None
    places = [place for place, sign in enumerate(text) if sign != "\n" for _ in range(1 + (utf16 and sign > "\uffff"))]
    return (places[start], places[end - 1] + 1) if 0 <= start < end <= len(places) else None


def from_utf16(text: str, offset: int) -> int:
    """An offset in UTF-16 units, converted to code points; an offset inside a character gives its start."""
    if text.isascii():
        return offset
    units = text.encode("utf-16-le", "surrogatepass")
    if offset * 2 > len(units):
        return offset
    return len(units[: offset * 2].decode("utf-16-le", "ignore"))
