"""Potato: `annotation_output/<user>/user_state.json`, one file per annotator, or the whole project.

Answers are pairs of {schema, name} and value, in older descriptions an object per scheme; every value is a text. A
scheme may hold several labels although only one can be meant (before Potato's fix of issue 167): such a unit is an
error that names them, never a choice of ours. The order shown is not recorded. Spans have no quote and count code
points; those of a text field count them in the page, where a line break is a tag and no character. The older layout
has quotes and counts UTF-16 units. Only a project says what the responses are; alone, a state file rates one text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import PurePosixPath

from triptych.errors import ImportRefused
from triptych.formats.model import Findings, Json, JsonObject, ReadOptions, Record, Source
from triptych.formats.ratings.controls import Fields, read_fields
from triptych.formats.ratings.model import UNKNOWN_SYSTEM, Gathering, Unit, moment_of, named, seconds_of, whole
from triptych.formats.ratings.sources import read_clean
from triptych.formats.ratings.spans import Offsets
from triptych.formats.readers import READERS, read_items_source
from triptych.rubric import yaml_text
from triptych.rubric.yaml_text import InvalidYaml, TooManyParts

STATE = "user_state.json"
MAX_DATA_FILES = 200
MAX_YAML_BYTES, MAX_YAML_PARTS = 1_000_000, 20_000  # of all YAML files of a zip: a megabyte takes seconds to read
LABELS = "instance_id_to_label_to_value"
SPANS = "instance_id_to_span_to_value"
BEHAVIOUR = "instance_id_to_behavioral_data"
SELECTED = {"true", "True", True}
UNSELECTED = {"false", "False", "", False, None}
TEXT_BOXES = {"text_box", "textbox", "free_text", "free_response"}
ONLY_ANSWER = {"selection", "scale", "number", "slider", "select-one"}
SEVERAL = "{n} answer(s) to questions with several labels are left out: this kind of answer is not supported."


@dataclass(frozen=True)
class PotatoProject:
    """The content of a project, as far as it is known. fields: item → its fields; texts: item → texts with spans.

    several: schemes whose labels do not exclude each other.
    """

    fields: dict[str, Fields] = field(default_factory=dict)
    texts: dict[str, dict[str, Offsets]] = field(default_factory=dict)
    several: frozenset[str] = frozenset()

    def of_span(self, item: str, scheme: str, to: str) -> tuple[bool, str | None]:
        """(whether the span's text is known, the text's system, None for the context)."""
        fields = self.fields.get(item)
        return fields.of_span(scheme, to) if fields and fields.systems else (True, UNKNOWN_SYSTEM)


UNKNOWN, NO_FIELDS = PotatoProject(), Fields("", {}, {})


def fits(columns: frozenset[str]) -> bool:
    return LABELS in columns or SPANS in columns


def is_state(name: str) -> bool:
    """Whether a file of a folder is an annotator's state."""
    return PurePosixPath(name).name == STATE


def joined_states(files: Mapping[str, bytes], findings: Findings) -> Source:
    """The states of all annotators of a project as one source, numbered through."""
    sources = [read_clean(files[name], STATE, findings) for name in sorted(files) if is_state(name)]
    records = [record for source in sources for record in source.records]
    columns = tuple(dict.fromkeys(name for source in sources for name in source.columns))
    numbered = tuple(Record(number, record.values) for number, record in enumerate(records, 1))
    return Source("JSON", columns, numbered, tabular=False)


def read_project(files: Mapping[str, bytes], into: Gathering) -> PotatoProject:
    """The project described by config and data files, whose texts go to `into`; an empty project without a config."""
    config = _config(files)
    keys = into.mapped(config.get("item_properties"), 0, "item_properties")
    listed = into.listed(config.get("annotation_schemes"), 0, "annotation_schemes")
    schemes = [scheme for scheme in listed if isinstance(scheme, dict)]
    lines = _fields_with_lines(config)
    project = PotatoProject(
        several=frozenset(named(s.get("name")) for s in schemes if s.get("annotation_type") == "multiselect")
    )
    for name in _data_files(files, into.listed(config.get("data_files"), 0, "data_files"), into):
        for record in read_items_source(files[name], name, ReadOptions(), into.findings).records:
            _item(record, keys, lines, project, into)
    return project


