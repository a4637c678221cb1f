"""factgenie: JSON Lines, one line per output and annotator.

The `type` of a span is the index of its category in the campaign's list, which is used if the line contains it. Spans
have no `end`; it is start + len(text). A line whose metadata has a model and no annotator comes from a judge.
"""

from __future__ import annotations

from triptych.formats.model import Json, JsonObject, Record, Source
from triptych.formats.ratings.model import UNKNOWN_SYSTEM, Gathering, RaterKind, Unit, moment_of, named, whole
from triptych.formats.values import kind_of

CATEGORIES = ("annotation_span_categories", "categories", "span_categories")


def fits(columns: frozenset[str]) -> bool:
    return {"setup_id", "example_idx"} <= columns


def read(source: Source, into: Gathering) -> None:
    """Ratings, spans and texts of every line."""
    into.recognised |= {
        "dataset": "id of the item", "split": "id of the item", "example_idx": "id of the item",
        "setup_id": "system", "output": "candidate", "annotations": "highlights", "flags": "ratings",
        "options": "ratings", "sliders": "ratings", "text_fields": "notes", "metadata": "annotator",
    }  # fmt: skip
    for record in source.records:
        values, row = record.values, record.row
        meta = into.mapped(values.get("metadata"), row, "metadata")
        annotator, kind = _annotator(meta, into)
        if not annotator:
            into.findings.error("has no annotator.", row, "metadata")
            continue
        parts = (named(values.get(name)) for name in ("dataset", "split", "example_idx"))
        item, system = "/".join(part for part in parts if part), named(values.get("setup_id")) or UNKNOWN_SYSTEM
        unit = Unit(item, system, annotator, kind, row, moment_of(meta.get("end_timestamp") or meta.get("time")))
        into.text(item, system, values.get("output"), row, "output")
        _ratings(record, unit, into)
        _spans(record, unit, meta, into)


def _annotator(meta: JsonObject, into: Gathering) -> tuple[str, RaterKind]:
    person = named(meta.get("annotator_id"))
    if person:
        return person, into.kind
    model = meta.get("model") or meta.get("model_name")
    return named(model), "judge"


def _ratings(record: Record, unit: Unit, into: Gathering) -> None:
    for part in ("flags", "options", "sliders", "text_fields"):
        for entry in into.listed(record.values.get(part), unit.row, part):
            label = named(entry.get("label")) if isinstance(entry, dict) else ""
            if not isinstance(entry, dict) or not label:
                into.findings.error("contains an entry without a label.", unit.row, part)
            elif part == "text_fields":
                into.note(unit, label, entry.get("value"))
            else:
                into.rate(unit, label, entry.get("value", entry.get("index")))


def _spans(record: Record, unit: Unit, meta: JsonObject, into: Gathering) -> None:
    listed: list[Json] = next((meta[name] for name in CATEGORIES if isinstance(meta.get(name), list)), [])
    categories = [part.get("name") if isinstance(part, dict) else part for part in listed]
    for span in into.listed(record.values.get("annotations"), unit.row, "annotations"):
        text = span.get("text") if isinstance(span, dict) else None
        if not isinstance(span, dict) or not isinstance(text, str):
            into.findings.error(f"holds {kind_of(span)} instead of a span with its text.", unit.row, "annotations")
            continue
        place, start = whole(span.get("type")), whole(span.get("start"))
        label: Json = f"type {span.get('type', 0)}"
        if place is not None and 0 <= place < len(categories):
            label = categories[place]
        end = None if start is None else start + len(text)
        into.mark(unit, label, start, end, text, comment=named(span.get("reason")))
