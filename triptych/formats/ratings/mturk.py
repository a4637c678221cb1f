"""Mechanical Turk: the results of a batch. `Input.…` is what was shown, `Answer.…` what was answered.

Rejected assignments are left out, also those that only have a reason in the column `Reject` yet. Without an input that
is an id, assignments with the same context are one item.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from triptych.formats.layout import CONTEXT_NAMES, ID_NAMES, SYSTEM_NAMES, TEXT_NAMES, simple
from triptych.formats.model import Json, Record, Source
from triptych.formats.ratings.model import UNKNOWN_SYSTEM, Gathering, Unit, moment_of, named, seconds_of
from triptych.formats.values import json_in

INPUT, ANSWER, CROWD = "Input.", "Answer.", "Answer.taskAnswers"
REJECTED = "{n} rejected assignment(s) are left out."
NUMBERED = "No input is an id of the item: assignments with the same context are taken for one item."
SYSTEMS = (*SYSTEM_NAMES, "model_type", "system_id", "model_id")
ZONES = {"PST": -8, "PDT": -7, "UTC": 0, "GMT": 0}
_TIME = re.compile(r"\w{3} (\w{3} \d{1,2} \d\d:\d\d:\d\d) (\w{3}) (\d{4})")


def fits(columns: frozenset[str]) -> bool:
    return {"HITId", "WorkerId"} <= columns


def read(source: Source, into: Gathering) -> None:
    """Ratings and texts of every assignment that was not rejected."""
    inputs = {part: _input(source.columns, names) for part, names in _PARTS.items()}
    answers = [name for name in source.columns if name.startswith(ANSWER)]
    _tell(inputs, answers, into)
    numbers: dict[str, str] = {}
    for record in source.records:
        status = named(record.values.get("AssignmentStatus")).casefold()
        if status == "rejected" or named(record.values.get("Reject")):
            into.findings.tally(REJECTED)
            continue
        worker = named(record.values.get("WorkerId"))
        if not worker:
            into.findings.error("does not say who rated.", record.row, "WorkerId")
            continue
        values = {part: record.values.get(column, "") if column else "" for part, column in inputs.items()}
        item = named(values["id"]) or _numbered(record, values["context"], numbers)
        system = named(values["system"]) or UNKNOWN_SYSTEM
        if column := inputs["context"]:
            into.context(item, values["context"], record.row, column, from_cell=True)
        if column := inputs["text"]:
            into.text(item, system, values["text"], record.row, column, from_cell=True)
        at, seconds = _time(record.values.get("SubmitTime")), seconds_of(record.values.get("WorkTimeInSeconds"))
        unit = Unit(item, system, worker, into.kind, record.row, at, seconds, part=str(record.row))
        for criterion, value in _answers(record, answers, into):
            into.rate(unit, criterion, value)


_PARTS = {"id": ID_NAMES, "system": SYSTEMS, "text": TEXT_NAMES, "context": CONTEXT_NAMES}


def _input(columns: tuple[str, ...], names: tuple[str, ...]) -> str | None:
    shown = {simple(name.removeprefix(INPUT)): name for name in columns if name.startswith(INPUT)}
    return next((shown[name] for name in names if name in shown), None)


def _tell(inputs: dict[str, str | None], answers: list[str], into: Gathering) -> None:
    words = {"id": "id of the item", "system": "system", "text": "text of the candidate", "context": "context"}
    into.recognised |= {column: words[part] for part, column in inputs.items() if column}
    into.recognised |= {"WorkerId": "annotator", "AssignmentStatus": "what was rejected", "SubmitTime": "time"}
    into.recognised |= {"Reject": "what was rejected", "WorkTimeInSeconds": "seconds spent"}
    into.recognised |= {name: f"criterion '{name.removeprefix(ANSWER)}'" for name in answers}
    if inputs["id"] is None:
        into.findings.note(NUMBERED)


def _numbered(record: Record, context: str, numbers: dict[str, str]) -> str:
    """A number for every context seen; without a context the HIT is the item."""
    return numbers.setdefault(context, f"item-{len(numbers) + 1}") if context else named(record.values.get("HITId"))


def _time(written: Json) -> datetime | None:
    """Tue Jul 27 02:11:12 PDT 2021, as Mechanical Turk writes it, or ISO 8601."""
    match = _TIME.fullmatch(str(written or "").strip())
    if match is None or match[2] not in ZONES:
        return moment_of(written)
    at = datetime.strptime(f"{match[1]} {match[3]}", "%b %d %H:%M:%S %Y").replace(tzinfo=UTC)
    return at - timedelta(hours=ZONES[match[2]])


def _answers(record: Record, columns: list[str], into: Gathering) -> Iterator[tuple[str, Json]]:
    """(criterion, value); crowd forms keep all answers in one cell of JSON."""
    for column in columns:
        if column != CROWD:
            yield column.removeprefix(ANSWER), record.values.get(column)
            continue
        forms = json_in(record.values.get(column) or "[]")
        if isinstance(forms, str):
            into.findings.error("is not JSON.", record.row, column)
        for form in forms if isinstance(forms, list) else [forms]:
            for name, value in form.items() if isinstance(form, dict) else ():
                yield name, _chosen(value)


def _chosen(value: Json) -> Json:
    """Radio buttons are an object of option → true or false: the one that is true, a list where several are."""
    if not isinstance(value, dict):
        return value
    chosen: list[Json] = [name for name, on in value.items() if on is True]
    return chosen[0] if len(chosen) == 1 else (chosen or None)
