"""The rubric of a draft for a lead's form: its text, its values, its mistakes, and the first item shown with it."""

from __future__ import annotations

import json
from dataclasses import asdict

from sqlmodel import Session

from triptych.errors import InvalidAnnotation
from triptych.preview import views
from triptych.rubric.files import EMPTY_RUBRIC, RubricSheet, read_rubric, read_sheet, shipped_rubrics, text_hash
from triptych.rubric.model import Rubric
from triptych.storage.models import JsonObject, Study
from triptych.study import contents, design, lifecycle
from triptych.study.design import Parts
from triptych.study.persons import Who


def sources(session: Session, who: Who, study: Study) -> list[tuple[str, str]]:
    """The rubrics that a rubric can start from: (name, title)."""
    shipped = [(f"shipped/{key}", f"Shipped: {key}") for key in shipped_rubrics()]
    earlier = [(f"study/{s.slug}", f"Study: {s.title}") for s in lifecycle.for_lead(session, who) if s.id != study.id]
    return [("empty/", "An empty rubric"), *shipped, *earlier]


def source_text(session: Session, who: Who, name: str) -> str:
    """The text of the source with this name. Raises InvalidAnnotation, or NotFound for another lead's study."""
    kind, _, key = name.partition("/")
    if kind == "study":
        return lifecycle.rubric_text(session, lifecycle.led_by(session, who, key))
    if kind == "shipped" and key in shipped_rubrics():
        return read_rubric(shipped_rubrics()[key])
    if kind == "empty":
        return EMPTY_RUBRIC
    raise InvalidAnnotation(f"There is no rubric called {name!r} to start from.")


def look(session: Session, study: Study, text: str | None = None) -> JsonObject:
    """The content of the form for the stored text, or for another text, which is not stored."""
    stored = lifecycle.rubric_text(session, study)
    sheet = read_sheet(stored if text is None else text)
    return {
        "version": text_hash(stored),
        "stored": sheet.text == stored,
        "text": sheet.text,
        "value": _as_json(sheet),
        "mistakes": [asdict(mistake) for mistake in sheet.mistakes],
        "view": None if sheet.rubric is None else _first_item(session, study, sheet.rubric),
    }


def _as_json(sheet: RubricSheet) -> JsonObject | None:
    """The form's value; None if the text contains a value that a form cannot show, such as a date."""
    try:
        return json.loads(json.dumps(sheet.value, allow_nan=False)) if isinstance(sheet.value, dict) else None
    except (TypeError, ValueError):
        return None


def _first_item(session: Session, study: Study, rubric: Rubric) -> str:
    items = views.samples(rubric, contents.stored_items(session, study, limit=1, by_number=True))
    return views.view_of(study, rubric, items, 0).model_dump_json()


def change(session: Session, study: Study, base: str, text: str, actor: str) -> JsonObject:
    """Store the text if it is a valid rubric; `base` is the version on which it is based.

    If it has mistakes, or another lead has stored a change, nothing is stored, and the answer says so. Raises Conflict
    and NotAllowed as `design.amend` does.
    """
    study = lifecycle.lock(session, study.id)  # first, or another lead's change could be stored after the comparison
    if text_hash(lifecycle.rubric_text(session, study)) != base:
        return {**look(session, study), "changed": True}
    if read_sheet(text).rubric is not None:
        design.amend(session, study, Parts(rubric_yaml=text), "", actor)
    return look(session, study, text)