def _config(files: Mapping[str, bytes]) -> JsonObject:
    """The config of the project; empty without one. All YAML files that are read count together."""
    parts_left, bytes_left = MAX_YAML_PARTS, MAX_YAML_BYTES
    for name, data in files.items():
        if PurePosixPath(name).suffix.casefold() not in (".yaml", ".yml"):
            continue
        bytes_left -= len(data)
        if bytes_left < 0:
            raise ImportRefused(f"The YAML files of the zip have more than {MAX_YAML_BYTES:,} bytes.")
        try:
            config = yaml_text.read(data, parts_left)
        except TooManyParts as error:
            problem = f"The YAML files of the zip have more than {MAX_YAML_PARTS:,} keys and values, or repeat texts."
            raise ImportRefused(problem) from error
        except (InvalidYaml, UnicodeError) as error:
            raise ImportRefused(f"{name} is not YAML: {error}") from error
        if isinstance(config, dict) and "annotation_schemes" in config:
            return config
        parts_left -= yaml_text.parts_of(config)
    return {}


def _data_files(files: Mapping[str, bytes], paths: Sequence[Json], into: Gathering) -> Iterator[str]:
    """The files of the zip at the config's paths, each once, however often the config names it."""
    if len(paths) > MAX_DATA_FILES:
        into.findings.error(f"names more than {MAX_DATA_FILES:,} files.", 0, "data_files")
        return
    readable = (name for name in files if PurePosixPath(name).suffix.lstrip(".").casefold() in READERS)
    parts_of = {name: PurePosixPath(name).parts for name in readable}
    distinct = dict.fromkeys(path for path in paths if isinstance(path, str))
    named_files = (_file_at(PurePosixPath(path).parts, parts_of) for path in distinct)
    yield from dict.fromkeys(name for name in named_files if name is not None)


def _file_at(ends: tuple[str, ...], parts_of: Mapping[str, tuple[str, ...]]) -> str | None:
    """The file of the zip at the config's path, which may be relative to any folder."""
    return next((name for name, parts in parts_of.items() if parts[-len(ends) :] == ends), None)


def _fields_with_lines(config: Mapping[str, Json]) -> set[str]:
    """The fields on whose page a line break is no character."""
    display = config.get("instance_display")
    shown = display.get("fields") if isinstance(display, dict) else None
    fields = [field for field in shown if isinstance(field, dict)] if isinstance(shown, list) else []
    options = {str(f.get("key")): f.get("display_options") for f in fields if f.get("type", "text") == "text"}
    flowing = {key for key, o in options.items() if isinstance(o, dict) and o.get("preserve_whitespace") is False}
    return set(options) - flowing


def _item(record: Record, keys: Mapping[str, Json], lines: set[str], project: PotatoProject, into: Gathering) -> None:
    values, text_key = record.values, str(keys.get("text_key", "text"))
    item = named(values.get(str(keys.get("id_key", "id"))))
    if not item:
        return
    fields = read_fields({**values, "item_id": item}, {}, item, record.row, into)
    if not fields.systems and isinstance(values.get(text_key), str):
        into.text(item, UNKNOWN_SYSTEM, values[text_key], record.row, text_key)
    project.fields[item] = fields
    project.texts[item] = {
        name: Offsets(text, lines=False) for name, text in values.items() if name in lines and isinstance(text, str)
    }


def read(source: Source, into: Gathering, project: PotatoProject = UNKNOWN) -> None:
    """Ratings and spans of every user in the file."""
    into.recognised |= {"user_id": "annotator", LABELS: "ratings", SPANS: "highlights", BEHAVIOUR: "time"}
    for record in source.records:
        user = named(record.values.get("user_id"))
        if not user:
            into.findings.error("has no annotator.", record.row, "user_id")
            continue
        times = dict(_entries(record, BEHAVIOUR, into))
        for item, answers in _entries(record, LABELS, into):
            at, seconds = _times(times.get(item))
            unit = Unit(item, None, user, into.kind, record.row, at, seconds)
            for scheme, answer in _grouped(unit, answers, into).items():
                _scheme(unit, scheme, answer, project, into)
        for item, spans in _entries(record, SPANS, into):
            unit = Unit(item, None, user, into.kind, record.row)
            for scheme, span in _spans(unit, spans, into):
                _span(unit, scheme, span, project, into)


def _entries(record: Record, name: str, into: Gathering) -> Iterator[tuple[str, Json]]:
    """(item, its answers and spans) for each item of an annotator."""
    yield from into.mapped(record.values.get(name), record.row, name).items()


