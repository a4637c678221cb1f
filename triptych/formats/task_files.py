"""Task files of Label Studio, Argilla, Potato and Pearmut and our own tables of items, unpacked into plain records.

Files are recognised by their shape. The unpacked records are read like any other file: response_a, response_b, … are
candidates, and system_a or model_a names the system that wrote response_a. Ratings in such a file are ignored here; the
import of finished ratings reads them.
Layouts: Label Studio "Import data / JSON", Argilla 2 records, Potato `data_files` with attention and gold items,
Pearmut campaigns (documents of segments, or annotator tasks of documents of segments). Expected answers of attention
and gold items become the fields `purpose` and `reference`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from triptych.errors import ImportRefused
from triptych.formats.layout import ID_NAMES, NUMBERED, is_header, is_known, known_columns, simple
from triptych.formats.model import Findings, Json, JsonObject, Record, Source
from triptych.formats.tables import restored
from triptych.formats.values import NumberText, json_in, kind_of
from triptych.rubric.model import LETTERS
from triptych.rubric.scales import as_typed
from triptych.storage.models import Purpose

RATED_TOO = (
    "{n} task(s) also contain annotations or suggestions; only the items are read here. Finished ratings have a "
    "separate import."
)
TWICE = (
    "{n} row(s) or segment(s) repeat an item with the same texts, for another annotation or annotator task; "
    "each item is read once."
)
CHECKS = "{n} item(s) have an expected answer in the original program; they are read as checks."
NO_SCORES = (
    "{n} item(s) have rules of validation without a range of scores for a system; they are read like other items. "
    "Leave them out of the file, or add `purpose` and `reference` to make them checks."
)
ALONE = "candidate_1"  # the system whose response is given as a text
TRAINING = "{n} item(s) have correct answers for training, which are left out; worked examples belong to the rubric."
NOT_MAIN = "{n} candidate(s) of training items and checks are left out; only main items are read here."
EXPORTED = {"item_id", "purpose", "context", "context_turns", "system", "text", "turns", "meta", "extra_texts"}
_ADDRESS = re.compile(r"\s*(?:(?:https?|s3|gs|azure-blob)://|/data/(?:upload|local-files)/)\S+\s*", re.IGNORECASE)
_NAMER = re.compile(r"(?:system|model)_(?:[1-9]\d?|[a-f])")
_RATED = ("annotations", "predictions", "responses", "suggestions", "completions")
_ANSWERS = {"expected_answer": "attention", "gold_label": "gold"}
_TRAINED = "correct_answers"
SAYS_WHO = ("annotator", "annotation_id")


@dataclass(frozen=True)
class Program:
    """How the tasks of one program are recognised (fits), and how a task is unpacked into plain fields.

    per_annotation: an item has one row per annotation.
    """

    name: str
    fits: Callable[[Source], bool]
    unpack: Callable[[Record, Findings], JsonObject | None]
    per_annotation: bool = False


def is_task(value: JsonObject) -> bool:
    """Whether one JSON object is a task of Label Studio or a record of Argilla."""
    inside = (value.get(name) for name in ("data", "fields"))
    return any(isinstance(fields, dict) and is_header(tuple(fields)) for fields in inside)


def is_campaign(value: Json) -> bool:
    """Whether a JSON file is a campaign of Pearmut: `data` is a list of lists."""
    data = value.get("data") if isinstance(value, dict) else None
    return isinstance(data, list) and bool(data) and all(isinstance(part, list) for part in data)


def segments(campaign: JsonObject) -> list[tuple[int, Json]]:
    """The segments of a campaign, numbered through; one without an id gets its place as its id.

    Raises ImportRefused where the lists are deeper than annotator task, document, segment.
    """
    entries: list[tuple[int, Json]] = []
    for number, (place, segment) in enumerate(_leaves(campaign["data"], ()), 1):
        if isinstance(segment, dict) and not any(simple(name) in ID_NAMES for name in segment):
            # the places of segments in one document differ in the last number only
            segment = {**segment, "item_id": "/".join(map(str, place))}
        entries.append((number, segment))
    return entries


def unpacked(source: Source, findings: Findings) -> Source:
    """The source itself, or the tasks of another program as plain records."""
    program = next((candidate for candidate in PROGRAMS if candidate.fits(source)), None)
    if program is None:
        return source
    # our own tables have a ' before texts that a spreadsheet could take for formulas
    whole = restored(source) if program.unpack is _exported else source
    records = []
    for record in whole.records:
        values = program.unpack(record, findings)
        if values is not None:
            _refuse_addresses(values, record.row, findings)
            records.append(Record(record.row, values))
    items = _once(records, findings) if program.per_annotation else records
    columns = dict.fromkeys(key for record in items for key in record.values)
    kind = f"{program.name} {source.kind}"
    return replace(source, kind=kind, columns=tuple(columns), records=tuple(items))


def _leaves(part: list[Json], place: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Json]]:
    for number, inside in enumerate(part, 1):
        if isinstance(inside, list):
            if len(place) == 2:
                raise ImportRefused(
                    "The campaign's `data` is nested too deeply: it should contain documents of segments, or annotator "
                    "tasks with documents of segments."
                )
            yield from _leaves(inside, (*place, number))
        else:
            yield (*place, number), inside


def _flat(record: Record, findings: Findings, inside: str, meta_name: str) -> JsonObject | None:
    """The fields of a task as fields of the record; the task's id is used only if the fields contain none."""
    fields = record.values.get(inside)
    if not isinstance(fields, dict):
        findings.error(f"is {kind_of(fields)}; the texts of the task were expected there.", record.row, inside)
        return None
    if any(record.values.get(name) for name in _RATED):
        findings.tally(RATED_TOO)
    meta = record.values.get(meta_name)
    extras = meta if isinstance(meta, dict) else {}
    namers = {name: value for name, value in extras.items() if _NAMER.fullmatch(simple(name))}
    rest = {name: value for name, value in extras.items() if name not in namers}
    has_id = any(simple(name) in ID_NAMES for name in fields) or record.get("id") is None
    own = {} if has_id else {"id": record.get("id")}
    return {**own, **fields, **namers, **({"meta": rest} if rest and "meta" not in fields else {})}


