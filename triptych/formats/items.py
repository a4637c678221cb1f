"""Makes items from records: their ids, contexts, candidates and other fields, and all problems by row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from triptych.errors import ImportRefused
from triptych.formats.checks import check_items
from triptych.formats.layout import Layout, as_one_text, chosen_layout, find_layout, is_known, roles_of
from triptych.formats.model import (
    MAX_CANDIDATES,
    MAX_ITEMS,
    CandidateDraft,
    Findings,
    ItemDraft,
    ItemFile,
    Json,
    ReadOptions,
    Record,
    Source,
    TurnDraft,
)
from triptych.formats.names import fault_of
from triptych.formats.values import UnfitValueError, as_content, clean, kind_of, plain

UNKNOWN_SYSTEM = "unknown"
SYSTEM_KEYS = ("system", "model", "name", "id")
NO_CANDIDATES = (
    "No item has candidates. Add columns such as cand:model-a, or a field 'candidates'; say which columns contain the "
    "responses; or choose that the conversation itself is judged."
)
NO_ITEM_COLUMN = (
    "There is one row per system, but no column says which item a row belongs to. "
    "Say which one does, or add a column 'item_id', for example: item_id, context, system, text."
)
GUESSED = "The columns {names} were guessed from their values: check the role of each."
SAMPLES, SAMPLE_CHARACTERS = 3, 40

BARE_WORD = re.compile(r"[\w-]{0,20}")  # longer ones may be texts in a script without spaces
LABELS = (
    "Not taken for responses, as all their values are single words: {names}. If they are responses, name their columns "
    "'cand: …' or choose that role."
)
VALUE_ALONE = re.compile(r"true|false|[-+]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:e[-+]?\d+)?", re.IGNORECASE)
VALUES_ALONE = (
    "{n} candidate(s) are only a number, or true or false; they are shown as written. Are these the right columns?"
)

Content = str | tuple[TurnDraft, ...]


@dataclass(frozen=True)
class RawCandidate:
    """A candidate in the file: its system, its raw value, and its row and column."""

    system: str
    value: Json
    row: int
    column: str | None


@dataclass(frozen=True)
class Reading:
    """State shared by the functions of this module while they read one file."""

    source: Source
    layout: Layout
    options: ReadOptions
    findings: Findings
    system: str | None = None


def make_items(source: Source, options: ReadOptions, findings: Findings, system: str | None = None) -> ItemFile:
    """All items of a file with their problems; nothing is left out silently.

    system: the system of all candidates ("": not known yet), if the file will be joined with others on the item id;
    such a file may lack candidates, but not ids.
    Raises ImportRefused where the columns do not fit together, or for more than 100,000 items.
    """
    joined = system is not None
    layout = chosen_layout(dict(options.roles)) if options.roles else find_layout(source.columns)
    if not (layout.has_candidates or options.roles or options.judge_conversation or joined):
        layout.candidates = _systems_by_column(source, layout, findings) or _guess(source, layout, findings)
    reading = Reading(source, layout, options, findings, system)
    if layout.item_id is None and source.records:
        if joined:
            findings.error("There is no column 'item_id'; files are joined on the ids of their items.")
        elif layout.is_long and layout.context is None:
            findings.error(NO_ITEM_COLUMN)
        else:
            findings.warning("There is no column 'item_id'; the items are numbered by their rows.")
    judged = options.judge_conversation
    if not (layout.has_candidates or judged or joined) and source.records:
        findings.error(NO_CANDIDATES)
    if options.append_field:
        _check_append(reading)
    groups = list(_grouped(reading))
    if len(groups) > MAX_ITEMS:
        raise ImportRefused(f"The file holds {len(groups):,} items; at most {MAX_ITEMS:,} can be read. Split it.")
    drafts = (_item(reading, rows) for rows in groups)
    items = tuple(item for item in drafts if item is not None)
    check_items(items, findings, candidates_expected=layout.has_candidates and not (judged or joined))
    return _item_file(reading, items)


def _systems_by_column(source: Source, layout: Layout, findings: Findings) -> dict[str, str]:
    """Columns of texts without a known name, next to an id and a context: each has the responses of one system."""
    taken = {layout.item_id, layout.context}
    others = [c for c in source.columns if c not in taken and c not in layout.meta and not is_known(c)]
    texts = [column for column in others if _holds_texts(source, column)]
    labels = [column for column in texts if _holds_labels(source, column)]
    if len(texts) - len(labels) < 2:
        labels = []
    columns = [column for column in texts if column not in labels]
    has_sentences = any(" " in plain(record.get(column) or "") for record in source.records for column in columns)
    if None in taken or not 2 <= len(columns) <= MAX_CANDIDATES or not has_sentences:
        return {}
    findings.note(f"Responses were taken from the columns {', '.join(columns)}, one for each system.")
    if labels:
        findings.warning(LABELS.format(names=", ".join(labels)))
    return {column: column for column in columns}


def _guess(source: Source, layout: Layout, findings: Findings) -> dict[str, str]:
    """Guess the columns of a file without known names: the first column of texts is the context, the others responses.

    The id is the first column of single words that are all different. Nothing is guessed from fewer than three columns
    of texts.
    """
    free = [column for column in source.columns if column not in layout.meta and not is_known(column)]
    values = {column: [plain(record.get(column) or "").strip() for record in source.records] for column in free}
    texts = [
        c for c in free if _holds_texts(source, c) and 2 * sum(" " in value for value in values[c]) > len(values[c])
    ]
    single = [c for c in free if all(values[c]) and len(set(values[c])) == len(values[c])]
    ids = [column for column in single if not any(" " in value for value in values[column])]
    context = [layout.context] if layout.context else texts[:1]
    responses = texts if layout.context else texts[1:]
    if not 2 <= len(responses) <= MAX_CANDIDATES:
        return {}
    layout.context = context[0]
    layout.item_id = layout.item_id or next(iter(ids), None)
    guessed = [layout.item_id, *context, *responses]
    findings.warning(GUESSED.format(names=", ".join(column for column in guessed if column in free)))
    return {column: column for column in responses}


def _samples(source: Source, column: str) -> str:
    """The first values of a column, each shortened."""
    values = dict.fromkeys(" ".join(plain(record.get(column) or "").split()) for record in source.records[:20])
    first = [value for value in values if value][:SAMPLES]
    return " · ".join(f"{v[:SAMPLE_CHARACTERS]}…" if len(v) > SAMPLE_CHARACTERS else v for v in first)


def _holds_texts(source: Source, column: str) -> bool:
    """Whether most cells contain a distinct text, and at most half begin with a digit, as numbers and dates do."""
    texts = {plain(record.get(column) or "").strip() for record in source.records}
    return 2 * len(texts) > len(source.records) and 2 * sum(text[:1].isdigit() for text in texts) <= len(texts)


def _holds_labels(source: Source, column: str) -> bool:
    """Whether every cell is a bare word, such as a topic or an id."""
    return all(BARE_WORD.fullmatch(plain(record.get(column) or "").strip()) for record in source.records)


def _grouped(reading: Reading) -> Iterable[list[Record]]:
    """The records of each item: a single record or, in a long file, all rows with the same id."""
    if not reading.layout.is_long:
        return ([record] for record in reading.source.records)
    groups: dict[str, list[Record]] = {}
    for record in reading.source.records:
        value = record.get(reading.layout.item_id or reading.layout.context)
        # rows without an id belong to no item; each is reported separately
        key = value.strip() if isinstance(value, str) and value.strip() else f"\0{record.row}"
        groups.setdefault(key, []).append(record)
    return groups.values()


def _item(reading: Reading, rows: Sequence[Record]) -> ItemDraft | None:
    first = rows[0]
    external_id = _external_id(reading, first)
    if external_id is None:
        return None
    context = _context(reading, rows)
    candidates = _candidates(reading, _raw_candidates(reading, rows))
    if not candidates and reading.options.judge_conversation:
        judged = _judged(reading, context, first)
        context, candidates = "", (judged,) if judged else ()
    layout = reading.layout
    return ItemDraft(
        external_id=external_id,
        context_text=context if isinstance(context, str) else None,
        context_turns=() if isinstance(context, str) else context,
        candidates=candidates,
        meta=_named(reading, rows, layout.meta, layout.meta_container),
        extra_texts=_named(reading, rows, layout.extra, layout.extra_container),
        row=first.row,
    )


def _external_id(reading: Reading, record: Record) -> str | None:
    """The id as text, without surrounding blanks; leading zeros and long numbers are kept."""
    column = reading.layout.item_id
    if column is None:
        return str(record.row)
    value = record.values.get(column)
    if not isinstance(value, str):
        fault = "has no id" if value is None else f"has {kind_of(value)} as its id"
        reading.findings.error(f"{fault}; every item needs a text or number as its id.", record.row, column)
        return None
    text = clean(str(value), reading.findings, record.row, column).strip()
    if not text:
        reading.findings.error("has no id; every item needs one.", record.row, column)
        return None
    problem = fault_of(text)
    if problem:
        reading.findings.error(f"the id {problem}.", record.row, column)
        return None
    return text


def _context(reading: Reading, rows: Sequence[Record]) -> Content:
    """The context; rows of a long file must agree on it or leave it blank."""
    column = reading.layout.context
    contents = [(row, _content(reading, row.values.get(column, ""), row.row, column)) for row in rows] if column else []
    filled = [(row, content) for row, content in contents if content]
    if not filled:
        return _appended(reading, "", rows[0])
    first, context = filled[0]
    for row, other in filled[1:]:
        if other != context:
            reading.findings.error(f"has a different context from row {first.row} of the same item.", row.row, column)
    return _appended(reading, context, first)


def _content(reading: Reading, value: Json, row: int, column: str | None, null_is: str = "") -> Content | None:
    """A context or candidate, cleaned; None after a problem was reported."""
    if value is None and not null_is:
        return ""
    try:
        content = as_content(as_one_text(column, value), reading.findings, from_cell=reading.source.tabular)
    except UnfitValueError as problem:
        reading.findings.error(f"{null_is}{problem}", row, column)
        return None
    if isinstance(content, str):
        return clean(content, reading.findings, row, column)
    return tuple(_clean_turn(reading, turn, row, column) for turn in content)


def _clean_turn(reading: Reading, turn: TurnDraft, row: int, column: str | None) -> TurnDraft:
    if not turn.text.strip():
        reading.findings.warning(f"has an empty turn of speaker '{turn.speaker}'.", row, column)
    return TurnDraft(
        clean(turn.speaker, reading.findings, row, column), clean(turn.text, reading.findings, row, column)
    )


def _check_append(reading: Reading) -> None:
    options = reading.options
    if options.append_field not in reading.source.columns:
        reading.findings.error(f"There is no field '{options.append_field}' to append as the last turn.")
    if not (options.append_speaker or "").strip():
        reading.findings.error(f"Choose the speaker of '{options.append_field}', the last turn.")


def _appended(reading: Reading, context: Content, record: Record) -> Content:
    """The conversation with the chosen field as its last turn."""
    column, speaker = reading.options.append_field, (reading.options.append_speaker or "").strip()
    if not column or not speaker or column not in reading.source.columns:
        return context
    text = record.values.get(column)
    if not isinstance(text, str) or not text.strip():
        reading.findings.error("has no text to append as the last turn.", record.row, column)
        return context
    if context and isinstance(context, str):
        reading.findings.error("has a text as its context; a turn can be appended to turns only.", record.row, column)
        return context
    return (*(context or ()), TurnDraft(speaker, clean(str(text), reading.findings, record.row, column)))


def _judged(reading: Reading, context: Content, record: Record) -> CandidateDraft | None:
    if not context:
        reading.findings.error("has neither candidates nor a conversation to be judged.", record.row)
        return None
    system = reading.system or UNKNOWN_SYSTEM
    return CandidateDraft(system, context) if isinstance(context, str) else CandidateDraft(system, None, context)


def _raw_candidates(reading: Reading, rows: Sequence[Record]) -> list[RawCandidate]:
    layout = reading.layout
    if layout.is_long:
        return [
            RawCandidate(plain(row.get(layout.system) or ""), row.get(layout.text), row.row, layout.text)
            for row in rows
        ]
    record = rows[0]
    if layout.container is not None:
        return _contained(reading, record)
    # With more columns than an item may have candidates, items use different columns; blank cells are no candidates.
    blank_is_none = reading.source.tabular and len(layout.candidates) > MAX_CANDIDATES
    return [
        RawCandidate(_named_system(layout, record, column) or system, record.values[column], record.row, column)
        for column, system in layout.candidates.items()
        if column in record.values and not (blank_is_none and not record.values[column].strip())
    ]


def _named_system(layout: Layout, record: Record, column: str) -> str:
    """The system that the record itself gives for the candidate in a column; empty where it gives none."""
    value = record.get(layout.namers.get(column))
    return plain(value).strip() if value is not None else ""


def _contained(reading: Reading, record: Record) -> list[RawCandidate]:
    """Candidates from a dict system -> text, a list of {system, text or turns}, or a list of texts."""
    column, row = reading.layout.container, record.row
    value = record.get(column)
    if value is None:
        return []
    if isinstance(value, dict):
        return [RawCandidate(system, inside, row, f"{column}.{system}") for system, inside in value.items()]
    if not isinstance(value, list):
        reading.findings.error(
            f'is {kind_of(value)}; expected {{"system": "text"}} or [{{"system": "…", "text": "…"}}].',
            row,
            column,
        )
        return []
    return [_entry(entry, number, row, f"{column}[{number}]") for number, entry in enumerate(value, 1)]


def _entry(entry: Json, number: int, row: int, column: str) -> RawCandidate:
    if not isinstance(entry, dict):
        return RawCandidate(f"candidate_{number}", entry, row, column)
    system = next((entry[key] for key in SYSTEM_KEYS if key in entry), f"candidate_{number}")
    inside = [key for key in ("turns", "text", "response", "output", "content") if entry.get(key) is not None]
    name = plain(system) if system is not None else ""
    return RawCandidate(name, entry[inside[0]] if inside else None, row, column)


def _candidates(reading: Reading, raws: Sequence[RawCandidate]) -> tuple[CandidateDraft, ...]:
    drafts: dict[str, CandidateDraft] = {}
    rows: dict[str, int] = {}
    only_system = reading.system if len(raws) == 1 else None
    for raw in raws:
        system = clean(only_system or raw.system, reading.findings, raw.row, raw.column).strip()
        if not system:
            reading.findings.error("a candidate has no system; name what produced it.", raw.row, raw.column)
        elif fault := fault_of(system):
            reading.findings.error(f"the system {fault}.", raw.row)
        elif system in drafts:
            where = f"row {rows[system]}" if rows[system] != raw.row else "the same item"
            reading.findings.error(f"system '{system}' already has a candidate in {where}.", raw.row, raw.column)
        else:
            drafts[system], rows[system] = _draft(reading, raw, system), raw.row
    return tuple(drafts.values())


def _draft(reading: Reading, raw: RawCandidate, system: str) -> CandidateDraft:
    content = _content(reading, raw.value, raw.row, raw.column, null_is=f"the candidate of system '{system}' ")
    if not isinstance(content, str):
        return CandidateDraft(system, None, content)
    if VALUE_ALONE.fullmatch(content.strip()):
        reading.findings.tally(VALUES_ALONE)
    if not content.strip():
        blank_kind = "contains only white space" if content else "is empty"
        reading.findings.warning(f"the candidate of system '{system}' {blank_kind}.", raw.row, raw.column)
    return CandidateDraft(system, content)


def _named(reading: Reading, rows: Sequence[Record], columns: dict[str, str], container: str | None) -> dict[str, str]:
    """Meta fields or extra texts, from columns and from a dict; in a long file, those of the item's first row.

    A field that differs in another row is about a response, not about the item, and is left out.
    """
    record = rows[0]
    inside = record.get(container)
    if inside is not None and not isinstance(inside, dict):
        reading.findings.warning(
            f"is {kind_of(inside)}, not an object of names and values; left out.", record.row, container
        )
    values, differing = _fields(record, columns, container), set()
    for row in rows[1:]:
        for place, (_, value) in _fields(row, columns, container).items():
            if values.get(place, ("", None))[1] != value:
                reading.findings.warning(f"differs from row {record.row} of the same item; left out.", row.row, place)
                differing.add(place)
    return {
        clean(name, reading.findings, record.row, place): clean(plain(value), reading.findings, record.row, place)
        for place, (name, value) in values.items()
        if place not in differing
    }


def _fields(row: Record, columns: dict[str, str], container: str | None) -> dict[str, tuple[str, Json]]:
    """Place in the file → name and value of the row's fields that are not blank."""
    inside = row.get(container)
    inside = inside if isinstance(inside, dict) else {}
    fields = {f"{container}.{name}": (str(name), value) for name, value in inside.items()}
    fields |= {column: (name, row.values.get(column)) for column, name in columns.items()}
    return {place: (name, value) for place, (name, value) in fields.items() if value not in (None, "")}