def _times(behaviour: Json) -> tuple[datetime | None, float]:
    """(time when the annotator left the item, seconds spent on it)."""
    times = behaviour if isinstance(behaviour, dict) else {}
    end, spent = times.get("session_end"), seconds_of(times.get("total_time_ms"))
    return (None if end is None else moment_of(end)), spent / 1000


def _grouped(unit: Unit, answers: Json, into: Gathering) -> JsonObject:
    """Scheme → its names and values, from pairs or from an object."""
    if not isinstance(answers, list):
        return into.mapped(answers, unit.row, unit.item)
    schemes: JsonObject = defaultdict(dict)
    for label, value in _pairs(unit, answers, into):
        schemes[named(label.get("schema"))][named(label.get("name"))] = value
    return schemes


def _pairs(unit: Unit, pairs: list[Json], into: Gathering) -> Iterator[tuple[JsonObject, Json]]:
    for pair in pairs:
        if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], dict):
            yield pair[0], pair[1]
        else:
            into.findings.error("contains an entry that is not a pair of label and value.", unit.row, unit.item)


def _scheme(unit: Unit, scheme: str, answer: Json, project: PotatoProject, into: Gathering) -> None:
    """The answers to one scheme: labels that are set, a single named value, or several questions."""
    criterion, system = project.fields.get(unit.item, NO_FIELDS).place(scheme)
    unit = replace(unit, system=system)
    if not isinstance(answer, dict):
        into.rate(unit, criterion, answer)
        return
    labels = answer.get("labels")
    values = labels if isinstance(labels, dict) else answer
    for name in TEXT_BOXES & set(values):
        into.note(unit, criterion, values[name])
    values = {name: value for name, value in values.items() if name not in TEXT_BOXES}
    if values and all(_is_label(name, value) for name, value in values.items()):
        chosen = [name if value in SELECTED else str(value) for name, value in values.items() if not _is_unset(value)]
        _selected(unit, (scheme, criterion), chosen, project, into)
        return
    for name, value in values.items():
        # {"number": "4"} answers the scheme itself; anything else is a question inside it
        into.rate(unit, criterion if name in ONLY_ANSWER else f"{criterion}: {name}", value)


def _is_label(name: str, value: Json) -> bool:
    """Whether a name is a label that is set or not: positive → true, 4 → "4", scale_4 → "4"."""
    if isinstance(value, list | dict):
        return False
    return value in SELECTED or _is_unset(value) or (isinstance(value, str) and name in (value, f"scale_{value}"))


def _is_unset(value: Json) -> bool:
    return not isinstance(value, list | dict) and value in UNSELECTED


def _selected(unit: Unit, names: tuple[str, str], labels: list[str], project: PotatoProject, into: Gathering) -> None:
    scheme, criterion = names
    if scheme in project.several:
        into.findings.tally(SEVERAL)
    elif len(labels) > 1:
        shown = ", ".join(f"'{label}'" for label in labels)
        into.findings.error(
            f"annotator '{unit.annotator}' has several labels for item '{unit.item}': {shown}. "
            "It is unclear which one was meant; correct the file or remove these entries.",
            unit.row,
            scheme,
        )
    else:
        into.rate(unit, criterion, labels[0] if labels else None)


def _spans(unit: Unit, listed: Json, into: Gathering) -> Iterator[tuple[str, JsonObject]]:
    """(scheme, span) from pairs of span and value, or from an object of lists."""
    if isinstance(listed, list):
        yield from ((named(span.get("schema")), span) for span, _ in _pairs(unit, listed, into))
        return
    for scheme, spans in into.mapped(listed, unit.row, unit.item).items():
        for span in into.listed(spans, unit.row, scheme):
            yield scheme, into.mapped(span, unit.row, scheme)


def _span(unit: Unit, scheme: str, span: JsonObject, project: PotatoProject, into: Gathering) -> None:
    label = span.get("name") or span.get("label") or scheme
    to, quote = named(span.get("target_field")), span.get("text")
    is_known, system = project.of_span(unit.item, scheme, to)
    if not is_known:
        into.findings.error("a span does not name its response.", unit.row, scheme)
        return
    unit = Unit(unit.item, system, unit.annotator, unit.kind, unit.row)
    start, end, offsets = span.get("start"), span.get("end"), project.texts.get(unit.item, {}).get(to)
    if offsets is not None and (place := offsets.span(whole(start), whole(end))):
        start, end = place
        quote = offsets.text[start:end]
    into.mark(unit, label, start, end, quote, utf16=quote is not None and offsets is None)
