"""Label Studio: the JSON export of a project, tasks with their annotations and predictions, and its tables.

Offsets are code points since 1.23 or earlier, and were UTF-16 units (heartexlabs/label-studio issue 1347): the quote
decides. `completed_by` is an id or an object. Cancelled annotations are left out; predictions are the ratings of a
judge. A table (CSV, TSV, JSON-MIN) has a row per annotation, a column per control after those of the data; what is not
plain is JSON in its cell: {"choices": […]}, [{"number": 3}], {"text": […]} and lists of spans.
"""

from __future__ import annotations

from dataclasses import replace

from triptych.formats.layout import simple
from triptych.formats.model import Json, JsonObject, Record, Source
from triptych.formats.ratings.controls import WHO, Fields, explains, is_field, read_fields
from triptych.formats.ratings.model import Gathering, RaterKind, Unit, moment_of, named, seconds_of
from triptych.formats.values import json_in

CANCELLED = "{n} cancelled annotation(s) are left out."
OF_REGION = "{n} answer(s) about one highlighted passage are left out: a rating is about a whole response."
SINGLE = ("rating", "number", "choices", "datetime")  # types of results that name their value like themselves


OWN = {
    "id": "id of the task",
    "annotator": "annotator",
    "created_at": "time",
    "updated_at": "time",
    "lead_time": "seconds spent",
    WHO: "annotator",
}


def fits(columns: frozenset[str]) -> bool:
    return {"data", "annotations"} <= columns


def read(source: Source, into: Gathering) -> None:
    """Ratings, highlights and texts of every task."""
    into.recognised |= {
        "id": "id of the task",
        "data": "context and candidates",
        "annotations": "ratings and highlights",
        "predictions": "ratings of a judge",
    }
    for record in source.records:
        data = into.mapped(record.values.get("data"), record.row, "data")
        fields = read_fields(data, {}, named(record.values.get("id")) or str(record.row), record.row, into)
        for work in _works(record, "annotations", into):
            if work.get("was_cancelled") is True:
                into.findings.tally(CANCELLED)
            else:
                _results(work, fields, _annotator(work), record.row, into)
        for work in _works(record, "predictions", into):
            if work.get("result"):
                _results(work, fields, named(work.get("model_version")) or "prediction", record.row, into, judge=True)


def _works(record: Record, name: str, into: Gathering) -> list[JsonObject]:
    return [into.mapped(work, record.row, name) for work in into.listed(record.values.get(name), record.row, name)]


def _annotator(work: JsonObject) -> str:
    """The annotator: the name in our own export's text field, else the id, which may be inside an object."""
    results = work.get("result")
    if name := next(filter(None, map(_box_name, results if isinstance(results, list) else ())), ""):
        return name
    account = work.get("completed_by")
    if isinstance(account, dict):
        return next((name for key in ("email", "username", "id") if (name := named(account.get(key)))), "")
    return named(account)


def _box_name(result: Json) -> str:
    """The annotator's name in the text field of our own export."""
    value = result.get("value") if isinstance(result, dict) and result.get("from_name") == WHO else None
    texts = value.get("text") if isinstance(value, dict) else None
    return named(texts[0] if isinstance(texts, list) and texts else texts)


def _results(work: JsonObject, fields: Fields, annotator: str, row: int, into: Gathering, judge: bool = False) -> None:
    if not annotator:
        into.findings.error("an annotation has no annotator.", row, "completed_by")
        return
    kind: RaterKind = "judge" if judge else into.kind
    at, seconds = moment_of(work.get("updated_at") or work.get("created_at")), seconds_of(work.get("lead_time"))
    for result in into.listed(work.get("result"), row, "result"):
        if not isinstance(result, dict) or not isinstance(result.get("value"), dict):
            into.findings.error("a result is not an object with a value.", row, "result")
            continue
        if result.get("from_name") == WHO:
            continue
        where = named(result.get("from_name")), named(result.get("to_name"))
        criterion, system = fields.place(*where)
        unit = Unit(fields.item, system, annotator, kind, row, at, seconds, part=str(row))
        _result(unit, criterion, result, fields.of_span(*where), into)


