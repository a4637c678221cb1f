"""Agreement on highlights: F1 of annotators two by two, and alpha over characters."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

Marks = list[tuple[int, int]]
Readings = dict[tuple, dict[str, list[tuple[int, int, str]]]]


def spans(rows: list[dict[str, str]]) -> Iterator[tuple]:
    """On highlights whatever their label, then on each label; rows of highlights.csv."""
    readings: Readings = {}
    lengths: dict[tuple, int] = {}
    for row in rows:
        text = (row["item_id"], row["system"], row["turn"])
        lengths[text] = int(row["characters"])
        marks = readings.setdefault(text, {}).setdefault(row["annotator"], [])
        if row["start"]:
            marks.append((int(row["start"]), int(row["end"]), row["label"]))
    readings = {text: by for text, by in readings.items() if len(by) > 1}
    labels = sorted({mark[2] for by in readings.values() for marks in by.values() for mark in marks})
    if rows and not readings:
        yield "highlights", "", "", "", "F1, same passage", None
    for label in ["", *labels] if readings else ():
        chosen = {
            text: {who: [mark[:2] for mark in marks if label in ("", mark[2])] for who, marks in by.items()}
            for text, by in readings.items()
        }
        yield from (("highlights", "", label, "", *one) for one in of_label(chosen, lengths))


def of_label(readings: dict[tuple, dict[str, Marks]], lengths: dict[tuple, int]) -> Iterator[tuple[str, float | None]]:
    """F1 is 2 matched / (highlights of one + of the other), averaged over pairs of annotators with a highlight."""
    given: dict[tuple[str, str], int] = {}
    same: dict[tuple[str, str], int] = {}
    meeting: dict[tuple[str, str], int] = {}
    for by in readings.values():
        for pair in combinations(sorted(by), 2):
            one, two = (by[who] for who in pair)
            given[pair] = given.get(pair, 0) + len(one) + len(two)
            same[pair] = same.get(pair, 0) + matched([[x == y for y in two] for x in one])
            meeting[pair] = meeting.get(pair, 0) + matched([[x[0] < y[1] and y[0] < x[1] for y in two] for x in one])
    pairs = [pair for pair, count in given.items() if count]
    yield "texts", len(readings)
    yield "spans", sum(len(marks) for by in readings.values() for marks in by.values())
    yield "pairs", len(pairs)
    for name, found in (("F1, same passage", same), ("F1, overlapping", meeting)):
        yield name, np.mean([2 * found[pair] / given[pair] for pair in pairs]) if pairs else None
    yield "alpha over characters", over_characters(readings, lengths) if pairs else None


def matched(allowed: list[list[bool]]) -> int:
    """How many rows can be matched with a column of their own, by augmenting paths."""
    taken: dict[int, int] = {}

    def placed(row: int, tried: set[int]) -> bool:
        for column, fits in enumerate(allowed[row]):
            if fits and column not in tried:
                tried.add(column)
                if column not in taken or placed(taken[column], tried):
                    taken[column] = row
                    return True
        return False

    return sum(placed(row, set()) for row in range(len(allowed)))


def over_characters(readings: dict[tuple, dict[str, Marks]], lengths: dict[tuple, int]) -> float | None:
    """Krippendorff's nominal alpha: is a character marked or not; a character is a unit, its readers the raters.

    1 - (N - 1) sum m (n - m) / (n - 1) / (N1 N0), with n readers of a character and m of them who marked it.
    """
    apart, marked, everything = 0.0, 0, 0
    for text, by in readings.items():
        marks = np.zeros(lengths[text], dtype=int)
        for mine in by.values():
            hers = np.zeros(lengths[text], dtype=bool)
            for start, end in mine:
                hers[start:end] = True
            marks += hers
        apart += float((marks * (len(by) - marks)).sum()) / (len(by) - 1)
        marked, everything = marked + int(marks.sum()), everything + len(by) * lengths[text]
    unmarked = everything - marked
    return 1 - (everything - 1) * apart / (marked * unmarked) if unmarked else None
