"""Potato: the items, a config that asks the same questions, and one `user_state.json` per annotator.

Each response is a field of the item (response_a), and schemes are named after criterion and letter (fluency_a). Answers
are pairs of ({schema, name}, value), values being texts, as Potato 2.12 stores and loads them. Its spans count code
points of the text on the page, where a line break is a tag and not a character.
"""

from __future__ import annotations

from collections.abc import Iterator

from triptych.formats.model import JsonObject
from triptych.formats.writers import task
from triptych.formats.writers.model import ExportOptions, File, Finished, FinishedAnnotation, FinishedItem
from triptych.formats.writers.task import Control, Tasks
from triptych.formats.writers.writing import json_file, jsonl_file, text_file
from triptych.rubric import yaml_text
from triptych.rubric.scales import Choice, Likert, as_typed

LINES = "Potato's page has no character for a line break, so `start` and `end` of spans do not count line breaks."
OPENING = (
    "Open it with `potato start config.yaml --host 127.0.0.1` in this folder and sign in as one of the annotators. The "
    "config does not ask for passwords, because otherwise the work could not be reopened: use it on your own machine "
    "only."
)
ANNOTATING = ("annotation", None)  # phase and page; without them Potato shows the same page again
BOXES = {"reasons": "reasons", "why": "explanation"}
COMMENTS = "{n} comments on highlights are not supported by Potato and are left out."


def potato(finished: Finished, options: ExportOptions, notes: list[str]) -> Iterator[File]:
    tasks = Tasks(finished)
    yield text_file("config.yaml", yaml_text.write(_config(tasks)))
    yield jsonl_file("data/items.jsonl", ({"id": item.item_id, **task.fields(item)} for item in tasks.items()))
    for annotator in finished.annotators:
        name = f"annotation_output/{annotator}/user_state.json"
        yield json_file(name, _user_state(tasks, annotator))
    notes += [*tasks.notes(), LINES, OPENING]


def _config(tasks: Tasks) -> JsonObject:
    schemes = [scheme for question in tasks.questions() for scheme in _schemes(question)]
    labels = [{"name": label.key, "tooltip": label.title} for label in tasks.finished.rubric.highlights]
    if labels:
        span = {"annotation_type": "span", "name": task.HIGHLIGHT, "description": "Highlights", "labels": labels}
        schemes.append(span)
    return {
        "annotation_task_name": tasks.finished.slug,
        "task_dir": ".",
        "data_files": ["data/items.jsonl"],
        "item_properties": {"id_key": "id", "text_key": "context"},
        "output_annotation_dir": "annotation_output",
        "require_password": False,
        "instance_display": {"fields": list(_fields(tasks))},
        "annotation_schemes": schemes,
    }


def _fields(tasks: Tasks) -> Iterator[JsonObject]:
    """The page's fields of an item: the context and every response, in which passages can be marked."""
    in_context, in_responses = (
        {"span_target": True} if tasks.marked_in(place) else {} for place in ("context", "candidate")
    )
    yield {"key": "context", "type": "text", "label": "Context"} | in_context
    for letter in tasks.letters:
        shown = {"key": f"response_{letter}", "type": "text", "label": f"Response {letter.upper()}"}
        yield shown | in_responses


def _schemes(question: Control) -> Iterator[JsonObject]:
    """The scheme of a question, and boxes for its reasons and explanation."""
    scale, title = question.criterion.scale, question.criterion.title
    about = f"{title} (response {question.letter.upper()})" if question.letter else title
    named = {"name": question.named(), "description": about}
    if isinstance(scale, Choice):
        yield {"annotation_type": "radio", **named, "labels": scale.values}
    elif isinstance(scale, Likert):
        yield {"annotation_type": "radio", **named, "labels": [as_typed(value) for value in scale.values]}
    else:
        yield {"annotation_type": "number", **named}
    for part, words in BOXES.items():
        box = {"name": question.named(part), "description": f"{about}: {words}", "multiline": True}
        yield {"annotation_type": "text", **box}


def _user_state(tasks: Tasks, annotator: str) -> JsonObject:
    """One annotator's file."""
    items = tasks.items(annotator)
    work = {item.item_id: (item, annotation) for item in items for annotation in task.rated(item)}
    return {
        "user_id": annotator,
        "current_phase_and_page": ANNOTATING,
        "instance_id_ordering": list(work),
        "instance_id_to_behavioral_data": {name: _times(*pair) for name, pair in work.items()},
        "instance_id_to_label_to_value": {name: list(_labels(tasks, *pair)) for name, pair in work.items()},
        "instance_id_to_span_to_value": {name: list(_spans(tasks, *pair)) for name, pair in work.items()},
    }


def _times(item: FinishedItem, annotation: FinishedAnnotation) -> JsonObject:
    """Time of submission in seconds since 1970, and the time spent."""
    end = annotation.submitted_at.timestamp()
    seconds = round(annotation.active_seconds, 1)
    times = {"session_start": end - seconds, "session_end": end, "total_time_ms": round(1000 * seconds)}
    return {"instance_id": item.item_id, **times}


def _labels(tasks: Tasks, item: FinishedItem, annotation: FinishedAnnotation) -> Iterator[tuple[dict[str, str], str]]:
    """({schema, name}, value) of each answer; a number field has one option, `number`."""
    for answer in tasks.answers(item, annotation):
        if answer.part:
            yield {"schema": answer.name, "name": "text_box"}, ";".join(answer.texts)
        else:
            listed = isinstance(answer.question.criterion.scale, Choice | Likert)
            yield {"schema": answer.name, "name": str(answer.value) if listed else "number"}, str(answer.value)


def _spans(tasks: Tasks, item: FinishedItem, annotation: FinishedAnnotation) -> Iterator[tuple[JsonObject, int]]:
    texts = task.fields(item)
    for mark in tasks.marked(item, annotation):
        label, field = mark.highlight.label, f"response_{mark.letter}" if mark.letter else "context"
        start, end = (at - texts[field].count("\n", 0, at) for at in (mark.start, mark.end))
        named = {"schema": task.HIGHLIGHT, "name": label, "title": label}
        yield {**named, "start": start, "end": end, "id": f"{field}_{label}_{start}_{end}", "target_field": field}, 1
        tasks.left_out[COMMENTS] += bool(mark.highlight.comment)
