"""Potato: the items, a config that asks the same questions, and one `user_state.json` per annotator.

Schemes are named for criterion and letter (fluency_a), for the response of that letter in `responses`. Values are
texts, as Potato writes them. Offsets count UTF-16 units, because its page is JavaScript. Folders are numbered:
`user_id` in the file says whose work it is.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import yaml

from triptych.formats.out import task
from triptych.formats.out.model import File, Finished, FinishedAnnotation, FinishedItem, Options
from triptych.formats.out.task import Question
from triptych.formats.out.writing import as_json, in_blocks, json_object, jsonl_file, text_file
from triptych.rubric import Choice, Likert

COMMENTS = "{n} comments on highlights have no place in Potato and are left out."


def potato(finished: Finished, options: Options, notes: list[str]) -> Iterator[File]:
    left_out: Counter[str] = Counter()
    yield text_file("config.yaml", yaml.safe_dump(_config(finished), sort_keys=False, allow_unicode=True))
    yield jsonl_file("data/items.jsonl", map(_item, task.items(finished)))
    for number, annotator in enumerate(finished.annotators, 1):
        name = f"annotation_output/annotator-{number:04}/user_state.json"
        yield File(name, in_blocks(_user_state(finished, annotator, left_out)))
    notes += task.said_once(finished, left_out)


def _config(finished: Finished) -> dict[str, Any]:
    schemes = [scheme for question in task.questions(finished) for scheme in _schemes(question)]
    labels = [{"name": label.key, "tooltip": label.title} for label in finished.rubric.highlights]
    for letter in task.letters(finished) if labels else ():
        about = f"Highlights in response {letter.upper()}"
        name = f"{task.HIGHLIGHT}_{letter}"
        schemes.append({"annotation_type": "span", "name": name, "description": about, "labels": labels})
    return {
        "annotation_task_name": finished.slug,
        "data_files": ["data/items.jsonl"],
        "item_properties": {"id_key": "id", "text_key": "responses"},
        "output_annotation_dir": "annotation_output",
        "annotation_schemes": schemes,
    }


def _schemes(question: Question) -> Iterator[dict[str, Any]]:
    """The scheme of a question, and a box for its explanation."""
    scale, title = question.criterion.scale, question.criterion.title
    about = f"{title} (response {question.letter.upper()})" if question.letter else title
    one = {"name": question.named(), "description": about}
    if isinstance(scale, Choice):
        yield {"annotation_type": "radio", **one, "labels": scale.values}
    elif isinstance(scale, Likert):
        yield {"annotation_type": "radio", **one, "labels": [f"{value:g}" for value in scale.values]}
    else:
        yield {"annotation_type": "number", **one}
    yield {"annotation_type": "text", "name": question.named("why"), "description": f"{about}: explanation"}


def _item(item: FinishedItem) -> dict[str, Any]:
    return {
        "id": item.item_id,
        "context": task.context(item),
        "responses": list(task.texts(item).values()),
        "systems": list(task.systems(item).values()),
    }


def _user_state(finished: Finished, annotator: str, left_out: Counter[str]) -> Iterable[str]:
    """One annotator's file; her items are walked twice, so that no file has to fit in memory."""

    def per_item(part: Any) -> Iterator[tuple[str, Any]]:
        for item in task.items(finished, annotator):
            for annotation in task.rated(item):
                yield item.item_id, part(finished, item, annotation, left_out)

    return chain(
        [f'{{"user_id": {as_json(annotator)},\n"instance_id_to_label_to_value": '],
        json_object(per_item(_labels)),
        [',\n"instance_id_to_span_to_value": '],
        json_object(per_item(_spans)),
        ["}\n"],
    )


def _labels(
    finished: Finished, item: FinishedItem, annotation: FinishedAnnotation, left_out: Counter[str]
) -> dict[str, Any]:
    labels = {}
    for question, rating in task.given(finished, item, annotation):
        value = task.value_of(rating)
        if value is None:
            left_out[task.NO_VALUE] += 1
        else:
            labels[question.named()] = {"labels": {str(value): True}}
        for part, text in (("reasons", ";".join(rating.reasons)), ("why", rating.explanation)):
            if text:
                labels[question.named(part)] = {"labels": {"text_box": text}}
    return labels


def _spans(
    finished: Finished, item: FinishedItem, annotation: FinishedAnnotation, left_out: Counter[str]
) -> dict[str, list[dict[str, Any]]]:
    texts, spans = task.texts(item), defaultdict(list)
    for mark in task.marked(item, annotation):
        start, end = (task.utf16(texts[mark.letter], offset) for offset in (mark.start, mark.end))
        span = {"start": start, "end": end, "label": mark.highlight.label, "text": mark.text}
        spans[f"{task.HIGHLIGHT}_{mark.letter}"].append(span)
        left_out[COMMENTS] += bool(mark.highlight.comment)
    left_out[task.UNALIGNED] += task.unaligned(annotation)
    return spans
