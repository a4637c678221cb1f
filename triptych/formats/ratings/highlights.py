"""A table of highlights: item_id, system, annotator, label, start, end, quote, comment (code points, end exclusive).

A quote without offsets, or with negative ones, is looked for in the text when the study is written.
"""

from __future__ import annotations

from triptych.formats.layout import simple
from triptych.formats.model import Source
from triptych.formats.ratings.model import Gathering, Unit, named, whole
from triptych.formats.ratings.tables import find_columns
from triptych.formats.tables import restored

QUOTES = ("quote", "selection", "text", "span")
PARTS = {"item": "id of the item", "system": "system", "annotator": "annotator", "judge": "judge (a model)"}
OWN = {"label": "label", "start": "start", "end": "end (exclusive)", "comment": "comment", "turn": "turn"}


def fits(columns: frozenset[str]) -> bool:
    names = {simple(name) for name in columns}
    return bool(names & set(QUOTES)) and not names & {"value", "rating", "score"} and {"start", "end"} <= names


def read(source: Source, into: Gathering) -> None:
    """Every highlight of the table."""
    columns = find_columns(source.columns).by_meaning
    names = {simple(name): name for name in source.columns}
    quote = next(names[name] for name in QUOTES if name in names)
    into.recognised |= {columns[part]: words for part, words in PARTS.items() if part in columns}
    into.recognised |= {names[part]: words for part, words in OWN.items() if part in names} | {quote: "quote"}
    for record in restored(source).records:
        ids = {part: named(record.values.get(columns[part])) for part in PARTS if part in columns}
        judge = ids.get("judge", "")
        annotator = judge or ids.get("annotator", "")
        missing = next(
            (part for part, value in (("item", ids.get("item")), ("annotator", annotator)) if not value), None
        )
        if missing:
            into.findings.error(f"does not name the {missing}.", record.row)
            continue
        unit = Unit(ids["item"], ids.get("system") or None, annotator, "judge" if judge else into.kind, record.row)
        own = {part: record.values.get(names[part]) for part in OWN if part in names}
        words, comment = record.values.get(quote) or None, named(own.get("comment"))
        into.mark(unit, own.get("label"), own["start"], own["end"], words, comment, whole(own.get("turn")))
