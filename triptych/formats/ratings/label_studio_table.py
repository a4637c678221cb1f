"""Label Studio: the CSV, TSV or JSON-MIN export, a row per annotation, a column per control after those of the data.

What is not plain is JSON in its cell: {"choices": […]}, [{"number": 3}], {"text": […]} and lists of spans, whose
offsets are those of the other export.
"""

from __future__ import annotations

import json

from triptych.formats.layout import simple
from triptych.formats.model import Json, Source
from triptych.formats.ratings.controls import WHO, explains, is_field, read_fields
from triptych.formats.ratings.model import Gathering, Unit, moment_of, named, seconds_of

OWN = {
    "id": "id of the task",
    "annotator": "annotator",
    "created_at": "time",
    "updated_at": "time",
    "lead_time": "seconds spent",
    WHO: "annotator",
}


def fits(columns: frozenset[str]) -> bool:
    return {"annotation_id", "annotator", "lead_time"} <= columns


def read(source: Source, into: Gathering) -> None:
    """Ratings, highlights and texts of every row."""
    controls = [name for name in source.columns if name not in (*OWN, "annotation_id") and not is_field(simple(name))]
    into.recognised |= {name: words for name, words in OWN.items() if name in source.columns}
    into.recognised |= {name: "context, candidate or system" for name in source.columns if is_field(simple(name))}
    into.recognised |= {name: f"control '{name}'" for name in controls}
    for record in source.records:
        values, row = record.values, record.row
        shown = {name: value for name, value in values.items() if is_field(simple(name))}
        fields = read_fields(shown, {}, named(values.get("id")) or str(row), row, into)
        annotator = named(values.get(WHO)) or named(values["annotator"])
        if not annotator:
            into.findings.error("does not say who rated.", row, "annotator")
            continue
        at, seconds = moment_of(values.get("updated_at") or values.get("created_at")), seconds_of(values["lead_time"])
        for name in controls:
            criterion, system = fields.place(name)
            unit = Unit(fields.item, system, annotator, into.kind, row, at, seconds, part=str(row))
            value = _unpacked(values.get(name))
            if explains(name, controls) or (isinstance(value, dict) and "text" in value):
                into.note(unit, criterion, value["text"] if isinstance(value, dict) else value)
            else:
                _answer(unit, criterion, value, into)


def _unpacked(cell: Json) -> Json:
    """The JSON in a cell, or the cell."""
    if not isinstance(cell, str) or not cell.lstrip().startswith(("[", "{")):
        return cell
    try:
        value: Json = json.loads(cell)
    except (ValueError, RecursionError):
        return cell
    return value


def _answer(unit: Unit, criterion: str, value: Json, into: Gathering) -> None:
    if isinstance(value, dict) and "choices" in value:
        value = value["choices"]
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        value = next((value[0][kind] for kind in ("number", "rating") if kind in value[0]), value)
    spans = [part for part in value if isinstance(part, dict) and "start" in part] if isinstance(value, list) else []
    for span in spans:
        for label in into.listed(span.get("labels") or [criterion], unit.row, criterion):
            quote = span.get("text")
            into.mark(unit, label, span.get("start"), span.get("end"), quote, utf16=quote is None)
    if not spans:
        into.rate(unit, criterion, value[0] if isinstance(value, list) and len(value) == 1 else value)
