"""Label Studio: tasks with their annotations, and the matching labelling config.

One task per item. Controls are named after criterion and letter (fluency_a, fluency_why_a, highlight_a), their text is
resp_a. Offsets count code points, as the page of Label Studio 1.23 does; earlier versions counted UTF-16 units (its
issue 1347). Label Studio accepts annotations only by its own users, which pseudonyms are not: so every annotation
belongs to the importing user, and a text field next to the context names the annotator.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from xml.etree import ElementTree as Xml

from triptych.formats.model import JsonObject
from triptych.formats.ratings.controls import WHO
from triptych.formats.values import for_xml
from triptych.formats.writers import task
from triptych.formats.writers.model import ExportOptions, File, Finished, FinishedAnnotation, FinishedItem
from triptych.formats.writers.task import Control, ControlAnswer, Tasks
from triptych.formats.writers.writing import json_list_file, text_file
from triptych.rubric.scales import Choice, Likert, NumberScale, Scale, as_typed

MAX_STARS = 10
PEOPLE = (
    f"In Label Studio every annotation belongs to the user who imports the tasks; the field `{WHO}` contains the "
    f"annotator's pseudonym, and is included in exports from there."
)


def label_studio(finished: Finished, options: ExportOptions, notes: list[str]) -> Iterator[File]:
    tasks = Tasks(finished)
    yield text_file("labelling_config.xml", labelling_config(tasks))
    yield json_list_file("tasks.json", _tasks(tasks))
    notes += [*tasks.notes(), PEOPLE]


def labelling_config(tasks: Tasks) -> str:
    """The XML that shows such a task in Label Studio, one block per response."""
    view = Xml.Element("View")
    Xml.SubElement(view, "Text", name="context", value="$context")
    Xml.SubElement(view, "TextArea", name=WHO, toName="context", required="false", rows="1")
    _labels(view, task.CONTEXT, "context", tasks.marked_in("context"))
    questions = tasks.questions()
    for letter in tasks.letters:
        block = Xml.SubElement(view, "View")
        Xml.SubElement(block, "Header", value=f"Response {letter.upper()}")
        Xml.SubElement(block, "Text", name=f"resp_{letter}", value=f"$resp_{letter}")
        _labels(block, letter, f"resp_{letter}", tasks.marked_in("candidate"))
        for question in (question for question in questions if question.letter == letter):
            _controls(block, question)
    for question in (question for question in questions if question.letter is None):
        _controls(view, question)
    Xml.indent(view)
    return for_xml(Xml.tostring(view, encoding="unicode")) + "\n"


def _labels(block: Xml.Element, name: str, about: str, labels: list[tuple[str, str]]) -> None:
    if labels:
        _options(Xml.SubElement(block, "Labels", name=f"{task.HIGHLIGHT}_{name}", toName=about), "Label", labels)


def _controls(block: Xml.Element, question: Control) -> None:
    """The question's title, its control, and boxes for reasons and explanation."""
    about = _about(question)
    Xml.SubElement(block, "Header", value=question.criterion.title, size="5")
    scale = question.criterion.scale
    if isinstance(scale, Choice):
        choices = Xml.SubElement(block, "Choices", name=question.named(), toName=about, choice="single")
        _options(choices, "Choice", [(option.key, option.title) for option in scale.options])
    elif stars := _stars(question):
        Xml.SubElement(block, "Rating", name=question.named(), toName=about, maxRating=str(stars))
    else:
        low, high, step = map(as_typed, _range(scale))
        Xml.SubElement(
            block, "Number", {"name": question.named(), "toName": about, "min": low, "max": high, "step": step}
        )
    for part in ("reasons", "why"):
        Xml.SubElement(block, "TextArea", name=question.named(part), toName=about, required="false")


def _options(control: Xml.Element, tag: str, options: list[tuple[str, str]]) -> None:
    for key, title in options:
        Xml.SubElement(control, tag, value=title, alias=key)


def _about(question: Control) -> str:
    return f"resp_{question.letter}" if question.letter else "context"


def _stars(question: Control) -> int:
    """The number of stars of a scale; 0 for a scale that must be a number field: fractional, or not within 1 to 10."""
    scale = question.criterion.scale
    fits = isinstance(scale, Likert) and all(v.is_integer() and 1 <= v <= MAX_STARS for v in scale.values)
    return int(scale.values[-1]) if isinstance(scale, Likert) and fits else 0


def _range(scale: Scale) -> tuple[float, float, float]:
    if isinstance(scale, Likert):
        return *scale.ends, min(after - before for before, after in pairwise(scale.values))
    return *scale.ends, scale.step if isinstance(scale, NumberScale) else 1


def _tasks(tasks: Tasks) -> Iterator[JsonObject]:
    for number, item in enumerate(tasks.items(), 1):
        yield {
            "id": number,
            "data": {"item_id": item.item_id, **task.fields(item, "resp")},
            "annotations": [_annotation(tasks, item, annotation) for annotation in task.rated(item)],
        }


def _annotation(tasks: Tasks, item: FinishedItem, annotation: FinishedAnnotation) -> JsonObject:
    at = annotation.submitted_at.isoformat().replace("+00:00", "Z")
    answers = (_result(answer) for answer in tasks.answers(item, annotation))
    whose = {"from_name": WHO, "to_name": "context", "type": "textarea", "value": {"text": [annotation.annotator]}}
    results = [whose, *answers, *_spans(tasks, item, annotation)]
    return {
        "id": annotation.number,
        "created_at": at,
        "updated_at": at,
        "lead_time": round(annotation.active_seconds, 1),
        "was_cancelled": False,
        "ground_truth": False,
        "result": [{"id": f"r{annotation.number}-{place}", **result} for place, result in enumerate(results)],
    }


def _result(answer: ControlAnswer) -> JsonObject:
    value: object = answer.value
    if answer.part:
        kind, name, value = "textarea", "text", answer.texts
    elif isinstance(value, str):
        kind, name, value = "choices", "choices", [value]
    else:
        kind = name = "rating" if _stars(answer.question) else "number"
    return {"from_name": answer.name, "to_name": _about(answer.question), "type": kind, "value": {name: value}}


def _spans(tasks: Tasks, item: FinishedItem, annotation: FinishedAnnotation) -> Iterator[JsonObject]:
    for mark in tasks.marked(item, annotation):
        span = {
            "from_name": mark.control,
            "to_name": f"resp_{mark.letter}" if mark.letter else "context",
            "type": "labels",
            "value": {"start": mark.start, "end": mark.end, "text": mark.text, "labels": [mark.highlight.label]},
        }
        yield span | ({"meta": {"text": [mark.highlight.comment]}} if mark.highlight.comment else {})