def _result(unit: Unit, control: str, result: JsonObject, of_span: tuple[bool, str | None], into: Gathering) -> None:
    """One control's answer; of_span: result of `Fields.of_span`."""
    kind, value = named(result.get("type")), result["value"]
    if kind in SINGLE and "start" in value:
        into.findings.tally(OF_REGION)
    elif kind in SINGLE:
        answer = value.get(kind)
        into.rate(unit, control, answer[0] if isinstance(answer, list) and len(answer) == 1 else answer)
    elif kind == "textarea":
        into.note(unit, control, value.get("text"))
    elif kind in ("labels", "hypertextlabels"):
        for label in into.listed(value.get(kind) or value.get("labels") or [control], unit.row, control):
            _span(unit, label, result, of_span, into)
    else:
        into.findings.tally(f"{{n}} result(s) of type '{kind}' are left out: this kind of answer is not supported.")


def _span(unit: Unit, label: Json, result: JsonObject, of_span: tuple[bool, str | None], into: Gathering) -> None:
    """A highlight; its comment is the annotator's note about the region."""
    is_known, system = of_span
    if not is_known:
        into.findings.error("a highlight does not name its response.", unit.row, "to_name")
        return
    value, meta = result["value"], result.get("meta")
    words = meta.get("text") if isinstance(meta, dict) else None
    comment = "\n".join(map(named, words)) if isinstance(words, list) else named(words)
    quote = value.get("text")
    unit = replace(unit, system=system)
    into.mark(unit, label, value.get("start"), value.get("end"), quote, comment=comment, utf16=quote is None)


def fits_table(columns: frozenset[str]) -> bool:
    return {"annotation_id", "annotator", "lead_time"} <= columns


def read_table(source: Source, into: Gathering) -> None:
    """Ratings, highlights and texts of every row."""
    of_task = [name for name in source.columns if is_field(simple(name))]
    controls = [name for name in source.columns if name not in (*OWN, "annotation_id", *of_task)]
    asked = frozenset(controls)
    explaining = {name for name in controls if explains(name, asked)}
    into.recognised |= {name: words for name, words in OWN.items() if name in source.columns}
    into.recognised |= dict.fromkeys(of_task, "context, candidate or system")
    into.recognised |= {name: f"control '{name}'" for name in controls}
    for record in source.records:
        values, row = record.values, record.row
        shown = {name: values[name] for name in of_task if name in values}
        fields = read_fields(shown, {}, named(values.get("id")) or str(row), row, into)
        annotator = named(values.get(WHO)) or named(values["annotator"])
        if not annotator:
            into.findings.error("has no annotator.", row, "annotator")
            continue
        at, seconds = moment_of(values.get("updated_at") or values.get("created_at")), seconds_of(values["lead_time"])
        for name in controls:
            criterion, system = fields.place(name)
            unit = Unit(fields.item, system, annotator, into.kind, row, at, seconds, part=str(row))
            value = json_in(values.get(name), into.findings)
            if name in explaining or (isinstance(value, dict) and "text" in value):
                into.note(unit, criterion, value["text"] if isinstance(value, dict) else value)
            else:
                _answer(unit, criterion, value, fields.of_span(name), into)


def _answer(unit: Unit, criterion: str, value: Json, of_span: tuple[bool, str | None], into: Gathering) -> None:
    if isinstance(value, dict) and "choices" in value:
        value = value["choices"]
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        value = next((value[0][kind] for kind in ("number", "rating") if kind in value[0]), value)
    spans = [part for part in value if isinstance(part, dict) and "start" in part] if isinstance(value, list) else []
    for span in spans:
        _result(unit, criterion, {"type": "labels", "value": span}, of_span, into)
    if not spans:
        into.rate(unit, criterion, value[0] if isinstance(value, list) and len(value) == 1 else value)
