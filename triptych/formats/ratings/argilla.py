"""Argilla 2: records as JSON, nested as the server writes them or flattened as a dataset has them.

Flattened, one question is three parallel lists (values, users, status), which are zipped here. Responses that were
discarded or are drafts are left out. Suggestions are the ratings of a judge. The order shown is not recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from triptych.formats.layout import simple
from triptych.formats.model import Json, Record, Source
from triptych.formats.ratings.controls import Fields, explains, is_field, read_fields
from triptych.formats.ratings.model import Gathering, Unit, named

DROPPED = ("discarded", "draft")
NOT_SUBMITTED = "{n} discarded or draft response(s) are left out."
SPLIT_KEY = ".responses"
RANKED = "{n} ranking(s) are left out: rankings are not supported."


# a question's criterion, its system, and the result of `Fields.of_span`
Place = tuple[str, str | None, tuple[bool, str | None]]


def fits(columns: frozenset[str]) -> bool:
    nested = {"fields", "responses"} <= columns
    return nested or any(name.endswith((f"{SPLIT_KEY}.users", ".suggestion.agent")) for name in columns)


def read(source: Source, into: Gathering) -> None:
    """Ratings, spans and texts of every record."""
    into.recognised |= {name: words for name in source.columns if (words := _meaning(name))}
    into.recognised |= {name: "context, candidate or system" for name in source.columns if is_field(simple(name))}
    for record in source.records:
        values = record.values
        nested = isinstance(values.get("fields"), dict)
        shown = values["fields"] if nested else {name: v for name, v in values.items() if "." not in name}
        meta = values.get("metadata")
        fields = read_fields(
            shown, meta if isinstance(meta, dict) else {}, named(values.get("id")) or str(record.row), record.row, into
        )
        responses = list(_responses(record, into) if nested else _flat(record, into))
        asked = {question for question, *_ in responses}
        places = {name: _place(name, fields) for name in asked}  # once, however many answers there are
        explaining = {name for name in asked if explains(name, asked)}
        for name, annotator, value, status in responses:
            criterion, system, _ = places[name]
            unit = Unit(fields.item, system, annotator, into.kind, record.row)
            if status in DROPPED:
                into.findings.tally(NOT_SUBMITTED)
            elif annotator and name in explaining:
                into.note(unit, criterion, value)
            else:
                _answer(unit, name, places[name], value, into)
        for name, agent, value in _suggestions(record, into):
            place = _place(name, fields)
            _answer(Unit(fields.item, place[1], agent or "suggestion", "judge", record.row), name, place, value, into)


def _place(question: str, fields: Fields) -> Place:
    return *fields.place(question), fields.of_span(question)


def _meaning(name: str) -> str:
    part = name.split(".", 1)[-1]
    meanings = {
        "id": "id of the item", "fields": "context and candidates", "metadata": "id and systems, where they are there",
        "responses": "ratings", "responses.users": "annotators", "responses.status": "what was submitted",
        "suggestions": "ratings of a judge", "suggestion": "ratings of a judge", "suggestion.agent": "judge",
    }  # fmt: skip
    return meanings.get(part, "")


def _responses(record: Record, into: Gathering) -> Iterator[tuple[str, str, Json, str]]:
    """(question, user, value, status) of a nested record."""
    for question, answers in into.mapped(record.values.get("responses"), record.row, "responses").items():
        for entry in into.listed(answers, record.row, question):
            answer = into.mapped(entry, record.row, question)
            yield question, named(answer.get("user_id")), answer.get("value"), named(answer.get("status"))


def _flat(record: Record, into: Gathering) -> Iterator[tuple[str, str, Json, str]]:
    """(question, user, value, status) of a flattened record, whose lists must be of one length."""
    for name, column in record.values.items():
        if not name.endswith(SPLIT_KEY) or column is None:
            continue
        values = into.listed(column, record.row, name)
        question = name.removesuffix(SPLIT_KEY)
        users = into.listed(record.values.get(f"{name}.users"), record.row, f"{name}.users")
        status = into.listed(record.values.get(f"{name}.status"), record.row, f"{name}.status") or [""] * len(users)
        if not len(values) == len(users) == len(status):
            into.findings.error("its values, users and status differ in number.", record.row, name)
            continue
        yield from ((question, named(u), value, named(s)) for u, value, s in zip(users, values, status, strict=True))


def _suggestions(record: Record, into: Gathering) -> Iterator[tuple[str, str, Json]]:
    for question, entry in into.mapped(record.values.get("suggestions"), record.row, "suggestions").items():
        suggestion = into.mapped(entry, record.row, question)
        yield question, named(suggestion.get("agent")), suggestion.get("value")
    for name, value in record.values.items():
        if name.endswith(".suggestion"):
            yield name.removesuffix(".suggestion"), named(record.values.get(f"{name}.agent")), value


def _answer(unit: Unit, question: str, place: Place, value: Json, into: Gathering) -> None:
    """One answer: a value, one label in a list, or spans."""
    criterion, _, (is_known, system) = place
    if not unit.annotator:
        into.findings.error("a response has no annotator.", unit.row, question)
        return
    if not isinstance(value, list):
        into.rate(unit, criterion, value)
    elif all(isinstance(part, dict) and "start" in part for part in value):
        if not is_known:
            into.findings.error("a span does not name its response.", unit.row, criterion)
            return
        unit = replace(unit, system=system)
        for entry in value:
            span = into.mapped(entry, unit.row, question)
            into.mark(unit, span.get("label") or criterion, span.get("start"), span.get("end"), None)
    elif all(isinstance(part, dict) for part in value):
        into.findings.tally(RANKED)
    else:
        into.rate(unit, criterion, value[0] if len(value) == 1 else value)
