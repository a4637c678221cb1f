"""Potato: `annotation_output/<user>/user_state.json`, one file per annotator.

Every value is a text. A scheme may hold several labels set to true although only one can be meant (before Potato's
fix of issue 167): such a unit is an error that names them, never a choice of ours. The order shown is not recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from triptych.formats.model import Record, Source
from triptych.formats.ratings.model import UNKNOWN_SYSTEM, Gathering, Unit, named

LABELS = "instance_id_to_label_to_value"
SPANS = "instance_id_to_span_to_value"
SELECTED = {"true", "True", True}
UNSELECTED = {"false", "False", "", False, None}
TEXT_BOXES = {"text_box", "textbox", "free_text"}


def fits(columns: frozenset[str]) -> bool:
    return LABELS in columns or SPANS in columns


def read(source: Source, into: Gathering) -> None:
    """Ratings and spans of every user in the file."""
    into.recognised |= {"user_id": "annotator", LABELS: "ratings", SPANS: "highlights"}
    for record in source.records:
        user = named(record.values.get("user_id"))
        if not user:
            into.findings.error("does not say who rated.", record.row, "user_id")
            continue
        for item, schemes in _entries(record, LABELS, into):
            unit = Unit(item, UNKNOWN_SYSTEM, user, into.kind, record.row)
            for scheme, given in schemes.items():
                _scheme(unit, scheme, given, into)
        for item, schemes in _entries(record, SPANS, into):
            unit = Unit(item, UNKNOWN_SYSTEM, user, into.kind, record.row)
            for scheme, spans in schemes.items():
                for span in into.listed(spans, record.row, scheme):
                    _span(unit, scheme, into.mapped(span, record.row, scheme), into)


def _entries(record: Record, name: str, into: Gathering) -> Iterator[tuple[str, dict[str, Any]]]:
    """Item and its schemes."""
    for item, schemes in into.mapped(record.values.get(name), record.row, name).items():
        yield item, into.mapped(schemes, record.row, f"{name}: {item}")


def _scheme(unit: Unit, scheme: str, given: Any, into: Gathering) -> None:
    """One scheme: labels that are set, one selection, one value under a name of its own, or several questions."""
    if not isinstance(given, dict):
        into.rate(unit, scheme, given)
        return
    if isinstance(given.get("labels"), dict):
        given = given["labels"]
    for name in TEXT_BOXES & set(given):
        into.note(unit, scheme, given[name])
    given = {name: value for name, value in given.items() if name not in TEXT_BOXES}
    if given and all(_flag(value) for value in given.values()):
        _selected(unit, scheme, [name for name, value in given.items() if value in SELECTED], into)
        return
    for name, value in given.items():
        # {"selection": "A"} and {"scale_4": "4"} answer the scheme itself; anything else is a question inside it
        own = name == "selection" or (isinstance(value, str) and name in (f"scale_{value}", value))
        into.rate(unit, scheme if own else f"{scheme}: {name}", value)


def _flag(value: Any) -> bool:
    return not isinstance(value, list | dict) and (value in SELECTED or value in UNSELECTED)


def _selected(unit: Unit, scheme: str, labels: list[str], into: Gathering) -> None:
    if len(labels) > 1:
        shown = ", ".join(f"'{label}'" for label in labels)
        into.findings.error(
            f"annotator '{unit.annotator}' has several labels for item '{unit.item}': {shown}. "
            "Which one was meant cannot be told; correct the file or take these entries out.",
            unit.row,
            scheme,
        )
        return
    into.rate(unit, scheme, labels[0] if labels else None)


def _span(unit: Unit, scheme: str, span: dict[str, Any], into: Gathering) -> None:
    # Potato's page is JavaScript, where a text is counted in UTF-16 units
    label = span.get("label") or span.get("name") or scheme
    into.mark(unit, label, span.get("start"), span.get("end"), span.get("text") or span.get("title"), utf16=True)
