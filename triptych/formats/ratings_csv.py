"""The long CSV of ratings and the CSV of highlights: one row per rating, one per highlight.

What is not there is an empty cell: no system and position for a rating about the item, no position where the order
shown is not known, no value where an option was chosen. Positions count from 0, offsets are Unicode code points with
the end exclusive, times are UTC. `repeat_of` is the item that a repeat repeats.
"""

from __future__ import annotations

from typing import Any

from triptych.answers import count_words
from triptych.formats.long_csv import Cell

RATINGS_HEADER = (
    "study",
    "round",
    "design_hash",
    "annotator",
    "annotator_kind",
    "item_id",
    "system",
    "position",
    "criterion",
    "value",
    "option",
    "missing",
    "reasons",
    "explanation",
    "explanation_words",
    "purpose",
    "repeat_of",
    "surplus",
    "version",
    "submitted_at",
    "active_seconds",
    "excluded",
    "exclusion_reason",
)
HIGHLIGHTS_HEADER = (
    "annotator",
    "item_id",
    "system",
    "position",
    "turn",
    "label",
    "start",
    "end",
    "quote",
    "comment",
)


def rating_row(study: Any, names: dict[int, str], row: Any) -> tuple[Cell, ...]:
    """One rating; `names` tells blind code → the name that may be written."""
    return (
        study.slug,
        study.round,
        row.design_hash,
        row.pseudonym,
        row.annotator_kind,
        row.external_id,
        names.get(row.blind_code),
        _position(row),
        row.criterion,
        row.number,
        row.option,
        int(row.missing),
        ";".join(row.reasons or ()),
        row.text or "",
        count_words(row.text or ""),
        row.purpose,
        row.repeat_of,
        int(row.state == "surplus"),
        row.version - 1,
        row.submitted_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        round(row.active_seconds, 1),
        int(row.excluded_at is not None),
        row.excluded_reason,
    )


def highlight_row(names: dict[int, str], row: Any) -> tuple[Cell, ...]:
    """One highlight; an imported quote that is not in the text has no offsets."""
    mark = row.Highlight
    return (
        row.pseudonym,
        row.external_id,
        names.get(row.blind_code),
        mark.position if row.order_known else None,
        mark.turn,
        mark.label,
        mark.start,
        mark.end,
        mark.quote,
        mark.comment,
    )


def _position(row: Any) -> int | None:
    return row.position if row.order_known else None
