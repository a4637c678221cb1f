"""Mechanical Turk: the results of a batch, tidied into a table of ratings.

Rejected assignments are left out, including those with only a reason in the column `Reject`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from triptych.formats.model import Json, Record, Source
from triptych.formats.ratings.model import Gathering, named
from triptych.formats.ratings.roles import ANSWER
from triptych.formats.values import json_in

CROWD, TIME = "Answer.taskAnswers", "SubmitTime"
REJECTED = "{n} rejected assignment(s) are left out."
ZONES = {"PST": -8, "PDT": -7, "UTC": 0, "GMT": 0}
_TIME = re.compile(r"\w{3} (\w{3} \d{1,2} \d\d:\d\d:\d\d) (\w{3}) (\d{4})")


def fits(columns: frozenset[str]) -> bool:
    return {"HITId", "WorkerId"} <= columns


def tidied(source: Source, into: Gathering) -> Source:
    """The assignments that were not rejected, with times in ISO 8601 and every answer in a column of its own."""
    records = []
    for record in source.records:
        status = named(record.values.get("AssignmentStatus")).casefold()
        if status == "rejected" or named(record.values.get("Reject")):
            into.findings.tally(REJECTED)
            continue
        values = {**record.values, **dict(_answers(record, into))}
        values.pop(CROWD, None)
        if TIME in values:
            values[TIME] = _time(values[TIME])
        records.append(Record(record.row, values))
    into.recognised |= {c: "what was rejected" for c in ("AssignmentStatus", "Reject") if c in source.columns}
    columns = dict.fromkeys([*source.columns, *(name for record in records for name in record.values)])
    columns.pop(CROWD, None)
    return replace(source, columns=tuple(columns), records=tuple(records))


def _time(written: Json) -> Json:
    """A time written by Mechanical Turk, such as Tue Jul 27 02:11:12 PDT 2021, as ISO 8601."""
    match = _TIME.fullmatch(str(written or "").strip())
    if match is None or match[2] not in ZONES:
        return written
    try:
        at = datetime.strptime(f"{match[1]} {match[3]}", "%b %d %H:%M:%S %Y").replace(tzinfo=UTC)
        return (at - timedelta(hours=ZONES[match[2]])).isoformat()
    except (ValueError, OverflowError):
        return written


def _answers(record: Record, into: Gathering) -> Iterator[tuple[str, Json]]:
    """(column, value) of crowd forms, which keep all answers in one cell of JSON."""
    forms = json_in(record.values.get(CROWD) or "[]", into.findings)
    if isinstance(forms, str):
        into.findings.error("is not JSON.", record.row, CROWD)
    for form in forms if isinstance(forms, list) else [forms]:
        for name, value in form.items() if isinstance(form, dict) else ():
            yield f"{ANSWER}{name}", _chosen(value)


def _chosen(value: Json) -> Json:
    """The chosen option of radio buttons, an object option → true or false; a list if several are true."""
    if not isinstance(value, dict):
        return value
    chosen: list[Json] = [name for name, on in value.items() if on is True]
    return chosen[0] if len(chosen) == 1 else (chosen or None)
