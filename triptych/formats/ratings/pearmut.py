"""Pearmut: the log of a campaign, one line per submitted document; `annotation[k]` belongs to `item[k]`.

`end_i` is inclusive. Offsets count UTF-16 units, but no line breaks, which are tags on its page; the offset behind the
text is that of `[missing]`, which its page shows there. Documents whose `item_i` starts with welcome_, random_ or
goodbye_ are no data. An entry of `annotation` can be null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from functools import cache, partial

from triptych.formats.model import Json, JsonObject, Record, Source
from triptych.formats.ratings.model import Gathering, Unit, moment_of, named, seconds_of, whole
from triptych.formats.ratings.spans import Offsets
from triptych.formats.values import NumberText

MISSING = "[missing]"
NO_DATA = ("welcome_", "random_", "goodbye_")
NO_DATA_NOTE = "{n} welcome, random or goodbye document(s) are left out."
NOT_ANNOTATED_NOTE = "{n} segment(s) without an annotation are left out."
Pages = Callable[[str], Offsets]


def fits(columns: frozenset[str]) -> bool:
    return {"annotation", "item", "user_id"} <= columns


def read(source: Source, into: Gathering) -> None:
    """Scores, error spans and texts of every document."""
    into.recognised |= {
        "annotation": "ratings and highlights",
        "item": "context and candidates",
        "user_id": "annotator",
        "item_i": "number of the document",
        "actions": "time",
    }
    pages = cache(partial(Offsets, utf16=True, lines=False))
    for record in source.records:
        if named(record.values.get("item_i")).startswith(NO_DATA):
            into.findings.tally(NO_DATA_NOTE)
            continue
        at, seconds = _times(into.listed(record.values.get("actions"), record.row, "actions"))
        for item, annotation, segment in _segments(record, into):
            unit = Unit(item, None, named(record.values.get("user_id")), into.kind, record.row, at, seconds)
            _segment(unit, annotation, segment, pages, into)


def _times(actions: list[Json]) -> tuple[datetime | None, float]:
    """(time of submission, seconds from the first action to the last)."""
    stamps = [action.get("time") for action in actions if isinstance(action, dict)]
    times = [time for time in stamps if isinstance(time, NumberText)]
    if not times:
        return None, 0
    return moment_of(times[-1]), seconds_of(float(times[-1]) - float(times[0]))


def _segments(record: Record, into: Gathering) -> Iterator[tuple[str, JsonObject, JsonObject]]:
    """(id, annotation, item) of every segment that was annotated."""
    annotations = into.listed(record.values.get("annotation"), record.row, "annotation")
    items = into.listed(record.values.get("item"), record.row, "item")
    if len(annotations) != len(items):
        into.findings.error("does not have as many annotations as items.", record.row, "annotation")
        return
    for at, (annotation, item) in enumerate(zip(annotations, items, strict=True)):
        if annotation is None:
            into.findings.tally(NOT_ANNOTATED_NOTE)
        else:
            shown = into.mapped(item, record.row, "item")
            name = named(shown.get("item_id")) or f"{record.values.get('item_i')}/{at}"
            yield name, into.mapped(annotation, record.row, "annotation"), shown


def _segment(unit: Unit, annotation: JsonObject, item: JsonObject, pages: Pages, into: Gathering) -> None:
    into.text(unit.item, None, item.get("src"), unit.row, "src")
    for system, text in into.mapped(item.get("tgt"), unit.row, "tgt").items():
        into.text(unit.item, system, text, unit.row, "tgt")
    for system, answers in annotation.items():
        rated = replace(unit, system=system)
        text = into.texts.get((unit.item, system))
        page = pages(text) if isinstance(text, str) else None
        _system(rated, into.mapped(answers, unit.row, "annotation"), page, into)


def _system(unit: Unit, answers: JsonObject, page: Offsets | None, into: Gathering) -> None:
    if "score" in answers:
        into.rate(unit, "score", answers["score"])
    for name, value in into.mapped(answers.get("sliders"), unit.row, "sliders").items():
        into.rate(unit, name, value)
    into.note(unit, "textfield", answers.get("textfield"))
    for entry in into.listed(answers.get("error_spans"), unit.row, "error_spans"):
        span = into.mapped(entry, unit.row, "error_spans")
        category, severity = span.get("category"), named(span.get("severity"))
        start, end, quote = _place(span, page)
        comment = severity if category else ""
        into.mark(unit, category or severity or "error", start, end, quote, comment=comment)


def _place(span: JsonObject, page: Offsets | None) -> tuple[Json, Json, str | None]:
    """(start, end, quote) of a span, in code points where the text is known."""
    first, last = whole(span.get("start_i")), whole(span.get("end_i"))
    end = None if last is None else last + 1
    if page is None or first is None or end is None:
        return span.get("start_i"), end, None
    place = page.span(first, end)
    if place is not None:
        return *place, page.text[slice(*place)]
    return (None, None, MISSING) if first == page.total else (first, end, None)
