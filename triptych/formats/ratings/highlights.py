"""A table of highlights: item_id, system, annotator, label, start, end, quote, comment, unit.

Offsets count code points, the end exclusive. A quote without offsets, or with negative ones, is searched in the text
when the study is written. A row with an empty system is about the context.
"""

from __future__ import annotations

from triptych.formats.layout import simple
from triptych.formats.model import Source
from triptych.formats.ratings.model import UNKNOWN_SYSTEM, Gathering, Unit, named, whole
from triptych.formats.ratings.roles import MEANINGS, proposed_roles
from triptych.formats.ratings.tables import annotator_of, columns_of
from triptych.formats.tables import restored

QUOTES = ("quote", "selection", "text", "span")
OWN = {name: name for name in ("label", "start", "end", "comment", "turn", "unit")} | {"end": "end (exclusive)"}


def fits(columns: frozenset[str]) -> bool:
    names = {simple(name) for name in columns}
    return bool(names & set(QUOTES)) and not names & {"value", "rating", "score"} and {"start", "end"} <= names


def read(source: Source, into: Gathering) -> None:
    """Every highlight of the table."""
    columns = columns_of(proposed_roles(source))
    names = {simple(name): name for name in source.columns}
    quote = next(names[name] for name in QUOTES if name in names)
    whose = ("item", "system", "annotator", "judge")
    into.recognised |= {columns.by_meaning[part]: MEANINGS[part][0] for part in whose if part in columns.by_meaning}
    into.recognised |= {names[part]: words for part, words in OWN.items() if part in names} | {quote: "quote"}
    for record in restored(source).records:
        cells = columns.cells(record)
        item, (kind, annotator) = named(cells.get("item")), annotator_of(cells, into.kind)
        if not item or not annotator:
            into.findings.error(f"does not name the {'annotator' if item else 'item'}.", record.row)
            continue
        system = named(cells.get("system")) or (None if "system" in columns.by_meaning else UNKNOWN_SYSTEM)
        unit = Unit(item, system, annotator, kind, record.row)
        own = {part: record.values.get(names[part]) for part in OWN if part in names}
        words, comment = record.values.get(quote) or None, named(own.get("comment"))
        place = words, comment, whole(own.get("turn"))
        into.mark(unit, own.get("label"), own["start"], own["end"], *place, marked_by=own.get("unit"))
