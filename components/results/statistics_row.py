"""Cells of a row of statistics in a table."""

from __future__ import annotations

from collections.abc import Iterable

from components.shell.words import NONE
from triptych.stats.analysis.statistics import Statistic, columns
from triptych.stats.numbers import written
from triptych.stats.undefined import Undefined


def cells(statistics: Iterable[Statistic], result: object, share: bool = False, reasons: bool = True) -> dict[str, str]:
    """Title → number with its interval.

    `share`: whether the criterion's numbers are shares. `reasons`: whether a reason for several undefined statistics
    appears in the first of their cells.
    """
    row: dict[str, str] = {}
    for title, shared in columns(statistics).items():
        if any(share and statistic.of_points for statistic in shared):
            continue
        shown = [_shown(statistic, result, share) for statistic in shared]
        reason = next((words.reason for words in shown if isinstance(words, Undefined)), None)
        words = reason or " / ".join(map(str, shown))
        row[title] = NONE if reason in row.values() or reason and not reasons else words
    return row


def _shown(statistic: Statistic, result: object, share: bool) -> str | Undefined:
    value, interval = statistic.value(result), statistic.interval(result)
    style = statistic.style_of(share)
    if isinstance(value, Undefined):
        return value
    ends = None if interval is None or isinstance(interval, Undefined) else interval
    limits = f"{written(ends[0], style)} to {written(ends[1], style)}" if ends else ""
    if value is None:
        return limits or NONE
    return f"{written(value, style)} ({limits})" if limits else written(value, style)