def _potato(record: Record, findings: Findings) -> JsonObject:
    """Potato's list of texts to compare is under `text`."""
    values = dict(record.values)
    if isinstance(values.get("text"), list):
        values["responses"] = values.pop("text")
    if values.get(_TRAINED):
        findings.tally(TRAINING)
    for name, purpose in _ANSWERS.items():
        if isinstance(answers := values.pop(name, None), dict):
            expected = [{"criterion": scheme, "accepted": _accepted(answer)} for scheme, answer in answers.items()]
            values |= _check(purpose, expected, values.get("explanation"), findings)
    return values


def _accepted(answer: Json) -> str:
    return " | ".join(map(str, answer)) if isinstance(answer, list) else str(answer)


def _exported(record: Record, findings: Findings) -> JsonObject | None:
    """A row of our own table of items, which has a column for a text and another for turns."""
    values: JsonObject = dict.fromkeys(EXPORTED) | record.values  # an object of a JSON file may lack some
    if values["purpose"] not in (None, "", Purpose.main):
        findings.tally(NOT_MAIN)
        return None
    texts = {"context": values["context_turns"] or values["context"], "text": values["turns"] or values["text"]}
    more = {name: json_in(values[name], findings) for name in ("meta", "extra_texts") if values[name]}
    return {"item_id": values["item_id"], "system": values["system"], **texts, **more}


