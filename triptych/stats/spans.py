"""Agreement on highlights: which passages annotators marked, and with which label.

Highlights come as rows (text, length, annotator, start, end, label, place). A row without a start means that its
annotator read the text and marked nothing, which is an answer too: without such rows, unmarked texts would look unread.
A label that is used in one place only, responses or contexts, is compared over the texts of that place.

- F1 of two annotators is 2 TP / (highlights of one + highlights of the other), over the texts both read; TP are
  highlights matched one to one, when they are the same passage (exact) or share a character (overlapping). The
  figure is the mean over pairs of annotators. It needs no count of unmarked passages (Hripcsak & Rothschild 2005).
- Character alpha is Krippendorff's nominal alpha with characters as units and marked or not as values. It corrects for
  chance, and is sensitive to long texts with few marks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from .agreement import alphas
from .columns import Column, codes
from .counts import UnitCounts
from .pairs import together
from .undefined import Undefined, UndefinedStatistic, or_undefined

NOT_READ_TWICE = "No text was read by two annotators."
NOTHING_MARKED = "Not defined: nobody highlighted anything in a text that two annotators read."
CROWDED = "Not defined: more highlights overlap than can be matched."
MAX_OVERLAPS = 2_000_000  # pairs of highlights, all texts together
EVERYTHING_MARKED = "Not defined: everybody highlighted everything."


@dataclass(frozen=True)
class SpanAgreement:
    """Agreement on highlights of one label, or with label None on highlights whatever their label.

    texts: number of texts read by two annotators or more; spans: highlights in these texts; pairs: pairs of annotators
    with a highlight in a text both read. exact, overlapping: mean F1 over these pairs; alpha: over characters.
    """

    label: str | None
    texts: int
    spans: int
    pairs: int
    exact: float | Undefined
    overlapping: float | Undefined
    alpha: float | Undefined


@dataclass(frozen=True)
class _Readings:
    """Who read which text: codes of text and reader (R,) for R readings; lengths (T,) of texts; number of people."""

    text: np.ndarray
    reader: np.ndarray
    lengths: np.ndarray
    people: int


@dataclass(frozen=True)
class _Spans:
    """S highlights: reading (S,) that each belongs to, start and end (S,) in characters, end exclusive."""

    reading: np.ndarray
    start: np.ndarray
    end: np.ndarray

    def take(self, rows: np.ndarray) -> _Spans:
        return _Spans(self.reading[rows], self.start[rows], self.end[rows])


def span_agreement(
    texts: Column,
    lengths: Column,
    annotators: Column,
    starts: Column,
    ends: Column,
    labels: Column,
    places: Column | None = None,
) -> tuple[SpanAgreement, ...]:
    """Agreement on all highlights whatever their label (first, label None), then on each label in order of names.

    All columns are (n,). texts, annotators: labels; lengths: characters of the row's text; starts, ends: 0 <= start <
    end <= length, end exclusive, NaN = this annotator read the text and marked nothing; labels: text, ignored in rows
    without a start; places: kind of text (response or context), where there are both. Raises UndefinedStatistic when no
    text was read by two annotators, ValueError for a passage outside its text.
    """
    columns = (texts, lengths, annotators, starts, ends, labels)
    readings, spans, tags = _read(*columns)
    agreements = [_agreement(readings, spans, None)]
    place = np.zeros(len(texts)) if places is None else codes(places)[0]
    marked, named = ~np.isnan(np.asarray(starts, dtype=float)), np.asarray(labels, dtype=object)
    for label in sorted(set(tags.tolist())):
        own = np.isin(place, place[marked & (named == label)])
        among = (np.asarray(column, dtype=object)[own] for column in columns)
        where, marks, of = (readings, spans, tags) if own.all() else _read(*among)
        agreements.append(_agreement(where, marks.take(of == label), label))
    return tuple(agreements)


def _read(
    texts: Column, lengths: Column, annotators: Column, starts: Column, ends: Column, labels: Column
) -> tuple[_Readings, _Spans, np.ndarray]:
    """Readings of the texts that two annotators read, the highlights in these texts, and their labels (S,)."""
    (text, names), (reader, people) = codes(texts), codes(annotators)
    start, end = (np.asarray(column, dtype=float) for column in (starts, ends))
    size = np.zeros(len(names), dtype=np.int64)
    size[text] = np.asarray(lengths)
    marked = ~np.isnan(start)
    if not ((start >= 0) & (start < end) & (end <= size[text]))[marked].all():
        raise ValueError("A highlight must be within its text and contain at least one character.")
    reading, row = np.unique(text * max(len(people), 1) + reader, return_inverse=True)
    shared = np.bincount(reading // max(len(people), 1), minlength=len(names)) > 1
    if not shared.any():
        raise UndefinedStatistic(NOT_READ_TWICE)
    in_shared = shared[reading // len(people)]
    marked &= in_shared[row]
    place = (np.cumsum(in_shared) - 1)[row[marked]]
    text_of = (np.cumsum(shared) - 1)[reading[in_shared] // len(people)]
    readings = _Readings(text_of, reading[in_shared] % len(people), size[shared], len(people))
    spans = _Spans(place, start[marked].astype(np.int64), end[marked].astype(np.int64))
    return readings, spans, np.asarray(labels, dtype=object)[marked]


def _agreement(readings: _Readings, spans: _Spans, label: str | None) -> SpanAgreement:
    texts, count = len(readings.lengths), len(spans.start)
    if not count:
        return SpanAgreement(label, texts, 0, 0, *[Undefined(NOTHING_MARKED)] * 3)
    exact, overlapping, pairs = _f1(readings, spans)
    return SpanAgreement(label, texts, count, pairs, exact, overlapping, _character_alpha(readings, spans))


def _f1(readings: _Readings, spans: _Spans) -> tuple[float | Undefined, float | Undefined, int]:
    """Mean F1 over pairs of annotators, exact and overlapping, and the number of pairs with a highlight."""
    marks = np.bincount(spans.reading, minlength=len(readings.text))
    left, right = together(readings.text)
    pairs, pair = np.unique(_pair(readings, left, right), return_inverse=True)
    spans_of_pair = np.bincount(pair, marks[left] + marks[right])
    shown = spans_of_pair > 0
    overlaps = or_undefined(_overlaps, readings, spans)
    if isinstance(overlaps, Undefined):
        return overlaps, overlaps, int(shown.sum())
    first, second = overlaps
    same = (spans.start[first] == spans.start[second]) & (spans.end[first] == spans.end[second])
    scores = []
    for chosen in (same, np.ones(len(same), dtype=bool)):
        matches = _matched(readings, spans, first[chosen], second[chosen], pairs)
        scores.append(float(np.mean(2 * matches[shown] / spans_of_pair[shown])))
    return scores[0], scores[1], int(shown.sum())


def _overlaps(readings: _Readings, spans: _Spans) -> tuple[np.ndarray, np.ndarray]:
    """(E,) twice: highlights of two annotators that share a character.

    Raises UndefinedStatistic if more than MAX_OVERLAPS do, also of one annotator.
    """
    offset = (np.cumsum(readings.lengths) - readings.lengths)[readings.text[spans.reading]]
    order = np.argsort(offset + spans.start, kind="stable")
    starts, ends = (offset + spans.start)[order], (offset + spans.end)[order]
    rows = np.arange(len(order))
    later = np.searchsorted(starts, ends) - rows - 1  # of those after it, as many begin before it ends
    if later.sum() > MAX_OVERLAPS:
        raise UndefinedStatistic(CROWDED)
    first = np.repeat(rows, later)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(later) - later, later)
    first, second = order[first], order[second]
    apart = readings.reader[spans.reading[first]] != readings.reader[spans.reading[second]]
    return first[apart], second[apart]


def _pair(readings: _Readings, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """One number for the annotators of two readings, the same in either order."""
    readers = readings.reader[first], readings.reader[second]
    pair: NDArray[np.int64] = np.minimum(*readers) * readings.people + np.maximum(*readers)
    return pair


def _matched(
    readings: _Readings, spans: _Spans, first: np.ndarray, second: np.ndarray, pairs: np.ndarray
) -> np.ndarray:
    """For each of the sorted pairs, the number of highlights matched one to one.

    first, second: (E,) highlights that may match.
    """
    reader = readings.reader[spans.reading]
    turned = reader[first] > reader[second]
    first, second = np.where(turned, second, first), np.where(turned, first, second)
    # A highlight occurs once for every annotator it is compared with, so all pairs are one graph.
    left, row = np.unique(first * readings.people + reader[second], return_inverse=True)
    right, column = np.unique(second * readings.people + reader[first], return_inverse=True)
    graph = csr_array((np.ones(len(row), dtype=np.int8), (row, column)), shape=(len(left), len(right)))
    matched = left[maximum_bipartite_matching(graph, perm_type="column") >= 0] if len(left) else left
    keys = reader[matched // readings.people] * readings.people + matched % readings.people
    return np.bincount(np.searchsorted(pairs, keys), minlength=len(pairs))


def _character_alpha(readings: _Readings, spans: _Spans) -> float | Undefined:
    """Nominal alpha over characters, computed from stretches of text that the same annotators marked."""
    offset = np.cumsum(readings.lengths) - readings.lengths
    start, end = _merged(readings, spans)
    moves = np.concatenate([np.zeros(len(offset)), np.ones(len(start)), -np.ones(len(end))])
    points, at = np.unique(np.concatenate([offset, start, end]), return_inverse=True)
    marks = np.cumsum(np.bincount(at, moves)).astype(np.int64)
    widths = np.diff(points, append=readings.lengths.sum())
    readers = np.bincount(readings.text)[np.searchsorted(offset, points, side="right") - 1]
    kinds, kind = np.unique(np.column_stack([readers - marks, marks]), axis=0, return_inverse=True)
    characters = np.bincount(kind.ravel(), widths)
    values = np.array([0.0, 1.0])
    table = UnitCounts(csr_array(kinds.astype(float)), characters, np.zeros(2), values)
    if not table.used.all():
        return Undefined(EVERYTHING_MARKED)
    return float(alphas(table, table.observed(), "nominal")[0])


def _merged(readings: _Readings, spans: _Spans) -> tuple[np.ndarray, np.ndarray]:
    """Starts and ends of the passages that each annotator marked, overlaps merged, on one axis over all texts."""
    offset = np.cumsum(readings.lengths) - readings.lengths
    stretch = int(readings.lengths.max()) + 1
    # each reading gets a separate range of positions, so that one running maximum serves all
    base = spans.reading * stretch
    order = np.lexsort((spans.start, spans.reading))
    start, end = (base + spans.start)[order], np.maximum.accumulate((base + spans.end)[order])
    opens = np.append(True, start[1:] > end[:-1])
    closes = np.append(opens[1:], True)
    shift = (offset[readings.text[spans.reading]] - base)[order]
    return (start + shift)[opens], (end + shift)[closes]