def _item_file(reading: Reading, items: tuple[ItemDraft, ...]) -> ItemFile:
    source, options = reading.source, reading.options
    recognised = reading.layout.recognised()
    unknown = [column for column in source.columns if column not in recognised]
    if options.append_field in unknown:
        recognised[options.append_field] = f"last turn, speaker {options.append_speaker}"
    candidates = [candidate for item in items for candidate in item.candidates]
    turns = [turn for item in items for turn in item.context_turns]
    turns += [turn for candidate in candidates for turn in candidate.turns or ()]
    return ItemFile(
        kind=_kind(reading),
        items=items,
        problems=reading.findings.finish(),
        recognised={column: recognised[column] for column in source.columns if column in recognised},
        ignored=tuple(column for column in unknown if column not in recognised),
        systems=tuple(dict.fromkeys(candidate.system for candidate in candidates)),
        speakers=tuple(dict.fromkeys(turn.speaker for turn in turns)),
        sheets=source.sheets,
        fields=tuple(column for column in unknown if _is_text_field(source, column)),
        roles=roles_of(reading.layout, source.columns),
        samples={column: _samples(source, column) for column in source.columns},
    )


def _kind(reading: Reading) -> str:
    shape = "long" if reading.layout.is_long else "wide"
    return f"{shape} {reading.source.kind}" if reading.source.tabular else reading.source.kind


def _is_text_field(source: Source, column: str) -> bool:
    return any(isinstance(value := record.values.get(column), str) and value.strip() for record in source.records[:100])
