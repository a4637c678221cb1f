"""A study as four plain tables: items, annotations, ratings, highlights; and its log as JSON lines.

Ratings and highlights have the columns of the long CSV files (`formats/ratings_csv.py`). The Parquet form keeps texts
unchanged (no ' before apparent formulas) and has types that CSV lacks: times, booleans, lists of reasons and turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from triptych.formats.columns import Column, Type
from triptych.formats.long_csv import Cell
from triptych.formats.model import CandidateDraft, TurnDraft
from triptych.formats.ratings_csv import HIGHLIGHTS_HEADER, OF_HIGHLIGHT, RATINGS, RATINGS_HEADER
from triptych.formats.writers.model import (
    EVERYTHING,
    ExportOptions,
    File,
    Finished,
    FinishedAnnotation,
    FinishedItem,
)
from triptych.formats.writers.writing import as_json, csv_file, jsonl_file, parquet_file

# column → function that gets its cell
ITEMS: dict[str, Callable[[FinishedItem, CandidateDraft], object]] = {
    "item_id": lambda item, _: item.item_id,
    "purpose": lambda item, _: item.purpose,
    "context": lambda item, _: item.context,
    "context_turns": lambda item, _: spoken(item.turns),
    "system": lambda _, candidate: candidate.system,
    "text": lambda _, candidate: candidate.text,
    "turns": lambda _, candidate: spoken(candidate.turns or ()),
    "meta": lambda item, _: as_json(item.meta) if item.meta else None,
    "extra_texts": lambda item, _: as_json(item.extra_texts) if item.extra_texts else None,
    "retired": lambda item, _: int(item.retired),
}
ANNOTATIONS: dict[str, Callable[[FinishedItem, FinishedAnnotation], Cell]] = {
    "annotation": lambda _, work: work.number,
    "annotator": lambda _, work: work.annotator,
    "annotator_kind": lambda _, work: work.kind,
    "item_id": lambda item, _: item.item_id,
    "purpose": lambda _, work: work.purpose,
    "repeat_of": lambda _, work: work.repeat_of,
    "state": lambda _, work: work.state,
    "reason": lambda _, work: work.reason,
    "systems_shown": lambda _, work: as_json([slot.system for slot in work.slots]),
    "order_known": lambda _, work: int(all(slot.position is not None for slot in work.slots)),
    "set_aside": lambda _, work: as_json({slot.system: slot.set_aside for slot in work.slots if slot.set_aside}),
    "version": lambda _, work: work.version,
    "submitted_at": lambda _, work: work.submitted_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
    "active_seconds": lambda _, work: round(work.active_seconds, 1),
    "text_view": lambda _, work: work.text_view,
    "language": lambda _, work: work.language,
    "arrangement": lambda _, work: work.arrangement,
    "excluded": lambda _, work: int(work.excluded),
    "exclusion_reason": lambda _, work: work.exclusion_reason,
    "after_unblinding": lambda _, work: int(work.after_unblinding),
}
ITEMS_HEADER, ANNOTATIONS_HEADER = tuple(ITEMS), tuple(ANNOTATIONS)
COLUMNS = {
    **RATINGS,
    **OF_HIGHLIGHT,
    "annotation": Column("Number of the annotation (`assignment_id` in the event log).", Type.whole),
    "after_unblinding": Column("Whether a lead submitted it when leads knew the names of the systems.", Type.truth),
    "text_view": Column("How texts were seen: written (as source), formatted (Markdown) or mixed; empty if unknown."),
    "language": Column("The language of the page, as a code such as de; empty if unknown."),
    "arrangement": Column("How several responses were shown: side_by_side or one_at_a_time; empty if unknown."),
    "state": Column("submitted, surplus, ignored (done: set aside as a whole) or skipped (given back)."),
    "reason": Column("Why the item was ignored or skipped."),
    "systems_shown": Column("The systems of the candidates as a JSON list, in the order on screen."),
    "order_known": Column("Whether that order was the one on screen; may be unknown for imported ratings.", Type.truth),
    "set_aside": Column("Responses that were not rated, as JSON: system and reason."),
    "context": Column("The text that the candidates answer."),
    "context_turns": Column("The dialogue that the candidates answer: a list of speaker and text.", Type.turns),
    "text": Column("The candidate; empty if it is a dialogue, or was imported without its text."),
    "turns": Column("The candidate's turns if it is a dialogue: a list of speaker and text.", Type.turns),
    "meta": Column("Further fields of the items file, as JSON."),
    "extra_texts": Column("Titled texts shown with the context, as JSON."),
    "retired": Column("Whether the lead retired the item from the study.", Type.truth),
}
CHANGES: dict[Type, Callable[[Any], object]] = {
    Type.truth: bool,
    Type.time: datetime.fromisoformat,
    Type.keys: lambda keys: keys.split(";") if keys else [],
}
PER_GROUP = {"items": 300, "annotations": 20_000, "ratings": 20_000, "highlights": 20_000}

CHAIN = (
    "The chain can be checked: `hash` is the SHA-256 of `at`, `study_id`, `number`, `actor`, `kind`, `assignment_id`, "
    "`subject`, `digest` and `previous_hash`, joined by the character U+001F, a null written as None; `digest` is the "
    "SHA-256 of `salt` followed by the JSON list of `old` and `new` with sorted keys, and by `rows_sha256` if there is "
    "one: the hash of the rows that the event wrote, which the database keeps. Without any values it is the SHA-256 of "
    "`[null, null]`."
)
WITHHELD = (
    "Lines with `withheld: true` omit their values, because these would show which system is which. Exports after "
    "unblinding contain them."
)


def csv_tables(finished: Finished, options: ExportOptions, notes: list[str]) -> Iterator[File]:
    """Ratings, highlights and items as CSV; annotations.csv is part of every export."""
    yield csv_file("ratings.csv", RATINGS_HEADER, finished.ratings())
    if finished.rubric.highlights:
        yield csv_file("highlights.csv", HIGHLIGHTS_HEADER, finished.highlights())
    yield csv_file("items.csv", ITEMS_HEADER, map(as_cells, item_rows(finished.items(EVERYTHING), ITEMS_HEADER)))
    notes.append(
        "In CSV files, a text that a spreadsheet could interpret as a formula (it starts with = + - @, a tab, a "
        "carriage return or NUL) begins with an extra '. So do places inside a text where = + - @ or NUL follow a "
        "semicolon, a tab or a line end, because some spreadsheets begin a new cell there."
    )


def parquet_tables(finished: Finished, options: ExportOptions, notes: list[str]) -> Iterator[File]:
    """The four tables as Parquet files in the folder `data`."""
    rows: dict[str, tuple[Sequence[str], Iterable[Sequence[object]]]] = {
        "items": (ITEMS_HEADER, item_rows(finished.items(EVERYTHING), ITEMS_HEADER)),
        "annotations": (ANNOTATIONS_HEADER, annotation_rows(finished)),
        "ratings": (RATINGS_HEADER, finished.ratings()),
        "highlights": (HIGHLIGHTS_HEADER, finished.highlights()),
    }
    for name, (header, values) in rows.items():
        schema = _schema(finished, header)
        yield parquet_file(f"data/{name}.parquet", schema, _typed(header, values), PER_GROUP[name])


def events_jsonl(finished: Finished, options: ExportOptions, notes: list[str]) -> Iterator[File]:
    """The event log: who did what, when, with every superseded value; one line per event, in order."""
    yield jsonl_file("events.jsonl", finished.events())
    notes += [CHAIN, "Values that were erased are null, and so is their salt."]
    if finished.blind:
        notes.append(WITHHELD)


def item_rows(items: Iterable[FinishedItem], columns: Sequence[str]) -> Iterator[list[object]]:
    """One row per candidate, with these columns of ITEMS; turns as lists of {speaker, text}."""
    for item in items:
        for candidate in item.candidates:
            yield [ITEMS[column](item, candidate) for column in columns]


def annotation_rows(finished: Finished) -> Iterator[list[Cell]]:
    """One row per annotation that is done, skipped and ignored items among them."""
    for item in finished.items(EVERYTHING):
        for annotation in item.annotations:
            yield [cell(item, annotation) for cell in ANNOTATIONS.values()]


def spoken(turns: Sequence[TurnDraft]) -> list[dict[str, str]] | None:
    return [{"speaker": turn.speaker, "text": turn.text} for turn in turns] or None


def as_cells(row: Sequence[Any]) -> list[Cell]:
    """The row for a CSV file: lists as JSON."""
    return [as_json(cell) if isinstance(cell, list) else cell for cell in row]


def _schema(finished: Finished, header: Sequence[str]) -> Any:
    """The pyarrow schema of a table; its metadata contain the design hash, and number and hash of the last event."""
    import pyarrow as pa

    types = {
        Type.text: pa.string(),
        Type.whole: pa.int64(),
        Type.number: pa.float64(),
        Type.truth: pa.bool_(),
        Type.time: pa.timestamp("s", "UTC"),
        Type.keys: pa.list_(pa.string()),
        Type.turns: pa.list_(pa.struct([("speaker", pa.string()), ("text", pa.string())])),
    }
    seal = {"design_hash": finished.design_hash or "", "last_event": str(finished.event_number)}
    schema = pa.schema([(name, types[COLUMNS[name].type]) for name in header])
    return schema.with_metadata(seal | {"last_event_hash": finished.event_hash})


def _typed(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[list[object]]:
    changes = [CHANGES.get(COLUMNS[name].type) for name in header]
    for row in rows:
        yield [
            cell if change is None or cell is None else change(cell) for cell, change in zip(row, changes, strict=True)
        ]
