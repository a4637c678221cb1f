"""Argilla 2: records with their responses, and the dataset's settings (fields and questions).

Argilla's rating questions allow whole numbers from 0 to 10 only, so half points are doubled, with a note; other scales
become text questions. Users are UUIDs: users.csv maps them to pseudonyms. Spans count code points.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from uuid import NAMESPACE_URL, UUID, uuid5

from triptych.formats.model import JsonObject
from triptych.formats.writers import task
from triptych.formats.writers.model import (
    ExportOptions,
    File,
    Finished,
    FinishedAnnotation,
    FinishedItem,
)
from triptych.formats.writers.task import ControlAnswer, Tasks
from triptych.formats.writers.writing import csv_file, json_file, json_list_file
from triptych.rubric.scales import Best, Choice, Likert, NumberScale, Scale, is_whole

MAX_RATING = 10
DOUBLED = "The ratings of `{key}` are doubled, because Argilla takes whole numbers only: 5 means 2.5."
AS_TEXT = "The ratings of `{key}` are texts, because Argilla's ratings go from 0 to 10 in whole numbers."
COMMENTS = "{n} comments on highlights are not supported by Argilla and are left out."


def argilla(finished: Finished, options: ExportOptions, notes: list[str]) -> Iterator[File]:
    tasks = Tasks(finished)
    users = {name: uuid5(NAMESPACE_URL, f"{finished.slug}/{name}") for name in finished.annotators}
    yield json_file("settings.json", _settings(tasks))
    yield json_list_file("records.json", _records(tasks, users))
    yield csv_file("users.csv", ("user_id", "annotator"), ((str(user), name) for name, user in users.items()))
    notes += tasks.notes()
    for criterion in finished.criteria:
        factor = factor_of(criterion.scale)
        if factor != 1 and not isinstance(criterion.scale, Choice):
            notes.append((DOUBLED if factor else AS_TEXT).format(key=criterion.key))


def factor_of(scale: Scale) -> int | None:
    """The factor that converts a scale's values to whole numbers from 0 to 10; None if there is none."""
    points = _points(scale)
    fits = (f for f in (1, 2) if all(is_whole(v * f) and 0 <= v * f <= MAX_RATING for v in points))
    return next(fits, None) if points else None


def _points(scale: Scale) -> Sequence[float]:
    """All values of a numeric scale, or as many as a rating question can have."""
    if isinstance(scale, Likert | NumberScale):
        return scale.values
    return (0, 1) if isinstance(scale, Best) else ()


def _settings(tasks: Tasks) -> JsonObject:
    fields = ["context", *(f"response_{letter}" for letter in tasks.letters)]
    questions = []
    for question in tasks.questions():
        questions.append(_question(question.named(), question.criterion.title, _kind(question.criterion.scale)))
        for part in ("reasons", "why"):
            title = f"{question.criterion.title}: {part}"
            questions.append(_question(question.named(part), title, {"type": "text"}, required=False))
    of_responses, of_context = (tasks.marked_in(place) for place in ("candidate", "context"))
    places = [(letter, f"response_{letter}", of_responses) for letter in tasks.letters]
    for name, field, offered in (*places, (task.CONTEXT, "context", of_context)):
        labels = [{"value": key, "text": title} for key, title in offered]
        if labels:
            span = {"type": "span", "field": field, "options": labels, "allow_overlapping": True}
            questions.append(_question(f"{task.HIGHLIGHT}_{name}", "Highlights", span, required=False))
    return {
        "guidelines": tasks.finished.rubric.instructions,
        "allow_extra_metadata": True,
        "fields": [{"name": name, "title": name, "required": False, "settings": {"type": "text"}} for name in fields],
        "questions": questions,
    }


def _question(name: str, title: str, settings: JsonObject, required: bool = True) -> JsonObject:
    return {"name": name, "title": title, "required": required, "settings": settings}


def _kind(scale: Scale) -> JsonObject:
    if isinstance(scale, Choice):
        options = [{"value": option.key, "text": option.title} for option in scale.options]
        return {"type": "label_selection", "options": options}
    factor = factor_of(scale)
    if factor is None:
        return {"type": "text"}
    return {"type": "rating", "options": [{"value": round(value * factor)} for value in _points(scale)]}


def _records(tasks: Tasks, users: dict[str, UUID]) -> Iterator[JsonObject]:
    for item in tasks.items():
        responses: dict[str, list[JsonObject]] = defaultdict(list)
        for annotation in task.rated(item):
            user = str(users[annotation.annotator])
            for question, value in _answers(tasks, item, annotation):
                responses[question].append({"value": value, "user_id": user, "status": "submitted"})
        systems = task.systems(item)
        yield {
            "id": item.item_id,
            "status": "completed" if responses else "pending",
            "fields": {name: text for name, text in task.fields(item).items() if name not in systems},
            "metadata": systems,
            "responses": responses,
            "suggestions": {},
        }


def _answers(tasks: Tasks, item: FinishedItem, annotation: FinishedAnnotation) -> Iterator[tuple[str, object]]:
    """(question, value) of one annotation."""
    for answer in tasks.answers(item, annotation):
        yield answer.name, ";".join(answer.texts) if answer.part else _value(answer)
    spans: dict[str, list[JsonObject]] = defaultdict(list)
    for mark in tasks.marked(item, annotation):
        spans[mark.control].append({"start": mark.start, "end": mark.end, "label": mark.highlight.label})
        tasks.left_out[COMMENTS] += bool(mark.highlight.comment)
    yield from spans.items()


def _value(answer: ControlAnswer) -> object:
    factor = factor_of(answer.question.criterion.scale)
    if isinstance(answer.value, int | float) and factor is not None:
        return round(answer.value * factor)
    return str(answer.value)