def _pearmut(record: Record, findings: Findings) -> JsonObject:
    """A campaign with one system may give `tgt` as a text; `validation` says which scores of a system a check accepts,
    in one rule or in a list of rules."""
    values = dict(record.values)
    target, rules = values.get("tgt"), values.pop("validation", None)
    if isinstance(target, str):
        target = values["tgt"] = {ALONE: target}
        if not (isinstance(rules, dict) and ALONE in rules):
            rules = rules and {ALONE: rules}
    by_system = rules if isinstance(rules, dict) else {}
    expected = [
        {"criterion": "score", "slot": letter, **_between(ends)}
        for letter, system in zip(LETTERS, target if isinstance(target, dict) else (), strict=False)
        if (ends := _accepted_range(by_system.get(system)))
    ]
    if expected:
        values |= _check("attention", expected, None, findings)
    elif rules:
        findings.tally(NO_SCORES)
    return values


def _accepted_range(rules: Json) -> Sequence[str] | None:
    """The first range of scores in a rule, or in a list of rules."""
    for rule in rules if isinstance(rules, list) else [rules]:
        ends = rule.get("score") if isinstance(rule, dict) else None
        numbers = [end for end in ends if isinstance(end, NumberText)] if isinstance(ends, list) else []
        if isinstance(ends, list) and len(ends) == len(numbers) == 2:
            return numbers
    return None


def _between(ends: Sequence[str]) -> dict[str, str]:
    low, high = map(float, ends)
    return {"accepted": as_typed((low + high) / 2), "close": as_typed(abs(high - low) / 2)}


def _check(purpose: str, expected: list[dict[str, str]], reason: Json, findings: Findings) -> JsonObject:
    """The fields that make an item a check, as a lead would write them."""
    findings.tally(CHECKS)
    explanation = {"reason": reason} if isinstance(reason, str) else {}
    return {"purpose": purpose, "reference": [{**answer, **explanation} for answer in expected]}


def _refuse_addresses(values: JsonObject, row: int, findings: Findings) -> None:
    """Report texts that consist of an address only: they refer to a file that is missing, and nothing is fetched."""
    for name, value in values.items():
        is_text = isinstance(value, str) and is_known(name) and simple(name) not in ID_NAMES
        if is_text and _ADDRESS.fullmatch(value):
            findings.error("contains an address, not a text; put the text itself in the file.", row, name)


def _once(records: Sequence[Record], findings: Findings) -> list[Record]:
    """One item for rows (of annotations) or segments (of annotator tasks) whose known fields agree."""
    firsts: dict[tuple[str, ...], Record] = {}
    for record in records:
        shown = [name for name in record.values if is_known(name) and simple(name) not in SAYS_WHO]
        content = tuple(str(record.values[name]) for name in shown)
        if firsts.setdefault(content, record) is not record:
            findings.tally(TWICE)
    return list(firsts.values())


def _holds(source: Source, name: str) -> bool:
    """Whether the texts are inside this field instead of next to it."""
    if source.tabular or any(
        column in ("candidates", "outputs") or NUMBERED.fullmatch(column) for column in source.columns
    ):
        return False
    values = (record.values.get(name) for record in source.records)
    return any(isinstance(fields, dict) and known_columns(fields) > 0 for fields in values)


def _is_potato(source: Source) -> bool:
    """Whether the file is from Potato: it has lists of texts to compare, or expected answers in Potato's form."""
    listed = (text for record in source.records if isinstance(text := record.get("text"), list) and text)
    has_text_lists = any(all(isinstance(entry, str) for entry in text) for text in listed)
    return not source.tabular and (has_text_lists or not {*_ANSWERS, _TRAINED}.isdisjoint(source.columns))


PROGRAMS = (
    Program("Triptych", lambda source: set(source.columns) >= EXPORTED, _exported),
    Program("Label Studio", lambda source: _holds(source, "data"), partial(_flat, inside="data", meta_name="meta")),
    Program("Argilla", lambda source: _holds(source, "fields"), partial(_flat, inside="fields", meta_name="metadata")),
    Program("Pearmut", lambda source: not source.tabular and {"src", "tgt"} <= set(source.columns), _pearmut, True),
    Program(
        "Label Studio",
        lambda source: {"annotation_id", "lead_time"} <= set(source.columns),
        lambda record, _: record.values,
        True,
    ),
    Program("Potato", _is_potato, _potato),
)
